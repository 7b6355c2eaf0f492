#include <sys/mman.h>

#include "lsm/fs/huge_pages.h"

namespace lsm {

void PreferHugePages([[maybe_unused]] void* begin, [[maybe_unused]] size_t size_bytes) {
#ifdef MADV_HUGEPAGE
  static_cast<void>(::madvise(begin, size_bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE));
#endif
}

void GiveBackPages([[maybe_unused]] void* begin, [[maybe_unused]] size_t size_bytes) {
#ifdef MADV_DONTNEED
  static_cast<void>(::madvise(begin, size_bytes, MADV_DONTNEED));
#endif
}

}  // namespace lsm
