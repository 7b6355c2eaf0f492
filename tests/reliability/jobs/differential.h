// Runs the same operations on Trellis, LevelDB and RocksDB, which must give the same answers.  The
// same authors wrote this store and the map that model.h compares it with, so these two may share
// wrong assumptions.  The other stores do not share them.  Only RocksDB has keyspaces, too.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_DIFFERENTIAL_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_DIFFERENTIAL_H_

#include <cstdint>
#include <string>

namespace reliability {

struct DifferentialReport {
  uint64_t operations = 0;
  uint64_t episodes = 0;  // groups of operations, each on new stores
  uint64_t writes = 0;    // operations that were writes
  uint64_t answers = 0;   // answers that were compared: values, and positions of iterators
  uint64_t drops = 0;     // of keyspaces
  uint64_t reopenings = 0;
  std::string finding;  // the difference and the fewest operations that show it, or empty
};

// Runs at least this many operations, in whole episodes with the seeds `seed`, `seed` + 1 and so
// on.  So CompareWithPeers(N, 1) repeats the episode of seed N.  All files are in memory.
DifferentialReport CompareWithPeers(uint64_t seed, uint64_t operations);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_DIFFERENTIAL_H_
