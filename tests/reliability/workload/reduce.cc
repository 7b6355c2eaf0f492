#include "tests/reliability/workload/reduce.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "lsm/bytes/status.h"

namespace reliability {

using lsm::Concat;

std::string WithFewestSteps(const std::string& finding, std::vector<Step> steps,
                            uint64_t effort_max,
                            const std::function<Look(const std::vector<Step>&)>& look) {
  if (!shortens_findings) return finding;
  std::string reduced = finding;
  const size_t before = steps.size();
  uint64_t effort = 0;
  for (size_t run = before / 2; run > 0 && effort < effort_max;) {
    bool shorter = false;
    for (size_t at = 1; at < steps.size() && effort < effort_max;) {
      std::vector<Step> fewer(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(at));
      const size_t behind = std::min(at + run, steps.size());
      fewer.insert(fewer.end(), steps.begin() + static_cast<ptrdiff_t>(behind), steps.end());
      Look again = look(fewer);
      effort += again.effort;
      if (again.finding.empty()) {
        at += run;
        continue;
      }
      steps = std::move(fewer);
      reduced = std::move(again.finding);
      shorter = true;
    }
    // Repeats single steps until none can be left out.
    if (run > 1) {
      run /= 2;
    } else if (!shorter) {
      break;
    }
  }
  return Concat(finding, "\n  reduced from ", before, " steps to these ", steps.size(), ":\n",
                TextOf(steps), "  with which is found: ", reduced);
}

}  // namespace reliability
