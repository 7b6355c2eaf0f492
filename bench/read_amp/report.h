// The report of a run: report.json and report.html.
#ifndef TRELLIS_BENCH_READ_AMP_REPORT_H_
#define TRELLIS_BENCH_READ_AMP_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "bench/read_amp/results.h"
#include "bench/report/page.h"

namespace bench {

// The page, with `chart_js`, the source of Chart.js, inlined.
Page ReportPage(const Results& results, std::string chart_js);

// Writes report.json, then report.html, into Config::out, each whole or not at all.
absl::Status WriteReports(const Results& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_REPORT_H_
