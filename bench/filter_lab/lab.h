// A run of the lab: its experiments one after the other, and what is written of them.
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

// Runs what the configuration names.  `show` gets the text of each experiment as it ends.  Told to
// stop, it returns the experiments that have ended, or Cancelled if none has.
absl::StatusOr<LabResults> RunLab(const LabConfig& config, void (*show)(const std::string& text));

// bench/report/JSON.md explains every member.
nlohmann::ordered_json ToJson(const LabResults& results);
Report ReportOf(const LabResults& results);
// One experiment as text for a terminal.
std::string TextOf(const LabExperiment& experiment, const Outcome& outcome);

// Prints each experiment as it ends, and reports; or prints the rows of the family.
absl::StatusOr<Report> Run(const LabConfig& config);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_LAB_H_
