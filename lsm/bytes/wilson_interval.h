// The confidence interval of a counted rate, for tools and benchmarks.
#ifndef TRELLIS_LSM_BYTES_WILSON_INTERVAL_H_
#define TRELLIS_LSM_BYTES_WILSON_INTERVAL_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

struct Interval {
  double low = 0;
  double high = 1;
};

// The interval that contains the true rate with 95 % confidence, after `hits` of `trials` were
// counted (Wilson, "Probable inference, the law of succession, and statistical inference",
// 1927).  Lies within [0, 1], and is meaningful for few hits too.  Without trials it is [0, 1].
inline Interval WilsonInterval(uint64_t hits, uint64_t trials) {
  if (trials == 0) return {};
  constexpr double kZ = 1.959964;  // of the normal distribution, for 95 %
  const auto n = static_cast<double>(trials);
  const double p = static_cast<double>(hits) / n;
  const double center = p + kZ * kZ / (2 * n);
  const double spread = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  return {std::max(0.0, (center - spread) / scale), std::min(1.0, (center + spread) / scale)};
}

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_WILSON_INTERVAL_H_
