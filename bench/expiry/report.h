// The results of a run, as text, JSON and a page.
#ifndef TRELLIS_BENCH_EXPIRY_REPORT_H_
#define TRELLIS_BENCH_EXPIRY_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiment/figures.h"
#include "bench/experiment/run.h"
#include "bench/expiry/config.h"
#include "bench/machine.h"

namespace bench::expiry {

struct Results {
  Config config;
  Conditions conditions;
  double seconds = 0;
  bool interrupted = false;
  std::vector<Part> parts;  // "time", "random", "gets": those that ended
};

std::string ToText(const Results& results);
nlohmann::ordered_json ToJson(const Results& results);
// Measures the parts and makes the report.
absl::StatusOr<Report> Run(const Config& config);

}  // namespace bench::expiry

#endif  // TRELLIS_BENCH_EXPIRY_REPORT_H_
