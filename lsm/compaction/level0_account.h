// The account of read-triggered compaction: what readers of a tree have paid for merging its level
// 0 into level 1 (lsm/compaction/picker.h says why they pay, and how much).
//
//   CountReads  sums up the counts of all threads
//   Note        remembers these sums
//   Charge      charges the reads that level 0 wasted since the last call
//   Spend       a compaction of level 0 begins and takes its price
//   NoteMerge   it has ended: later seeks of older iterators no longer count
//   Forfeit     a compaction for readers failed: they pay the whole price again
//
// Spend and NoteMerge ignore plans that do not merge level 0 of this tree.
//
// An account lives as long as its tree.  This object is only a view of it: all versions of a tree
// share the account (TreeReads).
//
// Thread-safe.  Its lock is taken last.
#ifndef TRELLIS_LSM_COMPACTION_LEVEL0_ACCOUNT_H_
#define TRELLIS_LSM_COMPACTION_LEVEL0_ACCOUNT_H_

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/compaction/picker.h"
#include "lsm/options.h"
#include "lsm/threads/mutex.h"
#include "lsm/version/tree.h"

namespace lsm::inline TRELLIS_ABI {

class Level0Account {
 public:
  // The tree outlives it.
  explicit Level0Account(const Tree& tree) : tree_(tree), reads_(tree.reads()) {}

  // The sum of what all threads have counted.  `store`: the store's counters.  Slow, so callers
  // hold no lock.
  Level0Reads CountReads(const Counters& store) const;
  // Waits for no lock, since a reader calls it, perhaps in a forked child.  If another thread has
  // the lock, a later call notes these reads, too.
  void Note(const Level0Reads& now) const;

  // Charges the reads that were noted and that no earlier call charged, but ignores them while a
  // running plan takes from level 0.  Readers never pay more than the price of the merge that is
  // due next.  True if the merge is paid for now and was not before.
  bool Charge(const Options& options, RunningPlans running) const;
  // Whether readers have paid for the merge, and no running plan takes from level 0.
  bool IsPaid(const Options& options, RunningPlans running) const;
  uint64_t paid_bytes() const;

  void Spend(const CompactionPlan& plan) const;
  void Forfeit() const;
  // Relaxed, here and below: publishes nothing; a stale read miscounts a few seeks.
  void NoteMerge(const CompactionPlan& plan) const;

  // --- rent for tombstones, of any level (lsm/version/tombstone_rent.h) ---

  // Notes that iterators have paid the rest of a table's rent.  Relaxed: publishes nothing; a later
  // look takes it.
  void NoteRent() const { reads_.rent_is_due.store(true, std::memory_order_relaxed); }
  // Whether that was noted since the last call.
  bool TakeRent() const { return reads_.rent_is_due.exchange(false, std::memory_order_relaxed); }

  // Level 0 as an iterator sees it.
  struct Seen {
    uint64_t tables;
    uint64_t merges;
  };
  Seen See() const {
    return {tree_.run_count(0), reads_.level0_merges.load(std::memory_order_relaxed)};
  }
  // Counts the seeks of an iterator that is gone, unless level 0 was merged since it was made:
  // another merge would not have spared them.
  void CountSeeks(uint64_t seeks, const Seen& seen, const Counters::Here& store) const {
    const uint64_t wasted = seeks * seen.tables;
    if (wasted == 0 || reads_.level0_merges.load(std::memory_order_relaxed) != seen.merges) return;
    store.Add(Counter::kLevel0Seeks, wasted);
    TreeCounters::Here(&reads_.counters).Add(TreeCounters::kLevel0Seeks, wasted);
  }

 private:
  const Tree& tree_;
  TreeReads& reads_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_LEVEL0_ACCOUNT_H_
