// The probes of a key are practically independent, also in filters that are too large for a test to
// fill.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/hash.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/shifting.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/kinds.h"

namespace {

using bloom::Blocked;
using bloom::kMaxProbes;
using bloom::kMaxSizeBits;
using bloom::Shape;
using bloom::Shifting;
using bloom::Standard;
using testing_support::DigestsOfKeys;

// The bit of probe i of a key, counted from the start of the filter.  A new kind adds an overload
// here.
uint64_t PositionOf(Standard, uint64_t bits, uint64_t hash, uint32_t i) {
  bloom::Probes probes(hash, bits);
  while (i-- > 0) probes.Next();
  return probes.Next();
}
uint64_t PositionOf(Blocked, uint64_t bits, uint64_t hash, uint32_t i) {
  const Shape shape{bits / bloom::kLineBits, kMaxProbes};
  return 8 * Blocked::LineOffset(shape, hash) + Blocked::Position(Blocked::InLine(hash), i);
}
uint64_t PositionOf(Shifting, uint64_t bits, uint64_t hash, uint32_t i) {
  return PositionOf(Standard{}, bits, hash, i / 2) + (i % 2 == 0 ? 0 : Shifting::Offset(hash));
}

uint64_t CountEqualPairs(std::vector<uint64_t> values) {
  std::sort(values.begin(), values.end());
  uint64_t pairs = 0;
  uint64_t run = 0;  // values before this one that equal it
  for (size_t i = 1; i < values.size(); ++i) {
    run = values[i] == values[i - 1] ? run + 1 : 0;
    pairs += run;
  }
  return pairs;
}

template <class K>
class ProbesTest : public testing::Test {
 protected:
  // Position of probe i of each of the keys [0, keys).
  static std::vector<uint64_t> Positions(uint64_t bits, uint64_t keys, uint32_t i) {
    std::vector<uint64_t> positions;
    positions.reserve(keys);
    for (uint64_t key = 0; key < keys; ++key) {
      positions.push_back(PositionOf(K{}, bits, bloom::Remix(key, ~uint64_t{0}), i));
    }
    return positions;
  }
};
// Split-block filters are Parquet's: tests/bloom/variants/split_block_test.cc.
using FreeKinds = testing::Types<Standard, Blocked, Shifting>;
TYPED_TEST_SUITE(ProbesTest, FreeKinds, testing_support::KindNames);

// A filter of 2^40 bits takes no memory, because the test looks only at positions.  If a probe has
// too few values, too many keys collide in it.  With 2^32 values 8 pairs would collide here.
TYPED_TEST(ProbesTest, KeysCollideAsRarelyAsIndependentOnes) {
  constexpr uint64_t kBits = uint64_t{1} << 40;
  constexpr uint64_t kKeys = 1 << 18;  // 2^35 pairs: 1/32 expected to meet in a probe, 1 in all
  uint64_t all = 0;
  for (uint32_t i = 0; i < kMaxProbes; ++i) {
    const std::vector<uint64_t> positions = this->Positions(kBits, kKeys, i);
    EXPECT_NEAR(static_cast<double>(*std::max_element(positions.begin(), positions.end())) / kBits,
                1, 1e-4);
    const uint64_t pairs = CountEqualPairs(positions);
    EXPECT_LE(pairs, 3u) << "probe " << i;
    all += pairs;
  }
  EXPECT_LE(all, 7u);
}

TYPED_TEST(ProbesTest, ProbesCollideAsRarelyAsIndependentOnes) {
  constexpr uint64_t kBits = uint64_t{1} << 40;
  constexpr uint64_t kKeys = 1 << 16;  // 2^21 positions, 2^41 pairs: two expected to meet
  std::vector<uint64_t> positions;
  positions.reserve(kKeys * kMaxProbes);
  for (uint32_t i = 0; i < kMaxProbes; ++i) {
    const std::vector<uint64_t> of_probe = this->Positions(kBits, kKeys, i);
    positions.insert(positions.end(), of_probe.begin(), of_probe.end());
  }
  const double within_a_key =
      std::is_same_v<TypeParam, Blocked>  // which has all probes of a key in one line
          ? kKeys * (kMaxProbes * (kMaxProbes - 1) / 2.0) / bloom::kLineBits
          : 0;
  const double expected = 2 + within_a_key;
  EXPECT_NEAR(static_cast<double>(CountEqualPairs(std::move(positions))), expected,
              10 + 6 * std::sqrt(within_a_key));
}

TEST(StandardProbesTest, EveryProbeHasAsManyValuesAsTheLargestFilterHasBits) {
  constexpr uint64_t kKeys = 1 << 18;
  for (uint32_t i = 0; i < kMaxProbes; ++i) {
    std::vector<uint64_t> positions;
    for (uint64_t key = 0; key < kKeys; ++key) {
      positions.push_back(PositionOf(Standard{}, kMaxSizeBits, bloom::Remix(key, 99), i));
    }
    EXPECT_EQ(CountEqualPairs(std::move(positions)), 0u) << "probe " << i;
  }
}

// With few keys, dependent probes show: with double hashing half as many keys again would pass
// here.  Compares with the share of ones of each filter, so that the different shares add no noise.
TEST(StandardProbesTest, FewKeysPassAtTheRateOfTheOnes) {
  constexpr uint64_t kKeys = 40;
  constexpr uint64_t kFilters = 2000;
  constexpr uint64_t kQueries = 20'000;
  const Shape shape = Standard::ShapeFor(kKeys, 0.001).value();
  const std::unique_ptr<bool[]> answers(new bool[kQueries]);
  double passed = 0;
  double expected = 0;
  for (uint64_t seed = 0; seed < kFilters; ++seed) {
    bloom::AlignedBytes bits = bloom::AlignedBytes::Zeros(Standard::PayloadBytes(shape));
    Standard::Build(bits.data(), shape, seed, DigestsOfKeys(0, kKeys, seed));
    const bloom::FilterView view{bits.data(), shape, seed};
    const auto absent = DigestsOfKeys(kKeys, kKeys + kQueries, seed);
    Standard::Functions(view).may_contain_batch(view, absent.data(), kQueries, answers.get());
    passed += static_cast<double>(std::count(answers.get(), answers.get() + kQueries, true));
    expected += Standard::CurrentFpp(view) * kQueries;
  }
  EXPECT_NEAR(passed / expected, 1, 0.015);  // a standard error of 0.005
}

}  // namespace
