// Figures with goals, and the reports of experiments in parts.
#ifndef TRELLIS_BENCH_EXPERIMENT_FIGURES_H_
#define TRELLIS_BENCH_EXPERIMENT_FIGURES_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/experiment/options.h"
#include "bench/machine.h"
#include "bench/report/page.h"
#include "bench/table.h"

namespace bench {

struct Figure {
  std::string name;
  double value = 0;
  std::string unit = {};                      // "s", "us", "ms", "B"; empty: a number
  std::optional<double> goal = std::nullopt;  // the value is at most this
  std::optional<double> peer = std::nullopt;  // the value of RocksDB, for comparison
};

struct Part {
  std::string name;
  std::string title;
  std::vector<Figure> figures;
  std::vector<Table> tables = {};  // instead of a table of all figures
  std::vector<std::string> notes = {};
};

// The results of a run.
struct MeasuredParts {
  Conditions conditions;
  double seconds = 0;
  bool interrupted = false;
  std::vector<Part> parts;  // those that ended
};

// Makes the output directory, and calls `measure`, which adds the parts.  If it returns Cancelled
// after the first part, the run was interrupted, which is no error.
absl::Status MeasureInto(MeasuredParts* results, const RunOptions& options,
                         const std::function<absl::Status()>& measure);

// The figures that have a goal, with the missed ones first.
Table GoalsTable(std::span<const Part> parts);
// A line for each note, after the names of its parts.
std::string NotesText(std::span<const Part> parts);

// The whole report, which begins or ends with the table of its conditions.
std::string TextOfParts(const Table& conditions, std::span<const Part> parts);
Page PageOfParts(const std::string& title, const std::string& data_name, const Table& conditions,
                 std::span<const Part> parts, nlohmann::ordered_json data);
nlohmann::ordered_json JsonOfParts(const char* benchmark, const RunOptions& options,
                                   const MeasuredParts& results, nlohmann::ordered_json settings);

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_FIGURES_H_
