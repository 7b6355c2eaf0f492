#include "bench/filter_lab/shaped.h"

#include <algorithm>
#include <cmath>

#include "bench/filter_lab/variants.h"
#include "bloom/filter.h"
#include "bloom/variants/shifting.h"
#include "bloom/variants/standard.h"
#include "lsm/bytes/status.h"

namespace bench {

uint64_t QueriesFor(double rate, uint64_t most) {
  const double wanted = 1e4 / std::max(rate, 1e-12);
  const auto queries = wanted > 1e18 ? most : static_cast<uint64_t>(std::ceil(wanted));
  return std::min(std::max<uint64_t>(queries, 1'000'000), most);
}

template <bloom::BitLayout Layout>
absl::StatusOr<Rate> MeasureShape(const bloom::Shape& shape, uint64_t keys, uint64_t seed,
                                  uint64_t queries_max) {
  const uint64_t filters = keys <= 1'000'000 ? 5 : 1;
  Rate rate;
  rate.predicted = Layout::PredictedFpp(shape, keys);
  const uint64_t queries = (QueriesFor(*rate.predicted, queries_max) + filters - 1) / filters;
  for (uint64_t i = 0; i < filters; ++i) {
    TRELLIS_ASSIGN_OR_RETURN(auto filter, bloom::Filter<Layout>::MakeOfShape(shape, 0.5, seed + i));
    for (uint64_t key = 0; key < keys; ++key) filter.AddDigest(LabDigest(key, seed + i));
    uint64_t passing = 0;
    for (uint64_t query = 0; query < queries; ++query)
      passing += filter.MayContainDigest(LabDigest(keys + query, seed + i));
    rate.Add(passing, queries);
  }
  return rate;
}

template absl::StatusOr<Rate> MeasureShape<bloom::Standard>(const bloom::Shape&, uint64_t, uint64_t,
                                                            uint64_t);
template absl::StatusOr<Rate> MeasureShape<bloom::Shifting>(const bloom::Shape&, uint64_t, uint64_t,
                                                            uint64_t);

}  // namespace bench
