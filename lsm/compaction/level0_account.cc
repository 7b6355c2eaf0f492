#include "lsm/compaction/level0_account.h"

#include <algorithm>

namespace lsm::inline TRELLIS_ABI {

Level0Reads Level0Account::CountReads(const Counters& store) const {
  const TreeCounters& counters = reads_.counters;
  Level0Reads reads;
  reads.seeks = counters.SumOf(TreeCounters::kLevel0Seeks);
  if (tree_.keyspace() == kDefaultKeyspace) {
    reads.asks = store.SumOf(0, LevelCounts::kReadsAvoided);
    reads.reads = store.SumOf(0, LevelCounts::kWastedReads);
  } else {
    reads.asks = counters.SumOf(TreeCounters::kLevel0Asks);
    reads.reads = counters.SumOf(TreeCounters::kLevel0Reads);
  }
  return reads;
}

void Level0Account::Note(const Level0Reads& now) const {
  if (!reads_.mutex.TryLock()) return;
  // Another thread may have noted newer sums already.
  Level0Reads& counted = reads_.counted;
  counted.asks = std::max(counted.asks, now.asks);
  counted.reads = std::max(counted.reads, now.reads);
  counted.seeks = std::max(counted.seeks, now.seeks);
  reads_.mutex.Unlock();
}

bool Level0Account::Charge(const Options& options, RunningPlans running) const {
  MutexLock lock(&reads_.mutex);
  const bool was_paid = IsPaidByReaders(tree_, options, running, reads_.paid_bytes);
  const Level0Reads now = reads_.counted;
  const Level0Reads before = reads_.charged;
  const uint64_t more_bytes =
      BytesPaidBy({now.asks - before.asks, now.reads - before.reads, now.seeks - before.seeks});
  reads_.charged = now;
  if (!TakeFromLevel0(tree_, running)) reads_.paid_bytes += more_bytes;
  reads_.paid_bytes = std::min(reads_.paid_bytes, PriceForReaders(tree_, options).value_or(0));
  return !was_paid && IsPaidByReaders(tree_, options, running, reads_.paid_bytes);
}

bool Level0Account::IsPaid(const Options& options, RunningPlans running) const {
  return IsPaidByReaders(tree_, options, running, paid_bytes());
}

uint64_t Level0Account::paid_bytes() const {
  MutexLock lock(&reads_.mutex);
  return reads_.paid_bytes;
}

void Level0Account::Spend(const CompactionPlan& plan) const {
  if (!plan.merges_level0(tree_.keyspace())) return;
  MutexLock lock(&reads_.mutex);
  reads_.paid_bytes -= std::min(reads_.paid_bytes, PriceOf(plan));
}

void Level0Account::NoteMerge(const CompactionPlan& plan) const {
  if (plan.merges_level0(tree_.keyspace()))
    reads_.level0_merges.fetch_add(1, std::memory_order_relaxed);
}

void Level0Account::Forfeit() const {
  MutexLock lock(&reads_.mutex);
  reads_.paid_bytes = 0;
}

}  // namespace lsm
