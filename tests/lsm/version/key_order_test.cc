// The order of tables by their spans and sequences, without files.
#include "lsm/version/key_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string_view>

#include "lsm/base/key_span.h"
#include "lsm/version/age_order.h"

namespace lsm {
namespace {

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

}  // namespace
}  // namespace lsm
