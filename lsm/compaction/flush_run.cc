#include "lsm/compaction/flush_run.h"

#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status FlushRun::Run(std::vector<List> lists, const SnapshotList& snapshots,
                           uint64_t age_nanos, JobResult* result) {
  absl::Status status = CatchOutOfMemory([&] {
    for (const List& list : lists)
      TRELLIS_RETURN_IF_ERROR(RunList(list, snapshots, age_nanos, result));
    return absl::OkStatus();
  });
  if (status.ok()) return status;
  // Best effort, as in TableOutput.
  for (const auto& table : result->outputs) {
    CatchOutOfMemory([&] {
      return context_.directory->Remove(TableFileName(table->meta.number));
    }).IgnoreError();
  }
  *result = {};
  return status;
}

absl::Status FlushRun::RunList(const List& list, const SnapshotList& snapshots, uint64_t age_nanos,
                               JobResult* result) {
  const uint64_t bytes_beside = version_now_()->FilterIndexBytesBeside(list.keyspace);
  TRELLIS_ASSIGN_OR_RETURN(const JobContext context,
                           ContextOfTree(context_, own_options_, list.keyspace, bytes_beside));
  const TablesNow tree_now = [&] { return version_now_()->ShareTree(list.keyspace); };
  TRELLIS_ASSIGN_OR_RETURN(const TableFilter filter, PlanFlush(context, *tree_now(), list.keys));
  result->outputs.reserve(result->outputs.size() + 1);  // before there is a file
  TRELLIS_ASSIGN_OR_RETURN(
      JobResult of_list, RunFlush(context, *list.entries, list.ranges, filter, snapshots, tree_now,
                                  age_nanos, list.keyspace));
  for (auto& table : of_list.outputs) result->outputs.push_back(std::move(table));
  result->bytes_written += of_list.bytes_written;
  result->entries_dropped += of_list.entries_dropped;
  result->tombstones_dropped += of_list.tombstones_dropped;
  return absl::OkStatus();
}

}  // namespace lsm
