// All short workloads: every sequence of up to four operations, each crashed everywhere.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_SCRIPTS_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_SCRIPTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/reliability/workload/workload.h"

namespace reliability {

// Scripts of one to four operations, each of eleven kinds: 11 + 121 + 1331 + 14641.
inline constexpr uint64_t kScripts = 16'104;
// The script with this number.  Short scripts come first.
std::vector<Step> ScriptOf(uint64_t number);

struct ScriptReport {
  uint64_t scripts = 0;
  uint64_t images = 0;   // the sum of each script's distinct images
  uint64_t doubles = 0;  // images that crashes of recoveries left
  std::string finding;
};

// Runs `count` scripts from number `first` on; continues with the first script after the last one.
// Tries every loss at every moment, without a limit.
ScriptReport CrashScripts(uint64_t first, uint64_t count);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_SCRIPTS_H_
