// Random operations on a store and on a map, which must agree about every answer: with every kind
// of filter and all sizes small, with snapshots and iterators that are held for long, and with the
// store closed, killed, crashed and hindered in between.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_MODEL_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_MODEL_H_

#include <cstdint>
#include <string>

#include "lsm/statistics.h"

namespace reliability {

struct ModelReport {
  // Adds the statistics of a store that is about to be closed.
  void Count(const lsm::Statistics& statistics);

  uint64_t operations = 0;
  uint64_t episodes = 0;        // into which they are cut, each on a store of its own
  uint64_t configurations = 0;  // with which these stores were opened, mostly different ones
  uint64_t writes = 0;          // of the operations; calls that were acknowledged
  uint64_t reads = 0;           // keys looked up
  uint64_t moves = 0;           // of iterators
  uint64_t reopenings = 0;      // in good order
  uint64_t kills = 0;           // of the process
  uint64_t crashes = 0;         // of the machine
  uint64_t lossy = 0;           // of them, in which writes were lost that were not synced
  uint64_t faults = 0;          // calls of the file system that failed, and the store noticed
  uint64_t full_disks = 0;      // that came and went
  uint64_t refused = 0;         // puts, meanwhile
  uint64_t flushes = 0;
  uint64_t denials_checked = 0;      // of filters
  uint64_t compactions = 0;          // trivial moves not among them
  uint64_t compactions_at_once = 0;  // at most
  uint64_t deepest_level = 0;
  // The finding: where, with which options, and the fewest operations that show it.  Or empty.
  std::string finding;
};

// Does at least so many operations, in whole episodes: those of the seeds `seed`, `seed` + 1 and so
// on, so that CheckAgainstMap(N, 1) does again what the episode of seed N did.
ModelReport CheckAgainstMap(uint64_t seed, uint64_t operations);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_MODEL_H_
