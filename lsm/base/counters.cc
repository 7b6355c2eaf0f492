#include "lsm/base/counters.h"

#include <algorithm>

namespace lsm::inline TRELLIS_ABI {
namespace {

#define LSM_MEMBER(enumerator, member) &Statistics::member,
constexpr auto kCounterMembers = std::to_array<uint64_t Statistics::*>({LSM_COUNTERS(LSM_MEMBER)});
#undef LSM_MEMBER

#define LSM_MEMBER(enumerator, member) &LevelStatistics::member,
constexpr std::array<uint64_t LevelStatistics::*, LevelCounts::kFieldCount> kLevelMembers = {
    LSM_LEVEL_COUNTERS(LSM_MEMBER)};
#undef LSM_MEMBER

constexpr std::array<LatencyHistogram Statistics::*, static_cast<size_t>(Timed::kCount)>
    kTimedMembers = {
        &Statistics::get_times,
        &Statistics::write_times,
        &Statistics::seek_times,
};

}  // namespace

uint64_t Counters::SumOf(Counter counter) const {
  uint64_t sum = 0;
  stripes_.ForEach([&](const Stripe& stripe) {
    sum += stripe.counters[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  });
  return sum;
}

uint64_t Counters::SumOf(int level, LevelCounts::Field field) const {
  uint64_t sum = 0;
  stripes_.ForEach([&](const Stripe& stripe) {
    sum += stripe.levels[static_cast<size_t>(level)][field].load(std::memory_order_relaxed);
  });
  return sum;
}

uint64_t Counters::LookupsOfDefaultTree() const {
  uint64_t sum = 0;
  for (int level = 0; level < kLevels; ++level) sum += SumOf(level, LevelCounts::kLookupsEnded);
  return sum;
}

void Counters::SumInto(Statistics* statistics) const {
  for (const auto member : kCounterMembers) statistics->*member = 0;
  for (const auto member : kLevelMembers) {
    statistics->total.*member = 0;
    for (LevelStatistics& level : statistics->levels) level.*member = 0;
  }
  stripes_.ForEach([&](const Stripe& stripe) {
    for (size_t i = 0; i < kCounterMembers.size(); ++i) {
      statistics->*kCounterMembers[i] += stripe.counters[i].load(std::memory_order_relaxed);
    }
    for (size_t place = 0; place < stripe.levels.size(); ++place) {
      LevelStatistics& level = statistics->levels[place % kLevelsOfOthers];
      for (size_t field = 0; field < kLevelMembers.size(); ++field) {
        const uint64_t value = stripe.levels[place][field].load(std::memory_order_relaxed);
        level.*kLevelMembers[field] += value;
        statistics->total.*kLevelMembers[field] += value;
      }
    }
  });
  for (size_t timed = 0; timed < kTimed; ++timed) {
    LatencyHistogram& histogram = statistics->*kTimedMembers[timed];
    histogram = {};
    for (size_t bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
      const uint64_t count = times_[timed][bucket].load(std::memory_order_relaxed);
      if (count != 0) histogram.Add(bucket, count);
    }
  }
  // A lookup that ended further down also reached this level.
  for (size_t level = kLevels - 1; level > 0; --level)
    statistics->levels[level - 1].lookups += statistics->levels[level].lookups;
  // Not a sum: a lookup that goes down three levels counts once.
  statistics->total.lookups =
      statistics->lookups - std::min(statistics->lookups, statistics->memtable_hits);
}

}  // namespace lsm
