// Rotations of the manifest: a manifest that has grown too long is replaced by a new one.  The
// workloads of other jobs are too short for that.  During the rotation one call fails, or all calls
// from one on, in every way in which such a call can fail; and the machine crashes after each
// change to files.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_ROTATION_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_ROTATION_H_

#include <cstdint>
#include <string>

namespace reliability {

struct RotationOptions {
  uint64_t seed = 1;
  bool logs_apart = false;
  // A compaction makes the edit that causes the rotation; false: a flush.
  bool by_compaction = false;
  bool has_ranges = false;  // most tables hold a range delete
  uint64_t runs_max = ~uint64_t{0};
  uint64_t images_max = ~uint64_t{0};
};

struct RotationReport {
  uint64_t calls = 0;    // calls of a rotation, from the edit that causes it on
  uint64_t cases = 0;    // combinations of a call, a way to fail, and what follows
  uint64_t runs = 0;     // cases that were run; a random selection if there are too many
  uint64_t resumed = 0;  // runs in which the store was resumed
  uint64_t moments = 0;  // moments at which the machine crashed
  uint64_t images = 0;   // distinct images that were opened
  std::string finding;
};

RotationReport CheckRotation(const RotationOptions& options);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_ROTATION_H_
