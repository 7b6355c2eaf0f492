#include "lsm/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace lsm {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

// As for a store whose only tree has these levels.
void SumOne(Statistics* statistics) {
  const Statistics tree = *statistics;
  statistics->SumTrees({&tree, 1});
}

Statistics ExampleStatistics() {
  Statistics statistics;
  LevelStatistics& top = statistics.levels[0];
  top.tables = 2;
  top.runs = 2;
  top.table_bytes = 1000;
  top.entries = 110;
  top.keys = 100;
  top.filter_bytes = 125;
  top.target_fpp = 0.01;
  top.predicted_fpp = 0.009;
  top.lookups = 50;
  top.tables_considered = 90;
  top.reads_avoided = 72;
  top.useful_reads = 10;
  top.wasted_reads = 8;
  top.false_positives = 8;
  top.filter_kind = "blocked";
  top.filter_reason = "share: of something";
  top.expected_wasted_reads = 0.018;
  top.hot_tables = 1;
  LevelStatistics& bottom = statistics.levels[2];
  bottom.tables = 5;
  bottom.runs = 3;
  bottom.table_bytes = 4000;
  bottom.oldest_run_bytes = 2500;
  bottom.hot_tables = 2;
  bottom.cold_tables = 3;
  bottom.entries = 310;
  bottom.keys = 300;
  bottom.target_fpp = 0.05;
  bottom.predicted_fpp = 0.049;
  bottom.expected_wasted_reads = 0.049;
  bottom.lookups = 40;
  bottom.blocks_from_cache = 3;
  bottom.blocks_from_file = 7;
  SumOne(&statistics);
  statistics.total.lookups = 50;
  statistics.total.wasted_reads = 8;
  statistics.filter_goal = "10 bits a key";
  statistics.total.blocks_from_file = 7;
  statistics.lookups = 60;
  statistics.user_bytes_written = 1000;
  statistics.log_bytes_written = 1100;
  statistics.flush_bytes_written = 900;
  statistics.compaction_bytes_written = 2000;
  statistics.damage_found = 3;
  return statistics;
}

TEST(StatisticsTest, ObservedFppCountsOnlyAbsentKeys) {
  EXPECT_EQ(LevelStatistics().observed_fpp(), 0);
  EXPECT_DOUBLE_EQ(ExampleStatistics().levels[0].observed_fpp(), 8.0 / 80);
  // Reads in tables without a filter say nothing about filters.
  LevelStatistics without_filters;
  without_filters.wasted_reads = 100;
  EXPECT_EQ(without_filters.observed_fpp(), 0);
}

TEST(StatisticsTest, SinceSubtractsCountsNotState) {
  const LevelStatistics before = ExampleStatistics().levels[0];
  LevelStatistics after = before;
  after.tables = 9;
  after.lookups += 7;
  after.bytes_from_file += 4096;
  const LevelStatistics since = after.Since(before);
  EXPECT_EQ(since.tables, 9u);
  EXPECT_EQ(since.predicted_fpp, before.predicted_fpp);
  EXPECT_EQ(since.lookups, 7u);
  EXPECT_EQ(since.tables_considered, 0u);
  EXPECT_EQ(since.reads_avoided, 0u);
  EXPECT_EQ(since.wasted_reads, 0u);
  EXPECT_EQ(since.bytes_from_file, 4096u);
}

TEST(StatisticsTest, SumsWeighFppsByKeys) {
  const Statistics statistics = ExampleStatistics();
  EXPECT_DOUBLE_EQ(statistics.total.target_fpp, (0.01 * 100 + 0.05 * 300) / 400);
  EXPECT_DOUBLE_EQ(statistics.total.predicted_fpp, (0.009 * 100 + 0.049 * 300) / 400);
  EXPECT_EQ(statistics.total.entries, 420u);
  EXPECT_EQ(statistics.total.keys, 400u);
  EXPECT_EQ(statistics.total.tables, 7u);
  EXPECT_EQ(statistics.total.runs, 5u);
  EXPECT_EQ(statistics.total.hot_tables, 3u);
  EXPECT_EQ(statistics.total.cold_tables, 3u);
  EXPECT_EQ(statistics.total.table_bytes, 5000u);
  // Counts do not change.
  EXPECT_EQ(statistics.total.reads_avoided, 0u);
}

TEST(StatisticsTest, AmplificationsAreZeroBeforeAnythingIsWritten) {
  EXPECT_EQ(Statistics().write_amplification(), 0);
  EXPECT_EQ(Statistics().space_amplification(), 0);
}

TEST(StatisticsTest, AmplificationsComeFromBytes) {
  EXPECT_DOUBLE_EQ(ExampleStatistics().write_amplification(), 4.0);
  EXPECT_DOUBLE_EQ(ExampleStatistics().space_amplification(), 5000.0 / 2500);
  Statistics statistics = ExampleStatistics();
  statistics.levels[2] = {};
  SumOne(&statistics);
  EXPECT_DOUBLE_EQ(statistics.space_amplification(), 1);  // all in level 0
}

TEST(StatisticsTest, SpaceAmplificationCountsDeadKeys) {
  Statistics statistics = ExampleStatistics();
  statistics.levels[0].freeable_bytes = 1100;
  statistics.levels[0].covered_bytes = 1000;
  statistics.levels[2].freeable_bytes = statistics.levels[2].oldest_run_dead_bytes = 500;
  SumOne(&statistics);
  EXPECT_DOUBLE_EQ(statistics.space_amplification(), 5000.0 / (2500 - 1000 - 500));
  statistics.levels[0].covered_bytes = 2000;
  SumOne(&statistics);
  EXPECT_EQ(statistics.space_amplification(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(json::parse(statistics.ToJson())["space_amplification"].is_null());
  statistics.levels[2] = {};  // all in level 0
  statistics.levels[0].freeable_bytes = 700;
  statistics.levels[0].covered_bytes = 300;
  SumOne(&statistics);
  const auto all = static_cast<double>(statistics.levels[0].table_bytes);
  EXPECT_DOUBLE_EQ(statistics.space_amplification(), all / (all - 700));
  statistics.levels[0].hidden_bytes = 100;  // by range deletes
  SumOne(&statistics);
  EXPECT_DOUBLE_EQ(statistics.space_amplification(), all / (all - 800));
  EXPECT_EQ(statistics.total.hidden_bytes, 100u);
}

TEST(StatisticsTest, SumsTrees) {
  Statistics first, second, third;
  const auto set = [](LevelStatistics* level, uint64_t tables, uint64_t bytes, uint64_t keys,
                      std::string kind, double expected) {
    level->tables = tables;
    level->table_bytes = level->oldest_run_bytes = bytes;
    level->keys = keys;
    level->filter_kind = std::move(kind);
    level->expected_wasted_reads = expected;
  };
  set(&first.levels[0], 1, 100, 10, "", 0.5);
  set(&first.levels[2], 2, 1000, 90, "blocked", 0.01);
  first.levels[2].target_fpp = 0.01;
  first.levels[2].oldest_run_bytes = 900;
  first.levels[2].oldest_run_dead_bytes = 100;
  set(&second.levels[0], 3, 300, 300, "ribbon", 0.1);
  second.levels[0].freeable_bytes = 50;
  second.levels[0].oldest_tombstone = 7;
  set(&third.levels[2], 1, 10, 10, "xor", 0);
  third.levels[2].target_fpp = 0.1;
  third.levels[2].oldest_tombstone = 9;
  const Statistics trees[] = {first, second, third};
  Statistics sum;
  sum.levels[0].lookups = 5;  // counters stay
  sum.levels[0].tables = 77;
  sum.SumTrees(trees);
  EXPECT_EQ(sum.levels[0].lookups, 5u);
  EXPECT_EQ(sum.levels[0].tables, 4u);
  EXPECT_EQ(sum.levels[0].table_bytes, 400u);
  EXPECT_EQ(sum.levels[0].filter_kind, "");
  EXPECT_EQ(sum.levels[0].oldest_tombstone, 7u);
  EXPECT_DOUBLE_EQ(sum.levels[0].expected_wasted_reads, (0.5 * 100 + 0.1 * 300) / 410);
  EXPECT_EQ(sum.levels[1].tables, 0u);
  EXPECT_EQ(sum.levels[2].filter_kind, "blocked");
  EXPECT_DOUBLE_EQ(sum.levels[2].target_fpp, (0.01 * 90 + 0.1 * 10) / 100);
  EXPECT_EQ(sum.total.tables, 7u);
  EXPECT_EQ(sum.total.table_bytes, 1410u);
  EXPECT_EQ(sum.total.oldest_tombstone, 7u);
  EXPECT_EQ(sum.live_bytes, 800u + 250u + 10u);
  EXPECT_DOUBLE_EQ(sum.space_amplification(), 1410.0 / 1060);
  sum.SumTrees({});
  EXPECT_EQ(sum.total.tables, 0u);
  EXPECT_EQ(sum.space_amplification(), 0);
}

TEST(StatisticsTest, OldestTombstoneOfAllLevels) {
  Statistics statistics;
  statistics.levels[1].oldest_tombstone = 30;
  statistics.levels[2].oldest_tombstone = 20;
  statistics.levels[4].oldest_tombstone = 25;
  statistics.levels[1].tombstones = 3;
  statistics.levels[4].tombstones = 4;
  SumOne(&statistics);
  EXPECT_EQ(statistics.total.oldest_tombstone, 20u);
  EXPECT_EQ(statistics.total.tombstones, 7u);
}

TEST(StatisticsTest, JsonHasEveryField) {
  Statistics statistics = ExampleStatistics();
  statistics.stall_nanos = UINT64_MAX;
  const json parsed = json::parse(statistics.ToJson());
  ASSERT_EQ(parsed["levels"].size(), size_t{kLevels});
  EXPECT_EQ(parsed["levels"][0]["reads_avoided"], 72);
  EXPECT_DOUBLE_EQ(parsed["levels"][0]["observed_fpp"], 0.1);
  EXPECT_EQ(parsed["total"]["blocks_from_file"], 7);
  EXPECT_EQ(parsed["stall_nanos"], "18446744073709551615");  // more than a double holds
  EXPECT_DOUBLE_EQ(parsed["write_amplification"], 4.0);
  EXPECT_EQ(parsed["levels"][0]["filter_kind"], "blocked");
  EXPECT_EQ(parsed["levels"][0]["filter_reason"], "share: of something");
  EXPECT_DOUBLE_EQ(parsed["levels"][0]["expected_wasted_reads"], 0.018);
  EXPECT_DOUBLE_EQ(parsed["total"]["expected_wasted_reads"], 0.067);
  EXPECT_DOUBLE_EQ(parsed["wasted_reads_per_lookup"], 8.0 / 50);
  EXPECT_EQ(parsed["filter_goal"], "10 bits a key");
  // Detects a field that was added to a struct and forgotten in the JSON, by the size of the
  // struct.  A struct consists of figures of 8 bytes and of texts: two in each level, one in the
  // store.
  const auto fields = [](size_t bytes, size_t texts) {
    return (bytes - texts * sizeof(std::string)) / 8 + texts;
  };
  EXPECT_EQ(parsed["levels"][0].size(), fields(sizeof(LevelStatistics), 2) + 1);  // observed_fpp
  const size_t structs = (kLevels + 1) * sizeof(LevelStatistics) + sizeof(RecoveryReport) +
                         3 * sizeof(LatencyHistogram);
  // Two amplifications, wasted_reads_per_lookup, recovery, levels, total, three histograms.
  EXPECT_EQ(parsed.size(), fields(sizeof(Statistics) - structs, 1) + 9);
}

TEST(StatisticsTest, ShowsPercentilesOfTimedCalls) {
  Statistics statistics;
  EXPECT_THAT(statistics.ToText(), testing::Not(HasSubstr("Latency")));
  for (uint64_t i = 1; i <= 1000; ++i) statistics.get_times.Record(i * 1000);
  EXPECT_THAT(statistics.ToText(), HasSubstr("gets (one in 127)"));
  EXPECT_THAT(statistics.ToText(), testing::Not(HasSubstr("seeks")));
  const json times = json::parse(statistics.ToJson())["get_times"];
  EXPECT_EQ(times["count"], 1000);
  EXPECT_NEAR(times["p50_nanos"].get<double>(), 500e3, 500e3 / 32);
  EXPECT_NEAR(times["p99_9_nanos"].get<double>(), 999e3, 999e3 / 32);
  EXPECT_NEAR(times["max_timed_nanos"].get<double>(), 1e6, 1e6 / 32);
  EXPECT_NEAR(times["sum_nanos"].get<double>(), 500.5e6, 500.5e6 / 32);
  uint64_t in_buckets = 0, last = 0;
  for (const json& bucket : times["buckets"]) {
    EXPECT_GT(bucket[0].get<uint64_t>(), last);
    last = bucket[0];
    in_buckets += bucket[1].get<uint64_t>();
  }
  EXPECT_EQ(in_buckets, 1000u);
  EXPECT_GE(last, 1'000'000u);
}

TEST(StatisticsTest, TextFitsOneScreenAndNamesFilledLevels) {
  const std::string text = ExampleStatistics().ToText();
  EXPECT_THAT(text, HasSubstr("observed FPP"));
  EXPECT_THAT(text, HasSubstr("\n  0    "));
  EXPECT_THAT(text, HasSubstr("\n  2    "));
  EXPECT_THAT(text, testing::Not(HasSubstr("\n  1    ")));
  EXPECT_THAT(text, HasSubstr("\n  all  "));
  EXPECT_THAT(text, HasSubstr("\nChecks\n"));
  EXPECT_THAT(text, HasSubstr("\nFilters: goal 10 bits a key;"));
  EXPECT_THAT(text, ContainsRegex("\n  0 +blocked +0.0100 +125 B +10.0 +0.0180 +1 +0 +share\n"));
  EXPECT_THAT(text, ContainsRegex("wasted reads per lookup +0.160\n"));
  EXPECT_THAT(text, ContainsRegex("expected where the key is absent +0.0670\n"));
  EXPECT_THAT(text, ContainsRegex("damage found +3\n"));
  std::istringstream lines(text);
  size_t longest = 0;
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    longest = std::max(longest, line.size());
  EXPECT_LE(longest, 110u) << text;
  EXPECT_LE(count, 68u) << text;
}

TEST(StatisticsTest, RecoveryNamesEachDroppedEnd) {
  Statistics statistics;
  EXPECT_THAT(statistics.ToText(), testing::Not(HasSubstr("Recovery")));
  statistics.recovery = {
      .logs = 2,
      .records = 500,
      .writes = 600,
      .dropped = {{.path = "d/000003.log", .offset = 8192, .bytes = 42654, .synced_before = true},
                  {.path = "d/000004.log", .offset = 32, .bytes = 200, .records = 2}}};
  const std::string text = statistics.ToText();
  EXPECT_THAT(text, ContainsRegex("bytes dropped +42,854\n"));
  EXPECT_THAT(text,
              HasSubstr("  d/000003.log: dropped 42,654 bytes at offset 8,192, after the last "
                        "readable record; records before them had been synced\n"));
  EXPECT_THAT(text, HasSubstr("  d/000004.log: dropped 200 bytes at offset 32, with 2 records that "
                              "follow writes which an earlier log lost\n"));
  const json recovery = json::parse(statistics.ToJson())["recovery"];
  EXPECT_EQ(recovery["logs"], 2);
  EXPECT_EQ(recovery["records"], 500);
  EXPECT_EQ(recovery["writes"], 600);
  EXPECT_EQ(recovery["dropped_bytes"], 42854);
  EXPECT_EQ(recovery["dropped"][0]["path"], "d/000003.log");
  EXPECT_EQ(recovery["dropped"][0]["offset"], 8192);
  EXPECT_EQ(recovery["dropped"][0]["bytes"], 42654);
  EXPECT_EQ(recovery["dropped"][0]["synced_before"], true);
  EXPECT_EQ(recovery["dropped"][1]["records"], 2);
}

}  // namespace
}  // namespace lsm
