// Puts the records of logs into memtables, and hands these over, within bounded memory.
//
// A record may be as large as a memtable may become, and its entries take several times as much
// memory there.  So a record is added in parts: its entries may come to be in several memtables.
// That is sound as long as nothing that was handed over is visible before the last part is: an
// opening and a repair swap CURRENT after all logs.
//
// At most this is in memory: a memtable, the part of a record that is not in it yet, and what the
// sink takes.  Together a memtable and that part are not larger than the maximum, unless the part
// alone is larger than half of it; then the memtable has at most half.
#ifndef TRELLIS_LSM_STORE_MEMTABLE_FILLER_H_
#define TRELLIS_LSM_STORE_MEMTABLE_FILLER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/log/log_reader.h"
#include "lsm/memtable/memtable.h"

namespace lsm::inline TRELLIS_ABI {

// Takes over a memtable that is full, or the last one; none is empty.
using MemtableSink = std::function<absl::Status(std::shared_ptr<const Memtable>)>;

// DataLoss unless it is a batch.
absl::Status CheckBatch(std::string_view encoded);

class MemtableFiller {
 public:
  // A memtable is handed over before an entry would make it, with the rest of the record, larger
  // than `memory_bytes_max`; but not before it has half of that.
  MemtableFiller(size_t memory_bytes_max, MemtableSink sink);

  // Before the log's next record is read: hands over the memtable if there is no room for both.
  absl::Status MakeRoomForNext(LogReader* log);
  // REQUIRES: CheckBatch of the payload was OK, and `log` read it last.  Gives its memory back: the
  // payload is gone.
  absl::Status Add(std::string_view payload, LogReader* log);
  absl::Status HandOver();

 private:
  class Handler;

  const size_t memory_bytes_max_;
  const MemtableSink sink_;
  std::shared_ptr<Memtable> memtable_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_MEMTABLE_FILLER_H_
