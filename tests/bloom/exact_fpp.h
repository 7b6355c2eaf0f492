// The exact false-positive rate of a small classic filter.
#ifndef TRELLIS_TESTS_BLOOM_EXACT_FPP_H_
#define TRELLIS_TESTS_BLOOM_EXACT_FPP_H_

#include <cmath>
#include <cstdint>
#include <vector>

namespace testing_support {

// Returns the rate for each number of keys from 0 to `most_keys`.  Each key occupies `probes`
// random cells of `cell_count`.  The rate is the probability that `probes` random cells are all
// occupied.  It follows from the exact distribution of the number of occupied cells.
inline std::vector<double> ExactFpp(uint32_t cell_count, uint32_t probes, uint32_t most_keys) {
  const double cells = cell_count;
  std::vector<double> occupied(cell_count + 1, 0.0);
  occupied[0] = 1;
  std::vector<double> fpp;
  for (uint32_t keys = 0; keys <= most_keys; ++keys) {
    double passes = 0;
    for (uint32_t d = 0; d <= cell_count; ++d) {
      passes += occupied[d] * std::pow(d / cells, probes);
    }
    fpp.push_back(passes);
    for (uint32_t i = 0; i < probes; ++i) {
      for (uint32_t d = cell_count; d > 0; --d) {
        occupied[d] = occupied[d] * d / cells + occupied[d - 1] * (cells - d + 1) / cells;
      }
      occupied[0] = 0;
    }
  }
  return fpp;
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_BLOOM_EXACT_FPP_H_
