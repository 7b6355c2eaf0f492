// Reads and writes blocks of files: compression, trailer, checksum.  No other code reads or writes
// a trailer.
#ifndef TRELLIS_LSM_BLOCK_BLOCK_IO_H_
#define TRELLIS_LSM_BLOCK_BLOCK_IO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/block/format.h"
#include "lsm/bytes/sanitizer.h"
#include "lsm/file_system.h"
#include "lsm/options.h"

namespace lsm::inline TRELLIS_ABI {

// Appends the block to `file`.  Compresses it if requested and if that saves at least an eighth.
// `scratch` is reused memory.
absl::StatusOr<BlockHandle> WriteBlock(AppendFile* file, uint64_t file_id, std::string_view block,
                                       Compression compression, std::string* scratch);

// Bytes of a block on the heap, 64-byte aligned, for temporary use.  Bytes that stay are copied to
// BlockMemory (block_memory.h).
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

// Temporary memory for the bytes of one block, 64-byte aligned.  Uses borrowed memory if that is
// large enough, which saves an allocation; otherwise the heap.
class BlockRoom {
 public:
  BlockRoom() = default;
  explicit BlockRoom(std::span<char> lent) : lent_(lent) {}  // 64-byte aligned

  // Invalidates the memory returned before.
  char* Give(size_t size_bytes) {
    if (size_bytes <= lent_.size()) return lent_.data();
    heap_ = BlockBuffer(size_bytes);
    return heap_.data();
  }

 private:
  const std::span<char> lent_;
  BlockBuffer heap_;
};

// Memory on the stack for reading and for expanding a block; enough for nearly all data blocks.
// (The heap takes 0.3 µs for both, since they are aligned and too large for the C library's thread
// caches.)
struct BlockRooms {
  // AddressSanitizer checks the bounds of heap memory only.
  static constexpr size_t kLentBytes = kHasAddressSanitizer ? 0 : 8192;

  BlockRooms() {}  // clears nothing
  BlockRooms(const BlockRooms&) = delete;
  BlockRooms& operator=(const BlockRooms&) = delete;

  alignas(64) std::array<char, kLentBytes> stored_bytes;
  alignas(64) std::array<char, kLentBytes> expanded_bytes;
  BlockRoom stored{stored_bytes}, expanded{expanded_bytes};
};

// Checks `stored_with_trailer`, which was read at `handle`.  DataLoss with file and offset.
// Returns the compression.
absl::StatusOr<Compression> VerifyBlock(std::string_view stored_with_trailer, BlockHandle handle,
                                        uint64_t file_id, std::string_view file);

// Verifies and expands a block.  The result is a part of `stored_with_trailer`; or of `expanded`,
// if the block was compressed.
absl::StatusOr<std::string_view> OpenStored(std::string_view stored_with_trailer,
                                            BlockHandle handle, uint64_t file_id,
                                            std::string_view file, BlockRoom* expanded);

// Reads with one ReadAt, verifies and expands; the bytes are in `rooms`.  Reads as many bytes as
// the handle says, which the caller has checked against the file's size.  The result is never
// larger than kBlockBytesMax, nor than 255 times the stored size.
absl::StatusOr<std::string_view> ReadBlock(const ReadFile& file, uint64_t file_id,
                                           BlockHandle handle, BlockRooms* rooms);

// As above for filter, index and properties.  DataLoss if the block is compressed, or larger than
// `bytes_max` (then nothing is read).
absl::StatusOr<BlockBuffer> ReadPlainBlock(const ReadFile& file, uint64_t file_id,
                                           BlockHandle handle, uint64_t bytes_max);

// The second step of ReadPlainBlock: verifies the bytes with trailer that were read at `handle`.
absl::StatusOr<std::string_view> OpenPlainBlock(std::string_view stored_with_trailer,
                                                BlockHandle handle, uint64_t file_id,
                                                std::string_view file);

// Expands a verified LZ4 block at `offset` into `room`.  Leaves `room` unused if the block claims
// an impossible size.
absl::StatusOr<std::string_view> ExpandLz4(std::string_view stored, uint64_t offset,
                                           std::string_view file, BlockRoom* room);

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_BLOCK_IO_H_
