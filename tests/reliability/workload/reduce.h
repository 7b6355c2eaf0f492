// A workload with a finding, made as short as it can be with the finding still there.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_REDUCE_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_REDUCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/reliability/workload/workload.h"

namespace reliability {

// False where it only matters whether something is found: then findings stay as long as they are.
inline bool shortens_findings = true;

struct Look {
  std::string finding;  // or empty
  uint64_t effort = 0;  // that it took, in whatever the job counts
};

// Leaves out runs of steps, ever shorter ones, as long as `look` still finds something and until so
// much effort is spent; the first step stays, for it opens the store.  Returns `finding`, then the
// steps that are left, and what is found with these.
std::string WithFewestSteps(const std::string& finding, std::vector<Step> steps,
                            uint64_t effort_max,
                            const std::function<Look(const std::vector<Step>&)>& look);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_REDUCE_H_
