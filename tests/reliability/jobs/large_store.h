// Flips bits in a store of 1 MiB, whose tables have many blocks.  Bits of different tables are
// flipped together, one per table.  A round flips a fraction of the bits; after all rounds every
// bit was flipped.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_LARGE_STORE_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_LARGE_STORE_H_

#include <cstdint>
#include <string>

namespace reliability {

struct LargeStoreReport {
  uint64_t flips = 0;
  uint64_t not_opened = 0;  // flips after which the store did not open
  uint64_t store_bytes = 0;
  uint64_t rounds = 0;  // the number of rounds that flip every bit
  std::string finding;
};

// Makes about this many flips, spread over the store.  Successive rounds flip different bits.
LargeStoreReport FlipInLargeStore(uint64_t round, uint64_t flips);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_LARGE_STORE_H_
