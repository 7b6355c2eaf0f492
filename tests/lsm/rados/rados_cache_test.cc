// A store in a Ceph cluster whose tables a local cache keeps (lsm/cached_file_system.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "bloom/core/concat.h"
#include "lsm/bytes/split_mix.h"
#include "lsm/cached_file_system.h"
#include "lsm/db.h"
#include "lsm/options.h"
#include "lsm/pieces/piece.h"
#include "lsm/statistics.h"
#include "lsm/write_batch.h"
#include "tests/lsm/rados/counting_pool.h"
#include "tests/lsm/rados/test_cluster.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using bloom::Concat;
using testing::Ge;
using testing::Gt;
using testing::Le;
using testing_support::CountingFiles;
using testing_support::TestCluster;

constexpr uint64_t kKeys = 12'000, kBatchKeys = 100;
constexpr size_t kValueBytes = 1000;

std::string KeyOf(uint64_t i) { return Concat("key", 100'000 + i); }
std::string ValueOf(uint64_t i, uint64_t version) {
  SplitMix random(i * 2 + version);
  std::string value;
  while (value.size() < kValueBytes) value.push_back(static_cast<char>(random.Next()));
  return value;
}

class RadosCacheTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(cluster_.status()); }
  ~RadosCacheTest() override { Close(); }

  // As a new process does: with a client of its own, and with what is in `directory_`.
  void Open() {
    Close();
    ASSERT_OK_AND_ASSIGN(client_, CountingFiles::Open(TestCluster::Options()));
    cached_.emplace(client_->files(),
                    CachedFileSystem::Config{directory_.path_of("cache"), uint64_t{64} << 20});
    ASSERT_OK(cached_->status());
    Options options;
    options.write_buffer_bytes = 4 << 20;
    options.table_bytes = 4 << 20;
    options.block_cache_bytes = 0;  // reads go to the files
    options.environment.file_system = &*cached_;
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(name_, options));
  }
  void Close() {
    if (db_ != nullptr) {
      EXPECT_OK(db_->Close());
    }
    db_ = nullptr;
    cached_.reset();
    client_ = nullptr;
  }

  // Writes all keys, and then those with an even number again.  Flushes and compactions make the
  // tables.
  void Load() {
    for (uint64_t i = 0; i < kKeys; i += kBatchKeys) Write(i, 1, 0);
    for (uint64_t i = 0; i < kKeys; i += 2 * kBatchKeys) Write(i, 2, 1);
    ASSERT_OK(db_->Flush());
    ASSERT_OK(db_->CompactRange());
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
  // One write of the cluster for many keys.
  void Write(uint64_t first, uint64_t step, uint64_t version) {
    WriteBatch batch;
    for (uint64_t i = 0; i < kBatchKeys; ++i)
      batch.Put(KeyOf(first + i * step), ValueOf(first + i * step, version));
    ASSERT_OK(db_->Write(batch));
  }
  void ReadAll() {
    for (uint64_t i = 0; i < kKeys; ++i) {
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db_->Get(KeyOf(i)));
      ASSERT_EQ(value, ValueOf(i, 1 - i % 2)) << i;
    }
  }
  uint64_t TableBytes() {
    uint64_t bytes = 0;
    for (const LevelStatistics& level : db_->GetStatistics().levels) bytes += level.table_bytes;
    return bytes;
  }
  // Bytes that this client has read from the pool.
  uint64_t BytesFromCluster() const { return client_->pool().calls().bytes_read; }

  // Flips a bit in each part of each piece in the cache.
  void DamagePieces() {
    for (const auto& file : std::filesystem::directory_iterator(directory_.path_of("cache"))) {
      if (file.path().extension() != ".pieces") continue;
      std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      for (uint64_t offset = 7; offset < file.file_size(); offset += kPartBytes) {
        const auto at = static_cast<std::streamoff>(offset);
        const int byte = bytes.seekg(at).get();
        bytes.seekp(at).put(static_cast<char>(byte ^ 0x20));
      }
      ASSERT_TRUE(bytes.good()) << file.path();
    }
  }

  const std::string name_ = TestCluster::UniqueName();
  const testing_support::ScratchDir directory_;
  TestCluster cluster_;
  std::unique_ptr<CountingFiles> client_;
  std::optional<CachedFileSystem> cached_;
  std::unique_ptr<DB> db_;
};

TEST_F(RadosCacheTest, ReadsLittleFromTheClusterAfterARestart) {
  Open();
  Load();
  const uint64_t table_bytes = TableBytes();
  ASSERT_THAT(table_bytes, Ge(kKeys * kValueBytes));
  const uint64_t loaded = BytesFromCluster();
  ReadAll();  // written through
  EXPECT_EQ(BytesFromCluster(), loaded);

  Open();
  ReadAll();
  EXPECT_THAT(BytesFromCluster(), Le(table_bytes / 50));
  EXPECT_EQ(cached_->statistics().misses, 0u);
  EXPECT_THAT(cached_->statistics().bytes_hit, Ge(kKeys * kValueBytes));
  RecordProperty("bytes_read_again", Concat(BytesFromCluster(), " of ", table_bytes));
}

TEST_F(RadosCacheTest, ReadsDamagedPiecesFromTheClusterAgain) {
  Open();
  Load();
  const uint64_t table_bytes = TableBytes();
  Close();
  DamagePieces();

  Open();
  ReadAll();
  EXPECT_THAT(cached_->statistics().bad_pieces, Gt(0u));
  EXPECT_THAT(cached_->statistics().misses, Ge(table_bytes / kPieceBytes));
  EXPECT_THAT(BytesFromCluster(), Ge(table_bytes));
  // They were stored again.
  const uint64_t repaired = BytesFromCluster();
  ReadAll();
  EXPECT_EQ(BytesFromCluster(), repaired);
}

TEST_F(RadosCacheTest, FillsAnEmptyCacheByReading) {
  Open();
  Load();
  const uint64_t table_bytes = TableBytes();
  Close();
  std::filesystem::remove_all(directory_.path_of("cache"));  // another machine

  Open();
  ReadAll();
  EXPECT_THAT(BytesFromCluster(), Ge(table_bytes * 9 / 10));
  Open();
  ReadAll();
  EXPECT_THAT(BytesFromCluster(), Le(table_bytes / 50));
}

}  // namespace
}  // namespace lsm
