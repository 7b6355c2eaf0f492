#ifndef TRELLIS_TESTS_LSM_ENGINE_NARROW_SCHEDULER_H_
#define TRELLIS_TESTS_LSM_ENGINE_NARROW_SCHEDULER_H_

#include <functional>
#include <new>
#include <utility>

#include "tests/lsm/engine/world.h"

namespace lsm {

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

#endif  // TRELLIS_TESTS_LSM_ENGINE_NARROW_SCHEDULER_H_
