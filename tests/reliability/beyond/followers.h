// A follower beside a writer: each is stopped at each of its file operations, and the other one
// goes on meanwhile.
#ifndef TRELLIS_TESTS_RELIABILITY_BEYOND_FOLLOWERS_H_
#define TRELLIS_TESTS_RELIABILITY_BEYOND_FOLLOWERS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct FollowerReport {
  uint64_t interleavings = 0;
  uint64_t views = 0;
  uint64_t writes = 0;
  std::string finding;
};

FollowerReport FollowAtEachOperation(uint64_t seed, uint64_t interleavings_min);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_BEYOND_FOLLOWERS_H_
