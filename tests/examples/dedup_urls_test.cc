#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/filter.h"
#include "bloom/variants/blocked.h"
#include "tests/examples/programs.h"
#include "tests/support/dice.h"
#include "tests/support/sanitized.h"

namespace {

using testing::HasSubstr;
using testing_support::Dice;
using testing_support::RunningProgram;

class DedupUrlsTest : public testing_support::ProgramsTest {
 protected:
  static std::vector<std::string> LinesOf(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(DedupUrlsTest, PrintsALineOnce) {
  EXPECT_EQ(OutputOf("printf 'b\\na\\nb\\n\\nb\\n\\na b\\na' | dedup_urls"), "b\na\n\na b\n");
  EXPECT_EQ(OutputOf("printf '' | dedup_urls"), "");
  EXPECT_EQ(OutputOf("printf 'a\\0b\\na\\0c\\na\\0b\\n' | dedup_urls | tr '\\0' ."), "a.b\na.c\n");
  EXPECT_THAT(Shell("printf 'a\\na\\nb' | dedup_urls --window 3").err,
              HasSubstr("dedup_urls: 2 of 3 lines printed; 2 remembered in "));
}

// Some lines repeat at once, some later, and some after they were forgotten.
TEST_F(DedupUrlsTest, RemembersOnlyTheWindow) {
  constexpr size_t kWindow = 300;
  Dice dice(9);
  std::string text;
  std::vector<std::string> lines;
  for (size_t i = 0; i < 10'000; ++i) {
    const uint64_t back = uint64_t{1} << dice.Roll(12);
    const bool is_new = i == 0 || dice.OneIn(3);
    lines.push_back(is_new ? "http://example.org/" + std::to_string(i)
                           : lines[i - std::min<uint64_t>(i, 1 + dice.Roll(back))]);
    text += lines.back() + "\n";
  }
  Save("lines", text);
  const std::string whole = OutputOf("dedup_urls --window 300 --fpp 1e-8 < lines");

  const std::vector<std::string> printed = LinesOf(whole);
  std::map<std::string, std::vector<size_t>> places;  // of each line, ascending
  size_t next = 0, forgotten = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool is_printed = next < printed.size() && printed[next] == lines[i];
    next += is_printed;
    std::vector<size_t>& before = places[lines[i]];
    if (before.empty()) {
      ASSERT_TRUE(is_printed) << "line " << i << " is new";
    } else if (i - before.back() <= kWindow) {
      ASSERT_FALSE(is_printed) << "line " << i << " came at " << before.back();
    } else {
      // At least 500 different lines came in between, of which the newest generation held at most
      // 100.  So at least 400 were added, as many as all generations hold, and the line is
      // forgotten.
      const std::set<std::string_view> between(
          lines.begin() + static_cast<ptrdiff_t>(before.back()) + 1,
          lines.begin() + static_cast<ptrdiff_t>(std::min(i, before.back() + 3000)));
      if (between.size() >= kWindow / 3 * 4 + kWindow / 3) {
        ASSERT_TRUE(is_printed) << "line " << i << " came at " << before.back();
        ++forgotten;
      }
    }
    before.push_back(i);
  }
  EXPECT_EQ(next, printed.size());
  EXPECT_GT(forgotten, 30u);
  EXPECT_GT(printed.size(), 3'300u);

  // Several processes, one after the other, each with a part of the input, print the same lines.
  Save("output", "");
  std::string pieces;
  for (size_t from = 1; from <= lines.size(); from += 1771) {
    pieces += OutputOf("tail -n +" + std::to_string(from) +
                       " lines | head -n 1771 | dedup_urls --window 300 --fpp 1e-8 --state seen");
  }
  EXPECT_EQ(pieces, whole);
}

TEST_F(DedupUrlsTest, LosesASmallShareOfNewLines) {
  const std::string out = OutputOf("seq 300000 | dedup_urls --window 20000 --fpp 0.01 --seed 2");
  const auto lines = static_cast<double>(std::count(out.begin(), out.end(), '\n'));
  // g - 1 of g generations are full and the newest fills: on average (g - 1/2) / g of the target.
  EXPECT_NEAR(1 - lines / 300'000, 0.00875, 0.0012);
  EXPECT_NE(OutputOf("seq 300000 | dedup_urls --window 20000 --fpp 0.01"), out);  // another seed
}

TEST_F(DedupUrlsTest, PrintsLinesAtOnceAndEndsOnSignals) {
  for (const int signal : {SIGTERM, SIGINT}) {
    RunningProgram program("dedup_urls", {"--state", PathOf("seen"), "--window", "100"}, "",
                           PathOf("errors"));
    const std::string name = "url" + std::to_string(signal);
    program.Write(name + "\n" + name + "\nurl");
    EXPECT_EQ(program.ReadLine(), name);
    program.Write("2-" + name + "\nhalf a line");
    EXPECT_EQ(program.ReadLine(), "url2-" + name);
    program.Signal(signal);
    EXPECT_EQ(program.ReadLine(), std::nullopt);
    EXPECT_EQ(program.Wait(), 0) << Saved("errors");
    Save("lines", name + "\nurl2-" + name + "\nhalf a line\n");
    EXPECT_EQ(OutputOf("dedup_urls --state seen --window 100 < lines"),
              signal == SIGTERM ? "half a line\n" : "");
  }
}

TEST_F(DedupUrlsTest, SignalsInterruptEndlessInput) {
  RunningProgram program("dedup_urls", {}, "/dev/urandom", PathOf("errors"));
  ASSERT_TRUE(program.ReadLine().has_value());
  program.Signal(SIGTERM);
  int lines = 0;
  while (lines < 100'000 && program.ReadLine().has_value()) ++lines;
  ASSERT_LT(lines, 100'000);
  EXPECT_EQ(program.Wait(), 0);
}

TEST_F(DedupUrlsTest, SavedStateNeverRunsAheadOfTheOutput) {
  std::string many;
  for (int i = 100; i < 600; ++i) many += "line " + std::to_string(i) + "\n";
  std::string printed;
  {
    RunningProgram program("dedup_urls", {"--state", PathOf("seen"), "--every", "2"}, "",
                           PathOf("errors"));
    program.Write("a\nb\n");
    EXPECT_EQ(program.ReadLine(), "a");
    EXPECT_EQ(program.ReadLine(), "b");
    program.Write("c\n");
    EXPECT_EQ(program.ReadLine(), "c");  // so it has handled the first two
    // More than the pipe holds, so the program cannot have printed everything when it is killed.
    program.Write(many);
    program.AwaitOutput();
    program.Signal(SIGKILL);
    EXPECT_EQ(program.Wait(), 128 + SIGKILL);
    while (const auto line = program.ReadLine()) printed += *line + "\n";
  }
  EXPECT_LT(printed.size(), many.size());
  Save("lines", "a\nb\n" + many);
  printed += OutputOf("dedup_urls --state seen < lines");
  EXPECT_THAT(LinesOf(printed), testing::IsSupersetOf(LinesOf(many)));
  EXPECT_THAT(LinesOf(printed), testing::Not(testing::Contains("a")));
}

TEST_F(DedupUrlsTest, KillingItLosesNoLine) {
  Dice dice(4);
  std::string text;
  std::set<std::string> all, printed;
  for (int i = 0; i < 20'000; ++i) {
    all.insert("line " + std::to_string(i));
    text += "line " + std::to_string(i) + "\nline " + std::to_string(i / 2) + "\n";
  }
  Save("lines", text);
  const std::string options = " --window 50000 --fpp 1e-8";
  size_t killed = 0;
  for (int run = 0; run < 12; ++run) {
    RunningProgram program(
        "dedup_urls",
        {"--state", PathOf("seen"), "--window", "50000", "--fpp", "1e-8", "--every", "1"},
        PathOf("lines"), PathOf("errors"));
    size_t wanted = dice.Roll(5000);
    std::optional<std::string> line;
    while (wanted-- > 0 && (line = program.ReadLine()).has_value()) printed.insert(*line);
    program.Signal(SIGKILL);
    const int code = program.Wait();
    while ((line = program.ReadLine()).has_value()) printed.insert(*line);
    ASSERT_TRUE(code == 128 + SIGKILL || code == 0) << code << Saved("errors");
    killed += code != 0;
  }
  EXPECT_GE(killed, 4u);
  for (const std::string& line : LinesOf(OutputOf("dedup_urls --state seen < lines" + options)))
    printed.insert(line);
  EXPECT_EQ(printed.size(), all.size());
  EXPECT_TRUE(printed == all);
  EXPECT_EQ(OutputOf("dedup_urls --state seen < lines" + options), "");
}

TEST_F(DedupUrlsTest, ReportsImpossibleRequests) {
  const auto expect = [this](const std::string& command, int code, const std::string& message) {
    const Outcome outcome = Shell(command);
    EXPECT_EQ(outcome.code, code) << command;
    EXPECT_THAT(outcome.err, HasSubstr("dedup_urls: " + message)) << command;
  };
  OutputOf("seq 100 | dedup_urls --state seen --window 1000");
  const std::string kept = Saved("seen");
  expect("dedup_urls --state - <<< a", 2, "--state is a file");
  expect("dedup_urls --state seen <<< a", 2, "seen: is of another --window or --fpp");
  expect("dedup_urls --state seen --window 1000 --fpp 0.1 <<< a", 2, "seen: is of another");
  for (size_t at = 0; at < kept.size(); at += 1 + kept.size() / 50) {
    std::string damaged = kept;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    Save("damaged", damaged);
    expect("dedup_urls --state damaged --window 1000 <<< a", 1, "damaged: ");
    EXPECT_EQ(Saved("damaged"), damaged);
  }
  Save("blocked", bloom::Filter<bloom::Blocked>::Make(50, 0.01)->Serialize());
  expect("dedup_urls --state blocked <<< a", 2, "blocked: ");
  expect("dedup_urls --state . <<< a", 3, ".: Is a directory");
  expect("dedup_urls --state no/place <<< a", 3, "no/place: No such file");
  EXPECT_EQ(Shell("dedup_urls --state no/place <<< a").out, "");
  expect("dedup_urls --state \"$NOT_SET\" <<< a", 2, "--state lacks its value");
  expect("dedup_urls --window 0 <<< a", 2, "--window is no number from 1");
  if (!testing_support::kIsSanitized)
    expect("ulimit -v 1000000; dedup_urls --window 300000000 --state big <<< a", 3, "no memory");
  EXPECT_THAT(OutputOf("dedup_urls --help"), testing::StartsWith("Usage: dedup_urls "));
  expect("dedup_urls lines <<< a", 2, "\"lines\" is a word too many");
  expect("dedup_urls < .", 3, "the standard input: Is a directory");
  expect("dedup_urls <&-", 3, "the standard input: Bad file descriptor");
  expect("head -c 2000000 /dev/zero | dedup_urls", 1, "line 1 is longer than 1 MiB");
  // Lines that could not be printed are not remembered.
  expect("dedup_urls --state seen --window 1000 <<< a > /dev/full", 3, "cannot write");
  EXPECT_EQ(Saved("seen"), kept);
  EXPECT_EQ(OutputOf("dedup_urls --state seen --window 1000 <<< a"), "a\n");
}

}  // namespace
