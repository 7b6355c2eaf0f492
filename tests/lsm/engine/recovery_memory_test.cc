// Recovery of logs that are many times larger than a memtable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/write_batch.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/support/memory_taken.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::InChild;
using testing_support::MemoryTakenBy;
using testing_support::ScratchDir;
using testing_support::StatusIs;
using Unsynced = MemoryFileSystem::Unsynced;

constexpr size_t kBufferBytes = size_t{8} << 20;
constexpr int kBuffers = 12;

Options OptionsOf(size_t write_buffer_bytes) {
  Options options;
  options.write_buffer_bytes = write_buffer_bytes;
  // Nothing but the opening takes memory.
  options.level0_compaction_tables = options.level0_stop_tables = 1000;
  return options;
}

// A killed store whose log holds so many bytes in records of `record_bytes`.
void MakeLog(const std::string& path, size_t record_bytes) {
  ASSERT_EQ(InChild([&] {
              const auto db = DB::Open(path, OptionsOf(2 * kBuffers * kBufferBytes));
              if (!db.ok()) return db.status().ToString();
              absl::Status status;
              for (size_t i = 0; i < kBuffers * kBufferBytes / record_bytes; ++i) {
                WriteBatch batch;
                for (size_t bytes = 0; bytes < record_bytes; bytes += 1024)
                  batch.Put(Concat("key", i, " ", bytes), std::string(1024, 'v'));
                status.Update((*db)->Write(batch));
              }
              if (status.ok()) ::_exit(0);
              return status.ToString();
            }),
            "");
}

TEST(RecoveryMemoryTest, OpeningTakesAtMostThreeWriteBuffers) {
  if (testing_support::kIsSanitized) return;  // which take memory of their own
  for (const size_t record_bytes : {size_t{4} << 10, kBufferBytes * 3 / 4}) {
    const ScratchDir scratch;
    const std::string path = scratch.path_of("store");
    ASSERT_NO_FATAL_FAILURE(MakeLog(path, record_bytes));
    const double taken = MemoryTakenBy([&] {
      auto db = DB::Open(path, OptionsOf(kBufferBytes));
      if (!db.ok()) return false;
      (void)db->release();  // the child ends here
      return true;
    });
    EXPECT_GT(taken, 0);
    EXPECT_LE(taken / static_cast<double>(kBufferBytes), 3) << "records of " << record_bytes;
    RecordProperty(Concat("buffers_", record_bytes),
                   std::to_string(taken / static_cast<double>(kBufferBytes)));
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(path, OptionsOf(kBufferBytes)));
    const Statistics statistics = db->GetStatistics();
    EXPECT_GE(statistics.levels[0].tables, size_t{kBuffers});
    EXPECT_EQ(statistics.total.entries, kBuffers * kBufferBytes / 1024);
  }
}

// A store whose log becomes many tables.
class LongReplayTest : public StoreTest {
 protected:
  LongReplayTest() {
    options_.write_buffer_bytes = 4 << 20;
    Open();
    for (int i = 0; i < 100; ++i)
      EXPECT_OK(db_->Put(Concat("k", 100 + i), std::string(4096, 'x'), {.sync = i == 99}));
    expected_ = *ReadAll(*db_);
    image_ = world_.files->Clone();
    db_ = nullptr;
  }
  static Options SmallOptionsOn(World* world) {
    Options options = world->SmallOptions();
    options.level0_compaction_tables = options.level0_stop_tables = 100;
    return options;
  }
  static std::vector<std::string> Names(World* world) {
    return (*world->files->OpenDirectory(kStorePath, false))->List().value();
  }

  Contents expected_;
  std::unique_ptr<MemoryFileSystem> image_;
};

TEST_F(LongReplayTest, DamageAfterManyTablesLeavesNothing) {
  World world(4, image_->Clone());
  const std::string log = world.FilesOf(FileKind::kLog)[0];
  std::string bytes = world.files->FileBytes(log);
  bytes[bytes.size() - 100] ^= 1;
  world.files->SetFileBytes(log, bytes);
  const std::vector<std::string> names = Names(&world);
  EXPECT_THAT(DB::Open(kStorePath, SmallOptionsOn(&world)),
              StatusIs(absl::StatusCode::kDataLoss, testing::HasSubstr(log)));
  EXPECT_EQ(Names(&world), names);
}

TEST_F(LongReplayTest, FaultOrCrashAnywhereChangesNothing) {
  uint64_t operations = 0;
  {
    World world(4, image_->Clone());
    world.files->ResetCounts();
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(kStorePath, SmallOptionsOn(&world)));
    operations = world.files->operation_count();
    EXPECT_GT(db->GetStatistics().levels[0].tables, 4u);
  }
  for (uint64_t at = 0; at < operations; ++at) {
    for (const int how : {0, 1, 2}) {
      World world(4, image_->Clone());
      world.files->ResetCounts();
      if (how == 0) {
        world.files->SetFault([at](FileOperation, const std::string& path, uint64_t number) {
          return number == at ? absl::UnavailableError(path) : absl::OkStatus();
        });
      } else {
        world.files->CrashAt(at);
      }
      (void)DB::Open(kStorePath, SmallOptionsOn(&world));
      if (how == 0) {
        world.files->SetFault(nullptr);
      } else {
        world.files->Restart(how == 1 ? Unsynced::kLost : Unsynced::kKept);
      }
      ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(kStorePath, SmallOptionsOn(&world)));
      EXPECT_EQ(*ReadAll(*db), expected_) << at;
      EXPECT_EQ(world.FilesOf(FileKind::kTable).size(), db->GetStatistics().total.tables) << at;
    }
  }
}

}  // namespace
}  // namespace lsm
