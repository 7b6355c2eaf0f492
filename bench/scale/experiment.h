// Runs the experiment: one store grows through the sizes and is measured at each of them.
//
// Each key is written once, in random order.  At each size the memtable is flushed and the run
// waits for compactions, so the store is settled.  Then it is opened several times, with its files
// in the page cache and without.  Lookups ask uniformly random keys: with all blocks in the block
// cache, if the machine has room, and with a tenth of the data in it over the page cache.  Every
// answer is checked.
//
// The store continues from size to size, so bytes written by flushes and compactions are
// cumulative.
#ifndef TRELLIS_BENCH_SCALE_EXPERIMENT_H_
#define TRELLIS_BENCH_SCALE_EXPERIMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/machine.h"
#include "bench/scale/config.h"
#include "bench/spread.h"
#include "lsm/statistics.h"

namespace bench::scale {

// Lookups of one kind.
struct Lookups {
  Spread micros;  // per lookup, in groups of kGroup
  uint64_t count = 0;
  double runs_asked = 0;        // filters asked per lookup
  double wasted_reads = 0;      // of tables, per lookup
  double blocks_from_file = 0;  // per lookup
  double device_bytes = 0;      // per lookup
};

// The results with one state of the cache.
struct Cached {
  uint64_t capacity_bytes = 0;  // of the block cache
  uint64_t used_bytes = 0;      // after the lookups
  Lookups absent, present;
};

struct Openings {
  Spread millis;
  double read_bytes = 0;    // by read calls, per opening
  double device_bytes = 0;  // of these, from devices
};

// The results at one size.
struct Point {
  uint64_t keys = 0;
  double fill_seconds = 0;  // from the previous size until idle
  // Since the store was empty:
  uint64_t user_bytes = 0, log_bytes = 0, flush_bytes = 0, compaction_bytes = 0;
  uint64_t flushes = 0, compactions = 0, moves = 0;
  uint64_t stored_bytes = 0;  // all files of the store
  lsm::Statistics shape;      // levels, filters, indexes
  Openings warm_opening, cold_opening;
  std::optional<Cached> all;  // nothing if the machine has no room for it
  Cached tenth;

  double write_amplification() const;
  double space_amplification() const;
};

struct Results {
  Config config;
  Conditions conditions;
  std::vector<Point> points;  // by size
  bool interrupted = false;
  double seconds = 0;
};

// Lookups between two readings of the clock.  Few, so that most groups are not interrupted on a
// busy machine.
inline constexpr size_t kGroup = 64;

// Stops at the first wrong answer or error.  If told to stop, returns the results so far, or
// Cancelled if there are none.
absl::StatusOr<Results> Grow(const Config& config);

}  // namespace bench::scale

#endif  // TRELLIS_BENCH_SCALE_EXPERIMENT_H_
