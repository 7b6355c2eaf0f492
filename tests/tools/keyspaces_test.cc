// Entries of keyspaces in logs, as sstdump shows them.  No store has keyspaces so far.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "tests/tools/commands_fixture.h"

namespace tools {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

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

size_t LineColumnsOf(const std::string& line) {
  size_t columns = 0;
  for (const char c : line) {
    const bool begins_character = (c & 0xc0) != 0x80;
    columns += c == '\t' ? 8 - columns % 8 : begins_character;
  }
  return columns;
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

// They are no entries of the default keyspace.
TEST_F(KeyspacesTest, LookupsInALogLeaveThemOut) {
  EXPECT_EQ(Run({"get", "--raw", "k/000002.log", "a"}).out, "one");
  EXPECT_EQ(Result({"get", "k/000002.log", "b"})["answer"], "absent");
  EXPECT_EQ(Result({"info", "k/000002.log"})["puts"], 3);
}

// As an opening does.
TEST_F(KeyspacesTest, StoresWithThemAreDamaged) {
  const std::string where = "k/000002.log: offset ";
  const std::string what = "the record names keyspace 2, which was not created";
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

}  // namespace
}  // namespace tools
