// Space that range deletes free: tables that no reader needs go unread (lsm/version/tree.h), and
// memtables are sealed early for their sake (lsm/runtime/early_seal.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "tests/lsm/engine/ranges/large_values_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ReclaimRangesTest : public LargeValuesTest {
 protected:
  void Fill() {
    LargeValuesTest::Fill();
    written_before_ = db_->GetStatistics();
  }
  // Without a look for due work: writes and snapshots alone ask for it.
  std::string LevelsInTheEnd() {
    world_.scheduler.RunAll();
    return Levels();
  }
  size_t Files() { return world_.FilesOf(FileKind::kTable).size(); }
  uint64_t Dropped() { return db_->GetStatistics().tables_dropped_unread; }
  void ExpectNothingMerged() {
    const Statistics now = db_->GetStatistics();
    EXPECT_EQ(now.compactions, written_before_.compactions);
    EXPECT_EQ(now.compaction_bytes_read, written_before_.compaction_bytes_read);
    EXPECT_EQ(now.compaction_bytes_written, written_before_.compaction_bytes_written);
    EXPECT_LT(now.flush_bytes_written - written_before_.flush_bytes_written, 64u << 10);
  }
  // "keys from first to last"
  std::string Keys(const ReadOptions& options = {}) {
    int keys = 0;
    std::string first, last;
    const std::unique_ptr<Iterator> iterator = db_->NewIterator(options);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++keys) {
      if (first.empty()) first = iterator->key();
      last = iterator->key();
    }
    EXPECT_OK(iterator->status());
    return keys == 0 ? "none" : Concat(keys, " from ", first, " to ", last);
  }
  static constexpr char kAll[] = "200 from key1000 to key1199";

  Statistics written_before_;
};

TEST_F(ReclaimRangesTest, DeletedTablesGoUnread) {
  Open();
  Fill();
  ASSERT_EQ(Levels(), "0 4");
  DeleteRange(Key(0), Key(180));
  EXPECT_EQ(LevelsInTheEnd(), "1 1") << "the range delete, and the table that keeps keys";
  EXPECT_EQ(Files(), 2u);
  EXPECT_EQ(Keys(), "20 from key1180 to key1199");
  ExpectNothingMerged();
  const Statistics now = db_->GetStatistics();
  EXPECT_EQ(now.tables_dropped_unread, 3u);
  EXPECT_GT(now.bytes_dropped_unread, 3u << 20);
  EXPECT_THAT(listener_->flush_reasons, ElementsAre("tombstones"));
  Open();
  EXPECT_EQ(Keys(), "20 from key1180 to key1199");
}

TEST_F(ReclaimRangesTest, ARangeOverAllLeavesNothing) {
  Open();
  Fill();
  DeleteRange("", std::nullopt);
  EXPECT_EQ(LevelsInTheEnd(), "");
  EXPECT_EQ(Files(), 0u);
  EXPECT_EQ(Dropped(), 5u) << "at last the range delete, which hides nothing";
  ExpectNothingMerged();
  EXPECT_EQ(Keys(), "none");
  Put(Key(3), "again");
  Flush();
  EXPECT_EQ(Scan(), "key1003=again");
}

TEST_F(ReclaimRangesTest, ListenersSeeDrops) {
  Open();
  Fill();
  DeleteRange(Key(0), Key(180));
  world_.scheduler.RunAll();
  EXPECT_THAT(listener_->reasons, ElementsAre("drop"));
  ASSERT_EQ(listener_->begins.size(), 1u);
  EXPECT_EQ(listener_->begins[0].inputs.size(), 3u);
  const CompactionEnd& end = listener_->ends.at(0);
  EXPECT_OK(end.status);
  EXPECT_EQ(end.level, 1);
  EXPECT_FALSE(end.moved);
  EXPECT_EQ(end.inputs.size(), 3u);
  EXPECT_THAT(end.outputs, IsEmpty());
  EXPECT_EQ(end.bytes_read + end.bytes_written, 0u);
}

// --- snapshots and iterators ---

TEST_F(ReclaimRangesTest, SnapshotsHoldTheTablesUntilTheirEnd) {
  Open();
  Fill();
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  DeleteRange("", std::nullopt);
  Flush();
  EXPECT_EQ(LevelsAfterALook(), "1 4");
  EXPECT_EQ(Dropped(), 0u);
  ReadOptions as_of;
  as_of.snapshot = snapshot.get();
  EXPECT_EQ(Keys(as_of), kAll);
  EXPECT_EQ(Keys(), "none");
  snapshot = nullptr;
  EXPECT_EQ(LevelsInTheEnd(), "") << "without a look";
  EXPECT_EQ(Files(), 0u);
  ExpectNothingMerged();
}

// The oldest snapshot stays.
TEST_F(ReclaimRangesTest, TheEndOfAnySnapshotFrees) {
  Open();
  Put("a", "v");
  const std::unique_ptr<const Snapshot> before = db_->GetSnapshot();
  Fill();
  std::unique_ptr<const Snapshot> between = db_->GetSnapshot();
  DeleteRange(Key(0), std::nullopt);
  const std::unique_ptr<const Snapshot> after = db_->GetSnapshot();
  Flush();
  const std::string held = LevelsAfterALook();
  EXPECT_EQ(Dropped(), 0u);
  between = nullptr;
  EXPECT_NE(LevelsInTheEnd(), held);
  EXPECT_EQ(Dropped(), 3u) << "the first table has a as well";
  ReadOptions as_of;
  as_of.snapshot = before.get();
  EXPECT_EQ(Keys(as_of), "1 from a to a");
  as_of.snapshot = after.get();
  EXPECT_EQ(Keys(as_of), "1 from a to a");
}

TEST_F(ReclaimRangesTest, IteratorsKeepTheirTables) {
  Open();
  Fill();
  std::unique_ptr<Iterator> iterator = db_->NewIterator();
  iterator->Seek(Key(100));
  DeleteRange("", std::nullopt);
  EXPECT_EQ(LevelsInTheEnd(), "");
  EXPECT_EQ(Files(), 4u);
  int keys = 0;
  for (; iterator->Valid(); iterator->Next()) ++keys;
  EXPECT_OK(iterator->status());
  EXPECT_EQ(keys, 100);
  iterator = nullptr;
  world_.scheduler.RunAll();
  EXPECT_EQ(Files(), 0u);
}

// Calls `hook` when someone asks for the time of day.
struct HookedClock : testing_support::ManualClock {
  uint64_t WallMicros() override {
    if (const auto once = std::exchange(hook, nullptr); once != nullptr) once();
    return ManualClock::WallMicros();
  }
  std::function<void()> hook;
};

TEST_F(ReclaimRangesTest, SnapshotsAreAsOfTheVersion) {
  HookedClock clock;
  const absl::Cleanup close = [this] { db_ = nullptr; };  // before the clock ends
  options_.environment.clock = &clock;
  Open();
  Fill();
  std::unique_ptr<const Snapshot> snapshot;
  DeleteRange(Key(0), Key(130));
  Flush();
  // The drop begins by asking for the time.
  clock.hook = [&] {
    snapshot = db_->GetSnapshot();
    DeleteRange("", std::nullopt);
    Flush();
  };
  EXPECT_EQ(LevelsInTheEnd(), "2 2");
  ASSERT_NE(snapshot, nullptr);
  ReadOptions as_of;
  as_of.snapshot = snapshot.get();
  EXPECT_EQ(Keys(as_of), "70 from key1130 to key1199");
  snapshot = nullptr;
  EXPECT_EQ(LevelsInTheEnd(), "");
}

// --- when a memtable is sealed ---

TEST_F(ReclaimRangesTest, FewTablesWait) {
  options_.table_bytes = 512 << 10;
  Open();
  Fill();
  ASSERT_EQ(Levels(), "0 8");
  for (const int from : {0, 70, 130}) {
    DeleteRange(Key(from), Key(from + 40));
    EXPECT_EQ(LevelsInTheEnd(), "0 8") << "the one table in it does not pay for the syncs";
  }
  EXPECT_EQ(LevelsAfterALook(), "1 5") << "a look sees all three";
  ExpectNothingMerged();
}

TEST_F(ReclaimRangesTest, EntriesRaiseThePrice) {
  options_.level0_compaction_tables = 2;
  Open();
  Fill();
  // Two tables of 1 MiB, less than the syncs and half of level 1.
  Put("a", "v");
  DeleteRange(Key(0), Key(130));
  EXPECT_EQ(LevelsAfterALook(), "0 4");
  DeleteRange(Key(0), std::nullopt);
  EXPECT_EQ(LevelsInTheEnd(), "1");
  EXPECT_EQ(Scan(), "a=v");
}

TEST_F(ReclaimRangesTest, RangesAlonePayOnlyForTheSyncs) {
  options_.level0_compaction_tables = 2;
  Open();
  Fill();
  DeleteRange(Key(0), Key(130));
  EXPECT_EQ(LevelsInTheEnd(), "1 2");
}

TEST_F(ReclaimRangesTest, TablesThatASnapshotHoldsSealNothing) {
  Open();
  Fill();
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  for (int i = 0; i < 5; ++i) {
    DeleteRange("", std::nullopt);
    EXPECT_EQ(LevelsAfterALook(), "0 4");
  }
  EXPECT_THAT(listener_->flush_reasons, IsEmpty());
  snapshot = db_->GetSnapshot();
  EXPECT_EQ(LevelsInTheEnd(), "0 4") << "the range delete is only in the log";
  EXPECT_EQ(LevelsAfterALook(), "") << "the new snapshot holds nothing";
  EXPECT_EQ(Keys(), "none");
}

// Their drop is scheduled, but has not begun.
TEST_F(ReclaimRangesTest, TablesThatAreCoveredAlreadySealNothing) {
  Open();
  Fill();
  DeleteRange("", std::nullopt);
  Flush();
  EXPECT_EQ(Levels(), "1 4");
  DeleteRange("", std::nullopt);
  EXPECT_EQ(LevelsInTheEnd(), "");
  EXPECT_THAT(listener_->flush_reasons, ElementsAre("request"));
}

// The job finds a writer in the middle of its commit, so the next writer seals the memtable.
TEST_F(ReclaimRangesTest, WritersSealInPlaceOfTheJob) {
  Open();
  Fill();
  DeleteRange("", std::nullopt);
  bool runs = true;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kAppend && path.ends_with(".log") &&
        std::exchange(runs, false)) {
      world_.scheduler.RunAll();
      EXPECT_THAT(listener_->flush_reasons, IsEmpty());
    }
    return absl::OkStatus();
  });
  Put("a", "1");
  EXPECT_FALSE(runs);
  EXPECT_EQ(LevelsInTheEnd(), "0 4");
  Put("b", "2");
  EXPECT_EQ(LevelsInTheEnd(), "1");
  EXPECT_THAT(listener_->flush_reasons, ElementsAre("tombstones"));
  EXPECT_EQ(Scan(), "a=1 b=2");
}

// The leader does not make the log itself, or the store would take no more writes.
TEST_F(ReclaimRangesTest, ALogThatCannotBeMadeFailsNothing) {
  Open();
  Fill();
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kCreate && path.ends_with(".log") ? DiskFull("no space")
                                                                         : absl::OkStatus();
  });
  DeleteRange(Key(0), std::nullopt);
  EXPECT_EQ(LevelsInTheEnd(), "0 4");
  EXPECT_OK(db_->GetFailure());
  Put("a", "v");
  EXPECT_EQ(LevelsAfterALook(), "0 4");
  EXPECT_OK(db_->GetFailure());
  world_.files->SetFault(nullptr);
  EXPECT_EQ(LevelsAfterALook(), "1");
  EXPECT_EQ(Scan(), "a=v");
}

TEST_F(ReclaimRangesTest, AFullDiskGetsItsSpaceBack) {
  options_.reserve_bytes = 1 << 20;
  Open();
  Fill();
  ASSERT_GT(db_->GetStatistics().reserve_bytes, 0u);
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    const bool has_reserve = !world_.files->FileBytes("/store/RESERVE").empty();
    const bool is_new = path.ends_with(".log") || path.ends_with(".table");
    return operation == FileOperation::kCreate && is_new && has_reserve ? DiskFull("no space")
                                                                        : absl::OkStatus();
  });
  DeleteRange("", std::nullopt);
  EXPECT_EQ(LevelsInTheEnd(), "");
  EXPECT_OK(db_->GetFailure());
  EXPECT_GT(db_->GetStatistics().reserve_releases, 0u);
}

TEST_F(ReclaimRangesTest, MemtablesWithRangesAreSealedAfterAWeek) {
  constexpr uint64_t kHourNanos = uint64_t{3600} * 1'000'000'000;
  Open();
  Fill();
  DeleteRange(Key(5), Key(6));
  world_.clock.Advance(kHourNanos * (7 * 24 - 1));
  EXPECT_EQ(LevelsAfterALook(), "0 4");
  world_.clock.Advance(kHourNanos);
  EXPECT_OK(db_->WaitForBackgroundWork());
  EXPECT_THAT(listener_->flush_reasons, ElementsAre("tombstones"));
  EXPECT_EQ(Get(Key(5)), "absent");
}

// --- other calls ---

TEST_F(ReclaimRangesTest, CompactRangeReadsNoDeadTables) {
  Open();
  Fill();
  DeleteRange(Key(0), Key(180));
  CompactAll();
  EXPECT_EQ(Levels(), "0 1");
  EXPECT_EQ(Dropped(), 3u);
  const Statistics now = db_->GetStatistics();
  EXPECT_LT(now.compaction_bytes_read - written_before_.compaction_bytes_read, 3u << 20);
  EXPECT_EQ(Keys(), "20 from key1180 to key1199");
}

TEST_F(ReclaimRangesTest, ReopenedStoresDrop) {
  Open();
  Fill();
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  DeleteRange(Key(0), Key(180));
  ASSERT_EQ(LevelsAfterALook(), "0 4");
  snapshot = nullptr;
  Open();
  EXPECT_EQ(LevelsInTheEnd(), "1 1") << "the range delete came from the log";
  snapshot = db_->GetSnapshot();
  DeleteRange(Key(180), std::nullopt);
  Flush();
  snapshot = nullptr;
  Open();
  EXPECT_EQ(LevelsInTheEnd(), "") << "it came from a table";
  EXPECT_EQ(Files(), 0u);
}

TEST_F(ReclaimRangesTest, FailedDropsAreFailuresOfTheManifest) {
  Open();
  Fill();
  DeleteRange("", std::nullopt);
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    const bool fails = operation == FileOperation::kAppend && path.find(".manifest") != path.npos;
    return fails && !listener_->flush_reasons.empty() ? absl::UnavailableError("broken")
                                                      : absl::OkStatus();
  });
  world_.scheduler.RunAll();
  EXPECT_FALSE(db_->GetFailure().ok());
  world_.files->SetFault(nullptr);
  EXPECT_EQ(Files(), 5u) << "no file goes before its edit is durable";
  EXPECT_EQ(Dropped(), 0u);
  Open();
  EXPECT_EQ(LevelsInTheEnd(), "");
  EXPECT_EQ(Keys(), "none");
}

TEST_F(ReclaimRangesTest, FollowersKeepTheirTables) {
  Open();
  Fill();
  Options follow = options_;
  follow.mode = OpenMode::kFollow;
  follow.listener = nullptr;
  absl::StatusOr<std::unique_ptr<DB>> follower = DB::Open(kStorePath, follow);
  ASSERT_OK(follower);
  std::unique_ptr<const Snapshot> snapshot = (*follower)->GetSnapshot();
  DeleteRange("", std::nullopt);
  EXPECT_EQ(LevelsInTheEnd(), "");
  ASSERT_OK((*follower)->Resume());
  ReadOptions as_of;
  as_of.snapshot = snapshot.get();
  EXPECT_EQ(ReadAll(**follower, as_of)->size(), static_cast<size_t>(kKeys));
  EXPECT_EQ(ReadAll(**follower)->size(), 0u);
  snapshot = nullptr;
  *follower = nullptr;
}

TEST_F(ReclaimRangesTest, CheckpointsKeepTheirTables) {
  Open();
  Fill();
  ASSERT_OK(db_->Checkpoint("/copy"));
  DeleteRange("", std::nullopt);
  EXPECT_EQ(LevelsInTheEnd(), "");
  ASSERT_OK(db_->Checkpoint("/later"));
  absl::StatusOr<std::unique_ptr<DB>> copy = DB::Open("/copy", options_);
  ASSERT_OK(copy);
  EXPECT_EQ(ReadAll(**copy)->size(), static_cast<size_t>(kKeys));
  absl::StatusOr<std::unique_ptr<DB>> later = DB::Open("/later", options_);
  ASSERT_OK(later);
  EXPECT_EQ(ReadAll(**later)->size(), 0u);
}

}  // namespace
}  // namespace lsm
