// Two writers of a store in an object store, each stopped at any of its operations.
//
// Each writer runs on a thread of its own, and only one thread runs at a time.  A schedule stops
// one of them at an operation, before or after the pool applies it, and lets the other run up to an
// operation of its own; then either goes on first, or never.  An operation may also lose its
// answer, or be applied late, when the other one has got to its stop.  Either the store is made
// meanwhile, or both take over one that exists.
//
// A state is what the pool holds, together with the set of the writes that were acknowledged.  In
// each state that was not met before, a copy of the pool is opened, and must have these writes.  A
// sample of the copies is taken over and written to.  Besides,
//
//   - once an owner has opened the store, an earlier one acknowledges only writes that the later
//     one has found;
//   - only another owner refuses a writer whose calls are answered;
//   - no writer misses a write that it acknowledged itself, also if its tables are deleted;
//   - no call reports damage.
#ifndef TRELLIS_TESTS_RELIABILITY_BEYOND_TWO_WRITERS_H_
#define TRELLIS_TESTS_RELIABILITY_BEYOND_TWO_WRITERS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct TwoWritersReport {
  uint64_t states = 0;  // distinct
  uint64_t schedules = 0;
  uint64_t pairs = 0;      // of operations at which the two were stopped, distinct
  uint64_t pairs_max = 0;  // of operations of two writers that are left alone
  uint64_t take_overs = 0;
  uint64_t acknowledged = 0;  // writes
  uint64_t refused = 0;       // writes of superseded writers
  std::string finding;
};

// Runs schedules until there are that many states.
TwoWritersReport StopTwoWriters(uint64_t seed, uint64_t states_min);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_BEYOND_TWO_WRITERS_H_
