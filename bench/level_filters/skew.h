// What it is worth that filters follow the lookups: keys that are not there, asked for in some
// ranges of keys more than in others, while the store goes on being written.
//
// A store with a goal of bits a key is loaded, and copied for each workload, twice: for one that
// may learn, and for one that is closed and opened after each round's lookups, before anything is
// written, so that it has forgotten what it counted whenever filters are made.  A round:
//
//   lookups of absent keys, whose wasted reads count
//   the forgetful store is opened again
//   a part of the keys, drawn at random over all ranges, is written once more
//
// At half-time the ranges change: what was learned before is then wrong.
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

// Shares of lookups that go to each of equal ranges of keys.
class RangeWorkload {
 public:
  static constexpr int kRanges = 100;

  // The ranges' weights in their order, and in the order that they have from half-time on.
  RangeWorkload(std::string name, std::string how, const std::vector<double>& weights);

  const std::string& name() const { return name_; }
  const std::string& how() const { return how_; }
  // How many times fewer wasted reads the same memory could buy at best, by theory: e to the
  // divergence of the keys' distribution from the lookups'.
  double best() const;
  // A random key in a range that is drawn; `moved`: with the ranges of the second half.
  std::string Draw(Random* random, bool moved) const;

 private:
  std::string name_, how_;
  std::vector<double> shares_;      // sum 1
  std::vector<double> cumulative_;  // of them
};

// Evenly; 90 % in a tenth of the keys; Zipf's law over ranges in random order.
std::vector<RangeWorkload> RangeWorkloads(uint64_t seed);

// Adds the result of each of RangeWorkloads, in their order.
absl::Status MeasureSkew(const Config& config, const StoreShape& shape, Progress* progress,
                         std::vector<SkewResult>* results);

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_SKEW_H_
