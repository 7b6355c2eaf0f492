// The interface to background threads.  Private: embedders leave Environment::scheduler null; tests
// use one that replays a run.
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
  // Jobs of different lanes may run concurrently.  Jobs of one lane begin in order.
  enum class Lane { kFlush, kCompaction, kScrub };

  // How many jobs of kCompaction may run concurrently.  The other lanes run one at a time.
  virtual int CompactionsAtOnce() const { return 1; }

  virtual ~Scheduler();

  // Runs `job` once, later; never within this call.
  virtual void Schedule(Lane lane, std::function<void()> job) = 0;

  // Waits on `condition` until it is signalled, or returns spuriously.  The caller holds `mutex`.
  // A single-threaded scheduler releases the mutex and runs a job instead.
  virtual void Wait(Mutex* mutex, CondVar* condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) = 0;

  // Pauses the calling thread.  A single-threaded scheduler runs a job instead, if there is one.
  virtual void Pause(uint64_t nanos) = 0;
};

struct ThreadCounts {
  int compactions = 1;  // at least 1
  int scrubs = 0;       // 0 or 1; without a thread, kScrub must not be used
};

// How many compactions this machine should run concurrently: one per core, but at most 4, since
// each reads and writes at full speed.
int CompactionsOfMachine();

// Starts that many threads, and one for flushes.  All exist from the beginning, so no job can lack
// one.  ResourceExhausted if the system cannot create them.  The destructor waits for all jobs.
absl::StatusOr<std::unique_ptr<Scheduler>> NewThreadScheduler(const ThreadCounts& counts);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_SCHEDULER_H_
