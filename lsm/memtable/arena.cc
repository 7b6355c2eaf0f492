#include "lsm/memtable/arena.h"

#include <algorithm>
#include <utility>

#include "lsm/fs/huge_pages.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Blocks grow with the arena: a small memtable stays small, and a large one needs few blocks.
constexpr size_t kArenaBlockBytesMin = size_t{4} << 10;
constexpr size_t kArenaBlockBytesMax = size_t{1} << 20;
// An allocation larger than a block divided by this gets a block of its own.
constexpr size_t kBlockPart = 4;
// Smaller blocks have too few whole pages for the call to pay.
constexpr size_t kGivenBackBytesMin = size_t{16} << 10;
static_assert(Arena::kReservableBytesMax <=
              kArenaBlockBytesMin / kBlockPart);  // so it fits any block

}  // namespace

// Returns the pages to the system first, since the heap would keep blocks that lie between others
// in use.
Arena::~Arena() {
  for (const Block& block : blocks_) {
    if (block.size_bytes >= kGivenBackBytesMin) GiveBackPages(block.bytes.get(), block.size_bytes);
  }
}

void Arena::Reserve(size_t size_bytes) {
  if (size_bytes <= static_cast<size_t>(limit_ - next_)) return;
  // An allocation never spans two blocks, so the end of each may stay unused, as well as the rest
  // of the current one.
  size_t usable_bytes = 0;
  for (const Block& spare : spares_) usable_bytes += spare.size_bytes - kReservableBytesMax;
  while (usable_bytes < size_bytes) {
    const size_t block_bytes = BlockBytes();
    spares_.push_back({std::unique_ptr<char[]>(new char[block_bytes]), block_bytes});
    usable_bytes += block_bytes - kReservableBytesMax;
  }
  const size_t blocks = blocks_.size() + spares_.size();
  if (blocks > blocks_.capacity()) blocks_.reserve(blocks + blocks_.size());
}

size_t Arena::BlockBytes() const {
  return std::clamp(memory_bytes() / 4, kArenaBlockBytesMin, kArenaBlockBytesMax);
}

char* Arena::AllocateSlow(size_t rounded_bytes) {
  const size_t block_bytes = BlockBytes();
  // Keeps using the rest of the current block.
  if (rounded_bytes > block_bytes / kBlockPart) return NewBlock(rounded_bytes);
  // A spare block, reserved when blocks were smaller, may be too short.
  if (spares_.empty() || rounded_bytes > spares_.back().size_bytes) {
    char* allocated = NewBlock(block_bytes);
    next_ = allocated + rounded_bytes;
    limit_ = allocated + block_bytes;
    return allocated;
  }
  Block spare = std::move(spares_.back());
  spares_.pop_back();
  char* allocated = spare.bytes.get();
  const size_t spare_bytes = spare.size_bytes;
  Add(std::move(spare));  // may throw, and free it, unless the whole Reserve succeeded
  next_ = allocated + rounded_bytes;
  limit_ = allocated + spare_bytes;
  return allocated;
}

char* Arena::NewBlock(size_t size_bytes) {
  // new[] aligns for any fundamental type.  Not value-initialized: all bytes are written before
  // they are read.
  Add({std::unique_ptr<char[]>(new char[size_bytes]), size_bytes});
  return blocks_.back().bytes.get();
}

void Arena::Add(Block block) {
  blocks_.push_back(std::move(block));
  // Relaxed: see memory_bytes.  Only the allocating thread writes it.
  memory_bytes_.store(memory_bytes() + blocks_.back().size_bytes, std::memory_order_relaxed);
}

}  // namespace lsm
