// A self-contained HTML page of figures: one file that loads nothing else.
//
// The tables are plain HTML and legible with scripts off.  Scripts draw plots above them from the
// page's own JSON.
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
  std::string text;  // a sentence or two on what it shows
  std::string plot;  // name of the plot above the table; empty: none
  std::vector<Table> tables;
};

struct Page {
  std::string title;
  std::vector<std::string> lead;  // paragraphs at the top
  std::vector<std::string> warnings;
  std::vector<Section> sections;
  std::string data_name;        // prefix of the CSV files' names: "read_amp"
  nlohmann::ordered_json data;  // the scripts' data
  std::string script;           // draws the plots by name (assets.h)
  std::string chart_js;         // source of Chart.js; empty: no plots
};

// The whole file.
std::string RenderPage(const Page& page);

// JSON for a <script> element: contains no "<", and only ASCII.
std::string JsonForScript(const nlohmann::ordered_json& json);

// Chart.js as installed when this was built; empty if it was not.
const char* SystemChartJs();

// Unavailable, with the path, if any part of the file cannot be read.
absl::StatusOr<std::string> ReadWhole(const std::string& path);

// Writes another file first and renames it, so that `path` is always complete.
absl::Status WriteWhole(const std::string& path, const std::string& bytes);

// Makes the directory for --out and its parents.
absl::Status MakeOutputDirectory(const std::string& path);

}  // namespace bench

#endif  // TRELLIS_BENCH_REPORT_PAGE_H_
