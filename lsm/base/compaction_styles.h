// All compaction styles, for code that visits each: checks of options, tests and benchmarks.
#ifndef TRELLIS_LSM_BASE_COMPACTION_STYLES_H_
#define TRELLIS_LSM_BASE_COMPACTION_STYLES_H_

#include "bloom/core/abi.h"
#include "lsm/options.h"

namespace lsm::inline TRELLIS_ABI {

// In the order of their numbers, which begin with 0.
inline constexpr CompactionStyle kCompactionStyles[] = {
    CompactionStyle::kLeveled, CompactionStyle::kTiered, CompactionStyle::kLazyLeveled};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_COMPACTION_STYLES_H_
