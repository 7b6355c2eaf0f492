#include "bench/peers/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bench::peers {
namespace {

Parsed<ComparisonConfig> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "peers_bench");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseCommandLine(static_cast<int>(argv.size()), argv.data());
}

TEST(PeersConfigTest, MeasuresCellsWithGoalsByDefault) {
  const Parsed<ComparisonConfig> parsed = Parse({});
  ASSERT_EQ(parsed.exit_code, std::nullopt);
  // Lookups of two threads, cold lookups, and openings are measured too.
  EXPECT_EQ(parsed.config.cells.size(), Goals().size() + 4 + 4);
  EXPECT_EQ(parsed.config.deletions.size(), kDeletions.size() - 1);
  EXPECT_EQ(parsed.config.stores.back(), "trellis-by-level");
  for (const Goal& goal : Goals()) EXPECT_THAT(parsed.config.cells, testing::Contains(goal.cell));
}

TEST(PeersConfigTest, OptionsChooseAnyCell) {
  EXPECT_EQ(Parse({"--full"}).config.cells.size(),
            AllCells({{2000000, 100}, {20000000, 100}, {1000000, 1024}}).size());
  EXPECT_EQ(Parse({"--full"}).config.seconds, 0.5);
  EXPECT_EQ(Parse({"--full"}).config.single_round_bytes, 1000000000u);
  EXPECT_EQ(Parse({"--full"}).config.rounds, 3);
  EXPECT_EQ(Parse({"--full", "--rounds", "3"}).config.single_round_bytes, UINT64_MAX);
  EXPECT_EQ(Parse({"--full", "--seconds", "1"}).config.seconds, 1);
  EXPECT_EQ(Parse({}).config.single_round_bytes, UINT64_MAX);
  const Parsed<ComparisonConfig> parsed =
      Parse({"--sizes", "5k:10,6k:20", "--states", "fresh", "--caches", "all,direct", "--threads",
             "1", "--workloads", "get present, zipfian;get absent"});
  ASSERT_EQ(parsed.exit_code, std::nullopt);
  EXPECT_EQ(parsed.config.cells.size(), 2u * 2 * 2);
  for (const Cell& cell : parsed.config.cells) {
    EXPECT_EQ(cell.state, State::kFresh);
    EXPECT_NE(cell.cache, Cache::kTenth);
    EXPECT_EQ(cell.threads, 1);
  }
}

TEST(PeersConfigTest, DeletesAreChosenByName) {
  const Parsed<ComparisonConfig> parsed = Parse({"--workloads", "sliding window;delete 10M"});
  ASSERT_EQ(parsed.exit_code, std::nullopt);
  EXPECT_TRUE(parsed.config.cells.empty());
  ASSERT_EQ(parsed.config.deletions.size(), 2u);
  EXPECT_EQ(parsed.config.deletions[0]->deletion, Deletion::kAllOfMany);
  EXPECT_TRUE(Parse({"--states", "fresh"}).config.deletions.empty());
  EXPECT_EQ(Parse({"--full"}).config.deletions.size(), kDeletions.size());
}

TEST(PeersConfigTest, ExitsWithTwoAfterMistakes) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--sizes", "many"},
                                             {"--states", "wet"},
                                             {"--caches", "some"},
                                             {"--threads", "3"},
                                             {"--workloads", "get nothing"},
                                             {"--stores", "sqlite"},
                                             {"--rounds", "0"},
                                             {"--seed", "-1"},
                                             {"--chart-js", "/nowhere/chart.js"},
                                             {"--states", "filling", "--workloads", "YCSB A"}})
    EXPECT_EQ(Parse(arguments).exit_code, 2) << testing::PrintToString(arguments);
  EXPECT_EQ(Parse({"--help"}).exit_code, 0);
}

}  // namespace
}  // namespace bench::peers
