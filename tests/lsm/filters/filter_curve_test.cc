#include "lsm/filters/filter_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/filter_policy.h"
#include "lsm/bytes/status.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

std::vector<std::string> Kinds() {
  std::vector<std::string> kinds;
  bloom::KeyedKinds::ForEach([&]<class Kind>(Kind) { kinds.emplace_back(Kind::kName); });
  return kinds;
}

bloom::Digest DigestOfNumber(uint64_t number) {
  return bloom::DigestOf(std::to_string(number), 11);
}

struct Built {
  uint64_t bytes = 0;
  double fpp = 0;
};

// Builds a filter as a table gets one.  Returns its size, and the share of absent keys that pass.
// Asks about enough keys, within limits, that `expected_passes` of them pass if the curve is right.
Built Build(const std::string& kind, uint64_t keys, const FilterCurve::Point& point,
            double expected_passes) {
  const auto builder =
      bloom::PolicyFromName(kind).value()->NewBuilder({.target_fpp = point.target_fpp, .seed = 5});
  for (uint64_t i = 0; i < keys; ++i) builder->Add(DigestOfNumber(i));
  const std::string bytes = builder->Finish().value();
  const bloom::FilterReader reader = bloom::FilterReader::Open(bytes);
  const auto questions =
      static_cast<uint64_t>(std::clamp(expected_passes / point.fpp, 20'000.0, 4'000'000.0));
  uint64_t passes = 0;
  for (uint64_t i = 0; i < questions; ++i)
    passes += reader.MayContain(DigestOfNumber(keys + i)) ? 1 : 0;
  return {bytes.size(), static_cast<double>(passes) / static_cast<double>(questions)};
}

class FilterCurveTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Kinds, FilterCurveTest, testing::ValuesIn(Kinds()), [](const auto& kind) {
  std::string name = kind.param;
  std::erase(name, '-');
  return name;
});

// Checks the curves by building such filters.
TEST_P(FilterCurveTest, MatchesMeasuredFilters) {
  constexpr uint64_t kKeys = 24'576;
  const FilterCurve curve(GetParam(), kKeys);
  for (const double bits : {1.0, 2.5, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0}) {
    const FilterCurve::Point point = curve.At(bits);
    if (point.fpp == 1) continue;  // the kind has no filter this small
    const Built built = Build(GetParam(), kKeys, point, 1500);
    EXPECT_NEAR(built.fpp / point.fpp, 1, 0.12) << bits << " bits, FPP " << point.fpp;
    EXPECT_LE(static_cast<double>(built.bytes), 64 + kKeys * bits / 8 * 1.005) << bits;
    EXPECT_LE(point.bits, bits);
  }
}

TEST_P(FilterCurveTest, FallsFromFewBitsToMany) {
  for (const uint64_t keys :
       {uint64_t{20}, uint64_t{700}, uint64_t{30'000}, uint64_t{10'000'000}}) {
    const FilterCurve curve(GetParam(), keys);
    const auto& points = curve.points();
    ASSERT_FALSE(points.empty());
    EXPECT_LE(points.front().fpp, FilterCurve::kGreatestFpp);
    EXPECT_LE(points.back().fpp, FilterCurve::kLeastFpp);
    for (size_t i = 0; i < points.size(); ++i) {
      EXPECT_LE(points[i].fpp, points[i].target_fpp);
      if (i == 0) continue;
      EXPECT_GT(points[i].bits, points[i - 1].bits);
      EXPECT_LT(points[i].fpp, points[i - 1].fpp);
    }
  }
}

TEST_P(FilterCurveTest, BitsAndFppConvertBothWays) {
  const FilterCurve curve(GetParam(), 100'000);
  for (const double fpp : {0.6, 0.1, 0.013, 0.001, 0.00002}) {
    const FilterCurve::Point reached = curve.Reaching(fpp);
    EXPECT_LE(reached.fpp, fpp * 1.000001);
    EXPECT_NEAR(curve.At(reached.bits * 1.000001).fpp, reached.fpp, reached.fpp * 0.001) << fpp;
    EXPECT_GT(curve.At(reached.bits * 0.9).fpp, reached.fpp);
  }
  // Not beyond the last point.
  EXPECT_EQ(curve.Reaching(1e-12).bits, curve.points().back().bits);
  EXPECT_EQ(curve.At(1000).fpp, curve.points().back().fpp);
}

TEST_P(FilterCurveTest, TooFewBitsMakeNoFilter) {
  const FilterCurve curve(GetParam(), 100'000);
  for (const double bits : {-5.0, 0.0, 0.1}) {
    EXPECT_EQ(curve.At(bits).fpp, 1) << bits;
    EXPECT_EQ(curve.At(bits).target_fpp, 1) << bits;
  }
}

TEST(FilterCurvesTest, SimilarSizesShareACurve) {
  FilterCurves curves;
  const FilterCurve& curve = curves.Of("ribbon", 20'000);
  EXPECT_EQ(&curves.Of("ribbon", 30'000), &curve);
  EXPECT_NE(&curves.Of("ribbon", 40'000), &curve);
  EXPECT_NE(&curves.Of("blocked", 20'000), &curve);
  EXPECT_EQ(&curves.Of("ribbon", 1), &curves.Of("ribbon", 15));
  EXPECT_EQ(&curves.Of("ribbon", uint64_t{1} << 30), &curves.Of("ribbon", uint64_t{1} << 40));
}

// A shared curve must fit all of them: within 3 % of the bits unless tables are tiny, except for
// fuse filters, whose segments double.
TEST(FilterCurvesTest, SharedCurvesFitEachSize) {
  FilterCurves curves;
  for (const std::string& kind : Kinds()) {
    const double tolerance = kind.starts_with("fuse") ? 0.12 : 0.03;
    for (const uint64_t keys : {uint64_t{4'200}, uint64_t{8'000}, uint64_t{70'000},
                                uint64_t{130'000}, uint64_t{5'000'000}}) {
      for (const double fpp : {0.1, 0.01, 0.0001}) {
        const FilterCurve::Point point = curves.Of(kind, keys).Reaching(fpp);
        ASSERT_OK_AND_ASSIGN(const bloom::FilterSize size,
                             bloom::SizeOfFilter(kind, keys, point.target_fpp));
        EXPECT_NEAR(
            8 * static_cast<double>(size.bytes - 64) / static_cast<double>(keys) / point.bits, 1,
            tolerance)
            << kind << " " << keys << " " << fpp;
      }
    }
  }
}

}  // namespace
}  // namespace lsm
