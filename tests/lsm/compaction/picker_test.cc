#include "lsm/compaction/picker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/lsm/version/table_maker.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kKiB = 1024;

class PickerTest : public testing::Test {
 protected:
  PickerTest() {
    options_.level1_bytes = 64 * kKiB;
    options_.table_bytes = 64 * kKiB;
    options_.level0_compaction_tables = 4;
  }

  // A table from one key to another that takes so much, as far as the picker can see.
  std::shared_ptr<const OpenTable> Table(uint64_t number, std::string from, std::string to,
                                         uint64_t kib = 10, uint32_t run = 0) {
    return maker_.Make(number,
                       {PutOf(std::move(from), 2 * number), PutOf(std::move(to), 2 * number + 1)},
                       kib * kKiB, run);
  }
  std::shared_ptr<const OpenTable> OfRun(uint32_t run, uint64_t number, std::string from,
                                         std::string to, uint64_t kib = 10) {
    return Table(number, std::move(from), std::move(to), kib, run);
  }
  // A table each, from "a" to "z".
  OpenTables Runs(std::initializer_list<uint32_t> runs, uint64_t first_number) {
    OpenTables tables;
    for (const uint32_t run : runs) tables.push_back(OfRun(run, first_number++, "a", "z"));
    return tables;
  }
  void Set(std::array<OpenTables, kLevels> levels) {
    version_ = Version::Create(std::move(levels)).value();
  }
  std::optional<CompactionPlan> Pick() { return PickCompaction(*version_, options_); }
  std::optional<CompactionPlan> PickForReaders(uint64_t paid_bytes) {
    return PickCompaction(*version_, options_, {}, paid_bytes);
  }

  TableMaker maker_;
  Options options_;
  std::shared_ptr<const Version> version_;
};

TEST_F(PickerTest, LevelsHoldTenTimesTheBytesOfTheOneAbove) {
  EXPECT_EQ(LevelBytesMax(options_, 1), 64 * kKiB);
  EXPECT_EQ(LevelBytesMax(options_, 2), 640 * kKiB);
  EXPECT_EQ(LevelBytesMax(options_, 5), 640000 * kKiB);
  options_.level1_bytes = uint64_t{1} << 62;
  EXPECT_EQ(LevelBytesMax(options_, 2), std::numeric_limits<uint64_t>::max());
}

TEST_F(PickerTest, NothingIsDueInASmallTree) {
  Set({});
  EXPECT_EQ(DueLevel(*version_, options_), std::nullopt);
  EXPECT_FALSE(Pick().has_value());
  Set({{{Table(9, "a", "b"), Table(8, "a", "b"), Table(7, "a", "b")},
        {Table(1, "a", "c", 32), Table(2, "d", "e", 32)}}});  // exactly full
  EXPECT_EQ(DueLevel(*version_, options_), std::nullopt);
}

TEST_F(PickerTest, Level0IsDueAtItsNumberOfTables) {
  Set({{{Table(9, "a", "b"), Table(8, "a", "b"), Table(7, "a", "b"), Table(6, "x", "y")}}});
  EXPECT_EQ(DueLevel(*version_, options_), 0);
}

TEST_F(PickerTest, TheLevelFurthestOverItsLimitComesFirst) {
  const OpenTables level0 = {Table(20, "a", "b"), Table(21, "a", "b"), Table(22, "a", "b"),
                             Table(23, "a", "b"), Table(24, "a", "b")};  // 1.25
  Set({{level0, {Table(1, "a", "c", 64), Table(2, "d", "e", 12)}}});     // 1.19
  EXPECT_EQ(DueLevel(*version_, options_), 0);
  Set({{level0, {Table(3, "a", "c", 64), Table(4, "d", "e", 64)}}});  // 2
  EXPECT_EQ(DueLevel(*version_, options_), 1);
  Set({{level0, {Table(5, "a", "c", 64), Table(6, "d", "e", 64)}, {Table(7, "a", "z", 1300)}}});
  EXPECT_EQ(DueLevel(*version_, options_), 2);
}

TEST_F(PickerTest, TheLastLevelIsNeverDue) {
  Set({{{}, {}, {}, {}, {}, {}, {Table(1, "a", "z", uint64_t{1} << 50)}}});
  EXPECT_EQ(DueLevel(*version_, options_), std::nullopt);
}

TEST_F(PickerTest, FromLevel0GoesTheOldestWithAllThatItReaches) {
  // 6 is the oldest; 8 overlaps it, and 9 overlaps 8; 7 stands apart.
  Set({{{Table(9, "c", "d"), Table(8, "b", "c"), Table(7, "p", "q"), Table(6, "a", "b")},
        {Table(1, "a", "a5"), Table(2, "d", "e"), Table(3, "f", "z")}}});
  const std::optional<CompactionPlan> plan = Pick();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->level, 0);
  EXPECT_EQ(plan->output_level, 1);
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(9, 8, 6));
  EXPECT_THAT(NumbersOf(plan->overlapped), ElementsAre(1, 2));
  EXPECT_FALSE(plan->trivial_move);
}

TEST_F(PickerTest, ATableThatOverlapsNothingIsMoved) {
  Set({{{Table(9, "c", "d"), Table(8, "c", "d"), Table(7, "p", "q"), Table(6, "a", "b")},
        {Table(1, "c", "c5")}}});
  const std::optional<CompactionPlan> plan = Pick();
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(6));
  EXPECT_THAT(NumbersOf(plan->overlapped), IsEmpty());
  EXPECT_TRUE(plan->trivial_move);
}

TEST_F(PickerTest, ATableThatOverlapsTooMuchTwoLevelsBelowIsRewritten) {
  // More than ten full tables' worth.
  options_.level0_compaction_tables = 1;
  Set({{{Table(19, "x", "y"), Table(16, "a", "c")}, {}, {Table(1, "a", "b", 640)}}});
  EXPECT_TRUE(Pick()->trivial_move);
  Set({{{Table(29, "x", "y"), Table(26, "a", "c")}, {}, {Table(2, "a", "b", 641)}}});
  EXPECT_THAT(NumbersOf(Pick()->inputs), ElementsAre(26));
  EXPECT_THAT(NumbersOf(Pick()->grandparents), ElementsAre(2));
  EXPECT_FALSE(Pick()->trivial_move);
}

TEST_F(PickerTest, BelowLevel0GoesTheTableWithTheLeastBelowIt) {
  Set({{{},
        {Table(1, "a", "c", 40), Table(2, "d", "f", 40), Table(3, "g", "i", 40)},
        {Table(4, "a", "b", 50), Table(5, "e", "h", 30)}}});
  // Per byte of its own: 1 has 50/40, 2 and 3 have 30/40 each; the first of the least is taken.
  const std::optional<CompactionPlan> plan = Pick();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->level, 1);
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(2));
  EXPECT_THAT(NumbersOf(plan->overlapped), ElementsAre(5));
  EXPECT_FALSE(plan->trivial_move);
  // A larger one with the same below it is the better bargain.
  Set({{{},
        {Table(11, "a", "c", 40), Table(12, "d", "f", 40), Table(13, "g", "i", 60)},
        {Table(14, "a", "b", 50), Table(15, "e", "h", 30)}}});
  EXPECT_THAT(NumbersOf(Pick()->inputs), ElementsAre(13));
}

// --- for readers ---

TEST_F(PickerTest, Level0GoesWhenItsReadersHavePaidForIt) {
  Set({{{Table(9, "a", "z", 6), Table(8, "c", "d", 10)},
        {Table(1, "a", "c", 32), Table(2, "d", "e", 32)},
        {Table(3, "a", "z", 500)}}});
  const uint64_t price = (1024 + 6 + 10 + 64) * kKiB;  // 1 MiB for the job itself
  EXPECT_EQ(PriceForReaders(*version_, options_), price);
  EXPECT_TRUE(IsPaidByReaders(*version_, options_, {}, price));
  EXPECT_EQ(DueLevel(*version_, options_), std::nullopt);
  const std::optional<CompactionPlan> plan = PickForReaders(price);
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->for_readers);
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(9, 8));
  EXPECT_THAT(NumbersOf(plan->overlapped), ElementsAre(1, 2));
  EXPECT_EQ(PriceOf(*plan), price);
  EXPECT_FALSE(IsPaidByReaders(*version_, options_, {}, price - 1));
  EXPECT_FALSE(PickForReaders(price - 1).has_value());
}

TEST_F(PickerTest, ReadersPayByWhatTheyDo) {
  EXPECT_EQ(BytesPaidBy({}), 0u);
  EXPECT_EQ(BytesPaidBy({.asks = 1000}), 4000u);
  EXPECT_EQ(BytesPaidBy({.reads = 1000}), 64000u);
  EXPECT_EQ(BytesPaidBy({.seeks = 1000}), 32000u);
  EXPECT_EQ(BytesPaidBy({1, 1, 1}), 100u);
}

TEST_F(PickerTest, APlanCostsWhatItTakes) {
  // The oldest, which stands apart from the newer one.
  Set({{{Table(9, "p", "z", 6), Table(8, "a", "d", 10)}, {Table(1, "a", "c", 32)}}});
  EXPECT_EQ(PriceForReaders(*version_, options_), (1024 + 48) * kKiB);
  EXPECT_EQ(PriceOf(*PickForReaders(10000 * kKiB)), (1024 + 42) * kKiB);
  Set({{{Table(19, "p", "z", 6), Table(18, "x", "z", 10)}, {Table(11, "a", "c", 32)}}});
  EXPECT_EQ(PriceOf(*PickForReaders(10000 * kKiB)), (1024 + 16) * kKiB);
  Set({{{Table(29, "p", "z", 6)}, {Table(21, "a", "c", 32)}}});
  EXPECT_TRUE(PickForReaders(10000 * kKiB)->trivial_move);
  EXPECT_EQ(PriceOf(*PickForReaders(10000 * kKiB)), 1024 * kKiB);
}

TEST_F(PickerTest, WhatIsOverItsLimitComesBeforeReaders) {
  Set({{{Table(9, "a", "z")}, {Table(1, "a", "c", 50), Table(2, "d", "e", 15)}}});
  const auto first = std::make_shared<const CompactionPlan>(*PickForReaders(10000 * kKiB));
  EXPECT_EQ(first->level, 1);
  EXPECT_FALSE(first->for_readers);
  // Level 0 lies over all of level 1, and with it over what runs.
  EXPECT_TRUE(IsPaidByReaders(*version_, options_, {&first, 1}, 10000 * kKiB));
  EXPECT_FALSE(PickCompaction(*version_, options_, {&first, 1}, 10000 * kKiB).has_value());
  // Level 1 is over its limit beside what runs, which has the table that the rest of it lies over:
  // readers wait as well, though their merge would meet nothing of that.
  Set({{{Table(39, "p", "q")},
        {Table(31, "a", "c", 60), Table(32, "d", "f", 60), Table(33, "p", "q", 10)},
        {Table(34, "a", "q", 10)}}});
  const auto running = std::make_shared<const CompactionPlan>(*PlanRange(*version_, 1, "a", "b"));
  EXPECT_EQ(DueLevel(*version_, options_, {&running, 1}), 1);
  EXPECT_TRUE(IsPaidByReaders(*version_, options_, {&running, 1}, 10000 * kKiB));
  EXPECT_FALSE(PickCompaction(*version_, options_, {&running, 1}, 10000 * kKiB).has_value());
  // A level 0 at its own limit needs no readers.
  Set({{{Table(19, "a", "b"), Table(18, "a", "b"), Table(17, "a", "b"), Table(16, "a", "b")}}});
  EXPECT_FALSE(PickForReaders(10000 * kKiB)->for_readers);
}

TEST_F(PickerTest, ReadersGainNothingByOneRunThatStaysOne) {
  Set({{{Table(9, "a", "b")}, {}, {Table(1, "a", "z")}}});
  EXPECT_EQ(PriceForReaders(*version_, options_), std::nullopt);
  EXPECT_FALSE(PickForReaders(10000 * kKiB).has_value());
  Set({{{}, {Table(2, "a", "z")}}});
  EXPECT_EQ(PriceForReaders(*version_, options_), std::nullopt);
  Set({{{Table(19, "a", "b"), Table(18, "a", "b")}}});
  EXPECT_TRUE(PickForReaders(10000 * kKiB)->for_readers);
}

TEST_F(PickerTest, ReadersPayOnceForWhatIsOnItsWayDown) {
  Set({{{Table(9, "a", "b"), Table(8, "a", "b"), Table(7, "p", "q"), Table(6, "p", "q")},
        {Table(1, "a", "z")}}});
  const auto first =
      std::make_shared<const CompactionPlan>(*PlanRange(*version_, 0, "p", std::nullopt));
  EXPECT_THAT(NumbersOf(first->inputs), ElementsAre(7, 6));
  EXPECT_FALSE(IsPaidByReaders(*version_, options_, {&first, 1}, 10000 * kKiB));
  EXPECT_FALSE(PickCompaction(*version_, options_, {&first, 1}, 10000 * kKiB).has_value());
}

TEST_F(PickerTest, OnlyALevel1OfOneRunTakesWhatReadersPaidFor) {
  const OpenTables level0 = {Table(9, "a", "b"), Table(8, "a", "b")};
  options_.compaction_style = CompactionStyle::kTiered;
  Set({{level0, {Table(1, "a", "z")}}});
  EXPECT_EQ(PriceForReaders(*version_, options_), std::nullopt);
  options_.compaction_style = CompactionStyle::kLazyLeveled;
  EXPECT_TRUE(PickForReaders(10000 * kKiB)->for_readers);  // level 1 is the deepest
  Set({{level0, {Table(2, "a", "z")}, {Table(3, "a", "z")}}});
  EXPECT_EQ(PriceForReaders(*version_, options_), std::nullopt);
}

// --- beside others ---

TEST_F(PickerTest, WhatIsOnItsWayDownIsNotDueAgain) {
  Set({{{Table(9, "a", "b"), Table(8, "a", "b"), Table(7, "p", "q"), Table(6, "a", "b"),
         Table(5, "p", "q"), Table(4, "p", "q"), Table(3, "p", "q")}}});
  const auto first = std::make_shared<const CompactionPlan>(*Pick());
  EXPECT_THAT(NumbersOf(first->inputs), ElementsAre(7, 5, 4, 3));
  EXPECT_EQ(DueLevel(*version_, options_, {&first, 1}), std::nullopt);  // three are left
  EXPECT_FALSE(PickCompaction(*version_, options_, {&first, 1}).has_value());
  options_.level0_compaction_tables = 3;
  EXPECT_EQ(DueLevel(*version_, options_, {&first, 1}), 0);
  EXPECT_THAT(NumbersOf(PickCompaction(*version_, options_, {&first, 1})->inputs),
              ElementsAre(9, 8, 6));
  // 90 KiB where 64 may be, and then 50.
  Set({{{}, {Table(11, "a", "c", 40), Table(12, "d", "f", 50)}}});
  const auto second = std::make_shared<const CompactionPlan>(*Pick());
  EXPECT_EQ(DueLevel(*version_, options_, {&second, 1}), std::nullopt);
}

TEST_F(PickerTest, WhereTheBestTableIsNotFreeTheNextOneGoes) {
  Set({{{},
        {Table(1, "a", "c", 40), Table(2, "d", "f", 40), Table(3, "g", "i", 80)},
        {Table(4, "a", "b", 50), Table(5, "e", "h", 30)}}});
  const auto first = std::make_shared<const CompactionPlan>(*Pick());
  EXPECT_THAT(NumbersOf(first->inputs), ElementsAre(3));
  EXPECT_THAT(NumbersOf(first->overlapped), ElementsAre(5));
  // 2 would be cheaper than 1, but needs 5.
  const std::optional<CompactionPlan> plan = PickCompaction(*version_, options_, {&first, 1});
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(1));
  EXPECT_FALSE(Conflicts(*plan, {&first, 1}));
}

TEST_F(PickerTest, WhereNoTableOfALevelIsFreeTheNextLevelGoes) {
  Set({{{Table(29, "a", "z"), Table(28, "a", "z"), Table(27, "a", "z"), Table(26, "a", "z"),
         Table(25, "a", "z")},
        {Table(1, "a", "c", 40), Table(2, "d", "f", 40)},
        {Table(3, "x", "z", 1000)}}});
  const auto deepest = std::make_shared<const CompactionPlan>(*Pick());  // the fullest
  EXPECT_EQ(deepest->level, 2);
  const std::array both = {deepest, std::make_shared<const CompactionPlan>(
                                        *PickCompaction(*version_, options_, {&deepest, 1}))};
  EXPECT_EQ(both[1]->level, 0);  // as full as level 1, of which it takes all
  EXPECT_THAT(NumbersOf(both[1]->overlapped), ElementsAre(1, 2));
  EXPECT_EQ(DueLevel(*version_, options_, both), 1);
  EXPECT_FALSE(PickCompaction(*version_, options_, both).has_value());  // for it has them all
}

TEST_F(PickerTest, WhatComesToALevelMustNotMeetWhatAnotherPlanWritesThere) {
  // 9 has nothing below it, but 8 and 3 are about to be written around it.
  options_.level0_compaction_tables = 1;
  Set({{{Table(8, "c", "p")}, {Table(3, "n", "z")}}});
  const auto first = std::make_shared<const CompactionPlan>(*Pick());
  Set({{{Table(9, "q", "r"), Table(10, "a", "b"), first->inputs[0]}, {first->overlapped[0]}}});
  EXPECT_THAT(NumbersOf(PickCompaction(*version_, options_, {&first, 1})->inputs), ElementsAre(10));
  CompactionPlan meets = *PlanRange(*version_, 0, "q", "s");
  EXPECT_TRUE(Conflicts(meets, {&first, 1}));
  meets.overlapped.clear();  // no table in common: the keys alone
  EXPECT_TRUE(Conflicts(meets, {&first, 1}));
  meets.output_level = 2;
  EXPECT_FALSE(Conflicts(meets, {&first, 1}));
}

TEST_F(PickerTest, ARangeTakesTheTablesThatMeetIt) {
  Set({{{Table(9, "k", "m")},
        {Table(1, "a", "c"), Table(2, "d", "f"), Table(3, "g", "i")},
        {Table(4, "b", "e"), Table(5, "h", "z")}}});
  std::optional<CompactionPlan> plan = PlanRange(*version_, 1, "c", "e");
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(1, 2));
  EXPECT_THAT(NumbersOf(plan->overlapped), ElementsAre(4));
  EXPECT_EQ(plan->output_level, 2);
  EXPECT_FALSE(plan->trivial_move);  // it is asked for, so it is rewritten
  // The end is exclusive, the beginning inclusive.
  EXPECT_THAT(NumbersOf(PlanRange(*version_, 1, "f", "g")->inputs), ElementsAre(2));
  EXPECT_FALSE(PlanRange(*version_, 1, "f5", "g").has_value());
  EXPECT_THAT(NumbersOf(PlanRange(*version_, 1, std::nullopt, "d")->inputs), ElementsAre(1));
  EXPECT_THAT(NumbersOf(PlanRange(*version_, 1, "g", std::nullopt)->inputs), ElementsAre(3));
  EXPECT_THAT(NumbersOf(PlanRange(*version_, 0, std::nullopt, std::nullopt)->inputs),
              ElementsAre(9));
  EXPECT_FALSE(PlanRange(*version_, 3, std::nullopt, std::nullopt).has_value());
}

TEST_F(PickerTest, ARangeOfLevel0TakesAlsoWhatItReaches) {
  Set({{{Table(9, "c", "d"), Table(8, "b", "c"), Table(7, "p", "q"), Table(6, "a", "b")}}});
  EXPECT_THAT(NumbersOf(PlanRange(*version_, 0, "a", "a5")->inputs), ElementsAre(9, 8, 6));
}

TEST_F(PickerTest, OfTheDeepestLevelOnlyTablesWithGarbageAreRewritten) {
  Set({{{},
        {maker_.Make(1, {PutOf("a", 1), PutOf("b", 2)}),
         maker_.Make(2, {PutOf("c", 1), DeleteOf("d", 2)}),
         maker_.Make(3, {PutOf("e", 9), PutOf("e", 2)}), maker_.Make(4, {PutOf("g", 9)}),
         maker_.Make(5, {DeleteOf("i", 3)})}}});
  const std::optional<CompactionPlan> plan = PlanRange(*version_, 1, std::nullopt, std::nullopt);
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(2, 3, 5));
  EXPECT_THAT(NumbersOf(plan->staying), ElementsAre(1, 4));
  EXPECT_EQ(plan->level, 1);
  EXPECT_EQ(plan->output_level, 1);
  EXPECT_THAT(NumbersOf(plan->overlapped), IsEmpty());
  EXPECT_FALSE(PlanRange(*version_, 1, "g", "i").has_value());
  EXPECT_FALSE(PlanRange(*version_, 1, "a", "c").has_value());
}

// --- leveled, after another style ---

TEST_F(PickerTest, ALeveledLevelOfSeveralRunsIsDueAndBecomesOne) {
  Set({{{},
        {OfRun(3, 9, "a", "m"), OfRun(3, 8, "n", "z"), OfRun(1, 2, "c", "d"),
         OfRun(1, 3, "x", "z")},
        {Table(1, "a", "z")}}});
  EXPECT_EQ(DueLevel(*version_, options_), 1);
  const std::optional<CompactionPlan> plan = Pick();
  EXPECT_EQ(plan->level, 1);
  EXPECT_EQ(plan->output_level, 1);
  EXPECT_EQ(plan->output_run, 1u);  // the oldest
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(9, 8, 2, 3));
  EXPECT_THAT(NumbersOf(plan->overlapped), IsEmpty());
  EXPECT_FALSE(plan->trivial_move);
  // Also in the last level, which is never too full.
  Set({{{}, {}, {}, {}, {}, {}, Runs({1, 0}, 20)}});
  EXPECT_EQ(DueLevel(*version_, options_), 6);
  EXPECT_EQ(Pick()->output_level, 6);
}

TEST_F(PickerTest, IntoALevelOfSeveralRunsGoesATableWithAllThatItReachesThere) {
  options_.level0_compaction_tables = 1;
  options_.compaction_style = CompactionStyle::kLeveled;
  // 9 overlaps 5 of the newer run, which overlaps 2 of the older one, which overlaps 6.
  Set({{{Table(9, "a", "b"), Table(10, "x", "y"), Table(11, "x", "y")},
        {OfRun(2, 5, "b", "d"), OfRun(2, 6, "f", "h"), OfRun(1, 2, "c", "g"),
         OfRun(1, 3, "m", "n")}}});
  EXPECT_EQ(DueLevel(*version_, options_), 0);  // three times its limit, level 1 twice
  const std::optional<CompactionPlan> plan = Pick();
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(9));
  EXPECT_THAT(NumbersOf(plan->overlapped), ElementsAre(5, 6, 2));
  EXPECT_EQ(plan->output_run, 1u);
  EXPECT_FALSE(plan->trivial_move);
}

TEST_F(PickerTest, ATableIsMovedOnlyIntoARunOfItsNumber) {
  Set({{{}, {OfRun(2, 1, "a", "b", 100)}, {OfRun(2, 2, "x", "z")}}});
  EXPECT_TRUE(Pick()->trivial_move);
  EXPECT_EQ(Pick()->output_run, 2u);
  Set({{{}, {OfRun(2, 3, "a", "b", 100)}, {OfRun(0, 4, "x", "z")}}});
  EXPECT_FALSE(Pick()->trivial_move);
  EXPECT_EQ(Pick()->output_run, 0u);
  Set({{{}, {OfRun(2, 5, "a", "b", 100)}}});
  EXPECT_TRUE(Pick()->trivial_move);
  EXPECT_EQ(Pick()->output_run, 2u);
}

// --- tiered ---

class TieredTest : public PickerTest {
 protected:
  TieredTest() { options_.compaction_style = CompactionStyle::kTiered; }
};

TEST_F(TieredTest, ALevelIsDueAtItsRunsWhateverTheirBytes) {
  Set({{{Table(9, "a", "b"), Table(8, "a", "b"), Table(7, "a", "b")},
        {OfRun(2, 1, "a", "z", 10000), OfRun(1, 2, "a", "z"), OfRun(0, 3, "a", "z")},
        {Table(4, "a", "z", 100000)}}});
  EXPECT_EQ(DueLevel(*version_, options_), std::nullopt);
  EXPECT_FALSE(Pick().has_value());
  Set({{{}, {Table(10, "a", "z")}, Runs({7, 6, 5, 3}, 11)}});
  EXPECT_EQ(DueLevel(*version_, options_), 2);
  // The fullest first, and of two the upper one.
  Set({{{}, Runs({3, 2, 1, 0}, 20), Runs({4, 3, 2, 1, 0}, 30)}});
  EXPECT_EQ(DueLevel(*version_, options_), 2);
  Set({{{}, Runs({3, 2, 1, 0}, 40), Runs({3, 2, 1, 0}, 50)}});
  EXPECT_EQ(DueLevel(*version_, options_), 1);
}

TEST_F(TieredTest, AllOfLevel0BecomesTheNewestRunBelow) {
  Set({{{Table(9, "c", "d"), Table(8, "b", "c"), Table(7, "p", "q"), Table(6, "a", "b")},
        {OfRun(4, 2, "a", "z"), OfRun(1, 1, "a", "z")},
        {Table(3, "a", "z")}}});
  const std::optional<CompactionPlan> plan = Pick();
  EXPECT_EQ(plan->level, 0);
  EXPECT_EQ(plan->output_level, 1);
  EXPECT_EQ(plan->output_run, 5u);
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(9, 8, 7, 6));
  EXPECT_THAT(NumbersOf(plan->overlapped), IsEmpty());
  EXPECT_FALSE(plan->trivial_move);
}

TEST_F(TieredTest, AllRunsOfALevelBecomeOneBelow) {
  Set({{{}, Runs({5, 4, 3, 2}, 10)}});
  EXPECT_EQ(Pick()->output_level, 2);
  EXPECT_EQ(Pick()->output_run, 2u);  // nothing there, so any will do
  EXPECT_THAT(NumbersOf(Pick()->inputs), ElementsAre(10, 11, 12, 13));
  EXPECT_FALSE(Pick()->trivial_move);
}

TEST_F(TieredTest, TheLastLevelIsMergedInPlace) {
  Set({{{}, {}, {}, {}, {}, {}, Runs({3, 2, 1}, 10)}});
  EXPECT_FALSE(Pick().has_value());
  Set({{{}, {}, {}, {}, {}, {}, Runs({9, 3, 2, 1}, 20)}});
  EXPECT_EQ(Pick()->level, 6);
  EXPECT_EQ(Pick()->output_level, 6);
  EXPECT_EQ(Pick()->output_run, 1u);
}

TEST_F(TieredTest, ATierHoldsTwoRunsAtLeastBeforeItGoesDown) {
  options_.level0_compaction_tables = 1;
  Set({{{Table(9, "a", "b")}, {Table(1, "a", "z")}}});
  EXPECT_EQ(DueLevel(*version_, options_), 0);
  EXPECT_EQ(Pick()->output_run, 1u);
  Set({{{}, {Table(2, "a", "z")}}});
  EXPECT_EQ(DueLevel(*version_, options_), std::nullopt);
  Set({{{}, Runs({1, 0}, 10)}});
  EXPECT_EQ(DueLevel(*version_, options_), 1);
  // Where nothing is below, a table may be moved.
  Set({{{Table(19, "a", "b")}}});
  EXPECT_TRUE(Pick()->trivial_move);
}

TEST_F(TieredTest, BehindTheLastRunNumberComesAMergeWithAllOfThem) {
  options_.level0_compaction_tables = 2;
  Set({{{Table(9, "a", "b"), Table(8, "c", "d")}, {OfRun(~uint32_t{0}, 2, "a", "b")}, {}}});
  EXPECT_EQ(Pick()->output_run, ~uint32_t{0});
  EXPECT_THAT(NumbersOf(Pick()->overlapped), ElementsAre(2));
}

// --- lazily leveled ---

class LazyLeveledTest : public PickerTest {
 protected:
  LazyLeveledTest() { options_.compaction_style = CompactionStyle::kLazyLeveled; }
};

TEST_F(LazyLeveledTest, Level0GoesIntoTheRunRightBelowIt) {
  const auto level0 = [&](uint64_t from) {
    return OpenTables{Table(from + 3, "c", "d"), Table(from + 2, "b", "c"),
                      Table(from + 1, "p", "q"), Table(from, "a", "b")};
  };
  Set({{level0(10)}});
  EXPECT_EQ(Pick()->output_level, 1);
  EXPECT_EQ(Pick()->output_run, 0u);
  EXPECT_THAT(NumbersOf(Pick()->inputs), ElementsAre(13, 12, 11, 10));
  EXPECT_FALSE(Pick()->trivial_move);
  Set({{level0(20), {Table(1, "a", "m"), Table(2, "n", "q"), Table(3, "r", "z")}}});
  EXPECT_THAT(NumbersOf(Pick()->inputs), ElementsAre(23, 22, 21, 20));
  EXPECT_THAT(NumbersOf(Pick()->overlapped), ElementsAre(1, 2));
  EXPECT_EQ(Pick()->output_run, 0u);
}

TEST_F(LazyLeveledTest, AboveTheDeepestLevelAreTiers) {
  Set({{{Table(9, "a", "b"), Table(8, "a", "b"), Table(7, "a", "b"), Table(6, "a", "b")},
        Runs({2, 0}, 10),
        {Table(1, "a", "z")}}});
  EXPECT_EQ(Pick()->level, 0);
  EXPECT_EQ(Pick()->output_run, 3u);
  EXPECT_THAT(NumbersOf(Pick()->overlapped), IsEmpty());
  // Tiers are as large as they may be, and only the lowest goes into the run.
  Set({{{}, {OfRun(2, 20, "a", "z", 100000), OfRun(1, 21, "a", "z")}, {Table(2, "a", "z")}}});
  EXPECT_FALSE(Pick().has_value());
  Set({{{}, Runs({3, 2, 1, 0}, 30), Runs({1}, 40), {Table(3, "a", "z")}}});
  EXPECT_EQ(Pick()->output_level, 2);
  EXPECT_EQ(Pick()->output_run, 2u);
  EXPECT_THAT(NumbersOf(Pick()->overlapped), IsEmpty());
  Set({{{}, {}, Runs({3, 2, 1, 0}, 50), {Table(4, "a", "m"), Table(5, "n", "z")}}});
  EXPECT_EQ(Pick()->output_level, 3);
  EXPECT_EQ(Pick()->output_run, 0u);
  EXPECT_THAT(NumbersOf(Pick()->overlapped), ElementsAre(4, 5));
}

TEST_F(LazyLeveledTest, TheRunMovesDownWhenItIsTooLarge) {
  Set({{{}, {Table(9, "a", "b")}, {Table(1, "a", "m", 600), Table(2, "n", "z", 40)}}});
  EXPECT_FALSE(Pick().has_value());  // exactly full
  Set({{{}, {Table(19, "a", "b")}, {OfRun(3, 11, "a", "m", 600), OfRun(3, 12, "n", "z", 41)}}});
  EXPECT_EQ(DueLevel(*version_, options_), 2);
  const std::optional<CompactionPlan> plan = Pick();
  EXPECT_TRUE(plan->trivial_move);
  EXPECT_EQ(plan->level, 2);
  EXPECT_EQ(plan->output_level, 3);
  EXPECT_EQ(plan->output_run, 3u);
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(11, 12));
  Set({{{}, {}, {}, {}, {}, {}, {Table(31, "a", "z", uint64_t{1} << 50)}}});
  EXPECT_EQ(DueLevel(*version_, options_), std::nullopt);
}

TEST_F(LazyLeveledTest, ADeepestLevelOfSeveralRunsBecomesOneBeforeAnythingElse) {
  Set({{{}, {Table(9, "a", "b")}, {OfRun(1, 1, "a", "z", 600), OfRun(0, 2, "a", "z", 600)}}});
  EXPECT_EQ(Pick()->level, 2);
  EXPECT_EQ(Pick()->output_level, 2);
  EXPECT_EQ(Pick()->output_run, 0u);
  EXPECT_FALSE(Pick()->trivial_move);
}

// --- ranges, in any shape ---

TEST_F(PickerTest, ARangeOfRunsTakesAlsoWhatItReaches) {
  const auto set = [&](OpenTables level2) {
    Set({{{},
          {OfRun(2, 5, "b", "d"), OfRun(2, 6, "f", "h"), OfRun(1, 2, "c", "e"),
           OfRun(1, 3, "m", "n")},
          std::move(level2)}});
  };
  set({OfRun(7, 20, "a", "b"), OfRun(7, 21, "e", "g"), OfRun(4, 22, "g", "i"),
       OfRun(4, 23, "x", "y")});
  std::optional<CompactionPlan> plan = PlanRange(*version_, 1, "a", "c");
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(5, 2));
  EXPECT_THAT(NumbersOf(plan->overlapped), ElementsAre(20, 21, 22));
  EXPECT_EQ(plan->output_run, 4u);
  // In the deepest level, in place: all of several runs, or the garbage of one.
  plan = PlanRange(*version_, 2, "f", "g");
  EXPECT_THAT(NumbersOf(plan->inputs), ElementsAre(21, 22));
  EXPECT_EQ(plan->output_level, 2);
  EXPECT_EQ(plan->output_run, 4u);
  EXPECT_THAT(NumbersOf(plan->staying), IsEmpty());
  EXPECT_FALSE(PlanRange(*version_, 2, "a", "b").has_value());
  EXPECT_FALSE(PlanRange(*version_, 2, "x", "z").has_value());
}

}  // namespace
}  // namespace lsm
