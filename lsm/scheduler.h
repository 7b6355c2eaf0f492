// Runs the background work of stores: flushes, compactions, and scrubbing.
//
// By default each store starts threads of its own.  Derive from Scheduler to use yours, for example
// one pool for several stores, and give it to them as Environment::scheduler.  It must outlive
// them.
#ifndef TRELLIS_LSM_SCHEDULER_H_
#define TRELLIS_LSM_SCHEDULER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Thread-safe.  A store calls it with locks held, so it must not call the store.
class TRELLIS_API Scheduler {
 public:
  // Jobs of one lane must begin in the order of Schedule; jobs of different lanes may run at the
  // same time.  Give flushes a thread of their own: writers wait for them.
  enum class Lane { kFlush, kCompaction, kScrub };

  virtual ~Scheduler();

  // Whether jobs run on threads of their own.  Then a store that is open for writing also has a
  // thread that checks every 10 s whether deletes make a flush or a compaction due.  If your
  // program must control every thread, as in a simulation, return false: then WaitForBackgroundWork
  // makes this check.  A store asks once, when it opens.
  virtual bool HasThreads() const { return true; }

  // The most compactions that a store runs at the same time, at least 1.  A store asks once, when
  // it opens.
  virtual int CompactionsAtOnce() const { return 1; }

  // Runs `job` exactly once, later, and never within this call: a store that closes waits for its
  // jobs.  Jobs throw nothing.  Schedule may throw std::bad_alloc, and then must not run the job;
  // it throws nothing else.
  virtual void Schedule(Lane lane, std::function<void()> job) = 0;

  // Waits for `condition` with `lock`, which is held before and after.  May return early; must not
  // throw.  A scheduler without threads must override it: it releases the lock and runs a job,
  // because no other thread will signal.
  virtual void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition);

  // Pauses the calling thread; must not throw.  A scheduler without threads may run a job instead.
  virtual void Pause(uint64_t nanos);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_SCHEDULER_H_
