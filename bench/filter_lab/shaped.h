// Standard filters of a shape that an experiment chose, asked for absent keys.
#ifndef TRELLIS_BENCH_FILTER_LAB_SHAPED_H_
#define TRELLIS_BENCH_FILTER_LAB_SHAPED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "bench/filter_lab/rate.h"

namespace bench {

// Several filters of `bits` bits and `probes` probes with `keys` keys each, of seeds from `seed`
// on.  As many queries as make the standard error 1 % of what is predicted, but at most
// `queries_max`.
absl::StatusOr<Rate> MeasureStandard(uint64_t bits, uint32_t probes, uint64_t keys, uint64_t seed,
                                     uint64_t queries_max);

// How many queries make the standard error of a rate 1 % of it; at most `most`, at least 10^6.
uint64_t QueriesFor(double rate, uint64_t most);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_SHAPED_H_
