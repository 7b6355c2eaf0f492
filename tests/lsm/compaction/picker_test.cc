#include "lsm/compaction/picker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
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
                                         uint64_t kib = 10) {
    return maker_.Make(number,
                       {PutOf(std::move(from), 2 * number), PutOf(std::move(to), 2 * number + 1)},
                       kib * kKiB);
  }
  void Set(std::array<OpenTables, kLevels> levels) {
    version_ = Version::Create(std::move(levels)).value();
  }
  std::optional<CompactionPlan> Pick() { return PickCompaction(*version_, options_); }

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

}  // namespace
}  // namespace lsm
