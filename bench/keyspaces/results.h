// The figures of a run of keyspaces_bench.
#ifndef TRELLIS_BENCH_KEYSPACES_RESULTS_H_
#define TRELLIS_BENCH_KEYSPACES_RESULTS_H_

#include <vector>

#include "bench/experiment/figures.h"
#include "bench/keyspaces/config.h"
#include "bench/machine.h"

namespace bench::keyspaces {

struct Results {
  Config config;
  Conditions conditions;
  double seconds = 0;
  bool interrupted = false;
  std::vector<Part> parts;  // of PartNames, those that ended
};

}  // namespace bench::keyspaces

#endif  // TRELLIS_BENCH_KEYSPACES_RESULTS_H_
