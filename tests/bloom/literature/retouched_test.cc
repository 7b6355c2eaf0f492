#include "bloom/literature/retouched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bloom/filter.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/kinds.h"
#include "tests/bloom/literature/retouched.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::ClearingScheme;
using bloom::RetouchedFilter;
using testing::HasSubstr;
using testing_support::ClearedBits;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::FalsePositivesFrom;
using testing_support::IsOk;
using testing_support::kClearingSchemes;
using testing_support::MakeRetouched;
using testing_support::RepairChecksum;
using testing_support::RetouchedBit;
using testing_support::RetouchedBits;
using testing_support::ShareDenied;
using testing_support::StatusIs;

TEST(RetouchedTest, EqualsAStandardFilterBeforeClearing) {
  static_assert(bloom::kMayDeny<RetouchedFilter> &&
                !bloom::kMayDeny<bloom::Filter<bloom::Standard>>);
  const RetouchedFilter filter = MakeRetouched(1000);
  auto standard = bloom::Filter<bloom::Standard>::Make(1000, 0.03, 1).value();
  for (uint64_t i = 0; i < 1000; ++i) standard.AddDigest(DigestOfKey(i));
  EXPECT_EQ(filter.SerializeBits().substr(64), standard.Serialize().substr(64));
  EXPECT_EQ(filter.size_bits(), standard.size_bits());
}

// For a false positive, every scheme clears exactly one of its own bits, so that it no longer
// passes.
TEST(RetouchedTest, SelectiveClearingTakesOneBitOfTheKeyItself) {
  for (const ClearingScheme scheme : kClearingSchemes) {
    RetouchedFilter filter = MakeRetouched(3000);
    // Neither registered nor counted anywhere: all false-positive weights are zero.
    for (const uint64_t i : FalsePositivesFrom(filter, 10'000, 100)) {
      const std::string before = filter.SerializeBits();
      if (!filter.MayContainDigest(DigestOfKey(i))) {
        EXPECT_FALSE(filter.SelectiveClearingDigest(DigestOfKey(i), scheme).value());
        EXPECT_EQ(filter.SerializeBits(), before);
        continue;
      }
      ASSERT_TRUE(filter.SelectiveClearingDigest(DigestOfKey(i), scheme).value());
      EXPECT_FALSE(filter.MayContainDigest(DigestOfKey(i)));
      const std::vector<uint64_t> cleared = ClearedBits(before, filter);
      ASSERT_EQ(cleared.size(), 1u);
      EXPECT_THAT(RetouchedBits(filter, DigestOfKey(i)), testing::Contains(cleared[0]));
    }
  }
}

// An implementation with a known fault clears bit number 0 to k - 1 of the vector instead of the
// key's bit.
TEST(RetouchedTest, RandomChoosesEachOfTheKeysBitsAlike) {
  const RetouchedFilter filter = MakeRetouched(20'000);
  const std::vector<uint64_t> found = FalsePositivesFrom(filter, 100'000, 1500);
  const std::string before = filter.SerializeBits();
  std::vector<double> by_probe(filter.shape().probes), by_place(by_probe.size());
  for (const uint64_t i : found) {
    const std::vector<uint64_t> bits = RetouchedBits(filter, DigestOfKey(i));
    if (bits.size() != by_probe.size()) continue;
    RetouchedFilter copy = RetouchedFilter::Load(before).value();
    ASSERT_TRUE(copy.SelectiveClearingDigest(DigestOfKey(i), ClearingScheme::kRandom).value());
    for (size_t probe = 0; probe < bits.size(); ++probe) {
      if (RetouchedBit(copy, bits[probe])) continue;
      ++by_probe[probe];
      ++by_place[bits[probe] * by_place.size() / filter.shape().size];
    }
  }
  const double expected = 1500.0 / static_cast<double>(by_probe.size());
  for (const double times : by_probe) EXPECT_NEAR(times, expected, 4 * std::sqrt(expected));
  // Bits anywhere: the choice does not depend on the places of the probes.
  for (const double times : by_place) EXPECT_NEAR(times, expected, 4 * std::sqrt(expected));
}

// --- bookkeeping ---

TEST(RetouchedTest, KnowsEachFalsePositiveOnce) {
  RetouchedFilter filter = MakeRetouched(1000);
  const uint64_t i = FalsePositivesFrom(filter, 10'000, 1)[0];
  uint64_t absent = 10'000;
  while (filter.MayContainDigest(DigestOfKey(absent))) ++absent;
  const std::string before = filter.Serialize();
  EXPECT_FALSE(filter.AddFalsePositiveDigest(DigestOfKey(absent)).value());
  EXPECT_EQ(filter.Serialize(), before);
  EXPECT_TRUE(filter.AddFalsePositiveDigest(DigestOfKey(i)).value());
  const std::string with_one = filter.Serialize();
  EXPECT_FALSE(filter.AddFalsePositiveDigest(DigestOfKey(i)).value());
  EXPECT_EQ(filter.Serialize(), with_one);
  EXPECT_EQ(filter.known_false_positive_count(), 1u);
  EXPECT_EQ(with_one.size(), before.size() + 8);
  // A key is not a false positive, whether it passes or not.
  EXPECT_FALSE(filter.AddFalsePositiveDigest(DigestOfKey(0)).value());
  RetouchedFilter without = RetouchedFilter::Load(with_one).value();
  ASSERT_TRUE(without.SelectiveClearingDigest(DigestOfKey(0), ClearingScheme::kRandom).value());
  EXPECT_FALSE(without.AddFalsePositiveDigest(DigestOfKey(0)).value());
  EXPECT_EQ(without.known_false_positive_count(), 1u);
  EXPECT_EQ(filter.Serialize(), with_one);
  // After it was added it is a key, so ClearKnownFalsePositives does not clear it.
  filter.AddDigest(DigestOfKey(i));
  EXPECT_EQ(filter.known_false_positive_count(), 0u);
  EXPECT_EQ(filter.ClearKnownFalsePositives(ClearingScheme::kRatio).value(), 0u);
  EXPECT_TRUE(filter.MayContainDigest(DigestOfKey(i)));
  RetouchedFilter other = MakeRetouched(1000);
  other.AddDigest(DigestOfKey(i));
  EXPECT_EQ(filter.Serialize(), other.Serialize());
}

TEST(RetouchedTest, LostKeysCanBeAddedAgain) {
  RetouchedFilter filter = MakeRetouched(1000);
  EXPECT_EQ(filter.RandomClearing(0.5, 9).status(), absl::OkStatus());
  EXPECT_GT(ShareDenied(filter, 1000), 0.5);
  for (uint64_t i = 0; i < 1000; ++i) filter.AddDigest(DigestOfKey(i));
  EXPECT_EQ(ShareDenied(filter, 1000), 0);
}

TEST(RetouchedTest, RandomClearingGoesBySeedAndShare) {
  const std::string bytes = MakeRetouched(5000).Serialize();
  const auto cleared = [&bytes](double share, uint64_t seed) {
    RetouchedFilter filter = RetouchedFilter::Load(bytes).value();
    filter.RandomClearing(share, seed).value();
    return filter.Serialize();
  };
  EXPECT_EQ(cleared(0.1, 1), cleared(0.1, 1));
  EXPECT_NE(cleared(0.1, 1), cleared(0.1, 2));
  EXPECT_EQ(cleared(0, 1), bytes);
  RetouchedFilter filter = RetouchedFilter::Load(bytes).value();
  filter.RandomClearing(1, 1).value();
  EXPECT_EQ(filter.CurrentFpp(), 0);
  EXPECT_EQ(filter.RandomClearing(1, 1).value(), 0u);
  for (const double share : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THAT(filter.RandomClearing(share, 1),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("share")));
  }
}

TEST(RetouchedTest, TheSameStepsGiveTheSameBytes) {
  const auto steps = [](uint64_t seed) {
    RetouchedFilter filter = MakeRetouched(2000, 0.1, seed);
    for (const uint64_t i : FalsePositivesFrom(filter, 10'000, 200))
      filter.AddFalsePositiveDigest(DigestOfKey(i)).value();
    filter.ClearKnownFalsePositives(ClearingScheme::kRandom).value();
    return filter.Serialize();
  };
  EXPECT_EQ(steps(1), steps(1));
}

TEST(RetouchedTest, LoadingKeepsTheBookkeeping) {
  RetouchedFilter filter = MakeRetouched(2000, 0.1);
  const std::vector<uint64_t> found = FalsePositivesFrom(filter, 10'000, 300);
  for (const uint64_t i : found) filter.AddFalsePositiveDigest(DigestOfKey(i)).value();
  for (size_t i = 0; i < 100; ++i)
    filter.SelectiveClearingDigest(DigestOfKey(found[i]), ClearingScheme::kRatio).value();
  const std::string bytes = filter.Serialize();
  RetouchedFilter loaded = RetouchedFilter::Load(bytes).value();
  EXPECT_EQ(loaded.Serialize(), bytes);
  EXPECT_EQ(loaded.known_false_positive_count(), 200u);
  EXPECT_EQ(loaded.bookkeeping_bytes(), filter.bookkeeping_bytes());
  for (RetouchedFilter* each : {&filter, &loaded})
    each->ClearKnownFalsePositives(ClearingScheme::kRatio).value();
  EXPECT_EQ(loaded.Serialize(), filter.Serialize());
}

TEST(RetouchedTest, LoadsBitsWithoutBookkeeping) {
  constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;
  RetouchedFilter whole = MakeRetouched(2000);
  whole.RandomClearing(0.1, 1).value();
  const std::string bits = whole.SerializeBits();
  EXPECT_EQ(bits.size(), 64 + (whole.size_bits() + 7) / 8);
  EXPECT_EQ(whole.Serialize().size(), bits.size() + 8 + 2000 * 8 + 8);
  EXPECT_EQ(whole.bookkeeping_bytes(),
            4 * whole.size_bits() + 2000 * (8 + 4 * whole.shape().probes) + 2000 / 8);
  // At 0.01 a key takes the memory that bloom/README.md states.
  const RetouchedFilter usual = MakeRetouched(20'000, 0.01);
  EXPECT_NEAR(static_cast<double>(usual.bookkeeping_bytes()) / 20'000, 74.5, 0.1);
  EXPECT_NEAR(static_cast<double>(usual.Serialize().size()) / 20'000, 9.2, 0.1);
  RetouchedFilter loaded = RetouchedFilter::Load(bits).value();
  EXPECT_FALSE(loaded.has_bookkeeping());
  EXPECT_EQ(loaded.bookkeeping_bytes(), 0u);
  EXPECT_EQ(loaded.size_bits(), whole.size_bits());
  EXPECT_EQ(loaded.Serialize(), bits);
  for (uint64_t i = 0; i < 10'000; ++i)
    ASSERT_EQ(loaded.MayContainDigest(DigestOfKey(i)), whole.MayContainDigest(DigestOfKey(i)));
  const uint64_t found = FalsePositivesFrom(loaded, 10'000, 1)[0];
  EXPECT_THAT(loaded.AddFalsePositiveDigest(DigestOfKey(found)), StatusIs(kFailed));
  EXPECT_THAT(loaded.ClearKnownFalsePositives(ClearingScheme::kRandom), StatusIs(kFailed));
  for (const ClearingScheme scheme : kClearingSchemes) {
    if (scheme == ClearingScheme::kRandom) continue;
    EXPECT_THAT(loaded.SelectiveClearingDigest(DigestOfKey(found), scheme), StatusIs(kFailed));
  }
  EXPECT_EQ(loaded.Serialize(), bits);
  EXPECT_THAT(loaded.Merge(whole), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(loaded.SelectiveClearingDigest(DigestOfKey(found), ClearingScheme::kRandom).value());
  loaded.Add("apple");
  EXPECT_TRUE(loaded.MayContain("apple"));
  EXPECT_GT(loaded.RandomClearing(0.5, 2).value(), 0u);
  whole.DropBookkeeping();
  EXPECT_EQ(whole.bookkeeping_bytes(), 0u);
  EXPECT_EQ(whole.Serialize(), bits);
  EXPECT_THAT(loaded.Merge(whole), IsOk());
  loaded.Clear();
  EXPECT_EQ(loaded.CurrentFpp(), 0);
}

// A false positive here may be a key there.
TEST(RetouchedTest, UnionForgetsClearingAndFalsePositives) {
  RetouchedFilter left = MakeRetouched(2000), right = MakeRetouched(0 + 2000);
  const uint64_t i = FalsePositivesFrom(left, 10'000, 1)[0];
  left.AddFalsePositiveDigest(DigestOfKey(i)).value();
  left.RandomClearing(0.2, 1).value();
  right.AddDigest(DigestOfKey(i));
  ASSERT_THAT(left.Merge(right), IsOk());
  EXPECT_EQ(ShareDenied(left, 2000), 0);
  EXPECT_EQ(left.known_false_positive_count(), 0u);
  EXPECT_EQ(left.ClearKnownFalsePositives(ClearingScheme::kMinimumFn).value(), 0u);
  EXPECT_TRUE(left.MayContainDigest(DigestOfKey(i)));
  EXPECT_EQ(left.SerializeBits().substr(64), right.SerializeBits().substr(64));
  EXPECT_EQ(left.added_count(), 4001u);
}

TEST(RetouchedTest, AUnionHasTheKeysOfBothOnce) {
  RetouchedFilter left = MakeRetouched(2000);
  RetouchedFilter right = RetouchedFilter::Make(2000, 0.03, 1).value();
  for (uint64_t i = 1000; i < 3000; ++i) right.AddDigest(DigestOfKey(i));
  ASSERT_THAT(left.Merge(right), IsOk());
  RetouchedFilter both = MakeRetouched(2000);
  for (uint64_t i = 1000; i < 3000; ++i) both.AddDigest(DigestOfKey(i));
  EXPECT_EQ(left.Serialize(), both.Serialize());
  const RetouchedFilter& itself = left;
  ASSERT_THAT(left.Merge(itself), IsOk());
  EXPECT_EQ(left.added_count(), 8000u);
  EXPECT_EQ(left.Serialize().substr(64), both.Serialize().substr(64));
}

TEST(RetouchedTest, ForgedBookkeepingIsHarmless) {
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  RetouchedFilter filter = MakeRetouched(50, 0.2);
  for (const uint64_t i : FalsePositivesFrom(filter, 1000, 5))
    filter.AddFalsePositiveDigest(DigestOfKey(i)).value();
  const std::string sound = filter.Serialize();
  const size_t known_at = sound.size() - 5 * 8 - 8, keys_at = known_at - 50 * 8 - 8;
  const auto load = [](std::string bytes) {
    RepairChecksum(bytes);
    const std::unique_ptr<char[]> copy(new char[bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), copy.get());
    return RetouchedFilter::Load({copy.get(), bytes.size()});
  };
  const auto with_number = [&sound](size_t at, uint64_t number) {
    std::string bytes = sound;
    bloom::Store64(&bytes[at], number);
    return bytes;
  };
  const auto number_at = [&sound](size_t at) { return bloom::Load64(&sound[at]); };
  ASSERT_THAT(load(sound), IsOk());
  ASSERT_EQ(number_at(keys_at), 50u);
  ASSERT_EQ(number_at(known_at), 5u);
  for (const size_t count_at : {keys_at, known_at}) {
    const uint64_t count = number_at(count_at);
    for (const uint64_t wrong : {uint64_t{0}, count - 1, count + 1, count + 6})
      EXPECT_THAT(load(with_number(count_at, wrong)), StatusIs(kLoss)) << wrong;
    for (const uint64_t wrong : {count + 7, uint64_t{1} << 32, uint64_t{1} << 61,
                                 (uint64_t{1} << 61) + count, UINT64_MAX / 8, UINT64_MAX})
      EXPECT_THAT(load(with_number(count_at, wrong)), StatusIs(kLoss, HasSubstr("bytes for")))
          << wrong;
    EXPECT_THAT(load(with_number(count_at + 8, UINT64_MAX)), StatusIs(kLoss, HasSubstr("ascend")));
    EXPECT_THAT(load(with_number(count_at + 16, number_at(count_at + 8))),
                StatusIs(kLoss, HasSubstr("ascend")));
    EXPECT_THAT(load(with_number(count_at + 8 * count, 0)), StatusIs(kLoss, HasSubstr("ascend")));
  }
  EXPECT_THAT(load(sound + std::string(8, '\0')), StatusIs(kLoss, HasSubstr("bytes after")));
  // Each key is in one part, and all were added.
  for (size_t i = 1; i <= 5; ++i) {
    std::string bytes = sound;
    bytes.replace(known_at + 8, 5 * 8, sound, keys_at + 8 * i, 5 * 8);
    EXPECT_THAT(load(bytes), StatusIs(kLoss, HasSubstr("a key that is a false positive")));
  }
  EXPECT_THAT(load(with_number(known_at + 5 * 8, number_at(keys_at + 50 * 8))),
              StatusIs(kLoss, HasSubstr("a key that is a false positive")));
  EXPECT_THAT(load(with_number(24, 50)), IsOk());
  EXPECT_THAT(load(with_number(24, 49)), StatusIs(kLoss, HasSubstr("50 keys of 49")));
  for (const uint64_t detail : {uint64_t{2}, uint64_t{1} << 32, UINT64_MAX})
    EXPECT_THAT(load(with_number(48, detail)), StatusIs(kLoss, HasSubstr("detail")));
  EXPECT_THAT(load(with_number(48, 0)), StatusIs(kLoss));
  for (const uint64_t bits : {uint64_t{0}, uint64_t{504}, uint64_t{513}, uint64_t{1} << 56,
                              (uint64_t{1} << 56) + 1, UINT64_MAX - 6, UINT64_MAX})
    EXPECT_THAT(load(with_number(32, bits)), StatusIs(kLoss)) << bits;
  for (size_t size = 64; size < sound.size(); ++size)
    ASSERT_THAT(load(sound.substr(0, size)), StatusIs(kLoss)) << size;
  std::string old = sound;
  old[9] = 1;
  EXPECT_THAT(load(old), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("version 1")));
}

TEST(RetouchedTest, ForgedBitsAndDigestsAreHarmless) {
  RetouchedFilter filter = MakeRetouched(100, 0.03);
  for (const uint64_t i : FalsePositivesFrom(filter, 1000, 5))
    filter.AddFalsePositiveDigest(DigestOfKey(i)).value();
  const std::string sound = filter.Serialize();
  const size_t bit_bytes = (filter.shape().size + 7) / 8;
  Dice dice(3);
  int loaded_count = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = sound;
    for (int change = 0; change < 20; ++change)
      bytes[64 + dice.Roll(bit_bytes)] = static_cast<char>(dice.Next());
    // Changes low bytes, which rarely change the order.
    for (int change = 0; change < 20; ++change)
      bytes[64 + bit_bytes + dice.Roll(bytes.size() - 64 - bit_bytes) / 8 * 8] =
          static_cast<char>(dice.Next());
    RepairChecksum(bytes);
    auto loaded = RetouchedFilter::Load(bytes);
    if (!loaded.ok()) continue;
    ++loaded_count;
    ASSERT_EQ(loaded->Serialize(), bytes);
    for (const ClearingScheme scheme : kClearingSchemes) {
      for (uint64_t i = 0; i < 20; ++i) {
        ASSERT_THAT(loaded->SelectiveClearingDigest(DigestOfKey(i), scheme), IsOk());
        ASSERT_FALSE(loaded->MayContainDigest(DigestOfKey(i)));
      }
    }
    ASSERT_THAT(loaded->ClearKnownFalsePositives(ClearingScheme::kRatio), IsOk());
    ASSERT_THAT(RetouchedFilter::Load(loaded->Serialize()), IsOk());
  }
  EXPECT_GT(loaded_count, 500);
}

TEST(RetouchedTest, BytesMatchTheDrawing) {
  RetouchedFilter filter = RetouchedFilter::Make(10, 0.2, 5).value();
  const size_t m = filter.shape().size;
  for (const uint64_t key : {3, 1, 4, 1, 5, 9, 2, 6, 5}) filter.AddDigest(DigestOfKey(key));
  const std::vector<uint64_t> found = FalsePositivesFrom(filter, 100, 3);
  for (const uint64_t i : found) ASSERT_TRUE(filter.AddFalsePositiveDigest(DigestOfKey(i)).value());
  const std::string bytes = filter.Serialize();
  EXPECT_EQ(bytes[8], 73);
  EXPECT_EQ(bytes[9], 2);
  EXPECT_EQ(bloom::Load64(&bytes[24]), 9u);
  EXPECT_EQ(bloom::Load64(&bytes[32]), m);
  EXPECT_EQ(bloom::Load64(&bytes[48]), 1u);
  size_t at = 64 + (m + 7) / 8;
  EXPECT_EQ(bytes.substr(64, at - 64), filter.SerializeBits().substr(64));
  ASSERT_EQ(bytes.size(), at + 8 + 7 * 8 + 8 + 3 * 8);
  for (std::vector<uint64_t> keys : {std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 9}, found}) {
    for (uint64_t& key : keys) key = DigestOfKey(key);
    std::sort(keys.begin(), keys.end());
    keys.insert(keys.begin(), keys.size());
    for (const uint64_t number : keys) {
      EXPECT_EQ(bloom::Load64(&bytes[at]), number);
      at += 8;
    }
  }
}

// Equal sets have equal bytes, whatever the order of additions.
TEST(RetouchedTest, BytesDependOnlyOnTheSets) {
  RetouchedFilter forwards = MakeRetouched(500, 0.1);
  RetouchedFilter backwards = RetouchedFilter::Make(500, 0.1, 1).value();
  for (uint64_t i = 500; i-- > 0;) backwards.AddDigest(DigestOfKey(i));
  std::vector<uint64_t> found = FalsePositivesFrom(forwards, 10'000, 100);
  for (const uint64_t i : found) forwards.AddFalsePositiveDigest(DigestOfKey(i)).value();
  std::reverse(found.begin(), found.end());
  for (const uint64_t i : found) backwards.AddFalsePositiveDigest(DigestOfKey(i)).value();
  EXPECT_EQ(backwards.Serialize(), forwards.Serialize());
  for (RetouchedFilter* each : {&forwards, &backwards})
    each->ClearKnownFalsePositives(ClearingScheme::kRatio).value();
  EXPECT_EQ(backwards.Serialize(), forwards.Serialize());
}

TEST(RetouchedTest, TakesKeysAndDigests) {
  RetouchedFilter filter = RetouchedFilter::Make(10, 0.01, 5).value();
  filter.Add("apple");
  EXPECT_FALSE(filter.AddFalsePositive("pear").value());
  EXPECT_FALSE(filter.SelectiveClearing("pear", ClearingScheme::kRatio).value());
  EXPECT_TRUE(filter.SelectiveClearing("apple", ClearingScheme::kRatio).value());
  EXPECT_FALSE(filter.MayContain("apple"));
}

TEST(RetouchedTest, RefusesUnknownSchemes) {
  RetouchedFilter filter = MakeRetouched(100);
  const std::string before = filter.Serialize();
  const auto none = static_cast<ClearingScheme>(9);
  EXPECT_THAT(filter.SelectiveClearing("x", none),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scheme 9")));
  EXPECT_THAT(filter.ClearKnownFalsePositives(none),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scheme 9")));
  EXPECT_EQ(filter.Serialize(), before);
}

}  // namespace
