// The command level_filters as a user runs it, and the conclusions that it draws from its figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "bench/level_filters/experiment.h"
#include "bench/level_filters/report.h"
#include "bench/level_filters/results.h"
#include "bench/level_filters/skew.h"
#include "bench/workload.h"
#include "tests/bench/interrupted_run.h"
#include "tests/bench/page_with_plots.h"
#include "tests/support/read_file.h"
#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/source_directory.h"

namespace bench::level_filters {
namespace {

using testing::HasSubstr;
using testing_support::ReadFile;

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
  results.skew = {{"90-10",
                   "how",
                   5.8,
                   {{0, 0.01, 0.01, 10, 10},
                    {0.1, 0.008, 0.01, 10, 10},
                    {0.2, 0.005, 0.01, 10, 10},
                    {0.3, 0.003, 0.01, 10, 10},
                    {0.4, 0.02, 0.01, 10, 10},
                    {0.5, 0.015, 0.01, 10, 10},
                    {0.6, 0.006, 0.01, 10, 10},
                    {0.7, 0.004, 0.01, 10, 10}}}};
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

TEST(LevelFiltersResultsTest, RoundsShowLearningAndItsCost) {
  const SkewResult skew = TwoStores().skew[0];
  EXPECT_DOUBLE_EQ(skew.TimesFewer(), 0.01 / 0.004);
  EXPECT_EQ(skew.Learned(), 0.2);
  EXPECT_DOUBLE_EQ(skew.Worst(), 2);
  EXPECT_DOUBLE_EQ(skew.LearnedAgain().value(), 0.6 - 0.4);
  EXPECT_EQ(SkewResult().TimesFewer(), 0);
  EXPECT_EQ(SkewResult().Learned(), std::nullopt);
}

TEST(LevelFiltersResultsTest, LookupsFollowTheSkew) {
  const std::vector<RangeWorkload> workloads = RangeWorkloads(1);
  ASSERT_EQ(workloads.size(), 3u);
  EXPECT_NEAR(workloads[0].best(), 1, 1e-9);
  EXPECT_NEAR(workloads[1].best(), 5.8, 0.01);
  for (const bool moved : {false, true}) {
    SplitMix random(3);
    int hot = 0;
    constexpr int kKeys = 10'000;
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = workloads[1].Draw(&random, moved);
      EXPECT_EQ(key.size(), SyntheticKey(1, 1).size());
      const double place =
          static_cast<double>(std::strtoull(key.c_str(), nullptr, 16)) / 0x1p64 - (moved ? 0.5 : 0);
      hot += place >= 0.2 && place < 0.3;
    }
    EXPECT_NEAR(hot, 0.9 * kKeys, 0.015 * kKeys) << moved;
  }
}

TEST(LevelFiltersResultsTest, TableJsonAndPageAgree) {
  const Results results = TwoStores();
  EXPECT_THAT(ToMarkdown(results), HasSubstr("| per-level | how | 8.80 | 0.0160 | 2.50x | "));
  EXPECT_THAT(ToText(LevelsTable(results)), HasSubstr("share: of something"));
  const nlohmann::ordered_json json = ToJson(results);
  EXPECT_EQ(json["stores"][1]["absent_times_fewer"], 2.5);
  EXPECT_EQ(json["stores"][1]["levels"][1]["target_fpp"], nullptr);
  const Page page = PageWithPlots(ReportOf(results));
  EXPECT_THAT(RenderPage(page), HasSubstr("data-plot=\"wasted\""));
  EXPECT_THAT(RenderPage(page), HasSubstr("data-plot=\"skew\""));
  EXPECT_EQ(json["skew"][0]["times_fewer"], 2.5);
  EXPECT_EQ(json["skew"][0]["rounds"][3]["learning"], 0.003);
  EXPECT_THAT(
      ToMarkdown(results),
      HasSubstr("| 90-10 | how | 0.0100 | 0.00400 | 2.50x | 5.80x | 20 % | 2.00x | 20 % |"));
  EXPECT_THAT(page.script, HasSubstr("level_filters"));
}

TEST(LevelFiltersResultsTest, JsonPageDescribesTheReport) {
  const std::string readme = ReadFile(testing_support::SourceDirectory() / "bench/report/JSON.md");
  const size_t begin = readme.find("## level_filters"), end = readme.find("## filter_lab");
  ASSERT_LT(begin, end);
  // JSON.md begins with the members that all reports have.
  const std::string section =
      readme.substr(0, readme.find("## read_amp")) + readme.substr(begin, end - begin);
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
  expect(json["skew"][0]);
  expect(json["skew"][0]["rounds"][0]);
}

// `tools/dev excerpt levels` puts the table into the README.
TEST(LevelFiltersResultsTest, ReadmeShowsAllStoresAndReachedGoals) {
  const std::string readme = ReadFile(testing_support::SourceDirectory() / "bench/README.md");
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
  EXPECT_GE(times_fewer("90-10").first, 3);
  EXPECT_GE(times_fewer("zipf").first, 1.4);
  EXPECT_NEAR(times_fewer("even").first, 1, 0.04);
}

class LevelFiltersCommandTest : public testing::Test {
 protected:
  static testing_support::ProgramResult Run(const std::string& arguments) {
    return testing_support::RunShell(std::string(TRELLIS_LEVEL_FILTERS) + " " + arguments);
  }

  const testing_support::ScratchDir scratch_{testing_support::FastFolder()};
};

TEST_F(LevelFiltersCommandTest, SmallRunsShowTheGain) {
  const std::string out = scratch_.path_of("out");
  const auto outcome =
      Run("--keys 120000 --absent 60000 --bottom 20000 --value-bytes 20 "
          "--skewed 20000 --rounds 8 --out " +
          out);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| per-level | "));
  EXPECT_THAT(ReadFile(out + "/report.html"), HasSubstr("</html>"));
  const auto json = nlohmann::json::parse(ReadFile(out + "/report.json"));
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
  ASSERT_EQ(json["skew"].size(), 3u);
  EXPECT_NEAR(json["skew"][0]["times_fewer"], 1, 0.15);
  EXPECT_GT(json["skew"][1]["times_fewer"], 1.4);
  for (const auto& skew : json["skew"]) {
    ASSERT_EQ(skew["rounds"].size(), 8u);
    for (const auto& round : skew["rounds"]) {
      EXPECT_NEAR(round["learning_bits"], 10, 0.5);
      EXPECT_NEAR(round["forgetful_bits"], 10, 0.5);
    }
  }
}

TEST_F(LevelFiltersCommandTest, InterruptReportsFinishedStores) {
  const std::string out = scratch_.path_of("out"), err = scratch_.path_of("stderr");
  EXPECT_EQ(
      RunInterrupted(TRELLIS_LEVEL_FILTERS,
                     {"--keys", "20000", "--absent", "1000", "--bottom", "1000", "--out", out},
                     "loading per-level", err),
      130);
  const auto json = nlohmann::json::parse(ReadFile(out + "/report.json"));
  EXPECT_EQ(json["interrupted"], true);
  EXPECT_GE(json["stores"].size(), 2u);
  EXPECT_TRUE(json["skew"].empty());
  EXPECT_THAT(ReadFile(out + "/report.html"), HasSubstr("the run was interrupted"));
}

TEST_F(LevelFiltersCommandTest, WrongUsageExitsWithTwo) {
  EXPECT_EQ(Run("--bits 0").code, 2);
  EXPECT_EQ(Run("--keys 5").code, 2);
  const auto no_file = Run("--chart-js /no/such/file");
  EXPECT_EQ(no_file.code, 2);
  EXPECT_THAT(no_file.err, HasSubstr("/no/such/file"));
  EXPECT_EQ(Run("--help").code, 0);
}

TEST_F(LevelFiltersCommandTest, NamesOutputsThatCannotBeCreated) {
  std::ofstream(scratch_.path_of("file")) << "x";
  const auto outcome = Run("--out " + scratch_.path_of("file"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr(scratch_.path_of("file")));
}

}  // namespace
}  // namespace bench::level_filters
