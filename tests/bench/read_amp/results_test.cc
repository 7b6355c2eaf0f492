#include "bench/read_amp/results.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

// Two stores, one cache; the second reads a quarter of the blocks of the first.
Results TwoStores(CacheSize cache) {
  Results results;
  results.config.workloads = {Workload::kAbsent};
  results.stores.resize(2);
  results.stores[0].config = {"none", 0};
  results.stores[1].config = {"blocked", 0.01};
  results.caches.push_back({cache, 0, false, "", 1});
  for (size_t store = 0; store < 2; ++store) {
    Measurement round;
    round.lookups = 100;
    round.lookups_per_second = 1000;
    round.counted.blocks_from_file = store == 0 ? 200 : 50;
    round.counted.blocks_from_cache = store == 0 ? 200 : 150;
    results.cells.push_back({store, 0, Workload::kAbsent, {round, round}});
  }
  return results;
}

TEST(ResultsTest, SpreadsHaveMedians) {
  EXPECT_EQ(SpreadOf({3, 1, 2}).median, 2);
  EXPECT_EQ(SpreadOf({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(SpreadOf({1, 2, 3}).percent(), 50);
}

TEST(ResultsTest, PercentilesNeedLookupsBeyondThem) {
  Cell cell;
  cell.rounds.resize(2);
  for (Measurement& round : cell.rounds) {
    round.timed_lookups = 5000;
    round.latency_us = {1, 2, 3, 4};
  }
  EXPECT_EQ(cell.timed_lookups(), 5000u);
  ASSERT_TRUE(cell.latency_us(3).has_value());
  EXPECT_EQ(cell.latency_us(3)->median, 4);
  cell.rounds[1].timed_lookups = 1999;
  EXPECT_EQ(cell.timed_lookups(), 1999u);
  EXPECT_FALSE(cell.latency_us(3).has_value());
  EXPECT_TRUE(cell.latency_us(2).has_value());
}

TEST(ResultsTest, AvoidedIoComparesWithTheStoreWithoutFilters) {
  const Results results = TwoStores(CacheSize::kNone);
  EXPECT_FALSE(results.AvoidedIo(results.cells[0]).has_value());
  EXPECT_DOUBLE_EQ(results.ComparedBlocks(results.cells[0]), 2);
  EXPECT_DOUBLE_EQ(results.AvoidedIo(results.cells[1]).value(), 75);
}

TEST(ResultsTest, CachedStoresCompareSearchedBlocks) {
  const Results results = TwoStores(CacheSize::kFits);
  EXPECT_DOUBLE_EQ(results.ComparedBlocks(results.cells[0]), 4);
  EXPECT_DOUBLE_EQ(results.AvoidedIo(results.cells[1]).value(), 50);
}

TEST(ResultsTest, AvoidsNothingWithoutReads) {
  Results results = TwoStores(CacheSize::kNone);
  for (Measurement& round : results.cells[0].rounds) round.counted.blocks_from_file = 0;
  EXPECT_FALSE(results.AvoidedIo(results.cells[1]).has_value());
}

TEST(ResultsTest, SmallStoresGetLevelsAndLargeOnesLargeFlushes) {
  const StoreShape small = ShapeFor(350000, 350000 * 109);
  EXPECT_EQ(small.flushes % 4, 2u);
  EXPECT_GE(small.flushes * small.entries_per_flush, 350000u);
  EXPECT_LT(small.level1_bytes * 20, 350000u * 109);
  const StoreShape large = ShapeFor(100000000, uint64_t{100000000} * 116);
  EXPECT_LE(large.entries_per_flush * 116, uint64_t{50} << 20);
  EXPECT_EQ(large.flushes % 4, 2u);
  EXPECT_EQ(ShapeFor(100, 11600).flushes, 34u);
}

TEST(ResultsTest, JsonHoldsEveryStoreAndCell) {
  const Results results = TwoStores(CacheSize::kNone);
  const nlohmann::ordered_json json = ToJson(results);
  EXPECT_EQ(json["stores"].size(), 2u);
  EXPECT_TRUE(json["stores"][0]["target_fpp"].is_null());
  EXPECT_EQ(json["stores"][1]["name"], "blocked-0.01");
  EXPECT_EQ(json["cells"].size(), 2u);
  EXPECT_TRUE(json["cells"][0]["avoided_io_percent"].is_null());
  EXPECT_EQ(json["cells"][1]["avoided_io_percent"], 75);
  EXPECT_TRUE(json["cells"][1]["latency_us"]["p99.9"].is_null()) << "nothing was timed";
}

}  // namespace
}  // namespace bench
