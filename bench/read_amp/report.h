// The report of a run of read_amp.
#ifndef TRELLIS_BENCH_READ_AMP_REPORT_H_
#define TRELLIS_BENCH_READ_AMP_REPORT_H_

#include "absl/status/statusor.h"
#include "bench/experiment/run.h"
#include "bench/read_amp/results.h"

namespace bench {

Report ReportOf(const Results& results);

// Makes the keys, measures, and makes the report.
absl::StatusOr<Report> Run(const Config& config);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_REPORT_H_
