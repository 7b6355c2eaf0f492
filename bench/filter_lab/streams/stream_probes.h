// The streams repeated with other numbers of probes in filters of the same size.
#ifndef TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAM_PROBES_H_
#define TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAM_PROBES_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/steps.h"
#include "bench/filter_lab/streams/streaming.h"
#include "bench/report/page.h"

namespace bench {

struct StreamProbesResults {
  std::vector<StreamRun> rows;  // by distribution and number of probes
};

double StreamProbesSeconds(const LabConfig& config);
absl::StatusOr<StreamProbesResults> RunStreamProbes(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const StreamProbesResults& results);
std::vector<Section> SectionsOf(const StreamProbesResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAM_PROBES_H_
