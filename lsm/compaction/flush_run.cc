#include "lsm/compaction/flush_run.h"

#include <algorithm>
#include <set>

#include "lsm/bytes/status.h"
#include "lsm/compaction/common_output.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/leaving.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {

namespace {

enum class PlaceInTables { kNowhere, kOwnTree, kCommonTree };

// Where the entries of keyspaces go.
class PlacesOfLists {
 public:
  PlacesOfLists(const Version& version, const VersionEdit& edit)
      : version_(version), dropped_(edit.dropped_keyspaces.begin(), edit.dropped_keyspaces.end()) {
    for (const KeyspaceRecord& record : edit.keyspaces) named_.insert(record.id);
  }

  PlaceInTables Of(KeyspaceId keyspace) const {
    if (dropped_.contains(keyspace)) return PlaceInTables::kNowhere;
    if (version_.TreeOf(keyspace) != nullptr) return PlaceInTables::kOwnTree;
    // Or else an earlier edit has dropped it, or this memtable has created and dropped it.
    const bool exists = version_.members()->Has(keyspace) || named_.contains(keyspace);
    return exists ? PlaceInTables::kCommonTree : PlaceInTables::kNowhere;
  }

 private:
  const Version& version_;
  const std::set<KeyspaceId> dropped_;
  std::set<KeyspaceId> named_;  // new ones among them
};

}  // namespace

absl::Status FlushRun::Run(const std::vector<List>& lists, Sequence last_sequence,
                           const SnapshotList& snapshots, uint64_t age_nanos, VersionEdit* edit,
                           JobResult* result) {
  absl::Status status = CatchOutOfMemory(
      [&] { return RunLists(lists, last_sequence, snapshots, age_nanos, edit, result); });
  if (!status.ok()) RemoveOutputs(result);
  return status;
}

void FlushRun::RemoveOutputs(JobResult* result) {
  // Best effort, as in TableOutput.
  for (const auto& table : result->outputs) {
    CatchOutOfMemory([&] {
      return context_.directory->Remove(TableFileName(table->meta.number));
    }).IgnoreError();
  }
  *result = {};
}

absl::Status FlushRun::RunLists(const std::vector<List>& lists, Sequence last_sequence,
                                const SnapshotList& snapshots, uint64_t age_nanos,
                                VersionEdit* edit, JobResult* result) {
  CommonOutput common(last_sequence);
  std::vector<const List*> own;
  {
    // Not longer: a version keeps files.
    const std::shared_ptr<const Version> version = calls_.version_now();
    LetLeave(lists, *version, snapshots, age_nanos, edit, result);
    for (const KeyspaceRecord& record : edit->keyspaces) common.AddName(record);
    for (const KeyspaceId id : edit->dropped_keyspaces) common.AddDropped(id);
    const PlacesOfLists places(*version, *edit);
    for (const List& list : lists) {
      if (leaves_ && list.keyspace == leaver_) continue;
      switch (places.Of(list.keyspace)) {
        case PlaceInTables::kNowhere:
          result->entries_dropped += list.keys;
          break;
        case PlaceInTables::kOwnTree:
          own.push_back(&list);
          break;
        case PlaceInTables::kCommonTree:
          common.AddList(list.keyspace, list.new_entries(), list.ranges, list.keys);
          break;
      }
    }
  }
  const auto run_list = [&](KeyspaceId keyspace, Iterator& entries, const RangeMap& ranges,
                            uint64_t keys) {
    return RunList(keyspace, entries, ranges, keys, snapshots, age_nanos, result);
  };
  for (const List* const list : own) {
    TRELLIS_RETURN_IF_ERROR(
        run_list(list->keyspace, *list->new_entries(), list->ranges, list->keys));
  }
  if (!common.empty()) {
    const uint64_t keys = common.keys();
    const std::unique_ptr<Iterator> entries = common.TakeEntries();
    TRELLIS_RETURN_IF_ERROR(run_list(kCommonTree, *entries, common.TakeRanges(), keys));
  }
  for (const auto& table : result->outputs) {
    const bool is_of_leaver = leaves_ && table->meta.keyspace == leaver_;
    edit->added.push_back({is_of_leaver ? 1 : 0, table->meta});
  }
  return absl::OkStatus();
}

void FlushRun::LetLeave(const std::vector<List>& lists, const Version& version,
                        const SnapshotList& snapshots, uint64_t age_nanos, VersionEdit* edit,
                        JobResult* result) {
  leaver_ = std::nullopt;
  leaves_ = false;
  if (calls_.record_to_leave == nullptr) return;
  const absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    std::vector<KeyspaceId> ids;
    for (const List& list : lists) ids.push_back(list.keyspace);
    const std::optional<KeyspaceId> chosen =
        ChooseLeaver(version, ids, context_.options->write_buffer_bytes);
    if (!chosen) return absl::OkStatus();
    std::optional<KeyspaceRecord> record = calls_.record_to_leave(*chosen);
    if (!record) return absl::OkStatus();
    leaver_ = chosen;
    edit->keyspaces.reserve(edit->keyspaces.size() + 1);  // before there is a file
    const List& list = *std::find_if(lists.begin(), lists.end(),
                                     [&](const List& each) { return each.keyspace == *chosen; });
    TRELLIS_ASSIGN_OR_RETURN(const JobContext context, ContextOf(*chosen));
    TRELLIS_ASSIGN_OR_RETURN(
        *result, RunLeaving(context, *version.TreeOf(kCommonTree), *chosen, list.new_entries(),
                            list.ranges, list.keys, snapshots, age_nanos, calls_.stop));
    const auto changed =
        std::find_if(edit->keyspaces.begin(), edit->keyspaces.end(),
                     [&](const KeyspaceRecord& each) { return each.id == *chosen; });
    if (changed != edit->keyspaces.end()) {
      changed->has_own_tree = true;
    } else {
      edit->keyspaces.push_back(*std::move(record));
    }
    leaves_ = true;
    return absl::OkStatus();
  });
  // It stays, and is flushed as the others are.
  status.IgnoreError();
}

absl::Status FlushRun::RunList(KeyspaceId keyspace, Iterator& entries, const RangeMap& ranges,
                               uint64_t keys, const SnapshotList& snapshots, uint64_t age_nanos,
                               JobResult* result) {
  TRELLIS_ASSIGN_OR_RETURN(const JobContext context, ContextOf(keyspace));
  const TablesNow tree_now = [&] { return calls_.version_now()->ShareTree(keyspace); };
  TRELLIS_ASSIGN_OR_RETURN(const TableFilter filter, PlanFlush(context, *tree_now(), keys));
  result->outputs.reserve(result->outputs.size() + 1);  // before there is a file
  TRELLIS_ASSIGN_OR_RETURN(JobResult part, RunFlush(context, entries, ranges, filter, snapshots,
                                                    tree_now, age_nanos, keyspace));
  for (auto& table : part.outputs) result->outputs.push_back(std::move(table));
  result->bytes_written += part.bytes_written;
  result->entries_dropped += part.entries_dropped;
  result->tombstones_dropped += part.tombstones_dropped;
  return absl::OkStatus();
}

absl::StatusOr<JobContext> FlushRun::ContextOf(KeyspaceId keyspace) const {
  const uint64_t bytes_beside = calls_.version_now()->FilterIndexBytesBeside(keyspace);
  return ContextOfTree(context_, own_options_, keyspace, bytes_beside);
}

}  // namespace lsm
