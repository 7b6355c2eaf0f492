// Chooses the filters of the tables that a job writes: by Options::filter_kind and target_fpp, or
// by Options::filter_goal and the sizes that the runs will have after the job.
//
// The results depend only on the arguments.  The allocator caches its curves.
#ifndef TRELLIS_LSM_COMPACTION_FILTER_PLAN_H_
#define TRELLIS_LSM_COMPACTION_FILTER_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/compaction/job_context.h"
#include "lsm/compaction/output_filters.h"
#include "lsm/compaction/picker.h"
#include "lsm/filters/tree_runs.h"
#include "lsm/options.h"
#include "lsm/version/tree.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

// Sets the members of the context that choose filters.  REQUIRES: options that ValidateOptions
// accepts.
absl::Status ChooseFilters(const Options& options, JobContext* context);

// The context of jobs that work on the tree of this keyspace: the store's context, with the options
// that `own` has for the keyspace, if any.  `store` and `own` outlive the result.  The bytes are
// those of Version::FilterIndexBytesBeside.
absl::StatusOr<JobContext> ContextOfTree(const JobContext& store, const OwnOptions& own,
                                         KeyspaceId keyspace, uint64_t filter_index_bytes_beside);

// The runs of a tree as they are.  `context`: of the tree.
RunsOfTree RunsNow(const JobContext& context, const Tree& tree);

// For a filter goal: the runs of all trees of the version except those of `keyspaces`, which the
// job writes to.  Otherwise empty.  Keeps no table.  `store` is the store's context, as above.
absl::StatusOr<std::vector<RunsOfTree>> TreesBeside(const JobContext& store, const OwnOptions& own,
                                                    const Version& version,
                                                    std::span<const KeyspaceId> keyspaces);

// Sets how the job counts the lookups of the tree: each new table notes how many there were before
// it.
void SetTree(const Tree& tree, JobContext* context);

// The filter of Options::filter_kind and target_fpp.  Repair uses it too, because it does not know
// the sizes of the runs: its tables get the filters of the goal when they are compacted.
TableFilter UsualFilter(const JobContext& context, int level);

// The table that a flush adds to level 0 of a tree.
struct FlushOutput {
  const JobContext* context = nullptr;  // of the tree
  const Tree* tree = nullptr;
  uint64_t keys = 0;  // about
};
// The filters for all tables of a flush, with the sizes of their partitions (partition_plan.h).
// Assumes average hotness for the keys of a tree, because a memtable does not count lookups.
// `trees_beside`: all other trees (JobContext).
absl::StatusOr<std::vector<TableFilter>> PlanFlush(std::span<const FlushOutput> outputs,
                                                   const std::vector<RunsOfTree>& trees_beside);
// The same for a flush of one table.
absl::StatusOr<TableFilter> PlanFlush(const JobContext& context, const Tree& tree, uint64_t keys);

// The same for the outputs of a compaction.  The filter of an output depends on the hotness of its
// range of keys, as the plan's tables have counted it so far.
absl::StatusOr<OutputFilters> PlanFilters(const JobContext& context, const Tree& tree,
                                          const CompactionPlan& plan);

// Whether tables that could be moved down as they are should be rewritten instead: the store's
// filters take more memory than the goal allows, and the filters of these tables take more than
// their share in the new run.  The keys of a small run get many bits, which are too many for a
// large run.
bool MoveKeepsTooMuch(const JobContext& context, const Tree& tree, const CompactionPlan& plan);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_FILTER_PLAN_H_
