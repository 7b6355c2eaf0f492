#include "lsm/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/deterministic_environment.h"

namespace lsm {
namespace {

using Histogram = BasicHistogram<7>;

TEST(HistogramTest, EmptyHistogramGivesZeros) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.Percentile(0.5), 0u);
}

TEST(HistogramTest, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 0; value < 100; ++value) histogram.Record(value);
  EXPECT_EQ(histogram.Percentile(0), 0u);
  EXPECT_EQ(histogram.Percentile(0.01), 0u);
  EXPECT_EQ(histogram.Percentile(0.5), 49u);
  EXPECT_EQ(histogram.Percentile(0.95), 94u);
  EXPECT_EQ(histogram.Percentile(1), 99u);
}

TEST(HistogramTest, RanksRoundUp) {
  Histogram histogram;
  for (const uint64_t value : {10, 20, 30}) histogram.Record(value);
  EXPECT_EQ(histogram.Percentile(0.5), 20u);
  EXPECT_EQ(histogram.Percentile(0.67), 30u);
}

TEST(HistogramTest, PercentilesAreWithinABucketOfTheSortedValues) {
  const uint64_t seed = 5;
  SCOPED_TRACE(seed);
  testing_support::SeededRandom random(seed);
  Histogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(random.Next() >> (random.Next() % 60));  // all orders of magnitude
    histogram.Record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const size_t rank = static_cast<size_t>(share * 20000);
    const double exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.Percentile(share)), exact, exact / 128 + 1) << share;
  }
}

TEST(HistogramTest, BucketsHoldValuesUpToTheirLargest) {
  Histogram histogram;
  EXPECT_TRUE(histogram.Buckets().empty());
  EXPECT_EQ(histogram.sum(), 0);
  // Values of 2^8 and more share buckets: 256 and 257 one, 1020 to 1023 one.
  for (const uint64_t value : {3, 3, 255, 256, 257, 258, 1020, 1023}) histogram.Record(value);
  const std::vector<Histogram::Bucket> expected = {{3, 2}, {255, 1}, {257, 2}, {259, 1}, {1023, 2}};
  EXPECT_EQ(histogram.Buckets(), expected);
  EXPECT_NEAR(histogram.sum(), 3075, 3075.0 / 128);
  Histogram largest;
  largest.Record(UINT64_MAX);
  EXPECT_EQ(largest.Buckets().back().largest, UINT64_MAX);
}

TEST(HistogramTest, LargestValueHasABucket) {
  Histogram histogram;
  histogram.Record(UINT64_MAX);
  histogram.Record(0);
  EXPECT_GT(histogram.Percentile(1), UINT64_MAX / 256 * 255);
}

TEST(HistogramTest, BucketsHoldTheirMiddle) {
  uint64_t before = 0;
  for (size_t bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
    LatencyHistogram histogram;
    histogram.Add(bucket, 1);
    EXPECT_EQ(LatencyHistogram::BucketOf(histogram.max()), bucket);
    EXPECT_TRUE(bucket == 0 || histogram.max() > before) << bucket;
    before = histogram.max();
  }
}

TEST(HistogramTest, MergesAndSubtracts) {
  LatencyHistogram first, second;
  for (uint64_t value = 1; value <= 100; ++value) first.Record(value * 1000);
  LatencyHistogram both = first;
  for (uint64_t value = 1; value <= 100; ++value) second.Record(value * 50);
  both.Merge(second);
  EXPECT_EQ(both.count(), 200u);
  EXPECT_NEAR(static_cast<double>(both.Percentile(0.25)), 2381, 2381 / 32);
  const LatencyHistogram since = both.Since(first);
  EXPECT_EQ(since.count(), 100u);
  for (const double share : {0.0, 0.5, 0.99, 1.0})
    EXPECT_EQ(since.Percentile(share), second.Percentile(share));
  EXPECT_EQ(first.Since(LatencyHistogram()).max(), first.max());
}

TEST(HistogramTest, SubtractionStopsAtZero) {
  LatencyHistogram more;
  more.Record(5);
  more.Record(9);
  EXPECT_EQ(LatencyHistogram().Since(more).count(), 0u);
  LatencyHistogram other;
  other.Record(5);
  other.Record(5);
  const LatencyHistogram since = other.Since(more);
  EXPECT_EQ(since.count(), 1u);
  EXPECT_EQ(since.max(), 5u);
}

TEST(HistogramTest, IsAtLeastItsEarlierCopy) {
  LatencyHistogram before;
  EXPECT_TRUE(LatencyHistogram().IsAtLeast(before));
  before.Record(5);
  LatencyHistogram after = before;
  after.Record(9);
  EXPECT_TRUE(after.IsAtLeast(before));
  EXPECT_TRUE(after.IsAtLeast(LatencyHistogram()));
  EXPECT_FALSE(before.IsAtLeast(after));
  EXPECT_FALSE(LatencyHistogram().IsAtLeast(before));
}

TEST(HistogramTest, ClampsShares) {
  Histogram histogram;
  for (const uint64_t value : {10, 20, 30}) histogram.Record(value);
  EXPECT_EQ(histogram.Percentile(std::nan("")), 10u);
  EXPECT_EQ(histogram.Percentile(-1), 10u);
  EXPECT_EQ(histogram.Percentile(2), 30u);
  histogram.Add(40, UINT64_MAX - 3);  // as a double, more than that
  EXPECT_EQ(histogram.Percentile(1), 40u);
  EXPECT_EQ(histogram.Percentile(0.9999999999999999), 40u);
}

}  // namespace
}  // namespace lsm
