// The results of a run, as text, JSON and a page.
#ifndef TRELLIS_BENCH_EXPIRY_REPORT_H_
#define TRELLIS_BENCH_EXPIRY_REPORT_H_

#include "absl/status/statusor.h"
#include "bench/experiment/run.h"
#include "bench/expiry/config.h"

namespace bench::expiry {

// Measures the parts and makes the report.
absl::StatusOr<Report> Run(const Config& config);

}  // namespace bench::expiry

#endif  // TRELLIS_BENCH_EXPIRY_REPORT_H_
