#include "bench/read_amp/config.h"

#include <algorithm>
#include <map>

#include "bench/experiment/command_line.h"

namespace bench {
namespace {

constexpr char kExamples[] = R"(Examples:
  read_amp --synthetic 1000000 --out /tmp/read_amp
  read_amp --keys words.txt --absent-keys other_words.txt --fpp 0.02,0.005
  read_amp --synthetic 200000 --filters blocked --caches none --rounds 5

Without --absent-keys, a random fifth of the keys is not stored and serves as the absent keys.
The stores are in DIR/stores.)";

const std::map<std::string, CacheSize> kCacheNames = {
    {"fits", CacheSize::kFits}, {"tenth", CacheSize::kTenth}, {"none", CacheSize::kNone}};
const std::map<std::string, Workload> kWorkloadNames = {
    {"present", Workload::kPresent}, {"absent", Workload::kAbsent}, {"mixed", Workload::kMixed}};

struct RawArguments {
  std::vector<std::string> caches = {"fits", "tenth", "none"};
  std::vector<std::string> workloads = {"absent", "mixed", "present"};
};

void AddOptions(CommandLine* line, Config* config, RawArguments* raw) {
  line->Group("Keys");
  CLI::Option* const files =
      line->Add("--keys", &config->key_files,
                "Files with the keys to store, one key per line (may be repeated)")
          ->check(CLI::ExistingFile)
          ->type_name("FILE");
  line->Add("--absent-keys", &config->absent_key_files,
            "Files with absent keys to look up; stored keys and keys outside the stored range are "
            "left out and counted")
      ->check(CLI::ExistingFile)
      ->type_name("FILE")
      ->needs(files);
  line->Add("--synthetic", &config->synthetic, "Generate this many keys of 16 bytes instead")
      ->check(Between(100, uint64_t{1} << 40))
      ->type_name("N")
      ->excludes(files)
      ->default_str("");
  line->Add("--value-bytes", &config->value_bytes, "Bytes per value, half compressible")
      ->check(Between(0, uint64_t{1} << 20));
  line->Group("Comparison");
  line->AddList("--filters", &config->filters,
                "Filter kinds to compare with a store without filters")
      ->check(CLI::IsMember({"none", "standard", "blocked"}));
  line->AddList("--fpp", &config->target_fpps, "Target false-positive probabilities")
      ->check(CLI::Range(0.000001, 0.5));
  line->AddList("--caches", &raw->caches, "Block caches: fits, tenth (of the data), none")
      ->check(CLI::IsMember(kCacheNames));
  line->AddList("--workloads", &raw->workloads, "Keys to look up: present, absent, mixed")
      ->check(CLI::IsMember(kWorkloadNames));
  line->Add("--mix", &config->mix, "Share of present keys in the mixed workload")
      ->check(CLI::Range(0.0, 1.0));
  line->Group("The work");
  line->Add("--rounds", &config->rounds, "Repetitions of each measurement")
      ->check(Between(1, 1000));
  CLI::Option* const seconds = line->Add("--seconds", &config->seconds, "Length of one measurement")
                                   ->check(CLI::Range(0.01, 3600.0));
  line->Add("--lookups", &config->lookups, "Lookups per measurement, instead of --seconds")
      ->check(Between(1, uint64_t{1} << 40))
      ->type_name("N")
      ->excludes(seconds)
      ->default_str("");
  line->AddRunOptions("keys, lookups and filters; times never repeat");
}

// Removes repetitions; keeps each value's first place.
template <typename Value>
void MakeUnique(std::vector<Value>* list) {
  auto end = list->end();
  for (auto it = list->begin(); it != end; ++it) end = std::remove(std::next(it), end, *it);
  list->erase(end, list->end());
}

// Returns an error message, or an empty string.
std::string Resolve(const RawArguments& raw, Config* config) {
  if (config->key_files.empty() && config->synthetic == 0)
    return "--keys FILE or --synthetic N is required";
  config->caches.clear();
  for (const std::string& name : raw.caches) config->caches.push_back(kCacheNames.at(name));
  config->workloads.clear();
  for (const std::string& name : raw.workloads)
    config->workloads.push_back(kWorkloadNames.at(name));
  MakeUnique(&config->caches);
  MakeUnique(&config->workloads);
  MakeUnique(&config->filters);
  std::erase(config->filters, "none");  // it is always in the comparison
  std::sort(config->target_fpps.rbegin(), config->target_fpps.rend());
  MakeUnique(&config->target_fpps);
  return "";
}

}  // namespace

const char* NameOf(CacheSize cache) {
  switch (cache) {
    case CacheSize::kFits:
      return "fits";
    case CacheSize::kTenth:
      return "tenth";
    case CacheSize::kNone:
      return "none";
  }
  return "?";
}

Parsed<Config> ParseCommandLine(int argc, char** argv) {
  Config config;
  RawArguments raw;
  CommandLine line("read_amp",
                   "Measures the effect of a Trellis store's filters on point lookups: reads "
                   "avoided, latency, memory.",
                   kExamples, &config);
  AddOptions(&line, &config, &raw);
  const std::optional<int> exit_code =
      line.Parse(argc, argv, [&] { return Resolve(raw, &config); });
  return {config, exit_code};
}

}  // namespace bench
