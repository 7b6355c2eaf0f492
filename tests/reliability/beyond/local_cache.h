// A CachedFileSystem whose local disk flips bits, fails, and crashes, while its tables are written,
// read, replaced and removed.  Each read must return what the file below has.
#ifndef TRELLIS_TESTS_RELIABILITY_BEYOND_LOCAL_CACHE_H_
#define TRELLIS_TESTS_RELIABILITY_BEYOND_LOCAL_CACHE_H_

#include <cstdint>
#include <string>

namespace reliability {

struct LocalCacheReport {
  uint64_t reads = 0;
  uint64_t hits = 0;        // pieces
  uint64_t bad_pieces = 0;  // found and read again
  uint64_t evicted = 0;     // pieces
  uint64_t restarts = 0;
  std::string finding;
};

LocalCacheReport UseLocalCacheAtRandom(uint64_t seed, uint64_t reads_min);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_BEYOND_LOCAL_CACHE_H_
