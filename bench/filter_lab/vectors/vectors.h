// Filters whose keys are vectors: an older study's, faults included, and the library's.
#ifndef TRELLIS_BENCH_FILTER_LAB_VECTORS_VECTORS_H_
#define TRELLIS_BENCH_FILTER_LAB_VECTORS_VECTORS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/rate.h"
#include "bench/filter_lab/steps.h"
#include "bench/report/page.h"
#include "bloom/literature/vector_file.h"

namespace bench {

// Stored vectors, and query vectors that are certainly not stored.
struct VectorSet {
  std::string origin;  // "made up", or the directory of the files
  bloom::VectorList<int32_t> base;
  bloom::VectorList<int32_t> queries;
  uint64_t left_out = 0;  // queries that are base vectors or repeated

  explicit VectorSet(uint32_t dimension) : base(dimension), queries(dimension) {}
};
VectorSet MakeUpVectors(uint32_t dimension, uint64_t base_count, uint64_t query_count,
                        uint64_t seed);
// Reads siftsmall_base.fvecs; queries are siftsmall_learn.fvecs and siftsmall_query.fvecs.  Errors
// name the file.
absl::StatusOr<VectorSet> ReadSift(const std::string& folder);

struct VectorLatency {
  uint64_t queries = 0;
  double milliseconds = 0;  // processor time for all of them
};

struct VectorRow {
  std::string filter;
  uint32_t dimension = 0;
  std::string origin;
  uint64_t keys = 0;
  uint64_t memory_bytes = 0;  // of the filter itself
  uint64_t left_out = 0;
  std::vector<VectorLatency> latency;
  Rate rate;

  double nanos_per_query() const {
    return 1e6 * latency.back().milliseconds / static_cast<double>(latency.back().queries);
  }
};

struct VectorResults {
  double target_fpp = 0;
  std::vector<VectorRow> rows;  // by dimension
};

double VectorSeconds(const LabConfig& config);
absl::StatusOr<VectorResults> RunVectors(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const VectorResults& results);
std::vector<Section> SectionsOf(const VectorResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_VECTORS_VECTORS_H_
