#include "bench/sax_hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "bench/sift_like.h"
#include "bloom/filter.h"
#include "bloom/literature/vector_digest.h"
#include "bloom/literature/vectors.h"
#include "bloom/variants/standard.h"

namespace bench {
namespace {

using IntSpan = std::span<const int32_t>;
using ByteSpan = std::span<const uint8_t>;

TEST(SaxHashTest, MatchesTheStudy) {
  EXPECT_EQ(SaxHash(ByteSpan()), 0u);
  const uint8_t abc[] = {'a', 'b', 'c'};
  // By hand: 97; 97 ^ (3104 + 24 + 98) = 3323; 3323 ^ (106336 + 830 + 99).
  EXPECT_EQ(SaxHash(ByteSpan(abc)), 3323u ^ 107265u);
  EXPECT_EQ(SaxHash(ByteSpan(abc), 5), SaxHash(ByteSpan(abc).subspan(1), 5u ^ (160 + 1 + 97)));
  const int32_t ints[] = {97, 98, 99};
  EXPECT_EQ(SaxHash(IntSpan(ints)), SaxHash(ByteSpan(abc)));
  const int32_t negative[] = {-1};
  EXPECT_EQ(SaxHash(IntSpan(negative)), 0xffffffffu);
}

TEST(SaxHashTest, BadFormDropsLastElementAndHighestBit) {
  for (const size_t dimension : {1, 2, 16, 128}) {
    std::vector<int32_t> vector(dimension, 3), other = vector;
    other.back() = 4;
    EXPECT_EQ(SaxHashWithoutLast(IntSpan(vector)), SaxHashWithoutLast(IntSpan(other)));
    EXPECT_NE(SaxHash(IntSpan(vector)), SaxHash(IntSpan(other)));
    EXPECT_NE(bloom::VectorDigest(IntSpan(vector), 0), bloom::VectorDigest(IntSpan(other), 0));
    for (int32_t value = 0; value < 64; ++value) {
      vector[0] = -value;
      EXPECT_LT(SaxHashWithoutLast(IntSpan(vector)), uint32_t{1} << 31);
    }
  }
  // So all vectors of one element have the same hash.
  const int32_t one[] = {1}, two[] = {2};
  EXPECT_EQ(SaxHashWithoutLast(IntSpan(one)), 0u);
  EXPECT_EQ(SaxHashWithoutLast(IntSpan(two)), 0u);
  EXPECT_NE(bloom::VectorDigest(IntSpan(one), 0), bloom::VectorDigest(IntSpan(two), 0));
}

// Shares of absent vectors that pass, over several collections.
struct Rates {
  double seeded = 0;
  double same_again = 0;
  double digest = 0;
};
Rates MeasureRates(double target_fpp, uint64_t collections, uint64_t queries) {
  using Filter = bloom::VectorFilter<uint8_t, bloom::Filter<bloom::Standard>>;
  constexpr uint64_t kVectors = 100'000;
  constexpr uint32_t kDimension = 16;
  uint64_t seeded = 0, same_again = 0, digest = 0, absent = 0;
  for (uint64_t seed = 1; seed <= collections; ++seed) {
    const SiftLike source(kVectors, seed, kDimension);
    SaxFilter<uint8_t> by_seeds(kVectors, target_fpp, SaxProbes::kSeeded);
    SaxFilter<uint8_t> by_one(kVectors, target_fpp, SaxProbes::kSameAgain);
    Filter by_digest =
        Filter::Make(kVectors, target_fpp, {.dimension = kDimension, .seed = seed}).value();
    std::unordered_set<std::string> present;
    std::vector<uint8_t> vector(kDimension);
    for (uint64_t i = 0; i < kVectors; ++i) {
      source.Base(i, vector);
      present.insert(std::string(vector.begin(), vector.end()));
      by_seeds.Add(vector);
      by_one.Add(vector);
      EXPECT_TRUE(by_digest.Add(vector).ok());
    }
    for (uint64_t i = 0; i < queries; ++i) {
      source.Query(i, vector);
      if (present.contains(std::string(vector.begin(), vector.end()))) continue;
      ++absent;
      seeded += by_seeds.MayContain(vector);
      same_again += by_one.MayContain(vector);
      digest += by_digest.MayContain(vector);
    }
  }
  const auto share = [absent](uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(absent);
  };
  return {share(seeded), share(same_again), share(digest)};
}

// The rate is 1 - e^(-n/m), whatever the number of probes.
TEST(SaxHashTest, RepeatedHashPassesTenTimesAsMany) {
  const Rates rates = MeasureRates(0.01, 5, 120'000);
  EXPECT_NEAR(rates.same_again / 0.0991, 1, 0.04);
  EXPECT_NEAR(rates.seeded / 0.01, 1, 0.06);
  EXPECT_NEAR(rates.digest / 0.01, 1, 0.05);
  const Rates strict = MeasureRates(0.001, 2, 80'000);
  EXPECT_NEAR(strict.same_again / 0.0672, 1, 0.04);
  EXPECT_LT(strict.digest, 0.0012);
}

}  // namespace
}  // namespace bench
