// Queues events for Options::listener.  Events may be added under any lock, and are delivered where
// none is held (lsm/event_listener.h states the contract).
//
// One thread at a time delivers.  If another thread is delivering, a thread leaves its events to
// that one.  So callbacks follow the order of Add, do not overlap, and are not nested: events
// caused by a callback are delivered after it.
#ifndef TRELLIS_LSM_EVENTS_EVENT_QUEUE_H_
#define TRELLIS_LSM_EVENTS_EVENT_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"
#include "lsm/event_listener.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// Thread-safe.  Without a listener it queues nothing, and each call costs a comparison.
class EventQueue {
 public:
  // `clock` must outlive it.
  EventQueue(std::shared_ptr<EventListener> listener, Clock* clock, std::string store)
      : listener_(std::move(listener)), clock_(clock), store_(std::move(store)) {}
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // Whether there is a listener, so that making events is useful.
  bool on() const { return listener_ != nullptr; }

  // Does not throw: an event for which there is no memory, or no room, is lost and counted.
  template <typename AnyEvent>
  void Add(AnyEvent event) {
    if (on()) Push(std::move(event), clock_->MonotonicNanos());
  }

  // Adds the event that `make` returns.  If `make` throws std::bad_alloc, the event is lost and
  // counted.  For events that need memory: reporting must not make the reported operation fail.
  template <typename Make>
  void AddMade(const Make& make) {
    if (!on()) return;
    try {
      Add(make());
    } catch (const std::bad_alloc&) {
      CountLost();
    }
  }

  // Delivers the queued events, unless another thread, or a caller of this function on this thread,
  // is delivering.  REQUIRES: the caller holds no lock.
  void Deliver() noexcept {
    // Relaxed: this thread sees what it added itself; other threads deliver what they add.
    if (on() && waiting_.load(std::memory_order_relaxed)) DeliverAll();
  }

  // Delivers the queued events, waits for a thread that is delivering, and drops later events.
  // REQUIRES: not called from a callback.
  void Close() noexcept;

  // Number and total time of the finished callbacks.  Relaxed: only statistics.
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  uint64_t nanos() const { return nanos_.load(std::memory_order_relaxed); }

  // The number of the next flush or compaction.  Relaxed: nothing else depends on it.
  uint64_t NewJob() { return jobs_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // Marks this thread as being in Pace::progress of a call to the queue's store.  Scopes nest,
  // since one store may be called from within another one's callback.
  class ProgressScope {
   public:
    explicit ProgressScope(const EventQueue* queue) : queue_(queue), outer_(innermost_) {
      innermost_ = this;
    }
    ~ProgressScope() { innermost_ = outer_; }
    ProgressScope(const ProgressScope&) = delete;
    ProgressScope& operator=(const ProgressScope&) = delete;

   private:
    friend class EventQueue;
    const EventQueue* const queue_;
    const ProgressScope* const outer_;
  };

  // FailedPrecondition in a callback of this queue, and in Pace::progress of a call to its store:
  // `what` might wait for this thread.
  absl::Status CheckMayWait(const char* what) const {
    if (IsCallback()) return CalledFromCallback(what);
    return IsProgress() ? CalledFromProgress(what) : absl::OkStatus();
  }
  bool MayWait() const { return !IsCallback() && !IsProgress(); }

 private:
  // Whether this thread is in a callback of this queue.
  bool IsCallback() const {
    // Relaxed: only the thread itself stores its id, so it sees its own id correctly.
    return on() && deliverer_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  bool IsProgress() const {
    const ProgressScope* scope = innermost_;
    while (scope != nullptr && scope->queue_ != this) scope = scope->outer_;
    return scope != nullptr;
  }

  using AnyEvent = std::variant<OpenBegin, OpenEnd, Closed, FlushBegin, FlushEnd, CompactionBegin,
                                CompactionEnd, StallBegin, StallEnd, Failure, Resumed, SpaceChange,
                                ViewWentBack, DamageFound, FileCreated, FileRemoved>;
  // The wall clock is read at delivery.  Callers of Add may hold locks, so Add reads only the
  // monotonic clock.
  struct Queued {
    AnyEvent event;
    uint64_t nanos;  // monotonic, when it happened
  };
  void Push(AnyEvent event, uint64_t nanos) ABSL_LOCKS_EXCLUDED(mutex_);
  void CountLost() ABSL_LOCKS_EXCLUDED(mutex_);
  void DeliverOne(Queued queued);
  void DeliverAll() noexcept ABSL_LOCKS_EXCLUDED(mutex_);
  void DeliverLocked() noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static absl::Status CalledFromCallback(const char* what);
  static absl::Status CalledFromProgress(const char* what);

  inline static constinit thread_local const ProgressScope* innermost_ = nullptr;
  const std::shared_ptr<EventListener> listener_;
  Clock* const clock_;
  const std::string store_;
  std::atomic<uint64_t> jobs_{0};
  std::atomic<uint64_t> calls_{0}, nanos_{0};
  std::atomic<bool> waiting_{false};  // whether events_ is not empty
  std::atomic<std::thread::id> deliverer_{};
  Mutex mutex_;  // the innermost of all locks; not held during a callback
  CondVar delivered_;
  std::deque<Queued> events_ ABSL_GUARDED_BY(mutex_);
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;  // since the last queued event
};

}  // namespace lsm

#endif  // TRELLIS_LSM_EVENTS_EVENT_QUEUE_H_
