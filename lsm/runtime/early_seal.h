// When a memtable is sealed before it is full: as soon as its deletes, drops or limits would pay
// for its flush, or all of its entries have expired.
//
// Tombstones: in each tree, the memtable counts as the table of level 0 that its flush would make
// there.  If the rule for tombstones (lsm/compaction/picker.h) would take one such table at once,
// the flush is worth it.  So the tombstones of a few large values are flushed soon.  Those of a few
// small values wait until the memtable is full, or a week old.  The last tombstones of a tree are a
// sample of all: each counts with the bytes of its key and those that it covers.  The table's bytes
// are those of these keys, and the memory of all other entries in the memtable, since a flush
// writes all of them.
//
// Range deletes: once a range is in a table, it frees each table that it contains whole, without a
// merge (NeedlessTable in lsm/version/tree.h).  The memtable is due if such tables of all trees
// have as many bytes as the flush makes others write:
//
//   1 MiB for the syncs (kBytesMergedPerJob), and the bytes of the memtable
//   for each tree with entries there, its part of the next merge of level 0: the bytes of level 1,
//   divided by level0_compaction_tables.  Without entries, its table hides nothing after the drop,
//   and goes
//
// Tables do not count if a snapshot holds them, or if they are needless without the flush.
// Otherwise a program that repeats a range delete beside a snapshot would flush each time.
//
// A week: a memtable of this age is due if it has any delete, range delete or drop.
//
// Drops: the flush that covers the drop of a keyspace removes its tree.  The memtable is due if the
// tree has at least as many bytes as the flush makes other trees write.  A smaller drop waits for
// the next flush, or a week, and so does one in the common tree, whose tables go with compactions.
//
// Limits: a compaction does not use a lower limit of a keyspace before the flush that records it
// (lsm/design/expiry.md).  The memtable is due if its limits let at least as many more bytes of
// tables expire as the flush makes others write.
//
// Expiry: the flush of a memtable whose puts have all expired for all readers writes no value, and
// frees the memory and the log.  The memtable is due if it takes at least 1 MiB: the syncs of a
// flush cost as much as merging that many bytes.  So an idle store keeps no more than that.
//
// Reads memory alone.  Thread-safe.  Throws std::bad_alloc.
#ifndef TRELLIS_LSM_RUNTIME_EARLY_SEAL_H_
#define TRELLIS_LSM_RUNTIME_EARLY_SEAL_H_

#include <cstdint>

#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/compaction/jobs.h"
#include "lsm/options.h"
#include "lsm/runtime/read_view.h"

namespace lsm::inline TRELLIS_ABI {

// Whether the active memtable of the view should be sealed.  `visible`: LiveViews::VisibleIn, for
// this view.  `now_nanos`: the monotonic time.
bool IsSealDue(const ReadView& view, Sequence visible, const SnapshotList& snapshots,
               uint64_t now_nanos, const bloom::DigestSeed& digest_seed, const Options& options);

// The same, but judges only the drop of a keyspace, which is in the memtable.
bool IsDropDue(const ReadView& view, KeyspaceId keyspace, const Options& options);

// The same, but judges only the limits that no flush has recorded (Keyspaces::Unrecorded).
bool AreLimitsDue(const ReadView& view, const SnapshotList& present, const SnapshotList& recorded,
                  const Options& options);

// The same, for these range deletes of the default keyspace alone.  A leader asks this after a
// group with range deletes, unless a sealed memtable waits for its flush.  So it must not take
// long.  Tree::BytesUnder says what it costs, besides a look at each tree.
bool AreRangesDue(const ReadView& view, const RangeMap& ranges, const SnapshotList& snapshots,
                  const Options& options);

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_EARLY_SEAL_H_
