#include "bench/experiment/command_line.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "bench/report/page.h"

namespace bench {
namespace {

std::optional<uint64_t> ParseWhole(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string FailureMessage(const CLI::App* app, const CLI::Error& error) {
  return app->get_name() + ": " + error.what() + "\nRun with --help for more information.\n";
}

// Clears the path of Chart.js if the file does not exist.  If the user asked for that file, returns
// an error message; otherwise warns on stderr that the report will have no plots.
std::string ResolveChartJs(bool was_asked_for, RunOptions* options) {
  std::string& path = options->chart_js;
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_regular_file(path, ignored)) return "";
  if (was_asked_for) return "--chart-js: " + path + " is not a file";
  std::fprintf(stderr, "%s: no %s (Debian's package libjs-chart.js): the report has no plots\n",
               options->program, path.c_str());
  path.clear();
  return "";
}

}  // namespace

CLI::Validator Between(uint64_t least, uint64_t most) {
  // CLI11 alone would parse -1, and 2^64 and more, as 2^64 - 1.
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  return CLI::Validator(
      [=](const std::string& text) {
        const std::optional<uint64_t> number = ParseWhole(text);
        const bool is_in_range = number && *number >= least && *number <= most;
        return is_in_range ? std::string() : text + " is not a whole number from " + range;
      },
      "");
}

CommandLine::CommandLine(const char* program, const std::string& summary, const std::string& footer,
                         RunOptions* options)
    : app_(summary, program), options_(options) {
  options->program = program;
  options->out = std::string(program) + "_out";
  options->chart_js = SystemChartJs();
  app_.footer(
      footer + (footer.empty() ? "" : "\n\n") +
      "Writes DIR/report.html and DIR/report.json.  The first Ctrl-C ends the run after\n"
      "the current measurement and reports the results so far; the second ends it at once.\n"
      "bench/README.md explains the figures.  Exit codes: 0 done, 1 failed (a wrong answer,\n"
      "an I/O error), 2 wrong usage, 130 interrupted.");
  app_.failure_message(FailureMessage);
}

void CommandLine::AddRunOptions(const std::string& seeded) {
  Add("--seed", &options_->seed, "Determines " + seeded)
      ->check(Between(0, UINT64_MAX))
      ->type_name("N");
  Group("Output");
  Add("--out", &options_->out, "Directory for reports and stores")->type_name("DIR");
  Add("--chart-js", &options_->chart_js, "Chart.js to inline; empty: no plots")->type_name("FILE");
}

std::optional<int> CommandLine::Parse(int argc, char** argv,
                                      const std::function<std::string()>& resolve) {
  for (int i = 0; i < argc; ++i) options_->command += (i == 0 ? "" : " ") + std::string(argv[i]);
  try {
    app_.parse(argc, argv);
    std::string mistake = resolve();
    if (mistake.empty()) mistake = ResolveChartJs(Has("--chart-js"), options_);
    if (!mistake.empty()) throw CLI::ValidationError(mistake);
  } catch (const CLI::ParseError& error) {
    return app_.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace bench
