#include "lsm/compaction/compaction_run.h"

#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status CompactionRun::Run(JobResult* result) {
  const CompactionPlan& plan = *job_.plan;
  if (plan.drops) return Drop();
  // A move needs no space, and a compaction for readers is optional.
  const bool may_go_in_steps = !plan.trivial_move && !plan.for_readers;
  in_steps_ = in_steps_ || (may_go_in_steps && calls_.is_room_short());
  return in_steps_ ? RunInSteps(result) : RunAtOnce(result);
}

absl::Status CompactionRun::Drop() {
  const CompactionPlan& plan = *job_.plan;
  const JobResult nothing;
  TRELLIS_RETURN_IF_ERROR(calls_.apply(plan, &nothing, nullptr));
  counters_.Add(Counter::kTablesDroppedUnread, plan.inputs.size());
  counters_.Add(Counter::kBytesDroppedUnread, BytesTakenBy(plan));
  return absl::OkStatus();
}

absl::Status CompactionRun::RunAtOnce(JobResult* result) {
  const CompactionPlan& plan = *job_.plan;
  const Tree& tree = *job_.tree;
  if (plan.trivial_move && !MoveKeepsTooMuch(context_, tree, plan)) {
    counters_.Add(Counter::kTrivialMoves, 1);
    counters_.Add(Counter::kCompactionsForReaders, plan.for_readers);
    counters_.Add(Counter::kCompactionsForTombstones, plan.for_tombstones);
    return calls_.apply(plan, nullptr, nullptr);
  }
  const uint64_t from = context_.clock->MonotonicNanos();
  TRELLIS_ASSIGN_OR_RETURN(*result,
                           RunCompaction(context_, tree, plan, job_.snapshots, calls_.stop));
  TRELLIS_RETURN_IF_ERROR(calls_.apply(plan, result, nullptr));
  counters_.Add(Counter::kCompactions, 1);
  counters_.Add(Counter::kCompactionsForReaders, plan.for_readers);
  counters_.Add(Counter::kCompactionsForTombstones, plan.for_tombstones);
  counters_.Add(Counter::kCompactionNanos, context_.clock->MonotonicNanos() - from);
  return absl::OkStatus();
}

absl::Status CompactionRun::RunInSteps(JobResult* result) {
  const uint64_t from = context_.clock->MonotonicNanos();
  // Between steps the job keeps only the plan's tables open, so that obsolete files can be removed.
  job_.tree.reset();
  PlanLeft left = AllOf(*job_.plan);
  while (!left.plan.inputs.empty()) {
    TRELLIS_RETURN_IF_ERROR(TakeStep(&left, result));
    calls_.collect();
  }
  result->output_level = left.plan.output_level;
  result->outputs = std::move(left.plan.overlapped);
  counters_.Add(Counter::kCompactions, 1);
  counters_.Add(Counter::kCompactionsForTombstones, left.plan.for_tombstones);
  counters_.Add(Counter::kCompactionNanos, context_.clock->MonotonicNanos() - from);
  return absl::OkStatus();
}

absl::Status CompactionRun::TakeStep(PlanLeft* left, JobResult* total) {
  const Now now = calls_.now();
  if (now.tree == nullptr) return TreeIsGone();
  const CompactionPlan step = NextStep(*now.tree, *left, context_.options->table_bytes).value();
  TRELLIS_ASSIGN_OR_RETURN(const JobResult result,
                           RunCompaction(context_, *now.tree, step, now.snapshots, calls_.stop));
  PlanLeft next = LeftAfter(*left, step, result.outputs);
  TRELLIS_RETURN_IF_ERROR(
      calls_.apply(step, &result, std::make_shared<const CompactionPlan>(next.plan)));
  *left = std::move(next);
  total->bytes_read += result.bytes_read;
  total->bytes_written += result.bytes_written;
  total->entries_dropped += result.entries_dropped;
  return absl::OkStatus();
}

}  // namespace lsm
