// A report's page as it is written if Chart.js is installed.
#ifndef TRELLIS_TESTS_BENCH_PAGE_WITH_PLOTS_H_
#define TRELLIS_TESTS_BENCH_PAGE_WITH_PLOTS_H_

#include "bench/experiment/run.h"

namespace bench {

inline Page PageWithPlots(const Report& report) {
  Page page = report.page;
  page.chart_js = "const Chart = undefined;";
  return page;
}

}  // namespace bench

#endif  // TRELLIS_TESTS_BENCH_PAGE_WITH_PLOTS_H_
