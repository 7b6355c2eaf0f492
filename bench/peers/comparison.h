// The same work for several stores, in rounds that alternate between them.  A store is measured
// only while the others have no background work.
#ifndef TRELLIS_BENCH_PEERS_COMPARISON_H_
#define TRELLIS_BENCH_PEERS_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/experiment/options.h"
#include "bench/experiment/progress.h"
#include "bench/peers/cell.h"
#include "bench/peers/data_set.h"
#include "bench/peers/deletions.h"
#include "bench/peers/loops.h"
#include "bench/peers/measure.h"
#include "bench/peers/peer.h"
#include "bench/peers/results.h"

namespace bench::peers {

struct ComparisonConfig : RunOptions {
  std::vector<std::string> stores;             // the first is compared with the others
  std::vector<Cell> cells;                     // cells to measure, in any order
  std::vector<const DeletionInfo*> deletions;  // after the cells, each once
  DeletionSettings deletion;
  int rounds = 3;
  // Tasks that visit all keys have only one round if the data is at least this large.
  uint64_t single_round_bytes = UINT64_MAX;
  double seconds = 1;  // per measurement of lookups
  PeerSettings settings;
};

// Call order: Run once, then results.
class Comparison {
 public:
  // The first peer is compared with the others.
  Comparison(const ComparisonConfig& config, std::vector<std::unique_ptr<Peer>> peers);
  ~Comparison();

  // Stops at the first wrong answer or error.  If told to stop, keeps the results so far; Cancelled
  // if there are none.
  absl::Status Run();

  const Results& results() const { return results_; }

 private:
  // A store and its state.
  struct Store {
    std::unique_ptr<Peer> peer;
    std::string directory;
    std::unique_ptr<Contents> contents;
    bool is_filled = false;  // holds the data of the current size
  };
  using Body = std::function<absl::StatusOr<Sample>(Store* store, int round)>;

  // Sizes in the order in which the cells first name them; the cells of a size in the order of the
  // tasks.
  std::vector<DataSize> Sizes() const;
  std::vector<Cell> CellsOf(const DataSize& size, State state, std::optional<Cache> cache) const;
  int RoundsOf(const Cell& cell) const;
  double TurnSeconds(const Cell& cell) const;
  double GuessSeconds() const;

  absl::Status RunSize(const DataSize& size);
  absl::Status FillTheRest(const DataSize& size);
  absl::Status LookInto(const DataSize& size, State state);
  // The stores that any of the cells needs.
  std::vector<Store*> StoresFor(const std::vector<Cell>& cells);
  // Compacts all stores but variants again, into tables of this size.
  absl::Status Compact(const DataSize& size, uint64_t table_bytes);
  absl::Status OpenMany(const DataSize& size);
  absl::Status Change(const DataSize& size);

  absl::Status Delete(const DeletionInfo& deletion);

  // Runs each store that supports the cell in turn, in every round.
  absl::Status Rounds(const Cell& cell, const Body& body);

  absl::StatusOr<Sample> FillOnce(Store* store, const Cell& cell, const Numbers& order);
  absl::StatusOr<Sample> ReadOnce(Store* store, const Cell& cell, int round);
  absl::StatusOr<Sample> ChangeOnce(Store* store, const Cell& cell, int round);
  // Writes, then waits until the background work is done.
  absl::StatusOr<Sample> WriteOnce(Store* store, std::unique_ptr<Loop> loop);

  absl::Status Reopen(Store* store, const PeerSettings& settings);
  // How many times the overload writes all keys: enough to fill the write buffer many times, more
  // often than any store lets full buffers pile up.
  int OverloadPasses(const DataSize& size) const;
  PeerSettings SettingsFor(const DataSize& size, Cache cache) const;
  absl::Status Close();
  absl::Status Warm(Store* store, Cache cache);
  absl::Status NoteShape(const DataSize& size, State state);
  // Adds the sorted runs after all measurements to the shape noted last.
  absl::Status NoteRunsAfter(const DataSize& size, State state);
  // Measures the overhead of the loop of a fill or of lookups, once per size.
  absl::Status MeasureLoop(const Cell& cell);

  const ComparisonConfig config_;
  std::vector<Store> stores_;
  Orders orders_;
  Results results_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_COMPARISON_H_
