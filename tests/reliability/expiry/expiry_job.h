// A store in which entries expire, beside a model.  It has entries in the default keyspace, in the
// common tree and in a tree of its own.  A virtual clock advances, and is set back.
#ifndef TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_JOB_H_
#define TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_JOB_H_

#include <cstdint>
#include <string>

namespace reliability {

struct ExpiryReport {
  uint64_t operations = 0;
  uint64_t limits = 0;         // changes of a limit
  uint64_t limits_beside = 0;  // of these, while a compaction ran
  uint64_t answers = 0;        // of lookups
  uint64_t moves = 0;          // of iterators
  uint64_t expired = 0;        // puts that had expired at an end of the store
  uint64_t seen_again = 0;     // of these, after the clock was set back
  uint64_t set_back = 0;       // times that the clock was set back
  uint64_t openings = 0;
  uint64_t lossy = 0;     // crashes that lost writes
  uint64_t repairs = 0;   // with a manifest and without one
  uint64_t resumed = 0;   // after calls that failed
  uint64_t followed = 0;  // views of a follower
  uint64_t drops = 0;     // tables that went unread
  std::string finding;
};

// At least this many operations, in episodes with this seed and the following ones.
ExpiryReport CheckExpiry(uint64_t seed, uint64_t operations);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_JOB_H_
