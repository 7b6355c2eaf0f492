#include "bench/filter_lab/lab.h"

#include <algorithm>
#include <optional>

#include "bench/progress.h"
#include "bench/report/assets.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

// Longer tables are for the report.
constexpr size_t kRowsMax = 60;

bool IsWanted(const LabConfig& config, std::string_view name) {
  return config.only.empty() ||
         std::find(config.only.begin(), config.only.end(), name) != config.only.end();
}

Table ConditionsTable(const LabResults& results) {
  Table table = PairsTable("conditions", "Conditions", results.conditions);
  table.rows.push_back({"Command", results.config.command});
  table.rows.push_back({"Seed", std::to_string(results.config.seed)});
  table.rows.push_back({"Took", Digits3(results.seconds) + " s"});
  return table;
}

}  // namespace

absl::StatusOr<LabResults> RunLab(const LabConfig& config, void (*show)(const std::string& text)) {
  LabResults results{config, DescribeMachine("."), 0, {}};
  double total = 0;
  for (const LabExperiment& experiment : LabExperiments()) {
    if (IsWanted(config, experiment.name)) total += experiment.seconds(config);
  }
  std::optional<Progress> progress(std::in_place, total);
  for (const LabExperiment& experiment : LabExperiments()) {
    if (!IsWanted(config, experiment.name)) continue;
    progress->Announce(lsm::Concat(experiment.name, ": ", experiment.what));
    LSM_ASSIGN_OR_RETURN(Outcome outcome,
                         experiment.run(config, Steps(&*progress, experiment.seconds(config))));
    progress->Clear();
    show(TextOf(experiment, outcome));
    results.outcomes.emplace_back(experiment.name, std::move(outcome));
  }
  results.seconds = progress->elapsed_seconds();
  return results;
}

Json ToJson(const LabResults& results) {
  const LabConfig& config = results.config;
  Json json = {{"benchmark", "filter_lab"},
               {"schema", 1},
               {"command", config.command},
               {"seconds", results.seconds},
               {"conditions", Json::object()},
               {"settings",
                {{"effort", NameOf(config.effort)},
                 {"seed", config.seed},
                 {"sift", config.sift.empty() ? Json() : Json(config.sift)}}},
               {"experiments", Json::object()}};
  for (const auto& [name, value] : results.conditions) json["conditions"][name] = value;
  for (const auto& [name, outcome] : results.outcomes)
    json["experiments"][std::string(name)] = outcome.json;
  return json;
}

Page LabPage(const LabResults& results, std::string chart_js) {
  Page page;
  page.title = "Trellis filter_lab: filters measured against their theory";
  page.lead.push_back(
      "What each filter of the library promises, beside what it does; and the experiments of those "
      "who compared such filters before, with sound code. A rate is of keys that were certainly "
      "never added. Every row names the queries behind it and the standard error that follows from "
      "their number alone.");
  if (results.config.effort == Effort::kQuick) {
    page.warnings.push_back(
        "this run was a quick one, to see that all of it works: its figures say little.");
  }
  for (const auto& [name, outcome] : results.outcomes)
    page.sections.insert(page.sections.end(), outcome.sections.begin(), outcome.sections.end());
  page.sections.push_back({"Conditions", "", "", {ConditionsTable(results)}});
  page.data_name = "filter_lab";
  page.data = ToJson(results);
  page.script = kFilterLabJs;
  page.chart_js = std::move(chart_js);
  return page;
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

std::string ConditionsText(const LabResults& results) {
  const Table table = ConditionsTable(results);
  return lsm::Concat(table.title, "\n", ToText(table));
}

absl::Status WriteLab(const LabResults& results) {
  const LabConfig& config = results.config;
  if (!config.json.empty()) {
    const std::string json =
        ToJson(results).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    LSM_RETURN_IF_ERROR(WriteWhole(config.json, json));
  }
  if (config.html.empty()) return absl::OkStatus();
  std::string chart_js;
  if (!config.chart_js.empty()) {
    LSM_ASSIGN_OR_RETURN(chart_js, ReadWhole(config.chart_js));
  }
  return WriteWhole(config.html, RenderPage(LabPage(results, std::move(chart_js))));
}

}  // namespace bench
