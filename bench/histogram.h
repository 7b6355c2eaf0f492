// Counts of times by size, in buckets of under 0.8 % width: what percentiles are read from.
//
// Log-linear: values below 128 have a bucket each; every power of two above is cut into 128 equal
// parts.
//
//   bucket of v (v >= 128), with s = floor(log2 v) - 7:   128 (s + 1) + (v >> s) - 128
//
// Threads: like an array of integers.
#ifndef TRELLIS_BENCH_HISTOGRAM_H_
#define TRELLIS_BENCH_HISTOGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace bench {

class Histogram {
 public:
  void Record(uint64_t value);

  uint64_t count() const { return count_; }

  // The least recorded value, up to the width of a bucket, such that at least `share` (of [0, 1])
  // of all values are no larger.  0 while nothing was recorded.
  uint64_t Percentile(double share) const;

 private:
  static constexpr int kLinearBits = 7;
  static constexpr size_t kLinear = size_t{1} << kLinearBits;
  static constexpr size_t kBuckets = (64 - kLinearBits + 1) * kLinear;

  static size_t BucketOf(uint64_t value);
  // The middle of what falls into the bucket.
  static uint64_t MiddleOf(size_t bucket);

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_HISTOGRAM_H_
