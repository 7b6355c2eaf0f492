// How wrong the counts of a spectral filter are, where a few keys come often and most seldom.
#ifndef TRELLIS_BENCH_FILTER_LAB_FILTERS_SPECTRAL_ERROR_H_
#define TRELLIS_BENCH_FILTER_LAB_FILTERS_SPECTRAL_ERROR_H_

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

struct SpectralRow {
  std::string counts;  // "zipf": the key of rank r comes C / r times; "equal": all equally often
  std::string method;
  double target_fpp = 0;
  double bits_per_key = 0;
  Rate rate;              // of keys, those whose count is wrong
  double mean_error = 0;  // of a key's count, wrong or not: |count - truth|
  uint64_t too_low = 0;   // keys
};

struct SpectralResults {
  uint64_t keys = 0;
  uint64_t additions = 0;  // of all keys together, zipfian
  std::vector<SpectralRow> rows;
};

double SpectralSeconds(const LabConfig& config);
absl::StatusOr<SpectralResults> RunSpectral(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const SpectralResults& results);
std::vector<Section> SectionsOf(const SpectralResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_SPECTRAL_ERROR_H_
