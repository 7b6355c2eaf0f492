#include "bench/scale/config.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/count.h"
#include "bench/report/command_line.h"
#include "bench/report/page.h"
#include "bench/seed_option.h"

namespace bench::scale {
namespace {

constexpr uint64_t kMillion = 1000000;

constexpr char kFooter[] = R"(Examples:
  scale --out /tmp/scale
  scale --full --note 'nothing else ran'
  scale --sizes 100k,200k,500k --seconds 0.2

Writes DIR/report.json and DIR/report.html; the store is in DIR/store while it runs, and is removed at the end; bench/README.md
explains every figure.  The first Ctrl-C ends it with what was measured until then.
Exit codes: 0 done, 1 failed (a wrong answer, an I/O error), 2 wrong usage, 130 interrupted.)";

std::string CheckSize(const std::string& text) {
  const std::optional<uint64_t> keys = ParseCount(text);
  if (keys && *keys >= 1000 && *keys <= 1000000 * kMillion) return "";
  return "is no number of keys from 1k to 1000000M: " + text;
}

template <typename Value>
CLI::Option* Add(CLI::App* app, const char* name, Value* value, const char* what,
                 const char* group) {
  return app->add_option(name, *value, what)->capture_default_str()->group(group);
}

void AddOptions(CLI::App* app, Config* config, std::vector<std::string>* sizes, bool* full) {
  constexpr char kStore[] = "The store", kWork[] = "The work", kWhere[] = "Where to";
  CLI::Option* of_sizes =
      app->add_option("--sizes", *sizes, "Numbers of keys, k and M for thousands and millions")
          ->check(CheckSize)
          ->delimiter(',')
          ->type_name("LIST")
          ->default_str("1M,2M,5M,10M,20M,50M")
          ->group(kStore);
  app->add_flag("--full", *full, "And 100M")->excludes(of_sizes)->group(kStore);
  Add(app, "--value-bytes", &config->value_bytes, "Bytes of each value, half compressible", kStore)
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
  constexpr uint64_t kLeast = uint64_t{64} << 10;
  Add(app, "--write-buffer", &config->write_buffer_bytes, "Options::write_buffer_bytes", kStore)
      ->check(CLI::Range(kLeast, uint64_t{4} << 30));
  Add(app, "--level1-bytes", &config->level1_bytes, "Options::level1_bytes", kStore)
      ->check(CLI::Range(kLeast, uint64_t{1} << 40));
  Add(app, "--table-bytes", &config->table_bytes, "Options::table_bytes", kStore)
      ->check(CLI::Range(kLeast, uint64_t{2} << 30));
  Add(app, "--fpp", &config->target_fpp, "Target false-positive probability", kStore)
      ->check(CLI::Range(0.000001, 0.5));
  Add(app, "--seconds", &config->seconds, "Length of one measurement of lookups", kWork)
      ->check(CLI::Range(0.01, 3600.0));
  Add(app, "--openings", &config->openings, "Openings of each kind at each size", kWork)
      ->check(CLI::Range(1, 1000));
  AddSeedOption(app, &config->seed, "Of keys, lookups and filters")->group(kWork);
  app->add_option("--note", config->note, "What else is to stand among the conditions")
      ->type_name("TEXT")
      ->group(kWhere);
  app->add_flag("--keep", config->keep, "The store stays, to look into")->group(kWhere);
  AddReportOptions(app, &config->out, &config->chart_js, kWhere);
}

}  // namespace

ParsedCommandLine ParseCommandLine(int argc, char** argv) {
  ParsedCommandLine result;
  Config& config = result.config;
  config.chart_js = SystemChartJs();
  config.command = CommandOf(argc, argv);
  CLI::App app("Measures how a store's costs grow with its keys, beside what the design predicts.",
               "scale");
  app.footer(kFooter);
  std::vector<std::string> sizes;
  bool full = false;
  AddOptions(&app, &config, &sizes, &full);
  result.exit_code = ParseOrExit(&app, argc, argv);
  if (result.exit_code) return result;
  for (const std::string& text : sizes) config.sizes.push_back(*ParseCount(text));
  if (sizes.empty()) {
    config.sizes = {kMillion,      2 * kMillion,  5 * kMillion,
                    10 * kMillion, 20 * kMillion, 50 * kMillion};
    if (full) config.sizes.push_back(100 * kMillion);
  }
  std::sort(config.sizes.begin(), config.sizes.end());
  config.sizes.erase(std::unique(config.sizes.begin(), config.sizes.end()), config.sizes.end());
  const std::string mistake =
      ResolveChartJs("scale", app.count("--chart-js") > 0, &config.chart_js);
  result.exit_code = ExitFor(mistake, app);
  return result;
}

}  // namespace bench::scale
