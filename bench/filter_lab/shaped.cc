#include "bench/filter_lab/shaped.h"

#include <algorithm>
#include <cmath>

#include "bench/filter_lab/variants.h"
#include "bloom/core/filter.h"
#include "bloom/variants/standard.h"
#include "lsm/bytes/status.h"

namespace bench {

uint64_t QueriesFor(double rate, uint64_t most) {
  const double wanted = 1e4 / std::max(rate, 1e-12);
  const auto queries = wanted > 1e18 ? most : static_cast<uint64_t>(std::ceil(wanted));
  return std::min(std::max<uint64_t>(queries, 1'000'000), most);
}

absl::StatusOr<Rate> MeasureStandard(uint64_t bits, uint32_t probes, uint64_t keys, uint64_t seed,
                                     uint64_t queries_max) {
  constexpr uint64_t kFilters = 3;
  const bloom::Shape shape = {bits, probes};
  Rate rate;
  rate.predicted = bloom::Standard::PredictedFpp(shape, keys);
  const uint64_t queries = (QueriesFor(*rate.predicted, queries_max) + kFilters - 1) / kFilters;
  for (uint64_t i = 0; i < kFilters; ++i) {
    LSM_ASSIGN_OR_RETURN(auto filter,
                         bloom::Filter<bloom::Standard>::MakeOfShape(shape, 0.5, seed + i));
    for (uint64_t key = 0; key < keys; ++key) filter.AddDigest(LabDigest(key, seed + i));
    uint64_t passing = 0;
    for (uint64_t query = 0; query < queries; ++query)
      passing += filter.MayContainDigest(LabDigest(keys + query, seed + i));
    rate.Add(passing, queries);
  }
  return rate;
}

}  // namespace bench
