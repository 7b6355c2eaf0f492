// Work in the background, as the store asks for it.  Private: embedders leave
// Environment::scheduler null, tests bring one that replays.
#ifndef TRELLIS_LSM_FS_SCHEDULER_H_
#define TRELLIS_LSM_FS_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace lsm {

// Runs jobs of one store in the background.  Thread-safe.
class Scheduler {
 public:
  // Jobs of different lanes may run at once; those of one lane run one after another, in order.
  enum class Lane { kFlush, kCompaction, kScrub };

  virtual ~Scheduler();

  // Runs `job` once, later, and never within this call.
  virtual void Schedule(Lane lane, std::function<void()> job) = 0;

  // Waits on `condition`, whose mutex `mutex` the caller holds, until it is signalled or for no
  // reason at all.  A single-threaded scheduler releases the mutex and runs a job instead.
  virtual void Wait(absl::Mutex* mutex, absl::CondVar* condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) = 0;

  // Pauses the calling thread; a single-threaded scheduler runs a job instead, if there is one.
  virtual void Pause(uint64_t nanos) = 0;
};

// A new scheduler with one thread a lane, which are there from the beginning, so that no job can be
// without one; ResourceExhausted if the system has none to give.  The last lane, kScrub, has one
// only `with_scrub`.  Its destructor waits for all jobs.
absl::StatusOr<std::unique_ptr<Scheduler>> NewThreadScheduler(bool with_scrub = false);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_SCHEDULER_H_
