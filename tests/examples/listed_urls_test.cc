#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/examples/programs.h"
#include "tests/support/dice.h"

namespace {

using testing::HasSubstr;
using testing_support::Dice;

class ListedUrlsTest : public testing_support::ProgramsTest {
 protected:
  // The lines of `urls` that are listed.
  std::string Listed(const std::string& urls, const std::string& options = "") {
    Save("urls", urls);
    return OutputOf("listed_urls list" + options + " < urls");
  }
};

TEST_F(ListedUrlsTest, FindsPagesFoldersAndHosts) {
  Save("list", "bad.example/\ngood.example/a/b.html\ngood.example/a/c?q=1\ngood.example/x/\n");
  for (const char* url :
       {"http://bad.example", "https://BAD.example/any/thing?x#y", "bad.example/", "bad.example?q",
        "http://good.example/a/b.html", "good.example/a/b.html?q=2#f", "good.example/a/c?q=1",
        "good.example/x/", "good.example/x/y/z.html\r"}) {
    const std::string line = std::string(url) + "\n";
    EXPECT_EQ(Listed(line), line.substr(0, line.find('\r')) + (line.ends_with("\r\n") ? "\n" : ""));
  }
  for (const char* url : {"http://good.example", "good.example/a/", "good.example/a/b.htm",
                          "good.example/A/b.html", "good.example/a/c", "good.example/a/c?q=2",
                          "good.example/x", "notbad.example/", "good.example/?bad.example/", ""})
    EXPECT_EQ(Listed(std::string(url) + "\n"), "") << url;
}

// Tests every entry and its neighbours, whatever the FPP of the filter.
TEST_F(ListedUrlsTest, MatchesTheList) {
  Dice dice(5);
  for (const char* fpp : {"0.9", "0.01"}) {
    std::set<std::string> entries;
    while (entries.size() < 500)
      entries.insert("h" + std::to_string(dice.Roll(100)) + "/" + std::string(dice.Roll(40), 'p') +
                     std::to_string(dice.Roll(1000)));
    std::string list, urls, expected;
    for (const std::string& entry : entries) {
      list += entry + "\n";
      for (const char* behind : {"", "0", "x"}) {
        urls += entry + behind + "\n";
        if (entries.contains(entry + behind)) expected += entry + behind + "\n";
      }
    }
    Save("list", list);
    EXPECT_EQ(Listed(urls, std::string(" --fpp ") + fpp), expected);
    Save("list", list.substr(0, list.size() - 1));  // the last line without its end
    EXPECT_EQ(Listed(urls, std::string(" --fpp ") + fpp), expected);
  }
}

TEST_F(ListedUrlsTest, RarelySearchesTheListForOthers) {
  std::string list, urls;
  for (int i = 10'000; i < 20'000; ++i) list += "host" + std::to_string(i) + "/\n";
  for (int i = 20'000; i < 60'000; ++i) urls += "host" + std::to_string(i) + "\n";
  Save("list", list);
  Save("urls", urls);
  const Outcome outcome = Shell("listed_urls list --fpp 0.01 --seed 4 < urls");
  EXPECT_EQ(outcome.out, "");
  const size_t at = outcome.err.find("40000 questions, ");
  ASSERT_NE(at, outcome.err.npos) << outcome.err;
  EXPECT_NEAR(std::stoi(outcome.err.substr(at + 17)), 400, 80);
}

TEST_F(ListedUrlsTest, NamesErrors) {
  const auto expect = [this](const std::string& command, int code, const std::string& message) {
    const Outcome outcome = Shell(command);
    EXPECT_EQ(outcome.code, code) << command;
    EXPECT_THAT(outcome.err, HasSubstr("listed_urls: " + message)) << command;
  };
  Save("list", "b/\na/\n");
  expect("listed_urls list <<< a", 1, "list: line 2 is not above the line before");
  Save("list", "a/\na/\n");
  expect("listed_urls list <<< a", 1, "list: line 2 is not above");
  Save("list", "a/\n");
  expect("listed_urls nothing <<< a", 3, "nothing: cannot be read");
  expect("listed_urls . <<< a", 3, ".: cannot be read");
  expect("listed_urls <<< a", 2, "a word is missing");
  expect("head -c 9000 /dev/zero | listed_urls list", 1, "line 1 is longer than 8 KiB");
  expect("listed_urls list <<< a/ > /dev/full", 3, "cannot write");
  Save("list", "");
  EXPECT_EQ(Listed("a/\n"), "");
  EXPECT_THAT(OutputOf("listed_urls --help"), testing::StartsWith("Usage: listed_urls "));
}

}  // namespace
