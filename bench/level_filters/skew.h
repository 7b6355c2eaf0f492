// The gain from filters that follow the lookups: absent keys are looked up more often in some
// ranges than in others, while the store is being written.
//
// A store with a goal of bits per key is loaded and copied twice for each workload.  One copy may
// learn.  The other one is closed and reopened after each round's lookups, before any write, so it
// has forgotten its counts whenever filters are built.  A round:
//
//   lookups of absent keys, whose wasted reads count
//   the forgetful store is reopened
//   a share of the keys, drawn at random over all ranges, is rewritten
//
// Half-way the ranges change, so that earlier counts are wrong from then on.
#ifndef TRELLIS_BENCH_LEVEL_FILTERS_SKEW_H_
#define TRELLIS_BENCH_LEVEL_FILTERS_SKEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiment/progress.h"
#include "bench/level_filters/config.h"
#include "bench/level_filters/results.h"
#include "bench/level_filters/store.h"
#include "bench/workload.h"

namespace bench::level_filters {

// The share of lookups for each of equal ranges of keys.
class RangeWorkload {
 public:
  static constexpr int kRanges = 100;

  // The weights of the ranges; from half-time on they are assigned to the ranges in another order.
  RangeWorkload(std::string name, std::string how, const std::vector<double>& weights);

  const std::string& name() const { return name_; }
  const std::string& how() const { return how_; }
  // The theoretical limit of how many times fewer reads the same memory can waste: e to the power
  // of the divergence of the keys' distribution from the lookups'.
  double best() const;
  // A random key in a randomly drawn range; `moved`: with the ranges of the second half.
  std::string Draw(SplitMix* random, bool moved) const;

 private:
  std::string name_, how_;
  std::vector<double> shares_;      // sum 1
  std::vector<double> cumulative_;  // cumulative shares
};

// Even lookups; 90 % in a tenth of the keys; Zipf's law over ranges in random order.
std::vector<RangeWorkload> RangeWorkloads(uint64_t seed);

// Adds the result of each of RangeWorkloads, in their order.
absl::Status MeasureSkew(const Config& config, const StoreShape& shape, Progress* progress,
                         std::vector<SkewResult>* results);

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_SKEW_H_
