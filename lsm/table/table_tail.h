// The end of a table's file in memory, for its opening: footer, properties, index and filter stand
// one before the other there, so two reads bring them all, and one those of a small table, or of
// one of which the caller knows about how much it is.
//
// Grammar: ((Read | Take) (Bytes | Extend | Block)*) | Bytes*.
#ifndef TRELLIS_LSM_TABLE_TABLE_TAIL_H_
#define TRELLIS_LSM_TABLE_TABLE_TAIL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/block/block_io.h"
#include "lsm/block/format.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

class TableTail {
 public:
  // `file`, which has `file_bytes`, must stay.
  TableTail(const ReadFile& file, uint64_t file_bytes)
      : file_(file), file_bytes_(file_bytes), offset_(file_bytes) {}

  // The last Table::kEndBytes, or the whole file if it is no larger than that.
  absl::Status Read();

  // What the caller has read of them, at least as much, and keeps.
  void Take(std::string_view bytes);

  // All from `offset` on.  Only what comes before what is there is read; if that fails, or is more
  // than kExtendedBytesMax, nothing has changed, and blocks are read one by one.
  void Extend(uint64_t offset);

  // From `offset` on; fails unless the file holds all of them.
  absl::StatusOr<std::string> Bytes(uint64_t offset, size_t size_bytes);

  // Filter, index or properties, as ReadPlainBlock: good until the next call.
  absl::StatusOr<std::string_view> Block(uint64_t file_id, BlockHandle handle, uint64_t bytes_max);

  // From the file, so far.
  uint64_t reads() const { return reads_; }
  uint64_t read_bytes() const { return read_bytes_; }

 private:
  static constexpr uint64_t kExtendedBytesMax = uint64_t{64} << 20;

  // REQUIRES: they are there.
  std::string_view At(uint64_t offset, size_t size_bytes) const {
    return bytes_.substr(static_cast<size_t>(offset - offset_), size_bytes);
  }

  const ReadFile& file_;
  const uint64_t file_bytes_;
  uint64_t offset_;         // of what is there
  std::string_view bytes_;  // in `read_`, or the caller's
  BlockBuffer read_;
  BlockBuffer block_;  // that the reader asked for
  uint64_t reads_ = 0;
  uint64_t read_bytes_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_TAIL_H_
