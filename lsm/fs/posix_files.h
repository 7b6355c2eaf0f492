// Files of the POSIX directory, opened relative to its descriptor.
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

// What reads that are submitted together need to know of a file.
class PosixReadFile : public ReadFile {
 public:
  PosixReadFile(Descriptor file, std::string path, size_t alignment_bytes)
      : file_(std::move(file)), path_(std::move(path)), alignment_bytes_(alignment_bytes) {}

  absl::StatusOr<uint64_t> Size() const final;
  absl::StatusOr<uint64_t> NextData(uint64_t offset) const final;
  const std::string& path() const final { return path_; }

  int descriptor() const { return file_.get(); }
  // Memory, offset and length of each read of the descriptor must be multiples of it.
  size_t alignment_bytes() const { return alignment_bytes_; }

 private:
  const Descriptor file_;
  const std::string path_;
  const size_t alignment_bytes_;
};

// Memory, offset and length of a direct read must be multiples of what the file system says, most
// often the device's logical block; where it does not say, this serves all devices in use.  It is
// the largest that is taken.
inline constexpr size_t kDirectAlignmentBytes = 4096;

struct FreeDeleter {
  void operator()(char* memory) const { std::free(memory); }
};
using DirectMemory = std::unique_ptr<char, FreeDeleter>;
// Aligned memory, a multiple of kDirectAlignmentBytes; null where there is none.
inline DirectMemory AllocateForDirectReads(size_t bytes) {
  return DirectMemory(static_cast<char*>(std::aligned_alloc(kDirectAlignmentBytes, bytes)));
}

// `path` is the directory's path and the name, for messages; `file_mode` that of a file that is
// made.
absl::StatusOr<std::unique_ptr<ReadFile>> OpenPosixReadFile(int directory_fd, std::string_view name,
                                                            std::string path, ReadMode mode);

absl::StatusOr<std::unique_ptr<AppendFile>> CreatePosixAppendFile(int directory_fd,
                                                                  std::string_view name,
                                                                  std::string path,
                                                                  mode_t file_mode);

// Two holders in one process are told apart by (device, inode); two processes by the kernel's lock
// on the open file description, which goes away with the holder however it ends, so no lock is ever
// stale.
absl::StatusOr<std::unique_ptr<FileLock>> LockPosixFile(int directory_fd, std::string_view name,
                                                        std::string path, LockKind kind,
                                                        mode_t file_mode);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_FILES_H_
