// Opens files relative to the descriptor of a POSIX directory.
#ifndef TRELLIS_LSM_FS_POSIX_FILES_H_
#define TRELLIS_LSM_FS_POSIX_FILES_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/fs/posix_call.h"

namespace lsm::inline TRELLIS_ABI {

// A file with the properties that combined reads need.
class PosixReadFile : public ReadFile {
 public:
  PosixReadFile(Descriptor file, std::string path, size_t alignment_bytes)
      : file_(std::move(file)), path_(std::move(path)), alignment_bytes_(alignment_bytes) {}

  absl::StatusOr<uint64_t> Size() const final;
  absl::StatusOr<uint64_t> NextData(uint64_t offset) const final;
  const std::string& path() const final { return path_; }

  int descriptor() const { return file_.get(); }
  // Memory, offset and length of each read by descriptor must be multiples of this.
  size_t alignment_bytes() const { return alignment_bytes_; }

 private:
  const Descriptor file_;
  const std::string path_;
  const size_t alignment_bytes_;
};

// Memory, offset and length of a direct read must be multiples of what the file system says,
// usually the device's logical block size.  This default, for file systems that do not say, works
// for all common devices.  It is also the largest supported value.
inline constexpr size_t kDirectAlignmentBytes = 4096;

struct FreeDeleter {
  void operator()(char* memory) const { std::free(memory); }
};
using DirectMemory = std::unique_ptr<char, FreeDeleter>;
// Allocates aligned memory, a multiple of kDirectAlignmentBytes; null without memory.
inline DirectMemory AllocateForDirectReads(size_t bytes) {
  return DirectMemory(static_cast<char*>(std::aligned_alloc(kDirectAlignmentBytes, bytes)));
}

// `path` is the full path, for messages; `file_mode` is for created files.
absl::StatusOr<std::unique_ptr<ReadFile>> OpenPosixReadFile(int directory_fd, std::string_view name,
                                                            std::string path, ReadMode mode);

absl::StatusOr<std::unique_ptr<AppendFile>> CreatePosixAppendFile(int directory_fd,
                                                                  std::string_view name,
                                                                  std::string path,
                                                                  mode_t file_mode);

// A second holder in this process is recognised by (device and inode of the directory, name), a
// holder in another process by the kernel's lock on the open file description.  The kernel's lock
// disappears with its holder, however it ends, so no lock becomes stale.
absl::StatusOr<std::unique_ptr<FileLock>> LockPosixFile(int directory_fd, std::string_view name,
                                                        std::string path, LockKind kind,
                                                        mode_t file_mode);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_FILES_H_
