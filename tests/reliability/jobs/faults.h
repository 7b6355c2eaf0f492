// One file-system call of a workload fails, or all from one on, in every way that such a call can,
// or the disk is full after so many bytes: every answer of the store is right or an error; what it
// refused is not there; what it acknowledged is, whether the store is resumed, opened again, or the
// machine crashes; and trouble does not make it write over and over.
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
  bool spread = true;  // by chance over all cases if there are more; false: the first ones
  bool logs_apart = false;
  // The store has a reserve.  For FillDisk the disk's size is then what the store takes when it was
  // made, and so many bytes more.
  bool has_reserve = false;
};

// The places are calls.
TrialReport FailEverywhere(const FaultOptions& options);
// The places are sizes of the disk, from 0 bytes to those that the workload needs.
TrialReport FillDisk(const FaultOptions& options);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_FAULTS_H_
