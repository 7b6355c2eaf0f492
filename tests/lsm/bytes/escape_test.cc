#include "lsm/bytes/escape.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace lsm {
namespace {

TEST(EscapeTest, EscapesUnprintableBytesInHex) {
  EXPECT_EQ(Escape("key 1~!"), "key 1~!");
  EXPECT_EQ(Escape("a\\b"), "a\\\\b");
  EXPECT_EQ(Escape(std::string("\0\n\x1b[31m\x7f\xff", 9)), "\\x00\\x0a\\x1b[31m\\x7f\\xff");
  EXPECT_EQ(Escape(""), "");
}

TEST(EscapeTest, CutsLongTextsAndStatesTheirLength) {
  EXPECT_EQ(Escape("abcdef", 4), "abcd… (6 bytes)");
  EXPECT_EQ(Escape("abcdef", 6), "abcdef");
  EXPECT_EQ(Escape("\n\n\n", 2), "\\x0a\\x0a… (3 bytes)");
}

TEST(EscapeTest, UnescapesEveryByte) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  all += "\\x41\\";
  const std::string text = Escape(all);
  for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  std::string back = "something";
  ASSERT_TRUE(Unescape(text, &back));
  EXPECT_EQ(back, all);
}

TEST(EscapeTest, UnescapesHexInEitherCase) {
  std::string bytes;
  ASSERT_TRUE(Unescape("\\xfF\\x4a", &bytes));
  EXPECT_EQ(bytes, "\xffJ");
}

TEST(EscapeTest, RefusesHalfAnEscape) {
  std::string bytes;
  for (const char* text :
       {"\\", "a\\", "\\x", "\\x1", "\\xg0", "\\x0g", "\\n", "\\X41", "\\\\\\"}) {
    EXPECT_FALSE(Unescape(text, &bytes)) << text;
  }
  // Half of an escape, although the other half follows in memory.
  const std::string_view whole = "\\x1f";
  for (size_t length = 1; length < whole.size(); ++length) {
    EXPECT_FALSE(Unescape(whole.substr(0, length), &bytes)) << length;
  }
}

}  // namespace
}  // namespace lsm
