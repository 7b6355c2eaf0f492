// What a run of level_filters found out, as JSON and as tables.
//
// bench/README.md says what each figure means.
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

// Lookups of one sort, and their wasted reads of tables.
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
  // The most memory that filters took after any part of the load, by what the goal allowed then;
  // 0 where the goal is not one of memory.
  double most_of_budget = 0;
  Reads absent;  // keys that are not there
  Reads bottom;  // keys of the deepest level

  uint64_t keys() const;
  uint64_t filter_bytes() const;
  double bits_per_key() const;
  double expected_wasted_reads() const;  // 0: it does not say
};

// Lookups of absent keys in some ranges more than in others (bench/level_filters/skew.h): wasted
// reads of one of them, in a store that learns and in one that forgets.
struct SkewRound {
  double written = 0;  // keys since the load, by the keys that there are
  double learning = 0;
  double forgetful = 0;
  double learning_bits = 0;  // a key, of all filters
  double forgetful_bits = 0;
};
struct SkewResult {
  std::string name, how;          // of the workload
  double best = 0;                // how many times fewer the same memory could buy, by theory
  std::vector<SkewRound> rounds;  // from half of them on with other ranges

  static constexpr double kLearned = 1.5;  // times fewer
  // Of rounds [first, last), means.
  double MeanOf(double SkewRound::*member, size_t first, size_t last) const;
  // Of the second half of the rounds before the ranges change.
  double TimesFewer() const;
  // What was written until the store that learns wasted so many times fewer reads; nothing: it did
  // not come to that.
  std::optional<double> Learned() const;
  // The most that it wasted after the ranges had changed, by what the other one did, and what was
  // written from there until it had learned again.
  double Worst() const;
  std::optional<double> LearnedAgain() const;
};

struct Results {
  Config config;
  Conditions conditions;
  StoreShape shape;
  std::vector<StoreResult> stores;  // the first is what the others are compared with
  std::vector<SkewResult> skew;
  bool interrupted = false;  // stores or kinds of skewed lookups are missing
  double seconds = 0;

  // How many times fewer reads than the first store; 0 where there were none.
  double TimesFewer(const StoreResult& store, Reads StoreResult::*reads) const;
};

nlohmann::ordered_json ToJson(const Results& results);

// A row a store.
Table StoresTable(const Results& results);
// A row a level of each store.
Table LevelsTable(const Results& results);
Table SkewTable(const Results& results);    // of each workload, in short
Table RoundsTable(const Results& results);  // and round by round
// The excerpt for bench/README.md: the stores and the skewed lookups, each with its sizes.
std::string ToMarkdown(const Results& results);

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_RESULTS_H_
