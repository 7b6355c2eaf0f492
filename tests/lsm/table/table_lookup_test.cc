// The costs of lookups and scans, and their reporting: reads, counts, steps, pins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "lsm/bytes/escape.h"
#include "tests/lsm/table/table_model.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// 2000 even numbers; odd ones are absent.
class TableLookupTest : public ::testing::Test {
 protected:
  void Build(const char* filter, Compression compression = Compression::kLz4) {
    for (int i = 0; i < 2000; ++i)
      model_.emplace(InternalKey(NumberKey(2 * i), 5), std::string(50, 'v'));
    options_.compression = compression;
    options_.digest_seed = kTestSeed;
    if (filter != nullptr) options_.filter_policy = bloom::PolicyFromName(filter).value();
    bytes_ = BuildTable(options_, model_);
  }

  struct Lookup {
    TableAnswer answer = TableAnswer::kAbsent;
    std::string value;
    LevelCounts counts;
    TableStep step;
    BlockRef pin;
  };
  Lookup Get(const Table& table, std::string_view user_key, bool fill_cache = true,
             Sequence sequence = kSequenceMax) {
    const LookupKey key(user_key, sequence, kTestSeed);
    const EpochGuard guard;
    Lookup lookup;
    TableHit hit;
    const auto answer = table.Get(
        {.key = key, .fill_cache = fill_cache, .counts = &lookup.counts, .step = &lookup.step},
        &hit);
    EXPECT_OK(answer.status());
    if (answer.ok()) lookup.answer = *answer;
    lookup.value = hit.value;
    lookup.pin = std::move(hit.pin);
    return lookup;
  }

  TableBuildOptions options_;
  Model model_;
  std::string bytes_;
};

TEST_F(TableLookupTest, CachesBlocks) {
  Build("blocked");
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_));
  const uint64_t reads = opened.file->reads;
  Lookup first = Get(*opened.table, NumberKey(100));
  EXPECT_EQ(first.answer, TableAnswer::kFound);
  EXPECT_EQ(opened.file->reads, reads + 1);
  const BlockHandle handle = opened.table->block_handle(0);
  EXPECT_EQ(first.counts[LevelCounts::kBlocksFromFile], 1u);
  EXPECT_EQ(first.counts[LevelCounts::kBytesFromFile], handle.stored_bytes + kBlockTrailerBytes);
  EXPECT_EQ(first.counts[LevelCounts::kBlocksFromCache], 0u);
  ASSERT_EQ(first.step.blocks.size(), 1u);
  EXPECT_EQ(first.step.blocks[0].ordinal, 0u);
  EXPECT_EQ(first.step.blocks[0].offset, handle.offset);
  EXPECT_EQ(first.step.blocks[0].stored_bytes, handle.stored_bytes);
  EXPECT_FALSE(first.step.blocks[0].from_cache);

  Lookup second = Get(*opened.table, NumberKey(102));
  EXPECT_EQ(second.answer, TableAnswer::kFound);
  EXPECT_EQ(opened.file->reads, reads + 1);
  EXPECT_EQ(second.counts[LevelCounts::kBlocksFromFile], 0u);
  EXPECT_EQ(second.counts[LevelCounts::kBlocksFromCache], 1u);
  EXPECT_GE(second.counts[LevelCounts::kBytesFromCache], options_.block_bytes);
  EXPECT_TRUE(second.step.blocks.at(0).from_cache);
  EXPECT_FALSE(second.pin);
}

TEST_F(TableLookupTest, LookupsLeaveTheCacheAloneOnRequest) {
  Build(nullptr);
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_));
  for (int i = 0; i < 3; ++i) {
    const uint64_t reads = opened.file->reads;
    const Lookup lookup = Get(*opened.table, NumberKey(100), /*fill_cache=*/false);
    EXPECT_EQ(lookup.answer, TableAnswer::kFound);
    EXPECT_TRUE(lookup.pin);
    EXPECT_EQ(opened.file->reads, reads + 1);
  }
  EXPECT_EQ(opened.cache->used_bytes(), 0u);
}

TEST_F(TableLookupTest, LookupsReadTheirBlockWithoutACache) {
  Build(nullptr);
  for (const std::optional<size_t> cache_bytes :
       {std::optional<size_t>(), std::optional<size_t>(0)}) {
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_, cache_bytes));
    const uint64_t reads = opened.file->reads;
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(Get(*opened.table, NumberKey(100)).value, std::string(50, 'v'));
    }
    EXPECT_EQ(opened.file->reads, reads + 5);
  }
}

TEST_F(TableLookupTest, PinnedValuesOutliveGuardAndCache) {
  Build(nullptr);
  TableHit hit;
  for (const bool cached_before : {false, true}) {
    {
      ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_));
      if (cached_before) Get(*opened.table, NumberKey(100));
      const LookupKey key(NumberKey(100), kSequenceMax, kTestSeed);
      const EpochGuard guard;
      ASSERT_OK(opened.table->Get({.key = key, .pin_always = true}, &hit).status());
      EXPECT_TRUE(hit.pin);
    }
    EXPECT_EQ(hit.value, std::string(50, 'v'));
    hit.pin.Reset();
  }
}

TEST_F(TableLookupTest, PinsHoldTheBlockOfTheValue) {
  Build(nullptr);
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_));
  TableHit hit;
  const EpochGuard guard;
  const auto get = [&](std::string_view user_key, bool fill_cache) {
    const LookupKey key(user_key, kSequenceMax, kTestSeed);
    return opened.table->Get({key, fill_cache}, &hit).value();
  };
  EXPECT_EQ(get(NumberKey(100), /*fill_cache=*/false), TableAnswer::kFound);
  EXPECT_TRUE(hit.pin);
  // The block is read, but the key is not found in it.
  EXPECT_EQ(get(NumberKey(101), /*fill_cache=*/false), TableAnswer::kAbsent);
  EXPECT_FALSE(hit.pin);
  EXPECT_EQ(get(NumberKey(100), /*fill_cache=*/true), TableAnswer::kFound);
  EXPECT_TRUE(hit.pin);
  // The block is in the cache now.  The pin releases what it held before.
  EXPECT_EQ(get(NumberKey(100), /*fill_cache=*/true), TableAnswer::kFound);
  EXPECT_FALSE(hit.pin);
}

TEST_F(TableLookupTest, DeniedKeysCostNoRead) {
  for (const char* filter : {"standard", "blocked"}) {
    model_.clear();
    Build(filter);
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_, 0));
    const uint64_t reads = opened.file->reads;
    for (int i = 0; i < 1999; ++i) {
      ASSERT_OK_AND_ASSIGN(const Answer answer,
                           AskTable(*opened.table, NumberKey(2 * i + 1), kSequenceMax));
      EXPECT_EQ(answer.kind, TableAnswer::kAbsent);
    }
    EXPECT_LT(opened.file->reads - reads, 50u) << filter;  // 20 are expected
    EXPECT_GT(opened.file->reads - reads, 2u) << filter;
  }
}

TEST_F(TableLookupTest, FalsePositivesHaveNoVersionOfTheKey) {
  Build("blocked");
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_));
  const auto expect = [&](int number, Sequence sequence, bool is_false_positive) {
    Lookup lookup = Get(*opened.table, NumberKey(number), /*fill_cache=*/true, sequence);
    EXPECT_EQ(lookup.answer, TableAnswer::kAbsent);
    EXPECT_EQ(lookup.counts[LevelCounts::kFalsePositives], is_false_positive ? 1u : 0u);
    EXPECT_EQ(lookup.step.false_positive, is_false_positive);
  };
  expect(101, kSequenceMax, true);
  expect(101, 4, true);
  expect(100, 4, false);  // it was written at 5
  EXPECT_EQ(Get(*opened.table, NumberKey(100)).counts[LevelCounts::kFalsePositives], 0u);
  EXPECT_FALSE(Get(*opened.table, NumberKey(100)).step.false_positive);
}

TEST_F(TableLookupTest, AbsentKeysWithoutAFilterCostOneRead) {
  Build(nullptr);
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_, 0));
  // Also between the last key of a block and its index key, where the search runs past the block's
  // end.
  size_t between = 0;
  for (int i = 0; i < 1999; ++i) {
    Lookup lookup = Get(*opened.table, NumberKey(2 * i + 1));
    EXPECT_EQ(lookup.counts[LevelCounts::kBlocksFromFile], 1u);
    ASSERT_EQ(lookup.step.blocks.size(), 1u);
    const size_t ordinal = lookup.step.blocks[0].ordinal;
    between += ordinal + 1 < opened.table->block_count() &&
               NumberKey(2 * i + 2) > opened.table->block_fence(ordinal);
  }
  EXPECT_GT(between, 0u);
  EXPECT_LT(Get(*opened.table, std::string()).counts[LevelCounts::kBlocksFromFile], 2u);
}

TEST_F(TableLookupTest, FollowsVersionsAcrossBlocks) {
  for (Sequence sequence = 300; sequence > 0; --sequence) {
    model_.emplace(InternalKey("m", sequence), std::string(100, 'v'));
  }
  model_.emplace(InternalKey("z", 1), "");
  options_.block_bytes = 1000;
  options_.digest_seed = kTestSeed;
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(BuildTable(options_, model_)));
  const LookupKey key("m", 0, kTestSeed);  // older than all of them
  const EpochGuard guard;
  TableHit hit;
  TableStep step;
  ASSERT_OK_AND_ASSIGN(const TableAnswer answer,
                       opened.table->Get({.key = key, .step = &step}, &hit));
  EXPECT_EQ(answer, TableAnswer::kAbsent);
  EXPECT_EQ(step.blocks.size(), opened.table->block_count());
}

TEST_F(TableLookupTest, IteratorsCountTheirBlocks) {
  Build(nullptr);
  Counters counters;
  BlockCache cache(size_t{1} << 20);
  TableContext context;
  context.block_cache = &cache;
  context.counters = &counters;
  ASSERT_OK_AND_ASSIGN(const auto table,
                       Table::Open(std::make_unique<CountingReadFile>(FileOf(bytes_)), context));
  const auto scan = [&](size_t readahead_bytes) {
    Statistics before;
    counters.SumInto(&before);
    auto iterator = table->NewIterator({.fill_cache = true, .readahead_bytes = readahead_bytes});
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    }
    Statistics after;
    counters.SumInto(&after);
    return std::tuple(after.scan_blocks_from_cache - before.scan_blocks_from_cache,
                      after.scan_blocks_from_file - before.scan_blocks_from_file,
                      after.scan_bytes_from_file - before.scan_bytes_from_file);
  };
  const uint64_t blocks = table->block_count();
  const uint64_t bytes = table->properties().data_bytes;
  EXPECT_EQ(scan(0), std::tuple(0, blocks, bytes));
  EXPECT_EQ(scan(0), std::tuple(blocks, 0, 0));
  EXPECT_EQ(scan(10'000), std::tuple(0, blocks, bytes));
}

TEST_F(TableLookupTest, ReadaheadScansBypassTheCache) {
  Build(nullptr);
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_));
  const uint64_t data_bytes = opened.table->properties().data_bytes;
  const uint64_t reads = opened.file->reads;
  const uint64_t read_bytes = opened.file->read_bytes;
  auto iterator = opened.table->NewIterator({.fill_cache = true, .readahead_bytes = 20'000});
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
  }
  EXPECT_OK(iterator->status());
  EXPECT_EQ(opened.file->read_bytes - read_bytes, data_bytes);
  EXPECT_LE(opened.file->reads - reads, data_bytes / 17'000 + 1);
  EXPECT_EQ(opened.cache->used_bytes(), 0u);
}

TEST_F(TableLookupTest, IteratorsKeepEvictedBlocks) {
  Build(nullptr);
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_, size_t{12} << 10));
  auto iterator = opened.table->NewIterator({});
  iterator->Seek(InternalKey(NumberKey(200), kSequenceMax));
  const std::string key(iterator->key());
  for (int i = 0; i < 2000; ++i) Get(*opened.table, NumberKey(2 * i));
  EXPECT_EQ(iterator->key(), key);
  EXPECT_EQ(iterator->value(), std::string(50, 'v'));
  iterator->Next();
  EXPECT_EQ(UserKeyOf(iterator->key()), NumberKey(202));
}

TEST_F(TableLookupTest, ClosedTablesEraseTheirBlocks) {
  Build(nullptr);
  BlockCache cache(size_t{1} << 20);
  TableContext context;
  context.block_cache = &cache;
  {
    ASSERT_OK_AND_ASSIGN(const auto table,
                         Table::Open(std::make_unique<CountingReadFile>(FileOf(bytes_)), context));
    for (int i = 0; i < 2000; ++i)
      EXPECT_EQ(Get(*table, NumberKey(2 * i)).answer, TableAnswer::kFound);
    EXPECT_GT(cache.used_bytes(), 100'000u);
  }
  EXPECT_EQ(cache.used_bytes(), 0u);
}

TEST_F(TableLookupTest, ReportsMemory) {
  Build("blocked");
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes_));
  EXPECT_EQ(opened.table->filter_memory_bytes(), opened.table->footer().filter.stored_bytes);
  EXPECT_GT(opened.table->index_memory_bytes(), opened.table->block_count() * (8 + 8 + 8 + 8));
  EXPECT_LT(opened.table->index_memory_bytes(), opened.table->block_count() * 80 + 200);
}

}  // namespace
}  // namespace lsm
