// Shortens a workload that has a finding, as far as it still has one.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_REDUCE_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_REDUCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/reliability/workload/workload.h"

namespace reliability {

// False if it only matters whether there is a finding.  Then workloads are not shortened.
inline bool shortens_findings = true;

struct Look {
  std::string finding;  // empty if there is none
  uint64_t effort = 0;  // the cost of this look, in the job's unit
};

// Leaves out ever shorter runs of steps, as long as `look` still finds something, and until
// `effort_max` is spent.  The first step stays, because it opens the store.  Returns `finding`, the
// remaining steps, and the finding with these.
std::string WithFewestSteps(const std::string& finding, std::vector<Step> steps,
                            uint64_t effort_max,
                            const std::function<Look(const std::vector<Step>&)>& look);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_REDUCE_H_
