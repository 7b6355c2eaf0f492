// The reads of iterators through the cache: readahead in a scan, and joint reads for seeks in
// several runs.  (table_test.cc and the store's models check the entries.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lsm/base/merging_iterator.h"
#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/table/block_reads.h"
#include "tests/lsm/table/table_model.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

constexpr int kEntries = 10'000;
constexpr uint64_t kFirstBytes = 16 << 10;  // as in table_iterator.cc
constexpr uint64_t kMostBytes = 248 << 10;

std::string Target(int number) { return InternalKey(NumberKey(number), kSequenceMax); }

// A table of incompressible values, in about 350 blocks of 4 KiB.
std::string TableOfEvery(int step, int first, size_t partition_bytes = 0) {
  Dice dice(7);
  Model model;
  for (int i = 0; i < kEntries; ++i) {
    std::string value(128, '\0');
    for (char& byte : value) byte = static_cast<char>(dice.Next());
    model.emplace(InternalKey(NumberKey(first + step * i), 5), value);
  }
  TableBuildOptions options;
  options.partition_bytes = partition_bytes;
  return BuildTable(options, model);
}

class ReadAheadTest : public testing::Test {
 protected:
  void Open(std::string bytes, bool partitions_on_demand = false) {
    auto opened = OpenTableBytes(std::move(bytes), size_t{8} << 20, partitions_on_demand);
    ASSERT_OK(opened.status());
    iterator_ = nullptr;
    opened_.table = nullptr;  // before its cache
    opened_ = *std::move(opened);
    iterator_ = opened_.table->NewIterator({});
    reads_ = opened_.file->reads;
    read_bytes_ = opened_.file->read_bytes;
  }
  const Table& table() const { return *opened_.table; }
  // The reads since the last call.
  uint64_t reads() { return opened_.file->reads - std::exchange(reads_, opened_.file->reads); }
  uint64_t read_bytes() {
    return opened_.file->read_bytes - std::exchange(read_bytes_, opened_.file->read_bytes);
  }
  uint64_t BytesOf(size_t ordinal) const {
    return table().block_handle(ordinal).stored_bytes + kBlockTrailerBytes;
  }
  // Steps to the first entry of another block.
  void LeaveBlock(bool forward) {
    const auto block = [&] { return table().FirstBlockFor(UserKeyOf(iterator_->key())); };
    const size_t from = block();
    while (block() == from) forward ? iterator_->Next() : iterator_->Prev();
  }

  OpenedTable opened_;
  std::unique_ptr<Iterator> iterator_;
  uint64_t reads_ = 0, read_bytes_ = 0;
};

TEST_F(ReadAheadTest, WalksDoubleTheirReads) {
  const std::string bytes = TableOfEvery(1, 0);
  for (const bool forward : {true, false}) {
    Open(bytes);
    const uint64_t data_bytes = table().properties().data_bytes;
    ASSERT_GT(data_bytes, 5 * kMostBytes);
    forward ? iterator_->SeekToFirst() : iterator_->SeekToLast();
    LeaveBlock(forward);
    EXPECT_EQ(reads(), 2u);
    EXPECT_LT(read_bytes(), 2u * 8192);
    Open(bytes);
    int entries = 0;
    for (forward ? iterator_->SeekToFirst() : iterator_->SeekToLast(); iterator_->Valid();
         forward ? iterator_->Next() : iterator_->Prev()) {
      EXPECT_EQ(UserKeyOf(iterator_->key()), NumberKey(forward ? entries : kEntries - 1 - entries));
      ++entries;
    }
    EXPECT_OK(iterator_->status());
    EXPECT_EQ(entries, kEntries);
    EXPECT_EQ(read_bytes(), data_bytes);
    // Two single blocks, four growing stretches, and the rest in stretches of the maximum, which
    // may be shorter by one block.
    EXPECT_LE(reads(), 2 + 4 + data_bytes / (kMostBytes - 8192) + 1);
  }
}

TEST_F(ReadAheadTest, SingleStepsReadOneBlock) {
  Open(TableOfEvery(1, 0));
  for (const bool forward : {true, false}) {
    iterator_ = table().NewIterator({.fill_cache = false});
    iterator_->Seek(Target(kEntries / 2));
    const size_t block = table().FirstBlockFor(NumberKey(kEntries / 2));
    LeaveBlock(forward);
    EXPECT_EQ(reads(), 2u);
    EXPECT_EQ(read_bytes(), BytesOf(block) + BytesOf(forward ? block + 1 : block - 1));
    LeaveBlock(forward);
    EXPECT_EQ(reads(), 1u);
    const uint64_t stretch = read_bytes();
    EXPECT_LE(stretch, kFirstBytes);
    EXPECT_GT(stretch, kFirstBytes - 8192);
    // Blocks are not read again; the read-ahead starts again after a seek.
    LeaveBlock(forward);
    EXPECT_EQ(reads(), 0u);
    iterator_->Seek(Target(kEntries / 4));
    EXPECT_EQ(reads(), 1u);
    LeaveBlock(forward);
    EXPECT_EQ(reads(), 1u);
    EXPECT_LT(read_bytes(), 2u * 8192);
  }
}

TEST_F(ReadAheadTest, WalksRestartAtCachedBlocks) {
  const std::string bytes = TableOfEvery(1, 0);
  for (const bool forward : {true, false}) {
    Open(bytes);
    iterator_->Seek(Target(3 * kEntries / 4));
    iterator_->Seek(Target(kEntries / 2));
    for (int i = 0; i < 4; ++i) LeaveBlock(forward);
    iterator_->Seek(Target(3 * kEntries / 4));
    read_bytes();
    LeaveBlock(forward);
    const uint64_t one = read_bytes();
    EXPECT_GT(one, 0u);
    EXPECT_LT(one, 8192u);
  }
}

TEST_F(ReadAheadTest, ReadAheadStopsAtCachedBlocks) {
  const std::string bytes = TableOfEvery(1, 0);
  for (const bool forward : {true, false}) {
    Open(bytes);
    const size_t first = table().FirstBlockFor(NumberKey(kEntries / 2));
    const size_t cached = forward ? first + 4 : first - 4;
    iterator_->Seek(InternalKey(table().block_fence(cached), kSequenceMax));
    iterator_->Seek(Target(kEntries / 2));
    reads(), read_bytes();
    LeaveBlock(forward);
    read_bytes();
    LeaveBlock(forward);  // two blocks, and then the cached one
    EXPECT_EQ(read_bytes(), forward ? BytesOf(first + 2) + BytesOf(first + 3)
                                    : BytesOf(first - 2) + BytesOf(first - 3));
    LeaveBlock(forward);
    LeaveBlock(forward);
    EXPECT_EQ(read_bytes(), 0u);
    LeaveBlock(forward);
    EXPECT_GT(read_bytes(), 0u);
    EXPECT_OK(iterator_->status());
  }
}

TEST_F(ReadAheadTest, ReportsDamageAheadAtItsPlace) {
  Open(TableOfEvery(1, 0));
  const size_t damaged = table().block_count() / 2;
  const uint64_t offset = table().block_handle(damaged).offset;
  for (const bool is_cut_off : {false, true}) {
    if (is_cut_off) {
      opened_.file->bytes.resize(static_cast<size_t>(offset) + 100);
    } else {
      opened_.file->bytes[static_cast<size_t>(offset) + 100] ^= 1;
    }
    iterator_ = table().NewIterator({.fill_cache = false});
    std::string last;
    for (iterator_->SeekToFirst(); iterator_->Valid(); iterator_->Next())
      last = UserKeyOf(iterator_->key());
    EXPECT_EQ(last, table().block_fence(damaged - 1));
    EXPECT_THAT(iterator_->status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(Concat("offset ", offset, ":"))));
  }
}

TEST_F(ReadAheadTest, RetriesStretchesDamagedInTransit) {
  Open(TableOfEvery(1, 0));
  const size_t damaged = table().FirstBlockFor(NumberKey(kEntries / 2)) + 4;  // within a stretch
  char& byte = opened_.file->bytes[static_cast<size_t>(table().block_handle(damaged).offset)];
  iterator_->Seek(Target(kEntries / 2));
  LeaveBlock(/*forward=*/true);
  byte ^= 1;
  LeaveBlock(/*forward=*/true);
  byte ^= 1;
  EXPECT_EQ(reads(), 3u);
  LeaveBlock(/*forward=*/true);
  EXPECT_EQ(reads(), 0u);
  LeaveBlock(/*forward=*/true);
  EXPECT_EQ(reads(), 1u);
  EXPECT_OK(iterator_->status());
}

TEST_F(ReadAheadTest, ReadAheadStopsAtTheIndexPartition) {
  Open(TableOfEvery(1, 0, /*partition_bytes=*/500), /*partitions_on_demand=*/true);
  ASSERT_GT(table().partitions().count(), 5u);
  for (const bool forward : {true, false}) {
    iterator_ = table().NewIterator({.fill_cache = false});
    int entries = 0;
    for (forward ? iterator_->SeekToFirst() : iterator_->SeekToLast(); iterator_->Valid();
         forward ? iterator_->Next() : iterator_->Prev()) {
      ++entries;
    }
    EXPECT_OK(iterator_->status());
    EXPECT_EQ(entries, kEntries);
    // Each partition takes a read of its index, and at least one of a stretch of blocks.
    const uint64_t count = reads();
    EXPECT_LT(count, table().block_count() / 2);
    EXPECT_GE(count, 2 * table().partitions().count());
  }
}

// A file system for tests that call only ReadMany.
class BatchRecorder : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string&, bool) override {
    return absl::UnimplementedError("");
  }
  absl::Status RemoveDirectory(const std::string&) override { return absl::UnimplementedError(""); }
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done) override {
    batches.push_back(requests.size());
    FileSystem::ReadMany(requests, done);
  }
  std::vector<size_t> batches;
};

// Three tables, each with every third number.
class SeekReadsTest : public testing::Test {
 protected:
  void Open(size_t partition_bytes = 0) {
    merged_ = nullptr;
    tables_.clear();
    for (int i = 0; i < 3; ++i) {
      auto opened = OpenTableBytes(TableOfEvery(3, i, partition_bytes), size_t{8} << 20,
                                   /*partitions_on_demand=*/partition_bytes > 0);
      ASSERT_OK(opened.status());
      tables_.push_back(*std::move(opened));
    }
    MakeIterator(/*fill_cache=*/true);
  }
  void MakeIterator(bool fill_cache) {
    Table::ScanOptions options;
    options.fill_cache = fill_cache;
    options.seek_reads = &seek_reads_;
    std::vector<std::unique_ptr<InnerIterator>> inputs;
    for (const OpenedTable& opened : tables_) inputs.push_back(opened.table->NewIterator(options));
    merged_ = NewMergingIterator(std::move(inputs));
  }
  void ExpectAt(int number) {
    ASSERT_TRUE(merged_->Valid()) << merged_->status();
    EXPECT_EQ(UserKeyOf(merged_->key()), NumberKey(number));
  }
  std::vector<size_t> batches() { return std::exchange(files_.batches, {}); }
  uint64_t reads() const {
    uint64_t sum = 0;
    for (const OpenedTable& opened : tables_) sum += opened.file->reads;
    return sum;
  }

  BatchRecorder files_;
  std::vector<OpenedTable> tables_;
  SeekReads seek_reads_{&files_};
  std::unique_ptr<Iterator> merged_;
};

TEST_F(SeekReadsTest, ReadsUncachedBlocksTogether) {
  Open();
  const uint64_t before = reads();
  merged_->Seek(Target(1000));
  ExpectAt(1000);
  EXPECT_THAT(batches(), ElementsAre(3u));
  EXPECT_EQ(reads(), before + 3);
  for (int i = 1001; i < 1010; ++i) {
    merged_->Next();
    ExpectAt(i);
  }
  merged_->SeekForPrev(Target(9000));
  ExpectAt(8999);
  EXPECT_THAT(batches(), ElementsAre(3u));
  // All blocks are cached.
  merged_->Seek(Target(1000));
  ExpectAt(1000);
  EXPECT_THAT(batches(), IsEmpty());
  EXPECT_EQ(reads(), before + 6);
}

TEST_F(SeekReadsTest, EachBlockCountsAsReadOnce) {
  Open();
  Counters counters;
  BlockCache cache(size_t{8} << 20);
  TableContext context;
  context.block_cache = &cache;
  context.counters = &counters;
  std::vector<std::unique_ptr<Table>> tables;
  std::vector<std::unique_ptr<InnerIterator>> inputs;
  Table::ScanOptions options;
  options.seek_reads = &seek_reads_;
  uint64_t bytes = 0;
  for (const OpenedTable& opened : tables_) {
    ASSERT_OK_AND_ASSIGN(auto table,
                         Table::Open(std::make_unique<CountingReadFile>(opened.file), context));
    inputs.push_back(table->NewIterator(options));
    bytes += table->block_handle(table->FirstBlockFor(NumberKey(1000))).stored_bytes +
             kBlockTrailerBytes;
    tables.push_back(std::move(table));
  }
  const std::unique_ptr<Iterator> merged = NewMergingIterator(std::move(inputs));
  const auto counted = [&] {
    Statistics sums;
    counters.SumInto(&sums);
    return std::tuple(sums.scan_blocks_from_file, sums.scan_bytes_from_file,
                      sums.scan_blocks_from_cache);
  };
  merged->Seek(Target(1000));
  EXPECT_EQ(counted(), std::tuple(3u, bytes, 0u));
  merged->SeekToFirst();
  const auto [blocks_before, bytes_before, cached_before] = counted();
  EXPECT_EQ(blocks_before, 6u);
  merged->Seek(Target(1000));
  EXPECT_EQ(counted(), std::tuple(6u, bytes_before, cached_before + 3));
}

TEST_F(SeekReadsTest, ReadsOnlyUncachedBlocks) {
  Open();
  const auto load = [&](size_t table, int number) {
    tables_[table].table->NewIterator({})->Seek(Target(number));
  };
  load(0, 1000);
  merged_->Seek(Target(1000));
  ExpectAt(1000);
  EXPECT_THAT(batches(), ElementsAre(2u));
  load(0, 20'000), load(1, 20'000);
  const uint64_t before = reads();
  merged_->Seek(Target(20'000));
  ExpectAt(20'000);
  EXPECT_THAT(batches(), IsEmpty());
  EXPECT_EQ(reads(), before + 1);
}

TEST_F(SeekReadsTest, SeeksReadAgainWithoutTheCache) {
  Open();
  MakeIterator(/*fill_cache=*/false);
  for (int round = 0; round < 2; ++round) {
    merged_->Seek(Target(1000));
    ExpectAt(1000);
    merged_->Seek(Target(5000));
    ExpectAt(5000);
    EXPECT_THAT(batches(), ElementsAre(3u, 3u));
  }
  for (const OpenedTable& opened : tables_) EXPECT_EQ(opened.cache->used_bytes(), 0u);
}

TEST_F(SeekReadsTest, DamagedBlocksFailOnlyTheirSeek) {
  Open();
  const Table& table = *tables_[1].table;
  const size_t damaged = table.FirstBlockFor(NumberKey(1000));
  const uint64_t offset = table.block_handle(damaged).offset;
  tables_[1].file->bytes[static_cast<size_t>(offset) + 100] ^= 1;
  merged_->Seek(Target(1000));
  EXPECT_FALSE(merged_->Valid());
  EXPECT_THAT(merged_->status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(Concat("offset ", offset, ":"))));
  merged_->Seek(Target(2 * kEntries));
  ExpectAt(2 * kEntries);
}

TEST_F(SeekReadsTest, RetriesUnreadableBlocks) {
  Open();
  tables_[1].file->fault = absl::UnavailableError("a loose cable");
  merged_->Seek(Target(0));
  EXPECT_THAT(merged_->status(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(batches(), ElementsAre(3u));
  tables_[1].file->fault = absl::OkStatus();
  merged_->SeekToFirst();  // not a seek whose reads are known in advance
  for (int i = 0; i < 100; ++i, merged_->Next()) ExpectAt(i);
}

TEST_F(SeekReadsTest, UsesCachedIndexPartitions) {
  Open(/*partition_bytes=*/500);
  merged_->Seek(Target(1000));
  ExpectAt(1000);
  EXPECT_THAT(batches(), IsEmpty());
  // In the same partitions, but in other blocks.
  for (int number = 1100;; number += 100) {
    ASSERT_LT(number, 3000);
    merged_->Seek(Target(number));
    ExpectAt(number);
    if (!files_.batches.empty()) break;
  }
  EXPECT_THAT(batches(), ElementsAre(testing::Ge(2u)));
}

}  // namespace
}  // namespace lsm
