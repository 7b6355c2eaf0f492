// Power cuts on a real file system: ext4 on a file, which is copied while a process writes to a
// store on it.  The copy is mounted (ext4 replays its journal) and the store opened.
//
// The process is stopped meanwhile, at any moment but not within a call, and the copy is one that
// no request of the device was under way beside.  So no sector is torn, and of what ext4 holds back
// there is what it had written by then.  crash.h is faster and more thorough, as it makes every
// image; but these are made by ext4.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_POWER_CUTS_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_POWER_CUTS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct PowerCutReport {
  uint64_t cuts = 0;
  uint64_t lossy = 0;      // of them, that took writes which were acknowledged without a sync
  uint64_t workloads = 0;  // each on a new file system
  std::string left_out;    // why there were none: it takes root, loop devices and mkfs.ext4
  std::string finding;
};

// In a directory of its own under that of temporary files.  Forks: the calling process has no other
// thread.
PowerCutReport CutPower(uint64_t seed, uint64_t cuts);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_POWER_CUTS_H_
