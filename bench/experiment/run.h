// The main program of every experiment, and the only writer of reports.
#ifndef TRELLIS_BENCH_EXPERIMENT_RUN_H_
#define TRELLIS_BENCH_EXPERIMENT_RUN_H_

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/experiment/interrupt.h"
#include "bench/experiment/options.h"
#include "bench/machine.h"
#include "bench/report/page.h"
#include "bench/table.h"

namespace bench {

// The result of an experiment.  RunExperiment prints it and writes it to files.
struct Report {
  std::string text;  // for the terminal
  Page page;         // report.html, whose data is report.json.  No title: the run wrote no files
  // Markdown for a README, by the name used in `tools/dev excerpt`: excerpt-NAME.md.
  std::vector<std::pair<std::string, std::string>> excerpts;
  std::vector<std::string> stores;  // directories kept for `sstdump levels`
  bool interrupted = false;         // contains only part of the requested measurements
};

// Writes OUT/report.json and OUT/report.html, and the excerpts if the run was not interrupted.
// Each file is written completely or not at all.
absl::Status WriteReport(Report report, const RunOptions& options);

// Prints and writes the report.  Returns the exit code.
int Finish(absl::StatusOr<Report> report, const RunOptions& options);

// The body of main.  `run` returns Cancelled if it was stopped before its first result.
template <typename Config>
int RunExperiment(int argc, char** argv, Parsed<Config> (*parse)(int argc, char** argv),
                  absl::StatusOr<Report> (*run)(const Config& config)) {
  Parsed<Config> parsed = parse(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  parsed.config.stop = &StopOnInterrupt(parsed.config.program);
  return Finish(run(parsed.config), parsed.config);
}

// --- shared parts of reports ---

// "Conditions": the machine, `details`, the command, the seed and the duration.
Table ConditionsTable(const Conditions& machine, const Conditions& details,
                      const RunOptions& options, double seconds);

// The first members of every report.json.
nlohmann::ordered_json ReportJson(const char* benchmark, int schema, const RunOptions& options,
                                  const Conditions& machine, double seconds);

// Each table under its title, without empty tables.
std::string TextOf(const std::vector<Table>& tables);

// Printed text as a Markdown code block.
std::string Fenced(std::string text);

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_RUN_H_
