#include "bench/level_filters/config.h"

#include <CLI/CLI.hpp>

#include "bench/report/command_line.h"
#include "bench/report/page.h"
#include "bench/seed_option.h"

namespace bench::level_filters {

ParsedCommandLine ParseCommandLine(int argc, char** argv) {
  ParsedCommandLine result;
  Config& config = result.config;
  config.chart_js = SystemChartJs();
  config.command = CommandOf(argc, argv);

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
  app.add_option("--skewed", config.skewed_lookups,
                 "Absent keys to ask for, unevenly, in each round of the stores that learn")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1} << 40))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--rounds", config.rounds,
                 "Rounds of lookups of such keys, after each of which 5 % of the keys are written")
      ->check(CLI::Range(uint64_t{4}, uint64_t{1000}))
      ->type_name("N")
      ->capture_default_str();
  AddSeedOption(&app, &config.seed, "Of keys, questions and filters (not of RocksDB's)");
  AddReportOptions(&app, &config.out, &config.chart_js);
  result.exit_code = ParseOrExit(&app, argc, argv);
  if (result.exit_code) return result;
  const std::string mistake =
      ResolveChartJs("level_filters", app.count("--chart-js") > 0, &config.chart_js);
  result.exit_code = ExitFor(mistake, app);
  return result;
}

}  // namespace bench::level_filters
