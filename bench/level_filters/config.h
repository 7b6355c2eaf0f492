// The options of a run of level_filters.
#ifndef TRELLIS_BENCH_LEVEL_FILTERS_CONFIG_H_
#define TRELLIS_BENCH_LEVEL_FILTERS_CONFIG_H_

#include <cstdint>

#include "bench/experiment/options.h"

namespace bench::level_filters {

struct Config : RunOptions {
  uint64_t keys = 2'000'000;
  uint64_t value_bytes = 100;
  double bits_per_key = 10;  // the filter memory of each store
  uint64_t absent_lookups = 1'000'000;
  uint64_t bottom_lookups = 200'000;  // of keys in the deepest level, each once
  // Skewed lookups of absent keys: lookups per round, rounds, and the share of the keys that is
  // rewritten between two rounds.
  uint64_t skewed_lookups = 500'000;
  uint64_t rounds = 16;
  double written_a_round = 0.05;
};

Parsed<Config> ParseCommandLine(int argc, char** argv);

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_CONFIG_H_
