// The work of flushing and compacting: a job reads its inputs, writes tables, and returns the edit
// that records them.  Nothing here knows the engine.
#ifndef TRELLIS_LSM_COMPACTION_JOBS_H_
#define TRELLIS_LSM_COMPACTION_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/compaction/job_context.h"
#include "lsm/compaction/output_filters.h"
#include "lsm/compaction/picker.h"
#include "lsm/iterator.h"
#include "lsm/table/table.h"
#include "lsm/version/snapshot_list.h"
#include "lsm/version/tree.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

// The result of a job: tables that are written, synced and open, but part of no version yet.
struct JobResult {
  OpenTables outputs;
  int output_level = 0;
  // In a flush: the first N outputs are for level 1 (RunLeaving).
  size_t outputs_of_leaver = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t entries_dropped = 0;
  uint64_t tombstones_dropped = 0;  // part of these: tombstones that hid nothing
};

// How a job reads its tables: front to back, past the block cache.
Table::ScanOptions ScanOfJob();

// Returns the current tree, for a flush.  All entries and range deletes of the keyspace that are
// older than the memtable must be in it.
using TablesNow = std::function<std::shared_ptr<const Tree>()>;

// Flushes one keyspace of a sealed memtable: writes its entries and range deletes to one table, for
// level 0 of its tree, with this filter (lsm/compaction/filter_plan.h).  Drops
//
//   version     a newer one of the same key exists, or a range delete above it that covers the key,
//               and no snapshot lies between them
//   tombstone   it hides nothing: no snapshot is older, and no table's span holds the key
//   expired     the put has expired for each reader that may see it, and hides nothing, like such a
//               tombstone.  If it hides something, a tombstone replaces it
//   range       likewise: it shrinks to the keys that it may hide
//
// If nothing is left, there is no table.  `tables_now` is called only for tombstones and ranges.
// The tree is not held for long, so that the files of obsolete tables can be removed meanwhile.  If
// not all tables are known, `tables_now` is null.  Then no tombstone and no range is dropped.
// `age_nanos`: how long ago the memtable's first entry may have been written.
// `along`: the newest table of level 0, which the output will replace.  Then `entries` and `ranges`
// are those of the memtable and of this table.  Null: there is none.
absl::StatusOr<JobResult> RunFlush(const JobContext& context, Iterator& entries,
                                   const RangeMap& ranges, const TableFilter& filter,
                                   const SnapshotList& snapshots, const TablesNow& tables_now,
                                   uint64_t age_nanos = 0, KeyspaceId keyspace = kDefaultKeyspace,
                                   const OpenTable* along = nullptr);

// Takes a keyspace out of the common tree: merges its entries and range deletes there with those of
// a sealed memtable, about `keys` of them, into tables for level 1 of a new tree.  `context` is the
// new tree's (ContextOfTree).  All entries that are older than the memtable must be in `common`.
// Drops what a compaction into the last level drops.  `stop` and `age_nanos`: as below and above.
absl::StatusOr<JobResult> RunLeaving(const JobContext& context, const Tree& common,
                                     KeyspaceId keyspace, std::unique_ptr<InnerIterator> entries,
                                     const RangeMap& ranges, uint64_t keys,
                                     const SnapshotList& snapshots, uint64_t age_nanos,
                                     const std::function<bool()>& stop);

// Merges the plan's tables and drops entries that no reader needs:
//
//   version     a newer one of the same key exists, or a range delete above it that covers the key,
//               and no snapshot lies between them
//   tombstone   it hides nothing: no snapshot is older, and neither a table below nor an older run
//               of the output's level may hold the key
//   expired     likewise, as in a flush
//   range       likewise: it shrinks to the keys that it may hide.  Those that no snapshot tells
//               apart become one
//   copy        of several copies of an entry or range, one stays
//   dead        in the common tree, an entry or range of no member (Tree::members)
//
// Calls `stop` at the beginning and from time to time; if it returns true, the job ends with
// Aborted.  A plan that could be a trivial move is merged as well: the entries stay the same.
absl::StatusOr<JobResult> RunCompaction(const JobContext& context, const Tree& tree,
                                        const CompactionPlan& plan, const SnapshotList& snapshots,
                                        const std::function<bool()>& stop);

// The error of a job whose tree was dropped meanwhile: Cancelled.
absl::Status TreeIsGone();

// The edit that records a plan and its result (null for a trivial move).
VersionEdit EditOf(const CompactionPlan& plan, const JobResult* result);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_JOBS_H_
