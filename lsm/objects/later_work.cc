#include "lsm/objects/later_work.h"

#include <utility>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {

LaterWork::~LaterWork() {
  // A thread of the parent may hold the mutex.
  if (!mark_.IsThisOne()) return;
  MutexLock lock(&mutex_);
  is_ending_ = true;
  waiting_.clear();
  // The member `thread_` ends next, without the mutex, which its work may need.
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
