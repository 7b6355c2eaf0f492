// What a comparison has found: per cell, store and round, and what is said of it.
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
#include "bench/peers/peer.h"
#include "bench/spread.h"
#include "bench/table.h"

namespace bench::peers {

// One measurement.
struct Sample {
  double micros = 0;      // an operation, of all threads together
  double cpu_micros = 0;  // of all threads of the process
  // Of tasks that write: until nothing runs or is due in the background any more, and the bytes
  // handed to the system until then by the bytes of keys and values written.
  std::optional<double> quiet_micros, quiet_cpu_micros, write_amplification;
  // Of tasks that read, where the cache does not hold everything: an operation's data blocks, and
  // bytes from devices.
  std::optional<double> block_reads, device_bytes;
  // Of openings: bytes through read calls, beside the bytes from devices.
  std::optional<double> read_bytes;
  // Microseconds of single puts: kLatencyShares of them took no longer, and the longest.
  std::vector<double> latencies;
};
inline constexpr double kLatencyShares[] = {0.5, 0.99, 0.999, 0.9999, 1};

struct CellResult {
  Cell cell;
  std::vector<std::vector<Sample>> samples;  // [store][round]; a store that cannot do it has none
  size_t rivals = SIZE_MAX;                  // the stores from here on are variants of the first

  bool has(size_t store) const { return !samples[store].empty(); }
  Spread Micros(size_t store) const;
  // Median over the rounds, nullopt if any round lacks it.
  template <typename Value>
  std::optional<double> Median(size_t store, Value Sample::*member) const;
  // The first store by the best of the others, round by round: what slows the machine for a while
  // slows them all.  nullopt without others.
  std::optional<Spread> Ratio() const;
};

// What a store was like when it was looked into.
struct Shape {
  DataSize size;
  State state = State::kFresh;
  std::vector<PeerFigures> figures;  // by store
  // By store, when all measurements were made: a store may do work in the background for its
  // readers.  Empty: none were made of this state.
  std::vector<std::optional<uint64_t>> runs_after;

  std::optional<uint64_t> RunsAfter(size_t store) const {
    return store < runs_after.size() ? runs_after[store] : std::nullopt;
  }
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
  // By task: the microseconds of each figure that the loop itself takes.
  std::vector<std::pair<std::string, double>> loop_micros;
  bool interrupted = false;  // cells, or rounds of some, are missing
  double seconds = 0;        // all of it

  // Null if it was not measured.
  const CellResult* Find(const Cell& cell) const;
};

// Those with a goal, the ones that miss theirs by most first.
Table GoalsTable(const Results& results);
// The cells of a size, a state and a cache.
Table TimesTable(const Results& results, const DataSize& size, State state, Cache cache);
// Blocks and bytes a lookup, of caches that do not hold everything.
Table ReadsTable(const Results& results);
// Openings, each beside those of the others.
Table OpeningsTable(const Results& results);
// Of fresh stores: what their filters take, and what that spares.
Table FiltersTable(const Results& results);
// How long single puts took.
Table LatencyTable(const Results& results);
// Two threads beside one.
Table ThreadsTable(const Results& results);
Table ShapesTable(const Results& results);
Table ConditionsTable(const Results& results);

// Of what was measured: the sizes, states and caches, in order.
struct Place {
  DataSize size;
  State state;
  Cache cache;
  bool operator==(const Place&) const = default;
};
std::vector<Place> PlacesOf(const Results& results);

// All of it, for a terminal.
std::string ToText(const Results& results);
nlohmann::ordered_json ToJson(const Results& results);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_RESULTS_H_
