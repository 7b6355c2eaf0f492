// Carries out a chosen compaction: drops its tables, moves them, merges them at once, or merges
// them in small steps while space is short (steps.h).
//
// Used by one thread, the job's.  Returns errors of reading, writing and recording, Aborted if it
// was stopped, and Cancelled if the tree is gone, since its keyspace was dropped.  After a failure
// because of a full disk, Run may be called again.
#ifndef TRELLIS_LSM_COMPACTION_COMPACTION_RUN_H_
#define TRELLIS_LSM_COMPACTION_COMPACTION_RUN_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/compaction/compaction_schedule.h"
#include "lsm/compaction/job_context.h"
#include "lsm/compaction/jobs.h"
#include "lsm/compaction/steps.h"
#include "lsm/version/tree.h"

namespace lsm::inline TRELLIS_ABI {

class CompactionRun {
 public:
  using Plan = std::shared_ptr<const CompactionPlan>;

  // The plan's tree in the current version, and the snapshots of the same moment.
  struct Now {
    std::shared_ptr<const Tree> tree;  // null: its keyspace was dropped
    SnapshotList snapshots;
  };

  // The functions of the store that the run calls.
  struct Calls {
    std::function<Now()> now;
    std::function<bool()> is_room_short;
    std::function<bool()> stop;  // the store is being closed, or the keyspace was dropped
    // Replaces the tables that `plan` (the job's, or a step of it) removes by the result (null: a
    // move), durably and visibly.  A `left` that is not null becomes the job's plan at the same
    // moment.
    std::function<absl::Status(const CompactionPlan& plan, const JobResult* result,
                               const Plan& left)>
        apply;
    // Removes the files that a step has made obsolete.
    std::function<void()> collect;
  };

  // The pointers outlive it.  REQUIRES: the job has a plan and has begun.
  CompactionRun(const JobContext* context, Counters* counters, Calls calls,
                CompactionSchedule::Job* job)
      : context_(*context), counters_(*counters), calls_(std::move(calls)), job_(*job) {}
  CompactionRun(const CompactionRun&) = delete;
  CompactionRun& operator=(const CompactionRun&) = delete;

  // A run that failed in steps continues in steps.
  absl::Status Run(JobResult* result);

 private:
  absl::Status Drop();
  absl::Status RunAtOnce(JobResult* result);
  absl::Status RunInSteps(JobResult* result);
  // REQUIRES: something is left.
  absl::Status TakeStep(PlanLeft* left, JobResult* total);

  const JobContext& context_;
  Counters& counters_;
  const Calls calls_;
  CompactionSchedule::Job& job_;
  bool in_steps_ = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_COMPACTION_RUN_H_
