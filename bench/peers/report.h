// The report of a run: report.json and report.html.
#ifndef TRELLIS_BENCH_PEERS_REPORT_H_
#define TRELLIS_BENCH_PEERS_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "bench/peers/results.h"
#include "bench/report/page.h"

namespace bench::peers {

// The page, with `chart_js`, the source of Chart.js, inlined.
Page ReportPage(const Results& results, std::string chart_js);

// Writes report.json, then report.html, into `out`, each whole or not at all.  `chart_js`: path of
// what is inlined; empty: no plots.
absl::Status WriteReports(const Results& results, const std::string& out,
                          const std::string& chart_js);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_REPORT_H_
