#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/posix_files.h"
#include "lsm/fs/process_lock.h"
#include "lsm/threads/mutex.h"
#include "lsm/threads/process_mark.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// The locks held by this process.  The kernel's lock belongs to an open file description.  So it
// would also separate two holders in one process, but could not tell them from another process.
class LockRegistry {
 public:
  // Directory and name of the file.  If another program removes the file and it is created again,
  // it is still the same place.
  using Place = std::tuple<dev_t, ino_t, std::string>;

  static LockRegistry& OfProcess() {
    static LockRegistry* const registry = new LockRegistry;
    return *registry;
  }

  bool TryAdd(const Place& place, LockKind kind) {
    MutexLock lock(&mutex_);
    auto [held, is_new] = holders_.try_emplace(place, Holders{kind, 0});
    if (!is_new && (kind == LockKind::kExclusive || held->second.kind == LockKind::kExclusive)) {
      return false;
    }
    ++held->second.count;
    return true;
  }

  void Remove(const Place& place) {
    MutexLock lock(&mutex_);
    const auto held = holders_.find(place);
    if (--held->second.count == 0) holders_.erase(held);
  }

 private:
  struct Holders {
    LockKind kind;
    int count;
  };

  Mutex mutex_;
  std::map<Place, Holders> holders_ ABSL_GUARDED_BY(mutex_);
};

// A place in the registry, released by the destructor.  The object exists before it takes the
// place, so nothing can fail in between.
class Registration {
 public:
  explicit Registration(LockRegistry::Place place) : place_(std::move(place)) {}
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() {
    if (taken_) LockRegistry::OfProcess().Remove(place_);
  }

  bool TryTake(LockKind kind) { return taken_ = LockRegistry::OfProcess().TryAdd(place_, kind); }

 private:
  const LockRegistry::Place place_;
  bool taken_ = false;
};

int SetOpenFileLock(int fd, short type) {
  struct flock lock {};  // l_pid must be 0; all zero means the whole file
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return Uninterrupted([&] { return ::fcntl(fd, F_OFD_SETLK, &lock); });
}

class PosixFileLock final : public FileLock {
 public:
  PosixFileLock(std::unique_ptr<Registration> registration, Descriptor file, std::string path)
      : registration_(std::move(registration)), file_(std::move(file)), path_(std::move(path)) {}

  // A forked child shares the kernel's lock.  The parent's unlock releases it although the child
  // has the file open.  The child itself must not unlock.
  ~PosixFileLock() override { Release(); }

  void Release() override {
    if (file_.valid() && CheckHolder().ok()) SetOpenFileLock(file_.get(), F_UNLCK);
    file_.Reset();
    // Last: no other thread may take the file before the kernel's lock is released.
    registration_.reset();
  }

  absl::Status CheckHolder() const override { return process_.Check(path_); }

 private:
  std::unique_ptr<Registration> registration_;
  Descriptor file_;
  const std::string path_;
  const ProcessMark process_;
};

class ProcessLock final : public FileLock {
 public:
  explicit ProcessLock(std::string path) : path_(std::move(path)) {}
  void Release() override {}
  absl::Status CheckHolder() const override { return process_.Check(path_); }

 private:
  const std::string path_;
  const ProcessMark process_;
};

// Whether `name` is still the opened file.
bool IsSameFile(int directory_fd, const std::string& name, const struct stat& opened) {
  struct stat now {};
  return ::fstatat(directory_fd, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
         now.st_dev == opened.st_dev && now.st_ino == opened.st_ino;
}

}  // namespace

std::unique_ptr<FileLock> NewProcessLock(std::string path) {
  return std::make_unique<ProcessLock>(std::move(path));
}

absl::StatusOr<std::unique_ptr<FileLock>> LockPosixFile(int directory_fd, std::string_view name,
                                                        std::string path, LockKind kind,
                                                        mode_t file_mode) {
  const bool exclusive = kind == LockKind::kExclusive;
  const int flags = exclusive ? O_RDWR | O_CREAT : O_RDONLY;
  TRELLIS_ASSIGN_OR_RETURN(Descriptor file,
                           OpenRegularAt(directory_fd, name, flags, path, file_mode));
  struct stat info {};
  struct stat directory {};
  if (::fstat(file.get(), &info) != 0 || ::fstat(directory_fd, &directory) != 0)
    return PosixError(errno, path, "stat");

  auto registration =
      std::make_unique<Registration>(LockRegistry::Place(directory.st_dev, directory.st_ino, name));
  if (!registration->TryTake(kind)) {
    return absl::FailedPreconditionError(Concat(path, ": already open in this process"));
  }
  if (SetOpenFileLock(file.get(), exclusive ? F_WRLCK : F_RDLCK) != 0) {
    const int error = errno;
    if (error != EAGAIN && error != EACCES) return PosixError(error, path, "lock");
    return absl::FailedPreconditionError(
        Concat(path, ": locked by another process, which is ",
               exclusive ? "reading or writing it" : "writing it"));
  }
  if (!IsSameFile(directory_fd, std::string(name), info)) {
    return absl::FailedPreconditionError(
        Concat(path, ": was removed or replaced by another process while being locked"));
  }
  return std::make_unique<PosixFileLock>(std::move(registration), std::move(file), std::move(path));
}

}  // namespace lsm
