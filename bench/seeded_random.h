// A store's randomness from a seed, so that the same run makes the same store.
#ifndef TRELLIS_BENCH_SEEDED_RANDOM_H_
#define TRELLIS_BENCH_SEEDED_RANDOM_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "bench/workload.h"
#include "lsm/environment.h"

namespace bench {

// The random choices of a new store (the seed of its digests, the ids of its files), from the run's
// seed and the store's name.  Thread-safe.
class SeededRandom : public lsm::RandomSource {
 public:
  SeededRandom(uint64_t seed, const std::string& name) {
    uint64_t mixed = Mix(seed);
    for (const char c : name) mixed = Mix(mixed ^ static_cast<unsigned char>(c));
    state_ = mixed;
  }
  uint64_t Next() override {
    constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
    // Relaxed: passes nothing else on.
    return Mix(state_.fetch_add(kStep, std::memory_order_relaxed) + kStep);
  }

 private:
  std::atomic<uint64_t> state_;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_SEEDED_RANDOM_H_
