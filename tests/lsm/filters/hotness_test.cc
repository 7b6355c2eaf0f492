#include "lsm/filters/hotness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/dice.h"

namespace lsm {
namespace {

using testing_support::Dice;

using Parts = std::vector<HotnessScale::Part>;

constexpr double kPseudo = HotnessScale::kPseudoReads;

TEST(HotnessTest, WithoutCountsNothingIsHot) {
  EXPECT_EQ(HotnessScale::Of({}).HotnessOf({}), 1);
  const HotnessScale scale = HotnessScale::Of(Parts{{1, {}}, {1, {0, 5}}});
  EXPECT_EQ(scale.HotnessOf({}), 1);
  // No lookup was seen in this part, so its wasted reads prove little.
  EXPECT_NEAR(scale.HotnessOf({0, 5}), 1, 1e-5);
}

TEST(HotnessTest, ManyCountsWeighMore) {
  // 90 % of the lookups in a tenth of the keys.
  for (const double expected : {0.1, 1.0, 10.0, 1000.0}) {
    const WastedReads hot{9 * expected, expected}, cold{expected, 9 * expected};
    const HotnessScale scale = HotnessScale::Of(Parts{{0.1, hot}, {0.9, cold}});
    const double hot_now = scale.HotnessOf(hot), cold_now = scale.HotnessOf(cold);
    EXPECT_GT(hot_now, 1);
    EXPECT_LT(cold_now, 1);
    EXPECT_NEAR(0.1 * hot_now + 0.9 * cold_now, 1, 1e-3);
    if (expected < 0.5) {
      EXPECT_LT(hot_now, 1.3);
    }
    if (expected > 100) {
      EXPECT_NEAR(hot_now, 9, 0.1);
      EXPECT_NEAR(cold_now, 1.0 / 9, 0.01);
    }
  }
}

TEST(HotnessTest, MatchesTheHeader) {
  // The scale is 1: both were seen as often as expected.
  const HotnessScale scale = HotnessScale::Of(Parts{{1, {20, 20}}, {1, {20, 20}}});
  EXPECT_NEAR(scale.HotnessOf({30, 10}), (30 + kPseudo) / (10 + kPseudo), 1e-4);
  EXPECT_NEAR(scale.HotnessOf({0, 12}), kPseudo / (12 + kPseudo), 1e-4);
}

// If most lookups find their key in the upper levels, the lower levels see few.  That does not make
// a new table hot.
TEST(HotnessTest, MissingCountsAreNoHotness) {
  Parts parts;
  for (int i = 0; i < 20; ++i) parts.push_back({1, {10, 100}});
  parts.push_back({1, {}});
  const HotnessScale scale = HotnessScale::Of(parts);
  EXPECT_NEAR(scale.HotnessOf({10, 100}), 1, 0.01);
  EXPECT_NEAR(scale.HotnessOf({}), 1, 1e-9);
  EXPECT_NEAR(scale.HotnessOf({100, 100}), 104.0 / 14, 0.1);
}

TEST(HotnessTest, IsBounded) {
  const HotnessScale scale;
  EXPECT_EQ(scale.HotnessOf({1e6, 0}), HotnessScale::kMost);
  EXPECT_EQ(scale.HotnessOf({0, 1e6}), HotnessScale::kLeast);
}

// With FPPs inversely proportional to hotness, the waste is that of even FPPs times e to the power
// of the mean of log hotness minus the log of its mean.
TEST(HotnessTest, RandomCountsCostLittle) {
  Dice dice(1);
  constexpr int kTables = 2000;
  for (const double expected : {0.3, 1.0, 4.0, 20.0, 300.0}) {
    Parts parts;
    std::poisson_distribution<int> seen(expected);
    for (int i = 0; i < kTables; ++i)
      parts.push_back({1, {static_cast<double>(seen(dice)), expected}});
    const HotnessScale scale = HotnessScale::Of(parts);
    double wasted = 0, logs = 0;
    for (const auto& part : parts) {
      const double hotness = HotnessOfStep(HotnessStepOf(scale.HotnessOf(part.reads)));
      wasted += 1 / hotness / kTables;
      logs += std::log(1 / hotness) / kTables;
    }
    const double more = wasted / std::exp(logs);
    EXPECT_LT(more, 1 + 1 / (8 * kPseudo) + 0.012) << expected;  // 0.8 % of it for the rounding
  }
}

TEST(HotnessTest, StepsAreHalfOctaves) {
  EXPECT_EQ(HotnessStepOf(1), 0);
  EXPECT_EQ(HotnessStepOf(1.18), 0);
  EXPECT_EQ(HotnessStepOf(1.2), 1);
  EXPECT_EQ(HotnessStepOf(0.5), -2);
  EXPECT_DOUBLE_EQ(HotnessOfStep(-2), 0.5);
  for (int step = -8; step <= 12; ++step) EXPECT_EQ(HotnessStepOf(HotnessOfStep(step)), step);
}

TEST(WastedReadsTest, SharesAddUp) {
  WastedReads reads{1, 2};
  reads.Add({10, 20}, 0.5);
  reads.Add({1, 1});
  EXPECT_EQ(reads.seen, 7);
  EXPECT_EQ(reads.expected, 13);
}

TEST(WastedReadsTest, TablesSeparateInheritedAndNewCounts) {
  WastedReadCounter counter({3, 5}, /*lookups=*/100);
  counter.Add();
  const WastedReads reads = counter.Get(/*lookups=*/300, /*expected=*/0.01);
  EXPECT_EQ(reads.seen, 4);
  EXPECT_DOUBLE_EQ(reads.expected, 7);
  // Sums of counters that others write may lag behind one another.
  EXPECT_EQ(counter.Get(99, 0.01).expected, 5);
}

TEST(WastedReadsTest, ThreadsLoseNoCount) {
  WastedReadCounter counter({}, 0);
  constexpr int kThreads = 4, kReads = 10'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&counter] {
      for (int read = 0; read < kReads; ++read) counter.Add();
    });
  }
  EXPECT_LE(counter.Get(0, 0).seen, kThreads * kReads);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.Get(0, 0).seen, kThreads * kReads);
}

}  // namespace
}  // namespace lsm
