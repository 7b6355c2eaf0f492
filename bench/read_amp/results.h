// The results of a run of read_amp, and figures derived from them.
//
// bench/README.md explains each figure and its formula.
#ifndef TRELLIS_BENCH_READ_AMP_RESULTS_H_
#define TRELLIS_BENCH_READ_AMP_RESULTS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/read_amp/config.h"
#include "bench/read_amp/key_set.h"
#include "bench/read_amp/measurement.h"
#include "bench/read_amp/stores.h"
#include "bench/spread.h"

namespace bench {

struct StoreResult {
  StoreConfig config;
  double load_seconds = 0;
  lsm::Statistics shape;   // taken after opening: levels, bytes, filters
  uint64_t questions = 0;  // filter queries for keys that their table does not hold
  uint64_t false_positives = 0;

  double observed_fpp() const;
  double filter_bits_per_key() const;
};

struct CacheResult {
  CacheSize size = CacheSize::kFits;
  uint64_t bytes = 0;
  bool direct = false;
  std::string note;       // "64.0 MiB, twice the data, and holds every block from the start"
  double least_fill = 1;  // used share of its bytes when a measurement began; 0 without a cache
};

struct Cell {
  size_t store = 0;  // in Results::stores
  size_t cache = 0;  // in Results::caches
  Workload workload = Workload::kAbsent;
  std::vector<Measurement> rounds;

  uint64_t lookups() const;
  uint64_t timed_lookups() const;  // in the round with the fewest
  Spread lookups_per_second() const;
  // By index into kPercentiles.  Null if a round timed too few lookups for it.
  std::optional<Spread> latency_us(size_t percentile) const;
  // The store's count over all rounds, and per lookup.
  uint64_t Sum(uint64_t lsm::LevelStatistics::*field) const;
  double PerLookup(uint64_t lsm::LevelStatistics::*field) const;
  double blocks_touched() const;    // per lookup, from cache or file
  double blocks_from_file() const;  // per lookup
  // Per lookup: data blocks, and partitions of filters and indexes.
  double bytes_from_file() const;
};

struct Results {
  Config config;
  Conditions conditions;
  KeyReport key_report;
  uint64_t stored_keys = 0, absent_keys = 0, key_bytes = 0, user_bytes = 0;
  StoreShape shape;
  std::vector<StoreResult> stores;
  std::vector<CacheResult> caches;
  std::vector<Cell> cells;   // ordered by cache, workload, store
  bool interrupted = false;  // cells, or some rounds, are missing
  double seconds = 0;
  // Sentences that a reader of the figures must know.
  std::vector<std::string> warnings;

  const Cell* Find(size_t store, size_t cache, Workload workload) const;

  // The data blocks per lookup by which stores are compared: blocks read from files, or blocks
  // touched if everything is cached.
  double ComparedBlocks(const Cell& cell) const;

  // The share (in per cent) of data blocks that this store avoids, compared with the store without
  // filters at the same cache and workload.  Null for that store itself, and if it read none.
  std::optional<double> AvoidedIo(const Cell& cell) const;
};

nlohmann::ordered_json ToJson(const Results& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_RESULTS_H_
