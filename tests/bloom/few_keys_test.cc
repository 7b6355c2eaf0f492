// Filters of 1 to 100 keys keep their targets down to 10^-8, and pass what they predict.
//
// Counting questions cannot measure a rate of 10^-8.  But the bits of a filter tell its rate
// (CurrentFpp), and the mean over many sets of keys is the true rate of such filters.  At higher
// rates, counted questions confirm CurrentFpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/sizing.h"
#include "bloom/family.h"
#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::Digest;
using testing_support::DigestsOfKeys;

constexpr uint64_t kFew[] = {1, 2, 3, 5, 10, 20, 40, 100};
constexpr double kTargets[] = {0.1, 0.01, 1e-3, 1e-5, 1e-8};

// A mean, and how far it may be from the true one.
class Mean {
 public:
  void Add(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
  }
  double value() const { return sum_ / count_; }
  // Relative.
  double standard_error() const {
    const double variance = squares_ / count_ - value() * value();
    return std::sqrt(std::max(variance, 0.0) / count_) / value();
  }
  double count() const { return count_; }

 private:
  double count_ = 0, sum_ = 0, squares_ = 0;
};

// Makes it a filter of other keys.
template <class F>
void Refill(F& filter, uint64_t keys, uint64_t space) {
  filter.Clear();
  for (const Digest digest : DigestsOfKeys(0, keys, space)) filter.AddDigest(digest);
}

// Of `keys` keys: what PredictedFpp counts on top of what the bits tell.
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

// How far a prediction may be from the true rate: what the headers say.
template <class F>
constexpr double kMargin = 0.01;
template <>
constexpr double kMargin<bloom::Filter<bloom::Shifting>> = 0.03;
template <>
constexpr double kMargin<bloom::ShiftingDoubleFilter> = 0.03;
template <>
constexpr double kMargin<bloom::ShiftingCountingFilter> = 0.035;

template <class F>
class FewKeysTest : public testing::Test {};
template <class List>
struct FewKeysTypesOf;
template <class... Filters>
struct FewKeysTypesOf<bloom::FilterList<Filters...>> {
  using type = testing::Types<Filters...>;
};
TYPED_TEST_SUITE(FewKeysTest, FewKeysTypesOf<bloom::Family>::type, testing_support::KindNames);

// The rate of filters of this shape and that many keys.
template <class F>
Mean RateOf(F& filter, uint64_t keys) {
  Mean mean;
  for (uint64_t space = 1; space <= 20'000; ++space) {
    Refill(filter, keys, space);
    mean.Add(filter.CurrentFpp());
    // Not sooner: a key of three probes meets itself in one filter of hundreds.
    if (space >= 4000 && space % 100 == 0 && mean.standard_error() < 0.007) break;
  }
  return mean;
}

TYPED_TEST(FewKeysTest, PassWhatTheyPredictAndNoMoreThanAskedFor) {
  for (const double fpp : kTargets) {
    for (const uint64_t keys : kFew) {
      TypeParam filter = TypeParam::Make(keys, fpp, 3).value();
      const double predicted = filter.PredictedFpp(keys);
      const Mean mean = RateOf(filter, keys);
      const double rate = mean.value() + BesideTheBits<TypeParam>::Rate(filter, keys);
      const double error = 3 * mean.standard_error();
      EXPECT_NEAR(rate / predicted, 1, kMargin<TypeParam> + error)
          << keys << " keys at " << fpp << ", of " << mean.count() << " filters";
      EXPECT_LE(predicted, fpp * (1 + 1e-9)) << keys << " keys";
      EXPECT_LE(rate, fpp * (1 + 0.01 + error)) << keys << " keys";
    }
  }
}

// Counters of 28 bits leave one offset, of 16 bits two: stored keys share that of most queries.
TEST(FewKeysOfWideCountersTest, PassWhatTheyPredictAndHardlyMoreThanAskedFor) {
  for (const uint32_t counter_bits : {16u, 28u}) {
    for (const double fpp : {1e-5, 1e-8}) {
      for (const uint64_t keys : {1, 5, 20, 40, 100}) {
        auto filter =
            bloom::ShiftingCountingFilter::MakeWithCounters(keys, fpp, counter_bits, 3).value();
        const double predicted = filter.PredictedFpp(keys);
        const Mean mean = RateOf(filter, keys);
        const double error = 2 * mean.standard_error();
        EXPECT_NEAR(mean.value() / predicted, 1, 0.025 + error)
            << keys << " keys at " << fpp << ", counters of " << counter_bits << " bits";
        EXPECT_LE(mean.value(), fpp * (1 + 0.025 + error)) << keys << " keys at " << fpp;
      }
    }
  }
}

// The bits of a filter tell the rate of real questions.
TYPED_TEST(FewKeysTest, QuestionsMeetTheBitsAsTheRateOfTheBitsSays) {
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

// A policy makes a standard filter of so few keys.  Made by the kind itself, they pass 2^-r too,
// however few slots a key touches.  (A rate of 10^-8 cannot be measured here.  It is the chance
// that r random bits agree, and higher rates test the same bits.)
TYPED_TEST(FewKeysSolvedTest, PassWhatTheyPredictAndNoMoreThanAskedFor) {
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
