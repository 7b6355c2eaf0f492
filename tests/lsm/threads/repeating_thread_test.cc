#include "lsm/threads/repeating_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "tests/lsm/fs/child_process.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

constexpr uint64_t kHourNanos = 3'600'000'000'000;

TEST(RepeatingThreadTest, RepeatsUntilItIsDestroyed) {
  std::atomic<int> calls{0};
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<RepeatingThread> thread,
                       RepeatingThread::Start(1, [&] { ++calls; }));
  while (calls < 3) std::this_thread::yield();
  thread = nullptr;
  const int seen = calls;
  std::this_thread::yield();
  EXPECT_EQ(calls, seen);
}

TEST(RepeatingThreadTest, EndsAPauseAtOnce) {
  EXPECT_OK(RepeatingThread::Start(kHourNanos, [] {}));
}

// A child has the object, and not its thread.
TEST(RepeatingThreadTest, ForkedChildrenDestroyItAtOnce) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<RepeatingThread> thread,
                       RepeatingThread::Start(kHourNanos, [] {}));
  EXPECT_EQ(testing_support::InChild([&]() -> std::string {
              ::alarm(20);  // ends a child that waits for a thread of its parent
              thread = nullptr;
              return "";
            }),
            "");
}

}  // namespace
}  // namespace lsm
