// Reads and replaces whole files.  A reader sees either the old bytes or the new ones.
#ifndef TRELLIS_BLOOM_EXAMPLES_FILES_H_
#define TRELLIS_BLOOM_EXAMPLES_FILES_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace examples {

inline absl::Status FileError(const std::string& path) { return absl::ErrnoToStatus(errno, path); }

// "-" means standard input.  NotFound if there is no such file.
inline absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(
      path == "-" ? ::fdopen(::dup(STDIN_FILENO), "rb") : std::fopen(path.c_str(), "rb"),
      &std::fclose);
  if (file == nullptr) return FileError(path);
  std::string bytes;
  char buffer[1 << 16];
  for (size_t count; (count = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0;)
    bytes.append(buffer, count);
  if (std::ferror(file.get()) != 0) return FileError(path);
  return bytes;
}

// Writes and syncs a second file beside it, renames it, and syncs the directory.  After a failure
// the file holds its old bytes or the new ones.  A symbolic link stays one.
inline absl::Status ReplaceFile(std::string path, std::string_view bytes) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return absl::FailedPreconditionError(path + ": is no file that could be replaced");
  std::error_code no_such, ignored;
  const std::filesystem::path target = std::filesystem::canonical(path, no_such);
  if (no_such && std::filesystem::is_symlink(path, ignored))
    return absl::FailedPreconditionError(path + ": is a link to no file");
  if (!no_such) path = target.string();
  std::string made = path + ".XXXXXX";
  const int file = ::mkostemp(made.data(), O_CLOEXEC);
  if (file < 0) return FileError(path);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(file, no_such ? 0666 & ~mask : info.st_mode & 07777);
  absl::Status status;
  while (!bytes.empty() && status.ok()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
    if (count < 0 && errno != EINTR) status = FileError(made);
  }
  if (status.ok() && ::fsync(file) != 0) status = FileError(made);
  if (::close(file) != 0 && status.ok()) status = FileError(made);
  if (status.ok() && ::rename(made.c_str(), path.c_str()) != 0) status = FileError(path);
  if (!status.ok()) {
    ::unlink(made.c_str());
    return status;
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  const int names = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (names < 0) return FileError(folder);
  if (::fsync(names) != 0) status = FileError(folder);
  ::close(names);
  return status;
}

}  // namespace examples

#endif  // TRELLIS_BLOOM_EXAMPLES_FILES_H_
