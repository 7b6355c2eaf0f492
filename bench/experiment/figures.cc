#include "bench/experiment/figures.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "bench/experiment/run.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

std::string ValueText(double value, const std::string& unit) {
  if (unit == "B" && value >= 1024) return lsm::ReadableBytes(static_cast<uint64_t>(value));
  const std::string number =
      value < 0 ? "-" + lsm::ReadableNumber(-value) : lsm::ReadableNumber(value);
  return unit.empty() ? number : number + " " + unit;
}

const char* const kPeer = "RocksDB";

bool HavePeer(std::span<const Part> parts) {
  return std::any_of(parts.begin(), parts.end(), [](const Part& part) {
    return std::any_of(part.figures.begin(), part.figures.end(),
                       [](const Figure& figure) { return figure.peer.has_value(); });
  });
}

std::string PeerText(const Figure& figure) {
  return figure.peer ? ValueText(*figure.peer, figure.unit) : "-";
}

bool IsReached(const Figure& figure) { return figure.value <= *figure.goal; }

// The tables of the part, or one of its figures.
std::vector<Table> TablesOf(const Part& part) {
  if (!part.tables.empty()) return part.tables;
  Table table{part.name, part.title, {{"", "figure", false}, {"measured", ""}}, {}};
  const bool has_peer = HavePeer({&part, 1});
  if (has_peer) table.columns.push_back({kPeer, ""});
  for (const Figure& figure : part.figures) {
    table.rows.push_back({figure.name, ValueText(figure.value, figure.unit)});
    if (has_peer) table.rows.back().push_back(PeerText(figure));
  }
  return {std::move(table)};
}

// Each note once, after the names of its parts.
std::vector<std::string> NotesOf(std::span<const Part> parts) {
  std::vector<std::pair<std::string, std::string>> parts_by_note;
  for (const Part& part : parts) {
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
  for (const auto& [note, names] : parts_by_note) notes.push_back(names + ": " + note + ".");
  return notes;
}

Json FiguresJson(std::span<const Part> parts) {
  Json figures = Json::array();
  for (const Part& part : parts) {
    for (const Figure& figure : part.figures) {
      figures.push_back({{"part", part.name},
                         {"name", figure.name},
                         {"value", figure.value},
                         {"unit", figure.unit},
                         {"goal", figure.goal ? Json(*figure.goal) : Json(nullptr)},
                         {"peer", figure.peer ? Json(*figure.peer) : Json(nullptr)}});
    }
  }
  return figures;
}

}  // namespace

absl::Status MeasureInto(MeasuredParts* results, const RunOptions& options,
                         const std::function<absl::Status()>& measure) {
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(options.out, ignored);
  TRELLIS_RETURN_IF_ERROR(MakeOutputDirectory(options.out));
  results->conditions = DescribeMachine(options.out);
  const auto begin = std::chrono::steady_clock::now();
  const absl::Status status = measure();
  results->seconds = SecondsSince(begin);
  results->interrupted = absl::IsCancelled(status) && !results->parts.empty();
  if (status.ok() || results->interrupted) return absl::OkStatus();
  if (!was_there) std::filesystem::remove(options.out, ignored);  // fails unless it is empty
  return status;
}

Table GoalsTable(std::span<const Part> parts) {
  Table table{"goals",
              "Goals",
              {{"part", "", false},
               {"figure", "", false},
               {"measured", ""},
               {"goal", "the figure is at most this"},
               {"", "reached", false}},
              {}};
  const bool has_peer = HavePeer(parts);
  if (has_peer) table.columns.push_back({kPeer, "the figure of RocksDB"});
  for (const bool reached : {false, true}) {
    for (const Part& part : parts) {
      for (const Figure& figure : part.figures) {
        if (!figure.goal || IsReached(figure) != reached) continue;
        table.rows.push_back({part.name, figure.name, ValueText(figure.value, figure.unit),
                              ValueText(*figure.goal, figure.unit),
                              reached ? "reached" : "missed"});
        if (has_peer) table.rows.back().push_back(PeerText(figure));
      }
    }
  }
  return table;
}

std::string NotesText(std::span<const Part> parts) {
  std::string text;
  for (const std::string& note : NotesOf(parts)) text += "Note  " + note + "\n";
  return text;
}

std::string TextOfParts(const Table& conditions, std::span<const Part> parts) {
  std::string text = TextOf({conditions});
  for (const Part& part : parts) text += TextOf(TablesOf(part));
  return text + TextOf({GoalsTable(parts)}) + NotesText(parts);
}

Page PageOfParts(const std::string& title, const std::string& data_name, const Table& conditions,
                 std::span<const Part> parts, Json data) {
  Page page;
  page.title = title;
  page.warnings = NotesOf(parts);
  page.sections.push_back({"Goals", "Missed goals come first.", "", {GoalsTable(parts)}});
  for (const Part& part : parts) page.sections.push_back({part.title, "", "", TablesOf(part)});
  page.sections.push_back({"Conditions", "", "", {conditions}});
  page.data_name = data_name;
  page.data = std::move(data);
  return page;
}

Json JsonOfParts(const char* benchmark, const RunOptions& options, const MeasuredParts& results,
                 Json settings) {
  Json json = ReportJson(benchmark, 1, options, results.conditions, results.seconds);
  json["settings"] = std::move(settings);
  json["notes"] = NotesOf(results.parts);
  json["figures"] = FiguresJson(results.parts);
  return json;
}

}  // namespace bench
