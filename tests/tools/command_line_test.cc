#include "tools/sstdump/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/memory_file_system.h"
#include "tests/support/read_file.h"
#include "tests/support/source_directory.h"
#include "tests/tools/sample_store.h"
#include "tools/sstdump/commands/commands.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CommandLineTest : public testing::Test {
 protected:
  RunResult Run(const std::vector<std::string>& arguments) { return tools::Run(files_, arguments); }
  lsm::MemoryFileSystem files_;
};

TEST_F(CommandLineTest, CommandsHaveHelpWithAnExample) {
  for (const Command& entry : Commands()) {
    const std::string command = entry.name;
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{command, "--help"}, std::vector<std::string>{"help", command}}) {
      const RunResult result = Run(arguments);
      EXPECT_EQ(result.code, 0) << command;
      EXPECT_THAT(result.out, AllOf(HasSubstr("Example:\n  sstdump " + command),
                                    HasSubstr("Usage: sstdump " + command),
                                    HasSubstr("\n  --json "), HasSubstr("\n  --color WHEN ")));
      EXPECT_EQ(result.err, "");
    }
  }
}

TEST_F(CommandLineTest, HelpListsEveryCommand) {
  const RunResult result = Run({"--help"});
  EXPECT_EQ(result.code, 0);
  for (const Command& command : Commands())
    EXPECT_THAT(result.out, HasSubstr(lsm::Concat("\n  ", command.name, " ")));
  EXPECT_THAT(result.out, HasSubstr("Exit code"));
}

TEST_F(CommandLineTest, VersionStatesReadableFormats) {
  const RunResult result = Run({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("sstdump "), HasSubstr("standard, blocked"), HasSubstr("lz4")));
}

TEST_F(CommandLineTest, WrongUsageExitsWithTwoAndExplainsItself) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"info"},
      {"--json"},
      {"get", "key"},
      {"explain", "store"},
      {"info", "--bogus", "x"},
      {"scan", "--limit", "many", "x"},
      {"scan", "--limit", "-1", "x"},
      {"scan", "--hex", "--raw", "x"},
      {"get", "--raw", "x", "y", "key"},
      {"filter", "--probes", "1000000001", "x"},
      {"filter", "--probes", "99999999999999999999999", "x"},
      {"info", "--color", "sometimes", "x"},
      {"get", "--hex", "x", "abc"},
      {"get", "--hex", "x", "zz"},
      {"get", "x", "a\\x4"},
      {"get", "x", "a\\"},
      {"scan", "--from", "\\q", "x"},
      {"dump", "--at", "", "x"},
      {"dump", "--at", "-1", "x"},
      {"dump", "--at", "now", "x"},
      {"dump", "--at", "4294967296", "x"},
      {"dump", "--at", "99999999999999999999999", "x"},
      {"dump", "--at", "2026-11-30", "x"},
      {"dump", "--at", "2026-02-30T03:00:00Z", "x"},
      {"dump", "--at", "1969-12-31T23:59:59Z", "x"},
      {"dump", "--at", "2106-02-07T06:28:16Z", "x"},
      {"scan", "--at", "1", "x"},
      {"wal", "--at", "1", "x"},
  };
  for (const auto& arguments : wrong) {
    const RunResult result = Run(arguments);
    EXPECT_EQ(result.code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "") << testing::PrintToString(arguments);
    EXPECT_NE(result.err, "") << testing::PrintToString(arguments);
  }
}

TEST_F(CommandLineTest, MessagesAdvise) {
  EXPECT_THAT(Run({"filter", "--probes", "99999999999", "x"}).err,
              HasSubstr("99999999999 is more than 1,000,000,000"));
  EXPECT_THAT(Run({"info", "-dash"}).err, HasSubstr("a KEY or PATH like -dash must follow --"));
  EXPECT_THAT(Run({"get", "x", "-k"}).err, HasSubstr("like -k must follow --"));
  EXPECT_THAT(Run({"dump", "--at", "yesterday", "x"}).err,
              HasSubstr("\"yesterday\" is not a time from 1970 to 2106-02-07T06:28:15Z"));
  EXPECT_THAT(Run({"scan", "--at=1", "x"}).err, HasSubstr("--at=1"));
  EXPECT_THAT(Run({"info"}).err, Not(HasSubstr("must follow --")));
  EXPECT_THAT(Run({"scan", "--limit", "-1", "x"}).err, Not(HasSubstr("must follow --")));
  EXPECT_THAT(Run({"info", "--json"}).err, Not(HasSubstr("must follow --")));
  EXPECT_THAT(Run({"scan", "--color=never", "--limit=x", "y"}).err,
              Not(HasSubstr("must follow --")));
}

TEST_F(CommandLineTest, KeyComesAfterThePaths) {
  MakeTinyStore(files_, "s");
  EXPECT_THAT(Run({"get", "--help"}).out, HasSubstr("Usage: sstdump get [OPTIONS] PATH... KEY\n"));
  EXPECT_THAT(Run({"explain", "--help"}).out,
              HasSubstr("Usage: sstdump explain [OPTIONS] PATH... KEY\n"));
  for (const std::string command : {"get", "explain"}) {
    EXPECT_EQ(Run({command, "s", "a"}).code, 0);
    EXPECT_EQ(Run({command, "s", "--json", "--", "-a"}).code, 0);
    const RunResult turned = Run({command, "a", "s"});
    EXPECT_EQ(turned.code, 2);
    EXPECT_THAT(turned.err, HasSubstr("KEY comes last: \"a\" is not a file, but \"s\" is"));
    EXPECT_THAT(Run({command, "s"}).err, HasSubstr("needs PATH... and KEY"));
  }
}

TEST_F(CommandLineTest, GuessesMistypedCommands) {
  EXPECT_THAT(Run({"inof", "x"}).err, HasSubstr("did you mean \"info\"?"));
  EXPECT_THAT(Run({"--json", "lvels", "x"}).err, HasSubstr("did you mean \"levels\"?"));
  EXPECT_THAT(Run({"prop", "x"}).err, HasSubstr("did you mean \"properties\"?"));
  EXPECT_THAT(Run({"--color", "never", "verfy"}).err, HasSubstr("did you mean \"verify\"?"));
  EXPECT_THAT(Run({"xyzzy"}).err, HasSubstr("sstdump --help"));
  MakeTinyStore(files_, "s");
  EXPECT_THAT(Run({"s"}).err, HasSubstr("did you mean \"sstdump info s\"?"));
}

TEST(NearestTest, FindsTheWordWithFewestEdits) {
  EXPECT_EQ(Nearest("sacn", {"scan", "wal"}), "scan");
  EXPECT_EQ(Nearest("wla", {"scan", "wal"}), "wal");
  EXPECT_EQ(Nearest("", {"scan", "wal"}), "");
  EXPECT_EQ(Nearest("q", {"scan", "wal"}), "");
  EXPECT_EQ(Nearest(std::string(100'000, 'x'), {"scan", "wal"}), "");
}

TEST_F(CommandLineTest, OptionsMayStandAnywhere) {
  MakeTinyStore(files_, "s");
  EXPECT_EQ(Run({"--json", "info", "s"}).out, Run({"info", "s", "--json"}).out);
  EXPECT_EQ(Run({"info", "--color", "always", "s"}).out, Run({"--color=always", "info", "s"}).out);
}

TEST_F(CommandLineTest, ValuesMayBeEmpty) {
  MakeTinyStore(files_, "s");
  const RunResult all = Run({"scan", "s"});
  ASSERT_EQ(all.code, 0);
  ASSERT_FALSE(all.out.empty());
  for (const std::string empty : {"--prefix=", "--from="}) {
    EXPECT_EQ(Run({"scan", empty, "s"}).out, all.out) << empty;
    EXPECT_EQ(Run({"scan", "s", empty}).out, all.out) << empty;
  }
  EXPECT_EQ(Run({"scan", "--prefix", "", "s"}).out, all.out);
  EXPECT_EQ(Run({"scan", "--to=", "s"}).out, "");
  EXPECT_EQ(Run({"scan", "--limit=", "s"}).code, 2);
  EXPECT_NE(Run({"scan", "--json=", "s"}).code, 0);
  EXPECT_EQ(Run({"scan", "--", "--prefix="}).code, 3) << "a path";
}

std::string Readme() {
  std::string text =
      testing_support::ReadFile(testing_support::SourceDirectory() / "tools/README.md");
  EXPECT_FALSE(text.empty());
  return text;
}

// The cells that tools/README.md must have for a command: "Takes | A directory is taken".
std::string ReadmeCells(const Command& command) {
  using enum TargetKind;
  constexpr std::pair<TargetKind, const char*> kNames[] = {{kTable, "tables"},
                                                           {kLog, "logs"},
                                                           {kManifest, "a manifest"},
                                                           {kCurrent, "`CURRENT`"},
                                                           {kDirectory, "a store"}};
  std::string takes;
  for (const auto& [kind, name] : kNames) {
    if ((command.kinds & Bit(kind)) != 0) takes += (takes.empty() ? "" : ", ") + std::string(name);
  }
  if (command.kinds == kAnyKind) takes = "any file, a store";
  switch (command.on_directory) {
    case OnDirectory::kWhole:
      return takes + " | as a whole";
    case OnDirectory::kTables:
      return takes + " | table by table, in the order of a lookup";
    case OnDirectory::kLogs:
      return takes + " | log by log";
    case OnDirectory::kLogsAndTables:
      return takes + " | log by log, then table by table";
  }
  return "";
}

TEST(ReadmeTest, ListsTheCommands) {
  std::map<std::string, std::string> expected, listed;
  for (const Command& command : Commands()) expected[command.name] = ReadmeCells(command);
  std::istringstream lines(Readme());
  std::string line;
  while (std::getline(lines, line) && !line.starts_with("| Command | Takes |")) {
  }
  std::getline(lines, line);  // the rule
  while (std::getline(lines, line) && line.starts_with("| ")) {
    const size_t names_end = line.find(" | ");
    const std::string cells = line.substr(names_end + 3, line.size() - names_end - 5);
    for (size_t at = line.find('`'); at < names_end; at = line.find('`', at + 1)) {
      const size_t begin = std::exchange(at, line.find('`', at + 1)) + 1;
      listed[line.substr(begin, at - begin)] = cells;
    }
  }
  EXPECT_EQ(listed, expected);
}

// README.md explains every member of every JSON document.
TEST_F(CommandLineTest, ReadmeDescribesTheJson) {
  MakeSampleStore(files_, "s");
  MakeStoreOfExpiry(files_, "e");
  files_.SetFileBytes("s/000003.table", files_.FileBytes("s/000003.table").substr(0, 1000));
  const std::string readme = Readme();
  std::set<std::string> members;
  const std::function<void(const nlohmann::json&)> collect = [&](const nlohmann::json& value) {
    for (const auto& item : value.items()) {
      if (value.is_object()) members.insert(item.key());
      if (item.value().is_structured()) collect(item.value());
    }
  };
  for (const Command& entry : Commands()) {
    const std::string command = entry.name;
    for (const std::string path : {"s", "s/000002.table", "s/000007.log", "s/000001.manifest",
                                   "s/CURRENT", "e", "e/000002.table"}) {
      std::vector<std::string> arguments = {"--json", command};
      if (command == "filter") arguments.insert(arguments.end(), {"--probes", "100"});
      arguments.push_back(path);
      if (entry.arguments.key) arguments.push_back("key000000");
      collect(ParseOutput(Run(arguments).out));
    }
  }
  EXPECT_GT(members.size(), 100u);
  for (const std::string& member : members) {
    EXPECT_NE(readme.find("`" + member + "`"), std::string::npos)
        << member << " is not in tools/README.md";
  }
}

}  // namespace
}  // namespace tools
