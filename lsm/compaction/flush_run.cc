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
  const auto run = [&](bool may_leave) {
    absl::Status status = CatchOutOfMemory([&] {
      return RunLists(lists, last_sequence, snapshots, age_nanos, may_leave, edit, result);
    });
    if (!status.ok()) RemoveOutputs(result);
    return status;
  };
  VersionEdit given;
  TRELLIS_RETURN_IF_ERROR(CatchOutOfMemory([&] {
    given = *edit;
    return absl::OkStatus();
  }));
  absl::Status status = run(/*may_leave=*/true);
  if (!leaves_ || !IsDiskFull(status)) return status;
  // Without the tables of the keyspace there may be enough space.
  leaves_ = false;
  *edit = std::move(given);
  return run(/*may_leave=*/false);
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
                                const SnapshotList& snapshots, uint64_t age_nanos, bool may_leave,
                                VersionEdit* edit, JobResult* result) {
  if (may_leave) LetLeave(lists, snapshots, age_nanos, edit, result);
  CommonOutput common(last_sequence);
  for (const KeyspaceRecord& record : edit->keyspaces) common.AddName(record);
  for (const KeyspaceId id : edit->dropped_keyspaces) common.AddDropped(id);
  std::vector<const List*> own;
  {
    // Not longer: a version keeps files.
    const std::shared_ptr<const Version> version = calls_.version_now();
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
  for (size_t i = 0; i < result->outputs.size(); ++i)
    edit->added.push_back({i < result->outputs_of_leaver ? 1 : 0, result->outputs[i]->meta});
  return absl::OkStatus();
}

void FlushRun::LetLeave(const std::vector<List>& lists, const SnapshotList& snapshots,
                        uint64_t age_nanos, VersionEdit* edit, JobResult* result) {
  if (calls_.may_leave == nullptr) return;
  const absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    std::vector<KeyspaceId> ids;
    for (const List& list : lists) ids.push_back(list.keyspace);
    std::shared_ptr<const Version> version = calls_.version_now();
    const std::optional<KeyspaceId> chosen =
        ChooseLeaver(*version, ids, context_.options->write_buffer_bytes, calls_.may_leave);
    if (!chosen) return absl::OkStatus();
    leaver_ = chosen;
    // Not the whole version, which would keep the files of other trees.
    const std::shared_ptr<const Tree> common = version->ShareTree(kCommonTree);
    version = nullptr;
    const auto is_chosen = [&](const auto& each) { return each.id == *chosen; };
    edit->keyspaces.reserve(edit->keyspaces.size() + 1);  // before there is a file
    const auto in_edit = std::find_if(edit->keyspaces.begin(), edit->keyspaces.end(), is_chosen);
    std::optional<KeyspaceRecord> record =
        in_edit != edit->keyspaces.end() ? std::optional(*in_edit) : calls_.record_of(*chosen);
    if (!record) return absl::InternalError("the manifest has no record of the keyspace");
    record->has_own_tree = true;
    OwnOptions own_options;
    if (ReplacesAny(record->options)) {
      own_options[*chosen] =
          std::make_shared<const Options>(EffectiveOptions(*context_.options, record->options));
    }
    TRELLIS_ASSIGN_OR_RETURN(const JobContext context, ContextOf(*chosen, own_options));
    const List& list = *std::find_if(lists.begin(), lists.end(),
                                     [&](const List& each) { return each.keyspace == *chosen; });
    TRELLIS_ASSIGN_OR_RETURN(
        *result, RunLeaving(context, *common, *chosen, list.new_entries(), list.ranges, list.keys,
                            snapshots, age_nanos, calls_.stop));
    if (in_edit != edit->keyspaces.end()) {
      in_edit->has_own_tree = true;
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
  TRELLIS_ASSIGN_OR_RETURN(const JobContext context, ContextOf(keyspace, own_options_));
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

absl::StatusOr<JobContext> FlushRun::ContextOf(KeyspaceId keyspace,
                                               const OwnOptions& own_options) const {
  const uint64_t bytes_beside = calls_.version_now()->FilterIndexBytesBeside(keyspace);
  return ContextOfTree(context_, own_options, keyspace, bytes_beside);
}

}  // namespace lsm
