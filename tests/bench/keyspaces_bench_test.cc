// The command keyspaces_bench as a user runs it, with small stores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/keyspaces/report.h"
#include "bench/keyspaces/store.h"
#include "lsm/limits.h"
#include "tests/bench/parts_command.h"
#include "tests/support/read_file.h"
#include "tests/support/run_program.h"

namespace bench::keyspaces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::ProgramResult;
using testing_support::ReadFile;

Results ThreeGoals() {
  Results results;
  results.parts = {
      {"open", "Opening", {{"time", 0.5, "s", 1.0}, {"count", 7}, {"heap", 2048, "B", 1024.0}}},
      {"cold", "Logs", {{"logs", 3, "", 3.0}}, {}, {"too few keyspaces"}},
      {"drop", "Drop", {}, {}, {"slow", "too few keyspaces"}}};
  return results;
}

TEST(KeyspacesBenchReportTest, MissedGoalsComeFirst) {
  EXPECT_THAT(GoalsTable(ThreeGoals().parts).rows,
              ElementsAre(ElementsAre("open", "heap", "2.00 KiB", "1.00 KiB", "missed"),
                          ElementsAre("open", "time", "0.500 s", "1.00 s", "reached"),
                          ElementsAre("cold", "logs", "3.00", "3.00", "reached")));
}

TEST(KeyspacesBenchReportTest, TextHasFiguresWithoutGoalsAndNotes) {
  const std::string text = ToText(ThreeGoals());
  EXPECT_THAT(text, HasSubstr("count      7.00\n"));
  EXPECT_THAT(text, HasSubstr("Note  cold, drop: too few keyspaces.\nNote  drop: slow.\n"));
}

TEST(KeyspacesBenchReportTest, JsonHasEveryFigure) {
  const nlohmann::ordered_json figures = ToJson(ThreeGoals())["figures"];
  ASSERT_EQ(figures.size(), 4u);
  EXPECT_EQ(figures[1]["goal"], nullptr);
  EXPECT_EQ(figures[2]["value"], 2048);
  EXPECT_EQ(figures[2]["goal"], 1024);
}

TEST(KeyspacesBenchStoreTest, LimitIsNoted) {
  std::vector<std::string> notes;
  EXPECT_EQ(Allowed(lsm::kKeyspacesMax, &notes), lsm::kKeyspacesMax);
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(Allowed(lsm::kKeyspacesMax + 1, &notes), lsm::kKeyspacesMax);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("a store has at most ")));
}

class KeyspacesBenchCommandTest : public PartsCommandTest {
 protected:
  KeyspacesBenchCommandTest() : PartsCommandTest(TRELLIS_KEYSPACES_BENCH) {}

  // Small options for all parts.
  static std::vector<std::string> Small(std::vector<std::string> arguments = {}) {
    for (const char* argument :
         {"--keyspaces", "6",  "--cold",       "3",  "--write-buffer", "1M",  "--flushes",    "3",
          "--size",      "4M", "--tree-bytes", "2M", "--keys",         "30k", "--operations", "200",
          "--rounds",    "2",  "--openings",   "1"}) {
      arguments.emplace_back(argument);
    }
    return arguments;
  }
};

TEST_F(KeyspacesBenchCommandTest, MeasuresEveryPartAndLeavesNoStore) {
  const ProgramResult result = Run(Small());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(FilesOfOut(), ElementsAre("excerpt-keyspaces.md", "report.html", "report.json"));
  for (const char* line :
       {"\nopen: 6 keyspaces with a key each\n", "\ncold: logs with one hot keyspace and 3 cold",
        "\nspeed: a hot keyspace beside 3 cold ones", "\ndrop: a keyspace of 4.00 MiB\n",
        "\nmany: tables and bytes written\n", "\nGoals\n", "\nget present ", "\nsmall, evenly ",
        "\nhot, others trickle ", "\nown trees, evenly "}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
  EXPECT_THAT(result.out, Not(HasSubstr("Note"))) << "a keyspace has no tree, or keeps its files";
  EXPECT_THAT(ReadFile(out_ + "/excerpt-keyspaces.md"), HasSubstr("\nGoals\n"));

  std::map<std::string, double> figures = Figures();
  EXPECT_GT(figures["open: open, after a flush"], 0);
  EXPECT_GT(figures["cold: most bytes of logs, write buffers"], 0.4);
  EXPECT_GE(figures["cold: flushes"], 3);
  EXPECT_EQ(figures["cold: hot keyspace has a tree of its own"], 1);
  EXPECT_GT(figures["speed: put, hot / alone"], 0);
  EXPECT_GT(figures["drop: bytes of its tree before"], 4e6);
  EXPECT_GT(figures["drop: the call"], 0);
  EXPECT_LT(figures["drop: bytes of all tables left"], 4e6);
  EXPECT_EQ(figures["many: small, evenly: trees"], 0);
  EXPECT_EQ(figures["many: hot, others trickle: trees"], 1);
  EXPECT_GE(figures["many: own trees, evenly: write amplification"], 0.9);
}

TEST_F(KeyspacesBenchCommandTest, MeasuresNamedParts) {
  const ProgramResult result = Run(Small({"many", "--even"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nown trees, evenly "));
  for (const char* other : {"small, evenly", "trickle ", "\nopen", "\ndrop"})
    EXPECT_THAT(result.out, Not(HasSubstr(other)));
}

TEST_F(KeyspacesBenchCommandTest, RefusesWrongOptions) {
  ExpectRefusal({"opne"}, "PARTS: opne not in ");
  ExpectRefusal({"open", "--even"}, "--even: belongs to the part many");
  ExpectRefusal({"--size", "1X"}, "--size: 1X is not a size from 1M to 1024G");
  ExpectRefusal({"--write-buffer", "64"}, "--write-buffer: 64 is not a size from 1M to 1G");
  ExpectRefusal({"--keyspaces", "-1"}, "--keyspaces: -1 is not a number from 1 to 1M");
}

TEST_F(KeyspacesBenchCommandTest, InterruptReportsFinishedPartsAndLeavesNoStore) {
  ExpectReportIfInterrupted({"open", "drop", "--keyspaces", "6", "--size", "1024G"},
                            "drop: a keyspace", "open");
}

}  // namespace
}  // namespace bench::keyspaces
