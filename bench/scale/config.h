// The options of a run of scale.
#ifndef TRELLIS_BENCH_SCALE_CONFIG_H_
#define TRELLIS_BENCH_SCALE_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/experiment/options.h"

namespace bench::scale {

struct Config : RunOptions {
  // --- the store ---
  std::vector<uint64_t> sizes;  // keys of 16 bytes, ascending; the store grows through them
  uint64_t value_bytes = 100;
  // Options of the store, with the defaults of lsm::Options.
  uint64_t write_buffer_bytes = uint64_t{64} << 20;
  uint64_t level1_bytes = uint64_t{256} << 20;
  uint64_t table_bytes = uint64_t{64} << 20;
  double target_fpp = 0.01;
  // --- the measurement ---
  double seconds = 2;  // per measurement of lookups
  int openings = 7;    // of each kind, at each size
  std::string note;    // a remark for the report's conditions
  bool keep = false;   // keeps the store at the end
};

Parsed<Config> ParseCommandLine(int argc, char** argv);

}  // namespace bench::scale

#endif  // TRELLIS_BENCH_SCALE_CONFIG_H_
