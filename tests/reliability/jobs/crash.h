// Crashes of the machine.  Runs a workload once and records every change that it makes to files.
// After each of these changes, makes images that a crash could have left there, as many as the
// limits allow.  Recovers each image and checks it against the promises that the store had made by
// then.
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
  // The logs are in a directory of their own, so that no sync of the tables' directory covers them.
  bool logs_apart = false;
  bool has_reserve = false;  // the smallest possible one
  LossLimits limits;
  uint64_t images_max = ~uint64_t{0};  // stops after this many distinct images
  // The recovery of one in this many distinct images is crashed too, at each of its changes.
  uint64_t double_one_in = 2048;
};

struct CrashReport {
  uint64_t moments = 0;   // changes to files; the machine crashed after each of them
  uint64_t built = 0;     // images that were made
  uint64_t distinct = 0;  // distinct images, all of which were recovered
  uint64_t doubles = 0;   // distinct images that crashes of recoveries left
  std::string finding;    // what went wrong and how to repeat it, or empty
};

CrashReport CrashEverywhere(const CrashOptions& options);
// The same with these steps.
CrashReport CrashEverywhere(const CrashOptions& options, const std::vector<Step>& steps);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_CRASH_H_
