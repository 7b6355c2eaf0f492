// What each command says of a store whose contents are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lsm/fs/file_names.h"
#include "lsm/fs/memory_file_system.h"
#include "lsm/version/manifest.h"
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

class CommandsTest : public testing::Test {
 protected:
  CommandsTest() { MakeSampleStore(files_, "s"); }

  RunResult Run(const std::vector<std::string>& arguments, const Terminal& terminal = {}) {
    return tools::Run(files_, arguments, terminal);
  }
  // The only result of a command that must end with `code`.
  json Result(std::vector<std::string> arguments, int code = 0) {
    const json document = Document(std::move(arguments), code);
    EXPECT_EQ(document["results"].size(), 1u);
    return document["results"][0];
  }
  json Document(std::vector<std::string> arguments, int code = 0) {
    const std::string command = arguments[0];
    arguments.insert(arguments.begin(), "--json");
    const RunResult result = Run(arguments);
    EXPECT_EQ(result.code, code) << result.out << result.err;
    EXPECT_EQ(result.err, "");
    json document = json::parse(result.out);
    EXPECT_EQ(document["exit_code"], code);
    EXPECT_EQ(document["command"], command);
    return document;
  }

  lsm::MemoryFileSystem files_;
};

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// --- info ---

TEST_F(CommandsTest, InfoKnowsFilesByTheirContent) {
  auto directory = files_.OpenDirectory("s", false).value();
  ASSERT_TRUE(directory->Rename("000002.table", "holiday.jpg").ok());
  ASSERT_TRUE(directory->Rename("000007.log", "000002.table").ok());
  EXPECT_EQ(Result({"info", "s/holiday.jpg"})["kind"], "table");
  EXPECT_EQ(Result({"info", "s/000002.table"})["kind"], "log");
  EXPECT_EQ(Result({"info", "s/000001.manifest"})["kind"], "manifest");
  EXPECT_EQ(Result({"info", "s/CURRENT"})["kind"], "current");
  EXPECT_EQ(Result({"info", "s"})["kind"], "directory");
}

TEST_F(CommandsTest, InfoOfATableCountsWhatIsInIt) {
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

TEST_F(CommandsTest, InfoOfAStoreSumsItUp) {
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

TEST_F(CommandsTest, InfoOfALogAndAManifestCountsRecords) {
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

TEST_F(CommandsTest, BlocksOfADirectoryAreThoseOfItsTablesInTheOrderOfALookup) {
  std::vector<std::string> paths;
  const json document = Document({"blocks", "s"});
  for (const json& result : document["results"]) paths.push_back(result["path"]);
  EXPECT_THAT(paths, ElementsAre("s/000006.table", "s/000005.table", "s/000003.table",
                                 "s/000004.table", "s/000002.table"));
}

TEST_F(CommandsTest, BlocksAreCutToALimit) {
  EXPECT_EQ(Result({"blocks", "--limit", "3", "s/000002.table"})["blocks"].size(), 3u);
}

// --- filter ---

TEST_F(CommandsTest, FilterIsDescribedAndMeasured) {
  for (const char* name : {"s/000002.table", "s/000003.table"}) {
    const json filter = Result({"filter", name});
    EXPECT_EQ(filter["state"], "usable");
    EXPECT_EQ(filter["target_fpp"], 0.01);
    EXPECT_NEAR(filter["predicted_fpp"].get<double>(), 0.0095, 0.0009);
    EXPECT_EQ(filter["measured"]["keys"], filter["key_count"]);
    EXPECT_EQ(filter["measured"]["false_negatives"], 0);
    EXPECT_GE(filter["measured"]["absent_keys"], 300'000);
    // Of a filter of a few dozen lines the bits decide, not the mean over all filters like it.
    EXPECT_NEAR(filter["measured"]["fpp"].get<double>(), filter["current_fpp"].get<double>(), 0.002)
        << name;
    EXPECT_LT(filter["measured"]["fpp_low"], filter["measured"]["fpp"]);
    EXPECT_GT(filter["measured"]["fpp_high"], filter["measured"]["fpp"]);
    EXPECT_THAT(filter["fill_by_stretch"], Not(IsEmpty()));
    EXPECT_THAT(filter["blocks_by_fill"], Not(IsEmpty()));
  }
}

TEST_F(CommandsTest, FilterIsMeasuredWithAsManyKeysAsAskedFor) {
  EXPECT_EQ(Result({"filter", "--probes", "1234", "s/000002.table"})["measured"]["absent_keys"],
            1234);
  const json unmeasured = Result({"filter", "--probes", "0", "s/000002.table"});
  EXPECT_EQ(unmeasured["measured"]["absent_keys"], 0);
  EXPECT_FALSE(unmeasured["measured"].contains("fpp"));
}

TEST_F(CommandsTest, AFilterThatWasSolvedIsShownWithoutItsFill) {
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

TEST_F(CommandsTest, ATableWithoutAFilterSaysSo) {
  EXPECT_EQ(Result({"filter", "s/000004.table"})["state"], "absent");
  EXPECT_THAT(Run({"filter", "s/000004.table"}).out, HasSubstr("no filter"));
}

TEST_F(CommandsTest, ATableOfOneKeyHasNoRoomForAbsentOnes) {
  auto directory = files_.OpenDirectory("one", true).value();
  MakeTable(*directory, {}, {{"only", 1, false, "v"}});
  const json filter = Result({"filter", "one/000001.table"});
  EXPECT_EQ(filter["measured"]["absent_keys"], 0);
  EXPECT_THAT(filter["notes"].dump(), HasSubstr("no room"));
}

// --- scan ---

TEST_F(CommandsTest, ScanShowsEntriesInOrder) {
  const RunResult result = Run({"scan", "s/000005.table"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(Lines(result.out),
              ElementsAre("\t1001\tput\tof the empty key",
                          "\\x00\\x01\\x1b[31m\t1002\tput\t\\x1b]0;title\\x07\\x0a",
                          "back\\\\slash\"quote\t1003\tput\t\\x09\\x0d\\x0a",
                          "key000003\t1004\tdelete\t", "key000009\t1007\tput\tnewest",
                          "key000009\t1006\tdelete\t", "key000009\t1005\tput\toldest",
                          "\\xc3\\xa4\\xff\t1008\tput\t" + std::string(300, 'v')));
}

TEST_F(CommandsTest, ScanKeepsToItsBounds) {
  const auto keys = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "scan");
    arguments.insert(arguments.end(), {"--keys-only", "s/000002.table"});
    return Lines(Run(arguments).out);
  };
  EXPECT_THAT(keys({"--from", "key000004", "--to", "key000012"}),
              ElementsAre("key000006", "key000009"));
  EXPECT_THAT(keys({"--from", "key001795"}), ElementsAre("key001797"));
  EXPECT_THAT(keys({"--to", "key000003"}), ElementsAre("key000000"));
  EXPECT_THAT(keys({"--limit", "2"}), ElementsAre("key000000", "key000003"));
  EXPECT_THAT(keys({"--limit", "0"}), IsEmpty());
  EXPECT_THAT(keys({"--from", "key002"}), IsEmpty());
  EXPECT_EQ(keys({}).size(), 600u);
}

TEST_F(CommandsTest, KeysAndValuesCanBeHexOrRaw) {
  EXPECT_THAT(Lines(Run({"scan", "--hex", "--from", "c3", "s/000005.table"}).out)[0],
              StartsWith("c3a4ff\t1008\tput\t7676"));
  EXPECT_THAT(Run({"scan", "--raw", "s/000005.table"}).out,
              HasSubstr(std::string("\0\x01\x1b[31m\t", 8)));
  // Raw bytes have no place in JSON.
  EXPECT_EQ(Result({"scan", "--raw", "s/000005.table"})["entries"][7]["key"], "\\xc3\\xa4\\xff");
  EXPECT_EQ(Result({"scan", "--hex", "s/000005.table"})["entries"][7]["key"], "c3a4ff");
}

TEST_F(CommandsTest, ScanOfSeveralTablesSaysWhichIsWhich) {
  const RunResult result = Run({"scan", "--limit", "1", "--keys-only", "s"});
  EXPECT_THAT(Lines(result.out),
              ElementsAre("==> s/000006.table <==", "key000006", "==> s/000005.table <==", "",
                          "==> s/000003.table <==", "key000000", "==> s/000004.table <==",
                          "key000900", "==> s/000002.table <==", "key000000"));
}

// --- get ---

TEST_F(CommandsTest, GetTellsWhatEachStepSays) {
  const json found = Result({"get", "key000300", "s/000002.table"});
  EXPECT_EQ(found["answer"], "put");
  EXPECT_EQ(found["value"], std::string(20, 'w'));
  EXPECT_EQ(found["filter_passed"], true);
  ASSERT_EQ(found["blocks"].size(), 1u);
  EXPECT_EQ(found["versions"][0]["sequence"], 101);
  EXPECT_EQ(Result({"get", "key000301", "s/000002.table"})["answer"], "absent");
  const std::string text = Run({"get", "key000300", "s/000002.table"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("digest  0x"), HasSubstr("standard says maybe"),
                          HasSubstr("index   block "), HasSubstr("put at sequence 101, 20 bytes"),
                          HasSubstr("value   " + std::string(20, 'w'))));
}

TEST_F(CommandsTest, GetShowsAllVersionsNewestFirst) {
  const json versions = Result({"get", "key000009", "s/000005.table"})["versions"];
  ASSERT_EQ(versions.size(), 3u);
  EXPECT_EQ(versions[0]["sequence"], 1007);
  EXPECT_EQ(versions[1]["kind"], "delete");
  EXPECT_EQ(versions[2]["value_bytes"], 6);
}

TEST_F(CommandsTest, GetTakesAnyBytesAsAKey) {
  EXPECT_EQ(Result({"get", "", "s/000005.table"})["value"], "of the empty key");
  EXPECT_EQ(Result({"get", "\\x00\\x01\\x1b[31m", "s/000005.table"})["answer"], "put");
  EXPECT_EQ(Result({"get", "--hex", "00011b5b33316d", "s/000005.table"})["answer"], "put");
  EXPECT_EQ(Result({"get", "back\\\\slash\"quote", "s/000005.table"})["answer"], "put");
  for (const char* odd : {"{}", "[]", "[a,b]", "%%", "--", "++"}) {
    EXPECT_EQ(Result({"get", "--", odd, "s/000005.table"})["answer"], "absent") << odd;
  }
}

TEST_F(CommandsTest, GetLooksIntoLogsToo) {
  const json log = Result({"get", "key000015", "s/000008.log"});
  EXPECT_EQ(log["value"], "from the last log");
  // In the order in which a lookup asks, without a log that is not needed any more.
  auto directory = files_.OpenDirectory("s", false).value();
  MakeLog(*directory, 3, {{{"key000015", 5, false, "flushed long ago"}}}, LogState::kClosed);
  const json document = Document({"get", "key000015", "s"});
  ASSERT_EQ(document["results"].size(), 7u);
  EXPECT_EQ(document["results"][0]["path"], "s/000008.log");
  EXPECT_EQ(document["results"][0]["value"], "from the last log");
  EXPECT_EQ(document["results"][1]["path"], "s/000007.log");
  EXPECT_EQ(document["results"][6]["path"], "s/000002.table");
}

TEST_F(CommandsTest, RawGetWritesTheValueAndNothingElse) {
  EXPECT_EQ(Run({"get", "--raw", "key000009", "s/000005.table"}).out, "newest");
  EXPECT_EQ(Run({"get", "--raw", "key000010", "s/000005.table"}).out, "");
}

// The newest version of all logs and levels decides, as in a lookup.
TEST_F(CommandsTest, RawGetOfAStoreWritesTheAnswerOfTheStore) {
  const auto answer = [this](const std::string& key) {
    const RunResult result = Run({"get", "--raw", key, "s"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  };
  EXPECT_EQ(answer("key000015"), "from the last log");   // older ones in a log and three tables
  EXPECT_EQ(answer("key000012"), "in level 0");          // an older one in level 2
  EXPECT_EQ(answer("key000018"), "");                    // deleted in a log
  EXPECT_EQ(answer("key000006"), "");                    // deleted in level 0
  EXPECT_EQ(answer("key000300"), std::string(20, 'w'));  // in level 2
  EXPECT_EQ(answer("no such key"), "");
  EXPECT_EQ(answer(""), "of the empty key");
  // As a JSON document it says what each file has.
  EXPECT_EQ(Document({"get", "--raw", "key000015", "s"})["results"].size(), 7u);
}

// A value that may be out of date is worse than none.
TEST_F(CommandsTest, RawGetOfAStoreDoesNotGuess) {
  const std::string table = files_.FileBytes("s/000006.table");
  files_.SetFileBytes("s/000006.table", table.substr(0, table.size() / 2));
  RunResult result = Run({"get", "--raw", "key000012", "s"});
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("000006.table"));
  // The table cannot hold this key, so the answer is certain, and the damage is named all the same.
  result = Run({"get", "--raw", "key000300", "s"});
  EXPECT_EQ(result.out, std::string(20, 'w'));
  EXPECT_EQ(result.code, 1);
  files_.SetFileBytes("s/000006.table", table);
  // A log that holds synced writes and lost them all.
  const std::string log = files_.FileBytes("s/000007.log");
  files_.SetFileBytes("s/000007.log", log.substr(0, 32));
  for (const char* key : {"key000015", "key000300"}) {
    result = Run({"get", "--raw", key, "s"});
    EXPECT_EQ(result.out, "") << key;
    EXPECT_EQ(result.code, 1) << key;
    EXPECT_THAT(result.err, HasSubstr("s/000007.log: offset 0: the log is empty"));
  }
  EXPECT_EQ(Run({"explain", "s", "key000300"}).code, 1);
  files_.SetFileBytes("s/000007.log", log);
  // A log that is needed and is not there.
  ASSERT_TRUE(files_.OpenDirectory("s", false).value()->Remove("000007.log").ok());
  result = Run({"get", "--raw", "key000300", "s"});
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("s/000007.log: the manifest says"));
}

// Behind a gap in the numbers of writes that were never synced, the store uses no log.
TEST_F(CommandsTest, ALookupStopsAtAGapOfTheLogs) {
  auto directory = files_.OpenDirectory("s", false).value();
  ASSERT_TRUE(directory->Remove("000008.log").ok());
  MakeLog(*directory, 8, {{{"key000015", 1020, false, "behind the gap"}}}, LogState::kOpen);
  const RunResult raw = Run({"get", "--raw", "key000015", "s"});
  EXPECT_EQ(raw.out, "from a log");
  EXPECT_EQ(raw.code, 0);
  EXPECT_THAT(raw.err, HasSubstr("000008.log: the store will not use this log from offset 32 on"));
  EXPECT_EQ(Result({"explain", "s", "key000015"})["explanation"]["answered_by"], "000007.log");
}

// --- wal, manifest, levels, explain ---

TEST_F(CommandsTest, WalShowsRecordsAndWrites) {
  const json log = Result({"wal", "s/000007.log"});
  ASSERT_EQ(log["records"].size(), 1u);
  EXPECT_EQ(log["records"][0]["first_sequence"], 1011);
  EXPECT_EQ(log["records"][0]["count"], 2);
  EXPECT_EQ(log["records"][0]["entries"][0]["key"], "key000015");
  EXPECT_EQ(log["records"][0]["entries"][0]["value"], "from a log");
  EXPECT_EQ(log["records"][0]["entries"][1]["kind"], "delete");
  EXPECT_EQ(log["end"], "closed");
  EXPECT_FALSE(Result({"wal", "--records-only", "s/000007.log"})["records"][0].contains("entries"));
  EXPECT_EQ(Result({"wal", "--limit", "1", "s/000008.log"})["records"].size(), 1u);
  EXPECT_THAT(Run({"wal", "s/000008.log"}).out,
              AllOf(HasSubstr("new\\x7f"), HasSubstr("end: not closed")));
  EXPECT_EQ(Document({"wal", "s"})["results"].size(), 2u);
}

TEST_F(CommandsTest, ATornTailIsSaidAndIsNoDamage) {
  const std::string log = files_.FileBytes("s/000008.log");
  files_.SetFileBytes("s/000008.log", log.substr(0, log.size() - 5));
  const json torn = Result({"wal", "s/000008.log"});
  EXPECT_EQ(torn["end"], "torn");
  EXPECT_GT(torn["torn_bytes"], 0);
  EXPECT_EQ(torn["records"].size(), 1u);
  EXPECT_THAT(Run({"verify", "s/000008.log"}).out, HasSubstr("torn"));
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

TEST_F(CommandsTest, LevelsOfAStoreWithAGoalSayWhatWasChosenAndWhy) {
  MakeGoalStore(files_, "goal");
  const json tree = Result({"levels", "goal"});
  EXPECT_EQ(tree["levels"][0]["filter_reason"], "share: its share of 8.00 bits a key");
  EXPECT_EQ(tree["levels"][2]["filter"], "ribbon");
  EXPECT_EQ(tree["levels"][3]["filter"], "absent");
  EXPECT_EQ(tree["tables"][3]["filter_reason"],
            "does not pay: no filter here, within 8.00 bits a key");
  EXPECT_EQ(tree["levels"][3]["expected_wasted_reads"], 1);
  // A store without a goal is shown as ever.
  EXPECT_EQ(Result({"levels", "s"})["levels"][0]["filter_reason"], "");
  EXPECT_THAT(Run({"levels", "s"}).out, Not(HasSubstr("why")));
  EXPECT_THAT(Run({"levels", "goal"}).out, HasSubstr("why"));
}

TEST_F(CommandsTest, RunsAreToldApartAndTheNewestIsAskedFirst) {
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
  const auto value = [&](const std::string& key) { return Run({"get", "--raw", key, "r"}).out; };
  EXPECT_EQ(value("key000000"), "run 0");
  EXPECT_EQ(value("key000030"), "run 1");
  EXPECT_EQ(value("key000297"), "run 4");
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
  // Both tables of level 0 are asked; of level 1 half the keys have no filter, and are read for
  // certain.
  const double both = tree["tables"][0]["predicted_fpp"].get<double>() +
                      tree["tables"][1]["predicted_fpp"].get<double>();
  EXPECT_GT(both, 0);
  EXPECT_DOUBLE_EQ(tree["levels"][0]["expected_wasted_reads"], both);
  const double half = tree["tables"][2]["predicted_fpp"];
  EXPECT_DOUBLE_EQ(tree["levels"][1]["expected_wasted_reads"], (half + 1) / 2);
  EXPECT_THAT(Run({"levels", "s"}).out, Not(HasSubstr("000005.table")));
  EXPECT_THAT(Run({"levels", "--tables", "s"}).out, HasSubstr("000005.table"));
}

TEST_F(CommandsTest, ExplainFollowsTheWayOfALookup) {
  const json from_log = Result({"explain", "s", "key000015"})["explanation"];
  EXPECT_EQ(from_log["answered_by"], "000008.log");
  EXPECT_EQ(from_log["value_bytes"], 17);
  EXPECT_EQ(from_log["tables"].size(), 0u);
  const json deleted = Result({"explain", "s", "key000006"})["explanation"];
  EXPECT_EQ(deleted["found"], false);
  EXPECT_EQ(deleted["answered_by"], "table 6 at level 0");
  EXPECT_EQ(deleted["memtables"].size(), 2u);
  const json deep = Result({"explain", "s", "key000300"})["explanation"];
  EXPECT_EQ(deep["found"], true);
  EXPECT_EQ(deep["answered_by"], "table 2 at level 2");
  EXPECT_EQ(deep["tables_by_level"], json({2, 2, 1, 0, 0, 0, 0}));
  const json absent = Result({"explain", "s", "no such key"})["explanation"];
  EXPECT_EQ(absent["found"], false);
  EXPECT_EQ(absent["answered_by"], "nobody");
  EXPECT_THAT(Run({"explain", "s", "key000300"}).out, HasSubstr("answered by table 2 at level 2"));
}

TEST_F(CommandsTest, ExplainShowsKeysInTheFormThatWasAskedFor) {
  const json explanation = Result({"explain", "--hex", "s", "c3a4ff"})["explanation"];
  EXPECT_EQ(explanation["key"], "c3a4ff");
  EXPECT_EQ(explanation["tables"][0]["smallest_key"], "");
  EXPECT_EQ(explanation["tables"][0]["largest_key"], "c3a4ff");
  const std::string text = Run({"explain", "--hex", "s", "c3a4ff"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("key c3a4ff\n"), HasSubstr("[(empty) .. c3a4ff]"),
                          Not(HasSubstr("\\x"))));
  EXPECT_EQ(Result({"explain", "s", "\\xc3\\xa4\\xff"})["explanation"]["key"], "\\xc3\\xa4\\xff");
}

TEST_F(CommandsTest, TheEmptyKeyHasAName) {
  EXPECT_THAT(Run({"get", "", "s/000005.table"}).out, StartsWith("s/000005.table: key (empty)\n"));
  EXPECT_THAT(Run({"get", "", "s/000008.log"}).out, StartsWith("s/000008.log: key (empty)\n"));
  EXPECT_THAT(Run({"explain", "s", ""}).out, StartsWith("s: lookup of (empty)\nkey (empty)\n"));
}

TEST_F(CommandsTest, LogsMayBeElsewhere) {
  auto directory = files_.OpenDirectory("s", false).value();
  for (const char* name : {"000007.log", "000008.log"}) {
    files_.SetFileBytes(std::string("logs/") + name, files_.FileBytes(std::string("s/") + name));
    ASSERT_TRUE(directory->Remove(name).ok());
  }
  EXPECT_THAT(Run({"verify", "s"}).out, HasSubstr("--logs DIR"));
  EXPECT_EQ(Run({"verify", "s"}).code, 1);
  EXPECT_EQ(Run({"verify", "--logs", "logs", "s"}).code, 0);
  EXPECT_THAT(Run({"explain", "s", "key000015"}).err, HasSubstr("--logs DIR"));
  EXPECT_EQ(Run({"get", "--raw", "--logs", "logs", "key000015", "s"}).out, "from the last log");
  EXPECT_EQ(Result({"explain", "--logs", "logs", "s", "key000015"})["explanation"]["answered_by"],
            "000008.log");
  EXPECT_EQ(Run({"verify", "--logs", "nowhere", "s"}).code, 3);
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

TEST_F(CommandsTest, VerifyGoesOnBehindDamage) {
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

// --- what does not fit ---

TEST_F(CommandsTest, ACommandThatDoesNotFitNamesTheOneThatDoes) {
  const RunResult log = Run({"scan", "s/000007.log"});
  EXPECT_EQ(log.code, 2);
  EXPECT_THAT(log.err, AllOf(HasSubstr("write-ahead log"), HasSubstr("sstdump wal")));
  EXPECT_EQ(Run({"wal", "s/000002.table"}).code, 2);
  EXPECT_THAT(Run({"blocks", "s/000001.manifest"}).err, HasSubstr("sstdump manifest"));
  EXPECT_THAT(Run({"levels", "s/000002.table"}).err, HasSubstr("sstdump info"));
}

// A crash may leave nothing of a file but its name.
TEST_F(CommandsTest, WhereNothingIsWrittenTheNameTells) {
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
  EXPECT_EQ(Run({"verify", "s"}).code, 0);
}

// Between the reading of the manifest and that of a table, a compaction may have replaced it.
TEST_F(CommandsTest, AStoreThatIsWrittenToMeanwhileIsNoDamage) {
  for (const std::string command : {"verify", "levels", "blocks", "explain"}) {
    lsm::MemoryFileSystem files;
    MakeSampleStore(files, "s");
    // When the first table is looked for, an edit removes table 6 and its file goes.
    bool has_moved_on = false;
    files.SetFault([&](lsm::FileOperation, const std::string& path, uint64_t) {
      if (has_moved_on || !path.ends_with("000006.table")) return absl::OkStatus();
      has_moved_on = true;
      const auto directory = files.OpenDirectory("s", false).value();
      lsm::ManifestContents contents = lsm::ReadManifest(*directory).value();
      contents.state.levels[0].erase(6);
      contents.state.next_file_number = 12;
      EXPECT_TRUE(lsm::ManifestWriter::Create(*directory, 11, 11, contents.state.ToSnapshot(),
                                              contents.current_bytes)
                      .ok());
      EXPECT_TRUE(directory->Remove("000006.table").ok());
      return absl::OkStatus();
    });
    std::vector<std::string> arguments = {command, "s"};
    if (command == "explain") arguments.push_back("key000006");
    const RunResult result = tools::Run(files, arguments);
    EXPECT_TRUE(has_moved_on) << command;
    EXPECT_EQ(result.code, 0) << command << result.out << result.err;
    if (command != "blocks") {
      EXPECT_THAT(result.out + result.err, HasSubstr("written to meanwhile")) << command;
    }
  }
}

TEST_F(CommandsTest, ACutOffTableIsNamedAsSuch) {
  const std::string table = files_.FileBytes("s/000002.table");
  files_.SetFileBytes("s/000002.table", table.substr(0, table.size() / 2));
  const RunResult result = Run({"info", "s/000002.table"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("cut off"));
}

// Nothing is said twice, and what cannot be looked at at all is a message and no data.
TEST_F(CommandsTest, ProblemsAreSaidOnce) {
  for (const std::string path : {"s/nothing", "f/text"}) {
    files_.SetFileBytes("f/text", "text");
    const RunResult result = Run({"verify", path});
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("sstdump: " + path + ": "));
  }
  // Of two paths the first one does not decide where the messages about the second go.
  EXPECT_THAT(Run({"verify", "s", "s/nothing"}).err, StartsWith("sstdump: s/nothing: "));
  files_.SetFileBytes("none/readme", "text");
  EXPECT_THAT(Lines(Run({"verify", "none"}).out),
              ElementsAre("none: directory", "  none: no store: there is no CURRENT file",
                          "  note: readme: no file of the store, by its name", "none: 1 problem"));
  // Without its CURRENT, what is in the store is not known.
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
  EXPECT_THAT(Run({"scan", "s"}).err, HasSubstr("may be out of date"));
}

TEST_F(CommandsTest, ACurrentThatIsTooLongIsDamageForAllCommands) {
  files_.SetFileBytes("s/CURRENT", files_.FileBytes("s/CURRENT") + std::string(5000, 'x'));
  for (const std::string command : {"info", "verify", "manifest"}) {
    const RunResult result = Run({command, "s/CURRENT"});
    EXPECT_EQ(result.code, 1) << command;
    EXPECT_THAT(result.out + result.err, HasSubstr("s/CURRENT: offset 0: the file has 5040 bytes"));
  }
}

TEST_F(CommandsTest, OfSeveralPathsTheWorstCounts) {
  EXPECT_EQ(Run({"info", "s/000002.table", "s/000003.table"}).code, 0);
  EXPECT_EQ(Run({"info", "s/000002.table", "nowhere", "s/000003.table"}).code, 3);
  EXPECT_THAT(Run({"info", "nowhere", "s/000003.table"}).out, HasSubstr("s/000003.table: table"));
  EXPECT_EQ(Document({"info", "s/000002.table", "nowhere"}, 3)["results"].size(), 2u);
  EXPECT_EQ(Run({"scan", "--limit", "1", "s/000007.log", "s/000002.table"}).code, 2);
}

}  // namespace
}  // namespace tools
