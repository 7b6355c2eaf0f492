// Advice about memory to the operating system, which may follow it or not: nothing but speed and
// the amount of memory in use depends on it, and it cannot fail.
#ifndef TRELLIS_LSM_FS_HUGE_PAGES_H_
#define TRELLIS_LSM_FS_HUGE_PAGES_H_

#include <cstddef>

namespace lsm {

// What one entry of the processor's address cache covers if the advice is followed, instead of
// 4 KiB.
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// This memory had better be in huge pages, as far as it covers whole ones.  `begin` is a multiple
// of the ordinary page's size.
void PreferHugePages(void* begin, size_t size_bytes);

// The contents are not needed any more: until it is next written to, this memory need not be there,
// and what it then holds is unspecified.  Of it the whole pages are given back.
void GiveBackPages(void* begin, size_t size_bytes);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_HUGE_PAGES_H_
