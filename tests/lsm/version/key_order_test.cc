// The order of tables by their spans and sequences, and of the versions of each key.
#include "lsm/version/key_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/key_span.h"
#include "lsm/bytes/status.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

AgedTable TableOf(std::string_view first, std::string_view last, Sequence smallest,
                  Sequence largest) {
  AgedTable table;
  AppendInternalKey(&table.meta.smallest, first, largest, EntryKind::kPut);
  AppendInternalKey(&table.meta.largest, last, smallest, EntryKind::kPut);
  table.smallest_sequence = smallest;
  table.largest_sequence = largest;
  return table;
}

TEST(TableMetaTest, SpansFromTheFirstKeyToTheLast) {
  const AgedTable table = TableOf("b", "d", 1, 2);
  const KeySpan span = table.meta.span();
  EXPECT_EQ(span.begin, "b");
  EXPECT_TRUE(span.Holds("d"));
  EXPECT_FALSE(span.Holds(std::string_view("d\0", 2)));
  EXPECT_EQ(table.meta.first_key(), "b");
  EXPECT_EQ(table.meta.last_key(), "d");
}

TEST(AgeOrderTest, TablesThatMeetAreOfOneFlush) {
  AgeOrder order;
  EXPECT_TRUE(order.Follows({{"a", "c"}, 5, 9}));
  EXPECT_TRUE(order.Follows({{"c", "e"}, 1, 4})) << "no key is in both";
  EXPECT_FALSE(order.Follows({{"d", "f"}, 2, 3}));
}

TEST(AgeOrderTest, TablesThatShareAKeyAreNot) {
  AgeOrder order;
  EXPECT_TRUE(order.Follows({KeySpan::OfKeys("a", "c"), 5, 9}));
  EXPECT_FALSE(order.Follows({KeySpan::OfKeys("c", "e"), 1, 4}));
  EXPECT_TRUE(order.Follows({KeySpan::OfKeys("c", "e"), 10, 11}));
}

TEST(AgeOrderTest, NoTableFollowsAnOpenEnd) {
  AgeOrder order;
  EXPECT_TRUE(order.Follows({{"a", std::nullopt}, 5, 9}));
  EXPECT_FALSE(order.Follows({{"z", std::nullopt}, 1, 4}));
  EXPECT_TRUE(order.Follows({{"z", std::nullopt}, 10, 11}));
}

// Tables of two runs must be compared if they share a key and their sequences mingle.
TEST(TablesToCompareTest, SharesTheLastKey) {
  const AgedRuns meet = {{TableOf("a", "c", 1, 9)}, {TableOf("c", "e", 1, 9)}};
  EXPECT_EQ(TablesToCompare(meet).size(), 2u);
  const AgedRuns apart = {{TableOf("a", "c", 1, 9)}, {TableOf("c0", "e", 1, 9)}};
  EXPECT_TRUE(TablesToCompare(apart).empty());
}

// The pass over both runs goes on in the one whose table ends first.
TEST(TablesToCompareTest, FindsAllPairs) {
  const AgedRuns runs = {
      {TableOf("a", "b", 1, 9), TableOf("d", "k", 1, 9), TableOf("m", "m", 1, 9)},
      {TableOf("c", "d", 1, 9), TableOf("e", "e", 1, 9), TableOf("k", "l", 1, 9),
       TableOf("n", "z", 1, 9)}};
  const AgedRuns to_compare = TablesToCompare(runs);
  ASSERT_EQ(to_compare.size(), 2u);
  ASSERT_EQ(to_compare[0].size(), 1u);
  EXPECT_EQ(to_compare[0][0].meta.first_key(), "d");
  EXPECT_EQ(to_compare[1].size(), 3u);
}

class CompareRunsTest : public testing::Test {
 protected:
  // A table with these entries, in the order of internal keys, and these ranges.
  AgedTable Table(const std::vector<Entry>& entries, const std::vector<RangeDelete>& ranges = {}) {
    AgedTable table;
    table.ranges = std::make_shared<const RangeMap>(RangeMap::Of(ranges));
    table.meta = maker_.WriteFile(++number_, entries, *table.ranges);
    std::set<Sequence> sequences;
    for (const Entry& entry : entries) sequences.insert(entry.sequence);
    for (const RangeDelete& range : ranges) sequences.insert(range.sequence);
    table.smallest_sequence = *sequences.begin();
    table.largest_sequence = *sequences.rbegin();
    return table;
  }

  std::vector<std::string> ProblemsOf(const AgedRuns& runs, uint64_t bytes_max = UINT64_MAX) {
    std::vector<std::string> problems;
    KeyOrderCalls calls;
    calls.problem = [&](const std::string& problem) {
      problems.push_back(problem);
      return true;
    };
    std::optional<std::string> from("");
    while (from) {
      absl::StatusOr<std::optional<std::string>> next =
          CompareRuns(*maker_.directory, maker_.context, runs, *from, bytes_max, calls);
      EXPECT_OK(next);
      from = next.ok() ? *std::move(next) : std::nullopt;
    }
    return problems;
  }

  TableMaker maker_;
  uint64_t number_ = 0;
};

TEST_F(CompareRunsTest, ARangeIsAVersionOfEachKeyThatItCovers) {
  const AgedRuns runs = {{Table({PutOf("a", 9)}, {{"c", "e", 7}})},
                         {Table({PutOf("c", 8), PutOf("e", 4)})},
                         {Table({PutOf("a", 9)}, {{"e", "f", 6}})}};
  for (const uint64_t bytes_max : {uint64_t{1}, UINT64_MAX}) {
    EXPECT_THAT(ProblemsOf(runs, bytes_max),
                ElementsAre("key \"c\": the entry in 000002.table is newer than the range delete "
                            "above it, in 000001.table",
                            "key \"e\": the range delete in 000003.table is newer than the entry "
                            "above it, in 000002.table"));
  }
}

TEST_F(CompareRunsTest, RangesMayHideEachOther) {
  const AgedTable newer = Table({PutOf("x", 20)}, {{"a", "m", 9}});
  const AgedTable older = Table({PutOf("b", 3)}, {{"a", std::nullopt, 5}});
  EXPECT_THAT(ProblemsOf({{newer}, {older}}), IsEmpty());
  EXPECT_THAT(ProblemsOf({{older}, {newer}}),
              ElementsAre(AllOf(HasSubstr("key \"b\": the range delete in 000001.table is newer "
                                          "than the range delete above it, in 000002.table")),
                          HasSubstr("key \"x\": the entry in 000001.table is newer than the range "
                                    "delete above it, in 000002.table")));
}

// Before, between and after the entries of their own tables.
TEST_F(CompareRunsTest, RangesReachBeyondTheEntriesOfTheirTables) {
  const std::vector<AgedTable> above = {Table({PutOf("d", 30)}, {{"b", "e", 9}}),
                                        Table({PutOf("h", 30)}, {{"f", "m", 9}})};
  const auto below = [&](Sequence sequence) {
    std::vector<Entry> entries;
    for (const char* key : {"a", "b", "c", "e", "g", "h0", "l", "m"})
      entries.push_back(PutOf(key, sequence));
    return Table(entries);
  };
  EXPECT_THAT(ProblemsOf({above, {below(8)}}), IsEmpty());
  EXPECT_THAT(ProblemsOf({above, {below(10)}}),
              ElementsAre(HasSubstr("\"b\""), HasSubstr("\"c\""), HasSubstr("\"g\""),
                          HasSubstr("\"h0\""), HasSubstr("\"l\"")));
  EXPECT_THAT(ProblemsOf({{below(8)}, above}).size(), 5u);
  EXPECT_THAT(ProblemsOf({{below(10)}, above}), IsEmpty());
}

TEST_F(CompareRunsTest, TablesMayHaveRangesAlone) {
  const AgedTable ranges = Table({}, {{"b", "d", 9}}), entries = Table({PutOf("c", 5)});
  EXPECT_THAT(ProblemsOf({{ranges}, {entries}}), IsEmpty());
  EXPECT_THAT(ProblemsOf({{entries}, {ranges}}), ElementsAre(HasSubstr("\"c\"")));
  EXPECT_THAT(ProblemsOf({{ranges}, {Table({}, {{"a", "z", 10}})}}), IsEmpty())
      << "no key is visible in any order";
  EXPECT_EQ(TablesToCompare({{entries}, {ranges}}).size(), 2u);
  EXPECT_TRUE(TablesToCompare({{ranges}, {entries}}).empty());
  EXPECT_TRUE(TablesToCompare({{Table({PutOf("d", 5)})}, {ranges}}).empty()) << "they only meet";
}

// Steps leave copies of entries and of ranges below.
TEST_F(CompareRunsTest, CopiesAreInOrder) {
  const AgedTable above = Table({PutOf("c", 7), PutOf("k", 12)}, {{"a", "z", 9}});
  const AgedTable copies = Table({PutOf("k", 12)}, {{"a", "m", 9}});
  EXPECT_THAT(ProblemsOf({{above}, {copies}, {Table({PutOf("c", 2), PutOf("k", 1)})}}), IsEmpty());
}

TEST_F(CompareRunsTest, TreesStateTheRangesOfTheirTables) {
  const RangeMap ranges = RangesOf({{"b", "d", 9}});
  ASSERT_OK_AND_ASSIGN(
      const std::shared_ptr<const Tree> tree,
      Tree::Create({{{maker_.Make(2, {}, 0, 0, ranges)}, {maker_.Make(1, {PutOf("c", 5)})}}}));
  const AgedRuns runs = AgedRunsOf(*tree);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(*runs[0][0].ranges, ranges);
  EXPECT_EQ(runs[0][0].largest_sequence, 9u);
  EXPECT_TRUE(runs[1][0].ranges->empty());
  EXPECT_THAT(ProblemsOf({runs[1], runs[0]}), ElementsAre(HasSubstr("\"c\"")));
}

// Random runs, against the rule itself: the first run with a version of a key has the newest one.
TEST_F(CompareRunsTest, FindsTheSameKeysAsTheRule) {
  testing_support::Dice dice(7);
  const auto below = [&](size_t n) { return dice.Roll(n); };
  size_t found = 0;
  for (int round = 0; round < 300; ++round) {
    AgedRuns runs;
    std::vector<std::map<char, Sequence>> of_runs;  // the newest version of each key
    std::set<char> with_entries;
    for (size_t run = 0; run < 3; ++run) {
      runs.emplace_back();
      std::map<char, Sequence>& versions = of_runs.emplace_back();
      for (const auto& [first, last] : {std::pair('a', 'f'), std::pair('f', 'l')}) {
        std::vector<Entry> entries;
        std::vector<RangeDelete> ranges;
        std::vector<std::string> bounds;
        for (char key = first; key < last; ++key) {
          if (below(3) > 0) continue;
          const Sequence sequence = 20 * (3 - run) + 2 * below(14) + 1;
          entries.push_back(PutOf(std::string(1, key), sequence, "of all"));
          versions[key] = std::max(versions[key], sequence);
          with_entries.insert(key);
        }
        bounds.reserve(4);
        for (size_t i = below(3); i > 0; --i) {
          const char from = static_cast<char>(first + below(4)), to = static_cast<char>(from + 2);
          const Sequence sequence = 20 * (3 - run) + 2 * below(14);
          bounds.emplace_back(1, from);
          bounds.emplace_back(1, std::min(to, last));
          ranges.push_back({bounds[bounds.size() - 2], bounds.back(), sequence});
          for (char key = from; key < std::min(to, last); ++key)
            versions[key] = std::max(versions[key], sequence);
        }
        if (!entries.empty() || !ranges.empty()) runs.back().push_back(Table(entries, ranges));
      }
    }
    std::set<std::string> expected;
    for (const char key : with_entries) {
      Sequence first = 0, highest = 0;
      for (std::map<char, Sequence>& versions : of_runs) {
        if (first == 0) first = versions[key];
        highest = std::max(highest, versions[key]);
      }
      if (first != highest) expected.insert(Concat("key \"", std::string(1, key), "\""));
    }
    std::set<std::string> reported;
    for (const std::string& problem : ProblemsOf(runs)) reported.insert(problem.substr(0, 7));
    ASSERT_EQ(reported, expected) << "round " << round;
    found += expected.size();
  }
  EXPECT_GT(found, 40u);
}

}  // namespace
}  // namespace lsm
