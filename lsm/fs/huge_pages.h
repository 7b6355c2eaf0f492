// Advice about memory to the operating system, which may follow it or not: nothing but speed and
// the amount of memory in use depends on it, and it cannot fail.
#ifndef TRELLIS_LSM_FS_HUGE_PAGES_H_
#define TRELLIS_LSM_FS_HUGE_PAGES_H_

#include <cstddef>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// What one entry of the processor's address cache covers if the advice is followed, instead of
// 4 KiB.
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// This memory had better be in huge pages, as far as it covers whole ones.  `begin` is a multiple
// of the ordinary page's size.
void PreferHugePages(void* begin, size_t size_bytes);

// Gives the whole pages of this memory back to the system.  Its contents are unspecified until it
// is next written to.
void GiveBackPages(void* begin, size_t size_bytes);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_HUGE_PAGES_H_
