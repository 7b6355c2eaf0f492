#include "bench/peers/data_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace bench::peers {
namespace {

TEST(DigitKeyTest, HasSixteenDigits) {
  for (const uint64_t number : {uint64_t{0}, uint64_t{7}, uint64_t{123456}, uint64_t{4294967295}}) {
    EXPECT_EQ(std::string_view(DigitKey::Present(number)), DecimalKey(2 * number));
    EXPECT_EQ(std::string_view(DigitKey::Absent(number)), DecimalKey(2 * number + 1));
  }
}

TEST(NumbersTest, RandomOrderHasEachNumberOnce) {
  const Numbers order = InRandomOrder(1000, 1);
  EXPECT_NE(order, InTurn(1000));
  EXPECT_NE(order, InRandomOrder(1000, 2));
  Numbers sorted = order;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, InTurn(1000));
}

// By definition, the r-th most popular number gets 1 / (r^theta zeta) of the draws.
TEST(NumbersTest, ZipfianFollowsItsFrequencies) {
  constexpr uint64_t kNumbers = 1000;
  constexpr size_t kDraws = 400000;
  std::vector<double> counts(kNumbers, 0);
  for (const uint32_t number : Zipfian(kNumbers, kDraws, kTheta, 1)) {
    ASSERT_LT(number, kNumbers);
    counts[number] += 1;
  }
  EXPECT_NE(std::max_element(counts.begin(), counts.end()), counts.begin());  // scrambled
  std::sort(counts.rbegin(), counts.rend());
  double zeta = 0;
  for (uint64_t rank = 1; rank <= kNumbers; ++rank)
    zeta += std::pow(static_cast<double>(rank), -kTheta);
  EXPECT_NEAR(counts[0] / kDraws, 1 / zeta, 0.02 / zeta);
  EXPECT_NEAR(counts[1] / kDraws, std::pow(2, -kTheta) / zeta, 0.02 / zeta);
  // The method is exact for the first two ranks and close for the rest together.
  double first_hundred = 0, expected = 0;
  for (size_t rank = 1; rank <= 100; ++rank) {
    first_hundred += counts[rank - 1] / kDraws;
    expected += std::pow(static_cast<double>(rank), -kTheta) / zeta;
  }
  EXPECT_NEAR(first_hundred, expected, 0.02);
}

TEST(ContentsTest, KnowsTheCurrentVersion) {
  Contents contents(100);
  EXPECT_EQ(contents.VersionOf(3), 0);
  std::string first, second, third;
  contents.MakeNext(3, &first);
  contents.FillUpTo(10);
  EXPECT_EQ(contents.size(), 10u);
  EXPECT_TRUE(contents.is_uniform());
  EXPECT_EQ(contents.VersionOf(3), 1);
  EXPECT_EQ(contents.VersionOf(10), 0);
  EXPECT_TRUE(contents.Matches(3, first));
  EXPECT_FALSE(contents.Matches(4, first));

  contents.Diversify(20);
  EXPECT_FALSE(contents.is_uniform());
  const uint8_t before = contents.VersionOf(3);
  contents.MakeNext(3, &second);
  EXPECT_NE(first, second);
  // The new version may be visible already, or not yet.
  EXPECT_TRUE(contents.MatchesSince(3, first, before));
  EXPECT_TRUE(contents.MatchesSince(3, second, before));
  contents.Wrote(3);
  EXPECT_FALSE(contents.Matches(3, first));
  EXPECT_TRUE(contents.Matches(3, second));
  EXPECT_TRUE(contents.MatchesSince(3, first, before));
  EXPECT_FALSE(contents.MatchesSince(3, first, contents.VersionOf(3)));
  contents.MakeNext(3, &third);
  EXPECT_TRUE(contents.MatchesSince(3, third, before));
  EXPECT_FALSE(contents.Matches(3, third));

  contents.Removed(3);
  EXPECT_EQ(contents.VersionOf(3), 0);
  contents.Wrote(15);
  EXPECT_EQ(contents.size(), 16u);
  contents.WroteAllOf({4, 5});
  EXPECT_EQ(contents.VersionOf(4), 2);
  EXPECT_EQ(contents.VersionOf(6), 1);
}

}  // namespace
}  // namespace bench::peers
