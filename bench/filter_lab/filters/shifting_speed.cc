#include "bench/filter_lab/filters/shifting_speed.h"

#include <cmath>
#include <utility>

#include "bench/filter_lab/shaped.h"
#include "bench/filter_lab/variants.h"
#include "bloom/filter.h"
#include "bloom/variants/shifting.h"
#include "bloom/variants/standard.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

// From bytes in memory, as in a store.
template <class Layout>
absl::StatusOr<QueryNanos> Time(const bloom::Shape& shape, uint64_t keys, const LabConfig& config) {
  std::string encoded;
  {
    TRELLIS_ASSIGN_OR_RETURN(auto filter,
                             bloom::Filter<Layout>::MakeOfShape(shape, 0.5, config.seed));
    for (uint64_t i = 0; i < keys; ++i) filter.AddDigest(LabDigest(i, config.seed));
    encoded = filter.Serialize();
  }
  TRELLIS_ASSIGN_OR_RETURN(const AlignedFilter filter, Align(encoded));
  encoded = std::string();  // frees the second copy in the cache
  return TimeQueries(filter.reader, keys, config.seed, config.Choose(2, 5, 9));
}

template <class Layout>
absl::StatusOr<ShiftingRow> Measure(const LabConfig& config, uint64_t keys, uint32_t probes) {
  ShiftingRow row;
  row.kind = std::string(Layout::kName);
  row.keys = keys;
  row.probes = probes;
  row.cells = static_cast<uint64_t>(std::ceil(probes * static_cast<double>(keys) / std::log(2.0)));
  const bloom::Shape shape = {row.cells, probes};
  TRELLIS_ASSIGN_OR_RETURN(row.nanos, Time<Layout>(shape, keys, config));
  TRELLIS_ASSIGN_OR_RETURN(
      row.rate, MeasureShape<Layout>(shape, keys, config.seed,
                                     config.Choose<uint64_t>(100'000, 10'000'000, 100'000'000)));
  return row;
}

std::string Times(double slow, double fast) { return fast > 0 ? Fixed(slow / fast, 2) : "-"; }

}  // namespace

double ShiftingSeconds(const LabConfig& config) { return config.Choose(0.3, 25.0, 60.0); }

absl::StatusOr<ShiftingResults> RunShifting(const LabConfig& config, Steps steps) {
  ShiftingResults results;
  const std::vector<uint64_t> sizes =
      config.Choose<std::vector<uint64_t>>({10'000}, {100'000, 10'000'000}, {100'000, 10'000'000});
  const std::vector<uint32_t> probes =
      config.Choose<std::vector<uint32_t>>({4, 8}, {4, 6, 8, 10, 12, 14}, {2, 4, 6, 8, 10, 12, 14});
  steps.Plan(sizes.size() * probes.size());
  for (const uint64_t keys : sizes) {
    for (const uint32_t k : probes) {
      TRELLIS_RETURN_IF_ERROR(
          steps.Begin(lsm::Concat("shifting, ", k, " probes, ", Short(static_cast<double>(keys)))));
      TRELLIS_ASSIGN_OR_RETURN(ShiftingRow standard, Measure<bloom::Standard>(config, keys, k));
      TRELLIS_ASSIGN_OR_RETURN(ShiftingRow shifting, Measure<bloom::Shifting>(config, keys, k));
      results.rows.push_back(std::move(standard));
      results.rows.push_back(std::move(shifting));
      steps.Done();
    }
  }
  return results;
}

Json ToJson(const ShiftingResults& results) {
  Json json = {{"rows", Json::array()}};
  for (const ShiftingRow& row : results.rows) {
    Json item = {
        {"kind", row.kind}, {"keys", row.keys}, {"probes", row.probes}, {"cells", row.cells}};
    AddNanos(row.nanos, &item);
    AddRate(row.rate, &item);
    json["rows"].push_back(std::move(item));
  }
  return json;
}

std::vector<Section> SectionsOf(const ShiftingResults& results) {
  Table speed{"shifting-speed", "Shifting and standard, nanoseconds per query", {}, {}};
  speed.columns = {{"keys", "", true},
                   {"k", "probes", true},
                   {"absent: standard", "absent key: standard, ns", true},
                   {"shifting", "absent key: shifting, ns", true},
                   {"times", "times faster", true},
                   {"present: standard", "present key: standard, ns", true},
                   {"shifting", "present key: shifting, ns", true},
                   {"times", "times faster", true},
                   {"in batches", "present key in a batch: times faster", true}};
  Table rates{"shifting-rates", "Rates of the same filters", {}, {}};
  rates.columns = {{"kind", "", false}, {"keys", "", true}, {"k", "probes", true}};
  AddRateColumns(&rates);
  for (size_t i = 0; i + 1 < results.rows.size(); i += 2) {
    const ShiftingRow &standard = results.rows[i], &shifting = results.rows[i + 1];
    const QueryNanos &a = standard.nanos, &b = shifting.nanos;
    speed.rows.push_back({lsm::ReadableCount(standard.keys), std::to_string(standard.probes),
                          lsm::ReadableNumber(a.absent), lsm::ReadableNumber(b.absent),
                          Times(a.absent, b.absent), lsm::ReadableNumber(a.present),
                          lsm::ReadableNumber(b.present), Times(a.present, b.present),
                          Times(a.batch_present, b.batch_present)});
    for (const ShiftingRow* row : {&standard, &shifting}) {
      rates.rows.push_back({row->kind, lsm::ReadableCount(row->keys), std::to_string(row->probes)});
      AddRateCells(row->rate, &rates.rows.back());
    }
  }
  return {{"Shifting's speed-up over standard",
           "One load reads two bits of a shifting filter, so a query makes half the loads. Both "
           "filters have the same cells and probes, and half of their cells are ones. Shifting is "
           "never more accurate.",
           "shifting",
           {std::move(speed), std::move(rates)}}};
}

}  // namespace bench
