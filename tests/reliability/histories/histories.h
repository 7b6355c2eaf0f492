// Concurrent histories: several threads call one store at the same time.  Each call is recorded
// with its answer, its beginning and its end.  The job then looks for an order in which the same
// calls, one after another, would have had the same answers (linearizability: Herlihy & Wing 1990).
// If there is none, the store broke its promise to threads (db.h).
#ifndef TRELLIS_TESTS_RELIABILITY_HISTORIES_HISTORIES_H_
#define TRELLIS_TESTS_RELIABILITY_HISTORIES_HISTORIES_H_

#include <cstdint>
#include <string>

namespace reliability {

struct HistoryReport {
  uint64_t histories = 0;
  uint64_t operations = 0;   // recorded calls
  uint64_t overlapping = 0;  // calls that ran at the same time as another one
  uint64_t drops = 0;        // of keyspaces
  uint64_t refusals = 0;     // of calls whose keyspace was dropped
  uint64_t own_trees = 0;    // of keyspaces, at the ends of the histories
  uint64_t flushes = 0;      // during the calls
  uint64_t compactions = 0;
  uint64_t undecided = 0;      // histories with too many orders to try
  uint64_t positions_max = 0;  // positions searched, for the worst history
  std::string finding;         // describes the failure; empty if there is none
};

// Checks this many histories.  Each has at least 200 calls by four threads, on a store that seals
// and flushes memtables and compacts meanwhile.  The calls are on several keyspaces, some of which
// have trees of their own, and some drop keyspaces and create them again.  The seed determines the
// calls, not their timing.
HistoryReport CheckHistories(uint64_t seed, uint64_t histories);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_HISTORIES_HISTORIES_H_
