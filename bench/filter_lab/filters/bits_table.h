// The (m/n, k) table, measured and published.
#ifndef TRELLIS_BENCH_FILTER_LAB_FILTERS_BITS_TABLE_H_
#define TRELLIS_BENCH_FILTER_LAB_FILTERS_BITS_TABLE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/rate.h"
#include "bench/filter_lab/steps.h"
#include "bench/report/page.h"

namespace bench {

struct BitsTableRow {
  uint32_t bits_per_key = 0;
  uint32_t probes = 0;
  double published = 0;  // to three digits
  Rate rate;             // of standard filters of exactly that shape
};

// For one number of bits per key: the textbook's k, and the best whole k.
struct BestProbesRow {
  uint32_t bits_per_key = 0;
  double real_probes = 0;  // (m/n) ln 2
  double real_rate = 0;    // 0.6185^(m/n)
  uint32_t probes = 0;
  Rate rate;  // for the whole k
};

struct BitsTableResults {
  uint64_t keys = 0;
  std::vector<BitsTableRow> rows;
  std::vector<BestProbesRow> best;
};

double BitsTableSeconds(const LabConfig& config);
absl::StatusOr<BitsTableResults> RunBitsTable(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const BitsTableResults& results);
std::vector<Section> SectionsOf(const BitsTableResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_BITS_TABLE_H_
