#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "bloom/core/sizing.h"
#include "bloom/filter.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/standard.h"
#include "tests/examples/programs.h"
#include "tests/support/dice.h"

namespace {

using testing::HasSubstr;
using testing_support::Dice;

class SpellingTest : public testing_support::ProgramsTest {
 protected:
  // The FPP is so low that no word passes by accident.
  std::string Check(const std::string& words, const std::string& text) {
    Save("words", words);
    Save("text", text);
    return OutputOf("spelling words --fpp 1e-9 < text");
  }
};

TEST_F(SpellingTest, PrintsUnknownWordsAndTheirPlaces) {
  EXPECT_EQ(Check("the\ncat\nsat\n", "The cat satt\n\n  teh cat, THE-cat.\nxyz"),
            "1:9 satt\n3:3 teh\n4:1 xyz\n");
}

TEST_F(SpellingTest, KeepsInnerApostrophes) {
  EXPECT_EQ(Check("don't\ncats\n'\n", "don't 'cats' don\u2019t cats' 'don'x ' ''\n"),
            "1:27 don'x\n");
  EXPECT_EQ(Check("a\n", "don\u2019t"), "1:1 don\u2019t\n");
}

TEST_F(SpellingTest, ColumnsCountCharacters) {
  EXPECT_EQ(Check("\u00fcber\nna\u00efve\n",
                  "\u201c\u00fcber\u201d \u2013 na\u00efve\u2026 \U0001F600 \u00e9a \u00dcber\n"),
            "1:19 \u00e9a\n1:22 \u00dcber\n");
}

TEST_F(SpellingTest, SkipsWordsWithDigits) {
  EXPECT_EQ(Check("a\n", "3rd x86 a1b 42 1' b\n"), "1:19 b\n");
}

TEST_F(SpellingTest, ReadsListsOfOtherSystems) {
  EXPECT_EQ(Check("the\r\n\r\ncat", "the cat dog"), "1:9 dog\n");
  EXPECT_EQ(Check("\xEF\xBB\xBFthe\ncat", "\xEF\xBB\xBFthe cat dog\nthe"), "1:9 dog\n");
}

TEST_F(SpellingTest, AcceptsAnyBytes) {
  Dice dice(1);
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += static_cast<char>(dice.Next());
  text += "\xF0\x9F";
  EXPECT_NE(Check(text, text), text);
  EXPECT_EQ(Check("a\n", "\xE2\x80"), "1:1 \xE2\x80\n");
  EXPECT_EQ(Check("a\n", "a \xFC\x62\x65r a"), "1:3 \xFC\x62\x65r\n");  // of Latin-1
}

TEST_F(SpellingTest, PassesListedWordsAndAShareOfOthers) {
  Dice dice(7);
  const auto some_word = [&](size_t letters) {
    std::string word;
    while (word.size() < letters) word += static_cast<char>('a' + dice.Roll(26));
    return word + "\n";
  };
  std::string list, others;
  for (int i = 0; i < 20'000; ++i) list += some_word(8);
  for (int i = 0; i < 100'000; ++i) others += some_word(9);
  Save("list", list);
  Save("others", others);
  const Outcome known = Shell("spelling list --save kept < list");
  EXPECT_EQ(known.out, "");
  const std::string size =
      std::to_string(bloom::StandardShapeFor(20'000, 0.01)->size / 8) + " bytes";
  EXPECT_THAT(known.err, HasSubstr("20000 words of 180000 bytes make a filter of " + size +
                                   ", 13 % of the list"));
  EXPECT_THAT(known.err, HasSubstr("spelling: 0 words are not in the list"));
  const std::string wrong = OutputOf("spelling list < others");
  const auto lines = static_cast<double>(std::count(wrong.begin(), wrong.end(), '\n'));
  EXPECT_NEAR((100'000 - lines) / 100'000, 0.01, 0.001);

  EXPECT_EQ(OutputOf("spelling --load kept < others"), wrong);
  EXPECT_THAT(Shell("spelling --load kept < list").err,
              HasSubstr("kept knows 20000 words in " + size));
  EXPECT_EQ(OutputOf("cat others | spelling <(cat list) --fpp 0.01"), wrong);
}

TEST_F(SpellingTest, RefusesDamagedFilters) {
  auto filter = bloom::Filter<bloom::Standard>::Make(50, 0.01).value();
  filter.Add("cat");
  const std::string bytes = filter.Serialize();
  for (size_t at = 0; at < bytes.size(); at += 5) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    Save("kept", damaged);
    const Outcome outcome = Shell("spelling --load kept <<< cat");
    EXPECT_EQ(outcome.code, 1) << at;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, testing::StartsWith("spelling: kept: "));
  }
  Save("kept", bytes.substr(0, 70));
  EXPECT_EQ(Shell("spelling --load kept <<< cat").code, 1);
  Save("kept", bloom::Filter<bloom::Blocked>::Make(50, 0.01)->Serialize());
  EXPECT_EQ(Shell("spelling --load kept <<< cat").code, 2);  // sound, but of another kind
}

TEST_F(SpellingTest, ReportsImpossibleRequests) {
  Save("list", "cat\n");
  Save("empty", "\n\n");
  const auto expect = [this](const std::string& command, int code, const std::string& message) {
    const Outcome outcome = Shell(command);
    EXPECT_EQ(outcome.code, code) << command;
    EXPECT_EQ(outcome.out, "") << command;
    EXPECT_THAT(outcome.err, HasSubstr("spelling: " + message)) << command;
  };
  expect("spelling", 2, "either WORDS.txt or --load FILE");
  expect("spelling list --load list", 2, "either WORDS.txt or --load FILE");
  expect("spelling --load list --save x", 2, "--load takes the filter as it is");
  expect("spelling --load - <<< cat", 2, "the standard input has the text");
  expect("spelling - <<< cat", 2, "the standard input has the text");
  expect("spelling list --save - <<< cat", 2, "--save is a file");
  expect("spelling list --save ./list <<< cat", 2, "--save would replace the list itself");
  EXPECT_EQ(Saved("list"), "cat\n");
  expect("spelling list --save '' <<< cat", 2, "--save lacks its value");
  expect("spelling list --save= <<< cat", 2, "--save lacks its value");
  expect("spelling list list", 2, "\"list\" is a word too many");
  expect("spelling list --fpp", 2, "--fpp lacks its value");
  expect("spelling list --fpp=0", 2, "--fpp is no probability from 2.4e-10 to below 1: \"0\"");
  expect("spelling list --fpp nan", 2, "--fpp is no probability");
  expect("spelling list --quick", 2, "there is no option --quick");
  expect("spelling -- --quick", 3, "--quick: No such file or directory");
  expect("spelling .", 3, ".: Is a directory");
  expect("spelling empty", 1, "empty: no words");
  expect("spelling list --save no/such/place <<< cat", 3, "no/such/place: No such file");
  expect("ln -s nowhere link; spelling list --save link <<< cat", 3, "link: is a link to no file");
  expect("spelling list --save /dev/null <<< cat", 3, "/dev/null: is no file that could be");
  expect("spelling list < .", 3, "cannot read the standard input");
  EXPECT_EQ(Shell("spelling list <<< dog > /dev/full").code, 3);
  for (const char* program : {"bloom_join", "exactly_once", "penetration_guard", "spelling"}) {
    EXPECT_THAT(OutputOf(program + std::string(" --help")),
                testing::StartsWith("Usage: " + std::string(program)));
  }
}

}  // namespace
