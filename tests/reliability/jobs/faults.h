// Runs a workload in which one file-system call fails, or all calls from one on, in every way in
// which such a call can fail; or in which the disk becomes full.  Checks that:
// - every answer of the store is right or an error
// - refused writes have no effect
// - acknowledged writes survive when the store is resumed or opened again, and durable ones also a
//   crash of the machine
// - the store does not repeat failing writes again and again
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_FAULTS_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_FAULTS_H_

#include <cstdint>

#include "tests/reliability/workload/promises.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {

struct FaultOptions {
  uint64_t seed = 1;
  WorkloadShape shape;
  uint64_t runs_max = ~uint64_t{0};
  // If there are more cases than runs: true runs a random selection of them, false the first ones.
  bool spread = true;
  bool logs_apart = false;
  // The store has a reserve.  Then the sizes of FillDisk count from the space that the new store
  // takes.
  bool has_reserve = false;
};

// The places are calls.
TrialReport FailEverywhere(const FaultOptions& options);
// The places are sizes of the disk, from 0 bytes to those that the workload needs.
TrialReport FillDisk(const FaultOptions& options);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_FAULTS_H_
