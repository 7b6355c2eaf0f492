// Replaces the C library's calls on files in programs that link this.  Records the calls, and lets
// them fail or cuts them short.
#ifndef TRELLIS_TESTS_LSM_FS_WATCHED_CALLS_H_
#define TRELLIS_TESTS_LSM_FS_WATCHED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace lsm {

// The outcomes of later calls.
struct CallScript {
  std::vector<std::string> calls;  // "name file", as they were made
  std::map<std::string, std::deque<int>>
      fail;                        // by name: errors of the next calls, 0 lets one through
  size_t transfer_max = SIZE_MAX;  // the limit of one read or write
};

// If null, calls go to the kernel and are not recorded.  For one thread.
extern CallScript* call_script;

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_FS_WATCHED_CALLS_H_
