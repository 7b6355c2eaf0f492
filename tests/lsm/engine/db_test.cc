// The API call by call: writes, reads, snapshots, upkeep.
#include "lsm/db.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/limits.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::StatusIs;

class DbTest : public StoreTest {
 protected:
  DbTest() { Open(); }

  // Runs the check with the data in the memtable, in a table of level 0, in level 1, and after
  // opening again.
  template <typename Check>
  void Everywhere(const Check& check) {
    {
      SCOPED_TRACE("in the memtable");
      check();
    }
    Flush();
    {
      SCOPED_TRACE("in level 0");
      check();
    }
    CompactAll();
    {
      SCOPED_TRACE("in level 1");
      check();
    }
    Open();
    SCOPED_TRACE("opened again");
    check();
  }
};

TEST_F(DbTest, FindsPutKeys) {
  Put("a", "1");
  Put("b", "2");
  Put("a", "3");
  Everywhere([&] {
    EXPECT_EQ(Get("a"), "3");
    EXPECT_EQ(Get("b"), "2");
    EXPECT_EQ(Get("c"), "absent");
    EXPECT_EQ(Get(""), "absent");
    EXPECT_EQ(Scan(), "a=3 b=2");
  });
}

TEST_F(DbTest, DoesNotFindDeletedKeys) {
  Put("a", "1");
  Put("b", "2");
  Delete("a");
  Delete("never there");
  Everywhere([&] {
    EXPECT_EQ(Get("a"), "absent");
    EXPECT_EQ(Scan(), "b=2");
  });
  Put("a", "back");
  Everywhere([&] { EXPECT_EQ(Scan(), "a=back b=2"); });
}

TEST_F(DbTest, DeletesHidePutsInLowerLevels) {
  Put("a", "1");
  Put("b", "2");
  CompactAll();
  Delete("a");
  Everywhere([&] { EXPECT_EQ(Scan(), "b=2"); });
}

TEST_F(DbTest, KeysAndValuesMayBeAnyBytes) {
  const std::vector<std::string> all = {"",
                                        std::string(1, '\0'),
                                        std::string(3, '\0'),
                                        "\xff",
                                        "\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                                        "a",
                                        std::string("a\0", 2),
                                        "\x80",
                                        "a/b\n\"'"};
  for (const std::string& bytes : all) Put(bytes, bytes);
  Everywhere([&] {
    for (const std::string& bytes : all) EXPECT_EQ(Get(bytes), bytes);
    EXPECT_EQ(Get(std::string(2, '\0')), "absent");
  });
  for (const std::string& bytes : all) Delete(bytes);
  Everywhere([&] { EXPECT_EQ(Scan(), ""); });
}

TEST_F(DbTest, KeysAndValuesHaveLimits) {
  const std::string longest_key(kKeyBytesMax, 'k');
  Put(longest_key, "value");
  Everywhere([&] { EXPECT_EQ(Get(longest_key), "value"); });

  const std::string too_long(kKeyBytesMax + 1, 'k');
  EXPECT_THAT(db_->Put(too_long, "value"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("65536")));
  EXPECT_THAT(db_->Delete(too_long), StatusIs(absl::StatusCode::kInvalidArgument));
  // No such key can exist, so reads do not find it.
  const std::string far_too_long(size_t{3} << 20, 'k');
  Everywhere([&] {
    for (const std::string& key : {too_long, far_too_long}) {
      EXPECT_EQ(Get(key), "absent");
      PinnedValue pinned;
      ASSERT_OK_AND_ASSIGN(const bool found, db_->Get(key, &pinned));
      EXPECT_FALSE(found);
      ASSERT_OK_AND_ASSIGN(const Explanation explanation, db_->Explain(key));
      EXPECT_FALSE(explanation.found);
      EXPECT_EQ(explanation.answered_by, "");
    }
    const std::vector<std::string_view> keys = {longest_key, too_long, "absent", far_too_long};
    const auto answers = db_->MultiGet(keys);
    for (const auto& answer : answers) EXPECT_OK(answer);
    EXPECT_EQ(*answers[0], "value");
    for (const size_t i : {1, 2, 3}) EXPECT_EQ(*answers[i], std::nullopt);
  });
  // An iterator may seek to any key.
  const std::unique_ptr<Iterator> iterator = db_->NewIterator();
  iterator->Seek(too_long);
  EXPECT_FALSE(iterator->Valid());
  iterator->SeekForPrev(too_long);
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), longest_key);

  EXPECT_THAT(db_->Put("k", std::string(kValueBytesMax + 1, 'v')),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(Get("k"), "absent");
  Put("k", "a failed call spoils nothing");
}

TEST_F(DbTest, ReadsTheLongestValue) {
  std::string longest(kValueBytesMax, 'v');
  longest.front() = 'a';
  longest.back() = 'z';
  Put("k", longest);
  EXPECT_TRUE(Get("k") == longest);
  Flush();
  EXPECT_TRUE(Get("k") == longest);
  Open();
  EXPECT_TRUE(Get("k") == longest);
}

TEST_F(DbTest, AppliesBatchesInOrder) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "2");
  batch.Delete("a");
  batch.Put("c", "3");
  batch.Put("c", "4");
  batch.Delete("d");
  batch.Put("d", "5");
  ASSERT_OK(db_->Write(batch));
  Everywhere([&] { EXPECT_EQ(Scan(), "b=2 c=4 d=5"); });
  // The same batch can be written again.
  Put("a", "x");
  ASSERT_OK(db_->Write(batch));
  EXPECT_EQ(Scan(), "b=2 c=4 d=5");
}

TEST_F(DbTest, AcceptsEmptyBatches) {
  Put("a", "1");
  EXPECT_OK(db_->Write(WriteBatch()));
  EXPECT_OK(db_->Write(WriteBatch(), {.sync = true}));  // makes what came before durable
  world_.files->CrashAt(0);
  db_ = nullptr;
  world_.files->Restart(MemoryFileSystem::Unsynced::kLost);
  Open();
  EXPECT_EQ(Scan(), "a=1");
}

TEST_F(DbTest, RefusesSpoiltBatchesWhole) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put(std::string(kKeyBytesMax + 1, 'k'), "2");
  batch.Put("b", "3");
  EXPECT_THAT(db_->Write(batch), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(Scan(), "");
}

TEST_F(DbTest, GetReusesTheString) {
  Put("a", "value");
  std::string value(100, 'x');
  const char* const memory = value.data();
  ASSERT_OK_AND_ASSIGN(bool found, db_->Get("a", &value));
  EXPECT_TRUE(found);
  EXPECT_EQ(value, "value");
  EXPECT_EQ(value.data(), memory);
  ASSERT_OK_AND_ASSIGN(found, db_->Get("b", &value));
  EXPECT_FALSE(found);
}

// --- pinned values ---

TEST_F(DbTest, PinnedValuesSurviveFlushCompactionAndEviction) {
  options_.block_cache_bytes = 4 << 10;
  for (const bool cached : {false, true}) {
    for (const bool flushed : {false, true}) {
      Open();
      const std::string expected(300, 'p');
      Put("pinned", expected);
      if (flushed) Flush();
      if (cached) Get("pinned");
      PinnedValue pinned;
      ASSERT_OK_AND_ASSIGN(const bool found, db_->Get("pinned", &pinned));
      ASSERT_TRUE(found);
      Put("pinned", "newer");
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 100; ++i) Put(Concat("k", i), std::string(300, 'x'));
        CompactAll();
        for (int i = 0; i < 100; ++i) Get(Concat("k", i));
      }
      EXPECT_EQ(pinned.view(), expected);
      PinnedValue moved = std::move(pinned);
      EXPECT_EQ(moved.view(), expected);
      ASSERT_OK_AND_ASSIGN(const bool found_again, db_->Get("pinned", &moved));
      EXPECT_TRUE(found_again);
      EXPECT_EQ(moved.view(), "newer");
      ASSERT_OK_AND_ASSIGN(const bool absent, db_->Get("absent", &moved));
      EXPECT_FALSE(absent);
      EXPECT_EQ(moved.view(), "");
    }
  }
}

TEST_F(DbTest, PinnedValuesNeedNoCache) {
  options_.block_cache_bytes = 0;
  Open();
  Put("a", "value");
  Flush();
  PinnedValue pinned;
  ASSERT_OK_AND_ASSIGN(const bool found, db_->Get("a", &pinned, {.fill_cache = false}));
  EXPECT_TRUE(found);
  CompactAll();
  EXPECT_EQ(pinned.view(), "value");
}

// --- several at once ---

TEST_F(DbTest, MultiGetKeepsTheOrder) {
  Put("a", "1");
  CompactAll();
  Put("b", "2");
  Flush();
  Put("c", "3");
  Delete("a");
  const std::vector<std::string_view> keys = {"c", "absent", "b", "a", "c", ""};
  std::vector<std::string> answers;
  for (const auto& answer : db_->MultiGet(keys)) {
    ASSERT_OK(answer);
    answers.push_back(answer->value_or("absent"));
  }
  EXPECT_THAT(answers, ElementsAre("3", "absent", "2", "absent", "3", "absent"));
  EXPECT_TRUE(db_->MultiGet({}).empty());
}

TEST_F(DbTest, MultiGetFailsOnlyUnreadableKeys) {
  Put("a", "1");
  CompactAll();
  Put("m", "2");
  Flush();
  options_.block_cache_bytes = 0;
  Open();
  const std::string broken = world_.FilesOf(FileKind::kTable)[0];
  Fail(FileOperation::kReadAt, broken);
  const std::vector<std::string_view> keys = {"a", "m"};
  const auto answers = db_->MultiGet(keys);
  EXPECT_THAT(answers[0], StatusIs(absl::StatusCode::kUnavailable, HasSubstr(broken)));
  ASSERT_OK(answers[1]);
  EXPECT_EQ(*answers[1], "2");
}

// --- snapshots ---

TEST_F(DbTest, SnapshotsSeeTheirMoment) {
  Put("a", "1");
  Put("b", "1");
  const auto first = db_->GetSnapshot();
  Put("a", "2");
  Delete("b");
  Put("c", "2");
  const auto second = db_->GetSnapshot();
  Put("a", "3");
  Put("b", "3");
  const auto check = [&] {
    EXPECT_EQ(Scan({.snapshot = first.get()}), "a=1 b=1");
    EXPECT_EQ(Scan({.snapshot = second.get()}), "a=2 c=2");
    EXPECT_EQ(Scan(), "a=3 b=3 c=2");
    EXPECT_EQ(Get("b", {.snapshot = first.get()}), "1");
    EXPECT_EQ(Get("b", {.snapshot = second.get()}), "absent");
    EXPECT_EQ(Get("c", {.snapshot = first.get()}), "absent");
    const std::vector<std::string_view> keys = {"a", "b"};
    EXPECT_EQ(**db_->MultiGet(keys, {.snapshot = second.get()})[0], "2");
  };
  check();
  Flush();
  check();
  CompactAll();
  check();
  CompactAll();
  check();
}

TEST_F(DbTest, DropsInvisibleVersions) {
  Put("a", "1");
  auto snapshot = db_->GetSnapshot();
  Put("a", "2");
  Put("a", "3");
  Flush();
  EXPECT_EQ(EntriesInTables(), 2u);  // the newest entry, and the one that the snapshot sees
  CompactAll();
  EXPECT_EQ(EntriesInTables(), 2u);
  snapshot = nullptr;
  CompactAll();
  EXPECT_EQ(EntriesInTables(), 1u);
  EXPECT_EQ(Get("a"), "3");
}

TEST_F(DbTest, SnapshotsOfOneMomentAreSeparate) {
  Put("a", "1");
  auto one = db_->GetSnapshot();
  const auto other = db_->GetSnapshot();
  EXPECT_EQ(one->sequence(), other->sequence());
  one = nullptr;
  Put("a", "2");
  CompactAll();
  EXPECT_EQ(Get("a", {.snapshot = other.get()}), "1");
}

TEST_F(DbTest, SnapshotsOfEmptyStoresSeeNothing) {
  const auto snapshot = db_->GetSnapshot();
  Put("a", "1");
  CompactAll();
  EXPECT_EQ(Get("a", {.snapshot = snapshot.get()}), "absent");
  EXPECT_EQ(Scan({.snapshot = snapshot.get()}), "");
}

TEST_F(DbTest, RefusesSnapshotsOfOtherStores) {
  Put("key", "value");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> other, DB::Open("/other", options_));
  std::unique_ptr<const Snapshot> snapshots[] = {other->GetSnapshot(), db_->GetSnapshot()};
  Open();  // of the same store, but not of this DB
  for (const auto& snapshot : snapshots) {
    const ReadOptions options = {.snapshot = snapshot.get()};
    const auto refuses = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("snapshot"));
    std::string value = "as before";
    EXPECT_THAT(db_->Get("key", options), refuses);
    EXPECT_THAT(db_->Get("key", &value, options), refuses);
    EXPECT_EQ(value, "as before");
    EXPECT_THAT(db_->Explain("key", options), refuses);
    const std::vector<std::string_view> keys = {"key", "absent"};
    for (const auto& answer : db_->MultiGet(keys, options)) EXPECT_THAT(answer, refuses);
    const std::unique_ptr<Iterator> iterator = db_->NewIterator(options);
    iterator->SeekToFirst();
    EXPECT_FALSE(iterator->Valid());
    EXPECT_THAT(iterator->status(), refuses);
  }
}

// --- upkeep ---

TEST_F(DbTest, FlushWritesATable) {
  Flush();
  EXPECT_EQ(Levels(), "");  // nothing to write
  Put("a", "1");
  Flush();
  EXPECT_EQ(Levels(), "1");
  EXPECT_EQ(world_.FilesOf(FileKind::kLog).size(), 1u);  // that of the new memtable
  Flush();
  EXPECT_EQ(Levels(), "1");
  Delete("a");
  Flush();
  EXPECT_EQ(Levels(), "2");  // a tombstone is data
}

TEST_F(DbTest, CompactRangeLeavesOneCleanRun) {
  for (int i = 0; i < 10; ++i) Put(Concat("k", i), "old");
  Flush();
  for (int i = 0; i < 10; i += 2) Delete(Concat("k", i));
  Flush();
  Put("k1", "new");
  CompactAll();
  EXPECT_EQ(Levels(), "0 1");
  EXPECT_EQ(EntriesInTables(), 5u);
  EXPECT_EQ(Scan(), "k1=new k3=old k5=old k7=old k9=old");
  for (int i = 0; i < 10; ++i) Delete(Concat("k", i));
  CompactAll();
  EXPECT_EQ(Levels(), "");
  EXPECT_EQ(Scan(), "");
  EXPECT_TRUE(world_.FilesOf(FileKind::kTable).empty());
}

TEST_F(DbTest, CompactRangeLeavesOtherRangesAlone) {
  Put("a", "1");
  Put("b", "1");
  Flush();
  Put("x", "1");
  Put("y", "1");
  Flush();
  ASSERT_OK(db_->CompactRange("c", "e"));
  EXPECT_EQ(Levels(), "2");
  ASSERT_OK(db_->CompactRange("b5", "x"));  // the end does not count
  EXPECT_EQ(Levels(), "2");
  ASSERT_OK(db_->CompactRange("b", "c"));
  EXPECT_EQ(Levels(), "1 1");
  ASSERT_OK(db_->CompactRange("y", std::nullopt));
  EXPECT_EQ(Levels(), "0 2");
  EXPECT_EQ(Scan(), "a=1 b=1 x=1 y=1");
}

TEST_F(DbTest, CompactRangeKeepsTheSpanningTable) {
  options_.level0_compaction_tables = 1;
  Open();
  // Tables side by side, each moved down after its flush.  The middle one has no obsolete entries.
  for (const char* letter : {"a", "m", "x"}) {
    Put(Concat(letter, 1), "1");
    Put(Concat(letter, 2), "1");
    if (*letter != 'm') Delete(Concat(letter, 2));
    if (*letter != 'm') Delete(Concat(letter, 3));
    Flush();
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
  ASSERT_EQ(Levels(), "0 3");
  ASSERT_OK(db_->CompactRange());
  EXPECT_EQ(Levels(), "0 3");
  EXPECT_EQ(EntriesInTables(), 4u);
  Put("b", "2");
  EXPECT_EQ(Scan(), "a1=1 b=2 m1=1 m2=1 x1=1");
}

TEST_F(DbTest, CompactRangeDropsVersionsOfReleasedSnapshots) {
  options_.compression = Compression::kNone;
  options_.table_bytes = 64 << 10;
  Open();
  for (int i = 0; i < 400; ++i) Put(Concat("k", 1000 + i), std::string(1000, 'v'));
  CompactAll();
  auto snapshot = db_->GetSnapshot();
  Put("k1000", "new");
  Put("k1399", "new");
  CompactAll();
  snapshot = nullptr;
  CompactAll();
  EXPECT_EQ(EntriesInTables(), 400u);
  EXPECT_EQ(Get("k1399"), "new");
  Put("k1", "still takes writes");
}

TEST_F(DbTest, CompactRangeRespectsSnapshots) {
  Put("a", "1");
  auto snapshot = db_->GetSnapshot();
  Delete("a");
  CompactAll();
  EXPECT_EQ(EntriesInTables(), 2u);
  EXPECT_EQ(Get("a", {.snapshot = snapshot.get()}), "1");
  EXPECT_EQ(Get("a"), "absent");
  snapshot = nullptr;
  CompactAll();
  EXPECT_EQ(EntriesInTables(), 0u);
}

TEST_F(DbTest, ApproximateBytesCountsTables) {
  options_.compression = Compression::kNone;
  Open();
  for (int i = 100; i < 200; ++i) Put(Concat("k", i), std::string(1000, static_cast<char>(i)));
  Flush();
  const uint64_t all = db_->ApproximateBytes("", "z");
  EXPECT_EQ(db_->ApproximateBytes(), all);
  EXPECT_EQ(db_->ApproximateBytes("k120"), db_->ApproximateBytes("k120", "z"));
  EXPECT_EQ(all, db_->GetStatistics().total.table_bytes);
  EXPECT_NEAR(static_cast<double>(db_->ApproximateBytes("k120", "k140")),
              static_cast<double>(all) * 0.2, static_cast<double>(all) * 0.03);
  EXPECT_EQ(db_->ApproximateBytes("k140", "k120"), 0u);
  EXPECT_EQ(db_->ApproximateBytes("l", "z"), 0u);
}

TEST_F(DbTest, TimesASampleOfCalls) {
  for (int i = 0; i < 69; ++i) Put(Concat("key", i), "v");
  Delete("key1");
  for (int i = 0; i < 1270; ++i) Get("key2");
  for (int i = 0; i < 62; ++i) db_->NewIterator()->SeekToFirst();
  const std::unique_ptr<Iterator> iterator = db_->NewIterator();
  for (int i = 0; i < 62; ++i) iterator->Seek("key3");
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.write_times.count(), 10u);
  EXPECT_EQ(statistics.get_times.count(), 10u);
  EXPECT_EQ(statistics.seek_times.count(), 4u);
}

TEST_F(DbTest, ScansThePrefix) {
  for (const char* key : {"a", "user:", "user:1", "user:\xff\xff", "user;", "v"}) Put(key, "1");
  EXPECT_EQ(Scan({.lower_bound = "user:", .upper_bound = PrefixEnd("user:")}),
            "user:=1 user:1=1 user:\xff\xff=1");
}

}  // namespace
}  // namespace lsm
