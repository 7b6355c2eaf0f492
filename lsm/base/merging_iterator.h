// Several sorted inputs as one.  Inputs hold internal keys.  Two inputs may hold the same internal
// key, with the same value: copies, as a compaction in steps leaves them (lsm/compaction/steps.h).
#ifndef TRELLIS_LSM_BASE_MERGING_ITERATOR_H_
#define TRELLIS_LSM_BASE_MERGING_ITERATOR_H_

#include <memory>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/iterator.h"

namespace lsm::inline TRELLIS_ABI {

// Yields the entries of all inputs in the order of internal keys, each of several copies by itself.
// A move in the other direction than the one before passes all copies of the current entry.  The
// first input that fails makes the whole fail: an entry is never skipped silently.
std::unique_ptr<Iterator> NewMergingIterator(std::vector<std::unique_ptr<Iterator>> inputs);

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_MERGING_ITERATOR_H_
