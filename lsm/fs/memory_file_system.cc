#include "lsm/memory_file_system.h"

#include <cassert>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/bare_name.h"
#include "lsm/fs/memory_machine.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

using Machine = std::shared_ptr<MemoryMachine>;
using FilePointer = std::shared_ptr<MemoryFile>;

absl::Status NotFoundAt(std::string_view path) {
  return absl::NotFoundError(Concat(path, ": no such file or directory"));
}
absl::Status AlreadyExistsAt(std::string_view path) {
  return absl::AlreadyExistsError(Concat(path, ": file exists"));
}
absl::Status IsDirectoryAt(std::string_view path) {
  return absl::UnavailableError(Concat(path, ": is a directory, not a regular file"));
}
absl::Status DiskFullAt(std::string_view path) { return DiskFull(Concat(path, ": no space left")); }

class MemoryReadFile final : public ReadFile {
 public:
  MemoryReadFile(Machine machine, uint64_t epoch, std::string path, FilePointer file)
      : machine_(std::move(machine)),
        epoch_(epoch),
        path_(std::move(path)),
        file_(std::move(file)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    MutexLock lock(&machine_->mutex);
    TRELLIS_RETURN_IF_ERROR(machine_->Begin(epoch_, FileOperation::kReadAt, path_));
    const std::string& bytes = file_->bytes();
    if (offset >= bytes.size()) return 0;
    return bytes.copy(buffer.data(), buffer.size(), offset);
  }

  absl::StatusOr<uint64_t> Size() const override {
    MutexLock lock(&machine_->mutex);
    TRELLIS_RETURN_IF_ERROR(machine_->Begin(epoch_, FileOperation::kSize, path_));
    return file_->bytes().size();
  }

  const std::string& path() const override { return path_; }

 private:
  const Machine machine_;
  const uint64_t epoch_;
  const std::string path_;
  const FilePointer file_;
};

class MemoryAppendFile final : public AppendFile {
 public:
  MemoryAppendFile(Machine machine, uint64_t epoch, std::string path, FilePointer file)
      : machine_(std::move(machine)),
        epoch_(epoch),
        path_(std::move(path)),
        file_(std::move(file)) {}

  ~MemoryAppendFile() override {
    MutexLock lock(&machine_->mutex);
    file_->Seal();
    // Frees what was appended after the file was removed.
    if (file_->names == 0 && machine_->epoch == epoch_)
      machine_->FreeSpace(std::exchange(file_->taken_bytes, 0));
  }

  absl::Status Append(std::string_view bytes) override {
    return Add(FileOperation::kAppend, bytes);
  }

  absl::Status Allocate(uint64_t bytes) override {
    return Add(FileOperation::kAllocate, std::string(bytes, '\0'));
  }

  absl::Status Sync() override {
    assert(!closed_);
    if (!sync_status_.ok()) return sync_status_;  // as on POSIX: no second attempt
    MutexLock lock(&machine_->mutex);
    sync_status_ = machine_->Begin(epoch_, FileOperation::kSyncFile, path_);
    if (sync_status_.ok()) file_->durable_bytes = file_->bytes().size();
    return sync_status_;
  }

  absl::Status Close() override {
    assert(!closed_);
    closed_ = true;
    MutexLock lock(&machine_->mutex);
    file_->Seal();
    return machine_->Begin(epoch_, FileOperation::kClose, path_);
  }

  uint64_t size_bytes() const override { return size_bytes_; }
  const std::string& path() const override { return path_; }

 private:
  absl::Status Add(FileOperation operation, std::string_view bytes) {
    assert(!closed_);
    MutexLock lock(&machine_->mutex);
    bool interrupted = false;
    absl::Status status = machine_->Begin(epoch_, operation, path_, &interrupted);
    if (!status.ok() && !interrupted) return status;
    if (interrupted) bytes = bytes.substr(0, bytes.size() / 2);
    const size_t taken = static_cast<size_t>(machine_->TakeSpace(bytes.size(), file_.get()));
    file_->Append(bytes.substr(0, taken));
    size_bytes_ += taken;
    if (status.ok() && taken < bytes.size()) return DiskFullAt(path_);
    return status;
  }

  const Machine machine_;
  const uint64_t epoch_;
  const std::string path_;
  const FilePointer file_;
  uint64_t size_bytes_ = 0;
  absl::Status sync_status_;
  bool closed_ = false;
};

class MemoryFileLock final : public FileLock {
 public:
  // The caller has taken the lock.
  MemoryFileLock(Machine machine, FilePointer file, LockKind kind)
      : machine_(std::move(machine)), file_(std::move(file)), kind_(kind) {}

  // After a restart other holders lock a different file object.
  ~MemoryFileLock() override { Release(); }

  void Release() override {
    if (file_ == nullptr) return;
    MutexLock lock(&machine_->mutex);
    if (kind_ == LockKind::kExclusive) {
      file_->exclusive_lock = false;
    } else {
      --file_->shared_locks;
    }
    file_ = nullptr;
  }

 private:
  const Machine machine_;
  FilePointer file_;  // null once released
  const LockKind kind_;
};

class MemoryDirectory final : public Directory {
 public:
  MemoryDirectory(Machine machine, uint64_t epoch, std::string path,
                  std::shared_ptr<MemoryDirectoryNode> node)
      : machine_(std::move(machine)),
        epoch_(epoch),
        path_(std::move(path)),
        node_(std::move(node)) {}

  absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name, ReadMode mode) override;
  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override;
  absl::StatusOr<std::vector<std::string>> List() override;
  absl::StatusOr<FileInfo> Stat(std::string_view name) override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status Link(std::string_view name, Directory& to, std::string_view new_name) override;
  absl::Status Remove(std::string_view name) override;
  absl::StatusOr<uint64_t> FreeBytes() override;
  absl::Status Sync() override;
  absl::Status ForgetFailedSync() override;
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(std::string_view name, LockKind kind) override;
  const std::string& path() const override { return path_; }

 private:
  std::string PathOf(std::string_view name) const { return Concat(path_, "/", name); }

  absl::Status Begin(FileOperation operation, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_->mutex) {
    TRELLIS_RETURN_IF_ERROR(machine_->Begin(epoch_, operation, path));
    return node_->removed ? NotFoundAt(path_) : absl::OkStatus();
  }

  // Link, called on the target directory.  Both belong to one machine, so there is one lock.
  absl::Status Adopt(std::string_view name, const MemoryDirectory& from, std::string_view new_name);

  // Null if the name does not exist.
  FilePointer Find(std::string_view name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_->mutex) {
    const auto place = node_->current.find(name);
    return place == node_->current.end() ? nullptr : place->second;
  }

  // Aborted unless the file's content is as expected; ResourceExhausted without space for the new
  // bytes.
  absl::Status CheckReplace(std::string_view name, std::string_view bytes,
                            std::optional<std::string_view> expected) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_->mutex);

  // Directories are in the machine's list, not among a directory's names.
  bool IsDirectory(std::string_view name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_->mutex) {
    return machine_->directories.find(PathOf(name)) != machine_->directories.end();
  }

  // The error for a missing file of this name.
  absl::Status MissingAt(std::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_->mutex) {
    return IsDirectory(name) ? IsDirectoryAt(PathOf(name)) : NotFoundAt(PathOf(name));
  }

  const Machine machine_;
  const uint64_t epoch_;
  const std::string path_;
  const std::shared_ptr<MemoryDirectoryNode> node_;
  absl::Status sync_status_ ABSL_GUARDED_BY(machine_->mutex);
};

absl::StatusOr<std::unique_ptr<ReadFile>> MemoryDirectory::OpenRead(std::string_view name,
                                                                    ReadMode /*mode*/) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
  std::string path = PathOf(name);
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(Begin(FileOperation::kOpenRead, path));
  FilePointer file = Find(name);
  if (file == nullptr) return MissingAt(name);
  return std::make_unique<MemoryReadFile>(machine_, epoch_, std::move(path), std::move(file));
}

absl::StatusOr<std::unique_ptr<AppendFile>> MemoryDirectory::CreateExclusive(
    std::string_view name) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
  std::string path = PathOf(name);
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(machine_->Begin(epoch_, FileOperation::kCreate, path));
  if (node_->removed) return absl::UnavailableError(Concat(path, ": the directory was removed"));
  if (IsDirectory(name)) return AlreadyExistsAt(path);
  const auto [place, is_new] = node_->current.try_emplace(std::string(name));
  if (!is_new) return AlreadyExistsAt(path);
  node_->Touch(name);
  place->second = std::make_shared<MemoryFile>();
  place->second->names = 1;
  return std::make_unique<MemoryAppendFile>(machine_, epoch_, std::move(path), place->second);
}

absl::StatusOr<std::vector<std::string>> MemoryDirectory::List() {
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(Begin(FileOperation::kList, path_));
  std::vector<std::string> names;
  for (const auto& [name, file] : node_->current) names.push_back(name);
  return names;
}

absl::StatusOr<FileInfo> MemoryDirectory::Stat(std::string_view name) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
  const std::string path = PathOf(name);
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(Begin(FileOperation::kStat, path));
  const FilePointer file = Find(name);
  if (file == nullptr) return MissingAt(name);
  return FileInfo{file->bytes().size()};
}

absl::Status MemoryDirectory::Rename(std::string_view from, std::string_view to) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, from));
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, to));
  const std::string path = PathOf(from);
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(Begin(FileOperation::kRename, path));
  const FilePointer file = Find(from);
  if (file == nullptr) return NotFoundAt(path);
  if (IsDirectory(to)) return IsDirectoryAt(PathOf(to));
  node_->Touch(from);
  node_->Touch(to);
  node_->current.erase(node_->current.find(from));
  if (const FilePointer replaced = Find(to); replaced != nullptr)
    machine_->DropName(replaced.get());
  node_->current.insert_or_assign(std::string(to), file);
  return absl::OkStatus();
}

absl::Status MemoryDirectory::Link(std::string_view name, Directory& to,
                                   std::string_view new_name) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
  auto* const other = dynamic_cast<MemoryDirectory*>(&to);
  if (other == nullptr || other->machine_ != machine_) return Directory::Link(name, to, new_name);
  return other->Adopt(name, *this, new_name);
}

absl::Status MemoryDirectory::Adopt(std::string_view name, const MemoryDirectory& from,
                                    std::string_view new_name) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, new_name));
  const std::string path = PathOf(new_name);
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(Begin(FileOperation::kLink, path));
  const auto file = from.node_->current.find(name);
  if (file == from.node_->current.end()) return NotFoundAt(from.PathOf(name));
  if (IsDirectory(new_name)) return AlreadyExistsAt(path);
  const bool is_new = node_->current.try_emplace(std::string(new_name), file->second).second;
  if (!is_new) return AlreadyExistsAt(path);
  ++file->second->names;
  node_->Touch(new_name);
  return absl::OkStatus();
}

absl::Status MemoryDirectory::Remove(std::string_view name) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
  const std::string path = PathOf(name);
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(Begin(FileOperation::kRemove, path));
  const auto place = node_->current.find(name);
  if (place == node_->current.end()) return NotFoundAt(path);
  node_->Touch(name);
  machine_->DropName(place->second.get());
  node_->current.erase(place);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> MemoryDirectory::FreeBytes() {
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(Begin(FileOperation::kFreeBytes, path_));
  return machine_->free_bytes;
}

absl::Status MemoryDirectory::Sync() {
  MutexLock lock(&machine_->mutex);
  if (!sync_status_.ok()) return sync_status_;  // as on POSIX: no second attempt
  sync_status_ = Begin(FileOperation::kSyncDirectory, path_);
  if (sync_status_.ok()) node_->Sync();
  return sync_status_;
}

absl::Status MemoryDirectory::ForgetFailedSync() {
  MutexLock lock(&machine_->mutex);
  return std::exchange(sync_status_, absl::OkStatus());
}

absl::Status MemoryDirectory::CheckReplace(std::string_view name, std::string_view bytes,
                                           std::optional<std::string_view> expected) const {
  const std::string path = PathOf(name);
  const FilePointer found = Find(name);
  if (expected && found == nullptr)
    return absl::AbortedError(Concat(path, ": does not exist any more"));
  if (!expected && found != nullptr) return absl::AbortedError(Concat(path, ": exists already"));
  if (expected && found->bytes() != *expected)
    return absl::AbortedError(Concat(path, ": does not hold what it is expected to hold"));
  return bytes.size() > machine_->free_bytes ? DiskFullAt(path) : absl::OkStatus();
}

// Makes only this name durable.  POSIX would sync the whole directory, but an object store would
// not, so the store must not rely on that.
absl::Status MemoryDirectory::AtomicReplace(std::string_view name, std::string_view bytes,
                                            std::optional<std::string_view> expected,
                                            const std::function<void()>& before_swap) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
  const std::string path = PathOf(name);
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(CheckReplace(name, bytes, expected));
  // A fault may report a failure after the operation was done.
  if (before_swap != nullptr) before_swap();
  TRELLIS_RETURN_IF_ERROR(Begin(FileOperation::kAtomicReplace, path));
  // Again: another thread may have come first.
  TRELLIS_RETURN_IF_ERROR(CheckReplace(name, bytes, expected));
  auto file = std::make_shared<MemoryFile>();
  file->Set(std::string(bytes));
  file->taken_bytes = 0;
  file->names = 1;
  machine_->TakeSpace(bytes.size(), file.get());
  if (const FilePointer replaced = Find(name); replaced != nullptr)
    machine_->DropName(replaced.get());
  node_->Touch(name);
  node_->current.insert_or_assign(std::string(name), file);
  if (!sync_status_.ok()) return sync_status_;  // on POSIX this sync comes last
  node_->durable.insert_or_assign(std::string(name), file);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileLock>> MemoryDirectory::Lock(std::string_view name,
                                                                LockKind kind) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path_, name));
  const bool exclusive = kind == LockKind::kExclusive;
  const std::string path = PathOf(name);
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(Begin(FileOperation::kLock, path));
  FilePointer file = Find(name);
  if (file == nullptr) {
    if (!exclusive) return NotFoundAt(path);
    file = std::make_shared<MemoryFile>();
    file->names = 1;
    file->Seal();
    node_->Touch(name);
    node_->current.emplace(name, file);
  }
  if (file->exclusive_lock || (exclusive && file->shared_locks > 0)) {
    return absl::FailedPreconditionError(Concat(path, ": already open in this process"));
  }
  if (exclusive) {
    file->exclusive_lock = true;
  } else {
    ++file->shared_locks;
  }
  return std::make_unique<MemoryFileLock>(machine_, std::move(file), kind);
}

}  // namespace

const char* NameOf(FileOperation operation) {
  switch (operation) {
    case FileOperation::kOpenDirectory:
      return "open directory";
    case FileOperation::kRemoveDirectory:
      return "remove directory";
    case FileOperation::kOpenRead:
      return "open";
    case FileOperation::kCreate:
      return "create";
    case FileOperation::kList:
      return "list";
    case FileOperation::kStat:
      return "stat";
    case FileOperation::kRename:
      return "rename";
    case FileOperation::kLink:
      return "link";
    case FileOperation::kRemove:
      return "remove";
    case FileOperation::kSyncDirectory:
      return "sync directory";
    case FileOperation::kAtomicReplace:
      return "replace";
    case FileOperation::kLock:
      return "lock";
    case FileOperation::kReadAt:
      return "read";
    case FileOperation::kSize:
      return "size";
    case FileOperation::kAppend:
      return "append";
    case FileOperation::kAllocate:
      return "allocate";
    case FileOperation::kFreeBytes:
      return "free bytes";
    case FileOperation::kSyncFile:
      return "sync";
    case FileOperation::kClose:
      return "close";
  }
  return "unknown";
}

MemoryFileSystem::MemoryFileSystem() : machine_(std::make_shared<MemoryMachine>()) {}
MemoryFileSystem::MemoryFileSystem(std::shared_ptr<MemoryMachine> machine)
    : machine_(std::move(machine)) {}
MemoryFileSystem::~MemoryFileSystem() = default;

absl::StatusOr<std::unique_ptr<Directory>> MemoryFileSystem::OpenDirectory(const std::string& path,
                                                                           bool create) {
  std::string normalized = NormalizedPath(path);
  if (normalized.empty()) return absl::InvalidArgumentError("the path of a directory is empty");
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(
      machine_->Begin(machine_->epoch, FileOperation::kOpenDirectory, normalized));
  std::shared_ptr<MemoryDirectoryNode> node;
  const auto place = machine_->directories.find(normalized);
  if (place != machine_->directories.end()) {
    node = place->second;
  } else if (machine_->HasFileOnTheWay(normalized)) {
    return absl::InvalidArgumentError(Concat(normalized, ": a file is not a directory"));
  } else if (!create) {
    return NotFoundAt(normalized);
  } else {
    node = machine_->MakeDirectory(normalized);
  }
  return std::make_unique<MemoryDirectory>(machine_, machine_->epoch, std::move(normalized),
                                           std::move(node));
}

absl::Status MemoryFileSystem::RemoveDirectory(const std::string& path) {
  const std::string normalized = NormalizedPath(path);
  MutexLock lock(&machine_->mutex);
  TRELLIS_RETURN_IF_ERROR(
      machine_->Begin(machine_->epoch, FileOperation::kRemoveDirectory, normalized));
  const auto place = machine_->directories.find(normalized);
  if (place == machine_->directories.end()) return NotFoundAt(normalized);
  const auto below = machine_->directories.lower_bound(normalized + "/");
  const bool has_directories =
      below != machine_->directories.end() && below->first.starts_with(normalized + "/");
  if (has_directories || !place->second->current.empty()) {
    return absl::FailedPreconditionError(Concat(normalized, ": directory not empty"));
  }
  place->second->removed = true;
  machine_->directories.erase(place);
  return absl::OkStatus();
}

void MemoryFileSystem::SetFault(Fault fault) {
  MutexLock lock(&machine_->mutex);
  machine_->fault = fault == nullptr ? nullptr : std::make_shared<const Fault>(std::move(fault));
}

uint64_t MemoryFileSystem::operation_count() const {
  MutexLock lock(&machine_->mutex);
  return machine_->operation_count;
}

void MemoryFileSystem::ResetCounts() {
  MutexLock lock(&machine_->mutex);
  machine_->operation_count = 0;
}

void MemoryFileSystem::CrashAt(uint64_t operation_number) {
  MutexLock lock(&machine_->mutex);
  machine_->crash_at = operation_number;
}

bool MemoryFileSystem::crashed() const {
  MutexLock lock(&machine_->mutex);
  return machine_->crashed;
}

void MemoryFileSystem::Restart(Unsynced unsynced) { machine_->Restart(unsynced); }

std::unique_ptr<MemoryFileSystem> MemoryFileSystem::Clone() const {
  return std::unique_ptr<MemoryFileSystem>(new MemoryFileSystem(machine_->Clone()));
}

std::string MemoryFileSystem::FileBytes(const std::string& path) const {
  MutexLock lock(&machine_->mutex);
  const FilePointer file = machine_->FindFile(NormalizedPath(path));
  return file == nullptr ? std::string() : file->bytes();
}

void MemoryFileSystem::SetFileBytes(const std::string& path, std::string bytes) {
  const std::string normalized = NormalizedPath(path);
  MutexLock lock(&machine_->mutex);
  const std::shared_ptr<MemoryDirectoryNode> node =
      machine_->MakeDirectory(std::string(ParentPath(normalized)));
  FilePointer& file = node->current[std::string(LastName(normalized))];
  if (file == nullptr) {
    file = std::make_shared<MemoryFile>();
    file->names = 1;
  }
  file->Set(std::move(bytes));
  node->Touch(LastName(normalized));
  node->durable[std::string(LastName(normalized))] = file;
}

void MemoryFileSystem::DropUnsyncedNames(const std::string& path) {
  MutexLock lock(&machine_->mutex);
  const auto place = machine_->directories.find(NormalizedPath(path));
  if (place != machine_->directories.end()) place->second->DropUnsynced();
}

void MemoryFileSystem::SetFreeBytes(uint64_t bytes) {
  MutexLock lock(&machine_->mutex);
  machine_->free_bytes = bytes;
}

}  // namespace lsm
