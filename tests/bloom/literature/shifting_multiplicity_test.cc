#include "bloom/literature/shifting_multiplicity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "bloom/filter_policy.h"
#include "tests/bloom/hostile_bytes.h"
#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using Multiplicity = bloom::ShiftingMultiplicityFilter;
using testing::HasSubstr;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::StatusIs;

// Key i occurs 1 + i % most times.
void AddCounted(Multiplicity& filter, uint64_t from, uint64_t to, uint32_t most) {
  for (uint64_t i = from; i < to; ++i)
    ASSERT_THAT(filter.AddDigest(DigestOfKey(i), static_cast<uint32_t>(1 + i % most)), IsOk());
}
Multiplicity MakeCounted(uint64_t from, uint64_t to, uint64_t planned, double rate = 0.05,
                         uint64_t seed = 3) {
  Multiplicity filter = Multiplicity::Make(planned, 20, rate, seed).value();
  AddCounted(filter, from, to, 20);
  return filter;
}

TEST(ShiftingMultiplicityTest, ReportsTheCountOfAKey) {
  Multiplicity filter = Multiplicity::Make(100, 57, 1e-6, 5).value();
  for (uint32_t count = 1; count <= 57; ++count)
    ASSERT_THAT(filter.Add("key " + std::to_string(count), count), IsOk());
  for (uint32_t count = 1; count <= 57; ++count)
    EXPECT_EQ(filter.Count("key " + std::to_string(count)), count);
  EXPECT_EQ(filter.Count("plum"), 0u);
  EXPECT_EQ(filter.Count(""), 0u);
  EXPECT_EQ(filter.CountDigest(filter.DigestOf("key 9")), 9u);
  EXPECT_EQ(filter.added_count(), 57u);
  EXPECT_EQ(filter.seed(), 5u);
  EXPECT_EQ(filter.max_count(), 57u);
  EXPECT_EQ(filter.error_rate(), 1e-6);
  EXPECT_EQ(filter.size_bits(), filter.shape().size + 56);
  // Counts do not add up.
  ASSERT_THAT(filter.Add("key 9", 4), IsOk());
  EXPECT_EQ(filter.Count("key 9"), 9u);
  ASSERT_THAT(filter.Add("key 9", 40), IsOk());
  EXPECT_EQ(filter.Count("key 9"), 40u);
}

TEST(ShiftingMultiplicityTest, NeverReportsTooLowACount) {
  for (const uint32_t most : {1, 2, 3, 8, 20, 56, 57}) {
    for (const uint64_t keys : {1, 10, 100, 1000, 10'000}) {
      for (const double rate : {0.9, 0.1, 1e-5}) {
        Multiplicity filter = Multiplicity::Make(keys, most, rate, keys).value();
        AddCounted(filter, 0, 2 * keys, most);  // overfilled
        for (uint64_t i = 0; i < 2 * keys; ++i) {
          const uint32_t count = filter.CountDigest(DigestOfKey(i));
          ASSERT_GE(count, 1 + i % most) << most << ", " << keys << " keys at " << rate;
          ASSERT_LE(count, most);
        }
      }
    }
  }
}

// Six probes in a filter of half ones: f = 1/64, and (1 - f)^19 = 0.741.
TEST(ShiftingMultiplicityTest, OnlyHigherCountsCauseErrors) {
  constexpr uint64_t kKeys = 100'000;
  constexpr uint32_t kMost = 20;
  const auto bases = static_cast<uint64_t>(6 * kKeys / std::log(2.0));
  std::vector<double> right(kMost + 1, 0.0);  // by count
  constexpr uint64_t kSeeds = 5;
  constexpr double kOfEach = kSeeds * kKeys / kMost;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Multiplicity filter = Multiplicity::MakeOfShape({bases, 6, kMost}, 0.3, seed).value();
    AddCounted(filter, 0, kKeys, kMost);
    for (uint64_t i = 0; i < kKeys; ++i) {
      const auto count = static_cast<uint32_t>(1 + i % kMost);
      right[count] += (filter.CountDigest(DigestOfKey(i)) == count) / kOfEach;
    }
    for (uint64_t i = kKeys; i < 2 * kKeys; ++i)
      right[0] += (filter.CountDigest(DigestOfKey(i)) == 0) / static_cast<double>(kSeeds * kKeys);
    for (uint32_t count = 0; count <= kMost; ++count) {
      const double predicted = filter.PredictedCorrectRate(count, kKeys);
      EXPECT_NEAR(predicted, std::pow(1 - 1.0 / 64, kMost - count), 1e-4) << count;
      EXPECT_NEAR(filter.CurrentCorrectRate(count), predicted, 0.01) << count;
    }
  }
  const auto paper = [](uint32_t count) { return std::pow(1 - 1.0 / 64, count - 1.0); };
  // The tolerance is five standard errors of the number of wrong counts, plus 2 % for the variation
  // of filters.  For right counts, which are frequent, it would be too large.
  for (uint32_t count = 0; count < kMost; ++count) {
    const double wrong = 1 - std::pow(1 - 1.0 / 64, kMost - count);
    const double asked = count == 0 ? static_cast<double>(kSeeds * kKeys) : kOfEach;
    const double tolerance = std::min(0.012 / wrong, 0.02 + 5 / std::sqrt(wrong * asked));
    EXPECT_NEAR((1 - right[count]) / wrong, 1, tolerance) << count;
  }
  EXPECT_NEAR(right[1], 0.741, 0.012);
  EXPECT_NEAR(right[kMost], 1, 1e-9);
  // Equation 19 of the paper has them in reverse order.
  EXPECT_EQ(paper(1), 1);
  EXPECT_NEAR(paper(kMost), 0.741, 0.001);
}

TEST(ShiftingMultiplicityTest, SizedForTheErrorsOfAbsentKeys) {
  constexpr uint64_t kKeys = 200'000;
  for (const uint32_t most : {1, 20, 57}) {
    for (const double rate : {0.2, 0.02}) {
      for (const uint64_t keys : {kKeys, kKeys / 2, 2 * kKeys}) {
        Multiplicity filter = Multiplicity::Make(kKeys, most, rate, 7).value();
        AddCounted(filter, 0, keys, most);
        const auto queries = static_cast<uint64_t>(5e3 / rate);
        double wrong = 0;
        for (uint64_t i = 0; i < queries; ++i)
          wrong += filter.CountDigest(DigestOfKey(keys + i)) != 0;
        wrong /= static_cast<double>(queries);
        const double predicted = 1 - filter.PredictedCorrectRate(0, keys);
        if (predicted < 0.002) continue;
        const double noise = 4 / std::sqrt(predicted * static_cast<double>(queries));
        EXPECT_NEAR(wrong / predicted, 1, 0.02 + noise) << most << " at " << rate << ", " << keys;
        EXPECT_NEAR(wrong / (1 - filter.CurrentCorrectRate(0)), 1, 0.02 + noise) << most;
        if (keys == kKeys) {
          EXPECT_LE(predicted, rate * 1.0001);
          EXPECT_GT(predicted, rate * 0.999);
        }
      }
    }
  }
}

TEST(ShiftingMultiplicityTest, CountsAreOffsetsFromTheBases) {
  for (uint32_t count = 1; count <= 57; ++count) {  // of one base
    Multiplicity filter = Multiplicity::MakeOfShape({1, 3, 57}, 0.5, 1).value();
    ASSERT_THAT(filter.Add("apple", count), IsOk());
    EXPECT_EQ(bloom::Load64(filter.Serialize().data() + 64), uint64_t{1} << (count - 1));
    EXPECT_EQ(filter.Count("pear"), count);
  }
}

TEST(ShiftingMultiplicityTest, SurvivesSavingAndLoading) {
  const Multiplicity filter = MakeCounted(0, 3000, 2000);
  const std::string bytes = filter.Serialize();
  absl::StatusOr<Multiplicity> loaded = Multiplicity::Load(bytes);
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->Serialize(), bytes);
  EXPECT_EQ(loaded->added_count(), 3000u);
  EXPECT_EQ(loaded->max_count(), 20u);
  for (uint64_t i = 0; i < 10'000; ++i)
    ASSERT_EQ(loaded->CountDigest(DigestOfKey(i)), filter.CountDigest(DigestOfKey(i)));
  AddCounted(*loaded, 3000, 4000, 20);
  EXPECT_EQ(loaded->Serialize(), MakeCounted(0, 4000, 2000).Serialize());
  // A reader of files answers "maybe" to it.
  const bloom::FilterReader reader = bloom::FilterReader::Open(bytes);
  EXPECT_EQ(reader.state(), bloom::FilterState::kUnknown);
  EXPECT_TRUE(reader.MayContain(DigestOfKey(1'000'000)));
}

TEST(ShiftingMultiplicityTest, AMergedFilterReportsTheHigherCount) {
  Multiplicity left = MakeCounted(0, 3000, 10'000);
  ASSERT_THAT(left.Merge(MakeCounted(3000, 7000, 10'000)), IsOk());
  EXPECT_EQ(left.Serialize(), MakeCounted(0, 7000, 10'000).Serialize());
  Multiplicity one = Multiplicity::Make(10, 20, 1e-6).value();
  Multiplicity other = Multiplicity::Make(10, 20, 1e-6).value();
  ASSERT_THAT(one.Add("apple", 3), IsOk());
  ASSERT_THAT(other.Add("apple", 5), IsOk());
  ASSERT_THAT(one.Merge(other), IsOk());
  EXPECT_EQ(one.Count("apple"), 5u);
  const std::string before = left.Serialize();
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(left.Merge(MakeCounted(0, 10, 10'000, 0.05, 4)),
              StatusIs(kInvalid, HasSubstr("seeds")));
  EXPECT_THAT(left.Merge(MakeCounted(0, 10, 20'000)), StatusIs(kInvalid, HasSubstr("sizes")));
  bloom::Shape lower = left.shape();
  lower.detail = 19;
  EXPECT_THAT(left.Merge(Multiplicity::MakeOfShape(lower, 0.05, 3).value()),
              StatusIs(kInvalid, HasSubstr("max_count 20 and 19")));
  EXPECT_EQ(left.Serialize(), before);
  left.Clear();
  EXPECT_EQ(left.Serialize(), MakeCounted(0, 0, 10'000).Serialize());
  EXPECT_EQ(left.CurrentCorrectRate(0), 1);
}

TEST(ShiftingMultiplicityTest, BadParametersAreNamedErrors) {
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(Multiplicity::Make(0, 20, 0.01), refused("key_count"));
  for (const uint32_t most : {0u, 58u, 64u, UINT32_MAX}) {
    EXPECT_THAT(Multiplicity::Make(10, most, 0.01), refused("max_count"));
    EXPECT_THAT(Multiplicity::MakeOfShape({100, 3, most}, 0.01), refused("counts up to"));
  }
  for (const double rate : {0.0, 1.0, -0.5, 2.0, 1e-10, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(Multiplicity::Make(10, 20, rate), refused("error_rate")) << rate;
    EXPECT_THAT(Multiplicity::MakeOfShape({100, 3, 20}, rate), refused("error_rate")) << rate;
  }
  EXPECT_THAT(Multiplicity::Make(10, 57, 57 * bloom::kMinTargetFpp), IsOk());
  EXPECT_THAT(Multiplicity::Make(10, 57, 1 - 1e-15), IsOk());
  EXPECT_THAT(Multiplicity::Make(UINT64_MAX, 20, 0.01), refused("2^56"));
  EXPECT_THAT(Multiplicity::MakeOfShape({0, 3, 20}, 0.01), refused("shape: "));
  EXPECT_THAT(Multiplicity::MakeOfShape({100, 0, 20}, 0.01), refused("0 probes"));
  EXPECT_THAT(Multiplicity::MakeOfShape({UINT64_MAX, 3, 20}, 0.01), refused("2^56"));
  Multiplicity filter = MakeCounted(0, 100, 100);
  const std::string before = filter.Serialize();
  for (const uint32_t count : {0u, 21u, 57u, 64u, UINT32_MAX})
    EXPECT_THAT(filter.Add("apple", count), refused("count must lie in [1, 20]")) << count;
  EXPECT_EQ(filter.Serialize(), before);
}

absl::Status UseMultiplicity(std::string_view bytes) {
  absl::StatusOr<Multiplicity> filter = Multiplicity::Load(bytes);
  if (!filter.ok()) return filter.status();
  const uint32_t most = filter->max_count();
  AddCounted(*filter, 0, 50, most);
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_GE(filter->CountDigest(DigestOfKey(i)), 1 + i % most);
    EXPECT_LE(filter->CountDigest(DigestOfKey(1000 + i)), most);
  }
  for (uint32_t count = 0; count <= most; count += most)
    EXPECT_LE(filter->PredictedCorrectRate(count, 10) * filter->CurrentCorrectRate(count), 1);
  EXPECT_THAT(Multiplicity::Load(filter->Serialize()), IsOk());
  filter->Clear();
  return absl::OkStatus();
}

TEST(ShiftingMultiplicityTest, AnyBytesAreHarmless) {
  const std::string sound = MakeCounted(0, 40, 40).Serialize();
  testing_support::ExpectAllDamageIsDataLoss(sound, &UseMultiplicity);
  testing_support::ExpectOthersAreRefusedByName(sound, &UseMultiplicity);
  testing_support::ExpectForgeriesDoNoHarm(sound, 20'220'101, 20'000, &UseMultiplicity);
  // Bits beyond those of the maximum count.
  std::string tail = sound;
  tail.back() = static_cast<char>(static_cast<uint8_t>(tail.back()) | 1);
  testing_support::RepairChecksum(tail);
  EXPECT_THAT(UseMultiplicity(tail),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("after its last bit")));
}

TEST(ShiftingMultiplicityTest, CountsKeysByItsBits) {
  Multiplicity filter = Multiplicity::Make(100'000, 20, 0.01).value();
  EXPECT_EQ(filter.CountOnes(), 0u);
  AddCounted(filter, 0, 50'000, 20);
  EXPECT_NEAR(filter.EstimatedKeyCount() / 50'000, 1, 0.01);
  const auto bits = static_cast<double>(filter.shape().size);
  const double throws = 50'000.0 * filter.shape().probes;
  EXPECT_NEAR(static_cast<double>(filter.CountOnes()) / (bits * -std::expm1(-throws / bits)), 1,
              0.01);
}

}  // namespace
