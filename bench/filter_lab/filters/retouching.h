// The cost of clearing bits of false positives: false negatives.
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
  std::string scheme;    // "any ones": random ones; otherwise how the bits are chosen
  uint64_t known = 0;    // known false positives, of which one bit each is cleared
  uint64_t cleared = 0;  // bits
  Rate removed;          // share of a query set's false positives that no longer pass
  Rate denied;           // share of the keys that no longer pass

  // The paper's chi: removed divided by denied.  Above 1, clearing gains something.
  std::optional<double> chi() const {
    if (denied.hits == 0) return std::nullopt;
    return removed.measured() / denied.measured();
  }
};

struct RetouchResults {
  uint64_t keys = 0;
  double target_fpp = 0;
  uint64_t false_positives = 0;  // in the query set
  std::vector<RetouchRow> rows;
};

double RetouchSeconds(const LabConfig& config);
absl::StatusOr<RetouchResults> RunRetouch(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const RetouchResults& results);
std::vector<Section> SectionsOf(const RetouchResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_RETOUCHING_H_
