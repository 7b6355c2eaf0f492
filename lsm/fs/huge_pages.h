// Advice to the operating system about memory.  It affects only speed and memory use, and cannot
// fail.
#ifndef TRELLIS_LSM_FS_HUGE_PAGES_H_
#define TRELLIS_LSM_FS_HUGE_PAGES_H_

#include <cstddef>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Size of a huge page, which one TLB entry covers.  Ordinary pages have 4 KiB.
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Prefers huge pages for the whole ones within this memory.  REQUIRES: `begin` is a multiple of the
// ordinary page size.
void PreferHugePages(void* begin, size_t size_bytes);

// Returns the whole pages of this memory to the system.  The contents are unspecified until the
// next write.
void GiveBackPages(void* begin, size_t size_bytes);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_HUGE_PAGES_H_
