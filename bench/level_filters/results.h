// The results of a run of level_filters, as JSON and as tables.
//
// bench/README.md explains each figure.
#ifndef TRELLIS_BENCH_LEVEL_FILTERS_RESULTS_H_
#define TRELLIS_BENCH_LEVEL_FILTERS_RESULTS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/level_filters/config.h"
#include "bench/level_filters/store.h"
#include "bench/machine.h"
#include "bench/table.h"

namespace bench::level_filters {

// Lookups of one kind, and their wasted reads of tables.
struct Reads {
  uint64_t lookups = 0;
  uint64_t wasted = 0;
  double per_lookup() const {
    return lookups == 0 ? 0 : static_cast<double>(wasted) / static_cast<double>(lookups);
  }
};

struct StoreResult {
  ComparedStore config;
  double load_seconds = 0;
  std::vector<LevelRow> levels;
  // The most memory that filters took after any part of the load, divided by what the goal allowed
  // then; 0 if the goal does not limit memory.
  double most_of_budget = 0;
  Reads absent;  // absent keys
  Reads bottom;  // keys of the deepest level

  uint64_t keys() const;
  uint64_t filter_bytes() const;
  double bits_per_key() const;
  double expected_wasted_reads() const;  // 0: the store does not report it
};

// Lookups of absent keys that prefer some ranges (bench/level_filters/skew.h): wasted reads per
// lookup, in a store that learns and in one that forgets.
struct SkewRound {
  double written = 0;  // keys written since the load, divided by the number of keys
  double learning = 0;
  double forgetful = 0;
  double learning_bits = 0;  // filter bits per key
  double forgetful_bits = 0;
};
struct SkewResult {
  std::string name, how;          // of the workload
  double best = 0;                // the theoretical limit of TimesFewer
  std::vector<SkewRound> rounds;  // the second half uses other ranges

  static constexpr double kLearned = 1.5;  // times fewer
  // Means over the rounds [first, last).
  double MeanOf(double SkewRound::*member, size_t first, size_t last) const;
  // Over the second half of the rounds before the ranges change.
  double TimesFewer() const;
  // The amount written until the learning store wasted kLearned times fewer reads; nullopt if it
  // never did.
  std::optional<double> Learned() const;
  // The learning store's most wasted reads after the ranges changed, divided by the other store's,
  // and the amount written from there until it had learned again.
  double Worst() const;
  std::optional<double> LearnedAgain() const;
};

struct Results {
  Config config;
  Conditions conditions;
  StoreShape shape;
  std::vector<StoreResult> stores;  // the others are compared with the first
  std::vector<SkewResult> skew;
  bool interrupted = false;  // stores or kinds of skewed lookups are missing
  double seconds = 0;

  // How many times fewer wasted reads than the first store; 0 if there were none.
  double TimesFewer(const StoreResult& store, Reads StoreResult::*reads) const;
};

nlohmann::ordered_json ToJson(const Results& results);

// A row for each store.
Table StoresTable(const Results& results);
// A row for each level of each store.
Table LevelsTable(const Results& results);
Table SkewTable(const Results& results);    // a row for each workload
Table RoundsTable(const Results& results);  // a row for each round
// The excerpt for bench/README.md: the stores and the skewed lookups, each with its sizes.
std::string ToMarkdown(const Results& results);

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_RESULTS_H_
