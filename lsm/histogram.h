// A histogram of integers, and their percentiles.
//
// Log-linear: each value below 2^kLinearBits has its own bucket.  Above that, each power of two is
// divided into 2^kLinearBits equal buckets, so the width of a bucket is at most 1 / 2^kLinearBits
// of its values.
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

// Thread-compatible, like a vector of integers.
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

  // Returns the values recorded since `before` was copied from this histogram.  If a bucket of
  // `before` counts more (so `before` is no earlier copy), the result counts 0 there.
  BasicHistogram Since(const BasicHistogram& before) const {
    BasicHistogram difference;
    for (size_t i = 0; i < counts_.size(); ++i)
      difference.Add(i, counts_[i] - std::min(counts_[i], before.CountAt(i)));
    return difference;
  }

  // Returns whether every bucket counts at least as much as in `before`.  True if `before` is an
  // earlier copy.
  bool IsAtLeast(const BasicHistogram& before) const {
    for (size_t i = 0; i < before.counts_.size(); ++i) {
      if (CountAt(i) < before.counts_[i]) return false;
    }
    return true;
  }

  uint64_t count() const { return count_; }

  // Sum of the values, taking each as the middle of its bucket.
  double sum() const {
    double sum = 0;
    for (size_t i = 0; i < counts_.size(); ++i)
      sum += static_cast<double>(counts_[i]) * static_cast<double>(MiddleOf(i));
    return sum;
  }

  // A bucket that is not empty.  Buckets() lists them in ascending order of value, for programs
  // that export them.
  struct Bucket {
    uint64_t largest = 0;  // value of the bucket
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

  // The middle of the first bucket at which the cumulated count reaches `share` (in [0, 1]) of all
  // values; off by at most half a bucket. 0 if nothing was recorded.  NaN counts as 0.
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
  // The largest value recorded, to half a bucket.  The histograms in Statistics time only a sample
  // of the calls, so a slower call may be missing.
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

  std::vector<uint64_t> counts_;  // empty until a value is recorded
  uint64_t count_ = 0;
};

// The latencies in Statistics.  Percentiles are off by at most 1/32 (about 3 %).
using LatencyHistogram = BasicHistogram<4>;

}  // namespace lsm

#endif  // TRELLIS_LSM_HISTOGRAM_H_
