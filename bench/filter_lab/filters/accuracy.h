// Every variant's FPP against its prediction, by target FPP and by number of keys.
#ifndef TRELLIS_BENCH_FILTER_LAB_FILTERS_ACCURACY_H_
#define TRELLIS_BENCH_FILTER_LAB_FILTERS_ACCURACY_H_

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

struct AccuracyRow {
  std::string variant;
  uint64_t keys = 0;
  double target_fpp = 0;
  uint64_t filters = 0;  // each with its own seed
  double bits_per_key = 0;
  Rate rate;
};

struct AccuracyResults {
  std::vector<AccuracyRow> over_targets;
  std::vector<AccuracyRow> over_keys;
};

double AccuracySeconds(const LabConfig& config);
absl::StatusOr<AccuracyResults> RunAccuracy(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const AccuracyResults& results);
std::vector<Section> SectionsOf(const AccuracyResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_ACCURACY_H_
