// When a memtable is sealed before it is full: as soon as its tombstones would pay for its flush.
//
// The memtable counts as the table of level 0 that its flush would make.  If the rule for
// tombstones (lsm/compaction/picker.h) would take that table at once, the flush is worth it.  So
// the tombstones of a few large values are flushed soon.  Those of a few small values wait until
// the memtable is full, or a week old.
//
// Reads memory alone.  Thread-safe.  Throws std::bad_alloc.
#ifndef TRELLIS_LSM_RUNTIME_EARLY_SEAL_H_
#define TRELLIS_LSM_RUNTIME_EARLY_SEAL_H_

#include <cstdint>

#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/base/internal_key.h"
#include "lsm/runtime/read_view.h"

namespace lsm::inline TRELLIS_ABI {

// Whether the active memtable of the view should be sealed.  `visible`: LiveViews::VisibleIn, for
// this view.  `oldest_snapshot`: kSequenceMax if there is none.  `now_nanos`: the monotonic time.
bool IsSealDue(const ReadView& view, Sequence visible, Sequence oldest_snapshot, uint64_t now_nanos,
               const bloom::DigestSeed& digest_seed);

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_EARLY_SEAL_H_
