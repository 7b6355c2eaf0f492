// The end of a table's file in memory, for opening it.  Footer, properties, index and filter are
// adjacent there, so two reads fetch them all.  One read suffices for a small table, or if the
// caller knows their approximate size.
//
//   ((Read | Take) (Bytes | Extend | Block)*) | Bytes*
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
  // `file`, which has `file_bytes`, must stay alive.
  TableTail(const ReadFile& file, uint64_t file_bytes)
      : file_(file), file_bytes_(file_bytes), offset_(file_bytes) {}

  // Reads the last Table::kEndBytes, or the whole file if it is smaller.
  absl::Status Read();

  // Uses bytes that the caller has read, at least as many, and keeps alive.
  void Take(std::string_view bytes);

  // Makes all bytes from `offset` on available, reading only the missing ones.  Changes nothing if
  // that fails, or if they exceed kExtendedBytesMax; blocks are then read one by one.
  void Extend(uint64_t offset);

  // The bytes from `offset` on.  Fails unless the file has all of them.
  absl::StatusOr<std::string> Bytes(uint64_t offset, size_t size_bytes);

  // Filter, index or properties, as by ReadPlainBlock.  Valid until the next call.
  absl::StatusOr<std::string_view> Block(uint64_t file_id, BlockHandle handle, uint64_t bytes_max);

  // Reads from the file so far.
  uint64_t reads() const { return reads_; }
  uint64_t read_bytes() const { return read_bytes_; }

 private:
  static constexpr uint64_t kExtendedBytesMax = uint64_t{64} << 20;

  // REQUIRES: the bytes are available.
  std::string_view At(uint64_t offset, size_t size_bytes) const {
    return bytes_.substr(static_cast<size_t>(offset - offset_), size_bytes);
  }

  const ReadFile& file_;
  const uint64_t file_bytes_;
  uint64_t offset_;         // of the available bytes
  std::string_view bytes_;  // in `read_`, or the caller's
  BlockBuffer read_;
  BlockBuffer block_;  // most recent result of a read by Block
  uint64_t reads_ = 0;
  uint64_t read_bytes_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_TAIL_H_
