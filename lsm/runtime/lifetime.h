// The lifetime of an open store: what its opening recovered, the calls that use it, and its
// closing, which happens once.
//
// Close goes through these steps:
//
//   BeginClosing   calls and jobs that begin from now on fail or do nothing; waits for the others
//   EndClosing     the other callers of BeginClosing get the outcome
//
// Thread-safe.  Only Call, BeginClosing and EndClosing take the engine's mutex.  Errors:
// FailedPrecondition if the store is closed.  This error takes memory, so StoreIsClosed, Check and
// Call throw std::bad_alloc, and so does UntilClosed.
#ifndef TRELLIS_LSM_RUNTIME_LIFETIME_H_
#define TRELLIS_LSM_RUNTIME_LIFETIME_H_

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/events/event_queue.h"
#include "lsm/pace.h"
#include "lsm/reports.h"
#include "lsm/runtime/background_jobs.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// FailedPrecondition: DB::Close was called.
absl::Status StoreIsClosed();

class Lifetime {
 public:
  // `mutex`, the engine's, guards the jobs.  Both outlive it.
  Lifetime(Mutex* mutex, BackgroundJobs* jobs) : mutex_(mutex), jobs_(jobs) {}
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  // The report of what the opening found in the logs.  Set before any other thread has the store.
  void NoteRecovered(RecoveryReport report) { recovery_ = std::move(report); }
  const RecoveryReport& recovery() const { return recovery_; }

  // Relaxed: a call that is concurrent with Close may come before it or after it, and jobs ask only
  // whether they should hurry.
  bool is_closing() const { return closing_.load(std::memory_order_relaxed); }
  absl::Status Check() const { return is_closing() ? StoreIsClosed() : absl::OkStatus(); }

  // A call that uses the store's files or waits for jobs: BeginClosing waits until it ends.
  class Call {
   public:
    explicit Call(Lifetime* lifetime);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // FailedPrecondition if the store was closed before.
    const absl::Status& status() const { return status_; }

   private:
    Lifetime& lifetime_;
    absl::Status status_;
  };

  // Returns nullopt if this thread must close the store; then no call, job or writer is left.
  // Otherwise waits until another thread has closed it, and returns the outcome.  `has_writers` is
  // called with the mutex held.  The code that changes its answer to false calls
  // BackgroundJobs::WakeAll.
  std::optional<absl::Status> BeginClosing(absl::FunctionRef<bool()> has_writers)
      ABSL_LOCKS_EXCLUDED(*mutex_);
  void EndClosing(const absl::Status& status) ABSL_LOCKS_EXCLUDED(*mutex_);

  // Keeps `store`, of which this is a part, until the process ends.  One call at most.
  void Abandon(std::shared_ptr<const void> store) noexcept;

 private:
  Mutex* const mutex_;
  BackgroundJobs* const jobs_ ABSL_PT_GUARDED_BY(*mutex_);
  RecoveryReport recovery_;
  std::atomic<bool> closing_{false};  // set with the mutex held
  int calls_ ABSL_GUARDED_BY(*mutex_) = 0;
  std::optional<absl::Status> outcome_ ABSL_GUARDED_BY(*mutex_);  // of the closing
  CondVar closed_;
  std::shared_ptr<const void> abandoned_;
  Lifetime* abandoned_before_ = nullptr;  // the list of all that were abandoned
};

// A copy of the pace that also ends the call when the store is closed.  Lifetime and events outlive
// it.
Pace UntilClosed(const Pace& pace, const Lifetime* lifetime, const EventQueue* events);

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_LIFETIME_H_
