// The main program of every experiment, and the one writer of its reports.
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

// The result of an experiment, which RunExperiment prints and writes to files.
struct Report {
  std::string text;  // for the terminal
  Page page;         // report.html; its data is report.json.  No title: the run wrote no files
  // Markdown for a README, by the name that `tools/dev excerpt` knows: excerpt-NAME.md.
  std::vector<std::pair<std::string, std::string>> excerpts;
  std::vector<std::string> stores;  // directories that are left for `sstdump levels`
  bool interrupted = false;         // it holds only part of what was asked for
};

// Writes OUT/report.json, OUT/report.html, and the excerpts of a run that was not interrupted, each
// whole or not at all.
absl::Status WriteReport(Report report, const RunOptions& options);

// Prints and writes the report.  Returns the exit code.
int Finish(absl::StatusOr<Report> report, const RunOptions& options);

// All of main.  `run` returns Cancelled if it was stopped before it had measured anything.
template <typename Config>
int RunExperiment(int argc, char** argv, Parsed<Config> (*parse)(int argc, char** argv),
                  absl::StatusOr<Report> (*run)(const Config& config)) {
  Parsed<Config> parsed = parse(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  parsed.config.stop = &StopOnInterrupt(parsed.config.program);
  return Finish(run(parsed.config), parsed.config);
}

// --- shared parts of reports ---

// "Conditions": the machine, then `details`, then command, seed and duration.
Table ConditionsTable(const Conditions& machine, const Conditions& details,
                      const RunOptions& options, double seconds);

// The members that every report.json begins with.
nlohmann::ordered_json ReportJson(const char* benchmark, int schema, const RunOptions& options,
                                  const Conditions& machine, double seconds);

// Each table under its title, those without rows left out.
std::string TextOf(const std::vector<Table>& tables);

// Text as it was printed, for Markdown.
std::string Fenced(std::string text);

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_RUN_H_
