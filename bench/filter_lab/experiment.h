// The list of the lab's experiments.  To add one, write its file and name it here.  An experiment
// has
//
//   results   a plain struct, computed from a configuration
//   output    JSON (bench/report/JSON.md explains every member), and sections of the page: tables,
//             which the terminal shows too, and the name of a plot (bench/report/filter_lab.js)
#ifndef TRELLIS_BENCH_FILTER_LAB_EXPERIMENT_H_
#define TRELLIS_BENCH_FILTER_LAB_EXPERIMENT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/steps.h"
#include "bench/report/page.h"

namespace bench {

struct Outcome {
  nlohmann::ordered_json json;
  std::vector<Section> sections;
  // Tables for a README, by the name of the excerpt.
  std::vector<std::pair<std::string, std::vector<Table>>> excerpts;
};

struct LabExperiment {
  std::string_view name;  // for --only, and in the JSON
  std::string_view what;  // a short description
  // Estimated duration in seconds, for the progress only.
  double (*seconds)(const LabConfig& config);
  absl::StatusOr<Outcome> (*run)(const LabConfig& config, Steps steps);
};

// In the order in which they run and appear.
const std::vector<LabExperiment>& LabExperiments();

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_EXPERIMENT_H_
