// The command keyspaces_bench as a user runs it, with small stores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/keyspaces/report.h"
#include "bench/keyspaces/store.h"
#include "lsm/limits.h"
#include "tests/bench/parts_command.h"
#include "tests/support/read_file.h"
#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace bench::keyspaces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::ProgramResult;
using testing_support::ReadFile;
using testing_support::StatusIs;

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

TEST(KeyspacesBenchReportTest, ThePeerHasAColumn) {
  Results results = ThreeGoals();
  results.parts[0].figures[2].peer = 4096;
  EXPECT_THAT(GoalsTable(results.parts).rows,
              ElementsAre(ElementsAre("open", "heap", "2.00 KiB", "1.00 KiB", "missed", "4.00 KiB"),
                          ElementsAre("open", "time", "0.500 s", "1.00 s", "reached", "-"),
                          ElementsAre("cold", "logs", "3.00", "3.00", "reached", "-")));
  EXPECT_THAT(ToText(results),
              HasSubstr("\n       measured   RocksDB\ntime    0.500 s         -\n"));
  const nlohmann::ordered_json figures = ToJson(results)["figures"];
  EXPECT_EQ(figures[1]["peer"], nullptr);
  EXPECT_EQ(figures[2]["peer"], 4096);
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

// Each store keeps its keyspaces apart, also after a reopening and a drop.
TEST(KeyspacesBenchStoreTest, WrongAnswersAreErrors) {
  const testing_support::ScratchDir scratch{testing_support::FastFolder()};
  Config config;
  config.out = scratch.path();
  config.write_buffer_bytes = 1 << 20;
  for (const bool is_rocksdb : {false, true}) {
    if (is_rocksdb && !HasRocksDb()) continue;
    SCOPED_TRACE(is_rocksdb);
    const std::unique_ptr<Store> store =
        is_rocksdb ? MakeRocksDb({config, "store"}) : MakeTrellis({config, "store"});
    ASSERT_OK(store->Open());
    ASSERT_OK(store->OpenKeyspaces("a", 2));
    Feeder feeder(config, store.get(), 10);
    ASSERT_OK(feeder.Put(0, 1));
    ASSERT_OK(feeder.Put(1, 2));
    ASSERT_OK(feeder.Put(kDefault, 3));
    ASSERT_OK(feeder.Finish());
    ASSERT_OK(store->Close());
    ASSERT_OK(store->Open());
    ASSERT_OK(store->OpenKeyspaces("a", 2));
    ASSERT_OK(store->Settle());
    EXPECT_OK(feeder.Check(0, 1));
    EXPECT_OK(feeder.Check(1, 2));
    EXPECT_OK(feeder.Check(kDefault, 3));
    EXPECT_GT(store->GetFiles().tables, 0u);
    const std::vector<std::string> keys = {SyntheticKey(1, config.seed)};
    for (const Work work : {kGetPresent, kMultiGet, kSeek}) {
      EXPECT_OK(store->Do(work, 0, keys, ""));
      EXPECT_THAT(store->Do(work, 1, keys, ""), StatusIs(absl::StatusCode::kInternal));
    }
    EXPECT_OK(store->Do(kGetAbsent, 1, keys, ""));
    EXPECT_THAT(store->Do(kGetAbsent, 0, keys, ""), StatusIs(absl::StatusCode::kInternal));
    ASSERT_OK(store->Do(kPut, 0, keys, "another"));
    EXPECT_THAT(feeder.Check(0, 1), StatusIs(absl::StatusCode::kInternal));
    EXPECT_THAT(feeder.Check(0, 2), StatusIs(absl::StatusCode::kInternal));
    ASSERT_OK(store->Drop(0));
    EXPECT_OK(feeder.Check(1, 2));
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
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
  const nlohmann::json report = ReportJson();
  for (const nlohmann::json& figure : report["figures"]) {
    const std::string part = figure["part"], name = figure["name"];
    const bool is_own = part == "many" || name == "flushes" || name.starts_with("hot keyspace") ||
                        name.ends_with("default");
    EXPECT_EQ(figure["peer"].is_number(), HasRocksDb() && !is_own) << figure;
  }
}

TEST_F(KeyspacesBenchCommandTest, MeasuresNamedParts) {
  const ProgramResult result = Run(Small({"many", "--even", "--peer", "none"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nown trees, evenly "));
  for (const char* other : {"small, evenly", "trickle ", "\nopen", "\ndrop", "RocksDB"})
    EXPECT_THAT(result.out, Not(HasSubstr(other)));
}

TEST_F(KeyspacesBenchCommandTest, RefusesWrongOptions) {
  ExpectRefusal({"opne"}, "PARTS: opne not in ");
  ExpectRefusal({"open", "--even"}, "--even: belongs to the part many");
  ExpectRefusal({"--peer", "leveldb"}, "--peer: leveldb not in ");
  if (!HasRocksDb()) ExpectRefusal({"--peer", "rocksdb"}, "--peer: built without RocksDB");
  ExpectRefusal({"--size", "1X"}, "--size: 1X is not a size from 1M to 1024G");
  ExpectRefusal({"--write-buffer", "64"}, "--write-buffer: 64 is not a size from 1M to 1G");
  ExpectRefusal({"--keyspaces", "-1"}, "--keyspaces: -1 is not a number from 1 to 1M");
}

TEST_F(KeyspacesBenchCommandTest, InterruptReportsFinishedPartsAndLeavesNoStore) {
  for (const char* peer : {"none", "rocksdb"}) {
    if (peer == std::string("rocksdb") && !HasRocksDb()) continue;
    ExpectReportIfInterrupted(
        {"open", "drop", "--keyspaces", "6", "--size", "1024G", "--peer", peer}, "drop: a keyspace",
        "open");
  }
}

}  // namespace
}  // namespace bench::keyspaces
