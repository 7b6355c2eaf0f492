// The options of a run of peers_bench.
#ifndef TRELLIS_BENCH_PEERS_CONFIG_H_
#define TRELLIS_BENCH_PEERS_CONFIG_H_

#include "bench/peers/comparison.h"

namespace bench::peers {

Parsed<ComparisonConfig> ParseCommandLine(int argc, char** argv);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_CONFIG_H_
