// The environment of one part of an open store, for tests of that part alone.
#ifndef TRELLIS_TESTS_LSM_RUNTIME_RUNTIME_WORLD_H_
#define TRELLIS_TESTS_LSM_RUNTIME_RUNTIME_WORLD_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "lsm/base/counters.h"
#include "lsm/events/event_queue.h"
#include "lsm/runtime/background_jobs.h"
#include "lsm/runtime/lifetime.h"
#include "lsm/threads/mutex.h"
#include "tests/lsm/engine/schedulers.h"
#include "tests/lsm/engine/world.h"

namespace lsm {

// A scheduler that calls a function of the test instead of waiting.
class CallingScheduler : public testing_support::SingleThreadScheduler {
 public:
  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable&) override {
    lock.unlock();
    std::exchange(meanwhile, nullptr)();
    lock.lock();
  }
  std::function<void()> meanwhile;
};

struct RuntimeWorld : World {
  explicit RuntimeWorld(std::shared_ptr<EventListener> listener = nullptr)
      : events(std::move(listener), &clock, kStorePath) {}

  Counters counters;
  EventQueue events;
  Mutex mutex;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_RUNTIME_RUNTIME_WORLD_H_
