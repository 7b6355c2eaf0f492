#include "tests/support/deterministic_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <latch>
#include <string>
#include <vector>

#include "lsm/scheduler.h"
#include "lsm/threads/mutex.h"

namespace testing_support {
namespace {

using testing::ElementsAre;
using Lane = lsm::Scheduler::Lane;

TEST(SingleThreadSchedulerTest, RunsOneJobPerWait) {
  std::vector<std::string> log;
  SingleThreadScheduler scheduler;
  lsm::Mutex mutex;
  lsm::CondVar condition;
  scheduler.Schedule(Lane::kCompaction, [&] {
    lsm::MutexLock lock(&mutex);  // released by Wait
    log.push_back("first");
  });
  scheduler.Schedule(Lane::kFlush, [&] { log.push_back("second"); });
  EXPECT_TRUE(log.empty());
  std::latch runs(1);
  std::future<void> other;
  {
    lsm::MutexLock lock(&mutex);
    condition.Wait(&mutex, &scheduler);
    // It is held again.
    other = std::async(std::launch::async, [&] {
      runs.count_down();
      lsm::MutexLock waits(&mutex);
    });
    runs.wait();
    EXPECT_EQ(other.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  }
  EXPECT_THAT(log, ElementsAre("first"));
  scheduler.Pause(1);
  EXPECT_THAT(log, ElementsAre("first", "second"));
  scheduler.Pause(1);  // nothing to run, and no reason to stop
}

TEST(SingleThreadSchedulerTest, RunsOtherLanesWhileAJobWaits) {
  std::vector<std::string> log;
  SingleThreadScheduler scheduler;
  scheduler.Schedule(Lane::kFlush, [&] {
    log.push_back("flush begins");
    scheduler.Pause(1);
    scheduler.Pause(1);
    log.push_back("flush ends");
  });
  scheduler.Schedule(Lane::kFlush, [&] { log.push_back("next flush"); });
  scheduler.Schedule(Lane::kCompaction, [&] { log.push_back("compaction"); });
  scheduler.RunAll();
  EXPECT_THAT(log, ElementsAre("flush begins", "compaction", "flush ends", "next flush"));
}

TEST(SingleThreadSchedulerTest, RunsRemainingJobsAtItsEnd) {
  std::vector<std::string> log;
  {
    SingleThreadScheduler scheduler;
    scheduler.Schedule(Lane::kFlush, [&] {
      scheduler.Schedule(Lane::kCompaction, [&] { log.push_back("scheduled by a job"); });
    });
    EXPECT_EQ(scheduler.queued_count(), 1u);
  }
  EXPECT_THAT(log, ElementsAre("scheduled by a job"));
}

TEST(SingleThreadSchedulerDeathTest, EndsTheProgramIfAWaitCannotEnd) {
  const auto wait_for_ever = [] {
    SingleThreadScheduler scheduler;
    lsm::Mutex mutex;
    lsm::CondVar condition;
    lsm::MutexLock lock(&mutex);
    condition.Wait(&mutex, &scheduler);
  };
  EXPECT_DEATH(wait_for_ever(), "deadlock");
}

TEST(ManualClockTest, ClockMovesOnlyWhenReadOrTold) {
  ManualClock clock;
  EXPECT_EQ(clock.MonotonicNanos(), 1000u);
  EXPECT_EQ(clock.MonotonicNanos(), 2000u);
  clock.Advance(5'000'000);
  EXPECT_EQ(clock.MonotonicNanos(), 5'003'000u);
  EXPECT_GT(clock.WallMicros(), 0u);
}

TEST(SeededRandomTest, RepeatsForTheSameSeedOnly) {
  SeededRandom one(1);
  SeededRandom same(1);
  SeededRandom other(2);
  for (int i = 0; i < 10; ++i) {
    const uint64_t number = one.Next();
    EXPECT_EQ(same.Next(), number);
    EXPECT_NE(other.Next(), number);
  }
}

}  // namespace
}  // namespace testing_support
