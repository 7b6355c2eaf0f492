#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "lsm/fs/huge_pages.h"

namespace lsm::inline TRELLIS_ABI {

void PreferHugePages([[maybe_unused]] void* begin, [[maybe_unused]] size_t size_bytes) {
#ifdef MADV_HUGEPAGE
  static_cast<void>(::madvise(begin, size_bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE));
#endif
}

void GiveBackPages([[maybe_unused]] void* begin, [[maybe_unused]] size_t size_bytes) {
#ifdef MADV_DONTNEED
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto from = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
  const auto to = (reinterpret_cast<uintptr_t>(begin) + size_bytes) / page * page;
  if (from < to)
    static_cast<void>(::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED));
#endif
}

}  // namespace lsm
