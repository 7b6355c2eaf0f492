// The common contract of all filter objects: each is tested against its promises.
#include "bloom/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/filter_format.h"
#include "bloom/filter_policy.h"
#include "tests/bloom/hostile_bytes.h"
#include "tests/bloom/kinds.h"
#include "tests/bloom/use_loaded.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using testing::HasSubstr;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::LoadAndUse;
using testing_support::StatusIs;

// Promises that some filters do not make.
template <class F>
struct Promises {
  // True if the filter holds all keys that were ever added; otherwise it holds at least the planned
  // number.
  static constexpr bool kHoldsAllKeys = true;
};
template <class Row>
struct Promises<bloom::RotatingFilter<Row>> : Promises<Row> {
  static constexpr bool kHoldsAllKeys = false;
};

template <class List>
struct FilterTypesOf;
template <class... Filters>
struct FilterTypesOf<bloom::FilterList<Filters...>> {
  using type = testing::Types<Filters...>;
};

template <class F>
class FamilyTest : public testing::Test {
 protected:
  static F WithKeys(uint64_t from, uint64_t to, uint64_t planned, double fpp = 0.01,
                    uint64_t seed = 3) {
    F filter = F::Make(planned, fpp, seed).value();
    for (uint64_t i = from; i < to; ++i) filter.AddDigest(DigestOfKey(i));
    return filter;
  }

  static uint64_t CountPassing(const F& filter, uint64_t from, uint64_t to) {
    uint64_t passing = 0;
    for (uint64_t i = from; i < to; ++i) passing += filter.MayContainDigest(DigestOfKey(i));
    return passing;
  }
};
TYPED_TEST_SUITE(FamilyTest, FilterTypesOf<bloom::Family>::type, testing_support::KindNames);

TYPED_TEST(FamilyTest, NeverDeniesAKeyThatWasAdded) {
  for (const uint64_t keys : {1, 2, 3, 10, 100, 1000, 30'000}) {
    for (const double fpp : {0.5, 0.1, 0.01, 1e-4, 1e-6}) {
      const TypeParam filter = this->WithKeys(0, keys, keys, fpp, keys);
      ASSERT_EQ(this->CountPassing(filter, 0, keys), keys) << keys << " keys at " << fpp;
      EXPECT_EQ(filter.added_count(), keys);
    }
  }
}

TYPED_TEST(FamilyTest, KeepsMoreKeysThanPlanned) {
  const TypeParam filter = this->WithKeys(0, 5000, 1000);
  const uint64_t held = Promises<TypeParam>::kHoldsAllKeys ? 5000 : 1000;
  EXPECT_EQ(this->CountPassing(filter, 5000 - held, 5000), held);
}

TYPED_TEST(FamilyTest, MeetsItsTargetAndItsPrediction) {
  constexpr uint64_t kKeys = 100'000;
  for (const double fpp : {0.1, 0.01}) {
    double sum = 0, predicted = 0;
    constexpr uint64_t kSeeds = 5;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const TypeParam filter = this->WithKeys(0, kKeys, kKeys, fpp, seed);
      const auto queries = static_cast<uint64_t>(1e4 / fpp);  // a standard error of 1 %
      const double measured =
          static_cast<double>(this->CountPassing(filter, kKeys, kKeys + queries)) /
          static_cast<double>(queries);
      predicted = filter.PredictedFpp(kKeys);
      EXPECT_NEAR(measured / predicted, 1, 0.05) << fpp << ", " << seed;
      EXPECT_NEAR(measured / filter.CurrentFpp(), 1, 0.05) << fpp << ", " << seed;
      EXPECT_LE(measured, fpp * 1.05) << "seed " << seed;
      sum += measured;
    }
    EXPECT_NEAR(sum / kSeeds / predicted, 1, 0.03) << fpp;
    EXPECT_LE(predicted, fpp * 1.001);
  }
}

// The same at 0.001.  The standard error is 1 % for all seeds together and 2.2 % for one.
TYPED_TEST(FamilyTest, LowRatesMatchThePrediction) {
  constexpr uint64_t kKeys = 100'000, kSeeds = 5, kQueries = 2'000'000;
  double sum = 0, predicted = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const TypeParam filter = this->WithKeys(0, kKeys, kKeys, 0.001, seed);
    const double measured =
        static_cast<double>(this->CountPassing(filter, kKeys, kKeys + kQueries)) / kQueries;
    predicted = filter.PredictedFpp(kKeys);
    EXPECT_NEAR(measured / predicted, 1, 0.1) << seed;
    sum += measured;
  }
  EXPECT_NEAR(sum / kSeeds / predicted, 1, 0.04);
  EXPECT_LE(predicted, 0.001 * 1.001);
}

TYPED_TEST(FamilyTest, OverfillingRaisesTheRateAsPredicted) {
  constexpr uint64_t kPlanned = 20'000, kSeeds = 5;
  for (const uint64_t times : {2, 3}) {
    double sum = 0, predicted = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const TypeParam filter = this->WithKeys(0, times * kPlanned, kPlanned, 0.01, seed);
      predicted = filter.PredictedFpp(times * kPlanned);
      const auto queries = static_cast<uint64_t>(5e3 / predicted);  // a standard error of 1.4 %
      const double measured =
          static_cast<double>(this->CountPassing(filter, 1'000'000, 1'000'000 + queries)) /
          static_cast<double>(queries);
      EXPECT_NEAR(measured / predicted, 1, 0.06) << times << ", seed " << seed;
      EXPECT_NEAR(measured / filter.CurrentFpp(), 1, 0.06) << times << ", seed " << seed;
      sum += measured;
    }
    EXPECT_NEAR(sum / kSeeds / predicted, 1, 0.03) << times;
  }
}

TYPED_TEST(FamilyTest, CapacityIsAtLeastThePlannedKeys) {
  if constexpr (requires(const TypeParam& f) { f.KeyCapacity(); }) {
    for (const double fpp : {0.1, 0.01, 0.0001}) {
      for (const uint64_t planned : {10'000, 100'000}) {
        const TypeParam made = TypeParam::Make(planned, fpp).value();
        const uint64_t capacity = made.KeyCapacity();
        EXPECT_LE(made.PredictedFpp(capacity), fpp);
        EXPECT_GT(made.PredictedFpp(capacity + 1), fpp);
        // A line of 512 bits holds up to 106 keys at 0.1.
        EXPECT_GE(capacity, planned);
        EXPECT_LE(capacity, planned + 110) << fpp;
        EXPECT_EQ(TypeParam::Load(made.Serialize())->KeyCapacity(), capacity);
      }
    }
  }
}

TYPED_TEST(FamilyTest, CountsItsOnes) {
  if constexpr (requires(const TypeParam& f) { f.CountOnes(); }) {
    TypeParam filter = TypeParam::Make(10'000, 0.01).value();
    EXPECT_EQ(filter.CountOnes(), 0u);
    filter.AddDigest(DigestOfKey(7));
    const uint64_t of_one = filter.CountOnes();
    EXPECT_GE(of_one, 2u);
    EXPECT_LE(of_one, 12u);
    filter.AddDigest(DigestOfKey(7));
    EXPECT_EQ(filter.CountOnes(), of_one);
    for (uint64_t i = 8; i < 1000; ++i) filter.AddDigest(DigestOfKey(i));
    EXPECT_GT(filter.CountOnes(), 450 * of_one);
    EXPECT_EQ(TypeParam::Load(filter.Serialize())->CountOnes(), filter.CountOnes());
    filter.Clear();
    EXPECT_EQ(filter.CountOnes(), 0u);
  }
}

TYPED_TEST(FamilyTest, EstimatesTheNumberOfKeys) {
  if constexpr (requires(const TypeParam& f) { f.EstimatedKeyCount(); }) {
    for (const uint64_t keys : {0, 10'000, 50'000, 100'000}) {
      if (keys > 50'000 && !Promises<TypeParam>::kHoldsAllKeys) continue;
      const TypeParam filter = this->WithKeys(0, keys, 50'000);
      EXPECT_NEAR(filter.EstimatedKeyCount(), static_cast<double>(keys),
                  0.01 * static_cast<double>(keys));
    }
  }
}

TYPED_TEST(FamilyTest, TakesKeysAndDigests) {
  TypeParam filter = TypeParam::Make(100, 1e-6, 5).value();
  filter.Add("apple");
  EXPECT_TRUE(filter.MayContain("apple"));
  EXPECT_TRUE(filter.MayContainDigest(filter.DigestOf("apple")));
  EXPECT_FALSE(filter.MayContain("pear"));
  EXPECT_FALSE(filter.MayContain(""));
  filter.Add("");
  EXPECT_TRUE(filter.MayContain(""));
  EXPECT_EQ(filter.seed(), 5u);
  EXPECT_EQ(filter.target_fpp(), 1e-6);
  EXPECT_GT(filter.size_bits(), 0u);
}

TYPED_TEST(FamilyTest, SurvivesSavingAndLoading) {
  for (const uint64_t keys : {0, 1, 700, 3000}) {
    const TypeParam filter = this->WithKeys(0, keys, 1000);
    const std::string bytes = filter.Serialize();
    absl::StatusOr<TypeParam> loaded = TypeParam::Load(bytes);
    ASSERT_THAT(loaded, IsOk()) << keys;
    EXPECT_EQ(loaded->Serialize(), bytes);
    EXPECT_EQ(loaded->added_count(), keys);
    EXPECT_EQ(loaded->size_bits(), filter.size_bits());
    EXPECT_EQ(loaded->CurrentFpp(), filter.CurrentFpp());
    for (uint64_t i = 0; i < 10'000; ++i) {
      ASSERT_EQ(loaded->MayContainDigest(DigestOfKey(i)), filter.MayContainDigest(DigestOfKey(i)));
    }
    // The loaded filter continues like the saved one.
    TypeParam longer = this->WithKeys(0, keys, 1000);
    for (uint64_t i = keys; i < keys + 500; ++i) {
      loaded->AddDigest(DigestOfKey(i));
      longer.AddDigest(DigestOfKey(i));
    }
    EXPECT_EQ(loaded->Serialize(), longer.Serialize());
  }
}

TYPED_TEST(FamilyTest, NoFilterReaderDeniesAKeyByItsBytes) {
  const std::string bytes = this->WithKeys(0, 300, 300).Serialize();
  const bloom::FilterReader reader = bloom::FilterReader::Open(bytes);
  for (uint64_t i = 0; i < 300; ++i) EXPECT_TRUE(reader.MayContain(DigestOfKey(i)));
}

TYPED_TEST(FamilyTest, MergeKeepsTheKeysOfBoth) {
  TypeParam left = this->WithKeys(0, 3000, 30'000);
  ASSERT_THAT(left.Merge(this->WithKeys(3000, 7000, 30'000)), IsOk());
  EXPECT_EQ(this->CountPassing(left, 0, 7000), 7000u);
  EXPECT_EQ(left.added_count(), 7000u);
  EXPECT_EQ(left.Serialize(), this->WithKeys(0, 7000, 30'000).Serialize());
}

TYPED_TEST(FamilyTest, RefusesToMergeDifferentFilters) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  TypeParam filter = this->WithKeys(0, 1000, 10'000);
  const std::string before = filter.Serialize();
  EXPECT_THAT(filter.Merge(this->WithKeys(0, 10, 10'000, 0.01, 4)),
              StatusIs(kInvalid, HasSubstr("seeds")));
  EXPECT_THAT(filter.Merge(this->WithKeys(0, 10, 20'000)), StatusIs(kInvalid, HasSubstr("differ")));
  EXPECT_EQ(filter.Serialize(), before);
}

TYPED_TEST(FamilyTest, ClearForgetsAllKeys) {
  TypeParam filter = this->WithKeys(0, 5000, 1000);
  filter.Clear();
  EXPECT_EQ(this->CountPassing(filter, 0, 5000), 0u);
  EXPECT_EQ(filter.added_count(), 0u);
  EXPECT_EQ(filter.CurrentFpp(), 0);
  EXPECT_EQ(filter.Serialize(), this->WithKeys(0, 0, 1000).Serialize());
}

TYPED_TEST(FamilyTest, MovesWhole) {
  TypeParam filter = this->WithKeys(0, 1000, 1000);
  const std::string bytes = filter.Serialize();
  TypeParam moved = std::move(filter);
  EXPECT_EQ(moved.Serialize(), bytes);
  TypeParam other = this->WithKeys(0, 5, 10);
  other = std::move(moved);
  EXPECT_EQ(other.Serialize(), bytes);
  EXPECT_EQ(this->CountPassing(other, 0, 1000), 1000u);
}

TYPED_TEST(FamilyTest, BadParametersAreNamedErrors) {
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(TypeParam::Make(0, 0.01, 0), refused("must be at least 1"));
  for (const double fpp : {0.0, 1.0, -0.5, 2.0, std::nan(""), HUGE_VAL, 1e-300}) {
    EXPECT_THAT(TypeParam::Make(10, fpp, 0), refused("target_fpp")) << fpp;
  }
  EXPECT_THAT(TypeParam::Make(UINT64_MAX, 0.01, 0), refused("2^56"));
  // More memory than the machine has.
  EXPECT_FALSE(TypeParam::Make(uint64_t{1} << 50, 0.01, 0).ok());
}

// --- untrusted bytes ---

TYPED_TEST(FamilyTest, EveryFlippedBitAndEveryTruncationIsDataLoss) {
  testing_support::ExpectAllDamageIsDataLoss(this->WithKeys(0, 20, 20, 0.1).Serialize(),
                                             LoadAndUse<TypeParam>);
}

TYPED_TEST(FamilyTest, RefusesOtherKindsAndNewerVersions) {
  testing_support::ExpectOthersAreRefusedByName(this->WithKeys(0, 100, 100).Serialize(),
                                                LoadAndUse<TypeParam>);
}

TYPED_TEST(FamilyTest, ForgedBytesAreHarmless) {
  testing_support::ExpectForgeriesDoNoHarm(this->WithKeys(0, 50, 50, 0.05).Serialize(), 20'220'101,
                                           20'000, LoadAndUse<TypeParam>);
}

TYPED_TEST(FamilyTest, RandomBytesAreNoFilter) {
  Dice dice(7);
  const std::string sound = this->WithKeys(0, 5, 5).Serialize();
  for (int round = 0; round < 1000; ++round) {
    std::string bytes(dice.Roll(300), '\0');
    for (char& byte : bytes) byte = static_cast<char>(dice.Next());
    if (round % 2 == 0) bytes.replace(0, std::min<size_t>(bytes.size(), 16), sound, 0, 16);
    ASSERT_FALSE(LoadAndUse<TypeParam>(bytes).ok());
  }
}

}  // namespace
