#include "bench/keyspaces/report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "bench/experiment/progress.h"
#include "bench/keyspaces/parts.h"
#include "bench/machine.h"
#include "bench/report/page.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

using Json = nlohmann::ordered_json;

struct Measurement {
  const char* part;
  absl::StatusOr<Part> (*measure)(const Config& config, Progress* progress);
  double seconds;  // with the default options
};

constexpr std::array<Measurement, 5> kMeasurements = {{{"open", &MeasureOpen, 2},
                                                       {"cold", &MeasureCold, 10},
                                                       {"speed", &MeasureSpeed, 40},
                                                       {"drop", &MeasureDrop, 20},
                                                       {"many", &MeasureMany, 60}}};

std::string ValueText(double value, const std::string& unit) {
  if (unit == "B" && value >= 1024) return lsm::ReadableBytes(static_cast<uint64_t>(value));
  const std::string number =
      value < 0 ? "-" + lsm::ReadableNumber(-value) : lsm::ReadableNumber(value);
  return unit.empty() ? number : number + " " + unit;
}

bool IsReached(const Figure& figure) { return figure.value <= *figure.goal; }

Table FiguresTable(const Part& part) {
  Table table{part.name, part.title, {{"", "figure", false}, {"measured", ""}}, {}};
  for (const Figure& figure : part.figures)
    table.rows.push_back({figure.name, ValueText(figure.value, figure.unit)});
  return table;
}

std::vector<Table> TablesOf(const Part& part) {
  return part.tables.empty() ? std::vector<Table>{FiguresTable(part)} : part.tables;
}

// Each note once, after the names of its parts.
std::vector<std::string> NotesOf(const Results& results) {
  std::vector<std::pair<std::string, std::string>> parts_by_note;
  for (const Part& part : results.parts) {
    for (const std::string& note : part.notes) {
      const auto at = std::find_if(parts_by_note.begin(), parts_by_note.end(),
                                   [&](const auto& pair) { return pair.first == note; });
      if (at == parts_by_note.end()) {
        parts_by_note.emplace_back(note, part.name);
      } else {
        at->second += ", " + part.name;
      }
    }
  }
  std::vector<std::string> notes;
  for (const auto& [note, parts] : parts_by_note) notes.push_back(parts + ": " + note + ".");
  return notes;
}

Table RunTable(const Results& results) {
  const Config& config = results.config;
  const Conditions pairs = {
      {"Options", lsm::Concat("write buffer ", lsm::ReadableBytes(config.write_buffer_bytes),
                              ", tables as large, level 1 four times it, no compression, all else "
                              "default")},
      {"Entries", lsm::Concat("keys of 16 bytes, values of ", config.value_bytes)}};
  return ConditionsTable(results.conditions, pairs, config, results.seconds);
}

std::string NotesText(const Results& results) {
  std::string text;
  for (const std::string& note : NotesOf(results)) text += "Note  " + note + "\n";
  return text;
}

// The excerpt for bench/README.md.  The other parts' figures with goals are in the last table.
std::string ExcerptOf(const Results& results) {
  std::string text = ToRows(RowsNamed(RunTable(results), {"CPU", "Took"})) + "\n";
  for (const Part& part : results.parts) text += TextOf(part.tables);
  return Fenced(text + TextOf({GoalsTable(results)}) + NotesText(results));
}

Page PageOf(const Results& results) {
  Page page;
  page.title = "Trellis keyspaces: what they cost";
  page.warnings = NotesOf(results);
  page.sections.push_back({"Goals", "Missed goals come first.", "", {GoalsTable(results)}});
  for (const Part& part : results.parts)
    page.sections.push_back({part.title, "", "", TablesOf(part)});
  page.sections.push_back({"Conditions", "", "", {RunTable(results)}});
  page.data_name = "keyspaces";
  page.data = ToJson(results);
  return page;
}

absl::Status MeasureParts(Results* results) {
  const Config& config = results->config;
  double total = 0;
  for (const Measurement& measurement : kMeasurements)
    total += config.Measures(measurement.part) ? measurement.seconds : 0;
  Progress progress(total);
  for (const Measurement& measurement : kMeasurements) {
    if (!config.Measures(measurement.part)) continue;
    absl::StatusOr<Part> part = measurement.measure(config, &progress);
    if (!part.ok()) return part.status();
    results->parts.push_back(*std::move(part));
    progress.Advance(measurement.seconds);
  }
  return absl::OkStatus();
}

}  // namespace

Table GoalsTable(const Results& results) {
  Table table{"goals",
              "Goals",
              {{"part", "", false},
               {"figure", "", false},
               {"measured", ""},
               {"goal", "the figure is at most this"},
               {"", "reached", false}},
              {}};
  for (const bool reached : {false, true}) {
    for (const Part& part : results.parts) {
      for (const Figure& figure : part.figures) {
        if (!figure.goal || IsReached(figure) != reached) continue;
        table.rows.push_back({part.name, figure.name, ValueText(figure.value, figure.unit),
                              ValueText(*figure.goal, figure.unit),
                              reached ? "reached" : "missed"});
      }
    }
  }
  return table;
}

std::string ToText(const Results& results) {
  std::string text = TextOf({RunTable(results)});
  for (const Part& part : results.parts) text += TextOf(TablesOf(part));
  return text + TextOf({GoalsTable(results)}) + NotesText(results);
}

Json ToJson(const Results& results) {
  const Config& config = results.config;
  Json json = ReportJson("keyspaces_bench", 1, config, results.conditions, results.seconds);
  json["settings"] = {{"keyspaces", config.keyspaces},
                      {"cold", config.cold},
                      {"write_buffer_bytes", config.write_buffer_bytes},
                      {"value_bytes", config.value_bytes},
                      {"flushes", config.flushes},
                      {"size_bytes", config.size_bytes},
                      {"tree_bytes", config.tree_bytes},
                      {"keys", config.keys},
                      {"operations", config.operations},
                      {"rounds", config.rounds},
                      {"openings", config.openings},
                      {"seed", config.seed}};
  json["notes"] = NotesOf(results);
  json["figures"] = Json::array();
  for (const Part& part : results.parts) {
    for (const Figure& figure : part.figures) {
      json["figures"].push_back({{"part", part.name},
                                 {"name", figure.name},
                                 {"value", figure.value},
                                 {"unit", figure.unit},
                                 {"goal", figure.goal ? Json(*figure.goal) : Json(nullptr)}});
    }
  }
  return json;
}

Report ReportOf(const Results& results) {
  Report report;
  report.text = ToText(results);
  report.page = PageOf(results);
  report.excerpts = {{"keyspaces", ExcerptOf(results)}};
  report.interrupted = results.interrupted;
  return report;
}

absl::StatusOr<Report> Run(const Config& config) {
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(config.out, ignored);
  TRELLIS_RETURN_IF_ERROR(MakeOutputDirectory(config.out));
  Results results;
  results.config = config;
  results.conditions = DescribeMachine(config.out);
  const auto begin = std::chrono::steady_clock::now();
  const absl::Status status = MeasureParts(&results);
  results.seconds = SecondsSince(begin);
  results.interrupted = absl::IsCancelled(status) && !results.parts.empty();
  if (status.ok() || results.interrupted) return ReportOf(results);
  if (!was_there) std::filesystem::remove(config.out, ignored);  // fails unless it is empty
  return status;
}

}  // namespace bench::keyspaces
