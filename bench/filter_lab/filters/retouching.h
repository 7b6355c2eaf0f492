// What it costs to clear bits of false positives: false negatives.
#ifndef TRELLIS_BENCH_FILTER_LAB_FILTERS_RETOUCHING_H_
#define TRELLIS_BENCH_FILTER_LAB_FILTERS_RETOUCHING_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/rate.h"
#include "bench/filter_lab/steps.h"
#include "bench/report/page.h"

namespace bench {

struct RetouchRow {
  std::string scheme;    // "any ones": a share of all ones at random; else whose bit is chosen how
  uint64_t known = 0;    // false positives that are known, one bit of each is cleared
  uint64_t cleared = 0;  // bits
  Rate removed;          // of the false positives of a set of queries, those that pass no more
  Rate denied;           // of the keys, those that pass no more

  // Paper's chi: removed by denied, above 1 where something is won.
  std::optional<double> chi() const {
    if (denied.hits == 0) return std::nullopt;
    return removed.measured() / denied.measured();
  }
};

struct RetouchResults {
  uint64_t keys = 0;
  double target_fpp = 0;
  uint64_t false_positives = 0;  // in the set of queries
  std::vector<RetouchRow> rows;
};

double RetouchSeconds(const LabConfig& config);
absl::StatusOr<RetouchResults> RunRetouch(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const RetouchResults& results);
std::vector<Section> SectionsOf(const RetouchResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_RETOUCHING_H_
