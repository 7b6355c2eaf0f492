// Numbers the compaction styles, so that stores can be opened with each in turn.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_STYLES_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_STYLES_H_

#include <cstdint>
#include <iterator>

#include "lsm/base/compaction_styles.h"
#include "lsm/options.h"

namespace reliability {

inline lsm::CompactionStyle StyleOf(uint64_t number) {
  return lsm::kCompactionStyles[number % std::size(lsm::kCompactionStyles)];
}

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_STYLES_H_
