// The options of a run of filter_lab.
#ifndef TRELLIS_BENCH_FILTER_LAB_CONFIG_H_
#define TRELLIS_BENCH_FILTER_LAB_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/experiment/options.h"

namespace bench {

// How much to measure.
enum class Effort : uint8_t {
  kQuick,   // seconds: few keys and queries, to check that everything works
  kNormal,  // minutes
  kFull,    // an hour: more keys and queries, and streams of 10^8 rows
};
const char* NameOf(Effort effort);

struct LabConfig : RunOptions {
  std::vector<std::string> only;      // experiments to run; empty: all
  std::vector<std::string> variants;  // of `accuracy` and of the family's rows; empty: all
  Effort effort = Effort::kNormal;
  std::string sift;          // directory with the files of siftsmall; empty: vectors are generated
  bool family_rows = false;  // only print the rows for the table of bloom/README.md

  // The value for the chosen effort.
  template <class T>
  T Choose(T quick, T normal, T full) const {
    return effort == Effort::kQuick ? quick : effort == Effort::kNormal ? normal : full;
  }
};

Parsed<LabConfig> ParseLabCommandLine(int argc, char** argv);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_CONFIG_H_
