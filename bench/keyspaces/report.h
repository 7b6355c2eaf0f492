// The results of a run, as text, JSON and a page.
#ifndef TRELLIS_BENCH_KEYSPACES_REPORT_H_
#define TRELLIS_BENCH_KEYSPACES_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "bench/experiment/figures.h"
#include "bench/experiment/run.h"
#include "bench/keyspaces/config.h"

namespace bench::keyspaces {

// Its parts are of PartNames.
struct Results : MeasuredParts {
  Config config;
};

std::string ToText(const Results& results);
nlohmann::ordered_json ToJson(const Results& results);
// Measures the parts and makes the report.
absl::StatusOr<Report> Run(const Config& config);

}  // namespace bench::keyspaces

#endif  // TRELLIS_BENCH_KEYSPACES_REPORT_H_
