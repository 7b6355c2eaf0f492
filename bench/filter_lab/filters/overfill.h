// Filters that hold more or fewer keys than planned.
#ifndef TRELLIS_BENCH_FILTER_LAB_FILTERS_OVERFILL_H_
#define TRELLIS_BENCH_FILTER_LAB_FILTERS_OVERFILL_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/rate.h"
#include "bench/filter_lab/steps.h"
#include "bench/report/page.h"

namespace bench {

struct OverfillRow {
  std::string variant;
  double target_fpp = 0;
  double times = 0;  // t: actual keys per planned key
  double bits_per_key = 0;
  Rate rate;
};

struct OverfillResults {
  uint64_t planned_keys = 0;
  std::vector<OverfillRow> rows;  // by variant and target, then t
};

double OverfillSeconds(const LabConfig& config);
absl::StatusOr<OverfillResults> RunOverfill(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const OverfillResults& results);
std::vector<Section> SectionsOf(const OverfillResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_OVERFILL_H_
