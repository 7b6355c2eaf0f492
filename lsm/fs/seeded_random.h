// Randomness from a seed: a store that is created again is the same.  For tests and benchmarks.
#ifndef TRELLIS_LSM_FS_SEEDED_RANDOM_H_
#define TRELLIS_LSM_FS_SEEDED_RANDOM_H_

#include <atomic>
#include <cstdint>

#include "bloom/core/abi.h"
#include "lsm/bytes/split_mix.h"
#include "lsm/environment.h"

namespace lsm::inline TRELLIS_ABI {

// The numbers of SplitMix.  Thread-safe.
class SeededRandom : public RandomSource {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() override {
    // Relaxed: nothing else is published through it.
    return Mix(state_.fetch_add(kSplitMixStep, std::memory_order_relaxed) + kSplitMixStep);
  }

 private:
  std::atomic<uint64_t> state_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_SEEDED_RANDOM_H_
