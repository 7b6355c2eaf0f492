// The purpose of the shifting filter: half the loads of a standard filter with the same bits and
// probes.
#ifndef TRELLIS_BENCH_FILTER_LAB_FILTERS_SHIFTING_SPEED_H_
#define TRELLIS_BENCH_FILTER_LAB_FILTERS_SHIFTING_SPEED_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/rate.h"
#include "bench/filter_lab/steps.h"
#include "bench/filter_lab/timing.h"
#include "bench/report/page.h"

namespace bench {

struct ShiftingRow {
  std::string kind;  // "standard", then "shifting" of the same shape
  uint64_t keys = 0;
  uint32_t probes = 0;
  uint64_t cells = 0;  // chosen so that half of them are ones in the standard filter
  Rate rate;
  QueryNanos nanos;
};

struct ShiftingResults {
  std::vector<ShiftingRow> rows;  // in pairs
};

double ShiftingSeconds(const LabConfig& config);
absl::StatusOr<ShiftingResults> RunShifting(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const ShiftingResults& results);
std::vector<Section> SectionsOf(const ShiftingResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_SHIFTING_SPEED_H_
