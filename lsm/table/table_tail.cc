#include "lsm/table/table_tail.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status TableTail::Read() {
  offset_ = file_bytes_ - std::min(file_bytes_, Table::kEndBytes);
  BlockBuffer bytes(static_cast<size_t>(file_bytes_ - offset_));
  TRELLIS_ASSIGN_OR_RETURN(const size_t read_bytes,
                           file_.ReadAt(offset_, {bytes.data(), bytes.size()}));
  ++reads_;
  read_bytes_ += read_bytes;
  if (read_bytes != bytes.size()) {
    return DamageAt(file_.path(), offset_,
                    Concat("the file ends after ", read_bytes, " of ", bytes.size(), " bytes"));
  }
  read_ = std::move(bytes);
  bytes_ = read_.view();
  return absl::OkStatus();
}

void TableTail::Take(std::string_view bytes) {
  assert(bytes.size() <= file_bytes_ && bytes.size() >= std::min(file_bytes_, Table::kEndBytes));
  offset_ = file_bytes_ - bytes.size();
  bytes_ = bytes;
  ++reads_;
  read_bytes_ += bytes.size();
}

void TableTail::Extend(uint64_t offset) {
  if (offset >= offset_ || file_bytes_ - offset > kExtendedBytesMax) return;
  const auto more_bytes = static_cast<size_t>(offset_ - offset);
  BlockBuffer bytes(more_bytes + bytes_.size());
  const absl::StatusOr<size_t> read_bytes = file_.ReadAt(offset, {bytes.data(), more_bytes});
  ++reads_;
  if (!read_bytes.ok()) return;
  read_bytes_ += *read_bytes;
  if (*read_bytes != more_bytes) return;
  bytes_.copy(bytes.data() + more_bytes, bytes_.size());
  read_ = std::move(bytes);
  bytes_ = read_.view();
  offset_ = offset;
}

absl::StatusOr<std::string> TableTail::Bytes(uint64_t offset, size_t size_bytes) {
  if (offset >= offset_ && file_bytes_ - offset >= size_bytes)
    return std::string(At(offset, size_bytes));
  std::string bytes(size_bytes, '\0');
  ++reads_;
  TRELLIS_ASSIGN_OR_RETURN(const size_t read_bytes,
                           file_.ReadAt(offset, {bytes.data(), bytes.size()}));
  read_bytes_ += read_bytes;
  if (read_bytes == size_bytes) return bytes;
  return DamageAt(file_.path(), offset,
                  Concat("the file ends after ", read_bytes, " of ", size_bytes, " bytes"));
}

absl::StatusOr<std::string_view> TableTail::Block(uint64_t file_id, BlockHandle handle,
                                                  uint64_t bytes_max) {
  if (handle.stored_bytes <= bytes_max && handle.offset >= offset_) {
    return OpenPlainBlock(At(handle.offset, handle.stored_bytes + kBlockTrailerBytes), handle,
                          file_id, file_.path());
  }
  ++reads_;
  TRELLIS_ASSIGN_OR_RETURN(block_, ReadPlainBlock(file_, file_id, handle, bytes_max));
  read_bytes_ += handle.stored_bytes + kBlockTrailerBytes;
  return block_.view();
}

}  // namespace lsm
