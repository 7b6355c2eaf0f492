#include "bench/peers/config.h"

#include <algorithm>

#include "bench/experiment/command_line.h"

namespace bench::peers {
namespace {

const std::vector<std::string> kStates = {NameOf(State::kFilling), NameOf(State::kFresh),
                                          NameOf(State::kTables), NameOf(State::kCompacted),
                                          NameOf(State::kChanged)};
const std::vector<std::string> kCaches = {NameOf(Cache::kAll), NameOf(Cache::kTenth),
                                          NameOf(Cache::kDirect)};

constexpr char kExamples[] =
    R"(Without options it measures what has a goal, lookups of two threads, cold lookups, and openings;
with --full everything.  --sizes, --states, --caches, --threads and --workloads choose from
everything.

Examples:
  peers_bench --sizes 200k:100 --rounds 1
  peers_bench --sizes 2M:100 --states fresh --workloads 'get present,get absent' --threads 1,2)";

// Defaults for --full.
constexpr double kFullSeconds = 0.5;
constexpr uint64_t kSingleRoundBytes = 1000000000;

struct RawArguments {
  bool full = false;
  std::vector<std::string> sizes, states, caches, workloads;
  std::vector<int> threads;
};

std::string CheckSize(const std::string& text) {
  return ParseDataSize(text) ? "" : text + " is not KEYS:VALUE_BYTES with at least 1k keys";
}

void AddChoices(CommandLine* line, RawArguments* raw) {
  line->AddFlag(
      "--full", &raw->full,
      "All measurements.  Unless --seconds and --rounds are given, lookups take half a second, and "
      "tasks that visit all keys have one round if the data is a gigabyte or more");
  line->AddList("--sizes", &raw->sizes, "KEYS:VALUE_BYTES; k and M are thousands and millions")
      ->check(CheckSize);
  line->AddList("--states", &raw->states, "filling, fresh, tables, compacted, changed")
      ->check(CLI::IsMember(kStates));
  line->AddList("--caches", &raw->caches, "all, tenth (of the data), direct (none, direct I/O)")
      ->check(CLI::IsMember(kCaches));
  line->AddList("--threads", &raw->threads, "1, 2")->check(CLI::Range(1, 2));
  std::vector<std::string> names;
  for (const TaskInfo& task : kTasks) names.push_back(task.name);
  for (const DeletionInfo& deletion : kDeletions) names.push_back(deletion.name);
  // Some names contain a comma.
  line->AddList("--workloads", &raw->workloads, "Names, separated by semicolons")
      ->check(CLI::IsMember(names))
      ->delimiter(';');
}

// True if the list is absent or contains the choice.
template <typename Text>
bool Has(const std::vector<Text>& list, const Text& wanted) {
  return list.empty() || std::find(list.begin(), list.end(), wanted) != list.end();
}

// --sizes and the other options of cells leave these out, unless they are named.
std::vector<const DeletionInfo*> ChooseDeletions(const RawArguments& raw) {
  std::vector<const DeletionInfo*> chosen;
  const bool all_cells =
      raw.sizes.empty() && raw.states.empty() && raw.caches.empty() && raw.threads.empty();
  for (const DeletionInfo& deletion : kDeletions) {
    const bool is_wanted = raw.workloads.empty() ? all_cells && (raw.full || deletion.is_by_default)
                                                 : Has<std::string>(raw.workloads, deletion.name);
    if (is_wanted) chosen.push_back(&deletion);
  }
  return chosen;
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

Parsed<ComparisonConfig> ParseCommandLine(int argc, char** argv) {
  ComparisonConfig config;
  config.stores = {"trellis", "leveldb", "rocksdb", "trellis-by-level"};
  RawArguments raw;
  CommandLine line("peers_bench", "Runs the same work on Trellis, LevelDB and RocksDB.", kExamples,
                   &config);
  config.out = "peers_out";
  line.Group("Measurements");
  AddChoices(&line, &raw);
  line.AddList("--stores", &config.stores, "Stores; the first is compared with the others")
      ->check(CLI::IsMember({"trellis", "leveldb", "rocksdb", "trellis-by-level"}));
  line.Group("The work");
  line.Add("--rounds", &config.rounds, "Repetitions of each measurement")->check(Between(1, 1000));
  line.Add("--seconds", &config.seconds, "Length of one measurement of lookups")
      ->check(CLI::Range(0.01, 3600.0));
  line.Add("--delete-keys", &config.deletion.keys,
           "Keys of workloads that delete (bench/README.md)")
      ->check(Between(16, 100'000'000));
  line.Add("--idle", &config.deletion.idle_seconds,
           "Seconds that a store stays idle after deletes of everything")
      ->check(CLI::Range(0.0, 3600.0));
  line.AddRunOptions("the order of writes and lookups");
  const std::optional<int> exit_code = line.Parse(argc, argv, [&]() -> std::string {
    config.cells = Choose(raw);
    config.deletions = ChooseDeletions(raw);
    // Three rounds of nearly everything would take hours; this takes about one for all stores.
    if (raw.full && !line.Has("--seconds")) config.seconds = kFullSeconds;
    if (raw.full && !line.Has("--rounds")) config.single_round_bytes = kSingleRoundBytes;
    if (!config.cells.empty() || !config.deletions.empty()) return "";
    return "--states, --caches, --threads, --workloads: no measurement matches all of them";
  });
  return {config, exit_code};
}

}  // namespace bench::peers
