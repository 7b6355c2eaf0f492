// Uncompressed data blocks, and partitions of filters and indexes (partitions.h), in memory, up to
// a budget.
//
// A table keeps one slot for each of its data blocks and partitions.  A slot holds the cached block
// or nothing, so finding a block is one load, with no lock and no hash table, inside an EpochGuard.
// The cache keeps the budget: it goes round the blocks of a shard (CLOCK), gives those a second
// chance that were used since the last round, and empties the slots of the others.
//
// Only inserting, evicting and erasing take a lock, that of one shard.
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
#include "lsm/base/epoch.h"
#include "lsm/block/block.h"
#include "lsm/block/block_memory.h"
#include "lsm/block/signposts.h"
#include "lsm/fs/mutex.h"

namespace lsm::inline TRELLIS_ABI {

class CachedBlock;
using BlockSlot = std::atomic<CachedBlock*>;

// A block that lives as long as someone refers to it.  Its first cache line and the signposts
// behind it are all that a lookup touches before it goes to the entries, which stand behind these.
class alignas(64) CachedBlock {
 public:
  // A copy of the block, with one reference, which is the caller's.  The plan was made of it.
  // `stays`: it is for the cache.
  static CachedBlock* New(const Block& block, const SignpostPlan& plan, bool stays);

  const Block& block() const { return block_; }
  Block::Answer Find(const LookupKey& key, Block::Hit* hit) const {
    return block_.Find(key, signposts(), hit);
  }

  // Starts to load what Find reads first.
  void Prefetch() const {
    const char* const at = reinterpret_cast<const char*>(this);
    for (size_t i = 0; i < kPrefetchedLines; ++i) __builtin_prefetch(at + i * 64);
  }

  // The same for a caller that will walk through the entries from the first or the last one.
  // REQUIRES: what Prefetch loads is here.
  void PrefetchEnds() const {
    const std::string_view bytes = block_.bytes();
    __builtin_prefetch(bytes.data());
    __builtin_prefetch(bytes.data() + bytes.size() - 1);
  }
  // The same for a caller that will seek this key.
  void PrefetchSeek(std::string_view user_key) const { block_.PrefetchSeek(user_key, signposts()); }

  // They lie right behind this object.
  Signposts signposts() const {
    const auto* const heads = reinterpret_cast<const uint64_t*>(this + 1);
    return {heads, reinterpret_cast<const uint32_t*>(heads + signpost_count_), signpost_count_,
            prefix_bytes_};
  }

  // All memory that it takes.
  size_t charge_bytes() const;
  static size_t ChargeBytes(const Block& block, size_t signposts) {
    return BlockMemory::TakenBytes(SizeBytes(signposts) + block.bytes().size());
  }

  // Notes the use for CLOCK; writes only the first time in a round, so that hot blocks stay shared
  // between cores.
  void MarkUsed() {
    // Relaxed: a hint to evictions, nothing follows from it.
    if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
  }

  // REQUIRES: a reference is held, or the block was found in its slot within the EpochGuard that
  // still stands.
  // Relaxed: a thread that may refer to it sees it already.
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref();

 protected:
  // What a CachedPartition is besides: counted, charged and evicted like a block, with none in it.
  struct OfPartition {};
  explicit CachedBlock(OfPartition)
      : origin_(BlockMemory::Origin::kHeap),
        is_partition_(true),
        signpost_count_(0),
        prefix_bytes_(0) {}
  ~CachedBlock() = default;

 private:
  friend class BlockCache;
  // This and the signposts of a block of the default size.
  static constexpr size_t kPrefetchedLines = 3;

  CachedBlock(BlockMemory::Origin origin, const Block& block, const SignpostPlan& plan);
  // Of this and the signposts.
  static size_t SizeBytes(size_t signposts) {
    return sizeof(CachedBlock) + signposts * (sizeof(uint64_t) + sizeof(uint32_t));
  }

  std::atomic<uint32_t> references_{1};
  std::atomic<bool> used_{false};
  const BlockMemory::Origin origin_;  // of its memory
  const bool is_partition_ = false;   // a CachedPartition, which is on the heap
  const uint32_t signpost_count_;
  const uint32_t prefix_bytes_;
  const Block block_;  // its bytes lie behind the signposts
  // The lock of the cache's shard guards these.
  BlockSlot* slot_ = nullptr;    // where it is found
  CachedBlock* next_ = nullptr;  // in the shard's ring
  CachedBlock* previous_ = nullptr;
};

// Owns one reference.
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
  // 0: caches nothing.
  explicit BlockCache(size_t capacity_bytes);
  ~BlockCache();  // REQUIRES: every slot was erased
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Whether a block that is charged so much may be put in.
  bool Fits(size_t charge_bytes) const { return charge_bytes <= shard_capacity_bytes_; }

  // Puts the block into its slot, unless another thread was faster (then the other's is returned)
  // or it does not fit.
  BlockRef Insert(BlockSlot* slot, BlockRef block);

  // Empties the slots; they may then go.  REQUIRES: no reader can reach the slots any more. (Blocks
  // that readers found in them before may still be in use.)
  void Erase(std::span<BlockSlot> slots);

  size_t capacity_bytes() const { return capacity_bytes_; }
  // Of the blocks in their slots.  Never more than the capacity.  What was evicted comes on top: at
  // most an eighth of the capacity, and what guards held when a shard's evicted blocks were last
  // looked after.
  size_t used_bytes() const;

 private:
  static constexpr size_t kShards = 16;
  struct alignas(64) Shard {
    mutable Mutex mutex;
    CachedBlock* hand ABSL_GUARDED_BY(mutex) =
        nullptr;  // into the ring of blocks; null: there are none
    size_t used_bytes ABSL_GUARDED_BY(mutex) = 0;
    size_t block_count ABSL_GUARDED_BY(mutex) = 0;    // in the ring
    size_t retired_bytes ABSL_GUARDED_BY(mutex) = 0;  // since `retired` was last looked after
    RetireList retired ABSL_GUARDED_BY(mutex);        // with places for all blocks of the ring
  };
  Shard& ShardOf(const BlockSlot* slot);
  // Behind the hand, so that it is the last to be looked at.
  static void Add(Shard* shard, CachedBlock* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  // REQUIRES: the shard holds a block.
  static void EvictOne(Shard* shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  static void Remove(Shard* shard, CachedBlock* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);

  const size_t capacity_bytes_;
  const size_t shard_count_;  // in use; a power of two
  const size_t shard_capacity_bytes_;
  std::array<Shard, kShards> shards_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_BLOCK_CACHE_H_
