// Runs random operations on a store and on a map, which must agree on every answer.  Uses every
// kind of filter, small sizes, and snapshots and iterators that are held for long.  In between, the
// store is closed, its process is killed, its machine crashes, and file-system calls fail.
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
  uint64_t episodes = 0;        // groups of operations, each on a store of its own
  uint64_t configurations = 0;  // openings, mostly with different options
  uint64_t writes = 0;          // acknowledged calls
  uint64_t ranges = 0;          // range deletes in these
  uint64_t reads = 0;           // keys looked up
  uint64_t moves = 0;           // of iterators
  uint64_t dead_entries = 0;    // that iterators walked over
  uint64_t gap_jumps = 0;       // of iterators
  uint64_t range_jumps = 0;     // of iterators, over what range deletes hide
  uint64_t range_ends = 0;      // lookups that a range delete ended
  uint64_t drops = 0;           // tables that were dropped unread
  uint64_t reopenings = 0;      // after the store was closed
  uint64_t kills = 0;           // of the process
  uint64_t crashes = 0;         // of the machine
  uint64_t lossy = 0;           // crashes that lost unsynced writes
  uint64_t faults = 0;          // failed file-system calls that the store latched
  uint64_t full_disks = 0;      // times that the disk was full
  uint64_t refused = 0;         // puts that were refused because of that
  uint64_t flushes = 0;
  uint64_t denials_checked = 0;      // negative answers of filters that were verified
  uint64_t compactions = 0;          // without trivial moves
  uint64_t compactions_at_once = 0;  // the maximum
  uint64_t deepest_level = 0;
  // Where it happened, with which options, and the fewest operations that show it.  Or empty.
  std::string finding;
};

// Runs at least this many operations, in whole episodes with the seeds `seed`, `seed` + 1 and so
// on.  So CheckAgainstMap(N, 1) repeats the episode of seed N.
ModelReport CheckAgainstMap(uint64_t seed, uint64_t operations);

// As CheckAgainstMap, with windows of neighbouring keys that are deleted at once, and more moves of
// iterators over them.
ModelReport CheckDeletes(uint64_t seed, uint64_t operations);

// As CheckAgainstMap, with range deletes, alone and in batches.
ModelReport CheckRangeDeletes(uint64_t seed, uint64_t operations);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_MODEL_H_
