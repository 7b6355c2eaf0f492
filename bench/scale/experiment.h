// The run itself: one store that grows through the sizes, and is measured at each of them.
//
// Keys are written once each, in random order.  At a size the memtable is flushed and compactions
// are waited for, so that the store is settled; then it is opened several times, with its files in
// the page cache and without, and asked for keys uniformly at random: with all blocks in the block
// cache, where the machine has room for that, and with a tenth of the data in it over the page
// cache of the system.  Every answer is checked.
//
// The store goes on from size to size, so what flushes and compactions wrote is cumulative: from
// the empty store on.
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
  Spread micros;  // of one, by groups of kGroup
  uint64_t count = 0;
  double runs_asked = 0;        // filters, a lookup
  double wasted_reads = 0;      // wasted reads of tables per lookup
  double blocks_from_file = 0;  // a lookup
  double device_bytes = 0;      // a lookup
};

// With one state of the cache.
struct Cached {
  uint64_t capacity_bytes = 0;  // of the block cache
  uint64_t used_bytes = 0;      // of it, after the lookups
  Lookups absent, present;
};

struct Openings {
  Spread millis;
  double read_bytes = 0;    // through read calls, an opening
  double device_bytes = 0;  // of these, from devices
};

// What was found at one size.
struct Point {
  uint64_t keys = 0;
  double fill_seconds = 0;  // of the keys since the size before, until quiet
  // Since the store was empty.
  uint64_t user_bytes = 0, log_bytes = 0, flush_bytes = 0, compaction_bytes = 0;
  uint64_t flushes = 0, compactions = 0, moves = 0;
  uint64_t stored_bytes = 0;  // of all files of the store
  lsm::Statistics shape;      // levels, filters, indexes
  Openings warm_opening, cold_opening;
  std::optional<Cached> all;  // nothing where the machine has no room for it
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

// Lookups between two readings of the clock: few, so that most groups run in one piece where others
// work beside.
inline constexpr size_t kGroup = 64;

// Stops at the first wrong answer or error.  Told to stop, it returns what it has, if it is
// anything (Cancelled otherwise).
absl::StatusOr<Results> Grow(const Config& config);

}  // namespace bench::scale

#endif  // TRELLIS_BENCH_SCALE_EXPERIMENT_H_
