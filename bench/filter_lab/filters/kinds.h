// Space, FPP and speed of every kind that a file may hold.
#ifndef TRELLIS_BENCH_FILTER_LAB_FILTERS_KINDS_H_
#define TRELLIS_BENCH_FILTER_LAB_FILTERS_KINDS_H_

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

// The lower bound of bits per key for any filter built once at this rate: log2(1 / e).
double LimitBitsPerKey(double fpp);

struct KindRow {
  std::string kind;
  uint64_t keys = 0;
  double target_fpp = 0;
  double bits_per_key = 0;
  Rate rate;
  double build_ns = 0;  // processor time per key, including the check of the build
  QueryNanos nanos;

  // The bits per key over the lower bound for the predicted rate.
  double overhead_percent() const;
};

struct KindResults {
  std::vector<KindRow> rows;  // by number of keys, kind, target
};

double KindSeconds(const LabConfig& config);
absl::StatusOr<KindResults> RunKinds(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const KindResults& results);
std::vector<Section> SectionsOf(const KindResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_KINDS_H_
