// Several sorted inputs as one.  Inputs hold internal keys, no two of which are equal across
// inputs.
#ifndef TRELLIS_LSM_BASE_MERGING_ITERATOR_H_
#define TRELLIS_LSM_BASE_MERGING_ITERATOR_H_

#include <memory>
#include <vector>

#include "lsm/base/iterator.h"

namespace lsm {

// Yields the entries of all inputs in the order of internal keys.  The first input that fails makes
// the whole fail: an entry is never skipped silently.
std::unique_ptr<Iterator> NewMergingIterator(std::vector<std::unique_ptr<Iterator>> inputs);

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_MERGING_ITERATOR_H_
