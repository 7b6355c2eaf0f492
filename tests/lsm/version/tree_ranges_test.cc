// Tables with range deletes in a tree: their spans, and what they count for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/version/tree.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/lsm/version/tree_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

using TreeRangesTest = TreeFixture;

TEST_F(TreeRangesTest, SpansHoldEntriesAndRanges) {
  const auto table = [&](uint64_t number, const std::vector<Entry>& entries, const RangeMap& map) {
    return maker_.Make(number, entries, 0, 0, map);
  };
  const std::vector<Entry> df = {PutOf("d", 1), PutOf("f", 1)};
  const std::string after_f("f\0", 2);
  EXPECT_EQ(table(1, df, {})->meta.span(), (KeySpan{"d", KeyEnd(after_f)}));
  EXPECT_EQ(table(2, df, RangesOf({{"b", "e", 9}}))->meta.span(), (KeySpan{"b", KeyEnd(after_f)}));
  EXPECT_EQ(table(3, df, RangesOf({{"e", "k", 9}}))->meta.span(), (KeySpan{"d", KeyEnd("k")}));
  EXPECT_EQ(table(4, df, RangesOf({{"e", {}, 9}}))->meta.span(), (KeySpan{"d", std::nullopt}));
  EXPECT_EQ(table(5, {}, RangesOf({{"b", "c", 9}}))->meta.span(), (KeySpan{"b", KeyEnd("c")}));

  // Tables of a run meet, or overlap, by their ranges.
  const auto left = table(6, {PutOf("a", 2)}, RangesOf({{"a", "c", 9}})),
             middle = table(7, {}, RangesOf({{"c", "g", 9}})), right = table(8, df, {});
  const auto tree = TreeOf({{{}, {left, table(9, {PutOf("x", 1)}, {})}, {left, middle}}});
  EXPECT_THAT(Tree::Create({{{}, {middle, right}}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("overlap")));
  const auto overlapping = [&](const KeySpan& span) {
    return NumbersOf(tree->Overlapping(2, span));
  };
  EXPECT_THAT(overlapping({"b", KeyEnd("c")}), ElementsAre(6));
  EXPECT_THAT(overlapping({"b", KeyEnd("d")}), ElementsAre(6, 7));
  EXPECT_THAT(overlapping({"g", std::nullopt}), IsEmpty());
  EXPECT_EQ(Below(*tree, 1, 0, "afgx"), "af");
}

TEST_F(TreeRangesTest, RangesCountForTheOrderOfLevelZero) {
  const RangeMap map = RangesOf({{"k", "m", 50}});
  const auto older = maker_.Make(1, {PutOf("a", 1)}, 0, 0, map),
             newer = maker_.Make(2, {PutOf("a", 60)}), between = maker_.Make(3, {PutOf("a", 40)});
  EXPECT_OK(Tree::Create({{{older, newer}}}));
  EXPECT_THAT(Tree::Create({{{older, between}}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("smallest_sequence 40")));
}

TEST_F(TreeRangesTest, OlderSpanIsTheHullOfOlderTables) {
  const auto tree =
      TreeOf({{{maker_.Make(9, {PutOf("a", 90), PutOf("m", 91)})},
               {OfRun(3, 5, {PutOf("c", 50), PutOf("e", 50)}), OfRun(3, 6, {PutOf("k", 51)}),
                OfRun(1, 4, {PutOf("d", 40), PutOf("f", 40)})},
               {maker_.Make(1, {PutOf("g", 1)}), maker_.Make(2, {PutOf("i", 1)})}}});
  const auto older = [&](int level, uint32_t run, const KeySpan& span) {
    const std::optional<KeySpan> found = tree->OlderSpan(level, run, span);
    if (!found) return std::string("none");
    std::string text = Concat(found->begin, " ", found->end ? found->end->ToString() : "end");
    std::replace(text.begin(), text.end(), '\0', '.');
    return text;
  };
  const KeySpan all;
  EXPECT_EQ(older(-1, 0, all), "a m.");
  EXPECT_EQ(older(0, 0, all), "c k.");
  EXPECT_EQ(older(1, 4, all), "c k.");
  EXPECT_EQ(older(1, 3, all), "d i.");
  EXPECT_EQ(older(1, 1, all), "g i.");
  EXPECT_EQ(older(2, 0, all), "none");
  // Only what overlaps the span, and only its part in the span.
  EXPECT_EQ(older(0, 0, {"d", KeyEnd("e")}), "d e");
  EXPECT_EQ(older(0, 0, {"ea", KeyEnd("ec")}), "ea ec");
  EXPECT_EQ(older(0, 0, {"fa", KeyEnd("g")}), "none");
  EXPECT_EQ(older(0, 0, {"fa", KeyEnd("h")}), "g g.");
  EXPECT_EQ(older(1, 3, {"a", KeyEnd("h")}), "d g.");
  EXPECT_EQ(older(0, 0, {"h", std::nullopt}), "i k.");
}

TEST_F(TreeRangesTest, TombstonesCoverNoTableWithoutEntries) {
  const auto ranges = maker_.Make(7, {}, 0, 0, RangesOf({{"b", "f", 70}}));
  const auto covered = [](const Tree& tree) {
    return tree.CoveredBytes(-1, 0, "c", TableMaker::kDigestSeed);
  };
  EXPECT_EQ(covered(*TreeOf({{{}, {ranges}}})), 0u);
  EXPECT_GT(covered(*TreeOf({{{}, {ranges}, {maker_.Make(3, {PutOf("c", 5)})}}})), 0u);
}

TEST_F(TreeRangesTest, TablesWithoutEntriesHardlyCount) {
  OpenTables tables = {maker_.Make(50, {PutOf("a", 50)})};
  for (uint64_t number = 1; number <= 17; ++number) {
    const RangeMap map = RangesOf({{"b", "c", number}});
    tables.push_back(maker_.Make(number, {}, 0, 0, map));
    const auto tree = TreeOf({{tables}});
    EXPECT_EQ(tree->run_count(0), number + 1);
    EXPECT_EQ(tree->level0_tables(), number < 16 ? 1u : 2u) << number;
    // A lookup asks their ranges, and reads nothing.
    Statistics statistics;
    tree->Describe(&statistics);
    EXPECT_LT(statistics.levels[0].expected_wasted_reads, 0.1);
  }
}

TEST_F(TreeRangesTest, StatisticsCountRangesAndTheirMemory) {
  const auto describe = [](const std::shared_ptr<const Tree>& tree) {
    Statistics statistics;
    tree->Describe(&statistics);
    const Statistics of_tree = statistics;
    statistics.SumTrees({&of_tree, 1});
    return statistics;
  };
  maker_.oldest_tombstone = 77;
  const auto entries = maker_.Make(1, {PutOf("a", 1)});
  const Statistics without = describe(TreeOf({{{}, {entries}}}));
  EXPECT_EQ(without.total.range_deletes, 0u);
  EXPECT_EQ(without.total.range_bytes, 0u);
  EXPECT_EQ(without.total.oldest_tombstone, 0u);

  const std::string long_key(40, 'k');
  const auto alone = maker_.Make(9, {}, 0, 0, RangesOf({{"b", "d", 90}, {"f", long_key, 91}})),
             beside = maker_.Make(5, {PutOf("a", 50)}, 0, 0, RangesOf({{"a", {}, 51}}));
  const Statistics with = describe(TreeOf({{{alone}, {beside}, {entries}}}));
  EXPECT_EQ(with.levels[0].range_deletes, 2u);
  EXPECT_EQ(with.levels[1].range_deletes, 1u);
  EXPECT_EQ(with.levels[2].range_deletes, 0u);
  EXPECT_EQ(with.total.range_deletes, 3u);
  // 36 bytes for a boundary, 16 for each map, and keys that are too long for the string's object.
  EXPECT_GE(with.levels[0].range_bytes, 4 * 36 + 43u);
  EXPECT_LE(with.levels[0].range_bytes, 4 * 36 + 43u + 16 + 16);
  EXPECT_EQ(with.levels[1].range_bytes, 36u + 16);
  EXPECT_EQ(with.levels[2].range_bytes, 0u);
  EXPECT_EQ(with.total.range_bytes, with.levels[0].range_bytes + with.levels[1].range_bytes);
  EXPECT_EQ(with.levels[0].oldest_tombstone, 77u);
  EXPECT_EQ(with.total.tombstones, 0u);
  // A table of ranges alone needs no filter, so it says nothing about those of its level.
  EXPECT_EQ(with.levels[0].filter_kind, "");
  EXPECT_EQ(with.levels[1].filter_kind, "blocked");
  const Statistics mixed = describe(TreeOf({{{alone, beside}}}));
  EXPECT_EQ(mixed.levels[0].filter_kind, "blocked") << "although the other table is newer";
}

}  // namespace
}  // namespace lsm
