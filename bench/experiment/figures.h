// Figures with goals, for experiments in parts.
#ifndef TRELLIS_BENCH_EXPERIMENT_FIGURES_H_
#define TRELLIS_BENCH_EXPERIMENT_FIGURES_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/table.h"

namespace bench {

struct Figure {
  std::string name;
  double value = 0;
  std::string unit = {};                      // "s", "us", "ms", "B"; empty: a number
  std::optional<double> goal = std::nullopt;  // the value is at most this
};

struct Part {
  std::string name;
  std::string title;
  std::vector<Figure> figures;
  std::vector<Table> tables = {};  // instead of a table of all figures
  std::vector<std::string> notes = {};
};

// The tables of the part, or one of its figures.
std::vector<Table> TablesOf(const Part& part);
// The figures that have a goal, with the missed ones first.
Table GoalsTable(std::span<const Part> parts);
// Each note once, after the names of its parts.
std::vector<std::string> NotesOf(std::span<const Part> parts);
// A line for each of these.
std::string NotesText(std::span<const Part> parts);
// An array of all figures.
nlohmann::ordered_json FiguresJson(std::span<const Part> parts);

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_FIGURES_H_
