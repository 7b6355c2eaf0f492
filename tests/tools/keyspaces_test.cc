// Keyspaces in logs and stores, as sstdump shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_writer.h"
#include "lsm/write_batch.h"
#include "tests/tools/commands_fixture.h"

namespace tools {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class KeyspacesTest : public CommandsTest {
 protected:
  KeyspacesTest() {
    MakeStoreOfALog("k", {{{"a", 1, false, "one"}},
                          {{"a", 2, false, "other", false, 2},
                           {"b", 3, true, "", false, 300},
                           {"a", 4, true, "c", true, ~lsm::KeyspaceId{0}},
                           {"a", 5, true, "", true, 3},
                           {"c", 6, false, "three"}}});
  }
};

TEST_F(KeyspacesTest, WalShowsTheirIds) {
  const json records = Result({"wal", "k/000002.log"})["entries"];
  EXPECT_FALSE(records[0]["entries"][0].contains("keyspace"));
  const json entries = records[1]["entries"];
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(
      entries[0],
      (json{{"sequence", 2}, {"keyspace", 2}, {"kind", "put"}, {"key", "a"}, {"value", "other"}}));
  EXPECT_EQ(entries[1],
            (json{{"sequence", 3}, {"keyspace", 300}, {"kind", "delete"}, {"key", "b"}}));
  EXPECT_EQ(entries[2], (json{{"sequence", 4},
                              {"keyspace", 4294967295},
                              {"kind", "range delete"},
                              {"from", "a"},
                              {"to", "c"}}));
  EXPECT_EQ(entries[3],
            (json{{"sequence", 5}, {"keyspace", 3}, {"kind", "range delete"}, {"from", "a"}}));
  EXPECT_FALSE(entries[4].contains("keyspace"));
  EXPECT_THAT(Run({"wal", "k/000002.log"}).out,
              HasSubstr("    2\tput (keyspace 2)\ta\tother\n"
                        "    3\tdelete (keyspace 300)\tb\n"
                        "    4\trange delete (keyspace 4294967295)\ta\tc\n"
                        "    5\trange delete (keyspace 3)\ta\n"
                        "    6\tput\tc\tthree\n"));
}

TEST_F(KeyspacesTest, LinesFitATerminal) {
  MakeStoreOfALog("l", {{{std::string(200, 'k'), 1, false, std::string(200, 'v'), false, 300}}});
  const Terminal terminal = {.is_terminal = true, .allows_color = false};
  bool shows_it = false;
  for (const std::string& line : Lines(Run({"wal", "l/000002.log"}, terminal).out)) {
    EXPECT_LE(LineColumnsOf(line), terminal.columns) << line;
    shows_it = shows_it || line.find("put (keyspace 300)\tkkk") != std::string::npos;
  }
  EXPECT_TRUE(shows_it);
}

// Entries of other keyspaces do not count for lookups in a log.
TEST_F(KeyspacesTest, LookupsInALogLeaveThemOut) {
  EXPECT_EQ(Run({"get", "--raw", "k/000002.log", "a"}).out, "one");
  EXPECT_EQ(Result({"get", "k/000002.log", "b"})["answer"], "absent");
  EXPECT_EQ(Result({"info", "k/000002.log"})["puts"], 3);
}

// An opening refuses such a store, too.
TEST_F(KeyspacesTest, StoresThatDidNotCreateThemAreDamaged) {
  const std::string where = "k/000002.log: offset ";
  const std::string what = ", which was not created";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"verify", "k"}, {"dump", "k"}, {"explain", "k", "a"}, {"get", "--raw", "k", "a"}}) {
    const RunResult result = Run(command);
    EXPECT_EQ(result.code, 1) << command[0];
    EXPECT_THAT(result.out + result.err, AllOf(HasSubstr(where), HasSubstr(what))) << command[0];
  }
  EXPECT_THAT(Lines(Run({"dump", "k"}).out), ElementsAre());
  // A log alone does not say which keyspaces exist.
  EXPECT_EQ(Run({"verify", "k/000002.log"}).code, 0);
}

// Stores whose logs create keyspaces.
class KeyspaceLogsTest : public CommandsTest {
 protected:
  using Fill = std::function<void(lsm::WriteBatch*)>;

  KeyspaceLogsTest() : directory_(files_.OpenDirectory("l", true).value()) {
    lsm::VersionEdit snapshot;
    snapshot.next_file_number = 4;
    snapshot.oldest_log = 2;
    MakeManifest(*directory_, snapshot);
  }
  // Makes a log of records with one entry each.
  void MakeLogOf(uint64_t number, lsm::Sequence first, const std::vector<Fill>& records) {
    auto log = lsm::LogWriter::Create(directory_->CreateExclusive(lsm::LogFileName(number)).value(),
                                      lsm::LogKind::kWriteAhead, number);
    ASSERT_TRUE(log.ok()) << log.status();
    for (const Fill& fill : records) {
      lsm::WriteBatch batch;
      fill(&batch);
      lsm::EncodedBatch::SetFirstSequence(&batch, first++);
      ASSERT_TRUE((*log)->Append(lsm::EncodedBatch::Of(batch)).ok());
    }
  }
  static Fill Put(lsm::KeyspaceId id) {
    return [=](lsm::WriteBatch* batch) { lsm::EncodedBatch::Put(batch, id, "key", "value"); };
  }
  static Fill Change(const lsm::KeyspaceChange& change) {
    return [=](lsm::WriteBatch* batch) { lsm::EncodedBatch::Change(batch, change); };
  }
  static Fill Create(lsm::KeyspaceId id, const std::string& name) {
    return Change({lsm::KeyspaceChange::Kind::kCreated, id, name});
  }
  void ExpectDamage(const std::string& text) {
    const RunResult result = Run({"verify", "l"});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.out + result.err,
                AllOf(HasSubstr("l/000002.log: offset "), HasSubstr(text)));
  }

  std::unique_ptr<lsm::Directory> directory_;
};

TEST_F(KeyspaceLogsTest, VerifyKnowsThemFromEarlierLogs) {
  MakeLogOf(2, 1, {Create(2, "users"), Put(2)});
  MakeLogOf(3, 3, {Put(2), Create(3, "jobs"), Put(3)});
  const RunResult result = Run({"verify", "l"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

// A crash lost the end of log 2, which had the creation.  An opening drops log 3 without an error.
TEST_F(KeyspaceLogsTest, VerifyAcceptsALostCreation) {
  MakeLogOf(2, 1, {Put(lsm::kDefaultKeyspace)});
  MakeLogOf(3, 3, {Put(2), Change({lsm::KeyspaceChange::Kind::kOptions, 2})});
  const RunResult result = Run({"verify", "l"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(KeyspaceLogsTest, VerifyFindsAnEntryBeforeItsCreation) {
  MakeLogOf(2, 1, {Put(2), Create(2, "users")});
  ExpectDamage("the record names keyspace 2, which was not created");
}

TEST_F(KeyspaceLogsTest, VerifyFindsOptionsOfNoKeyspace) {
  MakeLogOf(2, 1, {Change({lsm::KeyspaceChange::Kind::kOptions, 2})});
  ExpectDamage("a change of keyspace 2, which was not created");
}

TEST_F(KeyspaceLogsTest, VerifyFindsANameThatIsTaken) {
  MakeLogOf(2, 1, {Create(2, "users"), Create(3, "users")});
  ExpectDamage("keyspace 3 is added with the name \"users\", which keyspace 2 has");
}

// A store with a table of keyspace 2 and one of the default keyspace, which have a key in common.
class KeyspaceTablesTest : public CommandsTest {
 protected:
  KeyspaceTablesTest() {
    auto directory = files_.OpenDirectory("t", true).value();
    lsm::VersionEdit snapshot;
    snapshot.next_file_number = 6;
    snapshot.last_sequence = 4;
    snapshot.oldest_log = 5;
    snapshot.next_keyspace_id = 3;
    snapshot.keyspaces = {{.id = 2, .options = {.target_fpp = 0.25}, .name = "users"}};
    const auto add = [&](uint64_t number, int level, lsm::KeyspaceId keyspace,
                         const std::vector<SampleEntry>& entries) {
      const lsm::TableMeta table =
          MakeTable(*directory, {.number = number, .level = level, .keyspace = keyspace}, entries);
      snapshot.added.push_back({level, table});
    };
    // In one keyspace they would overlap in a level, and be in the wrong order.
    add(2, 1, lsm::kDefaultKeyspace, {{"a", 4, false, "newer"}});
    add(3, 1, 2, {{"a", 2, false, "other"}, {"b", 3, false, "other"}});
    add(4, 0, 2, {{"a", 3, false, "of users"}});
    MakeManifest(*directory, snapshot);
    MakeLog(*directory, 5, {}, LogState::kOpen);
  }
};

TEST_F(KeyspaceTablesTest, VerifyKeepsThemApart) {
  const RunResult result = Run({"verify", "t"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(KeyspaceTablesTest, VerifyComparesATableWithItsRecord) {
  auto directory = files_.OpenDirectory("t", false).value();
  ASSERT_TRUE(directory->Remove("000002.table").ok());
  MakeTable(*directory, {.number = 2, .level = 1, .keyspace = 2}, {{"a", 4, false, "newer"}});
  const RunResult result = Run({"verify", "t"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out + result.err,
              HasSubstr("the manifest says that it belongs to keyspace default, "
                        "the table has keyspace 2 users"));
}

TEST_F(KeyspaceTablesTest, InfoNamesTheKeyspace) {
  const json info = Result({"info", "t/000003.table"});
  EXPECT_EQ(info["keyspace"], 2);
  EXPECT_EQ(info["tree"], "own");
  EXPECT_FALSE(info.contains("keyspace_name"));  // a file by itself
  EXPECT_FALSE(Result({"info", "t/000002.table"}).contains("tree"));
  EXPECT_THAT(Run({"info", "t/000003.table"}).out, HasSubstr("for level 1 of keyspace 2\n"));
  EXPECT_EQ(Result({"info", "t"})["keyspaces"], 1);
  EXPECT_THAT(Run({"info", "t"}).out,
              AllOf(HasSubstr("1 keyspace besides the default one (sstdump levels)"),
                    HasSubstr("4 entries (sstdump levels)")));
  EXPECT_EQ(Result({"properties", "t/000003.table"})["properties"]["keyspace"], 2);
}

class CommonTreeTest : public CommandsTest {
 protected:
  CommonTreeTest() : directory_(MakeStoreOfKeyspaces(files_, "t")) {}
  void MakeLogOf(const std::vector<std::function<void(lsm::WriteBatch*)>>& records) {
    auto log = lsm::LogWriter::Create(directory_->CreateExclusive(lsm::LogFileName(7)).value(),
                                      lsm::LogKind::kWriteAhead, 7);
    ASSERT_TRUE(log.ok()) << log.status();
    lsm::Sequence sequence = 21;
    for (const auto& fill : records) {
      lsm::WriteBatch batch;
      fill(&batch);
      lsm::EncodedBatch::SetFirstSequence(&batch, sequence);
      sequence += lsm::EncodedBatch::CountOf(lsm::EncodedBatch::Of(batch));
      ASSERT_TRUE((*log)->Append(lsm::EncodedBatch::Of(batch)).ok());
    }
  }
  void MakeUsualLog() {
    MakeLogOf(
        {[](lsm::WriteBatch* batch) {
           lsm::EncodedBatch::Put(batch, 3, "c", "logged");
           lsm::EncodedBatch::Put(batch, 2, "b", "logged");
         },
         [](lsm::WriteBatch* batch) {
           lsm::EncodedBatch::Change(batch, {lsm::KeyspaceChange::Kind::kCreated, 6, "fresh\n"});
         },
         [](lsm::WriteBatch* batch) { lsm::EncodedBatch::Put(batch, 6, "a", "of fresh"); }});
  }
  static std::vector<std::string> NamesOf(const json& tables) {
    std::vector<std::string> names;
    for (const json& table : tables) names.push_back(table["name"]);
    return names;
  }

  std::unique_ptr<lsm::Directory> directory_;
};

TEST_F(CommonTreeTest, LevelsLabelsEachTable) {
  MakeUsualLog();
  const json result = Result({"levels", "t"});
  const json tables = result["tables"];
  EXPECT_THAT(NamesOf(tables), ElementsAre("000002.table", "000006.table", "000005.table",
                                           "000004.table", "000003.table"));
  EXPECT_FALSE(tables[0].contains("tree"));
  EXPECT_EQ(tables[1]["tree"], "common");
  EXPECT_FALSE(tables[1].contains("keyspace"));
  EXPECT_EQ(tables[4]["tree"], "own");
  EXPECT_EQ(tables[4]["keyspace"], 2);
  EXPECT_EQ(tables[4]["keyspace_name"], "users");
  // Tables of two trees are never one run.
  EXPECT_EQ(result["levels"][1]["runs"], 2);
  EXPECT_EQ(result["levels"][2]["runs"], 2);
  EXPECT_EQ(result["total"]["runs"], 5);
  EXPECT_THAT(Run({"levels", "--tables", "t"}).out,
              AllOf(ContainsRegex("000002.table +1 .* +default +a .. a\n"),
                    ContainsRegex("000003.table +2 .* +users +a .. a\n"),
                    ContainsRegex("000005.table +1 .* +\\(common tree\\) ")));
}

TEST_F(CommonTreeTest, LevelsListsTheKeyspaces) {
  MakeUsualLog();
  const json keyspaces = Result({"levels", "t"})["keyspaces"];
  ASSERT_EQ(keyspaces.size(), 5u);
  EXPECT_EQ(keyspaces[0]["name"], "default");
  uint64_t jobs = 0, mail = 0;
  for (const json& keyspace : keyspaces) {
    const std::string name = keyspace["name"];
    EXPECT_EQ(keyspace["own_tree"], name != "jobs" && name != "mail") << name;
    EXPECT_EQ(keyspace["table_bytes"] == 0, name == "idle") << name;
    if (name == "users") {
      EXPECT_EQ(keyspace["filter_kind"], "ribbon");
      EXPECT_EQ(keyspace["target_fpp"], 0.25);
    }
    if (name == "jobs") jobs = keyspace["table_bytes"];
    if (name == "mail") mail = keyspace["table_bytes"];
  }
  const uint64_t common = files_.FileBytes("t/000004.table").size() +
                          files_.FileBytes("t/000005.table").size() +
                          files_.FileBytes("t/000006.table").size();
  EXPECT_LE(jobs + mail, common);
  const std::string text = Run({"levels", "t"}).out;
  EXPECT_THAT(text,
              AllOf(ContainsRegex("users +2 +own .*filter ribbon, target 0.250\n"),
                    ContainsRegex("jobs +3 +common .* -\n"), HasSubstr("weighted by their keys")));
  // A store that never had any looks as before.
  EXPECT_THAT(Run({"levels", "s"}).out, AllOf(Not(HasSubstr("keyspace")), Not(HasSubstr("mean"))));
  EXPECT_FALSE(Result({"levels", "s"}).contains("keyspaces"));
}

TEST_F(CommonTreeTest, LevelsOfOneKeyspace) {
  MakeUsualLog();
  EXPECT_THAT(NamesOf(Result({"levels", "--keyspace", "default", "t"})["tables"]),
              ElementsAre("000002.table"));
  EXPECT_THAT(NamesOf(Result({"levels", "--keyspace", "users", "t"})["tables"]),
              ElementsAre("000003.table"));
  // Only tables that may hold its keys.
  const json jobs = Result({"levels", "--keyspace", "jobs", "t"});
  EXPECT_THAT(NamesOf(jobs["tables"]), ElementsAre("000005.table", "000004.table"));
  EXPECT_EQ(jobs["tree"], "common");
  EXPECT_EQ(jobs["keyspace"], 3);
  EXPECT_EQ(jobs["keyspace_name"], "jobs");
  EXPECT_FALSE(jobs.contains("keyspaces"));
  EXPECT_THAT(NamesOf(Result({"levels", "--keyspace", "mail", "t"})["tables"]),
              ElementsAre("000006.table", "000004.table"));
  EXPECT_THAT(NamesOf(Result({"levels", "--keyspace", "fresh\\x0a", "t"})["tables"]),
              ElementsAre());
  EXPECT_THAT(Run({"levels", "--keyspace", "mail", "t"}).out,
              HasSubstr("t: keyspace 4 mail, 2 tables of the common tree, "));
}

TEST_F(CommonTreeTest, ScanShowsOneKeyspaceWithoutItsId) {
  MakeUsualLog();
  EXPECT_EQ(Run({"scan", "t"}).out, "a\t1\tput\tof default\n");
  EXPECT_EQ(Run({"scan", "--keyspace", "users", "t"}).out, "a\t2\tput\tof users\n");
  EXPECT_EQ(Run({"scan", "--keyspace", "jobs", "t"}).out,
            "b\t8\tput\tnewer\n"
            "a\t4\tput\tof jobs\n"
            "d\t6\trange delete\t\n"
            "e\t5\tput\tdeleted\n");
  EXPECT_EQ(Run({"scan", "--keyspace", "jobs", "--from", "b", "--to", "e", "t"}).out,
            "b\t8\tput\tnewer\n"
            "d\t6\trange delete\t\n");
  EXPECT_EQ(Run({"scan", "--keyspace", "mail", "--prefix", "a", "t"}).out, "a\t7\tput\tof mail\n");
  EXPECT_THAT(Run({"scan", "--keyspace", "mail", "t"}).err, HasSubstr("; only keyspace mail"));
  EXPECT_THAT(Run({"scan", "--keyspace", "idle", "t"}).err,
              HasSubstr("keyspace idle has no tables; the store's logs may hold writes"));
  // A table by itself has the keys as they are.
  EXPECT_THAT(Run({"scan", "--keys-only", "t/000005.table"}).out, "\\x00\\x00\\x00\\x03b\n");
}

TEST_F(CommonTreeTest, ExplainLooksIntoOneKeyspace) {
  MakeUsualLog();
  const auto explain = [this](const std::string& keyspace, const std::string& key) {
    return Result({"explain", "--keyspace", keyspace, "t", key})["explanation"];
  };
  EXPECT_EQ(explain("default", "a")["answered_by"], "table 2 at level 1");
  EXPECT_EQ(explain("users", "a")["answered_by"], "table 3 at level 2");
  EXPECT_EQ(explain("jobs", "a")["answered_by"], "table 4 at level 2");
  EXPECT_EQ(explain("jobs", "a")["key"], "a");
  EXPECT_EQ(explain("jobs", "a")["tables_by_level"], json({1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(explain("mail", "a")["answered_by"], "table 4 at level 2");
  EXPECT_EQ(explain("jobs", "c")["answered_by"], "000007.log");
  EXPECT_EQ(explain("default", "c")["answered_by"], nullptr);
  EXPECT_EQ(explain("jobs", "e")["found"], false);
  EXPECT_EQ(explain("fresh\\x0a", "a")["answered_by"], "000007.log");
  EXPECT_EQ(Result({"explain", "--keyspace", "jobs", "t", "a"})["keyspace_name"], "jobs");
  EXPECT_THAT(Run({"explain", "--keyspace", "jobs", "t", "a"}).out,
              AllOf(HasSubstr("t: lookup of a in keyspace 3 jobs\n"),
                    HasSubstr("answered by table 4 at level 2")));
}

TEST_F(CommonTreeTest, GetSearchesOneKeyspace) {
  MakeUsualLog();
  for (const std::vector<std::string>& asked :
       std::vector<std::vector<std::string>>{{"default", "a", "of default"},
                                             {"users", "a", "of users"},
                                             {"jobs", "a", "of jobs"},
                                             {"mail", "a", "of mail"},
                                             {"jobs", "c", "logged"},
                                             {"jobs", "e", ""},
                                             {"fresh\\x0a", "a", "of fresh"}}) {
    const RunResult result = Run({"get", "--raw", "--keyspace", asked[0], "t", asked[1]});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, asked[2]) << asked[0];
  }
  const json results = Document({"get", "--keyspace", "jobs", "t", "a"})["results"];
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0]["answer"], "absent");
  EXPECT_EQ(results[1]["path"], "t/000004.table");
  EXPECT_EQ(results[1]["value"], "of jobs");
  EXPECT_EQ(results[1]["key"], "a");
  EXPECT_EQ(results[2]["out_of_range"], json({"000005.table"}));
}

TEST_F(CommonTreeTest, DumpShowsOneKeyspace) {
  MakeUsualLog();
  EXPECT_EQ(Run({"dump", "t"}).out, "a\tof default\n");
  EXPECT_EQ(Run({"dump", "--keyspace", "users", "t"}).out, "a\tof users\nb\tlogged\n");
  EXPECT_EQ(Run({"dump", "--keyspace", "jobs", "t"}).out, "a\tof jobs\nb\tnewer\nc\tlogged\n");
  EXPECT_EQ(Run({"dump", "--keyspace", "jobs", "--from", "b", "--to", "c", "t"}).out, "b\tnewer\n");
  EXPECT_EQ(Run({"dump", "--keyspace", "mail", "t"}).out, "a\tof mail\n");
  EXPECT_EQ(Run({"dump", "--keyspace", "fresh\\x0a", "t"}).out, "a\tof fresh\n");
  EXPECT_EQ(Run({"dump", "--keyspace", "idle", "t"}).out, "");
}

TEST_F(CommonTreeTest, AnUnknownNameIsAnErrorWithSuggestions) {
  MakeUsualLog();
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"levels", "t"},
                                             {"scan", "t"},
                                             {"dump", "t"},
                                             {"get", "t", "a"},
                                             {"get", "--raw", "t", "a"},
                                             {"explain", "t", "a"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.begin() + 1, {"--keyspace", "usres"});
    const RunResult result = Run(arguments);
    EXPECT_EQ(result.code, 3) << command[0];
    EXPECT_EQ(result.out, "") << command[0];
    EXPECT_EQ(result.err, "sstdump: t: there is no keyspace \"usres\"; did you mean \"users\"?\n");
  }
  EXPECT_EQ(Run({"levels", "--keyspace", "x\\x00", "t"}).err,
            "sstdump: t: there is no keyspace \"x\\x00\"; "
            "there are default, users, jobs, mail, idle, fresh\\x0a\n");
  EXPECT_EQ(Run({"levels", "--keyspace=", "s"}).err,
            "sstdump: s: there is no keyspace \"\"; there is default\n");
  const RunResult wrong = Run({"levels", "--keyspace", "a\\b", "t"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("keyspace \"a\\\\b\": a backslash must be followed by xHH"));
}

TEST_F(CommonTreeTest, AKeyspaceThatTheLogDropsIsUnknown) {
  MakeLogOf({[](lsm::WriteBatch* batch) {
    lsm::EncodedBatch::Change(batch, {lsm::KeyspaceChange::Kind::kDropped, 3});
  }});
  EXPECT_THAT(Run({"scan", "--keyspace", "jobs", "t"}).err, HasSubstr("there is no keyspace"));
  EXPECT_EQ(Run({"scan", "--keyspace", "mail", "t"}).code, 0);
}

TEST_F(CommonTreeTest, NamesNeedAStore) {
  MakeUsualLog();
  const RunResult result = Run({"scan", "--keyspace", "users", "t/000003.table"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("--keyspace takes the directory of a store"));
  ASSERT_TRUE(directory_->Remove("CURRENT").ok());
  EXPECT_THAT(Run({"scan", "--keyspace", "users", "t"}).err, HasSubstr("there is no CURRENT"));
}

TEST_F(CommonTreeTest, CommandsNameKeyspaces) {
  MakeUsualLog();
  EXPECT_THAT(Run({"info", "t/000005.table"}).out, HasSubstr("for level 1 of the common tree\n"));
  EXPECT_EQ(Result({"info", "t/000005.table"})["tree"], "common");
  EXPECT_FALSE(Result({"info", "t/000005.table"}).contains("keyspace"));
  EXPECT_EQ(Result({"info", "t"})["keyspaces"], 4);
  EXPECT_THAT(Run({"info", "t"}).out, HasSubstr("  keys       a .. a\n"));  // of "default"
  EXPECT_THAT(Run({"properties", "t"}).out,
              AllOf(HasSubstr("t/000003.table: 25 properties of a table of keyspace 2 users\n"),
                    HasSubstr("properties of a table of the common tree\n")));
  EXPECT_THAT(Run({"manifest", "t"}).out,
              AllOf(HasSubstr("    + keyspace 2 users, with a tree of its own, with options\n"),
                    HasSubstr("    + keyspace 3 jobs, in the common tree\n"),
                    HasSubstr("level 2 000003.table, keyspace 2 users, "),
                    HasSubstr("level 1 000005.table, the common tree, ")));
  const json added = Result({"manifest", "t"})["edits"][0]["added"];
  EXPECT_EQ(added[1]["keyspace_name"], "users");
  EXPECT_EQ(added[2]["tree"], "common");
  EXPECT_FALSE(added[2].contains("keyspace"));
  EXPECT_EQ(Result({"wal", "t"})["entries"][0]["entries"][0]["keyspace_name"], "jobs");
  EXPECT_THAT(Run({"wal", "t"}).out,
              AllOf(HasSubstr("put (keyspace 3 jobs)\tc\tlogged\n"),
                    HasSubstr("keyspace created (keyspace 6)\tfresh\\x0a\n"),
                    HasSubstr("put (keyspace 6 fresh\\x0a)\ta\tof fresh\n")));
  // The names of a log by itself are those that it creates.
  EXPECT_THAT(Run({"wal", "t/000007.log"}).out,
              AllOf(HasSubstr("put (keyspace 3)\tc"), HasSubstr("put (keyspace 6 fresh\\x0a)\ta")));
  // Names are not hexadecimal, unlike keys.
  EXPECT_THAT(Run({"wal", "--hex", "t"}).out, HasSubstr("(keyspace 3 jobs)\t63\t"));
}

TEST_F(CommonTreeTest, VerifyNamesKeyspaces) {
  MakeUsualLog();
  const RunResult verify = Run({"verify", "t"});
  EXPECT_EQ(verify.code, 0) << verify.out;
  EXPECT_THAT(verify.out, AllOf(ContainsRegex("000002.table: ok, 1 data block.* the filter\n"),
                                ContainsRegex("000003.table: ok, .*, of keyspace 2 users\n"),
                                ContainsRegex("000004.table: ok, .*, of the common tree\n")));
  const json files = Result({"verify", "t"})["files"];
  for (const json& file : files) {
    const bool is_of_users = file["file"] == "t/000003.table";
    EXPECT_EQ(file.contains("keyspace_name"), is_of_users) << file;
    EXPECT_EQ(file.value("tree", "") == "own", is_of_users) << file;
  }
}

TEST_F(CommonTreeTest, LinesFitATerminal) {
  MakeUsualLog();
  const Terminal terminal = {.is_terminal = true, .allows_color = false};
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"levels", "--tables", "t"},
                                             {"explain", "--keyspace", "jobs", "t", "a"},
                                             {"wal", "t"},
                                             {"manifest", "t"}}) {
    for (const std::string& line : Lines(Run(command, terminal).out))
      EXPECT_LE(LineColumnsOf(line), terminal.columns) << line;
  }
}

}  // namespace
}  // namespace tools
