// Kills: a process that writes to a store on a real file system ends by SIGKILL, at any moment, and
// another one finds there everything that had been acknowledged.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_KILLS_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_KILLS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct KillReport {
  uint64_t kills = 0;
  uint64_t while_opening = 0;  // of them: before the store was open, and looked through
  uint64_t while_closing = 0;  // of them: while it was closed, or opened again
  uint64_t stores = 0;
  uint64_t commits = 0;  // that were acknowledged
  uint64_t kept = 0;     // that were not, and were there nevertheless
  std::string finding;   // what went wrong, with all that is known of it; or empty
};

// In a directory of its own under that of temporary files.  Forks: the calling process has no other
// thread.  The seed decides what is written, and about when the processes are killed.
KillReport KillOverAndOver(uint64_t seed, uint64_t kills);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_KILLS_H_
