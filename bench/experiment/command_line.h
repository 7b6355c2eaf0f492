// The option parser of all experiments.  Every error is reported as "PROGRAM: OPTION: why" with the
// given value.
#ifndef TRELLIS_BENCH_EXPERIMENT_COMMAND_LINE_H_
#define TRELLIS_BENCH_EXPERIMENT_COMMAND_LINE_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/experiment/options.h"

namespace bench {

// Call order: Group and Add, in the order that --help shows; AddRunOptions; Parse once.
class CommandLine {
 public:
  // `program` must outlive this object, and all variables too.
  CommandLine(const char* program, const std::string& summary, const std::string& footer,
              RunOptions* options);

  // The heading for the options added after this call.
  void Group(const std::string& heading) { group_ = heading; }

  // The initial value of the variable is the default.
  template <typename Value>
  CLI::Option* Add(const char* name, Value* value, const std::string& help) {
    return app_.add_option(name, *value, help)->capture_default_str()->group(group_);
  }
  // Values separated by commas.  An empty list shows no default.
  template <typename Value>
  CLI::Option* AddList(const char* name, std::vector<Value>* values, const std::string& help) {
    CLI::Option* option = app_.add_option(name, *values, help);
    if (!values->empty()) option->capture_default_str();
    return option->delimiter(',')->type_name("LIST")->group(group_);
  }
  CLI::Option* AddFlag(const char* name, bool* value, const std::string& help) {
    return app_.add_flag(name, *value, help)->group(group_);
  }
  // Adds --seed, and under "Output" --out and --chart-js.  `seeded` says what the seed determines.
  void AddRunOptions(const std::string& seeded);

  bool Has(const char* option) const { return app_.count(option) > 0; }

  // Returns the exit code, or nothing if the program should run.  `resolve` completes the
  // configuration; it returns an error message that begins with the option, or an empty string.
  std::optional<int> Parse(
      int argc, char** argv,
      const std::function<std::string()>& resolve = [] { return std::string(); });

 private:
  CLI::App app_;
  RunOptions* const options_;
  std::string group_ = "Options";
};

// A check for CLI::Option::check: whole numbers in an inclusive range.
CLI::Validator Between(uint64_t least, uint64_t most);

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_COMMAND_LINE_H_
