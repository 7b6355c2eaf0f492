// The manual page and the completion of sstdump, compared with its help and tested in a real bash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"
#include "tools/manual/bash_completion.h"
#include "tools/manual/man_page.h"
#include "tools/sstdump/command_line.h"
#include "tools/sstdump/world.h"

namespace tools {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

std::string HelpOf(const std::string& command) {
  std::ostringstream out, err;
  World world;
  world.out = &out;
  world.err = &err;
  ParseCommandLine({"help", command}, world);
  EXPECT_THAT(out.str(), HasSubstr("--json")) << command << err.str();
  return out.str();
}

// The words of a text that begin with two dashes and a letter.
std::set<std::string> OptionsIn(const std::string& text) {
  std::set<std::string> options;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    word = word.substr(0, word.find_last_not_of(".,:;)") + 1);
    if (word.size() > 2 && word.starts_with("--")) options.insert(word);
  }
  return options;
}

// The text that a reader sees, without fonts and escapes.
std::string Plain(std::string page) {
  for (const char* font : {"\\fB", "\\fI", "\\fR", "\\&"}) {
    for (size_t at; (at = page.find(font)) != page.npos;) page.erase(at, std::string(font).size());
  }
  for (size_t at; (at = page.find("\\-")) != page.npos;) page.erase(at, 1);
  for (size_t at = 0; (at = page.find("\\e", at)) != page.npos; ++at) page.replace(at, 2, "\\");
  return page;
}

TEST(ManPage, HasEachCommandWithTheOptionsOfItsHelp) {
  const CommandLineText text = DescribeCommandLine();
  ASSERT_FALSE(text.commands.empty());
  const std::string page = Plain(ManPage(text));
  const std::string common = page.substr(0, page.find(".SH COMMANDS"));
  for (const CommandText& command : text.commands) {
    const size_t begin = page.find(".SS sstdump " + command.name + " ");
    ASSERT_NE(begin, page.npos) << command.name;
    const std::string section = page.substr(begin, page.find("\n.S", begin + 1) - begin);
    EXPECT_THAT(section, HasSubstr(command.example));
    EXPECT_THAT(OptionsIn(common + section), IsSupersetOf(OptionsIn(HelpOf(command.name))))
        << command.name;
  }
}

TEST(ManPage, StatesVersionAndExitCodes) {
  const CommandLineText text = DescribeCommandLine();
  const std::string page = Plain(ManPage(text));
  EXPECT_THAT(page, HasSubstr("Trellis " + text.version));
  EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n0 fine, 1 damage found"));
  EXPECT_THAT(page, HasSubstr("shown with \\xHH for unprintable bytes and \\\\ for"));
}

TEST(ManPage, EscapesRoffRequests) {
  CommandLineText text = DescribeCommandLine();
  text.introduction = ".SH in front\n'quoted'\n.";
  std::istringstream page(ManPage(text));
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with(".") && !line.starts_with("'")) continue;
    const std::set<std::string> requests = {".TH", ".SH", ".SS", ".TP",
                                            ".PP", ".nf", ".fi", ".\\\""};
    EXPECT_THAT(requests, Contains(line.substr(0, line.find(' '))));
    EXPECT_THAT(line, Not(HasSubstr("in front")));
  }
}

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    std::ofstream(scratch_.path() + "/sstdump.bash") << BashCompletion(DescribeCommandLine());
    std::filesystem::create_directory(scratch_.path() + "/store");
    std::ofstream(scratch_.path() + "/store 1.table");
    std::ofstream(scratch_.path() + "/other");
  }

  // The completions that bash offers for the last of `words`.
  std::vector<std::string> Offered(const std::string& words) {
    const auto [code, output, errors] = testing_support::RunShell(
        "cd '" + scratch_.path() + "' && bash --norc -u -c 'source ./sstdump.bash; COMP_WORDS=(" +
        words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sstdump; printf \"%s\\n\" "
        "\"${COMPREPLY[@]}\"'");
    EXPECT_EQ(code, 0) << errors;
    EXPECT_EQ(errors, "");
    std::vector<std::string> offered;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) offered.push_back(line);
    }
    return offered;
  }

  testing_support::ScratchDir scratch_;
};

TEST_F(CompletionTest, OffersEachCommand) {
  std::vector<std::string> names = {"help"};
  for (const CommandText& command : DescribeCommandLine().commands) names.push_back(command.name);
  EXPECT_THAT(Offered("sstdump \"\""), testing::UnorderedElementsAreArray(names));
  EXPECT_THAT(Offered("sstdump ver"), ElementsAre("verify"));
  EXPECT_THAT(Offered("sstdump --json --color never ver"), ElementsAre("verify"));
  EXPECT_THAT(Offered("sstdump --color = never ver"), ElementsAre("verify"));
  EXPECT_THAT(Offered("sstdump help lev"), ElementsAre("levels"));
}

TEST_F(CompletionTest, OffersTheOptionsOfTheCommand) {
  EXPECT_THAT(Offered("sstdump scan --pre"), ElementsAre("--prefix"));
  EXPECT_THAT(Offered("sstdump info --pre"), IsEmpty());
  EXPECT_THAT(Offered("sstdump scan other --j"), ElementsAre("--json"));
  for (const CommandText& command : DescribeCommandLine().commands) {
    const std::vector<std::string> offered = Offered("sstdump " + command.name + " --");
    EXPECT_THAT(OptionsIn(HelpOf(command.name)),
                testing::IsSubsetOf(std::set<std::string>(offered.begin(), offered.end())))
        << command.name;
  }
}

TEST_F(CompletionTest, OffersValuesOfOptions) {
  EXPECT_THAT(Offered("sstdump --color a"), UnorderedElementsAre("auto", "always"));
  EXPECT_THAT(Offered("sstdump info --color = a"), UnorderedElementsAre("auto", "always"));
  EXPECT_THAT(Offered("sstdump info --color ="), UnorderedElementsAre("auto", "always", "never"));
  EXPECT_THAT(Offered("sstdump info --logs s"), ElementsAre("store"));
  EXPECT_THAT(Offered("sstdump scan --limit \"\""), IsEmpty());
  EXPECT_THAT(Offered("sstdump scan --from \"\""), IsEmpty());
}

TEST_F(CompletionTest, OffersPaths) {
  EXPECT_THAT(Offered("sstdump info s"),
              UnorderedElementsAre("store", "store 1.table", "sstdump.bash"));
  EXPECT_THAT(Offered("sstdump info other s"),
              UnorderedElementsAre("store", "store 1.table", "sstdump.bash"));
  EXPECT_THAT(Offered("sstdump info -- --j"), IsEmpty());
  EXPECT_THAT(Offered("sstdump info -- o"), ElementsAre("other"));
}

}  // namespace
}  // namespace tools
