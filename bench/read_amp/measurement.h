// One measurement: one store, one cache, one workload, once.
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

// Timed lookups of which a percentile is worth its name: two lie beyond it.
constexpr uint64_t TimedLookupsFor(double percentile) {
  return static_cast<uint64_t>(2 / (1 - percentile) + 0.5);
}

struct Measurement {
  uint64_t lookups = 0;
  double lookups_per_second = 0;
  uint64_t timed_lookups = 0;                            // those that the percentiles are of
  std::array<double, kPercentiles.size()> latency_us{};  // at kPercentiles
  lsm::LevelStatistics counted;                          // what the store counted meanwhile
};

// How long a measurement takes: so many lookups, exactly, if that is set; else the seconds.
struct Budget {
  double seconds = 0;
  uint64_t lookups = 0;

  Budget Part(double share) const;
};

// Looks up one key and checks the answer: Internal, naming the key, if it is wrong.
absl::Status CheckedGet(lsm::DB* db, const QueryStream::Query& query, const ValueMaker& values,
                        lsm::PinnedValue* value);

// Lookups from the stream.  The first 112 count for nothing: they tell whether lookups are slow.
// The rate comes from lookups between which no clock is read, except every 16; the percentiles from
// lookups that are timed one by one, unless a lookup takes so long that reading the clock does not
// matter: then they are the same ones.
absl::StatusOr<Measurement> Measure(lsm::DB* db, QueryStream* stream, const ValueMaker& values,
                                    const Budget& budget);

// Whether lookups are slow beside a reading of the clock, from what some groups of 16 took.  By the
// median: the processor may be taken away during a group or two.
bool LookupsAreSlow(std::vector<double> group_nanos);

// Looks up without measuring.
absl::Status WarmByLookups(lsm::DB* db, QueryStream* stream, const ValueMaker& values,
                           const Budget& budget);

// Reads blocks into the cache, from the first on, until so much of its budget is in use or there
// are no more.
absl::Status WarmByScan(lsm::DB* db, double share);

// The share of the block cache's budget that is in use; 0 without a cache.
double CacheFill(lsm::DB* db);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_MEASUREMENT_H_
