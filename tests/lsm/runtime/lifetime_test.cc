#include "lsm/runtime/lifetime.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "tests/lsm/runtime/runtime_world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;

class LifetimeTest : public testing::Test {
 protected:
  static bool NoWriters() { return false; }

  RuntimeWorld world_;
  BackgroundJobs jobs_{nullptr, &world_.counters, &world_.events};
  Lifetime lifetime_{&world_.mutex, &jobs_};
};

TEST_F(LifetimeTest, RefusesCallsWhileClosing) {
  {
    const Lifetime::Call call(&lifetime_);
    EXPECT_OK(call.status());
    EXPECT_OK(lifetime_.Check());
  }
  EXPECT_FALSE(lifetime_.BeginClosing(NoWriters));
  EXPECT_TRUE(lifetime_.is_closing());
  EXPECT_THAT(lifetime_.Check(), StatusIs(absl::StatusCode::kFailedPrecondition));
  const Lifetime::Call call(&lifetime_);
  EXPECT_THAT(call.status(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(LifetimeTest, ClosingWaitsForCalls) {
  std::atomic<bool> has_begun = false;
  std::optional<Lifetime::Call> call(std::in_place, &lifetime_);
  std::thread closer([&] {
    EXPECT_FALSE(lifetime_.BeginClosing(NoWriters));
    has_begun = true;
  });
  while (!lifetime_.is_closing()) std::this_thread::yield();
  EXPECT_FALSE(has_begun);
  call.reset();
  closer.join();
  EXPECT_TRUE(has_begun);
}

TEST_F(LifetimeTest, ClosingWaitsForWritersAndJobs) {
  CallingScheduler scheduler;
  BackgroundJobs jobs(&scheduler, &world_.counters, &world_.events);
  Lifetime lifetime(&world_.mutex, &jobs);
  ASSERT_TRUE(jobs.Schedule(BackgroundJobs::Job::kScrub, std::nullopt, [] {}));
  int waits = 0;
  bool has_writers = true;
  scheduler.meanwhile = [&] {
    ++waits;
    has_writers = false;
    scheduler.meanwhile = [&] {
      ++waits;
      jobs.End(BackgroundJobs::Job::kScrub);
    };
  };
  EXPECT_FALSE(lifetime.BeginClosing([&] { return has_writers; }));
  EXPECT_EQ(waits, 2);
}

TEST_F(LifetimeTest, OtherClosersGetTheOutcome) {
  ASSERT_FALSE(lifetime_.BeginClosing(NoWriters));
  std::atomic<bool> has_outcome = false;
  std::thread other([&] {
    const std::optional<absl::Status> outcome = lifetime_.BeginClosing(NoWriters);
    has_outcome = true;
    ASSERT_TRUE(outcome);
    EXPECT_THAT(*outcome, StatusIs(absl::StatusCode::kUnavailable));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // long enough for it to wait
  EXPECT_FALSE(has_outcome);
  lifetime_.EndClosing(absl::UnavailableError("device"));
  other.join();
}

TEST_F(LifetimeTest, ClosingEndsThePace) {
  int calls = 0;
  Pace pace;
  pace.progress = [&](const Progress&) { return ++calls < 2; };
  const Pace until_closed = UntilClosed(pace, &lifetime_, &world_.events);
  EXPECT_TRUE(until_closed.progress({}));
  EXPECT_FALSE(until_closed.progress({}));
  EXPECT_TRUE(UntilClosed({}, &lifetime_, &world_.events).progress({}));
  ASSERT_FALSE(lifetime_.BeginClosing(NoWriters));
  EXPECT_FALSE(UntilClosed({}, &lifetime_, &world_.events).progress({}));
  EXPECT_FALSE(until_closed.progress({}));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace lsm
