// The page of a run of level_filters.
#ifndef TRELLIS_BENCH_LEVEL_FILTERS_REPORT_H_
#define TRELLIS_BENCH_LEVEL_FILTERS_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "bench/level_filters/results.h"
#include "bench/report/page.h"

namespace bench::level_filters {

Page ReportPage(const Results& results, std::string chart_js);

// report.json and report.html, in the directory of the run.
absl::Status WriteReports(const Results& results);

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_REPORT_H_
