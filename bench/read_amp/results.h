// What a run of read_amp found out, and what follows from it.
//
// bench/README.md says what each figure means and by what formula it is made.
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
  lsm::Statistics shape;   // taken when it was opened: levels, bytes, filters
  uint64_t questions = 0;  // asked to filters about keys that their table does not hold
  uint64_t false_positives = 0;

  double observed_fpp() const;
  double filter_bits_per_key() const;
};

struct CacheResult {
  CacheSize size = CacheSize::kFits;
  uint64_t bytes = 0;
  bool direct = false;
  std::string note;       // "64.0 MiB, twice the data, and every block is in it beforehand"
  double least_fill = 1;  // share of its bytes in use when a measurement began; 0 without a cache
};

struct Cell {
  size_t store = 0;  // in Results::stores
  size_t cache = 0;  // in Results::caches
  Workload workload = Workload::kAbsent;
  std::vector<Measurement> rounds;

  uint64_t lookups() const;
  uint64_t timed_lookups() const;  // of the round that timed fewest
  Spread lookups_per_second() const;
  // Of an index into kPercentiles.  Null if a round timed too few lookups for it.
  std::optional<Spread> latency_us(size_t percentile) const;
  // What the store counted in all rounds, and that for a lookup.
  uint64_t Sum(uint64_t lsm::LevelStatistics::*field) const;
  double PerLookup(uint64_t lsm::LevelStatistics::*field) const;
  double blocks_touched() const;    // a lookup, from cache or file
  double blocks_from_file() const;  // a lookup
  // A lookup: of data blocks, and of partitions of filters and indexes.
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
  std::vector<Cell> cells;   // by cache, workload, store
  bool interrupted = false;  // cells, or rounds of some, are missing
  double seconds = 0;
  // What a reader of the figures has to know, each a sentence.
  std::vector<std::string> warnings;

  const Cell* Find(size_t store, size_t cache, Workload workload) const;

  // The data blocks a lookup by which stores are compared: those read from files; where everything
  // is cached, those that were looked into.
  double ComparedBlocks(const Cell& cell) const;

  // Per cent of the data blocks of the store without filters that this one did without, same cache
  // and workload.  Null for that store itself, and where it read none.
  std::optional<double> AvoidedIo(const Cell& cell) const;
};

nlohmann::ordered_json ToJson(const Results& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_RESULTS_H_
