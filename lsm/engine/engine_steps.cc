// Engine: compactions in small steps, while space is short (lsm/compaction/steps.h).
#include <algorithm>
#include <memory>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/compaction/steps.h"
#include "lsm/engine/engine.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status Engine::Compact(Compaction* compaction, JobResult* result) {
  const CompactionPlan& plan = *compaction->plan;
  // A move needs no space, and no one needs a compaction for readers.
  const bool may_go_in_steps = !plan.trivial_move && !plan.for_readers;
  // One that went in steps and failed on a full disk goes on in steps.
  const bool has_begun = compaction->version == nullptr;
  if (has_begun || (may_go_in_steps && IsRoomShort())) return CompactInSteps(compaction, result);
  return CompactPlan(*compaction->version, plan, compaction->snapshots, result);
}

absl::Status Engine::CompactInSteps(Compaction* compaction, JobResult* result) {
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  // Between steps the job holds no table that is not part of the plan, so that files can go.
  compaction->version.reset();
  PlanLeft left = AllOf(*compaction->plan);
  while (!left.plan.inputs.empty()) {
    TRELLIS_RETURN_IF_ERROR(TakeStep(compaction, &left, result));
    CollectPatiently();
  }
  result->output_level = left.plan.output_level;
  result->outputs = std::move(left.plan.overlapped);
  counters_.Add(Counter::kCompactions, 1);
  counters_.Add(Counter::kCompactionNanos, store_.environment.clock->MonotonicNanos() - from);
  return absl::OkStatus();
}

absl::Status Engine::TakeStep(Compaction* compaction, PlanLeft* left, JobResult* total) {
  JobStart start;
  {
    MutexLock lock(&mutex_);
    start = BeginJob();
  }
  const std::shared_ptr<const Version> version = start.view->version;
  start.view.reset();
  const CompactionPlan step = NextStep(*version, *left, options_.table_bytes).value();
  const auto stop = [this] { return closing_.load(std::memory_order_relaxed); };
  TRELLIS_ASSIGN_OR_RETURN(const JobResult result,
                           RunCompaction(job_context_, *version, step, start.snapshots, stop));
  PlanLeft next = LeftAfter(*left, step, result.outputs);
  const auto plan = std::make_shared<const CompactionPlan>(next.plan);
  // With the view, so that no other compaction is chosen for the outputs before.
  const auto replace = [&](ReadView*) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (level0_plan_ == compaction->plan.get()) level0_plan_ = plan.get();
    schedule_.Replace(compaction, plan);
  };
  TRELLIS_RETURN_IF_ERROR(ApplyCompaction(step, result, replace));
  *left = std::move(next);
  total->bytes_read += result.bytes_read;
  total->bytes_written += result.bytes_written;
  total->entries_dropped += result.entries_dropped;
  return absl::OkStatus();
}

}  // namespace lsm
