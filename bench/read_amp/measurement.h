// One measurement: one store, one cache, one workload, one round.
#ifndef TRELLIS_BENCH_READ_AMP_MEASUREMENT_H_
#define TRELLIS_BENCH_READ_AMP_MEASUREMENT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/workload.h"
#include "lsm/db.h"

namespace bench {

inline constexpr std::array<double, 4> kPercentiles = {0.5, 0.95, 0.99, 0.999};

// The timed lookups that a percentile needs: two lie beyond it.
constexpr uint64_t TimedLookupsFor(double percentile) {
  return static_cast<uint64_t>(2 / (1 - percentile) + 0.5);
}

struct Measurement {
  uint64_t lookups = 0;
  double lookups_per_second = 0;
  uint64_t timed_lookups = 0;                            // the lookups behind the percentiles
  std::array<double, kPercentiles.size()> latency_us{};  // at kPercentiles
  lsm::LevelStatistics counted;                          // by the store in that time
};

// The length of a measurement: exactly `lookups` if set; otherwise the seconds.
struct Budget {
  double seconds = 0;
  uint64_t lookups = 0;

  Budget Part(double share) const;
};

// Looks up one key and checks the answer: Internal, naming the key, if it is wrong.
absl::Status CheckedGet(lsm::DB* db, const QueryStream::Query& query, const ValueMaker& values,
                        lsm::PinnedValue* value);

// Measures lookups from the stream.
//
// - The first 112 lookups do not count; they show whether lookups are slow.
// - The rate comes from lookups with one clock reading per 16.
// - The percentiles come from lookups that are timed one by one.  Slow lookups, beside which
//   reading the clock is negligible, serve for both.
absl::StatusOr<Measurement> Measure(lsm::DB* db, QueryStream* stream, const ValueMaker& values,
                                    const Budget& budget);

// True if lookups are slow compared with a reading of the clock, by the times of some groups of 16.
// Uses the median, because a group or two may be descheduled.
bool LookupsAreSlow(std::vector<double> group_nanos);

// Looks up without measuring.
absl::Status WarmByLookups(lsm::DB* db, QueryStream* stream, const ValueMaker& values,
                           const Budget& budget);

// Reads blocks into the cache, from the first one on, until this share of its budget is used or no
// block is left.
absl::Status WarmByScan(lsm::DB* db, double share);

// The used share of the block cache's budget; 0 without a cache.
double CacheFill(lsm::DB* db);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_MEASUREMENT_H_
