#include "bench/sift_like.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "bloom/filter.h"
#include "bloom/literature/vectors.h"
#include "bloom/variants/standard.h"

namespace bench {
namespace {

std::string KeyOf(std::span<const uint8_t> vector) { return {vector.begin(), vector.end()}; }

TEST(SiftLikeTest, FollowsFromTheSeed) {
  const SiftLike one(1000, 1), same(1000, 1), other(1000, 2);
  std::vector<uint8_t> a(128), b(128), c(128);
  std::unordered_set<std::string> seen;
  for (uint64_t i = 0; i < 1000; ++i) {
    one.Base(i, a), same.Base(i, b), other.Base(i, c);
    EXPECT_EQ(a, b);
    EXPECT_NE(a, c);
    EXPECT_TRUE(seen.insert(KeyOf(a)).second);
    EXPECT_EQ(one.Query(i, a), same.Query(i, b));
    EXPECT_EQ(a, b);
  }
}

TEST(SiftLikeTest, LooksLikeDescriptors) {
  constexpr int kVectors = 20'000, kSize = 128;
  const SiftLike source(kVectors, 3);
  std::vector<uint8_t> vector(kSize);
  std::vector<double> sum(kSize), squares(kSize), with_next(kSize), with_far(kSize);
  double norms = 0;
  int zeros = 0, above_100 = 0, largest = 0;
  for (int i = 0; i < kVectors; ++i) {
    source.Base(static_cast<uint64_t>(i), vector);
    double norm = 0;
    for (int j = 0; j < kSize; ++j) {
      sum[j] += vector[j];
      squares[j] += vector[j] * vector[j];
      with_next[j] += vector[j] * vector[(j + 1) % kSize];
      with_far[j] += vector[j] * vector[(j + 16) % kSize];
      norm += vector[j] * vector[j];
      zeros += vector[j] == 0;
      above_100 += vector[j] > 100;
      largest = std::max<int>(largest, vector[j]);
    }
    norms += std::sqrt(norm);
    ASSERT_LT(std::sqrt(norm), 520);
  }
  EXPECT_NEAR(norms / kVectors, 512, 12);
  EXPECT_EQ(largest, 255);
  // Skewed: the mean is far from the middle, some are zero, a few are large.
  EXPECT_NEAR(zeros / (1.0 * kVectors * kSize), 0.1, 0.05);
  EXPECT_NEAR(above_100 / (1.0 * kVectors * kSize), 0.05, 0.03);
  const auto correlation = [&](int j, const std::vector<double>& products, int other) {
    const auto mean = [&](int k) { return sum[k] / kVectors; };
    const auto variance = [&](int k) { return squares[k] / kVectors - mean(k) * mean(k); };
    return (products[j] / kVectors - mean(j) * mean(other)) /
           std::sqrt(variance(j) * variance(other));
  };
  for (int j = 0; j < kSize; ++j) {
    EXPECT_NEAR(sum[j] / kVectors, 27, 6) << j;
    if (j % 16 != 15) {  // of one group
      EXPECT_GT(correlation(j, with_next, j + 1), 0.12) << j;
    } else {
      EXPECT_LT(correlation(j, with_next, (j + 1) % kSize), 0.03) << j;
    }
    EXPECT_LT(correlation(j, with_far, (j + 16) % kSize), 0.03) << j;
  }
}

TEST(SiftLikeTest, TypesHaveTheSameNumbers) {
  const SiftLike source(10, 1);
  std::vector<uint8_t> bytes(128);
  source.Base(3, bytes);
  const auto floats = ComponentsAs<float>(bytes);
  const auto ints = ComponentsAs<int32_t>(bytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(floats[i], bytes[i]);
    EXPECT_EQ(ints[i], bytes[i]);
    EXPECT_EQ(std::bit_cast<uint32_t>(floats[i]) & 0xffff, 0u);
  }
}

TEST(SiftLikeTest, HasOtherDimensions) {
  for (const uint32_t dimension : {8, 16, 20, 960}) {
    const SiftLike source(2000, 5, dimension);
    std::vector<uint8_t> vector(dimension);
    std::unordered_set<std::string> seen;
    double mean = 0;
    for (uint64_t i = 0; i < 2000; ++i) {
      source.Base(i, vector);
      seen.insert(KeyOf(vector));
      for (const uint8_t component : vector) mean += component / (2000.0 * dimension);
    }
    EXPECT_GT(seen.size(), 1990u) << dimension;
    EXPECT_NEAR(mean, 27, 6) << dimension;
  }
}

TEST(SiftLikeTest, PlantsDuplicatesAndNearDuplicates) {
  constexpr uint64_t kQueries = 100'000;
  const SiftLike source(1000, 7);
  std::vector<uint8_t> vector(128), base(128);
  std::vector<std::vector<uint8_t>> all;
  std::unordered_set<std::string> present;
  for (uint64_t i = 0; i < 1000; ++i) {
    source.Base(i, base);
    all.push_back(base);
    present.insert(KeyOf(base));
  }
  std::map<SiftLike::Origin, uint64_t> counts;
  for (uint64_t i = 0; i < kQueries; ++i) {
    const SiftLike::Origin origin = source.Query(i, vector);
    ++counts[origin];
    ASSERT_EQ(present.contains(KeyOf(vector)), origin == SiftLike::Origin::kDuplicate);
    if (origin != SiftLike::Origin::kNearDuplicate || counts[origin] > 200) continue;
    int nearest = 128 * 255;
    for (const std::vector<uint8_t>& other : all) {
      int distance = 0;
      for (size_t j = 0; j < 128; ++j) distance += std::abs(vector[j] - other[j]);
      nearest = std::min(nearest, distance);
    }
    ASSERT_EQ(nearest, 1);
  }
  EXPECT_NEAR(static_cast<double>(counts[SiftLike::Origin::kDuplicate]), 1000, 130);
  EXPECT_NEAR(static_cast<double>(counts[SiftLike::Origin::kNearDuplicate]), 10'000, 400);
}

// Measures like filter_lab: a million absent vectors; an exact set excludes present ones.
TEST(SiftLikeTest, VectorFiltersKeepTheirPrediction) {
  using Filter = bloom::VectorFilter<float, bloom::Filter<bloom::Standard>>;
  constexpr uint64_t kVectors = 100'000, kQueries = 1'020'000, kSeeds = 5;
  const SiftLike source(kVectors, 11);
  std::vector<Filter> filters;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed)
    filters.push_back(Filter::Make(kVectors, 0.01, {.dimension = 128, .seed = seed}).value());
  std::unordered_set<std::string> present;
  std::vector<uint8_t> vector(128);
  std::vector<float> floats(128);
  for (uint64_t i = 0; i < kVectors; ++i) {
    source.Base(i, vector);
    present.insert(KeyOf(vector));
    std::copy(vector.begin(), vector.end(), floats.begin());
    for (Filter& filter : filters) ASSERT_TRUE(filter.Add(floats).ok());
  }
  uint64_t passing[kSeeds] = {}, absent = 0, near_absent = 0, near_passing = 0;
  for (uint64_t i = 0; i < kQueries; ++i) {
    const SiftLike::Origin origin = source.Query(i, vector);
    const bool is_present = present.contains(KeyOf(vector));
    absent += !is_present;
    near_absent += origin == SiftLike::Origin::kNearDuplicate;
    std::copy(vector.begin(), vector.end(), floats.begin());
    for (uint64_t f = 0; f < kSeeds; ++f) {
      const bool passes = filters[f].MayContain(floats);
      ASSERT_TRUE(passes || !is_present);
      passing[f] += passes && !is_present;
      near_passing += passes && origin == SiftLike::Origin::kNearDuplicate;
    }
  }
  EXPECT_GT(absent, 1'000'000u);
  EXPECT_NEAR(static_cast<double>(kQueries - absent) / kQueries, 0.01, 0.001);
  const double predicted = filters[0].PredictedFpp(kVectors);
  double sum = 0;
  for (const uint64_t count : passing) {
    EXPECT_NEAR(static_cast<double>(count) / static_cast<double>(absent) / predicted, 1, 0.04);
    sum += static_cast<double>(count) / static_cast<double>(absent);
  }
  EXPECT_NEAR(sum / kSeeds / predicted, 1, 0.03);
  // Vectors that are nearly equal to stored ones do not pass more often.
  EXPECT_NEAR(
      static_cast<double>(near_passing) / (kSeeds * static_cast<double>(near_absent)) / predicted,
      1, 0.06);
}

}  // namespace
}  // namespace bench
