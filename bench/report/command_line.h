// What the command lines of all programs have in common that write a report.
#ifndef TRELLIS_BENCH_REPORT_COMMAND_LINE_H_
#define TRELLIS_BENCH_REPORT_COMMAND_LINE_H_

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>

namespace bench {

// As it was typed, for the report.
inline std::string CommandOf(int argc, char** argv) {
  std::string command;
  for (int i = 0; i < argc; ++i) command += (i == 0 ? "" : " ") + std::string(argv[i]);
  return command;
}

// --out and --chart-js.  `group`: under which --help lists them; empty: with the others.
inline void AddReportOptions(CLI::App* app, std::string* out, std::string* chart_js,
                             const std::string& group = "Options") {
  app->add_option("--out", *out, "Directory for the reports and stores")
      ->type_name("DIR")
      ->capture_default_str()
      ->group(group);
  app->add_option("--chart-js", *chart_js, "Chart.js to inline; empty: no plots")
      ->type_name("FILE")
      ->capture_default_str()
      ->group(group);
}

// The code to exit with: 0 after --help, 2 after a mistake, which has been explained on stderr; or
// nothing.
inline std::optional<int> ParseOrExit(CLI::App* app, int argc, char** argv) {
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app->exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

// The same of a mistake that the options do not see by themselves; empty: there is none.
inline std::optional<int> ExitFor(const std::string& mistake, const CLI::App& app) {
  if (mistake.empty()) return std::nullopt;
  std::fprintf(stderr, "%s: %s\nRun with --help for more information.\n", app.get_name().c_str(),
               mistake.c_str());
  return 2;
}

}  // namespace bench

#endif  // TRELLIS_BENCH_REPORT_COMMAND_LINE_H_
