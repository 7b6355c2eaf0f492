// The options of a run of read_amp.
#ifndef TRELLIS_BENCH_READ_AMP_CONFIG_H_
#define TRELLIS_BENCH_READ_AMP_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/experiment/options.h"
#include "bench/workload.h"

namespace bench {

// The block cache of a store, relative to the bytes of its keys and values.
enum class CacheSize : uint8_t {
  kFits,   // twice those bytes; holds all blocks before the first lookup
  kTenth,  // a tenth of them; other blocks come from the system's page cache
  kNone,   // none, and direct I/O where the file system supports it
};
const char* NameOf(CacheSize cache);

struct Config : RunOptions {
  // --- keys ---
  std::vector<std::string> key_files;
  std::vector<std::string> absent_key_files;
  uint64_t synthetic = 0;  // number of generated keys; 0: keys come from the files
  uint64_t value_bytes = 100;

  // --- the comparison, which always includes a store without filters ---
  std::vector<std::string> filters = {"standard", "blocked"};
  std::vector<double> target_fpps = {0.1, 0.01, 0.001};
  std::vector<CacheSize> caches = {CacheSize::kFits, CacheSize::kTenth, CacheSize::kNone};
  std::vector<Workload> workloads = {Workload::kAbsent, Workload::kMixed, Workload::kPresent};
  double mix = 0.5;  // share of present keys in the mixed workload

  // --- how long ---
  int rounds = 3;
  double seconds = 0.3;  // per measurement
  uint64_t lookups = 0;  // per measurement; 0: as many as fit into the seconds
};

Parsed<Config> ParseCommandLine(int argc, char** argv);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_CONFIG_H_
