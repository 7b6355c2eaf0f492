#include "lsm/objects/lock_keeper.h"

#include <algorithm>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {

void KeptLock::Watch(const std::function<void(const absl::Status& state)>& note) {
  MutexLock lock(&mutex_);
  note_ = note;
  SetState(state_);
}

absl::Status KeptLock::Renew() {
  const uint64_t from = clock_.MonotonicNanos();
  {
    MutexLock lock(&mutex_);
    if (is_released_ || IsTakenOver(state_)) return state_;
  }
  absl::Status status = index_->pool().Renew(index_->object(), cookie_, lock_nanos_);
  if (absl::IsFailedPrecondition(status) || absl::IsNotFound(status)) status = TakeAgain(status);
  const bool is_refused = absl::IsPermissionDenied(status);
  if (is_refused) {
    status = WithContext(status, Concat(index_->PathOf(kLockFileName),
                                        ": the lock cannot be renewed, so another process may take "
                                        "the directory over"));
  }
  bool is_released = false;
  {
    MutexLock lock(&mutex_);
    is_released = is_released_;
    if (!is_released && status.ok()) held_until_nanos_ = from + lock_nanos_;
    if (!is_released && (status.ok() || is_refused || IsTakenOver(status))) SetState(status);
  }
  if (is_released && status.ok()) Unlock();
  CheckExpired();
  return status;
}

absl::Status KeptLock::TakeAgain(const absl::Status& refused) {
  // The owner is read while the lock is held: a process that takes the directory over later holds
  // the lock, too, so the next renewal notices it.
  const absl::Status taken = index_->pool().Lock(index_->object(), cookie_, lock_nanos_);
  // No owner yet: the fence is being raised, and itself finds another owner.
  const std::string owner = index_->required_owner();
  const absl::Status status = owner.empty() ? taken : index_->WhyRefused(owner, taken);
  if (taken.ok() && !status.ok()) Unlock();
  if (status.ok() || IsTakenOver(status)) return status;
  return absl::UnavailableError(Concat(index_->PathOf(kLockFileName), ": the lock was lost (",
                                       MessageOf(refused),
                                       ") and not taken again: ", MessageOf(status)));
}

void KeptLock::CheckExpired() {
  const uint64_t now = clock_.MonotonicNanos();
  MutexLock lock(&mutex_);
  if (is_released_ || !state_.ok() || now < held_until_nanos_) return;
  SetState(absl::UnavailableError(
      Concat(index_->PathOf(kLockFileName),
             ": the lock was not renewed in time, so another process may have taken the directory "
             "over; this ends when it is renewed")));
}

void KeptLock::SetState(const absl::Status& state) {
  state_ = state;
  if (note_ != nullptr) note_(state_);
}

void KeptLock::Release() {
  {
    MutexLock lock(&mutex_);
    if (std::exchange(is_released_, true)) return;
    note_ = nullptr;
  }
  Unlock();
}

void KeptLock::Unlock() {
  // The lock expires if this fails.
  CatchOutOfMemory([this] {
    return index_->pool().Unlock(index_->object(), cookie_);
  }).IgnoreError();
}

absl::Status LockKeeper::StartThreads(uint64_t lock_nanos) {
  MutexLock lock(&mutex_);
  if (renewing_ == nullptr) {
    TRELLIS_ASSIGN_OR_RETURN(renewing_,
                             RepeatingThread::Start(lock_nanos / 4, [this] { RenewAll(); }));
  }
  if (watching_ == nullptr) {
    TRELLIS_ASSIGN_OR_RETURN(
        watching_, RepeatingThread::Start(lock_nanos / 20, [this] { CheckAllExpired(); }));
  }
  return absl::OkStatus();
}

void LockKeeper::Add(std::shared_ptr<KeptEntry> entry) {
  MutexLock lock(&mutex_);
  entries_.push_back(std::move(entry));
}

void LockKeeper::Remove(const KeptEntry* entry) {
  MutexLock lock(&mutex_);
  std::erase_if(entries_, [entry](const auto& one) { return one.get() == entry; });
}

void LockKeeper::RenewAll() {
  ForEach([](KeptEntry& entry) { entry.Renew().IgnoreError(); });
}

void LockKeeper::CheckAllExpired() {
  ForEach([](KeptEntry& entry) { entry.CheckExpired(); });
}

void LockKeeper::ForEach(void (*visit)(KeptEntry& entry)) {
  // Without memory, the next call visits them.
  CatchOutOfMemory([&] {
    std::vector<std::shared_ptr<KeptEntry>> entries;
    {
      MutexLock lock(&mutex_);
      entries = entries_;
    }
    for (const std::shared_ptr<KeptEntry>& entry : entries) visit(*entry);
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace lsm
