// Range deletes and keyspaces in memtables and logs, against a plain list of the writes.  Every
// second trial has the default keyspace alone.  Groups are written to memtables and a log; some
// fail before the log has them, and their numbers are used again.  Readers look up keys at the last
// number and at older ones.  Then the log is replayed.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_RANGES_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_RANGES_H_

#include <cstdint>
#include <string>

namespace reliability {

struct RangesReport {
  uint64_t writes = 0;
  uint64_t ranges = 0;              // of the writes
  uint64_t of_other_keyspaces = 0;  // of the writes
  uint64_t failed = 0;              // groups
  uint64_t out_of_memory = 0;       // preparations, which were repeated
  uint64_t lookups = 0;             // answers that were compared
  uint64_t replayed = 0;            // memtables that replays filled
  std::string finding;
};

// About `amount` writes, in trials with this seed and the following ones.
RangesReport CheckRanges(uint64_t seed, uint64_t amount);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_RANGES_H_
