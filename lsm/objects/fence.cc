#include "lsm/objects/fence.h"

#include <string>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/objects/directory_index.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// The process's registration of a locked index.
class Registration {
 public:
  explicit Registration(std::shared_ptr<ObjectProcess> process) : process_(std::move(process)) {}
  ~Registration() { Release(); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // False if this process has locked the index already.
  bool Take(const std::string& object) {
    MutexLock lock(&process_->mutex);
    if (!process_->locked.insert(object).second) return false;
    object_ = object;
    return true;
  }
  void Release() {
    MutexLock lock(&process_->mutex);
    if (!object_.empty()) process_->locked.erase(object_);
    object_.clear();
  }

 private:
  const std::shared_ptr<ObjectProcess> process_;
  std::string object_;  // empty: none
};

class ObjectLock final : public FileLock {
 public:
  ObjectLock(std::shared_ptr<ObjectProcess> process, std::shared_ptr<IndexHandle> index,
             std::string cookie, std::unique_ptr<Registration> registration)
      : process_(std::move(process)),
        index_(std::move(index)),
        cookie_(std::move(cookie)),
        registration_(std::move(registration)) {}
  ~ObjectLock() override { ObjectLock::Release(); }

  void Release() override {
    if (std::exchange(is_released_, true)) return;
    // The lock expires if this fails.
    index_->pool().Unlock(index_->object(), cookie_).IgnoreError();
    registration_->Release();
  }

 private:
  const std::shared_ptr<ObjectProcess> process_;
  const std::shared_ptr<IndexHandle> index_;
  const std::string cookie_;
  const std::unique_ptr<Registration> registration_;
  bool is_released_ = false;
};

// The owner that is stored now; encoded.
absl::StatusOr<std::string> OwnerNow(IndexHandle& index) {
  TRELLIS_ASSIGN_OR_RETURN(const std::shared_ptr<IndexHandle> fresh,
                           IndexHandle::Open(&index.pool(), index.path()));
  return fresh->owner();
}

// Step 4.
absl::Status Seal(IndexHandle& index, const ObjectValues& entries, const Owner& owner) {
  const std::string encoded = owner.Encode();
  for (const auto& [entry, value] : entries) {
    if (!entry.starts_with(kFilePrefix)) continue;
    TRELLIS_ASSIGN_OR_RETURN(const IndexedFile file, IndexedFile::Decode(value, index.path()));
    if (file.kind != IndexedKind::kLog) continue;
    for (uint64_t number = 0; number < file.chunks; ++number) {
      ObjectWrite write;
      write.attributes_below[kOwnerAttribute] = encoded;
      write.set_attributes[kOwnerAttribute] = encoded;
      const absl::Status status = index.pool().Write(ChunkName(file.id, number), write);
      // A missing chunk refuses every guarded write, so it needs no seal.
      if (absl::IsNotFound(status)) continue;
      if (absl::IsAborted(status)) return index.WhyRefused(encoded, status);
      TRELLIS_RETURN_IF_ERROR(status);
    }
  }
  return absl::OkStatus();
}

// Steps 2 to 4.
absl::Status TakeOver(ObjectProcess& process, IndexHandle& index, const std::string& before) {
  TRELLIS_ASSIGN_OR_RETURN(const Owner last, Owner::Decode(before, index.path()));
  const Owner owner = process.NewOwner(last.counter + 1);
  IndexedFile lock_file;
  lock_file.kind = IndexedKind::kSmall;
  ObjectWrite swap;
  swap.attributes_equal[kOwnerAttribute] = before;
  swap.set_attributes[kOwnerAttribute] = owner.Encode();
  swap.set_entries[Concat(kFilePrefix, kLockFileName)] = lock_file.Encode();
  const absl::Status status = index.pool().Write(index.object(), swap);
  if (absl::IsAborted(status)) {
    return absl::FailedPreconditionError(
        Concat(index.PathOf(kLockFileName), ": another process came first"));
  }
  TRELLIS_RETURN_IF_ERROR(status);
  index.SetOwner(owner.Encode());
  // Each page of the listing asserts the owner.
  TRELLIS_ASSIGN_OR_RETURN(const ObjectValues entries, index.Entries());
  return Seal(index, entries, owner);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileLock>> Fence(std::shared_ptr<ObjectProcess> process,
                                                std::shared_ptr<IndexHandle> index) {
  const std::string path = index->PathOf(kLockFileName);
  auto registration = std::make_unique<Registration>(process);
  if (!registration->Take(index->object()))
    return absl::FailedPreconditionError(Concat(path, ": already open in this process"));
  // Step 1.  The owner is read before the lock is taken.  If another process takes the lock and the
  // directory between the two, the swap below is refused, and that process is not disturbed.
  TRELLIS_ASSIGN_OR_RETURN(const std::string before, OwnerNow(*index));
  const std::string cookie = NewId(process->random);
  absl::Status status = index->pool().Lock(index->object(), cookie, process->config.lock_nanos);
  if (absl::IsFailedPrecondition(status)) {
    return absl::FailedPreconditionError(Concat(path, ": another process has the lock"));
  }
  TRELLIS_RETURN_IF_ERROR(WithContext(status, path));
  auto lock = std::make_unique<ObjectLock>(process, index, cookie, std::move(registration));
  TRELLIS_RETURN_IF_ERROR(WithContext(TakeOver(*process, *index, before), path));
  return lock;
}

}  // namespace lsm
