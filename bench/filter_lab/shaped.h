// Filters of a given shape, queried with absent keys.
#ifndef TRELLIS_BENCH_FILTER_LAB_SHAPED_H_
#define TRELLIS_BENCH_FILTER_LAB_SHAPED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "bench/filter_lab/rate.h"
#include "bloom/core/concepts.h"
#include "bloom/core/shape.h"

namespace bench {

// Queries filters with seeds from `seed` on: five of up to a million keys each, or one larger one,
// because large filters differ less and take long.  Makes enough queries for a standard error of 1
// % of the prediction, at most `queries_max`.  For the layouts `standard` and `shifting`.
template <bloom::BitLayout Layout>
absl::StatusOr<Rate> MeasureShape(const bloom::Shape& shape, uint64_t keys, uint64_t seed,
                                  uint64_t queries_max);

// The number of queries for a standard error of 1 % of the rate; at least 10^6, at most `most`.
uint64_t QueriesFor(double rate, uint64_t most);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_SHAPED_H_
