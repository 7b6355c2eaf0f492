#include "lsm/filters/hotness.h"

#include <algorithm>
#include <cmath>

namespace lsm::inline TRELLIS_ABI {

HotnessScale HotnessScale::Of(std::span<const Part> parts) {
  HotnessScale scale;
  double keys = 0;
  WastedReads all;
  for (const Part& part : parts) {
    keys += part.keys;
    all.Add(part.reads);
  }
  if (keys == 0 || all.expected == 0) return scale;
  // The mean falls as the scale grows.
  double low = -20, high = 20;  // its log2
  constexpr int kHalvings = 24;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    scale.scale_ = std::exp2(middle);
    double sum = 0;
    for (const Part& part : parts) sum += part.keys * scale.HotnessOf(part.reads);
    (sum > keys ? low : high) = middle;
  }
  return scale;
}

double HotnessScale::HotnessOf(const WastedReads& reads) const {
  const double hotness = (reads.seen + kPseudoReads) / (scale_ * reads.expected + kPseudoReads);
  return std::clamp(hotness, kLeast, kMost);
}

int HotnessStepOf(double hotness) { return static_cast<int>(std::lround(2 * std::log2(hotness))); }
double HotnessOfStep(int step) { return std::exp2(step / 2.0); }

}  // namespace lsm
