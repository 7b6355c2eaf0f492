// Read-triggered compaction: wasted reads of level 0 trigger its compaction once they have cost as
// much as the compaction would.  Other reads never do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/keyspace.h"
#include "tests/lsm/engine/schedulers.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;

// The engine checks after this many lookups or seeks (kLookupsPerNote and kSeeksPerNote in
// engine_read.cc).  The other figures follow from the waste that these count for each table.  A
// merge costs 1 MiB plus the bytes that it reads (lsm/compaction/picker.h).
constexpr uint64_t kLookups = 16'384, kSeeks = 1024;
constexpr uint64_t kPaidByLookups = kLookups * 4, kPaidBySeeks = kSeeks * 32;
static_assert(16 * kPaidByLookups == 1 << 20 && 32 * kPaidBySeeks == 1 << 20);

class ReadersPayTest : public StoreTest {
 protected:
  ReadersPayTest() {
    options_.compression = Compression::kNone;
    options_.target_fpp = 0.000001;  // so low that no filter gives a false positive
    options_.level1_bytes = options_.table_bytes = uint64_t{1} << 20;
    options_.write_buffer_bytes = 1 << 20;
  }
  // Makes a level 1 of this size and tables of level 0, all from a to z.
  void MakeTree(uint64_t level1_bytes, int level0_tables) {
    Open();
    Put("a", "old");
    Put("y", std::string(level1_bytes, 'y'));
    Put("z", "old");
    CompactAll();
    for (int i = 0; i < level0_tables; ++i) AddToLevel0();
  }
  void AddToLevel0() {
    Put("a", "new");
    Put("z", "new");
    Flush();
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
  void GetOften(std::string_view key, uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) ASSERT_OK(db_->Get(key));
  }
  // Makes one seek in each of this many iterators.
  void SeekOften(uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) db_->NewIterator()->Seek("m");
  }
  std::string LevelsInTheEnd() {
    EXPECT_OK(db_->WaitForBackgroundWork());
    return Levels();
  }
  uint64_t ForReaders() { return db_->GetStatistics().compactions_for_readers; }
};

TEST_F(ReadersPayTest, WastedReadsPayForAMerge) {
  MakeTree(1000, 2);
  GetOften("m", 8 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "2 1");
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.compactions_for_readers, 1u);
  EXPECT_EQ(statistics.compactions, 2u);  // and that of MakeTree
  EXPECT_EQ(Get("a"), "new");
  EXPECT_EQ(Get("m"), "absent");
}

TEST_F(ReadersPayTest, EachProbedTablePays) {
  MakeTree(2 * kPaidByLookups - 4000, 1);
  GetOften("m", 17 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  MakeTree(2 * kPaidByLookups - 8000, 2);
  GetOften("m", 8 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "2 1");
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
}

TEST_F(ReadersPayTest, MergesPayOnlyForThemselves) {
  MakeTree(2 * kPaidByLookups - 4000, 1);
  GetOften("m", 50 * kLookups);  // 18 would suffice; the merge begins when a caller waits
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  AddToLevel0();
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  GetOften("m", 17 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  EXPECT_EQ(ForReaders(), 2u);
  // Waste counted before another compaction of level 0 is dropped too.
  AddToLevel0();
  GetOften("m", 17 * kLookups);
  CompactAll();
  AddToLevel0();
  GetOften("m", 17 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  EXPECT_EQ(ForReaders(), 2u);
}

TEST_F(ReadersPayTest, AnswersOfLevel0CostNothing) {
  MakeTree(1000, 1);
  GetOften("a", 18 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  Put("m", "in memory");
  GetOften("m", 18 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  // No table is asked whose range does not hold the key.
  GetOften("zz", 18 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  EXPECT_EQ(ForReaders(), 0u);
}

TEST_F(ReadersPayTest, KeysOfMultiGetPayAsLookups) {
  MakeTree(1000, 1);
  const std::vector<std::string_view> keys(64, "m");
  for (const auto& answer : db_->MultiGet(keys)) EXPECT_OK(answer);
  for (uint64_t i = 1; i < 16 * kLookups / keys.size(); ++i) db_->MultiGet(keys);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  for (uint64_t i = 0; i < kLookups / keys.size(); ++i) db_->MultiGet(keys);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
}

// A merge of the default tree would not save their reads, and their own tree has one table.
TEST_F(ReadersPayTest, OtherKeyspacesPayNothingForTheDefaultOne) {
  MakeTree(1000, 2);
  ASSERT_OK_AND_ASSIGN(Keyspace other, db_->OpenKeyspace("other"));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(other.Put("a", "new"));
    ASSERT_OK(other.Put("z", "new"));
    Flush();
  }
  for (uint64_t i = 0; i < 18 * kLookups; ++i) ASSERT_OK(other.Get("m"));
  const std::vector<std::string_view> keys(64, "m");
  for (uint64_t i = 0; i < 18 * kLookups / keys.size(); ++i) other.MultiGet(keys);
  EXPECT_EQ(LevelsInTheEnd(), "3 1") << "one table is the common tree's";
  EXPECT_EQ(ForReaders(), 0u);
  EXPECT_EQ(db_->GetStatistics().levels[0].reads_avoided, 36 * kLookups) << "they count in figures";
  // The default tree still pays as it would without them.
  GetOften("m", 8 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "3 1");
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
}

TEST_F(ReadersPayTest, SeeksPayAtTheIteratorsEnd) {
  MakeTree(1000, 2);
  SeekOften(16 * kSeeks);
  EXPECT_EQ(LevelsInTheEnd(), "2 1");
  SeekOften(kSeeks);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  EXPECT_EQ(db_->GetStatistics().seeks, 17 * kSeeks);
  EXPECT_EQ(db_->GetStatistics().level0_seeks, 34 * kSeeks);
  // The iterator keeps its tables, so a merge gains nothing before it is destroyed.
  AddToLevel0();
  std::unique_ptr<Iterator> iterator = db_->NewIterator();
  for (uint64_t i = 0; i < 33 * kSeeks / 4; ++i) {
    iterator->Seek("m");
    iterator->SeekForPrev("m");
    iterator->SeekToFirst();
    iterator->SeekToLast();
  }
  iterator->Seek("m");
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  iterator = nullptr;
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  EXPECT_EQ(db_->GetStatistics().seeks, 50 * kSeeks + 1);
  EXPECT_EQ(db_->GetStatistics().level0_seeks, 67 * kSeeks + 1);
}

TEST_F(ReadersPayTest, ManySeeksPayForALargeMerge) {
  MakeTree(4 * kPaidBySeeks - 8000, 1);
  SeekOften(35 * kSeeks);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  SeekOften(kSeeks);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
}

TEST_F(ReadersPayTest, StepsPayNothing) {
  MakeTree(1000, 2);
  for (uint64_t i = 0; i < 100; ++i) {
    const std::unique_ptr<Iterator> iterator = db_->NewIterator();
    for (iterator->SeekToFirst(); iterator->Valid();) iterator->Next();
  }
  EXPECT_EQ(db_->GetStatistics().seeks, 100u);
  EXPECT_EQ(db_->GetStatistics().level0_seeks, 200u);
}

TEST_F(ReadersPayTest, ReadOnlyStoresStayUnchanged) {
  MakeTree(1000, 2);
  options_.mode = OpenMode::kReadOnly;
  Open();
  GetOften("m", 18 * kLookups);
  SeekOften(34 * kSeeks);
  EXPECT_EQ(Levels(), "2 1");
  EXPECT_EQ(world_.scheduler.queued_count(), 0u);
}

TEST_F(ReadersPayTest, IteratorsMayOutliveTheStore) {
  MakeTree(1000, 2);
  const std::unique_ptr<Iterator> iterator = db_->NewIterator();
  db_ = nullptr;
  for (uint64_t i = 0; i < 2 * kSeeks; ++i) iterator->Seek("a");
  EXPECT_TRUE(iterator->Valid());
}

// Without filters a lookup has to look into the tables.
TEST_F(ReadersPayTest, WastedReadsPayByTheirBytes) {
  options_.filter_kind = "none";
  MakeTree(1000, 1);
  GetOften("m", kLookups);  // 1 MiB, and the tables are more
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
}

// Reads of a level 0 that is being merged, or is gone already, do not count for the next one.
TEST_F(ReadersPayTest, ReadsOfAnObsoleteLevel0PayNothing) {
  MakeTree(1000, 2);
  std::unique_ptr<Iterator> old = db_->NewIterator();
  for (uint64_t i = 0; i < 40 * kSeeks; ++i) old->Seek("m");
  bool reads = true;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kCreate && path.ends_with(".table") &&
        std::exchange(reads, false))
      GetOften("m", 20 * kLookups);
    return absl::OkStatus();
  });
  GetOften("m", 9 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  EXPECT_FALSE(reads);
  world_.files->SetFault(nullptr);
  AddToLevel0();
  old = nullptr;
  EXPECT_EQ(db_->GetStatistics().level0_seeks, 0u);
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  EXPECT_EQ(ForReaders(), 1u);
}

TEST_F(ReadersPayTest, ReadsOfOneRunPayNothing) {
  Open();
  AddToLevel0();
  GetOften("m", 40 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1");
  AddToLevel0();
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "2");
}

// Disjoint tables are paid for together and merged one by one.
TEST_F(ReadersPayTest, EachMergeTakesItsOwnPrice) {
  MakeTree(1000, 1);
  Put("za", std::string(6 * kPaidByLookups, 'z'));
  Put("zz", "new");
  Flush();
  EXPECT_EQ(LevelsInTheEnd(), "2 1");
  GetOften("m", 22 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "2 1");
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  GetOften("zb", 17 * kLookups);  // and the six that the first merge left
  EXPECT_EQ(LevelsInTheEnd(), "0 2");
}

// A read-triggered compaction reports damage like any other compaction.
TEST_F(ReadersPayTest, DamageIsAFailureOfTheStore) {
  MakeTree(1000, 2);
  const std::string path = world_.FilesOf(FileKind::kTable).front();  // of level 1
  std::string bytes = world_.files->FileBytes(path);
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  world_.files->SetFileBytes(path, bytes);
  GetOften("m", 9 * kLookups);
  EXPECT_THAT(db_->WaitForBackgroundWork(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(db_->GetFailure(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(db_->GetStatistics().background_errors, 1u);
}

TEST_F(ReadersPayTest, NextReadRetriesWithoutMemory) {
  NarrowScheduler scheduler;
  options_.environment.scheduler = &scheduler;
  MakeTree(1000, 2);
  scheduler.has_memory = false;
  GetOften("m", 10 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "2 1");
  EXPECT_OK(db_->GetFailure());
  scheduler.has_memory = true;
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  db_ = nullptr;  // before its scheduler
}

// The merge is optional: the store continues as before.
TEST_F(ReadersPayTest, FailedMergesDoNotFailTheStore) {
  MakeTree(1000, 2);
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kCreate && path.ends_with(".table")
               ? absl::ResourceExhaustedError("full")
               : absl::OkStatus();
  });
  GetOften("m", 9 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "2 1");
  EXPECT_OK(db_->GetFailure());
  EXPECT_EQ(db_->GetStatistics().background_errors, 1u);
  EXPECT_EQ(ForReaders(), 0u);
  // It is tried again for the same price.
  GetOften("m", 8 * kLookups);
  EXPECT_EQ(world_.scheduler.queued_count(), 0u);
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "2 1");
  EXPECT_EQ(db_->GetStatistics().background_errors, 2u);
  world_.files->SetFault(nullptr);
  AddToLevel0();
  AddToLevel0();  // by its own limit
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  EXPECT_EQ(Get("a"), "new");
}

}  // namespace
}  // namespace lsm
