// Limits, prices, and plans that the picker itself does not make.  Its choices are tables of text
// (picker_table_test.cc).
#include "lsm/compaction/picker.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lsm/compaction/steps.h"
#include "lsm/fs/file_names.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/lsm/version/table_text.h"

namespace lsm {
namespace {

constexpr uint64_t kKiB = 1024;

TEST(PickerTest, LevelsHoldTenTimesTheLevelAbove) {
  const Tree tree(kDefaultKeyspace);
  Options options;
  const TreeToCompact alone{&tree, &options};
  options.level1_bytes = 64 * kKiB;
  EXPECT_EQ(LevelBytesMax(alone, 1), 64 * kKiB);
  EXPECT_EQ(LevelBytesMax(alone, 2), 640 * kKiB);
  EXPECT_EQ(LevelBytesMax(alone, 5), 640000 * kKiB);
  options.level1_bytes = uint64_t{1} << 62;
  EXPECT_EQ(LevelBytesMax(alone, 2), std::numeric_limits<uint64_t>::max());
}

TEST(PickerTest, BesideOtherTreesLevelsFollowLevel0) {
  constexpr uint64_t kMiB = 1024 * kKiB;
  TableMaker maker;
  Options options;  // 256 MiB in level 1; 4 tables in level 0
  const auto level1_of = [&](const std::vector<uint64_t>& level0_mib, bool has_others) {
    std::array<OpenTables, kLevels> levels;
    for (const uint64_t mib : level0_mib) {
      const uint64_t number = 1 + levels[0].size();
      levels[0].push_back(maker.Make(number, {PutOf("a", number)}, mib * kMiB));
      maker.directory->Remove(TableFileName(number)).IgnoreError();
    }
    const auto tree = Tree::Create(std::move(levels)).value();
    const TreeToCompact one{tree.get(), &options, has_others};
    EXPECT_EQ(LevelBytesMax(one, 2), 10 * LevelBytesMax(one, 1));
    return LevelBytesMax(one, 1) / kMiB;
  };
  EXPECT_EQ(level1_of({2, 10, 1}, false), 256u);
  EXPECT_EQ(level1_of({2, 10, 1}, true), 40u) << "four times the largest";
  EXPECT_EQ(level1_of({1}, true), 4u);
  EXPECT_EQ(level1_of({64, 1}, true), 256u);
  EXPECT_EQ(level1_of({90}, true), 256u);
  EXPECT_EQ(level1_of({}, true), 256u);
  options.level0_compaction_tables = 1;
  EXPECT_EQ(level1_of({2}, true), 4u) << "the least";
  options.level1_bytes = 3 * kMiB;
  EXPECT_EQ(level1_of({2}, true), 3u);
  options = {};
  options.compaction_style = CompactionStyle::kLazyLeveled;
  EXPECT_EQ(level1_of({2}, true), 256u);
}

TEST(PickerTest, ALevelMayBeDueBesideOtherTreesOnly) {
  TableMaker maker;
  Options options;
  std::array<OpenTables, kLevels> levels;
  levels[0] = {maker.Make(2, {PutOf("a", 2)}, kKiB)};
  levels[1] = {maker.Make(1, {PutOf("a", 1)}, 5 * 1024 * kKiB)};
  const auto tree = Tree::Create(std::move(levels)).value();
  for (const bool has_others : {false, true}) {
    const TreeToCompact one{tree.get(), &options, has_others};
    EXPECT_EQ(DueLevel(one), has_others ? std::optional(1) : std::nullopt);
    const auto plan = PickCompaction({&one, 1}, {}, {}).plan;
    ASSERT_EQ(plan.has_value(), has_others);
    if (plan) {
      EXPECT_EQ(plan->level, 1);
    }
  }
}

TEST(PickerTest, ReadersPayByTheirReads) {
  EXPECT_EQ(BytesPaidBy({}), 0u);
  EXPECT_EQ(BytesPaidBy({.asks = 1000}), 4000u);
  EXPECT_EQ(BytesPaidBy({.reads = 1000}), 64000u);
  EXPECT_EQ(BytesPaidBy({.seeks = 1000}), 32000u);
  EXPECT_EQ(BytesPaidBy({1, 1, 1}), 100u);
}

TEST(PickerTest, PlansOfALevelConflictByKeys) {
  TextTables tables(/*kib=*/10);
  const auto tree = Tree::Create(tables.Levels({"L0 9[q r] 8[c p]", "L1 3[n z]"})).value();
  const auto first = std::make_shared<const CompactionPlan>(PlanRange(*tree, 0, "c", "d").value());
  CompactionPlan meets = PlanRange(*tree, 0, "q", "s").value();
  EXPECT_TRUE(Conflicts(meets, {&first, 1}));
  meets.overlapped.clear();  // no table in common
  EXPECT_TRUE(Conflicts(meets, {&first, 1}));
  meets.output_level = 2;
  EXPECT_FALSE(Conflicts(meets, {&first, 1}));
}

// Plans at the same places of two trees.
TEST(PickerTest, PlansOfTwoTreesHaveNothingInCommon) {
  TableMaker maker;
  Options options;
  const auto tree_of = [&](KeyspaceId keyspace) {
    maker.keyspace = keyspace;
    std::array<OpenTables, kLevels> levels;
    levels[0] = {maker.Make(10 * keyspace + 2, {PutOf("a", 3), PutOf("z", 4)})};
    levels[1] = {maker.Make(10 * keyspace + 1, {PutOf("a", 1), PutOf("z", 2)})};
    return Tree::Create(std::move(levels), keyspace).value();
  };
  const auto tree = tree_of(0), other = tree_of(5);
  const auto plan_of = [](const Tree& one) {
    return std::make_shared<const CompactionPlan>(
        PlanRange(one, 0, std::nullopt, std::nullopt).value());
  };
  const auto plan = plan_of(*tree), plan_of_other = plan_of(*other);
  EXPECT_EQ(plan_of_other->keyspace, 5u);
  EXPECT_TRUE(Conflicts(*plan, {&plan, 1}));
  EXPECT_FALSE(Conflicts(*plan, {&plan_of_other, 1}));
  EXPECT_TRUE(TakeFromLevel0(*tree, {&plan, 1}));
  EXPECT_FALSE(TakeFromLevel0(*tree, {&plan_of_other, 1}));
  EXPECT_TRUE(IsPaidByReaders(*tree, options, {&plan_of_other, 1}, uint64_t{1} << 40));
  EXPECT_FALSE(IsPaidByReaders(*tree, options, {&plan, 1}, uint64_t{1} << 40));
}

// Otherwise a table of tombstones would move on as it is.
TEST(PickerTest, RewritesHalfDeadTablesAtTheBottom) {
  TableMaker maker;
  Options options;
  options.level0_compaction_tables = 1;
  const std::string large(5000, 'x');
  const auto is_moved = [&](const OpenTables& level0, const OpenTables& level2) {
    const auto tree = Tree::Create({{level0, {}, level2}}).value();
    return PickCompaction(*tree, options, {}, {.tombstones = PickMoment::Turn::kNever})
        .plan.value()
        .trivial_move;
  };
  const auto live = maker.Make(1, {PutOf("a", 9, large), PutOf("a", 8, "v")});
  const auto dead = maker.Make(2, {PutOf("a", 9, "v"), PutOf("a", 8, large)});
  EXPECT_TRUE(is_moved({live}, {}));
  EXPECT_FALSE(is_moved({dead}, {}));
  EXPECT_TRUE(is_moved({dead}, {maker.Make(3, {PutOf("a", 1)})})) << "not the bottom";
  EXPECT_FALSE(is_moved({dead}, {maker.Make(4, {PutOf("b", 1)})}));
  options.compaction_style = CompactionStyle::kTiered;
  EXPECT_TRUE(is_moved({live}, {}));
  EXPECT_FALSE(is_moved({dead}, {}));
}

TEST(PickerTest, PlansNameTheirTree) {
  TableMaker maker;
  maker.keyspace = 5;
  maker.oldest_tombstone = 1;
  uint64_t number = 0;
  const auto table = [&](uint32_t run = 0) {
    ++number;
    return maker.Make(number, {PutOf("a", 2 * number), DeleteOf("z", 2 * number + 1)}, 0, run);
  };
  const auto tree_of = [](std::array<OpenTables, kLevels> levels) {
    return Tree::Create(std::move(levels), 5).value();
  };
  Options options;
  options.level0_compaction_tables = 2;
  const auto keyspace_of = [&](const Tree& tree, PickMoment::Turn tombstones) {
    const std::optional<CompactionPlan> plan =
        PickCompaction(tree, options, {},
                       {.tombstones = tombstones, .wall_seconds = 2 * kTombstoneSecondsMax})
            .plan;
    return plan ? plan->keyspace : kDefaultKeyspace;
  };
  const auto full = tree_of({{{table(), table()}, {table(2), table(1)}, {table(2), table(1)}}});
  const auto deep = tree_of({{{}, {}, {table()}}});
  for (const CompactionStyle style :
       {CompactionStyle::kLeveled, CompactionStyle::kTiered, CompactionStyle::kLazyLeveled}) {
    options.compaction_style = style;
    EXPECT_EQ(keyspace_of(*full, PickMoment::Turn::kNever), 5u);
    EXPECT_EQ(keyspace_of(*deep, PickMoment::Turn::kAfterLevels), 5u) << "for its tombstone";
  }
  for (int level = 0; level < 3; ++level)
    EXPECT_EQ(PlanRange(*full, level, std::nullopt, std::nullopt)->keyspace, 5u);
  EXPECT_EQ(PlanRange(*deep, 2, std::nullopt, std::nullopt)->keyspace, 5u);
  const CompactionPlan plan = PlanRange(*full, 0, std::nullopt, std::nullopt).value();
  EXPECT_EQ(NextStep(*full, AllOf(plan), 1 << 20)->keyspace, 5u);
  const auto ranges = RangesOf({{"a", "zz", 1000}});
  const auto hidden = tree_of({{{maker.Make(100, {}, 0, 0, ranges)}, {table()}}});
  const std::optional<CompactionPlan> drop = PickDrop(*hidden, {}, {});
  ASSERT_TRUE(drop);
  EXPECT_EQ(drop->keyspace, 5u);
}

TEST(PickerTest, PlansOfAnotherTreeLeaveALevelFull) {
  Options options;
  options.level0_compaction_tables = 4;
  const auto full = [](KeyspaceId keyspace, TableMaker* maker) {
    std::array<OpenTables, kLevels> levels;
    for (uint64_t number = 1; number <= 4; ++number)
      levels[0].push_back(maker->Make(number, {PutOf("a", number)}));
    return Tree::Create(std::move(levels), keyspace).value();
  };
  // The numbers are those of the other tree.
  TableMaker maker, other_maker;
  other_maker.keyspace = 5;
  const auto tree = full(0, &maker), other = full(5, &other_maker);
  const auto plan =
      std::make_shared<const CompactionPlan>(PickCompaction(*tree, options).plan.value());
  EXPECT_EQ(DueLevel({tree.get(), &options}, {&plan, 1}), std::nullopt);
  EXPECT_EQ(DueLevel({other.get(), &options}, {&plan, 1}), 0);
}

}  // namespace
}  // namespace lsm
