// The account of read-triggered compaction: what readers have paid for merging level 0 of the
// default tree into level 1 (lsm/compaction/picker.h says why they pay, and how much).
//
//   AddReads    charges the reads that level 0 wasted since the last call
//   Spend       a compaction of level 0 begins and takes its price
//   NoteMerge   it has ended: later seeks of older iterators no longer count
//   Forfeit     a compaction for readers failed: they pay the whole price again
//
// Spend and NoteMerge ignore plans that do not merge level 0 of that tree.
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
  // The counters outlive it.
  explicit Level0Account(Counters* counters) : counters_(*counters) {}
  Level0Account(const Level0Account&) = delete;
  Level0Account& operator=(const Level0Account&) = delete;

  // The sum of what all threads have counted in the default tree.  Slow, so callers hold no lock.
  Level0Reads CountReads() const;

  // Charges the reads in `now` (CountReads) that no earlier call charged, but ignores them while a
  // running plan takes from level 0.  Readers never pay more than the price of the merge that is
  // due next.  True if the merge is paid for now and was not before.
  bool AddReads(const Level0Reads& now, const Tree& tree, const Options& options,
                RunningPlans running) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether readers have paid for the merge, and no running plan takes from level 0.
  bool IsPaid(const Tree& tree, const Options& options, RunningPlans running) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t paid_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

  void Spend(const CompactionPlan& plan) ABSL_LOCKS_EXCLUDED(mutex_);
  void Forfeit() ABSL_LOCKS_EXCLUDED(mutex_);
  // Relaxed, here and below: publishes nothing; a stale read miscounts a few seeks.
  void NoteMerge(const CompactionPlan& plan);

  // --- rent for tombstones, of any level (lsm/version/tombstone_rent.h) ---

  // A table has got what it lacked.  Relaxed: publishes nothing; a later look takes it.
  void NoteRent() { rent_is_due_.store(true, std::memory_order_relaxed); }
  // Whether that was noted since the last call.
  bool TakeRent() { return rent_is_due_.exchange(false, std::memory_order_relaxed); }

  // Level 0 as an iterator sees it.
  struct Seen {
    uint64_t tables;
    uint64_t merges;
  };
  Seen See(const Tree& tree) const {
    return {tree.run_count(0), merges_.load(std::memory_order_relaxed)};
  }
  // Counts the seeks of an iterator that is gone, unless level 0 was merged since it was made:
  // another merge would not have spared them.
  void CountSeeks(uint64_t seeks, const Seen& seen, const Counters::Here& counters) {
    if (merges_.load(std::memory_order_relaxed) == seen.merges)
      counters.Add(Counter::kLevel0Seeks, seeks * seen.tables);
  }

 private:
  bool IsPaidLocked(const Tree& tree, const Options& options, RunningPlans running) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return IsPaidByReaders(tree, options, running, paid_bytes_);
  }

  Counters& counters_;
  mutable Mutex mutex_;
  uint64_t paid_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Level0Reads charged_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> merges_{0};  // merges of level 0 that have ended
  std::atomic<bool> rent_is_due_{false};
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_LEVEL0_ACCOUNT_H_
