// One measurement: one store, one cache, one workload, once.
#ifndef TRELLIS_BENCH_READ_AMP_MEASUREMENT_H_
#define TRELLIS_BENCH_READ_AMP_MEASUREMENT_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/workload.h"
#include "lsm/db.h"

namespace bench {

inline constexpr std::array<double, 4> kPercentiles = {0.5, 0.95, 0.99, 0.999};

struct Measurement {
  uint64_t lookups = 0;
  double lookups_per_second = 0;
  uint64_t timed_lookups = 0;                            // those that the percentiles are of
  std::array<double, kPercentiles.size()> latency_us{};  // at kPercentiles
  lsm::LevelStatistics counted;                          // what the store counted meanwhile
};

// How long a measurement takes: whichever of the two is set.
struct Budget {
  double seconds = 0;
  uint64_t lookups = 0;
};

// What the store counted between two snapshots of its totals.
lsm::LevelStatistics Difference(const lsm::LevelStatistics& before,
                                const lsm::LevelStatistics& after);

// Looks up one key and checks the answer: Internal, naming the key, if it is wrong.
absl::Status CheckedGet(lsm::DB* db, const QueryStream::Query& query, const ValueMaker& values,
                        lsm::PinnedValue* value);

// Lookups from the stream.  The rate comes from lookups between which no clock is read, except
// every 16; the percentiles from lookups that are timed one by one, unless a lookup takes so long
// that reading the clock does not matter: then they are the same ones.
absl::StatusOr<Measurement> Measure(lsm::DB* db, QueryStream* stream, const ValueMaker& values,
                                    const Budget& budget);

// Looks up without measuring until the block cache is nearly full or the seconds are over.
absl::Status WarmByLookups(lsm::DB* db, QueryStream* stream, const ValueMaker& values,
                           double seconds);

// Reads all blocks into the cache.
absl::Status WarmByScan(lsm::DB* db);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_MEASUREMENT_H_
