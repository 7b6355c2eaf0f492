#include "bench/experiment/figures.h"

#include <algorithm>
#include <utility>

#include "lsm/bytes/readable.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

std::string ValueText(double value, const std::string& unit) {
  if (unit == "B" && value >= 1024) return lsm::ReadableBytes(static_cast<uint64_t>(value));
  const std::string number =
      value < 0 ? "-" + lsm::ReadableNumber(-value) : lsm::ReadableNumber(value);
  return unit.empty() ? number : number + " " + unit;
}

bool IsReached(const Figure& figure) { return figure.value <= *figure.goal; }

}  // namespace

std::vector<Table> TablesOf(const Part& part) {
  if (!part.tables.empty()) return part.tables;
  Table table{part.name, part.title, {{"", "figure", false}, {"measured", ""}}, {}};
  for (const Figure& figure : part.figures)
    table.rows.push_back({figure.name, ValueText(figure.value, figure.unit)});
  return {std::move(table)};
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
  for (const bool reached : {false, true}) {
    for (const Part& part : parts) {
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

std::string NotesText(std::span<const Part> parts) {
  std::string text;
  for (const std::string& note : NotesOf(parts)) text += "Note  " + note + "\n";
  return text;
}

Json FiguresJson(std::span<const Part> parts) {
  Json figures = Json::array();
  for (const Part& part : parts) {
    for (const Figure& figure : part.figures) {
      figures.push_back({{"part", part.name},
                         {"name", figure.name},
                         {"value", figure.value},
                         {"unit", figure.unit},
                         {"goal", figure.goal ? Json(*figure.goal) : Json(nullptr)}});
    }
  }
  return figures;
}

}  // namespace bench
