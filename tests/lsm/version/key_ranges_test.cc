#include "lsm/version/key_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/escape.h"
#include "tests/support/dice.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::Dice;

std::vector<size_t> With(const KeyRanges& ranges, std::string_view key) {
  const std::span<const uint32_t> found = ranges.With(key);
  return {found.begin(), found.end()};
}

TEST(KeyRangesTest, NoRangesHoldNothing) {
  EXPECT_THAT(With(KeyRanges(), ""), IsEmpty());
  EXPECT_THAT(With(KeyRanges(), "a"), IsEmpty());
}

TEST(KeyRangesTest, IncludesEndsAndKeepsOrder) {
  const std::vector<KeySpan> ends = {KeySpan::OfKeys("key20", "key40"),
                                     KeySpan::OfKeys("key10", "key30"),
                                     KeySpan::OfKeys("key30", "key30")};
  const KeyRanges ranges(ends);
  EXPECT_THAT(With(ranges, "key0"), IsEmpty());
  EXPECT_THAT(With(ranges, "key10"), ElementsAre(1));
  EXPECT_THAT(With(ranges, "key2"), ElementsAre(1));
  EXPECT_THAT(With(ranges, "key20"), ElementsAre(0, 1));
  EXPECT_THAT(With(ranges, "key30"), ElementsAre(0, 1, 2));
  EXPECT_THAT(With(ranges, "key300"), ElementsAre(0));
  EXPECT_THAT(With(ranges, "key40"), ElementsAre(0));
  EXPECT_THAT(With(ranges, "key400"), IsEmpty());
  EXPECT_THAT(With(ranges, "kez"), IsEmpty());
  EXPECT_THAT(With(ranges, "ke"), IsEmpty());
  EXPECT_THAT(With(ranges, ""), IsEmpty());
}

TEST(KeyRangesTest, ExcludesEndsAndHasOpenOnes) {
  const std::vector<KeySpan> ends = {{"c", "e"}, {"e", std::nullopt}, {"", "c"}, {"d", "e"}};
  const KeyRanges ranges(ends);
  EXPECT_THAT(With(ranges, ""), ElementsAre(2));
  EXPECT_THAT(With(ranges, "bz"), ElementsAre(2));
  EXPECT_THAT(With(ranges, "c"), ElementsAre(0));
  EXPECT_THAT(With(ranges, "d"), ElementsAre(0, 3));
  EXPECT_THAT(With(ranges, "e"), ElementsAre(1));
  EXPECT_THAT(With(ranges, "zz"), ElementsAre(1));
  const std::vector<KeySpan> all = {KeySpan()};
  EXPECT_THAT(With(KeyRanges(all), ""), ElementsAre(0));
  EXPECT_THAT(With(KeyRanges(all), "zz"), ElementsAre(0));
}

// Few letters, zero bytes among them, and lengths around the eight bytes of a head, so that heads
// are often equal where keys are not.
TEST(KeyRangesTest, MatchesKeyComparisons) {
  Dice dice(1);
  const auto word = [&](std::string_view prefix) {
    std::string made(prefix);
    for (size_t i = dice.Roll(12); i > 0; --i) made += "\0\1a\xff"[dice.Roll(4)];
    return made;
  };
  int held = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::string prefix = round % 2 == 0 ? "" : "a\xffprefix";
    struct Ends {
      std::string begin, end;
      bool is_last;  // `end` is included
    };
    std::vector<Ends> ends(1 + dice.Roll(6));
    std::vector<KeySpan> views;
    std::vector<std::string> probes = {"", word(""), word(prefix), word(prefix), prefix};
    for (auto& [begin, end, is_last] : ends) {
      begin = word(prefix);
      end = word(prefix);
      if (end < begin) std::swap(begin, end);
      is_last = begin == end || dice.OneIn(2);
      views.push_back(is_last ? KeySpan::OfKeys(begin, end) : KeySpan{begin, end});
      probes.insert(probes.end(), {begin, end, begin + '\0', end + '\0'});
    }
    const KeyRanges ranges(views);
    for (const std::string& probe : probes) {
      std::vector<size_t> expected;
      for (size_t i = 0; i < ends.size(); ++i) {
        const auto& [begin, end, is_last] = ends[i];
        if (begin <= probe && (is_last ? probe <= end : probe < end)) expected.push_back(i);
      }
      held += static_cast<int>(expected.size());
      ASSERT_EQ(With(ranges, probe), expected) << Escape(probe);
    }
  }
  EXPECT_GT(held, 10'000);
}

}  // namespace
}  // namespace lsm
