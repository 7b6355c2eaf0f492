// Work in the background, as the store asks for it.  Private: embedders leave
// Environment::scheduler null, tests bring one that replays.
#ifndef TRELLIS_LSM_FS_SCHEDULER_H_
#define TRELLIS_LSM_FS_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/fs/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// Runs jobs of one store in the background.  Thread-safe.
class Scheduler {
 public:
  // Jobs of different lanes may run at once; those of one lane begin in order.
  enum class Lane { kFlush, kCompaction, kScrub };

  // So many jobs of kCompaction may run at once; of the other lanes one.
  virtual int CompactionsAtOnce() const { return 1; }

  virtual ~Scheduler();

  // Runs `job` once, later, and never within this call.
  virtual void Schedule(Lane lane, std::function<void()> job) = 0;

  // Waits on `condition`, whose mutex `mutex` the caller holds, until it is signalled or for no
  // reason at all.  A single-threaded scheduler releases the mutex and runs a job instead.
  virtual void Wait(Mutex* mutex, CondVar* condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) = 0;

  // Pauses the calling thread; a single-threaded scheduler runs a job instead, if there is one.
  virtual void Pause(uint64_t nanos) = 0;
};

struct ThreadCounts {
  int compactions = 1;  // at least 1
  int scrubs = 0;       // 0 or 1; without a thread the lane kScrub must not be used
};

// As many compactions as this machine is to run at once: one a core, but no more than 4, for each
// of them reads and writes as fast as it can.
int CompactionsOfMachine();

// A new scheduler with so many threads, and one for flushes.  They are there from the beginning, so
// that no job can be without one; ResourceExhausted if the system has none to give.  Its destructor
// waits for all jobs.
absl::StatusOr<std::unique_ptr<Scheduler>> NewThreadScheduler(const ThreadCounts& counts);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_SCHEDULER_H_
