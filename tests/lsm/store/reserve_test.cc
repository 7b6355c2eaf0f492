// A store with a reserve recovers from a full disk although no other process frees space.
#include "lsm/store/reserve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/event_listener.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

constexpr uint64_t kBytes = uint64_t{1} << 20;

class SpaceListener : public EventListener {
 public:
  void OnSpaceChange(const SpaceChange& event) override {
    text += event.puts_refused ? "refused " : Concat("taken, ", event.reserve_bytes > 0, " ");
  }
  std::string text;
};

class ReserveTest : public StoreTest {
 protected:
  ReserveTest() {
    options_.reserve_bytes = kBytes;
    options_.compression = Compression::kNone;
  }

  uint64_t reserve_bytes(const std::string& directory = kStorePath) const {
    return world_.files->FileBytes(Concat(directory, "/", kReserveFileName)).size();
  }

  void PutMany(int count) {
    for (const int end = puts_ + count; puts_ < end; ++puts_) Put(Key(puts_), Value());
  }

  // Puts until one fails, with this much space.  Then removes the rest of the space.  Returns the
  // error.
  absl::Status Fill(uint64_t bytes) {
    world_.files->SetFreeBytes(bytes);
    for (;; ++puts_) {
      const absl::Status status = db_->Put(Key(puts_), Value());
      if (status.ok()) continue;
      if (reserve_bytes() > 0) world_.files->SetFreeBytes(0);
      return status;
    }
  }

  static std::string Key(int i) { return Concat("k", 10000 + i); }
  static std::string Value() { return std::string(2000, 'v'); }

  // Deletes all keys except the last ten.
  void DeleteMost() {
    for (int i = 0; i + 10 < puts_; ++i) ASSERT_OK(db_->Delete(Key(i)));
    ASSERT_OK(db_->CompactRange());
  }

  void ExpectPutIsRefused() {
    const absl::Status status = db_->Put("more", "x");
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("reserve_bytes")));
    EXPECT_TRUE(IsDiskFull(status));
    EXPECT_EQ(db_->GetStatistics().puts_refused, 1u);
    EXPECT_OK(db_->GetFailure());
  }

  int puts_ = 0;
};

TEST_F(ReserveTest, IsCreatedWithTheStore) {
  Open();
  EXPECT_EQ(reserve_bytes(), kReserveBytesMin);
  Open();
  EXPECT_EQ(reserve_bytes(), kReserveBytesMin);
  EXPECT_EQ(db_->GetStatistics().reserve_bytes, kReserveBytesMin);
}

TEST_F(ReserveTest, SurvivesACrash) {
  Open();
  Put("a", "1");
  Flush();
  db_ = nullptr;
  world_.files->Restart(MemoryFileSystem::Unsynced::kLost);
  EXPECT_EQ(reserve_bytes(), kReserveBytesMin);
}

TEST_F(ReserveTest, GrowsWithTheTables) {
  Open();
  PutMany(250);
  Flush();
  EXPECT_GE(reserve_bytes(), uint64_t{256} << 10);
  EXPECT_LT(reserve_bytes(), kBytes);
  PutMany(1000);
  Flush();
  EXPECT_EQ(reserve_bytes(), kBytes);  // its limit
}

TEST_F(ReserveTest, GrowsWithTheMemtable) {
  options_.write_buffer_bytes = 4 << 20;
  Open();
  for (int i = 0; i < 200; ++i) {
    const uint64_t memtable_bytes = db_->GetStatistics().memtable_bytes;
    PutMany(1);
    ASSERT_OK(db_->WaitForBackgroundWork());
    EXPECT_GE(reserve_bytes(), std::min(kBytes, 2 * memtable_bytes));
  }
  EXPECT_EQ(db_->GetStatistics().flushes, 0u);
}

TEST_F(ReserveTest, KeepsItsSizeIfItCannotGrow) {
  Open();
  PutMany(20);
  Flush();
  const uint64_t before = reserve_bytes();
  ASSERT_GT(before, 0u);
  uint64_t failures = 0, allocations = 0;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    // Building the larger reserve fails, but not one of the old size.
    const bool fails = path.ends_with(kReserveFileName) && operation == FileOperation::kAllocate &&
                       ++allocations % 2 == 1;
    failures += fails ? 1 : 0;
    return fails ? DiskFull(Concat(path, ": there is no space (made up)")) : absl::OkStatus();
  });
  PutMany(200);
  Flush();
  EXPECT_GT(failures, 0u);
  EXPECT_EQ(reserve_bytes(), before);
  EXPECT_EQ(db_->GetStatistics().reserve_bytes, before);
  world_.files->SetFault(nullptr);
  PutMany(200);
  Flush();
  EXPECT_GT(reserve_bytes(), before);
  EXPECT_EQ(db_->GetStatistics().reserve_bytes, reserve_bytes());
}

// Logs may have a small partition of their own.
TEST_F(ReserveTest, TakesAQuarterOfALogPartitionAtMost) {
  Options options;
  EXPECT_EQ(LogReserveBytesMax(options, UINT64_MAX),
            (uint64_t{1} << 20) + options.write_buffer_bytes);
  EXPECT_EQ(LogReserveBytesMax(options, uint64_t{6} << 20), uint64_t{3} << 19);
  EXPECT_EQ(LogReserveBytesMax(options, 1000), kReserveBytesMin);
  options.reserve_bytes = 0;
  EXPECT_EQ(LogReserveBytesMax(options, UINT64_MAX), 0u);
}

// Building the reserve does not wait for the device.  Its time is counted.
TEST_F(ReserveTest, BuildingItIsAStall) {
  Open();
  int syncs = 0;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kSyncFile && path.ends_with(kReserveFileName)) ++syncs;
    return absl::OkStatus();
  });
  Put("large", std::string(300'000, 'v'));
  world_.files->SetFault(nullptr);
  EXPECT_EQ(syncs, 0);
  EXPECT_GE(reserve_bytes(), 300'000u);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.stalls_reserve, 1u);
  EXPECT_GT(statistics.stall_nanos, 0u);
}

TEST_F(ReserveTest, FollowsTheOption) {
  Open();
  PutMany(1000);
  Flush();
  EXPECT_EQ(reserve_bytes(), kBytes);
  options_.reserve_bytes = kBytes / 2 + 1;
  Open();
  EXPECT_EQ(reserve_bytes(), kBytes / 2 + 1);
  options_.reserve_bytes = kBytes;
  Open();
  EXPECT_EQ(reserve_bytes(), kBytes);
  options_.reserve_bytes = 0;
  Open();
  EXPECT_THAT(world_.FilesOf(FileKind::kReserve), IsEmpty());
}

TEST_F(ReserveTest, KeepsItsSizeWhenTheStoreShrinks) {
  Open();
  PutMany(1000);
  DeleteMost();
  EXPECT_EQ(reserve_bytes(), kBytes);
}

TEST_F(ReserveTest, HasADefaultLimit) {
  EXPECT_EQ(ReserveBytesMax(Options()), uint64_t{257} << 20);
  EXPECT_EQ(LogReserveBytesMax(Options(), UINT64_MAX), uint64_t{65} << 20);
}

TEST_F(ReserveTest, RefusesPutsWithoutSpaceForIt) {
  world_.files->SetFreeBytes(100'000);
  Open();
  EXPECT_THAT(world_.FilesOf(FileKind::kReserve), IsEmpty());
  ExpectPutIsRefused();
  EXPECT_OK(db_->Delete("a"));
  world_.files->SetFreeBytes(150'000);
  EXPECT_OK(db_->Put("a", "1"));  // the store notices the free space by itself
  EXPECT_EQ(reserve_bytes(), kReserveBytesMin);
}

TEST_F(ReserveTest, IsBuiltByResume) {
  world_.files->SetFreeBytes(100'000);
  Open();
  world_.files->SetFreeBytes(150'000);
  ASSERT_OK(db_->Resume());
  EXPECT_EQ(reserve_bytes(), kReserveBytesMin);
}

// The memtable must fit into it.
TEST_F(ReserveTest, FlushesEarlyIfItCannotGrow) {
  options_.write_buffer_bytes = 4 << 20;
  Open();
  world_.files->SetFreeBytes(180'000);
  for (int i = 0; i < 40; ++i) {
    PutMany(1);
    ASSERT_OK(db_->WaitForBackgroundWork());
    EXPECT_LE(db_->GetStatistics().memtable_bytes, reserve_bytes());
  }
  EXPECT_GT(db_->GetStatistics().flushes, 0u);
}

TEST_F(ReserveTest, BacksOffWhenAQuotaIsUsedUp) {
  int attempts = 0;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kAllocate) return absl::OkStatus();
    ++attempts;
    return DiskFull(Concat(path, ": quota"));
  });
  Open();
  EXPECT_EQ(attempts, 1);
  for (int i = 0; i < 1000; ++i) ExpectPutIsRefused();
  EXPECT_EQ(attempts, 11);
  ASSERT_OK(db_->Resume());
  EXPECT_EQ(attempts, 12);
  world_.files->SetFault(nullptr);
  ASSERT_OK(db_->Resume());
  EXPECT_OK(db_->Put("a", "1"));
}

TEST_F(ReserveTest, LeavesAForeignFile) {
  world_.files->SetFileBytes(Concat(kStorePath, "/RESERVE"), "notes of the user's");
  Open();
  Put("a", "1");
  EXPECT_EQ(reserve_bytes(), 19u);
  EXPECT_FALSE(RemoveReserve(*world_.files->OpenDirectory(kStorePath, /*create=*/false).value()));
}

TEST_F(ReserveTest, IsOptional) {
  Fail(FileOperation::kCreate, "RESERVE");
  Open();
  PutMany(200);
  Flush();
  EXPECT_THAT(world_.FilesOf(FileKind::kReserve), IsEmpty());
}

TEST_F(ReserveTest, FreesAResumedStoreOnAFullDisk) {
  Open();
  EXPECT_FALSE(Fill(400'000).ok());
  ASSERT_OK(db_->Resume());
  ExpectPutIsRefused();
  DeleteMost();
  EXPECT_GT(reserve_bytes(), 0u);  // built again
  Put("more", "x");
  EXPECT_EQ(db_->GetStatistics().reserve_releases, 1u);
  EXPECT_EQ(db_->GetStatistics().puts_refused, 0u);
  EXPECT_EQ(Get(Key(0)), "absent");
  EXPECT_EQ(Get(Key(puts_ - 1)), Value());
}

TEST_F(ReserveTest, FreesAnOpenedStoreOnAFullDisk) {
  Open();
  EXPECT_FALSE(Fill(400'000).ok());
  db_ = nullptr;
  const auto listener = std::make_shared<SpaceListener>();
  options_.listener = listener;
  Open();
  EXPECT_EQ(reserve_bytes(), 0u);
  EXPECT_EQ(db_->GetStatistics().reserve_releases, 1u);
  EXPECT_EQ(listener->text, "refused ");
  EXPECT_THAT(db_->GetStatistics().ToText(), HasSubstr("puts are refused"));
  options_.listener = nullptr;
  ExpectPutIsRefused();
  Open();  // puts stay refused after opening again
  ExpectPutIsRefused();
  DeleteMost();
  Put("more", "x");
  Open();
  EXPECT_EQ(Get("more"), "x");
}

TEST_F(ReserveTest, LetsAFlushSucceed) {
  Open();
  PutMany(10);
  world_.files->SetFreeBytes(10'000);
  EXPECT_OK(db_->Flush());
  ExpectPutIsRefused();
}

TEST_F(ReserveTest, FullDisksAreDeadEndsWithoutIt) {
  options_.reserve_bytes = 0;
  Open();
  EXPECT_FALSE(Fill(400'000).ok());
  EXPECT_THAT(db_->Resume(), StatusIs(absl::StatusCode::kResourceExhausted));
  db_ = nullptr;
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(ReserveTest, RefusesMixedBatchesAndAcceptsSyncs) {
  Open();
  EXPECT_FALSE(Fill(400'000).ok());
  ASSERT_OK(db_->Resume());
  WriteBatch batch;
  batch.Delete(Key(0));
  batch.Put("more", "x");
  EXPECT_THAT(db_->Write(batch), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_NE(Get(Key(0)), "absent");  // no part of the batch was written
  EXPECT_OK(db_->Write(WriteBatch(), {.sync = true}));
}

TEST_F(ReserveTest, IsNotReleasedForOtherLimits) {
  Open();
  Put("a", "1");
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kCreate && path.ends_with(".table")
               ? absl::ResourceExhaustedError(Concat(path, ": too many open files"))
               : absl::OkStatus();
  });
  EXPECT_FALSE(db_->Flush().ok());
  EXPECT_FALSE(db_->Resume().ok());
  EXPECT_EQ(reserve_bytes(), kReserveBytesMin);
}

TEST_F(ReserveTest, IsNotTouchedByAReader) {
  Open();
  db_ = nullptr;
  world_.files->SetFreeBytes(0);
  options_.mode = OpenMode::kReadOnly;
  options_.reserve_bytes = 0;
  Open();
  EXPECT_EQ(reserve_bytes(), kReserveBytesMin);
}

TEST_F(ReserveTest, IsRemovedByDestroy) {
  Open();
  db_ = nullptr;
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  EXPECT_THAT(world_.FilesOf(FileKind::kReserve), IsEmpty());
}

TEST_F(ReserveTest, IsNotCopiedIntoACheckpoint) {
  Open();
  Put("a", "1");
  ASSERT_OK(db_->Checkpoint("/copy"));
  EXPECT_THAT(world_.FilesOf(FileKind::kReserve, "/copy"), IsEmpty());
}

TEST_F(ReserveTest, IsReleasedByRepair) {
  Open();
  EXPECT_FALSE(Fill(400'000).ok());
  db_ = nullptr;
  ASSERT_OK(DB::Repair(kStorePath, options_));
  EXPECT_EQ(reserve_bytes(), 0u);
  Open();
}

TEST_F(ReserveTest, IsKeptInALogDirectoryToo) {
  options_.log_directory = "/logs";
  Open();
  EXPECT_EQ(reserve_bytes("/logs"), kReserveBytesMin);
  EXPECT_FALSE(Fill(400'000).ok());
  db_ = nullptr;
  Open();
  EXPECT_EQ(reserve_bytes("/logs"), 0u);
  DeleteMost();
  Put("more", "x");
  db_ = nullptr;
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  EXPECT_THAT(world_.FilesOf(FileKind::kReserve, "/logs"), IsEmpty());
}

TEST_F(ReserveTest, IsCompletedAfterACrash) {
  Open();
  db_ = nullptr;
  const std::string path = Concat(kStorePath, "/", kReserveFileName);
  for (const size_t bytes : {size_t{0}, size_t{3}, size_t{8}, size_t{kReserveBytesMin / 2}}) {
    world_.files->SetFileBytes(path, world_.files->FileBytes(path).substr(0, bytes));
    Open();
    EXPECT_EQ(reserve_bytes(), kReserveBytesMin) << bytes;
    db_ = nullptr;
  }
}

TEST_F(ReserveTest, IsReportedAsAnEvent) {
  const auto listener = std::make_shared<SpaceListener>();
  options_.listener = listener;
  Open();
  EXPECT_EQ(listener->text, "");
  EXPECT_FALSE(Fill(400'000).ok());
  ASSERT_OK(db_->Resume());
  EXPECT_EQ(listener->text, "refused ");
  DeleteMost();
  EXPECT_EQ(listener->text, "refused taken, 1 ");
}

}  // namespace
}  // namespace lsm
