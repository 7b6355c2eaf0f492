// One file-system call of a workload fails, or all from one on, in every way that such a call can:
// every answer of the store is right or an error; what it refused is not there; what it
// acknowledged is, whether the store is resumed, opened again, or the machine crashes.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/reliability/faulty_files.h"
#include "tests/reliability/promises.h"
#include "tests/reliability/workload.h"

namespace reliability {

struct FaultOptions {
  uint64_t seed = 1;
  WorkloadShape shape;
  uint64_t runs_max = ~uint64_t{0};
  bool spread = true;  // by chance over all cases if there are more; false: the first ones
  bool logs_apart = false;
};

// The places are calls.
TrialReport FailEverywhere(const FaultOptions& options);
TrialReport FailEverywhere(const FaultOptions& options, const std::vector<Step>& steps);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_H_
