// Counts of values by size, from which percentiles are read.
//
// Log-linear: values below 2^kLinearBits have a bucket each; every power of two above is cut into
// 2^kLinearBits equal parts.  So a bucket is at most 1 / 2^kLinearBits of its values wide.
//
//   bucket of v, with s = floor(log2 v) - kLinearBits:   2^kLinearBits s + (v >> s)
#ifndef TRELLIS_LSM_HISTOGRAM_H_
#define TRELLIS_LSM_HISTOGRAM_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Threads: like a vector of integers.
template <int kLinearBits>
class BasicHistogram {
 public:
  static constexpr size_t kBuckets = (64 - kLinearBits + 1) * (size_t{1} << kLinearBits);

  static size_t BucketOf(uint64_t value) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - 1 - kLinearBits);
    return (static_cast<size_t>(shift) << kLinearBits) + static_cast<size_t>(value >> shift);
  }

  void Record(uint64_t value) { Add(BucketOf(value), 1); }
  void Add(size_t bucket, uint64_t count) {
    if (counts_.empty()) counts_.resize(kBuckets);
    counts_[bucket] += count;
    count_ += count;
  }
  void Merge(const BasicHistogram& other) {
    for (size_t i = 0; i < other.counts_.size(); ++i) Add(i, other.counts_[i]);
  }

  // The values recorded after `before` was copied from this one.  A bucket in which `before` counts
  // more, because it is no earlier copy, counts 0.
  BasicHistogram Since(const BasicHistogram& before) const {
    BasicHistogram difference;
    for (size_t i = 0; i < counts_.size(); ++i)
      difference.Add(i, counts_[i] - std::min(counts_[i], before.CountAt(i)));
    return difference;
  }

  // Whether every bucket counts at least as much as that of `before`, as it does for a later copy.
  bool IsAtLeast(const BasicHistogram& before) const {
    for (size_t i = 0; i < before.counts_.size(); ++i) {
      if (CountAt(i) < before.counts_[i]) return false;
    }
    return true;
  }

  uint64_t count() const { return count_; }

  // The sum of the values, each taken as the middle of its bucket.
  double sum() const {
    double sum = 0;
    for (size_t i = 0; i < counts_.size(); ++i)
      sum += static_cast<double>(counts_[i]) * static_cast<double>(MiddleOf(i));
    return sum;
  }

  // The buckets that are not empty, by ascending values, for programs that export them.
  struct Bucket {
    uint64_t largest = 0;  // value that belongs to the bucket
    uint64_t count = 0;    // values in this bucket alone
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> Buckets() const {
    std::vector<Bucket> buckets;
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] > 0) buckets.push_back({LargestOf(i), counts_[i]});
    }
    return buckets;
  }

  // The middle of the first bucket such that at least `share` (of [0, 1]) of all values are in it
  // or below it: off by at most half a bucket.  0 while nothing was recorded.  NaN is as 0.
  uint64_t Percentile(double share) const {
    if (count_ == 0) return 0;
    uint64_t rank = 1;
    if (share >= 1) {
      rank = count_;
    } else if (share > 0) {
      const auto exact = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
      rank = std::clamp<uint64_t>(exact, 1, count_);
    }
    uint64_t seen = 0;
    size_t bucket = 0;
    while ((seen += counts_[bucket]) < rank) ++bucket;
    return MiddleOf(bucket);
  }
  // The largest value recorded, to half a bucket.  Where only a sample of the calls is timed, as in
  // Statistics, it is the slowest timed call: a slower one may not be in the sample.
  uint64_t max() const { return Percentile(1); }

 private:
  uint64_t CountAt(size_t bucket) const { return counts_.empty() ? 0 : counts_[bucket]; }
  static int ShiftOf(size_t bucket) {
    return std::max(0, static_cast<int>(bucket >> kLinearBits) - 1);
  }
  static uint64_t SmallestOf(size_t bucket) {
    constexpr size_t kLinear = size_t{1} << kLinearBits;
    if (bucket < 2 * kLinear) return bucket;
    return static_cast<uint64_t>(bucket % kLinear + kLinear) << ShiftOf(bucket);
  }
  static uint64_t MiddleOf(size_t bucket) {
    return SmallestOf(bucket) + ((uint64_t{1} << ShiftOf(bucket)) >> 1);
  }
  static uint64_t LargestOf(size_t bucket) {
    return SmallestOf(bucket) + ((uint64_t{1} << ShiftOf(bucket)) - 1);
  }

  std::vector<uint64_t> counts_;  // empty while nothing was recorded
  uint64_t count_ = 0;
};

// For the times in Statistics.  Percentiles are off by at most 1/32, about 3 %.
using LatencyHistogram = BasicHistogram<4>;

}  // namespace lsm

#endif  // TRELLIS_LSM_HISTOGRAM_H_
