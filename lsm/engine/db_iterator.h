// Iterates over user keys, as of one sequence number and one time: hides older versions, tombstones
// and expired entries, and stays within the bounds.
#ifndef TRELLIS_LSM_ENGINE_DB_ITERATOR_H_
#define TRELLIS_LSM_ENGINE_DB_ITERATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/merging_iterator.h"
#include "lsm/environment.h"
#include "lsm/iterator.h"
#include "lsm/runtime/known_gaps.h"

namespace lsm::inline TRELLIS_ABI {

// Times some of the seeks: those whose number, counted on from `first`, is a multiple of
// kSeeksPerTime.
struct SeekTimer {
  Counters* counters = nullptr;  // null: none
  Clock* clock = nullptr;
  uint64_t first = 0;
};

// The gaps over which an iterator jumps, and to which it adds those that it walks over.
struct GapUse {
  KnownGaps* known = nullptr;  // null: none
  ReadPoint point;             // what `entries` hold, at the iterator's sequence
  // `entries`, if they are a merge with range deletes, which tells of its walks.
  CoveringIterator* covering = nullptr;
  // A walk over at least kDeadPerCharge dead entries calls it for each part of it, with the
  // keyspace of `point`, a dead key there and the number of entries (lsm/version/tombstone_rent.h).
  // Throws nothing.  Null: none.  A function with two pointers takes no memory.
  std::function<void(KeyspaceId keyspace, std::string_view user_key, uint64_t entries)> charge =
      nullptr;

  static constexpr uint64_t kDeadPerCharge = 32;
};

// The work of an iterator in its life.
struct IteratorCounts {
  uint64_t seeks = 0;
  uint64_t dead_entries = 0;  // walked over
  uint64_t gap_jumps = 0;
  uint64_t range_jumps = 0;
};

// `entries` iterates over internal keys.  A version that `expiry` hides is like a tombstone.
// `on_destroy` is called last, after `entries` was destroyed.  It releases what `entries` and
// `gaps` read from.
std::unique_ptr<Iterator> NewDbIterator(std::unique_ptr<InnerIterator> entries, Sequence sequence,
                                        const ExpiryView& expiry, IteratorBounds bounds,
                                        const SeekTimer& timer, GapUse gaps,
                                        std::function<void(const IteratorCounts&)> on_destroy);

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_DB_ITERATOR_H_
