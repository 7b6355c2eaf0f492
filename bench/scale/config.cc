#include "bench/scale/config.h"

#include <algorithm>

#include "bench/count.h"
#include "bench/experiment/command_line.h"

namespace bench::scale {
namespace {

constexpr uint64_t kMillion = 1000000;

constexpr char kExamples[] = R"(Examples:
  scale --out /tmp/scale
  scale --full --note 'nothing else ran'
  scale --sizes 100k,200k,500k --seconds 0.2)";

std::string CheckSize(const std::string& text) {
  const std::optional<uint64_t> keys = ParseCount(text);
  if (keys && *keys >= 1000 && *keys <= 1000000 * kMillion) return "";
  return text + " is not a number of keys from 1k to 1000000M";
}

std::vector<uint64_t> SizesOf(const std::vector<std::string>& texts, bool full) {
  std::vector<uint64_t> sizes;
  for (const std::string& text : texts) sizes.push_back(*ParseCount(text));
  if (sizes.empty()) {
    for (const uint64_t millions : {1, 2, 5, 10, 20, 50}) sizes.push_back(millions * kMillion);
    if (full) sizes.push_back(100 * kMillion);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace

Parsed<Config> ParseCommandLine(int argc, char** argv) {
  Config config;
  std::vector<std::string> sizes;
  bool full = false;
  CommandLine line("scale",
                   "Measures how a store's costs grow with its keys, and compares them with the "
                   "design's predictions.",
                   kExamples, &config);
  line.Group("The store");
  CLI::Option* const sizes_option =
      line.AddList("--sizes", &sizes, "Numbers of keys; k and M are thousands and millions")
          ->check(CheckSize)
          ->default_str("1M,2M,5M,10M,20M,50M");
  line.AddFlag("--full", &full, "Adds 100M to the default sizes")->excludes(sizes_option);
  line.Add("--value-bytes", &config.value_bytes, "Bytes per value, half compressible")
      ->check(Between(1, uint64_t{1} << 20));
  constexpr uint64_t kLeast = uint64_t{64} << 10;
  line.Add("--write-buffer", &config.write_buffer_bytes, "Options::write_buffer_bytes")
      ->check(Between(kLeast, uint64_t{4} << 30));
  line.Add("--level1-bytes", &config.level1_bytes, "Options::level1_bytes")
      ->check(Between(kLeast, uint64_t{1} << 40));
  line.Add("--table-bytes", &config.table_bytes, "Options::table_bytes")
      ->check(Between(kLeast, uint64_t{2} << 30));
  line.Add("--fpp", &config.target_fpp, "Target false-positive probability")
      ->check(CLI::Range(0.000001, 0.5));
  line.AddFlag("--keep", &config.keep, "Keeps the store in DIR/store; otherwise it is removed");
  line.Group("The work");
  line.Add("--seconds", &config.seconds, "Length of one measurement of lookups")
      ->check(CLI::Range(0.01, 3600.0));
  line.Add("--openings", &config.openings, "Openings of each kind at each size")
      ->check(Between(1, 1000));
  line.Add("--note", &config.note, "A remark to show under the report's conditions")
      ->type_name("TEXT");
  line.AddRunOptions("keys, lookups and filters");
  const std::optional<int> exit_code = line.Parse(argc, argv, [&] {
    config.sizes = SizesOf(sizes, full);
    return std::string();
  });
  return {config, exit_code};
}

}  // namespace bench::scale
