#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/posix_files.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// pread takes a signed offset.
bool FitsFileOffset(uint64_t offset, size_t length) {
  constexpr uint64_t kOffsetMax = std::numeric_limits<off_t>::max();
  return offset <= kOffsetMax && length <= kOffsetMax - offset;
}

absl::Status ReadError(int error, const std::string& path, uint64_t offset) {
  return PosixError(error, path, Concat("read at offset ", offset));
}

class BufferedReadFile final : public PosixReadFile {
 public:
  BufferedReadFile(Descriptor file, std::string path)
      : PosixReadFile(std::move(file), std::move(path), 1) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    if (!FitsFileOffset(offset, buffer.size())) return ReadError(EOVERFLOW, path(), offset);
    size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t length = Uninterrupted([&] {
        return ::pread(descriptor(), buffer.data() + done, buffer.size() - done,
                       static_cast<off_t>(offset + done));
      });
      if (length < 0) return ReadError(errno, path(), offset + done);
      if (length == 0) break;
      done += static_cast<size_t>(length);
    }
    return done;
  }
};

// Direct reads use a bounce buffer of the calling thread, so callers need not align their buffers.
constexpr size_t kBounceBytes = 256 * 1024;

char* BounceBuffer() {
  static_assert(kBounceBytes % kDirectAlignmentBytes == 0);
  thread_local DirectMemory buffer;
  if (buffer == nullptr) buffer = AllocateForDirectReads(kBounceBytes);
  return buffer.get();
}

// The alignment that the file system requires for direct reads of the file.  Less than a page is
// worth using: a block of 3 KiB lies in one or two pages, and a read of two pages takes a fifth
// longer.
size_t DirectAlignmentOf(int descriptor) {
#ifdef STATX_DIOALIGN
  struct statx info {};
  // Linux reports it from 6.1 on, for file systems that know it.
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 &&
      (info.stx_mask & STATX_DIOALIGN) != 0) {
    const size_t told = std::max(info.stx_dio_mem_align, info.stx_dio_offset_align);
    if (std::has_single_bit(told) && told < kDirectAlignmentBytes) return told;
  }
#endif
  return kDirectAlignmentBytes;
}

class DirectReadFile final : public PosixReadFile {
 public:
  DirectReadFile(Descriptor file, std::string path)
      : PosixReadFile(std::move(file), std::move(path), DirectAlignmentOf(file.get())) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    if (!FitsFileOffset(offset, buffer.size()) ||
        !FitsFileOffset(offset + buffer.size(), kBounceBytes)) {
      return ReadError(EOVERFLOW, path(), offset);
    }
    char* const bounce = BounceBuffer();
    if (bounce == nullptr) return ReadError(ENOMEM, path(), offset);
    size_t done = 0;
    while (done < buffer.size()) {
      const uint64_t position = offset + done;
      const uint64_t start = RoundDown(position);
      const uint64_t end = RoundDown(offset + buffer.size() + alignment_bytes() - 1);
      const size_t wanted = static_cast<size_t>(std::min<uint64_t>(end - start, kBounceBytes));
      const ssize_t length = Uninterrupted(
          [&] { return ::pread(descriptor(), bounce, wanted, static_cast<off_t>(start)); });
      if (length < 0) return ReadError(errno, path(), start);
      const uint64_t read_end = start + static_cast<uint64_t>(length);
      if (read_end > position) {
        const size_t useful =
            static_cast<size_t>(std::min<uint64_t>(read_end - position, buffer.size() - done));
        std::memcpy(buffer.data() + done, bounce + (position - start), useful);
        done += useful;
      }
      if (static_cast<size_t>(length) == wanted) continue;
      // A short read: either the file ends here, or the device returned less.  In the second case,
      // continue at the last whole block.
      TRELLIS_ASSIGN_OR_RETURN(const uint64_t size, Size());
      if (read_end >= size) break;
      if (RoundDown(offset + done) == start) return ReadError(EIO, path(), read_end);
    }
    return done;
  }

 private:
  uint64_t RoundDown(uint64_t offset) const { return offset & ~uint64_t{alignment_bytes() - 1}; }
};

absl::StatusOr<std::unique_ptr<ReadFile>> OpenDirect(int directory_fd, std::string_view name,
                                                     std::string path) {
  absl::StatusOr<Descriptor> file = OpenRegularAt(directory_fd, name, O_RDONLY | O_DIRECT, path);
  if (absl::IsInvalidArgument(file.status())) {
    return WithContext(file.status(), "direct I/O, which this file system seems not to support");
  }
  if (!file.ok()) return file.status();
  return std::make_unique<DirectReadFile>(*std::move(file), std::move(path));
}

}  // namespace

absl::StatusOr<uint64_t> PosixReadFile::Size() const {
  struct stat info {};
  if (::fstat(descriptor(), &info) != 0) return PosixError(errno, path(), "stat");
  return static_cast<uint64_t>(info.st_size);
}

absl::StatusOr<uint64_t> PosixReadFile::NextData(uint64_t offset) const {
  if (!FitsFileOffset(offset, 0)) return offset;
  // Moves a file position that no read uses.
  const off_t data = ::lseek(descriptor(), static_cast<off_t>(offset), SEEK_DATA);
  if (data >= 0) return static_cast<uint64_t>(data);
  // ENXIO: only zeros until the end.  Other errors: the file system cannot tell.
  return errno == ENXIO ? Size() : offset;
}

absl::StatusOr<std::unique_ptr<ReadFile>> OpenPosixReadFile(int directory_fd, std::string_view name,
                                                            std::string path, ReadMode mode) {
  if (mode == ReadMode::kDirect) return OpenDirect(directory_fd, name, std::move(path));
  TRELLIS_ASSIGN_OR_RETURN(Descriptor file, OpenRegularAt(directory_fd, name, O_RDONLY, path));
  return std::make_unique<BufferedReadFile>(std::move(file), std::move(path));
}

}  // namespace lsm
