// On a full disk a compaction works in small steps (lsm/compaction/steps.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/event_listener.h"
#include "tests/lsm/engine/full_disk.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

constexpr uint64_t kTableBytes = 64 << 10;
constexpr int kKeys = 20'000;

class CompactionStepsTest : public StoreTest {
 protected:
  CompactionStepsTest() {
    options_.table_bytes = options_.write_buffer_bytes = kTableBytes;
    options_.level1_bytes = uint64_t{1} << 30;
    options_.compression = Compression::kNone;
    options_.reserve_bytes = uint64_t{1} << 20;
  }

  static std::string Key(int i) { return Concat("k", 100'000 + i); }

  // Level 1 gets about a hundred full tables.  Level 0 and the memtable get newer values over the
  // whole key range.
  void FillLevels() {
    for (int i = 0; i < kKeys; ++i) Put(Key(i), std::string(1000, 'v'));
    CompactAll();
    for (int i = 0; i < kKeys; i += 40) Put(Key(i), std::string(1000, 'w'));
    ASSERT_GT(db_->GetStatistics().levels[0].tables, 0u);
    ASSERT_GT(db_->GetStatistics().levels[1].tables, 300u);
  }

  std::string ExpectedOf(int i) const {
    return i >= kKeys / 2 && i % 2 == 1 && are_deleted_
               ? "absent"
               : std::string(1000, i % 40 == 0 ? 'w' : 'v');
  }
  void CheckAll() {
    for (int i = 0; i < kKeys; ++i) ASSERT_EQ(Get(Key(i)), ExpectedOf(i)) << i;
    int found = 0;
    const std::unique_ptr<Iterator> iterator = db_->NewIterator();
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) ++found;
    EXPECT_OK(iterator->status());
    EXPECT_EQ(found, are_deleted_ ? kKeys * 3 / 4 : kKeys);
  }

  uint64_t FreeBytes() {
    return world_.files->OpenDirectory(kStorePath, false).value()->FreeBytes().value();
  }

  // The fault refers to the fixture, and the store outlives the fixture.
  void TearDown() override { world_.files->SetFault(nullptr); }

  // From now on only the reserve is left.  Records the least space that is free.
  void FillDisk() {
    world_.files->SetFreeBytes(0);
    least_free_bytes_ = ~uint64_t{0};
    was_released_ = false;
    world_.files->SetFault([this](FileOperation operation, const std::string& path, uint64_t) {
      const bool is_table = path.ends_with(".table");
      if (operation == FileOperation::kRemove && (is_table || path.ends_with("RESERVE"))) {
        was_released_ = was_released_ || !is_table;
        if (is_table && was_released_) least_free_bytes_ = std::min(least_free_bytes_, FreeBytes());
      }
      return absl::OkStatus();
    });
  }

  bool are_deleted_ = false;
  bool was_released_ = false;
  uint64_t least_free_bytes_ = 0;
};

// The whole compaction would need 20 MB, and no entry can be dropped.
TEST_F(CompactionStepsTest, NeedTheSpaceOfFewTables) {
  Open();
  FillLevels();
  FillDisk();
  ASSERT_OK(db_->CompactRange());
  EXPECT_TRUE(was_released_);
  const uint64_t reserve = *options_.reserve_bytes;
  RecordProperty("bytes_at_most", std::to_string(reserve - least_free_bytes_));
  // The space for a memtable, and for one table with the entries that are merged into it.
  EXPECT_LT(reserve - least_free_bytes_, 4 * kTableBytes);
  EXPECT_EQ(db_->GetStatistics().levels[0].tables, 0u);
  CheckAll();
}

TEST_F(CompactionStepsTest, WholeCompactionsFailInTheSameSpace) {
  options_.reserve_bytes = 0;
  Open();
  FillLevels();
  world_.files->SetFreeBytes(uint64_t{1} << 20);
  EXPECT_THAT(db_->CompactRange(), StatusIs(absl::StatusCode::kResourceExhausted));
  CheckAll();
  world_.files->SetFreeBytes(uint64_t{1} << 30);
  ASSERT_OK(db_->Resume());
  ASSERT_OK(db_->CompactRange());
  CheckAll();
}

TEST_F(CompactionStepsTest, DeletesFreeSpace) {
  Open();
  FillLevels();
  FillDisk();
  EXPECT_FALSE(db_->Delete(Key(kKeys - 1)).ok());
  ASSERT_OK(db_->Resume());
  for (int i = kKeys / 2 + 1; i < kKeys; i += 2) ASSERT_OK(db_->Delete(Key(i)));
  are_deleted_ = true;
  ASSERT_OK(db_->CompactRange());
  EXPECT_GT(FreeBytes(), kKeys / 4 * uint64_t{1000});
  EXPECT_OK(db_->Put(Key(0), std::string(1000, 'w')));
  CheckAll();
}

// One job, though it takes many steps and two attempts.
TEST_F(CompactionStepsTest, AreOneJobForListeners) {
  struct Listener final : EventListener {
    void OnCompactionBegin(const CompactionBegin& event) override { begun.push_back(event); }
    void OnCompactionEnd(const CompactionEnd& event) override { ended.push_back(event); }
    std::vector<CompactionBegin> begun;
    std::vector<CompactionEnd> ended;
  };
  const auto listener = std::make_shared<Listener>();
  options_.listener = listener;
  Open();
  FillLevels();
  FillDisk();
  listener->begun.clear();
  listener->ended.clear();
  const uint64_t compactions_before = db_->GetStatistics().compactions;
  ASSERT_OK(db_->CompactRange());
  ASSERT_EQ(listener->ended.size(), listener->begun.size());
  EXPECT_EQ(db_->GetStatistics().compactions - compactions_before, listener->ended.size());
  const CompactionEnd& end = listener->ended.back();
  EXPECT_FALSE(end.moved);
  EXPECT_GT(end.inputs.size(), 10u);
  EXPECT_EQ(end.inputs.size(), listener->begun.back().inputs.size());
  EXPECT_GT(end.bytes_written, 10 * kTableBytes);
  const std::vector<std::string> tables = world_.FilesOf(FileKind::kTable);
  EXPECT_GT(end.outputs.size(), 10u);
  for (const TableInfo& output : end.outputs)
    EXPECT_THAT(tables, Contains(HasSubstr(TableFileName(output.number)))) << "is gone";
}

// Steps remove the tables that they replace, but not those that an iterator reads.
TEST_F(CompactionStepsTest, ReadersKeepTheirTables) {
  Open();
  FillLevels();
  const std::unique_ptr<Iterator> iterator = db_->NewIterator();
  world_.files->SetFault(FullDisk(*world_.files));
  ASSERT_OK(db_->CompactRange());
  EXPECT_EQ(db_->GetStatistics().reserve_releases, 1u) << "or it did not go in steps";
  int found = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++found;
  EXPECT_EQ(found, kKeys);
  EXPECT_OK(iterator->status());
}

// A failure after any step loses nothing.  The copies that it leaves disturb neither readers nor
// Repair.
TEST_F(CompactionStepsTest, MayFailAfterAnyStep) {
  Open();
  FillLevels();
  for (int i = kKeys / 2 + 1; i < kKeys; i += 2) ASSERT_OK(db_->Delete(Key(i)));
  are_deleted_ = true;
  Flush();
  for (const int fail_at : {1, 2, 5, 30}) {
    SCOPED_TRACE(fail_at);
    world_.files->SetFreeBytes(0);
    int tables = 0;
    world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
      if (operation == FileOperation::kRemove && path.ends_with(".table")) ++tables;
      return operation == FileOperation::kCreate && path.ends_with(".table") && tables >= fail_at
                 ? absl::UnavailableError(Concat(path, ": broken"))
                 : absl::OkStatus();
    });
    EXPECT_THAT(db_->CompactRange(), StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_GE(tables, fail_at);
    world_.files->SetFault(nullptr);
    world_.files->SetFreeBytes(uint64_t{1} << 30);
    CheckAll();
    db_ = nullptr;
    ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStorePath, options_));
    EXPECT_THAT(report.left_out, IsEmpty());
    Open();
    CheckAll();
  }
  ASSERT_OK(db_->CompactRange());
  CheckAll();
  EXPECT_EQ(EntriesInTables(), uint64_t{kKeys} * 3 / 4);
}

}  // namespace
}  // namespace lsm
