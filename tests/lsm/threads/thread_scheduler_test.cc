#include "lsm/threads/thread_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "lsm/threads/mutex.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using Lane = Scheduler::Lane;

TEST(ThreadSchedulerTest, RunsALaneInOrderOnOneThread) {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Scheduler> scheduler, NewThreadScheduler({}));
    for (int i = 0; i < 100; ++i) {
      scheduler->Schedule(Lane::kFlush, [&, i] {
        order.push_back(i);
        threads.push_back(std::this_thread::get_id());
      });
    }
  }
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_THAT(threads, testing::Each(threads.front()));
  EXPECT_NE(threads.front(), std::this_thread::get_id());
}

TEST(ThreadSchedulerTest, RunsLanesAtOnce) {
  std::latch flush_runs(1);
  std::latch compaction_runs(1);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Scheduler> scheduler, NewThreadScheduler({}));
  scheduler->Schedule(Lane::kCompaction, [&] {
    compaction_runs.count_down();
    flush_runs.wait();
  });
  scheduler->Schedule(Lane::kFlush, [&] {
    flush_runs.count_down();
    compaction_runs.wait();
  });
  compaction_runs.wait();
  flush_runs.wait();
}

TEST(ThreadSchedulerTest, RunsTheRequestedNumberOfCompactions) {
  std::latch all_here(3);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Scheduler> scheduler,
                       NewThreadScheduler({.compactions = 3}));
  EXPECT_EQ(scheduler->CompactionsAtOnce(), 3);
  for (int i = 0; i < 3; ++i)
    scheduler->Schedule(Lane::kCompaction, [&] { all_here.arrive_and_wait(); });
  EXPECT_GE(CompactionsOfMachine(), 1);
  EXPECT_LE(CompactionsOfMachine(), 4);
}

TEST(ThreadSchedulerTest, EndsAfterAllJobsAndTheirJobs) {
  std::atomic<int> done = 0;
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Scheduler> scheduler, NewThreadScheduler({}));
    Scheduler* const raw = scheduler.get();
    for (int i = 0; i < 10; ++i) {
      scheduler->Schedule(Lane::kFlush, [&done, raw] {
        raw->Schedule(Lane::kCompaction, [&done, raw] {
          raw->Pause(1000);
          raw->Schedule(Lane::kFlush, [&done] { ++done; });
          ++done;
        });
        ++done;
      });
    }
  }
  EXPECT_EQ(done, 30);
}

TEST(ThreadSchedulerTest, EndsAtOnceWithoutJobs) { EXPECT_OK(NewThreadScheduler({})); }

#ifdef __GLIBC__
TEST(ThreadSchedulerTest, FailsWithoutThreads) {
  pthread_attr_t usual, impossible;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_attr_init(&impossible), 0);
  // No stack of this size fits anywhere.
  ASSERT_EQ(::pthread_attr_setstacksize(&impossible, size_t{1} << 50), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&impossible), 0);
  const absl::StatusOr<std::unique_ptr<Scheduler>> scheduler = NewThreadScheduler({});
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  EXPECT_THAT(scheduler, testing_support::StatusIs(absl::StatusCode::kResourceExhausted,
                                                   testing::HasSubstr("threads")));
  EXPECT_OK(NewThreadScheduler({}));
}
#endif

TEST(ThreadSchedulerTest, WaitsForASignal) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Scheduler> scheduler, NewThreadScheduler({}));
  Mutex mutex;
  CondVar condition;
  bool ready = false;
  scheduler->Schedule(Lane::kFlush, [&] {
    MutexLock lock(&mutex);
    ready = true;
    condition.SignalAll();
  });
  MutexLock lock(&mutex);
  while (!ready) condition.Wait(&mutex, scheduler.get());
}

}  // namespace
}  // namespace lsm
