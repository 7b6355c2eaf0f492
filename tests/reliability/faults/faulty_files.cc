#include "tests/reliability/faults/faulty_files.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "lsm/bytes/status.h"
#include "tests/lsm/engine/world.h"

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
      return is_one_of({Operation::kAppend, Operation::kAllocate, Operation::kSyncFile,
                        Operation::kSyncDirectory, Operation::kRename, Operation::kLink,
                        Operation::kRemove, Operation::kAtomicReplace, Operation::kClose,
                        Operation::kCreate});
    case FaultKind::kSpace:
      return is_one_of({Operation::kAppend, Operation::kAllocate, Operation::kCreate,
                        Operation::kAtomicReplace, Operation::kSyncFile, Operation::kRename});
    case FaultKind::kDescriptors:
      return is_one_of({Operation::kOpenDirectory, Operation::kOpenRead, Operation::kCreate,
                        Operation::kList, Operation::kLock, Operation::kAtomicReplace});
    case FaultKind::kShort:
      return operation == Operation::kReadAt;
    case FaultKind::kSyncLies:
      return operation == Operation::kSyncFile;
    case FaultKind::kSyncDrops:
      return is_one_of({Operation::kSyncFile, Operation::kSyncDirectory});
  }
  return false;
}

struct FaultyFiles::Shared {
  lsm::MemoryFileSystem* inner;
  FaultKind kind = FaultKind::kIo;
  uint64_t from = ~uint64_t{0}, to = ~uint64_t{0};
  uint64_t failed = 0, failed_writes = 0;
  std::string failed_first;
  std::vector<Operation> operations;
  std::optional<std::pair<Operation, FaultKind>> next;
  uint64_t room_bytes = ~uint64_t{0};
  uint64_t appended_bytes = 0, taken_bytes_max = 0;
  bool has_dropped = false;
  // The size of each file.  A file with several names is listed under the first.
  std::map<std::string, uint64_t> sizes;

  // Counts the call.  Returns how it must fail, if at all.
  std::optional<FaultKind> FailureOf(Operation operation, const std::string& path) {
    const uint64_t number = operations.size();
    operations.push_back(operation);
    std::optional<FaultKind> failure;
    if (next && next->first == operation) {
      failure = next->second;
      next = std::nullopt;
    } else if (number >= from && number < to && CanFailSo(operation, kind)) {
      failure = kind;
    }
    if (failure) CountFailure(operation, path);
    return failure;
  }

  void CountFailure(Operation operation, const std::string& path) {
    if (failed++ == 0) failed_first = Concat(lsm::NameOf(operation), " ", path);
    failed_writes += operation == Operation::kCreate || operation == Operation::kAppend ||
                     operation == Operation::kSyncFile;
  }

  uint64_t Taken(std::string_view below = "") const {
    uint64_t taken = 0;
    for (const auto& [path, bytes] : sizes) taken += path.starts_with(below) ? bytes : 0;
    return taken;
  }

  // How many bytes an append leaves when the disk is full: none, some or all.
  size_t SomeOf(size_t bytes) const { return lsm::Dice(operations.size()).Roll(bytes + 1); }

  static absl::Status Error(FaultKind failure, Operation operation, const std::string& path) {
    const std::string message =
        Concat(path, ": ", lsm::NameOf(operation), ": injected ", NameOf(failure));
    if (failure == FaultKind::kSpace) return lsm::DiskFull(message);
    return failure == FaultKind::kDescriptors ? absl::ResourceExhaustedError(message)
                                              : absl::UnavailableError(message);
  }

  // Makes a call that is done whole or not at all.
  template <typename Call>
  auto Do(Operation operation, const std::string& path, const Call& call) -> decltype(call()) {
    const std::optional<FaultKind> failure = FailureOf(operation, path);
    if (!failure) return call();
    if (failure == FaultKind::kIoButDone) (void)call();
    return Error(*failure, operation, path);
  }
};

namespace {

using Shared = FaultyFiles::Shared;
using SharedPointer = std::shared_ptr<Shared>;

class FaultyReadFile final : public lsm::ReadFile {
 public:
  FaultyReadFile(std::unique_ptr<lsm::ReadFile> inner, SharedPointer shared)
      : inner_(std::move(inner)), shared_(std::move(shared)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    const std::optional<FaultKind> failure = shared_->FailureOf(Operation::kReadAt, path());
    if (!failure) return inner_->ReadAt(offset, buffer);
    if (failure == FaultKind::kShort)
      return inner_->ReadAt(offset, buffer.first(buffer.size() / 2));
    return Shared::Error(*failure, Operation::kReadAt, path());
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
    shared_->appended_bytes += bytes.size();
    std::optional<FaultKind> failure = shared_->FailureOf(Operation::kAppend, path());
    std::string_view done = bytes;
    if (failure == FaultKind::kSpace) {
      done = bytes.substr(0, shared_->SomeOf(bytes.size()));
    } else if (failure && failure != FaultKind::kIoButDone) {
      done = "";
    }
    const uint64_t taken = shared_->Taken(), room = shared_->room_bytes;
    if (done.size() > room - std::min(taken, room)) {
      if (!failure) shared_->CountFailure(Operation::kAppend, path());
      failure = FaultKind::kSpace;
      done = done.substr(0, room - std::min(taken, room));
    }
    if (!done.empty()) {
      TRELLIS_RETURN_IF_ERROR(inner_->Append(done));
      shared_->sizes[path()] += done.size();
      shared_->taken_bytes_max = std::max(shared_->taken_bytes_max, taken + done.size());
    }
    return failure ? Shared::Error(*failure, Operation::kAppend, path()) : absl::OkStatus();
  }
  absl::Status Allocate(uint64_t bytes) override {
    return shared_->Do(Operation::kAllocate, path(), [&]() -> absl::Status {
      const uint64_t taken = shared_->Taken(), room = shared_->room_bytes;
      const uint64_t done = std::min(bytes, room - std::min(taken, room));
      TRELLIS_RETURN_IF_ERROR(inner_->Allocate(done));
      shared_->sizes[path()] += done;
      shared_->taken_bytes_max = std::max(shared_->taken_bytes_max, taken + done);
      if (done == bytes) return absl::OkStatus();
      shared_->CountFailure(Operation::kAllocate, path());
      return Shared::Error(FaultKind::kSpace, Operation::kAllocate, path());
    });
  }
  // Does not remember an earlier failure, like the kernel.
  absl::Status Sync() override {
    const std::optional<FaultKind> failure = shared_->FailureOf(Operation::kSyncFile, path());
    if (!failure) {
      if (lies_) return absl::OkStatus();
      TRELLIS_RETURN_IF_ERROR(inner_->Sync());
      synced_bytes_ = inner_->size_bytes();
      return absl::OkStatus();
    }
    if (failure == FaultKind::kIoButDone) (void)inner_->Sync();
    lies_ = lies_ || failure == FaultKind::kSyncLies || failure == FaultKind::kSyncDrops;
    if (failure == FaultKind::kSyncDrops) {
      shared_->has_dropped = true;
      std::string bytes = shared_->inner->FileBytes(path());
      if (bytes.size() > synced_bytes_) {
        std::fill(bytes.begin() + static_cast<int64_t>(synced_bytes_), bytes.end(), '\0');
        shared_->inner->SetFileBytes(path(), std::move(bytes));
      }
    }
    return Shared::Error(*failure, Operation::kSyncFile, path());
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
    if (const auto failure = shared_->FailureOf(Operation::kOpenRead, path))
      return Shared::Error(*failure, Operation::kOpenRead, path);
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<lsm::ReadFile> file, inner_->OpenRead(name, mode));
    return std::make_unique<FaultyReadFile>(std::move(file), shared_);
  }
  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override {
    const std::string path = PathOf(name);
    if (const auto failure = shared_->FailureOf(Operation::kCreate, path)) {
      if (failure == FaultKind::kIoButDone) (void)inner_->CreateExclusive(name);
      return Shared::Error(*failure, Operation::kCreate, path);
    }
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file, inner_->CreateExclusive(name));
    return std::make_unique<FaultyAppendFile>(std::move(file), shared_);
  }
  absl::StatusOr<std::vector<std::string>> List() override {
    return shared_->Do(Operation::kList, path(), [&] { return inner_->List(); });
  }
  absl::StatusOr<lsm::FileInfo> Stat(std::string_view name) override {
    return shared_->Do(Operation::kStat, PathOf(name), [&] { return inner_->Stat(name); });
  }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    return shared_->Do(Operation::kRename, PathOf(from), [&]() -> absl::Status {
      TRELLIS_RETURN_IF_ERROR(inner_->Rename(from, to));
      shared_->sizes[PathOf(to)] = std::exchange(shared_->sizes[PathOf(from)], 0);
      return absl::OkStatus();
    });
  }
  absl::Status Link(std::string_view name, Directory& to, std::string_view new_name) override {
    auto& other = dynamic_cast<FaultyDirectory&>(to);
    return shared_->Do(Operation::kLink, PathOf(name),
                       [&] { return inner_->Link(name, *other.inner_, new_name); });
  }
  absl::Status Remove(std::string_view name) override {
    return shared_->Do(Operation::kRemove, PathOf(name), [&]() -> absl::Status {
      TRELLIS_RETURN_IF_ERROR(inner_->Remove(name));
      shared_->sizes.erase(PathOf(name));
      return absl::OkStatus();
    });
  }
  absl::Status Sync() override {
    if (!sync_status_.ok()) return sync_status_;  // the contract of file_system.h
    if (const auto failure = shared_->FailureOf(Operation::kSyncDirectory, path())) {
      if (failure == FaultKind::kIoButDone) (void)inner_->Sync();
      drops_ = failure == FaultKind::kSyncDrops;
      if (drops_) shared_->inner->DropUnsyncedNames(path());
      sync_status_ = Shared::Error(*failure, Operation::kSyncDirectory, path());
      return sync_status_;
    }
    return inner_->Sync();
  }
  absl::StatusOr<uint64_t> FreeBytes() override {
    return shared_->Do(Operation::kFreeBytes, path(), [&]() -> absl::StatusOr<uint64_t> {
      return shared_->room_bytes - std::min(shared_->room_bytes, shared_->Taken());
    });
  }
  absl::Status ForgetFailedSync() override {
    // Drops all names that the caller does not rely on.
    if (std::exchange(drops_, false)) shared_->inner->DropUnsyncedNames(path());
    const absl::Status own = std::exchange(sync_status_, absl::OkStatus());
    const absl::Status below = inner_->ForgetFailedSync();
    return own.ok() ? below : own;
  }
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override {
    const std::string path = PathOf(name);
    return shared_->Do(Operation::kAtomicReplace, path, [&]() -> absl::Status {
      // The old file takes space until the new one exists.
      const uint64_t taken = shared_->Taken(), room = shared_->room_bytes;
      if (bytes.size() > room - std::min(taken, room)) {
        shared_->CountFailure(Operation::kAtomicReplace, path);
        return Shared::Error(FaultKind::kSpace, Operation::kAtomicReplace, path);
      }
      TRELLIS_RETURN_IF_ERROR(inner_->AtomicReplace(name, bytes, expected, before_swap));
      shared_->sizes[path] = bytes.size();
      shared_->taken_bytes_max = std::max(shared_->taken_bytes_max, taken + bytes.size());
      return absl::OkStatus();
    });
  }
  absl::StatusOr<std::unique_ptr<lsm::FileLock>> Lock(std::string_view name,
                                                      lsm::LockKind kind) override {
    const std::string path = PathOf(name);
    if (const auto failure = shared_->FailureOf(Operation::kLock, path))
      return Shared::Error(*failure, Operation::kLock, path);
    return inner_->Lock(name, kind);
  }
  const std::string& path() const override { return inner_->path(); }

 private:
  std::string PathOf(std::string_view name) const { return Concat(path(), "/", name); }

  const std::unique_ptr<Directory> inner_;
  const SharedPointer shared_;
  absl::Status sync_status_;
  bool drops_ = false;  // the sync that failed
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

void FaultyFiles::CancelNext() { shared_->next = std::nullopt; }

void FaultyFiles::LimitRoom(uint64_t bytes) { shared_->room_bytes = bytes; }

void FaultyFiles::Heal() {
  shared_->room_bytes = ~uint64_t{0};
  shared_->from = shared_->to = ~uint64_t{0};
  shared_->next = std::nullopt;
}

uint64_t FaultyFiles::calls() const { return shared_->operations.size(); }
const std::vector<Operation>& FaultyFiles::operations() const { return shared_->operations; }
uint64_t FaultyFiles::appended_bytes() const { return shared_->appended_bytes; }
uint64_t FaultyFiles::taken_bytes_max() const { return shared_->taken_bytes_max; }
uint64_t FaultyFiles::taken_bytes(std::string_view below) const { return shared_->Taken(below); }
uint64_t FaultyFiles::failed_writes() const { return shared_->failed_writes; }
bool FaultyFiles::has_dropped() const { return shared_->has_dropped; }
uint64_t FaultyFiles::failed() const { return shared_->failed; }
std::string FaultyFiles::failed_first() const { return shared_->failed_first; }

absl::StatusOr<std::unique_ptr<Directory>> FaultyFiles::OpenDirectory(const std::string& path,
                                                                      bool create) {
  if (const auto failure = shared_->FailureOf(Operation::kOpenDirectory, path))
    return Shared::Error(*failure, Operation::kOpenDirectory, path);
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory,
                           shared_->inner->OpenDirectory(path, create));
  return std::make_unique<FaultyDirectory>(std::move(directory), shared_);
}

absl::Status FaultyFiles::RemoveDirectory(const std::string& path) {
  return shared_->Do(Operation::kRemoveDirectory, path,
                     [&] { return shared_->inner->RemoveDirectory(path); });
}

}  // namespace reliability
