#include "bench/level_filters/config.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/report/page.h"
#include "bench/seed_option.h"

namespace bench::level_filters {

ParsedCommandLine ParseCommandLine(int argc, char** argv) {
  ParsedCommandLine result;
  Config& config = result.config;
  config.chart_js = SystemChartJs();
  for (int i = 0; i < argc; ++i) config.command += (i == 0 ? "" : " ") + std::string(argv[i]);

  CLI::App app(
      "Measures what it is worth to spread filter memory over the levels of a store: reads in "
      "vain at the same memory.",
      "level_filters");
  app.add_option("--keys", config.keys, "Keys that each store holds, made up")
      ->check(CLI::Range(uint64_t{10'000}, uint64_t{1} << 32))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--value-bytes", config.value_bytes, "Bytes of each value")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 20))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--bits", config.bits_per_key, "Bits a key that the filters may take")
      ->check(CLI::Range(1.0, 32.0))
      ->type_name("BITS")
      ->capture_default_str();
  app.add_option("--absent", config.absent_lookups, "Absent keys to ask each store for")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1} << 40))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--bottom", config.bottom_lookups, "Keys of the deepest level to ask for, at most")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1} << 32))
      ->type_name("N")
      ->capture_default_str();
  AddSeedOption(&app, &config.seed, "Of keys, questions and filters (not of RocksDB's)");
  app.add_option("--out", config.out, "Directory for the reports and stores")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--chart-js", config.chart_js, "Chart.js to inline; empty: no plots")
      ->type_name("FILE")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    result.exit_code = app.exit(error) == 0 ? 0 : 2;
    return result;
  }
  const std::string mistake =
      ResolveChartJs("level_filters", app.count("--chart-js") > 0, &config.chart_js);
  if (!mistake.empty()) {
    std::fprintf(stderr, "level_filters: %s\nRun with --help for more information.\n",
                 mistake.c_str());
    result.exit_code = 2;
  }
  return result;
}

}  // namespace bench::level_filters
