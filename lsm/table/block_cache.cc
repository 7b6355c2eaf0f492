#include "lsm/table/block_cache.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "lsm/table/partitions.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Smallest size of a shard, so that a small cache is not divided into pieces too small for any
// block.
constexpr size_t kShardBytesMin = size_t{1} << 20;
// Evicted blocks wait until guards end.  The check whether these have ended reads the slot of every
// thread.  So it is made once for kRetiredMax blocks, or when their size reaches 1/kRetiredPart of
// the shard.
constexpr size_t kRetiredMax = 16;
constexpr size_t kRetiredPart = 8;

void UnrefBlock(void* block) { static_cast<CachedBlock*>(block)->Unref(); }

}  // namespace

static_assert(sizeof(CachedBlock) == 64);

static_assert(alignof(CachedBlock) <= BlockMemory::kAlignmentBytes);

CachedBlock* CachedBlock::New(const Block& block, const SignpostPlan& plan, bool stays) {
  const size_t size_bytes = SizeBytes(plan.heads.size()) + block.bytes().size();
  const BlockMemory::Piece piece = stays ? BlockMemory::OfProcess().Allocate(size_bytes)
                                         : BlockMemory::AllocateOnHeap(size_bytes);
  return new (piece.data) CachedBlock(piece.origin, block, plan);
}

CachedBlock::CachedBlock(BlockMemory::Origin origin, const Block& block, const SignpostPlan& plan)
    : origin_(origin),
      signpost_count_(static_cast<uint32_t>(plan.heads.size())),
      prefix_bytes_(plan.prefix_bytes),
      block_(block.CopiedTo(reinterpret_cast<char*>(this) + SizeBytes(plan.heads.size()))) {
  auto* const heads = reinterpret_cast<uint64_t*>(this + 1);
  std::copy(plan.heads.begin(), plan.heads.end(), heads);
  std::copy(plan.offsets.begin(), plan.offsets.end(),
            reinterpret_cast<uint32_t*>(heads + signpost_count_));
}

size_t CachedBlock::charge_bytes() const {
  if (is_partition_) return static_cast<const CachedPartition*>(this)->charge_bytes();
  return ChargeBytes(block_, signpost_count_);
}

void CachedBlock::Unref() {
  // Release: the reads of the block are over before another thread frees it.  Acquire: for the
  // thread that frees it.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (is_partition_) {
    delete static_cast<CachedPartition*>(this);
    return;
  }
  const BlockMemory::Piece piece{reinterpret_cast<char*>(this), origin_};
  this->~CachedBlock();
  BlockMemory::OfProcess().Free(piece);
}

BlockCache::BlockCache(size_t capacity_bytes)
    : capacity_bytes_(capacity_bytes),
      shard_count_(std::clamp<size_t>(std::bit_floor(capacity_bytes / kShardBytesMin), 1, kShards)),
      shard_capacity_bytes_(capacity_bytes / shard_count_) {}

BlockCache::~BlockCache() { assert(used_bytes() == 0); }

BlockCache::Shard& BlockCache::ShardOf(const BlockSlot* slot) {
  // A table's slots are adjacent in memory; the multiplication (2^64 / golden ratio) spreads them
  // over the shards.
  const uint64_t mixed =
      (reinterpret_cast<uintptr_t>(slot) / sizeof(BlockSlot)) * 0x9e3779b97f4a7c15;
  return shards_[(mixed >> 32) & (shard_count_ - 1)];
}

BlockRef BlockCache::Insert(BlockSlot* slot, BlockRef block) {
  const size_t charge_bytes = block->charge_bytes();
  if (!Fits(charge_bytes)) return block;
  Shard& shard = ShardOf(slot);
  MutexLock lock(&shard.mutex);
  // Relaxed: only holders of this lock write to the slot.
  if (CachedBlock* faster = slot->load(std::memory_order_relaxed); faster != nullptr) {
    faster->Ref();
    return BlockRef(faster);
  }
  // Removing a block must need no memory: when its table is closed, an error could not be reported.
  shard.retired.Reserve(shard.block_count + 1);
  while (shard.used_bytes + charge_bytes > shard_capacity_bytes_) EvictOne(&shard);
  if (shard.retired.size() >= kRetiredMax ||
      shard.retired_bytes >= shard_capacity_bytes_ / kRetiredPart) {
    shard.retired.Drain();
    shard.retired_bytes = 0;
  }

  CachedBlock* const added = block.Release();
  added->Ref();  // one reference for the cache, one for the caller
  added->slot_ = slot;
  Add(&shard, added);
  // Release: publishes the block's bytes.  Sequentially consistent, as all writes to slots.
  slot->store(added, std::memory_order_seq_cst);
  return BlockRef(added);
}

void BlockCache::Add(Shard* shard, CachedBlock* block) {
  if (shard->hand == nullptr) {
    shard->hand = block->next_ = block->previous_ = block;
  } else {
    block->next_ = shard->hand;
    block->previous_ = shard->hand->previous_;
    block->previous_->next_ = block;
    block->next_->previous_ = block;
  }
  shard->used_bytes += block->charge_bytes();
  if (block->is_partition_) shard->partition_bytes += block->charge_bytes();
  ++shard->block_count;
}

void BlockCache::EvictOne(Shard* shard) {
  const bool spares_partitions = shard->partition_bytes <= shard_capacity_bytes_ / 4 &&
                                 shard->partition_bytes < shard->used_bytes;
  // Relaxed: the mark is a hint.
  while (shard->hand->used_.load(std::memory_order_relaxed) ||
         (spares_partitions && shard->hand->is_partition_)) {
    shard->hand->used_.store(false, std::memory_order_relaxed);
    shard->hand = shard->hand->next_;
  }
  Remove(shard, shard->hand);
}

void BlockCache::Remove(Shard* shard, CachedBlock* block) {
  // Sequentially consistent: see EpochGuard.
  block->slot_->store(nullptr, std::memory_order_seq_cst);
  block->next_->previous_ = block->previous_;
  block->previous_->next_ = block->next_;
  if (shard->hand == block) shard->hand = block->next_ != block ? block->next_ : nullptr;
  shard->used_bytes -= block->charge_bytes();
  if (block->is_partition_) shard->partition_bytes -= block->charge_bytes();
  --shard->block_count;
  shard->retired_bytes += block->charge_bytes();
  // A reader may just have found it, without a reference yet.
  shard->retired.Retire(block, &UnrefBlock);
}

void BlockCache::Erase(std::span<BlockSlot> slots) {
  for (BlockSlot& slot : slots) {
    // Without the lock: only readers of the table fill its slots, and there are none left.  Other
    // threads' evictions may still empty a slot at any time, so it is checked again under the lock.
    // Acquire: when an eviction has emptied a slot, its store is over, and the slot may be freed.
    if (slot.load(std::memory_order_acquire) == nullptr) continue;
    Shard& shard = ShardOf(&slot);
    MutexLock lock(&shard.mutex);
    CachedBlock* const block = slot.load(std::memory_order_relaxed);
    if (block != nullptr) Remove(&shard, block);
  }
  for (Shard& shard : shards_) {
    MutexLock lock(&shard.mutex);
    shard.retired.Drain();
    shard.retired_bytes = 0;
  }
}

size_t BlockCache::used_bytes() const {
  size_t sum = 0;
  for (const Shard& shard : shards_) {
    MutexLock lock(&shard.mutex);
    sum += shard.used_bytes;
  }
  return sum;
}

}  // namespace lsm
