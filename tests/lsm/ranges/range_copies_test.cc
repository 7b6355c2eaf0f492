// Copies of a store with range deletes: what they hide stays hidden, in the copy and in the store.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "lsm/snapshot.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class RangeCopiesTest : public StoreTest {
 protected:
  static constexpr int kKeys = 200;
  static constexpr char kBackupPath[] = "/copies/backup";
  static constexpr char kCheckpointPath[] = "/copies/checkpoint";
  static constexpr char kRestoredPath[] = "/copies/restored";

  RangeCopiesTest() { options_.compression = Compression::kNone; }

  static std::string NumberedKey(int number) { return Concat("k", 1'000 + number); }
  // In the store, and in contents_.
  void PutOne(int number, const std::string& value) {
    Put(NumberedKey(number), value);
    contents_[NumberedKey(number)] = value;
  }
  void DeleteSome(int from, std::optional<int> to) {
    const std::string begin = NumberedKey(from), end = to ? NumberedKey(*to) : "";
    DeleteRange(begin, to ? std::optional<std::string_view>(end) : std::nullopt);
    contents_.erase(contents_.lower_bound(begin),
                    to ? contents_.lower_bound(end) : contents_.end());
  }

  // Makes tables whose ranges were partly compacted, a table above them, and a memtable, all with
  // ranges.  `before_` sees the store without the ranges of the last two.
  void Fill() {
    Open();
    for (int i = 0; i < kKeys; ++i) PutOne(i, std::string(1'000, 'v'));
    CompactAll();
    {
      // A snapshot keeps the range, and what it hides, in several tables of a level.
      const std::unique_ptr<const Snapshot> kept = db_->GetSnapshot();
      DeleteSome(20, 180);
      PutOne(30, "newer");
      CompactAll();
    }
    const uint64_t ranges = RangesInTables();
    ASSERT_GT(ranges, 1u);
    ASSERT_OK(db_->CompactRange(NumberedKey(0), NumberedKey(40)));
    ASSERT_LT(RangesInTables(), ranges);
    ASSERT_GT(RangesInTables(), 0u);
    before_ = db_->GetSnapshot();
    contents_before_ = contents_;
    DeleteSome(190, std::nullopt);
    PutOne(195, "back");
    Flush();
    ASSERT_GT(db_->GetStatistics().levels[0].range_deletes, 0u);
    DeleteSome(5, 10);
    PutOne(7, "back");
  }
  uint64_t RangesInTables() { return db_->GetStatistics().total.range_deletes; }

  static void ExpectContents(DB& db, const Contents& expected, const ReadOptions& options = {}) {
    ASSERT_OK_AND_ASSIGN(const Contents found, ReadAll(db, options));
    EXPECT_EQ(found, expected);
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db.Get(NumberedKey(i), options));
      const auto at = expected.find(NumberedKey(i));
      EXPECT_EQ(value, at == expected.end() ? std::nullopt : std::optional(at->second))
          << NumberedKey(i);
    }
  }

  // Opens the copy, and goes on with it.
  void ExpectCopy(const std::string& path, const Contents& expected) {
    SCOPED_TRACE(path);
    Options options = options_;
    options.mode = OpenMode::kMustExist;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(path, options));
    ASSERT_NO_FATAL_FAILURE(ExpectContents(*db, expected));
    ASSERT_OK_AND_ASSIGN(const VerifyReport report, db->Verify());
    EXPECT_TRUE(report.problems.empty());
    EXPECT_GT(db->GetStatistics().total.range_deletes, 0u);
    const std::unique_ptr<const Snapshot> snapshot = db->GetSnapshot();
    Contents later = expected;
    later.erase(later.begin(), later.lower_bound(NumberedKey(185)));
    ASSERT_OK(db->DeleteRange("", NumberedKey(185)));
    for (int pass = 0; pass < 2; ++pass) {
      ASSERT_NO_FATAL_FAILURE(ExpectContents(*db, later));
      ASSERT_NO_FATAL_FAILURE(ExpectContents(*db, expected, {.snapshot = snapshot.get()}));
      ASSERT_OK(db->CompactRange());
    }
  }

  Contents contents_, contents_before_;
  std::unique_ptr<const Snapshot> before_;
};

TEST_F(RangeCopiesTest, BackupsHaveThem) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const Contents backed_up = contents_;
  ASSERT_OK(db_->Backup(kBackupPath));
  ASSERT_NO_FATAL_FAILURE(ExpectContents(*db_, contents_));
  ASSERT_NO_FATAL_FAILURE(ExpectContents(*db_, contents_before_, {.snapshot = before_.get()}));
  // The store goes on, and the backup stays as it is.
  DeleteSome(0, std::nullopt);
  CompactAll();
  ASSERT_NO_FATAL_FAILURE(ExpectContents(*db_, contents_));
  ASSERT_NO_FATAL_FAILURE(ExpectContents(*db_, contents_before_, {.snapshot = before_.get()}));
  ASSERT_OK(DB::Restore(kBackupPath, kRestoredPath, options_));
  ASSERT_NO_FATAL_FAILURE(ExpectCopy(kBackupPath, backed_up));
  ASSERT_NO_FATAL_FAILURE(ExpectCopy(kRestoredPath, backed_up));
}

TEST_F(RangeCopiesTest, CheckpointsHaveThem) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const Contents copied = contents_;
  ASSERT_OK(db_->Checkpoint(kCheckpointPath));
  // The store goes on, and the checkpoint stays as it is.
  DeleteSome(0, std::nullopt);
  CompactAll();
  ASSERT_NO_FATAL_FAILURE(ExpectContents(*db_, contents_));
  ASSERT_NO_FATAL_FAILURE(ExpectContents(*db_, contents_before_, {.snapshot = before_.get()}));
  ASSERT_NO_FATAL_FAILURE(ExpectCopy(kCheckpointPath, copied));
}

// The ranges of the memtable are in a log, which is copied.
TEST_F(RangeCopiesTest, RestoredLogsHaveThem) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  before_ = nullptr;
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(const CopyReport report, DB::Restore(kStorePath, kRestoredPath, options_));
  EXPECT_EQ(report.logs_copied, 1u);
  ASSERT_NO_FATAL_FAILURE(ExpectCopy(kRestoredPath, contents_));
}

}  // namespace
}  // namespace lsm
