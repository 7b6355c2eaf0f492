#include "tests/reliability/jobs/model.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "tests/reliability/jobs/episode.h"
#include "tests/reliability/workload/actions.h"
#include "tests/reliability/workload/under_way.h"

namespace reliability {
namespace {

using lsm::Concat;

constexpr size_t kEpisodeActions = 20'000;
constexpr size_t kReductionEffortMax = 600'000;

// The frequency of each action among about ten thousand.  Cheap actions are the most frequent.
ActionWeights UsualWeights() {
  ActionWeights weights = {};
  weights[Action::kPut] = 2600;
  weights[Action::kDelete] = 700;
  weights[Action::kBatch] = 250;
  weights[Action::kGet] = 4300;
  weights[Action::kMultiGet] = 100;
  weights[Action::kExplain] = 20;
  weights[Action::kStatistics] = 3;
  weights[Action::kSnapshot] = 100;
  weights[Action::kNewIterator] = 200;
  weights[Action::kWalk] = 1300;
  weights[Action::kScan] = 1;
  weights[Action::kBackgroundJob] = 100;
  weights[Action::kBackground] = 8;
  weights[Action::kFlush] = 6;
  weights[Action::kCompact] = 3;
  weights[Action::kReopen] = 3;
  weights[Action::kKill] = 2;
  weights[Action::kCrash] = 2;
  weights[Action::kDisturb] = 2;
  weights[Action::kFullDisk] = 8;
  return weights;
}

EpisodeSettings SettingsOf(uint64_t seed) {
  Draws draws(seed);
  EpisodeSettings settings;
  settings.options = AnyOptions(draws);
  if (draws.OneIn(2)) settings.options.log_directory = "/logs";
  settings.keys = draws.Of({40, 600, 5000, 5000, 5000});
  settings.small_bytes = draws.Of({12, 60, 60, 200, 600});
  settings.large_bytes = draws.Of({1000, 6000});
  settings.weights = UsualWeights();
  // Actions that one episode never makes are more frequent in another.
  for (size_t kind = Action::kSnapshot; kind < Action::kWindow; ++kind)
    settings.weights[kind] *= draws.Of({0u, 1u, 1u, 3u});
  if (draws.OneIn(4)) settings.options.filter_hash = bloom::DigestHash::kSipHash;
  if (draws.OneIn(4)) settings.keyspace = "apart";
  return settings;
}

// With windows.  Episodes of the same seed without them stay as they are.
EpisodeSettings WithWindows(uint64_t seed, EpisodeSettings settings) {
  Draws draws(seed + 1);
  settings.keys = draws.Of({300, 600, 600, 2000});
  settings.weights[Action::kWindow] = draws.Of({60, 200});
  settings.weights[Action::kDelete] *= draws.Of({1, 3});
  settings.weights[Action::kGet] /= 8;
  settings.weights[Action::kSnapshot] += 50;
  settings.weights[Action::kNewIterator] += 600;
  settings.weights[Action::kWalk] += 600;
  return settings;
}

// With range deletes, many of them in some episodes.  Wide ones delete much, so that keys must be
// put faster than usual to fill several levels.
EpisodeSettings WithRanges(uint64_t seed, EpisodeSettings settings) {
  Draws draws(seed + 2);
  settings.keys = draws.Of({40, 600, 2000, 5000});
  settings.small_bytes = draws.Of({60, 200, 600, 600});
  settings.weights[Action::kPut] *= 2;
  settings.weights[Action::kDelete] /= 2;
  settings.weights[Action::kDeleteRange] = draws.Of({15, 40, 150, 600});
  settings.weights[Action::kRangeBatch] = draws.Of({5, 20, 60});
  settings.weights[Action::kGet] /= 4;
  settings.weights[Action::kSnapshot] += 30;
  settings.weights[Action::kNewIterator] += 300;
  settings.weights[Action::kWalk] += 300;
  settings.weights[Action::kFlush] *= 4;
  return settings;
}

std::string TextOf(const EpisodeSettings& settings) {
  return Concat(reliability::TextOf(settings.options), ", logs ",
                settings.options.log_directory.empty() ? "with the tables" : "apart", "; ",
                settings.keys, " keys, values up to ", settings.small_bytes, " and ",
                settings.large_bytes, " bytes, in keyspace ", settings.keyspace);
}

}  // namespace

void ModelReport::Count(const lsm::Statistics& statistics) {
  dead_entries += statistics.dead_entries_walked;
  gap_jumps += statistics.gap_jumps;
  range_jumps += statistics.range_jumps;
  range_ends += statistics.lookups_ended_in_range;
  drops += statistics.tables_dropped_unread;
  denials_checked += statistics.filter_denials_checked;
  flushes += statistics.flushes;
  compactions += statistics.compactions;
  compactions_at_once = std::max(compactions_at_once, statistics.compactions_at_once);
  for (uint64_t level = 0; level < lsm::kLevels; ++level) {
    if (statistics.levels[level].tables > 0) deepest_level = std::max(deepest_level, level);
  }
}

namespace {

// Changes the settings that a seed has in CheckAgainstMap.
using Variant = EpisodeSettings (*)(uint64_t seed, EpisodeSettings settings);

ModelReport Check(uint64_t seed, uint64_t operations, Variant variant) {
  ModelReport report;
  for (; report.operations < operations && report.finding.empty(); ++seed) {
    SayUnderWay(Concat("the episode of seed ", seed, " (as amount, ", report.operations + 1, ")"));
    const EpisodeSettings settings = SettingsOf(seed);
    const Script script(seed, variant == nullptr ? settings : variant(seed, settings));
    const std::vector<Action> actions = MakeActions(seed, script.settings.weights, kEpisodeActions);
    ++report.episodes;
    const std::optional<size_t> failed_at = RunEpisode(script, actions, &report, nullptr).failed_at;
    if (!failed_at) continue;
    report.finding =
        Concat("seed ", seed, ", ",
               FindingOf(actions, *failed_at, TextOf(script.settings), kReductionEffortMax,
                         [&](const std::vector<Action>& some, std::vector<std::string>* words) {
                           ModelReport unused;
                           return RunEpisode(script, some, &unused, words);
                         }));
  }
  return report;
}

}  // namespace

ModelReport CheckAgainstMap(uint64_t seed, uint64_t operations) {
  return Check(seed, operations, /*variant=*/nullptr);
}

ModelReport CheckDeletes(uint64_t seed, uint64_t operations) {
  return Check(seed, operations, WithWindows);
}

ModelReport CheckRangeDeletes(uint64_t seed, uint64_t operations) {
  return Check(seed, operations, WithRanges);
}

}  // namespace reliability
