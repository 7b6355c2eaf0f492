// A run of the lab: its experiments one after the other, and what is written of them.
#ifndef TRELLIS_BENCH_FILTER_LAB_LAB_H_
#define TRELLIS_BENCH_FILTER_LAB_LAB_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/experiment.h"
#include "bench/machine.h"
#include "bench/report/page.h"

namespace bench {

struct LabResults {
  LabConfig config;
  Conditions conditions;
  double seconds = 0;
  std::vector<std::pair<std::string_view, Outcome>> outcomes;  // by name of the experiment
};

// Runs what the configuration names.  `show` gets the text of each experiment as it ends.
absl::StatusOr<LabResults> RunLab(const LabConfig& config, void (*show)(const std::string& text));

// bench/README.md explains every member.
nlohmann::ordered_json ToJson(const LabResults& results);
// The page, with `chart_js`, the source of Chart.js, inlined.
Page LabPage(const LabResults& results, std::string chart_js);
// One experiment, and the machine and the run, as text for a terminal.
std::string TextOf(const LabExperiment& experiment, const Outcome& outcome);
std::string ConditionsText(const LabResults& results);

// Writes the files that the configuration names, each whole or not at all.
absl::Status WriteLab(const LabResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_LAB_H_
