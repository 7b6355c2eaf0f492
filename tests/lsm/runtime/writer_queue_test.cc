#include "lsm/runtime/writer_queue.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "tests/lsm/runtime/runtime_world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;
using Writer = WriterQueue::Writer;

WriteBatch PutOf(size_t value_bytes = 1) {
  WriteBatch batch;
  batch.Put("key", std::string(value_bytes, 'v'));
  return batch;
}

class WriterQueueTest : public testing::Test {
 protected:
  // Lets the writers join one after the other.  Calls `then` while all of them wait.
  void JoinAll(std::vector<Writer*> writers, std::function<void()> then) {
    if (writers.empty()) return then();
    Writer* const writer = writers.front();
    writers.erase(writers.begin());
    if (queue_.empty()) {
      MutexLock lock(&mutex_);
      EXPECT_TRUE(queue_.Join(writer, &mutex_, &scheduler_));
      mutex_.Unlock();
      JoinAll(writers, then);
      mutex_.Lock();
      return;
    }
    scheduler_.meanwhile = [this, writers, then] { JoinAll(writers, then); };
    MutexLock lock(&mutex_);
    leads_.push_back(queue_.Join(writer, &mutex_, &scheduler_));
  }
  // Expects this group of the first writer.
  void ExpectGroup(const std::vector<Writer*>& writers, const Writer& last, uint32_t count,
                   bool may_put = true) {
    JoinAll(writers, [&] {
      const WriterQueue::Group group =
          queue_.BuildGroup(*writers[0], [&](uint64_t) { return may_put; });
      EXPECT_EQ(group.last, &last);
      EXPECT_EQ(group.sync, writers[0]->sync);
      EXPECT_EQ(EncodedBatch::CountOf(*group.bytes), count);
      queue_.Finish(writers[0], writers.back(), absl::OkStatus());
    });
    EXPECT_TRUE(queue_.empty());
  }

  Mutex mutex_;
  CallingScheduler scheduler_;
  Options options_;
  testing_support::ManualClock clock_;
  WriterQueue queue_{&options_, &clock_};
  std::vector<bool> leads_;  // the results of Join of the waiting writers, the last one first
  const WriteBatch put_ = PutOf();
};

TEST_F(WriterQueueTest, GroupsJoinBatchesInOrder) {
  WriteBatch second, third;
  second.Delete("b");
  third.Put("c", "3");
  third.Put("d", "4");
  WriteBatch all = put_;
  all.Append(second);
  all.Append(third);
  Writer a{Writer::Task::kWrite, &put_}, b{Writer::Task::kWrite, &second},
      c{Writer::Task::kWrite, &third};
  JoinAll({&a, &b, &c}, [&] {
    const WriterQueue::Group group = queue_.BuildGroup(a, [](uint64_t) { return true; });
    EXPECT_EQ(group.last, &c);
    EXPECT_EQ(group.bytes->substr(8), EncodedBatch::Of(all).substr(8));
    EXPECT_FALSE(queue_.Finish(&a, &c, absl::UnavailableError("device")));
  });
  EXPECT_EQ(leads_, std::vector<bool>({false, false}));
  EXPECT_FALSE(a.done) << "the leader has the status itself";
  for (const Writer* follower : {&b, &c})
    EXPECT_THAT(follower->status, StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(WriterQueueTest, NextWriterLeads) {
  Writer a{Writer::Task::kWrite, &put_}, b{Writer::Task::kWrite, &put_};
  JoinAll({&a, &b}, [&] { EXPECT_TRUE(queue_.Finish(&a, &a, absl::OkStatus())); });
  EXPECT_EQ(leads_, std::vector<bool>({true}));
  EXPECT_FALSE(queue_.Finish(&b, &b, absl::OkStatus()));
}

TEST_F(WriterQueueTest, FinishWakesTheOthers) {
  for (const bool together : {true, false}) {
    Writer a{Writer::Task::kWrite, &put_}, b{Writer::Task::kWrite, &put_};
    {
      MutexLock lock(&mutex_);
      ASSERT_TRUE(queue_.Join(&a, &mutex_, nullptr));
    }
    std::thread other([&] {
      MutexLock lock(&mutex_);
      const bool leads = queue_.Join(&b, &mutex_, nullptr);
      EXPECT_EQ(leads, !together);
      if (leads) queue_.Finish(&b, &b, absl::OkStatus());
    });
    for (bool has_joined = false; !has_joined; std::this_thread::yield()) {
      MutexLock lock(&mutex_);
      has_joined = queue_.BuildGroup(a, [](uint64_t) { return true; }).last == &b;
    }
    {
      MutexLock lock(&mutex_);
      EXPECT_EQ(queue_.Finish(&a, together ? &b : &a, absl::OkStatus()), !together);
    }
    other.join();
  }
}

TEST_F(WriterQueueTest, SyncedWritesJoinOnlySyncedGroups) {
  Writer a{Writer::Task::kWrite, &put_}, b{Writer::Task::kWrite, &put_, /*sync=*/true};
  ExpectGroup({&a, &b}, a, 1);
  Writer c{Writer::Task::kWrite, &put_, /*sync=*/true}, d{Writer::Task::kWrite, &put_};
  ExpectGroup({&c, &d}, d, 2);
}

TEST_F(WriterQueueTest, OtherTasksLeadThemselves) {
  Writer a{Writer::Task::kWrite, &put_}, seal{Writer::Task::kSealMemtable},
      b{Writer::Task::kWrite, &put_};
  ExpectGroup({&a, &seal, &b}, a, 1);
}

TEST_F(WriterQueueTest, GroupsWithoutSpaceTakeNoPuts) {
  WriteBatch deletes;
  deletes.Delete("a");
  Writer a{Writer::Task::kWrite, &put_}, b{Writer::Task::kWrite, &deletes},
      c{Writer::Task::kWrite, &put_};
  ExpectGroup({&a, &b, &c}, b, 2, /*may_put=*/false);
}

TEST_F(WriterQueueTest, SmallWritesLimitTheirGroup) {
  const WriteBatch large = PutOf(100 << 10);
  Writer a{Writer::Task::kWrite, &put_}, b{Writer::Task::kWrite, &large},
      c{Writer::Task::kWrite, &large};
  ExpectGroup({&a, &b, &c}, b, 2);  // 128 KiB more than its own
  const WriteBatch larger = PutOf(200 << 10);
  std::vector<std::unique_ptr<Writer>> many;
  std::vector<Writer*> writers;
  for (int i = 0; i < 8; ++i) {
    many.emplace_back(new Writer{Writer::Task::kWrite, &larger});
    writers.push_back(many.back().get());
  }
  ExpectGroup(writers, *writers[4], 5);  // 1 MiB
}

}  // namespace
}  // namespace lsm
