// A store in an object store, with a local cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/cached_file_system.h"
#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::Le;

constexpr uint64_t kKeys = 40'000;

std::string KeyOf(uint64_t i) { return Concat("key", i * 7919 % 1'000'003); }
std::string ValueOf(uint64_t i) {
  testing_support::Dice dice(i);
  std::string value;
  while (value.size() < 200) value.push_back(static_cast<char>(dice.Next()));  // incompressible
  return value;
}

class CachedStoreTest : public testing::Test {
 protected:
  ~CachedStoreTest() override { Close(); }

  // As a new process does: on the same objects, and the same local disk if `is_warm`.
  void Open(bool is_warm) {
    Close();
    if (!is_warm) local_ = std::make_unique<MemoryFileSystem>();
    client_.emplace(objects_, "the store", ++seed_, PoolClientOptions{1 << 20, 1 << 20});
    cached_.emplace(&client_->files,
                    CachedFileSystem::Config{"/ssd", uint64_t{64} << 20, local_.get()});
    ASSERT_OK(cached_->status());
    Options options;
    options.write_buffer_bytes = 1 << 20;
    options.table_bytes = 1 << 20;
    options.level1_bytes = 4 << 20;
    options.block_cache_bytes = 0;  // reads go to the files
    options.reserve_bytes = 0;
    options.environment = {&*cached_, nullptr, &clock_, &scheduler_, &client_->random};
    ASSERT_OK_AND_ASSIGN(db_, DB::Open("/store", options));
  }
  void Close() {
    if (db_ != nullptr) {
      EXPECT_OK(db_->Close());
    }
    db_ = nullptr;
    cached_.reset();
    client_.reset();
  }
  void Load() {
    for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db_->Put(KeyOf(i), ValueOf(i)));
    ASSERT_OK(db_->Flush());
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
  void ReadAll() {
    for (uint64_t i = 0; i < kKeys; i += 3) ASSERT_EQ(db_->Get(KeyOf(i)).value(), ValueOf(i));
  }
  uint64_t TableBytes() {
    uint64_t bytes = 0;
    for (const LevelStatistics& level : db_->GetStatistics().levels) bytes += level.table_bytes;
    return bytes;
  }

  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  std::unique_ptr<MemoryFileSystem> local_ = std::make_unique<MemoryFileSystem>();
  uint64_t seed_ = 0;
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler scheduler_;
  std::optional<PoolClient> client_;
  std::optional<CachedFileSystem> cached_;
  std::unique_ptr<DB> db_;
};

TEST_F(CachedStoreTest, ReadsLittleAgainAfterARestart) {
  Open(/*is_warm=*/true);
  Load();
  const uint64_t bytes = TableBytes();
  ASSERT_GT(bytes, uint64_t{8} << 20);
  // Written through.
  const CachedFileSystem::Statistics loaded = cached_->statistics();
  ReadAll();
  EXPECT_EQ(cached_->statistics().bytes_below, loaded.bytes_below);
  EXPECT_GT(cached_->statistics().hits, kKeys / 4);

  Open(/*is_warm=*/true);
  ReadAll();
  EXPECT_THAT(cached_->statistics().bytes_below, Le(bytes / 50));
  EXPECT_EQ(cached_->statistics().misses, 0u);
  RecordProperty("share_read_again", Concat(cached_->statistics().bytes_below, " of ", bytes));

  // A machine whose cache is empty fills it by reading.
  Open(/*is_warm=*/false);
  ReadAll();
  EXPECT_GT(cached_->statistics().bytes_below, bytes / 2);
  Open(/*is_warm=*/true);
  ReadAll();
  EXPECT_THAT(cached_->statistics().bytes_below, Le(bytes / 50));
}

TEST_F(CachedStoreTest, CompactsVerifiesAndCopies) {
  Open(/*is_warm=*/true);
  Load();
  for (uint64_t i = 0; i < kKeys; i += 2) ASSERT_OK(db_->Delete(KeyOf(i)));
  ASSERT_OK(db_->CompactRange());
  ASSERT_OK(db_->Checkpoint("/copy"));
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
  EXPECT_THAT(report.problems, testing::IsEmpty());
  Open(/*is_warm=*/true);
  for (uint64_t i = 0; i < kKeys; i += 5) {
    const auto value = db_->Get(KeyOf(i));
    ASSERT_OK(value);
    ASSERT_EQ(value->has_value(), i % 2 == 1);
  }
  EXPECT_EQ(cached_->statistics().errors, 0u);
}

}  // namespace
}  // namespace lsm
