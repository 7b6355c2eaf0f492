// Keyspaces of a store, against a map for each.  Some have trees of their own, the others are in
// the common tree.  They are made and dropped, and batches change several.  In between, the store
// is closed, repaired, its process ends, its machine crashes, a sync of the log fails, and some
// keyspaces are copied.
#ifndef TRELLIS_TESTS_RELIABILITY_KEYSPACES_DROPS_JOB_H_
#define TRELLIS_TESTS_RELIABILITY_KEYSPACES_DROPS_JOB_H_

#include <cstdint>
#include <string>

namespace reliability {

struct DropsReport {
  uint64_t operations = 0;
  uint64_t created = 0;
  uint64_t dropped = 0;
  uint64_t dropped_beside = 0;  // of these, while a compaction ran
  uint64_t left = 0;            // keyspaces that left the common tree
  uint64_t answers = 0;         // that were compared
  uint64_t moves = 0;           // of iterators
  uint64_t refusals = 0;        // of calls and batches after a drop
  uint64_t copies = 0;          // of some keyspaces
  uint64_t openings = 0;
  uint64_t lossy = 0;    // crashes that lost writes
  uint64_t repairs = 0;  // with a manifest and without one
  std::string finding;
};

// At least this many operations, in episodes with this seed and the following ones.
DropsReport CheckDrops(uint64_t seed, uint64_t operations);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_KEYSPACES_DROPS_JOB_H_
