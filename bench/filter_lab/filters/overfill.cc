#include "bench/filter_lab/filters/overfill.h"

#include <cmath>
#include <utility>

#include "bench/filter_lab/shaped.h"
#include "bench/filter_lab/variants.h"
#include "bloom/dynamic.h"
#include "bloom/filter.h"
#include "bloom/scalable.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/standard.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

// Several filters.  Each is queried whenever its number of keys reaches the next t.
template <class Filter>
absl::Status Overfill(const LabConfig& config, double target_fpp, Steps steps,
                      OverfillResults* results) {
  TRELLIS_RETURN_IF_ERROR(steps.Begin(lsm::Concat("overfill: ", Filter::kName)));
  const uint64_t planned = results->planned_keys;
  std::vector<OverfillRow> rows;
  for (int half = 1; half <= 10; ++half)
    rows.push_back({std::string(Filter::kName), target_fpp, 0.5 * half, 0, {}});
  constexpr uint64_t kFilters = 5;
  for (uint64_t seed = config.seed; seed < config.seed + kFilters; ++seed) {
    TRELLIS_ASSIGN_OR_RETURN(Filter filter, Filter::Make(planned, target_fpp, seed));
    uint64_t keys = 0;
    for (OverfillRow& row : rows) {
      const auto wanted =
          static_cast<uint64_t>(std::llround(row.times * static_cast<double>(planned)));
      for (; keys < wanted; ++keys) filter.AddDigest(LabDigest(keys, seed));
      row.bits_per_key = static_cast<double>(filter.size_bits()) / static_cast<double>(keys);
      row.rate.predicted = filter.PredictedFpp(keys);
      const uint64_t queries =
          QueriesFor(*row.rate.predicted,
                     config.Choose<uint64_t>(100'000, 10'000'000, 100'000'000)) /
          kFilters;
      uint64_t passing = 0;
      for (uint64_t i = 0; i < queries; ++i)
        passing += filter.MayContainDigest(LabDigest((uint64_t{1} << 40) + i, seed));
      row.rate.Add(passing, queries);
    }
  }
  for (OverfillRow& row : rows) results->rows.push_back(std::move(row));
  steps.Done();
  return absl::OkStatus();
}

}  // namespace

double OverfillSeconds(const LabConfig& config) { return config.Choose(0.2, 2.0, 10.0); }

absl::StatusOr<OverfillResults> RunOverfill(const LabConfig& config, Steps steps) {
  OverfillResults results;
  results.planned_keys = config.Choose<uint64_t>(10'000, 100'000, 100'000);
  steps.Plan(5);
  using Standard = bloom::Filter<bloom::Standard>;
  using Blocked = bloom::Filter<bloom::Blocked>;
  TRELLIS_RETURN_IF_ERROR(Overfill<Standard>(config, 0.01, steps, &results));
  TRELLIS_RETURN_IF_ERROR(Overfill<Standard>(config, 0.001, steps, &results));
  TRELLIS_RETURN_IF_ERROR(Overfill<Blocked>(config, 0.01, steps, &results));
  TRELLIS_RETURN_IF_ERROR(Overfill<bloom::DynamicFilter<>>(config, 0.01, steps, &results));
  TRELLIS_RETURN_IF_ERROR(Overfill<bloom::ScalableFilter<>>(config, 0.01, steps, &results));
  return results;
}

Json ToJson(const OverfillResults& results) {
  Json json = {{"planned_keys", results.planned_keys}, {"rows", Json::array()}};
  for (const OverfillRow& row : results.rows) {
    Json item = {{"variant", row.variant},
                 {"target_fpp", row.target_fpp},
                 {"times", row.times},
                 {"bits_per_key", row.bits_per_key}};
    AddRate(row.rate, &item);
    json["rows"].push_back(std::move(item));
  }
  return json;
}

std::vector<Section> SectionsOf(const OverfillResults& results) {
  Table table{"overfill", "Rates with t times the planned keys", {}, {}};
  table.columns = {{"variant", "", false},
                   {"target", "target FPP", true},
                   {"t", "actual keys / planned keys", true},
                   {"bits/key", "", true}};
  AddRateColumns(&table);
  for (const OverfillRow& row : results.rows) {
    if (row.times == 0.5 && !table.rows.empty()) table.rows.emplace_back();
    table.rows.push_back(
        {row.variant, Plain(row.target_fpp), Fixed(row.times, 1), Fixed(row.bits_per_key, 2)});
    AddRateCells(row.rate, &table.rows.back());
  }
  return {{"Overfilled",
           lsm::Concat("Filters planned for ", lsm::ReadableCount(results.planned_keys),
                       " keys that get t times as many, with five seeds. Growing filters take more "
                       "memory instead."),
           "overfill",
           {std::move(table)}}};
}

}  // namespace bench
