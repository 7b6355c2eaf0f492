// The results of a run, as text, JSON and a page with plots.
#ifndef TRELLIS_BENCH_SCALE_REPORT_H_
#define TRELLIS_BENCH_SCALE_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiment/run.h"
#include "bench/scale/curve.h"
#include "bench/scale/experiment.h"
#include "bench/table.h"

namespace bench::scale {

// A row for each cost: measured at each size, and by its law at larger ones.
Table MeasuredTable(const Results& results, const std::vector<Curve>& curves);
// The deviation of the measurements from the laws, in per cent.
Table DeviationTable(const Results& results, const std::vector<Curve>& curves);
// The laws with their constants.
Table LawTable(const std::vector<Curve>& curves);
// A row for each level at each size.
Table ShapeTable(const Results& results);

std::string ToText(const Results& results);
nlohmann::ordered_json ToJson(const Results& results);
Report ReportOf(const Results& results);
// Grows the store and makes the report.
absl::StatusOr<Report> Run(const Config& config);

}  // namespace bench::scale

#endif  // TRELLIS_BENCH_SCALE_REPORT_H_
