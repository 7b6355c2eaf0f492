// What the POSIX files of this folder share: descriptors that close themselves, and errno as a
// status.
#ifndef TRELLIS_LSM_FS_POSIX_CALL_H_
#define TRELLIS_LSM_FS_POSIX_CALL_H_

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// "PATH: CALL: text of the error", with the kind that file_system.h names for it.
absl::Status PosixError(int error, std::string_view path, std::string_view call);

// Unavailable: "PATH: is a FIFO, not a regular file".
absl::Status NotRegularError(mode_t mode, std::string_view path);

// Repeats a call that a signal interrupted.  `call` returns -1 and sets errno, as system calls do.
template <typename Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

// Owns a file descriptor.  Closing drops the error; Close of an AppendFile asks for it.
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

// Which process something belongs to.  A child that the process forks has it in its memory too,
// with the descriptors, and must not write to the same files.  (It is noticed by pthread_atfork,
// which clone and _Fork pass by.)
class ProcessMark {
 public:
  ProcessMark();
  // False in a child.
  bool IsThisOne() const;
  // FailedPrecondition naming the path, in a child.
  absl::Status Check(std::string_view path) const;

 private:
  const uint32_t forks_;
};

// openat in the way the store opens every file: no symbolic link is followed, no FIFO waited for,
// nothing is inherited by programs that the process starts, and what was opened is a regular file
// (otherwise Unavailable).  `file_mode` is that of a file that it makes.
absl::StatusOr<Descriptor> OpenRegularAt(int directory_fd, std::string_view name, int flags,
                                         std::string_view path, mode_t file_mode = 0);

// fsync of a directory.
absl::Status SyncDirectory(int directory_fd, std::string_view path);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_CALL_H_
