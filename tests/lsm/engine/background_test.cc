// Flushes, compactions, write stalls, and the effects of a failure in the background.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "lsm/threads/mutex.h"
#include "lsm/threads/thread_scheduler.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing_support::IsOk;
using testing_support::StatusIs;

class BackgroundTest : public StoreTest {
 protected:
  // More than a memtable holds, in `writes` puts.
  void FillMemtable(int writes = 17) {
    for (int i = 0; i < writes; ++i, ++filled_)
      Put(Concat("fill", filled_), std::string(4096, static_cast<char>('a' + filled_ % 26)));
  }
  void FlushedTable(std::string_view key, std::string_view value = "v") {
    Put(key, value);
    Flush();
  }
  int filled_ = 0;
};

// --- work without a call ---

TEST_F(BackgroundTest, FlushesFullMemtables) {
  Open();
  FillMemtable();
  EXPECT_EQ(Levels(), "");  // sealed, and waits for its turn
  EXPECT_EQ(world_.FilesOf(FileKind::kLog).size(), 2u);
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(Levels(), "1");
  EXPECT_EQ(world_.FilesOf(FileKind::kLog).size(), 2u);  // the one in use, and the next
  EXPECT_EQ(db_->GetStatistics().stalls_memtable, 0u);
}

// Keys that were put and deleted again leave nothing, not even a tombstone.
TEST_F(BackgroundTest, FlushesOfDeletedKeysMakeNoTable) {
  Open();
  for (int i = 0; i < 100; ++i) Put(Concat("k", i), "v");
  for (int i = 0; i < 100; ++i) Delete(Concat("k", i));
  Flush();
  EXPECT_EQ(Levels(), "");
  EXPECT_EQ(Scan(), "");
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.flushes, 1u);
  EXPECT_EQ(statistics.flush_bytes_written, 0u);
  EXPECT_EQ(statistics.tombstones_dropped_by_flushes, 100u);
  EXPECT_THAT(statistics.ToText(), HasSubstr("tombstones dropped"));
  EXPECT_EQ(world_.FilesOf(FileKind::kLog).size(), 1u);  // the next; that of the writes is gone
  ASSERT_OK(db_->Verify());
  // The numbers go on where they were, although no table has one.
  EXPECT_EQ(db_->GetSnapshot()->sequence(), 200u);
  world_.files->Restart(MemoryFileSystem::Unsynced::kLost);
  Open();
  EXPECT_EQ(db_->GetSnapshot()->sequence(), 200u);
  EXPECT_EQ(Scan(), "");
  EXPECT_EQ(db_->GetStatistics().recovery.writes, 0u);
  Put("k1", "v");
  EXPECT_EQ(db_->GetSnapshot()->sequence(), 201u);
}

// A put is in a table, or in a memtable that is flushed before that of its tombstone.
TEST_F(BackgroundTest, FlushesKeepTombstonesOfFlushedPuts) {
  Open();
  Put("a", "1");
  FillMemtable(16);
  Delete("a");
  FillMemtable(16);
  Flush();
  EXPECT_EQ(db_->GetStatistics().flushes, 3u);
  EXPECT_EQ(Get("a"), "absent");
  EXPECT_EQ(db_->GetStatistics().tombstones_dropped_by_flushes, 0u);
  CompactAll();
  EXPECT_EQ(Get("a"), "absent");
}

TEST_F(BackgroundTest, OpeningsDropTombstonesToo) {
  Open();
  Put("a", "1");
  Delete("a");
  Delete("b");
  Put("c", "1");
  Open();
  EXPECT_EQ(db_->GetStatistics().tombstones_dropped_by_flushes, 2u);
  EXPECT_EQ(EntriesInTables(), 1u);
  Delete("b");
  Delete("c");
  Open();
  EXPECT_EQ(db_->GetStatistics().tombstones_dropped_by_flushes, 1u);
  EXPECT_EQ(EntriesInTables(), 2u);
  EXPECT_EQ(Scan(), "");
}

TEST_F(BackgroundTest, WritesWaitForTheFlush) {
  Open();
  FillMemtable();
  FillMemtable();
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.stalls_memtable, 1u);
  EXPECT_GT(statistics.stall_nanos, 0u);
  EXPECT_EQ(statistics.flushes, 1u);
  EXPECT_EQ(ReadAll(*db_)->size(), 34u);
}

// Its memtables and tables take long to free.
TEST_F(BackgroundTest, IteratorsLeaveFreeingToAJob) {
  Open();
  Put("a", "1");
  Flush();
  std::unique_ptr<Iterator> iterator = db_->NewIterator();
  iterator->SeekToFirst();
  Put("b", "2");
  CompactAll();
  ASSERT_OK(db_->WaitForBackgroundWork());
  world_.scheduler.RunAll();
  const size_t tables = world_.FilesOf(FileKind::kTable).size();
  world_.files->ResetCounts();
  iterator = nullptr;
  EXPECT_EQ(world_.files->operation_count(), 0u);
  EXPECT_EQ(world_.scheduler.queued_count(), 1u);
  world_.scheduler.RunAll();
  EXPECT_LT(world_.FilesOf(FileKind::kTable).size(), tables);
}

TEST_F(BackgroundTest, CompactsLevel0AtItsLimit) {
  options_.level0_compaction_tables = 3;
  Open();
  FlushedTable("a");
  FlushedTable("a");
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(Levels(), "2");
  FlushedTable("a");
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(Levels(), "0 1");
  EXPECT_EQ(db_->GetStatistics().compactions, 1u);
  EXPECT_EQ(world_.FilesOf(FileKind::kTable).size(), 1u);
}

TEST_F(BackgroundTest, MovesTablesWithoutOverlap) {
  options_.level0_compaction_tables = 1;
  Open();
  FlushedTable("a");
  ASSERT_OK(db_->WaitForBackgroundWork());
  const std::vector<std::string> files = world_.FilesOf(FileKind::kTable);
  EXPECT_EQ(Levels(), "0 1");
  FlushedTable("b");
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(Levels(), "0 2");
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.trivial_moves, 2u);
  EXPECT_EQ(statistics.compactions, 0u);
  EXPECT_EQ(statistics.compaction_bytes_written, 0u);
  EXPECT_EQ(world_.FilesOf(FileKind::kTable)[0], files[0]);  // not rewritten
  Open();
  EXPECT_EQ(Levels(), "0 2");
  EXPECT_EQ(Scan(), "a=v b=v");
}

TEST_F(BackgroundTest, CompactsOverfullLevels) {
  options_.compression = Compression::kNone;
  options_.level0_compaction_tables = 2;
  Open();
  for (int round = 0; round < 6; ++round) {
    FillMemtable(16);
    Flush();
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
  const Statistics statistics = db_->GetStatistics();
  EXPECT_LE(statistics.levels[1].table_bytes, options_.level1_bytes);
  EXPECT_GT(statistics.levels[2].table_bytes, 0u);
  EXPECT_EQ(ReadAll(*db_)->size(), 96u);
}

TEST_F(BackgroundTest, Level0DelaysThenStopsWrites) {
  options_.compression = Compression::kNone;
  options_.level0_compaction_tables = 4;
  options_.level0_stop_tables = 4;
  Open();
  // Compactions run only when the foreground waits or pauses.
  for (int i = 0; i < 3; ++i) FlushedTable("a", std::string(40'000, 'v'));
  EXPECT_EQ(db_->GetStatistics().slowdowns, 0u);
  FlushedTable("a", std::string(40'000, 'v'));
  EXPECT_EQ(Levels(), "4");
  Put("b", std::string(10'000, 'v'));
  EXPECT_EQ(db_->GetStatistics().slowdowns, 0u);  // the next write waits for the cost of this one
  Put("b", "delayed");                            // a pause, in which the compaction runs
  Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.slowdowns, 1u);
  // The time on the clock, not the intended pause.
  EXPECT_GT(statistics.stall_nanos, 0u);
  EXPECT_LT(statistics.stall_nanos, 1'000'000u);
  EXPECT_EQ(statistics.compactions, 1u);
  EXPECT_EQ(Levels(), "0 1");
}

// Runs jobs only for callers that wait for them.
class PatientScheduler : public testing_support::SingleThreadScheduler {
 public:
  void Pause(uint64_t nanos) override { last_pause_nanos = nanos; }
  uint64_t last_pause_nanos = 0;
};

TEST_F(BackgroundTest, DelaysGrowTowardsTheStop) {
  PatientScheduler scheduler;
  options_.environment.scheduler = &scheduler;
  options_.compression = Compression::kNone;
  options_.level0_compaction_tables = 2;
  options_.level0_stop_tables = 6;
  std::vector<uint64_t> delays_us;
  for (int tables = 0; tables < 8; ++tables) {
    // The last writes become a table.  No call waits for the compaction that is due.
    Open();
    EXPECT_EQ(Levels(), tables == 0 ? "" : Concat(tables));
    scheduler.last_pause_nanos = 0;
    Put("a", std::string(30'000, 'v'));
    Put("b", std::string(10'000, 'v'));
    delays_us.push_back(scheduler.last_pause_nanos / 1000);
  }
  EXPECT_THAT(delays_us, ElementsAre(0, 0, 0, 0, Gt(100u), Gt(delays_us[4]), Gt(delays_us[5]),
                                     Gt(delays_us[6])));
  db_ = nullptr;  // before the scheduler
}

TEST_F(BackgroundTest, FlushesDelayWritesAsRoomShrinks) {
  PatientScheduler scheduler;
  options_.environment.scheduler = &scheduler;
  Open();
  Put("before", std::string(10'000, 'v'));
  Put("before", std::string(10'000, 'v'));
  EXPECT_EQ(scheduler.last_pause_nanos, 0u);
  FillMemtable();  // sealed; the duration of its flush is unknown before the flush begins
  EXPECT_EQ(scheduler.last_pause_nanos, 0u);
  std::vector<uint64_t> delays_us;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kSyncFile && path.ends_with(".table")) {
      for (int i = 0; i < 3; ++i) {
        scheduler.last_pause_nanos = 0;
        Put("beside", std::string(14'000, 'v'));
        delays_us.push_back(scheduler.last_pause_nanos / 1000);
      }
    }
    return absl::OkStatus();
  });
  ASSERT_OK(db_->WaitForBackgroundWork());
  world_.files->SetFault(nullptr);
  EXPECT_THAT(delays_us, ElementsAre(0, Gt(100u), Gt(delays_us[1])));
  EXPECT_EQ(db_->GetStatistics().slowdowns, 2u);
  EXPECT_EQ(db_->GetStatistics().stalls_memtable, 0u);
  scheduler.last_pause_nanos = 0;
  Put("after", std::string(1000, 'v'));
  EXPECT_EQ(scheduler.last_pause_nanos, 0u);
  db_ = nullptr;  // before the scheduler
}

TEST_F(BackgroundTest, SealsNoMemtableWhileLevel0IsFull) {
  PatientScheduler scheduler;
  options_.environment.scheduler = &scheduler;
  options_.level0_compaction_tables = 3;
  options_.level0_stop_tables = 3;
  Open();
  for (int i = 0; i < 3; ++i) FlushedTable("a");
  EXPECT_EQ(Levels(), "3");
  EXPECT_EQ(scheduler.queued_count(), 1u);  // a compaction for which no call waits
  const Statistics before = db_->GetStatistics();
  Put("b", "1");
  EXPECT_EQ(db_->GetStatistics().stalls_level0, before.stalls_level0);
  Flush();
  EXPECT_EQ(db_->GetStatistics().stalls_level0, before.stalls_level0 + 1);
  EXPECT_EQ(Levels(), "1 1");
  EXPECT_EQ(Scan(), "a=v b=1");
  db_ = nullptr;  // before the scheduler
}

// --- failures ---

TEST_F(BackgroundTest, FailedFlushesStopWritesAndNotReads) {
  Open();
  Put("a", "1");
  Fail(FileOperation::kCreate, ".table");
  EXPECT_THAT(db_->Flush(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(".table: broken")));
  world_.files->SetFault(nullptr);
  // Writes go on until the next memtable is full.
  Put("b", "2");
  for (int i = 0; db_->Put("b", Concat("2", std::string(4000, '.'))).ok(); ++i) ASSERT_LT(i, 100);
  const auto refused = StatusIs(absl::StatusCode::kAborted, HasSubstr(".table: broken"));
  EXPECT_THAT(db_->Put("c", "3"), refused);
  EXPECT_THAT(db_->Delete("a"), refused);
  EXPECT_THAT(db_->Flush(), refused);
  EXPECT_THAT(db_->CompactRange(), refused);
  EXPECT_THAT(db_->WaitForBackgroundWork(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(db_->GetFailure(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(".table: broken")));
  const Contents before = *ReadAll(*db_);
  EXPECT_EQ(Get("a"), "1");
  EXPECT_THAT(Get("b", {.snapshot = db_->GetSnapshot().get()}), StartsWith("2..."));
  EXPECT_EQ(Get("c"), "absent");
  EXPECT_EQ(db_->GetStatistics().background_errors, 1u);
  Open();
  EXPECT_EQ(*ReadAll(*db_), before);
  Put("b", "2");
  EXPECT_EQ(db_->GetStatistics().background_errors, 0u);
}

TEST_F(BackgroundTest, FailedNameSyncsLeaveNoTable) {
  options_.log_directory = "/logs";
  Open();
  Put("a", "1");
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kSyncDirectory && path == "/logs"
               ? absl::UnavailableError(path)
               : absl::OkStatus();
  });
  EXPECT_THAT(db_->Flush(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(world_.FilesOf(FileKind::kTable), testing::IsEmpty());
  // Closing does not record the log either, because its name may be lost.
  Put("b", "2");
  db_ = nullptr;
  world_.files->SetFault(nullptr);
  world_.files->Restart(MemoryFileSystem::Unsynced::kLost);
  Open();
  EXPECT_EQ(Scan(), "a=1");
}

TEST_F(BackgroundTest, FailedCompactionsFailTheirCaller) {
  Open();
  FlushedTable("a", "1");
  FlushedTable("a", "2");
  const std::vector<std::string> before = world_.FilesOf(FileKind::kTable);
  Fail(FileOperation::kSyncFile, ".table");
  EXPECT_THAT(db_->CompactRange(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(".table: broken")));
  EXPECT_EQ(world_.FilesOf(FileKind::kTable), before);  // unfinished tables are gone
  EXPECT_EQ(Levels(), "2");
  EXPECT_EQ(Scan(), "a=2");
  world_.files->SetFault(nullptr);
  Open();
  CompactAll();
  EXPECT_EQ(Scan(), "a=2");
}

// A scheduler whose waits may end spuriously, which the interface allows.
class RestlessScheduler : public Scheduler {
 public:
  void Schedule(Lane lane, std::function<void()> job) override {
    threads_->Schedule(lane, std::move(job));
  }
  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable&) override {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  void Pause(uint64_t) override {}

 private:
  std::unique_ptr<Scheduler> threads_ = NewThreadScheduler({}).value();
};

TEST_F(BackgroundTest, FailedCompactionsFailEarlyCallers) {
  RestlessScheduler scheduler;
  options_.environment.scheduler = &scheduler;
  Open();
  FlushedTable("a", "1");
  FlushedTable("a", "2");
  // A slow attempt to remove a file delays the end of every job.
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kRemove || !path.ends_with(".table")) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return absl::UnavailableError(Concat(path, ": cannot be removed"));
  });
  CompactAll();
  Put("a", "3");
  {
    const auto snapshot = db_->GetSnapshot();
    Put("a", "4");
    CompactAll();
  }
  EXPECT_EQ(EntriesInTables(), 2u);  // so level 1 must be rewritten, and nothing else is due
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    if (!path.ends_with(".table")) return absl::OkStatus();
    if (operation == FileOperation::kCreate) return absl::UnavailableError("broken");
    if (operation != FileOperation::kRemove) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return absl::UnavailableError(Concat(path, ": cannot be removed"));
  });
  EXPECT_THAT(db_->CompactRange(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("broken")));
  world_.files->SetFault(nullptr);
  db_ = nullptr;  // before the scheduler
}

TEST_F(BackgroundTest, FullDisksLoseNoAcknowledgedWrite) {
  options_.compression = Compression::kNone;
  for (uint64_t room = 0; room < 300'000; room += 3'701) {
    World world(room);
    Options options = options_;
    options.environment = world.SmallOptions().environment;
    Contents expected;
    {
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options));
      world.files->SetFreeBytes(room);
      absl::Status status;
      for (int i = 0; status.ok(); ++i) {
        ASSERT_LT(i, 200);
        // Writes new keys: overwritten values would be dropped, which would free their space.
        const std::string key = Concat("k", i), value = Concat(i, std::string(2000, 'v'));
        status = db->Put(key, value, {.sync = i % 3 == 0});
        if (status.ok()) expected[key] = value;
        if (i % 40 == 39) status.Update(db->Flush());
      }
      EXPECT_TRUE(absl::IsResourceExhausted(status) || absl::IsAborted(status) ||
                  absl::IsUnknown(status))
          << status;
      EXPECT_THAT(status.ToString(), HasSubstr("no space left"));
      world.files->SetFreeBytes(0);  // an unfinished table has given its space back
      const absl::Status more = db->Put("more", "x");
      EXPECT_TRUE(absl::IsAborted(more) || absl::IsUnknown(more)) << more;
      EXPECT_THAT(more.ToString(), HasSubstr("no space left"));
      ASSERT_OK_AND_ASSIGN(const Contents seen, ReadAll(*db));
      EXPECT_EQ(seen, expected);
      if (room % 2 == 0) {
        EXPECT_THAT(db->Resume(), StatusIs(absl::StatusCode::kResourceExhausted));
        world.files->SetFreeBytes(uint64_t{1} << 30);
        EXPECT_OK(db->Resume());
        ASSERT_OK_AND_ASSIGN(const Contents resumed, ReadAll(*db));
        EXPECT_EQ(resumed, expected);
        EXPECT_OK(db->Put("more", "x"));
        continue;
      }
    }
    // Still full: it can be read.
    options.mode = OpenMode::kReadOnly;
    {
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options));
      ASSERT_OK_AND_ASSIGN(Contents seen, ReadAll(*db));
      EXPECT_EQ(seen, expected) << room;
    }
    options.mode = OpenMode::kMustExist;
    EXPECT_THAT(DB::Open(kStorePath, options), StatusIs(absl::StatusCode::kResourceExhausted));
    world.files->SetFreeBytes(uint64_t{1} << 30);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options));
    ASSERT_OK_AND_ASSIGN(const Contents seen, ReadAll(*db));
    EXPECT_EQ(seen, expected) << room;
    EXPECT_OK(db->Put("more", "x"));
  }
}

TEST_F(BackgroundTest, CloseDoesNotWaitForDueWork) {
  options_.level0_compaction_tables = 1;
  Open();
  for (int i = 0; i < 3; ++i) {
    FillMemtable();
    Flush();
  }
  FillMemtable();
  const Contents expected = *ReadAll(*db_);
  int made = 0;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    made += operation == FileOperation::kCreate && path.ends_with(".table");
    return absl::OkStatus();
  });
  db_ = nullptr;
  EXPECT_LE(made, 1);  // what was under way
  world_.files->SetFault(nullptr);
  Open();
  EXPECT_EQ(*ReadAll(*db_), expected);
}

TEST_F(BackgroundTest, EmptyRangesAreNotCompacted) {
  Open();
  Put("a", "1");
  FlushedTable("z", "1");
  EXPECT_OK(db_->CompactRange("m", "m"));
  EXPECT_OK(db_->CompactRange("n", "m"));
  EXPECT_EQ(Levels(), "1");
  EXPECT_OK(db_->CompactRange("m", "n"));
  EXPECT_EQ(Levels(), "0 1");
}

TEST_F(BackgroundTest, RetriesFailedRemovals) {
  Open();
  FlushedTable("a", "1");
  FlushedTable("a", "2");
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kRemove ? absl::UnavailableError(path) : absl::OkStatus();
  });
  CompactAll();
  EXPECT_EQ(world_.FilesOf(FileKind::kTable).size(), 3u);
  world_.files->SetFault(nullptr);
  FlushedTable("b");  // the end of a job
  EXPECT_EQ(world_.FilesOf(FileKind::kTable).size(), 2u);
  EXPECT_EQ(Scan(), "a=2 b=v");
}

// The clock jumps by a year, forward and back.  No call waits for a point in time.
TEST_F(BackgroundTest, ClockJumpsStopNothing) {
  class JumpingClock : public Clock {
   public:
    uint64_t MonotonicNanos() override { return Jump(); }
    uint64_t WallMicros() override { return Jump() / 1000; }

   private:
    uint64_t Jump() {
      const uint64_t year = uint64_t{365} * 86400 * 1'000'000'000;
      return calls_++ % 2 == 0 ? 3 * year : year;
    }
    uint64_t calls_ = 0;
  } clock;
  options_.environment.clock = &clock;
  options_.level0_stop_tables = options_.level0_compaction_tables;
  Open();
  for (int i = 0; i < 3000; ++i) Put(Concat("key", i % 700), std::string(300, 'v'));
  CompactAll();
  EXPECT_EQ(Get("key0"), std::string(300, 'v'));
  EXPECT_OK(db_->Verify({.bytes_per_second = 1 << 20}));
  db_ = nullptr;
  Open();
  EXPECT_EQ(Get("key699"), std::string(300, 'v'));
  db_ = nullptr;
}

}  // namespace
}  // namespace lsm
