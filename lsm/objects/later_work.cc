#include "lsm/objects/later_work.h"

#include <utility>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {

LaterWork::~LaterWork() {
  std::unique_ptr<RepeatingThread> thread;
  if (!mark_.IsThisOne()) {
    // A thread of the parent may hold the mutex, and there is no thread to wait for.
    const auto leave = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { (void)thread_.release(); };
    leave();
    return;
  }
  {
    MutexLock lock(&mutex_);
    is_ending_ = true;
    waiting_.clear();
    thread = std::move(thread_);
  }
  // Without the mutex, which the thread may need to end.
  thread.reset();
}

absl::Status LaterWork::StartThread(uint64_t pause_nanos, std::function<void()> always) {
  MutexLock lock(&mutex_);
  if (thread_ != nullptr) return absl::OkStatus();
  TRELLIS_ASSIGN_OR_RETURN(thread_,
                           RepeatingThread::Start(pause_nanos, [this, always = std::move(always)] {
                             RunAll();
                             always();
                           }));
  return absl::OkStatus();
}

void LaterWork::Add(std::function<void()> work) {
  {
    MutexLock lock(&mutex_);
    if (is_ending_) return;
    if (thread_ != nullptr) {
      waiting_.push_back(std::move(work));
      return;
    }
  }
  work();
}

void LaterWork::RunAll() {
  for (;;) {
    std::list<std::function<void()>> next;
    {
      MutexLock lock(&mutex_);
      if (waiting_.empty()) return;
      next.splice(next.end(), waiting_, waiting_.begin());
    }
    CatchOutOfMemory([&] {
      next.front()();
      return absl::OkStatus();
    }).IgnoreError();
  }
}

}  // namespace lsm
