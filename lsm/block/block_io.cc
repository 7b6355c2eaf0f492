#include "lsm/block/block_io.h"

#include <lz4.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/huge_pages.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr std::align_val_t kBufferAlignment{64};
// Largest compression ratio of LZ4.
constexpr uint64_t kLz4RatioMax = 255;

// Room for the compressed block.  A larger result is not worth storing, so LZ4 gives up early.
size_t CompressedBytesMax(std::string_view block) { return block.size() - block.size() / 8; }

// Writes varint32 size and LZ4 block to `out`, which has that room; returns 0 if it is not enough.
size_t Compress(std::string_view block, char* out) {
  if (block.size() > LZ4_MAX_INPUT_SIZE) return 0;
  const size_t room_bytes = CompressedBytesMax(block);
  char size[kVarint64BytesMax];
  const auto size_bytes =
      static_cast<size_t>(StoreVarint32(size, static_cast<uint32_t>(block.size())) - size);
  if (room_bytes <= size_bytes) return 0;
  std::copy_n(size, size_bytes, out);
  const int payload_bytes =
      LZ4_compress_default(block.data(), out + size_bytes, static_cast<int>(block.size()),
                           static_cast<int>(room_bytes - size_bytes));
  return payload_bytes <= 0 ? 0 : size_bytes + static_cast<size_t>(payload_bytes);
}

std::string TrailerOf(std::string_view stored, Compression compression, uint64_t file_id,
                      uint64_t offset) {
  std::string trailer(1, static_cast<char>(compression));
  AppendFixed64(&trailer, Checksum(stored, trailer, file_id, offset));
  return trailer;
}

// Uses as little memory as possible: none for a copy, and only the written part of the room for the
// compressed block, which returns to the system at once.
absl::StatusOr<BlockHandle> WriteLargeBlock(AppendFile* file, uint64_t file_id,
                                            std::string_view block, Compression compression) {
  BlockBuffer room;
  size_t compressed_bytes = 0;
  if (compression == Compression::kLz4) {
    room = BlockBuffer(CompressedBytesMax(block));
    compressed_bytes = Compress(block, room.data());
  }
  if (compressed_bytes == 0) compression = Compression::kNone;
  const std::string_view stored =
      compressed_bytes == 0 ? block : room.view().substr(0, compressed_bytes);
  const BlockHandle handle{file->size_bytes(), stored.size()};
  absl::Status status = file->Append(stored);
  if (status.ok()) status = file->Append(TrailerOf(stored, compression, file_id, handle.offset));
  GiveBackPages(room.data(), room.size());
  TRELLIS_RETURN_IF_ERROR(status);
  return handle;
}

}  // namespace

absl::StatusOr<BlockHandle> WriteBlock(AppendFile* file, uint64_t file_id, std::string_view block,
                                       Compression compression, std::string* scratch) {
  if (block.size() > kLargeBlockBytesMin) return WriteLargeBlock(file, file_id, block, compression);
  scratch->clear();
  if (compression == Compression::kLz4) {
    scratch->resize(CompressedBytesMax(block));
    scratch->resize(Compress(block, scratch->data()));
  }
  if (scratch->empty()) {
    compression = Compression::kNone;
    scratch->append(block);
  }
  const BlockHandle handle{file->size_bytes(), scratch->size()};
  scratch->push_back(static_cast<char>(compression));
  AppendFixed64(scratch, Checksum(*scratch, file_id, handle.offset));
  TRELLIS_RETURN_IF_ERROR(file->Append(*scratch));
  return handle;
}

BlockBuffer::BlockBuffer(size_t size_bytes)
    : data_(static_cast<char*>(::operator new(size_bytes, kBufferAlignment))),
      size_bytes_(size_bytes) {}

BlockBuffer::~BlockBuffer() {
  if (data_ != nullptr) ::operator delete(data_, kBufferAlignment);
}

BlockBuffer::BlockBuffer(BlockBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

BlockBuffer& BlockBuffer::operator=(BlockBuffer&& other) noexcept {
  if (this != &other) {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
  }
  return *this;
}

absl::StatusOr<Compression> VerifyBlock(std::string_view stored_with_trailer, BlockHandle handle,
                                        uint64_t file_id, std::string_view file) {
  if (stored_with_trailer.size() < kBlockTrailerBytes ||
      stored_with_trailer.size() - kBlockTrailerBytes != handle.stored_bytes) {
    return DamageAt(file, handle.offset,
                    Concat("the file ends within a block of ", handle.stored_bytes, " bytes"));
  }
  const size_t checked_bytes = stored_with_trailer.size() - sizeof(uint64_t);
  const uint64_t checksum = LoadFixed64(stored_with_trailer.data() + checked_bytes);
  if (checksum != Checksum(stored_with_trailer.substr(0, checked_bytes), file_id, handle.offset)) {
    return DamageAt(file, handle.offset,
                    Concat("a block of ", handle.stored_bytes, " bytes fails its checksum"));
  }
  const auto compression = static_cast<uint8_t>(stored_with_trailer[checked_bytes - 1]);
  if (compression > static_cast<uint8_t>(Compression::kLz4)) {
    return absl::UnimplementedError(
        Concat(file, ": offset ", handle.offset, ": a block's compression is of kind ",
               static_cast<int>(compression), ", which this library does not know"));
  }
  return static_cast<Compression>(compression);
}

absl::StatusOr<std::string_view> ExpandLz4(std::string_view stored, uint64_t offset,
                                           std::string_view file, BlockRoom* room) {
  std::string_view payload = stored;
  uint32_t size_bytes = 0;
  if (!TakeVarint32(&payload, &size_bytes) || size_bytes > kBlockBytesMax ||
      size_bytes > kLz4RatioMax * payload.size() || payload.size() > LZ4_MAX_INPUT_SIZE) {
    return DamageAt(file, offset, "the block states an impossible expanded size");
  }
  char* const bytes = room->Give(size_bytes);
  const int expanded = LZ4_decompress_safe(payload.data(), bytes, static_cast<int>(payload.size()),
                                           static_cast<int>(size_bytes));
  if (expanded < 0 || static_cast<uint32_t>(expanded) != size_bytes) {
    return DamageAt(file, offset, "the block does not expand to the size that it states");
  }
  return std::string_view(bytes, size_bytes);
}

namespace {

// Larger than any block of ordinary data, for which a further system call would be too expensive.
constexpr uint64_t kAskedForHolesBytesMin = uint64_t{2} << 20;

// Size of the block with its trailer.
absl::StatusOr<size_t> BytesToRead(const ReadFile& file, BlockHandle handle) {
  if (handle.stored_bytes > std::numeric_limits<size_t>::max() - kBlockTrailerBytes) {
    return DamageAt(file.path(), handle.offset, "a block is too large");
  }
  const uint64_t bytes = handle.stored_bytes + kBlockTrailerBytes;
  // A block in a hole of a sparse file costs neither memory nor time.
  if (bytes > kAskedForHolesBytesMin) {
    TRELLIS_ASSIGN_OR_RETURN(const uint64_t data, file.NextData(handle.offset));
    if (data >= handle.offset && data - handle.offset >= bytes)
      return DamageAt(file.path(), handle.offset,
                      Concat("a block of ", handle.stored_bytes, " bytes is a hole"));
  }
  return static_cast<size_t>(bytes);
}

}  // namespace

absl::StatusOr<std::string_view> OpenStored(std::string_view stored_with_trailer,
                                            BlockHandle handle, uint64_t file_id,
                                            std::string_view file, BlockRoom* expanded) {
  TRELLIS_ASSIGN_OR_RETURN(const Compression compression,
                           VerifyBlock(stored_with_trailer, handle, file_id, file));
  const std::string_view stored =
      stored_with_trailer.substr(0, static_cast<size_t>(handle.stored_bytes));
  if (compression == Compression::kNone) return stored;
  return ExpandLz4(stored, handle.offset, file, expanded);
}

absl::StatusOr<std::string_view> ReadBlock(const ReadFile& file, uint64_t file_id,
                                           BlockHandle handle, BlockRooms* rooms) {
  using Bytes = absl::StatusOr<std::string_view>;
  return CatchOutOfMemoryAt(file.path(), handle.offset, [&]() -> Bytes {
    TRELLIS_ASSIGN_OR_RETURN(const size_t wanted_bytes, BytesToRead(file, handle));
    char* const stored = rooms->stored.Give(wanted_bytes);
    TRELLIS_ASSIGN_OR_RETURN(const size_t read_bytes,
                             file.ReadAt(handle.offset, {stored, wanted_bytes}));
    return OpenStored({stored, read_bytes}, handle, file_id, file.path(), &rooms->expanded);
  });
}

absl::StatusOr<BlockBuffer> ReadPlainBlock(const ReadFile& file, uint64_t file_id,
                                           BlockHandle handle, uint64_t bytes_max) {
  if (handle.stored_bytes > bytes_max) {
    return DamageAt(file.path(), handle.offset,
                    Concat("a block of ", handle.stored_bytes, " bytes, but at most ", bytes_max,
                           " are allowed"));
  }
  return CatchOutOfMemoryAt(file.path(), handle.offset, [&]() -> absl::StatusOr<BlockBuffer> {
    TRELLIS_ASSIGN_OR_RETURN(const size_t wanted_bytes, BytesToRead(file, handle));
    BlockBuffer stored(wanted_bytes);
    TRELLIS_ASSIGN_OR_RETURN(const size_t read_bytes,
                             file.ReadAt(handle.offset, {stored.data(), wanted_bytes}));
    stored.Truncate(read_bytes);
    TRELLIS_RETURN_IF_ERROR(OpenPlainBlock(stored.view(), handle, file_id, file.path()).status());
    stored.Truncate(static_cast<size_t>(handle.stored_bytes));
    return stored;
  });
}

absl::StatusOr<std::string_view> OpenPlainBlock(std::string_view stored_with_trailer,
                                                BlockHandle handle, uint64_t file_id,
                                                std::string_view file) {
  TRELLIS_ASSIGN_OR_RETURN(const Compression compression,
                           VerifyBlock(stored_with_trailer, handle, file_id, file));
  if (compression == Compression::kNone)
    return stored_with_trailer.substr(0, static_cast<size_t>(handle.stored_bytes));
  return DamageAt(file, handle.offset, "the block is compressed, as only data blocks are");
}

}  // namespace lsm
