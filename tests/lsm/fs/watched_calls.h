// Stands in for the C library's calls on files: notes them, and lets them fail or cut them short. A
// program that links this is watched; the product knows nothing of it.
#ifndef TRELLIS_TESTS_LSM_FS_WATCHED_CALLS_H_
#define TRELLIS_TESTS_LSM_FS_WATCHED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace lsm {

// Outcomes of the calls from here on.
struct CallScript {
  std::vector<std::string> calls;  // "name file", as they were made
  std::map<std::string, std::deque<int>>
      fail;                        // by name: errors of the next calls, 0 lets one through
  size_t transfer_max = SIZE_MAX;  // of one read or write
};

// Null: calls go to the kernel unseen.  For one thread.
extern CallScript* call_script;

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_FS_WATCHED_CALLS_H_
