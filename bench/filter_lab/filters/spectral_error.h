// Errors of a spectral filter's counts if few keys are frequent and most are rare.
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
  std::string counts;  // "zipf": the key of rank r occurs C / r times; "equal": all equally often
  std::string method;
  double target_fpp = 0;
  double bits_per_key = 0;
  Rate rate;              // share of keys with a wrong count
  double mean_error = 0;  // mean of |count - truth| over all keys
  uint64_t too_low = 0;   // keys
};

struct SpectralResults {
  uint64_t keys = 0;
  uint64_t additions = 0;  // of all keys together, zipfian counts
  std::vector<SpectralRow> rows;
};

double SpectralSeconds(const LabConfig& config);
absl::StatusOr<SpectralResults> RunSpectral(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const SpectralResults& results);
std::vector<Section> SectionsOf(const SpectralResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_SPECTRAL_ERROR_H_
