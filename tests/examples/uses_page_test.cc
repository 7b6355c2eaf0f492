// The programs print what bloom/USES.md shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "tests/examples/programs.h"
#include "tests/support/read_file.h"
#include "tests/support/source_directory.h"

namespace {

class UsesPageTest : public testing_support::ProgramsTest {};

TEST_F(UsesPageTest, ShowsTheOutput) {
  const std::filesystem::path root = testing_support::SourceDirectory();
  std::filesystem::copy(root / "tests/testdata/examples", PathOf(""));
  const std::string text = testing_support::ReadFile(root / "bloom/USES.md");

  constexpr std::string_view kBegin = "```console\n";
  int shown = 0;
  for (size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    const std::string session = text.substr(at, text.find("```", at) - at);
    std::istringstream lines(session);
    std::string printed;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("$ ")) continue;
      printed += line + "\n" + OutputOf("(" + line.substr(2) + ") 2>&1");
      ++shown;
    }
    EXPECT_EQ(session, printed);
  }
  EXPECT_GE(shown, 9);
}

}  // namespace
