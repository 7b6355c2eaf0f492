#include "lsm/threads/epoch.h"

#include <algorithm>
#include <limits>
#include <thread>

namespace lsm::inline TRELLIS_ABI {
namespace {

// All slots ever created.  Never freed, since a writer may read any of them at any time.
constinit std::atomic<EpochDomain::Slot*> all_slots{nullptr};

EpochDomain::Slot* TakeSlot() {
  // Acquire: makes the `next` of each slot visible.
  for (auto* slot = all_slots.load(std::memory_order_acquire); slot != nullptr; slot = slot->next) {
    // Acquire: pairs with the release when the former owner ended.  `depth` now belongs to this
    // thread.
    if (!slot->taken.exchange(true, std::memory_order_acquire)) return slot;
  }
  auto* slot = new EpochDomain::Slot;
  slot->taken.store(true, std::memory_order_relaxed);      // no other thread sees it yet
  slot->next = all_slots.load(std::memory_order_relaxed);  // initial value for the exchange
  // Sequentially consistent: a writer whose scan does not meet this slot comes before the guards in
  // it.  (Also a release: a reader that meets the slot sees `next`.) After a failure it only tries
  // again: relaxed.
  while (!all_slots.compare_exchange_weak(slot->next, slot, std::memory_order_seq_cst,
                                          std::memory_order_relaxed)) {
  }
  return slot;
}

struct ReturnSlotAtThreadEnd {
  EpochDomain::Slot* slot;
  ~ReturnSlotAtThreadEnd() {
    // A guard in a later destructor of this thread takes another slot, which stays taken.
    EpochDomain::ForgetSlotOfThisThread();
    // Release: the next owner sees the final `depth`.
    slot->taken.store(false, std::memory_order_release);
  }
};

}  // namespace

EpochDomain::Slot& EpochDomain::TakeSlotForThisThread() {
  slot_of_this_thread_ = TakeSlot();
  thread_local const ReturnSlotAtThreadEnd return_at_thread_end{slot_of_this_thread_};
  static_cast<void>(return_at_thread_end);
  return *slot_of_this_thread_;
}

uint64_t EpochDomain::OldestEntered() {
  uint64_t oldest = std::numeric_limits<uint64_t>::max();
  for (const Slot* slot = all_slots.load(std::memory_order_seq_cst); slot != nullptr;
       slot = slot->next) {
    // Sequentially consistent: see EpochGuard.  (Also an acquire: if the slot is empty, or has a
    // later guard, the earlier guard's reads are over.)
    const uint64_t entered = slot->entered.load(std::memory_order_seq_cst);
    if (entered != 0) oldest = std::min(oldest, entered);
  }
  return oldest;
}

RetireList::~RetireList() {
  while (Drain() != 0) std::this_thread::yield();
}

void RetireList::Reserve(size_t count) {
  const size_t needed = entries_.size() + count;
  // Doubles, as the vector would by itself.
  if (needed > entries_.capacity()) entries_.reserve(std::max(needed, 2 * entries_.capacity()));
}

void RetireList::Retire(void* object, void (*free)(void*)) {
  entries_.push_back({EpochDomain::current(), object, free});
}

size_t RetireList::Drain() {
  const size_t expired = CountExpired();
  for (size_t i = 0; i < expired; ++i) entries_[i].free(entries_[i].object);
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(expired));
  return entries_.size();
}

std::optional<RetireList::Entry> RetireList::TakeExpired() {
  if (CountExpired() == 0) return std::nullopt;
  const Entry first = entries_.front();
  entries_.erase(entries_.begin());
  return first;
}

size_t RetireList::CountExpired() const {
  if (entries_.empty()) return 0;
  // Guards that enter from now on are in a later epoch than the entries.  So one of the next drains
  // frees these, however many readers come.
  if (entries_.back().epoch == EpochDomain::current()) EpochDomain::Advance();
  const uint64_t oldest = EpochDomain::OldestEntered();
  // The list is in ascending order of epochs.
  const auto first_kept = std::find_if(entries_.begin(), entries_.end(),
                                       [&](const Entry& entry) { return entry.epoch >= oldest; });
  return static_cast<size_t>(first_kept - entries_.begin());
}

}  // namespace lsm
