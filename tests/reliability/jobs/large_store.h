// Flipped bits in a store of 1 MiB, with tables of many blocks, of each table one together: one in
// so many of its bits in a round, and in the end every one.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_LARGE_STORE_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_LARGE_STORE_H_

#include <cstdint>
#include <string>

namespace reliability {

struct LargeStoreReport {
  uint64_t flips = 0;
  uint64_t not_opened = 0;  // of them, because of which the store did not open
  uint64_t store_bytes = 0;
  uint64_t rounds = 0;  // after which every bit was flipped
  std::string finding;
};

// About so many flips, spread over the store.  Rounds that follow one another flip other bits.
LargeStoreReport FlipInLargeStore(uint64_t round, uint64_t flips);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_LARGE_STORE_H_
