#include "lsm/base/counters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lsm/base/counter_list.h"

namespace lsm {
namespace {

TEST(CountersTest, BeginAtZero) {
  Counters counters;
  Statistics statistics;
  counters.SumInto(&statistics);
  EXPECT_EQ(statistics.ToJson(), Statistics().ToJson());
}

// "kLogSyncs" for "log_syncs".
std::string EnumeratorOf(std::string_view member) {
  std::string name = "k";
  bool is_first = true;
  for (const char c : member) {
    if (c != '_') name += is_first ? static_cast<char>(std::toupper(c)) : c;
    is_first = c == '_';
  }
  return name;
}

// The values differ, so that two swapped counters are detected.
TEST(CountersTest, CountersFillTheirMembers) {
#define LSM_NAMES(enumerator, member) {Counter::enumerator, #enumerator, #member},
  constexpr struct {
    Counter counter;
    const char *enumerator, *member;
  } kCounters[] = {LSM_COUNTERS(LSM_NAMES)};
#undef LSM_NAMES
  Counters counters;
  uint64_t value = 100;
  for (const auto& [counter, enumerator, member] : kCounters) {
    EXPECT_EQ(EnumeratorOf(member), enumerator);
    counters.Add(counter, ++value);
    EXPECT_EQ(counters.SumOf(counter), value);
  }
  Statistics statistics;
  counters.SumInto(&statistics);
  const nlohmann::json json = nlohmann::json::parse(statistics.ToJson());
  value = 100;
  for (const auto& [counter, enumerator, member] : kCounters) EXPECT_EQ(json[member], ++value);
}

TEST(CountersTest, SumsAllThreads) {
  Counters counters;
  EXPECT_EQ(counters.SumOf(Counter::kLookups), 0u);
  counters.Add(Counter::kLookups, 3);
  std::thread([&counters] { counters.Add(Counter::kLookups, 4); }).join();
  EXPECT_EQ(counters.SumOf(Counter::kLookups), 7u);
}

TEST(CountersTest, FillsLevelsAndTheirSum) {
  LevelCounts counts;
  for (uint32_t i = 0; i < LevelCounts::kFieldCount; ++i) counts.values[i] = 10 + i;
  Counters counters;
  counters.Add(Counter::kLookups, 100);
  counters.Add(Counter::kMemtableHits, 30);
  counters.Add(2, counts);
  counters.Add(6, counts);
  Statistics statistics;
  counters.SumInto(&statistics);
  const LevelStatistics& level = statistics.levels[2];
  // Lookups that ended in this level, and lookups that passed it on their way to level 6.
  EXPECT_EQ(level.lookups, 20u);
  EXPECT_EQ(level.tables_considered, 11u);
  EXPECT_EQ(level.reads_avoided, 12u);
  EXPECT_EQ(level.useful_reads, 13u);
  EXPECT_EQ(level.wasted_reads, 14u);
  EXPECT_EQ(level.false_positives, 15u);
  EXPECT_EQ(level.filters_absent, 16u);
  EXPECT_EQ(level.filters_damaged, 17u);
  EXPECT_EQ(level.filters_unknown, 18u);
  EXPECT_EQ(level.blocks_from_cache, 19u);
  EXPECT_EQ(level.blocks_from_file, 20u);
  EXPECT_EQ(level.bytes_from_cache, 21u);
  EXPECT_EQ(level.bytes_from_file, 22u);
  EXPECT_EQ(statistics.levels[0].lookups, 20u);
  EXPECT_EQ(statistics.levels[3].lookups, 10u);
  EXPECT_EQ(statistics.levels[6].lookups, 10u);
  EXPECT_EQ(statistics.levels[3].tables_considered, 0u);
  EXPECT_EQ(statistics.total.tables_considered, 22u);
  EXPECT_EQ(statistics.total.bytes_from_file, 44u);
  // Not the sum over levels, which would count a lookup once per level.
  EXPECT_EQ(statistics.total.lookups, 70u);
}

TEST(CountersTest, LevelsOfOtherTreesHaveTheirOwnSums) {
  Counters counters;
  const Counters::Here here(&counters);
  here.Add(0, LevelCounts::kWastedReads, 3);
  here.Add(Counters::kLevelsOfOthers, LevelCounts::kWastedReads, 4);
  here.Add(Counters::kLevelsOfOthers, LevelCounts::kLookupsEnded, 5);
  here.Add(6, LevelCounts::kWastedReads, 8);
  here.Add(Counters::kLevelsOfOthers + 6, LevelCounts::kWastedReads, 2);
  EXPECT_EQ(counters.SumOf(0, LevelCounts::kWastedReads), 3u);
  EXPECT_EQ(counters.LookupsOfDefaultTree(), 0u);
  Statistics statistics;
  counters.SumInto(&statistics);
  EXPECT_EQ(statistics.levels[0].wasted_reads, 7u);
  EXPECT_EQ(statistics.levels[0].lookups, 5u);
  EXPECT_EQ(statistics.levels[6].wasted_reads, 10u);
  EXPECT_EQ(statistics.total.wasted_reads, 17u);
  here.Add(0, LevelCounts::kLookupsEnded, 7);
  here.Add(6, LevelCounts::kLookupsEnded, 8);
  EXPECT_EQ(counters.LookupsOfDefaultTree(), 15u) << "of all its levels";
}

TEST(CountersTest, CountersOfATreeLoseNoCount) {
  TreeCounters counters;
  constexpr int kThreads = 70, kTimes = 500;  // some threads share the last stripe
  std::vector<std::thread> threads;
  std::atomic<int> begun{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (++begun; begun < kThreads;) std::this_thread::yield();
      for (int time = 0; time < kTimes; ++time) {
        const TreeCounters::Here here(&counters);
        here.Add(TreeCounters::kLookups, 1);
        here.Add(TreeCounters::kLevel0Asks, 2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters.SumOf(TreeCounters::kLookups), uint64_t{kThreads} * kTimes);
  EXPECT_EQ(counters.SumOf(TreeCounters::kLevel0Asks), uint64_t{kThreads} * kTimes * 2);
  EXPECT_EQ(counters.SumOf(TreeCounters::kLevel0Reads), 0u);
}

TEST(CountersTest, SummingAgainOverwritesOnlyCounts) {
  Counters counters;
  counters.Add(Counter::kWrites, 5);
  Statistics statistics;
  statistics.writes = 99;
  statistics.memtable_bytes = 17;
  statistics.levels[1].tables = 3;
  statistics.levels[1].lookups = 8;
  counters.SumInto(&statistics);
  counters.SumInto(&statistics);
  EXPECT_EQ(statistics.writes, 5u);
  EXPECT_EQ(statistics.memtable_bytes, 17u);
  EXPECT_EQ(statistics.levels[1].tables, 3u);
  EXPECT_EQ(statistics.levels[1].lookups, 0u);
}

// Every counter of the enum, every count of a level, and the times.
void CountAll(uint64_t first, Counters* counters) {
  LevelCounts counts;
  for (size_t i = 0; i < LevelCounts::kFieldCount; ++i) counts.values[i] = first + i;
  for (int level = 0; level < kLevels; ++level) counters->Add(level, counts);
  for (size_t i = 0; i < static_cast<size_t>(Counter::kCount); ++i)
    counters->Add(static_cast<Counter>(i), first + 2 * i);
  for (size_t i = 0; i < static_cast<size_t>(Timed::kCount); ++i)
    counters->AddTime(static_cast<Timed>(i), 1000 * (first + i));
}

TEST(CountersTest, SinceSubtractsEveryCountAndLeavesTheState) {
  Counters both, later;
  CountAll(1000, &both);
  Statistics before, after, expected;
  both.SumInto(&before);
  CountAll(70, &both);
  both.SumInto(&after);
  CountAll(70, &later);
  later.SumInto(&expected);
  expected.compactions_at_once = after.compactions_at_once;  // the most there ever were
  before.memtable_bytes = before.block_cache_bytes = before.block_cache_capacity_bytes = 50;
  before.levels[1].tables = before.total.tables = 5;
  for (Statistics* statistics : {&after, &expected}) {
    statistics->memtable_bytes = 1;
    statistics->block_cache_bytes = 2;
    statistics->block_cache_capacity_bytes = 3;
    statistics->levels[1].tables = statistics->total.tables = 4;
    statistics->levels[1].filter_kind = "blocked";
    statistics->filter_goal = "goal";
    statistics->recovery.logs = 2;
  }
  EXPECT_EQ(after.Since(before).ToJson(), expected.ToJson());
  EXPECT_EQ(after.Since(Statistics()).ToJson(), after.ToJson());
}

// The earlier figures are from before the store was opened again.
TEST(CountersTest, SinceSubtractsNothingAfterReopening) {
  Counters many, few;
  CountAll(1000, &many);
  CountAll(70, &few);
  Statistics before, after;
  many.SumInto(&before);
  few.SumInto(&after);
  EXPECT_EQ(after.Since(before).ToJson(), after.ToJson());
  EXPECT_EQ(after.levels[2].Since(before.levels[2]).reads_avoided, after.levels[2].reads_avoided);
  EXPECT_EQ(Statistics().Since(before).ToJson(), Statistics().ToJson());
  // One larger count is enough, also one of a histogram.
  Statistics slower = after;
  slower.get_times.Record(1);
  EXPECT_EQ(after.Since(slower).ToJson(), after.ToJson());
  Statistics scrubbed = after;
  ++scrubbed.scrubs;
  EXPECT_EQ(after.Since(scrubbed).ToJson(), after.ToJson());
}

// The number of lookups that left the memtables is a difference, so a lookup in flight may be
// subtracted again.
TEST(CountersTest, SinceIsNeverNegative) {
  Counters counters;
  counters.Add(Counter::kLookups, 10);
  Statistics before, after;
  counters.SumInto(&before);
  counters.Add(Counter::kMemtableHits, 1);
  counters.SumInto(&after);
  EXPECT_EQ(after.Since(before).total.lookups, 0u);
  EXPECT_EQ(after.Since(before).lookups, 0u);
  EXPECT_EQ(after.total.Since(before.total).lookups, 0u);
}

// More threads at once than there are stripes, so some share one; and twice, so numbers of threads
// are used again.
TEST(CountersTest, ThreadsLoseNoCount) {
  constexpr int kThreads = 80;
  constexpr uint64_t kRounds = 500;
  Counters counters;
  LevelCounts counts;
  counts[LevelCounts::kLookupsEnded] = 1;
  counts[LevelCounts::kBytesFromFile] = 100;
  for (int repetition = 0; repetition < 2; ++repetition) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&counters, &counts] {
        for (uint64_t round = 0; round < kRounds; ++round) {
          counters.Add(Counter::kLookups, 1);
          counters.Add(4, counts);
          if (round % 100 == 0) {
            Statistics meanwhile;
            counters.SumInto(&meanwhile);
            EXPECT_LE(meanwhile.lookups, 2 * kThreads * kRounds);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  Statistics statistics;
  counters.SumInto(&statistics);
  EXPECT_EQ(statistics.lookups, 2 * kThreads * kRounds);
  EXPECT_EQ(statistics.levels[4].lookups, 2 * kThreads * kRounds);
  EXPECT_EQ(statistics.levels[4].bytes_from_file, 100 * 2 * kThreads * kRounds);
}

}  // namespace
}  // namespace lsm
