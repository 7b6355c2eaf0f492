#include "lsm/events/event_queue.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// An overload for each kind of event, so that a new kind does not compile without its callback.
struct Callback {
  EventListener& to;
  void operator()(const OpenBegin& event) const { to.OnOpenBegin(event); }
  void operator()(const OpenEnd& event) const { to.OnOpenEnd(event); }
  void operator()(const Closed& event) const { to.OnClose(event); }
  void operator()(const FlushBegin& event) const { to.OnFlushBegin(event); }
  void operator()(const FlushEnd& event) const { to.OnFlushEnd(event); }
  void operator()(const CompactionBegin& event) const { to.OnCompactionBegin(event); }
  void operator()(const CompactionEnd& event) const { to.OnCompactionEnd(event); }
  void operator()(const StallBegin& event) const { to.OnStallBegin(event); }
  void operator()(const StallEnd& event) const { to.OnStallEnd(event); }
  void operator()(const Failure& event) const { to.OnFailure(event); }
  void operator()(const Resumed& event) const { to.OnResume(event); }
  void operator()(const SpaceChange& event) const { to.OnSpaceChange(event); }
  void operator()(const ViewWentBack& event) const { to.OnViewWentBack(event); }
  void operator()(const DamageFound& event) const { to.OnDamage(event); }
  void operator()(const FileCreated& event) const { to.OnFileCreated(event); }
  void operator()(const FileRemoved& event) const { to.OnFileRemoved(event); }
};

// The last event of an opening, and of a store, enters even a full queue: a listener may wait for
// it.
template <typename Event>
constexpr bool kIsLast = std::is_same_v<Event, OpenEnd> || std::is_same_v<Event, Closed>;

}  // namespace

void EventQueue::Push(AnyEvent event, uint64_t nanos) {
  MutexLock lock(&mutex_);
  if (closed_) return;
  const bool is_last =
      std::visit([](const auto& any) { return kIsLast<std::decay_t<decltype(any)>>; }, event);
  if (events_.size() >= kEventsQueuedMax && !is_last) {
    ++lost_;
    return;
  }
  std::visit([lost = lost_](auto& any) { any.lost = lost; }, event);
  try {
    events_.push_back({std::move(event), nanos});
    lost_ = 0;
  } catch (const std::bad_alloc&) {
    ++lost_;
  }
  // Relaxed: a delivering thread takes the lock.
  waiting_.store(!events_.empty(), std::memory_order_relaxed);
}

void EventQueue::CountLost() {
  MutexLock lock(&mutex_);
  ++lost_;
}

void EventQueue::DeliverAll() noexcept {
  MutexLock lock(&mutex_);
  if (!delivering_) DeliverLocked();
}

void EventQueue::DeliverLocked() noexcept {
  delivering_ = true;
  // Relaxed: see IsCallback.
  deliverer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  while (!events_.empty()) {
    Queued next = std::move(events_.front());
    events_.pop_front();
    mutex_.Unlock();
    DeliverOne(std::move(next));
    mutex_.Lock();
  }
  deliverer_.store({}, std::memory_order_relaxed);
  waiting_.store(false, std::memory_order_relaxed);
  delivering_ = false;
  delivered_.SignalAll();
}

void EventQueue::DeliverOne(Queued queued) {
  const uint64_t wall_micros = clock_->WallMicros();
  const uint64_t begin_nanos = clock_->MonotonicNanos();
  const uint64_t micros_ago = (begin_nanos - queued.nanos) / 1000;
  std::visit(
      [&](auto& any) {
        any.wall_micros = wall_micros - std::min(wall_micros, micros_ago);
        any.store = store_;
        Callback{*listener_}(any);
      },
      queued.event);
  // Relaxed: only a statistic.
  nanos_.fetch_add(clock_->MonotonicNanos() - begin_nanos, std::memory_order_relaxed);
  calls_.fetch_add(1, std::memory_order_relaxed);
}

void EventQueue::Close() noexcept {
  if (!on()) return;
  MutexLock lock(&mutex_);
  while (delivering_) delivered_.Wait(&mutex_);
  DeliverLocked();
  closed_ = true;
}

absl::Status EventQueue::CalledFromCallback(const char* what) {
  return absl::FailedPreconditionError(
      Concat(what,
             " was called from a callback of Options::listener, whose thread it might wait "
             "for (lsm/event_listener.h)"));
}

absl::Status EventQueue::CalledFromProgress(const char* what) {
  return absl::FailedPreconditionError(
      Concat(what,
             " was called from Pace::progress, and might wait for the call that this is part of "
             "(lsm/pace.h)"));
}

}  // namespace lsm
