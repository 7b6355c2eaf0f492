// What a run of read_amp was asked to do.
#ifndef TRELLIS_BENCH_READ_AMP_CONFIG_H_
#define TRELLIS_BENCH_READ_AMP_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload.h"

namespace bench {

// How much block cache a store gets, beside the bytes of its keys and values.
enum class CacheSize : uint8_t {
  kFits,   // all of them, twice over, and all of them in it before the first lookup
  kTenth,  // a tenth of them; the rest comes through the page cache of the system
  kNone,   // none, and none of the system's either (direct I/O), where the file system allows it
};
const char* NameOf(CacheSize cache);

struct Config {
  // --- keys ---
  std::vector<std::string> key_files;
  std::vector<std::string> absent_key_files;
  uint64_t synthetic = 0;  // how many; 0: keys come from the files
  uint64_t value_bytes = 100;

  // --- what is compared; a store without filters is always among it ---
  std::vector<std::string> filters = {"standard", "blocked"};
  std::vector<double> target_fpps = {0.1, 0.01, 0.001};
  std::vector<CacheSize> caches = {CacheSize::kFits, CacheSize::kTenth, CacheSize::kNone};
  std::vector<Workload> workloads = {Workload::kAbsent, Workload::kMixed, Workload::kPresent};
  double mix = 0.5;  // share of present keys in the mixed workload

  // --- how long ---
  int rounds = 3;
  double seconds = 0.3;  // of one measurement
  uint64_t lookups = 0;  // of one measurement; 0: as many as fit into the seconds
  uint64_t seed = 1;

  // --- where to ---
  std::string out = "read_amp_out";
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

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_CONFIG_H_
