// The run itself: loads the stores, asks them, counts.
#ifndef TRELLIS_BENCH_LEVEL_FILTERS_EXPERIMENT_H_
#define TRELLIS_BENCH_LEVEL_FILTERS_EXPERIMENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bench/level_filters/results.h"

namespace bench::level_filters {

// How the stores are cut.
StoreShape FourLevels(const Config& config);

// The stores that a run compares: first the one with the same FPP everywhere, of the memory that is
// asked for.  `same_reads`: what that one is expected to waste, for the store that is to waste as
// much with less memory; 0: not known yet.
std::vector<ComparedStore> StoresOf(const Config& config, double same_reads);

// Stops at the first error or wrong answer; every answer is checked.  Told to stop, it returns what
// it has, or Cancelled if it has finished no store.
absl::StatusOr<Results> Measure(const Config& config);

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_EXPERIMENT_H_
