// All compaction styles, for code that visits each: checks of options, tests and benchmarks.
#ifndef TRELLIS_LSM_BASE_COMPACTION_STYLES_H_
#define TRELLIS_LSM_BASE_COMPACTION_STYLES_H_

#include <cstddef>

#include "bloom/core/abi.h"
#include "lsm/options.h"

namespace lsm::inline TRELLIS_ABI {

// In the order of their numbers, which begin with 0.  ValidateOptions relies on that.
inline constexpr CompactionStyle kCompactionStyles[] = {
    CompactionStyle::kLeveled, CompactionStyle::kTiered, CompactionStyle::kLazyLeveled};
static_assert([] {
  size_t number = 0;
  for (const CompactionStyle style : kCompactionStyles) {
    if (static_cast<size_t>(style) != number++) return false;
  }
  return true;
}());

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_COMPACTION_STYLES_H_
