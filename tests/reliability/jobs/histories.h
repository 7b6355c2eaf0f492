// Concurrent histories: threads call one store at the same time, all that they ask and are told is
// written down with when, and an order is looked for in which the same calls, one after another,
// would have been told the same (linearizability: Herlihy & Wing 1990).  Without one, the store
// broke what db.h promises to threads.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_HISTORIES_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_HISTORIES_H_

#include <cstdint>
#include <string>

namespace reliability {

struct HistoryReport {
  uint64_t histories = 0;
  uint64_t operations = 0;   // calls that were recorded, in all
  uint64_t overlapping = 0;  // of them, while another one was under way
  uint64_t flushes = 0;      // meanwhile
  uint64_t compactions = 0;
  uint64_t undecided = 0;      // histories with too many orders to try
  uint64_t positions_max = 0;  // looked at for a history
  std::string finding;         // what went wrong, with all that is known of it; or empty
};

// So many histories, of 200 calls and more by four threads each, on stores whose memtables are
// sealed, flushed and compacted meanwhile.  The seed decides what is called, and not when.
HistoryReport CheckHistories(uint64_t seed, uint64_t histories);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_HISTORIES_H_
