// Entries that expire, as sstdump shows and checks them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/version/version_edit.h"
#include "tests/lsm/store/store_forger.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/commands_fixture.h"

namespace tools {
namespace {

using lsm::Concat;
using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ExpiryTest : public CommandsTest {
 protected:
  ExpiryTest() { MakeStoreOfExpiry(files_, "e"); }

  static std::vector<std::string> InSessions(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, {"--keyspace", "sessions"});
    return arguments;
  }
  std::vector<std::string> Dump(const std::string& keyspace, uint32_t at) {
    return Lines(Run({"dump", "--keyspace", keyspace, "--at", Concat(at), "e"}).out);
  }
  json Explain(const std::string& key, uint32_t at = kSampleNow) {
    return Result(InSessions({"explain", "--at", Concat(at), "e", key}))["explanation"];
  }
};

TEST_F(ExpiryTest, ScanShowsTimes) {
  EXPECT_THAT(Lines(Run({"scan", "e/000003.table"}).out),
              ElementsAre("b\t5\tput\t2023-11-14T23:36:40Z\tnew",
                          "c\t6\tput\t2023-11-14T23:03:20Z\texpired, too", "d\t7\tdelete\t-\t"));
  EXPECT_EQ(Lines(Run({"scan", "e/000002.table"}).out)[0], "a\t1\tput\t-\tbefore the limit");
  EXPECT_THAT(Lines(Run({"scan", "--keys-only", "e/000003.table"}).out),
              ElementsAre("b", "c", "d"));
  // Tables without times have no such field.
  EXPECT_THAT(Lines(Run({"scan", "e/000005.table"}).out), ElementsAre("a\t11\tput\tfor ever"));
  const json entries = Result({"scan", "e/000003.table"})["entries"];
  EXPECT_EQ(entries[0], (json{{"file", "e/000003.table"},
                              {"key", "b"},
                              {"sequence", 5},
                              {"kind", "put"},
                              {"written", kSampleTime + 5000},
                              {"value", "new"}}));
  EXPECT_FALSE(entries[2].contains("written"));
  // Also of a keyspace in the common tree, and also what has expired.
  EXPECT_THAT(Lines(Run({"scan", "--keyspace", "carts", "e"}).out),
              ElementsAre("a\t9\tput\t2023-11-14T23:20:00Z\tby the limit in the log",
                          "b\t10\tput\t2023-11-14T23:36:40Z\tcart"));
}

TEST_F(ExpiryTest, WalShowsTheTimesOfRecords) {
  EXPECT_THAT(Run({"wal", "e/000006.log"}).out,
              AllOf(HasSubstr("from sequence 12, written 2023-11-14T23:53:20Z, synced"),
                    HasSubstr("from sequence 14, synced"), HasSubstr("\te\tlogged\n")));
  const json records = Result({"wal", "e"})["entries"];
  EXPECT_EQ(records[0]["written"], kSampleTime + 6000);
  EXPECT_FALSE(records[1].contains("written"));
}

TEST_F(ExpiryTest, TablesShowTheTimesOfTheirPuts) {
  const json info = Result({"info", "e/000003.table"});
  EXPECT_EQ(info["timed_entries"], 2);
  EXPECT_EQ(info["oldest_write_seconds"], kSampleTime + 3000);
  EXPECT_EQ(info["newest_write_seconds"], kSampleTime + 5000);
  const std::string times = "2 timed puts, written 2023-11-14T23:03:20Z to 2023-11-14T23:36:40Z";
  EXPECT_THAT(Run({"info", "e/000003.table"}).out, HasSubstr(times + ", a fifth before "));
  EXPECT_THAT(Run({"manifest", "e"}).out, HasSubstr(times + ", "));
  EXPECT_THAT(Run({"properties", "e/000003.table"}).out,
              HasSubstr(Concat("oldest_write_seconds     ", kSampleTime + 3000)));
  const json levels = Result({"levels", "e"});  // outlives the loop
  int found = 0;
  for (const json& table : levels["tables"]) {
    if (table["name"] != "000003.table") continue;
    ++found;
    EXPECT_EQ(table["timed_entries"], 2);
    EXPECT_EQ(table["newest_write_seconds"], kSampleTime + 5000);
  }
  EXPECT_EQ(found, 1);
  EXPECT_FALSE(Result({"info", "e/000005.table"}).contains("timed_entries"));
  EXPECT_THAT(Run({"info", "e/000005.table"}).out, Not(HasSubstr("timed")));
}

TEST_F(ExpiryTest, DumpHidesExpiredEntries) {
  EXPECT_THAT(Lines(Run(InSessions({"dump", "e"})).out),
              ElementsAre("b\tnew", "e\tlogged", "f\tlogged"));
  EXPECT_THAT(Lines(Run({"dump", "e"}).out), ElementsAre("a\tfor ever"));
  // An entry lives as long as the limit.  One without a time counts from the first limit on.
  EXPECT_THAT(
      Dump("sessions", kSampleTime + 3600),
      ElementsAre("a\tbefore the limit", "b\tnew", "c\texpired, too", "e\tlogged", "f\tlogged"));
  EXPECT_THAT(Dump("sessions", kSampleTime + 3601),
              ElementsAre("b\tnew", "c\texpired, too", "e\tlogged", "f\tlogged"));
  EXPECT_THAT(Dump("sessions", kSampleTime + 6600),
              ElementsAre("b\tnew", "c\texpired, too", "e\tlogged", "f\tlogged"));
  EXPECT_THAT(Dump("sessions", kSampleTime + 6601),
              ElementsAre("b\tnew", "e\tlogged", "f\tlogged"));
  // An expired version hides older ones.
  EXPECT_THAT(Dump("sessions", kSampleTime + 8601), ElementsAre("e\tlogged", "f\tlogged"));
  EXPECT_THAT(Dump("sessions", kSampleTime + 10'000), ElementsAre());
  const json result = Result(InSessions({"dump", "e"}));
  EXPECT_EQ(result["entries"][1]["written"], kSampleTime + 6000);
  EXPECT_EQ(result["entries"][1]["value"], "logged");
}

TEST_F(ExpiryTest, AtTakesADate) {
  const std::string date = lsm::ReadableTime(kSampleTime + 3600);
  EXPECT_EQ(date, "2023-11-14T23:13:20Z");
  EXPECT_EQ(Lines(Run(InSessions({"dump", "--at", date, "e"})).out),
            Dump("sessions", kSampleTime + 3600));
  EXPECT_EQ(Run(InSessions({"dump", "--at", "2106-02-07T06:28:15Z", "e"})).out, "");
  // Everything was written later, which hides nothing.
  EXPECT_EQ(Dump("sessions", 0).size(), 5u);
}

// The limit of the manifest is a day.
TEST_F(ExpiryTest, LogsMayChangeTheLimit) {
  EXPECT_THAT(Dump("carts", kSampleNow), ElementsAre("b\tcart"));
  EXPECT_EQ(Run({"get", "--raw", "--keyspace", "carts", "e", "a"}).out, "");
  EXPECT_EQ(Document({"get", "--keyspace", "carts", "e", "a"})["results"][1]["answer"], "expired");
  const json levels = Result({"levels", "e"});  // outlives the loop
  int found = 0;
  for (const json& keyspace : levels["keyspaces"]) {
    if (keyspace["name"] != "carts") continue;
    ++found;
    EXPECT_EQ(keyspace["expire_after"], 3000);
  }
  EXPECT_EQ(found, 1);
  const auto directory = files_.OpenDirectory("e", false).value();
  ASSERT_OK(directory->Remove("000006.log"));
  MakeLog(*directory, 6, {}, LogState::kOpen);
  EXPECT_THAT(Dump("carts", kSampleNow), ElementsAre("a\tby the limit in the log", "b\tcart"));
}

TEST_F(ExpiryTest, ExplainSaysThatAnEntryHasExpired) {
  const json in_table = Explain("c");
  EXPECT_EQ(in_table["found"], false);
  EXPECT_EQ(in_table["value_bytes"], 0);
  EXPECT_EQ(in_table["answered_by"], "table 3 at level 1");
  ASSERT_EQ(in_table["tables"].size(), 1u);  // the one below is not asked
  EXPECT_EQ(in_table["tables"][0]["outcome"], "expired");
  EXPECT_EQ(in_table["tables"][0]["sequence"], 6);
  EXPECT_EQ(in_table["tables"][0]["written"], kSampleTime + 3000);
  EXPECT_THAT(Run(InSessions({"explain", "e", "c"})).out,
              AllOf(HasSubstr("expired at sequence 6, written 2023-11-14T23:03:20Z\n"),
                    HasSubstr("level 2: 1 table, not reached\n"),
                    HasSubstr("not found; answered by table 3 at level 1\n")));
  const json in_log = Explain("e", kSampleTime + 10'000);
  EXPECT_EQ(in_log["found"], false);
  EXPECT_EQ(in_log["memtables"][0]["outcome"], "expired");
  EXPECT_EQ(in_log["memtables"][0]["written"], kSampleTime + 6000);
  EXPECT_EQ(in_log["tables"].size(), 0u);
  EXPECT_THAT(Run(InSessions({"explain", "--at", "2024-01-01T00:00:00Z", "e", "e"})).out,
              AllOf(HasSubstr("000006.log: expired, written 2023-11-14T23:53:20Z\n"),
                    HasSubstr("level 1: 1 table, not reached\n")));
  // An entry without a time counts as written at the first limit.
  const json untimed = Explain("a");
  EXPECT_EQ(untimed["tables"].back()["outcome"], "expired");
  EXPECT_EQ(untimed["tables"].back()["written"], kSampleTime);
  for (const auto& [key, at] : std::map<std::string, uint32_t>{{"a", kSampleTime + 3600},
                                                               {"b", kSampleNow},
                                                               {"c", kSampleTime + 6600},
                                                               {"e", kSampleNow}}) {
    EXPECT_EQ(Explain(key, at)["found"], true) << key;
  }
  EXPECT_EQ(Result({"explain", "e", "a"})["explanation"]["found"], true);
}

TEST_F(ExpiryTest, GetSaysThatAnEntryHasExpired) {
  const json results = Document(InSessions({"get", "e", "c"}))["results"];
  ASSERT_EQ(results.size(), 3u);  // the log and two tables
  EXPECT_EQ(results[0]["answer"], "absent");
  EXPECT_EQ(results[1]["answer"], "expired");
  EXPECT_FALSE(results[1].contains("value"));
  EXPECT_EQ(results[1]["versions"], (json{{{"sequence", 6},
                                           {"kind", "put"},
                                           {"value_bytes", 12},
                                           {"written", kSampleTime + 3000}}}));
  EXPECT_THAT(Run(InSessions({"get", "e", "c"})).out,
              AllOf(HasSubstr("  answer  expired put at sequence 6, 12 bytes, written "
                              "2023-11-14T23:03:20Z\n"),
                    Not(HasSubstr("value "))));
  EXPECT_THAT(Run(InSessions({"get", "e", "a"})).out,
              HasSubstr("  answer  expired put at sequence 1, 16 bytes, written before "
                        "2023-11-14T22:13:20Z\n"));
  EXPECT_THAT(Run(InSessions({"get", "--at", "1700010000", "e", "e"})).out,
              HasSubstr("  answer  expired put at sequence 12, 6 bytes, written "
                        "2023-11-14T23:53:20Z\n"));
  EXPECT_THAT(Run(InSessions({"get", "--at", "1700006600", "e", "c"})).out,
              HasSubstr("written 2023-11-14T23:03:20Z\n  value   expired, too\n"));
  EXPECT_EQ(Run(InSessions({"get", "--raw", "e", "c"})).out, "");
  EXPECT_EQ(Run(InSessions({"get", "--raw", "e", "c"})).code, 0);
  EXPECT_EQ(Run(InSessions({"get", "--raw", "--at", "1700006600", "e", "c"})).out, "expired, too");
  EXPECT_EQ(Run(InSessions({"get", "--raw", "e", "b"})).out, "new");
  EXPECT_EQ(Run(InSessions({"get", "--raw", "e", "e"})).out, "logged");
}

// A file by itself has no limit.
TEST_F(ExpiryTest, SingleFilesShowEverything) {
  EXPECT_EQ(Run({"get", "--raw", "e/000003.table", "c"}).out, "expired, too");
  EXPECT_THAT(Run({"get", "e/000003.table", "c"}).out,
              HasSubstr("answer  put at sequence 6, 12 bytes, written 2023-11-14T23:03:20Z\n"));
  EXPECT_EQ(Result({"get", "e/000002.table", "a"})["answer"], "put");
}

// As an opening does: otherwise all would be older than the cutoff.
TEST_F(ExpiryTest, CutoffsBeyondThePresentCountAsThePresent) {
  lsm::StoreForger(&files_, "e").ChangeManifest([](lsm::VersionEdit* snapshot) {
    snapshot->keyspaces[0].options.expire_after = 0;
    snapshot->keyspaces[0].marks.cutoff = kSampleTime + 5500;
  });
  EXPECT_THAT(Dump("sessions", kSampleNow), ElementsAre("e\tlogged", "f\tlogged"));
  EXPECT_THAT(Dump("sessions", kSampleTime + 5000),
              ElementsAre("b\tnew", "e\tlogged", "f\tlogged"));
  const std::string text = Run({"levels", "e"}).out;
  EXPECT_THAT(text, HasSubstr("expires no more, timed from 2023-11-14T22:13:20Z, older than "
                              "2023-11-14T23:45:00Z expired\n"));
  EXPECT_EQ(Run({"levels", "--at", "0", "e"}).code, 0);
}

TEST_F(ExpiryTest, LevelsEstimatesExpiredBytes) {
  const json now = Result({"levels", "e"});
  EXPECT_EQ(now["at"], kSampleNow);
  std::map<std::string, json> tables, keyspaces;
  for (const json& table : now["tables"]) tables[table["name"]] = table;
  for (const json& keyspace : now["keyspaces"]) keyspaces[keyspace["name"]] = keyspace;
  EXPECT_EQ(tables["000005.table"]["expired_bytes"], 0);
  uint64_t sum = 0;
  for (const auto& [name, table] : tables) {
    EXPECT_LT(table["expired_bytes"], table["file_bytes"]) << name;
    sum += table["expired_bytes"].get<uint64_t>();
  }
  EXPECT_GT(tables["000002.table"]["expired_bytes"], 0);
  EXPECT_EQ(now["total"]["expired_bytes"], sum);
  EXPECT_EQ(keyspaces["sessions"]["expired_bytes"],
            tables["000002.table"]["expired_bytes"].get<uint64_t>() +
                tables["000003.table"]["expired_bytes"].get<uint64_t>());
  EXPECT_FALSE(keyspaces["default"].contains("expired_bytes"));
  const json late = Result({"levels", "--at", "1800000000", "e"});
  EXPECT_EQ(late["tables"][0]["expired_bytes"], 0);  // of the default keyspace
  const json before = Result({"levels", "--at", Concat(kSampleTime), "e"});
  EXPECT_EQ(before["total"]["expired_bytes"], 0);
  EXPECT_EQ(late["levels"][2]["expired_bytes"], tables["000002.table"]["file_bytes"]);
  EXPECT_THAT(Run({"levels", "--tables", "e"}).out,
              AllOf(ContainsRegex("000003.table .* 2  2023-11-14T23:03:20Z  2023-11-14T23:36:40Z "),
                    ContainsRegex("000005.table .* -  +-  +-  +0 B "),
                    HasSubstr("expires after 3600 s, timed from 2023-11-14T22:13:20Z\n"),
                    HasSubstr("puts that have expired at 2023-11-15T00:13:20Z\n")));
  EXPECT_FALSE(Result({"levels", "s"}).contains("at"));
  EXPECT_THAT(Run({"levels", "--tables", "s"}).out,
              AllOf(Not(HasSubstr("expired")), Not(HasSubstr("write"))));
}

TEST_F(ExpiryTest, VerifyChecksTheTimes) {
  EXPECT_EQ(Run({"verify", "e"}).code, 0);
  using P = lsm::TableProperties;
  for (const auto& [name, member] :
       std::map<std::string, uint64_t P::*>{{"timed_entries", &P::timed_entries},
                                            {"oldest_write_seconds", &P::oldest_write_seconds},
                                            {"newest_write_seconds", &P::newest_write_seconds},
                                            {"fifth_write_seconds", &P::fifth_write_seconds}}) {
    lsm::MemoryFileSystem files;
    MakeStoreOfExpiry(files, "e");
    lsm::StoreForger(&files, "e")
        .ChangeProperties(
            3, [&, what = member](P* properties, lsm::Footer*) { properties->*what += 1; });
    for (const std::string path : {"e/000003.table", "e"}) {
      const RunResult result = tools::Run(files, {"verify", path});
      EXPECT_EQ(result.code, 1) << name;
      EXPECT_THAT(result.out, HasSubstr(Concat("the properties say ", name, " "))) << path;
    }
  }
}

// An opening refuses it.
TEST_F(ExpiryTest, PutsWithoutATimeAreDamage) {
  const auto directory = files_.OpenDirectory("e", false).value();
  ASSERT_OK(directory->Remove("000006.log"));
  MakeLog(*directory, 6, {{{"e", 12, false, "no time", false, 2}}}, LogState::kOpen);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"verify", "e"}, {"dump", "e"}, {"explain", "e", "a"}, {"get", "--raw", "e", "a"}}) {
    const RunResult result = Run(command);
    EXPECT_EQ(result.code, 1) << command[0];
    EXPECT_THAT(result.out + result.err,
                AllOf(HasSubstr("e/000006.log: offset 32: "),
                      HasSubstr("a put of keyspace 2 needs a time, but the record has none")))
        << command[0];
  }
}

// A compaction in steps leaves copies, of which the upper one may have become a tombstone.
TEST_F(ExpiryTest, DumpAcceptsCopies) {
  const auto directory = files_.OpenDirectory("c", true).value();
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 5;
  snapshot.last_sequence = 3;
  snapshot.oldest_log = 4;
  const std::vector<SampleEntry> entries = {{"a", 1, false, "1"}, {"b", 2, false, "2"}};
  snapshot.added = {{2, MakeTable(*directory, {.number = 2, .level = 2}, entries)},
                    {1, MakeTable(*directory, {.number = 3, .level = 1},
                                  {entries[0], {"b", 2, true}, {"c", 3, false, "3"}})}};
  MakeManifest(*directory, snapshot);
  MakeLog(*directory, 4, {}, LogState::kOpen);
  const RunResult result = Run({"dump", "c"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(Lines(result.out), ElementsAre("a\t1", "c\t3"));
}

TEST_F(ExpiryTest, LinesFitATerminal) {
  for (const size_t columns : {40, 60, 80, 120}) {
    const Terminal terminal = {.is_terminal = true, .columns = columns, .allows_color = false};
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"levels", "--tables", "e"},
                                               {"levels", "--tables", "s"},
                                               {"scan", "e/000002.table"},
                                               {"scan", "--keyspace", "carts", "e"},
                                               {"wal", "e"},
                                               {"info", "e/000003.table"},
                                               {"manifest", "e"},
                                               {"get", "--keyspace", "sessions", "e", "c"},
                                               {"explain", "--keyspace", "sessions", "e", "c"}}) {
      const RunResult result = Run(arguments, terminal);
      EXPECT_EQ(result.code, 0);
      if (columns < 80 && arguments[0] != "levels") continue;
      for (const std::string& line : Lines(result.out))
        EXPECT_LE(LineColumnsOf(line), columns) << arguments[0] << ": " << line;
    }
  }
}

// Columns that are not there leave no room.
TEST_F(ExpiryTest, NarrowTerminalsLeaveOutOnlyColumnsThatAreThere) {
  MakeStoreOfRuns(files_, "r");  // no tombstones
  const Terminal terminal = {.is_terminal = true, .columns = 70, .allows_color = false};
  const std::string text = Run({"levels", "r"}, terminal).out;
  EXPECT_THAT(text, AllOf(HasSubstr("wasted\n"), HasSubstr("no room for target"),
                          Not(HasSubstr("no room for oldest"))));
}

}  // namespace
}  // namespace tools
