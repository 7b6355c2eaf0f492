#include "bench/level_filters/config.h"

#include "bench/experiment/command_line.h"

namespace bench::level_filters {
namespace {

constexpr char kExamples[] = R"(Examples:
  level_filters --out /tmp/level_filters
  level_filters --keys 500000 --skewed 50000 --bits 8)";

}  // namespace

Parsed<Config> ParseCommandLine(int argc, char** argv) {
  Config config;
  CommandLine line("level_filters",
                   "Measures the wasted reads of stores whose filters take the same memory, spread "
                   "over the levels in different ways.",
                   kExamples, &config);
  line.Group("The stores");
  line.Add("--keys", &config.keys, "Generated keys in each store")
      ->check(Between(10'000, uint64_t{1} << 32));
  line.Add("--value-bytes", &config.value_bytes, "Bytes per value")
      ->check(Between(0, uint64_t{1} << 20));
  line.Add("--bits", &config.bits_per_key, "Filter memory, bits per key")
      ->check(CLI::Range(1.0, 32.0));
  line.Group("The lookups");
  line.Add("--absent", &config.absent_lookups, "Lookups of absent keys in each store")
      ->check(Between(1000, uint64_t{1} << 40));
  line.Add("--bottom", &config.bottom_lookups, "Lookups of keys in the deepest level, at most")
      ->check(Between(1000, uint64_t{1} << 32));
  line.Add("--skewed", &config.skewed_lookups,
           "Skewed lookups of absent keys in each round of the stores that learn")
      ->check(Between(1000, uint64_t{1} << 40));
  line.Add("--rounds", &config.rounds,
           "Rounds of skewed lookups; 5 % of the keys are written after each")
      ->check(Between(4, 1000));
  line.AddRunOptions("keys, lookups and filters (except RocksDB's)");
  const std::optional<int> exit_code = line.Parse(argc, argv);
  return {config, exit_code};
}

}  // namespace bench::level_filters
