// If lookups were counted by key range, outputs get a different filter for each range, in the same
// memory.
#include "lsm/compaction/output_filters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/jobs.h"
#include "lsm/compaction/store_reads.h"
#include "tests/lsm/compaction/job_world.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::StartsWith;

constexpr int kTables = 10;
constexpr int kKeysOfTable = 1'000;
constexpr double kUpperFpp = 0.00082, kLowerFpp = 0.0082;
constexpr uint64_t kLookups = 1'000'000;

std::string KeyOf(int i) { return std::to_string(1'000'000 + i); }

// One table in level 1 and ten in level 2, which has ten times as many keys.  Lookups ask only the
// fourth and the fifth table of level 2.
class OutputFiltersTest : public testing::Test, protected JobWorld {
 protected:
  OutputFiltersTest() : JobWorld(1, 1, "standard") {
    options_.filter_kind = "standard";
    options_.filter_goal = FilterGoal::BitsPerKey(10);
    options_.block_bytes = 512;
    maker_.filter_kind = "standard";
    EXPECT_OK(ChooseFilters(options_, &context_));
    std::vector<Entry> entries;
    for (int i = 0; i < kKeysOfTable; ++i)
      entries.push_back(PutOf(KeyOf(i * kTables), 100'000 + static_cast<Sequence>(i)));
    maker_.target_fpp = kUpperFpp;
    upper_ = maker_.Make(next_number_++, entries);
    maker_.target_fpp = kLowerFpp;
    for (int table = 0; table < kTables; ++table) {
      entries.clear();
      for (int i = 0; i < kKeysOfTable; ++i)
        entries.push_back(PutOf(KeyOf(table * kKeysOfTable + i), 1));
      lower_.push_back(maker_.Make(next_number_++, entries));
    }
    options_.level1_bytes = upper_->meta.file_bytes;
    options_.table_bytes = lower_[0]->meta.file_bytes;
    tree_ = Tree::Create({OpenTables{}, {upper_}, lower_}).value();
    plan_.level = 1;
    plan_.output_level = 2;
    plan_.inputs = {upper_};
    plan_.overlapped = lower_;
  }

  // 90 % of the lookups go to one fifth of the keys.
  void CountLookups() {
    Counters::Here(&maker_.counters).Add(2, LevelCounts::kLookupsEnded, kLookups);
    for (int i = 0; i < kTables; ++i) {
      const double share = i == 3 || i == 4 ? 0.45 : 0.1 / 8;
      for (int seen = 0; seen < share * kLowerFpp * kLookups; ++seen)
        lower_[i]->wasted_reads->Add();
    }
    for (int seen = 0; seen < kUpperFpp * kLookups; ++seen) upper_->wasted_reads->Add();
  }
  OutputFilters Plan() { return PlanFilters(context_, *tree_, plan_).value(); }

  std::shared_ptr<const OpenTable> upper_;
  OpenTables lower_;
  std::shared_ptr<const Tree> tree_;
  CompactionPlan plan_;
};

TEST_F(OutputFiltersTest, TreatsTablesAlikeWithoutCounts) {
  const OutputFilters filters = Plan();
  for (int i = 0; i < kTables; ++i) {
    const TableFilter& filter = filters.For(KeyOf(i * kKeysOfTable));
    EXPECT_NEAR(filter.target_fpp, 0.0106, 0.0006);  // headers take half a bit a key
    EXPECT_THAT(filter.reason, StartsWith("share: "));
  }
}

TEST_F(OutputFiltersTest, HotRangesGetTheMemory) {
  const double usual = Plan().For(KeyOf(0)).target_fpp;
  CountLookups();
  const OutputFilters filters = Plan();
  const TableFilter &hot = filters.For(KeyOf(3 * kKeysOfTable)),
                    &hot_too = filters.For(KeyOf(4 * kKeysOfTable + 1)),
                    &cold = filters.For(KeyOf(0)), &cold_too = filters.For(KeyOf(9'500));
  EXPECT_EQ(hot.target_fpp, hot_too.target_fpp);
  EXPECT_NEAR(cold.target_fpp / cold_too.target_fpp, 1, 0.5);
  // The hotness of the ranges is 4.5 and 1/8 of the average.  The reads of the upper table, which
  // has no ranges, make the difference smaller.
  EXPECT_GT(cold.target_fpp / hot.target_fpp, 15);
  EXPECT_LT(cold.target_fpp / hot.target_fpp, 36);
  EXPECT_LT(hot.target_fpp, usual / 8);
  EXPECT_LT(cold.target_fpp, usual * 5);
  EXPECT_THAT(hot.reason, StartsWith("hot: "));
  EXPECT_THAT(cold.reason, StartsWith("cold: "));
}

TEST_F(OutputFiltersTest, MeetsTheGoalAndPassesCountsOn) {
  const double usual = Plan().For(KeyOf(0)).target_fpp;
  CountLookups();
  ASSERT_OK_AND_ASSIGN(const JobResult result,
                       RunCompaction(context_, *tree_, plan_, {}, [] { return false; }));
  ASSERT_GE(result.outputs.size(), size_t{kTables} - 1);
  double bytes = 0, keys = 0, inherited = 0, by_lookups = 0;
  for (const auto& table : result.outputs) {
    bytes += static_cast<double>(table->table->filter_memory_bytes());
    keys += static_cast<double>(KeysOf(*table));
    inherited += table->wasted_reads->Get(0, 0).seen;
    by_lookups += FppOf(*table) * table->wasted_reads->Get(0, 0).seen;
  }
  EXPECT_LE(8 * bytes / keys, 10.2);
  EXPECT_GT(8 * bytes / keys, 9);
  double seen = upper_->wasted_reads->Get(0, 0).seen;
  for (const auto& table : lower_) seen += table->wasted_reads->Get(0, 0).seen;
  EXPECT_NEAR(inherited, HotnessScale::kKept * seen, 0.03 * seen);
  // Lookups like the counted ones waste less; some outputs reach beyond the ends of the range.
  EXPECT_LT(by_lookups / inherited, usual / 1.6);
}

TEST_F(OutputFiltersTest, HotTablesMoveWithTheirMemory) {
  std::vector<Entry> entries;
  for (int i = 0; i < kKeysOfTable; ++i)
    entries.push_back(PutOf(KeyOf(kTables * kKeysOfTable + i), 1));
  maker_.target_fpp = 0.002;
  const auto moving = maker_.Make(next_number_++, entries);
  tree_ = Tree::Create({OpenTables{}, {moving}, lower_}).value();
  plan_.inputs = {moving};
  plan_.overlapped.clear();
  plan_.trivial_move = true;
  EXPECT_TRUE(MoveKeepsTooMuch(context_, *tree_, plan_));
  Counters::Here(&maker_.counters).Add(2, LevelCounts::kLookupsEnded, kLookups);
  for (const auto& table : lower_) {
    for (int i = 0; i < 200; ++i) table->wasted_reads->Add();
  }
  for (int i = 0; i < 10'000; ++i) moving->wasted_reads->Add();
  EXPECT_FALSE(MoveKeepsTooMuch(context_, *tree_, plan_));
}

// Hot tables keep their memory also if they move together with cold ones.
TEST_F(OutputFiltersTest, MovedTablesGetTheShareOfTheirHotness) {
  plan_.level = 2;
  plan_.output_level = 3;
  plan_.inputs = lower_;
  plan_.overlapped.clear();
  plan_.trivial_move = true;
  tree_ = Tree::Create({OpenTables{}, OpenTables{}, lower_}).value();
  // The filters have 10.5 bits per key, including headers.  A move keeps filters of up to 1.1 times
  // their share, which holds for hot and cold tables together.
  options_.filter_goal = FilterGoal::BitsPerKey(9);
  EXPECT_OK(ChooseFilters(options_, &context_));
  EXPECT_TRUE(MoveKeepsTooMuch(context_, *tree_, plan_));
  options_.filter_goal = FilterGoal::BitsPerKey(9.9);
  EXPECT_OK(ChooseFilters(options_, &context_));
  EXPECT_FALSE(MoveKeepsTooMuch(context_, *tree_, plan_));
  CountLookups();
  EXPECT_FALSE(MoveKeepsTooMuch(context_, *tree_, plan_));
}

// --- StoreReads and InputReads ---

// The more often a filter errs, the fewer lookups each error stands for.
TEST_F(OutputFiltersTest, FppScalesObservedReads) {
  std::vector<Entry> entries;
  for (int i = 0; i < kKeysOfTable; ++i)
    entries.push_back(PutOf(KeyOf(kTables * kKeysOfTable + i), 1));
  maker_.target_fpp = 10 * kLowerFpp;
  OpenTables tables = lower_;
  tables.push_back(maker_.Make(next_number_++, entries));
  tree_ = Tree::Create({OpenTables{}, OpenTables{}, tables}).value();
  Counters::Here(&maker_.counters).Add(2, LevelCounts::kLookupsEnded, kLookups);
  for (const auto& table : tables) {
    const double fpp = table == tables.back() ? 10 * kLowerFpp : kLowerFpp;
    for (int seen = 0; seen < fpp * kLookups / (kTables + 1); ++seen) table->wasted_reads->Add();
  }
  const StoreReads store(*tree_, &maker_.counters);
  for (const auto& table : tables) EXPECT_EQ(store.StepOf(*table), 0);
}

// A table of the same keys as an input has all of the input's counts.
TEST_F(OutputFiltersTest, TablesInheritTheCountsOfTheirSpan) {
  CountLookups();
  const OutputFilters filters = Plan();
  for (const int i : {3, 7}) {
    const WastedReads inherited = filters.InheritedBy(lower_[i]->meta.span());
    const double share = i == 3 ? 0.45 : 0.1 / 8;
    const double of_upper = 0.1 * kUpperFpp;
    EXPECT_NEAR(inherited.seen, HotnessScale::kKept * (share * kLowerFpp + of_upper) * kLookups, 25)
        << i;
  }
}

TEST_F(OutputFiltersTest, TablesInheritTheCountsOfTheirLastBlock) {
  constexpr int kSeen = 1'000;
  const int after = kTables * kKeysOfTable;
  // It has one block, which begins before its last key.
  const auto small =
      maker_.Make(next_number_++, {PutOf(KeyOf(after), 1), PutOf(KeyOf(after + 1), 1)});
  plan_.overlapped.push_back(small);
  tree_ = Tree::Create({OpenTables{}, {upper_}, plan_.overlapped}).value();
  CountLookups();
  for (int i = 0; i < kSeen; ++i) small->wasted_reads->Add();
  const OutputFilters filters = Plan();
  EXPECT_NEAR(filters.InheritedBy(small->meta.span()).seen, HotnessScale::kKept * kSeen, 1e-6);
}

TEST_F(OutputFiltersTest, RangesGetTheirPartOfTheCounts) {
  CountLookups();
  const StoreReads store(*tree_, &maker_.counters);
  OpenTables inputs = lower_;
  inputs.push_back(upper_);
  const InputReads reads(store, inputs);
  const InputReads::Range all = reads.Between("", std::nullopt);
  EXPECT_NEAR(all.keys, 11'000, 1e-6);
  EXPECT_NEAR(all.reads.seen, (kLowerFpp + kUpperFpp) * kLookups, 20);
  // Half of a table, and a twentieth of the upper table.
  const InputReads::Range half = reads.Between(KeyOf(3'500), KeyOf(4'000));
  EXPECT_NEAR(half.keys, 550, 60);
  EXPECT_NEAR(half.reads.seen, (0.45 / 2 * kLowerFpp + 0.05 * kUpperFpp) * kLookups, 150);
  EXPECT_EQ(reads.Between(KeyOf(20'000), std::nullopt).keys, 0);

  double keys = 0, seen = 0;
  for (const InputReads::Range& range : reads.Ranges()) {
    keys += range.keys;
    seen += range.reads.seen;
  }
  EXPECT_NEAR(keys, all.keys, 1);
  EXPECT_NEAR(seen, all.reads.seen, 1);
  // The reads of one table.
  const WastedReads ahead = reads.Ahead(KeyOf(3'000), options_.table_bytes);
  EXPECT_NEAR(ahead.seen, (0.45 * kLowerFpp + 0.1 * kUpperFpp) * kLookups, 150);
}

}  // namespace
}  // namespace lsm
