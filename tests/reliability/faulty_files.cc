#include "tests/reliability/faulty_files.h"

#include <optional>
#include <utility>

#include "lsm/bytes/status.h"

namespace reliability {

using lsm::AppendFile;
using lsm::Concat;
using lsm::Directory;
using Operation = lsm::FileOperation;

const char* NameOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kIo:
      return "EIO";
    case FaultKind::kIoButDone:
      return "EIO, but done";
    case FaultKind::kSpace:
      return "ENOSPC";
    case FaultKind::kDescriptors:
      return "EMFILE";
    case FaultKind::kShort:
      return "short";
    case FaultKind::kSyncLies:
      return "EIO, then lies";
    case FaultKind::kSyncDrops:
      return "EIO, drops, then lies";
  }
  return "?";
}

bool CanFailSo(Operation operation, FaultKind kind) {
  const auto is_one_of = [operation](std::initializer_list<Operation> operations) {
    for (const Operation each : operations) {
      if (each == operation) return true;
    }
    return false;
  };
  switch (kind) {
    case FaultKind::kIo:
      return true;
    case FaultKind::kIoButDone:
      return is_one_of({Operation::kAppend, Operation::kSyncFile, Operation::kSyncDirectory,
                        Operation::kRename, Operation::kLink, Operation::kRemove,
                        Operation::kAtomicReplace, Operation::kClose, Operation::kCreate});
    case FaultKind::kSpace:
      return is_one_of({Operation::kAppend, Operation::kCreate, Operation::kAtomicReplace,
                        Operation::kSyncFile, Operation::kRename});
    case FaultKind::kDescriptors:
      return is_one_of({Operation::kOpenDirectory, Operation::kOpenRead, Operation::kCreate,
                        Operation::kList, Operation::kLock, Operation::kAtomicReplace});
    case FaultKind::kShort:
      return operation == Operation::kReadAt;
    case FaultKind::kSyncLies:
    case FaultKind::kSyncDrops:
      return operation == Operation::kSyncFile;
  }
  return false;
}

struct FaultyFiles::Shared {
  lsm::MemoryFileSystem* inner;
  FaultKind kind = FaultKind::kIo;
  uint64_t from = ~uint64_t{0}, to = ~uint64_t{0};
  uint64_t failed = 0;
  std::string failed_first;
  std::vector<Operation> operations;
  std::optional<std::pair<Operation, FaultKind>> next;

  // Whether this call is to fail; counts it.
  bool Fails(Operation operation, const std::string& path) {
    const uint64_t number = operations.size();
    operations.push_back(operation);
    if (next && next->first == operation) {
      kind = next->second;
      next = std::nullopt;
      ++failed;
      return true;
    }
    if (number < from || number >= to || !CanFailSo(operation, kind)) return false;
    if (failed++ == 0) failed_first = Concat(lsm::NameOf(operation), " ", path);
    return true;
  }

  absl::Status Error(Operation operation, const std::string& path) const {
    const std::string message =
        Concat(path, ": ", lsm::NameOf(operation), ": injected ", NameOf(kind));
    return kind == FaultKind::kSpace || kind == FaultKind::kDescriptors
               ? absl::ResourceExhaustedError(message)
               : absl::UnavailableError(message);
  }

  // A call that is all or nothing.
  template <typename Call>
  auto Do(Operation operation, const std::string& path, const Call& call) -> decltype(call()) {
    if (!Fails(operation, path)) return call();
    if (kind == FaultKind::kIoButDone) (void)call();
    return Error(operation, path);
  }
};

namespace {

using SharedPointer = std::shared_ptr<FaultyFiles::Shared>;

class FaultyReadFile final : public lsm::ReadFile {
 public:
  FaultyReadFile(std::unique_ptr<lsm::ReadFile> inner, SharedPointer shared)
      : inner_(std::move(inner)), shared_(std::move(shared)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    if (!shared_->Fails(Operation::kReadAt, path())) return inner_->ReadAt(offset, buffer);
    if (shared_->kind == FaultKind::kShort)
      return inner_->ReadAt(offset, buffer.first(buffer.size() / 2));
    return shared_->Error(Operation::kReadAt, path());
  }
  absl::StatusOr<uint64_t> Size() const override {
    return shared_->Do(Operation::kSize, path(), [&] { return inner_->Size(); });
  }
  const std::string& path() const override { return inner_->path(); }

 private:
  const std::unique_ptr<lsm::ReadFile> inner_;
  const SharedPointer shared_;
};

class FaultyAppendFile final : public AppendFile {
 public:
  FaultyAppendFile(std::unique_ptr<AppendFile> inner, SharedPointer shared)
      : inner_(std::move(inner)), shared_(std::move(shared)) {}

  absl::Status Append(std::string_view bytes) override {
    if (!shared_->Fails(Operation::kAppend, path())) return inner_->Append(bytes);
    if (shared_->kind == FaultKind::kIoButDone) (void)inner_->Append(bytes);
    if (shared_->kind == FaultKind::kSpace) (void)inner_->Append(bytes.substr(0, bytes.size() / 2));
    return shared_->Error(Operation::kAppend, path());
  }
  // Knows nothing of an earlier failure, as the kernel.
  absl::Status Sync() override {
    if (!shared_->Fails(Operation::kSyncFile, path())) {
      if (lies_) return absl::OkStatus();
      LSM_RETURN_IF_ERROR(inner_->Sync());
      synced_bytes_ = inner_->size_bytes();
      return absl::OkStatus();
    }
    if (shared_->kind == FaultKind::kIoButDone) (void)inner_->Sync();
    lies_ =
        lies_ || shared_->kind == FaultKind::kSyncLies || shared_->kind == FaultKind::kSyncDrops;
    if (shared_->kind == FaultKind::kSyncDrops) {
      std::string bytes = shared_->inner->FileBytes(path());
      if (bytes.size() > synced_bytes_) {
        std::fill(bytes.begin() + static_cast<int64_t>(synced_bytes_), bytes.end(), '\0');
        shared_->inner->SetFileBytes(path(), std::move(bytes));
      }
    }
    return shared_->Error(Operation::kSyncFile, path());
  }
  absl::Status Close() override {
    return shared_->Do(Operation::kClose, path(), [&] { return inner_->Close(); });
  }
  uint64_t size_bytes() const override { return inner_->size_bytes(); }
  const std::string& path() const override { return inner_->path(); }

 private:
  const std::unique_ptr<AppendFile> inner_;
  const SharedPointer shared_;
  uint64_t synced_bytes_ = 0;
  bool lies_ = false;
};

class FaultyDirectory final : public Directory {
 public:
  FaultyDirectory(std::unique_ptr<Directory> inner, SharedPointer shared)
      : inner_(std::move(inner)), shared_(std::move(shared)) {}

  absl::StatusOr<std::unique_ptr<lsm::ReadFile>> OpenRead(std::string_view name,
                                                          lsm::ReadMode mode) override {
    const std::string path = PathOf(name);
    if (shared_->Fails(Operation::kOpenRead, path))
      return shared_->Error(Operation::kOpenRead, path);
    LSM_ASSIGN_OR_RETURN(std::unique_ptr<lsm::ReadFile> file, inner_->OpenRead(name, mode));
    return std::make_unique<FaultyReadFile>(std::move(file), shared_);
  }
  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override {
    const std::string path = PathOf(name);
    if (shared_->Fails(Operation::kCreate, path)) {
      if (shared_->kind == FaultKind::kIoButDone) (void)inner_->CreateExclusive(name);
      return shared_->Error(Operation::kCreate, path);
    }
    LSM_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file, inner_->CreateExclusive(name));
    return std::make_unique<FaultyAppendFile>(std::move(file), shared_);
  }
  absl::StatusOr<std::vector<std::string>> List() override {
    return shared_->Do(Operation::kList, path(), [&] { return inner_->List(); });
  }
  absl::StatusOr<lsm::FileInfo> Stat(std::string_view name) override {
    return shared_->Do(Operation::kStat, PathOf(name), [&] { return inner_->Stat(name); });
  }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    return shared_->Do(Operation::kRename, PathOf(from), [&] { return inner_->Rename(from, to); });
  }
  absl::Status Link(std::string_view name, Directory& to) override {
    auto& other = dynamic_cast<FaultyDirectory&>(to);
    return shared_->Do(Operation::kLink, PathOf(name),
                       [&] { return inner_->Link(name, *other.inner_); });
  }
  absl::Status Remove(std::string_view name) override {
    return shared_->Do(Operation::kRemove, PathOf(name), [&] { return inner_->Remove(name); });
  }
  absl::Status Sync() override {
    if (!sync_status_.ok()) return sync_status_;  // as file_system.h says
    if (shared_->Fails(Operation::kSyncDirectory, path())) {
      if (shared_->kind == FaultKind::kIoButDone) (void)inner_->Sync();
      sync_status_ = shared_->Error(Operation::kSyncDirectory, path());
      return sync_status_;
    }
    return inner_->Sync();
  }
  void ForgetFailedSync() override {
    sync_status_ = absl::OkStatus();
    inner_->ForgetFailedSync();
  }
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected) override {
    return shared_->Do(Operation::kAtomicReplace, PathOf(name),
                       [&] { return inner_->AtomicReplace(name, bytes, expected); });
  }
  absl::StatusOr<std::unique_ptr<lsm::FileLock>> Lock(std::string_view name,
                                                      lsm::LockKind kind) override {
    const std::string path = PathOf(name);
    if (shared_->Fails(Operation::kLock, path)) return shared_->Error(Operation::kLock, path);
    return inner_->Lock(name, kind);
  }
  const std::string& path() const override { return inner_->path(); }

 private:
  std::string PathOf(std::string_view name) const { return Concat(path(), "/", name); }

  const std::unique_ptr<Directory> inner_;
  const SharedPointer shared_;
  absl::Status sync_status_;
};

}  // namespace

FaultyFiles::FaultyFiles(lsm::MemoryFileSystem* inner) : shared_(std::make_shared<Shared>()) {
  shared_->inner = inner;
}
FaultyFiles::~FaultyFiles() = default;

void FaultyFiles::FailCalls(FaultKind kind, uint64_t from, uint64_t to) {
  shared_->kind = kind;
  shared_->from = from;
  shared_->to = to;
}

void FaultyFiles::FailNext(Operation operation, FaultKind kind) {
  shared_->next = {operation, kind};
}

void FaultyFiles::Heal() {
  shared_->from = shared_->to = ~uint64_t{0};
  shared_->next = std::nullopt;
}

uint64_t FaultyFiles::calls() const { return shared_->operations.size(); }
const std::vector<Operation>& FaultyFiles::operations() const { return shared_->operations; }
uint64_t FaultyFiles::failed() const { return shared_->failed; }
std::string FaultyFiles::failed_first() const { return shared_->failed_first; }

absl::StatusOr<std::unique_ptr<Directory>> FaultyFiles::OpenDirectory(const std::string& path,
                                                                      bool create) {
  if (shared_->Fails(Operation::kOpenDirectory, path))
    return shared_->Error(Operation::kOpenDirectory, path);
  LSM_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                       shared_->inner->OpenDirectory(path, create));
  return std::make_unique<FaultyDirectory>(std::move(directory), shared_);
}

absl::Status FaultyFiles::RemoveDirectory(const std::string& path) {
  return shared_->Do(Operation::kRemoveDirectory, path,
                     [&] { return shared_->inner->RemoveDirectory(path); });
}

}  // namespace reliability
