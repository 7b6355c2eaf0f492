// The options of a run of keyspaces_bench.
#ifndef TRELLIS_BENCH_KEYSPACES_CONFIG_H_
#define TRELLIS_BENCH_KEYSPACES_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/experiment/options.h"

namespace bench::keyspaces {

struct Config : RunOptions {
  // --- what is measured ---
  std::vector<std::string> parts;  // of PartNames; empty: all
  bool trickle = false;            // of `many` only these; neither: all
  bool even = false;
  std::string peer;  // "rocksdb", "none"
  // --- the stores ---
  uint64_t keyspaces = 10'000;  // of `open` and `many`
  uint64_t cold = 99;           // cold keyspaces of `cold` and `speed`
  uint64_t write_buffer_bytes = uint64_t{16} << 20;
  uint64_t value_bytes = 100;
  // --- the work ---
  uint64_t flushes = 20;                     // write buffers that `cold` and `many` write
  uint64_t size_bytes = uint64_t{10} << 30;  // of the keyspace that is dropped
  uint64_t tree_bytes = uint64_t{48} << 20;  // of each tree of `many --even`
  uint64_t keys = 400'000;                   // of `speed`
  uint64_t operations = 50'000;              // of each kind and round of `speed`
  uint64_t rounds = 11;                      // of `speed`
  uint64_t openings = 5;

  bool Measures(const std::string& part) const;
  bool has_peer() const { return peer != "none"; }
  uint64_t entry_bytes() const { return 16 + value_bytes; }
};

// "open", "cold", "speed", "drop", "many".
const std::vector<std::string>& PartNames();

Parsed<Config> ParseCommandLine(int argc, char** argv);

}  // namespace bench::keyspaces

#endif  // TRELLIS_BENCH_KEYSPACES_CONFIG_H_
