// The report of a run of level_filters.
#ifndef TRELLIS_BENCH_LEVEL_FILTERS_REPORT_H_
#define TRELLIS_BENCH_LEVEL_FILTERS_REPORT_H_

#include "absl/status/statusor.h"
#include "bench/experiment/run.h"
#include "bench/level_filters/results.h"

namespace bench::level_filters {

Report ReportOf(const Results& results);
// Measures the stores and makes the report.
absl::StatusOr<Report> Run(const Config& config);

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_REPORT_H_
