// The results of a comparison by cell, store and round, and the report's tables.
#ifndef TRELLIS_BENCH_PEERS_RESULTS_H_
#define TRELLIS_BENCH_PEERS_RESULTS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/experiment/options.h"
#include "bench/machine.h"
#include "bench/peers/cell.h"
#include "bench/peers/deletions.h"
#include "bench/peers/peer.h"
#include "bench/spread.h"
#include "bench/table.h"

namespace bench::peers {

// One measurement.
struct Sample {
  double micros = 0;      // per operation, over all threads
  double cpu_micros = 0;  // of all threads of the process
  // For tasks that write: time until no background work is running or due, and bytes passed to the
  // system until then, per byte of keys and values written.
  std::optional<double> quiet_micros, quiet_cpu_micros, write_amplification;
  // For tasks that read with a cache that does not hold everything: data blocks and device bytes
  // per operation.
  std::optional<double> block_reads, device_bytes;
  // For openings: bytes by read calls, besides device bytes.
  std::optional<double> read_bytes;
  // Microseconds of single puts: the percentiles at kLatencyShares, and the maximum.
  std::vector<double> latencies;
};
inline constexpr double kLatencyShares[] = {0.5, 0.99, 0.999, 0.9999, 1};

struct CellResult {
  Cell cell;
  std::vector<std::vector<Sample>> samples;  // [store][round]; a store may lack the task
  size_t rivals = SIZE_MAX;  // the stores from this index on are variants of the first

  bool has(size_t store) const { return !samples[store].empty(); }
  Spread Micros(size_t store) const;
  // The median over the rounds; nullopt if any round lacks the value.
  template <typename Value>
  std::optional<double> Median(size_t store, Value Sample::*member) const;
  // The first store's time divided by the best of the others', round by round, so that a slow phase
  // of the machine affects both.  nullopt without others.
  std::optional<Spread> Ratio() const;
};

// The shape of the stores when they were read.
struct Shape {
  DataSize size;
  State state = State::kFresh;
  std::vector<PeerFigures> figures;  // by store
  // By store, after all measurements: read-triggered compactions may have changed it.  Empty: this
  // state was not measured.
  std::vector<std::optional<uint64_t>> runs_after;

  std::optional<uint64_t> RunsAfter(size_t store) const {
    return store < runs_after.size() ? runs_after[store] : std::nullopt;
  }
};

struct DeletionResult {
  const DeletionInfo* deletion = nullptr;
  std::vector<std::vector<DeletionFigure>> figures;  // by store; a variant has none

  // The first store's value as a part of the lowest one of the others; nullopt if none has it.
  std::optional<double> Share(size_t figure) const;
};

struct Results {
  RunOptions options;
  Conditions conditions;
  int rounds = 0;
  uint64_t single_round_bytes = UINT64_MAX;
  double seconds_per_measurement = 0;
  PeerSettings settings;
  std::vector<std::pair<std::string, std::string>> stores;  // names and details
  std::vector<CellResult> cells;
  std::vector<Shape> shapes;
  std::vector<DeletionResult> deletions;
  // By task: the loop's own share of each figure, in microseconds.
  std::vector<std::pair<std::string, double>> loop_micros;
  bool interrupted = false;  // cells, or some rounds, are missing
  double seconds = 0;        // of the whole run

  // Null if the cell was not measured.
  const CellResult* Find(const Cell& cell) const;
};

// The cells with a goal; those that miss it by most come first.
Table GoalsTable(const Results& results);
// The cells of one size, state and cache.
Table TimesTable(const Results& results, const DataSize& size, State state, Cache cache);
// Blocks and bytes per lookup, for caches that do not hold everything.
Table ReadsTable(const Results& results);
// Openings of all stores side by side.
Table OpeningsTable(const Results& results);
// Fresh stores: filter memory, and the reads that it saves.
Table FiltersTable(const Results& results);
// Workloads that delete: all figures, or only those with goals.
Table DeletionsTable(const Results& results, bool goals_only = false);
// Percentiles of single puts.
Table LatencyTable(const Results& results);
// Two threads compared with one.
Table ThreadsTable(const Results& results);
Table ShapesTable(const Results& results);
Table ConditionsTable(const Results& results);

// A measured combination of size, state and cache.
struct Place {
  DataSize size;
  State state;
  Cache cache;
  bool operator==(const Place&) const = default;
};
std::vector<Place> PlacesOf(const Results& results);

// Everything, for a terminal.
std::string ToText(const Results& results);
nlohmann::ordered_json ToJson(const Results& results);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_RESULTS_H_
