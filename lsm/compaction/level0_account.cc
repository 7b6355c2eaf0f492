#include "lsm/compaction/level0_account.h"

#include <algorithm>

namespace lsm::inline TRELLIS_ABI {

Level0Reads Level0Account::CountReads() const {
  return {counters_.SumOf(0, LevelCounts::kReadsAvoided),
          counters_.SumOf(0, LevelCounts::kWastedReads), counters_.SumOf(Counter::kLevel0Seeks)};
}

bool Level0Account::AddReads(const Level0Reads& now, const Tree& tree, const Options& options,
                             RunningPlans running) {
  MutexLock lock(&mutex_);
  const bool was_paid = IsPaidLocked(tree, options, running);
  // Another thread may have charged newer sums already, so a count may be below what was charged.
  const auto since = [](uint64_t count, uint64_t* charged) {
    const uint64_t more = count > *charged ? count - *charged : 0;
    *charged += more;
    return more;
  };
  const uint64_t more_bytes =
      BytesPaidBy({since(now.asks, &charged_.asks), since(now.reads, &charged_.reads),
                   since(now.seeks, &charged_.seeks)});
  if (!TakeFromLevel0(tree, running)) paid_bytes_ += more_bytes;
  paid_bytes_ = std::min(paid_bytes_, PriceForReaders(tree, options).value_or(0));
  return !was_paid && IsPaidLocked(tree, options, running);
}

bool Level0Account::IsPaid(const Tree& tree, const Options& options, RunningPlans running) const {
  MutexLock lock(&mutex_);
  return IsPaidLocked(tree, options, running);
}

uint64_t Level0Account::paid_bytes() const {
  MutexLock lock(&mutex_);
  return paid_bytes_;
}

void Level0Account::Spend(const CompactionPlan& plan) {
  if (!plan.merges_level0(kDefaultKeyspace)) return;
  MutexLock lock(&mutex_);
  paid_bytes_ -= std::min(paid_bytes_, PriceOf(plan));
}

void Level0Account::NoteMerge(const CompactionPlan& plan) {
  if (plan.merges_level0(kDefaultKeyspace)) merges_.fetch_add(1, std::memory_order_relaxed);
}

void Level0Account::Forfeit() {
  MutexLock lock(&mutex_);
  paid_bytes_ = 0;
}

}  // namespace lsm
