// Memory of one memtable, freed all at once.
//
// Threads: one may allocate at a time; any may call memory_bytes.  Lifetime: allocated memory lives
// as long as the arena and never moves.
#ifndef TRELLIS_LSM_MEMTABLE_ARENA_H_
#define TRELLIS_LSM_MEMTABLE_ARENA_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Guarantees that the next allocations need no memory from the system, if each takes at most
  // kReservableBytesMax and their sum is at most `size_bytes` (a multiple of 8).  For callers
  // beyond the point of no return.  Unused bytes serve later allocations, until they are given
  // back.
  static constexpr size_t kReservableBytesMax = 1024;
  void Reserve(size_t size_bytes);
  // Frees reserved blocks that are unused, except one.  A caller that reserves for the worst case
  // may hold many.
  void GiveBackReserved() { spares_.resize(std::min<size_t>(spares_.size(), 1)); }

  // Allocates `size_bytes` > 0 bytes, aligned for any pointer or 64-bit word.
  char* Allocate(size_t size_bytes) {
    const size_t rounded_bytes = (size_bytes + kAlignmentBytes - 1) & ~(kAlignmentBytes - 1);
    if (rounded_bytes > static_cast<size_t>(limit_ - next_)) return AllocateSlow(rounded_bytes);
    char* allocated = next_;
    next_ += rounded_bytes;
    return allocated;
  }

  // Memory from the heap, used or not, without blocks that are only reserved.
  size_t memory_bytes() const {
    // Relaxed: a statistic; nothing else depends on it.
    return memory_bytes_.load(std::memory_order_relaxed);
  }
  // The same without the unused part of the newest block.  Only for the thread that allocates.
  size_t used_bytes() const { return memory_bytes() - static_cast<size_t>(limit_ - next_); }

 private:
  static constexpr size_t kAlignmentBytes = 8;

  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size_bytes = 0;
  };

  char* AllocateSlow(size_t rounded_bytes);
  char* NewBlock(size_t size_bytes);
  void Add(Block block);
  size_t BlockBytes() const;

  char* next_ = nullptr;   // unused part of the newest block
  char* limit_ = nullptr;  // its end
  std::vector<Block> blocks_;
  std::vector<Block> spares_;  // reserved blocks, to be used next
  std::atomic<size_t> memory_bytes_{0};
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_ARENA_H_
