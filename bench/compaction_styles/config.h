// The options of a run of compaction_styles.
#ifndef TRELLIS_BENCH_COMPACTION_STYLES_CONFIG_H_
#define TRELLIS_BENCH_COMPACTION_STYLES_CONFIG_H_

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "bench/experiment/options.h"
#include "lsm/base/compaction_styles.h"
#include "lsm/options.h"

namespace bench::styles {

struct Config : RunOptions {
  std::vector<lsm::CompactionStyle> styles{std::begin(lsm::kCompactionStyles),
                                           std::end(lsm::kCompactionStyles)};
  // --- the store ---
  uint64_t keys = 400000;  // of 16 bytes
  uint64_t value_bytes = 100;
  int runs = 4;            // Options::level0_compaction_tables
  uint64_t flushes = 256;  // flushes that write all keys once
  std::string filter_kind = "by-level";
  double target_fpp = 0.01;
  // Bits per key of the filter goal of each style's second store.  0: as many as the first store's
  // filters took, so that both use the same memory.
  double goal_bits = 0;
  // --- the work ---
  double overwrites = 4;    // measured writes of random keys, as a multiple of the keys
  uint64_t moments = 37;    // measurements of lookups and sizes, evenly spread over the overwrites
  uint64_t lookups = 2000;  // at each moment, both of present and of absent keys
  bool on_disk = false;     // keeps the stores in OUT/stores; in memory only the times differ
};

Parsed<Config> ParseCommandLine(int argc, char** argv);

}  // namespace bench::styles

#endif  // TRELLIS_BENCH_COMPACTION_STYLES_CONFIG_H_
