// Kills processes that write to a store on a real file system, by SIGKILL at any moment.  The next
// process must find every acknowledged write.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_KILLS_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_KILLS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct KillReport {
  uint64_t kills = 0;
  uint64_t while_opening = 0;  // kills before the store was open and completely read
  uint64_t while_closing = 0;  // kills while the store was closed or opened again
  uint64_t stores = 0;
  uint64_t commits = 0;  // acknowledged commits
  uint64_t kept = 0;     // commits that were not acknowledged but survived
  std::string finding;   // what went wrong, with all that is known about it, or empty
};

// Works in a new directory below that of temporary files.  The seed determines what is written, and
// roughly when the processes are killed.  REQUIRES: the calling process has no other thread,
// because this forks.
KillReport KillOverAndOver(uint64_t seed, uint64_t kills);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_KILLS_H_
