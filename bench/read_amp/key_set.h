// Chooses the stored keys and the absent keys.
#ifndef TRELLIS_BENCH_READ_AMP_KEY_SET_H_
#define TRELLIS_BENCH_READ_AMP_KEY_SET_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bench/read_amp/config.h"
#include "bench/workload.h"

namespace bench {

// Counts of the files' lines that were left out, and why.
struct KeyReport {
  std::string source;  // "words.txt", "synthetic, 16 bytes"
  std::string absent_source;
  uint64_t empty_lines = 0;        // left out, in all files
  uint64_t duplicates = 0;         // left out of the stored keys
  uint64_t absent_duplicates = 0;  // left out of the absent keys: repeated
  uint64_t absent_stored = 0;      //   are stored keys
  uint64_t absent_outside = 0;     //   are below the least or above the greatest stored key
};

struct KeySet {
  KeyList stored;  // distinct, in writing order (random)
  KeyList absent;  // distinct, none stored, each between the least and the greatest stored key
  KeyReport report;
};

// InvalidArgument if no stored or no absent key remains, or a line is longer than a key may be;
// Unavailable if a file cannot be read.
absl::StatusOr<KeySet> MakeKeySet(const Config& config);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_KEY_SET_H_
