#include "bloom/dynamic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bloom/core/sizing.h"
#include "bloom/counting.h"
#include "tests/bloom/filters/rows.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::CountingFilter;
using bloom::DynamicFilter;
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

template <class F>
concept CanIntersect = requires(F& a) {
  a.Intersect(a);
};
template <class F>
concept CanRemove = requires(F& a) {
  a.Remove("apple");
};

constexpr auto kDynamicLoss = absl::StatusCode::kDataLoss;

template <class Row>
DynamicFilter<Row> MakeDynamic(uint64_t from, uint64_t to, uint64_t capacity, double fpp = 0.01,
                               uint64_t seed = 3) {
  auto filter = DynamicFilter<Row>::Make(capacity, fpp, seed).value();
  AddKeys(filter, from, to);
  return filter;
}

template <class Row>
std::vector<uint64_t> RowCounts(const DynamicFilter<Row>& filter) {
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < filter.row_count(); ++i) counts.push_back(filter.row(i).added_count());
  return counts;
}

template <class Row>
class DynamicTest : public testing::Test {};
using DynamicRows = testing::Types<BlockedRow, StandardRow, CountingFilter>;
TYPED_TEST_SUITE(DynamicTest, DynamicRows, testing_support::KindNames);

TYPED_TEST(DynamicTest, AddsARowWhenRowsAreFull) {
  auto filter = MakeDynamic<TypeParam>(0, 1000, 1000);
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({1000}));
  const uint64_t row_bits = filter.size_bits();
  AddKeys(filter, 1000, 1001);
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({1000, 1}));
  AddKeys(filter, 1001, 3500);
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({1000, 1000, 1000, 500}));
  EXPECT_EQ(filter.size_bits(), 4 * row_bits);
  EXPECT_EQ(CountKeys(filter, 0, 3500), 3500u);
  EXPECT_EQ(filter.added_count(), 3500u);
}

TYPED_TEST(DynamicTest, PassesAbsentKeysAtThePredictedRate) {
  constexpr uint64_t kCapacity = 20'000;
  constexpr uint64_t kKeys = 110'000;
  constexpr uint64_t kQueries = 250'000;  // more than 10^4 that pass
  double sum = 0, predicted = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto filter = MakeDynamic<TypeParam>(0, kKeys, kCapacity, 0.01, seed);
    const double measured =
        static_cast<double>(CountKeys(filter, kKeys, kKeys + kQueries)) / kQueries;
    predicted = filter.PredictedFpp(kKeys);
    const double row = filter.row(0).PredictedFpp(kCapacity);
    EXPECT_NEAR(predicted,
                1 - std::pow(1 - row, 5) * (1 - filter.row(0).PredictedFpp(kKeys % kCapacity)),
                1e-9);
    EXPECT_GT(predicted, 0.04);
    EXPECT_NEAR(measured / predicted, 1, 0.04) << seed;
    EXPECT_NEAR(measured / filter.CurrentFpp(), 1, 0.04) << seed;
    EXPECT_NEAR(filter.EstimatedKeyCount() / kKeys, 1, 0.01);
    sum += measured;
  }
  EXPECT_NEAR(sum / 5 / predicted, 1, 0.015);
}

// Both filters have full rows and rows with room.  A merge overfills no row, and rows with room
// take the next keys.
TYPED_TEST(DynamicTest, MergeFillsRoomAndOverfillsNothing) {
  auto left = MakeDynamic<TypeParam>(0, 2600, 1000);
  ASSERT_THAT(left.Merge(MakeDynamic<TypeParam>(2600, 3900, 1000)), IsOk());
  EXPECT_EQ(RowCounts(left), std::vector<uint64_t>({1000, 1000, 900, 1000}));
  ASSERT_THAT(left.Merge(MakeDynamic<TypeParam>(3900, 4500, 1000)), IsOk());
  EXPECT_EQ(RowCounts(left), std::vector<uint64_t>({1000, 1000, 900, 1000, 600}));
  ASSERT_THAT(left.Merge(MakeDynamic<TypeParam>(4500, 4700, 1000)), IsOk());
  EXPECT_EQ(RowCounts(left), std::vector<uint64_t>({1000, 1000, 900, 1000, 800}));
  AddKeys(left, 4700, 5100);
  EXPECT_EQ(RowCounts(left), std::vector<uint64_t>({1000, 1000, 1000, 1000, 1000, 100}));
  EXPECT_EQ(left.added_count(), 5100u);
  EXPECT_EQ(CountKeys(left, 0, 5100), 5100u);
  EXPECT_NEAR(left.CurrentFpp() / left.PredictedFpp(5100), 1, 0.1);
  EXPECT_THAT(DynamicFilter<TypeParam>::Load(left.Serialize()), IsOk());
}

TYPED_TEST(DynamicTest, MergesWithItselfAndWithAnEmptyFilter) {
  auto filter = MakeDynamic<TypeParam>(0, 1700, 1000);
  const std::string before = filter.Serialize();
  ASSERT_THAT(filter.Merge(MakeDynamic<TypeParam>(0, 0, 1000)), IsOk());
  EXPECT_EQ(filter.Serialize(), before);
  auto empty = MakeDynamic<TypeParam>(0, 0, 1000);
  ASSERT_THAT(empty.Merge(filter), IsOk());
  EXPECT_EQ(empty.Serialize(), before);
  ASSERT_THAT(filter.Merge(filter), IsOk());
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({1000, 700, 1000, 700}));
  EXPECT_EQ(CountKeys(filter, 0, 1700), 1700u);
  auto full = MakeDynamic<TypeParam>(0, 2000, 1000);
  const std::string full_before = full.Serialize();
  ASSERT_THAT(full.Merge(MakeDynamic<TypeParam>(0, 0, 1000)), IsOk());
  EXPECT_EQ(full.Serialize(), full_before);
}

// Full rows are appended, and the others go where there is room, in any order.
TYPED_TEST(DynamicTest, MergesManyRowsIntoTheFirstWithRoom) {
  auto filter = MakeDynamic<TypeParam>(0, 2400, 1000);
  ASSERT_THAT(filter.Merge(MakeDynamic<TypeParam>(2400, 6100, 1000)), IsOk());
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({1000, 1000, 400, 1000, 1000, 1000, 700}));
  ASSERT_THAT(filter.Merge(MakeDynamic<TypeParam>(6100, 6400, 1000)), IsOk());
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({1000, 1000, 700, 1000, 1000, 1000, 700}));
  EXPECT_EQ(CountKeys(filter, 0, 6400), 6400u);
  auto empty = MakeDynamic<TypeParam>(0, 0, 1000);
  ASSERT_THAT(empty.Merge(filter), IsOk());
  EXPECT_EQ(RowCounts(empty), RowCounts(filter));
}

TYPED_TEST(DynamicTest, RefusesToMergeDifferentFilters) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  auto filter = MakeDynamic<TypeParam>(0, 1500, 1000);
  const std::string before = filter.Serialize();
  const bloom::Shape shape = filter.row(0).shape();
  const auto refused = [&](const bloom::Shape& rows, uint64_t capacity, double fpp, uint64_t seed,
                           const char* what) {
    const auto other = DynamicFilter<TypeParam>::MakeOfShape(capacity, rows, fpp, seed).value();
    EXPECT_THAT(filter.Merge(other), StatusIs(kInvalid, HasSubstr(what)));
    EXPECT_EQ(filter.Serialize(), before);
  };
  bloom::Shape larger = shape, more_probes = shape;
  ++larger.size;
  ++more_probes.probes;
  refused(shape, 1001, 0.01, 3, "row capacities 1000 and 1001");
  refused(larger, 1000, 0.01, 3, "sizes");
  refused(more_probes, 1000, 0.01, 3, "probes");
  refused(shape, 1000, 0.02, 3, "target_fpp");
  refused(shape, 1000, 0.01, 4, "seeds");
  EXPECT_THAT(filter.Merge(DynamicFilter<TypeParam>::MakeOfShape(1000, shape, 0.01, 3).value()),
              IsOk());
}

TYPED_TEST(DynamicTest, ClearLeavesOneEmptyRow) {
  auto filter = MakeDynamic<TypeParam>(0, 5000, 1000);
  filter.Clear();
  EXPECT_EQ(filter.Serialize(), MakeDynamic<TypeParam>(0, 0, 1000).Serialize());
  AddKeys(filter, 0, 1500);
  EXPECT_EQ(filter.Serialize(), MakeDynamic<TypeParam>(0, 1500, 1000).Serialize());
}

// Flips every bit of the rows and truncates each row, under the right outer checksum.  The rows
// have their own checksums.
TYPED_TEST(DynamicTest, DamageInARowIsDataLossThatNamesTheRow) {
  const std::string sound = MakeDynamic<TypeParam>(0, 50, 20, 0.1).Serialize();
  const std::vector<std::string> parts = PartsOf(sound);
  ASSERT_EQ(parts.size(), 3u);
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t bit = 0; bit < 8 * parts[i].size(); ++bit) {
      std::vector<std::string> damaged = parts;
      damaged[i][bit / 8] = static_cast<char>(damaged[i][bit / 8] ^ (1 << (bit % 8)));
      ASSERT_THAT(LoadRowsAndUse<DynamicFilter<TypeParam>>(WithParts(sound, damaged)),
                  StatusIs(kDynamicLoss, HasSubstr("row " + std::to_string(i))))
          << "bit " << bit;
    }
    for (size_t size = 0; size < parts[i].size(); ++size) {
      std::vector<std::string> damaged = parts;
      damaged[i].resize(size);
      ASSERT_THAT(LoadRowsAndUse<DynamicFilter<TypeParam>>(WithParts(sound, damaged)),
                  StatusIs(kDynamicLoss, HasSubstr("row " + std::to_string(i))))
          << size;
    }
  }
}

TYPED_TEST(DynamicTest, MismatchedRowsAreDataLoss) {
  using Filter = DynamicFilter<TypeParam>;
  const std::string sound = MakeDynamic<TypeParam>(0, 50, 20, 0.1).Serialize();
  const std::vector<std::string> parts = PartsOf(sound);
  const auto with_row = [&](const TypeParam& row) {
    return WithParts(sound, {parts[0], row.Serialize(), parts[2]});
  };
  const bloom::Shape shape = MakeDynamic<TypeParam>(0, 0, 20, 0.1).row(0).shape();
  bloom::Shape larger = shape, more_probes = shape;
  ++larger.size;
  ++more_probes.probes;
  const auto row = [](const bloom::Shape& of, double fpp, uint64_t seed) {
    auto made = TypeParam::MakeOfShape(of, fpp, seed).value();
    AddKeys(made, 20, 40);
    return made;
  };
  EXPECT_THAT(Filter::Load(with_row(row(shape, 0.1, 3))), IsOk());
  const auto loss = [](const char* what) { return StatusIs(kDynamicLoss, HasSubstr(what)); };
  EXPECT_THAT(Filter::Load(with_row(row(shape, 0.1, 4))), loss("row 1 has another seed"));
  EXPECT_THAT(Filter::Load(with_row(row(larger, 0.1, 3))), loss("row 1 has another shape"));
  EXPECT_THAT(Filter::Load(with_row(row(more_probes, 0.1, 3))), loss("row 1 has another shape"));
  EXPECT_THAT(Filter::Load(with_row(row(shape, 0.2, 3))), loss("row 1 has another shape"));
  EXPECT_THAT(Filter::Load(WithParts(sound, {})), loss("0 parts"));
  EXPECT_THAT(Filter::Load(WithParts(sound, {parts[0], parts[1]})), loss("number of keys"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 24, 51)), loss("number of keys"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 32, 0)), StatusIs(kDynamicLoss));
  const std::string empty = MakeDynamic<TypeParam>(0, 0, 20, 0.1).Serialize();
  EXPECT_THAT(Filter::Load(WithNumberAt(empty, 32, 0)), loss("no room"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 16, 4)), loss("seed"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 48, 0x100 + TypeParam::kTag)), loss("detail"));
  std::string probes = sound;
  probes[10] = static_cast<char>(probes[10] + 1);
  testing_support::RepairChecksum(probes);
  EXPECT_THAT(Filter::Load(probes), loss("probes"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 40, bloom::Load64(&sound[40]) + 1)),
              loss("another target"));
  // A row of a newer version is not damage.
  std::vector<std::string> newer = parts;
  newer[2][9] = 9;
  testing_support::RepairChecksum(newer[2]);
  EXPECT_THAT(Filter::Load(WithParts(sound, newer)),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("row 2")));
}

TYPED_TEST(DynamicTest, ForgedRowsAreHarmless) {
  const std::string sound = MakeDynamic<TypeParam>(0, 50, 20, 0.1).Serialize();
  EXPECT_GT(testing_support::LoadWithForgedParts<DynamicFilter<TypeParam>>(sound, 5, 3000), 0);
}

TEST(DynamicRowsTest, RefusesRowsOfAnotherKind) {
  const std::string bytes = MakeDynamic<StandardRow>(0, 50, 20).Serialize();
  EXPECT_THAT(DynamicFilter<BlockedRow>::Load(bytes),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rows of kind 2, not 3")));
  // Bytes with another kind in the header are damaged, although their rows have the right kind.
  EXPECT_THAT(DynamicFilter<BlockedRow>::Load(WithNumberAt(bytes, 48, 3)),
              StatusIs(kDynamicLoss, HasSubstr("row 0")));
}

TEST(DynamicRowsTest, BytesMatchTheDrawing) {
  const auto filter = MakeDynamic<StandardRow>(0, 50, 20);
  const std::string bytes = filter.Serialize();
  EXPECT_EQ(bytes[8], 71);
  EXPECT_EQ(bytes[10], static_cast<char>(filter.row(0).shape().probes));
  EXPECT_EQ(bloom::Load64(&bytes[24]), 50u);
  EXPECT_EQ(bloom::Load64(&bytes[32]), 20u);
  EXPECT_EQ(bloom::Load64(&bytes[48]), 2u);  // standard
  std::vector<std::string> parts;
  for (size_t i = 0; i < 3; ++i) parts.push_back(filter.row(i).Serialize());
  EXPECT_EQ(PartsOf(bytes), parts);
}

TEST(DynamicRowsTest, NamesTellTheRows) {
  EXPECT_EQ(DynamicFilter<>::kName, "dynamic-blocked");
  EXPECT_EQ(DynamicFilter<StandardRow>::kName, "dynamic-standard");
  EXPECT_EQ(DynamicFilter<CountingFilter>::kName, "dynamic-counting");
}

TEST(DynamicRowsTest, BadCapacitiesAndShapesAreNamed) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(DynamicFilter<>::MakeOfShape(0, {10, 5}, 0.01),
              StatusIs(kInvalid, HasSubstr("row_capacity")));
  EXPECT_THAT(DynamicFilter<>::MakeOfShape(10, {0, 5}, 0.01),
              StatusIs(kInvalid, HasSubstr("shape")));
  using Counting = DynamicFilter<CountingFilter>;
  EXPECT_THAT(Counting::MakeOfShape(10, {10, 0, 4}, 0.01), StatusIs(kInvalid, HasSubstr("probes")));
  EXPECT_THAT(Counting::MakeOfShape(10, {10, 5, 0}, 0.01),
              StatusIs(kInvalid, HasSubstr("counters")));
  EXPECT_THAT(Counting::MakeOfShape(10, {0, 5, 4}, 0.01),
              StatusIs(kInvalid, HasSubstr("counters")));
  EXPECT_THAT(Counting::MakeOfShape(10, {uint64_t{1} << 55, 5, 4}, 0.01),
              StatusIs(kInvalid, HasSubstr("2^56")));
  EXPECT_THAT(Counting::MakeOfShape(10, {10, 5, 4}, 1.5),
              StatusIs(kInvalid, HasSubstr("target_fpp")));
}

// The figures of Guo et al.'s formula for rows of 9585 bits, 7 probes and 1000 keys.  The formula
// uses the classic rate of a row, which is 0.07 % too low.
TEST(DynamicRowsTest, TheFormulaGivesThePublishedRates) {
  constexpr bloom::Shape kShape = {9585, 7};
  const auto rates = [&](uint64_t keys) {
    double measured = 0, predicted = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      auto filter = DynamicFilter<StandardRow>::MakeOfShape(1000, kShape, 0.01, seed).value();
      AddKeys(filter, 0, keys);
      measured += static_cast<double>(CountKeys(filter, keys, keys + 30'000)) / 30'000 / 20;
      predicted = filter.PredictedFpp(keys);
    }
    EXPECT_NEAR(measured / predicted, 1, 0.03) << keys;
    return predicted;
  };
  EXPECT_NEAR(rates(3500), 0.0301, 0.00005);
  const double published = 1 - std::pow(1 - bloom::ClassicFpp(9585, 7, 1000), 10);
  EXPECT_NEAR(published, 0.0960, 0.00005);
  EXPECT_NEAR(rates(10'000) / published, 1.0007, 0.0001);
  const auto filter = DynamicFilter<StandardRow>::MakeOfShape(1000, kShape, 0.01).value();
  EXPECT_EQ(filter.PredictedFpp(0), 0);
  EXPECT_NEAR(filter.PredictedFpp(1000), bloom::StandardFpp(9585, 7, 1000), 1e-12);
  EXPECT_EQ(filter.PredictedFpp(UINT64_MAX), 1);
}

// The same keys in another order are in other rows.  An intersection row by row would deny most of
// them, so the filter does not offer one.
TEST(DynamicRowsTest, IntersectingRowsWouldDenySharedKeys) {
  static_assert(!CanIntersect<DynamicFilter<>> && CanIntersect<BlockedRow>);
  constexpr uint64_t kKeys = 2000;
  std::vector<BlockedRow> here, there;
  for (int i = 0; i < 2; ++i) {
    here.push_back(BlockedRow::Make(1000, 0.01, 3).value());
    there.push_back(BlockedRow::Make(1000, 0.01, 3).value());
  }
  for (uint64_t i = 0; i < kKeys; ++i) {
    here[i / 1000].AddDigest(DigestOfKey(i));
    there[1 - i / 1000].AddDigest(DigestOfKey(i));
  }
  for (size_t i = 0; i < 2; ++i) ASSERT_THAT(here[i].Intersect(there[i]), IsOk());
  uint64_t passing = 0;
  for (uint64_t i = 0; i < kKeys; ++i) passing += bloom::AnyMayContain(here, DigestOfKey(i));
  EXPECT_LT(passing, kKeys / 10);
}

TEST(DynamicRowsTest, OverfillsTheLastRowWithoutMemory) {
  ScarceRow::rows_left = 2;
  auto filter = DynamicFilter<ScarceRow>::Make(1000, 0.01, 3).value();
  AddKeys(filter, 0, 2500);
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({1000, 1500}));
  EXPECT_EQ(CountKeys(filter, 0, 2500), 2500u);
  const std::string before = filter.Serialize();
  EXPECT_THAT(filter.Merge(filter), StatusIs(absl::StatusCode::kResourceExhausted));
  ScarceRow::rows_left = 1;  // half of the rows that it needs
  EXPECT_THAT(filter.Merge(filter), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(filter.Serialize(), before);
  ScarceRow::rows_left = 1;
  EXPECT_THAT(DynamicFilter<ScarceRow>::Load(before),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("row 1")));
  ScarceRow::rows_left = 6;
  EXPECT_THAT(DynamicFilter<ScarceRow>::Load(before), IsOk());
  AddKeys(filter, 2500, 3000);
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({1000, 1500, 500}));
  ASSERT_THAT(filter.Merge(filter), IsOk());
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({1000, 1500, 1000, 1000, 1500}));
  ScarceRow::rows_left = 0;
  EXPECT_THAT(DynamicFilter<ScarceRow>::Make(10, 0.1, 3),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// --- with counting rows ---

using CountingRows = DynamicFilter<CountingFilter>;

TEST(DynamicCountingTest, RemovesKeysOfExactlyOneRow) {
  auto filter = MakeDynamic<CountingFilter>(0, 3000, 1000, 1e-6);
  for (uint64_t i = 500; i < 2500; ++i) ASSERT_TRUE(filter.RemoveDigest(DigestOfKey(i)));
  EXPECT_EQ(CountKeys(filter, 500, 2500), 0u);
  EXPECT_EQ(CountKeys(filter, 0, 500) + CountKeys(filter, 2500, 3000), 1000u);
  EXPECT_EQ(filter.added_count(), 1000u);
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({500, 0, 500}));
  // The rows with room take the next keys, from the first row on.
  AddKeys(filter, 5000, 6600);
  EXPECT_EQ(RowCounts(filter), std::vector<uint64_t>({1000, 1000, 600}));
  EXPECT_EQ(CountKeys(filter, 5000, 6600), 1600u);
}

TEST(DynamicCountingTest, RefusesAbsentAndAmbiguousKeys) {
  auto filter = CountingRows::Make(2, 1e-6, 3).value();
  filter.Add("apple");
  filter.Add("pear");
  filter.Add("apple");  // into the second row
  const std::string before = filter.Serialize();
  EXPECT_FALSE(filter.Remove("plum"));
  EXPECT_FALSE(filter.Remove("apple"));
  EXPECT_EQ(filter.Serialize(), before);
  EXPECT_TRUE(filter.MayContain("apple"));
  EXPECT_TRUE(filter.Remove("pear"));
  EXPECT_FALSE(filter.MayContain("pear"));
  EXPECT_TRUE(filter.MayContain("apple"));
  static_assert(!CanRemove<DynamicFilter<BlockedRow>> && CanRemove<CountingRows>);
}

// Refuses the share of removals whose keys also pass another row by accident.
TEST(DynamicCountingTest, RefusesAsManyRemovalsAsItSays) {
  constexpr uint64_t kCapacity = 10'000;
  constexpr uint64_t kRows = 11;
  double refused = 0, row_fpp = 0;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    auto filter = MakeDynamic<CountingFilter>(0, kRows * kCapacity, kCapacity, 0.01, seed);
    row_fpp = filter.row(0).PredictedFpp(kCapacity);
    // Removes a key of the first row and adds it again at once, so that the rows do not change.
    for (uint64_t i = 0; i < kCapacity; ++i) {
      if (!filter.RemoveDigest(DigestOfKey(i))) {
        ++refused;
      } else {
        filter.AddDigest(DigestOfKey(i));
      }
    }
    EXPECT_EQ(CountKeys(filter, 0, kRows * kCapacity), kRows * kCapacity);
  }
  const double predicted = 1 - std::pow(1 - row_fpp, kRows - 1);
  EXPECT_NEAR(refused / (2 * kCapacity) / predicted, 1, 0.08);  // a standard error of 2.2 %
}

TEST(DynamicCountingTest, RemovalsDenyNoOtherKey) {
  auto filter = MakeDynamic<CountingFilter>(0, 30'000, 1000, 0.02);
  for (uint64_t i = 0; i < 30'000; i += 2) filter.RemoveDigest(DigestOfKey(i));
  for (uint64_t i = 1; i < 30'000; i += 2)
    ASSERT_TRUE(filter.MayContainDigest(DigestOfKey(i))) << i;
  EXPECT_LT(filter.row_count() * 1000, 31'000u);
}

TEST(DynamicTest, RepeatedKeysTakeNoRoom) {
  auto filter = DynamicFilter<>::Make(10, 0.01).value();
  EXPECT_TRUE(filter.AddIfAbsent("the same key"));
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(filter.AddIfAbsent("the same key"));
  EXPECT_EQ(filter.added_count(), 1u);
  EXPECT_THAT(DynamicFilter<>::Make(0, 0.01),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("row_capacity")));
}

}  // namespace
