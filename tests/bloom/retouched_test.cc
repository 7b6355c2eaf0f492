#include "bloom/filters/retouched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bloom/core/filter.h"
#include "bloom/core/probe.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::ClearingScheme;
using bloom::RetouchedFilter;
using testing::HasSubstr;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::RepairChecksum;
using testing_support::StatusIs;

constexpr ClearingScheme kSchemes[] = {ClearingScheme::kRandom, ClearingScheme::kMinimumFn,
                                       ClearingScheme::kMaximumFp, ClearingScheme::kRatio};

RetouchedFilter MakeRetouched(uint64_t keys, double fpp = 0.03, uint64_t seed = 1) {
  RetouchedFilter filter = RetouchedFilter::Make(keys, fpp, seed).value();
  for (uint64_t i = 0; i < keys; ++i) filter.AddDigest(DigestOfKey(i));
  return filter;
}

// Keys from `from` on that pass, which none of them should.
std::vector<uint64_t> FalsePositivesFrom(const RetouchedFilter& filter, uint64_t from,
                                         size_t count) {
  std::vector<uint64_t> found;
  for (uint64_t i = from; found.size() < count; ++i) {
    if (filter.MayContainDigest(DigestOfKey(i))) found.push_back(i);
  }
  return found;
}

double ShareDenied(const RetouchedFilter& filter, uint64_t keys) {
  uint64_t denied = 0;
  for (uint64_t i = 0; i < keys; ++i) denied += !filter.MayContainDigest(DigestOfKey(i));
  return static_cast<double>(denied) / static_cast<double>(keys);
}

double ShareRemoved(const RetouchedFilter& filter, const std::vector<uint64_t>& false_positives) {
  uint64_t removed = 0;
  for (const uint64_t i : false_positives) removed += !filter.MayContainDigest(DigestOfKey(i));
  return static_cast<double>(removed) / static_cast<double>(false_positives.size());
}

// The different bits of a digest.
std::vector<uint64_t> RetouchedBits(const RetouchedFilter& filter, bloom::Digest digest) {
  const bloom::DistinctProbes probes(bloom::Remix(digest, filter.seed()), filter.shape().size,
                                     filter.shape().probes);
  return {probes.begin(), probes.end()};
}

bool RetouchedBit(const RetouchedFilter& filter, uint64_t position) {
  const std::string bytes = filter.SerializeBits();
  return bloom::TestBit(reinterpret_cast<const uint8_t*>(bytes.data()) + 64, position);
}

// The bits that are ones in the first and zeros in the second.
std::vector<uint64_t> ClearedBits(const std::string& before, const RetouchedFilter& filter) {
  const std::string after = filter.SerializeBits();
  std::vector<uint64_t> cleared;
  const auto bits = [](const std::string& bytes) {
    return reinterpret_cast<const uint8_t*>(bytes.data()) + 64;
  };
  for (uint64_t p = 0; p < filter.shape().size; ++p) {
    const bool was = bloom::TestBit(bits(before), p), is = bloom::TestBit(bits(after), p);
    if (was && !is) cleared.push_back(p);
    EXPECT_TRUE(was || !is);
  }
  return cleared;
}

TEST(RetouchedTest, BeforeItIsRetouchedItIsAStandardFilter) {
  static_assert(bloom::kMayDeny<RetouchedFilter> &&
                !bloom::kMayDeny<bloom::Filter<bloom::Standard>>);
  const RetouchedFilter filter = MakeRetouched(1000);
  auto standard = bloom::Filter<bloom::Standard>::Make(1000, 0.03, 1).value();
  for (uint64_t i = 0; i < 1000; ++i) standard.AddDigest(DigestOfKey(i));
  EXPECT_EQ(filter.SerializeBits().substr(64), standard.Serialize().substr(64));
  EXPECT_EQ(filter.size_bits(), standard.size_bits());
}

// A key that must not be denied: with any scheme, one bit goes, one of its own, and the key with
// it.
TEST(RetouchedTest, SelectiveClearingTakesOneBitOfTheKeyItself) {
  for (const ClearingScheme scheme : kSchemes) {
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

// A known fault clears bit number 0 to k - 1 of the vector instead of the key's.
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
  // And bits anywhere: the choice has nothing to do with where the probes lie.
  for (const double times : by_place) EXPECT_NEAR(times, expected, 4 * std::sqrt(expected));
}

// --- the choices against an oracle ---

struct Weights {
  uint64_t additions = 0;
  uint64_t false_positives = 0;
};

// What the scheme has to minimise, where it decides.
double CostOf(ClearingScheme scheme, const Weights& weights) {
  const auto additions = static_cast<double>(weights.additions);
  const auto positives = static_cast<double>(weights.false_positives);
  switch (scheme) {
    case ClearingScheme::kMinimumFn:
      return additions;
    case ClearingScheme::kMaximumFp:
      return -positives;
    case ClearingScheme::kRatio:
      return positives > 0 ? additions / positives : 1e9 + additions;
    case ClearingScheme::kRandom:
      break;
  }
  return 0;
}

TEST(RetouchedTest, ChoosesTheBitThatTheSchemeSays) {
  constexpr uint64_t kKeys = 500;
  for (const ClearingScheme scheme : kSchemes) {
    if (scheme == ClearingScheme::kRandom) continue;
    RetouchedFilter filter = MakeRetouched(kKeys, 0.1);
    std::vector<Weights> oracle(filter.shape().size);
    for (uint64_t i = 0; i < kKeys; ++i)
      for (const uint64_t p : RetouchedBits(filter, DigestOfKey(i))) ++oracle[p].additions;
    std::vector<uint64_t> known = FalsePositivesFrom(filter, 10'000, 150);
    for (const uint64_t i : known) {
      ASSERT_TRUE(filter.AddFalsePositiveDigest(DigestOfKey(i)).value());
      for (const uint64_t p : RetouchedBits(filter, DigestOfKey(i))) ++oracle[p].false_positives;
    }
    // Others, too, of which bits have no known false positive.
    std::vector<uint64_t> asked = FalsePositivesFrom(filter, 100'000, 50);
    asked.insert(asked.end(), known.begin(), known.end());
    uint64_t decided = 0;
    for (const uint64_t i : asked) {
      const std::vector<uint64_t> bits = RetouchedBits(filter, DigestOfKey(i));
      const bool passes = filter.MayContainDigest(DigestOfKey(i));
      const std::string before = filter.SerializeBits();
      ASSERT_EQ(filter.SelectiveClearingDigest(DigestOfKey(i), scheme).value(), passes);
      const bool is_known = std::find(known.begin(), known.end(), i) != known.end();
      if (passes) {
        double best = 1e18, worst = -1e18;
        for (const uint64_t p : bits) {
          best = std::min(best, CostOf(scheme, oracle[p]));
          worst = std::max(worst, CostOf(scheme, oracle[p]));
        }
        const std::vector<uint64_t> cleared = ClearedBits(before, filter);
        ASSERT_EQ(cleared.size(), 1u);
        EXPECT_EQ(CostOf(scheme, oracle[cleared[0]]), best);
        decided += worst > best;
        oracle[cleared[0]] = {};
      }
      if (!is_known) continue;
      for (const uint64_t p : bits) oracle[p].false_positives -= oracle[p].false_positives > 0;
    }
    EXPECT_GT(decided, 30u);
    EXPECT_EQ(filter.known_false_positive_count(), 0u);
  }
}

// A known fault starts the ratio at 0 and leaves it there where a weight is 0, so that bits without
// any known false positive win.
TEST(RetouchedTest, ABitWithoutFalsePositivesIsNoBargain) {
  RetouchedFilter filter = MakeRetouched(2000, 0.1);
  const std::vector<uint64_t> found = FalsePositivesFrom(filter, 10'000, 2000);
  // A pair that shares a bit: the other is known, the one is asked.
  int pairs = 0;
  for (const uint64_t i : found) {
    const uint64_t j = found[(i * 7) % found.size()];
    const std::vector<uint64_t> mine = RetouchedBits(filter, DigestOfKey(i));
    const std::vector<uint64_t> theirs = RetouchedBits(filter, DigestOfKey(j));
    std::vector<uint64_t> common;
    for (const uint64_t p : mine)
      if (std::find(theirs.begin(), theirs.end(), p) != theirs.end()) common.push_back(p);
    if (i == j || common.size() != 1) continue;
    for (const ClearingScheme scheme : {ClearingScheme::kRatio, ClearingScheme::kMaximumFp}) {
      RetouchedFilter copy = RetouchedFilter::Load(filter.Serialize()).value();
      ASSERT_TRUE(copy.AddFalsePositiveDigest(DigestOfKey(j)).value());
      ASSERT_TRUE(copy.SelectiveClearingDigest(DigestOfKey(i), scheme).value());
      EXPECT_FALSE(RetouchedBit(copy, common[0]));
      EXPECT_FALSE(copy.MayContainDigest(DigestOfKey(j)));
    }
    if (++pairs == 5) break;
  }
  EXPECT_EQ(pairs, 5);
}

// A known fault throws if no false positive was registered at all, and then there is no best one.
TEST(RetouchedTest, WithoutKnownFalsePositivesTheFewestAdditionsDecide) {
  const RetouchedFilter filter = MakeRetouched(2000, 0.1);
  const std::string bytes = filter.Serialize();
  for (const uint64_t i : FalsePositivesFrom(filter, 10'000, 50)) {
    std::vector<std::string> results;
    for (const ClearingScheme scheme :
         {ClearingScheme::kMinimumFn, ClearingScheme::kMaximumFp, ClearingScheme::kRatio}) {
      RetouchedFilter copy = RetouchedFilter::Load(bytes).value();
      ASSERT_TRUE(copy.SelectiveClearingDigest(DigestOfKey(i), scheme).value());
      results.push_back(copy.Serialize());
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
  }
}

// --- what it is worth: chi, the share of false positives removed by the share of keys denied ---

TEST(RetouchedTest, RandomClearingRemovesAsManyFalsePositivesAsKeys) {
  constexpr uint64_t kKeys = 100'000;
  double denied = 0, removed = 0;
  constexpr uint64_t kSeeds = 5;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RetouchedFilter filter = MakeRetouched(kKeys, 1 / 32.0, seed);
    ASSERT_EQ(filter.shape().probes, 5u);
    const std::vector<uint64_t> found = FalsePositivesFrom(filter, kKeys, 20'000);
    const double before = filter.CurrentFpp();
    const double ones = static_cast<double>(
        bloom::CountOnes(reinterpret_cast<const uint8_t*>(filter.SerializeBits().data()) + 64,
                         filter.SerializeBits().size() - 64));
    EXPECT_EQ(static_cast<double>(filter.RandomClearing(0.02, seed).value()),
              std::round(0.02 * ones));
    EXPECT_NEAR(filter.CurrentFpp() / before, std::pow(0.98, 5), 1e-4);
    denied += ShareDenied(filter, kKeys) / kSeeds;
    removed += ShareRemoved(filter, found) / kSeeds;
  }
  const double predicted = 1 - std::pow(0.98, 5);  // .0961
  EXPECT_NEAR(denied / predicted, 1, 0.02);
  EXPECT_NEAR(removed / predicted, 1, 0.04);
  EXPECT_NEAR(removed / denied, 1, 0.05);
}

TEST(RetouchedTest, SelectiveClearingIsWorthMoreAndTheBetterTheChoiceTheMore) {
  constexpr uint64_t kKeys = 20'000;
  double chi[4] = {}, cleared[4] = {}, chi_of_strangers[4] = {};
  constexpr uint64_t kSeeds = 3;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RetouchedFilter filter = MakeRetouched(kKeys, 1 / 32.0, seed);
    const std::vector<uint64_t> known = FalsePositivesFrom(filter, 1'000'000, 20'000);
    const std::vector<uint64_t> strangers = FalsePositivesFrom(filter, 10'000'000, 5'000);
    for (size_t i = 0; i < 4; ++i) {
      RetouchedFilter copy = RetouchedFilter::Load(filter.Serialize()).value();
      for (const uint64_t key : known)
        ASSERT_TRUE(copy.AddFalsePositiveDigest(DigestOfKey(key)).value());
      cleared[i] += static_cast<double>(copy.ClearKnownFalsePositives(kSchemes[i]).value());
      ASSERT_EQ(ShareRemoved(copy, known), 1);
      chi[i] += 1 / ShareDenied(copy, kKeys) / kSeeds;
      chi_of_strangers[i] += ShareRemoved(copy, strangers) / ShareDenied(copy, kKeys) / kSeeds;
    }
  }
  const double random = chi[0], minimum_fn = chi[1], maximum_fp = chi[2], ratio = chi[3];
  EXPECT_GT(random, 1.5);
  EXPECT_GT(maximum_fp, 1.2 * random);
  EXPECT_GT(minimum_fn, 1.05 * maximum_fp);
  EXPECT_NEAR(1 / minimum_fn, 0.40, 0.005);
  // Keys alike in weight give the ratio nothing that the fewest additions do not give.
  EXPECT_NEAR(ratio / minimum_fn, 1, 0.03);
  EXPECT_LT(cleared[2], 0.95 * cleared[3]);  // each bit removes more of them at once
  EXPECT_LT(cleared[3], 0.9 * cleared[0]);
  // Of false positives that are not known, as many are removed as by clearing at random, and fewer
  // keys are denied for it.
  EXPECT_NEAR(chi_of_strangers[0], 1, 0.05);
  EXPECT_GT(chi_of_strangers[1], 1.2);
  EXPECT_GT(chi_of_strangers[2], 1.03);
  EXPECT_GT(chi_of_strangers[3], 1.2);
}

// As bloom/README.md says.
TEST(RetouchedTest, TheBestChoiceGivesUpTheShareOfKeysThatTheReadmeSays) {
  constexpr uint64_t kKeys = 20'000;
  constexpr std::pair<double, double> kShares[] = {{0.001, 0.36}, {1 / 32.0, 0.40}, {0.1, 0.45}};
  for (const auto& [fpp, share] : kShares) {
    RetouchedFilter filter = MakeRetouched(kKeys, fpp, 1);
    for (const uint64_t key : FalsePositivesFrom(filter, 1'000'000, kKeys))
      ASSERT_TRUE(filter.AddFalsePositiveDigest(DigestOfKey(key)).value());
    ASSERT_TRUE(filter.ClearKnownFalsePositives(ClearingScheme::kMinimumFn).ok());
    EXPECT_NEAR(ShareDenied(filter, kKeys), share, 0.01) << fpp;
  }
}

// --- bookkeeping ---

TEST(RetouchedTest, KnowsAFalsePositiveOnceAndNoneThatDoesNotPass) {
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
  // It is added: a key now, and nothing that ClearKnownFalsePositives would give up.
  filter.AddDigest(DigestOfKey(i));
  EXPECT_EQ(filter.known_false_positive_count(), 0u);
  EXPECT_EQ(filter.ClearKnownFalsePositives(ClearingScheme::kRatio).value(), 0u);
  EXPECT_TRUE(filter.MayContainDigest(DigestOfKey(i)));
  RetouchedFilter other = MakeRetouched(1000);
  other.AddDigest(DigestOfKey(i));
  EXPECT_EQ(filter.Serialize(), other.Serialize());
}

TEST(RetouchedTest, ABitThatIsClearedWeighsNothing) {
  RetouchedFilter filter = MakeRetouched(500, 0.1);
  const size_t m = filter.shape().size;
  const size_t additions = 64 + (m + 7) / 8;
  const std::vector<uint64_t> found = FalsePositivesFrom(filter, 10'000, 100);
  for (const uint64_t i : found) filter.AddFalsePositiveDigest(DigestOfKey(i)).value();
  for (size_t i = 0; i < 50; ++i)
    filter.SelectiveClearingDigest(DigestOfKey(found[i]), ClearingScheme::kMaximumFp).value();
  filter.RandomClearing(0.1, 1).value();
  const std::string bytes = filter.Serialize();
  uint64_t weights = 0;
  for (uint64_t p = 0; p < m; ++p) {
    const bool is_set = bloom::TestBit(reinterpret_cast<const uint8_t*>(&bytes[64]), p);
    EXPECT_EQ(bytes[additions + p] != 0, is_set);
    EXPECT_TRUE(is_set || bytes[additions + m + p] == 0);
    weights += static_cast<uint8_t>(bytes[additions + m + p]);
  }
  EXPECT_GT(weights, 0u);
}

// All in one bit: with one probe and one key, what passes has its probe there.
TEST(RetouchedTest, WeightsStopAtTheirMaximumAndStayThere) {
  for (const size_t count : {200, 300}) {
    RetouchedFilter filter = RetouchedFilter::Make(1, 0.5, 5).value();
    ASSERT_EQ(filter.shape().probes, 1u);
    filter.AddDigest(DigestOfKey(0));
    const std::vector<uint64_t> found = FalsePositivesFrom(filter, 1, count);
    for (const uint64_t i : found) filter.AddFalsePositiveDigest(DigestOfKey(i)).value();
    const auto weight_at = [&filter](size_t kind) {
      const size_t m = filter.shape().size;
      const size_t at = 64 + (m + 7) / 8 + kind * m + RetouchedBits(filter, DigestOfKey(0))[0];
      return static_cast<uint8_t>(filter.Serialize()[at]);
    };
    EXPECT_EQ(weight_at(0), 1);
    EXPECT_EQ(weight_at(1), std::min<size_t>(count, 255));
    for (size_t i = 0; i < 100; ++i) filter.AddDigest(DigestOfKey(found[i]));
    EXPECT_EQ(weight_at(0), 101);
    EXPECT_EQ(weight_at(1), count == 200 ? 100 : 255);
    for (size_t i = 0; i < 200; ++i) filter.AddDigest(DigestOfKey(0));
    EXPECT_EQ(weight_at(0), 255);
  }
}

TEST(RetouchedTest, AKeyThatWasGivenUpCanBeAddedAgain) {
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

TEST(RetouchedTest, WithBookkeepingItGoesOnAsTheOneThatWasSaved) {
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

TEST(RetouchedTest, WithoutBookkeepingItHasItsBitsAlone) {
  constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;
  RetouchedFilter whole = MakeRetouched(2000);
  whole.RandomClearing(0.1, 1).value();
  const std::string bits = whole.SerializeBits();
  EXPECT_EQ(bits.size(), 64 + (whole.size_bits() + 7) / 8);
  EXPECT_EQ(whole.Serialize().size(), bits.size() + 2 * whole.size_bits() + 8);
  EXPECT_EQ(whole.bookkeeping_bytes(), 2 * whole.size_bits());
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
  for (const ClearingScheme scheme : kSchemes) {
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
  EXPECT_EQ(whole.Serialize(), bits);
  EXPECT_THAT(loaded.Merge(whole), IsOk());
  loaded.Clear();
  EXPECT_EQ(loaded.CurrentFpp(), 0);
}

// A false positive here may be a key there.
TEST(RetouchedTest, AUnionSetsWhatOneClearedAndKnowsNoFalsePositives) {
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

TEST(RetouchedTest, ForgedBookkeepingIsRefusedOrDoesNoHarm) {
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  RetouchedFilter filter = MakeRetouched(50, 0.2);
  for (const uint64_t i : FalsePositivesFrom(filter, 1000, 5))
    filter.AddFalsePositiveDigest(DigestOfKey(i)).value();
  const std::string sound = filter.Serialize();
  const size_t count_at = sound.size() - 5 * 8 - 8;
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
  ASSERT_THAT(load(sound), IsOk());
  ASSERT_EQ(bloom::Load64(&sound[count_at]), 5u);
  for (const uint64_t count : {uint64_t{0}, uint64_t{4}, uint64_t{6}, uint64_t{1} << 61,
                               (uint64_t{1} << 61) + 5, UINT64_MAX})
    EXPECT_THAT(load(with_number(count_at, count)), StatusIs(kLoss, HasSubstr("bytes for")))
        << count;
  EXPECT_THAT(load(with_number(count_at + 8, UINT64_MAX)), StatusIs(kLoss, HasSubstr("ascend")));
  EXPECT_THAT(load(with_number(count_at + 16, bloom::Load64(&sound[count_at + 8]))),
              StatusIs(kLoss, HasSubstr("ascend")));
  for (const uint64_t detail : {uint64_t{2}, uint64_t{1} << 32, UINT64_MAX})
    EXPECT_THAT(load(with_number(48, detail)), StatusIs(kLoss, HasSubstr("detail")));
  EXPECT_THAT(load(with_number(48, 0)), StatusIs(kLoss));
  for (const uint64_t bits : {uint64_t{0}, uint64_t{511}, uint64_t{513}, uint64_t{1} << 56,
                              (uint64_t{1} << 56) + 1, UINT64_MAX - 6, UINT64_MAX})
    EXPECT_THAT(load(with_number(32, bits)), StatusIs(kLoss)) << bits;
  for (size_t size = 64; size < sound.size(); ++size)
    ASSERT_THAT(load(sound.substr(0, size)), StatusIs(kLoss)) << size;
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {  // weights and digests that lie
    std::string bytes = sound;
    for (int change = 0; change < 20; ++change)
      bytes[64 + random() % (bytes.size() - 64)] = static_cast<char>(random());
    auto loaded = load(bytes);
    if (!loaded.ok()) continue;
    for (const ClearingScheme scheme : kSchemes) {
      for (uint64_t i = 0; i < 20; ++i) {
        ASSERT_THAT(loaded->SelectiveClearingDigest(DigestOfKey(i), scheme), IsOk());
        ASSERT_FALSE(loaded->MayContainDigest(DigestOfKey(i)));
      }
    }
    ASSERT_THAT(loaded->ClearKnownFalsePositives(ClearingScheme::kRatio), IsOk());
    ASSERT_THAT(RetouchedFilter::Load(loaded->Serialize()), IsOk());
  }
}

// Of a key that meets a bit twice, which counts once there.
TEST(RetouchedTest, TheBytesAreAsTheyAreDrawn) {
  RetouchedFilter filter = RetouchedFilter::Make(10, 0.01, 5).value();
  const size_t m = filter.shape().size;
  uint64_t key = 0;
  while (RetouchedBits(filter, DigestOfKey(key)).size() == filter.shape().probes) ++key;
  const std::vector<uint64_t> bits = RetouchedBits(filter, DigestOfKey(key));
  filter.AddDigest(DigestOfKey(key));
  filter.AddDigest(DigestOfKey(key));
  // It passes; that it is a key, nobody can know.
  ASSERT_TRUE(filter.AddFalsePositiveDigest(DigestOfKey(key)).value());
  const std::string bytes = filter.Serialize();
  EXPECT_EQ(bytes[8], 73);
  EXPECT_EQ(bloom::Load64(&bytes[24]), 2u);
  EXPECT_EQ(bloom::Load64(&bytes[32]), m);
  EXPECT_EQ(bloom::Load64(&bytes[48]), 1u);
  const size_t additions = 64 + (m + 7) / 8;
  ASSERT_EQ(bytes.size(), additions + 2 * m + 8 + 8);
  for (uint64_t p = 0; p < m; ++p) {
    const bool is_mine = std::find(bits.begin(), bits.end(), p) != bits.end();
    EXPECT_EQ(bloom::TestBit(reinterpret_cast<const uint8_t*>(&bytes[64]), p), is_mine);
    EXPECT_EQ(bytes[additions + p], is_mine ? 2 : 0);
    EXPECT_EQ(bytes[additions + m + p], is_mine ? 1 : 0);
  }
  EXPECT_EQ(bloom::Load64(&bytes[additions + 2 * m]), 1u);
  EXPECT_EQ(bloom::Load64(&bytes[additions + 2 * m + 8]), DigestOfKey(key));
}

TEST(RetouchedTest, TakesKeysInPlaceOfDigests) {
  RetouchedFilter filter = RetouchedFilter::Make(10, 0.01, 5).value();
  filter.Add("apple");
  EXPECT_FALSE(filter.AddFalsePositive("pear").value());
  EXPECT_FALSE(filter.SelectiveClearing("pear", ClearingScheme::kRatio).value());
  EXPECT_TRUE(filter.SelectiveClearing("apple", ClearingScheme::kRatio).value());
  EXPECT_FALSE(filter.MayContain("apple"));
}

TEST(RetouchedTest, ASchemeThatIsNoneIsRefused) {
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
