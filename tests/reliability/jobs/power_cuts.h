// Power cuts on a real file system.  A process writes to a store on an ext4 in a file, and the file
// is copied meanwhile.  Then the copy is mounted (ext4 replays its journal) and the store is
// opened.
//
// The process is stopped for the copy, at any moment but not within a call, and no request of the
// device is in flight during the copy.  So no sector is torn, and of the data that ext4 holds back,
// the copy has what was written by then.  crash.h is faster and more thorough, because it makes
// every image; but here a real ext4 makes them.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_POWER_CUTS_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_POWER_CUTS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct PowerCutReport {
  uint64_t cuts = 0;
  uint64_t lossy = 0;      // cuts that lost acknowledged but unsynced writes
  uint64_t workloads = 0;  // each on a new file system
  std::string left_out;    // why there were no cuts: they need root, loop devices and mkfs.ext4
  std::string finding;
};

// Works in a new directory below that of temporary files.  REQUIRES: the calling process has no
// other thread, because this forks.
PowerCutReport CutPower(uint64_t seed, uint64_t cuts);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_POWER_CUTS_H_
