#include "lsm/memtable/arena.h"

#include <algorithm>

namespace lsm {
namespace {

// Blocks grow with the arena, so that a small memtable stays small and a large one takes few
// blocks.
constexpr size_t kBlockBytesMin = size_t{4} << 10;
constexpr size_t kBlockBytesMax = size_t{1} << 20;

}  // namespace

char* Arena::AllocateSlow(size_t rounded_bytes) {
  const size_t block_bytes = std::clamp(memory_bytes() / 4, kBlockBytesMin, kBlockBytesMax);
  // What would take much of a block gets one of its own, and the rest of the current one stays in
  // use.
  if (rounded_bytes > block_bytes / 4) return NewBlock(rounded_bytes);
  char* allocated = NewBlock(block_bytes);
  next_ = allocated + rounded_bytes;
  limit_ = allocated + block_bytes;
  return allocated;
}

char* Arena::NewBlock(size_t size_bytes) {
  // new[] aligns for any fundamental type.  Not value-initialized: nothing reads what it did not
  // write.
  blocks_.push_back(std::unique_ptr<char[]>(new char[size_bytes]));
  // Relaxed: see memory_bytes.  Only the allocating thread writes it.
  memory_bytes_.store(memory_bytes() + size_bytes, std::memory_order_relaxed);
  return blocks_.back().get();
}

}  // namespace lsm
