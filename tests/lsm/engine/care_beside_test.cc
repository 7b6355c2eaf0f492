// Verification and copies run during flushes and during DB::Resume, which replaces logs, manifest
// and CURRENT.  They must find all files that they need, and no damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::IsEmpty;

constexpr char kBackupPath[] = "/backup";

class CareBesideTest : public StoreTest {
 protected:
  CareBesideTest() {
    options_.environment.scheduler = nullptr;
    options_.environment.clock = nullptr;
  }

  void Fill() {
    Open();
    for (int i = 0; i < 400; ++i) Put(Concat("key", 1000 + i), std::string(20, 'v'));
    CompactAll();
  }
  // After that there is a failure to resume from, and the contents of log and manifest are known.
  void FailToFlush() {
    Put("key1001", "newer");
    Fail(FileOperation::kCreate, ".table");
    ASSERT_FALSE(db_->Flush().ok());
    world_.files->SetFault(nullptr);
  }
};

// The thread of the store looks every 10 s.
TEST_F(CareBesideTest, IdleStoresGiveTheirSpaceBack) {
  options_.compression = Compression::kNone;
  options_.write_buffer_bytes = 16 << 20;
  options_.level1_bytes = uint64_t{64} << 20;
  Open();
  for (int i = 0; i < 200; ++i) Put(Concat("key", 1000 + i), std::string(20'000, 'v'));
  CompactAll();
  EXPECT_GT(db_->GetStatistics().total.tables, 0u);
  for (int i = 0; i < 200; ++i) Delete(Concat("key", 1000 + i));
  for (int i = 0; i < 6000 && db_->GetStatistics().total.tables > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(db_->GetStatistics().total.tables, 0u);
}

// A job seals the memtable beside an empty queue of writers, or the next writer does.
TEST_F(CareBesideTest, EarlySealsLoseNoWrite) {
  constexpr int kKeys = 200, kThreads = 2;
  options_.compression = Compression::kNone;
  options_.write_buffer_bytes = 16 << 20;
  options_.level1_bytes = uint64_t{64} << 20;
  Open();
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kKeys; ++i) Put(Concat("large", 1000 + i), std::string(20'000, 'v'));
    CompactAll();
    std::atomic<int> writing{kThreads};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = thread; i < kKeys; i += kThreads) {
          EXPECT_OK(db_->Delete(Concat("large", 1000 + i)));
          for (int j = 0; j < 20; ++j) EXPECT_OK(db_->Put(Concat("count", thread), Concat(i, j)));
          EXPECT_EQ(Get(Concat("count", thread)), Concat(i, 19));
        }
        --writing;
      });
    }
    threads.emplace_back([&] {
      while (writing > 0) EXPECT_OK(db_->WaitForBackgroundWork());
    });
    for (std::thread& thread : threads) thread.join();
    ASSERT_OK(db_->WaitForBackgroundWork());
    EXPECT_LT(db_->GetStatistics().total.table_bytes, uint64_t{2} << 20);
    if (round % 2 == 1) Open();
    EXPECT_EQ(Scan(), Concat("count0=", kKeys - 2, 19, " count1=", kKeys - 1, 19));
  }
}

TEST_F(CareBesideTest, VerifyFindsNoDamageDuringSwitches) {
  Fill();
  FailToFlush();
  std::thread verifying;
  std::promise<void> verified;
  std::atomic<bool> swapped{false}, begun{false};
  world_.files->SetFault([&](FileOperation operation, const std::string&, uint64_t) {
    if (operation == FileOperation::kAtomicReplace) swapped = true;
    if (swapped && operation == FileOperation::kList && !begun.exchange(true)) {
      verifying = std::thread([&] {
        const absl::StatusOr<VerifyReport> report = db_->Verify();
        EXPECT_OK(report);
        if (report.ok()) {
          EXPECT_THAT(report->problems, IsEmpty());
        }
        verified.set_value();
      });
      // Verify need not finish before, but it may try.
      verified.get_future().wait_for(std::chrono::milliseconds(200));
    }
    return absl::OkStatus();
  });
  EXPECT_OK(db_->Resume());
  world_.files->SetFault(nullptr);
  ASSERT_TRUE(begun);
  verifying.join();
  EXPECT_THAT(db_->GetDamage(), IsEmpty());
}

// Logs may be long, and reading them is not throttled.
TEST_F(CareBesideTest, FlushesDoNotWaitForVerify) {
  Fill();
  Put("key1001", "newer");
  std::thread flushing;
  std::promise<void> flushed;
  std::atomic<bool> begun{false};
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kReadAt && path.ends_with(".log") && !begun.exchange(true)) {
      flushing = std::thread([&] {
        EXPECT_OK(db_->Flush());
        flushed.set_value();
      });
      EXPECT_EQ(flushed.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
    }
    return absl::OkStatus();
  });
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
  EXPECT_THAT(report.problems, IsEmpty());
  ASSERT_TRUE(begun);
  flushing.join();
  world_.files->SetFault(nullptr);
}

// The table that is being verified or copied is replaced.  Then all files that the new manifest
// does not name are removed.
TEST_F(CareBesideTest, FilesInUseAreNotRemoved) {
  for (const bool copies : {false, true}) {
    world_.files = std::make_unique<MemoryFileSystem>();
    options_.environment.file_system = world_.files.get();
    Fill();
    std::promise<void> reading, resumed;
    bool waited = false;
    Pace pace;
    pace.progress = [&](const Progress&) {
      if (!std::exchange(waited, true)) {
        reading.set_value();
        resumed.get_future().wait();
      }
      return true;
    };
    std::thread caring([&] {
      if (copies) {
        EXPECT_OK(db_->Backup(kBackupPath, "", pace));
      } else {
        const absl::StatusOr<VerifyReport> report = db_->Verify(pace);
        EXPECT_OK(report);
        if (report.ok()) {
          EXPECT_THAT(report->problems, IsEmpty());
        }
      }
    });
    reading.get_future().wait();
    for (int i = 0; i < 400; i += 10) Put(Concat("key", 1000 + i), "replaced");
    CompactAll();
    FailToFlush();
    EXPECT_OK(db_->Resume());
    resumed.set_value();
    caring.join();
    // No read needs it any more.
    CompactAll();
    // A job that is ending may still hold a file.
    ExpectNoOtherTablesSoon(world_, *db_);
    db_ = nullptr;
  }
}

}  // namespace
}  // namespace lsm
