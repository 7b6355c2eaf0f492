#include "tests/support/deterministic_environment.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace testing_support {

SingleThreadScheduler::~SingleThreadScheduler() { RunAll(); }

void SingleThreadScheduler::Schedule(Lane lane, std::function<void()> job) {
  queue_.push_back({lane, std::move(job)});
}

void SingleThreadScheduler::Wait(std::unique_lock<std::mutex>& lock,
                                 std::condition_variable& /*condition*/) {
  lock.unlock();
  if (!RunOne()) {
    std::fprintf(
        stderr,
        "SingleThreadScheduler: deadlock: Wait was called with %zu jobs queued, and none can run "
        "(flush lane %s, compaction lane %s)\n",
        queue_.size(), running_[0] > 0 ? "busy" : "idle", running_[1] > 0 ? "busy" : "idle");
    std::abort();
  }
  lock.lock();
}

void SingleThreadScheduler::Pause(uint64_t /*nanos*/) { RunOne(); }

void SingleThreadScheduler::RunAll() {
  while (RunOne()) {
  }
}

bool SingleThreadScheduler::RunOne() {
  const auto next = std::find_if(queue_.begin(), queue_.end(), [this](const Job& job) {
    const auto lane = static_cast<size_t>(job.lane);
    return running_[lane] < at_once_[lane];
  });
  if (next == queue_.end()) return false;
  Job job = std::move(*next);
  queue_.erase(next);
  int& running = running_[static_cast<size_t>(job.lane)];
  ++running;
  job.run();
  job.run = nullptr;
  --running;
  return true;
}

}  // namespace testing_support
