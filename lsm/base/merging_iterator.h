// Merges sorted inputs of internal keys.  Two inputs may have the same internal key with the same
// value, as copies left by a compaction in steps (lsm/compaction/steps.h).
#ifndef TRELLIS_LSM_BASE_MERGING_ITERATOR_H_
#define TRELLIS_LSM_BASE_MERGING_ITERATOR_H_

#include <memory>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/iterator.h"

namespace lsm::inline TRELLIS_ABI {

// An input: the iterator of a memtable, a table or a run.  Unlike a user's iterator, it must not
// outlive what it walks.
class InnerIterator : public Iterator {
 public:
  // A hint before Seek(target) or SeekForPrev(target): starts loading what they will read, without
  // waiting.  Call it with step 0 to kSeekSteps - 1, in order; each step builds on the one before.
  // A caller that seeks several iterators takes each step in all of them before the next, so that
  // their waits overlap.
  static constexpr int kSeekSteps = 4;
  virtual void PrefetchSeek(std::string_view /*target*/, int /*step*/) {}
};

// Yields the entries of all inputs in the order of internal keys, and each copy separately.
// Reversing the direction skips all copies of the current entry.  If an input fails, the whole
// fails: no entry is skipped silently.
std::unique_ptr<Iterator> NewMergingIterator(std::vector<std::unique_ptr<InnerIterator>> inputs);

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_MERGING_ITERATOR_H_
