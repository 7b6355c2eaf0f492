// A run of the lab: runs the experiments one by one and writes their results.
#ifndef TRELLIS_BENCH_FILTER_LAB_LAB_H_
#define TRELLIS_BENCH_FILTER_LAB_LAB_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiment/run.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/experiment.h"

namespace bench {

struct LabResults {
  LabConfig config;
  Conditions conditions;
  bool interrupted = false;  // experiments are missing
  double seconds = 0;
  std::vector<std::pair<std::string_view, Outcome>> outcomes;  // by name of the experiment
};

// Runs the configured experiments.  Calls `show` with the text of each finished experiment.  If
// told to stop, returns the finished experiments, or Cancelled if there are none.
absl::StatusOr<LabResults> RunLab(const LabConfig& config, void (*show)(const std::string& text));

// bench/report/JSON.md explains every member.
nlohmann::ordered_json ToJson(const LabResults& results);
Report ReportOf(const LabResults& results);
// One experiment as text for a terminal.
std::string TextOf(const LabExperiment& experiment, const Outcome& outcome);

// Prints each experiment as it finishes and makes the report; or prints the rows of the filter
// family.
absl::StatusOr<Report> Run(const LabConfig& config);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_LAB_H_
