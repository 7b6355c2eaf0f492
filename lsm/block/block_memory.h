// Memory for long-lived data that lookups access at random: cached blocks and filters.
//
// In ordinary pages of 4 KiB, nearly every access to a gigabyte of such data first misses the TLB.
// In a virtual machine that costs as much as the cache miss of the data.  So the data is packed
// into huge pages.
//
//   region   32 MiB of addresses, aligned; begins with a description of its pages
//     run    consecutive pages of 4 KiB: one piece of more than 32 KiB (up to 2 MiB), or a span of
//            128 or 256 KiB, which is divided into slots for pieces of one size class
//
// A piece of more than 2 MiB is an allocation of its own, and uses huge pages where it covers whole
// ones.  Without memory for a region, a piece comes from the heap.
//
// Memory taken by a piece (TakenBytes()):
//
//   up to 2.8 KiB    rounded up to steps of 64 bytes; at least 256 bytes
//   up to 9 KiB      at most 1/24 more than requested
//   up to 32 KiB     at most 1/7 more
//   larger           less than a page more
//
// In addition: for each size class in use, a span that is not full; 1/256 of a region for its
// description; the rest of the last huge page; and holes between runs, which later runs fill.
// Pieces never move.  While pieces come and go in the same sizes, this is 1 % or 2 %.  If the sizes
// of most pieces change permanently, and the old ones are freed here and there, up to 60 % may
// remain until the rest is freed.
//
// The system provides each huge page when it is first used.  An empty huge page is returned to the
// system.  One empty huge page, and one empty region (with only its first huge page), are kept for
// later use.
//
// Thread-safe.  A piece of up to 32 KiB takes the lock of its class.  Creating or freeing a run
// takes the one lock of all pages.
#ifndef TRELLIS_LSM_BLOCK_BLOCK_MEMORY_H_
#define TRELLIS_LSM_BLOCK_BLOCK_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "bloom/core/abi.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

class BlockMemory {
 public:
  static constexpr size_t kAlignmentBytes = 64;
  static constexpr size_t kRegionBytes = size_t{32} << 20;
  static constexpr size_t kClassesMax = 128;

  enum class Origin : uint8_t { kRegion, kLarge, kHeap };
  // A piece of memory, to be freed in the BlockMemory that it came from.
  struct Piece {
    char* data = nullptr;
    Origin origin = Origin::kHeap;
  };

  // Without regions, every piece comes from the heap.
  explicit BlockMemory(bool has_regions = true) : has_regions_(has_regions) {}
  ~BlockMemory();  // REQUIRES: every piece was freed
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  // The instance for all stores of this process; never destroyed.  Under AddressSanitizer it has no
  // regions, so that errors are found: accesses beyond a piece or after it was freed, and leaks.
  static BlockMemory& OfProcess();

  // Aligned to kAlignmentBytes; uninitialized.  Throws std::bad_alloc without memory.
  Piece Allocate(size_t size_bytes);
  // From the heap, for a short-lived piece, which is not worth starting a span for.
  static Piece AllocateOnHeap(size_t size_bytes);
  // Needs no memory.  Ignores a null piece.
  void Free(Piece piece) noexcept;

  // Memory that a piece of that size takes, from any source.
  static size_t TakenBytes(size_t size_bytes);

  // --- figures ---

  // Bytes of pages in runs.
  size_t run_bytes() const;
  // Bytes of huge pages that were used and not returned.
  size_t resident_bytes() const;
  size_t region_count() const;

 private:
  struct Run;
  struct Region;

  // The spans of a class that have a free slot, by the quarter of their slots in use.  Fuller spans
  // are used first, so that the others become empty.
  static constexpr size_t kQuarters = 4;
  struct alignas(64) Spans {
    Mutex mutex;
    std::array<Run*, kQuarters> of_quarter ABSL_GUARDED_BY(mutex) = {};
  };
  static void Push(Spans* spans, Run* span) ABSL_EXCLUSIVE_LOCKS_REQUIRED(spans->mutex);
  static void Remove(Spans* spans, Run* span) ABSL_EXCLUSIVE_LOCKS_REQUIRED(spans->mutex);

  // Takes or frees the slot.
  static void Use(Spans* spans, Run* span, size_t slot, bool use)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(spans->mutex);

  // Null if there is no region for it.
  char* AllocateSlot(size_t class_number);
  void FreeSlot(Run* span, char* slot) noexcept;
  // A run for slots of that class, or for one piece (kNoClass).  Null as above.
  static constexpr uint16_t kNoClass = UINT16_MAX;
  Run* AllocateRun(size_t pages, uint16_t class_number) ABSL_LOCKS_EXCLUDED(pages_mutex_);
  void FreeRun(Run* run) noexcept ABSL_LOCKS_EXCLUDED(pages_mutex_);

  Region* RegionWith(size_t pages) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pages_mutex_);
  Region* AddRegion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pages_mutex_);
  void RemoveRegion(Region* region) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pages_mutex_);
  // Keeps this huge page, and returns the one that was kept before.
  void KeepEmpty(Region* region, size_t huge_page) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pages_mutex_);

  const bool has_regions_;
  std::array<Spans, kClassesMax> spans_;

  mutable Mutex pages_mutex_;  // may be taken while the lock of a class is held
  struct RegionEntry {
    Region* region;
    size_t free_pages_in_row;  // longest row of free pages
  };
  // Contiguous, so that a search reads little.
  std::vector<RegionEntry> regions_ ABSL_GUARDED_BY(pages_mutex_);
  Region* empty_region_ ABSL_GUARDED_BY(pages_mutex_) = nullptr;  // the one that is kept
  // The region of the huge page that is kept.
  Region* kept_in_ ABSL_GUARDED_BY(pages_mutex_) = nullptr;
  size_t kept_huge_page_ ABSL_GUARDED_BY(pages_mutex_) = 0;
  size_t run_pages_ ABSL_GUARDED_BY(pages_mutex_) = 0;
  size_t resident_huge_pages_ ABSL_GUARDED_BY(pages_mutex_) = 0;
};

// Bytes in a piece of BlockMemory::OfProcess().
class BlockBytes {
 public:
  BlockBytes() = default;
  explicit BlockBytes(std::string_view bytes);  // a copy
  ~BlockBytes() { BlockMemory::OfProcess().Free(piece_); }
  BlockBytes(BlockBytes&& other) noexcept
      : piece_(std::exchange(other.piece_, {})), size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  BlockBytes& operator=(BlockBytes&& other) noexcept {
    std::swap(piece_, other.piece_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }

  size_t size() const { return size_bytes_; }
  std::string_view view() const { return {piece_.data, size_bytes_}; }

 private:
  BlockMemory::Piece piece_;
  size_t size_bytes_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_BLOCK_MEMORY_H_
