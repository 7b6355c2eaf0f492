// Merges sorted inputs of internal keys.  Two inputs may have the same internal key with the same
// value, as copies left by a compaction in steps (lsm/compaction/steps.h).
#ifndef TRELLIS_LSM_BASE_MERGING_ITERATOR_H_
#define TRELLIS_LSM_BASE_MERGING_ITERATOR_H_

#include <memory>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/iterator.h"

namespace lsm::inline TRELLIS_ABI {

// Yields the entries of all inputs in the order of internal keys, and each copy separately.
// Reversing the direction skips all copies of the current entry.  If an input fails, the whole
// fails: no entry is skipped silently.
std::unique_ptr<InnerIterator> NewMergingIterator(
    std::vector<std::unique_ptr<InnerIterator>> inputs);

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_MERGING_ITERATOR_H_
