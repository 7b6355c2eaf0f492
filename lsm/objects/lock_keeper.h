// Keeps the locks and the pins of a process: renews them, and notices when a lock may have expired.
//
// Safety does not depend on it.  Each write of a file compares the owner (lsm/design/
// object_store.md).  A lock keeps other processes away, and its loss ends reads that may be stale.
// The loss of a pin ends a follower's old views.
#ifndef TRELLIS_LSM_OBJECTS_LOCK_KEEPER_H_
#define TRELLIS_LSM_OBJECTS_LOCK_KEEPER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"
#include "lsm/objects/index_handle.h"
#include "lsm/threads/mutex.h"
#include "lsm/threads/repeating_thread.h"

namespace lsm::inline TRELLIS_ABI {

// A lock or a pin, which its process must renew in time.
class KeptEntry {
 public:
  virtual ~KeptEntry() = default;
  // Asks the pool, and returns the state.
  virtual absl::Status Renew() = 0;
  // Notices that it has expired.  Asks only the clock.
  virtual void CheckExpired() {}
};

// A lock on a directory's index that this process has taken.  Its state is
//
//   OK                held, as far as this process's clock tells
//   Unavailable       not renewed in time, or lost and not taken again: another process may have it
//   PermissionDenied  the pool refuses this client, so no renewal can succeed
//   TakenOver         the directory has another owner; final
//
// A lock that was lost is taken again if the owner is still this one, also after the pool had
// refused this client for a while.  That is safe because the owner would differ if another process
// had begun to recover.
//
// Thread-safe.
class KeptLock final : public KeptEntry {
 public:
  // `index` has been locked with this cookie by a call that began at `taken_nanos`.
  KeptLock(std::shared_ptr<IndexHandle> index, std::string cookie, Clock* clock,
           uint64_t lock_nanos, uint64_t taken_nanos)
      : index_(std::move(index)),
        cookie_(std::move(cookie)),
        clock_(*clock),
        lock_nanos_(lock_nanos),
        held_until_nanos_(taken_nanos + lock_nanos) {}
  KeptLock(const KeptLock&) = delete;
  KeptLock& operator=(const KeptLock&) = delete;

  // As in FileLock::Watch.
  void Watch(const std::function<void(const absl::Status& state)>& note)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Renew() override ABSL_LOCKS_EXCLUDED(mutex_);
  void CheckExpired() override ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a call of `note`, and unlocks.
  void Release() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Takes the lock again, after a renewal returned `refused`.
  absl::Status TakeAgain(const absl::Status& refused);
  void Unlock();
  void SetState(const absl::Status& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<IndexHandle> index_;
  const std::string cookie_;
  Clock& clock_;
  const uint64_t lock_nanos_;
  // Held while `note_` runs, and never during a call to the pool.
  Mutex mutex_;
  std::function<void(const absl::Status&)> note_ ABSL_GUARDED_BY(mutex_);
  absl::Status state_ ABSL_GUARDED_BY(mutex_);
  uint64_t held_until_nanos_ ABSL_GUARDED_BY(mutex_);
  bool is_released_ ABSL_GUARDED_BY(mutex_) = false;
};

// Thread-safe.
class LockKeeper {
 public:
  LockKeeper() = default;
  LockKeeper(const LockKeeper&) = delete;
  LockKeeper& operator=(const LockKeeper&) = delete;

  // Renews the entries at each quarter of `lock_nanos`, by a thread.  A call to the pool may take
  // long, so another thread notices that entries have expired.
  absl::Status StartThreads(uint64_t lock_nanos) ABSL_LOCKS_EXCLUDED(mutex_);
  void Add(std::shared_ptr<KeptEntry> entry) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(const KeptEntry* entry) ABSL_LOCKS_EXCLUDED(mutex_);

  // These throw nothing.
  void RenewAll() ABSL_LOCKS_EXCLUDED(mutex_);
  void CheckAllExpired() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void ForEach(void (*visit)(KeptEntry& entry)) ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  std::vector<std::shared_ptr<KeptEntry>> entries_ ABSL_GUARDED_BY(mutex_);
  // Last, so that they end first.
  std::unique_ptr<RepeatingThread> renewing_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<RepeatingThread> watching_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_LOCK_KEEPER_H_
