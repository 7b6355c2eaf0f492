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
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_writer.h"
#include "lsm/write_batch.h"
#include "tests/tools/commands_fixture.h"

namespace tools {
namespace {

using nlohmann::json;
using testing::AllOf;
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
              HasSubstr("the manifest says keyspace 0, the table has keyspace 2"));
}

TEST_F(KeyspaceTablesTest, InfoNamesTheKeyspace) {
  EXPECT_EQ(Result({"info", "t/000003.table"})["keyspace"], 2);
  EXPECT_FALSE(Result({"info", "t/000002.table"}).contains("keyspace"));
  EXPECT_THAT(Run({"info", "t/000003.table"}).out, HasSubstr("for level 1 of keyspace 2\n"));
  EXPECT_EQ(Result({"info", "t"})["keyspaces"], 1);
  const std::string info = Run({"info", "t"}).out;
  EXPECT_THAT(info, HasSubstr("1 keyspace besides the default one (sstdump manifest)"));
  // That command refuses the store.
  EXPECT_THAT(info, Not(HasSubstr("(sstdump levels)")));
  EXPECT_EQ(Result({"properties", "t/000003.table"})["properties"]["keyspace"], 2);
}

// They would mix the keys of all keyspaces.
TEST_F(KeyspaceTablesTest, CommandsThatKnowNoKeyspacesRefuseIt) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"dump", "t"},
                                             {"scan", "t"},
                                             {"get", "t", "a"},
                                             {"explain", "t", "a"},
                                             {"levels", "t"}}) {
    const RunResult result = Run(command);
    EXPECT_NE(result.code, 0) << command[0];
    EXPECT_THAT(result.out + result.err,
                HasSubstr(lsm::Concat("the store has keyspaces, which sstdump ", command[0],
                                      " does not know yet")));
  }
  EXPECT_EQ(Run({"get", "--raw", "t/000003.table", "a"}).out, "other");
  EXPECT_EQ(Run({"manifest", "t"}).code, 0);
  EXPECT_EQ(Run({"wal", "t"}).code, 0);
}

}  // namespace
}  // namespace tools
