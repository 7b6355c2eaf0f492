#include "bench/read_amp/config.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "bench/report/command_line.h"
#include "bench/report/page.h"
#include "bench/seed_option.h"

namespace bench {
namespace {

constexpr char kFooter[] = R"(Examples:
  read_amp --synthetic 1000000 --out /tmp/read_amp
  read_amp --keys words.txt --absent-keys other_words.txt --fpp 0.02,0.005
  read_amp --synthetic 200000 --filters blocked --caches none --rounds 5

Without --absent-keys a fifth of the keys, drawn at random, is left out of the stores and asked for as
absent.  Writes DIR/report.json, DIR/report.html and the stores DIR/stores/*; bench/README.md explains
every column.  Exit codes: 0 done, 1 failed (a wrong answer, an I/O error), 2 wrong usage, 130 interrupted.)";

const std::map<std::string, CacheSize> kCacheNames = {
    {"fits", CacheSize::kFits}, {"tenth", CacheSize::kTenth}, {"none", CacheSize::kNone}};
const std::map<std::string, Workload> kWorkloadNames = {
    {"present", Workload::kPresent}, {"absent", Workload::kAbsent}, {"mixed", Workload::kMixed}};

struct RawArguments {
  std::vector<std::string> caches = {"fits", "tenth", "none"};
  std::vector<std::string> workloads = {"absent", "mixed", "present"};
};

void AddKeyOptions(CLI::App* app, Config* config) {
  auto* files = app->add_option("--keys", config->key_files,
                                "Files with the keys to store, a key a line (may be repeated)")
                    ->check(CLI::ExistingFile)
                    ->type_name("FILE")
                    ->group("Keys");
  app->add_option("--absent-keys", config->absent_key_files,
                  "Files with keys to ask for that are not stored; those that are, and those that "
                  "lie outside of the stored range, are left out and counted")
      ->check(CLI::ExistingFile)
      ->type_name("FILE")
      ->needs(files)
      ->group("Keys");
  app->add_option("--synthetic", config->synthetic, "Make up this many keys of 16 bytes instead")
      ->check(CLI::Range(uint64_t{100}, uint64_t{1} << 40))
      ->type_name("N")
      ->excludes(files)
      ->group("Keys");
  app->add_option("--value-bytes", config->value_bytes, "Bytes of each value, half compressible")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 20))
      ->type_name("N")
      ->capture_default_str()
      ->group("Keys");
}

void AddComparisonOptions(CLI::App* app, Config* config, RawArguments* raw) {
  app->add_option("--filters", config->filters, "Kinds to compare with a store without filters")
      ->check(CLI::IsMember({"none", "standard", "blocked"}))
      ->delimiter(',')
      ->type_name("LIST")
      ->capture_default_str()
      ->group("What is compared");
  app->add_option("--fpp", config->target_fpps, "Target false-positive probabilities")
      ->check(CLI::Range(0.000001, 0.5))
      ->delimiter(',')
      ->type_name("LIST")
      ->capture_default_str()
      ->group("What is compared");
  app->add_option("--caches", raw->caches, "Block caches: fits, tenth (of the data), none")
      ->check(CLI::IsMember(kCacheNames))
      ->delimiter(',')
      ->type_name("LIST")
      ->capture_default_str()
      ->group("What is compared");
  app->add_option("--workloads", raw->workloads, "Keys to ask for: present, absent, mixed")
      ->check(CLI::IsMember(kWorkloadNames))
      ->delimiter(',')
      ->type_name("LIST")
      ->capture_default_str()
      ->group("What is compared");
  app->add_option("--mix", config->mix, "Share of present keys in the mixed workload")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("SHARE")
      ->capture_default_str()
      ->group("What is compared");
}

void AddRunOptions(CLI::App* app, Config* config) {
  app->add_option("--rounds", config->rounds, "Times that each measurement is repeated")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->capture_default_str()
      ->group("How long");
  auto* seconds = app->add_option("--seconds", config->seconds, "Length of one measurement")
                      ->check(CLI::Range(0.01, 3600.0))
                      ->type_name("S")
                      ->capture_default_str()
                      ->group("How long");
  app->add_option("--lookups", config->lookups, "Lookups of one measurement, instead of --seconds")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40))
      ->type_name("N")
      ->excludes(seconds)
      ->group("How long");
  AddSeedOption(app, &config->seed, "Of keys, questions and filters; times never repeat")
      ->group("How long");

  AddReportOptions(app, &config->out, &config->chart_js, "Where to");
}

// A mistake, or an empty string.
std::string Resolve(const RawArguments& raw, const CLI::App& app, Config* config) {
  if (config->key_files.empty() && config->synthetic == 0) {
    return "give --keys FILE or --synthetic N";
  }
  config->caches.clear();
  for (const std::string& name : raw.caches) config->caches.push_back(kCacheNames.at(name));
  config->workloads.clear();
  for (const std::string& name : raw.workloads) {
    config->workloads.push_back(kWorkloadNames.at(name));
  }
  const auto unique = [](auto* list) {
    auto end = list->end();
    for (auto it = list->begin(); it != end; ++it) end = std::remove(std::next(it), end, *it);
    list->erase(end, list->end());
  };
  unique(&config->caches);
  unique(&config->workloads);
  unique(&config->filters);
  std::erase(config->filters, "none");  // is always there
  std::sort(config->target_fpps.rbegin(), config->target_fpps.rend());
  unique(&config->target_fpps);
  return ResolveChartJs("read_amp", app.count("--chart-js") > 0, &config->chart_js);
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

ParsedCommandLine ParseCommandLine(int argc, char** argv) {
  ParsedCommandLine result;
  Config& config = result.config;
  config.chart_js = SystemChartJs();
  config.command = CommandOf(argc, argv);

  CLI::App app(
      "Measures what the filters of a Trellis store do to point lookups: reads avoided, "
      "latency, memory.",
      "read_amp");
  app.footer(kFooter);
  RawArguments raw;
  AddKeyOptions(&app, &config);
  AddComparisonOptions(&app, &config, &raw);
  AddRunOptions(&app, &config);
  result.exit_code = ParseOrExit(&app, argc, argv);
  if (result.exit_code) return result;
  const std::string mistake = Resolve(raw, app, &config);
  result.exit_code = ExitFor(mistake, app);
  return result;
}

}  // namespace bench
