// Filters of vectors by number of keys and by target: the figures with which an older study
// compares its BF and HDBF, for the study's two filters and for sound ones.
#ifndef TRELLIS_BENCH_FILTER_LAB_VECTORS_HDBF_H_
#define TRELLIS_BENCH_FILTER_LAB_VECTORS_HDBF_H_

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

struct HdbfRow {
  std::string filter;
  uint64_t keys = 0;
  double target_fpp = 0;
  uint32_t probes = 0;
  uint64_t memory_bytes = 0;  // of the filter itself
  double add_ns = 0;          // processor time per vector
  double absent_ns = 0;       // per query of an absent vector
  Rate rate;
};

struct HdbfResults {
  uint32_t dimension = 0;
  std::vector<HdbfRow> over_keys;     // by number of keys, at one target
  std::vector<HdbfRow> over_targets;  // by target, for one number of keys
};

double HdbfSeconds(const LabConfig& config);
absl::StatusOr<HdbfResults> RunHdbf(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const HdbfResults& results);
std::vector<Section> SectionsOf(const HdbfResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_VECTORS_HDBF_H_
