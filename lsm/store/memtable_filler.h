// Puts the records of logs into memtables, and hands these over, within bounded memory.
//
// A record may be as large as a memtable may become, and its entries take several times as much
// memory there.  So a record is added in parts: its entries may be in several memtables.  That is
// correct as long as no memtable becomes visible before the last part of the record: an opening and
// a repair swap CURRENT only after all logs.
//
// Memory holds at most a memtable, the rest of a record that is not in it yet, and what the sink
// takes.  Memtable and rest together do not exceed the maximum, unless the rest alone is larger
// than half of it.  Then the memtable has at most half of the maximum.
//
// Range deletes are kept beside the memtable of their time, count as its memory, and are added all
// together before it is handed over (HeldRanges).  Entries after a range may be in a later
// memtable, never in an earlier one.
#ifndef TRELLIS_LSM_STORE_MEMTABLE_FILLER_H_
#define TRELLIS_LSM_STORE_MEMTABLE_FILLER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/log/log_reader.h"
#include "lsm/memtable/held_ranges.h"
#include "lsm/memtable/memtable.h"
#include "lsm/version/keyspace_records.h"

namespace lsm::inline TRELLIS_ABI {

// Takes over a full memtable, or the last one.  It is never empty.
using MemtableSink = std::function<absl::Status(std::shared_ptr<const Memtable>)>;

// DataLoss unless the bytes are a batch, its keyspaces exist or existed, and it has a time if one
// of its puts needs it.  Applies the batch's changes of keyspaces to `keyspaces`.
absl::Status CheckBatch(std::string_view encoded, KeyspaceRecords* keyspaces);

class MemtableFiller {
 public:
  // A memtable is handed over before it and the rest of the record would together exceed
  // `memory_bytes_max`, but not before it has half of that.
  MemtableFiller(size_t memory_bytes_max, MemtableSink sink);

  // Called before the log's next record is read: hands over the memtable if there is no room for
  // both.
  absl::Status MakeRoomForNext(LogReader* log);
  // REQUIRES: the payload is a batch (CheckBatch), and `log` read it last.  Frees the payload's
  // memory, so the payload is no longer valid.  Skips entries of keyspaces that do not exist.
  // `is_timed`: whether puts of a keyspace get the record's time, if it has one.
  using OfKeyspace = absl::FunctionRef<bool(KeyspaceId keyspace)>;
  absl::Status Add(std::string_view payload, LogReader* log, OfKeyspace exists,
                   OfKeyspace is_timed);
  absl::Status HandOver();

 private:
  class Handler;

  size_t memory_bytes() const { return memtable_->memory_bytes() + ranges_.memory_bytes(); }

  const size_t memory_bytes_max_;
  const MemtableSink sink_;
  std::shared_ptr<Memtable> memtable_;
  HeldRanges ranges_;  // of the memtable
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_MEMTABLE_FILLER_H_
