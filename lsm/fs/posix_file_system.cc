#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/environment.h"
#include "lsm/fs/posix_call.h"
#include "lsm/fs/posix_directory.h"
#include "lsm/fs/posix_read_many.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

mode_t DirectoryModeOf(FileAccess access) {
  switch (access) {
    case FileAccess::kOwner:
      break;
    case FileAccess::kGroup:
      return 0750;
    case FileAccess::kAll:
      return 0755;
  }
  return 0700;
}

mode_t FileModeOf(FileAccess access) { return DirectoryModeOf(access) & ~mode_t{0111}; }

// "/a/b/" is "/a/b".
std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// "/a/b" and "/a//b" give "/a", "/a" gives "/", "a" gives ".".
std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : WithoutTrailingSlashes(path.substr(0, slash));
}

absl::Status CheckPath(const std::string& path) {
  if (!path.empty() && path.find('\0') == path.npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat("the path of a directory, \"", Escape(path), "\", is empty or holds a zero byte"));
}

// Follows symbolic links in the path, since the user chose it.
Descriptor TryToOpen(const std::string& path) {
  return Descriptor(
      Uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
}

absl::StatusOr<Descriptor> OpenPath(const std::string& path) {
  Descriptor fd = TryToOpen(path);
  if (!fd.valid()) return PosixError(errno, path, "open");
  return fd;
}

// Makes the directory's name durable.  A process may use a directory without permission to open its
// parent, and the parent may be in a file system that cannot be synced.  If the directory
// `was_there`, its durability is then left to its creator.
absl::Status SyncParentOf(const std::string& path, bool was_there) {
  const std::string parent = ParentOf(path);
  const Descriptor fd = TryToOpen(parent);
  if (fd.valid()) {
    const absl::Status synced = SyncDirectory(fd.get(), parent);
    return was_there && absl::IsInvalidArgument(synced) ? absl::OkStatus() : synced;
  }
  if (was_there && errno == EACCES) return absl::OkStatus();
  return PosixError(errno, parent, "open");
}

// Creates the directory and its missing parents, each durably.
absl::Status MakeDirectory(const std::string& path, mode_t mode) {
  int result = ::mkdir(path.c_str(), mode);
  if (result != 0 && errno == ENOENT && ParentOf(path) != path) {
    TRELLIS_RETURN_IF_ERROR(MakeDirectory(ParentOf(path), mode));
    result = ::mkdir(path.c_str(), mode);
  }
  // If it exists, another process came first.
  if (result != 0 && errno != EEXIST) return PosixError(errno, path, "make directory");
  const absl::Status synced = SyncParentOf(path, /*was_there=*/false);
  // A second sync may falsely succeed, so the next attempt must find the directory missing.
  if (!synced.ok() && result == 0) ::rmdir(path.c_str());
  return synced;
}

// Whether this error of rmdir means that the directory must stay, though it may be empty.
bool StandsInTheWay(int error, const std::string& path) {
  if (error == ENOTDIR) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
  }
  // The first two mean that it is not empty; EINVAL that the path ends with a dot.
  return error == ENOTEMPTY || error == EEXIST || error == EBUSY || error == EACCES ||
         error == EPERM || error == EROFS || error == EINVAL;
}

class PosixFileSystemImpl final : public FileSystem {
 public:
  explicit PosixFileSystemImpl(FileAccess access) : access_(access) {}

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                           bool create) override {
    TRELLIS_RETURN_IF_ERROR(CheckPath(path));
    const std::string directory_path = WithoutTrailingSlashes(path);
    absl::StatusOr<Descriptor> fd = OpenPath(directory_path);
    if (create && fd.ok()) {
      // The process that created it may have been killed before it synced the parent.
      TRELLIS_RETURN_IF_ERROR(SyncParentOf(directory_path, /*was_there=*/true));
    } else if (create && absl::IsNotFound(fd.status())) {
      TRELLIS_RETURN_IF_ERROR(MakeDirectory(directory_path, DirectoryModeOf(access_)));
      fd = OpenPath(directory_path);
    }
    if (!fd.ok()) return fd.status();
    return NewPosixDirectory(*std::move(fd), directory_path, FileModeOf(access_));
  }

  absl::Status RemoveDirectory(const std::string& path) override {
    TRELLIS_RETURN_IF_ERROR(CheckPath(path));
    const std::string directory_path = WithoutTrailingSlashes(path);
    if (::rmdir(directory_path.c_str()) == 0) return absl::OkStatus();
    const absl::Status status = PosixError(errno, directory_path, "remove directory");
    if (!StandsInTheWay(errno, directory_path)) return status;
    return absl::Status(absl::StatusCode::kFailedPrecondition, status.message());
  }

  using FileSystem::ReadMany;
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done) override {
    PosixReadMany(requests, done);
  }

 private:
  const FileAccess access_;
};

}  // namespace

absl::StatusOr<Descriptor> FindNearestDirectory(const std::string& path) {
  TRELLIS_RETURN_IF_ERROR(CheckPath(path));
  // O_PATH: the directories need not be readable.
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  Descriptor nearest(::open(path.front() == '/' ? "/" : ".", kFlags));
  if (!nearest.valid()) return PosixError(errno, path, "open");
  // Number of names below `nearest` that do not exist.  They will be plain directories, so ".."
  // removes the last of them.  When none is left, the path continues from `nearest`.
  size_t missing = 0;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty() || name == ".") continue;
    if (missing > 0) {
      missing = name == ".." ? missing - 1 : missing + 1;
      continue;
    }
    Descriptor next(::openat(nearest.get(), name.c_str(), kFlags));
    if (next.valid()) {
      nearest = std::move(next);
    } else if (errno == ENOENT) {
      ++missing;
    } else {
      return PosixError(errno, path.substr(0, end), "open");
    }
  }
  return nearest;
}

FileSystem& PosixFileSystem(FileAccess access) {
  static PosixFileSystemImpl* const file_systems[] = {new PosixFileSystemImpl(FileAccess::kOwner),
                                                      new PosixFileSystemImpl(FileAccess::kGroup),
                                                      new PosixFileSystemImpl(FileAccess::kAll)};
  return *file_systems[static_cast<size_t>(access)];
}

}  // namespace lsm
