#include "bloom/literature/shifting_association.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "bloom/core/bits.h"
#include "bloom/core/sizing.h"
#include "bloom/filter_policy.h"
#include "tests/bloom/hostile_bytes.h"
#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using Association = bloom::ShiftingAssociationFilter;
using testing::HasSubstr;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::StatusIs;

constexpr uint32_t kRegions[] = {Association::kFirstOnly, Association::kBoth,
                                 Association::kSecondOnly};

// Adds the keys [from, to) to the three regions in turn.
void AddAssociated(Association& filter, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; ++i) {
    const uint32_t region = kRegions[i % 3];
    filter.AddDigest(DigestOfKey(i), region != Association::kSecondOnly,
                     region != Association::kFirstOnly);
  }
}
Association MakeAssociated(uint64_t from, uint64_t to, uint64_t planned, double rate = 0.01,
                           uint64_t seed = 3) {
  Association filter = Association::Make(planned, rate, seed).value();
  AddAssociated(filter, from, to);
  return filter;
}

// Answers for the keys [0, keys), by the number of regions in the answer.
struct Answers {
  std::array<double, 4> of_regions{};
  uint64_t wrong = 0;  // without the key's own region
  double foreign = 0;  // absent keys with a region in the answer
};
Answers AskAssociated(const Association& filter, uint64_t keys, uint64_t foreign_keys) {
  Answers answers;
  for (uint64_t i = 0; i < keys; ++i) {
    const uint32_t answer = filter.QueryDigest(DigestOfKey(i));
    answers.wrong += (answer & kRegions[i % 3]) == 0 || answer > 7;
    answers.of_regions[static_cast<size_t>(std::popcount(answer & 7))] +=
        1 / static_cast<double>(keys);
  }
  for (uint64_t i = keys; i < keys + foreign_keys; ++i)
    answers.foreign +=
        (filter.QueryDigest(DigestOfKey(i)) != 0) / static_cast<double>(foreign_keys);
  return answers;
}

TEST(ShiftingAssociationTest, TellsTheSetsOfAKey) {
  Association filter = Association::Make(100, 1e-6, 5).value();
  filter.Add("apple", true, false);
  filter.Add("pear", true, true);
  filter.Add("plum", false, true);
  filter.Add("fig", false, false);
  EXPECT_EQ(filter.Query("apple"), Association::kFirstOnly);
  EXPECT_EQ(filter.Query("pear"), Association::kBoth);
  EXPECT_EQ(filter.Query("plum"), Association::kSecondOnly);
  EXPECT_EQ(filter.Query("fig"), 0u);
  EXPECT_EQ(filter.Query(""), 0u);
  EXPECT_EQ(filter.QueryDigest(filter.DigestOf("pear")), Association::kBoth);
  EXPECT_EQ(filter.added_count(), 3u);  // a key of neither set is not counted
  EXPECT_EQ(filter.seed(), 5u);
  EXPECT_EQ(filter.unclear_rate(), 1e-6);
  EXPECT_EQ(filter.size_bits(), filter.shape().size + 56);
  filter.Add("apple", true, true);
  EXPECT_EQ(filter.Query("apple"), Association::kFirstOnly | Association::kBoth);
}

TEST(ShiftingAssociationTest, TheRegionOfAKeyIsAlwaysInTheAnswer) {
  for (const uint64_t keys : {1, 2, 3, 10, 100, 1000, 30'000}) {
    for (const double rate : {0.9, 0.3, 0.01, 1e-6}) {
      const Association filter = MakeAssociated(0, keys, keys, rate, keys);
      EXPECT_EQ(AskAssociated(filter, keys, 0).wrong, 0u) << keys << " keys at " << rate;
    }
  }
  EXPECT_EQ(AskAssociated(MakeAssociated(0, 5000, 500), 5000, 0).wrong, 0u);  // overfilled
}

// m = kn / ln 2, where half of the bits are ones.
TEST(ShiftingAssociationTest, AnswersAreAsClearAsPredicted) {
  constexpr uint64_t kKeys = 200'000;
  for (const uint32_t probes : {2, 4, 6}) {
    const auto bases = static_cast<uint64_t>(probes * kKeys / std::log(2.0));
    const double f = std::pow(0.5, probes);
    Answers sum;
    constexpr uint64_t kSeeds = 5;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Association filter = Association::MakeOfShape({bases, probes}, 0.1, seed).value();
      AddAssociated(filter, 0, kKeys);
      const Answers answers = AskAssociated(filter, kKeys, kKeys);
      for (size_t i = 0; i < 4; ++i) sum.of_regions[i] += answers.of_regions[i] / kSeeds;
      sum.foreign += answers.foreign / kSeeds;
      EXPECT_EQ(answers.wrong, 0u);
      const Association::Rates predicted = filter.PredictedRates(kKeys);
      EXPECT_NEAR(predicted.clear, (1 - f) * (1 - f), 1e-5);
      EXPECT_NEAR(predicted.partial, f * (1 - f), 1e-5);
      EXPECT_NEAR(predicted.unclear / std::pow(0.25, probes), 1, 1e-3);
      EXPECT_NEAR(predicted.foreign, 1 - std::pow(1 - f, 3), 1e-5);
      const Association::Rates current = filter.CurrentRates();
      EXPECT_NEAR(current.foreign / predicted.foreign, 1, 0.03);
      EXPECT_NEAR(answers.foreign / current.foreign, 1, 0.04);
    }
    EXPECT_NEAR(sum.of_regions[1], (1 - f) * (1 - f), 0.002) << probes;
    EXPECT_NEAR(sum.of_regions[2] / (2 * f * (1 - f)), 1, 0.03) << probes;
    EXPECT_NEAR(sum.foreign / (1 - std::pow(1 - f, 3)), 1, 0.03) << probes;
    if (probes < 6) {  // 10^6 keys: 62,500 and 3906 of them
      EXPECT_NEAR(sum.of_regions[3] / std::pow(0.25, probes), 1, probes == 2 ? 0.03 : 0.06);
    }
  }
}

TEST(ShiftingAssociationTest, SizedForTheRateOfUnclearAnswers) {
  constexpr uint64_t kKeys = 300'000;
  for (const double rate : {0.3, 0.05}) {
    const Association filter = MakeAssociated(0, kKeys, kKeys, rate);
    const Association::Rates predicted = filter.PredictedRates(kKeys);
    EXPECT_LE(1 - predicted.clear, rate * 1.0001);
    EXPECT_GT(1 - predicted.clear, rate * 0.999);
    EXPECT_NEAR(predicted.clear + 2 * predicted.partial + predicted.unclear, 1, 1e-12);
    EXPECT_NEAR((1 - AskAssociated(filter, kKeys, 0).of_regions[1]) / rate, 1, 0.03);
    for (const uint64_t keys : {kKeys / 2, 2 * kKeys}) {
      const Association other = MakeAssociated(0, keys, kKeys, rate);
      const Answers answers = AskAssociated(other, keys, 300'000);
      const double open = 1 - other.PredictedRates(keys).clear;
      const double error = 1 / std::sqrt(open * static_cast<double>(keys));
      EXPECT_NEAR((1 - answers.of_regions[1]) / open, 1, 0.02 + 3 * error) << keys;
      EXPECT_NEAR(answers.foreign / other.PredictedRates(keys).foreign, 1, 0.05) << keys;
      EXPECT_NEAR(answers.foreign / other.CurrentRates().foreign, 1, 0.05) << keys;
    }
  }
}

TEST(ShiftingAssociationTest, AnySpreadOverTheRegionsIsFine) {
  constexpr uint64_t kKeys = 200'000;
  for (const uint32_t region : kRegions) {
    Association filter = Association::Make(kKeys, 0.1, 9).value();
    for (uint64_t i = 0; i < kKeys; ++i) {
      filter.AddDigest(DigestOfKey(i), region != Association::kSecondOnly,
                       region != Association::kFirstOnly);
    }
    double clear = 0;
    for (uint64_t i = 0; i < kKeys; ++i) clear += filter.QueryDigest(DigestOfKey(i)) == region;
    EXPECT_NEAR((1 - clear / kKeys) / (1 - filter.PredictedRates(kKeys).clear), 1, 0.04) << region;
  }
}

// In a filter of one base, the bit of a key shows the key's offset.
TEST(ShiftingAssociationTest, OffsetsMatchThePaper) {
  constexpr int kKeys = 28 * 28 * 50;
  std::array<int, 57> first{}, both{}, second{};
  Association filter = Association::MakeOfShape({1, 1}, 0.5, 1).value();
  const auto distance = [&](uint64_t key, bool in_first, bool in_second) {
    filter.Clear();
    filter.AddDigest(DigestOfKey(key), in_first, in_second);
    return std::countr_zero(bloom::Load64(filter.Serialize().data() + 64));
  };
  for (uint64_t key = 0; key < kKeys; ++key) {
    ++first.at(distance(key, true, false));
    ++both.at(distance(key, true, true));
    ++second.at(distance(key, false, true));
  }
  EXPECT_EQ(first[0], kKeys);
  for (int i = 0; i <= 56; ++i) {
    // One number of 28, and the sum of two.
    const int of_both = i >= 1 && i <= 28 ? kKeys / 28 : 0;
    const int of_second = i >= 2 ? kKeys / (28 * 28) * (28 - std::abs(i - 29)) : 0;
    EXPECT_NEAR(both[i], of_both, 6 * std::sqrt(of_both)) << i;
    EXPECT_NEAR(second[i], of_second, 6 * std::sqrt(of_second)) << i;
  }
}

TEST(ShiftingAssociationTest, SurvivesSavingAndLoading) {
  const Association filter = MakeAssociated(0, 3000, 2000);
  const std::string bytes = filter.Serialize();
  absl::StatusOr<Association> loaded = Association::Load(bytes);
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->Serialize(), bytes);
  EXPECT_EQ(loaded->added_count(), 3000u);
  for (uint64_t i = 0; i < 10'000; ++i)
    ASSERT_EQ(loaded->QueryDigest(DigestOfKey(i)), filter.QueryDigest(DigestOfKey(i)));
  AddAssociated(*loaded, 3000, 4000);
  EXPECT_EQ(loaded->Serialize(), MakeAssociated(0, 4000, 2000).Serialize());
  // A reader of files answers "maybe" to it.
  const bloom::FilterReader reader = bloom::FilterReader::Open(bytes);
  EXPECT_EQ(reader.state(), bloom::FilterState::kUnknown);
  EXPECT_TRUE(reader.MayContain(DigestOfKey(1'000'000)));
}

TEST(ShiftingAssociationTest, MergeKeepsTheSetsOfBoth) {
  Association left = MakeAssociated(0, 3000, 10'000);
  ASSERT_THAT(left.Merge(MakeAssociated(2000, 7000, 10'000)), IsOk());
  EXPECT_EQ(AskAssociated(left, 7000, 0).wrong, 0u);
  EXPECT_EQ(left.added_count(), 8000u);
  EXPECT_EQ(left.Serialize().substr(64), MakeAssociated(0, 7000, 10'000).Serialize().substr(64));
  const std::string before = left.Serialize();
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(left.Merge(MakeAssociated(0, 10, 10'000, 0.01, 4)),
              StatusIs(kInvalid, HasSubstr("seeds")));
  EXPECT_THAT(left.Merge(MakeAssociated(0, 10, 20'000)), StatusIs(kInvalid, HasSubstr("sizes")));
  EXPECT_EQ(left.Serialize(), before);
  left.Clear();
  EXPECT_EQ(left.Serialize(), MakeAssociated(0, 0, 10'000).Serialize());
  EXPECT_EQ(left.CurrentRates().foreign, 0);
}

TEST(ShiftingAssociationTest, BadParametersAreNamedErrors) {
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(Association::Make(0, 0.01), refused("key_count"));
  for (const double rate : {0.0, 1.0, -0.5, 2.0, 1e-10, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(Association::Make(10, rate), refused("unclear_rate")) << rate;
    EXPECT_THAT(Association::MakeOfShape({100, 3}, rate), refused("unclear_rate")) << rate;
  }
  EXPECT_THAT(Association::Make(10, 2 * bloom::kMinTargetFpp), IsOk());
  EXPECT_THAT(Association::Make(10, 1 - 1e-15), IsOk());
  EXPECT_THAT(Association::Make(UINT64_MAX, 0.01), refused("2^56"));
  EXPECT_THAT(Association::MakeOfShape({0, 3}, 0.01), refused("shape: "));
  EXPECT_THAT(Association::MakeOfShape({100, 33}, 0.01), refused("33 probes"));
  EXPECT_THAT(Association::MakeOfShape({UINT64_MAX, 3}, 0.01), refused("2^56"));
}

absl::Status UseAssociation(std::string_view bytes) {
  absl::StatusOr<Association> filter = Association::Load(bytes);
  if (!filter.ok()) return filter.status();
  AddAssociated(*filter, 0, 50);
  EXPECT_EQ(AskAssociated(*filter, 50, 50).wrong, 0u);
  filter->PredictedRates(10);
  filter->CurrentRates();
  EXPECT_THAT(Association::Load(filter->Serialize()), IsOk());
  filter->Clear();
  return absl::OkStatus();
}

TEST(ShiftingAssociationTest, AnyBytesAreHarmless) {
  const std::string sound = MakeAssociated(0, 100, 100, 0.1).Serialize();
  testing_support::ExpectAllDamageIsDataLoss(sound, &UseAssociation);
  testing_support::ExpectOthersAreRefusedByName(sound, &UseAssociation);
  testing_support::ExpectForgeriesDoNoHarm(sound, 20'220'101, 20'000, &UseAssociation);
  std::string tail = sound;  // one bit after the last
  ASSERT_NE((bloom::Load64(&tail[32]) + 56) % 8, 0u) << "choose another number of keys";
  tail.back() = static_cast<char>(static_cast<uint8_t>(tail.back()) | 0x80);
  testing_support::RepairChecksum(tail);
  EXPECT_THAT(UseAssociation(tail),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("after its last bit")));
}

TEST(ShiftingAssociationTest, CountsKeysByItsBits) {
  Association filter = Association::Make(100'000, 0.01).value();
  EXPECT_EQ(filter.EstimatedKeyCount(), 0);
  EXPECT_EQ(filter.CountOnes(), 0u);
  AddAssociated(filter, 0, 50'000);
  EXPECT_NEAR(filter.EstimatedKeyCount() / 50'000, 1, 0.01);
  const auto bits = static_cast<double>(filter.shape().size);
  const double throws = 50'000.0 * filter.shape().probes;
  EXPECT_NEAR(static_cast<double>(filter.CountOnes()) / (bits * -std::expm1(-throws / bits)), 1,
              0.01);
}

}  // namespace
