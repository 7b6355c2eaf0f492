// The results of a run, as text, JSON and a page with a plot.
#ifndef TRELLIS_BENCH_COMPACTION_STYLES_REPORT_H_
#define TRELLIS_BENCH_COMPACTION_STYLES_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "bench/compaction_styles/experiment.h"
#include "bench/experiment/run.h"
#include "bench/table.h"

namespace bench::styles {

// A row for each style: its write, read and space costs.
Table AmplificationTable(const Results& results);
// A row for each level of each store at the end.
Table ShapeTable(const Results& results);

std::string ToText(const Results& results);
nlohmann::ordered_json ToJson(const Results& results);
Report ReportOf(const Results& results);
// Compares the styles and makes the report.
absl::StatusOr<Report> Run(const Config& config);

}  // namespace bench::styles

#endif  // TRELLIS_BENCH_COMPACTION_STYLES_REPORT_H_
