// Blocks to and from files: compression, trailer, checksum.  The only place that reads or writes a
// trailer.
#ifndef TRELLIS_LSM_BLOCK_BLOCK_IO_H_
#define TRELLIS_LSM_BLOCK_BLOCK_IO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/block/format.h"
#include "lsm/bytes/sanitizer.h"
#include "lsm/file_system.h"
#include "lsm/options.h"

namespace lsm::inline TRELLIS_ABI {

// Appends the block to `file`, compressed if asked for and if that saves at least an eighth.
// `scratch` is reused memory.
absl::StatusOr<BlockHandle> WriteBlock(AppendFile* file, uint64_t file_id, std::string_view block,
                                       Compression compression, std::string* scratch);

// Bytes of one block on the heap, 64-byte aligned; for as long as they are worked on.  What stays
// is copied to where it stays (block_memory.h).
class BlockBuffer {
 public:
  BlockBuffer() = default;
  explicit BlockBuffer(size_t size_bytes);
  ~BlockBuffer();
  BlockBuffer(BlockBuffer&& other) noexcept;
  BlockBuffer& operator=(BlockBuffer&& other) noexcept;

  char* data() { return data_; }
  size_t size() const { return size_bytes_; }
  std::string_view view() const { return {data_, size_bytes_}; }
  void Truncate(size_t size_bytes) { size_bytes_ = size_bytes; }

 private:
  char* data_ = nullptr;
  size_t size_bytes_ = 0;
};

// Room for the bytes of one block, for as long as they are worked on, 64-byte aligned: memory that
// was lent if they fit, which spares an allocation, otherwise the heap.
class BlockRoom {
 public:
  BlockRoom() = default;
  explicit BlockRoom(std::span<char> lent) : lent_(lent) {}  // 64-byte aligned

  // What it gave before is gone.
  char* Give(size_t size_bytes) {
    if (size_bytes <= lent_.size()) return lent_.data();
    heap_ = BlockBuffer(size_bytes);
    return heap_.data();
  }

 private:
  const std::span<char> lent_;
  BlockBuffer heap_;
};

// For a block that is read, and for what it expands to: of the stack, which serves nearly all data
// blocks.  (The C library takes 0.3 us for both from the heap, where they are aligned and larger
// than what each thread keeps of its own.)
struct BlockRooms {
  // AddressSanitizer watches the ends of what comes from the heap.
  static constexpr size_t kLentBytes = kHasAddressSanitizer ? 0 : 8192;

  BlockRooms() {}  // and clears nothing
  BlockRooms(const BlockRooms&) = delete;
  BlockRooms& operator=(const BlockRooms&) = delete;

  alignas(64) std::array<char, kLentBytes> stored_bytes;
  alignas(64) std::array<char, kLentBytes> expanded_bytes;
  BlockRoom stored{stored_bytes}, expanded{expanded_bytes};
};

// Checks `stored_with_trailer`, which was read at `handle`.  DataLoss naming file and offset.
// Returns the compression.
absl::StatusOr<Compression> VerifyBlock(std::string_view stored_with_trailer, BlockHandle handle,
                                        uint64_t file_id, std::string_view file);

// The block's bytes, verified and expanded: a part of `stored_with_trailer`, or if it was
// compressed in `expanded`, which is left alone otherwise.
absl::StatusOr<std::string_view> OpenStored(std::string_view stored_with_trailer,
                                            BlockHandle handle, uint64_t file_id,
                                            std::string_view file, BlockRoom* expanded);

// Reads with one ReadAt, verifies and expands; the bytes are in `rooms`.  What is read is as long
// as the handle says, which the caller has held against the file's size; what is expanded is never
// more than kBlockBytesMax, nor more than 255 times what is stored.
absl::StatusOr<std::string_view> ReadBlock(const ReadFile& file, uint64_t file_id,
                                           BlockHandle handle, BlockRooms* rooms);

// The same for filter, index and properties, which are never compressed: DataLoss if they are.  So
// it is, and nothing is read, if the block is larger than `bytes_max`.
absl::StatusOr<BlockBuffer> ReadPlainBlock(const ReadFile& file, uint64_t file_id,
                                           BlockHandle handle, uint64_t bytes_max);

// The second half of it: the block's bytes, of what stands at `handle` with its trailer.
absl::StatusOr<std::string_view> OpenPlainBlock(std::string_view stored_with_trailer,
                                                BlockHandle handle, uint64_t file_id,
                                                std::string_view file);

// Expands the stored bytes of a block that was verified to be LZ4 and to lie at `offset`; into
// `room`, which is left alone if they say a size that cannot be.
absl::StatusOr<std::string_view> ExpandLz4(std::string_view stored, uint64_t offset,
                                           std::string_view file, BlockRoom* room);

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_BLOCK_IO_H_
