// What a run of scale was asked to do.
#ifndef TRELLIS_BENCH_SCALE_CONFIG_H_
#define TRELLIS_BENCH_SCALE_CONFIG_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench::scale {

struct Config {
  // --- the store ---
  std::vector<uint64_t> sizes;  // keys of 16 bytes, ascending; the store grows through them
  uint64_t value_bytes = 100;
  // Of lsm::Options, whose defaults these are.
  uint64_t write_buffer_bytes = uint64_t{64} << 20;
  uint64_t level1_bytes = uint64_t{256} << 20;
  uint64_t table_bytes = uint64_t{64} << 20;
  double target_fpp = 0.01;
  // --- the work ---
  double seconds = 2;  // of one measurement of lookups
  int openings = 7;    // of each kind at each size
  uint64_t seed = 1;
  std::string note;  // what else there is to say of the conditions
  // --- where to ---
  std::string out = "scale_out";
  bool keep = false;     // the store, at the end
  std::string chart_js;  // what is inlined for the plots; empty: none
  std::string command;   // the command line, for the report
  // Once it is true, what was measured is reported, and nothing more measured.  Null: never.
  const std::atomic<bool>* stop = nullptr;
};

// The configuration, or the code to exit with (0 after --help, 2 after a mistake, which has been
// explained on stderr).
struct ParsedCommandLine {
  Config config;
  std::optional<int> exit_code;
};
ParsedCommandLine ParseCommandLine(int argc, char** argv);

}  // namespace bench::scale

#endif  // TRELLIS_BENCH_SCALE_CONFIG_H_
