#include "bench/compaction_styles/config.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "bench/report/command_line.h"
#include "bench/report/page.h"
#include "bench/seed_option.h"

namespace bench::styles {
namespace {

constexpr char kFooter[] = R"(Examples:
  compaction_styles --out /tmp/styles
  compaction_styles --keys 2000000 --flushes 1024
  compaction_styles --styles leveled,lazy-leveled --runs 8 --fpp 0.001

Writes DIR/report.json and DIR/report.html, with --on-disk also the stores DIR/stores/*; bench/README.md explains every column.
Exit codes: 0 done, 1 failed (a wrong answer, an I/O error), 2 wrong usage, 130 interrupted.)";

const std::map<std::string, lsm::CompactionStyle> kStyleNames = {
    {"leveled", lsm::CompactionStyle::kLeveled},
    {"tiered", lsm::CompactionStyle::kTiered},
    {"lazy-leveled", lsm::CompactionStyle::kLazyLeveled}};

template <typename Value>
CLI::Option* Add(CLI::App* app, const char* name, Value* value, const char* what,
                 const char* group) {
  return app->add_option(name, *value, what)->capture_default_str()->group(group);
}

void AddOptions(CLI::App* app, Config* config, std::vector<std::string>* styles) {
  constexpr char kStore[] = "The stores", kWork[] = "The work", kWhere[] = "Where to";
  Add(app, "--styles", styles, "Styles of compaction to compare", kStore)
      ->check(CLI::IsMember(kStyleNames))
      ->delimiter(',')
      ->type_name("LIST");
  Add(app, "--keys", &config->keys, "Keys of 16 bytes", kStore)
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1} << 40));
  Add(app, "--value-bytes", &config->value_bytes, "Bytes of each value, half compressible", kStore)
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 20));
  Add(app, "--runs", &config->runs, "Tables or runs at which a level goes down", kStore)
      ->check(CLI::Range(2, 100));
  Add(app, "--flushes", &config->flushes, "Flushes that all keys together take", kStore)
      ->check(CLI::Range(uint64_t{2}, uint64_t{1} << 20));
  Add(app, "--filter-kind", &config->filter_kind, "Options::filter_kind", kStore)
      ->type_name("NAME");
  Add(app, "--fpp", &config->target_fpp, "Target false-positive probability", kStore)
      ->check(CLI::Range(0.000001, 0.5));
  Add(app, "--goal-bits", &config->goal_bits,
      "Bits a key of the filter goal of each style's second store; 0: as the first store takes",
      kStore)
      ->check(CLI::Range(0.0, 64.0));
  Add(app, "--overwrites", &config->overwrites, "Writes of random keys, times the number of keys",
      kWork)
      ->check(CLI::Range(0.1, 1000.0));
  Add(app, "--moments", &config->moments, "Moments at which lookups and sizes are measured", kWork)
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
  Add(app, "--lookups", &config->lookups, "Lookups of each kind at each moment", kWork)
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 30));
  AddSeedOption(app, &config->seed, "Of keys, their order and filters")->group(kWork);
  app->add_flag("--on-disk", config->on_disk,
                "The stores in DIR/stores, to look into; else they are in memory")
      ->group(kWhere);
  AddReportOptions(app, &config->out, &config->chart_js, kWhere);
}

}  // namespace

ParsedCommandLine ParseCommandLine(int argc, char** argv) {
  ParsedCommandLine result;
  Config& config = result.config;
  config.chart_js = SystemChartJs();
  config.command = CommandOf(argc, argv);
  CLI::App app("Measures what each style of compaction writes, reads and takes.",
               "compaction_styles");
  app.footer(kFooter);
  std::vector<std::string> styles;
  for (const lsm::CompactionStyle style : config.styles) styles.emplace_back(NameOf(style));
  AddOptions(&app, &config, &styles);
  result.exit_code = ParseOrExit(&app, argc, argv);
  if (result.exit_code) return result;
  config.styles.clear();
  for (const std::string& name : styles) {
    const lsm::CompactionStyle style = kStyleNames.at(name);
    if (std::find(config.styles.begin(), config.styles.end(), style) == config.styles.end())
      config.styles.push_back(style);
  }
  const std::string mistake =
      ResolveChartJs("compaction_styles", app.count("--chart-js") > 0, &config.chart_js);
  result.exit_code = ExitFor(mistake, app);
  return result;
}

}  // namespace bench::styles
