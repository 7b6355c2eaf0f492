#include "bloom/counting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bloom/core/probe.h"
#include "bloom/filter.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/counters.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::CountingFilter;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::StatusIs;

CountingFilter MakeCounting(uint64_t keys, double fpp = 0.01, uint32_t bits = 4,
                            uint64_t seed = 1) {
  return CountingFilter::MakeWithCounters(keys, fpp, bits, seed).value();
}

TEST(CountingTest, ForgetsRemovedKeys) {
  CountingFilter filter = MakeCounting(10'000);
  for (uint64_t i = 0; i < 10'000; ++i) filter.AddDigest(DigestOfKey(i));
  for (uint64_t i = 0; i < 5000; ++i) EXPECT_TRUE(filter.RemoveDigest(DigestOfKey(i)));
  for (uint64_t i = 5000; i < 10'000; ++i) ASSERT_TRUE(filter.MayContainDigest(DigestOfKey(i)));
  int passing = 0;
  for (uint64_t i = 0; i < 5000; ++i) passing += filter.MayContainDigest(DigestOfKey(i));
  EXPECT_LT(passing, 25);  // the rate of a filter with half the planned keys is 0.0002
  EXPECT_EQ(filter.added_count(), 5000u);
  EXPECT_EQ(filter.CountSaturated(), 0u);
}

TEST(CountingTest, RemovingAllKeysLeavesAnEmptyFilter) {
  for (const uint32_t bits : {3, 4, 5, 8, 16, 32}) {
    CountingFilter filter = MakeCounting(1000, 0.01, bits);
    const std::string empty = filter.Serialize();
    for (uint64_t i = 0; i < 500; ++i) filter.AddDigest(DigestOfKey(i));
    ASSERT_EQ(filter.CountSaturated(), 0u) << bits;
    for (uint64_t i = 500; i-- > 0;) ASSERT_TRUE(filter.RemoveDigest(DigestOfKey(i)));
    EXPECT_EQ(filter.Serialize(), empty) << bits;
  }
}

TEST(CountingTest, RefusesToRemoveAbsentKeys) {
  testing_support::ExpectRefusesToRemoveAbsentKeys(MakeCounting(1000, 1e-6));
}

// In such a small filter keys share cells, use a cell twice, and saturate counters.
TEST(CountingTest, CountersMatchTheOracle) {
  Dice dice(11);
  for (const uint32_t bits : {1, 2, 4, 7}) {
    // Made for 3 keys, asked for 100.
    const CountingFilter filter = MakeCounting(3, 1e-9, bits, 9);
    const bloom::Shape shape = filter.shape();
    const auto cells_of = [&](uint64_t key) {
      bloom::Probes probes(bloom::Remix(DigestOfKey(key), 9), shape.size);
      std::vector<uint64_t> all;
      for (uint32_t i = 0; i < shape.probes; ++i) all.push_back(probes.Next());
      return all;
    };
    ASSERT_NO_FATAL_FAILURE(testing_support::ExpectCountersMatchTheOracle(
        MakeCounting(3, 1e-9, bits, 9), shape.size, bits, 100, cells_of, dice));
  }
}

TEST(CountingTest, FullCountersStayFull) {
  testing_support::ExpectFullCountersStayFull(MakeCounting(100, 0.01, 4),
                                              MakeCounting(100, 0.01, 8));
}

TEST(CountingTest, CountersOfFourBitsDoNotOverflowByChance) {
  CountingFilter filter = MakeCounting(200'000);
  for (uint64_t i = 0; i < 200'000; ++i) filter.AddDigest(DigestOfKey(i));
  EXPECT_EQ(filter.CountSaturated(), 0u);
}

// P(X >= least) for X of Poisson's distribution.
double PoissonTail(double mean, uint32_t least) {
  double tail = 0;
  for (uint32_t i = least; i < least + 100; ++i)
    tail += std::exp(i * std::log(mean) - mean - std::lgamma(i + 1.0));
  return tail;
}

TEST(CountingTest, CountersFillAsOftenAsTheirDistributionSays) {
  // With the planned keys, 7.1 * 10^-17 of the four-bit counters overflow (Fan's bound: 1.37 *
  // 10^-15), and 7.2 * 10^-7 of the three-bit counters.  So a test needs more keys or fewer bits.
  constexpr uint64_t kPlanned = 200'000;
  const struct {
    uint32_t bits;
    uint64_t times;  // the planned keys
    double tolerance;
  } cases[] = {{2, 1, 0.02}, {2, 2, 0.02}, {3, 2, 0.1}, {3, 4, 0.02}, {4, 8, 0.1}, {4, 10, 0.03}};
  for (const auto& c : cases) {
    CountingFilter filter = MakeCounting(kPlanned, 0.01, c.bits);
    for (uint64_t i = 0; i < c.times * kPlanned; ++i) filter.AddDigest(DigestOfKey(i));
    const auto cells = static_cast<double>(filter.shape().size);
    const double mean = filter.shape().probes * static_cast<double>(c.times * kPlanned) / cells;
    EXPECT_NEAR(static_cast<double>(filter.CountSaturated()) /
                    (cells * PoissonTail(mean, (1u << c.bits) - 1)),
                1, c.tolerance)
        << c.bits << " bits, " << c.times << " times the keys";
  }
}

// A known implementation combines counters with a bitwise "or", so that 1 + 2 is 3 but 1 + 1 is 1.
// A key that both filters hold is then denied after one removal.
TEST(CountingTest, AUnionAddsAndStopsAtTheMaximum) {
  CountingFilter left = MakeCounting(100), right = MakeCounting(100);
  left.Add("apple");
  right.Add("apple");
  ASSERT_THAT(left.Merge(right), IsOk());
  EXPECT_TRUE(left.Remove("apple"));
  EXPECT_TRUE(left.MayContain("apple"));
  EXPECT_TRUE(left.Remove("apple"));
  EXPECT_FALSE(left.MayContain("apple"));
  for (int i = 0; i < 10; ++i) left.Add("pear"), right.Add("pear");
  ASSERT_THAT(left.Merge(right), IsOk());
  EXPECT_GT(left.CountSaturated(), 0u);
  EXPECT_TRUE(left.MayContain("pear"));
}

// With a bitwise "and", counters of 1 and 2 would have nothing in common.
TEST(CountingTest, IntersectionHoldsSharedKeys) {
  CountingFilter left = MakeCounting(1000), right = MakeCounting(1000);
  for (uint64_t i = 0; i < 600; ++i) left.AddDigest(DigestOfKey(i));
  for (uint64_t i = 400; i < 1000; ++i) {
    right.AddDigest(DigestOfKey(i));
    right.AddDigest(DigestOfKey(i));
  }
  ASSERT_THAT(left.Intersect(right), IsOk());
  for (uint64_t i = 400; i < 600; ++i) EXPECT_TRUE(left.MayContainDigest(DigestOfKey(i)));
  int passing = 0;
  for (uint64_t i = 0; i < 400; ++i) passing += left.MayContainDigest(DigestOfKey(i));
  EXPECT_LT(passing, 20);
  const std::string before = left.Serialize();
  EXPECT_THAT(left.Intersect(MakeCounting(1000, 0.01, 4, 2)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("seeds")));
  EXPECT_THAT(left.Intersect(MakeCounting(1000, 0.01, 8)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("counter_bits 4 and 8")));
  EXPECT_EQ(left.Serialize(), before);
}

TEST(CountingTest, AsAStandardFilterItHasTheBitsOfItsKeys) {
  CountingFilter counting = MakeCounting(1000, 0.01, 4, 77);
  for (uint64_t i = 0; i < 1500; ++i) counting.AddDigest(DigestOfKey(i));
  for (uint64_t i = 1000; i < 1500; ++i) counting.RemoveDigest(DigestOfKey(i));
  auto standard = bloom::Filter<bloom::Standard>::Make(1000, 0.01, 77).value();
  for (uint64_t i = 0; i < 1000; ++i) standard.AddDigest(DigestOfKey(i));
  EXPECT_EQ(counting.SerializeAsStandard().value(), standard.Serialize());
}

TEST(CountingTest, RefusesTooManyCounters) {
  EXPECT_THAT(CountingFilter::MakeWithCounters(uint64_t{1} << 52, 0.01, 8),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("key_count 4503599627370496 at target_fpp 0.01 needs more than")));
}

TEST(CountingTest, RefusesWrongCounterWidths) {
  for (const uint32_t bits : {0, 33, 64, 1000}) {
    EXPECT_THAT(CountingFilter::MakeWithCounters(10, 0.01, bits),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("counter_bits")));
  }
}

}  // namespace
