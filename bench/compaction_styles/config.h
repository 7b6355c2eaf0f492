// What a run of compaction_styles was asked to do.
#ifndef TRELLIS_BENCH_COMPACTION_STYLES_CONFIG_H_
#define TRELLIS_BENCH_COMPACTION_STYLES_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lsm/options.h"

namespace bench::styles {

struct Config {
  std::vector<lsm::CompactionStyle> styles = {lsm::CompactionStyle::kLeveled,
                                              lsm::CompactionStyle::kTiered,
                                              lsm::CompactionStyle::kLazyLeveled};
  // --- the store ---
  uint64_t keys = 400000;  // of 16 bytes
  uint64_t value_bytes = 100;
  int runs = 4;            // Options::level0_compaction_tables
  uint64_t flushes = 256;  // tables of level 0 that all keys together are
  std::string filter_kind = "by-level";
  double target_fpp = 0.01;
  // Of a second store of each style, its Options::filter_goal: bits a key.  0: as many as the first
  // store's filters took, so that all take the same memory.
  double goal_bits = 0;
  // --- the work ---
  double overwrites = 4;    // writes of random keys, by the number of keys, that are measured
  uint64_t moments = 37;    // at which lookups and sizes are measured, evenly among the overwrites
  uint64_t lookups = 2000;  // at each of them, of present and of absent keys
  uint64_t seed = 1;
  // --- where to ---
  std::string out = "compaction_styles_out";
  bool on_disk = false;  // the stores, in OUT/stores; else in memory: no figure but times differs
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

}  // namespace bench::styles

#endif  // TRELLIS_BENCH_COMPACTION_STYLES_CONFIG_H_
