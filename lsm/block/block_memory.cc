#include "lsm/block/block_memory.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <memory>
#include <new>

#include "lsm/bytes/sanitizer.h"
#include "lsm/fs/huge_pages.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kPages = BlockMemory::kRegionBytes / kPageBytes;  // per region
constexpr size_t kHugePagePages = kHugePageBytes / kPageBytes;
constexpr size_t kHugePages = kPages / kHugePagePages;
// Length of the shortest run, so at most one run begins in that many pages.
constexpr size_t kRunPagesMin = 8;
constexpr size_t kPieceBytesMax = kHugePageBytes;  // largest piece within a region

// Slot sizes divide a span without remainder.  There are only two span sizes, so that a freed span
// has room for another one of any class.
constexpr size_t kSpanPages = 32;
constexpr size_t kLargeSpanPages = 64;
constexpr size_t kSlotBytesMin = 256;
constexpr size_t kSlotBytesMax = size_t{32} << 10;
// From this size on, slots come from large spans, which have finer steps.
constexpr size_t kLargeSlotBytesMin = 4544;
constexpr size_t kSlotsMax = kSpanPages * kPageBytes / kSlotBytesMin;
static_assert(kLargeSpanPages * kPageBytes / kLargeSlotBytesMin <= kSlotsMax);
static_assert(kSlotBytesMax / kPageBytes >= kRunPagesMin);

constexpr std::align_val_t kAlignment{BlockMemory::kAlignmentBytes};
constexpr std::align_val_t kLargeAlignment{kHugePageBytes};
constexpr std::align_val_t kRegionAlignment{BlockMemory::kRegionBytes};

constexpr size_t RoundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

struct SizeClass {
  uint32_t slot_bytes;
  uint32_t span_pages;
};

struct SizeClasses {
  std::array<SizeClass, BlockMemory::kClassesMax> all{};
  size_t count = 0;
  // The size class for each size up to kSlotBytesMax, in units of the alignment, rounded up.
  std::array<uint8_t, kSlotBytesMax / BlockMemory::kAlignmentBytes + 1> of_units{};

  constexpr SizeClasses() {
    AddSlotsOf(kSpanPages, kSlotBytesMin, kLargeSlotBytesMin);
    AddSlotsOf(kLargeSpanPages, kLargeSlotBytesMin, kSlotBytesMax + 1);
    size_t number = 0;
    for (size_t units = 0; units < of_units.size(); ++units) {
      if (units * BlockMemory::kAlignmentBytes > all[number].slot_bytes) ++number;
      of_units[units] = static_cast<uint8_t>(number);
    }
  }
  constexpr size_t Of(size_t size_bytes) const {
    return of_units[RoundUp(size_bytes, BlockMemory::kAlignmentBytes) /
                    BlockMemory::kAlignmentBytes];
  }

 private:
  constexpr void AddSlotsOf(size_t pages, size_t from_bytes, size_t to_bytes) {
    const size_t span_bytes = pages * kPageBytes;
    for (size_t slots = span_bytes / from_bytes; slots > 0; --slots) {
      const size_t slot_bytes =
          span_bytes / slots / BlockMemory::kAlignmentBytes * BlockMemory::kAlignmentBytes;
      if (slot_bytes >= to_bytes) return;
      if (count > 0 && slot_bytes <= all[count - 1].slot_bytes) continue;
      all[count++] = {static_cast<uint32_t>(slot_bytes), static_cast<uint32_t>(pages)};
    }
  }
};

constexpr SizeClasses kSizeClasses;
static_assert(kSizeClasses.all[0].slot_bytes == kSlotBytesMin);
static_assert(kSizeClasses.all[kSizeClasses.count - 1].slot_bytes == kSlotBytesMax);

}  // namespace

// Description of a run, stored in its region.
struct BlockMemory::Run {
  uint16_t begin_page;
  uint16_t pages;
  uint16_t class_number;
  // Only for spans; guarded by the lock of the class.
  uint16_t slots;
  uint16_t used_slots;
  Run* next;  // in a list of spans with a free slot
  Run* previous;
  std::array<uint64_t, kSlotsMax / 64> free_slots;  // one bit per slot

  // kQuarters: the span is full.
  size_t QuarterOf(size_t used) const { return used * kQuarters / slots; }
  size_t quarter() const { return QuarterOf(used_slots); }
  char* data() {
    return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(this) & ~(kRegionBytes - 1)) +
           begin_page * kPageBytes;
  }
};

// The beginning of a region.  Guarded by the lock of all pages.  Exception: the description of a
// run does not change, and may be read, while a piece of it is in use.
struct BlockMemory::Region {
  static constexpr size_t kWords = kPages / 64;

  size_t number = 0;                                 // index of the region
  size_t used_pages = 0;                             // pages in runs
  std::array<uint16_t, kHugePages> used_pages_of{};  // by huge page, this object included
  std::array<bool, kHugePages> is_resident{};
  std::array<uint64_t, kWords> free_pages{};  // one bit per page
  std::array<uint16_t, kPages> run_of_page;
  std::array<Run, kPages / kRunPagesMin> runs;

  static Region* Of(const void* place) {
    return reinterpret_cast<Region*>(reinterpret_cast<uintptr_t>(place) & ~(kRegionBytes - 1));
  }
  static constexpr size_t OwnPages();
  char* huge_page(size_t number_of_page) {
    return reinterpret_cast<char*>(this) + number_of_page * kHugePageBytes;
  }
  Run* RunAt(const char* place) {
    return &runs[run_of_page[static_cast<size_t>(place - reinterpret_cast<char*>(this)) /
                             kPageBytes]];
  }

  // The first page from `begin` on that is free (or, without `free`, in use); kPages if there is
  // none.
  size_t Next(size_t begin, bool free) const {
    for (size_t word = begin / 64; word < kWords; ++word) {
      uint64_t bits = free ? free_pages[word] : ~free_pages[word];
      if (word == begin / 64) bits &= ~uint64_t{0} << (begin % 64);
      if (bits != 0) return word * 64 + static_cast<size_t>(std::countr_zero(bits));
    }
    return kPages;
  }
  // The first of that many consecutive free pages.  REQUIRES: they exist.
  size_t Find(size_t pages) const {
    for (size_t begin = Next(0, true);; begin = Next(begin, true)) {
      assert(begin < kPages);
      const size_t end = Next(begin, false);
      if (end - begin >= pages) return begin;
      begin = end;
    }
  }
  size_t FreePagesInRow() const {
    size_t longest = 0;
    for (size_t begin = Next(0, true); begin < kPages;) {
      const size_t end = Next(begin, false);
      longest = std::max(longest, end - begin);
      begin = Next(end, true);
    }
    return longest;
  }
  void Mark(size_t begin, size_t pages, bool free) {
    for (size_t page = begin; page < begin + pages; ++page) {
      free_pages[page / 64] ^= uint64_t{1} << (page % 64);
      used_pages_of[page / kHugePagePages] += free ? -1 : 1;
    }
  }
};

constexpr size_t BlockMemory::Region::OwnPages() {
  static_assert(sizeof(Region) <= kRegionBytes / 256);
  return RoundUp(sizeof(Region), kPageBytes) / kPageBytes;
}

BlockMemory& BlockMemory::OfProcess() {
  // Not on the heap, so that it always exists.
  alignas(BlockMemory) static char place[sizeof(BlockMemory)];
  static BlockMemory* const memory = new (place) BlockMemory(!kHasAddressSanitizer);
  return *memory;
}

BlockMemory::~BlockMemory() {
  MutexLock lock(&pages_mutex_);
  assert(run_pages_ == 0);
  while (!regions_.empty()) RemoveRegion(regions_.back().region);
}

size_t BlockMemory::TakenBytes(size_t size_bytes) {
  return size_bytes <= kSlotBytesMax ? kSizeClasses.all[kSizeClasses.Of(size_bytes)].slot_bytes
                                     : RoundUp(size_bytes, kPageBytes);
}

BlockMemory::Piece BlockMemory::Allocate(size_t size_bytes) {
  char* data = nullptr;
  if (!has_regions_) {
    // The piece is from the heap.
  } else if (size_bytes <= kSlotBytesMax) {
    data = AllocateSlot(kSizeClasses.Of(size_bytes));
  } else if (size_bytes <= kPieceBytesMax) {
    Run* const run = AllocateRun(RoundUp(size_bytes, kPageBytes) / kPageBytes, kNoClass);
    if (run != nullptr) data = run->data();
  } else {
    data = static_cast<char*>(::operator new(size_bytes, kLargeAlignment, std::nothrow));
    if (data != nullptr) {
      PreferHugePages(data, size_bytes);
      return {data, Origin::kLarge};
    }
  }
  if (data != nullptr) return {data, Origin::kRegion};
  return AllocateOnHeap(size_bytes);
}

BlockMemory::Piece BlockMemory::AllocateOnHeap(size_t size_bytes) {
  return {static_cast<char*>(::operator new(size_bytes, kAlignment)), Origin::kHeap};
}

void BlockMemory::Free(Piece piece) noexcept {
  if (piece.data == nullptr) return;
  switch (piece.origin) {
    case Origin::kHeap:
      return ::operator delete(piece.data, kAlignment);
    case Origin::kLarge:
      return ::operator delete(piece.data, kLargeAlignment);
    case Origin::kRegion:
      break;
  }
  Run* const run = Region::Of(piece.data)->RunAt(piece.data);
  run->class_number == kNoClass ? FreeRun(run) : FreeSlot(run, piece.data);
}

// --- slots ---

void BlockMemory::Push(Spans* spans, Run* span) {
  Run*& front = spans->of_quarter[span->quarter()];
  span->next = front;
  span->previous = nullptr;
  if (front != nullptr) front->previous = span;
  front = span;
}

void BlockMemory::Remove(Spans* spans, Run* span) {
  (span->previous == nullptr ? spans->of_quarter[span->quarter()] : span->previous->next) =
      span->next;
  if (span->next != nullptr) span->next->previous = span->previous;
}

char* BlockMemory::AllocateSlot(size_t class_number) {
  const SizeClass& size_class = kSizeClasses.all[class_number];
  Spans& spans = spans_[class_number];
  MutexLock lock(&spans.mutex);
  Run* span = nullptr;
  for (size_t quarter = kQuarters; quarter > 0 && span == nullptr; --quarter)
    span = spans.of_quarter[quarter - 1];
  if (span == nullptr) {
    span = AllocateRun(size_class.span_pages, static_cast<uint16_t>(class_number));
    if (span == nullptr) return nullptr;
    span->slots = static_cast<uint16_t>(span->pages * kPageBytes / size_class.slot_bytes);
    span->used_slots = 0;
    span->free_slots.fill(0);
    for (size_t slot = 0; slot < span->slots; ++slot)
      span->free_slots[slot / 64] |= uint64_t{1} << (slot % 64);
    Push(&spans, span);
  }
  size_t word = 0;
  while (span->free_slots[word] == 0) ++word;
  const size_t slot = word * 64 + static_cast<size_t>(std::countr_zero(span->free_slots[word]));
  Use(&spans, span, slot, true);
  return span->data() + slot * size_class.slot_bytes;
}

void BlockMemory::FreeSlot(Run* span, char* slot_begin) noexcept {
  const size_t slot = static_cast<size_t>(slot_begin - span->data()) /
                      kSizeClasses.all[span->class_number].slot_bytes;
  Spans& spans = spans_[span->class_number];
  {
    MutexLock lock(&spans.mutex);
    Use(&spans, span, slot, false);
    if (span->used_slots > 0) return;
    Remove(&spans, span);
  }
  FreeRun(span);
}

void BlockMemory::Use(Spans* spans, Run* span, size_t slot, bool use) {
  assert((span->free_slots[slot / 64] >> (slot % 64) & 1) == (use ? 1 : 0));
  span->free_slots[slot / 64] ^= uint64_t{1} << (slot % 64);
  const size_t used_slots = span->used_slots + (use ? 1 : -1);
  // A full span is in no list.
  const bool moves = span->QuarterOf(used_slots) != span->quarter();
  if (moves && span->used_slots < span->slots) Remove(spans, span);
  span->used_slots = static_cast<uint16_t>(used_slots);
  if (moves && used_slots < span->slots) Push(spans, span);
}

// --- runs ---

BlockMemory::Run* BlockMemory::AllocateRun(size_t pages, uint16_t class_number) {
  MutexLock lock(&pages_mutex_);
  Region* const region = RegionWith(pages);
  if (region == nullptr) return nullptr;
  if (region == empty_region_) empty_region_ = nullptr;
  const size_t begin = region->Find(pages);
  region->Mark(begin, pages, false);
  region->used_pages += pages;
  regions_[region->number].free_pages_in_row = region->FreePagesInRow();
  run_pages_ += pages;
  for (size_t i = begin / kHugePagePages; i <= (begin + pages - 1) / kHugePagePages; ++i) {
    if (kept_in_ == region && kept_huge_page_ == i) kept_in_ = nullptr;
    if (!std::exchange(region->is_resident[i], true)) ++resident_huge_pages_;
  }
  const size_t number = begin / kRunPagesMin;
  std::fill_n(region->run_of_page.begin() + begin, pages, static_cast<uint16_t>(number));
  Run* const run = &region->runs[number];
  run->begin_page = static_cast<uint16_t>(begin);
  run->pages = static_cast<uint16_t>(pages);
  run->class_number = class_number;
  return run;
}

void BlockMemory::FreeRun(Run* run) noexcept {
  MutexLock lock(&pages_mutex_);
  Region* const region = Region::Of(run);
  const size_t begin = run->begin_page, pages = run->pages;
  region->Mark(begin, pages, true);
  region->used_pages -= pages;
  regions_[region->number].free_pages_in_row = region->FreePagesInRow();
  run_pages_ -= pages;
  for (size_t i = begin / kHugePagePages; i <= (begin + pages - 1) / kHugePagePages; ++i) {
    if (region->used_pages_of[i] == 0) KeepEmpty(region, i);
  }
  if (region->used_pages > 0) return;
  if (empty_region_ != nullptr) RemoveRegion(empty_region_);
  empty_region_ = region;
}

void BlockMemory::KeepEmpty(Region* region, size_t huge_page) {
  if (kept_in_ != nullptr) {
    GiveBackPages(kept_in_->huge_page(kept_huge_page_), kHugePageBytes);
    kept_in_->is_resident[kept_huge_page_] = false;
    --resident_huge_pages_;
  }
  kept_in_ = region;
  kept_huge_page_ = huge_page;
}

// --- regions ---

BlockMemory::Region* BlockMemory::RegionWith(size_t pages) {
  for (const RegionEntry& entry : regions_) {
    if (entry.free_pages_in_row >= pages && entry.region != empty_region_) return entry.region;
  }
  return empty_region_ != nullptr ? empty_region_ : AddRegion();
}

BlockMemory::Region* BlockMemory::AddRegion() {
  const auto free = [](void* memory) { ::operator delete(memory, kRegionAlignment); };
  std::unique_ptr<void, decltype(free)> memory(
      ::operator new(kRegionBytes, kRegionAlignment, std::nothrow), free);
  if (memory == nullptr) return nullptr;
  if (regions_.size() == regions_.capacity())
    regions_.reserve(std::max<size_t>(16, 2 * regions_.size()));
  PreferHugePages(memory.get(), kRegionBytes);
  auto* const region = new (memory.release()) Region;
  region->free_pages.fill(~uint64_t{0});
  region->Mark(0, Region::OwnPages(), false);
  region->is_resident[0] = true;
  ++resident_huge_pages_;
  region->number = regions_.size();
  regions_.push_back({region, region->FreePagesInRow()});
  return region;
}

void BlockMemory::RemoveRegion(Region* region) {
  if (kept_in_ == region) kept_in_ = nullptr;
  resident_huge_pages_ -=
      static_cast<size_t>(std::count(region->is_resident.begin(), region->is_resident.end(), true));
  regions_.back().region->number = region->number;
  regions_[region->number] = regions_.back();
  regions_.pop_back();
  region->~Region();
  ::operator delete(static_cast<void*>(region), kRegionAlignment);
}

// --- figures ---

size_t BlockMemory::run_bytes() const {
  MutexLock lock(&pages_mutex_);
  return run_pages_ * kPageBytes;
}

size_t BlockMemory::resident_bytes() const {
  MutexLock lock(&pages_mutex_);
  return resident_huge_pages_ * kHugePageBytes;
}

size_t BlockMemory::region_count() const {
  MutexLock lock(&pages_mutex_);
  return regions_.size();
}

BlockBytes::BlockBytes(std::string_view bytes)
    : piece_(BlockMemory::OfProcess().Allocate(bytes.size())), size_bytes_(bytes.size()) {
  bytes.copy(piece_.data, bytes.size());
}

}  // namespace lsm
