// The time of a query to a filter.
#ifndef TRELLIS_BENCH_FILTER_LAB_TIMING_H_
#define TRELLIS_BENCH_FILTER_LAB_TIMING_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/bits.h"
#include "bloom/filter_policy.h"

namespace bench {

// Nanoseconds of processor time of an independent query for an absent or present key, single and
// batched: the best of several passes.
struct QueryNanos {
  double absent = 0, present = 0;
  double batch_absent = 0, batch_present = 0;
};

// For a filter whose keys are LabDigest(0, salt) to LabDigest(keys - 1, salt).
QueryNanos TimeQueries(const bloom::FilterReader& reader, uint64_t keys, uint64_t salt,
                       int repeats);
// Appends absent_ns, present_ns, batch_absent_ns and batch_present_ns to a row.
void AddNanos(const QueryNanos& nanos, nlohmann::ordered_json* row);

// A filter's bytes in memory as a store keeps them, with a reader.
struct AlignedFilter {
  bloom::AlignedBytes bytes;
  bloom::FilterReader reader;
};
absl::StatusOr<AlignedFilter> Align(std::string_view encoded);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_TIMING_H_
