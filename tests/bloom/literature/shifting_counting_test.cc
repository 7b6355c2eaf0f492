#include "bloom/literature/shifting_counting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/variants/shifted_bits.h"
#include "tests/bloom/counters.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::ShiftingCountingFilter;
using bloom::ShiftingFpp;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::StatusIs;

ShiftingCountingFilter MakeShifting(uint64_t keys, double fpp = 0.01, uint32_t bits = 4,
                                    uint64_t seed = 1) {
  return ShiftingCountingFilter::MakeWithCounters(keys, fpp, bits, seed).value();
}

TEST(ShiftingCountingTest, ForgetsRemovedKeys) {
  ShiftingCountingFilter filter = MakeShifting(10'000);
  for (uint64_t i = 0; i < 10'000; ++i) filter.AddDigest(DigestOfKey(i));
  for (uint64_t i = 0; i < 5000; ++i) EXPECT_TRUE(filter.RemoveDigest(DigestOfKey(i)));
  for (uint64_t i = 5000; i < 10'000; ++i) ASSERT_TRUE(filter.MayContainDigest(DigestOfKey(i)));
  int passing = 0;
  for (uint64_t i = 0; i < 5000; ++i) passing += filter.MayContainDigest(DigestOfKey(i));
  EXPECT_LT(passing, 25);  // as with half of the planned keys
  EXPECT_EQ(filter.added_count(), 5000u);
  EXPECT_EQ(filter.CountSaturated(), 0u);
}

TEST(ShiftingCountingTest, EveryWidthAddsAndRemovesKeys) {
  for (uint32_t bits = 1; bits <= 28; ++bits) {
    ShiftingCountingFilter filter = MakeShifting(300, 0.01, bits);
    const std::string empty = filter.Serialize();
    EXPECT_EQ(filter.size_bits(), (filter.shape().size + 57 / bits - 1) * bits);
    for (uint64_t i = 0; i < 300; ++i) filter.AddDigest(DigestOfKey(i));
    for (uint64_t i = 0; i < 300; ++i) ASSERT_TRUE(filter.MayContainDigest(DigestOfKey(i))) << bits;
    if (bits < 4) continue;
    ASSERT_EQ(filter.CountSaturated(), 0u) << bits;
    for (uint64_t i = 300; i-- > 0;) ASSERT_TRUE(filter.RemoveDigest(DigestOfKey(i)));
    EXPECT_EQ(filter.Serialize(), empty) << bits;
  }
}

TEST(ShiftingCountingTest, RefusesToRemoveAbsentKeys) {
  testing_support::ExpectRefusesToRemoveAbsentKeys(MakeShifting(1000, 1e-6));
}

// In such a small filter keys share cells, use a cell twice, and saturate counters.
TEST(ShiftingCountingTest, CountersMatchTheOracle) {
  Dice dice(11);
  for (const uint32_t bits : {1, 2, 4, 7}) {
    const uint64_t bases = 150;
    const uint32_t offsets = 57 / bits - 1;
    const auto pairs_of = [&](uint64_t key) {
      const uint64_t hash = bloom::Remix(DigestOfKey(key), 9);
      const uint64_t mixed = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ULL;
      bloom::Probes probes(hash, bases);
      std::vector<uint64_t> all;
      for (uint32_t i = 0; i < 6; ++i) {
        all.push_back(probes.Next());
        all.push_back(all.back() + 1 + bloom::ReduceRange(mixed, offsets));
      }
      return all;
    };
    ASSERT_NO_FATAL_FAILURE(testing_support::ExpectCountersMatchTheOracle(
        ShiftingCountingFilter::MakeOfShape({bases, 12, bits}, 0.01, 9).value(), bases + offsets,
        bits, 40, pairs_of, dice));
  }
}

TEST(ShiftingCountingTest, FullCountersStayFull) {
  testing_support::ExpectFullCountersStayFull(MakeShifting(100, 0.01, 4),
                                              MakeShifting(100, 0.01, 8));
}

TEST(ShiftingCountingTest, CountersOfFourBitsDoNotOverflowByChance) {
  ShiftingCountingFilter filter = MakeShifting(200'000);
  for (uint64_t i = 0; i < 200'000; ++i) filter.AddDigest(DigestOfKey(i));
  EXPECT_EQ(filter.CountSaturated(), 0u);
}

TEST(ShiftingCountingTest, AUnionAddsAndStopsAtTheMaximum) {
  ShiftingCountingFilter left = MakeShifting(100), right = MakeShifting(100);
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

TEST(ShiftingCountingTest, IntersectionHoldsSharedKeys) {
  ShiftingCountingFilter left = MakeShifting(1000), right = MakeShifting(1000);
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
  EXPECT_EQ(left.added_count(), 600u);
  ASSERT_THAT(right.Intersect(left), IsOk());
  EXPECT_EQ(right.added_count(), 600u);
  const std::string before = left.Serialize();
  EXPECT_THAT(left.Intersect(MakeShifting(1000, 0.01, 4, 2)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("seeds")));
  const bloom::Shape narrow{left.shape().size, left.shape().probes, 8};
  EXPECT_THAT(left.Intersect(ShiftingCountingFilter::MakeOfShape(narrow, 0.01, 1).value()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("counter_bits 4 and 8")));
  EXPECT_EQ(left.Serialize(), before);
}

// Counters of six bits leave eight offsets, the paper's w = 9: here its formula is 16 % too high.
TEST(ShiftingCountingTest, FewOffsetsCostThePredictedRate) {
  constexpr uint64_t kKeys = 1400, kBases = 22'008, kQueries = 1'000'000;
  double passed = 0, asked = 0, current = 0;
  for (uint64_t seed = 1; passed < 12'000; ++seed) {
    ShiftingCountingFilter filter =
        ShiftingCountingFilter::MakeOfShape({kBases, 8, 6}, 0.01, seed).value();
    for (uint64_t i = 0; i < kKeys; ++i) filter.AddDigest(DigestOfKey(i, seed));
    for (uint64_t i = kKeys; i < kKeys + kQueries; ++i)
      passed += filter.MayContainDigest(DigestOfKey(i, seed));
    asked += kQueries;
    current += filter.CurrentFpp() * kQueries;
  }
  const double measured = passed / asked;
  const double predicted = ShiftingFpp(kBases, 8, kKeys, 8);
  EXPECT_NEAR(predicted, 8.50e-4, 0.01e-4);
  EXPECT_NEAR(measured / predicted, 1, 0.03);
  EXPECT_NEAR(passed / current, 1, 0.03);
  const double p = std::exp(-8.0 * kKeys / kBases);
  const double papers = std::pow(1 - p, 4) * std::pow(1 - p + p * p / 8, 4);
  EXPECT_NEAR(papers, 9.84e-4, 0.01e-4);
  EXPECT_GT(papers / measured, 1.12);
}

TEST(ShiftingCountingTest, LargerThanCountingByTheStatedShare) {
  const auto larger_by = [](double fpp) {
    return static_cast<double>(bloom::ShiftingShapeFor(1'000'000, fpp, 13)->size) /
               static_cast<double>(bloom::StandardShapeFor(1'000'000, fpp)->size) -
           1;
  };
  EXPECT_NEAR(larger_by(0.001), 0.0195, 0.001);
  EXPECT_NEAR(larger_by(1e-6), 0.0195, 0.001);
  EXPECT_NEAR(larger_by(0.01), 0.0249, 0.001);
  EXPECT_NEAR(larger_by(0.1), 0.0224, 0.001);
  EXPECT_NEAR(larger_by(0.5), 0.138, 0.001);
  for (double fpp = 0.2; fpp > 1e-7; fpp *= 0.95) {
    EXPECT_GT(larger_by(fpp), 0.015) << fpp;
    EXPECT_LT(larger_by(fpp), 0.055) << fpp;
  }
}

TEST(ShiftingCountingTest, RefusesImpossibleShapes) {
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  for (const uint32_t bits : {0, 29, 64, 1000})
    EXPECT_THAT(ShiftingCountingFilter::MakeWithCounters(10, 0.01, bits), refused("counter_bits"));
  const auto of_shape = [](const bloom::Shape& shape, double fpp = 0.01) {
    return ShiftingCountingFilter::MakeOfShape(shape, fpp);
  };
  EXPECT_THAT(of_shape({100, 4, 0}), refused("counters of 0 bits"));
  EXPECT_THAT(of_shape({100, 4, 29}), refused("counters of 29 bits"));
  EXPECT_THAT(of_shape({100, 4, UINT64_MAX}), refused("counters of"));
  EXPECT_THAT(of_shape({100, 5, 4}), refused("do not make pairs"));
  EXPECT_THAT(of_shape({100, 34, 4}), refused("34 probes"));
  EXPECT_THAT(of_shape({0, 4, 4}), refused("no bases"));
  EXPECT_THAT(of_shape({100, 4, 4}, 1), refused("target_fpp"));
  EXPECT_THAT(of_shape({UINT64_MAX, 4, 4}), refused("2^56 bits"));
  EXPECT_THAT(of_shape({uint64_t{1} << 62, 4, 4}), refused("2^56 bits"));
  EXPECT_THAT(of_shape({uint64_t{1} << 54, 4, 4}), refused("2^56 bits"));  // by its last offsets
  EXPECT_THAT(ShiftingCountingFilter::Make(uint64_t{1} << 51, 0.01), refused("key_count"));
}

}  // namespace
