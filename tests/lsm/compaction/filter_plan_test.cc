#include "lsm/compaction/filter_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/compaction/partition_plan.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class FilterPlanTest : public testing::Test {
 protected:
  FilterPlanTest() {
    options_.filter_kind = "standard";
    options_.filter_goal = FilterGoal::BitsPerKey(10);
    options_.table_bytes = 64 << 10;
    options_.level1_bytes = 64 << 10;
    maker_.filter_kind = "standard";
  }

  // A table of `count` keys from `first` on.
  std::shared_ptr<const OpenTable> Table(int first, int count, double target_fpp = 0.01,
                                         uint32_t run = 0) {
    std::vector<Entry> entries;
    for (int i = 0; i < count; ++i) entries.push_back(PutOf(Concat(1'000'000 + first + i), 1));
    maker_.target_fpp = target_fpp;
    return maker_.Make(++number_, entries, /*file_bytes=*/0, run);
  }
  // Three runs, newest first, of `count` keys each in two tables, with filters of 10 bits a key.
  OpenTables ThreeRuns(int count) {
    OpenTables tables;
    for (const uint32_t run : {5, 3, 2}) {
      tables.push_back(Table(0, count / 2, 0.0082, run));
      tables.push_back(Table(count / 2, count / 2, 0.0082, run));
    }
    return tables;
  }
  void SetLevels(std::array<OpenTables, kLevels> levels) {
    tree_ = Tree::Create(std::move(levels)).value();
  }
  const JobContext& Context() {
    context_ = JobContext();
    context_.options = &options_;
    EXPECT_OK(ChooseFilters(options_, &context_));
    return context_;
  }
  TableFilter FlushOf(uint64_t keys) { return PlanFlush(Context(), *tree_, keys).value(); }
  // The filter of a plan that gives all outputs the same filter.
  TableFilter FilterOf(const CompactionPlan& plan) {
    return PlanFilters(Context(), *tree_, plan)->For("1000000");
  }
  TableFilter Compaction(int level, size_t input = 0) {
    CompactionPlan plan;
    plan.level = level;
    plan.output_level = level + 1;
    plan.inputs = {tree_->level(level)[input]};
    plan.overlapped = tree_->level(level + 1);
    return FilterOf(plan);
  }
  bool MoveKeepsTooMuchOf(int level) {
    CompactionPlan plan;
    plan.level = level;
    plan.output_level = level + 1;
    plan.inputs = {tree_->level(level)[0]};
    plan.trivial_move = true;
    return MoveKeepsTooMuch(Context(), *tree_, plan);
  }

  TableMaker maker_;
  Options options_;
  JobContext context_;
  std::shared_ptr<const Tree> tree_;
  uint64_t number_ = 0;
};

TEST_F(FilterPlanTest, UsesTheOptionsWithoutAGoal) {
  options_.filter_goal = FilterGoal();
  options_.filter_kind = "by-level";
  options_.target_fpp = 0.03;
  SetLevels({OpenTables{Table(0, 10)}, OpenTables{Table(0, 1'000)}, OpenTables{Table(0, 2'000)}});
  for (const TableFilter& filter : {FlushOf(10), Compaction(0)}) {
    EXPECT_EQ(filter.policy->name(), "blocked");
    EXPECT_EQ(filter.target_fpp, 0.03);
    EXPECT_EQ(filter.reason, "");
  }
  EXPECT_EQ(Compaction(1).policy->name(), "ribbon");
  options_.filter_kind = "none";
  EXPECT_EQ(FlushOf(10).policy, nullptr);
}

TEST_F(FilterPlanTest, FirstFlushGetsTheWholeGoal) {
  SetLevels({});
  const TableFilter filter = FlushOf(10'000);
  EXPECT_EQ(filter.policy->name(), "standard");
  EXPECT_NEAR(filter.target_fpp, 0.0082, 0.0004);
  EXPECT_THAT(filter.reason, StartsWith("share: "));
  EXPECT_THAT(filter.reason, HasSubstr("10.0 bits a key"));
}

TEST_F(FilterPlanTest, TablesWithoutEntriesTakeNoShare) {
  const RangeMap ranges = RangesOf({{"1", "2", 9}});
  const auto only_ranges = [&](uint32_t run) { return maker_.Make(++number_, {}, 0, run, ranges); };
  SetLevels({OpenTables{}, OpenTables{Table(0, 3'000)}});
  const double flush = FlushOf(1'000).target_fpp;
  SetLevels({OpenTables{only_ranges(0)}, OpenTables{Table(0, 3'000)}, OpenTables{only_ranges(0)}});
  EXPECT_EQ(FlushOf(1'000).target_fpp, flush);
  CompactionPlan plan;
  plan.output_level = 1;
  plan.inputs = tree_->level(0);
  EXPECT_TRUE(PlanFilters(Context(), *tree_, plan).ok()) << "of no keys";
  EXPECT_GT(Compaction(0).target_fpp, 0);
}

TEST_F(FilterPlanTest, SmallerLevelsHaveLowerFpps) {
  SetLevels({OpenTables{Table(0, 100)}, OpenTables{Table(0, 1'000)}, OpenTables{Table(0, 10'000)}});
  const double flush = FlushOf(100).target_fpp, upper = Compaction(0).target_fpp,
               lower = Compaction(1).target_fpp;
  EXPECT_LT(flush, upper / 4);
  EXPECT_LT(upper, lower / 4);
  EXPECT_NEAR(lower, 0.01, 0.002);
}

// The sizes are those after the job, when its inputs are gone.
TEST_F(FilterPlanTest, FullCompactionsGetTheWholeBudget) {
  SetLevels({OpenTables{Table(0, 1'000)}, OpenTables{Table(0, 9'000)}});
  EXPECT_NEAR(Compaction(0).target_fpp, 0.0082, 0.0006);
}

TEST_F(FilterPlanTest, EachRunOfALevelHasItsShare) {
  options_.filter_goal = FilterGoal::WastedReads(4 * 0.0082);
  SetLevels({OpenTables{}, ThreeRuns(2'000)});
  // The flush makes the fourth of four equal runs.
  EXPECT_NEAR(FlushOf(2'000).target_fpp, 0.0082, 0.0008);
  // One run with all these keys wastes a third of that, which leaves more for the flush.
  SetLevels({OpenTables{}, OpenTables{Table(0, 6'000, 0.0082)}});
  EXPECT_GT(FlushOf(2'000).target_fpp, 0.012);
}

TEST_F(FilterPlanTest, NewRunsAreSeparateFromTheirLevel) {
  SetLevels({OpenTables{Table(0, 200)}, ThreeRuns(2'000)});
  CompactionPlan plan;
  plan.output_level = 1;
  plan.inputs = tree_->level(0);
  plan.output_run = 6;
  const double alone = FilterOf(plan).target_fpp;
  plan.output_run = 2;
  const double as_part_of_the_oldest = FilterOf(plan).target_fpp;
  EXPECT_LT(alone, as_part_of_the_oldest / 5);
}

TEST_F(FilterPlanTest, MergedRunsBecomeOne) {
  SetLevels({OpenTables{}, ThreeRuns(2'000)});
  CompactionPlan plan;
  plan.level = 1;
  plan.inputs = tree_->level(1);
  for (const int output_level : {1, 2}) {
    plan.output_level = output_level;
    plan.output_run = output_level == 1 ? 2 : 0;
    EXPECT_NEAR(FilterOf(plan).target_fpp, 0.0082, 0.0006);
  }
}

TEST_F(FilterPlanTest, OversizedRemainingTablesLeaveLess) {
  SetLevels({OpenTables{Table(0, 1'000)}, OpenTables{},
             OpenTables{Table(0, 5'000), Table(5'000, 5'000)}});
  const double usual = FlushOf(1'000).target_fpp;
  SetLevels({OpenTables{Table(0, 1'000)}, OpenTables{},
             OpenTables{Table(0, 5'000), Table(5'000, 5'000, 0.0001)}});
  const TableFilter filter = FlushOf(1'000);
  EXPECT_GT(filter.target_fpp, 2 * usual);
  EXPECT_THAT(filter.reason, StartsWith("less: "));
}

TEST_F(FilterPlanTest, LeavesOutFiltersThatDoNotPay) {
  options_.filter_goal = FilterGoal::BitsPerKey(0.2);
  SetLevels({OpenTables{Table(0, 100)}, OpenTables{Table(0, 20'000)}});
  const TableFilter filter = Compaction(0);
  EXPECT_EQ(filter.policy, nullptr);
  EXPECT_THAT(filter.reason, StartsWith("does not pay: "));
}

TEST_F(FilterPlanTest, RewritesTablesWithTooLargeFilters) {
  const auto small = Table(0, 2'000, 0.00001);
  SetLevels({OpenTables{}, OpenTables{small}, OpenTables{Table(5'000, 5'000)}});
  EXPECT_TRUE(MoveKeepsTooMuchOf(1));
  // The budget suffices.
  options_.filter_goal = FilterGoal::BitsPerKey(14);
  EXPECT_FALSE(MoveKeepsTooMuchOf(1));
  // These goals do not limit the memory.
  options_.filter_goal = FilterGoal::WastedReads(0.01);
  EXPECT_FALSE(MoveKeepsTooMuchOf(1));
  options_.filter_goal = FilterGoal();
  EXPECT_FALSE(MoveKeepsTooMuchOf(1));
  // The filter is not much larger than its share.
  options_.filter_goal = FilterGoal::BitsPerKey(9);
  SetLevels({OpenTables{}, OpenTables{Table(0, 2'000)}, OpenTables{Table(5'000, 5'000)}});
  EXPECT_FALSE(MoveKeepsTooMuchOf(1));
}

// A lazily leveled store moves the run at the bottom like this.
TEST_F(FilterPlanTest, MeasuresMovedRunsByAllTheirFilters) {
  CompactionPlan plan;
  plan.level = 1;
  plan.output_level = 2;
  plan.trivial_move = true;
  const auto keeps_too_much = [&](double target_fpp) {
    SetLevels({OpenTables{}, OpenTables{Table(0, 1'000, target_fpp), Table(1'000, 1'000, 0.0082)}});
    plan.inputs = tree_->level(1);
    return MoveKeepsTooMuch(Context(), *tree_, plan);
  };
  EXPECT_FALSE(keeps_too_much(0.0082));
  EXPECT_TRUE(keeps_too_much(0.00001));
}

TEST(PartitionBytesTest, FollowCacheAndFilterSizes) {
  constexpr uint64_t kKiB = 1024;
  const struct {
    uint64_t cache_bytes, store_bytes, table_bytes;
    size_t expected;
  } cases[] = {
      {64 * 1024 * kKiB, 64 * 1024 * kKiB, 1000 * kKiB, 0},  // all have room
      {64 * 1024 * kKiB, 64 * 1024 * kKiB + 1, 1000 * kKiB, 4 * kKiB},
      {64 * 1024 * kKiB, 1024 * 1024 * kKiB, 64 * kKiB, 0},  // a small table stays whole
      {64 * 1024 * kKiB, 1024 * 1024 * kKiB, 64 * kKiB + 1, 4 * kKiB},
      {0, 1024 * 1024 * kKiB, 1024 * kKiB, 0},  // there is no place for partitions
      // With a small cache, small means a small part of the cache.
      {64 * kKiB, 65 * kKiB, 4 * kKiB, 0},
      {64 * kKiB, 65 * kKiB, 4 * kKiB + 1, kKiB},
      {1, 2, 1, 64},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(PartitionBytes(c.cache_bytes, c.store_bytes, c.table_bytes), c.expected)
        << c.cache_bytes << " " << c.store_bytes << " " << c.table_bytes;
  }
}

TEST_F(FilterPlanTest, PartitionsTablesOfStoresLargerThanTheCache) {
  options_.filter_goal = FilterGoal();
  // 4,000 keys, a filter of about 5 KB; a compaction of both levels writes as much.
  SetLevels({OpenTables{Table(0, 1'000)}, OpenTables{Table(0, 3'000)}});
  const auto with_cache = [&](size_t cache_bytes) {
    options_.block_cache_bytes = cache_bytes;
    return Compaction(0).partition_bytes;
  };
  EXPECT_EQ(with_cache(1 << 20), 0u);
  EXPECT_EQ(with_cache(4 << 10), 64u);
  EXPECT_EQ(with_cache(0), 0u);
  // The table of a small flush is not partitioned; that of a large one is.
  options_.block_cache_bytes = 4 << 10;
  EXPECT_EQ(FlushOf(20).partition_bytes, 0u);
  EXPECT_EQ(FlushOf(2'000).partition_bytes, 64u);
  // Filters that stay count as if they were whole, even if they are partitioned.
  maker_.partition_bytes = 100;
  SetLevels({OpenTables{Table(0, 10)}, OpenTables{Table(0, 5'000)}});
  EXPECT_EQ(FlushOf(2'000).partition_bytes, 64u);
  // A repair does not know the store.
  EXPECT_EQ(UsualFilter(Context(), 2).partition_bytes, 0u);
}

TEST_F(FilterPlanTest, RepairsIgnoreTheLevels) {
  const TableFilter filter = UsualFilter(Context(), 3);
  EXPECT_EQ(filter.policy->name(), "standard");
  EXPECT_EQ(filter.target_fpp, 0.01);
  EXPECT_THAT(filter.reason, StartsWith("target: "));
}

TEST_F(FilterPlanTest, PartitionsCountTheFiltersOfAllTrees) {
  options_.filter_goal = FilterGoal();
  options_.block_cache_bytes = 16 << 10;
  SetLevels({OpenTables{Table(0, 1'000)}, OpenTables{Table(0, 3'000)}});
  CompactionPlan plan;
  plan.output_level = 1;
  plan.inputs = tree_->level(0);
  plan.overlapped = tree_->level(1);
  const auto with = [&](uint64_t bytes_beside) {
    const JobContext context = ContextOfTree(Context(), {}, kDefaultKeyspace, bytes_beside).value();
    EXPECT_EQ(PlanFlush(context, *tree_, 2'000)->partition_bytes == 0, bytes_beside == 0);
    return PlanFilters(context, *tree_, plan)->For("").partition_bytes;
  };
  EXPECT_EQ(with(0), 0u);
  EXPECT_EQ(with(16 << 10), 256u);
}

// --- several trees ---

class TreesFilterPlanTest : public FilterPlanTest {
 protected:
  // The default tree and tree 5, each with this many keys in level 1.
  void SetTrees(int keys) {
    std::array<OpenTables, kLevels> levels;
    levels[1].push_back(Table(0, keys));
    maker_.keyspace = 5;
    levels[1].push_back(Table(0, keys));
    maker_.keyspace = kDefaultKeyspace;
    version_ = Version::Create(std::move(levels)).value();
  }
  void CountLookups(KeyspaceId tree, uint64_t lookups) {
    if (tree == kDefaultKeyspace) {
      Counters::Here(&maker_.counters).Add(1, LevelCounts::kLookupsEnded, lookups);
    } else {
      TreeCounters::Here(&version_->TreeOf(tree)->reads().counters)
          .Add(TreeCounters::kLookups, lookups);
    }
  }
  JobContext ContextIn(KeyspaceId keyspace) {
    JobContext store = Context();
    store.table_context.counters = &maker_.counters;
    JobContext context = ContextOfTree(store, own_, keyspace, 0).value();
    context.trees_beside = TreesBeside(store, own_, *version_, {&keyspace, 1}).value();
    return context;
  }
  // A flush of both trees.
  std::vector<TableFilter> FlushOfBoth(uint64_t keys) {
    const JobContext contexts[] = {ContextIn(0), ContextIn(5)};
    const std::vector<FlushOutput> outputs = {{&contexts[0], version_->TreeOf(0), keys},
                                              {&contexts[1], version_->TreeOf(5), keys}};
    return PlanFlush(outputs, {}).value();
  }
  CompactionPlan RewriteOf(KeyspaceId keyspace) const {
    CompactionPlan plan;
    plan.keyspace = keyspace;
    plan.level = plan.output_level = 1;
    plan.inputs = version_->TreeOf(keyspace)->level(1);
    return plan;
  }
  double TargetOfRewrite(KeyspaceId keyspace) {
    return PlanFilters(ContextIn(keyspace), *version_->TreeOf(keyspace), RewriteOf(keyspace))
        ->For("1000000")
        .target_fpp;
  }

  std::shared_ptr<const Version> version_;
  OwnOptions own_;
};

TEST_F(TreesFilterPlanTest, AFlushSharesTheGoalAmongItsOutputs) {
  SetTrees(100);
  options_.filter_goal = FilterGoal::Bytes(25'500);
  for (const TableFilter& filter : FlushOfBoth(10'000)) {
    EXPECT_NEAR(filter.target_fpp, 0.009, 0.0015) << "10 bits a key, less the room for growth";
  }
}

TEST_F(TreesFilterPlanTest, RunsAreWeighedByTheLookupsOfTheirTree) {
  SetTrees(5'000);
  CountLookups(5, 100'000);
  CountLookups(kDefaultKeyspace, 1'000);
  const std::vector<TableFilter> filters = FlushOfBoth(5'000);
  // The lookups are 100,500 to 1,500.
  EXPECT_NEAR(filters[0].target_fpp / filters[1].target_fpp, 67, 10);
  // One lacks the bytes that the other has beyond its share; but not the reverse.
  EXPECT_NEAR(TargetOfRewrite(kDefaultKeyspace) / 0.0082, 8, 2);
  EXPECT_NEAR(TargetOfRewrite(5) / 0.0082, 1, 0.2);
}

TEST_F(TreesFilterPlanTest, OtherTreesTakeTheirPartOfABudget) {
  SetTrees(10'000);
  options_.filter_goal = FilterGoal::Bytes(25'000);
  // The other tree's filters have 10 bits a key already.
  EXPECT_NEAR(TargetOfRewrite(5), 0.0082, 0.002);
  JobContext alone = ContextIn(5);
  alone.trees_beside.clear();
  EXPECT_LT(PlanFilters(alone, *version_->TreeOf(5), RewriteOf(5))->For("").target_fpp, 0.0002);
}

TEST_F(TreesFilterPlanTest, FiltersOfOtherTreesCountForMoves) {
  SetTrees(10'000);
  options_.filter_goal = FilterGoal::Bytes(19'000);
  CompactionPlan move = RewriteOf(5);
  move.output_level = 2;
  move.trivial_move = true;
  EXPECT_TRUE(MoveKeepsTooMuch(ContextIn(5), *version_->TreeOf(5), move));
  JobContext alone = ContextIn(5);
  alone.trees_beside.clear();
  EXPECT_FALSE(MoveKeepsTooMuch(alone, *version_->TreeOf(5), move));
}

TEST_F(TreesFilterPlanTest, TreesHaveTheirOwnKinds) {
  SetTrees(1'000);
  Options ribbon = options_;
  ribbon.filter_kind = "ribbon";
  own_[5] = std::make_shared<const Options>(ribbon);
  const std::vector<TableFilter> filters = FlushOfBoth(1'000);
  EXPECT_EQ(filters[0].policy->name(), "standard");
  EXPECT_EQ(filters[1].policy->name(), "ribbon");
  EXPECT_EQ(PlanFilters(ContextIn(5), *version_->TreeOf(5), RewriteOf(5))->For("").policy->name(),
            "ribbon");
}

TEST_F(TreesFilterPlanTest, TreesBesideHaveTheirOwnKinds) {
  SetTrees(1'000);
  options_.filter_goal = FilterGoal::Bytes(25'000);
  options_.filter_kind = "ribbon";
  Options standard = options_;
  standard.filter_kind = "standard";
  own_[5] = std::make_shared<const Options>(standard);
  const auto kind_beside = [&](KeyspaceId keyspace) -> std::string_view {
    const std::vector<RunsOfTree> beside = ContextIn(keyspace).trees_beside;
    return beside.at(0).runs.at(0).kinds->fast;
  };
  EXPECT_EQ(kind_beside(5), "ribbon");
  EXPECT_EQ(kind_beside(kDefaultKeyspace), "standard");
}

TEST_F(TreesFilterPlanTest, OutputsCountFromTheLookupsOfTheirTree) {
  SetTrees(10);
  CountLookups(5, 300);
  CountLookups(kDefaultKeyspace, 40);
  for (const KeyspaceId id : {KeyspaceId{0}, KeyspaceId{5}}) {
    JobContext context = ContextIn(id);
    SetTree(*version_->TreeOf(id), &context);
    EXPECT_EQ(context.lookups_so_far(), id == 5 ? 300u : 40u);
  }
}

}  // namespace
}  // namespace lsm
