// Which filter the tables get that a job writes: Options::filter_kind and target_fpp, or what
// Options::filter_goal makes of the sizes that the runs will have after the job.
//
// Pure but for the allocator's curves, which it remembers.
#ifndef TRELLIS_LSM_COMPACTION_FILTER_PLAN_H_
#define TRELLIS_LSM_COMPACTION_FILTER_PLAN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/compaction/job_context.h"
#include "lsm/compaction/output_filters.h"
#include "lsm/compaction/picker.h"
#include "lsm/options.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

// Sets those members of the context that say which filters tables get.  REQUIRES: options that
// ValidateOptions let pass.
absl::Status ChooseFilters(const Options& options, JobContext* context);

// The filter of Options::filter_kind and target_fpp.  Also for a repair, which does not know the
// sizes of the runs: its tables get the filters of the goal when they are compacted.
TableFilter UsualFilter(const JobContext& context, int level);

// For the table of a flush of about so many keys; as of average hotness, for its memtable does not
// count the lookups of its keys.
absl::StatusOr<TableFilter> PlanFlush(const JobContext& context, const Version& version,
                                      uint64_t keys);

// Both say too whether filters and indexes are cut into partitions (partition_plan.h).
//
// For the outputs of a compaction: for each what the hotness of its range of keys says, as it was
// counted of the plan's tables until now.
absl::StatusOr<OutputFilters> PlanFilters(const JobContext& context, const Version& version,
                                          const CompactionPlan& plan);

// Whether tables that could be moved down as they are should be rewritten instead, because the
// filters take more memory than the goal allows, and these more than their new run's share: those
// of a small run, whose keys get many bits, must not come to stand in a large one.
bool MoveKeepsTooMuch(const JobContext& context, const Version& version,
                      const CompactionPlan& plan);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_FILTER_PLAN_H_
