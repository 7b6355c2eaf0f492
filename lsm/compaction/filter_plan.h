// Which filter the tables get that a job writes: Options::filter_kind and target_fpp, or what
// Options::filter_goal makes of the sizes that the runs will have after the job.
//
// Pure but for the allocator's curves, which it remembers.
#ifndef TRELLIS_LSM_COMPACTION_FILTER_PLAN_H_
#define TRELLIS_LSM_COMPACTION_FILTER_PLAN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/base/options.h"
#include "lsm/compaction/picker.h"
#include "lsm/compaction/table_output.h"
#include "lsm/version/version.h"

namespace lsm {

// Sets those members of the context that say which filters tables get.  REQUIRES: options that
// ValidateOptions let pass.
absl::Status ChooseFilters(const Options& options, JobContext* context);

// What Options::filter_kind and target_fpp say.  For a repair, too, which does not know the sizes
// of the runs: what it writes gets what the goal wants when it is compacted.
TableFilter UsualFilter(const JobContext& context, int level);

// What a job is about to write, about.
struct PlannedOutput {
  int level = 0;
  uint32_t run = 0;  // of the level, which it becomes or joins; in level 0 it is one for itself
  uint64_t keys = 0;
  uint64_t bytes = 0;  // of tables
};

// `leaving` are tables of the version that the output is written in place of.
absl::StatusOr<TableFilter> PlanFilter(const JobContext& context, const Version& version,
                                       const OpenTables& leaving, const PlannedOutput& output);
// For the outputs of a compaction.
absl::StatusOr<TableFilter> PlanFilter(const JobContext& context, const Version& version,
                                       const CompactionPlan& plan);

// Whether tables that could be moved down as they are should be written anew instead, because the
// filters take more memory than the goal allows, and these more than their new run's share: those
// of a small run, whose keys get many bits, must not come to stand in a large one.
bool MoveKeepsTooMuch(const JobContext& context, const Version& version,
                      const CompactionPlan& plan);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_FILTER_PLAN_H_
