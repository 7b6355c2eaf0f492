#include "lsm/filters/tree_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;

using Shares = std::vector<double>;

RunsOfTree TreeOf(std::vector<FilterRun> runs, double lookups) {
  RunsOfTree tree;
  tree.runs = std::move(runs);
  tree.lookups = lookups;
  return tree;
}

TEST(TreeRunsTest, SharesFollowLookupsBesideAThousandByKeys) {
  EXPECT_THAT(SharesOfLookups({}), IsEmpty());
  const TreeLookups alone{123, 45678};
  EXPECT_THAT(SharesOfLookups({&alone, 1}), ElementsAre(1));
  const std::vector<TreeLookups> fresh = {{100, 0}, {300, 0}};
  EXPECT_THAT(SharesOfLookups(fresh), ElementsAre(DoubleEq(0.25), DoubleEq(0.75)));
  const std::vector<TreeLookups> asked = {{100, 9'000}, {300, 0}};
  EXPECT_THAT(SharesOfLookups(asked), ElementsAre(DoubleEq(0.925), DoubleEq(0.075)));
  const std::vector<TreeLookups> empty = {{0, 0}, {0, 0}};
  EXPECT_THAT(SharesOfLookups(empty), ElementsAre(0, 0));
  const std::vector<TreeLookups> without_keys = {{0, 3}, {0, 1}};
  EXPECT_THAT(SharesOfLookups(without_keys), ElementsAre(DoubleEq(0.75), DoubleEq(0.25)));
}

TEST(TreeRunsTest, RunsAreWeighedByTheSharesOfTheirTrees) {
  RunsOfTree hot = TreeOf({{1'000, 1, 0}, {9'000, 3, 1, 0.5}, {9'000, 3, 1, 2, true}}, 8'500);
  hot.staying_bytes = 100;
  hot.staying_reads = 0.5;
  RunsOfTree cold = TreeOf({{19'000, 2, 4}}, 500);
  cold.staying_bytes = 20;
  cold.staying_reads = 0.25;
  std::vector<RunsOfTree> trees = {hot, cold};
  WeighTrees(trees);
  // 1,000 are spread over 19,000 and 19,000 keys.
  EXPECT_DOUBLE_EQ(trees[0].runs[0].weight, 0.9);
  EXPECT_DOUBLE_EQ(trees[0].runs[1].weight, 0.45);
  EXPECT_DOUBLE_EQ(trees[0].runs[2].weight, 1.8);
  EXPECT_DOUBLE_EQ(trees[1].runs[0].weight, 0.1);
  EXPECT_EQ(trees[0].runs[2].tree, 0u);
  EXPECT_EQ(trees[1].runs[0].tree, 1u);
  EXPECT_DOUBLE_EQ(trees[0].staying_bytes, 100);
  EXPECT_DOUBLE_EQ(trees[0].staying_reads, 0.9 * 0.5);
  EXPECT_DOUBLE_EQ(trees[1].staying_reads, 0.1 * 0.25);
}

TEST(TreeRunsTest, HotTreesGetTheMemory) {
  std::vector<RunsOfTree> trees = {TreeOf({{100'000, 4, 1}}, 100'000),
                                   TreeOf({{100'000, 4, 1}}, 1'000)};
  WeighTrees(trees);
  const auto allocator = FilterAllocator::Of("standard", FilterGoal::BitsPerKey(10)).value();
  const FilterAllocation allocation =
      allocator->Allocate(std::vector<FilterRun>{trees[0].runs[0], trees[1].runs[0]});
  // The sum of weight times FPP is least if FPPs are as the inverse of weights: 100.5 to 1.5.
  EXPECT_NEAR(allocation.shares[1].fpp / allocation.shares[0].fpp, 67, 10);
  EXPECT_NEAR(8 * allocation.bytes / 200'000, 10, 0.1);
}

TEST(TreeRunsTest, RunsHaveTheKindsOfTheirTree) {
  const auto allocator = FilterAllocator::Of("by-level", FilterGoal::BitsPerKey(10)).value();
  FilterRun of_store{100'000, 1, 100}, of_tree = of_store, short_lived{100'000, 1, 0};
  of_tree.kinds = FilterKinds::Of(FilterChoice::Of("standard").value());
  of_tree.tree = 1;
  const FilterAllocation allocation =
      allocator->Allocate(std::vector<FilterRun>{short_lived, of_store, of_tree});
  EXPECT_EQ(allocation.shares[0].kind, "blocked");
  EXPECT_EQ(allocation.shares[1].kind, "ribbon");
  EXPECT_EQ(allocation.shares[2].kind, "standard");
  // A store with one kind, and a tree with two.
  const auto one = FilterAllocator::Of("standard", FilterGoal::BitsPerKey(10)).value();
  of_tree.kinds = FilterKinds::Of(FilterChoice::Of("by-level").value());
  const FilterAllocation other = one->Allocate(std::vector<FilterRun>{of_store, of_tree});
  EXPECT_EQ(other.shares[0].kind, "standard");
  EXPECT_EQ(other.shares[1].kind, "ribbon");
}

// The deepest run of each tree is sized for too few keys, by those above it in its own tree.
TEST(TreeRunsTest, EachTreeLeavesRoomForItsGrowth) {
  const auto allocator = FilterAllocator::Of("standard", FilterGoal::Bytes(50'000)).value();
  // A tenth of the first run is written, and all else has 45,000 bytes.
  const auto bytes_of_first = [&](const std::vector<FilterRun>& runs) {
    FilterOutput output;
    output.parts.push_back({0, 2'000});
    output.staying_bytes = 45'000;
    return allocator->ForOutput(runs, output).shares[0].bytes;
  };
  FilterRun first{20'000, 1, 1}, second{20'000, 1, 1};
  // Usual are 40,000 bytes.  With 2,000 of them there are 47,000, so it is 40,000 + 2 * 3,000.
  EXPECT_NEAR(bytes_of_first({first, second}), 23'000, 400);
  // Usual are 50,000: 47,500 with 2,500, so it is 50,000 + 2 * 2,500.
  second.tree = 1;
  EXPECT_NEAR(bytes_of_first({first, second}), 27'500, 400);
}

// A job of one tree leaves what the other one lacks to that one, but makes up for what it has too
// much.  So the trees come to their shares, whichever is rewritten first.
TEST(TreeRunsTest, TreesComeToTheirShares) {
  for (const FilterGoal goal : {FilterGoal::Bytes(50'000), FilterGoal::WastedReads(0.01)}) {
    const auto allocator = FilterAllocator::Of("standard", goal).value();
    std::vector<RunsOfTree> trees = {TreeOf({{20'000, 1, 1}}, 100'000),
                                     TreeOf({{20'000, 1, 1}}, 1'000)};
    WeighTrees(trees);
    const std::vector<FilterRun> runs = {trees[0].runs[0], trees[1].runs[0]};
    const FilterAllocation fair = allocator->Allocate(runs);
    for (const double first_bytes : {25'000.0, 5'000.0, 45'000.0}) {
      std::vector<FilterShare> now(2);
      now[0].bytes = first_bytes;
      now[1].bytes = 50'000 - first_bytes;
      for (FilterShare& share : now)
        share.fpp = FilterCurve("standard", 20'000).At(8 * share.bytes / 20'000).fpp;
      for (const size_t job : {1, 0, 1, 0, 1}) {
        const size_t other = 1 - job;
        FilterOutput output;
        output.parts.push_back({job, 20'000});
        output.trees_beside.push_back(
            {static_cast<uint32_t>(other), now[other].bytes, runs[other].weight * now[other].fpp});
        now[job] = allocator->ForOutput(runs, output).shares[job];
      }
      for (size_t i = 0; i < 2; ++i)
        EXPECT_NEAR(now[i].bytes, fair.shares[i].bytes, 300) << first_bytes << " " << i;
    }
  }
}

}  // namespace
}  // namespace lsm
