// A store with a filter goal: the filters that flushes and compactions build.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/hash.h"
#include "lsm/table/table.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr uint64_t kGoalKeys = 30'000;
constexpr uint64_t kKeysBetweenLooks = 500;

// 16 digits, in an order that looks random.
std::string KeyOf(uint64_t i) {
  const uint64_t digest = bloom::DigestOf(std::to_string(i), 1);
  return std::to_string(10'000'000'000'000'000'000u | (digest >> 1)).substr(0, 16);
}
std::string InOrder(uint64_t i) { return std::to_string(1'000'000'000 + i); }

class FilterGoalTest : public StoreTest {
 protected:
  // Level 1 is as large as three memtables, so that there are levels 0 to 3.
  FilterGoalTest() {
    options_.filter_kind = "standard";
    options_.compression = Compression::kNone;
    options_.block_cache_bytes = 8 << 20;  // all filters are whole, so that they are in memory
  }

  // Puts keys.  After half of them, checks repeatedly the ratio of the filters' memory to the
  // allowed one, and returns the maximum.
  template <class Key, class Allowed>
  double MostOfMemory(Key key_of, Allowed allowed, uint64_t keys = kGoalKeys) {
    Open();
    double most = 0;
    for (uint64_t i = 0; i < keys; ++i) {
      Put(key_of(i), value_);
      if ((i + 1) % kKeysBetweenLooks != 0) continue;
      EXPECT_OK(db_->WaitForBackgroundWork());
      const Statistics now = db_->GetStatistics();
      if (now.total.keys < keys / 2) continue;
      most = std::max(most, static_cast<double>(now.total.filter_bytes) / allowed(now.total.keys));
    }
    Flush();
    EXPECT_OK(db_->WaitForBackgroundWork());
    return most;
  }
  void Load() {
    MostOfMemory(KeyOf, [](uint64_t) { return 1e9; });
  }

  // Wasted reads per lookup of an absent key.
  double CountedWaste() {
    const uint64_t before = db_->GetStatistics().total.wasted_reads;
    constexpr uint64_t kLookups = 20'000;
    for (uint64_t i = 0; i < kLookups; ++i) EXPECT_EQ(Get(KeyOf(kGoalKeys + i)), "absent");
    return static_cast<double>(db_->GetStatistics().total.wasted_reads - before) / kLookups;
  }

  // The property `filter_reason` of each table.
  std::multiset<std::string> Reasons() {
    std::multiset<std::string> reasons;
    for (const std::string& path : world_.FilesOf(FileKind::kTable)) {
      const size_t slash = path.rfind('/');
      const auto directory = world_.files->OpenDirectory(path.substr(0, slash), false);
      auto file = (*directory)->OpenRead(path.substr(slash + 1), ReadMode::kBuffered);
      const auto table = Table::Open(*std::move(file), {});
      EXPECT_OK(table);
      reasons.insert((*table)->properties().filter_reason);
    }
    return reasons;
  }

  // Looks up absent keys, nine in ten of them in a tenth of the key range.  Returns the wasted
  // reads per lookup.
  double AskUnevenly(bool together) {
    std::vector<std::string> hot, cold, keys;
    for (uint64_t i = 0; i < 300'000; ++i) {
      const std::string key = KeyOf(kGoalKeys + i);
      const uint64_t place = bloom::DigestOf(std::to_string(kGoalKeys + i), 1) % 100;
      (InHotTenth(key) ? hot : cold).push_back(key);
      if (!InHotTenth(key) && place < 96) cold.pop_back();
    }
    keys.insert(keys.end(), hot.begin(), hot.end());
    keys.insert(keys.end(), cold.begin(), cold.begin() + static_cast<int64_t>(hot.size() / 9));
    const uint64_t before = db_->GetStatistics().total.wasted_reads;
    for (size_t i = 0; i < keys.size(); i += together ? 50 : 1) {
      if (!together) {
        EXPECT_EQ(Get(keys[i]), "absent");
        continue;
      }
      const std::vector<std::string_view> views(
          keys.begin() + static_cast<int64_t>(i),
          keys.begin() + static_cast<int64_t>(std::min(keys.size(), i + 50)));
      for (const auto& value : db_->MultiGet(views)) EXPECT_EQ(value.value(), std::nullopt);
    }
    return static_cast<double>(db_->GetStatistics().total.wasted_reads - before) /
           static_cast<double>(keys.size());
  }
  static bool InHotTenth(const std::string& key) {
    static const auto* const kEnds = [] {
      std::vector<std::string> keys;
      for (uint64_t i = 0; i < kGoalKeys; ++i) keys.push_back(KeyOf(i));
      std::sort(keys.begin(), keys.end());
      return new std::pair(keys[kGoalKeys * 3 / 10], keys[kGoalKeys * 4 / 10]);
    }();
    return key >= kEnds->first && key < kEnds->second;
  }

  std::string value_ = "a value of some bytes";

  static constexpr auto kTenBits = [](uint64_t keys) { return static_cast<double>(keys) * 1.25; };
};

TEST_F(FilterGoalTest, UsesTheTargetWithoutAGoal) {
  Load();
  EXPECT_THAT(Reasons(), Each(IsEmpty()));
  const Statistics now = db_->GetStatistics();
  EXPECT_EQ(now.filter_goal, "none");
  EXPECT_DOUBLE_EQ(now.total.target_fpp, 0.01);
  EXPECT_EQ(now.levels[3].filter_kind, "standard");
  EXPECT_EQ(now.levels[3].filter_reason, "");
}

TEST_F(FilterGoalTest, TheSameMemoryWastesFewerReads) {
  options_.target_fpp = 0.0082;  // of standard filters: 10 bits a key
  Load();
  const Statistics uniform = db_->GetStatistics();
  ASSERT_GT(uniform.levels[3].keys, uniform.levels[2].keys);
  const double uniform_counted = CountedWaste();
  db_ = nullptr;
  ASSERT_OK(DB::Destroy(kStorePath, options_));

  options_.filter_goal = FilterGoal::BitsPerKey(10);
  EXPECT_LE(MostOfMemory(KeyOf, kTenBits), 1.1);
  const Statistics now = db_->GetStatistics();
  EXPECT_LE(now.total.filter_bytes, uniform.total.filter_bytes * 103 / 100);
  EXPECT_LT(now.total.expected_wasted_reads, uniform.total.expected_wasted_reads / 1.7);
  EXPECT_LT(now.levels[1].target_fpp, now.levels[3].target_fpp / 10);
  const double counted = CountedWaste();
  EXPECT_LT(counted, uniform_counted / 1.5);
  // Tables of a level leave gaps, in which nothing is read.
  EXPECT_LT(counted, now.total.expected_wasted_reads * 1.15);
  EXPECT_GT(counted, now.total.expected_wasted_reads * 0.5);
  // Every existing key is found.
  for (uint64_t i = 0; i < kGoalKeys; i += 7) EXPECT_EQ(Get(KeyOf(i)), "a value of some bytes");
}

TEST_F(FilterGoalTest, TablesExplainTheirFilter) {
  options_.filter_goal = FilterGoal::BitsPerKey(10);
  Load();
  EXPECT_THAT(Reasons(), Each(HasSubstr("10.0 bits a key")));
  EXPECT_THAT(Reasons(), Contains(StartsWith("share: ")));
  const Statistics now = db_->GetStatistics();
  EXPECT_EQ(now.filter_goal, "10.0 bits a key");
  for (const LevelStatistics& level : now.levels) {
    if (level.tables > 0) {
      EXPECT_THAT(level.filter_reason, HasSubstr("10.0 bits a key"));
    }
  }
}

TEST_F(FilterGoalTest, OrderedKeysNeedLittleMoreMemory) {
  options_.filter_goal = FilterGoal::BitsPerKey(10);
  // Their tables are moved down unchanged, except for tables whose filters are too large.
  EXPECT_LE(MostOfMemory(InOrder, kTenBits), 1.12);
  EXPECT_GT(db_->GetStatistics().trivial_moves, 10u);
}

TEST_F(FilterGoalTest, GrowingStoresKeepAFixedBudget) {
  // Enough keys that a flush is a small part of them.
  constexpr uint64_t kManyKeys = 4 * kGoalKeys;
  constexpr double kBudget = kManyKeys * 1.25;
  options_.filter_goal = FilterGoal::Bytes(static_cast<uint64_t>(kBudget));
  EXPECT_LE(MostOfMemory(
                KeyOf, [](uint64_t) { return kBudget; }, kManyKeys),
            1.06);
  EXPECT_GE(static_cast<double>(db_->GetStatistics().total.filter_bytes), 0.85 * kBudget);
}

TEST_F(FilterGoalTest, WastedReadsMeetTheGoal) {
  options_.filter_goal = FilterGoal::WastedReads(0.05);
  Load();
  const double expected = db_->GetStatistics().total.expected_wasted_reads;
  EXPECT_NEAR(expected, 0.05, 0.01);
  EXPECT_LT(CountedWaste(), 0.06);
}

TEST_F(FilterGoalTest, LittleMemoryLeavesTheLargestLevelWithoutFilters) {
  options_.filter_goal = FilterGoal::BitsPerKey(0.3);
  Load();
  const Statistics now = db_->GetStatistics();
  EXPECT_EQ(now.levels[3].filter_kind, "absent");
  EXPECT_THAT(now.levels[3].filter_reason, StartsWith("does not pay: "));
  EXPECT_DOUBLE_EQ(now.levels[3].expected_wasted_reads, 1);
  EXPECT_LT(now.levels[1].expected_wasted_reads, 0.5);
}

TEST_F(FilterGoalTest, NewGoalsApplyToNewTables) {
  Load();
  const double before = db_->GetStatistics().total.target_fpp;
  options_.filter_goal = FilterGoal::BitsPerKey(20);
  Open();
  EXPECT_DOUBLE_EQ(db_->GetStatistics().total.target_fpp, before);
  for (uint64_t i = 0; i < kGoalKeys; ++i) Put(KeyOf(i), "a newer value");
  CompactAll();
  EXPECT_LT(db_->GetStatistics().total.target_fpp, before / 10);
  EXPECT_THAT(Reasons(), Not(Contains(IsEmpty())));
}

TEST_F(FilterGoalTest, RecoveredTablesGetTheirShare) {
  options_.filter_goal = FilterGoal::BitsPerKey(10);
  Open();
  Put("a", "1");
  Open();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_THAT(Reasons(), Each(HasSubstr("10.0 bits a key")));
  EXPECT_EQ(Reasons().size(), 1u);
}

TEST_F(FilterGoalTest, RepairsWriteFiltersOfTheTarget) {
  options_.filter_goal = FilterGoal::BitsPerKey(10);
  Open();
  Put("a", "1");
  db_ = nullptr;
  ASSERT_OK(DB::Repair(kStorePath, options_));
  EXPECT_EQ(Reasons().size(), 1u);
  EXPECT_THAT(Reasons(), Each(StartsWith("target: ")));
  Open();
  EXPECT_EQ(Get("a"), "1");
}

// --- styles of compaction ---

TEST_F(FilterGoalTest, AllStylesShareTheGoalAmongRuns) {
  for (const CompactionStyle style : {CompactionStyle::kTiered, CompactionStyle::kLazyLeveled}) {
    SCOPED_TRACE(NameOf(style));
    options_.compaction_style = style;
    options_.target_fpp = 0.0082;  // of standard filters: 10 bits a key
    options_.filter_goal = FilterGoal();
    Load();
    const Statistics uniform = db_->GetStatistics();
    EXPECT_GT(uniform.total.runs, 4u);
    db_ = nullptr;
    ASSERT_OK(DB::Destroy(kStorePath, options_));

    options_.filter_goal = FilterGoal::BitsPerKey(10);
    EXPECT_LE(MostOfMemory(KeyOf, kTenBits), 1.12);
    const Statistics now = db_->GetStatistics();
    EXPECT_EQ(now.total.runs, uniform.total.runs);
    EXPECT_LT(now.total.expected_wasted_reads, uniform.total.expected_wasted_reads / 1.5);
    const double counted = CountedWaste();
    EXPECT_LT(counted, now.total.expected_wasted_reads * 1.15);
    EXPECT_GT(counted, now.total.expected_wasted_reads * 0.5);
    for (uint64_t i = 0; i < kGoalKeys; i += 7) EXPECT_EQ(Get(KeyOf(i)), "a value of some bytes");
    db_ = nullptr;
    ASSERT_OK(DB::Destroy(kStorePath, options_));
  }
}

TEST_F(FilterGoalTest, RewritesAMovedBottomRunWithTooLargeFilters) {
  constexpr uint64_t kFewKeys = 5'000;
  for (const bool with_goal : {false, true}) {
    SCOPED_TRACE(with_goal);
    options_.compaction_style = CompactionStyle::kLazyLeveled;
    options_.level1_bytes = 64 << 20;
    options_.target_fpp = 0.00001;
    options_.filter_goal = FilterGoal();
    Open();
    for (uint64_t i = 0; i < kFewKeys; ++i) Put(KeyOf(i), "a value of some bytes");
    CompactAll();
    ASSERT_EQ(db_->GetStatistics().levels[1].keys, kFewKeys);
    // Now level 1 is too small for the run.
    options_.level1_bytes = 64 << 10;
    if (with_goal) options_.filter_goal = FilterGoal::BitsPerKey(10);
    Open();
    ASSERT_OK(db_->WaitForBackgroundWork());
    const Statistics now = db_->GetStatistics();
    EXPECT_EQ(now.levels[1].keys, 0u);
    EXPECT_EQ(now.levels[2].keys, kFewKeys);
    EXPECT_EQ(now.levels[2].runs, 1u);
    EXPECT_EQ(now.trivial_moves, with_goal ? 0u : 1u);
    EXPECT_EQ(now.compactions, with_goal ? 1u : 0u);
    EXPECT_EQ(now.total.filter_bytes > kTenBits(kFewKeys) * 1.1, !with_goal);
    for (uint64_t i = 0; i < kFewKeys; i += 7) EXPECT_EQ(Get(KeyOf(i)), "a value of some bytes");
    db_ = nullptr;
    ASSERT_OK(DB::Destroy(kStorePath, options_));
  }
}

TEST_F(FilterGoalTest, KindsFollowSizes) {
  options_.filter_kind = "by-level";
  options_.filter_goal = FilterGoal::BitsPerKey(10);
  Load();
  const Statistics now = db_->GetStatistics();
  EXPECT_EQ(now.levels[3].filter_kind, "ribbon");
  if (now.levels[0].tables > 0) {
    EXPECT_EQ(now.levels[0].filter_kind, "blocked");
  }
}

// Writes go on, evenly over all keys, and cause compactions.
TEST_F(FilterGoalTest, FiltersFollowTheLookups) {
  options_.filter_goal = FilterGoal::BitsPerKey(10);
  value_ = std::string(200, 'v');  // of more tables
  for (const bool together : {false, true}) {
    Load();
    const double before = AskUnevenly(together);
    double after = before;
    for (uint64_t round = 0; round < 4; ++round) {
      for (uint64_t i = round; i < kGoalKeys; i += 10) Put(KeyOf(i), value_);
      Flush();
      EXPECT_OK(db_->WaitForBackgroundWork());
      after = AskUnevenly(together);
    }
    EXPECT_LT(after, before / 1.7);
    const Statistics now = db_->GetStatistics();
    EXPECT_LT(static_cast<double>(now.total.filter_bytes), 1.05 * kTenBits(now.total.keys));
    EXPECT_GT(now.total.hot_tables, 0u);
    EXPECT_GT(now.total.cold_tables, now.total.hot_tables);
    EXPECT_THAT(Reasons(), Contains(StartsWith("hot: ")));
    EXPECT_THAT(Reasons(), Contains(StartsWith("cold: ")));
    for (uint64_t i = 0; i < kGoalKeys; i += 7) EXPECT_EQ(Get(KeyOf(i)), value_);
    // Closing the store drops the counts, and the next compactions level the filters.
    Open();
    CompactAll();
    EXPECT_EQ(db_->GetStatistics().total.hot_tables, 0u);
    db_ = nullptr;
    ASSERT_OK(DB::Destroy(kStorePath, options_));
  }
}

// Without a goal the user asked for the same FPP everywhere.
TEST_F(FilterGoalTest, FiltersIgnoreLookupsWithoutAGoal) {
  Load();
  AskUnevenly(true);
  CompactAll();
  EXPECT_DOUBLE_EQ(db_->GetStatistics().total.target_fpp, 0.01);
  EXPECT_THAT(Reasons(), Each(IsEmpty()));
}

}  // namespace
}  // namespace lsm
