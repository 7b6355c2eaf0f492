// The options of a run of expiry_bench.
//
// The scale.  The goal is about a store with a live GiB and the default options: a write buffer and
// tables of 64 MiB, level 1 of 256 MiB.  A day of it writes 24 GiB.  So the benchmark divides all
// of these by `scale`.  Then the ratios between them stay, and with them the number of flushes,
// tables and levels.  What does not scale: blocks, and the fixed part of each table.
#ifndef TRELLIS_BENCH_EXPIRY_CONFIG_H_
#define TRELLIS_BENCH_EXPIRY_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/experiment/options.h"

namespace bench::expiry {

inline constexpr uint64_t kKeyBytes = 16;

struct Config : RunOptions {
  // --- what is measured ---
  std::vector<std::string> parts;  // of PartNames; empty: all
  std::string keys = "both";       // of the days: "time", "random", "both"
  std::string peer;                // "rocksdb", "none"
  // --- the days ---
  uint64_t scale = 16;
  uint64_t buffers = 16;  // live bytes, in write buffers
  uint64_t hours = 24;
  uint64_t value_bytes = 400;
  // --- gets ---
  uint64_t get_keys = 400'000;
  uint64_t operations = 100'000;  // of each kind and round
  uint64_t rounds = 21;

  bool Measures(const std::string& part) const;
  bool has_peer() const { return peer == "rocksdb"; }
  uint64_t entry_bytes() const { return kKeyBytes + value_bytes; }
  uint64_t write_buffer_bytes() const { return (uint64_t{64} << 20) / scale; }
  // Keys and values.
  uint64_t live_bytes() const { return buffers * write_buffer_bytes(); }
};

// "day", "gets".
const std::vector<std::string>& PartNames();

Parsed<Config> ParseCommandLine(int argc, char** argv);

}  // namespace bench::expiry

#endif  // TRELLIS_BENCH_EXPIRY_CONFIG_H_
