// Runs the experiment: the same writes to two stores of each style, and their costs.  The first
// store has the same target FPP for all tables, the second a goal for all its filters.
//
// All keys are written once, in random order.  Then random keys are overwritten, and these writes
// are measured.  The run waits after each flush for all due compactions, so that figures depend
// only on the style and repeat.  At moments between the writes it counts the costs of lookups of
// present and of absent keys, without a block cache, and checks every answer.
#ifndef TRELLIS_BENCH_COMPACTION_STYLES_EXPERIMENT_H_
#define TRELLIS_BENCH_COMPACTION_STYLES_EXPERIMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/compaction_styles/config.h"
#include "bench/machine.h"
#include "lsm/filter_goal.h"
#include "lsm/statistics.h"

namespace bench::styles {

// Lookups of one kind, over all moments.
struct Lookups {
  uint64_t count = 0;
  uint64_t filters_asked = 0;  // tables whose range holds the key, until the lookup ended
  uint64_t blocks = 0;         // data blocks read
  uint64_t wasted_reads = 0;   // tables read that did not hold the key

  double PerLookup(uint64_t Lookups::*field) const;
};

struct StyleResult {
  lsm::CompactionStyle style = lsm::CompactionStyle::kLeveled;
  lsm::FilterGoal filter_goal;
  // During the overwrites:
  uint64_t user_bytes = 0;                                        // keys and values
  uint64_t log_bytes = 0, flush_bytes = 0, compaction_bytes = 0;  // written
  uint64_t compactions = 0, moves = 0;
  double seconds = 0;  // of flushes and compactions; the only figure that does not repeat
  Lookups present, absent;
  std::vector<uint64_t> table_bytes;  // at each moment
  std::vector<uint64_t> runs;         // at each moment, over all levels
  lsm::Statistics last;               // at the end: levels, their runs and filters

  // The name of its store: "leveled", "leveled-goal".
  std::string name() const;
  const char* filters() const { return filter_goal.is_none() ? "uniform" : "goal"; }
  // Table bytes written per user byte.
  double write_amplification() const;
  double write_amplification_with_log() const;
  double filter_bits_per_key() const;
};

struct Results {
  Config config;
  Conditions conditions;
  uint64_t flush_entries = 0, table_bytes = 0, level1_bytes = 0;  // the settings
  uint64_t compacted_bytes = 0;  // of tables that hold each key once, in one run
  // All stores without a filter goal, then all with one; no second group if filters take no memory.
  std::vector<StyleResult> styles;
  bool interrupted = false;  // styles are missing
  double seconds = 0;

  // Bytes of tables per byte of tables without old versions: mean and maximum over the moments.
  double SpaceMean(const StyleResult& style) const;
  double SpaceMost(const StyleResult& style) const;
};

// Stops at the first wrong answer or error.  If told to stop, returns the finished styles, or
// Cancelled if there are none.
absl::StatusOr<Results> CompareStyles(const Config& config);

}  // namespace bench::styles

#endif  // TRELLIS_BENCH_COMPACTION_STYLES_EXPERIMENT_H_
