#include "bloom/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bloom/core/occupancy.h"
#include "bloom/core/sizing.h"
#include "tests/bloom/exact_fpp.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::BestProbesFor;
using bloom::ChooseFromTable;
using bloom::ClassicFpp;
using bloom::KeyCapacityOf;
using bloom::kMaxProbes;
using bloom::kMaxSizeBits;
using bloom::OccupiedMoment;
using bloom::OverfilledFpp;
using bloom::RateAtRealProbes;
using bloom::RateInTable;
using bloom::RealProbesFor;
using bloom::StandardFpp;
using bloom::StandardRates;
using bloom::StandardRatesOf;
using bloom::TableChoice;
using testing::HasSubstr;
using testing_support::ExactFpp;
using testing_support::StatusIs;

auto Names(const char* argument) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(argument));
}

TEST(OccupancyTest, MomentsAgreeWithTheDistributionOfOccupiedCells) {
  for (const uint32_t cells : {1u, 2u, 7u, 64u, 512u, 1000u}) {
    for (const uint32_t probes : {1u, 2u, 7u, 13u, kMaxProbes}) {
      const uint32_t most = 3 * cells / probes + 2;
      const std::vector<double> exact = ExactFpp(cells, probes, most);
      for (const uint32_t keys : {0u, 1u, 2u, most / 2, most}) {
        const double moment = OccupiedMoment(cells, probes, probes * keys);
        EXPECT_NEAR(moment, exact[keys], 1e-9 * exact[keys])
            << cells << " cells, " << probes << " probes, " << keys << " keys";
      }
    }
  }
}

TEST(OccupancyTest, BothFormulasAgreeWhereTheyMeet) {
  constexpr uint64_t kBorder = uint64_t{1} << 20;
  for (const uint32_t probes : {1u, 7u, 20u, kMaxProbes}) {
    for (const double load : {1.1, 3.0}) {
      const double throws = std::floor(load * kBorder);
      const double chain = OccupiedMoment(kBorder, probes, throws);
      const double moments = OccupiedMoment(kBorder + 1, probes, throws);
      // One more cell lowers the rate itself by this share.
      const double one_cell = probes * load / std::expm1(load) / kBorder;
      EXPECT_NEAR(moments / chain, 1 - one_cell, 1e-7) << probes << " probes, load " << load;
    }
    for (const uint64_t cells :
         {kBorder + 1, 3 * kBorder / 2, 10 * kBorder, uint64_t{1} << 33, uint64_t{1} << 50}) {
      const double chain = OccupiedMoment(cells, probes, kBorder);
      const double moments = OccupiedMoment(cells, probes, kBorder + 1);
      // One more throw raises it by this share.
      const auto count = static_cast<double>(cells);
      const double one_throw = probes / (std::expm1(kBorder / count) * count);
      EXPECT_NEAR(moments / chain, 1 + one_throw, 1e-7) << probes << " probes, cells " << cells;
    }
  }
}

// In nearly empty filters, practically all throws hit different cells.
TEST(OccupancyTest, NearlyEmptyFiltersCancelNothing) {
  struct Case {
    uint64_t cells;
    uint32_t probes;
    double keys;
  };
  for (const auto& [cells, probes, keys] : {Case{1 << 30, 7, 1},
                                            {uint64_t{1} << 40, 7, 1000},
                                            {uint64_t{1} << 44, 7, 1e6},
                                            {uint64_t{1} << 33, 32, 10},
                                            {uint64_t{1} << 56, 7, 1e6}}) {
    const double fill = probes * keys / static_cast<double>(cells);
    EXPECT_NEAR(OccupiedMoment(cells, probes, probes * keys) / std::pow(fill, probes), 1, 1e-5)
        << cells << " cells, " << keys << " keys";
  }
}

TEST(ParametersTest, TheThreeRatesAreOrdered) {
  // Bose et al.: the classic formula is too low, the approximate one lower still.
  for (const uint64_t bits : {100ull, 1000ull, 100'000ull, 10'000'000ull}) {
    for (const uint32_t probes : {2u, 7u, 10u}) {
      const uint64_t keys = bits * 7 / 10 / probes;
      const StandardRates rates = StandardRatesOf(bits, probes, keys).value();
      EXPECT_LT(rates.classic, rates.exact) << bits << " bits, " << probes << " probes";
      EXPECT_LT(rates.approximate, rates.classic) << bits << " bits, " << probes << " probes";
      // (ClassicFpp's header says by how much.)
      const double low_by = 0.31 * probes * (probes - 1) / (2.0 * static_cast<double>(bits));
      EXPECT_NEAR(rates.exact / rates.classic, 1 + low_by, 0.15 * low_by) << bits;
    }
  }
  // With one probe the number of ones does not vary.
  const StandardRates one = StandardRatesOf(1000, 1, 500).value();
  EXPECT_NEAR(one.exact, one.classic, 1e-13);
}

TEST(ParametersTest, RatesAreExactBeyondTwoToThe32Bits) {
  const uint64_t bits = uint64_t{1} << 40;
  const StandardRates rates = StandardRatesOf(bits, 7, bits / 10).value();
  EXPECT_NEAR(rates.exact / 0.00819, 1, 0.005);
  EXPECT_NEAR(rates.approximate / rates.exact, 1, 1e-8);
}

TEST(ParametersTest, NoOtherNumberOfProbesIsBetterThanTheBest) {
  for (const uint64_t bits : {64ull, 1000ull, 12'345ull, 5'000'000'000ull}) {
    for (const double bits_per_key : {0.5, 1.0, 2.0, 3.7, 8.0, 9.585, 14.4, 30.0, 100.0}) {
      const auto keys = static_cast<uint64_t>(static_cast<double>(bits) / bits_per_key);
      if (keys == 0) continue;
      const uint32_t best = BestProbesFor(bits, keys).value();
      for (uint32_t probes = 1; probes <= kMaxProbes; ++probes) {
        EXPECT_LE(ClassicFpp(bits, best, keys), ClassicFpp(bits, probes, keys) * (1 + 1e-12))
            << bits << " bits, " << keys << " keys: " << best << " and " << probes;
      }
    }
  }
  EXPECT_EQ(BestProbesFor(10'000'000, 1'000'000).value(), 7u);
  EXPECT_EQ(BestProbesFor(1, 1'000'000).value(), 1u);
  EXPECT_EQ(BestProbesFor(kMaxSizeBits, 1).value(), kMaxProbes);
}

TEST(ParametersTest, RealNumberOfProbesIsBetterThanAnyWholeOne) {
  EXPECT_NEAR(RealProbesFor(9'585'059, 1'000'000).value(), 6.644, 0.001);
  EXPECT_NEAR(RateAtRealProbes(9'585'059, 1'000'000).value(), 0.01, 1e-5);
  for (uint64_t bits_per_key = 1; bits_per_key <= 30; ++bits_per_key) {
    const uint64_t bits = bits_per_key * 1'000'000;
    const double rate = RateAtRealProbes(bits, 1'000'000).value();
    EXPECT_NEAR(rate / std::pow(0.6185, bits_per_key), 1, 1e-4 * static_cast<double>(bits_per_key));
    const uint32_t whole = BestProbesFor(bits, 1'000'000).value();
    EXPECT_LE(rate, StandardRatesOf(bits, whole, 1'000'000)->approximate * (1 + 1e-12));
    EXPECT_LT(std::abs(RealProbesFor(bits, 1'000'000).value() - whole), 1);
  }
  EXPECT_THAT(RealProbesFor(0, 1), Names("bits"));
  EXPECT_THAT(RealProbesFor(1, 0), Names("key_count"));
  EXPECT_THAT(RateAtRealProbes(0, 1), Names("bits"));
}

TEST(ParametersTest, CapacityIsWhereTheRatePassesTheTarget) {
  for (const uint64_t bits : {uint64_t{2}, uint64_t{100}, uint64_t{9'585'059}, kMaxSizeBits}) {
    for (const uint32_t probes : {1u, 7u, 20u, kMaxProbes}) {
      for (const double fpp : {std::nextafter(1.0, 0.0), 0.999999999, 0.5, 0.01, 1e-6}) {
        const uint64_t keys = KeyCapacityOf(bits, probes, fpp).value();
        EXPECT_LE(StandardFpp(bits, probes, keys), fpp);
        // The true rate may round to less than the classic one next to 1.
        EXPECT_GT(std::max(StandardFpp(bits, probes, keys + 1), ClassicFpp(bits, probes, keys + 1)),
                  fpp);
      }
    }
  }
  EXPECT_NEAR(static_cast<double>(KeyCapacityOf(9'585'059, 7, 0.01).value()), 1e6, 2000);
  EXPECT_EQ(KeyCapacityOf(1, 1, 0.5).value(), 0u);
  // By the classic formula the filter would have room for 20 keys.
  EXPECT_LE(ClassicFpp(576, 20, 20), 1e-6);
  EXPECT_NEAR(StandardFpp(576, 20, 20), 1.0946e-6, 1e-10);
  EXPECT_EQ(KeyCapacityOf(576, 20, 1e-6).value(), 19u);
}

TEST(ParametersTest, OverfillingRaisesTheRateAsPublished) {
  // A filter planned for 1 %, and for 0.1 %, with t times the keys.
  EXPECT_NEAR(OverfilledFpp(1'000'000, 0.01, 1.5).value(), 0.058, 0.001);
  EXPECT_NEAR(OverfilledFpp(1'000'000, 0.01, 2).value(), 0.158, 0.001);
  EXPECT_NEAR(OverfilledFpp(1'000'000, 0.01, 3).value(), 0.436, 0.001);
  EXPECT_NEAR(OverfilledFpp(1'000'000, 0.001, 2).value(), 0.056, 0.002);
  EXPECT_NEAR(OverfilledFpp(1'000'000, 0.001, 5).value(), 0.73, 0.01);
  EXPECT_NEAR(OverfilledFpp(1'000'000, 0.001, 1.5).value(), 0.013, 0.001);
  EXPECT_NEAR(OverfilledFpp(1'000'000, 0.001, 3).value(), 0.263, 0.005);
  // Seven probes, and bits for which these are the best: half of them are ones once it is full.
  constexpr uint64_t kBits = 10'000'000;
  const struct {
    double times, rate;
  } of_seven[] = {{1, 0.0078}, {1.5, 0.047}, {2, 0.134}, {3, 0.393}, {5, 0.80}};
  for (const auto& point : of_seven) {
    const auto keys = static_cast<uint64_t>(point.times * kBits * std::log(2.0) / 7);
    EXPECT_NEAR(StandardFpp(kBits, 7, keys) / point.rate, 1, 0.01) << point.times;
  }
  EXPECT_LE(OverfilledFpp(1'000'000, 0.01, 1).value(), 0.01);
  EXPECT_EQ(OverfilledFpp(1'000'000, 0.01, 0).value(), 0);
}

TEST(ParametersTest, TheTableIsThePublishedOne) {
  // P. Cao's values, which are rounded to three digits.
  const struct {
    uint32_t bits_per_key, probes;
    double rate;
  } published[] = {{2, 1, 0.393},    {2, 2, 0.400},      {3, 2, 0.237},    {4, 3, 0.147},
                   {5, 3, 0.092},    {6, 4, 0.0561},     {7, 5, 0.0347},   {8, 6, 0.0216},
                   {10, 7, 0.00819}, {15, 10, 0.000744}, {20, 14, 6.71e-5}};
  for (const auto& entry : published) {
    EXPECT_NEAR(RateInTable(entry.bits_per_key, entry.probes).value() / entry.rate, 1, 0.005)
        << entry.bits_per_key << ", " << entry.probes;
  }
}

TEST(ParametersTest, ChoosesAsClickHouseDoes) {
  const struct {
    double fpp;
    uint32_t bits_per_key, probes;
  } choices[] = {{0.1, 5, 3},    {0.05, 7, 3},   {0.025, 8, 4},    {0.01, 10, 5},
                 {0.005, 12, 5}, {0.001, 15, 7}, {0.0005, 16, 10}, {0.0002, 18, 10}};
  for (const auto& choice : choices) {
    const TableChoice chosen = ChooseFromTable(choice.fpp).value();
    EXPECT_EQ(chosen.bits_per_key, choice.bits_per_key) << choice.fpp;
    EXPECT_EQ(chosen.probes, choice.probes) << choice.fpp;
    EXPECT_LE(chosen.fpp, choice.fpp * 1.005);
    EXPECT_EQ(chosen.fpp, RateInTable(chosen.bits_per_key, chosen.probes).value());
  }
  // The last row, which that program's loop cannot reach, and the first.
  EXPECT_EQ(ChooseFromTable(6.8e-5).value().bits_per_key, 20u);
  EXPECT_EQ(ChooseFromTable(0.9).value(), (TableChoice{2, 1, RateInTable(2, 1).value()}));
}

TEST(ParametersTest, TargetsOutsideTheTableAreErrors) {
  EXPECT_THAT(ChooseFromTable(6.7e-5), Names("below all rates of the table"));
  EXPECT_THAT(ChooseFromTable(1e-9), Names("target_fpp 1e-09"));
}

TEST(ParametersTest, EveryBadArgumentIsNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(StandardRatesOf(0, 7, 10), Names("bits"));
  EXPECT_THAT(StandardRatesOf(kMaxSizeBits + 1, 7, 10), Names("bits"));
  EXPECT_THAT(StandardRatesOf(100, 0, 10), Names("probes"));
  EXPECT_THAT(StandardRatesOf(100, kMaxProbes + 1, 10), Names("probes"));
  EXPECT_THAT(StandardRatesOf(100, 7, 0), Names("key_count"));
  EXPECT_THAT(BestProbesFor(0, 1), Names("bits"));
  EXPECT_THAT(BestProbesFor(UINT64_MAX, 1), Names("bits"));
  EXPECT_THAT(BestProbesFor(1, 0), Names("key_count"));
  EXPECT_THAT(KeyCapacityOf(0, 7, 0.01), Names("bits"));
  EXPECT_THAT(KeyCapacityOf(100, 0, 0.01), Names("probes"));
  for (const double fpp : {0.0, 1.0, -0.1, 1.5, 1e-10, nan}) {
    EXPECT_THAT(KeyCapacityOf(100, 7, fpp), Names("target_fpp")) << fpp;
    EXPECT_THAT(OverfilledFpp(100, fpp, 2), Names("target_fpp")) << fpp;
    EXPECT_THAT(ChooseFromTable(fpp), Names("target_fpp")) << fpp;
  }
  EXPECT_THAT(OverfilledFpp(0, 0.01, 2), Names("planned_key_count"));
  EXPECT_THAT(OverfilledFpp(UINT64_MAX, 0.01, 2), Names("key_count"));
  for (const double times : {-1.0, 1e300, nan})
    EXPECT_THAT(OverfilledFpp(100, 0.01, times), Names("times")) << times;
  EXPECT_THAT(RateInTable(1, 1), Names("bits_per_key"));
  EXPECT_THAT(RateInTable(21, 1), Names("bits_per_key"));
  EXPECT_THAT(RateInTable(10, 0), Names("probes"));
}

}  // namespace
