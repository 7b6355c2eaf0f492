// Filters of 1 to 100 keys keep their targets down to 10^-8, and have the rate that they predict.
//
// Counting lookups cannot measure a rate of 10^-8.  But CurrentFpp computes the rate of a filter
// from its bits, and the mean over many sets of keys is the true rate of such filters.  At higher
// rates, counted lookups confirm CurrentFpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/sizing.h"
#include "bloom/family.h"
#include "bloom/literature/shifting_association.h"
#include "bloom/literature/shifting_multiplicity.h"
#include "bloom/literature/spatial.h"
#include "bloom/variants/shifted_bits.h"
#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::Digest;
using testing_support::DigestsOfKeys;
using testing_support::IsOk;

constexpr uint64_t kFew[] = {1, 2, 3, 5, 10, 20, 40, 100};
// Filters of pairs only: at 10^-8 they exceed their minimum size.
constexpr uint64_t kLeavingLeastSize[] = {27, 30};
constexpr double kTargets[] = {0.1, 0.01, 1e-3, 1e-5, 1e-8};

// A mean and its standard error.
class Mean {
 public:
  void Add(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
  }
  double value() const { return sum_ / count_; }
  // The standard error divided by the mean.
  double standard_error() const {
    const double variance = squares_ / count_ - value() * value();
    return std::sqrt(std::max(variance, 0.0) / count_) / value();
  }
  double count() const { return count_; }

 private:
  double count_ = 0, sum_ = 0, squares_ = 0;
};

// Gives each filter different keys.
template <class F>
void Refill(F& filter, uint64_t keys, uint64_t space) {
  filter.Clear();
  for (const Digest digest : DigestsOfKeys(0, keys, space)) filter.AddDigest(digest);
}

// The part of PredictedFpp for `keys` keys that does not follow from the bits.
template <class F>
struct BesideTheBits {
  static double Rate(const F&, uint64_t) { return 0; }
};
// Two keys of one line with the same 32 bits (SplitBlockFpp).
template <>
struct BesideTheBits<bloom::Filter<bloom::SplitBlock>> {
  static double Rate(const bloom::Filter<bloom::SplitBlock>& filter, uint64_t keys) {
    return static_cast<double>(keys) / static_cast<double>(filter.shape().size) * 0x1p-32;
  }
};

template <class F>
constexpr bool kHasPairs = false;
template <>
constexpr bool kHasPairs<bloom::Filter<bloom::Shifting>> = true;
template <>
constexpr bool kHasPairs<bloom::ShiftingDoubleFilter> = true;
template <>
constexpr bool kHasPairs<bloom::ShiftingCountingFilter> = true;

// The maximum error of a prediction, as stated in the headers.
template <class F>
double MarginOf([[maybe_unused]] const F& filter) {
  if constexpr (kHasPairs<F>) return filter.shape().size == bloom::kMinShiftingBases ? 0.05 : 0.01;
  return 0.01;
}

template <class F>
class FewKeysTest : public testing::Test {};
template <class List>
struct FewKeysTypesOf;
template <class... Filters>
struct FewKeysTypesOf<bloom::FilterList<Filters...>> {
  using type = testing::Types<Filters...>;
};
TYPED_TEST_SUITE(FewKeysTest, FewKeysTypesOf<bloom::Family>::type, testing_support::KindNames);

// The rate of filters of this shape with this many keys.
template <class F>
Mean RateOf(F& filter, uint64_t keys) {
  Mean mean;
  // The other kinds have no mean to approximate.
  const double precise = kHasPairs<F> ? 0.0025 : 0.007;
  for (uint64_t space = 1; space <= 20'000; ++space) {
    Refill(filter, keys, space);
    mean.Add(filter.CurrentFpp());
    // Needs more filters: with three probes, a key collides with itself in one filter in several
    // hundred.
    if (space >= 4000 && space % 100 == 0 && mean.standard_error() < precise) break;
  }
  return mean;
}

TYPED_TEST(FewKeysTest, MeetTheirTargetAndTheirPrediction) {
  std::vector<uint64_t> few(std::begin(kFew), std::end(kFew));
  if (kHasPairs<TypeParam>)
    few.insert(few.end(), std::begin(kLeavingLeastSize), std::end(kLeavingLeastSize));
  for (const double fpp : kTargets) {
    for (const uint64_t keys : few) {
      TypeParam filter = TypeParam::Make(keys, fpp, 3).value();
      const double predicted = filter.PredictedFpp(keys);
      const Mean mean = RateOf(filter, keys);
      const double rate = mean.value() + BesideTheBits<TypeParam>::Rate(filter, keys);
      const double error = 3 * mean.standard_error();
      EXPECT_NEAR(rate / predicted, 1, MarginOf(filter) + error)
          << keys << " keys at " << fpp << ", of " << mean.count() << " filters";
      EXPECT_LE(predicted, fpp * (1 + 1e-9)) << keys << " keys";
      EXPECT_LE(rate, fpp * (1 + 0.01 + error)) << keys << " keys";
    }
  }
}

// The wider the counters, the fewer the offsets: 6, 3, 2 and 1.  With fewer offsets, more queries
// share the offset of a stored key.
TEST(FewKeysOfWideCountersTest, MeetTheirTargetAndTheirPrediction) {
  for (const uint32_t counter_bits : {8u, 12u, 16u, 28u}) {
    for (const double fpp : {1e-5, 1e-8}) {
      for (const uint64_t keys : {1, 5, 20, 27, 30, 40, 100}) {
        auto filter =
            bloom::ShiftingCountingFilter::MakeWithCounters(keys, fpp, counter_bits, 3).value();
        const double predicted = filter.PredictedFpp(keys);
        const Mean mean = RateOf(filter, keys);
        const double error = 3 * mean.standard_error();
        EXPECT_NEAR(mean.value() / predicted, 1, MarginOf(filter) + error)
            << keys << " keys at " << fpp << ", counters of " << counter_bits << " bits";
        EXPECT_LE(mean.value(), fpp * (1 + 0.01 + error)) << keys << " keys at " << fpp;
      }
    }
  }
}

TEST(FewKeysInAreasTest, MeetTheirTargetAndTheirPrediction) {
  for (const double fpp : kTargets) {
    for (const uint64_t keys : {1, 5, 20, 100}) {
      auto filter = bloom::SpatialFilter::Make(keys, fpp, {.areas = 3, .seed = 3}).value();
      Mean mean;
      for (uint64_t space = 1; space <= 10'000; ++space) {
        filter.Clear();
        for (const Digest digest : DigestsOfKeys(0, keys, space))
          ASSERT_THAT(filter.AddDigest(digest, 1 + digest % 3), IsOk());
        mean.Add(filter.CurrentFpp());
      }
      const double error = 3 * mean.standard_error();
      EXPECT_NEAR(mean.value() / filter.PredictedFpp(keys), 1, 0.01 + error)
          << keys << " keys at " << fpp;
      EXPECT_LE(mean.value(), fpp * (1 + 0.01 + error)) << keys << " keys at " << fpp;
    }
  }
}

// The predictions of the two kinds below are bounds, whatever region or count the keys have.

// Checks the bound for any position of the keys.  `reach` is the largest distance from a base at
// which a key and a query may differ, as a mean over the queries.
void ExpectBound(const Mean& mean, double predicted, double reach, const bloom::Shape& shape) {
  const double error = 3 * mean.standard_error();
  const double excess = reach * shape.probes / static_cast<double>(shape.size);
  EXPECT_LE(mean.value() / predicted, 1.01 + error);
  EXPECT_GE(mean.value() / predicted, 0.99 - excess - error);
}

using Association = bloom::ShiftingAssociationFilter;

// Keys take the three regions in turn, or all are in the first set, in both, or in the second.
void FillRegions(Association& filter, uint64_t keys, uint64_t space, uint64_t spread) {
  filter.Clear();
  for (uint64_t i = 0; i < keys; ++i) {
    const uint64_t region = spread == 0 ? (i + space) % 3 : spread - 1;
    filter.AddDigest(testing_support::DigestOfKey(i, space), region<2, region> 0);
  }
}

TEST(FewKeysInTwoSetsTest, PassAtMostThePredictedRate) {
  for (const double rate : {0.1, 0.01, 1e-3, 1e-5}) {
    for (const uint64_t keys : {1, 5, 20, 100, 2000}) {
      auto filter = Association::Make(keys, rate, 3).value();
      const Association::Rates predicted = filter.PredictedRates(keys);
      EXPECT_LE(1 - predicted.clear, rate * (1 + 1e-9));
      for (uint64_t spread = 0; spread < 4; ++spread) {
        SCOPED_TRACE(testing::Message() << keys << " keys at " << rate << ", spread " << spread);
        Mean foreign, unclear;
        for (uint64_t space = 1; space <= (keys < 200 ? 4000 : 100); ++space) {
          FillRegions(filter, keys, space, spread);
          const Association::Rates rates = filter.CurrentRates();
          foreign.Add(rates.foreign);
          unclear.Add(1 - rates.clear);
        }
        ExpectBound(foreign, predicted.foreign, 20, filter.shape());
        ExpectBound(unclear, 1 - predicted.clear, 20, filter.shape());
      }
    }
  }
}

// None of a key's own bits is at the position where the same probe checks another region.
TEST(FewKeysInTwoSetsTest, AreClearerThanTheBitsPredict) {
  for (const uint64_t keys : {2, 20}) {
    auto filter = Association::Make(keys, 0.1, 3).value();
    ASSERT_EQ(filter.shape().probes, 1u);
    double unclear = 0, by_bits = 0;
    for (uint64_t space = 1; space <= 300'000 / keys; ++space) {
      FillRegions(filter, keys, space, 0);
      by_bits += (1 - filter.CurrentRates().clear) * static_cast<double>(keys);
      for (uint64_t i = 0; i < keys; ++i) {
        const uint32_t answer = filter.QueryDigest(testing_support::DigestOfKey(i, space));
        unclear += (answer & (answer - 1)) != 0;
      }
    }
    EXPECT_NEAR(unclear / by_bits, 1 - 1.0 / static_cast<double>(keys), 4 / std::sqrt(by_bits));
  }
}

TEST(FewKeysWithCountsTest, PassAtMostThePredictedRate) {
  for (const uint32_t most : {1u, 20u, 57u}) {
    for (const double rate : {0.1, 0.01, 1e-3, 1e-5}) {
      for (const uint64_t keys : {1, 5, 20, 100, 2000}) {
        auto filter = bloom::ShiftingMultiplicityFilter::Make(keys, most, rate, 3).value();
        const double predicted = 1 - filter.PredictedCorrectRate(0, keys);
        EXPECT_LE(predicted, rate * (1 + 1e-9));
        for (const uint32_t count : {0u, 1u, (most + 1) / 2, most}) {  // 0: by turns
          SCOPED_TRACE(testing::Message()
                       << keys << " keys at " << rate << ", counts " << count << " of " << most);
          Mean wrong;
          for (uint64_t space = 1; space <= (keys < 200 ? 4000 : 100); ++space) {
            filter.Clear();
            for (uint64_t i = 0; i < keys; ++i) {
              const auto by_turns = static_cast<uint32_t>(1 + (i * 7 + space) % most);
              ASSERT_THAT(filter.AddDigest(testing_support::DigestOfKey(i, space),
                                           count == 0 ? by_turns : count),
                          IsOk());
            }
            wrong.Add(1 - filter.CurrentCorrectRate(0));
          }
          ExpectBound(wrong, predicted, (most - 1) / 2.0, filter.shape());
        }
      }
    }
  }
}

// The rate that follows from a filter's bits equals that of real queries.
TYPED_TEST(FewKeysTest, MeasuredRatesMatchTheBits) {
  for (const double fpp : {0.1, 0.01, 1e-3}) {
    for (const uint64_t keys : {1, 3, 10, 40, 100}) {
      TypeParam filter = TypeParam::Make(keys, fpp, 3).value();
      const double predicted = filter.PredictedFpp(keys);
      if (predicted < 2e-4) continue;
      constexpr double kPassing = 3000;  // a standard error of 2 %
      constexpr uint64_t kFilters = 100;
      const auto queries = static_cast<uint64_t>(kPassing / predicted / kFilters) + 1;
      double current = 0, passing = 0;
      for (uint64_t space = 1; space <= kFilters; ++space) {
        Refill(filter, keys, space);
        current += filter.CurrentFpp() * static_cast<double>(queries);
        for (const Digest digest : DigestsOfKeys(keys, keys + queries, space))
          passing += filter.MayContainDigest(digest);
      }
      EXPECT_NEAR(passing / current, 1, 0.08) << keys << " keys at " << fpp;
    }
  }
}

template <class K>
class FewKeysSolvedTest : public testing::Test {};
TYPED_TEST_SUITE(FewKeysSolvedTest, testing_support::SolvedKindTypes, testing_support::KindNames);

// For so few keys a policy makes a standard filter.  A filter that the kind itself makes has a rate
// of 2^-r too, however few slots a key touches.  (A rate of 10^-8 cannot be measured here.  It is
// the probability that r random bits agree, and higher rates test the same bits.)
TYPED_TEST(FewKeysSolvedTest, MeetTheirTargetAndTheirPrediction) {
  for (const double fpp : {0.1, 0.01, 1e-3, 1e-5}) {
    for (const uint64_t keys : kFew) {
      if (fpp < 1e-3 && keys != 3 && keys != 40) continue;
      constexpr uint64_t kFilters = 100;
      const double passing_enough = fpp < 1e-3 ? 400 : 3000;
      const double predicted =
          TypeParam::PredictedFpp(TypeParam::ShapeFor(keys, fpp).value(), keys);
      EXPECT_LE(predicted, fpp);
      const auto queries = static_cast<uint64_t>(passing_enough / predicted / kFilters) + 1;
      double passing = 0;
      const std::unique_ptr<bool[]> answers(new bool[queries]);
      for (uint64_t seed = 1; seed <= kFilters; ++seed) {
        bloom::Shape shape = TypeParam::ShapeFor(keys, fpp).value();
        bloom::AlignedBytes payload = bloom::AlignedBytes::Zeros(TypeParam::PayloadBytes(shape));
        ASSERT_THAT(TypeParam::Solve(payload.data(), shape, seed, DigestsOfKeys(0, keys, seed)),
                    testing_support::IsOk());
        const bloom::FilterView view{payload.data(), shape, seed};
        const auto absent = DigestsOfKeys(keys, keys + queries, seed);
        TypeParam::Functions(view).may_contain_batch(view, absent.data(), queries, answers.get());
        passing += static_cast<double>(std::count(answers.get(), answers.get() + queries, true));
      }
      const double expected = predicted * static_cast<double>(queries * kFilters);
      EXPECT_NEAR(passing / expected, 1, 4 / std::sqrt(expected)) << keys << " keys at " << fpp;
    }
  }
}

}  // namespace
