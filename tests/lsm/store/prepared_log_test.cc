// The next log is created ahead of time, so that sealing a memtable does not wait for a file.  A
// log that was never used or never finished is ignored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/store/log_set.h"
#include "lsm/threads/thread_scheduler.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing_support::StatusIs;
using Unsynced = MemoryFileSystem::Unsynced;

class PreparedLogTest : public StoreTest {
 protected:
  std::vector<std::string> Logs() { return world_.FilesOf(FileKind::kLog); }

  // Makes the next of many writes.  A memtable holds about sixty of them.
  absl::Status PutNext(bool sync = false) {
    const std::string key = Concat("key", 1000 + written_.size());
    const absl::Status status = db_->Put(key, std::string(1000, 'v'), {.sync = sync});
    if (status.ok()) written_.emplace(key, std::string(1000, 'v'));
    return status;
  }

  // Writes without background work until `is_enough`.
  void PutUntil(const std::function<bool()>& is_enough) {
    for (int i = 0; i < 200 && !is_enough(); ++i) ASSERT_OK(PutNext());
    ASSERT_TRUE(is_enough());
  }

  // A store that has a log in use and a prepared one.
  void OpenAndPrepare() {
    Open();
    written_.clear();
    PutUntil([&] { return world_.scheduler.queued_count() > 0; });
    ASSERT_THAT(Logs(), SizeIs(1));
    world_.scheduler.RunAll();
    ASSERT_THAT(Logs(), SizeIs(2));
  }

  void FailLogs(FileOperation fails) {
    world_.files->SetFault([fails](FileOperation operation, const std::string& path, uint64_t) {
      return operation == fails && path.ends_with(".log")
                 ? absl::ResourceExhaustedError(Concat(path, ": full"))
                 : absl::OkStatus();
    });
  }

  void ExpectAllThere(DB& db) {
    const absl::StatusOr<Contents> contents = ReadAll(db);
    ASSERT_OK(contents);
    EXPECT_EQ(*contents, written_);
  }

  uint64_t Flushes() { return db_->GetStatistics().flushes; }

  Contents written_;
};

TEST_F(PreparedLogTest, SealingWritesOnlyItsOwnRecord) {
  OpenAndPrepare();
  for (int i = 0; i < 3; ++i) {
    const std::string prepared = Logs().back();
    std::vector<std::pair<FileOperation, std::string>> calls;
    world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
      calls.emplace_back(operation, path);
      return absl::OkStatus();
    });
    PutUntil([&] { return !calls.empty() && calls.back().second == prepared; });
    for (const auto& [operation, path] : calls) EXPECT_EQ(operation, FileOperation::kAppend);
    world_.files->SetFault(nullptr);
    // The flush creates the next log and removes only the one before.
    EXPECT_THAT(Logs(), SizeIs(2));
    world_.scheduler.RunAll();
    EXPECT_EQ(Flushes(), i + 1u);
    EXPECT_THAT(Logs(), ElementsAre(prepared, Gt(prepared)));
  }
  ExpectAllThere(*db_);
  Open();
  ExpectAllThere(*db_);
}

TEST_F(PreparedLogTest, ShortUsePreparesNone) {
  int logs = 0;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    logs += operation == FileOperation::kCreate && path.ends_with(".log");
    return absl::OkStatus();
  });
  Open();
  Put("a", "1");
  EXPECT_EQ(logs, 1);
  Flush();
  ASSERT_OK(db_->WaitForBackgroundWork());
  Put("b", "2");
  EXPECT_EQ(logs, 2);
  db_ = nullptr;
  EXPECT_EQ(logs, 2);
}

TEST_F(PreparedLogTest, ClosingRemovesIt) {
  OpenAndPrepare();
  const std::string used = Logs().front();
  db_ = nullptr;
  EXPECT_THAT(Logs(), ElementsAre(used));
  options_.mode = OpenMode::kReadOnly;
  Open();
  ExpectAllThere(*db_);
}

TEST_F(PreparedLogTest, FailedPreparationFailsNoWrite) {
  for (const FileOperation fails :
       {FileOperation::kCreate, FileOperation::kAppend, FileOperation::kSyncFile}) {
    Open();
    PutUntil([&] { return world_.scheduler.queued_count() > 0; });
    FailLogs(fails);
    world_.scheduler.RunAll();
    EXPECT_OK(db_->GetFailure());
    EXPECT_THAT(Logs(), SizeIs(1)) << NameOf(fails);
    world_.files->SetFault(nullptr);
    EXPECT_OK(PutNext());
    EXPECT_EQ(world_.scheduler.queued_count(), 0u) << "it is tried once";
    // So the writer that seals the memtable creates the log.
    PutUntil([&] { return Logs().size() == 2; });
    world_.scheduler.RunAll();
    ExpectAllThere(*db_);
  }
}

TEST_F(PreparedLogTest, WritersLearnOfTheFailedPreparation) {
  Open();
  PutUntil([&] { return world_.scheduler.queued_count() > 0; });
  int tried = 0;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kCreate) return absl::OkStatus();
    ++tried;
    return absl::ResourceExhaustedError(Concat(path, ": full"));
  });
  world_.scheduler.RunAll();
  EXPECT_EQ(tried, 1);
  absl::Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) status = PutNext();
  EXPECT_EQ(tried, 2);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(".log: full")));
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->Resume());
  EXPECT_OK(PutNext());
  Open();
  ExpectAllThere(*db_);
}

TEST_F(PreparedLogTest, EndedProcessesLeaveAnEmptyLog) {
  OpenAndPrepare();
  ASSERT_OK(PutNext(/*sync=*/true));
  const absl::StatusOr<VerifyReport> report = db_->Verify();
  ASSERT_OK(report);
  EXPECT_THAT(report->problems, IsEmpty());
  const std::string prepared = Logs().back();
  const std::string header = world_.files->FileBytes(prepared);
  // Also if its creation was interrupted.
  for (const std::string& bytes :
       {header, header.substr(0, 20), std::string(header.size(), '\0'), std::string()}) {
    for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kMustExist}) {
      World world(2, world_.files->Clone());
      world.files->SetFileBytes(prepared, bytes);
      Options options = world.SmallOptions();
      options.mode = mode;
      const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options);
      ASSERT_OK(db);
      ExpectAllThere(**db);
      if (mode == OpenMode::kReadOnly) continue;
      EXPECT_THAT(world.FilesOf(FileKind::kLog), ElementsAre(Gt(prepared)));
    }
    World world(2, world_.files->Clone());
    world.files->SetFileBytes(prepared, bytes);
    const absl::StatusOr<RepairReport> repaired = DB::Repair(kStorePath, world.SmallOptions());
    ASSERT_OK(repaired);
    EXPECT_THAT(repaired->left_out, IsEmpty());
    EXPECT_EQ(repaired->logs_converted, 1u);
    ASSERT_OK(DB::Destroy(kStorePath, world.SmallOptions()));
    EXPECT_THAT(world.FilesOf(FileKind::kLog), IsEmpty());
  }
}

// Crashes from the creation of the next log until the one after it exists.
TEST_F(PreparedLogTest, CrashesLoseNoSyncedWrites) {
  const auto run = [&] {
    written_.clear();
    absl::Status status;
    for (int i = 0; i < 100 && status.ok(); ++i) {
      status = PutNext(/*sync=*/i % 3 == 0);
      if (i % 7 == 0) world_.scheduler.RunAll();
    }
    return status;
  };
  Open();
  world_.files->ResetCounts();
  ASSERT_OK(run());
  const uint64_t calls = world_.files->operation_count();
  ASSERT_EQ(Flushes(), 1u);
  ASSERT_THAT(Logs(), SizeIs(2));
  for (const Unsynced unsynced : {Unsynced::kLost, Unsynced::kKept}) {
    for (uint64_t at = 0; at < calls; at += 3) {
      db_ = nullptr;
      ASSERT_OK(DB::Destroy(kStorePath, options_));
      Open();
      world_.files->ResetCounts();
      world_.files->CrashAt(at);
      EXPECT_FALSE(run().ok());
      db_ = nullptr;
      world_.files->Restart(unsynced);
      Open();
      const Contents contents = ReadAll(*db_).value();
      // The last writes may be present; the synced ones before them must be.
      const size_t synced = written_.empty() ? 0 : (written_.size() - 1) / 3 * 3 + 1;
      EXPECT_GE(contents.size(), synced) << at;
      EXPECT_LE(contents.size(), written_.size() + 1) << at;
      size_t i = 0;
      for (const auto& [key, value] : contents) EXPECT_EQ(key, Concat("key", 1000 + i++)) << at;
      EXPECT_THAT(Logs(), SizeIs(1)) << at;
    }
  }
}

// The prepared log is not used: it has the id of the earlier logs, and a lower number than the new
// ones.
TEST_F(PreparedLogTest, ResumedStoresUseANewLog) {
  OpenAndPrepare();
  const std::string prepared = Logs().back();
  FailLogs(FileOperation::kAppend);
  EXPECT_FALSE(PutNext().ok());
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->Resume());
  EXPECT_THAT(Logs(), ElementsAre(Gt(prepared)));
  const uint64_t flushes = Flushes();
  while (Flushes() < flushes + 2) {
    ASSERT_OK(PutNext());
    world_.scheduler.RunAll();
  }
  EXPECT_THAT(Logs(), Each(Gt(prepared)));
  world_.files->CrashAt(0);
  db_ = nullptr;
  world_.files->Restart(Unsynced::kKept);
  Open();
  ExpectAllThere(*db_);
}

// While the next log is being created, the memtable may grow to twice its size.
TEST_F(PreparedLogTest, WritesContinueDuringPreparation) {
  Open();
  PutUntil([&] { return world_.scheduler.queued_count() > 0; });
  const std::vector<std::string> used = Logs();
  bool is_being_made = true;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kSyncFile || !path.ends_with(".log")) return absl::OkStatus();
    if (!std::exchange(is_being_made, false)) return absl::OkStatus();
    PutUntil(
        [&] { return db_->GetStatistics().memtable_bytes > options_.write_buffer_bytes * 7 / 4; });
    EXPECT_THAT(Logs(), SizeIs(2)) << "no other is made beside it";
    return absl::OkStatus();
  });
  world_.scheduler.RunAll();
  world_.files->SetFault(nullptr);
  EXPECT_FALSE(is_being_made);
  EXPECT_EQ(Flushes(), 0u);
  ASSERT_OK(PutNext());  // seals
  world_.scheduler.RunAll();
  EXPECT_EQ(Flushes(), 1u);
  EXPECT_THAT(Logs(), Each(Gt(used.front())));
  EXPECT_EQ(db_->GetStatistics().stalls_log, 0u);
  EXPECT_EQ(db_->GetStatistics().stall_nanos, 0u);
  ExpectAllThere(*db_);
  world_.files->CrashAt(0);
  db_ = nullptr;
  world_.files->Restart(Unsynced::kKept);
  Open();
  ExpectAllThere(*db_);
}

TEST_F(PreparedLogTest, WritesContinueWhileFlushPrepares) {
  Open();
  Put("a", "1");
  bool is_made = false;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kSyncFile && path.ends_with(".log") &&
        !std::exchange(is_made, true)) {
      Put("b", "2");
    }
    return absl::OkStatus();
  });
  Flush();
  world_.files->SetFault(nullptr);
  EXPECT_TRUE(is_made);
  EXPECT_EQ(EntriesInTables(), 2u);
  EXPECT_EQ(db_->GetStatistics().stall_nanos, 0u);
}

// A scheduler with threads that reports when a thread waits.
class WaitNotingScheduler : public Scheduler {
 public:
  explicit WaitNotingScheduler(std::function<void()> on_wait) : on_wait_(std::move(on_wait)) {}
  int CompactionsAtOnce() const override { return threads_->CompactionsAtOnce(); }
  void Schedule(Lane lane, std::function<void()> job) override {
    threads_->Schedule(lane, std::move(job));
  }
  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition) override {
    on_wait_();
    threads_->Wait(lock, condition);
  }
  void Pause(uint64_t nanos) override { threads_->Pause(nanos); }

 private:
  const std::function<void()> on_wait_;
  const std::unique_ptr<Scheduler> threads_ = NewThreadScheduler({}).value();
};

// A disk whose sync of a new log ends only when a writer waits for it.
class SlowLogTest : public PreparedLogTest {
 protected:
  SlowLogTest() {
    options_.environment.scheduler = &scheduler_;
    options_.write_buffer_bytes = size_t{256} << 10;
    options_.log_directory = kLogs;
  }
  ~SlowLogTest() override {
    world_.files->SetFault(nullptr);
    OpenGate();
    db_ = nullptr;
  }

  void SlowDown() {
    world_.files->SetFault([this](FileOperation operation, const std::string& path, uint64_t) {
      if (operation == FileOperation::kSyncFile && path.ends_with(".log")) {
        if (!is_slow_.exchange(true)) begun_.count_down();
        gate_.wait();
      }
      return absl::OkStatus();
    });
  }

  void OpenGate() {
    if (!is_open_.exchange(true)) gate_.count_down();
  }

  static constexpr char kLogs[] = "/logs";
  std::atomic<bool> is_slow_ = false;
  std::atomic<bool> is_open_ = false;
  std::latch begun_{1};  // counted down by the job that creates the log
  std::latch gate_{1};
  uint64_t bytes_ = 0;  // of the writer, as the next
  uint64_t bytes_at_wait_ = 0;
  WaitNotingScheduler scheduler_{[this] {
    if (!is_slow_) return;
    if (!is_open_) bytes_at_wait_ = bytes_;
    OpenGate();
  }};
};

TEST_F(SlowLogTest, WritersWaitOnlyForTheRest) {
  Open();
  SlowDown();
  for (; !is_open_; bytes_ += 1000) {
    ASSERT_OK(PutNext());
    if (bytes_ == options_.write_buffer_bytes * 3 / 4 / 1000 * 1000) begun_.wait();
  }
  EXPECT_GE(bytes_at_wait_, options_.write_buffer_bytes * 3 / 2);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.stalls_log, 1u);
  EXPECT_EQ(statistics.stalls_memtable, 0u);
  EXPECT_GT(statistics.stall_nanos, 0u);
  ASSERT_OK(db_->WaitForBackgroundWork());
  ExpectAllThere(*db_);
}

// --- the set alone ---

TEST(LogSetTest, StartedLogsAcceptRecords) {
  MemoryFileSystem files;
  const auto directory = files.OpenDirectory("/logs", /*create=*/true).value();
  const auto bytes_of = [&](int number) {
    return files.FileBytes(Concat("/logs/00000", number, ".log")).size();
  };
  LogSet logs(directory.get());
  ASSERT_OK(logs.Start(3, 33));
  EXPECT_EQ(logs.StartPrepared(), std::nullopt);
  ASSERT_OK(logs.Prepare(4, 44));
  ASSERT_OK(logs.Append("one"));
  EXPECT_THAT(logs.Sizes(), ElementsAre(Pair(3, bytes_of(3))));
  EXPECT_LT(bytes_of(4), bytes_of(3));
  files.ResetCounts();
  EXPECT_EQ(logs.StartPrepared(), 4u);
  EXPECT_EQ(files.operation_count(), 0u);
  EXPECT_EQ(logs.StartPrepared(), std::nullopt);
  ASSERT_OK(logs.Append("two"));
  EXPECT_EQ(bytes_of(4), bytes_of(3));
  const absl::StatusOr<std::vector<uint64_t>> first_time = logs.Sync();
  ASSERT_OK(first_time);
  EXPECT_THAT(*first_time, ElementsAre(3, 4));
  ASSERT_OK(logs.Prepare(6, 66));
  logs.Remove(4);
  EXPECT_EQ(bytes_of(3), 0u);
  EXPECT_GT(bytes_of(6), 0u);
  std::map<uint64_t, uint64_t> closed;
  ASSERT_OK(logs.Close(&closed));
  EXPECT_THAT(closed, ElementsAre(Pair(4, bytes_of(4))));
  EXPECT_THAT(directory->List().value(), SizeIs(1));
}

TEST(LogSetTest, DurableNamesAreNotSyncedAgain) {
  MemoryFileSystem files;
  const auto directory = files.OpenDirectory("/logs", /*create=*/true).value();
  int syncs = 0;
  files.SetFault([&](FileOperation operation, const std::string&, uint64_t) {
    syncs += operation == FileOperation::kSyncDirectory;
    return absl::OkStatus();
  });
  LogSet logs(directory.get());
  ASSERT_OK(logs.Start(3, 33));
  ASSERT_OK(logs.Prepare(4, 44));
  ASSERT_OK(logs.SyncNames());
  EXPECT_EQ(syncs, 1);
  ASSERT_OK(logs.Append("one"));
  EXPECT_THAT(logs.Sync().value(), ElementsAre(3));
  EXPECT_EQ(logs.StartPrepared(), 4u);
  ASSERT_OK(logs.Append("two"));
  EXPECT_THAT(logs.Sync().value(), ElementsAre(4));
  EXPECT_EQ(syncs, 1);
  // A log that came later.
  ASSERT_OK(logs.Prepare(5, 55));
  EXPECT_EQ(logs.StartPrepared(), 5u);
  ASSERT_OK(logs.Append("three"));
  EXPECT_THAT(logs.Sync().value(), ElementsAre(5));
  EXPECT_EQ(syncs, 2);
}

TEST(LogSetTest, OvertakenLogsAreEmpty) {
  MemoryFileSystem files;
  const auto directory = files.OpenDirectory("/logs", /*create=*/true).value();
  LogSet logs(directory.get());
  ASSERT_OK(logs.Start(3, 33));
  ASSERT_OK(logs.Prepare(6, 66));
  ASSERT_OK(logs.Start(7, 77));
  EXPECT_EQ(logs.StartPrepared(), std::nullopt);
  ASSERT_OK(logs.Append("one"));
  const absl::StatusOr<std::vector<uint64_t>> first_time = logs.Sync();
  ASSERT_OK(first_time);
  EXPECT_THAT(*first_time, ElementsAre(7));
  logs.Remove(7);
  EXPECT_THAT(directory->List().value(), ElementsAre("000007.log"));
}

}  // namespace
}  // namespace lsm
