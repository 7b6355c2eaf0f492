// The standard library's mutex and condition variable, annotated for Clang's thread-safety
// analysis.
//
// Not absl::Mutex: Debian builds it with deadlock detection, so every call takes one lock of the
// whole process and looks the mutex up in a table.  (A put locks twice; caching a block locks
// several times.) ThreadSanitizer finds lock-order inversions instead.
#ifndef TRELLIS_LSM_THREADS_MUTEX_H_
#define TRELLIS_LSM_THREADS_MUTEX_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "bloom/core/abi.h"
#include "lsm/scheduler.h"

namespace lsm::inline TRELLIS_ABI {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  // False if another thread holds it.
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mutex_.try_lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

class CondVar {
 public:
  // Releases the mutex and waits for a signal; may return early.  A caller that waits for a
  // background job passes the scheduler, which may have to run the job in this call.
  void Wait(Mutex* mutex, Scheduler* scheduler = nullptr) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    scheduler != nullptr ? scheduler->Wait(lock, condition_) : condition_.wait(lock);
    lock.release();
  }
  // As Wait, but for about this long at the most.
  void WaitAtMost(Mutex* mutex, uint64_t nanos) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    condition_.wait_for(lock, absl::ToChronoNanoseconds(absl::Nanoseconds(nanos)));
    lock.release();
  }
  void Signal() { condition_.notify_one(); }
  void SignalAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_THREADS_MUTEX_H_
