// The report of a run of peers_bench.
#ifndef TRELLIS_BENCH_PEERS_REPORT_H_
#define TRELLIS_BENCH_PEERS_REPORT_H_

#include "bench/experiment/run.h"
#include "bench/peers/results.h"

namespace bench::peers {

Report ReportOf(const Results& results);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_REPORT_H_
