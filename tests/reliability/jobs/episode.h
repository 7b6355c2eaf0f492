// A store and a map that must agree: one list of actions, run on both (for model.cc).
//
// The store is on a machine of its own: files in memory, one seed, and one thread unless the
// settings say otherwise.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_EPISODE_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_EPISODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lsm/options.h"
#include "tests/reliability/jobs/model.h"
#include "tests/reliability/workload/actions.h"

namespace reliability {

struct EpisodeSettings {
  lsm::Options options;  // but for the environment
  size_t keys = 0;
  uint32_t small_bytes = 0, large_bytes = 0;  // of values, at most
  ActionWeights weights = {};
  // The store's own threads do the background work, so an episode does not repeat exactly. Actions
  // for one thread (kBackgroundJob, kStatistics, kDisturb, kFullDisk, kKill, kCrash) must have no
  // weight.
  bool has_threads = false;
};

// All that the seed decides of an episode, but for its actions.
struct Script {
  Script(uint64_t of_seed, const EpisodeSettings& of_settings)
      : seed(of_seed),
        settings(of_settings),
        keys(seed, settings.keys),
        values(seed, settings.small_bytes, settings.large_bytes) {}

  const uint64_t seed;
  const EpisodeSettings settings;
  const KeyPool keys;
  const ValuePool values;
};

// Adds the operations to the report.
Outcome RunEpisode(const Script& script, const std::vector<Action>& actions, ModelReport* report,
                   std::vector<std::string>* words);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_EPISODE_H_
