// Events on their way to Options::listener.  They are added under any lock, and delivered where
// none is held (lsm/event_listener.h states the contract).
//
// One thread at a time delivers; a thread that finds another one at it leaves its events to that
// one.  So the order is that of Add, callbacks do not overlap, and a callback that causes events
// does not run within another one.
#ifndef TRELLIS_LSM_EVENTS_EVENT_QUEUE_H_
#define TRELLIS_LSM_EVENTS_EVENT_QUEUE_H_

#include <atomic>
#include <cstddef>
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
#include "lsm/fs/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// Thread-safe.  Without a listener nothing is queued, and all calls are a comparison.
class EventQueue {
 public:
  // The clock outlives it.
  EventQueue(std::shared_ptr<EventListener> listener, Clock* clock, std::string store)
      : listener_(std::move(listener)), clock_(clock), store_(std::move(store)) {}
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // Whether events are worth making.
  bool on() const { return listener_ != nullptr; }

  // Throws nothing: an event for which there is no memory, or no room, is lost, and counted.
  template <typename AnyEvent>
  void Add(AnyEvent event) {
    if (on()) Push(std::move(event), clock_->MonotonicNanos());
  }

  // Adds the event that `make` returns.  If std::bad_alloc comes out of `make`, the event is lost,
  // and counted.  For events that take memory: none may fail what it tells of.
  template <typename Make>
  void AddMade(const Make& make) {
    if (!on()) return;
    try {
      Add(make());
    } catch (const std::bad_alloc&) {
      CountLost();
    }
  }

  // Delivers what was added, unless another thread, or a caller of this one, is delivering.
  // REQUIRES: the caller holds no lock.
  void Deliver() noexcept {
    // Relaxed: what this thread added it sees; what others add they deliver.
    if (on() && waiting_.load(std::memory_order_relaxed)) DeliverAll();
  }

  // Delivers what was added, waits for a thread that delivers, and drops what comes later.
  // REQUIRES: not called from a callback.
  void Close() noexcept;

  // The callbacks that have ended, and the time that they took.
  // Relaxed: for statistics.
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  uint64_t nanos() const { return nanos_.load(std::memory_order_relaxed); }

  // The number of the next flush or compaction.
  // Relaxed: nothing else depends on it.
  uint64_t NewJob() { return jobs_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // While it stands, this thread is within Pace::progress of a call to the queue's store.  Stores
  // may be called from within one another's, so scopes are nested.
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

  // FailedPrecondition within a callback of this queue, or Pace::progress of a call to its store:
  // `what` might wait for this thread.
  absl::Status CheckMayWait(const char* what) const {
    if (IsCallback()) return CalledFromCallback(what);
    return IsProgress() ? CalledFromProgress(what) : absl::OkStatus();
  }
  bool MayWait() const { return !IsCallback() && !IsProgress(); }

 private:
  // Whether this thread is within a callback of this queue.
  bool IsCallback() const {
    // Relaxed: only the thread itself stores its id, so its own id is never stale.
    return on() && deliverer_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  bool IsProgress() const {
    const ProgressScope* scope = innermost_;
    while (scope != nullptr && scope->queue_ != this) scope = scope->outer_;
    return scope != nullptr;
  }

  using AnyEvent = std::variant<OpenBegin, OpenEnd, Closed, FlushBegin, FlushEnd, CompactionBegin,
                                CompactionEnd, StallBegin, StallEnd, Failure, Resumed, SpaceChange,
                                DamageFound, FileCreated, FileRemoved>;
  // The time of day is asked for when the event is delivered: callers of Add may hold locks, and a
  // Clock may do what it likes then.
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
  std::atomic<bool> waiting_{false};  // events_ is not empty
  std::atomic<std::thread::id> deliverer_{};
  Mutex mutex_;  // the last of all locks; not held during a callback
  CondVar delivered_;
  std::deque<Queued> events_ ABSL_GUARDED_BY(mutex_);
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;  // since the last event in the queue
};

}  // namespace lsm

#endif  // TRELLIS_LSM_EVENTS_EVENT_QUEUE_H_
