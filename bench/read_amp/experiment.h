// Runs the experiment: loads the stores, checks them, and measures them in rounds.
#ifndef TRELLIS_BENCH_READ_AMP_EXPERIMENT_H_
#define TRELLIS_BENCH_READ_AMP_EXPERIMENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/experiment/progress.h"
#include "bench/read_amp/results.h"

namespace bench {

// Limit for the stored keys, and for the absent keys, of the check; more would add nothing.
inline constexpr uint64_t kCheckedKeysMax = 2000000;

// Call Run once.
class Experiment {
 public:
  Experiment(const Config& config, KeySet keys);

  // Stops at the first wrong answer or error.  If told to stop, returns the results so far, or
  // Cancelled if there are none.
  absl::StatusOr<Results> Run();

 private:
  std::string DirectoryOf(const StoreConfig& store) const;
  const StoreConfig& store(size_t i) const { return results_.stores[i].config; }

  absl::Status CheckRoom() const;
  absl::Status LoadStores();
  // Looks up every key once, up to kCheckedKeysMax: checks the answers, and counts how often
  // filters pass.
  absl::Status CheckStores();
  absl::Status CheckStore(StoreResult* result);
  absl::Status ChooseCaches();
  void MakeStreams();
  void MakeCells();
  absl::Status MeasureRounds();
  absl::Status MeasureRound(int round);
  absl::Status MeasureStore(int round, size_t cache, size_t store);
  absl::StatusOr<std::unique_ptr<lsm::DB>> OpenWarm(size_t cache, size_t store);
  // Notes how full the small cache was.
  void NoteFill();
  // Adds warnings about doubtful figures.
  void LookForTrouble();
  void LookForRepeats();

  // An estimate in seconds, for the progress only.
  double LoadGuess() const;
  double CheckGuess() const;
  double StoreGuess() const;

  const Config& config_;
  const KeySet keys_;
  const ValueMaker values_;
  std::vector<QueryStream> streams_;  // in the order of Config::workloads
  Results results_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_EXPERIMENT_H_
