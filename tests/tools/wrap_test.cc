#include "tools/sstdump/wrap.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/dice.h"

namespace tools {
namespace {

using testing_support::Dice;

TEST(WrapTest, CountsTerminalColumns) {
  EXPECT_EQ(ColumnsShown(""), 0u);
  EXPECT_EQ(ColumnsShown("abc"), 3u);
  EXPECT_EQ(ColumnsShown("▄▅…"), 3u);
  EXPECT_EQ(ColumnsShown("\x1b[1;31mred\x1b[0m"), 3u);
  EXPECT_EQ(ColumnsShown("a\tb"), 9u);
  EXPECT_EQ(ColumnsShown("12345678\tb"), 17u);
  EXPECT_EQ(WidthOf("a\nlong\nbc"), 4u);
}

TEST(WrapTest, BreaksLinesAtBlanks) {
  EXPECT_EQ(Wrapped("one two three\n", 13, 2), "one two three\n");
  EXPECT_EQ(Wrapped("one two three\n", 12, 2), "one two\n  three\n");
  EXPECT_EQ(Wrapped("one two three\nfour\n", 5, 2), "one\n  two\n  thr\n  ee\nfour\n");
  EXPECT_EQ(Wrapped("one  two   ", 8, 0), "one  two");
  EXPECT_EQ(Wrapped("one two", 3, 0), "one\ntwo");
}

TEST(WrapTest, DoesNotBreakLinesInTheIndent) {
  EXPECT_EQ(Wrapped("  abcdef", 6, 0), "  abcd\nef");
  EXPECT_EQ(Wrapped("  ab cdef", 6, 4),
            "  ab\n   cde\n   f");  // hangs by at most half of the columns
}

TEST(WrapTest, ColourTakesNoColumns) {
  EXPECT_EQ(Wrapped("\x1b[31mone two\x1b[0m", 7, 0), "\x1b[31mone two\x1b[0m");
  EXPECT_EQ(Wrapped("\x1b[31mone two\x1b[0m", 6, 0), "\x1b[31mone\ntwo\x1b[0m");
  EXPECT_EQ(Fitted("\x1b[31ma\tb\x1b[0m c", 4, true), "\x1b[31ma…\x1b[0m");
}

TEST(WrapTest, WrapsLinesAndCutsTables) {
  EXPECT_EQ(Fitted("  one two\n", 7, true), "  one\n   two\n");
  EXPECT_EQ(Fitted("  one two three four\n", 14, true), "  one two\n      three\n      four\n");
  EXPECT_EQ(Fitted("key\tvalue\tmore", 12, true), "key\tval…");
  EXPECT_EQ(Fitted("key\tvalue\tmore", 12, false), "key\tval~");
  EXPECT_EQ(Fitted("key\tvalue", 13, true), "key\tvalue");
}

// For any text, each line fits, and only blanks are lost.
TEST(WrapTest, LinesFitAndLoseNothing) {
  const uint64_t seed = 80;
  SCOPED_TRACE(seed);
  Dice dice(seed);
  const std::string pieces[] = {"a", " ", "word", "  ", "…", "\x1b[32m", "\n", "\x1b[0m"};
  const auto without_blanks = [](const std::string& text) {
    std::string kept;
    for (const char c : text) {
      if (c != ' ' && c != '\n') kept += c;
    }
    return kept;
  };
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint64_t i = dice.Roll(60); i > 0; --i) text += pieces[dice.Roll(std::size(pieces))];
    const size_t columns = 1 + dice.Roll(30);
    const std::string wrapped = Wrapped(text, columns, dice.Roll(20));
    EXPECT_LE(WidthOf(wrapped), columns) << text;
    EXPECT_EQ(without_blanks(wrapped), without_blanks(text));
  }
}

}  // namespace
}  // namespace tools
