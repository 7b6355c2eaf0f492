#include "tools/sstdump/characters.h"

#include <gtest/gtest.h>

#include <string>

#include "lsm/bytes/escape.h"
#include "tests/support/dice.h"

namespace tools {
namespace {

using testing_support::Dice;

TEST(CharactersTest, KeepsPrintableCharacters) {
  for (const std::string text :
       {"décolletage", "Größe", "ключ", "キー", "键", "🔑", "א", "…", "│"}) {
    EXPECT_EQ(EscapeAllButPlain(text), text);
  }
  EXPECT_EQ(EscapeAllButPlain("a\\b\n\x7f"), "a\\\\b\\x0a\\x7f");
}

TEST(CharactersTest, EscapesDeceptiveCharacters) {
  for (const std::string text :
       {"\u0080", "\u009b", "\u00a0", "\u00ad", "e\u0301",    "\u200b",    "\u200d",
        "\u200e", "\u202e", "\u2066", "\u2028", "\u2029",     "\u3000",    "\u2800",
        "\ufeff", "\ufe0f", "\ue000", "\ufffd", "\U000e0041", "\U0010ffff"}) {
    const std::string bytes = text.substr(text.front() == 'e' ? 1 : 0);
    EXPECT_EQ(EscapeAllButPlain(bytes), lsm::Escape(bytes)) << lsm::Escape(text);
  }
}

TEST(CharactersTest, EscapesInvalidUtf8) {
  for (const std::string bytes : {"\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                                  "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xf0\x82\x82\xac"}) {
    EXPECT_EQ(EscapeAllButPlain(bytes), lsm::Escape(bytes)) << lsm::Escape(bytes);
  }
  EXPECT_EQ(EscapeAllButPlain("\xc3\xc3\xa9"), "\\xc3é");
}

// Shown text can be typed.
TEST(CharactersTest, UnescapeUndoesIt) {
  Dice dice(3);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(dice.Roll(12), '\0');
    for (char& byte : bytes) {
      byte =
          dice.OneIn(2) ? static_cast<char>(dice.Next()) : "\xc3\xa9\xe2\x82\xac\\x"[dice.Roll(7)];
    }
    std::string back;
    ASSERT_TRUE(lsm::Unescape(EscapeAllButPlain(bytes), &back));
    ASSERT_EQ(back, bytes);
  }
}

TEST(CharactersTest, CountsTerminalColumns) {
  EXPECT_EQ(ColumnsOf("abc"), 3u);
  EXPECT_EQ(ColumnsOf("é…▁"), 3u);
  EXPECT_EQ(ColumnsOf("キー"), 4u);
  EXPECT_EQ(ColumnsOf("🔑"), 2u);
  EXPECT_EQ(ColumnsOf("e\u0301"), 1u);
  EXPECT_EQ(ColumnsOf("\xff\xff"), 2u);
}

}  // namespace
}  // namespace tools
