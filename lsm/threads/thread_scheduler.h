// The scheduler that a store starts for itself (lsm/scheduler.h): threads for each lane.
#ifndef TRELLIS_LSM_THREADS_THREAD_SCHEDULER_H_
#define TRELLIS_LSM_THREADS_THREAD_SCHEDULER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/scheduler.h"

namespace lsm::inline TRELLIS_ABI {

struct ThreadCounts {
  int compactions = 1;  // at least 1
  int scrubs = 0;       // 0 or 1; without a thread, kScrub must not be used
};

// How many compactions this machine should run concurrently: one per core, but at most 4, since
// each reads and writes at full speed.
int CompactionsOfMachine();

// Pauses the calling thread.
void PauseThread(uint64_t nanos);

// Starts that many threads, and one for flushes.  All exist from the beginning, so no job can lack
// one.  ResourceExhausted if the system cannot create them.  The destructor waits for all jobs.
absl::StatusOr<std::unique_ptr<Scheduler>> NewThreadScheduler(const ThreadCounts& counts);

}  // namespace lsm

#endif  // TRELLIS_LSM_THREADS_THREAD_SCHEDULER_H_
