#ifndef TRELLIS_TESTS_LSM_ENGINE_SCHEDULERS_H_
#define TRELLIS_TESTS_LSM_ENGINE_SCHEDULERS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>
#include <utility>

#include "tests/lsm/engine/world.h"

namespace lsm {

// A scheduler on which time passes only while a caller waits.
class CountingScheduler : public testing_support::SingleThreadScheduler {
 public:
  explicit CountingScheduler(testing_support::ManualClock* clock) : clock_(*clock) {}
  void Pause(uint64_t nanos) override {
    waited_nanos += nanos;
    longest_nanos = std::max(longest_nanos, nanos);
    clock_.Advance(nanos);
    if (const auto call = std::exchange(meanwhile, nullptr); call != nullptr) {
      call();
      meanwhile = call;
    }
    SingleThreadScheduler::Pause(nanos);
  }
  uint64_t waited_nanos = 0, longest_nanos = 0;
  std::function<void()> meanwhile;

 private:
  testing_support::ManualClock& clock_;
};

// A scheduler that has memory for compactions only while the test allows it.
class NarrowScheduler : public testing_support::SingleThreadScheduler {
 public:
  void Schedule(Lane lane, std::function<void()> job) override {
    if (lane == Lane::kCompaction && !has_memory) throw std::bad_alloc();
    SingleThreadScheduler::Schedule(lane, std::move(job));
  }

  bool has_memory = true;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_ENGINE_SCHEDULERS_H_
