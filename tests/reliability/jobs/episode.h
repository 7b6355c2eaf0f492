// Runs one list of actions on a store and on a map, which must agree (for model.cc).
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
  lsm::Options options;  // except the environment
  size_t keys = 0;
  uint32_t small_bytes = 0, large_bytes = 0;  // limits of value sizes
  ActionWeights weights = {};
  std::string keyspace = "default";  // with all keys; another one is created first
  // The store's own threads do the background work, so an episode does not repeat exactly.  Actions
  // that need a single thread (kBackgroundJob, kStatistics, kDisturb, kFullDisk, kKill, kCrash)
  // must have weight 0.
  bool has_threads = false;
};

// Everything about an episode that its seed determines, except its actions.
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

// Runs the actions and adds their counts to `report`.
Outcome RunEpisode(const Script& script, const std::vector<Action>& actions, ModelReport* report,
                   std::vector<std::string>* words);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_EPISODE_H_
