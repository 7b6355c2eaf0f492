// What a run of level_filters was asked to do.
#ifndef TRELLIS_BENCH_LEVEL_FILTERS_CONFIG_H_
#define TRELLIS_BENCH_LEVEL_FILTERS_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>

namespace bench::level_filters {

struct Config {
  uint64_t keys = 2'000'000;
  uint64_t value_bytes = 100;
  double bits_per_key = 10;  // that each store's filters may take
  uint64_t absent_lookups = 1'000'000;
  uint64_t bottom_lookups = 200'000;  // of keys that the deepest level holds, each once
  // Lookups of absent keys that are asked for unevenly: each round, and what is written in one, by
  // the keys that there are.
  uint64_t skewed_lookups = 500'000;
  uint64_t rounds = 16;
  double written_a_round = 0.05;
  uint64_t seed = 1;
  std::string out = "level_filters_out";
  std::string chart_js;  // what is inlined for the plots; empty: none
  std::string command;   // the command line, for the report
};

// The configuration, or the code to exit with (0 after --help, 2 after a mistake, which has been
// explained on stderr).
struct ParsedCommandLine {
  Config config;
  std::optional<int> exit_code;
};
ParsedCommandLine ParseCommandLine(int argc, char** argv);

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_CONFIG_H_
