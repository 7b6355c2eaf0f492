#include "bloom/core/bits.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace bloom::inline TRELLIS_ABI {
namespace {

// Huge pages avoid the miss of address translation that a random access to a large filter costs in
// addition to its cache miss.
constexpr size_t kHugePage = size_t{2} << 20;

// Smallest filter that uses huge pages.  The TLB covers smaller ones with ordinary pages.
constexpr size_t kHugeFrom = 4 * kHugePage;

size_t RoundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

}  // namespace

AlignedBytes AlignedBytes::Zeros(size_t size) {
  AlignedBytes bytes;
  if (size == 0 || size > SIZE_MAX - kHugePage) return bytes;
  const size_t alignment = size < kHugeFrom ? kAlignment : kHugePage;
  bytes.data_.reset(static_cast<uint8_t*>(std::aligned_alloc(alignment, RoundUp(size, alignment))));
  if (bytes.data_ == nullptr) return bytes;
  bytes.size_ = size;
#ifdef __linux__
  // Only whole huge pages: one for the rest would take a full page for a few bytes.  This is advice
  // to the kernel, and may fail.
  if (alignment == kHugePage)
    static_cast<void>(madvise(bytes.data(), size / kHugePage * kHugePage, MADV_HUGEPAGE));
#endif
  std::memset(bytes.data(), 0, RoundUp(size, kAlignment));
  return bytes;
}

}  // namespace bloom
