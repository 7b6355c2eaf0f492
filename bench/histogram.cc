#include "bench/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace bench {

size_t Histogram::BucketOf(uint64_t value) {
  if (value < kLinear) return static_cast<size_t>(value);
  const int shift = std::bit_width(value) - 1 - kLinearBits;
  return (static_cast<size_t>(shift) + 1) * kLinear + static_cast<size_t>(value >> shift) - kLinear;
}

uint64_t Histogram::MiddleOf(size_t bucket) {
  if (bucket < kLinear) return bucket;
  const int shift = static_cast<int>(bucket / kLinear) - 1;
  const uint64_t low = static_cast<uint64_t>(bucket % kLinear + kLinear) << shift;
  return low + ((uint64_t{1} << shift) >> 1);
}

void Histogram::Record(uint64_t value) {
  ++counts_[BucketOf(value)];
  ++count_;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

uint64_t Histogram::Percentile(double share) const {
  if (count_ == 0) return 0;
  const double exact = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
  const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(exact));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::clamp(MiddleOf(i), min_, max_);
  }
  return max_;
}

}  // namespace bench
