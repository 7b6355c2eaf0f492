// The distributions of the three streams: how values are spread, and how many rows are new.
#ifndef TRELLIS_BENCH_FILTER_LAB_STREAMS_DISTRIBUTIONS_H_
#define TRELLIS_BENCH_FILTER_LAB_STREAMS_DISTRIBUTIONS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/rate.h"
#include "bench/filter_lab/steps.h"
#include "bench/filter_lab/streams/stream.h"
#include "bench/report/page.h"

namespace bench {

// A part of the distribution's range, in its own unit: before values are multiplied and truncated.
struct DistributionBin {
  double from = 0;
  double to = 0;
  Rate share;  // of all rows, with its probability as prediction
};

struct DistributionRow {
  Distribution distribution = Distribution::kUniform;
  uint64_t rows = 0;
  double mean = 0;       // in the distribution's unit, like the next two
  double deviation = 0;  // standard deviation
  double least = 0, most = 0;
  std::vector<DistributionBin> bins;
  // For each tenth of the stream: rows so far, and distinct rows among them.
  std::vector<std::pair<uint64_t, uint64_t>> distinct;
};

struct DistributionResults {
  std::vector<DistributionRow> rows;
};

DistributionRow DescribeStream(Distribution distribution, uint64_t rows);

double DistributionSeconds(const LabConfig& config);
absl::StatusOr<DistributionResults> RunDistributions(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const DistributionResults& results);
std::vector<Section> SectionsOf(const DistributionResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_STREAMS_DISTRIBUTIONS_H_
