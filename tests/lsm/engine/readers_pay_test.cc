// Level 0 is compacted when its readers have paid for it, no sooner, and by nobody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// What the engine waits for before it looks (kLookupsPerNote and kSeeksPerNote in engine_read.cc),
// and what a lookup or a seek pays for each table (lsm/compaction/picker.h).
constexpr uint64_t kLookups = 16'384, kSeeks = 1024;
constexpr uint64_t kBytesPerNote = kLookups * 16;

class ReadersPayTest : public StoreTest {
 protected:
  ReadersPayTest() {
    options_.compression = Compression::kNone;
    options_.level1_bytes = options_.table_bytes = uint64_t{1} << 20;
  }
  // Level 1 with so many bytes, and tables of level 0, all from a to z.
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
  // A seek in each of so many iterators.
  void SeekOften(uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) db_->NewIterator()->Seek("m");
  }
  std::string LevelsInTheEnd() {
    EXPECT_OK(db_->WaitForBackgroundWork());
    return Levels();
  }
  uint64_t ForReaders() { return db_->GetStatistics().compactions_for_readers; }
};

TEST_F(ReadersPayTest, LookupsInVainPayForAMerge) {
  MakeTree(1000, 2);
  GetOften("m", kLookups - 1);
  EXPECT_EQ(LevelsInTheEnd(), "2 1");
  GetOften("m", 1);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.compactions_for_readers, 1u);
  EXPECT_EQ(statistics.compactions, 2u);  // and that of MakeTree
  EXPECT_EQ(Get("a"), "new");
  EXPECT_EQ(Get("m"), "absent");
}

TEST_F(ReadersPayTest, EachTableThatIsAskedIsPaidFor) {
  // One table alone pays half of it at each look.
  MakeTree(2 * kBytesPerNote - 4000, 1);
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  // Two pay all of it.
  MakeTree(2 * kBytesPerNote - 8000, 2);
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
}

TEST_F(ReadersPayTest, AMergePaysForNothingButItself) {
  MakeTree(2 * kBytesPerNote - 4000, 1);
  GetOften("m", 5 * kLookups);  // two would have done; the merge begins when somebody waits
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  AddToLevel0();
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  EXPECT_EQ(ForReaders(), 2u);
  // What was paid before somebody else had it merged is gone as well.
  AddToLevel0();
  GetOften("m", kLookups);
  CompactAll();
  AddToLevel0();
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  EXPECT_EQ(ForReaders(), 2u);
}

TEST_F(ReadersPayTest, WhatLevel0AnswersCostsNothing) {
  MakeTree(1000, 1);
  GetOften("a", 2 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  Put("m", "in memory");
  GetOften("m", 2 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  // Whose range does not hold the key is not asked.
  GetOften("zz", 2 * kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  EXPECT_EQ(ForReaders(), 0u);
}

TEST_F(ReadersPayTest, KeysOfMultiGetPayAsLookups) {
  MakeTree(1000, 1);
  const std::vector<std::string_view> keys(64, "m");
  for (uint64_t i = 0; i < kLookups / keys.size() - 1; ++i) db_->MultiGet(keys);
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  for (const auto& answer : db_->MultiGet(keys)) EXPECT_OK(answer);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
}

TEST_F(ReadersPayTest, SeeksPayWhenTheirIteratorIsGone) {
  MakeTree(1000, 2);
  SeekOften(kSeeks - 1);
  EXPECT_EQ(LevelsInTheEnd(), "2 1");
  SeekOften(1);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  EXPECT_EQ(db_->GetStatistics().seeks, kSeeks);
  EXPECT_EQ(db_->GetStatistics().level0_seeks, 2 * kSeeks);
  // It holds the tables that it was made with, so that nothing is won before.
  AddToLevel0();
  std::unique_ptr<Iterator> iterator = db_->NewIterator();
  for (uint64_t i = 0; i < kSeeks / 4; ++i) {
    iterator->Seek("m");
    iterator->SeekForPrev("m");
    iterator->SeekToFirst();
    iterator->SeekToLast();
  }
  iterator->Seek("m");
  EXPECT_EQ(LevelsInTheEnd(), "1 1");
  iterator = nullptr;
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
  EXPECT_EQ(db_->GetStatistics().seeks, 2 * kSeeks + 1);
  EXPECT_EQ(db_->GetStatistics().level0_seeks, 3 * kSeeks + 1);
}

TEST_F(ReadersPayTest, ManySeeksPayForALargeMerge) {
  // A seek pays as ten lookups.
  MakeTree(2 * kSeeks * 160 - 8000, 1);
  SeekOften(kSeeks);
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

TEST_F(ReadersPayTest, AStoreThatIsReadOnlyStaysAsItIs) {
  MakeTree(1000, 2);
  options_.mode = OpenMode::kReadOnly;
  Open();
  GetOften("m", 2 * kLookups);
  SeekOften(2 * kSeeks);
  EXPECT_EQ(Levels(), "2 1");
  EXPECT_EQ(world_.scheduler.queued_count(), 0u);
}

TEST_F(ReadersPayTest, AnIteratorMayOutliveTheStore) {
  MakeTree(1000, 2);
  const std::unique_ptr<Iterator> iterator = db_->NewIterator();
  db_ = nullptr;
  for (uint64_t i = 0; i < 2 * kSeeks; ++i) iterator->Seek("a");
  EXPECT_TRUE(iterator->Valid());
}

TEST_F(ReadersPayTest, ReadersDoNotHaveAFailedMergeDoneAgain) {
  MakeTree(1000, 2);
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kCreate && path.ends_with(".table")
               ? absl::ResourceExhaustedError("full")
               : absl::OkStatus();
  });
  GetOften("m", kLookups);
  EXPECT_FALSE(db_->WaitForBackgroundWork().ok());
  GetOften("m", 2 * kLookups);
  EXPECT_EQ(world_.scheduler.queued_count(), 0u);
  EXPECT_EQ(Get("a"), "new");
  world_.files->SetFault(nullptr);
  ASSERT_OK(db_->Resume());
  GetOften("m", kLookups);
  EXPECT_EQ(LevelsInTheEnd(), "0 1");
}

}  // namespace
}  // namespace lsm
