// The run itself: loads the stores, checks them, measures them in rounds.
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

// Of each kind, stored and absent, that the check asks for; more would tell no more.
inline constexpr uint64_t kCheckedKeysMax = 2000000;

// Grammar: Run, once.
class Experiment {
 public:
  Experiment(const Config& config, KeySet keys);

  // Stops at the first wrong answer or error.  Told to stop, it returns what it has measured, or
  // Cancelled if that is nothing.
  absl::StatusOr<Results> Run();

 private:
  std::string DirectoryOf(const StoreConfig& store) const;
  const StoreConfig& store(size_t i) const { return results_.stores[i].config; }

  absl::Status CheckRoom() const;
  absl::Status LoadStores();
  // Asks for every key once: are the answers right, and how often do the filters pass?
  absl::Status CheckStores();
  absl::Status CheckStore(StoreResult* result);
  absl::Status ChooseCaches();
  void MakeStreams();
  void MakeCells();
  absl::Status MeasureRounds();
  absl::Status MeasureRound(int round);
  absl::Status MeasureStore(int round, size_t cache, size_t store);
  absl::StatusOr<std::unique_ptr<lsm::DB>> OpenWarm(size_t cache, size_t store);
  // Adds to the notes how full the small cache was.
  void NoteFill();
  // Adds to the warnings what makes figures doubtful.
  void LookForTrouble();
  void LookForRepeats();

  // Guesses, in seconds, for the progress alone.
  double LoadGuess() const;
  double CheckGuess() const;
  double StoreGuess() const;

  const Config& config_;
  const KeySet keys_;
  const ValueMaker values_;
  std::vector<QueryStream> streams_;  // by Config::workloads
  Results results_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_EXPERIMENT_H_
