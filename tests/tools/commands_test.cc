// The output of each command for a store with known contents.
#include "tools/sstdump/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/version_edit.h"
#include "tests/tools/commands_fixture.h"
#include "tests/tools/sample_store.h"

namespace tools {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// --- info ---

TEST_F(CommandsTest, InfoRecognizesContents) {
  auto directory = files_.OpenDirectory("s", false).value();
  ASSERT_TRUE(directory->Rename("000002.table", "holiday.jpg").ok());
  ASSERT_TRUE(directory->Rename("000007.log", "000002.table").ok());
  EXPECT_EQ(Result({"info", "s/holiday.jpg"})["kind"], "table");
  EXPECT_EQ(Result({"info", "s/000002.table"})["kind"], "log");
  EXPECT_EQ(Result({"info", "s/000001.manifest"})["kind"], "manifest");
  EXPECT_EQ(Result({"info", "s/CURRENT"})["kind"], "current");
  EXPECT_EQ(Result({"info", "s"}, 1)["kind"], "directory") << "it names the log that is missing";
}

TEST_F(CommandsTest, InfoCountsTheEntriesOfATable) {
  const json table = Result({"info", "s/000002.table"});
  EXPECT_EQ(table["entries"], 600);
  EXPECT_EQ(table["distinct_keys"], 600);
  EXPECT_EQ(table["deletions"], 0);
  EXPECT_EQ(table["smallest_key"], "key000000");
  EXPECT_EQ(table["largest_key"], "key001797");
  EXPECT_EQ(table["smallest_sequence"], 1);
  EXPECT_EQ(table["largest_sequence"], 600);
  EXPECT_EQ(table["file_bytes"], files_.FileBytes("s/000002.table").size());
  EXPECT_EQ(table["filter"]["kind"], "standard");
  EXPECT_EQ(table["filter"]["target_fpp"], 0.01);
  EXPECT_EQ(table["file_id"], "0xabcd000000000002");
}

TEST_F(CommandsTest, InfoSumsUpAStore) {
  const json store = Result({"info", "s"});
  EXPECT_EQ(store["tables"], 5);
  EXPECT_EQ(store["deepest_level"], 2);
  EXPECT_EQ(store["entries"], 600 + 100 + 8 + 2);
  EXPECT_EQ(store["smallest_key"], "");
  EXPECT_EQ(store["largest_key"], "\\xc3\\xa4\\xff");
  EXPECT_EQ(store["logs"], 2);
  EXPECT_EQ(store["manifest"], "000001.manifest");
  EXPECT_EQ(store["unused_files"], json({"000009.table"}));
}

TEST_F(CommandsTest, InfoCountsRecordsOfLogsAndManifests) {
  const json log = Result({"info", "s/000008.log"});
  EXPECT_EQ(log["records"], 2);
  EXPECT_EQ(log["puts"], 2);
  EXPECT_EQ(log["first_sequence"], 1013);
  EXPECT_EQ(log["last_sequence"], 1014);
  EXPECT_EQ(log["end"], "open");
  EXPECT_EQ(Result({"info", "s/000007.log"})["end"], "closed");
  const json manifest = Result({"info", "s/000001.manifest"});
  EXPECT_EQ(manifest["edits"], 4);
  EXPECT_EQ(manifest["tables"], 5);
  EXPECT_EQ(manifest["last_sequence"], 1010);
}

TEST_F(CommandsTest, InfoFitsOneScreen) {
  for (const char* path :
       {"s", "s/000005.table", "s/000007.log", "s/000001.manifest", "s/CURRENT"}) {
    EXPECT_LE(Lines(Run({"info", path}).out).size(), 10u) << path;
  }
}

// --- properties, blocks ---

TEST_F(CommandsTest, PropertiesHaveTypes) {
  const json properties = Result({"properties", "s/000005.table"})["properties"];
  EXPECT_EQ(properties["entries"], 8);
  EXPECT_EQ(properties["deletions"], 2);
  EXPECT_EQ(properties["distinct_keys"], 6);
  EXPECT_EQ(properties["filter_kind"], "blocked");
  EXPECT_EQ(properties["target_fpp"], 0.01);
  EXPECT_EQ(properties["smallest_key"], "");
}

// Identifiers are strings in JSON, whatever their size.  So are quantities that a double would
// round.
TEST_F(CommandsTest, NumbersFitADouble) {
  auto directory = files_.OpenDirectory("d", true).value();
  const uint64_t sequence = lsm::kSequenceMax - 5;
  MakeTable(*directory, {.digest_seed = uint64_t{0xfedcba9876543210}},
            {{"a", sequence, false, "1"}});
  const json properties = Result({"properties", "d/000001.table"})["properties"];
  EXPECT_EQ(properties["digest_seed"], "0xfedcba9876543210");
  EXPECT_EQ(properties["largest_sequence"], std::to_string(sequence));
  EXPECT_EQ(properties["entries"], 1);
  EXPECT_EQ(Result({"info", "d/000001.table"})["largest_sequence"], std::to_string(sequence));
  EXPECT_THAT(Run({"properties", "d/000001.table"}).out, HasSubstr("0xfedcba9876543210"));
}

TEST_F(CommandsTest, BlocksListEveryBlockWithoutGaps) {
  const json table = Result({"blocks", "s/000002.table"});
  ASSERT_GT(table["blocks"].size(), 10u);
  EXPECT_EQ(table["blocks"].size(), table["data_blocks"]);
  uint64_t offset = 24;
  uint64_t entries = 0;
  std::string last_key;
  for (const json& block : table["blocks"]) {
    EXPECT_EQ(block["offset"], offset);
    EXPECT_EQ(block["sound"], true);
    EXPECT_GT(block["first_key"].get<std::string>(), last_key);
    last_key = block["last_key"];
    offset += block["stored_bytes"].get<uint64_t>() + 9;
    entries += block["entries"].get<uint64_t>();
  }
  EXPECT_EQ(entries, 600u);
  for (const json& block : table["other_blocks"]) {
    EXPECT_EQ(block["offset"], offset);
    offset += block["stored_bytes"].get<uint64_t>() + 9;
  }
  EXPECT_EQ(offset + 112, files_.FileBytes("s/000002.table").size());
}

TEST_F(CommandsTest, BlocksFollowTheOrderOfALookup) {
  std::vector<std::string> paths;
  const json document = Document({"blocks", "s"});
  for (const json& result : document["results"]) paths.push_back(result["path"]);
  EXPECT_THAT(paths, ElementsAre("s/000006.table", "s/000005.table", "s/000003.table",
                                 "s/000004.table", "s/000002.table"));
}

TEST_F(CommandsTest, LimitsBlocks) {
  EXPECT_EQ(Result({"blocks", "--limit", "3", "s/000002.table"})["blocks"].size(), 3u);
}

// --- filter ---

TEST_F(CommandsTest, DescribesAndMeasuresFilters) {
  for (const char* name : {"s/000002.table", "s/000003.table"}) {
    const json filter = Result({"filter", name});
    EXPECT_EQ(filter["state"], "usable");
    EXPECT_EQ(filter["target_fpp"], 0.01);
    EXPECT_NEAR(filter["predicted_fpp"].get<double>(), 0.0095, 0.0009);
    EXPECT_EQ(filter["measured"]["keys"], filter["key_count"]);
    EXPECT_EQ(filter["measured"]["false_negatives"], 0);
    EXPECT_GE(filter["measured"]["absent_keys"], 300'000);
    // The filter has only a few dozen lines, so its own bits determine the rate, not the mean of
    // similar filters.
    EXPECT_NEAR(filter["measured"]["fpp"].get<double>(), filter["current_fpp"].get<double>(), 0.002)
        << name;
    EXPECT_LT(filter["measured"]["fpp_low"], filter["measured"]["fpp"]);
    EXPECT_GT(filter["measured"]["fpp_high"], filter["measured"]["fpp"]);
    EXPECT_THAT(filter["fill_by_stretch"], Not(IsEmpty()));
    EXPECT_THAT(filter["blocks_by_fill"], Not(IsEmpty()));
  }
}

TEST_F(CommandsTest, MeasuresFiltersWithTheRequestedKeys) {
  EXPECT_EQ(Result({"filter", "--probes", "1234", "s/000002.table"})["measured"]["absent_keys"],
            1234);
  const json unmeasured = Result({"filter", "--probes", "0", "s/000002.table"});
  EXPECT_EQ(unmeasured["measured"]["absent_keys"], 0);
  EXPECT_FALSE(unmeasured["measured"].contains("fpp"));
}

TEST_F(CommandsTest, ShowsSolvedFiltersWithoutFill) {
  auto directory = files_.OpenDirectory("solved", true).value();
  uint64_t number = 0;
  for (const char* kind : {"fuse3", "fuse4"}) {
    const std::string path = "solved/" + lsm::TableFileName(++number);
    MakeTable(*directory, {.number = number, .filter_kind = kind, .target_fpp = 1.0 / 1024},
              NumberedEntries(2000, 1));
    const json filter = Result({"filter", path});
    EXPECT_EQ(filter["state"], "usable");
    EXPECT_EQ(filter["filter_kind"], kind);
    EXPECT_EQ(filter["key_count"], 2000);
    EXPECT_EQ(filter["predicted_fpp"], 1.0 / 1024);
    EXPECT_EQ(filter["current_fpp"], 1.0 / 1024);
    EXPECT_EQ(filter["measured"]["false_negatives"], 0);
    EXPECT_NEAR(filter["measured"]["fpp"].get<double>(), 1.0 / 1024, 0.1 / 1024);
    for (const char* absent : {"fill", "fill_by_stretch", "blocks_by_fill"}) {
      EXPECT_FALSE(filter.contains(absent)) << absent;
    }
    const std::string text = Run({"filter", path}).out;
    EXPECT_THAT(text, HasSubstr(std::string("filter of kind ") + kind));
    EXPECT_THAT(text, HasSubstr("solved for all keys together"));
    EXPECT_THAT(text, HasSubstr("from kind and shape"));
    for (const char* absent : {"fill", "probe", "FPP of the bits", "blocks of 64 bytes", "0 %"}) {
      EXPECT_THAT(text, Not(HasSubstr(absent)));
    }
    const std::string info = Run({"info", path}).out;
    EXPECT_THAT(info, HasSubstr(kind));
    EXPECT_THAT(info, HasSubstr(" bits/key, FPP 0.000977 (target 0.000977)"));
    EXPECT_THAT(info, Not(HasSubstr("probe")));
  }
}

TEST_F(CommandsTest, ReportsTablesWithoutFilter) {
  EXPECT_EQ(Result({"filter", "s/000004.table"})["state"], "absent");
  EXPECT_THAT(Run({"filter", "s/000004.table"}).out, HasSubstr("no filter"));
}

TEST_F(CommandsTest, TablesOfOneKeyHaveNoAbsentKeys) {
  auto directory = files_.OpenDirectory("one", true).value();
  MakeTable(*directory, {}, {{"only", 1, false, "v"}});
  const json filter = Result({"filter", "one/000001.table"});
  EXPECT_EQ(filter["measured"]["absent_keys"], 0);
  EXPECT_THAT(filter["notes"].dump(), HasSubstr("no room"));
}

// --- wal, manifest, levels ---

TEST_F(CommandsTest, WalShowsRecordsAndWrites) {
  // A line for each record, and one for the log.
  const json lines = Result({"wal", "s/000007.log"})["entries"];
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["file"], "s/000007.log");
  EXPECT_EQ(lines[0]["first_sequence"], 1011);
  EXPECT_EQ(lines[0]["count"], 2);
  EXPECT_EQ(lines[0]["entries"][0]["key"], "key000015");
  EXPECT_EQ(lines[0]["entries"][0]["value"], "from a log");
  EXPECT_EQ(lines[0]["entries"][1]["kind"], "delete");
  EXPECT_EQ(lines[1]["file"], "s/000007.log");
  EXPECT_EQ(lines[1]["end"], "closed");
  EXPECT_FALSE(Result({"wal", "--records-only", "s/000007.log"})["entries"][0].contains("entries"));
  EXPECT_EQ(Result({"wal", "s/000008.log"})["entries"].size(), 3u);
  EXPECT_EQ(Result({"wal", "--limit", "1", "s/000008.log"})["entries"].size(), 2u);
  EXPECT_THAT(Run({"wal", "s/000008.log"}).out,
              AllOf(HasSubstr("new\\x7f"), HasSubstr("end: not closed")));
  EXPECT_EQ(Document({"wal", "s"})["results"].size(), 2u);
}

TEST_F(CommandsTest, LogsShowRangeDeletes) {
  MakeStoreOfALog("r", {{{"a", 1, false, "one"}, {"b", 2, false, "two"}},
                        {{"a", 3, true, "b", true}, {"x", 4, true, "", true}}});
  const json entries = Result({"wal", "r/000002.log"})["entries"][1]["entries"];
  EXPECT_EQ(entries[0],
            (json{{"sequence", 3}, {"kind", "range delete"}, {"from", "a"}, {"to", "b"}}));
  EXPECT_EQ(entries[1], (json{{"sequence", 4}, {"kind", "range delete"}, {"from", "x"}}));
  EXPECT_THAT(Run({"wal", "r"}).out,
              HasSubstr("    3\trange delete\ta\tb\n    4\trange delete\tx\n"));
  EXPECT_EQ(Result({"info", "r/000002.log"})["range_deletes"], 2);
  EXPECT_EQ(Result({"info", "r/000002.log"})["format_version"], 3);
  EXPECT_THAT(Run({"info", "r/000002.log"}).out,
              HasSubstr("4 (2 puts, 0 deletions, 2 range deletes)"));
  EXPECT_EQ(Run({"verify", "r"}).code, 0);

  EXPECT_EQ(Result({"get", "r/000002.log", "a"})["answer"], "range delete");
  EXPECT_EQ(Result({"get", "r/000002.log", "b"})["answer"], "put");
  EXPECT_EQ(Result({"get", "r/000002.log", "z"})["answer"], "range delete");
  const json explained = Result({"explain", "r", "a"})["explanation"];
  EXPECT_EQ(explained["memtables"][0]["outcome"], "range delete");
  EXPECT_EQ(explained["found"], false);
  EXPECT_EQ(explained["answered_by"], "000002.log");
  EXPECT_EQ(Result({"explain", "r", "b"})["explanation"]["found"], true);
  EXPECT_EQ(Run({"dump", "r"}).out, "b\ttwo\n");
}

TEST_F(CommandsTest, TornTailsAreNoDamage) {
  const std::string log = files_.FileBytes("s/000008.log");
  files_.SetFileBytes("s/000008.log", log.substr(0, log.size() - 5));
  const json torn = Result({"wal", "s/000008.log"})["entries"];
  ASSERT_EQ(torn.size(), 2u);  // with one record
  EXPECT_EQ(torn[1]["end"], "torn");
  EXPECT_GT(torn[1]["torn_bytes"], 0);
  EXPECT_THAT(Run({"verify", "s/000008.log"}).out, HasSubstr("torn"));
}

TEST_F(CommandsTest, NamesDroppedLogEnds) {
  const std::string log = files_.FileBytes("s/000008.log");
  const uint64_t offset = Result({"wal", "s/000008.log"})["entries"][1]["offset"];
  files_.SetFileBytes("s/000008.log", log.substr(0, log.size() - 5));
  const std::string text = lsm::Concat(log.size() - 5 - offset, " bytes at offset ", offset,
                                       ", after the last readable record; ");
  EXPECT_THAT(Run({"verify", "s"}).out, HasSubstr("s/000008.log: an opening drops " + text));
  EXPECT_THAT(Run({"info", "s"}).out, HasSubstr("dropped"));
  const std::vector<std::vector<std::string>> readers = {{"dump", "s"},
                                                         {"get", "s", "key000015"},
                                                         {"get", "--raw", "s", "key000015"},
                                                         {"explain", "s", "key000015"}};
  for (const std::vector<std::string>& arguments : readers) {
    const RunResult result = Run(arguments);
    EXPECT_EQ(result.code, 0) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("note: s/000008.log: an opening drops " + text))
        << arguments[0];
  }
  const json dropped = Result({"info", "s"})["dropped"];
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0]["path"], "s/000008.log");
  EXPECT_EQ(dropped[0]["offset"], offset);
  EXPECT_EQ(dropped[0]["bytes"], log.size() - 5 - offset);
  EXPECT_EQ(dropped[0]["records"], 0);
  // Nothing of a sound log is dropped.
  files_.SetFileBytes("s/000008.log", log);
  EXPECT_EQ(Result({"info", "s"})["dropped"].size(), 0u);
  EXPECT_THAT(Run({"verify", "s"}).out, Not(HasSubstr("drops")));
}

TEST_F(CommandsTest, ManifestShowsEditsAndTheirSum) {
  for (const char* path : {"s", "s/CURRENT", "s/000001.manifest"}) {
    const json manifest = Result({"manifest", path});
    ASSERT_EQ(manifest["edits"].size(), 4u) << path;
    EXPECT_EQ(manifest["edits"][0]["snapshot"], true);
    EXPECT_EQ(manifest["edits"][1]["added"].size(), 3u);
    EXPECT_EQ(manifest["edits"][2]["removed"][0]["number"], 5);
    EXPECT_EQ(manifest["edits"][3]["synced_logs"], json({7}));
    EXPECT_EQ(manifest["state"]["tables"].size(), 5u);
    EXPECT_EQ(manifest["state"]["synced_logs"], json({7}));
  }
}

TEST_F(CommandsTest, ManifestLimitsTablesToo) {
  const json manifest = Result({"manifest", "--limit", "1", "s"});
  EXPECT_EQ(manifest["edits"].size(), 1u);
  EXPECT_EQ(manifest["state"]["tables"].size(), 1u);
  EXPECT_EQ(manifest["state"]["table_count"], 5);
  const std::string text = Run({"manifest", "--limit", "2", "s"}).out;
  EXPECT_THAT(text, testing::EndsWith("    and 3 more tables\n"));
  const std::vector<std::string> sum = Lines(text.substr(text.find("all together")));
  EXPECT_EQ(sum.size(), 5u);  // two lines of numbers, two tables, and the rest
  EXPECT_THAT(Run({"manifest", "s"}).out, Not(HasSubstr("more table")));
}

TEST_F(CommandsTest, LevelsExplainChoicesForAGoal) {
  MakeGoalStore(files_, "goal");
  const json tree = Result({"levels", "goal"});
  EXPECT_EQ(tree["levels"][0]["filter_reason"], "share: its share of 8.00 bits a key");
  EXPECT_EQ(tree["levels"][2]["filter"], "ribbon");
  EXPECT_EQ(tree["levels"][3]["filter"], "absent");
  EXPECT_EQ(tree["tables"][3]["filter_reason"],
            "does not pay: no filter here, within 8.00 bits a key");
  EXPECT_EQ(tree["levels"][3]["expected_wasted_reads"], 1);
  // The output for a store without a filter goal has not changed.
  EXPECT_EQ(Result({"levels", "s"})["levels"][0]["filter_reason"], "");
  EXPECT_THAT(Run({"levels", "s"}).out, Not(HasSubstr("why")));
  EXPECT_THAT(Run({"levels", "goal"}).out, HasSubstr("why"));
}

TEST_F(CommandsTest, ShowsRunsNewestFirst) {
  MakeStoreOfRuns(files_, "r");
  const json tree = Result({"levels", "r"});
  EXPECT_EQ(tree["levels"][1]["tables"], 6);
  EXPECT_EQ(tree["levels"][1]["runs"], 3);
  EXPECT_EQ(tree["total"]["runs"], 3);
  double sum = 0;
  std::vector<uint64_t> runs;
  for (const json& table : tree["tables"]) {
    runs.push_back(table["run"]);
    sum += table["predicted_fpp"].get<double>() * (table["keys"] == 50 ? 0.5 : 0);
  }
  EXPECT_EQ(runs, (std::vector<uint64_t>{4, 4, 1, 1, 0, 0}));
  EXPECT_GT(tree["levels"][1]["expected_wasted_reads"], sum);
  EXPECT_EQ(Result({"manifest", "r"})["state"]["tables"][2]["run"], 1);
  EXPECT_EQ(Result({"verify", "r"})["problems"].size(), 0u);
  const auto value = [&](const std::string& key) { return Run({"get", "--raw", "r", key}).out; };
  EXPECT_EQ(value("key000000"), "run 0");
  EXPECT_EQ(value("key000030"), "run 1");
  EXPECT_EQ(value("key000297"), "run 4");
}

// Half of the figures exclude unreadable tables.
TEST_F(CommandsTest, LevelsMarkRowsWithUnreadableTables) {
  const std::string table = files_.FileBytes("s/000006.table");
  files_.SetFileBytes("s/000006.table", table.substr(0, table.size() / 2));
  const RunResult text = Run({"levels", "s"});
  EXPECT_EQ(text.code, 1);
  const std::vector<std::string> lines = Lines(text.out);
  EXPECT_THAT(lines[1], HasSubstr("  readable"));
  EXPECT_THAT(lines[2], testing::EndsWith("  1 of 2"));
  EXPECT_THAT(lines[3], testing::EndsWith("  all"));
  EXPECT_THAT(lines[5], testing::EndsWith("  4 of 5"));
  EXPECT_THAT(text.out, HasSubstr("readable: keys, filters, b/key"));
  const json tree = Result({"levels", "s"}, 1);
  EXPECT_EQ(tree["levels"][0]["readable_tables"], 1);
  EXPECT_EQ(tree["total"]["readable_tables"], 4);
  EXPECT_THAT(Run({"levels", "s"}, {.is_terminal = true, .columns = 80}).out, HasSubstr("1 of 2"));
}

TEST_F(CommandsTest, LevelsShowTheTree) {
  const json tree = Result({"levels", "s"});
  ASSERT_EQ(tree["levels"].size(), 7u);
  EXPECT_EQ(tree["levels"][0]["tables"], 2);
  EXPECT_EQ(tree["levels"][1]["tables"], 2);
  EXPECT_EQ(tree["levels"][2]["keys"], 600);
  EXPECT_EQ(tree["levels"][3]["tables"], 0);
  EXPECT_EQ(tree["total"]["entries"], 710);
  EXPECT_EQ(tree["tables"].size(), 5u);
  // A lookup asks both tables of level 0.  Half the keys of level 1 have no filter, so they always
  // cost a read.
  const double both = tree["tables"][0]["predicted_fpp"].get<double>() +
                      tree["tables"][1]["predicted_fpp"].get<double>();
  EXPECT_GT(both, 0);
  EXPECT_DOUBLE_EQ(tree["levels"][0]["expected_wasted_reads"], both);
  const double half = tree["tables"][2]["predicted_fpp"];
  EXPECT_DOUBLE_EQ(tree["levels"][1]["expected_wasted_reads"], (half + 1) / 2);
  EXPECT_THAT(Run({"levels", "s"}).out, Not(HasSubstr("000005.table")));
  EXPECT_THAT(Run({"levels", "s"}).out, Not(HasSubstr("readable")));
  EXPECT_THAT(Run({"levels", "--tables", "s"}).out, HasSubstr("000005.table"));
}

TEST_F(CommandsTest, FindsLogsElsewhere) {
  auto directory = files_.OpenDirectory("s", false).value();
  for (const char* name : {"000007.log", "000008.log"}) {
    files_.SetFileBytes(std::string("logs/") + name, files_.FileBytes(std::string("s/") + name));
    ASSERT_TRUE(directory->Remove(name).ok());
  }
  EXPECT_THAT(Run({"verify", "s"}).out, HasSubstr("--logs DIR"));
  EXPECT_EQ(Run({"verify", "s"}).code, 1);
  EXPECT_EQ(Run({"verify", "--logs", "logs", "s"}).code, 0);
  EXPECT_THAT(Run({"explain", "s", "key000015"}).err, HasSubstr("--logs DIR"));
  EXPECT_EQ(Run({"get", "--raw", "--logs", "logs", "s", "key000015"}).out, "from the last log");
  EXPECT_EQ(Result({"explain", "--logs", "logs", "s", "key000015"})["explanation"]["answered_by"],
            "000008.log");
  EXPECT_EQ(Run({"verify", "--logs", "nowhere", "s"}).code, 3);
}

// The manifest records where Options::log_directory was.
TEST_F(CommandsTest, FindsLogsByTheManifest) {
  auto directory = files_.OpenDirectory("r", true).value();
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 3;
  snapshot.oldest_log = 2;
  snapshot.log_directory = "its logs";
  snapshot.synced_logs = {2};
  MakeManifest(*directory, snapshot);
  for (const std::string command : {"verify", "wal", "get", "explain", "dump", "info"}) {
    std::vector<std::string> arguments = {command, "r"};
    if (command == "get" || command == "explain") arguments.emplace_back("a");
    const RunResult lost = Run(arguments);
    EXPECT_NE(lost.code, 0) << command;
    EXPECT_THAT(lost.out + lost.err,
                HasSubstr("r/000002.log: the manifest says that this log holds writes, and is in "
                          "the directory \"its logs\", which cannot be opened (--logs DIR says"))
        << command;
  }
  auto logs = files_.OpenDirectory("its logs", true).value();
  MakeLog(*logs, 2, {{{"a", 1, false, "one"}}}, LogState::kOpen);
  EXPECT_EQ(Run({"verify", "r"}).code, 0) << Run({"verify", "r"}).out;
  EXPECT_EQ(Run({"dump", "r"}).out, "a\tone\n");
  EXPECT_EQ(Run({"get", "--raw", "r", "a"}).out, "one");
  EXPECT_THAT(Run({"wal", "r"}).out, HasSubstr("its logs/000002.log: write-ahead log"));
  EXPECT_THAT(Run({"info", "r"}).out, HasSubstr(", in its logs"));
  EXPECT_EQ(Result({"info", "r"})["log_directory"], "its logs");
}

TEST_F(CommandsTest, CutsLongKeysAndShowsTheirLength) {
  auto directory = files_.OpenDirectory("l", true).value();
  const std::string key = std::string("\x01") + std::string(59'999, 'k');
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 4;
  snapshot.oldest_log = 3;
  snapshot.last_sequence = 1;
  snapshot.added.push_back({1, MakeTable(*directory, {.level = 1}, {{key, 1, false, "v"}})});
  MakeManifest(*directory, snapshot);
  MakeLog(*directory, 3, {}, LogState::kOpen);
  const std::string table = lsm::Concat("l/", lsm::TableFileName(snapshot.added[0].table.number));
  const std::string whole = lsm::Escape(key);
  const std::vector<std::vector<std::string>> screens = {
      {"info", "l"},     {"info", table},   {"properties", table},   {"levels", "--tables", "l"},
      {"blocks", table}, {"manifest", "l"}, {"explain", "l", whole}, {"get", "l", whole}};
  for (const std::vector<std::string>& arguments : screens) {
    SCOPED_TRACE(arguments[0]);
    const RunResult text = Run(arguments);
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("kkk… (60,000 bytes)"));
    EXPECT_LT(text.out.size(), 5000u);
    std::vector<std::string> as_json = arguments;
    as_json.insert(as_json.begin() + 1, "--json");
    EXPECT_THAT(Run(as_json).out, HasSubstr(std::string(59'999, 'k')));
  }
  EXPECT_EQ(Run({"dump", "l"}).out, lsm::Concat(whole, "\tv\n"));
}

// --- verify ---

TEST_F(CommandsTest, VerifyFindsASoundStoreSound) {
  const json store = Result({"verify", "s"});
  EXPECT_EQ(store["outcome"], "fine");
  EXPECT_EQ(store["files"].size(), 1u + 1 + 5 + 2);
  for (const json& file : store["files"]) EXPECT_EQ(file["sound"], true) << file;
  EXPECT_THAT(store["notes"].dump(), HasSubstr("000009.table"));
  for (const std::string& name : FilesIn(files_, "s"))
    EXPECT_EQ(Run({"verify", "s/" + name}).code, 0) << name;
}

TEST_F(CommandsTest, VerifyContinuesAfterDamage) {
  std::string table = files_.FileBytes("s/000002.table");
  for (const size_t at : {size_t{100}, size_t{2000}, size_t{9000}})
    table[at] = static_cast<char>(table[at] ^ 1);
  files_.SetFileBytes("s/000002.table", table);
  const json result = Result({"verify", "s/000002.table"}, 1);
  ASSERT_EQ(result["problems"].size(), 3u);
  for (const json& problem : result["problems"]) {
    EXPECT_EQ(problem["file"], "s/000002.table");
    EXPECT_TRUE(problem.contains("offset"));
  }
  EXPECT_EQ(Result({"verify", "s"}, 1)["problems"].size(), 3u);
}

TEST_F(CommandsTest, InfoCutsLongKeysAndShowsTheirLength) {
  auto directory = files_.OpenDirectory("k", true).value();
  MakeTable(*directory, {}, {{std::string(65'536, 'a'), 1, false, ""}, {"b", 2, false, ""}});
  const std::string cut = std::string(99, 'a') + "… (65,536 bytes) .. b\n";
  EXPECT_THAT(Run({"info", "k/000001.table"}).out, HasSubstr("keys     " + cut));
  EXPECT_THAT(Run({"info", "k/000001.table"}, {.is_terminal = true, .columns = 80}).out,
              HasSubstr("… (65,536 bytes) .. b\n"));
  EXPECT_EQ(Result({"info", "k/000001.table"})["smallest_key"], std::string(65'536, 'a'));
}

// Other products have empty logs of that name too.
TEST_F(CommandsTest, InfoDoesNotGuessFromAnEmptyLog) {
  files_.SetFileBytes("r/000012.log", "");
  const RunResult result = Run({"info", "r/000012.log"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out,
            "r/000012.log: empty; a log only by its name, so it may be another product's\n");
  EXPECT_THAT(Run({"verify", "r/000012.log"}).out,
              HasSubstr("empty: its header was never written"));
}

TEST_F(CommandsTest, ReportsStoresWithoutTables) {
  const auto directory = MakeStoreOfALog("l", {{{"a", 1, false, "logged"}}});
  for (const std::string command : {"filter", "blocks", "properties", "scan"}) {
    const RunResult result = Run({command, "l"});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err,
                HasSubstr("note: l: the store has no tables; its logs may hold writes"));
    EXPECT_THAT(Document({command, "l"})["results"][0]["notes"].dump(), HasSubstr("no tables"));
  }
  ASSERT_TRUE(directory->Remove("000002.log").ok());
  EXPECT_THAT(Run({"wal", "l"}).err, HasSubstr("l/000002.log: the manifest says that this log"));
}

// --- commands on the wrong files ---

TEST_F(CommandsTest, NamesTheFittingCommand) {
  const RunResult log = Run({"scan", "s/000007.log"});
  EXPECT_EQ(log.code, 2);
  EXPECT_THAT(log.err, AllOf(HasSubstr("write-ahead log"), HasSubstr("sstdump wal")));
  EXPECT_EQ(Run({"wal", "s/000002.table"}).code, 2);
  EXPECT_THAT(Run({"blocks", "s/000001.manifest"}).err, HasSubstr("sstdump manifest"));
  EXPECT_THAT(Run({"levels", "s/000002.table"}).err, HasSubstr("sstdump info"));
}

// A crash may leave only the name of a file.
TEST_F(CommandsTest, RecognizesUnwrittenFilesByName) {
  for (const std::string& bytes : {std::string(), std::string(40, '\0'), std::string("TRL")}) {
    files_.SetFileBytes("e/000001.log", bytes);
    files_.SetFileBytes("e/000002.table", bytes);
    EXPECT_EQ(Result({"info", "e/000001.log"}, bytes.size() == 40 ? 1 : 0)["kind"], "log");
    EXPECT_EQ(Result({"info", "e/000002.table"}, 1)["kind"], "table");
  }
  files_.SetFileBytes("s/LOCK", "");
  EXPECT_EQ(Result({"info", "s/LOCK"})["kind"], "lock");
  EXPECT_EQ(Run({"verify", "s/LOCK"}).code, 0);
  EXPECT_EQ(Run({"scan", "s/LOCK"}).code, 2);
  files_.SetFileBytes("s/RESERVE", "TRLSRSV\n" + std::string(65528, '\0'));
  EXPECT_EQ(Result({"info", "s/RESERVE"})["kind"], "reserve");
  EXPECT_EQ(Run({"verify", "s/RESERVE"}).code, 0);
  EXPECT_EQ(Run({"scan", "s/RESERVE"}).code, 2);
  EXPECT_EQ(Result({"info", "s"})["reserve_bytes"], 65536);
  EXPECT_THAT(Run({"info", "s"}).out, HasSubstr("reserve   64.0 KiB for a full disk"));
  EXPECT_EQ(Run({"verify", "s"}).code, 0);
}

TEST_F(CommandsTest, NamesTruncatedTables) {
  const std::string table = files_.FileBytes("s/000002.table");
  files_.SetFileBytes("s/000002.table", table.substr(0, table.size() / 2));
  const RunResult result = Run({"info", "s/000002.table"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("cut off"));
}

// No problem is reported twice.  For a path that cannot be opened there is a message and no data.
TEST_F(CommandsTest, ReportsProblemsOnce) {
  for (const std::string path : {"s/nothing", "f/text"}) {
    files_.SetFileBytes("f/text", "text");
    const RunResult result = Run({"verify", path});
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("sstdump: " + path + ": "));
  }
  // The messages about the second path do not depend on the first one.
  EXPECT_THAT(Run({"verify", "s", "s/nothing"}).err, StartsWith("sstdump: s/nothing: "));
  files_.SetFileBytes("none/readme", "text");
  EXPECT_THAT(Lines(Run({"verify", "none"}).out),
              ElementsAre("none: directory", "  none: not a store: there is no CURRENT file",
                          "  note: readme: not named like a file of the store", "none: 1 problem"));
  // Without its CURRENT, the contents of the store are unknown.
  files_.SetFault([](lsm::FileOperation operation, const std::string& path, uint64_t) {
    const bool fails = operation == lsm::FileOperation::kReadAt && path.ends_with("CURRENT");
    return fails ? absl::UnavailableError(path + ": EIO") : absl::OkStatus();
  });
  for (const std::string command : {"scan", "verify"}) {
    const RunResult result = Run({command, "s"});
    const std::string all = result.out + result.err;
    EXPECT_EQ(result.code, 3);
    EXPECT_NE(all.find("CURRENT: EIO"), all.npos);
    EXPECT_EQ(all.find("CURRENT: EIO"), all.rfind("CURRENT: EIO")) << all;
    EXPECT_THAT(all, HasSubstr("s/000009.table"));
  }
  EXPECT_THAT(Run({"scan", "s"}).err, HasSubstr("may be obsolete"));
}

TEST_F(CommandsTest, LongCurrentIsDamageForAllCommands) {
  files_.SetFileBytes("s/CURRENT", files_.FileBytes("s/CURRENT") + std::string(5000, 'x'));
  for (const std::string command : {"info", "verify", "manifest"}) {
    const RunResult result = Run({command, "s/CURRENT"});
    EXPECT_EQ(result.code, 1) << command;
    EXPECT_THAT(result.out + result.err, HasSubstr("s/CURRENT: offset 0: the file has 5040 bytes"));
  }
}

TEST_F(CommandsTest, WorstPathDeterminesTheExitCode) {
  EXPECT_EQ(Run({"info", "s/000002.table", "s/000003.table"}).code, 0);
  EXPECT_EQ(Run({"info", "s/000002.table", "nowhere", "s/000003.table"}).code, 3);
  EXPECT_THAT(Run({"info", "nowhere", "s/000003.table"}).out, HasSubstr("s/000003.table: table"));
  EXPECT_EQ(Document({"info", "s/000002.table", "nowhere"}, 3)["results"].size(), 2u);
  EXPECT_EQ(Run({"scan", "--limit", "1", "s/000007.log", "s/000002.table"}).code, 2);
}

}  // namespace
}  // namespace tools
