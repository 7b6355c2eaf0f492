// Common code of the POSIX files: self-closing descriptors, and errno as a status.
#ifndef TRELLIS_LSM_FS_POSIX_CALL_H_
#define TRELLIS_LSM_FS_POSIX_CALL_H_

#include <sys/types.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// "PATH: CALL: text of the error", with the status code that file_system.h defines for it.
absl::Status PosixError(int error, std::string_view path, std::string_view call);

// Unavailable: "PATH: is a FIFO, not a regular file".
absl::Status NotRegularError(mode_t mode, std::string_view path);

// Repeats a call while signals interrupt it.  `call` returns -1 and sets errno, as system calls do.
template <typename Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

// Owns a file descriptor.  Ignores errors of closing; AppendFile::Close reports them.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset();

 private:
  int fd_ = -1;
};

// Opens a file as the store opens every file: without following a symbolic link or waiting for a
// FIFO, and so that programs which the process starts do not inherit the descriptor.  Unavailable
// if the file is not a regular one.  `file_mode` is for a newly created file.
absl::StatusOr<Descriptor> OpenRegularAt(int directory_fd, std::string_view name, int flags,
                                         std::string_view path, mode_t file_mode = 0);

// fsync of a directory.
absl::Status SyncDirectory(int directory_fd, std::string_view path);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_CALL_H_
