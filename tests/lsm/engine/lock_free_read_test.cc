// Readers take no lock: they go on while another thread holds the engine's mutex, however long.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "lsm/db.h"
#include "lsm/threads/mutex.h"
#include "lsm/threads/thread_scheduler.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// A place where a thread stops until it is released.
class Gate {
 public:
  void Stop() {
    reached_.set_value();
    opened_.get_future().wait();
  }
  bool WaitUntilReached() {
    return reached_.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  }
  void Open() { opened_.set_value(); }

 private:
  std::promise<void> reached_, opened_;
};

// The engine schedules jobs while it holds its mutex.
class StoppingScheduler : public Scheduler {
 public:
  explicit StoppingScheduler(std::unique_ptr<Scheduler> real) : real_(std::move(real)) {}
  void StopNextAt(Gate* gate) { gate_.store(gate); }

  void Schedule(Lane lane, std::function<void()> job) override {
    if (Gate* const gate = gate_.exchange(nullptr); gate != nullptr) gate->Stop();
    real_->Schedule(lane, std::move(job));
  }
  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition) override {
    real_->Wait(lock, condition);
  }
  void Pause(uint64_t nanos) override { real_->Pause(nanos); }

 private:
  const std::unique_ptr<Scheduler> real_;
  std::atomic<Gate*> gate_{nullptr};
};

class LockFreeReadTest : public testing::Test {
 protected:
  LockFreeReadTest() : scheduler_(NewThreadScheduler({}).value()), options_(world_.SmallOptions()) {
    options_.environment.scheduler = &scheduler_;
    db_ = DB::Open(kStorePath, options_).value();
    EXPECT_OK(db_->Put("in a table", "1"));
    EXPECT_OK(db_->Put("z", "1"));
    EXPECT_OK(db_->CompactRange());
    EXPECT_OK(db_->Put("in level 0", "2"));
    EXPECT_OK(db_->Flush());
    EXPECT_OK(db_->Put("in memory", "3"));
    ReadAllWays();  // fills the cache, whose misses may take its locks
  }

  void ReadAllWays() {
    for (const auto& [key, expected] :
         {std::pair<std::string_view, const char*>{"in a table", "1"}, {"in level 0", "2"}}) {
      const auto value = db_->Get(key);
      ASSERT_OK(value);
      EXPECT_EQ(*value, expected);
    }
    PinnedValue pinned;
    const auto found = db_->Get("in memory", &pinned);
    ASSERT_OK(found);
    EXPECT_TRUE(*found);
    EXPECT_EQ(pinned.view(), "3");
    const std::vector<std::string_view> keys = {"absent", "in a table", "in memory"};
    for (const auto& answer : db_->MultiGet(keys)) EXPECT_OK(answer);
    EXPECT_OK(db_->Explain("absent"));
    const auto contents = ReadAll(*db_);
    ASSERT_OK(contents);
    EXPECT_EQ(contents->size(), 4u);
    EXPECT_GT(db_->ApproximateBytes(), 0u);
  }

  // Reads while `blocked` stands at the gate.
  void ReadWhile(Gate* gate, std::function<void()> blocked) {
    DoWhile(gate, std::move(blocked), [this] { ReadAllWays(); });
  }
  void DoWhile(Gate* gate, std::function<void()> blocked, const std::function<void()>& read) {
    std::thread other(std::move(blocked));
    const bool reached = gate->WaitUntilReached();
    EXPECT_TRUE(reached);
    std::future<void> reads = std::async(std::launch::async, read);
    EXPECT_EQ(reads.wait_for(std::chrono::seconds(60)), std::future_status::ready)
        << "a read waits for a lock";
    gate->Open();
    other.join();
    reads.get();
  }

  World world_;
  StoppingScheduler scheduler_;
  Options options_;
  std::unique_ptr<DB> db_;
};

TEST_F(LockFreeReadTest, ReadsContinueWhileTheMutexIsHeld) {
  Gate gate;
  scheduler_.StopNextAt(&gate);
  ReadWhile(&gate, [this] { EXPECT_OK(db_->Flush()); });
}

// Some lookups check whether a read-triggered compaction of level 0 is due, which takes the mutex.
TEST_F(LockFreeReadTest, ManyReadersDoNotWait) {
  Gate gate;
  scheduler_.StopNextAt(&gate);
  const auto read = [this] {
    for (int i = 0; i < 20'000; ++i) ASSERT_OK(db_->Get("m"));
    for (int i = 0; i < 40'000; ++i) db_->NewIterator()->Seek("m");
  };
  DoWhile(
      &gate, [this] { EXPECT_OK(db_->Flush()); }, read);
  EXPECT_EQ(db_->GetStatistics().compactions_for_readers, 0u);
  // Now it finishes.
  read();
  EXPECT_OK(db_->WaitForBackgroundWork());
  EXPECT_GT(db_->GetStatistics().compactions_for_readers, 0u);
}

TEST_F(LockFreeReadTest, ReadsContinueDuringAnEdit) {
  Gate gate;
  std::atomic<bool> stopped = false;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kSyncFile && path.ends_with(".manifest") &&
        !stopped.exchange(true))
      gate.Stop();
    return absl::OkStatus();
  });
  ReadWhile(&gate, [this] { EXPECT_OK(db_->Flush()); });
  world_.files->SetFault(nullptr);
}

TEST_F(LockFreeReadTest, ReadsContinueDuringASync) {
  Gate gate;
  std::atomic<bool> stopped = false;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kSyncFile && path.ends_with(".log") && !stopped.exchange(true))
      gate.Stop();
    return absl::OkStatus();
  });
  ReadWhile(&gate, [this] { EXPECT_OK(db_->Put("in memory", "3", {.sync = true})); });
  world_.files->SetFault(nullptr);
}

TEST_F(LockFreeReadTest, ReadsContinueDuringARemoval) {
  Gate gate;
  std::atomic<bool> stopped = false;
  // An iterator holds a table that a compaction makes obsolete, so that an obsolete table exists
  // all the time.
  const std::unique_ptr<Iterator> old = db_->NewIterator();
  ASSERT_OK(db_->CompactRange());
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kRemove && path.ends_with(".table") && !stopped.exchange(true))
      gate.Stop();
    return absl::OkStatus();
  });
  ReadWhile(&gate, [this] {
    EXPECT_OK(db_->Put("z", "1"));
    EXPECT_OK(db_->CompactRange());
  });
  world_.files->SetFault(nullptr);
}

}  // namespace
}  // namespace lsm
