// level_filters as people run it, and what it makes of its figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "bench/level_filters/experiment.h"
#include "bench/level_filters/report.h"
#include "bench/level_filters/results.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/source_directory.h"

namespace bench::level_filters {
namespace {

using testing::HasSubstr;

std::string ReadAll(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

StoreResult Store(const std::string& name, uint64_t absent, uint64_t bottom) {
  StoreResult store;
  store.config.name = name;
  store.config.how = "how";
  store.levels = {{0, 2, 100, 200, 0.001, 0.002, "blocked", "share: of something"},
                  {3, 9, 900, 900, std::nullopt, 0.01, "ribbon", ""}};
  store.absent = {1000, absent};
  store.bottom = {100, bottom};
  return store;
}

Results TwoStores() {
  Results results;
  results.stores = {Store("uniform", 40, 30), Store("per-level", 16, 2)};
  return results;
}

TEST(LevelFiltersResultsTest, FiguresFollowFromCounts) {
  const Results results = TwoStores();
  EXPECT_EQ(results.stores[0].keys(), 1000u);
  EXPECT_EQ(results.stores[0].filter_bytes(), 1100u);
  EXPECT_DOUBLE_EQ(results.stores[0].bits_per_key(), 8.8);
  EXPECT_DOUBLE_EQ(results.stores[0].expected_wasted_reads(), 0.012);
  EXPECT_DOUBLE_EQ(results.stores[1].absent.per_lookup(), 0.016);
  EXPECT_DOUBLE_EQ(results.TimesFewer(results.stores[1], &StoreResult::absent), 2.5);
  EXPECT_DOUBLE_EQ(results.TimesFewer(results.stores[1], &StoreResult::bottom), 15);
  EXPECT_EQ(Reads().per_lookup(), 0);
  EXPECT_EQ(results.TimesFewer(StoreResult(), &StoreResult::absent), 0);
}

TEST(LevelFiltersResultsTest, TableJsonAndPageTellTheSame) {
  const Results results = TwoStores();
  EXPECT_THAT(ToMarkdown(results), HasSubstr("| per-level | how | 8.80 | 0.0160 | 2.50x | "));
  EXPECT_THAT(ToText(LevelsTable(results)), HasSubstr("share: of something"));
  const nlohmann::ordered_json json = ToJson(results);
  EXPECT_EQ(json["stores"][1]["absent_times_fewer"], 2.5);
  EXPECT_EQ(json["stores"][1]["levels"][1]["target_fpp"], nullptr);
  const Page page = ReportPage(results, "chart");
  EXPECT_THAT(RenderPage(page), HasSubstr("data-plot=\"wasted\""));
  EXPECT_THAT(page.script, HasSubstr("level_filters"));
}

TEST(LevelFiltersResultsTest, EveryMemberOfTheJsonIsInTheReadme) {
  const std::string readme = ReadAll(testing_support::SourceDirectory() / "bench/README.md");
  const size_t begin = readme.find("## level_filters"), end = readme.find("## filter_lab");
  ASSERT_LT(begin, end);
  const std::string section = readme.substr(begin, end - begin);
  const nlohmann::ordered_json json = ToJson(TwoStores());
  const auto expect = [&](const nlohmann::ordered_json& object) {
    for (const auto& [name, value] : object.items())
      EXPECT_THAT(section, HasSubstr("`" + name + "`"));
  };
  expect(json);
  expect(json["settings"]);
  expect(json["stores"][0]);
  expect(json["stores"][0]["absent"]);
  expect(json["stores"][0]["levels"][0]);
}

// `tools/dev excerpt levels` puts them there.
TEST(LevelFiltersResultsTest, TheReadmeShowsAllStoresAndThatTheGoalsAreReached) {
  const std::string readme = ReadAll(testing_support::SourceDirectory() / "bench/README.md");
  const size_t begin = readme.find("<!-- tools/dev excerpt levels -->");
  const std::string shown =
      readme.substr(begin, readme.find("<!-- end of excerpt -->", begin) - begin);
  const std::string printed = ToMarkdown(TwoStores());
  EXPECT_THAT(shown, HasSubstr(printed.substr(printed.find("| store"), 80)));
  const auto times_fewer = [&shown](const std::string& store) {
    std::istringstream row(shown.substr(std::min(shown.find("| " + store + " |"), shown.size())));
    std::string cell;
    double absent = 0, bottom = 0;
    for (int i = 0; i < 9 && std::getline(row, cell, '|'); ++i) {
      if (i == 5) absent = std::strtod(cell.c_str(), nullptr);
      if (i == 7) bottom = std::strtod(cell.c_str(), nullptr);
    }
    return std::pair(absent, bottom);
  };
  for (const ComparedStore& store : StoresOf({}, 0.01))
    EXPECT_THAT(shown, HasSubstr("| " + store.name + " |"));
  EXPECT_THAT(shown, HasSubstr("| rocksdb |"));
  for (const char* store : {"per-level", "per-level-kinds"}) {
    EXPECT_GE(times_fewer(store).first, 2.5) << store;
    EXPECT_GE(times_fewer(store).second, 10) << store;
  }
}

class LevelFiltersCommandTest : public testing::Test {
 protected:
  int Run(const std::string& arguments) {
    const int status = std::system((std::string(TRELLIS_LEVEL_FILTERS) + " " + arguments + " >" +
                                    scratch_.path_of("stdout") + " 2>" + scratch_.path_of("stderr"))
                                       .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // Memory-backed where there is such a thing: the loads sync often.
  const testing_support::ScratchDir scratch_{::access("/dev/shm", W_OK) == 0
                                                 ? "/dev/shm"
                                                 : std::filesystem::temp_directory_path().string()};
};

TEST_F(LevelFiltersCommandTest, ASmallRunShowsTheGain) {
  const std::string out = scratch_.path_of("out");
  ASSERT_EQ(Run("--keys 120000 --absent 60000 --bottom 20000 --value-bytes 20 --out " + out), 0)
      << ReadAll(scratch_.path_of("stderr"));
  EXPECT_THAT(ReadAll(scratch_.path_of("stdout")), HasSubstr("| per-level | "));
  EXPECT_THAT(ReadAll(out + "/report.html"), HasSubstr("</html>"));
  const auto json = nlohmann::json::parse(ReadAll(out + "/report.json"));
  ASSERT_GE(json["stores"].size(), 6u);
  for (const auto& store : json["stores"]) {
    EXPECT_EQ(store["absent"]["lookups"], 60000);
    EXPECT_GT(store["bottom"]["lookups"], 1000);
    if (store["name"] != "per-level") continue;
    EXPECT_GT(store["absent_times_fewer"], 1.4);
    EXPECT_GT(store["bottom_times_fewer"], 2);
    EXPECT_LT(store["most_of_budget"], 1.12);
    EXPECT_THAT(store["levels"][0]["reason"].get<std::string>(), HasSubstr("bits a key"));
  }
}

TEST_F(LevelFiltersCommandTest, WrongUsageExitsWithTwo) {
  EXPECT_EQ(Run("--bits 0"), 2);
  EXPECT_EQ(Run("--keys 5"), 2);
  EXPECT_EQ(Run("--chart-js /no/such/file"), 2);
  EXPECT_THAT(ReadAll(scratch_.path_of("stderr")), HasSubstr("/no/such/file"));
  EXPECT_EQ(Run("--help"), 0);
}

TEST_F(LevelFiltersCommandTest, AnOutputThatCannotBeMadeIsNamed) {
  std::ofstream(scratch_.path_of("file")) << "x";
  EXPECT_EQ(Run("--out " + scratch_.path_of("file")), 1);
  EXPECT_THAT(ReadAll(scratch_.path_of("stderr")), HasSubstr(scratch_.path_of("file")));
}

}  // namespace
}  // namespace bench::level_filters
