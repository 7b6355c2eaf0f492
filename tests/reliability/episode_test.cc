// Cases that the job `model` leaves out: stores with their own threads, overlapping compactions,
// and options at their limits.
#include "tests/reliability/jobs/episode.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "lsm/options.h"
#include "tests/reliability/jobs/model.h"
#include "tests/reliability/workload/actions.h"
#include "tests/support/sanitized.h"

namespace reliability {
namespace {

constexpr size_t kActions = testing_support::kIsSanitized ? 4000 : 8000;

ActionWeights Weights() {
  ActionWeights weights = {};
  weights[Action::kPut] = 300;
  weights[Action::kDelete] = 100;
  weights[Action::kBatch] = 50;
  weights[Action::kGet] = 250;
  weights[Action::kMultiGet] = 20;
  weights[Action::kSnapshot] = 15;
  weights[Action::kNewIterator] = 80;
  weights[Action::kWalk] = 155;
  weights[Action::kBackground] = 4;
  weights[Action::kFlush] = 15;
  weights[Action::kCompact] = 8;
  weights[Action::kReopen] = 3;
  return weights;
}

EpisodeSettings SettingsOf(uint64_t seed) {
  Draws draws(seed);
  EpisodeSettings settings;
  settings.options = AnyOptions(draws);
  settings.keys = 2000;
  settings.small_bytes = 400;
  settings.large_bytes = 9000;
  settings.weights = Weights();
  settings.has_threads = true;
  return settings;
}

// The store agrees with a map.
void Compare(uint64_t seed, const EpisodeSettings& settings, ModelReport* report) {
  const Script script(seed, settings);
  const std::vector<Action> actions = MakeActions(seed, settings.weights, kActions);
  const Outcome outcome = RunEpisode(script, actions, report, nullptr);
  if (outcome.failed_at)
    ADD_FAILURE() << "seed " << seed << ", operation " << *outcome.failed_at << ": "
                  << outcome.problem;
}

TEST(EpisodeTest, AgreesOnThreads) {
  ModelReport report;
  for (uint64_t seed = 1; seed <= 8 && !HasFailure(); ++seed)
    Compare(seed, SettingsOf(seed), &report);
  EXPECT_GT(report.flushes, 160u);
  EXPECT_GT(report.compactions, 160u);
  EXPECT_GE(report.deepest_level, 1u);
}

TEST(EpisodeTest, AgreesAtTheLimitsOfOptions) {
  EpisodeSettings settings = SettingsOf(20);
  settings.options.target_fpp = 0.000001;
  settings.options.block_bytes = 1 << 20;
  settings.options.block_restart_interval = 1024;
  settings.options.block_cache_bytes = 64 << 20;
  settings.options.level0_compaction_tables = 12;
  settings.options.level0_stop_tables = 24;
  ModelReport report;
  Compare(20, settings, &report);
  EXPECT_GT(report.flushes, 20u);
  EXPECT_GT(report.compactions, 5u);
}

// So much compaction work is due that compactions begin and end within others.  The job's own
// episodes rarely get there.
TEST(EpisodeTest, AgreesWhereCompactionsOverlap) {
  ModelReport report;
  for (uint64_t seed = 2; seed <= 8 && !HasFailure(); seed += 2) {
    EpisodeSettings settings = SettingsOf(seed);
    settings.small_bytes = 600;
    settings.options.level0_compaction_tables = 1;
    settings.has_threads = false;
    Compare(seed, settings, &report);
  }
  EXPECT_GT(report.flushes, 80u);
  EXPECT_GT(report.compactions, 80u);
  EXPECT_GE(report.compactions_at_once, 2u);
}

}  // namespace
}  // namespace reliability
