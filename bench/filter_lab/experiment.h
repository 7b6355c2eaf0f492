// THE list of the lab's experiments.  To add one is to write its file and to name it here:
//
//   what it measures   a pure struct of results, from a configuration
//   what it shows      JSON (bench/report/JSON.md explains every member), and sections of the page:
//                      tables, which the terminal shows too, and the name of a plot
//                      (bench/report/filter_lab.js)
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
  // Tables that a README shows, by the name of the excerpt.
  std::vector<std::pair<std::string, std::vector<Table>>> excerpts;
};

struct LabExperiment {
  std::string_view name;  // for --only, and in the JSON
  std::string_view what;  // half a sentence
  // About how long it takes, in seconds: for the progress alone.
  double (*seconds)(const LabConfig& config);
  absl::StatusOr<Outcome> (*run)(const LabConfig& config, Steps steps);
};

// In the order in which they are run and shown.
const std::vector<LabExperiment>& LabExperiments();

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_EXPERIMENT_H_
