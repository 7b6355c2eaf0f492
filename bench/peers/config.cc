#include "bench/peers/config.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "bench/report/command_line.h"
#include "bench/report/page.h"
#include "bench/seed_option.h"

namespace bench::peers {
namespace {

const std::vector<std::string> kStates = {NameOf(State::kFilling), NameOf(State::kFresh),
                                          NameOf(State::kTables), NameOf(State::kCompacted),
                                          NameOf(State::kChanged)};
const std::vector<std::string> kCaches = {NameOf(Cache::kAll), NameOf(Cache::kTenth),
                                          NameOf(Cache::kDirect)};

constexpr char kFooter[] =
    "Without options it measures what has a goal, lookups of two threads, and cold ones; with "
    "--full everything;\n--sizes, --states, --caches, --threads and --workloads choose from "
    "everything.\n\n"
    "Examples\n"
    "  peers_bench --sizes 200k:100 --rounds 1\n"
    "  peers_bench --sizes 2M:100 --states fresh --workloads 'get present,get absent' --threads "
    "1,2";

// Of --full.
constexpr double kFullSeconds = 0.5;
constexpr uint64_t kSingleRoundBytes = 1000000000;

struct RawArguments {
  bool full = false;
  std::vector<std::string> sizes, states, caches, workloads;
  std::vector<int> threads;
};

void AddChoices(CLI::App* app, RawArguments* raw) {
  app->add_flag("--full", raw->full,
                "Everything; unless --seconds and --rounds say otherwise, lookups for half a "
                "second, and one round of what passes over all keys of a gigabyte or more")
      ->group("What is measured");
  app->add_option("--sizes", raw->sizes, "KEYS:VALUE_BYTES, k and M for thousands and millions")
      ->check([](const std::string& text) {
        return ParseDataSize(text) ? std::string() : "is no KEYS:VALUE_BYTES from 1k:0 on: " + text;
      })
      ->delimiter(',')
      ->type_name("LIST")
      ->group("What is measured");
  app->add_option("--states", raw->states, "filling, fresh, tables, compacted, changed")
      ->check(CLI::IsMember(kStates))
      ->delimiter(',')
      ->type_name("LIST")
      ->group("What is measured");
  app->add_option("--caches", raw->caches, "all, tenth (of the data), direct (none, direct I/O)")
      ->check(CLI::IsMember(kCaches))
      ->delimiter(',')
      ->type_name("LIST")
      ->group("What is measured");
  app->add_option("--threads", raw->threads, "1, 2")
      ->check(CLI::Range(1, 2))
      ->delimiter(',')
      ->type_name("LIST")
      ->group("What is measured");
  std::vector<std::string> names;
  for (const TaskInfo& task : kTasks) names.push_back(task.name);
  // Some names have a comma, so that a semicolon divides them.
  app->add_option("--workloads", raw->workloads, "By name, with ; between them")
      ->check(CLI::IsMember(names))
      ->delimiter(';')
      ->type_name("LIST")
      ->group("What is measured");
}

// Whether a list of choices, if there is one, has this.
template <typename Text>
bool Has(const std::vector<Text>& list, const Text& wanted) {
  return list.empty() || std::find(list.begin(), list.end(), wanted) != list.end();
}

std::vector<Cell> Choose(const RawArguments& raw) {
  std::vector<DataSize> sizes = {{2000000, 100}, {20000000, 100}, {1000000, 1024}};
  if (!raw.sizes.empty()) {
    sizes.clear();
    for (const std::string& text : raw.sizes) sizes.push_back(*ParseDataSize(text));
  }
  const bool by_default = !raw.full && raw.sizes.empty() && raw.states.empty() &&
                          raw.caches.empty() && raw.workloads.empty() && raw.threads.empty();
  std::vector<Cell> cells = AllCells(sizes);
  std::erase_if(cells, [&](const Cell& cell) {
    if (by_default) return !IsByDefault(cell);
    return !Has<std::string>(raw.states, NameOf(cell.state)) ||
           !Has<std::string>(raw.caches, NameOf(cell.cache)) || !Has(raw.threads, cell.threads) ||
           !Has<std::string>(raw.workloads, cell.task->name);
  });
  return cells;
}

}  // namespace

ParsedCommandLine ParseCommandLine(int argc, char** argv) {
  ParsedCommandLine result;
  ComparisonConfig& config = result.config;
  config.chart_js = SystemChartJs();
  config.command = CommandOf(argc, argv);
  CLI::App app("Runs the same work on Trellis, LevelDB and RocksDB.", "peers_bench");
  app.footer(kFooter);
  RawArguments raw;
  AddChoices(&app, &raw);
  result.stores = {"trellis", "leveldb", "rocksdb", "trellis-by-level"};
  app.add_option("--stores", result.stores, "The first is compared with the others")
      ->check(CLI::IsMember({"trellis", "leveldb", "rocksdb", "trellis-by-level"}))
      ->delimiter(',')
      ->type_name("LIST")
      ->capture_default_str()
      ->group("What is measured");
  app.add_option("--rounds", config.rounds, "Times that each measurement is repeated")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->group("How long");
  app.add_option("--seconds", config.seconds, "Length of one measurement of lookups")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str()
      ->group("How long");
  AddSeedOption(&app, &config.seed, "Of the order of writes and lookups")->group("How long");
  AddReportOptions(&app, &config.out, &config.chart_js, "Where to");
  result.exit_code = ParseOrExit(&app, argc, argv);
  if (result.exit_code) return result;
  config.cells = Choose(raw);
  // In hours it would be three rounds of nearly all; so it is a good hour, the same for all stores.
  if (raw.full && app.count("--seconds") == 0) config.seconds = kFullSeconds;
  if (raw.full && app.count("--rounds") == 0) config.single_round_bytes = kSingleRoundBytes;
  std::string mistake =
      ResolveChartJs("peers_bench", app.count("--chart-js") > 0, &config.chart_js);
  if (config.cells.empty()) mistake = "nothing is left of what could be measured";
  result.exit_code = ExitFor(mistake, app);
  return result;
}

}  // namespace bench::peers
