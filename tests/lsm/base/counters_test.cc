#include "lsm/base/counters.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace lsm {
namespace {

TEST(CountersTest, BeginWithZerosEverywhere) {
  Counters counters;
  Statistics statistics;
  counters.SumInto(&statistics);
  EXPECT_EQ(statistics.ToJson(), Statistics().ToJson());
}

// Two counters that ended up in one field, or in each other's, would show here.
TEST(CountersTest, EachCounterHasAFieldOfItsOwn) {
  std::set<std::string> seen = {Statistics().ToJson()};
  for (size_t i = 0; i < static_cast<size_t>(Counter::kCount); ++i) {
    Counters counters;
    counters.Add(static_cast<Counter>(i), 7);
    Statistics statistics;
    counters.SumInto(&statistics);
    EXPECT_TRUE(seen.insert(statistics.ToJson()).second) << "counter " << i;
  }
}

TEST(CountersTest, EachCounterLandsInTheFieldOfItsName) {
  Counters counters;
  counters.Add(Counter::kLookups, 1);
  counters.Add(Counter::kMemtableHits, 2);
  counters.Add(Counter::kScanBytesFromFile, 3);
  counters.Add(Counter::kUserBytesWritten, 4);
  counters.Add(Counter::kFlushNanos, 5);
  counters.Add(Counter::kCompactionBytesWritten, 6);
  counters.Add(Counter::kStallNanos, 7);
  counters.Add(Counter::kBackgroundErrors, 8);
  Statistics statistics;
  counters.SumInto(&statistics);
  EXPECT_EQ(statistics.lookups, 1u);
  EXPECT_EQ(statistics.memtable_hits, 2u);
  EXPECT_EQ(statistics.scan_bytes_from_file, 3u);
  EXPECT_EQ(statistics.user_bytes_written, 4u);
  EXPECT_EQ(statistics.flush_nanos, 5u);
  EXPECT_EQ(statistics.compaction_bytes_written, 6u);
  EXPECT_EQ(statistics.stall_nanos, 7u);
  EXPECT_EQ(statistics.background_errors, 8u);
}

TEST(CountersTest, LevelsAndTheirSumAreFilled) {
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
  EXPECT_EQ(level.lookups, 10u);
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
  EXPECT_EQ(statistics.levels[3].lookups, 0u);
  EXPECT_EQ(statistics.total.tables_considered, 22u);
  EXPECT_EQ(statistics.total.bytes_from_file, 44u);
  // Not the sum over levels, which would count a lookup once a level.
  EXPECT_EQ(statistics.total.lookups, 70u);
}

TEST(CountersTest, SummingAgainOverwritesWhatWasCountedAndNothingElse) {
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

// More threads at once than there are stripes, so some share one; and twice, so numbers of threads
// are used again.
TEST(CountersTest, NothingIsLostWhenManyThreadsCount) {
  constexpr int kThreads = 80;
  constexpr uint64_t kRounds = 500;
  Counters counters;
  LevelCounts counts;
  counts[LevelCounts::kLookups] = 1;
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
