// The figures of a run of keyspaces_bench.
#ifndef TRELLIS_BENCH_KEYSPACES_RESULTS_H_
#define TRELLIS_BENCH_KEYSPACES_RESULTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/keyspaces/config.h"
#include "bench/machine.h"
#include "bench/table.h"

namespace bench::keyspaces {

struct Figure {
  std::string name;
  double value = 0;
  std::string unit = {};                      // "s", "us", "ms", "B"; empty: a number
  std::optional<double> goal = std::nullopt;  // the value is at most this
};

struct Part {
  std::string name;  // of PartNames
  std::string title;
  std::vector<Figure> figures;
  std::vector<Table> tables = {};  // instead of a table of all figures
  std::vector<std::string> notes = {};
};

struct Results {
  Config config;
  Conditions conditions;
  double seconds = 0;
  bool interrupted = false;
  std::vector<Part> parts;  // those that ended
};

}  // namespace bench::keyspaces

#endif  // TRELLIS_BENCH_KEYSPACES_RESULTS_H_
