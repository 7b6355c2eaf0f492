// What a question to a filter costs.
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

// Nanoseconds of processor time of an independent question about an absent or a present key, singly
// and in batches: the best of several passes.
struct QueryNanos {
  double absent = 0, present = 0;
  double batch_absent = 0, batch_present = 0;
};

// Of a filter whose keys are LabDigest(0, salt) to LabDigest(keys - 1, salt).
QueryNanos TimeQueries(const bloom::FilterReader& reader, uint64_t keys, uint64_t salt,
                       int repeats);
// Puts absent_ns, present_ns, batch_absent_ns and batch_present_ns behind the members of a row.
void AddNanos(const QueryNanos& nanos, nlohmann::ordered_json* row);

// A filter's bytes in memory as the store has them, and a reader of them.
struct AlignedFilter {
  bloom::AlignedBytes bytes;
  bloom::FilterReader reader;
};
absl::StatusOr<AlignedFilter> Align(std::string_view encoded);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_TIMING_H_
