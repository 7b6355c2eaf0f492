// A cache of uncompressed data blocks and of partitions (partitions.h), with a budget in bytes.
//
// A table has one slot for each of its data blocks and partitions, with the cached block or null.
// So finding a block is one load inside an EpochGuard, with no lock and no hash table.  The cache
// enforces the budget with CLOCK: it goes round the blocks of a shard, keeps those that were used
// since the last round, and empties the slots of the others.
//
// Partitions keep a quarter of a shard if they need it: while they take no more, only data blocks
// are evicted.  So no reads of data blocks displace all filter partitions, each of which spares
// many lookups a read.  Above their quarter, partitions are evicted like data blocks.  More than a
// quarter makes lookups in a small part of the keys read more (lsm/design/filters_first.md).
//
// Only inserting, evicting and erasing take a lock, which is that of one shard.
#ifndef TRELLIS_LSM_TABLE_BLOCK_CACHE_H_
#define TRELLIS_LSM_TABLE_BLOCK_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "bloom/core/abi.h"
#include "lsm/block/block.h"
#include "lsm/block/block_memory.h"
#include "lsm/block/signposts.h"
#include "lsm/threads/epoch.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

class CachedBlock;
using BlockSlot = std::atomic<CachedBlock*>;

// A cached block, reference-counted.  A lookup first reads only its first cache line and the
// signposts, which follow this object; then the entries, which follow the signposts.
class alignas(64) CachedBlock {
 public:
  // Copies the block, with one reference, owned by the caller.  The plan must have been made from
  // it.  `stays`: whether the copy is for the cache.
  static CachedBlock* New(const Block& block, const SignpostPlan& plan, bool stays);

  const Block& block() const { return block_; }
  Block::Answer Find(const LookupKey& key, Block::Hit* hit) const {
    return block_.Find(key, signposts(), hit);
  }

  // Starts loading what Find reads first.
  void Prefetch() const {
    const char* const at = reinterpret_cast<const char*>(this);
    for (size_t i = 0; i < kPrefetchedLines; ++i) __builtin_prefetch(at + i * 64);
  }

  // As Prefetch, for a caller that will walk the entries from the first or the last one.  REQUIRES:
  // the memory that Prefetch loads has arrived.
  void PrefetchEnds() const {
    const std::string_view bytes = block_.bytes();
    __builtin_prefetch(bytes.data());
    __builtin_prefetch(bytes.data() + bytes.size() - 1);
  }
  // As Prefetch, for a caller that will seek this key.
  void PrefetchSeek(std::string_view user_key) const { block_.PrefetchSeek(user_key, signposts()); }

  // They follow this object in memory.
  Signposts signposts() const {
    const auto* const heads = reinterpret_cast<const uint64_t*>(this + 1);
    return {heads, reinterpret_cast<const uint32_t*>(heads + signpost_count_), signpost_count_,
            prefix_bytes_};
  }

  // Its total memory.
  size_t charge_bytes() const;
  static size_t ChargeBytes(const Block& block, size_t signposts) {
    return BlockMemory::TakenBytes(SizeBytes(signposts) + block.bytes().size());
  }

  // Records a use for CLOCK.  Writes only once per round, so that cores can share the line of a hot
  // block.
  void MarkUsed() {
    // Relaxed: a hint for evictions; nothing depends on it.
    if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
  }

  // Adds a reference.  REQUIRES: the caller has one, or found the block in its slot within the
  // current EpochGuard.  Relaxed: a thread that may do this already sees the block.
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref();

 protected:
  // Tag for CachedPartition, the derived class, which is counted, charged and evicted like a block
  // but contains none.
  struct OfPartition {};
  explicit CachedBlock(OfPartition)
      : origin_(BlockMemory::Origin::kHeap),
        is_partition_(true),
        signpost_count_(0),
        prefix_bytes_(0) {}
  ~CachedBlock() = default;

 private:
  friend class BlockCache;
  // This object and the signposts of a block of default size.
  static constexpr size_t kPrefetchedLines = 3;

  CachedBlock(BlockMemory::Origin origin, const Block& block, const SignpostPlan& plan);
  // Size of this object and the signposts.
  static size_t SizeBytes(size_t signposts) {
    return sizeof(CachedBlock) + signposts * (sizeof(uint64_t) + sizeof(uint32_t));
  }

  std::atomic<uint32_t> references_{1};
  std::atomic<bool> used_{false};
  const BlockMemory::Origin origin_;  // where its memory comes from
  const bool is_partition_ = false;   // whether it is a CachedPartition, which is on the heap
  const uint32_t signpost_count_;
  const uint32_t prefix_bytes_;
  const Block block_;  // its bytes follow the signposts
  // Guarded by the lock of the cache's shard.
  BlockSlot* slot_ = nullptr;    // its slot
  CachedBlock* next_ = nullptr;  // in the shard's ring
  CachedBlock* previous_ = nullptr;
};

// Owns one reference to a block.
class BlockRef {
 public:
  BlockRef() = default;
  explicit BlockRef(CachedBlock* adopted) : block_(adopted) {}
  ~BlockRef() { Reset(); }
  BlockRef(BlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockRef& operator=(BlockRef&& other) noexcept {
    if (this != &other) {
      Reset();
      block_ = std::exchange(other.block_, nullptr);
    }
    return *this;
  }
  void Reset() {
    if (block_ != nullptr) block_->Unref();
    block_ = nullptr;
  }
  CachedBlock* Release() { return std::exchange(block_, nullptr); }
  explicit operator bool() const { return block_ != nullptr; }
  CachedBlock* operator->() const { return block_; }
  CachedBlock* get() const { return block_; }

 private:
  CachedBlock* block_ = nullptr;
};

class BlockCache {
 public:
  // 0: no caching.
  explicit BlockCache(size_t capacity_bytes);
  ~BlockCache();  // REQUIRES: every slot was erased
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Whether a block of that charge may be inserted.
  bool Fits(size_t charge_bytes) const { return charge_bytes <= shard_capacity_bytes_; }

  // Puts the block into its slot.  If it does not fit, only returns it.  If another thread came
  // first, returns the other's block.
  BlockRef Insert(BlockSlot* slot, BlockRef block);

  // Empties the slots, which may then be freed.  REQUIRES: readers can no longer reach the slots.
  // (Blocks found before may still be in use.)
  void Erase(std::span<BlockSlot> slots);

  size_t capacity_bytes() const { return capacity_bytes_; }
  // Bytes of the blocks in their slots, never above the capacity.  Evicted blocks may take more: at
  // most an eighth of the capacity, plus the blocks that guards still protected when their shard
  // last checked its evicted blocks.
  size_t used_bytes() const;

 private:
  static constexpr size_t kShards = 16;
  struct alignas(64) Shard {
    mutable Mutex mutex;
    CachedBlock* hand ABSL_GUARDED_BY(mutex) =
        nullptr;  // into the ring of blocks; null: there are none
    size_t used_bytes ABSL_GUARDED_BY(mutex) = 0;
    size_t partition_bytes ABSL_GUARDED_BY(mutex) = 0;  // of `used_bytes`
    size_t block_count ABSL_GUARDED_BY(mutex) = 0;      // in the ring
    size_t retired_bytes ABSL_GUARDED_BY(mutex) = 0;    // since `retired` was last checked
    RetireList retired ABSL_GUARDED_BY(mutex);          // with room for all blocks of the ring
  };
  Shard& ShardOf(const BlockSlot* slot);
  // Adds the block just before the hand in the ring, so that the hand reaches it last.
  static void Add(Shard* shard, CachedBlock* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  // REQUIRES: the shard has a block.
  void EvictOne(Shard* shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  static void Remove(Shard* shard, CachedBlock* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);

  const size_t capacity_bytes_;
  const size_t shard_count_;  // in use; a power of two
  const size_t shard_capacity_bytes_;
  std::array<Shard, kShards> shards_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_BLOCK_CACHE_H_
