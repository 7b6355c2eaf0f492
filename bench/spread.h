// The median and the spread of a repeated measurement.
#ifndef TRELLIS_BENCH_SPREAD_H_
#define TRELLIS_BENCH_SPREAD_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench {

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
  // Half of max - min, in per cent of the median.
  double percent() const { return median == 0 ? 0 : 50 * (max - min) / median; }
};

// REQUIRES: at least one value.
inline Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return {(values[(n - 1) / 2] + values[n / 2]) / 2, values.front(), values.back()};
}

}  // namespace bench

#endif  // TRELLIS_BENCH_SPREAD_H_
