// The work of flushing and compacting: from sorted entries to an edit.  Nothing here knows the
// engine; a job reads its inputs, writes tables, and says what to change.
#ifndef TRELLIS_LSM_COMPACTION_JOBS_H_
#define TRELLIS_LSM_COMPACTION_JOBS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/compaction/job_context.h"
#include "lsm/compaction/output_filters.h"
#include "lsm/compaction/picker.h"
#include "lsm/iterator.h"
#include "lsm/version/version.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

// The result of a job: tables that are written, synced and open, but part of no version yet.
struct JobResult {
  OpenTables outputs;
  int output_level = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t entries_dropped = 0;
};

// Sequence numbers as of which someone may read, ascending, without doubles.
using SnapshotList = std::vector<Sequence>;

// Writes all entries to tables of `level`, run 0, with such a filter
// (lsm/compaction/filter_plan.h), each of at most `table_bytes_max` (but never split within a user
// key), leaving out those that no snapshot can see any more, and doubles.  Tombstones stay.
absl::StatusOr<JobResult> RunMerge(const JobContext& context, Iterator& entries,
                                   const TableFilter& filter, int level, uint64_t table_bytes_max,
                                   const SnapshotList& snapshots);

// The same for a sealed memtable's entries: one table of level 0.
absl::StatusOr<JobResult> RunFlush(const JobContext& context, Iterator& entries,
                                   const TableFilter& filter, const SnapshotList& snapshots);

// Merges the plan's tables.  Leaves out versions that no reader can see: a newer one of the same
// key exists, and no snapshot lies between; and tombstones that hide nothing: no snapshot before
// them, and no table below or of an older run of the output's level that may hold the key.  `stop`
// is asked at the beginning and from time to time; true ends the job with Aborted.  Of a plan that
// could be a trivial move, it writes the same entries again; of copies, one.
absl::StatusOr<JobResult> RunCompaction(const JobContext& context, const Version& version,
                                        const CompactionPlan& plan, const SnapshotList& snapshots,
                                        const std::function<bool()>& stop);

// The edit that a plan and its result make (a trivial move has no result).
VersionEdit EditOf(const CompactionPlan& plan, const JobResult* result);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_JOBS_H_
