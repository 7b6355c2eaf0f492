#include "bench/sift_like.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "bench/workload.h"

namespace bench {
namespace {

// Per 100 queries.
constexpr uint64_t kNearDuplicates = 10;
constexpr uint64_t kDuplicates = 1;

// The numbers of new vectors; far above the base's.
constexpr uint64_t kFirstQuery = uint64_t{1} << 63;

// A product of three fractions, each from a third of the bits: many small values, few large ones.
double Skewed(uint64_t bits) {
  const auto fraction = [](uint64_t part) { return static_cast<double>(part & 0x1fffff); };
  return fraction(bits) * fraction(bits >> 21) * fraction(bits >> 42) * 0x1p-63;
}

}  // namespace

void SiftLike::Make(uint64_t number, std::span<uint8_t> vector) const {
  assert(vector.size() == dimension_);
  SplitMix random(Mix(seed_ ^ Mix(number)));
  std::vector<double> values(dimension_);
  double strength = 0, squares = 0;
  for (uint32_t i = 0; i < dimension_; ++i) {
    if (i % kGroup == 0) strength = 0.03 + random.Fraction() * random.Fraction();
    values[i] = strength * Skewed(random.Next());
    squares += values[i] * values[i];
  }
  const double scale = kNorm * std::sqrt(dimension_ / double{kUsualDimension} / squares);
  for (uint32_t i = 0; i < dimension_; ++i)
    vector[i] = static_cast<uint8_t>(std::min(255.0, scale * values[i] + 0.5));
}

void SiftLike::Base(uint64_t i, std::span<uint8_t> vector) const {
  assert(i < base_count_);
  Make(i, vector);
}

SiftLike::Origin SiftLike::Query(uint64_t i, std::span<uint8_t> vector) const {
  SplitMix random(Mix(~seed_ ^ Mix(i)));
  const uint64_t draw = random.Below(100);
  if (draw >= kDuplicates + kNearDuplicates) {
    Make(kFirstQuery + i, vector);
    return Origin::kNew;
  }
  Make(random.Below(base_count_), vector);
  if (draw < kDuplicates) return Origin::kDuplicate;
  uint8_t& component = vector[random.Below(dimension_)];
  component = static_cast<uint8_t>(component == 255 ? 254 : component + 1);
  return Origin::kNearDuplicate;
}

}  // namespace bench
