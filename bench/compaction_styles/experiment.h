// The run itself: the same writes to two stores of each style, and what they cost.  The first has
// the same target FPP for each table, the second a goal for all its filters.
//
// All keys are written once, in random order; then random keys are written again, and that is what
// counts.  After each flush the compactions that it calls for are waited for, so that the figures
// are those of the shapes and the same in each run.  At moments between the writes, lookups of
// present and of absent keys are counted, without block cache, and every answer is checked.
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

// Lookups of one kind, at all moments together.
struct Lookups {
  uint64_t count = 0;
  uint64_t filters_asked = 0;  // tables whose range holds the key, as far as the lookup came
  uint64_t blocks = 0;         // data blocks read
  uint64_t wasted_reads = 0;   // tables that were read and did not hold the key

  double PerLookup(uint64_t Lookups::*field) const;
};

struct StyleResult {
  lsm::CompactionStyle style = lsm::CompactionStyle::kLeveled;
  lsm::FilterGoal filter_goal;
  // Of the overwrites.
  uint64_t user_bytes = 0;                                        // keys and values
  uint64_t log_bytes = 0, flush_bytes = 0, compaction_bytes = 0;  // written
  uint64_t compactions = 0, moves = 0;
  double seconds = 0;  // of flushes and compactions; other than all else, it does not repeat
  Lookups present, absent;
  std::vector<uint64_t> table_bytes;  // at each moment
  std::vector<uint64_t> runs;         // at each moment, of all levels
  lsm::Statistics last;               // at the end: levels, their runs and filters

  // The name of its store: "leveled", "leveled-goal".
  std::string name() const;
  const char* filters() const { return filter_goal.is_none() ? "uniform" : "goal"; }
  // Bytes of tables written for a byte of the user's.
  double write_amplification() const;
  double write_amplification_with_log() const;
  double filter_bits_per_key() const;
};

struct Results {
  Config config;
  Conditions conditions;
  uint64_t flush_entries = 0, table_bytes = 0, level1_bytes = 0;  // the settings
  uint64_t compacted_bytes = 0;  // of tables that hold each key once, in one run
  // First those without a goal for their filters; none with one where filters take no memory.
  std::vector<StyleResult> styles;
  bool interrupted = false;  // styles are missing
  double seconds = 0;

  // Bytes of tables for a byte of tables without old versions; mean and most of the moments.
  double SpaceMean(const StyleResult& style) const;
  double SpaceMost(const StyleResult& style) const;
};

// Stops at the first wrong answer or error.  Told to stop, it returns the styles that it has
// finished, or Cancelled if there are none.
absl::StatusOr<Results> CompareStyles(const Config& config);

}  // namespace bench::styles

#endif  // TRELLIS_BENCH_COMPACTION_STYLES_EXPERIMENT_H_
