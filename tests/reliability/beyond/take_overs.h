// Take-overs: a store in an object store changes its writer at random moments, while calls are
// delayed, lost or repeated.
#ifndef TRELLIS_TESTS_RELIABILITY_BEYOND_TAKE_OVERS_H_
#define TRELLIS_TESTS_RELIABILITY_BEYOND_TAKE_OVERS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct TakeOverReport {
  uint64_t take_overs = 0;
  uint64_t acknowledged = 0;  // writes
  uint64_t refused = 0;       // writes of superseded writers
  std::string finding;
};

TakeOverReport TakeOverAtRandom(uint64_t seed, uint64_t take_overs_min);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_BEYOND_TAKE_OVERS_H_
