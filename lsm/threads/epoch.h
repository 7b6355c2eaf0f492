// Epoch-based reclamation: frees objects that readers reach without a lock, once every reader that
// could have seen them is done.
//
//   reader  enters a guard, loads shared pointers (sequentially consistent loads), uses the
//           objects, and leaves.  It writes only to a cache line of its own thread
//   writer  makes the object unreachable, then retires it.  A later drain frees it, when every
//           guard that was entered before has ended
//
// A guard lasts for one lookup.  A reader that needs an object for longer takes a reference to it
// inside the guard.
//
// The idea is from Fraser, "Practical lock-freedom" (2004), section 5.2.3.  Here a reader publishes
// the epoch in which it entered.  A retired object can be freed when all published epochs are later
// than its own.
#ifndef TRELLIS_LSM_THREADS_EPOCH_H_
#define TRELLIS_LSM_THREADS_EPOCH_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// One domain for the process: each thread has one slot, whichever stores it reads.
class EpochDomain {
 public:
  // One cache line, written only by its thread.
  struct alignas(64) Slot {
    std::atomic<uint64_t> entered{0};  // 0: not in a guard
    uint32_t depth = 0;                // guards nest
    std::atomic<bool> taken{false};
    Slot* next = nullptr;  // links all slots ever created, for the writer's scan
  };

  static Slot& SlotOfThisThread() {
    Slot* const slot = slot_of_this_thread_;
    if (slot != nullptr) [[likely]]
      return *slot;
    return TakeSlotForThisThread();
  }

  // Sequentially consistent, here and below: guards and retirements agree on an order of epochs.
  static uint64_t current() { return epoch_.load(std::memory_order_seq_cst); }

  // Ends the current epoch and returns it.  An object that was unreachable before this call can be
  // freed when OldestEntered() is greater.
  static uint64_t Advance() { return epoch_.fetch_add(1, std::memory_order_seq_cst); }

  // The lowest epoch of all current guards; UINT64_MAX if there is none.
  static uint64_t OldestEntered();

  // Called at the end of a thread.  A later guard takes a slot again.
  static void ForgetSlotOfThisThread() { slot_of_this_thread_ = nullptr; }

 private:
  static Slot& TakeSlotForThisThread();

  inline static constinit std::atomic<uint64_t> epoch_{1};
  // A plain, constant-initialised pointer: reading it is one load, without a check whether it was
  // constructed.
  inline static constinit thread_local Slot* slot_of_this_thread_ = nullptr;
};

class EpochGuard {
 public:
  EpochGuard() : slot_(EpochDomain::SlotOfThisThread()) {
    if (slot_.depth++ == 0) {
      // Sequentially consistent, as are the later loads of shared pointers: either the writer's
      // scan of the slots sees this epoch, or these loads see that the object is gone.
      slot_.entered.store(EpochDomain::current(), std::memory_order_seq_cst);
    }
  }
  ~EpochGuard() {
    // Release: a writer that sees the slot empty also sees that the reads are over.
    if (--slot_.depth == 0) slot_.entered.store(0, std::memory_order_release);
  }
  EpochGuard(const EpochGuard&) = delete;
  EpochGuard& operator=(const EpochGuard&) = delete;

 private:
  EpochDomain::Slot& slot_;
};

// Retired objects, with a function to free each.  Not thread-safe: the owner's mutex guards it.
class RetireList {
 public:
  struct Entry {
    uint64_t epoch;
    void* object;
    void (*free)(void*);
  };

  // Waits until all entries can be freed, and frees them.  REQUIRES: the calling thread is in no
  // guard.
  ~RetireList();

  // Makes the next `count` retirements need no memory.  Call it before the point of no return,
  // since an unreachable object must be retired.
  void Reserve(size_t count);

  // REQUIRES: guards entered from now on cannot reach `object`.
  void Retire(void* object, void (*free)(void*));

  // Frees the entries that can be freed; returns how many are left.  Needs no memory.
  size_t Drain();

  // Removes and returns the first entry that can be freed, if there is one.  The caller frees it,
  // under other locks than this list needs.  Needs no memory.
  std::optional<Entry> TakeExpired();

  size_t size() const { return entries_.size(); }

 private:
  // Number of entries, from the front, that can be freed.
  size_t CountExpired() const;

  std::vector<Entry> entries_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_THREADS_EPOCH_H_
