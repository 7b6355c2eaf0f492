// The choice of the bits to clear, compared with an oracle that counts everything again, and its
// benefit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"
#include "bloom/hash.h"
#include "bloom/literature/retouched.h"
#include "tests/bloom/kinds.h"
#include "tests/bloom/literature/retouched.h"
#include "tests/support/dice.h"

namespace {

using bloom::ClearingScheme;
using bloom::RetouchedFilter;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::FalsePositivesFrom;
using testing_support::kClearingSchemes;
using testing_support::MakeRetouched;
using testing_support::RetouchedBit;
using testing_support::RetouchedBits;
using testing_support::ShareDenied;
using testing_support::ShareRemoved;

// --- the choices against an oracle ---

// A retouched filter by its definition, without lists: sets of digests and bits.  It counts
// everything again for each choice.
class RetouchedOracle {
 public:
  struct Weights {
    double keys = 0;
    double false_positives = 0;
  };

  explicit RetouchedOracle(const RetouchedFilter& like)
      : shape_(like.shape()), seed_(like.seed()), bits_(like.shape().size) {}

  bool Passes(bloom::Digest digest) const {
    const std::vector<uint64_t> bits = BitsOf(digest);
    return std::all_of(bits.begin(), bits.end(), [this](uint64_t bit) { return bits_[bit]; });
  }
  void Add(bloom::Digest digest) {
    for (const uint64_t bit : BitsOf(digest)) bits_[bit] = true;
    keys_.insert(digest);
    known_.erase(digest);
  }
  bool AddFalsePositive(bloom::Digest digest) {
    return Passes(digest) && !keys_.contains(digest) && known_.insert(digest).second;
  }
  void Forget(bloom::Digest digest) { known_.erase(digest); }
  void Clear(uint64_t bit) { bits_[bit] = false; }
  void Merge(const RetouchedOracle& other) {
    known_.clear();
    keys_.insert(other.keys_.begin(), other.keys_.end());
    for (size_t bit = 0; bit < bits_.size(); ++bit) bits_[bit] = bits_[bit] || other.bits_[bit];
  }

  // The weights by bit.  `of_all` also counts keys and false positives that do not pass, which a
  // choice must not use.
  std::vector<Weights> AllWeights(bool of_all = false) const {
    std::vector<Weights> weights(bits_.size());
    for (const bloom::Digest key : keys_) {
      if (!of_all && !Passes(key)) continue;
      for (const uint64_t bit : BitsOf(key)) ++weights[bit].keys;
    }
    for (const bloom::Digest positive : known_) {
      if (!of_all && !Passes(positive)) continue;
      for (const uint64_t bit : BitsOf(positive)) ++weights[bit].false_positives;
    }
    return weights;
  }
  // REQUIRES: not kRandom.
  uint64_t Choose(bloom::Digest digest, ClearingScheme scheme, bool of_all = false) const {
    const std::vector<Weights> weights = AllWeights(of_all);
    const std::vector<uint64_t> bits = BitsOf(digest);
    return *std::min_element(bits.begin(), bits.end(), [&](uint64_t a, uint64_t b) {
      return CostOf(scheme, weights[a]) < CostOf(scheme, weights[b]);
    });
  }

  const std::set<bloom::Digest>& known() const { return known_; }
  std::vector<uint64_t> BitsOf(bloom::Digest digest) const {
    const bloom::DistinctProbes probes(bloom::Remix(digest, seed_), shape_.size, shape_.probes);
    return {probes.begin(), probes.end()};
  }
  // The payload as the filter stores it.
  std::string Payload() const {
    std::string bytes((bits_.size() + 7) / 8, '\0');
    for (size_t bit = 0; bit < bits_.size(); ++bit)
      if (bits_[bit]) bloom::SetBit(reinterpret_cast<uint8_t*>(bytes.data()), bit);
    for (const std::set<bloom::Digest>& digests : {keys_, known_}) {
      std::vector<uint64_t> numbers(digests.begin(), digests.end());
      numbers.insert(numbers.begin(), digests.size());
      for (const uint64_t number : numbers) {
        char stored[8];
        bloom::Store64(stored, number);
        bytes.append(stored, 8);
      }
    }
    return bytes;
  }

 private:
  // The value that the scheme minimises, and the tie-breaker.
  static std::vector<double> CostOf(ClearingScheme scheme, const Weights& weights) {
    const double keys = weights.keys, positives = weights.false_positives;
    switch (scheme) {
      case ClearingScheme::kMinimumFn:
        return {keys, -positives};
      case ClearingScheme::kMaximumFp:
        return {-positives, keys};
      case ClearingScheme::kRatio:
        return {keys == 0 ? 0 : keys / positives, keys, -positives};
      case ClearingScheme::kRandom:
        break;
    }
    return {};
  }

  bloom::Shape shape_;
  uint64_t seed_;
  std::vector<bool> bits_;
  std::set<bloom::Digest> keys_, known_;
};

// A filter and its oracle.  They must stay equal after any sequence of operations on both.
struct RetouchedTwins {
  explicit RetouchedTwins(RetouchedFilter empty) : filter(std::move(empty)), oracle(filter) {}

  void Add(bloom::Digest digest) {
    filter.AddDigest(digest);
    oracle.Add(digest);
  }
  void AddFalsePositive(bloom::Digest digest) {
    const bool is_new = oracle.AddFalsePositive(digest);
    EXPECT_EQ(filter.AddFalsePositiveDigest(digest).value(), is_new);
  }
  // Clears the bit that the filter cleared if the scheme is random, otherwise the oracle's choice.
  void ClearInOracle(bloom::Digest digest, ClearingScheme scheme, const std::string& before) {
    if (oracle.Passes(digest)) {
      uint64_t bit = 0;
      if (scheme == ClearingScheme::kRandom) {
        const std::vector<uint64_t> bits = oracle.BitsOf(digest);
        const std::vector<uint64_t> cleared = testing_support::ClearedBits(before, filter);
        ASSERT_EQ(cleared.size(), 1u);
        ASSERT_THAT(bits, testing::Contains(cleared[0]));
        bit = cleared[0];
      } else {
        bit = oracle.Choose(digest, scheme);
        of_all_differ += bit != oracle.Choose(digest, scheme, true);
      }
      ++choices;
      oracle.Clear(bit);
    }
    oracle.Forget(digest);
  }
  void SelectiveClearing(bloom::Digest digest, ClearingScheme scheme) {
    const std::string before = filter.SerializeBits();
    ASSERT_EQ(filter.SelectiveClearingDigest(digest, scheme).value(), oracle.Passes(digest));
    ClearInOracle(digest, scheme, before);
  }
  void ClearKnownFalsePositives(ClearingScheme scheme) {
    if (scheme == ClearingScheme::kRandom) return;
    const std::string before = filter.SerializeBits();
    filter.ClearKnownFalsePositives(scheme).value();
    while (!oracle.known().empty()) ClearInOracle(*oracle.known().begin(), scheme, before);
  }
  void RandomClearing(uint64_t seed) {
    const std::string before = filter.SerializeBits();
    filter.RandomClearing(0.02, seed).value();
    for (const uint64_t bit : testing_support::ClearedBits(before, filter)) oracle.Clear(bit);
  }
  void Merge(const RetouchedTwins& other) {
    ASSERT_TRUE(filter.Merge(other.filter).ok());
    oracle.Merge(other.oracle);
  }

  RetouchedFilter filter;
  RetouchedOracle oracle;
  uint64_t choices = 0;
  uint64_t of_all_differ =
      0;  // choices that would differ if all keys and false positives had weight
};

TEST(RetouchedChoiceTest, ChoosesTheBitOfTheScheme) {
  for (const ClearingScheme scheme : kClearingSchemes) {
    RetouchedTwins twins(RetouchedFilter::Make(500, 0.1, 1).value());
    for (uint64_t i = 0; i < 500; ++i) twins.Add(DigestOfKey(i));
    std::vector<uint64_t> asked = FalsePositivesFrom(twins.filter, 10'000, 150);
    for (const uint64_t i : asked) twins.AddFalsePositive(DigestOfKey(i));
    // Also other false positives, some of whose bits have no known false positive.
    const std::vector<uint64_t> others = FalsePositivesFrom(twins.filter, 100'000, 50);
    asked.insert(asked.begin(), others.begin(), others.end());
    for (const uint64_t i : asked) {
      twins.SelectiveClearing(DigestOfKey(i), scheme);
      ASSERT_EQ(twins.filter.Serialize().substr(64), twins.oracle.Payload());
    }
    EXPECT_GT(twins.choices, 30u);
    EXPECT_TRUE(scheme == ClearingScheme::kRandom || twins.of_all_differ > 10)
        << twins.of_all_differ;
    EXPECT_EQ(twins.filter.known_false_positive_count(), 0u);
  }
}

// Makes one random step of any kind, mostly of those that leave something to choose.
void TakeAnyStep(ClearingScheme scheme, Dice& dice, RetouchedTwins& twins) {
  const auto key = [&dice] { return DigestOfKey(dice.Roll(150)); };
  const auto stranger = [&dice, &twins] {
    uint64_t i = dice.Roll(1'000'000);
    for (int tries = 0; tries < 3000 && !twins.filter.MayContainDigest(DigestOfKey(i)); ++tries)
      ++i;
    return DigestOfKey(i);
  };
  switch (const uint64_t step = dice.Roll(100); step) {
    default:
      if (step < 35) return twins.Add(key());
      if (step < 65) return twins.AddFalsePositive(stranger());
      return twins.SelectiveClearing(stranger(), scheme);
    case 90:
      return twins.AddFalsePositive(key());
    case 91:
      return twins.Add(stranger());
    case 92:
    case 93:
      return twins.SelectiveClearing(key(), scheme);
    case 94:
      return twins.RandomClearing(dice.Next());
    case 95:
    case 96:
      twins.filter = RetouchedFilter::Load(twins.filter.Serialize()).value();
      return;
    case 97:
      if (!twins.oracle.known().empty())
        twins.SelectiveClearing(*twins.oracle.known().rbegin(), scheme);
      return;
    case 98:
      if (dice.OneIn(4)) twins.ClearKnownFalsePositives(scheme);
      return;
    case 99:
      if (!dice.OneIn(4)) return;
      RetouchedTwins other(RetouchedFilter::Make(100, 0.03, twins.filter.seed()).value());
      for (int i = 0; i < 20; ++i) other.Add(stranger());
      for (int i = 0; i < 20; ++i) other.AddFalsePositive(stranger());
      return twins.Merge(other);
  }
}

TEST(RetouchedChoiceTest, ChoosesAsTheOracle) {
  for (const ClearingScheme scheme : kClearingSchemes) {
    uint64_t choices = 0, of_all_differ = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      Dice dice(seed);
      RetouchedTwins twins(RetouchedFilter::Make(100, 0.03, seed).value());
      ASSERT_GE(twins.filter.shape().probes, 3u);
      for (int step = 0; step < 1000; ++step) {
        TakeAnyStep(scheme, dice, twins);
        ASSERT_EQ(twins.filter.Serialize().substr(64), twins.oracle.Payload())
            << "scheme " << static_cast<int>(scheme) << ", seed " << seed << ", step " << step;
        ASSERT_EQ(twins.filter.known_false_positive_count(), twins.oracle.known().size());
        if (step % 250 == 249) {
          twins.filter.Clear();
          twins.oracle = RetouchedOracle(twins.filter);
        }
      }
      choices += twins.choices;
      of_all_differ += twins.of_all_differ;
    }
    EXPECT_GT(choices, 500u);
    EXPECT_TRUE(scheme == ClearingScheme::kRandom || of_all_differ > 50) << of_all_differ;
  }
}

// The bit with the most keys loses them, because other bits of these keys are cleared.  Now this
// bit costs the least.  After the keys are added again, it costs as much as before.
TEST(RetouchedChoiceTest, LostKeysWeighNothingUntilTheyPassAgain) {
  constexpr auto kScheme = ClearingScheme::kMinimumFn;
  int tried = 0;
  const std::string bytes = MakeRetouched(500, 0.03).Serialize();
  for (const uint64_t i : FalsePositivesFrom(MakeRetouched(500, 0.03), 10'000, 200)) {
    RetouchedTwins twins(RetouchedFilter::Make(500, 0.03, 1).value());
    for (uint64_t key = 0; key < 500; ++key) twins.Add(DigestOfKey(key));
    const std::vector<uint64_t> bits = twins.oracle.BitsOf(DigestOfKey(i));
    const auto weights = twins.oracle.AllWeights();
    const uint64_t heaviest = *std::max_element(
        bits.begin(), bits.end(),
        [&weights](uint64_t a, uint64_t b) { return weights[a].keys < weights[b].keys; });
    for (uint64_t key = 0; key < 500; ++key) {
      if (testing::Value(twins.oracle.BitsOf(DigestOfKey(key)), testing::Contains(heaviest)))
        twins.SelectiveClearing(DigestOfKey(key), ClearingScheme::kRandom);
    }
    const auto left = twins.oracle.AllWeights();
    const bool is_free_alone = std::all_of(bits.begin(), bits.end(), [&](uint64_t bit) {
      return (left[bit].keys == 0) == (bit == heaviest);
    });
    const bool was_a_choice = std::any_of(bits.begin(), bits.end(), [&](uint64_t bit) {
      return weights[bit].keys < weights[heaviest].keys;
    });
    if (!is_free_alone || !was_a_choice || !twins.oracle.Passes(DigestOfKey(i))) continue;
    RetouchedFilter again = RetouchedFilter::Load(twins.filter.Serialize()).value();
    ASSERT_TRUE(twins.filter.SelectiveClearingDigest(DigestOfKey(i), kScheme).value());
    EXPECT_FALSE(RetouchedBit(twins.filter, heaviest));
    for (uint64_t key = 0; key < 500; ++key) again.AddDigest(DigestOfKey(key));
    RetouchedFilter first = RetouchedFilter::Load(bytes).value();
    ASSERT_EQ(again.SerializeBits().substr(64), first.SerializeBits().substr(64));
    for (RetouchedFilter* filter : {&again, &first})
      ASSERT_TRUE(filter->SelectiveClearingDigest(DigestOfKey(i), kScheme).value());
    EXPECT_EQ(again.Serialize().substr(64), first.Serialize().substr(64));
    EXPECT_TRUE(RetouchedBit(again, heaviest));
    ++tried;
  }
  EXPECT_GT(tried, 20);
}

// A key does not weigh more because it was added more often.
TEST(RetouchedChoiceTest, KeysAddedTwiceCountOnce) {
  RetouchedFilter once = MakeRetouched(500, 0.1), often = MakeRetouched(500, 0.1);
  for (uint64_t i = 0; i < 500; ++i)
    for (uint64_t times = i % 3; times > 0; --times) often.AddDigest(DigestOfKey(i));
  EXPECT_EQ(often.added_count(), 999u);
  for (const uint64_t i : FalsePositivesFrom(once, 10'000, 100)) {
    ASSERT_EQ(once.SelectiveClearingDigest(DigestOfKey(i), ClearingScheme::kMinimumFn).value(),
              often.SelectiveClearingDigest(DigestOfKey(i), ClearingScheme::kMinimumFn).value());
  }
  EXPECT_EQ(often.Serialize().substr(64), once.Serialize().substr(64));
}

// Adds far more keys than planned, so that each bit has hundreds of keys.
TEST(RetouchedChoiceTest, WeightsHaveNoMaximum) {
  RetouchedTwins twins(RetouchedFilter::Make(100, 0.1, 5).value());
  ASSERT_GE(twins.filter.shape().probes, 2u);
  const uint64_t keys = 200 * twins.filter.shape().size;
  for (uint64_t i = 0; i < keys; ++i) twins.Add(DigestOfKey(i));
  for (uint64_t i = keys; i < keys + 1000; ++i) twins.AddFalsePositive(DigestOfKey(i));
  const auto weights = twins.oracle.AllWeights();
  EXPECT_GT(std::count_if(weights.begin(), weights.end(),
                          [](const auto& weight) { return weight.keys > 255; }),
            twins.filter.shape().size * 0.9);
  for (const ClearingScheme scheme : kClearingSchemes) {
    for (uint64_t i = keys + 996; i < keys + 1004; ++i)
      twins.SelectiveClearing(DigestOfKey(i), scheme);
  }
  EXPECT_EQ(twins.filter.Serialize().substr(64), twins.oracle.Payload());
}

// An implementation with a known fault starts the ratio at 0 and leaves it there if a weight is 0.
// Then bits without any known false positive win.
TEST(RetouchedChoiceTest, BitsWithoutFalsePositivesAreNotCheap) {
  RetouchedFilter filter = MakeRetouched(2000, 0.1);
  const std::vector<uint64_t> found = FalsePositivesFrom(filter, 10'000, 2000);
  // A pair of false positives that share a bit.  One is known, the other one is cleared.
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

// An implementation with a known fault throws if no false positive was registered, because then it
// finds no best bit.
TEST(RetouchedChoiceTest, TheFewestKeysDecideWithoutFalsePositives) {
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

// --- the benefit: chi, the share of false positives removed per share of keys denied ---

TEST(RetouchedChoiceTest, RandomClearingRemovesAsManyFalsePositivesAsKeys) {
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

TEST(RetouchedChoiceTest, BetterChoicesRemoveMore) {
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
      cleared[i] += static_cast<double>(copy.ClearKnownFalsePositives(kClearingSchemes[i]).value());
      ASSERT_EQ(ShareRemoved(copy, known), 1);
      chi[i] += 1 / ShareDenied(copy, kKeys) / kSeeds;
      chi_of_strangers[i] += ShareRemoved(copy, strangers) / ShareDenied(copy, kKeys) / kSeeds;
    }
  }
  const double random = chi[0], minimum_fn = chi[1], maximum_fp = chi[2], ratio = chi[3];
  EXPECT_GT(random, 1.5);
  EXPECT_GT(maximum_fp, 1.2 * random);
  EXPECT_GT(minimum_fn, 1.05 * maximum_fp);
  EXPECT_NEAR(1 / minimum_fn, 0.31, 0.005);
  // If keys have similar weights, the ratio gains nothing over the fewest keys.
  EXPECT_NEAR(ratio / minimum_fn, 1, 0.03);
  EXPECT_LT(cleared[2], 0.95 * cleared[3]);  // each bit removes more of them at once
  EXPECT_LT(cleared[3], 0.9 * cleared[0]);
  // As many unknown false positives are removed as by random clearing, but fewer keys are denied.
  EXPECT_NEAR(chi_of_strangers[0], 1, 0.05);
  EXPECT_GT(chi_of_strangers[1], 1.2);
  EXPECT_GT(chi_of_strangers[2], 1.03);
  EXPECT_GT(chi_of_strangers[3], 1.2);
}

// The share that bloom/README.md states.
TEST(RetouchedChoiceTest, TheBestChoiceLosesTheStatedShareOfKeys) {
  constexpr uint64_t kKeys = 20'000;
  constexpr std::pair<double, double> kShares[] = {
      {0.001, 0.22}, {0.01, 0.27}, {1 / 32.0, 0.31}, {0.1, 0.39}};
  for (const auto& [fpp, share] : kShares) {
    RetouchedFilter filter = MakeRetouched(kKeys, fpp, 1);
    for (const uint64_t key : FalsePositivesFrom(filter, 1'000'000, kKeys))
      ASSERT_TRUE(filter.AddFalsePositiveDigest(DigestOfKey(key)).value());
    ASSERT_TRUE(filter.ClearKnownFalsePositives(ClearingScheme::kMinimumFn).ok());
    EXPECT_NEAR(ShareDenied(filter, kKeys), share, 0.01) << fpp;
  }
}

}  // namespace
