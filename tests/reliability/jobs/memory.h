// Runs a workload in which one allocation fails, or all allocations from one on.  Checks that:
// - every answer of the store is right, or an error that says that memory ran out
// - refused writes have no effect
// - acknowledged writes survive when the store is resumed, opened again or repaired, and durable
//   ones also a crash of the machine
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_MEMORY_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/reliability/workload/promises.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {

struct MemoryOptions {
  uint64_t seed = 1;  // also chooses among the store's options
  WorkloadShape shape;
  uint64_t runs = 1;  // spread over the workload's allocations
};

// The places are allocations.
TrialReport FailAllocations(const MemoryOptions& options);
TrialReport FailAllocations(const MemoryOptions& options, const std::vector<Step>& steps);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_MEMORY_H_
