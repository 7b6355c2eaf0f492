// Memory for what lookups touch at random and what stays for long: cached blocks and filters.
//
// In ordinary pages of 4 KiB nearly every touch of a gigabyte of them first misses the processor's
// address cache, which in a virtual machine costs as much as the miss of the data.  So they stand
// close together in huge pages.
//
//   region   32 MiB of addresses, aligned; begins with what is to be known of its pages
//     run    pages of 4 KiB in a row: one piece of more than 32 KiB (and up to 2 MiB),
//            or a span, of 128 or 256 KiB: slots for pieces of one size class
//
// A piece of more than 2 MiB is an allocation of its own, in huge pages as far as it covers them.
// Where there is no memory for a region, a piece comes from the heap.
//
// Memory.  A piece takes TakenBytes(): if it has more than 32 KiB, less than a page on top of what
// it was asked for.  Slots come in steps of 64 bytes up to 2.8 KiB, of 1/24 at most up to 9 KiB,
// and of 1/7 at most up to 32 KiB; the smallest has 256 bytes.  What comes on top: of each size
// class in use a span that is not full, 1/256 of a region, the rest of a huge page that is begun,
// and holes between runs, which others fill.  Nothing moves: where the sizes of most pieces change
// for good, and they go one here and one there, up to 60 % may stay until what is left between is
// freed; while they come and go in the same sizes it is 1 % or 2 %.  Memory is taken from the
// system by the huge page, as it comes into use, and given back so when nothing is left in one.  Of
// empty ones are kept, for what comes next, one huge page and one region, of which only the first
// huge page is there.
//
// Thread-safe.  A piece of up to 32 KiB takes the lock of its class; the one lock of all pages is
// taken for a run.
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
#include "lsm/fs/mutex.h"

namespace lsm::inline TRELLIS_ABI {

class BlockMemory {
 public:
  static constexpr size_t kAlignmentBytes = 64;
  static constexpr size_t kRegionBytes = size_t{32} << 20;
  static constexpr size_t kClassesMax = 128;

  enum class Origin : uint8_t { kRegion, kLarge, kHeap };
  // Must be given back to where it is from.
  struct Piece {
    char* data = nullptr;
    Origin origin = Origin::kHeap;
  };

  // Without regions, each piece is from the heap.
  explicit BlockMemory(bool has_regions = true) : has_regions_(has_regions) {}
  ~BlockMemory();  // REQUIRES: every piece was freed
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  // The one of all stores of this process; never destroyed.  It has no regions under
  // AddressSanitizer, which then finds what is done behind a piece's end or after its time, and
  // pieces that are lost.
  static BlockMemory& OfProcess();

  // Aligned to kAlignmentBytes; uninitialized.  std::bad_alloc if there is no memory.
  Piece Allocate(size_t size_bytes);
  // One that is from the heap: for what soon goes again, for which a span would be begun and ended.
  static Piece AllocateOnHeap(size_t size_bytes);
  // Needs no memory.  Nothing is done with a null piece.
  void Free(Piece piece) noexcept;

  // What a piece of so many bytes takes, wherever it is from.
  static size_t TakenBytes(size_t size_bytes);

  // --- figures ---
  // The pages of runs.
  size_t run_bytes() const;
  // Huge pages that were used and not given back.
  size_t resident_bytes() const;
  size_t region_count() const;

 private:
  struct Run;
  struct Region;

  // The spans of a class that have a free slot, by the quarter of their slots that is used.  The
  // fullest are filled up first, so that the others become empty.
  static constexpr size_t kQuarters = 4;
  struct alignas(64) Spans {
    Mutex mutex;
    std::array<Run*, kQuarters> of_quarter ABSL_GUARDED_BY(mutex) = {};
  };
  static void Push(Spans* spans, Run* span) ABSL_EXCLUSIVE_LOCKS_REQUIRED(spans->mutex);
  static void Remove(Spans* spans, Run* span) ABSL_EXCLUSIVE_LOCKS_REQUIRED(spans->mutex);

  // Takes the slot, or gives it back.
  static void Use(Spans* spans, Run* span, size_t slot, bool use)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(spans->mutex);

  // Null if there is no region for it.
  char* AllocateSlot(size_t class_number);
  void FreeSlot(Run* span, char* slot) noexcept;
  // One whose pieces are of that class, or one piece (kNoClass).  Null as above.
  static constexpr uint16_t kNoClass = UINT16_MAX;
  Run* AllocateRun(size_t pages, uint16_t class_number) ABSL_LOCKS_EXCLUDED(pages_mutex_);
  void FreeRun(Run* run) noexcept ABSL_LOCKS_EXCLUDED(pages_mutex_);

  Region* RegionWith(size_t pages) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pages_mutex_);
  Region* AddRegion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pages_mutex_);
  void RemoveRegion(Region* region) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pages_mutex_);
  // Keeps the page, and gives back the one that was kept.
  void KeepEmpty(Region* region, size_t huge_page) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pages_mutex_);

  const bool has_regions_;
  std::array<Spans, kClassesMax> spans_;

  mutable Mutex pages_mutex_;  // may be taken with the lock of a class held
  struct RegionEntry {
    Region* region;
    size_t free_pages_in_row;  // the longest
  };
  // Together, so that a search reads little.
  std::vector<RegionEntry> regions_ ABSL_GUARDED_BY(pages_mutex_);
  Region* empty_region_ ABSL_GUARDED_BY(pages_mutex_) = nullptr;  // the one that is kept
  // The huge page that is kept, in this region.
  Region* kept_in_ ABSL_GUARDED_BY(pages_mutex_) = nullptr;
  size_t kept_huge_page_ ABSL_GUARDED_BY(pages_mutex_) = 0;
  size_t run_pages_ ABSL_GUARDED_BY(pages_mutex_) = 0;
  size_t resident_huge_pages_ ABSL_GUARDED_BY(pages_mutex_) = 0;
};

// Bytes in a piece of the process's memory.
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
