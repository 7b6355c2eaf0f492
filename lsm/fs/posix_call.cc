#include "lsm/fs/posix_call.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <system_error>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case ENOTEMPTY:
      return absl::StatusCode::kFailedPrecondition;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EINVAL:
    case ENAMETOOLONG:
    case ENOTDIR:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// How to avoid the error, if known.
std::string HintFor(int error) {
  if (error == EMFILE) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return Concat(" (the process may have ", limit.rlim_cur, " open: ulimit -n)");
  }
  if (error == ENFILE) return " (of the whole system: fs.file-max)";
  if (error == EFBIG) return " (ulimit -f, or the file system's own limit)";
  return "";
}

std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISLNK(mode)) return "a symbolic link";
  return "a device";
}

}  // namespace

absl::Status PosixError(int error, std::string_view path, std::string_view call) {
  const std::string message =
      Concat(path, ": ", call, ": ", std::system_category().message(error), HintFor(error));
  if (error == ENOSPC || error == EDQUOT) return DiskFull(message);
  return absl::Status(CodeOf(error), message);
}

absl::Status NotRegularError(mode_t mode, std::string_view path) {
  return absl::UnavailableError(Concat(path, ": is ", KindOf(mode), ", not a regular file"));
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

void Descriptor::Reset() {
  if (valid()) ::close(Release());
}

absl::StatusOr<Descriptor> OpenRegularAt(int directory_fd, std::string_view name, int flags,
                                         std::string_view path, mode_t file_mode) {
  const std::string terminated(name);
  Descriptor file(Uninterrupted([&] {
    return ::openat(directory_fd, terminated.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                    file_mode);
  }));
  if (!file.valid()) {
    const int error = errno;
    if (error == ELOOP) return NotRegularError(S_IFLNK, path);
    if (error == EISDIR) return NotRegularError(S_IFDIR, path);
    return PosixError(error, path, "open");
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return PosixError(errno, path, "stat");
  if (!S_ISREG(info.st_mode)) return NotRegularError(info.st_mode, path);
  return file;
}

absl::Status SyncDirectory(int directory_fd, std::string_view path) {
  if (Uninterrupted([&] { return ::fsync(directory_fd); }) != 0) {
    return PosixError(errno, path, "sync of the directory");
  }
  return absl::OkStatus();
}

}  // namespace lsm
