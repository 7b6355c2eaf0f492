// The parts of expiry_bench.  Each makes its stores in the run's directory and removes them.  Each
// returns Cancelled soon after the run was interrupted.
#ifndef TRELLIS_BENCH_EXPIRY_PARTS_H_
#define TRELLIS_BENCH_EXPIRY_PARTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiment/figures.h"
#include "bench/experiment/progress.h"
#include "bench/expiry/config.h"
#include "bench/expiry/day.h"

namespace bench::expiry {

inline constexpr double kDaySeconds = 30;  // of each store
inline constexpr double kGetsSeconds = 30;

// The table and the figures of the days, the first two of which are Trellis: without expiry, then
// with it.
Part PartOf(const Config& config, KeyOrder order, const std::vector<DayResult>& days);

// A day of each store: space and writes.
absl::StatusOr<Part> MeasureDay(const Config& config, KeyOrder order, Progress* progress);
// Gets with and without expiry.  The stores take turns.
absl::StatusOr<Part> MeasureGets(const Config& config, Progress* progress);

}  // namespace bench::expiry

#endif  // TRELLIS_BENCH_EXPIRY_PARTS_H_
