// Runs the experiment: loads the stores, looks keys up, and counts wasted reads.
#ifndef TRELLIS_BENCH_LEVEL_FILTERS_EXPERIMENT_H_
#define TRELLIS_BENCH_LEVEL_FILTERS_EXPERIMENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bench/level_filters/results.h"

namespace bench::level_filters {

// The shape of the stores.
StoreShape FourLevels(const Config& config);

// The compared stores.  The first one has the same FPP everywhere and the requested memory.
// `same_reads` is the first store's expected number of wasted reads, for the store that may waste
// as much with less memory; 0: not known yet.
std::vector<ComparedStore> StoresOf(const Config& config, double same_reads);

// Stops at the first error or wrong answer; checks every answer.  If told to stop, returns the
// results so far, or Cancelled if no store is finished.
absl::StatusOr<Results> Measure(const Config& config);

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_EXPERIMENT_H_
