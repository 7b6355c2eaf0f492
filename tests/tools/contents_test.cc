// The commands that show entries and look up keys, also while the store changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/fs/file_names.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/manifest.h"
#include "tests/tools/commands_fixture.h"
#include "tests/tools/sample_store.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/run.h"

namespace tools {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class ContentsTest : public CommandsTest {};

// --- scan ---

TEST_F(ContentsTest, ScanShowsEntriesInOrder) {
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

TEST_F(ContentsTest, ScanKeepsToItsBounds) {
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

TEST_F(ContentsTest, KeysAndValuesCanBeHexOrRaw) {
  EXPECT_THAT(Lines(Run({"scan", "--hex", "--from", "c3", "s/000005.table"}).out)[0],
              StartsWith("c3a4ff\t1008\tput\t7676"));
  EXPECT_THAT(Run({"scan", "--raw", "s/000005.table"}).out,
              HasSubstr(std::string("\0\x01\x1b[31m\t", 8)));
  // JSON cannot hold raw bytes.
  EXPECT_EQ(Result({"scan", "--raw", "s/000005.table"})["entries"][7]["key"], "\\xc3\\xa4\\xff");
  EXPECT_EQ(Result({"scan", "--hex", "s/000005.table"})["entries"][7]["key"], "c3a4ff");
}

// Headings and notes about omissions are not data.
TEST_F(ContentsTest, ScanNamesEachTable) {
  const RunResult result = Run({"scan", "--limit", "1", "--keys-only", "s"});
  EXPECT_THAT(Lines(result.out),
              ElementsAre("key000006", "", "key000000", "key000900", "key000000"));
  EXPECT_THAT(
      Lines(result.err),
      ElementsAre("sstdump: note: s: table by table, with old versions and deletions; "
                  "writes in 2 logs are left out (sstdump dump shows what the store holds)",
                  "==> s/000006.table <==", "==> s/000005.table <==", "==> s/000003.table <==",
                  "==> s/000004.table <==", "==> s/000002.table <=="));
}

// A long output can be read line by line.
TEST_F(ContentsTest, ScanJsonHasAnObjectPerLine) {
  const RunResult result = Run({"scan", "--json", "--limit", "1", "s/000005.table", "nowhere"});
  EXPECT_EQ(result.err, "");
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(json::parse(lines[0]), json::parse(R"({"file": "s/000005.table", "key": "",
      "sequence": 1001, "kind": "put", "value": "of the empty key"})"));
  EXPECT_EQ(json::parse(lines[1]), json::parse(R"({"path": "s/000005.table", "kind": "table",
      "outcome": "fine", "problems": [], "notes": []})"));
  EXPECT_EQ(json::parse(lines[2])["outcome"], "unreadable");
  EXPECT_EQ(json::parse(lines[3]), json::parse(R"({"command": "scan", "exit_code": 3})"));
}

TEST_F(ContentsTest, PrefixesAreRanges) {
  EXPECT_THAT(Lines(Run({"scan", "--keys-only", "--prefix", "key00000", "s/000005.table"}).out),
              ElementsAre("key000003", "key000009", "key000009", "key000009"));
  EXPECT_THAT(Lines(Run({"scan", "--keys-only", "--prefix", "\\xc3\\xa4", "s/000005.table"}).out),
              ElementsAre("\\xc3\\xa4\\xff"));
  auto directory = files_.OpenDirectory("p", true).value();
  MakeTable(*directory, {},
            {{"\xfe", 1, false, ""},
             {"\xff", 2, false, ""},
             {"\xff\xff", 3, false, ""},
             {"\xff\xff\xff", 4, false, ""}});
  EXPECT_EQ(Run({"scan", "--keys-only", "--prefix", "\\xff\\xff", "p/000001.table"}).out,
            "\\xff\\xff\n\\xff\\xff\\xff\n");
  EXPECT_EQ(Run({"scan", "--prefix", "a", "--from", "a", "s"}).code, 2);
}

// --- dump ---

TEST_F(ContentsTest, DumpMatchesTheStore) {
  const RunResult all = Run({"dump", "s"});
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.err, "");
  std::map<std::string, std::string> pairs;
  std::string last;
  for (const std::string& line : Lines(all.out)) {
    const size_t tab = line.find('\t');
    const std::string key = line.substr(0, tab);
    EXPECT_TRUE(pairs.emplace(key, line.substr(tab + 1)).second) << "twice: " << line;
  }
  EXPECT_EQ(pairs.at("key000015"), "from the last log");
  EXPECT_EQ(pairs.at("key000012"), "in level 0");
  EXPECT_EQ(pairs.at("key000300"), std::string(20, 'w'));
  EXPECT_EQ(pairs.at(""), "of the empty key");
  EXPECT_FALSE(pairs.contains("key000018"));  // deleted in a log
  EXPECT_FALSE(pairs.contains("key000006"));  // deleted in level 0
  // Each value equals the answer of a lookup.
  for (const auto& [key, value] : pairs) {
    if (!key.starts_with("key0003") && key.starts_with("key")) continue;
    const RunResult got = Run({"get", "--raw", "s", "--", key});
    EXPECT_EQ(lsm::Escape(got.out), value) << key;
  }
}

TEST_F(ContentsTest, DumpKeepsToItsBounds) {
  EXPECT_THAT(
      Lines(Run({"dump", "--keys-only", "--from", "key000012", "--to", "key000024", "s"}).out),
      ElementsAre("key000012", "key000015", "key000021"));
  EXPECT_THAT(Lines(Run({"dump", "--keys-only", "--limit", "2", "--prefix", "key0003", "s"}).out),
              ElementsAre("key000300", "key000303"));
  EXPECT_EQ(Run({"dump", "--from", "zzz", "s"}).out.find("key"), std::string::npos);
  const json result = Result({"dump", "--from", "key000015", "--limit", "1", "s"});
  EXPECT_EQ(result["entries"], json::parse(R"([{"key": "key000015", "sequence": 1013,
      "value": "from the last log"}])"));
  EXPECT_EQ(Run({"dump", "s/000002.table"}).code, 2);
}

TEST_F(ContentsTest, DumpShowsStoresInTheirLog) {
  MakeStoreOfALog("l", {{{"a", 1, false, "old"}, {"b", 2, false, "2"}}, {{"a", 3, false, "1"}}});
  EXPECT_EQ(Run({"dump", "l"}).out, "a\t1\nb\t2\n");
}

// `dump` shows the certain entries up to the damage, and nothing that may be stale.
TEST_F(ContentsTest, DumpDoesNotGuess) {
  auto directory = files_.OpenDirectory("s", false).value();
  const std::string log = files_.FileBytes("s/000007.log");
  ASSERT_TRUE(directory->Remove("000007.log").ok());
  RunResult result = Run({"dump", "s"});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("000007.log"), HasSubstr("nothing is dumped")));
  files_.SetFileBytes("s/000007.log", log);

  std::string table = files_.FileBytes("s/000003.table");
  table[700] = static_cast<char>(table[700] ^ 0x10);
  files_.SetFileBytes("s/000003.table", table);
  result = Run({"dump", "s"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("key000012\t"), Not(HasSubstr("key000900"))));
  EXPECT_THAT(result.err, AllOf(HasSubstr("s/000003.table: offset 549"),
                                HasSubstr("note: s: the dump ends here")));
  EXPECT_EQ(Run({"dump", "--from", "key000900", "s"}).code, 0);

  // Also a table that would be read last.
  ASSERT_TRUE(directory->Remove("000004.table").ok());
  result = Run({"dump", "s"});
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("there is no such file"));
  EXPECT_EQ(Run({"dump", "--to", "key000020", "s"}).code, 0);
}

// The manifest lost its last edits or was forged.  Such a store would not open.
TEST_F(ContentsTest, RefusesTablesBeyondTheLastSequence) {
  auto directory = files_.OpenDirectory("f", true).value();
  lsm::VersionEdit snapshot;
  snapshot.next_file_number = 3;
  snapshot.oldest_log = 2;
  snapshot.last_sequence = 3;
  snapshot.added.push_back(
      {0, MakeTable(*directory, {}, {{"a", 3, false, "1"}, {"b", 4, true, ""}})});
  MakeManifest(*directory, snapshot);
  MakeLog(*directory, 2, {{{"c", 4, false, "in the log"}}}, LogState::kOpen);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"dump", "f"}, {"get", "--raw", "f", "a"}, {"explain", "f", "a"}}) {
    const RunResult result = Run(arguments);
    EXPECT_EQ(result.code, 1) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("the last sequence of the manifest is 3")) << arguments[0];
    EXPECT_THAT(result.out, Not(HasSubstr("1\n"))) << arguments[0];
  }
}

// --- get ---

TEST_F(ContentsTest, GetExplainsEachStep) {
  const json found = Result({"get", "s/000002.table", "key000300"});
  EXPECT_EQ(found["answer"], "put");
  EXPECT_EQ(found["value"], std::string(20, 'w'));
  EXPECT_EQ(found["filter_passed"], true);
  ASSERT_EQ(found["blocks"].size(), 1u);
  EXPECT_EQ(found["versions"][0]["sequence"], 101);
  EXPECT_EQ(Result({"get", "s/000002.table", "key000301"})["answer"], "absent");
  const std::string text = Run({"get", "s/000002.table", "key000300"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("digest  0x"), HasSubstr("standard says maybe"),
                          HasSubstr("index   block "), HasSubstr("put at sequence 101, 20 bytes"),
                          HasSubstr("value   " + std::string(20, 'w'))));
}

TEST_F(ContentsTest, GetShowsAllVersionsNewestFirst) {
  const json versions = Result({"get", "s/000005.table", "key000009"})["versions"];
  ASSERT_EQ(versions.size(), 3u);
  EXPECT_EQ(versions[0]["sequence"], 1007);
  EXPECT_EQ(versions[1]["kind"], "delete");
  EXPECT_EQ(versions[2]["value_bytes"], 6);
}

TEST_F(ContentsTest, GetAcceptsAnyBytes) {
  EXPECT_EQ(Result({"get", "s/000005.table", ""})["value"], "of the empty key");
  EXPECT_EQ(Result({"get", "s/000005.table", "\\x00\\x01\\x1b[31m"})["answer"], "put");
  EXPECT_EQ(Result({"get", "--hex", "s/000005.table", "00011b5b33316d"})["answer"], "put");
  EXPECT_EQ(Result({"get", "s/000005.table", "back\\\\slash\"quote"})["answer"], "put");
  for (const char* odd : {"{}", "[]", "[a,b]", "{", "%%", "--", "++"}) {
    EXPECT_EQ(Result({"get", "s/000005.table", "--", odd})["answer"], "absent") << odd;
  }
}

TEST_F(ContentsTest, GetSearchesLogs) {
  const json log = Result({"get", "s/000008.log", "key000015"});
  EXPECT_EQ(log["value"], "from the last log");
  // In the order of a lookup, without an obsolete log.
  auto directory = files_.OpenDirectory("s", false).value();
  MakeLog(*directory, 3, {{{"key000015", 5, false, "flushed long ago"}}}, LogState::kClosed);
  const json document = Document({"get", "s", "key000015"});
  ASSERT_EQ(document["results"].size(), 6u);
  EXPECT_EQ(document["results"][0]["path"], "s/000008.log");
  EXPECT_EQ(document["results"][0]["value"], "from the last log");
  EXPECT_EQ(document["results"][1]["path"], "s/000007.log");
  EXPECT_EQ(document["results"][4]["path"], "s/000002.table");
}

// A store may have thousands of tables, and only a few can hold the key.
TEST_F(ContentsTest, GetNamesTablesOutOfRangeInOneLine) {
  const RunResult text = Run({"get", "s", "key000015"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, Not(HasSubstr("s/000006.table: key")));
  EXPECT_THAT(Lines(text.out).back(),
              "s: 2 other tables cannot hold key000015, by key range: 000006.table, 000004.table");
  const json result = Document({"get", "s", "key000015"})["results"][5];
  EXPECT_EQ(result["kind"], "directory");
  EXPECT_EQ(result["out_of_range"], json({"000006.table", "000004.table"}));
}

TEST_F(ContentsTest, RawGetWritesOnlyTheValue) {
  EXPECT_EQ(Run({"get", "--raw", "s/000005.table", "key000009"}).out, "newest");
  EXPECT_EQ(Run({"get", "--raw", "s/000005.table", "key000010"}).out, "");
}

// The newest version of all logs and levels decides, as in a lookup.
TEST_F(ContentsTest, RawGetMatchesTheStore) {
  const auto answer = [this](const std::string& key) {
    const RunResult result = Run({"get", "--raw", "s", key});
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
  // The JSON document has the answer of each file.
  EXPECT_EQ(Document({"get", "--raw", "s", "key000015"})["results"].size(), 6u);
}

// A value that may be stale is worse than none.
TEST_F(ContentsTest, RawGetDoesNotGuess) {
  const std::string table = files_.FileBytes("s/000006.table");
  files_.SetFileBytes("s/000006.table", table.substr(0, table.size() / 2));
  RunResult result = Run({"get", "--raw", "s", "key000012"});
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("000006.table"));
  // The table cannot hold this key, so the answer is certain.  The damage is reported anyway.
  result = Run({"get", "--raw", "s", "key000300"});
  EXPECT_EQ(result.out, std::string(20, 'w'));
  EXPECT_EQ(result.code, 1);
  files_.SetFileBytes("s/000006.table", table);
  // A log that held synced writes and lost all of them.
  const std::string log = files_.FileBytes("s/000007.log");
  files_.SetFileBytes("s/000007.log", log.substr(0, 32));
  for (const char* key : {"key000015", "key000300"}) {
    result = Run({"get", "--raw", "s", key});
    EXPECT_EQ(result.out, "") << key;
    EXPECT_EQ(result.code, 1) << key;
    EXPECT_THAT(result.err, HasSubstr("s/000007.log: offset 0: the log is empty"));
  }
  EXPECT_EQ(Run({"explain", "s", "key000300"}).code, 1);
  files_.SetFileBytes("s/000007.log", log);
  // A needed log is missing.
  ASSERT_TRUE(files_.OpenDirectory("s", false).value()->Remove("000007.log").ok());
  result = Run({"get", "--raw", "s", "key000300"});
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("s/000007.log: the manifest says"));
}

// After a gap in the sequence numbers of unsynced writes, the store uses no further log.
TEST_F(ContentsTest, LookupsStopAtLogGaps) {
  auto directory = files_.OpenDirectory("s", false).value();
  ASSERT_TRUE(directory->Remove("000008.log").ok());
  MakeLog(*directory, 8, {{{"key000015", 1020, false, "behind the gap"}}}, LogState::kOpen);
  const RunResult raw = Run({"get", "--raw", "s", "key000015"});
  EXPECT_EQ(raw.out, "from a log");
  EXPECT_EQ(raw.code, 0);
  EXPECT_THAT(raw.err, HasSubstr("000008.log: the store will not use this log from offset 32 on"));
  EXPECT_EQ(Result({"explain", "s", "key000015"})["explanation"]["answered_by"], "000007.log");
}

// --- explain ---

TEST_F(ContentsTest, ExplainFollowsTheLookup) {
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
  EXPECT_EQ(absent["answered_by"], nullptr);
  EXPECT_THAT(Run({"explain", "s", "key000300"}).out, HasSubstr("answered by table 2 at level 2"));
}

// A table that may hold the key decides the answer only if the lookup comes to it first.
TEST_F(ContentsTest, ExplainIsUnknownWithoutANeededTable) {
  auto directory = files_.OpenDirectory("s", false).value();
  ASSERT_TRUE(directory->Remove("000003.table").ok());
  for (const char* key : {"key000301", "key000300"}) {  // absent, and in level 2
    const RunResult text = Run({"explain", "s", key});
    EXPECT_EQ(text.code, 1);
    EXPECT_THAT(text.out, HasSubstr("\n  UNKNOWN: 000003.table, which may hold the key, cannot"));
    EXPECT_THAT(text.out, Not(HasSubstr("answered by")));
    EXPECT_THAT(text.err, HasSubstr("there is no such file"));
    const json explanation = Result({"explain", "s", key}, 1)["explanation"];
    EXPECT_THAT(explanation["error"], HasSubstr("000003.table"));
  }
  // In level 0, above the lost table; and outside of its range.
  EXPECT_THAT(Run({"explain", "s", "key000012"}).out, HasSubstr("answered by table 6 at level 0"));
  EXPECT_EQ(Run({"get", "--raw", "s", "key000012"}).out, "in level 0");
  EXPECT_THAT(Run({"explain", "s", "key000903"}).out, HasSubstr("answered by table 2 at level 2"));
}

TEST_F(ContentsTest, ExplainIsUnknownWithoutALog) {
  auto directory = files_.OpenDirectory("s", false).value();
  ASSERT_TRUE(directory->Remove("000007.log").ok());
  const RunResult text = Run({"explain", "s", "key000300"});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out, AllOf(HasSubstr("  000007.log: unread\n"),
                              HasSubstr("  UNKNOWN: 000007.log, which may hold a newer write, ")));
}

TEST_F(ContentsTest, CommandsThatShowLogsReportAMissingOne) {
  auto directory = files_.OpenDirectory("s", false).value();
  ASSERT_TRUE(directory->Remove("000007.log").ok());
  const auto is_missing =
      AllOf(HasSubstr("s/000007.log: the manifest says that this log holds writes"),
            HasSubstr("there is no such file"));
  const RunResult wal = Run({"wal", "s"});
  EXPECT_EQ(wal.code, 1);
  EXPECT_THAT(wal.err, is_missing);
  const RunResult get = Run({"get", "s", "key000300"});
  EXPECT_EQ(get.code, 1);
  EXPECT_THAT(get.err, is_missing);
  EXPECT_THAT(get.out,
              testing::EndsWith("  answer  unknown: a file that may hold it cannot be read\n"));
  const RunResult as_json = Run({"get", "--json", "s", "key000300"});
  EXPECT_EQ(as_json.code, 1);
  EXPECT_EQ(json::parse(as_json.out)["results"].back()["answer"], "unknown") << as_json.out;
  EXPECT_THAT(as_json.out, HasSubstr("there is no such file"));
  // `scan` leaves logs out, so a missing one is no problem.
  EXPECT_THAT(Run({"scan", "s"}).err, HasSubstr("writes in 2 logs are left out"));
}

TEST_F(ContentsTest, ExplainShowsKeysInTheRequestedForm) {
  const json explanation = Result({"explain", "--hex", "s", "c3a4ff"})["explanation"];
  EXPECT_EQ(explanation["key"], "c3a4ff");
  EXPECT_EQ(explanation["tables"][0]["smallest_key"], "");
  EXPECT_EQ(explanation["tables"][0]["largest_key"], "c3a4ff");
  const std::string text = Run({"explain", "--hex", "s", "c3a4ff"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("key c3a4ff\n"), HasSubstr("[(empty) .. c3a4ff]"),
                          Not(HasSubstr("\\x"))));
  EXPECT_EQ(Result({"explain", "s", "\\xc3\\xa4\\xff"})["explanation"]["key"], "\\xc3\\xa4\\xff");
}

TEST_F(ContentsTest, TheEmptyKeyHasAName) {
  EXPECT_THAT(Run({"get", "s/000005.table", ""}).out, StartsWith("s/000005.table: key (empty)\n"));
  EXPECT_THAT(Run({"get", "s/000008.log", ""}).out, StartsWith("s/000008.log: key (empty)\n"));
  EXPECT_THAT(Run({"explain", "s", ""}).out, StartsWith("s: lookup of (empty)\nkey (empty)\n"));
}

// --- a store that another process writes to ---

// Another process removes table `number` from level 0, by an edit, and deletes its file.
void DropTable(lsm::MemoryFileSystem& files, uint64_t number, uint64_t manifest_number) {
  const auto directory = files.OpenDirectory("s", false).value();
  lsm::ManifestContents contents = lsm::ReadManifest(*directory).value();
  contents.state.levels[0].erase(number);
  contents.state.next_file_number = manifest_number + 1;
  EXPECT_TRUE(lsm::ManifestWriter::Create(*directory, manifest_number, manifest_number,
                                          contents.state.ToSnapshot(), contents.current_bytes)
                  .ok());
  EXPECT_TRUE(directory->Remove(contents.file_name).ok());
  EXPECT_TRUE(directory->Remove(lsm::TableFileName(number)).ok());
}

std::vector<std::string> OfStore(const std::string& command) {
  std::vector<std::string> arguments = {command, "s"};
  if (FindCommand(command)->arguments.probes) arguments.push_back("--probes=10");
  if (FindCommand(command)->arguments.key) arguments.push_back("key000012");
  return arguments;
}

// Another process replaces a table, and the manifest, after the one that names it was read.
TEST_F(ContentsTest, ReadsChangedStoresAgain) {
  DropTable(files_, 6, 11);
  for (const Command& command : Commands()) {
    lsm::MemoryFileSystem files;
    MakeSampleStore(files, "s");
    bool has_moved_on = false;
    files.SetFault([&](lsm::FileOperation, const std::string& path, uint64_t) {
      if (has_moved_on || !path.ends_with("000006.table")) return absl::OkStatus();
      has_moved_on = true;
      DropTable(files, 6, 11);
      return absl::OkStatus();
    });
    const RunResult result = tools::Run(files, OfStore(command.name));
    EXPECT_TRUE(has_moved_on) << command.name;
    const RunResult right = Run(OfStore(command.name));
    EXPECT_EQ(result.code, 0) << command.name << result.out << result.err;
    EXPECT_EQ(result.out, right.out) << command.name;
    EXPECT_EQ(result.err, right.err) << command.name;
  }
}

// Once the store was read, its files stay readable, even if another process removes them.
TEST_F(ContentsTest, ShowsStoresAsOpened) {
  for (const Command& command : Commands()) {
    lsm::MemoryFileSystem files;
    MakeSampleStore(files, "s");
    const RunResult right = tools::Run(files, OfStore(command.name));
    bool is_in_blocks = false;
    files.SetFault([&](lsm::FileOperation operation, const std::string& path, uint64_t) {
      if (is_in_blocks || operation != lsm::FileOperation::kReadAt ||
          !(path.ends_with("000005.table") || path.ends_with("000008.log"))) {
        return absl::OkStatus();
      }
      is_in_blocks = true;
      DropTable(files, 6, 11);
      DropTable(files, 5, 12);
      return absl::OkStatus();
    });
    const RunResult result = tools::Run(files, OfStore(command.name));
    EXPECT_EQ(result.code, 0) << command.name << result.out << result.err;
    EXPECT_EQ(result.out, right.out) << command.name;
  }
}

// A process may open a limited number of files.
TEST_F(ContentsTest, DoesNotHoldLargeStoresOpen) {
  const auto run_with = [](lsm::FileSystem& files, const std::string& command, size_t files_max) {
    return RunIn(files, {}, [&](const World& world) {
      World few = world;
      few.pinned_files_max = files_max;
      return RunSstdump(OfStore(command), few);
    });
  };
  for (const Command& command : Commands()) {
    const RunResult right = Run(OfStore(command.name));
    for (const size_t files_max : {0, 3}) {
      const RunResult result = run_with(files_, command.name, files_max);
      EXPECT_EQ(result.out, right.out) << command.name;
      EXPECT_EQ(result.err, right.err) << command.name;
    }
    // So another process may remove a file before it is read.  That is reported, but it is not
    // damage.  The contents of the store are then unknown.
    lsm::MemoryFileSystem files;
    MakeSampleStore(files, "s");
    bool has_moved_on = false;
    files.SetFault([&](lsm::FileOperation operation, const std::string& path, uint64_t) {
      const bool is_open = operation == lsm::FileOperation::kOpenRead;
      if (has_moved_on || !is_open || !path.ends_with("000006.table")) return absl::OkStatus();
      has_moved_on = true;
      DropTable(files, 6, 11);
      return absl::OkStatus();
    });
    const RunResult moved = run_with(files, command.name, 0);
    const std::string name = command.name;
    if (name == "info" || name == "wal" || name == "manifest") continue;  // need no table
    EXPECT_EQ(moved.code, name == "verify" || name == "levels" ? 0 : 3) << name << moved.err;
    EXPECT_THAT(moved.out + moved.err, HasSubstr("written to meanwhile")) << name;
  }
}

TEST_F(ContentsTest, GivesUpOnStoresThatKeepChanging) {
  uint64_t number = 100;
  bool is_ours = false;  // calls of the other process do not count
  files_.SetFault([&](lsm::FileOperation operation, const std::string& path, uint64_t) {
    if (is_ours || operation != lsm::FileOperation::kOpenRead || !path.ends_with("000006.table"))
      return absl::OkStatus();
    is_ours = true;
    const auto directory = files_.OpenDirectory("s", false).value();
    lsm::ManifestContents contents = lsm::ReadManifest(*directory).value();
    contents.state.oldest_log = contents.state.next_file_number = ++number;
    EXPECT_TRUE(lsm::ManifestWriter::Create(*directory, number, number, contents.state.ToSnapshot(),
                                            contents.current_bytes)
                    .ok());
    is_ours = false;
    return absl::OkStatus();
  });
  const RunResult result = Run({"info", "s"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("s: the store changed during every attempt to read it"));
  EXPECT_LT(number, 130u);
}

}  // namespace
}  // namespace tools
