#include "bloom/scalable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bloom/core/sizing.h"
#include "tests/bloom/filters/rows.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::ScalableFilter;
using bloom::ScalableGrowth;
using bloom::ScalablePlan;
using testing::HasSubstr;
using testing_support::AddKeys;
using testing_support::BlockedRow;
using testing_support::CountKeys;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::LoadRowsAndUse;
using testing_support::PartsOf;
using testing_support::ScarceRow;
using testing_support::StandardRow;
using testing_support::StatusIs;
using testing_support::WithNumberAt;
using testing_support::WithParts;

constexpr auto kScalableLoss = absl::StatusCode::kDataLoss;
constexpr auto kScalableInvalid = absl::StatusCode::kInvalidArgument;

template <class Row>
ScalableFilter<Row> MakeScalable(uint64_t from, uint64_t to, uint64_t first, double fpp = 0.01,
                                 uint64_t seed = 3) {
  auto filter = ScalableFilter<Row>::Make(first, fpp, seed).value();
  AddKeys(filter, from, to);
  return filter;
}

template <class Row>
std::vector<uint64_t> LevelCounts(const ScalableFilter<Row>& filter) {
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < filter.row_count(); ++i) counts.push_back(filter.row(i).added_count());
  return counts;
}

template <class Row>
class ScalableTest : public testing::Test {};
using ScalableRows = testing::Types<BlockedRow, StandardRow>;
TYPED_TEST_SUITE(ScalableTest, ScalableRows, testing_support::KindNames);

TYPED_TEST(ScalableTest, RowsGrowAndTighten) {
  const auto filter = MakeScalable<TypeParam>(0, 7500, 1000, 0.01);
  EXPECT_EQ(LevelCounts(filter), std::vector<uint64_t>({1000, 2000, 4000, 500}));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(filter.row(i).target_fpp(), std::ldexp(0.01, -1 - static_cast<int>(i)));
    EXPECT_EQ(filter.row_capacity(i), 1000u << i);
  }
  EXPECT_EQ(CountKeys(filter, 0, 7500), 7500u);
  EXPECT_EQ(filter.added_count(), 7500u);
  EXPECT_EQ(filter.target_fpp(), 0.01);
}

// For any number of keys, the FPP follows from the rows and is at most the target.
TYPED_TEST(ScalableTest, KeepsItsTargetForEver) {
  constexpr uint64_t kFirst = 5000;
  constexpr double kTarget = 0.05;
  for (const uint64_t times : {1, 2, 10, 50}) {
    const uint64_t keys = times * kFirst;
    double sum = 0, predicted = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const auto filter = MakeScalable<TypeParam>(0, keys, kFirst, kTarget, seed);
      constexpr uint64_t kQueries = 400'000;  // 10^4 that pass, and more
      const double measured =
          static_cast<double>(CountKeys(filter, keys, keys + kQueries)) / kQueries;
      predicted = filter.PredictedFpp(keys);
      EXPECT_LE(measured, kTarget) << times << ", " << seed;
      EXPECT_NEAR(measured / predicted, 1, 0.05) << times << ", " << seed;
      EXPECT_NEAR(measured / filter.CurrentFpp(), 1, 0.04) << times << ", " << seed;
      double denied = 1;
      for (size_t i = 0; i < filter.row_count(); ++i)
        denied *= 1 - filter.row(i).PredictedFpp(filter.row(i).added_count());
      EXPECT_NEAR(predicted / (1 - denied), 1, 1e-9);
      sum += measured;
    }
    EXPECT_NEAR(sum / 5 / predicted, 1, 0.02) << times;
    EXPECT_LE(predicted, kTarget);
    EXPECT_GE(predicted, kTarget * 0.48) << times;  // nor is it far below
  }
}

// A filter that is planned for all keys is smaller.  The difference is the tightening and the
// unused part of the last row.
TYPED_TEST(ScalableTest, TakesTheBitsOfItsRows) {
  constexpr uint64_t kFirst = 1000;
  for (const uint64_t rows : {1, 2, 4, 6}) {
    const uint64_t keys = kFirst * ((uint64_t{1} << rows) - 1);
    const auto full = MakeScalable<TypeParam>(0, keys, kFirst);
    ASSERT_EQ(full.row_count(), rows);
    const auto planned = TypeParam::Make(keys, 0.01).value();
    const double ratio =
        static_cast<double>(full.size_bits()) / static_cast<double>(planned.size_bits());
    // The mean of (log2(1/e) + i + 1) / log2(1/e) over the keys, and what uneven lines add.
    double bits = 0;
    for (uint64_t i = 0; i < rows; ++i)
      bits += std::ldexp(std::log2(100) + 1 + static_cast<double>(i), static_cast<int>(i));
    const double expected = bits / std::log2(100) / static_cast<double>((1u << rows) - 1);
    EXPECT_GT(ratio, 0.98 * expected) << rows;
    EXPECT_LT(ratio, 1.12 * expected) << rows;
    const auto next = MakeScalable<TypeParam>(0, keys + 1, kFirst);
    EXPECT_LT(next.size_bits(), 3.5 * static_cast<double>(full.size_bits()));
  }
}

TYPED_TEST(ScalableTest, AddIfAbsentStoresOnlyNewKeys) {
  auto filter = MakeScalable<TypeParam>(0, 0, 1000);
  for (uint64_t i = 0; i < 900; ++i) filter.AddDigestIfAbsent(DigestOfKey(i));
  for (int round = 0; round < 20; ++round) {
    for (uint64_t i = 0; i < 900; ++i) ASSERT_FALSE(filter.AddDigestIfAbsent(DigestOfKey(i)));
  }
  EXPECT_EQ(filter.row_count(), 1u);
  EXPECT_TRUE(filter.AddIfAbsent("apple"));
  EXPECT_FALSE(filter.AddIfAbsent("apple"));
  EXPECT_TRUE(filter.MayContain("apple"));
}

// With AddIfAbsent, a row holds only keys that no earlier row let pass.  That does not matter.
TYPED_TEST(ScalableTest, KeepsItsTargetWithAddIfAbsent) {
  constexpr uint64_t kKeys = 150'000;
  constexpr double kTarget = 0.05;
  double sum = 0, expected = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    auto filter = MakeScalable<TypeParam>(0, 0, 5000, kTarget, seed);
    uint64_t absent = 0;
    for (uint64_t i = 0; i < kKeys; ++i) absent += filter.AddDigestIfAbsent(DigestOfKey(i));
    EXPECT_EQ(absent, filter.added_count());
    EXPECT_GE(absent, static_cast<uint64_t>((1 - kTarget) * kKeys));
    EXPECT_EQ(CountKeys(filter, 0, kKeys), kKeys);
    sum += static_cast<double>(CountKeys(filter, kKeys, kKeys + 250'000)) / 250'000;
    expected += filter.PredictedFpp(filter.added_count());
  }
  EXPECT_LE(sum / 5, kTarget);
  EXPECT_NEAR(sum / expected, 1, 0.02);
}

TYPED_TEST(ScalableTest, OtherGrowthsKeepTheTarget) {
  for (const ScalableGrowth& growth : {ScalableGrowth{2, 0.9f}, {4, 0.8f}, {64, 0.1f}, {3, 0.5f}}) {
    constexpr uint64_t kKeys = 60'000;
    auto filter = ScalableFilter<TypeParam>::MakeWithGrowth(1000, 0.05, growth, 7).value();
    AddKeys(filter, 0, kKeys);
    const double measured = static_cast<double>(CountKeys(filter, kKeys, kKeys + 200'000)) / 2e5;
    EXPECT_LE(measured, 0.05 * 1.03) << growth.factor;  // a standard error of 1 %
    EXPECT_NEAR(measured / filter.PredictedFpp(kKeys), 1, 0.08) << growth.factor;
    EXPECT_EQ(filter.row_capacity(1), 1000u * growth.factor);
    EXPECT_THAT(ScalableFilter<TypeParam>::Load(filter.Serialize()), IsOk());
  }
}

TYPED_TEST(ScalableTest, PredictsFutureRows) {
  const auto filter = MakeScalable<TypeParam>(0, 0, 1000);
  EXPECT_EQ(filter.PredictedFpp(0), 0);
  const double now = filter.PredictedFpp(1000), later = filter.PredictedFpp(50'000);
  EXPECT_LE(now, 0.005);
  EXPECT_GT(later, now);
  EXPECT_LE(later, 0.01);
  EXPECT_LE(MakeScalable<TypeParam>(0, 50'000, 1000).PredictedFpp(50'000), later);
  EXPECT_LE(filter.PredictedFpp(UINT64_MAX), 0.01);
}

TYPED_TEST(ScalableTest, MergeFillsRowsOfOneLevel) {
  auto left = MakeScalable<TypeParam>(0, 1700, 1000);                          // 1000, 700
  ASSERT_THAT(left.Merge(MakeScalable<TypeParam>(1700, 3200, 1000)), IsOk());  // 1000, 500
  EXPECT_EQ(LevelCounts(left), std::vector<uint64_t>({1000, 1000, 1200}));
  EXPECT_EQ(left.row_capacity(1), 1000u);
  EXPECT_EQ(left.row_capacity(2), 2000u);
  ASSERT_THAT(left.Merge(MakeScalable<TypeParam>(3200, 8000, 1000)), IsOk());  // 1000, 2000, 1800
  EXPECT_EQ(LevelCounts(left), std::vector<uint64_t>({1000, 1000, 1000, 1200, 2000, 1800}));
  EXPECT_EQ(CountKeys(left, 0, 8000), 8000u);
  const std::string bytes = left.Serialize();
  auto loaded = ScalableFilter<TypeParam>::Load(bytes);
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->Serialize(), bytes);
  // Rows with room take the next keys, then comes the next level.
  AddKeys(left, 8000, 12'000);
  EXPECT_EQ(LevelCounts(left), std::vector<uint64_t>({1000, 1000, 1000, 2000, 2000, 4000, 1000}));
  EXPECT_EQ(left.row_capacity(6), 8000u);
  EXPECT_EQ(CountKeys(left, 0, 12'000), 12'000u);
}

TYPED_TEST(ScalableTest, MergedRowsAfterFullOnesAreFilled) {
  auto left = MakeScalable<TypeParam>(0, 3500, 1000);  // 1000, 2000, 500
  const double predicted = left.PredictedFpp(7000);
  ASSERT_THAT(left.Merge(MakeScalable<TypeParam>(3500, 4100, 1000)), IsOk());
  EXPECT_EQ(LevelCounts(left), std::vector<uint64_t>({1000, 600, 2000, 500}));
  AddKeys(left, 4100, 4600);
  EXPECT_EQ(LevelCounts(left), std::vector<uint64_t>({1000, 1000, 2000, 600}));
  EXPECT_EQ(left.PredictedFpp(7000), predicted);
}

TYPED_TEST(ScalableTest, MergesWithItselfAndWithAnEmptyFilter) {
  auto filter = MakeScalable<TypeParam>(0, 1700, 1000);
  const std::string before = filter.Serialize();
  ASSERT_THAT(filter.Merge(MakeScalable<TypeParam>(0, 0, 1000)), IsOk());
  EXPECT_EQ(filter.Serialize(), before);
  auto empty = MakeScalable<TypeParam>(0, 0, 1000);
  ASSERT_THAT(empty.Merge(filter), IsOk());
  EXPECT_EQ(empty.Serialize(), before);
  ASSERT_THAT(filter.Merge(filter), IsOk());
  EXPECT_EQ(LevelCounts(filter), std::vector<uint64_t>({1000, 1000, 1400}));
  EXPECT_EQ(CountKeys(filter, 0, 1700), 1700u);
}

TYPED_TEST(ScalableTest, RefusesToMergeDifferentFilters) {
  auto filter = MakeScalable<TypeParam>(0, 1700, 1000);
  const std::string before = filter.Serialize();
  const auto refused = [&](uint64_t first, double fpp, const ScalableGrowth& growth, uint64_t seed,
                           const char* what) {
    const auto other = ScalableFilter<TypeParam>::MakeWithGrowth(first, fpp, growth, seed).value();
    EXPECT_THAT(filter.Merge(other), StatusIs(kScalableInvalid, HasSubstr(what)));
    EXPECT_EQ(filter.Serialize(), before);
  };
  refused(1001, 0.01, {}, 3, "row capacities 1000 and 1001");
  refused(1000, 0.0101, {}, 3, "target_fpp");
  refused(1000, 0.01, {3, 0.5f}, 3, "growth factors 2 and 3");
  refused(1000, 0.01, {2, 0.6f}, 3, "tightenings");
  refused(1000, 0.01, {}, 4, "seeds");
}

TYPED_TEST(ScalableTest, DamageInARowIsDataLossThatNamesTheRow) {
  const std::string sound = MakeScalable<TypeParam>(0, 50, 10, 0.1).Serialize();
  const std::vector<std::string> parts = PartsOf(sound);
  ASSERT_EQ(parts.size(), 4u);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto loss =
        StatusIs(kScalableLoss, HasSubstr(i == 0 ? "level" : "row " + std::to_string(i - 1)));
    for (size_t bit = 0; bit < 8 * parts[i].size(); ++bit) {
      std::vector<std::string> damaged = parts;
      damaged[i][bit / 8] = static_cast<char>(damaged[i][bit / 8] ^ (1 << (bit % 8)));
      ASSERT_THAT(LoadRowsAndUse<ScalableFilter<TypeParam>>(WithParts(sound, damaged)), loss)
          << "bit " << bit;
    }
    for (size_t size = 0; size < parts[i].size(); ++size) {
      std::vector<std::string> damaged = parts;
      damaged[i].resize(size);
      ASSERT_THAT(LoadRowsAndUse<ScalableFilter<TypeParam>>(WithParts(sound, damaged)), loss)
          << size;
    }
  }
}

TYPED_TEST(ScalableTest, MismatchedRowsAreDataLoss) {
  using Filter = ScalableFilter<TypeParam>;
  const std::string sound = MakeScalable<TypeParam>(0, 25, 10, 0.1).Serialize();
  const std::vector<std::string> parts = PartsOf(sound);
  const auto loss = [](const char* what) { return StatusIs(kScalableLoss, HasSubstr(what)); };
  const auto row_for = [](uint64_t keys, double fpp, uint64_t seed) {
    auto row = TypeParam::Make(keys, fpp, seed).value();
    AddKeys(row, 10, 25);
    return row.Serialize();
  };
  const auto with_row = [&](const std::string& row) {
    return WithParts(sound, {parts[0], parts[1], row});
  };
  EXPECT_THAT(Filter::Load(with_row(row_for(20, 0.025, 3))), IsOk());
  EXPECT_THAT(Filter::Load(with_row(row_for(20, 0.025, 4))), loss("row 1 has another seed"));
  EXPECT_THAT(Filter::Load(with_row(row_for(20, 0.05, 3))), loss("row 1 has another target"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 24, 26)), loss("number of keys"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 40, bloom::Load64(&sound[40]) + 1)),
              loss("another target"));
  // By the first row's number of keys, the next row would not fit in any memory.
  for (const uint64_t first : {uint64_t{200}, uint64_t{1} << 30, uint64_t{1} << 61, UINT64_MAX})
    EXPECT_THAT(Filter::Load(WithNumberAt(sound, 32, first)), loss("row 0 is too small"));
  const uint64_t detail = bloom::Load64(&sound[48]);
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 48, detail + 0x100)), IsOk());
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 48, detail - 0x100)), loss("grows"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 48, detail + (63 << 8))), loss("grows"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 48, detail | 1 << 16)), loss("detail"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 48, detail | uint64_t{0x7fffffff} << 32)),
              loss("tightens"));  // no number
  const std::string two = {0, 1};
  EXPECT_EQ(parts[0], two);
  for (const std::string& levels :
       {std::string{1, 2}, std::string{1, 1}, std::string{1, 0}, std::string{0, 2}}) {
    EXPECT_THAT(Filter::Load(WithParts(sound, {levels, parts[1], parts[2]})),
                loss("has the level"));
  }
  for (const std::string& levels : {std::string{0}, std::string{}, std::string{0, 1, 1}})
    EXPECT_THAT(Filter::Load(WithParts(sound, {levels, parts[1], parts[2]})), loss("levels of"));
  EXPECT_THAT(Filter::Load(WithParts(sound, {std::string{0, 0}, parts[1], parts[2]})),
              loss("another target"));
  EXPECT_THAT(Filter::Load(WithParts(sound, {""})), loss("1 parts"));
  EXPECT_THAT(Filter::Load(WithParts(sound, {})), loss("0 parts"));
}

TYPED_TEST(ScalableTest, ForgedRowsAreHarmless) {
  const std::string sound = MakeScalable<TypeParam>(0, 50, 10, 0.1).Serialize();
  EXPECT_GT(testing_support::LoadWithForgedParts<ScalableFilter<TypeParam>>(sound, 6, 3000), 0);
}

TEST(ScalablePlanTest, TakesTheStatedBitsPerKey) {
  const auto bits_per_key = [](uint64_t keys) {
    return static_cast<double>(MakeScalable<BlockedRow>(0, keys, 10'000).size_bits()) /
           static_cast<double>(keys);
  };
  EXPECT_NEAR(bits_per_key(10'000), 12, 0.5);
  EXPECT_NEAR(bits_per_key(310'000), 17, 0.5);
  EXPECT_NEAR(bits_per_key(310'001), 39, 0.5);
  const auto planned = bloom::Filter<bloom::Blocked>::Make(310'000, 0.01).value();
  EXPECT_NEAR(static_cast<double>(planned.size_bits()) / 310'000, 10, 0.5);
}

TEST(ScalablePlanTest, BytesMatchTheDrawing) {
  const auto filter = MakeScalable<StandardRow>(0, 50, 10, 0.1);
  const std::string bytes = filter.Serialize();
  EXPECT_EQ(bytes[8], 72);
  EXPECT_EQ(bytes[10], static_cast<char>(filter.row(0).shape().probes));
  EXPECT_EQ(bloom::Load64(&bytes[24]), 50u);
  EXPECT_EQ(bloom::Load64(&bytes[32]), 10u);
  EXPECT_EQ(bloom::Load64(&bytes[48]), 0x3f00000000000202u);  // 0.5f, 2, standard
  std::vector<std::string> parts = {std::string{0, 1, 2}};
  for (size_t i = 0; i < 3; ++i) parts.push_back(filter.row(i).Serialize());
  EXPECT_EQ(PartsOf(bytes), parts);
}

TEST(ScalablePlanTest, RefusesRowsOfAnotherKind) {
  EXPECT_THAT(ScalableFilter<BlockedRow>::Load(MakeScalable<StandardRow>(0, 50, 20).Serialize()),
              StatusIs(kScalableInvalid, HasSubstr("rows of kind 2, not 3")));
}

TEST(ScalablePlanTest, OverfillsTheLastRowWithoutMemory) {
  ScarceRow::rows_left = 2;
  auto filter = ScalableFilter<ScarceRow>::Make(1000, 0.01, 3).value();
  AddKeys(filter, 0, 3500);
  EXPECT_EQ(LevelCounts(filter), std::vector<uint64_t>({1000, 2500}));
  EXPECT_EQ(CountKeys(filter, 0, 3500), 3500u);
  const std::string before = filter.Serialize();
  ScarceRow::rows_left = 1;
  EXPECT_THAT(filter.Merge(filter), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(filter.Serialize(), before);
  ScarceRow::rows_left = 4;
  EXPECT_THAT(ScalableFilter<ScarceRow>::Load(before), IsOk());
  AddKeys(filter, 3500, 4000);
  EXPECT_EQ(LevelCounts(filter), std::vector<uint64_t>({1000, 2500, 500}));
  EXPECT_EQ(filter.row_capacity(2), 4000u);
}

TEST(ScalablePlanTest, BadGrowthsAreNamed) {
  const auto make = [](double fpp, const ScalableGrowth& growth) {
    return ScalableFilter<>::MakeWithGrowth(100, fpp, growth);
  };
  for (const uint32_t factor : {0u, 1u, 65u, 256u + 2u, UINT32_MAX})
    EXPECT_THAT(make(0.01, {factor, 0.5f}), StatusIs(kScalableInvalid, HasSubstr("growth factor")));
  for (const float tightening : {0.0f, 0.05f, 0.95f, 1.0f, -0.5f, std::nanf("")})
    EXPECT_THAT(make(0.01, {2, tightening}), StatusIs(kScalableInvalid, HasSubstr("tightening")));
  EXPECT_THAT(make(bloom::kMinTargetFpp, {}), StatusIs(kScalableInvalid, HasSubstr("too low")));
  EXPECT_THAT(make(2 * bloom::kMinTargetFpp, {}), IsOk());
}

// All targets sum up to that of the filter, and capacities do not overflow.
TEST(ScalablePlanTest, RowTargetsSumToTheFiltersTarget) {
  for (const ScalableGrowth& growth : {ScalableGrowth{}, {2, 0.9f}, {3, 0.5f}, {64, 0.1f}}) {
    const auto plan = ScalablePlan::Make(1, 0.01, growth).value();
    double sum = 0;
    for (uint32_t level = 0; level < 63; ++level) {
      sum += plan.TargetOf(level);
      EXPECT_GE(plan.TargetOf(level), bloom::kMinTargetFpp);
    }
    EXPECT_LE(sum, 0.01 + std::ldexp(1, -26));
    EXPECT_GT(sum, 0.0098);
    for (uint32_t level = 1; level < 256; ++level) {
      EXPECT_GE(plan.CapacityOf(level), plan.CapacityOf(level - 1));
      EXPECT_LE(plan.CapacityOf(level), uint64_t{1} << 62);
    }
  }
  EXPECT_EQ(ScalablePlan::Make(10, 0.01, {3, 0.5f})->CapacityOf(3), 270u);
  EXPECT_EQ(ScalablePlan::Make(UINT64_MAX, 0.01, {})->CapacityOf(0), uint64_t{1} << 62);
}

}  // namespace
