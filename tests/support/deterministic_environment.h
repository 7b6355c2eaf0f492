// An environment in which one seed determines everything: one thread, a clock that advances only
// when it is read, and repeatable random numbers.
//
//   SingleThreadScheduler scheduler;
//   ManualClock clock;
//   SeededRandom random(seed);
//   MemoryFileSystem files;
//   const lsm::Environment environment{&files, nullptr, &clock, &scheduler, &random};
#ifndef TRELLIS_TESTS_SUPPORT_DETERMINISTIC_ENVIRONMENT_H_
#define TRELLIS_TESTS_SUPPORT_DETERMINISTIC_ENVIRONMENT_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "lsm/environment.h"
#include "lsm/fs/seeded_random.h"
#include "lsm/scheduler.h"

namespace testing_support {

// Runs jobs in the order in which they were scheduled, on the thread that waits.  A job of a lane
// never runs within another job of this lane, except that up to `compactions_at_once` compactions
// may nest.  For one thread only.
class SingleThreadScheduler : public lsm::Scheduler {
 public:
  explicit SingleThreadScheduler(int compactions_at_once = 1)
      : at_once_{1, compactions_at_once, 1} {}
  // Runs the remaining jobs.
  ~SingleThreadScheduler() override;

  bool HasThreads() const override { return false; }
  int CompactionsAtOnce() const override { return at_once_[1]; }

  void Schedule(Lane lane, std::function<void()> job) override;

  // Releases the mutex and runs one job.  Ends the program with a message if there is none: nothing
  // could ever end the wait.
  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition) override;

  void Pause(uint64_t nanos) override;

  // Runs jobs until the queue is empty, including jobs that other jobs schedule.
  void RunAll();

  size_t queued_count() const { return queue_.size(); }

 private:
  struct Job {
    Lane lane;
    std::function<void()> run;
  };

  // The first job whose lane has room for it; false if there is none.
  bool RunOne();

  std::deque<Job> queue_;
  const int at_once_[3];        // by lane
  int running_[3] = {0, 0, 0};  // by lane
};

// Advances by a microsecond at each reading, so that time passes in a repeatable way.  Thread-safe.
class ManualClock : public lsm::Clock {
 public:
  uint64_t MonotonicNanos() override { return Advance(1000); }
  uint64_t WallMicros() override { return kWallMicrosAtZero + Advance(1000) / 1000; }

  // Returns the time after the advance.
  uint64_t Advance(uint64_t nanos) {
    return nanos_.fetch_add(nanos, std::memory_order_relaxed) + nanos;
  }

 private:
  static constexpr uint64_t kWallMicrosAtZero = 1'600'000'000'000'000;  // in September 2020

  std::atomic<uint64_t> nanos_{0};
};

// Its wall clock shows the seconds that the test sets.  Thread-safe.
class SetClock : public ManualClock {
 public:
  uint64_t WallMicros() override { return seconds_.load() * 1'000'000; }
  uint64_t seconds() const { return seconds_.load(); }
  void Set(uint64_t seconds) { seconds_.store(seconds); }
  void Add(uint64_t seconds) { seconds_.fetch_add(seconds); }

 private:
  std::atomic<uint64_t> seconds_{1'700'000'000};
};

// Runs a job whenever a caller reads the time of day, for example to begin a table.  So jobs begin
// and end within others, as far as the scheduler allows.
class YieldingClock : public ManualClock {
 public:
  explicit YieldingClock(SingleThreadScheduler* scheduler) : scheduler_(*scheduler) {}
  uint64_t WallMicros() override {
    scheduler_.Pause(0);
    return ManualClock::WallMicros();
  }

 private:
  SingleThreadScheduler& scheduler_;
};

using lsm::SeededRandom;

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_DETERMINISTIC_ENVIRONMENT_H_
