// An HTML page of figures that stands alone: one file, which loads nothing from anywhere.
//
// The tables are plain HTML and legible with scripts off; scripts draw plots above them from the
// JSON that the page carries.
#ifndef TRELLIS_BENCH_REPORT_PAGE_H_
#define TRELLIS_BENCH_REPORT_PAGE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/table.h"

namespace bench {

struct Section {
  std::string title;
  std::string text;  // a sentence or two: what is to be seen
  std::string plot;  // name of the plot that scripts draw above the table; empty: none
  std::vector<Table> tables;
};

struct Page {
  std::string title;
  std::vector<std::string> lead;  // paragraphs at the top
  std::vector<std::string> warnings;
  std::vector<Section> sections;
  std::string data_name;        // begins the names of the CSV files: "read_amp"
  nlohmann::ordered_json data;  // what the scripts see
  std::string script;           // draws the plots by name (assets.h)
  std::string chart_js;         // source of Chart.js; empty: no plots
};

// The whole file.
std::string RenderPage(const Page& page);

// JSON that may stand inside of a <script> element: it has no "<", and nothing but ASCII.
std::string JsonForScript(const nlohmann::ordered_json& json);

// Chart.js as the system had it when this was built; empty if it had none.
const char* SystemChartJs();

// Unavailable, with the path, if the file or any part of it cannot be read.
absl::StatusOr<std::string> ReadWhole(const std::string& path);

// Writes beside it first, then renames, so that `path` is never half a file.
absl::Status WriteWhole(const std::string& path, const std::string& bytes);

// Makes a directory for --out, with its parents.
absl::Status MakeOutputDirectory(const std::string& path);

}  // namespace bench

#endif  // TRELLIS_BENCH_REPORT_PAGE_H_
