#include "lsm/base/key_span.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/escape.h"

namespace lsm {
namespace {

using std::string_literals::operator""s;

// All keys of up to three bytes out of three letters, one of them zero.
std::vector<std::string> AllKeys() {
  std::vector<std::string> keys = {""};
  for (size_t i = 0; i < keys.size() && keys[i].size() < 3; ++i) {
    for (const char letter : {'\0', '\1', 'b'}) keys.push_back(keys[i] + letter);
  }
  return keys;
}

// Both forms of each key, so each is compared with what it stands for.
TEST(KeyBoundTest, ComparesAsTheKeysThatItStandsFor) {
  const std::vector<std::string> keys = AllKeys();
  ASSERT_EQ(keys.size(), 40u);
  int equal = 0;
  for (const std::string& a : keys) {
    for (const std::string& b : keys) {
      for (const bool after_a : {false, true}) {
        for (const bool after_b : {false, true}) {
          const KeyBound of_a = after_a ? KeyBound::After(a) : KeyBound(a);
          const KeyBound of_b = after_b ? KeyBound::After(b) : KeyBound(b);
          const std::string whole_a = after_a ? a + '\0' : a, whole_b = after_b ? b + '\0' : b;
          ASSERT_EQ(of_a.ToString(), whole_a);
          ASSERT_EQ(of_a < of_b, whole_a < whole_b) << Escape(whole_a) << " " << Escape(whole_b);
          ASSERT_EQ(of_a <= of_b, whole_a <= whole_b);
          ASSERT_EQ(of_a == of_b, whole_a == whole_b);
          equal += static_cast<int>(of_a == of_b);
        }
      }
    }
  }
  EXPECT_EQ(equal, 40 + 40 + 2 * 13) << "each key in the same form; each of up to 2 bytes in two";
}

TEST(KeySpanTest, HoldsKeysFromBeginToEnd) {
  const KeySpan range = {"b", "d"}, table = KeySpan::OfKeys("b", "d"), open = {"b", std::nullopt};
  for (const KeySpan& span : {range, table, open}) {
    EXPECT_FALSE(span.Holds("a\xff"));
    EXPECT_TRUE(span.Holds("b"));
    EXPECT_TRUE(span.Holds("c\xff"));
  }
  EXPECT_FALSE(range.Holds("d"));
  EXPECT_TRUE(table.Holds("d"));
  EXPECT_FALSE(table.Holds("d\0"s));
  EXPECT_TRUE(open.Holds("\xff"));
  EXPECT_TRUE(KeySpan().Holds(""));
  EXPECT_TRUE(KeySpan::OfKeys("", "").Holds(""));
}

TEST(KeySpanTest, SpansThatMeetDoNotOverlap) {
  const KeySpan table = KeySpan::OfKeys("b", "d");
  EXPECT_TRUE(table.Overlaps(KeySpan::OfKeys("d", "e")));
  const std::string next = "d\0"s;
  EXPECT_FALSE(table.Overlaps({next, "e"}));
  EXPECT_TRUE(table.EndsBy(next));
  EXPECT_FALSE(table.EndsBy("d"));
  const KeySpan range = {"b", "d"};
  EXPECT_FALSE(range.Overlaps({"d", std::nullopt}));
  EXPECT_FALSE((KeySpan{"d", std::nullopt}).Overlaps(range));
  EXPECT_TRUE(range.EndsBy("d"));
  EXPECT_TRUE(range.Overlaps({"", std::nullopt}));
}

TEST(KeySpanTest, AnEmptySpanHoldsNothing) {
  EXPECT_TRUE((KeySpan{"b", "b"}).empty());
  EXPECT_TRUE((KeySpan{"c", "b"}).empty());
  EXPECT_FALSE((KeySpan{"b", KeyBound::After("b")}).empty());
  EXPECT_FALSE(KeySpan().empty());
}

// Hulls and cuts of all spans of some keys, against each key.
TEST(KeySpanTest, HullsAndCutsHoldTheRightKeys) {
  std::vector<std::string> keys = {"", "a", "a\0"s, "b", "b\0"s, "c"};
  std::vector<KeySpan> spans;
  for (const std::string& begin : keys) {
    spans.push_back({begin, std::nullopt});
    for (const std::string& end : keys) {
      for (const KeySpan& span : {KeySpan{begin, end}, KeySpan::OfKeys(begin, end)}) {
        if (!span.empty()) spans.push_back(span);
      }
    }
  }
  int cuts = 0;
  for (const KeySpan& a : spans) {
    for (const KeySpan& b : spans) {
      const KeySpan hull = HullOf(a, b), cut = CutTo(a, b);
      ASSERT_TRUE(hull.Covers(a) && hull.Covers(b));
      ASSERT_TRUE(hull.begin == a.begin || hull.begin == b.begin);
      ASSERT_TRUE(hull.end == a.end || hull.end == b.end);
      ASSERT_EQ(a.Overlaps(b), !cut.empty());
      ASSERT_EQ(a.Covers(b), cut == b);
      for (const std::string& key : keys) ASSERT_EQ(cut.Holds(key), a.Holds(key) && b.Holds(key));
      cuts += static_cast<int>(!cut.empty());
    }
  }
  EXPECT_GT(cuts, 500);
}

}  // namespace
}  // namespace lsm
