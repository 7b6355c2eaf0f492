#include "bloom/literature/shifting_double.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "bloom/core/sizing.h"
#include "bloom/filter.h"
#include "bloom/parameters.h"
#include "bloom/variants/shifted_bits.h"
#include "bloom/variants/shifting.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::Filter;
using bloom::Shape;
using bloom::Shifting;
using bloom::ShiftingDoubleFilter;
using bloom::Standard;
using testing::HasSubstr;
using testing_support::DigestOfKey;
using testing_support::StatusIs;

template <class F>
double MeasureDoubled(F filter, uint64_t keys, uint64_t queries) {
  for (uint64_t i = 0; i < keys; ++i) filter.AddDigest(DigestOfKey(i));
  double passed = 0;
  for (uint64_t i = keys; i < keys + queries; ++i)
    passed += filter.MayContainDigest(DigestOfKey(i));
  return passed / static_cast<double>(queries);
}

TEST(ShiftingDoubleTest, HasAShiftingFilterAndASecondArray) {
  const Shape shape{5003, 6};
  ShiftingDoubleFilter filter = ShiftingDoubleFilter::MakeOfShape(shape, 0.01, 7).value();
  Filter<Shifting> first = Filter<Shifting>::MakeOfShape(shape, 0.01, 7).value();
  for (uint64_t key = 0; key < 500; ++key) {
    const std::string before = filter.Serialize();
    filter.AddDigest(DigestOfKey(key));
    first.AddDigest(DigestOfKey(key));
    const std::string bytes = filter.Serialize();
    const size_t second_at = first.Serialize().size();
    ASSERT_EQ(bytes.substr(64, second_at - 64), first.Serialize().substr(64));
    // The fourth position; the first three are the bases.
    bloom::Probes probes(bloom::Remix(DigestOfKey(key), 7), shape.size);
    for (int i = 0; i < 3; ++i) probes.Next();
    std::string expected = before.substr(second_at);
    bloom::SetBit(reinterpret_cast<uint8_t*>(expected.data()), probes.Next());
    ASSERT_EQ(bytes.substr(second_at), expected) << key;
  }
  EXPECT_EQ(filter.size_bits(), 5003u + 56 + 5003);
}

TEST(ShiftingDoubleTest, RateIsTheProductOfBothArrays) {
  EXPECT_NEAR(ShiftingDoubleFilter::MakeOfShape({100'000, 10}, 0.01)->PredictedFpp(10'000) /
                  (bloom::ShiftingFpp(100'000, 10, 10'000, 56) * (1 - std::exp(-0.1))),
              1, 1e-4);
  constexpr uint64_t kKeys = 100'000;
  for (const Shape& shape : {Shape{400'000, 2}, Shape{400'000, 4}}) {
    double measured = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed)
      measured += MeasureDoubled(ShiftingDoubleFilter::MakeOfShape(shape, 0.01, seed).value(),
                                 kKeys, 300'000) /
                  5;
    const ShiftingDoubleFilter filter = ShiftingDoubleFilter::MakeOfShape(shape, 0.01).value();
    EXPECT_NEAR(measured / filter.PredictedFpp(kKeys), 1, 0.03) << shape.probes;
  }
}

TEST(ShiftingDoubleTest, NoFewerBitsKeepTheTarget) {
  for (const double fpp : {0.3, 0.1, 0.01, 0.001, 1e-6}) {
    for (const uint64_t keys : {1000, 100'000}) {
      const ShiftingDoubleFilter filter = ShiftingDoubleFilter::Make(keys, fpp).value();
      EXPECT_LE(filter.PredictedFpp(keys), fpp);
      for (uint32_t probes = 2; probes <= bloom::kMaxProbes; probes += 2) {
        const Shape smaller{filter.shape().size - 1, probes};
        if (smaller.size < bloom::kMinShiftingBases) continue;
        EXPECT_GT(ShiftingDoubleFilter::MakeOfShape(smaller, fpp)->PredictedFpp(keys), fpp)
            << keys << " keys at " << fpp << " with " << probes << " probes";
      }
    }
  }
}

// Verifies the claims of its header and of bloom/README.md.
TEST(ShiftingDoubleTest, StandardFiltersAreBetterWithTheSameMemory) {
  // 10^8 bases, 10^7 keys, k = 10: predicted.
  const double doubled = bloom::ShiftingFpp(100'000'000, 10, 10'000'000, 56) * (1 - std::exp(-0.1));
  EXPECT_NEAR(doubled, 1.0e-3, 0.05e-3);
  EXPECT_NEAR(bloom::StandardFpp(200'000'000, 10, 10'000'000), 8.9e-5, 0.05e-5);

  constexpr uint64_t kKeys = 100'000;
  const ShiftingDoubleFilter filter = ShiftingDoubleFilter::Make(kKeys, 0.01).value();
  const double bits_per_key = static_cast<double>(filter.size_bits()) / kKeys;
  EXPECT_NEAR(bits_per_key, 11.563, 0.01);
  const Shape standard = bloom::StandardShapeFor(kKeys, 0.01).value();
  EXPECT_NEAR(static_cast<double>(standard.size) / kKeys, 9.59, 0.01);
  // The same memory, measured.
  const uint32_t probes = bloom::BestProbesFor(filter.size_bits(), kKeys).value();
  const Shape same{filter.size_bits(), probes};
  EXPECT_NEAR(bloom::StandardFpp(same.size, probes, kKeys), 0.00387, 0.00001);
  double of_double = 0, of_standard = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    of_double +=
        MeasureDoubled(ShiftingDoubleFilter::Make(kKeys, 0.01, seed).value(), kKeys, 1'000'000) / 3;
    of_standard +=
        MeasureDoubled(Filter<Standard>::MakeOfShape(same, 0.01, seed).value(), kKeys, 1'000'000) /
        3;
  }
  EXPECT_NEAR(of_double, 0.01, 0.0003);
  EXPECT_NEAR(of_standard, 0.00387, 0.00015);
}

TEST(ShiftingDoubleTest, RefusesImpossibleShapesAndBytes) {
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(ShiftingDoubleFilter::MakeOfShape({0, 4}, 0.01), refused("shape: "));
  EXPECT_THAT(ShiftingDoubleFilter::MakeOfShape({100, 5}, 0.01), refused("do not make pairs"));
  EXPECT_THAT(ShiftingDoubleFilter::MakeOfShape({100, 34}, 0.01), refused("34 probes"));
  EXPECT_THAT(ShiftingDoubleFilter::MakeOfShape({UINT64_MAX, 4}, 0.01), refused("2^56"));
  EXPECT_THAT(ShiftingDoubleFilter::MakeOfShape({100, 4}, 1), refused("target_fpp"));
  const Shape shape{1001, 4};
  const std::string bytes = ShiftingDoubleFilter::MakeOfShape(shape, 0.01)->Serialize();
  const uint64_t second_at = 8 * Shifting::PayloadBytes(shape);
  for (uint64_t bit = 0; bit < 8 * (bytes.size() - 64); ++bit) {
    std::string changed = bytes;
    bloom::SetBit(reinterpret_cast<uint8_t*>(&changed[64]), bit);
    testing_support::RepairChecksum(changed);
    const bool inside = bit < 1001 + 56 || (bit >= second_at && bit < second_at + 1001);
    EXPECT_EQ(ShiftingDoubleFilter::Load(changed).ok(), inside) << bit;
  }
}

}  // namespace
