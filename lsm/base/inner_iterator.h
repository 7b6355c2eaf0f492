// Iterators within the store.
#ifndef TRELLIS_LSM_BASE_INNER_ITERATOR_H_
#define TRELLIS_LSM_BASE_INNER_ITERATOR_H_

#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/iterator.h"

namespace lsm::inline TRELLIS_ABI {

// The iterator of a memtable, a table or a run, and an input of a merge.  Unlike a user's iterator,
// it must not outlive what it walks.
class InnerIterator : public Iterator {
 public:
  // A hint before Seek(target) or SeekForPrev(target): starts loading what they will read, without
  // waiting.  Call it with step 0 to kSeekSteps - 1, in order; each step builds on the one before.
  // A caller that seeks several iterators takes each step in all of them before the next, so that
  // their waits overlap.
  static constexpr int kSeekSteps = 4;
  virtual void PrefetchSeek(std::string_view /*target*/, int /*step*/) {}
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_INNER_ITERATOR_H_
