#include "lsm/objects/fence.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/lock_keeper.h"
#include "lsm/objects/object_writes.h"
#include "lsm/objects/removal.h"
#include "lsm/threads/process_mark.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// The process's registration of a locked index.
class OwnerRegistration {
 public:
  explicit OwnerRegistration(std::shared_ptr<ObjectProcess> process)
      : process_(std::move(process)) {}
  ~OwnerRegistration() { Release(); }
  OwnerRegistration(const OwnerRegistration&) = delete;
  OwnerRegistration& operator=(const OwnerRegistration&) = delete;

  // False if this process has locked the index already.
  bool Take(const std::string& object) {
    std::string copy = object;  // nothing may throw after the insertion
    MutexLock lock(&process_->mutex);
    if (!process_->locked.insert(object).second) return false;
    object_.swap(copy);
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
  ObjectLock(std::string path, std::shared_ptr<ObjectProcess> process,
             std::shared_ptr<IndexHandle> index, std::unique_ptr<OwnerRegistration> registration,
             std::shared_ptr<KeptLock> lock)
      : path_(std::move(path)),
        process_(std::move(process)),
        index_(std::move(index)),
        registration_(std::move(registration)),
        lock_(std::move(lock)) {}
  ~ObjectLock() override { ObjectLock::Release(); }

  void Release() override {
    if (!CheckHolder().ok()) return;  // the lock is the parent's
    process_->keeper.Remove(lock_.get());
    index_->DropListing();
    lock_->Release();
    registration_->Release();
  }
  absl::Status CheckHolder() const override { return mark_.Check(path_); }
  absl::Status Confirm() override {
    TRELLIS_RETURN_IF_ERROR(lock_->Renew());
    // A process that had the lock meanwhile may change the owner after this one has taken the lock
    // again.
    const std::string owner = index_->required_owner();
    return owner.empty() ? absl::OkStatus() : index_->WhyRefused(owner, absl::OkStatus());
  }
  void Watch(const std::function<void(const absl::Status& state)>& note) override {
    lock_->Watch(note);
  }

 private:
  const std::string path_;
  const ProcessMark mark_;
  const std::shared_ptr<ObjectProcess> process_;
  const std::shared_ptr<IndexHandle> index_;
  const std::unique_ptr<OwnerRegistration> registration_;
  const std::shared_ptr<KeptLock> lock_;
};

// A seal was refused.  OK if the pool has applied it before, or the chunk is missing.
absl::Status CheckSealed(IndexHandle& index, const std::string& chunk, const std::string& owner) {
  ObjectRead read;
  read.attributes_equal[kOwnerAttribute] = owner;
  const absl::Status status = index.pool().Read(chunk, read).status();
  if (absl::IsNotFound(status)) return absl::OkStatus();
  return absl::IsAborted(status) ? index.WhyRefused(owner, status) : status;
}

// Step 4.
absl::Status Seal(IndexHandle& index, const ObjectValues& entries, const Owner& owner) {
  const std::string encoded = owner.Encode();
  for (const auto& [entry, value] : entries) {
    if (!entry.starts_with(kFilePrefix)) continue;
    const std::string name = entry.substr(kFilePrefix.size());
    const absl::StatusOr<IndexedFile> decoded = IndexedFile::Decode(value, index.PathOf(name));
    // The chunks of a damaged entry are unknown.  This owner cannot read them either: its opening
    // reports the damage.
    if (absl::IsDataLoss(decoded.status())) continue;
    if (!decoded.ok()) return decoded.status();
    const IndexedFile& file = *decoded;
    if (!IsSealed(name, file)) continue;
    for (uint64_t number = 0; number < file.chunks; ++number) {
      ObjectWrite write;
      write.attributes_below[kOwnerAttribute] = encoded;
      write.set_attributes[kOwnerAttribute] = encoded;
      const absl::Status status = WriteObject(index.pool(), ChunkName(file.id, number), write);
      // A missing chunk refuses every guarded write, so it needs no seal.
      if (absl::IsNotFound(status)) continue;
      if (absl::IsAborted(status)) {
        TRELLIS_RETURN_IF_ERROR(CheckSealed(index, ChunkName(file.id, number), encoded));
        continue;
      }
      TRELLIS_RETURN_IF_ERROR(status);
    }
  }
  return absl::OkStatus();
}

// Step 2.  Aborted if the index is not as before.
absl::Status Swap(IndexHandle& index, const IndexBefore& before, const Owner& owner) {
  const std::string entry = Concat(kFilePrefix, kLockFileName);
  IndexedFile lock_file;
  lock_file.kind = IndexedKind::kSmall;
  ObjectWrite swap;
  swap.attributes_equal[kOwnerAttribute] = before.owner;
  swap.entries_equal[entry] = before.lock_entry;
  swap.set_attributes[kOwnerAttribute] = owner.Encode();
  if (before.lock_entry.empty()) swap.set_entries[entry] = lock_file.Encode();
  const absl::Status status = WriteObject(index.pool(), index.object(), swap);
  if (!absl::IsAborted(status)) return status;
  TRELLIS_ASSIGN_OR_RETURN(const IndexBefore now, index.ReadBefore());
  // If the owner is this one, the pool has applied the swap before it was refused.
  return now.owner == owner.Encode() ? absl::OkStatus() : status;
}

// Steps 3 and 4.  Returns the index's entries.
absl::StatusOr<ObjectValues> ListAndSeal(IndexHandle& index, const Owner& owner) {
  // Each page of the listing asserts the owner.
  TRELLIS_ASSIGN_OR_RETURN(ObjectValues entries, index.ReadEntries(owner.Encode()));
  TRELLIS_RETURN_IF_ERROR(Seal(index, entries, owner));
  // Only now: after an error the handle may change nothing, because the index has another owner.
  index.SetOwner(owner.Encode(), entries);
  return entries;
}

// The lock; null if the index is not as before.
absl::StatusOr<std::unique_ptr<FileLock>> FenceFrom(const std::shared_ptr<ObjectProcess>& process,
                                                    const std::shared_ptr<IndexHandle>& index,
                                                    const IndexBefore& before) {
  const std::string path = index->PathOf(kLockFileName);
  auto registration = std::make_unique<OwnerRegistration>(process);
  if (!registration->Take(index->object()))
    return absl::FailedPreconditionError(Concat(path, ": already open in this process"));
  // Step 1, of which the caller has made the first half.
  if (process->config.has_threads) {
    TRELLIS_RETURN_IF_ERROR(process->keeper.StartThreads(process->config.lock_nanos));
    TRELLIS_RETURN_IF_ERROR(
        process->later.StartThread(process->config.lock_nanos / 20,
                                   [process = process.get()] { RetryPinnedRemovals(*process); }));
  }
  const std::string cookie = NewId(process->random);
  const uint64_t lock_nanos = process->config.lock_nanos;
  const auto kept = std::make_shared<KeptLock>(index, cookie, &process->clock, lock_nanos,
                                               process->clock.MonotonicNanos());
  // Made first: if the answer to the call is lost, its destructor unlocks.
  auto lock = std::make_unique<ObjectLock>(path, process, index, std::move(registration), kept);
  const absl::Status status = index->pool().Lock(index->object(), cookie, lock_nanos);
  if (absl::IsFailedPrecondition(status))
    return absl::FailedPreconditionError(Concat(path, ": another process has the lock"));
  TRELLIS_RETURN_IF_ERROR(WithContext(status, path));
  // From here on the lock is renewed.
  process->keeper.Add(kept);
  TRELLIS_ASSIGN_OR_RETURN(const Owner owner, process->NextOwner(before.owner, index->path()));
  const absl::Status swapped = Swap(*index, before, owner);
  if (absl::IsAborted(swapped)) return std::unique_ptr<FileLock>();
  TRELLIS_RETURN_IF_ERROR(WithContext(swapped, path));
  absl::StatusOr<ObjectValues> entries = ListAndSeal(*index, owner);
  if (!entries.ok()) return WithContext(entries.status(), path);
  // Step 6.  If this fails, the next owner tries again.  The work does not own the process, which
  // waits for it in its destructor.
  process->later.Add([process = process.get(), index, entries = *std::move(entries)] {
    FinishRemovals(*process, index, entries, Pins::kRespected).IgnoreError();
  });
  return lock;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileLock>> Fence(const std::shared_ptr<ObjectProcess>& process,
                                                const std::shared_ptr<IndexHandle>& index) {
  const std::string path = index->PathOf(kLockFileName);
  // The owner is read before the lock is taken.  If another process takes the lock and the
  // directory between the two, the swap is refused, and that process is not disturbed.  The handle
  // has read the owner when it was made.  That may be long ago, so there is a second attempt, which
  // begins only when the lock of the first one is released.
  if (const std::optional<IndexBefore> before = index->TakeBefore()) {
    absl::StatusOr<std::unique_ptr<FileLock>> lock = FenceFrom(process, index, *before);
    if (!lock.ok() || *lock != nullptr) return lock;
  }
  const absl::StatusOr<IndexBefore> before = index->ReadBefore();
  if (!before.ok()) return WithContext(before.status(), path);
  index->SetCounts(before->counts);
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, FenceFrom(process, index, *before));
  if (lock != nullptr) return lock;
  return absl::FailedPreconditionError(Concat(path, ": another process came first"));
}

}  // namespace lsm
