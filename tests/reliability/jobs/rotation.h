// A manifest that has grown too long is replaced by a new one, which no workload of the other jobs
// comes to: a call of that fails, or all from one on, in every way that such a call can; and the
// machine crashes after each change to files.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_ROTATION_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_ROTATION_H_

#include <cstdint>
#include <string>

namespace reliability {

struct RotationOptions {
  uint64_t seed = 1;
  bool logs_apart = false;
  bool by_compaction = false;  // the edit that is one too many; otherwise by a flush
  uint64_t runs_max = ~uint64_t{0};
  uint64_t images_max = ~uint64_t{0};
};

struct RotationReport {
  uint64_t calls = 0;    // of a rotation, from the edit that is one too many on
  uint64_t cases = 0;    // of a call, a way to fail, and what comes then
  uint64_t runs = 0;     // of these, by chance if there are too many
  uint64_t resumed = 0;  // of the runs
  uint64_t moments = 0;  // of crashes
  uint64_t images = 0;   // distinct, that were opened
  std::string finding;
};

RotationReport CheckRotation(const RotationOptions& options);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_ROTATION_H_
