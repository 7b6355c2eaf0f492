#include "tests/lsm/fs/watched_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <string_view>
#include <utility>

namespace lsm {

CallScript* call_script = nullptr;

namespace {

std::string LastPart(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string NameOfDescriptor(int fd) {
  std::error_code gone;
  return LastPart(
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), gone).string());
}

// Records the call.  Returns false and sets errno if it must fail.
bool Goes(const std::string& name, const std::string& file) {
  if (call_script == nullptr) return true;
  CallScript* const seen =
      std::exchange(call_script, nullptr);  // finding out names makes calls, too
  seen->calls.push_back(name + " " + file);
  std::deque<int>& errors = seen->fail[name];
  int error = 0;
  if (!errors.empty()) {
    error = errors.front();
    errors.pop_front();
  }
  call_script = seen;
  errno = error;
  return error == 0;
}
bool GoesOn(const std::string& name, int fd) {
  if (call_script == nullptr) return true;
  CallScript* const seen = std::exchange(call_script, nullptr);
  const std::string file = NameOfDescriptor(fd);
  call_script = seen;
  return Goes(name, file);
}

size_t Cut(size_t length) {
  return call_script == nullptr ? length : std::min(length, call_script->transfer_max);
}

}  // namespace
}  // namespace lsm

using lsm::call_script;
using lsm::Cut;
using lsm::Goes;
using lsm::GoesOn;
using lsm::LastPart;

extern "C" {

int openat(int directory, const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  const char* const name = (flags & O_CREAT) != 0 ? "create" : "open";
  if (!Goes(name, LastPart(path))) return -1;
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}
ssize_t write(int fd, const void* bytes, size_t length) {
  if (!GoesOn("write", fd)) return -1;
  return ::syscall(SYS_write, fd, bytes, Cut(length));
}
ssize_t pread(int fd, void* bytes, size_t length, off_t offset) {
  if (!GoesOn("pread", fd)) return -1;
  // Shortens the result afterwards, because a direct read of less than a block would fail.
  const ssize_t got = ::syscall(SYS_pread64, fd, bytes, length, offset);
  return got < 0 ? got : static_cast<ssize_t>(Cut(static_cast<size_t>(got)));
}
int fdatasync(int fd) {
  if (!GoesOn("fdatasync", fd)) return -1;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
int sync_file_range(int fd, off_t offset, off_t length, unsigned flags) {
  if (!GoesOn("sync_file_range", fd)) return -1;
  return static_cast<int>(::syscall(SYS_sync_file_range, fd, offset, length, flags));
}
int fsync(int fd) {
  if (!GoesOn("fsync", fd)) return -1;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  if (!Goes("rename", std::string(from) + " " + to)) return -1;
  return static_cast<int>(::syscall(SYS_renameat, from_directory, from, to_directory, to));
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  if (!Goes("unlink", path)) return -1;
  return static_cast<int>(::syscall(SYS_unlinkat, directory, path, flags));
}
int linkat(int from_directory, const char* from, int to_directory, const char* to,
           int flags) noexcept {
  if (!Goes("link", from)) return -1;
  return static_cast<int>(::syscall(SYS_linkat, from_directory, from, to_directory, to, flags));
}
int mkdir(const char* path, mode_t mode) noexcept {
  if (!Goes("mkdir", LastPart(path))) return -1;
  return static_cast<int>(::syscall(SYS_mkdir, path, mode));
}
int close(int fd) {
  const bool goes = GoesOn("close", fd);
  const int error = errno;
  const int result = static_cast<int>(::syscall(SYS_close, fd));  // closed even where it fails
  if (goes) return result;
  errno = error;
  return -1;
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (!GoesOn("fallocate", fd)) return -1;
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, length));
}

int fstatvfs(int fd, struct statvfs* info) noexcept {
  if (!GoesOn("fstatvfs", fd)) return -1;
  struct statfs found {};
  if (::fstatfs(fd, &found) != 0) return -1;
  info->f_bavail = found.f_bavail;
  info->f_frsize = static_cast<unsigned long>(found.f_frsize);
  return 0;
}

}  // extern "C"
