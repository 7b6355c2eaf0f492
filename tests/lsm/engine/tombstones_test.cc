// Compactions for the sake of tombstones (lsm/compaction/picker.h): a store whose tables hold
// mostly dead data gives its space back by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/keyspace.h"
#include "tests/lsm/engine/ranges/large_values_test.h"
#include "tests/lsm/engine/schedulers.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;
using testing_support::StatusIs;

constexpr uint64_t kDayNanos = uint64_t{24} * 60 * 60 * 1'000'000'000;
constexpr uint64_t kHourNanos = kDayNanos / 24;
// The engine looks for due work after this many lookups (engine_read.cc).
constexpr uint64_t kLookupsPerLook = 16'384;

class TombstonesTest : public LargeValuesTest {
 protected:
  void DeleteSome(int from, int to) {
    for (int i = from; i < to; ++i) Delete(Key(i));
  }
  void LookForWork() {
    for (uint64_t i = 0; i < kLookupsPerLook; ++i) ASSERT_OK(db_->Get("absent"));
  }
  uint64_t ForTombstones() { return db_->GetStatistics().compactions_for_tombstones; }
  uint64_t TableBytes() { return db_->GetStatistics().total.table_bytes; }
};

TEST_F(TombstonesTest, DeletedDataGoesByItself) {
  Open();
  Fill();
  EXPECT_GT(TableBytes(), 4'000'000u);
  DeleteSome(0, kKeys);
  Flush();
  EXPECT_EQ(LevelsAfterALook(), "");
  EXPECT_EQ(ForTombstones(), 1u);
  EXPECT_EQ(db_->GetStatistics().compactions, 2u);  // and that of Fill
  EXPECT_THAT(listener_->reasons, ElementsAre("tombstones"));
  EXPECT_EQ(Scan(), "");
}

// Half of 4 MB would pay for the other half, but not also for the job.
TEST_F(TombstonesTest, LittleGarbageWaits) {
  Open();
  Fill();
  for (int i = 0; i < kKeys; i += 2) Delete(Key(i));
  Flush();
  EXPECT_EQ(LevelsAfterALook(), "1 4");
  for (int i = 1; i < kKeys; i += 4) Delete(Key(i));
  Flush();
  EXPECT_EQ(LevelsAfterALook(), "0 1");
  EXPECT_EQ(Get(Key(kKeys - 1)).size(), kValueBytes);
  EXPECT_EQ(Get(Key(0)), "absent");
}

TEST_F(TombstonesTest, ReleasedSnapshotsGiveTheirSpaceBack) {
  options_.table_bytes = 16 << 20;  // a table of less than 1 MiB is not worth a job
  Open();
  Fill();
  std::unique_ptr<const Snapshot> old = db_->GetSnapshot();
  DeleteSome(0, kKeys);
  std::unique_ptr<const Snapshot> young = db_->GetSnapshot();
  CompactAll();
  const std::string held = LevelsAfterALook();
  EXPECT_GT(TableBytes(), 4'000'000u);
  EXPECT_EQ(ForTombstones(), 0u) << "no loop";
  young = nullptr;
  EXPECT_EQ(world_.scheduler.queued_count(), 0u) << "the old one still holds all";
  EXPECT_EQ(LevelsAfterALook(), held);
  ReadOptions as_of_old;
  as_of_old.snapshot = old.get();
  EXPECT_EQ(Get(Key(7), as_of_old).size(), kValueBytes);
  old = nullptr;
  EXPECT_EQ(LevelsAfterALook(), "");
  EXPECT_GT(ForTombstones(), 0u);
}

TEST_F(TombstonesTest, YoungerSnapshotsHoldNothing) {
  options_.table_bytes = 16 << 20;
  Open();
  Fill();
  std::unique_ptr<const Snapshot> old = db_->GetSnapshot();
  DeleteSome(0, kKeys);
  std::unique_ptr<const Snapshot> young = db_->GetSnapshot();
  CompactAll();
  EXPECT_NE(LevelsAfterALook(), "");
  old = nullptr;
  EXPECT_EQ(LevelsAfterALook(), "");
}

TEST_F(TombstonesTest, EachTombstoneIsDueAfterAWeek) {
  Open();
  Fill();
  Delete(Key(5));
  Flush();
  world_.clock.Advance(kDayNanos * 7 - kHourNanos);
  EXPECT_EQ(LevelsAfterALook(), "1 4");
  world_.clock.Advance(kHourNanos);
  EXPECT_EQ(LevelsAfterALook(), "0 4");
  EXPECT_EQ(db_->GetStatistics().total.tombstones, 0u);
  EXPECT_EQ(ForTombstones(), 1u);
}

// Each plan takes the tombstone one level deeper, and keeps its time.  So after a week it goes down
// through all levels.
TEST_F(TombstonesTest, OldTombstonesGoThroughAllLevels) {
  options_.level1_bytes = 64 << 10;
  options_.table_bytes = 64 << 10;
  options_.write_buffer_bytes = 256 << 10;
  Open();
  for (int i = 0; i < kKeys; ++i) Put(Key(i * 37 % kKeys), ValueOf(i));
  Flush();
  ASSERT_OK(db_->WaitForBackgroundWork());
  const std::string filled = Levels();
  ASSERT_THAT(filled, StartsWith("0 0 ")) << "all is in the levels 2 and 3";
  Delete(Key(5));
  Flush();
  world_.clock.Advance(kDayNanos * 7 - kHourNanos);
  EXPECT_EQ(LevelsAfterALook(), Concat("1", filled.substr(1)));
  EXPECT_EQ(ForTombstones(), 0u);
  world_.clock.Advance(kHourNanos);
  EXPECT_EQ(LevelsAfterALook(), filled);
  EXPECT_EQ(db_->GetStatistics().total.tombstones, 0u);
  EXPECT_EQ(ForTombstones(), 3u) << "one plan for each level";
  EXPECT_EQ(Get(Key(5)), "absent");
}

TEST_F(TombstonesTest, OpeningNoticesOldTombstones) {
  Open();
  Fill();
  Delete(Key(5));
  Flush();
  EXPECT_EQ(LevelsAfterALook(), "1 4");
  world_.clock.Advance(kDayNanos * 7);
  Open();
  EXPECT_EQ(LevelsAfterALook(), "0 4");
}

TEST_F(TombstonesTest, CompactionsKeepTheTimeOfTombstones) {
  options_.level0_compaction_tables = 2;
  Open();
  Fill();
  const auto snapshot = db_->GetSnapshot();  // keeps the tombstones
  DeleteSome(5, 7);
  Flush();
  world_.clock.Advance(kDayNanos * 6);
  DeleteSome(6, 8);
  Flush();
  EXPECT_EQ(LevelsAfterALook(), "0 4");
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.total.tombstones, 3u);
  EXPECT_EQ(statistics.total.oldest_tombstone, 1'600'000'000u);
}

// Due only because the clock was wrong: the rewrite ends it.
TEST_F(TombstonesTest, TimesInTheFutureAreDueOnce) {
  world_.clock.Advance(kDayNanos * 100);
  Open();
  Fill();
  Delete(Key(5));
  Flush();
  EXPECT_EQ(LevelsAfterALook(), "1 4");
  World earlier;
  options_.environment.clock = &earlier.clock;
  Open();
  EXPECT_EQ(LevelsAfterALook(), "0 4");
  db_ = nullptr;
}

TEST_F(TombstonesTest, FailedCompactionsRestForAnHour) {
  Open();
  Fill();
  DeleteSome(0, kKeys - 1);
  Flush();
  Fail(FileOperation::kCreate, ".table");
  EXPECT_EQ(LevelsAfterALook(), "1 4");
  EXPECT_OK(db_->GetFailure());
  EXPECT_EQ(db_->GetStatistics().background_errors, 1u);
  EXPECT_EQ(ForTombstones(), 0u);
  world_.files->SetFault(nullptr);
  Put("other", "value");
  Flush();
  LookForWork();
  EXPECT_EQ(LevelsAfterALook(), "2 4");
  world_.clock.Advance(kHourNanos);
  LookForWork();
  EXPECT_EQ(LevelsAfterALook(), "1 1");
  EXPECT_EQ(ForTombstones(), 1u);
}

TEST_F(TombstonesTest, DamageIsAFailureOfTheStore) {
  Open();
  Fill();
  const std::string path = world_.FilesOf(FileKind::kTable).front();
  std::string bytes = world_.files->FileBytes(path);
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  world_.files->SetFileBytes(path, bytes);
  DeleteSome(0, kKeys);
  Flush();
  EXPECT_THAT(db_->WaitForBackgroundWork(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(db_->GetFailure(), StatusIs(absl::StatusCode::kDataLoss));
}

// On a full disk the rule is what helps.
TEST_F(TombstonesTest, TakesStepsOnAFullDisk) {
  options_.reserve_bytes = 1 << 20;
  Open();
  Fill();
  DeleteSome(0, kKeys);
  Flush();
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kCreate && path.ends_with(".table")
               ? absl::ResourceExhaustedError("full")
               : absl::OkStatus();
  });
  EXPECT_EQ(LevelsAfterALook(), "");
  EXPECT_OK(db_->GetFailure());
}

// --- rent ---

// Deletes of missing keys cover nothing, so only iterators and time make them due.
TEST_F(TombstonesTest, WalksPayForTheirEnd) {
  constexpr int kDeletes = 30'000;
  options_.block_cache_bytes = 8 << 20;
  options_.table_bytes = 16 << 20;
  options_.target_fpp = 0.0001;
  Open();
  Fill();
  for (int i = 0; i < kDeletes; ++i) Delete(Concat(Key(100), "/", i));
  Flush();
  EXPECT_EQ(LevelsAfterALook(), "1 1");
  options_.write_buffer_bytes = 64 << 10;
  Open();
  const auto walk = [&] {
    // The ring of the small memtable is too short for a known gap.
    for (int i = 0; i < 100; ++i) Put("a", "value");
    const auto iterator = db_->NewIterator();
    iterator->Seek(Concat(Key(100), "/"));
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), Key(101));
  };
  // Each walk pays 0.9 MiB of about 4.6: 4 MB in level 1, the tombstones, and the job.
  for (int i = 0; i < 4; ++i) walk();
  EXPECT_EQ(LevelsAfterALook(), "1 1");
  EXPECT_EQ(db_->GetStatistics().dead_entries_walked, 4u * kDeletes);
  for (int i = 0; i < 2; ++i) walk();
  EXPECT_EQ(LevelsAfterALook(), "0 1");
  EXPECT_EQ(ForTombstones(), 1u);
  EXPECT_EQ(db_->GetStatistics().total.tombstones, 0u);
}

// --- memtables: tombstones that pay for their flush do not wait for a full memtable ---

class ReclaimTest : public TombstonesTest {
 protected:
  // "flushes/tables left"
  std::string AfterALook() {
    EXPECT_OK(db_->WaitForBackgroundWork());
    return Concat(listener_->flush_reasons.size(), "/", db_->GetStatistics().total.tables);
  }
};

TEST_F(ReclaimTest, TombstonesOfLargeValuesAreFlushedSoon) {
  Open();
  Fill();
  DeleteSome(0, kKeys);
  EXPECT_EQ(AfterALook(), "1/0");
  EXPECT_THAT(listener_->flush_reasons, ElementsAre("tombstones"));
  EXPECT_THAT(listener_->reasons, ElementsAre("tombstones"));
  EXPECT_EQ(Scan(), "");
  Open();
  EXPECT_EQ(Scan(), "");
}

TEST_F(ReclaimTest, FewDeletesWaitForAFullMemtable) {
  Open();
  Fill();
  DeleteSome(0, 30);
  EXPECT_EQ(AfterALook(), "0/4");
  DeleteSome(30, kKeys);
  EXPECT_EQ(AfterALook(), "1/0");
}

// A memtable takes about three times as many bytes as the table that it becomes.
TEST_F(ReclaimTest, DeletesOfSmallValuesAreFlushedSoon) {
  constexpr int kSmall = 200'000, kDeletedSmall = 120'000;
  options_.write_buffer_bytes = 64 << 20;
  options_.table_bytes = 64 << 20;
  Open();
  for (int i = 0; i < kSmall; ++i) Put(Concat("key", 1'000'000 + i), "small");
  Flush();
  listener_->flush_reasons.clear();
  const uint64_t before = TableBytes();
  for (int i = 0; i < kDeletedSmall; ++i) Delete(Concat("key", 1'000'000 + i));
  EXPECT_EQ(AfterALook(), "1/1");
  EXPECT_LT(TableBytes(), before / 2);
}

TEST_F(ReclaimTest, DeletesThatCoverNothingWait) {
  options_.target_fpp = 0.0001;
  options_.block_cache_bytes = 8 << 20;  // so that filters are in memory
  Open();
  Fill();
  for (int i = 0; i < 2000; ++i) Delete(Concat(Key(i % kKeys), "/", i));
  EXPECT_EQ(AfterALook(), "0/4") << "filters deny these keys";
  for (int i = 0; i < kKeys; ++i) {
    Put(Concat("new", i), std::string(kValueBytes, 'n'));
    Delete(Concat("new", i));
  }
  EXPECT_EQ(AfterALook(), "0/4") << "the puts are in the same memtable";
}

// Only the last tombstones are asked what they cover.
TEST_F(ReclaimTest, PutsAmongTheDeletesDoNotHideThem) {
  Open();
  Fill();
  for (int i = 0; i < kKeys; ++i) {
    Delete(Key(i));
    for (int j = 0; j < 10; ++j) Put(Concat("small", i, "/", j), "v");
  }
  EXPECT_EQ(AfterALook(), "1/1");
}

TEST_F(ReclaimTest, MemtablesWithTombstonesAreSealedAfterAWeek) {
  Open();
  Fill();
  Put("other", "value");
  world_.clock.Advance(8 * kDayNanos);
  EXPECT_EQ(AfterALook(), "0/4") << "no tombstone";
  Open();
  Delete(Key(5));
  world_.clock.Advance(7 * kDayNanos - kHourNanos);
  listener_->flush_reasons.clear();
  EXPECT_EQ(AfterALook(), "0/5");
  world_.clock.Advance(kHourNanos);
  EXPECT_EQ(AfterALook(), "1/5");
  EXPECT_EQ(db_->GetStatistics().total.tombstones, 0u) << "a week old in its table, too";
}

TEST_F(ReclaimTest, DeletesOfAKeyspaceAreFlushedAfterAWeek) {
  for (const bool is_range : {false, true}) {
    SCOPED_TRACE(is_range ? "a range" : "a key");
    Open();
    Flush();
    ASSERT_OK_AND_ASSIGN(Keyspace keyspace, db_->OpenKeyspace("k"));
    ASSERT_OK(keyspace.Put("key", "value"));
    Flush();
    ASSERT_OK(keyspace.Put("other", "value"));
    listener_->flush_reasons.clear();
    world_.clock.Advance(8 * kDayNanos);
    ASSERT_OK(db_->WaitForBackgroundWork());
    EXPECT_THAT(listener_->flush_reasons, IsEmpty()) << "no delete";
    Flush();
    ASSERT_OK(is_range ? keyspace.DeleteRange("a", "z") : keyspace.Delete("key"));
    listener_->flush_reasons.clear();
    world_.clock.Advance(7 * kDayNanos - kHourNanos);
    ASSERT_OK(db_->WaitForBackgroundWork());
    EXPECT_THAT(listener_->flush_reasons, IsEmpty());
    world_.clock.Advance(kHourNanos);
    ASSERT_OK(db_->WaitForBackgroundWork());
    EXPECT_EQ(listener_->flush_reasons.size(), 1u);
  }
}

TEST_F(ReclaimTest, SnapshotsKeepTheMemtable) {
  Open();
  Fill();
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  DeleteSome(0, kKeys);
  EXPECT_EQ(AfterALook(), "0/4");
  snapshot = db_->GetSnapshot();
  EXPECT_EQ(AfterALook(), "1/0") << "a younger one does not";
}

TEST_F(ReclaimTest, AFullLevel0KeepsTheMemtable) {
  options_.level0_compaction_tables = options_.level0_stop_tables = 1;
  options_.compaction_style = CompactionStyle::kLeveled;
  Open();
  Fill();
  NarrowScheduler scheduler;  // compactions do not run
  options_.environment.scheduler = &scheduler;
  Open();
  scheduler.has_memory = false;
  DeleteSome(0, 10);
  ASSERT_OK(db_->Flush());
  DeleteSome(10, kKeys);
  listener_->flush_reasons.clear();
  EXPECT_FALSE(db_->WaitForBackgroundWork().ok());
  EXPECT_THAT(listener_->flush_reasons, IsEmpty());
  db_ = nullptr;
}

// The job finds a writer in the middle of its commit, so the next writer seals the memtable.
TEST_F(ReclaimTest, WritersSealInPlaceOfTheJob) {
  Open();
  Fill();
  DeleteSome(0, kKeys);
  bool looks = true;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kAppend && path.ends_with(".log") &&
        std::exchange(looks, false)) {
      EXPECT_OK(db_->WaitForBackgroundWork());
      EXPECT_THAT(listener_->flush_reasons, IsEmpty());
    }
    return absl::OkStatus();
  });
  Put("a", "value");
  EXPECT_FALSE(looks);
  world_.scheduler.RunAll();
  EXPECT_THAT(listener_->flush_reasons, IsEmpty());
  Put("b", "value");
  world_.scheduler.RunAll();
  EXPECT_THAT(listener_->flush_reasons, ElementsAre("tombstones"));
  EXPECT_EQ(Scan(), "a=value b=value");
}

TEST_F(ReclaimTest, ALogThatCannotBeMadeFailsNothing) {
  Open();
  Fill();
  DeleteSome(0, kKeys);
  Fail(FileOperation::kCreate, ".log");
  EXPECT_EQ(AfterALook(), "0/4");
  EXPECT_OK(db_->GetFailure());
  Put("a", "value");
  EXPECT_EQ(AfterALook(), "0/4");
  EXPECT_OK(db_->GetFailure());
  world_.files->SetFault(nullptr);
  EXPECT_EQ(AfterALook(), "1/1");
  EXPECT_EQ(Scan(), "a=value");
}

TEST_F(ReclaimTest, TheLogMayTakeTheSpaceOfTheReserve) {
  options_.reserve_bytes = 1 << 20;
  Open();
  Fill();
  DeleteSome(0, kKeys);
  ASSERT_GT(db_->GetStatistics().reserve_bytes, 0u);
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    const bool has_reserve = !world_.files->FileBytes("/store/RESERVE").empty();
    return operation == FileOperation::kCreate && path.ends_with(".log") && has_reserve
               ? DiskFull("no space")
               : absl::OkStatus();
  });
  EXPECT_EQ(AfterALook(), "1/0");
  EXPECT_EQ(db_->GetStatistics().reserve_releases, 1u);
}

}  // namespace
}  // namespace lsm
