#include "lsm/runtime/lifetime.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status StoreIsClosed() {
  return absl::FailedPreconditionError("the store is closed (DB::Close)");
}

Lifetime::Call::Call(Lifetime* lifetime) : lifetime_(*lifetime) {
  MutexLock lock(lifetime_.mutex_);
  status_ = lifetime_.Check();
  ++lifetime_.calls_;
}

Lifetime::Call::~Call() {
  MutexLock lock(lifetime_.mutex_);
  if (--lifetime_.calls_ == 0) lifetime_.jobs_->WakeAll();
}

std::optional<absl::Status> Lifetime::BeginClosing(absl::FunctionRef<bool()> has_writers) {
  MutexLock lock(mutex_);
  if (is_closing()) {
    // Waits without the scheduler, which may be gone.
    while (!outcome_) closed_.Wait(mutex_);
    return outcome_;
  }
  // Relaxed: see is_closing.
  closing_.store(true, std::memory_order_relaxed);
  jobs_->Stop();  // writers and calls that wait for jobs give up
  while (has_writers() || calls_ > 0 || jobs_->HasAny()) jobs_->Wait(mutex_);
  return std::nullopt;
}

void Lifetime::EndClosing(const absl::Status& status) {
  MutexLock lock(mutex_);
  outcome_ = status;
  closed_.SignalAll();
}

void Lifetime::Abandon(std::shared_ptr<const void> store) noexcept {
  // The list makes the stores reachable, so that tools do not report a leak.
  static std::atomic<Lifetime*> last{nullptr};
  // Relaxed: the list is only written.
  abandoned_before_ = last.exchange(this, std::memory_order_relaxed);
  abandoned_ = std::move(store);
}

Pace UntilClosed(const Pace& pace, const Lifetime* lifetime, const EventQueue* events) {
  return {pace.bytes_per_second,
          [lifetime, events, progress = pace.progress](const Progress& so_far) {
            if (lifetime->is_closing()) return false;
            const EventQueue::ProgressScope within(events);
            return progress == nullptr || progress(so_far);
          }};
}

}  // namespace lsm
