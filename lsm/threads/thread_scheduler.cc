#include "lsm/threads/thread_scheduler.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lsm/bytes/status.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

class ThreadScheduler final : public Scheduler {
 public:
  explicit ThreadScheduler(const ThreadCounts& counts) : counts_(counts) {}

  // The only place where the standard library reports a failure by an exception alone.
  absl::Status Start() {
    try {
      for (const auto& [lane, count] : {std::pair(Lane::kFlush, 1),
                                        {Lane::kCompaction, counts_.compactions},
                                        {Lane::kScrub, counts_.scrubs}}) {
        for (int i = 0; i < count; ++i)
          threads_.emplace_back([this, jobs = &JobsOf(lane)] { Work(*jobs); });
      }
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(
          Concat("threads for background work cannot be started: ", error.what()));
    }
    return absl::OkStatus();
  }

  ~ThreadScheduler() override {
    {
      // The last job may schedule others, also in another lane.  Threads end only when no job can
      // follow.
      MutexLock lock(&mutex_);
      while (unfinished_count_ > 0) changed_.Wait(&mutex_);
      closing_ = true;
      changed_.SignalAll();
    }
    for (std::thread& thread : threads_) thread.join();
  }

  int CompactionsAtOnce() const override { return counts_.compactions; }

  void Schedule(Lane lane, std::function<void()> job) override {
    MutexLock lock(&mutex_);
    JobsOf(lane).push_back(std::move(job));
    ++unfinished_count_;
    changed_.SignalAll();
  }

 private:
  using Jobs = std::deque<std::function<void()>>;

  Jobs& JobsOf(Lane lane) { return jobs_[static_cast<size_t>(lane)]; }

  void Work(Jobs& jobs) {
    MutexLock lock(&mutex_);
    while (true) {
      while (jobs.empty() && !closing_) changed_.Wait(&mutex_);
      if (jobs.empty()) return;
      std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      mutex_.Unlock();
      job();
      job = nullptr;  // destroys its captures before it counts as finished
      mutex_.Lock();
      if (--unfinished_count_ == 0) changed_.SignalAll();
    }
  }

  const ThreadCounts counts_;
  std::vector<std::thread> threads_;  // used by Start and the destructor only
  Mutex mutex_;
  CondVar changed_;           // few waiters, each with its own condition
  std::array<Jobs, 3> jobs_;  // by lane; guarded by mutex_
  int unfinished_count_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

Scheduler::~Scheduler() = default;

void Scheduler::Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition) {
  condition.wait(lock);
}

void Scheduler::Pause(uint64_t nanos) { PauseThread(nanos); }

void PauseThread(uint64_t nanos) { absl::SleepFor(absl::Nanoseconds(nanos)); }

int CompactionsOfMachine() {
  constexpr int kMax = 4;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMax);
}

absl::StatusOr<std::unique_ptr<Scheduler>> NewThreadScheduler(const ThreadCounts& counts) {
  assert(counts.compactions >= 1 && counts.scrubs <= 1);
  auto scheduler = std::make_unique<ThreadScheduler>(counts);
  TRELLIS_RETURN_IF_ERROR(scheduler->Start());
  return scheduler;
}

}  // namespace lsm
