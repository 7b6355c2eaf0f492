// The background jobs of an open store: which jobs are scheduled or running, what keeps further
// jobs from beginning, and how other threads wait for jobs.
//
//   job           lane         at most   begins unless
//   kFlush        kFlush       1         jobs are held back, or a flush failed
//   kCompaction   kCompaction  the       jobs are held back, or a compaction failed
//                              limit
//   kCollection   kCompaction  1         the store is being closed
//   kScrub        kScrub       1         the store is being closed
//
// Flushes and compactions are held back once the store is being closed, while it recovers from
// failures, and after a failure of the log or the manifest.
//
// Not thread-safe: the engine's mutex guards it.  Errors: the first failure of each kind stays
// until the store has recovered (failures.h).  Nothing here throws.
#ifndef TRELLIS_LSM_RUNTIME_BACKGROUND_JOBS_H_
#define TRELLIS_LSM_RUNTIME_BACKGROUND_JOBS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/event_listener.h"
#include "lsm/events/event_queue.h"
#include "lsm/runtime/failures.h"
#include "lsm/scheduler.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

class BackgroundJobs {
 public:
  enum class Job : uint8_t { kFlush, kCompaction, kCollection, kScrub };

  // All outlive it.  Without a scheduler, for a store that is open for reading only, no job is ever
  // scheduled.  `on_taken_over` (may be null) gets each failure which says that another process has
  // taken the store over.
  BackgroundJobs(Scheduler* scheduler, Counters* counters, EventQueue* events,
                 std::function<void(const absl::Status& status)> on_taken_over = nullptr)
      : scheduler_(scheduler),
        counters_(*counters),
        events_(*events),
        on_taken_over_(std::move(on_taken_over)),
        compactions_max_(scheduler != nullptr ? scheduler->CompactionsAtOnce() : 0) {}
  BackgroundJobs(const BackgroundJobs&) = delete;
  BackgroundJobs& operator=(const BackgroundJobs&) = delete;

  int compactions_max() const { return compactions_max_; }

  // --- scheduling ---

  // Whether flushes and compactions may begin.
  bool MayBegin() const {
    return !is_stopping_ && !is_recovering_ && failures_.OfLogOrManifest().ok();
  }
  // Whether one more job of this kind may be scheduled.  `one_at_a_time` limits compactions to one.
  bool MaySchedule(Job job, bool one_at_a_time = false) const;
  // Whether jobs can be scheduled at all.
  bool TakesJobs() const { return scheduler_ != nullptr && !is_stopping_; }
  // True if the job will run; it calls End when it ends.  False if there is no memory to schedule
  // it; then `failure`, if given, is added.  Pass `failure` if no other caller might schedule the
  // job again.  REQUIRES: a scheduler.
  bool Schedule(Job job, std::optional<FailureKind> failure, std::function<void()> run);
  // Like Schedule, for a running job: the new job takes its place.  False: the running job
  // continues or ends.
  bool ScheduleAgain(Job job, std::function<void()> run);
  // The job has ended.
  void End(Job job);

  bool HasFlushOrCompaction() const { return Count(Job::kFlush) + Count(Job::kCompaction) > 0; }
  bool HasAny() const {
    return HasFlushOrCompaction() || Count(Job::kCollection) + Count(Job::kScrub) > 0;
  }

  // --- waiting ---

  // Waits until WakeAll, or returns early.
  void Wait(Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { changed_.Wait(mutex, scheduler_); }
  // Something happened that a thread may wait for: a job ended, a view was published, ...
  void WakeAll() { changed_.SignalAll(); }

  // --- what holds jobs back ---

  const Failures& failures() const { return failures_; }
  // If the failure is the first of its kind: counts it, tells the listener, and wakes all.  If
  // another process has taken the store over, calls `on_taken_over` first.
  void AddFailure(FailureKind kind, const absl::Status& status);

  void BeginRecovery() { is_recovering_ = true; }
  // Forgets the failures if the store has recovered.
  void EndRecovery(bool has_recovered);

  // The store is being closed.
  void Stop();
  bool is_stopping() const { return is_stopping_; }

 private:
  int Count(Job job) const { return counts_[static_cast<size_t>(job)]; }

  Scheduler* const scheduler_;
  Counters& counters_;
  EventQueue& events_;
  const std::function<void(const absl::Status&)> on_taken_over_;
  const int compactions_max_;
  std::array<int, 4> counts_ = {};  // scheduled or running, by kind
  Failures failures_;
  bool is_recovering_ = false;
  bool is_stopping_ = false;
  CondVar changed_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_BACKGROUND_JOBS_H_
