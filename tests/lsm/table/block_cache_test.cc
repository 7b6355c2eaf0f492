#include "lsm/table/block_cache.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "lsm/table/partitions.h"
#include "tests/lsm/table/table_model.h"

namespace {

// The aligned memory that this program holds, as the allocator counts it.  Blocks are aligned.
std::atomic<size_t> heap_bytes{0};

// Does not count regions, because their pieces count.
size_t CountedBytes(void* block) {
  const size_t bytes = malloc_usable_size(block);
  return bytes >= lsm::BlockMemory::kRegionBytes ? 0 : bytes;
}

void Release(void* block) {
  if (block == nullptr) return;
  heap_bytes -= CountedBytes(block);
  std::free(block);
}

}  // namespace

void* operator new(size_t size_bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto unit = static_cast<size_t>(alignment);
  void* const block =
      std::aligned_alloc(unit, (std::max<size_t>(size_bytes, 1) + unit - 1) / unit * unit);
  if (block != nullptr) heap_bytes += CountedBytes(block);
  return block;
}
void* operator new(size_t size_bytes, std::align_val_t alignment) {
  void* const block = operator new(size_bytes, alignment, std::nothrow);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* block, std::align_val_t) noexcept { Release(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { Release(block); }

namespace lsm {
namespace {

constexpr size_t kBlockBytes = 1000;

// One entry, of about this size, whose value begins with `number`.
BlockRef NewBlock(int number, size_t size_bytes = kBlockBytes) {
  BlockBuilder builder(16);
  std::string value = std::to_string(number);
  value.resize(size_bytes, '.');
  builder.Add(InternalKey("k", 1), value);
  Block block;
  EXPECT_TRUE(block.Init(builder.Finish()));
  return BlockRef(CachedBlock::New(block, {}, /*stays=*/true));
}

BlockRef NewPartition() { return BlockRef(new CachedPartition(FilterPart())); }

int NumberOf(const CachedBlock& block) {
  Block::Hit hit;
  EXPECT_EQ(block.Find(LookupKey("k", kSequenceMax, 0), &hit), Block::Answer::kFound);
  return std::stoi(std::string(hit.value.substr(0, 5)));
}

// Slots as a table has them, emptied at the end.
class Slots {
 public:
  Slots(BlockCache* cache, size_t count) : cache_(cache), slots_(count) {}
  ~Slots() { cache_->Erase(slots_); }
  BlockSlot* operator[](size_t i) { return &slots_[i]; }
  std::vector<size_t> Filled() const {
    std::vector<size_t> filled;
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].load() != nullptr) filled.push_back(i);
    }
    return filled;
  }

 private:
  BlockCache* const cache_;
  std::vector<BlockSlot> slots_;
};

// The bytes of blocks, on the heap and in regions.
size_t HeldBytes() { return heap_bytes + BlockMemory::OfProcess().run_bytes(); }

const size_t kCharge = NewBlock(0)->charge_bytes();
const size_t kPartitionCharge = NewPartition()->charge_bytes();

TEST(BlockCacheTest, FindsBlocksUntilErased) {
  BlockCache cache(1 << 20);
  {
    Slots slots(&cache, 3);
    const BlockRef inserted = cache.Insert(slots[1], NewBlock(7));
    EXPECT_EQ(slots[1]->load(), inserted.get());
    EXPECT_EQ(NumberOf(*slots[1]->load()), 7);
    EXPECT_EQ(cache.used_bytes(), inserted->charge_bytes());
  }
  EXPECT_EQ(cache.used_bytes(), 0u);
}

TEST(BlockCacheTest, SecondInsertionGetsTheFirstBlock) {
  BlockCache cache(1 << 20);
  Slots slots(&cache, 1);
  const BlockRef first = cache.Insert(slots[0], NewBlock(1));
  const BlockRef second = cache.Insert(slots[0], NewBlock(2));
  EXPECT_EQ(first.get(), second.get());
  EXPECT_EQ(cache.used_bytes(), first->charge_bytes());
}

TEST(BlockCacheTest, ReferencesOutliveTheCache) {
  BlockRef kept;
  {
    BlockCache cache(1 << 20);
    Slots slots(&cache, 1);
    kept = cache.Insert(slots[0], NewBlock(5));
  }
  EXPECT_EQ(NumberOf(*kept.get()), 5);
}

TEST(BlockCacheTest, KeepsItsCapacity) {
  for (const size_t capacity_bytes :
       {size_t{0}, size_t{500}, kCharge, 10 * kCharge, size_t{5} << 20}) {
    BlockCache cache(capacity_bytes);
    Slots slots(&cache, 8000);
    for (size_t i = 0; i < 8000; ++i) {
      const BlockRef block = cache.Insert(slots[i], NewBlock(static_cast<int>(i), 100 + i % 2000));
      EXPECT_EQ(NumberOf(*block.get()), static_cast<int>(i));
      ASSERT_LE(cache.used_bytes(), capacity_bytes);
    }
    if (capacity_bytes > 100 * kCharge) {
      EXPECT_GT(cache.used_bytes(), capacity_bytes * 9 / 10);
    }
  }
}

TEST(BlockCacheTest, EvictedLargeBlocksDoNotPileUp) {
  constexpr size_t kCapacityBytes = size_t{32} << 20;
  for (const size_t block_bytes : {size_t{100} << 10, size_t{900} << 10, size_t{1900} << 10}) {
    const size_t blocks = 4 * kCapacityBytes / block_bytes;
    BlockCache cache(kCapacityBytes);
    Slots slots(&cache, blocks);
    const size_t before_bytes = HeldBytes();
    for (size_t i = 0; i < blocks; ++i) {
      cache.Insert(slots[i], NewBlock(static_cast<int>(i), block_bytes));
      ASSERT_LE(HeldBytes() - before_bytes, kCapacityBytes + kCapacityBytes / 8) << block_bytes;
    }
    // Within an epoch guard, as in a lookup, a block survives its eviction by an insertion.
    for (size_t i = 0; i < blocks; ++i) {
      const EpochGuard guard;
      if (*slots[i] == nullptr) cache.Insert(slots[i], NewBlock(static_cast<int>(i), block_bytes));
    }
    EXPECT_LE(HeldBytes() - before_bytes, 2 * kCapacityBytes + kCapacityBytes / 8) << block_bytes;
  }
}

TEST(BlockCacheTest, KeepsNoOversizedBlocks) {
  BlockCache cache(1 << 20);
  Slots slots(&cache, 2);
  EXPECT_EQ(NumberOf(*cache.Insert(slots[0], NewBlock(1, 2 << 20)).get()), 1);
  EXPECT_TRUE(slots.Filled().empty());
  cache.Insert(slots[1], NewBlock(2, 1 << 19));
  EXPECT_EQ(slots.Filled(), std::vector<size_t>{1});
}

TEST(BlockCacheTest, BlocksInUseGetASecondChance) {
  BlockCache cache(4 * kCharge + 100);  // one shard
  Slots slots(&cache, 10);
  for (size_t i = 0; i < 4; ++i) cache.Insert(slots[i], NewBlock(static_cast<int>(i)));
  slots[0]->load()->MarkUsed();
  slots[2]->load()->MarkUsed();
  cache.Insert(slots[4], NewBlock(4));  // passes 0, takes 1
  EXPECT_EQ(slots.Filled(), (std::vector<size_t>{0, 2, 3, 4}));
  cache.Insert(slots[5], NewBlock(5));  // passes 2, takes 3
  EXPECT_EQ(slots.Filled(), (std::vector<size_t>{0, 2, 4, 5}));
  slots[2]->load()->MarkUsed();
  cache.Insert(slots[6], NewBlock(6));  // the second chance of 0 is used up
  EXPECT_EQ(slots.Filled(), (std::vector<size_t>{2, 4, 5, 6}));
  cache.Insert(slots[7], NewBlock(7));  // in the order of insertion
  EXPECT_EQ(slots.Filled(), (std::vector<size_t>{2, 5, 6, 7}));
}

TEST(BlockCacheTest, ScansEvictNoUsedBlocks) {
  BlockCache cache(20 * kCharge + 100);
  Slots hot(&cache, 10);
  Slots scanned(&cache, 1000);
  for (size_t i = 0; i < 10; ++i) cache.Insert(hot[i], NewBlock(static_cast<int>(i)));
  for (size_t i = 0; i < 1000; ++i) {
    for (size_t j = 0; j < 10; ++j) {
      CachedBlock* const block = hot[j]->load();
      ASSERT_NE(block, nullptr) << i;
      block->MarkUsed();
    }
    cache.Insert(scanned[i], NewBlock(static_cast<int>(i)));
  }
}

// A cache of one shard with this room, and slots for data blocks and for partitions.
struct MixedCache {
  explicit MixedCache(size_t capacity_bytes) : cache(capacity_bytes) {}
  void AddBlocks(size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) cache.Insert(blocks[i], NewBlock(static_cast<int>(i)));
  }
  void AddPartitions(size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) cache.Insert(partitions[i], NewPartition());
  }
  size_t block_bytes() const { return blocks.Filled().size() * kCharge; }
  size_t partition_bytes() const { return partitions.Filled().size() * kPartitionCharge; }

  BlockCache cache;
  Slots blocks{&cache, 1000}, partitions{&cache, 5000};
};

TEST(BlockCacheTest, BlocksLeavePartitionsAQuarterOfTheCache) {
  MixedCache mixed(20 * kCharge);
  const size_t quarter = 5 * kCharge / kPartitionCharge;
  mixed.AddPartitions(0, quarter);
  mixed.AddBlocks(0, 1000);
  EXPECT_EQ(mixed.partitions.Filled().size(), quarter);
  EXPECT_GE(mixed.block_bytes(), 14 * kCharge);
}

TEST(BlockCacheTest, EitherMayTakeAllOfTheCache) {
  MixedCache mixed(20 * kCharge);
  mixed.AddBlocks(0, 100);
  EXPECT_EQ(mixed.block_bytes(), 20 * kCharge);
  mixed.AddPartitions(0, 5000);
  EXPECT_EQ(mixed.block_bytes(), 0u);
  EXPECT_GT(mixed.partition_bytes(), 20 * kCharge - kPartitionCharge);
  mixed.AddBlocks(100, 1000);
  EXPECT_LE(mixed.partition_bytes(), 5 * kCharge);
  EXPECT_GT(mixed.partition_bytes(), 5 * kCharge - kPartitionCharge);
}

// Even if they take less than a quarter: there is nothing else to evict.
TEST(BlockCacheTest, LargeBlocksDisplacePartitions) {
  MixedCache mixed(20 * kCharge);
  mixed.AddPartitions(0, 4 * kCharge / kPartitionCharge);
  const BlockRef large = mixed.cache.Insert(mixed.blocks[0], NewBlock(0, 18 * kBlockBytes));
  EXPECT_NE(*mixed.blocks[0], nullptr);
  EXPECT_LE(mixed.cache.used_bytes(), 20 * kCharge);
}

TEST(BlockCacheTest, GuardsKeepEvictedBlocks) {
  BlockCache cache(2 * kCharge + 100);
  Slots slots(&cache, 100);
  cache.Insert(slots[0], NewBlock(0));
  const EpochGuard guard;
  const CachedBlock* const seen = slots[0]->load();
  for (size_t i = 1; i < 100; ++i) cache.Insert(slots[i], NewBlock(static_cast<int>(i)));
  EXPECT_EQ(slots[0]->load(), nullptr);
  // If the block is gone, AddressSanitizer detects a read of freed memory here.
  EXPECT_EQ(NumberOf(*seen), 0);
}

TEST(BlockCacheTest, ChargesTheMemoryOfBlocks) {
  for (const size_t block_bytes : {size_t{700}, size_t{4150}, size_t{16500}, size_t{70000}}) {
    constexpr size_t kCapacityBytes = size_t{32} << 20;
    constexpr size_t kSpanBytesMax = size_t{256} << 10;
    BlockCache cache(kCapacityBytes);
    const size_t before_bytes = HeldBytes();
    Slots slots(&cache, kCapacityBytes / block_bytes / 2);
    for (size_t i = 0; i < kCapacityBytes / block_bytes / 2; ++i)
      cache.Insert(slots[i], NewBlock(static_cast<int>(i), block_bytes));
    const size_t held_bytes = HeldBytes() - before_bytes;
    // On the heap (with AddressSanitizer) they take less.
    if (BlockMemory::OfProcess().region_count() > 0) {
      EXPECT_GE(held_bytes + held_bytes / 100, cache.used_bytes()) << block_bytes;
    }
    EXPECT_LE(held_bytes, cache.used_bytes() + cache.used_bytes() / 50 + kSpanBytesMax)
        << block_bytes;
  }
}

TEST(BlockCacheTest, EraseTakesOnlyItsOwnSlots) {
  BlockCache cache(1 << 20);
  Slots kept(&cache, 50);
  for (size_t i = 0; i < 50; ++i) cache.Insert(kept[i], NewBlock(1));
  const size_t used_bytes = cache.used_bytes();
  {
    Slots gone(&cache, 50);
    for (size_t i = 0; i < 50; ++i) cache.Insert(gone[i], NewBlock(2));
  }
  EXPECT_EQ(kept.Filled().size(), 50u);
  EXPECT_EQ(cache.used_bytes(), used_bytes);
}

}  // namespace
}  // namespace lsm
