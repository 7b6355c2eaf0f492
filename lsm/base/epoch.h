// Frees objects that readers reach without a lock, once every reader that could have seen them is
// done.
//
// A reader enters a guard, loads shared pointers (sequentially consistent loads), uses what they
// point at, and leaves. It writes to a cache line of its own thread and to nothing shared.  A
// writer first makes the object unreachable, then retires it; it is freed at a later retirement or
// drain, when no guard is left that was entered before.
//
// A guard is for the length of one lookup.  A reader that needs an object for longer takes a
// reference to it inside the guard.
//
// Fraser, "Practical lock-freedom" (2004), section 5.2.3, gives the idea; here a reader publishes
// the epoch it entered in, and a retired object is free to go when all published epochs are later
// than its own.
#ifndef TRELLIS_LSM_BASE_EPOCH_H_
#define TRELLIS_LSM_BASE_EPOCH_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// One for the process: threads have one slot each, whichever stores they read.
class EpochDomain {
 public:
  // One cache line, written by its thread alone.
  struct alignas(64) Slot {
    std::atomic<uint64_t> entered{0};  // 0: not inside a guard
    uint32_t depth = 0;                // guards nest
    std::atomic<bool> taken{false};
    Slot* next = nullptr;  // all slots ever made, so that a writer can look at each
  };

  static Slot& SlotOfThisThread() {
    Slot* const slot = slot_of_this_thread_;
    if (slot != nullptr) [[likely]]
      return *slot;
    return TakeSlotForThisThread();
  }

  // Sequentially consistent, both: guards and retirements agree on an order of epochs.
  static uint64_t current() { return epoch_.load(std::memory_order_seq_cst); }

  // Ends the current epoch and returns it: an object made unreachable before this call may go when
  // OldestEntered() is greater.
  static uint64_t Advance() { return epoch_.fetch_add(1, std::memory_order_seq_cst); }

  // The lowest epoch in which a guard that still stands was entered; UINT64_MAX if there is none.
  static uint64_t OldestEntered();

  // At the end of the calling thread: a guard that comes later takes a slot again.
  static void ForgetSlotOfThisThread() { slot_of_this_thread_ = nullptr; }

 private:
  static Slot& TakeSlotForThisThread();

  inline static constinit std::atomic<uint64_t> epoch_{1};
  // A plain pointer, constant-initialised: reading it is one load, without a check whether it was
  // constructed.
  inline static constinit thread_local Slot* slot_of_this_thread_ = nullptr;
};

class EpochGuard {
 public:
  EpochGuard() : slot_(EpochDomain::SlotOfThisThread()) {
    if (slot_.depth++ == 0) {
      // Sequentially consistent, as are the loads of shared pointers behind it: either the writer's
      // scan of the slots sees this epoch, or these loads see that the object is gone.
      slot_.entered.store(EpochDomain::current(), std::memory_order_seq_cst);
    }
  }
  ~EpochGuard() {
    // Release: the writer that sees the slot empty also sees that our reads are over.
    if (--slot_.depth == 0) slot_.entered.store(0, std::memory_order_release);
  }
  EpochGuard(const EpochGuard&) = delete;
  EpochGuard& operator=(const EpochGuard&) = delete;

 private:
  EpochDomain::Slot& slot_;
};

// Objects on their way out, with how to free each.  Not thread-safe: the owner's mutex guards it.
class RetireList {
 public:
  struct Entry {
    uint64_t epoch;
    void* object;
    void (*free)(void*);
  };

  // Waits until everything is free to go.  REQUIRES: the calling thread is in no guard.
  ~RetireList();

  // The next `count` retirements need no memory.  Call it before the point of no return: an object
  // that became unreachable must be retired.
  void Reserve(size_t count);

  // REQUIRES: `object` can no longer be reached by a guard entered from now on.
  void Retire(void* object, void (*free)(void*));

  // Frees what may go; returns how many are left.  Needs no memory.
  size_t Drain();

  // Takes out the first that may go, if there is one, for the caller to free: with other locks held
  // than this list needs.  Needs no memory.
  std::optional<Entry> TakeExpired();

  size_t size() const { return entries_.size(); }

 private:
  // How many of the first ones may go.
  size_t CountExpired() const;

  std::vector<Entry> entries_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_EPOCH_H_
