#include "bench/compaction_styles/config.h"

#include <algorithm>
#include <map>

#include "bench/experiment/command_line.h"

namespace bench::styles {
namespace {

constexpr char kExamples[] = R"(Examples:
  compaction_styles --out /tmp/styles
  compaction_styles --keys 2000000 --flushes 1024
  compaction_styles --styles leveled,lazy-leveled --runs 8 --fpp 0.001)";

std::map<std::string, lsm::CompactionStyle> StylesByName() {
  std::map<std::string, lsm::CompactionStyle> styles;
  for (const lsm::CompactionStyle style : lsm::kCompactionStyles) styles[NameOf(style)] = style;
  return styles;
}

std::vector<lsm::CompactionStyle> StylesOf(const std::vector<std::string>& names) {
  const std::map<std::string, lsm::CompactionStyle> styles_by_name = StylesByName();
  std::vector<lsm::CompactionStyle> styles;
  for (const std::string& name : names) {
    const lsm::CompactionStyle style = styles_by_name.at(name);
    if (std::find(styles.begin(), styles.end(), style) == styles.end()) styles.push_back(style);
  }
  return styles;
}

}  // namespace

Parsed<Config> ParseCommandLine(int argc, char** argv) {
  Config config;
  std::vector<std::string> styles;
  for (const lsm::CompactionStyle style : config.styles) styles.emplace_back(NameOf(style));
  CommandLine line("compaction_styles",
                   "Measures write, read and space amplification of each compaction style.",
                   kExamples, &config);
  line.Group("The stores");
  line.AddList("--styles", &styles, "Compaction styles to compare")
      ->check(CLI::IsMember(StylesByName()));
  line.Add("--keys", &config.keys, "Keys of 16 bytes")->check(Between(1000, uint64_t{1} << 40));
  line.Add("--value-bytes", &config.value_bytes, "Bytes per value, half compressible")
      ->check(Between(0, uint64_t{1} << 20));
  line.Add("--runs", &config.runs, "Tables or runs at which a level is compacted into the next")
      ->check(Between(2, 100));
  line.Add("--flushes", &config.flushes, "Flushes that write all keys once")
      ->check(Between(2, uint64_t{1} << 20));
  line.Add("--filter-kind", &config.filter_kind, "Options::filter_kind")->type_name("NAME");
  line.Add("--fpp", &config.target_fpp, "Target false-positive probability")
      ->check(CLI::Range(0.000001, 0.5));
  line.Add("--goal-bits", &config.goal_bits,
           "Bits per key of the filter goal of each style's second store; 0: as many as the first "
           "store's filters took")
      ->check(CLI::Range(0.0, 64.0));
  line.AddFlag("--on-disk", &config.on_disk,
               "Keeps the stores in DIR/stores; otherwise they are in memory");
  line.Group("The work");
  line.Add("--overwrites", &config.overwrites, "Writes of random keys, as a multiple of the keys")
      ->check(CLI::Range(0.1, 1000.0));
  line.Add("--moments", &config.moments, "Moments at which lookups and sizes are measured")
      ->check(Between(1, uint64_t{1} << 20));
  line.Add("--lookups", &config.lookups, "Lookups of each kind at each moment")
      ->check(Between(1, uint64_t{1} << 30));
  line.AddRunOptions("keys, their order, and filters");
  const std::optional<int> exit_code = line.Parse(argc, argv, [&] {
    config.styles = StylesOf(styles);
    return std::string();
  });
  return {config, exit_code};
}

}  // namespace bench::styles
