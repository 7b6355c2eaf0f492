#include "lsm/fs/posix_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/fs/bare_name.h"
#include "lsm/fs/file_names.h"
#include "lsm/fs/posix_files.h"
#include "lsm/threads/mutex.h"
#include "lsm/threads/process_mark.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

struct DirectoryCloser {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// Descriptors in reserve.  With them a process that has used up its descriptors can still continue
// the log and the manifest of a store.  Thread-safe.
class SpareDescriptors {
 public:
  // Replaces descriptors that were given away, as far as possible.
  void Refill(int directory_fd) {
    MutexLock lock(&mutex_);
    while (spare_.size() < kCount) {
      Descriptor copy(::fcntl(directory_fd, F_DUPFD_CLOEXEC, 0));
      if (!copy.valid()) return;
      spare_.push_back(std::move(copy));
    }
  }
  // Closes one, so that another file can take its number.  False if none is left.
  bool GiveOne() {
    MutexLock lock(&mutex_);
    if (spare_.empty()) return false;
    spare_.pop_back();
    return true;
  }

 private:
  static constexpr size_t kCount = 3;  // a log, a manifest, and CURRENT
  Mutex mutex_;
  std::vector<Descriptor> spare_ ABSL_GUARDED_BY(mutex_);
};

// Files that writes require.  A table can wait, since its memtable is in the log.
bool MayTakeSpare(std::string_view name) {
  const std::optional<FileName> parsed = ParseFileName(name);
  return parsed && parsed->kind != FileKind::kTable && parsed->kind != FileKind::kLock &&
         parsed->kind != FileKind::kReserve;
}

class PosixDirectory final : public Directory {
 public:
  PosixDirectory(Descriptor fd, std::string path, mode_t file_mode)
      : fd_(std::move(fd)), path_(std::move(path)), file_mode_(file_mode) {}

  absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name,
                                                     ReadMode mode) override {
    TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
    return WithSpares(name, [&] { return OpenPosixReadFile(fd_.get(), name, PathOf(name), mode); });
  }

  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override {
    TRELLIS_RETURN_IF_ERROR(CheckMayChange(name));
    spare_.Refill(fd_.get());  // not earlier: a reader needs none
    absl::StatusOr<std::unique_ptr<AppendFile>> file = WithSpares(
        name, [&] { return CreatePosixAppendFile(fd_.get(), name, PathOf(name), file_mode_); });
    // Here, only the directory itself can be missing.
    if (absl::IsNotFound(file.status()))
      return absl::UnavailableError(
          Concat(MessageOf(file.status()), ": the directory was removed"));
    return file;
  }

  absl::StatusOr<std::vector<std::string>> List() override;
  absl::StatusOr<FileInfo> Stat(std::string_view name) override;
  absl::Status Link(std::string_view name, Directory& to, std::string_view new_name) override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status Remove(std::string_view name) override;
  absl::StatusOr<uint64_t> FreeBytes() override;
  absl::StatusOr<uint64_t> CapacityBytes() override;
  absl::Status Sync() override {
    // As for a file: after a failed fsync, a second one may falsely succeed.  Keeps the first
    // error, so that no running job believes that names are durable.
    TRELLIS_RETURN_IF_ERROR(process_.Check(path_));
    MutexLock lock(&sync_mutex_);
    if (sync_status_.ok())
      sync_status_ = CatchOutOfMemory([&] { return SyncDirectory(fd_.get(), path_); });
    return sync_status_;
  }

  absl::Status ForgetFailedSync() override {
    MutexLock lock(&sync_mutex_);
    return std::exchange(sync_status_, absl::OkStatus());
  }

  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override;
  absl::StatusOr<bool> Contains(const std::string& path) override;

  absl::StatusOr<std::unique_ptr<FileLock>> Lock(std::string_view name, LockKind kind) override {
    TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
    return LockPosixFile(fd_.get(), name, PathOf(name), kind, file_mode_);
  }

  const std::string& path() const override { return path_; }

 private:
  std::string PathOf(std::string_view name) const { return Concat(path_, "/", name); }

  // Returns what `open` returns.  Tries repeatedly, since another thread may take the number of a
  // spare descriptor.  On a full disk the attempts do no harm.
  template <typename Open>
  auto WithSpares(std::string_view name, const Open& open) -> decltype(open()) {
    auto file = open();
    while (absl::IsResourceExhausted(file.status()) && MayTakeSpare(name) && spare_.GiveOne())
      file = open();
    return file;
  }

  absl::Status CheckMayChange(std::string_view name) const {
    TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
    return process_.Check(path_);
  }
  absl::Status CheckExpected(std::string_view name, std::optional<std::string_view> expected);
  absl::Status WriteSynced(std::string_view name, std::string_view bytes);

  const Descriptor fd_;
  const std::string path_;
  const mode_t file_mode_;
  const ProcessMark process_;
  SpareDescriptors spare_;
  Mutex replace_mutex_;  // one AtomicReplace at a time, since all use one temporary file
  Mutex sync_mutex_ ABSL_ACQUIRED_AFTER(replace_mutex_);
  absl::Status sync_status_ ABSL_GUARDED_BY(sync_mutex_);
};

absl::StatusOr<std::vector<std::string>> PosixDirectory::List() {
  // Opens the directory separately, since the position in the listing belongs to the open file.
  Descriptor own(
      Uninterrupted([&] { return ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!own.valid()) return PosixError(errno, path_, "open");
  const std::unique_ptr<DIR, DirectoryCloser> stream(::fdopendir(own.get()));
  if (stream == nullptr) return PosixError(errno, path_, "list");
  own.Release();  // closedir closes it

  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    bool is_directory = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN) {  // some file systems do not store the type in the directory
      struct stat info {};
      is_directory = ::fstatat(fd_.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISDIR(info.st_mode);
    }
    if (!is_directory) names.emplace_back(entry->d_name);
  }
  if (errno != 0) return PosixError(errno, path_, "list");
  return names;
}

absl::StatusOr<FileInfo> PosixDirectory::Stat(std::string_view name) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
  struct stat info {};
  if (::fstatat(fd_.get(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return PosixError(errno, PathOf(name), "stat");
  }
  if (!S_ISREG(info.st_mode)) return NotRegularError(info.st_mode, PathOf(name));
  return FileInfo{static_cast<uint64_t>(info.st_size)};
}

absl::Status PosixDirectory::Rename(std::string_view from, std::string_view to) {
  TRELLIS_RETURN_IF_ERROR(CheckMayChange(from));
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, to));
  if (::renameat(fd_.get(), std::string(from).c_str(), fd_.get(), std::string(to).c_str()) != 0) {
    return PosixError(errno, PathOf(from), Concat("rename to ", to));
  }
  return absl::OkStatus();
}

absl::Status PosixDirectory::Link(std::string_view name, Directory& to, std::string_view new_name) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
  const auto* const other = dynamic_cast<PosixDirectory*>(&to);
  if (other == nullptr) return Directory::Link(name, to, new_name);
  TRELLIS_RETURN_IF_ERROR(other->CheckMayChange(new_name));
  if (::linkat(fd_.get(), std::string(name).c_str(), other->fd_.get(),
               std::string(new_name).c_str(), 0) == 0)
    return absl::OkStatus();
  // EPERM: the file system has no links, or linking others' files is forbidden.  ENOSYS: a file
  // system in user space without links.  EMLINK: the file has too many links.
  if (errno == EXDEV || errno == EPERM || errno == EMLINK || errno == EOPNOTSUPP || errno == ENOSYS)
    return Directory::Link(name, to, new_name);
  return PosixError(errno, other->PathOf(new_name), Concat("link from ", PathOf(name)));
}

absl::Status PosixDirectory::Remove(std::string_view name) {
  TRELLIS_RETURN_IF_ERROR(CheckMayChange(name));
  if (::unlinkat(fd_.get(), std::string(name).c_str(), 0) != 0) {
    return PosixError(errno, PathOf(name), "remove");
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PosixDirectory::FreeBytes() {
  struct statvfs info {};
  if (Uninterrupted([&] { return ::fstatvfs(fd_.get(), &info); }) != 0)
    return PosixError(errno, path_, "free space");
  return uint64_t{info.f_bavail} * info.f_frsize;
}

absl::StatusOr<uint64_t> PosixDirectory::CapacityBytes() {
  struct statvfs info {};
  if (Uninterrupted([&] { return ::fstatvfs(fd_.get(), &info); }) != 0)
    return PosixError(errno, path_, "size of the file system");
  return uint64_t{info.f_blocks} * info.f_frsize;
}

absl::Status PosixDirectory::CheckExpected(std::string_view name,
                                           std::optional<std::string_view> expected) {
  const absl::StatusOr<std::unique_ptr<ReadFile>> file = OpenRead(name, ReadMode::kBuffered);
  if (absl::IsNotFound(file.status())) {
    if (!expected) return absl::OkStatus();
    return absl::AbortedError(Concat(PathOf(name), ": does not exist any more"));
  }
  if (!file.ok()) return file.status();
  if (!expected) return absl::AbortedError(Concat(PathOf(name), ": exists already"));
  // One byte more than expected, to detect a longer file.
  std::string found(expected->size() + 1, '\0');
  TRELLIS_ASSIGN_OR_RETURN(const size_t found_bytes, (*file)->ReadAt(0, found));
  found.resize(found_bytes);
  if (found == *expected) return absl::OkStatus();
  return absl::AbortedError(Concat(PathOf(name), ": does not hold what it is expected to hold"));
}

absl::Status PosixDirectory::WriteSynced(std::string_view name, std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<AppendFile> file, CreateExclusive(name));
  TRELLIS_RETURN_IF_ERROR(file->Append(bytes));
  TRELLIS_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

absl::Status PosixDirectory::AtomicReplace(std::string_view name, std::string_view bytes,
                                           std::optional<std::string_view> expected,
                                           const std::function<void()>& before_swap) {
  MutexLock lock(&replace_mutex_);
  TRELLIS_RETURN_IF_ERROR(CheckExpected(name, expected));
  const std::string temporary = Concat(name, kTemporarySuffix);
  const absl::Status removed = Remove(temporary);  // left by a crash
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  absl::Status status = WriteSynced(temporary, bytes);
  if (status.ok() && before_swap != nullptr) before_swap();
  if (status.ok()) status = Rename(temporary, name);
  if (!status.ok()) {
    Remove(temporary).IgnoreError();  // the first error is more useful
    return status;
  }
  return Sync();
}

bool IsSameInode(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Walks up to the root.  A directory that may not be searched counts as a different one.
absl::StatusOr<bool> PosixDirectory::Contains(const std::string& path) {
  TRELLIS_ASSIGN_OR_RETURN(Descriptor at, FindNearestDirectory(path));
  struct stat own {
  }, here{}, above{};
  if (::fstat(fd_.get(), &own) != 0) return PosixError(errno, path_, "stat");
  if (::fstat(at.get(), &here) != 0) return PosixError(errno, path, "stat");
  while (!IsSameInode(here, own)) {
    at = Descriptor(::openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!at.valid() || ::fstat(at.get(), &above) != 0) return false;
    if (IsSameInode(here, above)) return false;  // the root is its own parent
    here = above;
  }
  return true;
}

}  // namespace

std::unique_ptr<Directory> NewPosixDirectory(Descriptor fd, std::string path, mode_t file_mode) {
  return std::make_unique<PosixDirectory>(std::move(fd), std::move(path), file_mode);
}

}  // namespace lsm
