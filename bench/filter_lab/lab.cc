#include "bench/filter_lab/lab.h"

#include <algorithm>
#include <cstdio>

#include "bench/experiment/progress.h"
#include "bench/filter_lab/variants.h"
#include "bench/report/assets.h"
#include "bench/report/page.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

// Longer tables appear only in the report.
constexpr size_t kRowsMax = 60;

bool IsWanted(const LabConfig& config, std::string_view name) {
  return config.only.empty() ||
         std::find(config.only.begin(), config.only.end(), name) != config.only.end();
}

Table RunTable(const LabResults& results) {
  return ConditionsTable(results.conditions, {}, results.config, results.seconds);
}

void Show(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// Prints the table of bloom/README.md, each row as soon as it is measured.
absl::Status PrintFamilyRows(const LabConfig& config) {
  std::printf("%s", std::string(kFamilyTableHead).c_str());
  for (const Variant* variant : VariantsNamed(config.variants)) {
    TRELLIS_RETURN_IF_ERROR(config.CheckStop());
    TRELLIS_ASSIGN_OR_RETURN(const FamilyRow row, FamilyRowOf(*variant, kFamilyRowQueries));
    std::printf("%s%s\n", row.fixed.c_str(), row.measured.c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

Page PageOf(const LabResults& results) {
  Page page;
  page.title = "Trellis filter_lab: measured filters and their theory";
  page.lead.push_back(
      "Each filter of the library with its prediction, and earlier comparisons of such filters "
      "repeated with sound code. Rates are over keys that were certainly never added. Every row "
      "has its number of queries and the standard error that follows from that number alone.");
  if (results.config.effort == Effort::kQuick) {
    page.warnings.push_back(
        "this was a quick run, which only checks that everything works: its figures mean little.");
  }
  for (const auto& [name, outcome] : results.outcomes)
    page.sections.insert(page.sections.end(), outcome.sections.begin(), outcome.sections.end());
  page.sections.push_back({"Conditions", "", "", {RunTable(results)}});
  page.data_name = "filter_lab";
  page.data = ToJson(results);
  page.script = kFilterLabJs;
  return page;
}

}  // namespace

absl::StatusOr<LabResults> RunLab(const LabConfig& config, void (*show)(const std::string& text)) {
  LabResults results;
  results.config = config;
  results.conditions = DescribeMachine(".");
  double total = 0;
  for (const LabExperiment& experiment : LabExperiments()) {
    if (IsWanted(config, experiment.name)) total += experiment.seconds(config);
  }
  Progress progress(total);
  for (const LabExperiment& experiment : LabExperiments()) {
    if (!IsWanted(config, experiment.name)) continue;
    progress.Announce(lsm::Concat(experiment.name, ": ", experiment.what));
    absl::StatusOr<Outcome> outcome =
        experiment.run(config, Steps(&config, &progress, experiment.seconds(config)));
    results.interrupted = absl::IsCancelled(outcome.status()) && !results.outcomes.empty();
    if (results.interrupted) break;
    TRELLIS_RETURN_IF_ERROR(outcome.status());
    progress.Clear();
    show(TextOf(experiment, *outcome));
    results.outcomes.emplace_back(experiment.name, *std::move(outcome));
  }
  results.seconds = progress.elapsed_seconds();
  return results;
}

Json ToJson(const LabResults& results) {
  const LabConfig& config = results.config;
  Json json = ReportJson("filter_lab", 1, config, results.conditions, results.seconds);
  json["settings"] = {{"effort", NameOf(config.effort)},
                      {"seed", config.seed},
                      {"sift", config.sift.empty() ? Json() : Json(config.sift)}};
  json["experiments"] = Json::object();
  for (const auto& [name, outcome] : results.outcomes)
    json["experiments"][std::string(name)] = outcome.json;
  return json;
}

std::string TextOf(const LabExperiment& experiment, const Outcome& outcome) {
  std::string text = lsm::Concat("=== ", experiment.name, ": ", experiment.what, "\n");
  for (const Section& section : outcome.sections) {
    for (const Table& table : section.tables) {
      text += lsm::Concat("\n", table.title, "\n");
      text += table.rows.size() <= kRowsMax
                  ? ToText(table)
                  : lsm::Concat("(", table.rows.size(), " rows: in the report)\n");
    }
  }
  return text;
}

Report ReportOf(const LabResults& results) {
  Report report;
  report.text = TextOf({RunTable(results)});
  report.page = PageOf(results);
  for (const auto& [name, outcome] : results.outcomes) {
    for (const auto& [excerpt, tables] : outcome.excerpts)
      report.excerpts.emplace_back(excerpt, Fenced(DescribeCpu() + "\n\n" + TextOf(tables)));
  }
  report.interrupted = results.interrupted;
  return report;
}

absl::StatusOr<Report> Run(const LabConfig& config) {
  if (config.family_rows) {
    TRELLIS_RETURN_IF_ERROR(PrintFamilyRows(config));
    return Report{};
  }
  TRELLIS_RETURN_IF_ERROR(MakeOutputDirectory(config.out));
  TRELLIS_ASSIGN_OR_RETURN(const LabResults results, RunLab(config, &Show));
  return ReportOf(results);
}

}  // namespace bench
