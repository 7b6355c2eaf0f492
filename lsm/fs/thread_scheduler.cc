// The scheduler of the real world: a thread a lane.
#include <deque>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/scheduler.h"

namespace lsm {
namespace {

class ThreadScheduler final : public Scheduler {
 public:
  explicit ThreadScheduler(bool with_scrub) : workers_(with_scrub ? 3 : 2) {}

  // The one place where the standard library tells of a failure by an exception only.
  absl::Status Start() {
    try {
      for (Worker& worker : workers_)
        worker.thread = std::thread([this, &worker] { Work(worker); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(
          Concat("threads for background work cannot be started: ", error.what()));
    }
    return absl::OkStatus();
  }

  ~ThreadScheduler() override {
    {
      // A last job may schedule others, in another lane too; threads end only when nothing can come
      // any more.
      absl::MutexLock lock(&mutex_);
      while (unfinished_count_ > 0) changed_.Wait(&mutex_);
      closing_ = true;
      changed_.SignalAll();
    }
    for (Worker& worker : workers_) {
      if (worker.thread.joinable()) worker.thread.join();
    }
  }

  void Schedule(Lane lane, std::function<void()> job) override {
    absl::MutexLock lock(&mutex_);
    workers_[static_cast<size_t>(lane)].jobs.push_back(std::move(job));
    ++unfinished_count_;
    changed_.SignalAll();
  }

  void Wait(absl::Mutex* mutex, absl::CondVar* condition) override { condition->Wait(mutex); }

  void Pause(uint64_t nanos) override { absl::SleepFor(absl::Nanoseconds(nanos)); }

 private:
  struct Worker {
    std::deque<std::function<void()>> jobs;
    std::thread thread;
  };

  void Work(Worker& worker) {
    absl::MutexLock lock(&mutex_);
    while (true) {
      while (worker.jobs.empty() && !closing_) changed_.Wait(&mutex_);
      if (worker.jobs.empty()) return;
      std::function<void()> job = std::move(worker.jobs.front());
      worker.jobs.pop_front();
      mutex_.Unlock();
      job();
      job = nullptr;  // what it holds goes before it counts as finished
      mutex_.Lock();
      if (--unfinished_count_ == 0) changed_.SignalAll();
    }
  }

  absl::Mutex mutex_;
  absl::CondVar changed_;  // four waiters at most, each with its own condition
  // Guarded by mutex_, but for the threads, which only Start and the destructor touch.
  std::vector<Worker> workers_;
  int unfinished_count_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Scheduler>> NewThreadScheduler(bool with_scrub) {
  auto scheduler = std::make_unique<ThreadScheduler>(with_scrub);
  LSM_RETURN_IF_ERROR(scheduler->Start());
  return scheduler;
}

}  // namespace lsm
