// A planner that uses a table of whole numbers, compared with the optimum.
#ifndef TRELLIS_BENCH_FILTER_LAB_FILTERS_CLICKHOUSE_H_
#define TRELLIS_BENCH_FILTER_LAB_FILTERS_CLICKHOUSE_H_

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

struct ChoiceRow {
  double target_fpp = 0;
  // "ClickHouse", "table" (bloom::ChooseFromTable), "optimum"; "ClickHouse 21.12" if that version
  // chooses differently.
  std::string chooser;
  // All 0, without a rate, if the planner refuses the target.
  double bits_per_key = 0;
  uint32_t probes = 0;
  Rate rate;
  std::string refusal;

  bool meets_target() const {
    return rate.predicted.has_value() && *rate.predicted <= target_fpp * 1.005;
  }
};

struct ChoiceResults {
  uint64_t keys = 0;
  std::vector<ChoiceRow> rows;
};

double ChoiceSeconds(const LabConfig& config);
absl::StatusOr<ChoiceResults> RunChoice(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const ChoiceResults& results);
std::vector<Section> SectionsOf(const ChoiceResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_CLICKHOUSE_H_
