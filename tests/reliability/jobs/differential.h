// The same operations on Trellis, LevelDB and RocksDB, which must give the same answers: what is
// taken for granted by whoever wrote both this store and the map that model.h holds it against.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_DIFFERENTIAL_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_DIFFERENTIAL_H_

#include <cstdint>
#include <string>

namespace reliability {

struct DifferentialReport {
  uint64_t operations = 0;
  uint64_t episodes = 0;  // into which they are cut, each on new stores
  uint64_t writes = 0;    // of the operations
  uint64_t answers = 0;   // that were compared: values, and places of iterators
  uint64_t reopenings = 0;
  std::string finding;  // where they differed, and the fewest operations that show it; or empty
};

// Does at least so many operations, in whole episodes: those of the seeds `seed`, `seed` + 1 and so
// on, so that CompareWithPeers(N, 1) does again what the episode of seed N did.  All files are in
// memory.
DifferentialReport CompareWithPeers(uint64_t seed, uint64_t operations);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_DIFFERENTIAL_H_
