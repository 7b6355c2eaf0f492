// A store gives the space of expired entries back by itself, also if it is idle
// (lsm/design/expiry.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "lsm/keyspace.h"
#include "lsm/snapshot.h"
#include "tests/lsm/engine/ranges/large_values_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

class ExpiredSpaceTest : public LargeValuesTest {
 protected:
  void SetLimit(uint32_t seconds) {
    ASSERT_OK(db_->OpenKeyspace("default", {.expire_after = seconds}));
  }
  void Advance(uint64_t seconds) { world_.clock.Advance(seconds * 1'000'000'000); }
  // Writes a tenth of the keys each 100 s, so that each table has keys of all times.
  void FillInTenths() {
    for (int part = 0; part < 10; ++part) {
      for (int i = part; i < kKeys; i += 10) Put(Key(i), ValueOf(i));
      Advance(100);
    }
    CompactAll();
  }
  // Tables of the default keyspace.  The name of "default", with its limit, has another one.
  uint64_t TableBytesAfterALook() {
    EXPECT_OK(db_->WaitForBackgroundWork());
    return db_->OpenKeyspace("default")->GetStatistics().table_bytes;
  }
};

TEST_F(ExpiredSpaceTest, TablesGoUnread) {
  Open();
  SetLimit(1'000);
  Fill();
  const uint64_t written = db_->GetStatistics().compaction_bytes_written;
  Advance(1'000);
  EXPECT_GT(TableBytesAfterALook(), 4'000'000u);
  Advance(1);
  EXPECT_EQ(TableBytesAfterALook(), 0u);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.tables_dropped_unread, 4u);
  EXPECT_GT(statistics.bytes_dropped_unread, 4'000'000u);
  EXPECT_EQ(statistics.compaction_bytes_written, written);
  EXPECT_THAT(listener_->reasons, Each("drop"));
}

TEST_F(ExpiredSpaceTest, SnapshotsKeepTables) {
  Open();
  SetLimit(1'000);
  Fill();
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  Advance(2'000);
  EXPECT_GT(TableBytesAfterALook(), 4'000'000u);
  ReadOptions options;
  options.snapshot = snapshot.get();
  EXPECT_EQ(Get(Key(7), options), ValueOf(7));
  snapshot = nullptr;
  EXPECT_EQ(TableBytesAfterALook(), 0u);
}

TEST_F(ExpiredSpaceTest, TablesAreRewrittenOnceAFifthHasExpired) {
  Open();
  SetLimit(1'000);
  FillInTenths();
  *listener_ = {};
  const uint64_t all = TableBytesAfterALook();
  Advance(50);  // the first tenth has expired
  EXPECT_EQ(TableBytesAfterALook(), all);
  Advance(200);  // three tenths; in the end less than a sixth of the tables has expired
  EXPECT_LT(TableBytesAfterALook(), all * 85 / 100);
  EXPECT_THAT(listener_->reasons, Contains("tombstones"));
  for (int i = 0; i < kKeys; ++i) EXPECT_EQ(Get(Key(i)) == "absent", i % 10 < 3) << i;
}

// A lower limit frees nothing before a flush has recorded it.
TEST_F(ExpiredSpaceTest, ALowerLimitIsFlushedIfItFreesMore) {
  Open();
  SetLimit(100'000);
  Fill();
  Advance(5'000);
  SetLimit(6'000);
  EXPECT_GT(TableBytesAfterALook(), 4'000'000u);
  EXPECT_THAT(listener_->flush_reasons, IsEmpty());
  SetLimit(4'000);
  EXPECT_EQ(Get(Key(7)), "absent");
  EXPECT_EQ(TableBytesAfterALook(), 0u);
  EXPECT_EQ(listener_->flush_reasons.size(), 1u);
}

TEST_F(ExpiredSpaceTest, AHigherLimitCausesNoFlush) {
  Open();
  SetLimit(1'000);
  Fill();
  Advance(500);
  SetLimit(100'000);
  Advance(1'000);
  EXPECT_GT(TableBytesAfterALook(), 4'000'000u);
  EXPECT_THAT(listener_->flush_reasons, IsEmpty());
  EXPECT_EQ(Get(Key(7)), ValueOf(7));
}

// All puts are from before the first limit, and have no times.
TEST_F(ExpiredSpaceTest, AFirstLimitFreesAnIdleStore) {
  Open();
  Fill();
  SetLimit(1'000);
  Advance(1'001);
  EXPECT_GT(db_->GetStatistics().total.expired_bytes, 4'000'000u);
  EXPECT_EQ(TableBytesAfterALook(), 0u);
}

TEST_F(ExpiredSpaceTest, TablesOfUntimedPutsAreRewritten) {
  Open();
  Fill();
  SetLimit(1'000);
  Advance(900);
  for (int i = 0; i < kKeys; i += 10) Put(Key(i), ValueOf(i));
  CompactAll();
  Advance(200);
  EXPECT_LT(TableBytesAfterALook(), 1'000'000u);
  for (int i = 0; i < kKeys; ++i) EXPECT_EQ(Get(Key(i)) == "absent", i % 10 != 0) << i;
}

// After a rewrite has failed, the rule for tombstones rests for an hour.
TEST_F(ExpiredSpaceTest, TablesGoUnreadWhileTheRuleRests) {
  Open();
  SetLimit(1'000);
  FillInTenths();
  Advance(300);
  Fail(FileOperation::kAppend, ".table");
  EXPECT_GT(TableBytesAfterALook(), 4'000'000u);
  world_.files->SetFault(nullptr);
  EXPECT_GT(TableBytesAfterALook(), 4'000'000u) << "it rests";
  Advance(1'000);
  EXPECT_EQ(TableBytesAfterALook(), 0u);
}

}  // namespace
}  // namespace lsm
