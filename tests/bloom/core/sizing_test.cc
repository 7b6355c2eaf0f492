#include "bloom/core/sizing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/bloom/exact_fpp.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::BlockedFpp;
using bloom::BlockedShapeFor;
using bloom::ClassicFpp;
using bloom::kLineBits;
using bloom::kMaxProbes;
using bloom::kMinStandardBits;
using bloom::Shape;
using bloom::StandardFpp;
using bloom::StandardShapeFor;
using testing::HasSubstr;
using testing_support::ExactFpp;
using testing_support::StatusIs;

constexpr uint64_t kMany = 1'000'000;

double BitsPerKey(double bits, double keys) { return bits / keys; }

TEST(StandardSizingTest, RatesAgreeWithThePublishedTableOfBitsAndProbes) {
  // P. Cao's table of (m/n, k).
  EXPECT_NEAR(StandardFpp(8 * kMany, 6, kMany) / 0.0216, 1, 0.005);
  EXPECT_NEAR(StandardFpp(10 * kMany, 7, kMany) / 0.00819, 1, 0.005);
  EXPECT_NEAR(StandardFpp(15 * kMany, 10, kMany) / 0.000744, 1, 0.005);
  EXPECT_NEAR(StandardFpp(20 * kMany, 14, kMany) / 6.71e-5, 1, 0.005);
}

TEST(StandardSizingTest, OnePercentNeedsSevenProbesAndUnderTenBits) {
  const Shape shape = StandardShapeFor(100'000'000, 0.01).value();
  EXPECT_EQ(shape.probes, 7u);
  // -n ln(e) / ln(2)^2 = 958,505,838 for the best real number of probes; 7 instead of 6.64 cost 0.1
  // %.
  EXPECT_NEAR(static_cast<double>(shape.size) / 958'505'838, 1.0, 0.0012);
  EXPECT_GT(shape.size, 958'505'838u);
}

TEST(StandardSizingTest, SizesBeyondTwoToThe32BitsAreExact) {
  // 10^9 keys at 1 %: 1,143 MiB, not a tenth of it.
  const Shape shape = StandardShapeFor(1'000'000'000, 0.01).value();
  EXPECT_EQ(shape.probes, 7u);
  EXPECT_NEAR(static_cast<double>(shape.size) / 8 / (1 << 20), 1143, 2);
  EXPECT_LE(StandardFpp(shape.size, 7, 1'000'000'000), 0.01);
  EXPECT_GT(StandardFpp(shape.size - 1000, 7, 1'000'000'000), 0.01);
}

TEST(StandardSizingTest, NoOtherShapeIsSmaller) {
  for (const double fpp : {0.9, 0.3, 0.1, 0.05, 0.01, 0.003, 0.001, 1e-4, 1e-6}) {
    for (const uint64_t keys : {100ull, 1000ull, 12'345ull, 10'000'000ull}) {
      const Shape shape = StandardShapeFor(keys, fpp).value();
      EXPECT_LE(StandardFpp(shape.size, shape.probes, keys), fpp * (1 + 1e-9));
      if (shape.size == kMinStandardBits) continue;
      for (uint32_t probes = 1; probes <= kMaxProbes; ++probes) {
        EXPECT_GT(StandardFpp(shape.size - 1, probes, keys), fpp * (1 - 1e-6))
            << keys << " keys at " << fpp << " with " << probes << " probes";
      }
    }
  }
}

TEST(StandardSizingTest, SmallFiltersHaveTheLeastSizeAndFewProbes) {
  EXPECT_EQ(StandardShapeFor(1, 0.01).value(), (Shape{kMinStandardBits, 1}));
  EXPECT_EQ(StandardShapeFor(10, 0.01).value(), (Shape{kMinStandardBits, 2}));
}

TEST(StandardSizingTest, OverfillingRaisesTheRateAsPublished) {
  const auto overfilled = [](double times) {
    return StandardFpp(9'585'000, 7, static_cast<uint64_t>(times * kMany));
  };
  EXPECT_NEAR(overfilled(1), 0.010, 0.0002);
  EXPECT_NEAR(overfilled(1.5), 0.058, 0.001);
  EXPECT_NEAR(overfilled(2), 0.158, 0.001);
  EXPECT_NEAR(overfilled(3), 0.436, 0.001);
}

// Filters of the classic size would miss their target: by 9 % with 20 keys at 10^-6, and by 1.9 %
// with 40 keys at 0.001.
TEST(StandardSizingTest, FewKeysMeetLowTargets) {
  for (const double fpp : {0.001, 1e-6, 1e-8}) {
    for (const uint32_t keys : {10u, 20u, 40u, 100u}) {
      const Shape shape = StandardShapeFor(keys, fpp).value();
      const auto bits = static_cast<uint32_t>(shape.size);
      EXPECT_LE(ExactFpp(bits, shape.probes, keys)[keys], fpp * (1 + 1e-9))
          << keys << " at " << fpp;
      if (shape.size == kMinStandardBits) continue;
      EXPECT_GT(ExactFpp(bits - 1, shape.probes, keys)[keys], fpp) << keys << " at " << fpp;
    }
  }
  const Shape forty = StandardShapeFor(40, 0.001).value();
  EXPECT_GT(forty.size, kMinStandardBits);
  EXPECT_NEAR(StandardFpp(576, 20, 20) / 1e-6, 1.095, 0.001);  // the classic formula's size
}

// Known-bad baselines of other programs.  The formulas here must differ from those.
TEST(StandardSizingTest, IsNotTheFormulaOfOneHashUsedForAllProbes) {
  const Shape shape = StandardShapeFor(kMany, 0.01).value();
  const double keys_per_bit = static_cast<double>(kMany) / static_cast<double>(shape.size);
  EXPECT_NEAR(1 - std::exp(-keys_per_bit), 0.0991, 0.0002);  // what such a filter would deliver
  EXPECT_NEAR(StandardFpp(shape.size, shape.probes, kMany), 0.01, 1e-6);
}

TEST(StandardSizingTest, RatesAtTheEdges) {
  EXPECT_EQ(StandardFpp(0, 7, 10), 1);
  EXPECT_EQ(StandardFpp(100, 7, 0), 0);
  EXPECT_EQ(StandardFpp(1, 7, 1), 1);
  EXPECT_EQ(StandardFpp(100, 1, 1), 0.01);
  EXPECT_NEAR(StandardFpp(1000, 3, 1'000'000'000'000), 1, 1e-12);
}

std::vector<double> ExactLineFpp(uint32_t probes, uint32_t most_keys) {
  return ExactFpp(kLineBits, probes, most_keys);
}

TEST(StandardSizingTest, ClassicRatesAreLowByTheStatedShare) {
  struct Case {
    uint32_t bits;
    uint32_t probes;
  };
  for (const Case& c : {Case{512, 7}, Case{512, 10}, Case{1000, 7}, Case{1500, 10}}) {
    // Planned keys: half of the bits are ones.
    const auto keys = static_cast<uint32_t>(c.bits * std::log(2.0) / c.probes);
    const double exact = ExactFpp(c.bits, c.probes, keys)[keys];
    EXPECT_NEAR(StandardFpp(c.bits, c.probes, keys) / exact, 1, 1e-9);
    const double low_by = exact / ClassicFpp(c.bits, c.probes, keys) - 1;
    EXPECT_NEAR(low_by / (0.31 * c.probes * (c.probes - 1) / (2.0 * c.bits)), 1, 0.05)
        << c.bits << " bits, " << c.probes << " probes";
    EXPECT_LT(low_by, c.bits >= 1500 ? 0.01 : 0.03);
  }
}

// The binomial mix over them, by logarithms of factorials.
double ExactBlockedFpp(uint64_t lines, uint32_t probes, uint64_t keys) {
  const double n = static_cast<double>(keys);
  const double p = 1.0 / static_cast<double>(lines);
  const auto loads = static_cast<uint32_t>(std::min(n, n * p + 12 * std::sqrt(n * p) + 40));
  const std::vector<double> fpp = ExactLineFpp(probes, loads);
  double sum = 0;
  for (uint32_t i = 0; i <= loads; ++i) {
    const double log_weight = std::lgamma(n + 1) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1) +
                              i * std::log(p) + (n - i) * std::log1p(-p);
    sum += std::exp(log_weight) * fpp[i];
  }
  return sum;
}

TEST(BlockedSizingTest, RatesAgreeWithTheExactOccupancy) {
  struct Case {
    double bits_per_key;
    uint32_t probes;
    uint64_t keys;
    double tolerance;
  };
  for (const Case& c :
       {Case{5, 3, 100'000, 1e-5}, Case{10, 6, 100'000, 5e-5}, Case{16, 9, 100'000, 1e-4},
        Case{24, 12, 100'000, 3e-4}, Case{10, 6, 300, 5e-5}, Case{10, 7, 103, 5e-4},
        Case{6, 4, 171, 5e-4}, Case{64, 6, 1000, 5e-4}, Case{40, 20, 20'000, 1e-3}}) {
    const auto lines =
        static_cast<uint64_t>(c.bits_per_key * static_cast<double>(c.keys) / kLineBits);
    ASSERT_GE(lines, 2u);
    const double exact = ExactBlockedFpp(lines, c.probes, c.keys);
    EXPECT_NEAR(BlockedFpp(lines, c.probes, c.keys) / exact, 1, c.tolerance)
        << lines << " lines, " << c.probes << " probes, " << c.keys << " keys";
  }
}

TEST(BlockedSizingTest, OneLineHoldsAllKeys) {
  const std::vector<double> exact = ExactLineFpp(5, 60);
  for (const uint32_t keys : {1u, 5u, 50u, 60u}) {
    EXPECT_NEAR(BlockedFpp(1, 5, keys) / exact[keys], 1, 0.01) << keys;
  }
}

TEST(BlockedSizingTest, RatesAgreeWithMeasurementsOfOtherFiltersOfThisShape) {
  // RocksDB's and Boost's 512-bit filters, as published.
  const auto rate = [](uint64_t bits_per_key, uint32_t probes) {
    return BlockedFpp(bits_per_key * kMany / kLineBits, probes, kMany);
  };
  EXPECT_NEAR(rate(10, 6) / 0.00957, 1, 0.015);
  EXPECT_NEAR(rate(12, 7) / 0.00414, 1, 0.015);
  EXPECT_NEAR(rate(16, 9) / 0.000848, 1, 0.015);
}

TEST(BlockedSizingTest, TextbookSizeWouldMissTheTarget) {
  // The classic formula gives a blocked filter too few bits, so blocked filters have their own
  // formula.
  const auto times_target = [](double fpp) {
    const Shape classic = StandardShapeFor(kMany, fpp).value();
    return BlockedFpp(classic.size / kLineBits, classic.probes, kMany) / fpp;
  };
  EXPECT_NEAR(times_target(0.01), 1.17, 0.005);
  EXPECT_NEAR(times_target(0.001), 1.64, 0.005);
  const Shape blocked = BlockedShapeFor(kMany, 0.001).value();
  EXPECT_NEAR(BitsPerKey(static_cast<double>(blocked.size) * kLineBits, kMany), 15.55, 0.05);
  EXPECT_EQ(blocked.probes, 9u);
}

TEST(BlockedSizingTest, SizesComparedWithStandard) {
  const auto times_standard = [](double fpp) {
    return static_cast<double>(BlockedShapeFor(kMany, fpp).value().size) * kLineBits /
           static_cast<double>(StandardShapeFor(kMany, fpp).value().size);
  };
  EXPECT_NEAR(times_standard(0.1), 1.006, 0.0005);
  EXPECT_NEAR(times_standard(0.01), 1.034, 0.0005);
  EXPECT_NEAR(times_standard(0.001), 1.081, 0.0005);
  EXPECT_NEAR(times_standard(1e-6), 1.35, 0.005);
}

TEST(BlockedSizingTest, OverfillingRaisesTheRate) {
  const Shape shape = BlockedShapeFor(kMany, 0.01).value();
  EXPECT_NEAR(BlockedFpp(shape.size, shape.probes, 2 * kMany), 0.123, 0.001);
  EXPECT_NEAR(BlockedFpp(shape.size, shape.probes, 3 * kMany), 0.346, 0.001);
}

TEST(BlockedSizingTest, NoOtherShapeIsSmaller) {
  for (const double fpp : {0.9, 0.3, 0.1, 0.01, 0.001, 1e-5}) {
    for (const uint64_t keys : {1ull, 5ull, 50ull, 77ull, 1000ull, 5000ull, 100'000ull}) {
      const Shape shape = BlockedShapeFor(keys, fpp).value();
      EXPECT_LE(BlockedFpp(shape.size, shape.probes, keys), fpp) << keys << " keys at " << fpp;
      if (shape.size == 1) continue;
      // Sizes are found to one in 10^5.
      const uint64_t smaller = shape.size - 1 - shape.size / 50'000;
      for (uint32_t probes = 1; probes <= kMaxProbes; ++probes) {
        EXPECT_GT(BlockedFpp(smaller, probes, keys), fpp)
            << keys << " keys at " << fpp << " with " << probes << " probes";
      }
    }
  }
}

TEST(BlockedSizingTest, SizesBeyondTwoToThe32BitsAreExact) {
  const Shape small = BlockedShapeFor(10'000'000, 0.01).value();
  const Shape large = BlockedShapeFor(10'000'000'000, 0.01).value();
  EXPECT_EQ(large.probes, small.probes);
  EXPECT_NEAR(static_cast<double>(large.size) / static_cast<double>(small.size), 1000, 0.1);
  EXPECT_GT(large.size * kLineBits, uint64_t{1} << 36);
}

TEST(BlockedSizingTest, RatesAtTheEdges) {
  EXPECT_EQ(BlockedFpp(0, 6, 10), 1);
  EXPECT_EQ(BlockedFpp(10, 6, 0), 0);
  EXPECT_EQ(BlockedFpp(10, 6, 1'000'000'000'000), 1);
  EXPECT_NEAR(BlockedFpp(1'000'000'000, 6, 1), 0, 1e-12);
  EXPECT_NEAR(BlockedFpp(10, 6, 10'000), 1, 0.001);
}

template <class ShapeFor>
void ExpectBadRequestsAreNamed(const ShapeFor& shape_for) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(shape_for(0, 0.01), StatusIs(kInvalid, HasSubstr("key_count")));
  for (const double fpp :
       {0.0, 1.0, -0.1, 1.5, 1e-12, std::nan(""), std::nan("") * -1,
        std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min()}) {
    EXPECT_THAT(shape_for(1000, fpp), StatusIs(kInvalid, HasSubstr("target_fpp"))) << fpp;
  }
  EXPECT_THAT(shape_for(std::numeric_limits<uint64_t>::max(), 0.01),
              StatusIs(kInvalid, HasSubstr("18446744073709551615")));
  EXPECT_THAT(shape_for(uint64_t{1} << 54, 0.01), StatusIs(kInvalid, HasSubstr("2^56")));
}

TEST(SizingTest, BadRequestsAreNamedErrors) {
  ExpectBadRequestsAreNamed(&StandardShapeFor);
  ExpectBadRequestsAreNamed(&BlockedShapeFor);
}

TEST(SizingTest, TheWholeLegalRangeOfTargetsWorks) {
  for (double fpp = 0.999999; fpp >= bloom::kMinTargetFpp; fpp /= 1.7) {
    for (const uint64_t keys : {1ull, 10ull, 100'000ull}) {
      const Shape standard = StandardShapeFor(keys, fpp).value();
      EXPECT_LE(StandardFpp(standard.size, standard.probes, keys), fpp * (1 + 1e-9));
      const Shape blocked = BlockedShapeFor(keys, fpp).value();
      EXPECT_LE(BlockedFpp(blocked.size, blocked.probes, keys), fpp);
    }
  }
  EXPECT_THAT(StandardShapeFor(1000, bloom::kMinTargetFpp), testing_support::IsOk());
  EXPECT_THAT(BlockedShapeFor(1000, bloom::kMinTargetFpp), testing_support::IsOk());
}

TEST(SizingTest, KeyCountsComeBackFromTheExpectedFill) {
  // 1000 keys of 7 throws each: expected share of ones in 10,000 bits, and in 20 lines of 512.
  const double standard_fill = 1 - std::pow(1 - 1e-4, 7000);
  EXPECT_NEAR(bloom::StandardKeyCountFromFill(10'000, 7, standard_fill), 1000, 1e-6);
  const double set_by_key = 1 - std::pow(511.0 / 512, 7);
  const double blocked_fill = 1 - std::pow(1 - set_by_key / 20, 1000);
  EXPECT_NEAR(bloom::BlockedKeyCountFromFill(20, 7, blocked_fill), 1000, 1e-6);
  EXPECT_EQ(bloom::StandardKeyCountFromFill(10'000, 7, 0), 0);
  for (const uint64_t size : {1, 10'000}) {
    EXPECT_TRUE(std::isinf(bloom::StandardKeyCountFromFill(size, 7, 1))) << size;
    EXPECT_TRUE(std::isinf(bloom::BlockedKeyCountFromFill(size, 7, 1))) << size;
  }
}

}  // namespace
