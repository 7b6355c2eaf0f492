// Stores whose filters and indexes exceed the block cache.  Their tables are written in partitions,
// and everything else works as before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "lsm/table/table.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr int kKeys = 20'000;

std::string KeyOf(int i) { return std::to_string(100'000'000 + i); }
std::string ValueOf(int i) { return "value " + std::to_string(i); }

class PartitionsTest : public StoreTest {
 protected:
  PartitionsTest() { options_.block_cache_bytes = 12 << 10; }

  // Loads even numbers, enough for tables in several levels.
  void Load() {
    Open();
    for (int i = 0; i < kKeys; ++i) Put(KeyOf(2 * (i * 7919 % kKeys)), ValueOf(i * 7919 % kKeys));
    Flush();
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
  Statistics Now() { return db_->GetStatistics(); }

  std::unique_ptr<Table> OpenFile(const std::string& path) {
    const size_t slash = path.rfind('/');
    const auto directory = world_.files->OpenDirectory(path.substr(0, slash), false);
    auto file = (*directory)->OpenRead(path.substr(slash + 1), ReadMode::kBuffered);
    return Table::Open(*std::move(file), {}).value();
  }
  std::vector<std::string> PartitionedFiles() {
    std::vector<std::string> paths;
    for (const std::string& path : world_.FilesOf(FileKind::kTable)) {
      if (OpenFile(path)->is_partitioned()) paths.push_back(path);
    }
    return paths;
  }
  void Flip(const std::string& path, uint64_t offset) {
    std::string bytes = world_.files->FileBytes(path);
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x10);
    world_.files->SetFileBytes(path, bytes);
  }
  void ExpectAllThere() {
    for (int i = 0; i < kKeys; i += 7) ASSERT_EQ(Get(KeyOf(2 * i)), ValueOf(i));
    for (int i = 0; i < kKeys; i += 7) ASSERT_EQ(Get(KeyOf(2 * i + 1)), "absent");
  }
};

TEST_F(PartitionsTest, StoresLargerThanTheCacheWritePartitions) {
  Load();
  EXPECT_THAT(PartitionedFiles(), Not(IsEmpty()));
  const Statistics now = Now();
  EXPECT_GT(now.total.filter_partition_bytes, 12u << 10);
  EXPECT_GT(now.total.index_partition_bytes, 4u << 10);
  EXPECT_EQ(now.total.filters_damaged, 0u);
  ExpectAllThere();
  const Statistics after = Now();
  EXPECT_GT(after.total.partitions_from_file, 0u);
  EXPECT_GT(after.total.partitions_from_cache, 0u);
  EXPECT_GT(after.total.partition_bytes_from_file, after.total.partitions_from_file * 20);
  EXPECT_LE(after.block_cache_bytes, options_.block_cache_bytes);
  // Partitioned filters work as well as whole ones.
  EXPECT_LT(after.total.observed_fpp(), 0.02);
  EXPECT_GT(after.total.reads_avoided, static_cast<uint64_t>(kKeys / 7));
}

TEST_F(PartitionsTest, OtherStoresWriteNoPartitions) {
  for (const size_t cache_bytes : {size_t{8} << 20, size_t{0}}) {
    SCOPED_TRACE(cache_bytes);
    options_.block_cache_bytes = cache_bytes;
    Load();
    EXPECT_THAT(PartitionedFiles(), IsEmpty());
    EXPECT_EQ(Now().total.filter_partition_bytes, 0u);
    EXPECT_EQ(Now().total.partitions_from_file, 0u);
    db_ = nullptr;
    ASSERT_OK(DB::Destroy(kStorePath, options_));
  }
}

TEST_F(PartitionsTest, TablesAreReadableWithAnyCache) {
  Load();
  for (const size_t cache_bytes : {size_t{0}, size_t{1}, size_t{8} << 20}) {
    SCOPED_TRACE(cache_bytes);
    options_.block_cache_bytes = cache_bytes;
    Open();
    ExpectAllThere();
  }
  CompactAll();
  EXPECT_THAT(PartitionedFiles(), IsEmpty());
  ExpectAllThere();
}

TEST_F(PartitionsTest, OpeningLoadsNoPartitions) {
  Load();
  const Statistics loaded = Now();
  Open();
  const Statistics now = Now();
  EXPECT_EQ(now.total.filter_partition_bytes, loaded.total.filter_partition_bytes);
  EXPECT_EQ(now.block_cache_bytes, 0u);
  EXPECT_GT(now.opening_reads, 0u);
  EXPECT_LE(now.opening_reads, 2 * now.total.tables);
  EXPECT_GT(now.opening_bytes_read, 0u);
}

TEST_F(PartitionsTest, SupportsMultiGetAndIterators) {
  Load();
  Open();
  std::vector<std::string> keys;
  for (int i = 0; i < 300; ++i) keys.push_back(KeyOf((i * 131) % (2 * kKeys)));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  for (int round = 0; round < 2; ++round) {
    const auto values = db_->MultiGet(views);
    ASSERT_THAT(values, SizeIs(keys.size()));
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_OK(values[i]);
      const int number = std::stoi(keys[i]) - 100'000'000;
      EXPECT_EQ(values[i]->value_or("absent"), number % 2 == 0 ? ValueOf(number / 2) : "absent");
    }
  }
  const std::unique_ptr<Iterator> iterator = db_->NewIterator();
  int number = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++number)
    ASSERT_EQ(iterator->key(), KeyOf(2 * number));
  EXPECT_OK(iterator->status());
  EXPECT_EQ(number, kKeys);
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) --number;
  EXPECT_EQ(number, 0);
  for (int i = 0; i < 2 * kKeys; i += 501) {
    iterator->Seek(KeyOf(i));
    ASSERT_EQ(iterator->key(), KeyOf(i + i % 2));
  }
}

TEST_F(PartitionsTest, ExplainNamesPartitions) {
  Load();
  Open();
  ASSERT_OK_AND_ASSIGN(const Explanation first, db_->Explain(KeyOf(1000)));
  EXPECT_THAT(first.ToText(), HasSubstr("filter partition"));
  EXPECT_THAT(first.ToText(), HasSubstr("index partition"));
  EXPECT_THAT(first.ToJson(), HasSubstr("\"partitions\":[{\"of\":\"filter\""));
  ASSERT_OK_AND_ASSIGN(const Explanation again, db_->Explain(KeyOf(1000)));
  EXPECT_TRUE(again.tables.back().partitions.back().from_cache);
}

TEST_F(PartitionsTest, VerifyCopyAndRepairAcceptPartitions) {
  Load();
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.keys_in_filter, report.keys);
  ASSERT_OK(db_->Backup("/backup"));
  const size_t partitioned = PartitionedFiles().size();
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(const RepairReport repair, DB::Repair(kStorePath, options_));
  EXPECT_THAT(repair.left_out, IsEmpty());
  EXPECT_EQ(repair.tables_rewritten, 0);
  EXPECT_EQ(PartitionedFiles().size(), partitioned);
  Open();
  ExpectAllThere();
}

TEST_F(PartitionsTest, RebuildsDamagedFilterPartitions) {
  Load();
  const std::string path = PartitionedFiles().back();
  const PartitionEntry entry = OpenFile(path)->partitions().entry(0);
  db_ = nullptr;
  Flip(path, entry.filter.offset + 20);
  Open();
  ExpectAllThere();
  EXPECT_GT(Now().total.filters_damaged, 0u);
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
  EXPECT_THAT(report.problems,
              testing::Contains(
                  testing::AllOf(HasSubstr(path), HasSubstr(std::to_string(entry.filter.offset)))));
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(const RepairReport repair, DB::Repair(kStorePath, options_));
  EXPECT_EQ(repair.tables_rewritten, 1);
  Open();
  ExpectAllThere();
  EXPECT_EQ(Now().total.filters_damaged, 0u);
}

TEST_F(PartitionsTest, DamagedIndexPartitionsFailOnlyTheirKeys) {
  Load();
  const std::string path = PartitionedFiles().back();
  const PartitionEntry entry = OpenFile(path)->partitions().entry(0);
  db_ = nullptr;
  Flip(path, entry.index.offset + 5);
  Open();
  int lost = 0;
  for (int i = 0; i < kKeys; ++i) {
    const auto value = db_->Get(KeyOf(2 * i));
    if (value.ok()) {
      ASSERT_EQ(value->value_or("absent"), ValueOf(i));
      continue;
    }
    ++lost;
    EXPECT_THAT(value.status(),
                testing_support::StatusIs(
                    absl::StatusCode::kDataLoss,
                    HasSubstr(path + ": offset " + std::to_string(entry.index.offset))));
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, kKeys / 4);
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
  EXPECT_THAT(report.problems, Not(IsEmpty()));
  // A repair saves all the others.
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(const RepairReport repair, DB::Repair(kStorePath, options_));
  EXPECT_THAT(repair.left_out, testing::Contains(HasSubstr("(keys up to ")));
  Open();
  int gone = 0;
  for (int i = 0; i < kKeys; ++i) {
    const std::string value = Get(KeyOf(2 * i));
    gone += value != ValueOf(i);
    EXPECT_TRUE(value == ValueOf(i) || value == "absent") << value;
  }
  EXPECT_LE(gone, lost);
  EXPECT_GT(gone, 0);
}

}  // namespace
}  // namespace lsm
