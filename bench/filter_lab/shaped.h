// Filters of a shape that an experiment chose, asked for absent keys.
#ifndef TRELLIS_BENCH_FILTER_LAB_SHAPED_H_
#define TRELLIS_BENCH_FILTER_LAB_SHAPED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "bench/filter_lab/rate.h"
#include "bloom/core/concepts.h"
#include "bloom/core/shape.h"

namespace bench {

// Five filters of up to a million keys, or one of more, which differ less from each other and take
// long; of seeds from `seed` on.  As many queries as make the standard error 1 % of what is
// predicted, but at most `queries_max`.  Of the layouts `standard` and `shifting`.
template <bloom::BitLayout Layout>
absl::StatusOr<Rate> MeasureShape(const bloom::Shape& shape, uint64_t keys, uint64_t seed,
                                  uint64_t queries_max);

// How many queries make the standard error of a rate 1 % of it; at most `most`, at least 10^6.
uint64_t QueriesFor(double rate, uint64_t most);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_SHAPED_H_
