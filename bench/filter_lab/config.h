// What a run of filter_lab was asked to do.
#ifndef TRELLIS_BENCH_FILTER_LAB_CONFIG_H_
#define TRELLIS_BENCH_FILTER_LAB_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

// How much is measured.
enum class Effort : uint8_t {
  kQuick,   // seconds: few keys and questions, to see that all of it works
  kNormal,  // minutes
  kFull,    // and the streams of 10^8 rows
};
const char* NameOf(Effort effort);

struct LabConfig {
  // --- what ---
  std::vector<std::string> only;      // names of experiments; empty: all
  std::vector<std::string> variants;  // of those that are measured against their prediction; empty:
                                      // all
  Effort effort = Effort::kNormal;
  uint64_t seed = 1;         // of keys, questions and filters; the streams have one of their own
  std::string sift;          // folder with the files of siftsmall; empty: vectors are made up
  bool family_rows = false;  // print the rows of bloom/README.md's table, and nothing else

  // --- where to; empty: nowhere ---
  std::string json;
  std::string html;
  std::string chart_js;  // what is inlined for the plots; empty: none
  std::string command;   // the command line, for the report

  // The one of three that the effort calls for.
  template <class T>
  T Choose(T quick, T normal, T full) const {
    return effort == Effort::kQuick ? quick : effort == Effort::kNormal ? normal : full;
  }
};

// The configuration, or the code to exit with (0 after --help, 2 after a mistake, which has been
// explained on stderr).
struct ParsedLabCommandLine {
  LabConfig config;
  std::optional<int> exit_code;
};
ParsedLabCommandLine ParseLabCommandLine(int argc, char** argv);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_CONFIG_H_
