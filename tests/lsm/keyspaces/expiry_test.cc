// Entries that expire, as a program sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/snapshot.h"
#include "lsm/statistics.h"
#include "tests/lsm/keyspaces/expiry_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

// In the default keyspace, in the common tree, and in a tree of its own.
class ExpiryInTreeTest : public ExpiryTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(Open());
    if (GetParam() == "own") MakeOwnTrees({"own"});
  }
  Keyspace Limit(uint32_t seconds) { return OpenKeyspace(GetParam(), {.expire_after = seconds}); }
  // Under a clock of this time.
  void ReopenAt(uint64_t seconds, Keyspace* keyspace) {
    clock_.Set(seconds);
    ASSERT_NO_FATAL_FAILURE(Open());
    *keyspace = OpenKeyspace(GetParam());
  }
  void CompactAll(Keyspace& keyspace) { ASSERT_OK(keyspace.CompactRange()); }
};
INSTANTIATE_TEST_SUITE_P(Trees, ExpiryInTreeTest, testing::Values("default", "common", "own"),
                         [](const auto& param) { return param.param; });

TEST_P(ExpiryInTreeTest, EntriesLiveForTheLimitAndAtMostOneSecondMore) {
  Keyspace keyspace = Limit(10);
  ASSERT_OK(keyspace.Put("a", "1"));
  clock_.Add(5);
  ASSERT_OK(keyspace.Put("b", "2"));
  for (const char* place : {"memtable", "level 0", "level 1", "after reopening"}) {
    SCOPED_TRACE(place);
    if (place == std::string_view("level 0")) Flush();
    if (place == std::string_view("level 1")) CompactAll(keyspace);
    if (place == std::string_view("after reopening")) {
      ASSERT_NO_FATAL_FAILURE(ReopenAt(clock_.seconds(), &keyspace));
    }
    EXPECT_EQ(Read(keyspace, "a"), "1");
    EXPECT_EQ(Read(keyspace, "b"), "2");
    EXPECT_EQ(Scan(keyspace), "a=1 b=2");
  }
  clock_.Add(5);
  EXPECT_EQ(Read(keyspace, "a"), "1");
  clock_.Add(1);
  EXPECT_EQ(Read(keyspace, "a"), "absent");
  EXPECT_EQ(Read(keyspace, "b"), "2");
  EXPECT_EQ(Scan(keyspace), "b=2");
  CompactAll(keyspace);
  EXPECT_EQ(Scan(keyspace), "b=2");
  clock_.Add(5);
  EXPECT_EQ(Read(keyspace, "b"), "absent");
  EXPECT_EQ(Scan(keyspace), "");
  ASSERT_OK(db_->Verify().status());
}

// A clock that was set back gives a newer version an older time.
TEST_P(ExpiryInTreeTest, AnOlderVersionNeverReturns) {
  for (const bool compacts : {false, true}) {
    SCOPED_TRACE(compacts);
    Keyspace keyspace = Limit(100);
    const uint64_t now = clock_.seconds();
    ASSERT_OK(keyspace.Put("a", "old"));
    ASSERT_OK(keyspace.Put("z", "other"));
    CompactAll(keyspace);
    ASSERT_NO_FATAL_FAILURE(ReopenAt(now - 50, &keyspace));
    ASSERT_OK(keyspace.Put("a", "new"));
    if (compacts) Flush();
    clock_.Set(now + 60);  // 110 and 60 seconds later
    EXPECT_EQ(Read(keyspace, "a"), "absent");
    Flush();
    if (compacts) CompactAll(keyspace);
    Settle();
    EXPECT_EQ(Read(keyspace, "a"), "absent");
    EXPECT_EQ(Scan(keyspace), "z=other");
    // Once more: what has expired may be seen again, but nothing older.
    ASSERT_NO_FATAL_FAILURE(ReopenAt(now, &keyspace));
    EXPECT_NE(Read(keyspace, "a"), "old");
    CompactAll(keyspace);
    EXPECT_NE(Read(keyspace, "a"), "old");
    ASSERT_OK(keyspace.Delete("a"));
    clock_.Set(now + 1000);
  }
}

TEST_P(ExpiryInTreeTest, SnapshotsAndIteratorsShowTheSame) {
  Keyspace keyspace = Limit(10);
  ASSERT_OK(keyspace.Put("a", "1"));
  ASSERT_OK(keyspace.Put("b", "2"));
  const std::unique_ptr<const Snapshot> early = db_->GetSnapshot();
  const std::unique_ptr<Iterator> iterator = keyspace.NewIterator();
  clock_.Add(11);
  const std::unique_ptr<const Snapshot> late = db_->GetSnapshot();  // of the same number
  EXPECT_EQ(early->sequence(), late->sequence());
  for (const char* step : {"", "flush", "compact", "lower", "raise", "compact again", "zero"}) {
    SCOPED_TRACE(step);
    if (step == std::string_view("flush")) Flush();
    if (step == std::string_view("compact")) CompactAll(keyspace);
    if (step == std::string_view("lower")) Limit(1);
    if (step == std::string_view("raise")) Limit(1000);
    if (step == std::string_view("compact again")) CompactAll(keyspace);
    if (step == std::string_view("zero")) Limit(0);
    EXPECT_EQ(Read(keyspace, "a", {.snapshot = early.get()}), "1");
    EXPECT_EQ(Scan(keyspace, {.snapshot = early.get()}), "a=1 b=2");
    EXPECT_EQ(Read(keyspace, "a", {.snapshot = late.get()}), "absent");
    EXPECT_EQ(Scan(keyspace, {.snapshot = late.get()}), "");
    EXPECT_EQ(ScanOf(*iterator), "a=1 b=2");
    EXPECT_EQ(Scan(keyspace), "");
  }
}

TEST_P(ExpiryInTreeTest, ExpiredEntriesStayExpired) {
  Keyspace keyspace = Limit(10);
  ASSERT_OK(keyspace.Put("a", "1"));
  clock_.Add(6);
  ASSERT_OK(keyspace.Put("b", "2"));
  clock_.Add(6);
  EXPECT_EQ(Scan(keyspace), "b=2");
  Limit(1000);
  EXPECT_EQ(Scan(keyspace), "b=2") << "raised";
  clock_.Add(500);
  EXPECT_EQ(Scan(keyspace), "b=2");
  Limit(3);
  EXPECT_EQ(Scan(keyspace), "") << "lowered";
  ASSERT_OK(keyspace.Put("c", "3"));
  Limit(0);
  clock_.Add(100'000);
  EXPECT_EQ(Scan(keyspace), "c=3") << "not any more";
  ASSERT_NO_FATAL_FAILURE(ReopenAt(clock_.seconds(), &keyspace));
  EXPECT_EQ(Scan(keyspace), "c=3");
  Limit(100'001);
  EXPECT_EQ(Scan(keyspace), "c=3") << "puts have times even without a limit";
  clock_.Add(2);
  EXPECT_EQ(Scan(keyspace), "");
}

// Puts from before the first limit count as written when it was set.
TEST_P(ExpiryInTreeTest, EarlierEntriesLiveFromTheFirstLimitOn) {
  Keyspace keyspace = OpenKeyspace(GetParam());
  ASSERT_OK(keyspace.Put("a", "1"));
  Flush();
  clock_.Add(1000);
  ASSERT_OK(keyspace.Put("b", "2"));
  const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  Limit(10);
  EXPECT_EQ(Scan(keyspace), "a=1 b=2");
  clock_.Add(10);
  ASSERT_OK(keyspace.Put("c", "3"));
  EXPECT_EQ(Scan(keyspace), "a=1 b=2 c=3");
  clock_.Add(1);
  EXPECT_EQ(Scan(keyspace), "c=3");
  CompactAll(keyspace);
  EXPECT_EQ(Scan(keyspace), "c=3");
  EXPECT_EQ(Scan(keyspace, {.snapshot = snapshot.get()}), "a=1 b=2");
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Scan(OpenKeyspace(GetParam())), "c=3");
}

// Entries that were written under a clock that was ahead, and a cutoff of that time.
TEST_P(ExpiryInTreeTest, NothingIsBornExpired) {
  Keyspace keyspace = Limit(10);
  const uint64_t now = clock_.seconds();
  clock_.Set(now + 1'000'000);
  ASSERT_OK(keyspace.Put("a", "1"));
  Limit(20);
  clock_.Set(now);
  ASSERT_OK(keyspace.Put("b", "2"));
  EXPECT_EQ(Scan(keyspace), "a=1 b=2") << "the store's time stands still";
  ASSERT_NO_FATAL_FAILURE(ReopenAt(clock_.seconds(), &keyspace));
  ASSERT_OK(keyspace.Put("c", "3"));
  EXPECT_EQ(Read(keyspace, "c"), "3");
  clock_.Add(21);
  EXPECT_EQ(Read(keyspace, "c"), "absent");
}

TEST_P(ExpiryInTreeTest, TablesGoUnreadOnceAllHasExpired) {
  Keyspace keyspace = Limit(100);
  const std::string value(2000, 'v');
  for (int table = 0; table < 4; ++table) {
    for (int i = 0; i < 20; ++i) ASSERT_OK(keyspace.Put(Concat("key", table, "-", i), value));
    Flush();
    CompactAll(keyspace);
    clock_.Add(10);
  }
  ASSERT_OK(keyspace.Put("key9", "late"));
  Flush();
  Settle();
  const uint64_t bytes_read = db_->GetStatistics().compaction_bytes_read;
  clock_.Add(95);
  Settle();
  EXPECT_EQ(Scan(keyspace), "key9=late");
  if (GetParam() == "common") return;  // its names never expire
  const Statistics statistics = db_->GetStatistics();
  EXPECT_GT(statistics.tables_dropped_unread, 0u);
  EXPECT_EQ(statistics.compaction_bytes_read, bytes_read);
  EXPECT_LT(keyspace.GetStatistics().table_bytes, 3000u);
  const auto snapshot = db_->GetSnapshot();
  clock_.Add(100);
  Settle();
  EXPECT_EQ(Scan(keyspace), "");
  EXPECT_EQ(Scan(keyspace, {.snapshot = snapshot.get()}), "key9=late");
}

TEST_P(ExpiryInTreeTest, ATableIsRewrittenOnceAFifthHasExpired) {
  Keyspace keyspace = Limit(100);
  constexpr int kPuts = 100;
  for (int i = 0; i < kPuts; ++i) {
    ASSERT_OK(keyspace.Put(Concat("key", i * 37 % kPuts), std::string(400, 'v')));
    clock_.Add(1);
  }
  Flush();
  CompactAll(keyspace);
  const uint64_t entries = EntriesInTables();
  clock_.Add(15);
  Settle();
  EXPECT_EQ(EntriesInTables(), entries) << "a seventh has expired";
  clock_.Add(15);
  Settle();
  EXPECT_LE(EntriesInTables(), entries - 25);
  const uint64_t bytes = db_->GetStatistics().compaction_bytes_written;
  Settle();
  clock_.Add(2);
  Settle();
  EXPECT_EQ(db_->GetStatistics().compaction_bytes_written, bytes) << "once";
  ASSERT_OK(db_->Verify().status());
}

// A table that has expired lies over one that has not.
TEST_P(ExpiryInTreeTest, AnExpiredTableStaysOverOneThatHasNot) {
  Keyspace keyspace = Limit(100);
  const uint64_t now = clock_.seconds();
  ASSERT_OK(keyspace.Put("a", "old"));
  ASSERT_OK(keyspace.Put("b", "old"));
  CompactAll(keyspace);
  ASSERT_NO_FATAL_FAILURE(ReopenAt(now - 90, &keyspace));
  ASSERT_OK(keyspace.Put("a", "new"));
  ASSERT_OK(keyspace.DeleteRange("b", "c"));
  Flush();
  clock_.Set(now + 50);
  Settle();
  EXPECT_EQ(Scan(keyspace), "");
  clock_.Set(now + 101);
  Settle();
  EXPECT_EQ(Scan(keyspace), "");
  if (GetParam() == "common") return;  // its names never expire
  EXPECT_EQ(keyspace.GetStatistics().table_bytes, 0u);
}

TEST_F(ExpiryTest, TheStoresTimeStandsStillAfterAJumpBack) {
  Open();
  Keyspace keyspace = OpenKeyspace("a", {.expire_after = 10});
  ASSERT_OK(keyspace.Put("a", "1"));
  clock_.Add(11);
  EXPECT_EQ(Read(keyspace, "a"), "absent");
  clock_.Set(clock_.seconds() - 1000);
  EXPECT_EQ(Read(keyspace, "a"), "absent");
  ASSERT_OK(keyspace.Put("b", "2"));
  clock_.Add(1005);
  EXPECT_EQ(Read(keyspace, "b"), "2");
}

// The newest entry has neither the first nor the last key.
TEST_F(ExpiryTest, AnIdleStoreFreesAMemtableThatHasExpired) {
  options_.write_buffer_bytes = size_t{16} << 20;
  ASSERT_NO_FATAL_FAILURE(Open());
  Keyspace keyspace = OpenKeyspace("default", {.expire_after = 10});
  Flush();  // records the limit
  const auto flushes = [&] {
    Settle();
    return db_->GetStatistics().flushes;
  };
  const uint64_t before = flushes();
  const uint64_t entries = db_->GetStatistics().total.entries;
  const std::string value(300'000, 'v');
  for (const char* key : {"a", "b", "d", "e"}) ASSERT_OK(keyspace.Put(key, value));
  clock_.Add(5);
  ASSERT_OK(keyspace.Put("c", value));
  clock_.Add(6);
  EXPECT_EQ(flushes(), before) << "an entry lives";
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  clock_.Add(5);
  EXPECT_EQ(flushes(), before) << "a snapshot sees an entry";
  snapshot = nullptr;
  EXPECT_EQ(flushes(), before + 1);
  EXPECT_EQ(db_->GetStatistics().total.entries, entries);
  EXPECT_LT(db_->GetStatistics().memtable_bytes, value.size());
  EXPECT_EQ(flushes(), before + 1);

  Keyspace other = OpenKeyspace("other");
  ASSERT_OK(other.Put("x", "lives"));
  for (const char* key : {"a", "b", "c", "d"}) ASSERT_OK(keyspace.Put(key, value));
  clock_.Add(11);
  EXPECT_EQ(flushes(), before + 1) << "another keyspace's entry lives";
}

TEST_F(ExpiryTest, ABatchHasOneTimeInAllKeyspaces) {
  Open();
  Keyspace expires = OpenKeyspace("expires", {.expire_after = 10});
  Keyspace lasts = OpenKeyspace("lasts");
  WriteBatch batch;
  batch.Put("key", "default");
  batch.Put(expires, "key", "1");
  batch.Put(lasts, "key", "2");
  batch.Put(expires, "key2", "3");
  ASSERT_OK(db_->Write(batch));
  ASSERT_NO_FATAL_FAILURE(Open());
  expires = OpenKeyspace("expires");
  lasts = OpenKeyspace("lasts");
  EXPECT_EQ(Scan(expires), "key=1 key2=3");
  clock_.Add(11);
  EXPECT_EQ(Scan(expires), "");
  EXPECT_EQ(Scan(lasts), "key=2");
  EXPECT_EQ(Scan(), "key=default");
}

// It gets the id that the other one would have had.
TEST_F(ExpiryTest, AKeyspaceHasNoLimitOfACreationThatFailed) {
  Open();
  Fail(FileOperation::kAppend, ".log");
  ASSERT_FALSE(db_->OpenKeyspace("fails", {.expire_after = 10}).ok());
  world_.files->SetFault(nullptr);
  ASSERT_OK(db_->Resume());
  Keyspace keyspace = OpenKeyspace("lasts");
  ASSERT_OK(keyspace.Put("a", "1"));
  clock_.Add(100);
  Flush();
  ASSERT_OK(keyspace.CompactRange());
  EXPECT_EQ(Read(keyspace, "a"), "1");
}

TEST_F(ExpiryTest, ExplainSaysThatAnEntryHasExpired) {
  Open();
  Keyspace keyspace = OpenKeyspace("a", {.expire_after = 10});
  ASSERT_OK(keyspace.Put("key", "value"));
  clock_.Add(11);
  for (const bool in_table : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const Explanation explanation, keyspace.Explain("key"));
    EXPECT_FALSE(explanation.found);
    if (!in_table) {
      EXPECT_EQ(explanation.memtables.at(0).outcome, "expired");
    } else {
      EXPECT_EQ(explanation.tables.at(0).outcome, "expired");
    }
    clock_.Set(clock_.seconds() - 11);
    ASSERT_NO_FATAL_FAILURE(Open());  // flushes it
    keyspace = OpenKeyspace("a");
    clock_.Add(11);
  }
}

// Puts from before the first limit live from that moment on, also if the machine boots in 1970.
TEST_F(ExpiryTest, AnEarlyClockKeepsUntimedPuts) {
  Open();
  Put("a", "1");
  OpenKeyspace("default", {.expire_after = 100'000});
  Put("b", "2");
  const uint64_t now = clock_.seconds();
  clock_.Set(5);
  ASSERT_NO_FATAL_FAILURE(Open());
  clock_.Set(now + 10);
  EXPECT_EQ(Scan(), "a=1 b=2");
  ASSERT_OK(db_->CompactRange());
  clock_.Set(now + 20);
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Scan(), "a=1 b=2");
}

// A put under a clock at 0 must not be older than the cutoff.
TEST_F(ExpiryTest, NothingIsBornExpiredAtZero) {
  Open();
  OpenKeyspace("default", {.expire_after = 10});
  OpenKeyspace("default", {.expire_after = 1000});
  clock_.Set(0);
  ASSERT_NO_FATAL_FAILURE(Open());
  Put("a", "1");
  clock_.Set(1);
  EXPECT_EQ(Scan(), "a=1");
}

TEST_F(ExpiryTest, ExplainSaysWhenAnExpiredEntryWasWritten) {
  Open();
  Put("early", "1");
  const uint64_t limited = clock_.seconds();
  OpenKeyspace("default", {.expire_after = 10});
  clock_.Add(5);
  Put("late", "2");
  clock_.Add(20);
  for (const bool in_table : {false, true}) {
    if (in_table) {
      clock_.Set(limited + 5);
      ASSERT_NO_FATAL_FAILURE(Open());  // flushes them
      clock_.Add(20);
    }
    for (const char* key : {"early", "late"}) {
      ASSERT_OK_AND_ASSIGN(const Explanation explanation, db_->Explain(key));
      const uint64_t written =
          in_table ? explanation.tables.at(0).written : explanation.memtables.at(0).written;
      EXPECT_EQ(written, limited + (key == std::string("late") ? 5 : 0)) << key;
    }
  }
}

// The common tree has a table of "b" whose puts are all from before its limit.  That of "a" is
// shorter, but was set later.
TEST_F(ExpiryTest, ALookFindsUntimedPutsOfAnyKeyspace) {
  options_.write_buffer_bytes = 64 << 20;
  options_.compression = Compression::kNone;
  Open();
  Keyspace never = OpenKeyspace("never");
  Keyspace b = OpenKeyspace("b");
  Flush();
  for (int i = 0; i < 400; ++i) ASSERT_OK(b.Put(Concat("key", i), std::string(1000, 'v')));
  OpenKeyspace("b", {.expire_after = 1000});
  Flush();
  ASSERT_OK(b.CompactRange());
  clock_.Add(900);
  OpenKeyspace("a", {.expire_after = 500});
  ASSERT_OK(never.Delete("x"));
  Flush();
  ASSERT_OK(db_->WaitForBackgroundWork());
  clock_.Add(200);
  EXPECT_EQ(Scan(b), "");
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_LT(db_->GetStatistics().total.entries, 200u);
}

}  // namespace
}  // namespace lsm
