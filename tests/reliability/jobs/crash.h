// Crashes of the machine: a workload is run once and every change that it makes to files is written
// down; then images that a crash could have left behind at each of these moments, as many of them
// as the limits say, are recovered, and held against what had been promised at that moment.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_CRASH_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_CRASH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/reliability/faults/disk.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {

struct CrashOptions {
  uint64_t seed = 1;
  WorkloadShape shape;
  bool logs_apart =
      false;  // in a directory of their own, so that no sync of the tables' saves them
  bool has_reserve = false;  // the smallest
  LossLimits limits;
  uint64_t images_max = ~uint64_t{0};  // stops after so many distinct ones
  // The recovery of one in this many distinct images is crashed too, at each of its changes.
  uint64_t double_one_in = 2048;
};

struct CrashReport {
  uint64_t moments = 0;   // changes to files, after each of which the machine crashed
  uint64_t built = 0;     // images
  uint64_t distinct = 0;  // of them, and recovered
  uint64_t doubles = 0;   // of them, left by crashes of recoveries
  std::string finding;    // what went wrong, with all that is needed to see it again; or empty
};

CrashReport CrashEverywhere(const CrashOptions& options);
// The same with these steps.
CrashReport CrashEverywhere(const CrashOptions& options, const std::vector<Step>& steps);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_CRASH_H_
