#include "lsm/runtime/background_jobs.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "tests/lsm/runtime/runtime_world.h"

namespace lsm {
namespace {

using Job = BackgroundJobs::Job;

class BackgroundJobsTest : public testing::Test {
 protected:
  bool Schedule(Job job, std::optional<FailureKind> failure = std::nullopt) {
    return jobs_.Schedule(job, failure, [] {});
  }

  RuntimeWorld world_;
  NarrowScheduler scheduler_;
  BackgroundJobs jobs_{&scheduler_, &world_.counters, &world_.events};
};

TEST_F(BackgroundJobsTest, OneFlushAtATime) {
  EXPECT_TRUE(jobs_.MaySchedule(Job::kFlush));
  EXPECT_TRUE(Schedule(Job::kFlush));
  EXPECT_TRUE(jobs_.HasFlushOrCompaction());
  EXPECT_FALSE(jobs_.MaySchedule(Job::kFlush));
  EXPECT_TRUE(jobs_.MaySchedule(Job::kCompaction));
  jobs_.End(Job::kFlush);
  EXPECT_TRUE(jobs_.MaySchedule(Job::kFlush));
  EXPECT_FALSE(jobs_.HasAny());
}

TEST_F(BackgroundJobsTest, CompactionsUpToTheLimit) {
  testing_support::SingleThreadScheduler scheduler(2);
  BackgroundJobs jobs(&scheduler, &world_.counters, &world_.events);
  EXPECT_EQ(jobs.compactions_max(), 2);
  EXPECT_TRUE(jobs.Schedule(Job::kCompaction, std::nullopt, [] {}));
  EXPECT_TRUE(jobs.MaySchedule(Job::kCompaction));
  EXPECT_FALSE(jobs.MaySchedule(Job::kCompaction, /*one_at_a_time=*/true));
  EXPECT_TRUE(jobs.Schedule(Job::kCompaction, std::nullopt, [] {}));
  EXPECT_FALSE(jobs.MaySchedule(Job::kCompaction));
}

TEST_F(BackgroundJobsTest, NoJobWithoutAScheduler) {
  BackgroundJobs jobs(nullptr, &world_.counters, &world_.events);
  EXPECT_FALSE(jobs.TakesJobs());
  EXPECT_FALSE(jobs.MaySchedule(Job::kCompaction));
}

TEST_F(BackgroundJobsTest, FailuresStopJobsOfTheirKind) {
  jobs_.AddFailure(FailureKind::kFlush, absl::UnavailableError("device"));
  EXPECT_FALSE(jobs_.MaySchedule(Job::kFlush));
  EXPECT_TRUE(jobs_.MaySchedule(Job::kCompaction));
  jobs_.AddFailure(FailureKind::kCompaction, absl::UnavailableError("device"));
  EXPECT_FALSE(jobs_.MaySchedule(Job::kCompaction));
  EXPECT_TRUE(jobs_.MayBegin());
  EXPECT_TRUE(jobs_.MaySchedule(Job::kCollection));
}

TEST_F(BackgroundJobsTest, LogAndManifestFailuresStopFlushesAndCompactions) {
  for (const FailureKind kind : {FailureKind::kLog, FailureKind::kManifest}) {
    jobs_.AddFailure(kind, absl::UnavailableError("device"));
    EXPECT_FALSE(jobs_.MayBegin());
    EXPECT_FALSE(jobs_.MaySchedule(Job::kFlush));
    EXPECT_FALSE(jobs_.MaySchedule(Job::kCompaction));
    EXPECT_TRUE(jobs_.MaySchedule(Job::kCollection));
    EXPECT_TRUE(jobs_.MaySchedule(Job::kScrub));
    jobs_.EndRecovery(/*has_recovered=*/true);
  }
}

TEST_F(BackgroundJobsTest, CountsTheFirstFailureOfEachKind) {
  jobs_.AddFailure(FailureKind::kLog, absl::UnavailableError("first"));
  jobs_.AddFailure(FailureKind::kLog, absl::UnavailableError("second"));
  EXPECT_EQ(jobs_.failures().Of(FailureKind::kLog).message(), "first");
  EXPECT_EQ(world_.counters.SumOf(Counter::kBackgroundErrors), 1u);
}

// Even that of a job that failed for it, and after another failure.
TEST_F(BackgroundJobsTest, ATakeOverStopsEverything) {
  jobs_.AddFailure(FailureKind::kFlush, TakenOver("by another"));
  EXPECT_TRUE(IsTakenOver(jobs_.failures().OfLogOrManifest()));
  jobs_.EndRecovery(/*has_recovered=*/true);
  jobs_.AddFailure(FailureKind::kLog, absl::UnavailableError("device"));
  jobs_.AddFailure(FailureKind::kCompaction, TakenOver("by another"));
  jobs_.AddFailure(FailureKind::kLog, absl::UnavailableError("device"));
  EXPECT_TRUE(IsTakenOver(jobs_.failures().First()));
}

TEST_F(BackgroundJobsTest, ATakeOverIsTold) {
  int told = 0;
  BackgroundJobs jobs(&scheduler_, &world_.counters, &world_.events, [&told](const auto& status) {
    EXPECT_TRUE(IsTakenOver(status));
    ++told;
  });
  jobs.AddFailure(FailureKind::kLog, absl::UnavailableError("device"));
  EXPECT_EQ(told, 0);
  jobs.AddFailure(FailureKind::kCompaction, TakenOver("by another"));
  EXPECT_EQ(told, 1);
}

TEST_F(BackgroundJobsTest, RecoveryHoldsJobsBack) {
  jobs_.AddFailure(FailureKind::kFlush, absl::UnavailableError("device"));
  jobs_.BeginRecovery();
  EXPECT_FALSE(jobs_.MayBegin());
  jobs_.EndRecovery(/*has_recovered=*/false);
  EXPECT_TRUE(jobs_.MayBegin());
  EXPECT_FALSE(jobs_.failures().First().ok());
  jobs_.BeginRecovery();
  jobs_.EndRecovery(/*has_recovered=*/true);
  EXPECT_TRUE(jobs_.failures().First().ok());
  EXPECT_TRUE(jobs_.MaySchedule(Job::kFlush));
}

TEST_F(BackgroundJobsTest, CountsNoJobWithoutMemory) {
  scheduler_.has_memory = false;
  EXPECT_FALSE(Schedule(Job::kCompaction));
  EXPECT_TRUE(jobs_.failures().First().ok());
  EXPECT_FALSE(Schedule(Job::kCompaction, FailureKind::kCompaction));
  EXPECT_FALSE(jobs_.failures().Of(FailureKind::kCompaction).ok());
  EXPECT_FALSE(jobs_.HasAny());
}

TEST_F(BackgroundJobsTest, RescheduledJobsCountOnce) {
  ASSERT_TRUE(Schedule(Job::kCollection));
  EXPECT_TRUE(jobs_.ScheduleAgain(Job::kCollection, [] {}));
  EXPECT_EQ(scheduler_.queued_count(), 2u);
  jobs_.End(Job::kCollection);
  EXPECT_FALSE(jobs_.HasAny());

  ASSERT_TRUE(Schedule(Job::kCollection));
  scheduler_.has_memory = false;
  EXPECT_FALSE(jobs_.ScheduleAgain(Job::kCollection, [] {}));
  EXPECT_TRUE(jobs_.HasAny()) << "it goes on";
}

TEST_F(BackgroundJobsTest, StopWakesWaitingThreads) {
  BackgroundJobs jobs(nullptr, &world_.counters, &world_.events);
  bool waits = false;  // guarded by the mutex, which Wait releases
  std::thread waiting([&] {
    MutexLock lock(&world_.mutex);
    waits = true;
    while (!jobs.is_stopping()) jobs.Wait(&world_.mutex);
  });
  for (bool stopped = false; !stopped; std::this_thread::yield()) {
    MutexLock lock(&world_.mutex);
    if (waits) jobs.Stop();
    stopped = waits;
  }
  waiting.join();
}

TEST_F(BackgroundJobsTest, BeginsNoJobOnceStopped) {
  ASSERT_TRUE(Schedule(Job::kScrub));
  jobs_.Stop();
  EXPECT_FALSE(jobs_.MayBegin());
  EXPECT_FALSE(jobs_.TakesJobs());
  EXPECT_FALSE(jobs_.MaySchedule(Job::kCollection));
  EXPECT_FALSE(jobs_.ScheduleAgain(Job::kScrub, [] {}));
  EXPECT_TRUE(jobs_.HasAny());
}

}  // namespace
}  // namespace lsm
