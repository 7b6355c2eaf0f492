// Range deletes in keyspaces that cover whole tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/keyspace.h"
#include "lsm/statistics.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// In a tree of its own, and in the common tree.
class KeyspaceRangesTest : public KeyspacesTest, public testing::WithParamInterface<std::string> {
 protected:
  static constexpr int kKeys = 200;
  static constexpr size_t kValueBytes = 20'000;

  KeyspaceRangesTest() {
    options_.compression = Compression::kNone;
    options_.write_buffer_bytes = 16 << 20;  // so large that none leaves the common tree
    options_.table_bytes = 1 << 20;
    options_.level1_bytes = 64 << 20;
  }
  static std::string NumberedKey(int i) { return Concat("key", 1000 + i); }

  // Makes four tables of 1 MiB in level 1.  Other keyspaces have the same keys: one with a lower
  // id, and one with a higher id.
  void Fill() {
    Open();
    if (GetParam() == "own") MakeOwnTrees({"own"});
    for (const char* const name : {"default", "lower"}) {
      for (int i = 0; i < kKeys; i += 20) ASSERT_OK(OpenKeyspace(name).Put(NumberedKey(i), name));
    }
    keyspace_ = OpenKeyspace(GetParam());
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK(keyspace_.Put(NumberedKey(i), std::string(kValueBytes, 'v')));
    }
    for (int i = 0; i < kKeys; i += 20)
      ASSERT_OK(OpenKeyspace("upper").Put(NumberedKey(i), "upper"));
    ASSERT_OK(keyspace_.CompactRange());
    ASSERT_EQ(keyspace_.GetStatistics().has_own_tree, GetParam() == "own");
    ASSERT_GT(keyspace_.ApproximateBytes(), uint64_t{3} << 20);
    before_ = db_->GetStatistics();
  }
  std::string Keys() {
    const std::unique_ptr<Iterator> iterator = keyspace_.NewIterator();
    int keys = 0;
    std::string first, last;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      if (keys++ == 0) first = std::string(iterator->key());
      last = std::string(iterator->key());
    }
    EXPECT_OK(iterator->status());
    return keys == 0 ? "none" : Concat(keys, " from ", first, " to ", last);
  }
  // Flushes the range delete, after which the tables that it covers are gone, unread.  Here it
  // covers all but the first or the last.  In the common tree these two hold keys of the
  // neighbours, too.
  void ExpectDropped(uint64_t tables) {
    Flush();
    ASSERT_OK(db_->WaitForBackgroundWork());
    const Statistics since = db_->GetStatistics().Since(before_);
    EXPECT_EQ(since.tables_dropped_unread, tables);
    EXPECT_GE(since.bytes_dropped_unread, tables * 900'000);
    EXPECT_EQ(since.compaction_bytes_read, 0u);
    EXPECT_EQ(since.compaction_bytes_written, 0u);
  }
  // In the common tree, the first and the last table have keys of the neighbours, too.
  void ExpectAllIsFreedSoon(uint64_t left_in_common_max = 100'000) {
    ASSERT_OK(db_->WaitForBackgroundWork());
    EXPECT_EQ(db_->GetStatistics().Since(before_).flushes, 1u);
    EXPECT_LE(keyspace_.ApproximateBytes(), GetParam() == "own" ? 0 : left_in_common_max);
    EXPECT_EQ(Keys(), "none");
    ExpectOthersHaveAll();
  }
  void ExpectOthersHaveAll() {
    for (const char* const name : {"default", "lower", "upper"}) {
      for (int i = 0; i < kKeys; i += 20)
        EXPECT_EQ(Get(OpenKeyspace(name), NumberedKey(i)), name) << i;
    }
  }

  Keyspace keyspace_;
  Statistics before_;
};
TEST_P(KeyspaceRangesTest, StatisticsCountHiddenBytes) {
  options_.block_cache_bytes = 64 << 20;  // so large that indexes tell all blocks apart
  Fill();
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  EXPECT_NEAR(db_->GetStatistics().space_amplification(), 1, 0.01);
  ASSERT_OK(keyspace_.DeleteRange(NumberedKey(0), NumberedKey(180)));
  Flush();
  const Statistics now = db_->GetStatistics();
  const double expected = 180.0 * kValueBytes;
  EXPECT_NEAR(static_cast<double>(now.total.hidden_bytes), expected, expected / 50);
  EXPECT_NEAR(now.space_amplification(), 10, 0.5);
  uint64_t hidden = 0;
  for (const LevelStatistics& level : keyspace_.GetStatistics().levels)
    hidden += level.hidden_bytes;
  EXPECT_EQ(hidden, GetParam() == "own" ? now.total.hidden_bytes : 0) << "no tree, no levels";
  snapshot.reset();
  ASSERT_OK(keyspace_.CompactRange());
  EXPECT_NEAR(db_->GetStatistics().space_amplification(), 1, 0.05);
  EXPECT_EQ(db_->GetStatistics().total.hidden_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Trees, KeyspaceRangesTest, testing::Values("common", "own"),
                         [](const auto& param) { return param.param; });

TEST_P(KeyspaceRangesTest, DeletesAreFlushedSoon) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  for (int i = 0; i < kKeys; ++i) ASSERT_OK(keyspace_.Delete(NumberedKey(i)));
  ExpectAllIsFreedSoon();
}

// Each tree has its own sample.
TEST_P(KeyspaceRangesTest, DeletesAreFlushedSoonBesideThoseOfAnotherTree) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  for (int i = 0; i < kKeys; ++i) ASSERT_OK(keyspace_.Delete(NumberedKey(i)));
  for (int i = 0; i < 500; ++i) ASSERT_OK(db_->Delete(NumberedKey(2 * kKeys + i)));
  ExpectAllIsFreedSoon();
}

// The numbers of other keyspaces do not count.
TEST_P(KeyspaceRangesTest, DeletesAreFlushedSoonBesideALaterSnapshot) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  for (int i = 0; i < kKeys; ++i) ASSERT_OK(keyspace_.Delete(NumberedKey(i)));
  const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  ASSERT_OK(db_->Put(NumberedKey(2 * kKeys), "later"));
  ExpectAllIsFreedSoon();
}

TEST_P(KeyspaceRangesTest, RangeDeletesAreFlushedSoon) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_OK(keyspace_.DeleteRange("", std::nullopt));
  ExpectAllIsFreedSoon(/*left_in_common_max=*/2 << 20);
}

TEST_P(KeyspaceRangesTest, CoveredTablesGoUnread) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_OK(keyspace_.DeleteRange("", NumberedKey(180)));
  ExpectDropped(GetParam() == "own" ? 3 : 2);
  EXPECT_LT(keyspace_.ApproximateBytes(), uint64_t{2} << 20);
  for (int pass = 0; pass < 2; ++pass) {
    SCOPED_TRACE(pass);
    EXPECT_EQ(Keys(), "20 from key1180 to key1199");
    EXPECT_EQ(Get(keyspace_, NumberedKey(100)), "absent");
    ExpectOthersHaveAll();
    EXPECT_OK(db_->Verify());
    ASSERT_NO_FATAL_FAILURE(Open());
    keyspace_ = OpenKeyspace(GetParam());
  }
}

TEST_P(KeyspaceRangesTest, ARangeWithoutAnEndKeepsToItsKeyspace) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_OK(keyspace_.DeleteRange(NumberedKey(10), std::nullopt));
  ExpectDropped(GetParam() == "own" ? 3 : 2);
  EXPECT_EQ(Keys(), "10 from key1000 to key1009");
  ExpectOthersHaveAll();
}

// A snapshot holds the tables until it is released.
TEST_P(KeyspaceRangesTest, SnapshotsHoldTheTables) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  ASSERT_OK(keyspace_.DeleteRange(NumberedKey(10), std::nullopt));
  ExpectDropped(0);
  EXPECT_EQ(Get(keyspace_, NumberedKey(100), {.snapshot = snapshot.get()}).size(), kValueBytes);
  snapshot = nullptr;
  ExpectDropped(GetParam() == "own" ? 3 : 2);
  EXPECT_EQ(Keys(), "10 from key1000 to key1009");
}

}  // namespace
}  // namespace lsm
