#include "lsm/compaction/flush_run.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "lsm/base/merging_iterator.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/common_output.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/leaving.h"
#include "lsm/fs/file_names.h"
#include "lsm/version/common_keys.h"

namespace lsm::inline TRELLIS_ABI {

namespace {

// A table below this many bytes is taken along: its syncs cost as much as writing 1 MiB.  In a
// store with a small write buffer, trees that share it evenly have less.
constexpr uint64_t SmallTableBytes(uint64_t write_buffer_bytes) {
  return std::min(kBytesMergedPerJob, write_buffer_bytes / 64);
}

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
  const auto run = [&](bool is_simple) {
    absl::Status status = CatchOutOfMemory([&] {
      return RunLists(lists, last_sequence, snapshots, age_nanos, is_simple, edit, result);
    });
    if (!status.ok()) RemoveOutputs(result);
    return status;
  };
  VersionEdit given;
  TRELLIS_RETURN_IF_ERROR(CatchOutOfMemory([&] {
    given = *edit;
    return absl::OkStatus();
  }));
  absl::Status status = run(/*is_simple=*/false);
  // Without the tables of older entries there may be enough space, or nothing damaged.
  const bool has_more = leaves_ || !replaced_.empty();
  if (!is_along_unreadable_ && !(has_more && IsDiskFull(status))) return status;
  leaves_ = false;
  replaced_.clear();
  *edit = std::move(given);
  return run(/*is_simple=*/true);
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
                                const SnapshotList& snapshots, uint64_t age_nanos, bool is_simple,
                                VersionEdit* edit, JobResult* result) {
  if (!is_simple) LetLeave(lists, snapshots, age_nanos, edit, result);
  CommonOutput common(last_sequence);
  for (const KeyspaceRecord& record : edit->keyspaces) common.AddName(record);
  for (const KeyspaceId id : edit->dropped_keyspaces) common.AddDropped(id);
  std::vector<Output> outputs;
  {
    // Held only here: a version keeps files.
    const std::shared_ptr<const Version> version = calls_.version_now();
    const PlacesOfLists places(*version, *edit);
    for (const KeyspaceId id : edit->dropped_keyspaces) {
      // It need not be a member: in an opening or Resume, the version has no dropped keyspace.
      if (version->TreeOf(id) == nullptr) common.AddStrays(id);
    }
    if (leaves_) common.AddStrays(*leaver_);
    for (const List& list : lists) {
      if (leaves_ && list.keyspace == leaver_) continue;
      switch (places.Of(list.keyspace)) {
        case PlaceInTables::kNowhere:
          result->entries_dropped += list.keys;
          break;
        case PlaceInTables::kOwnTree:
          outputs.push_back({.list = &list});
          break;
        case PlaceInTables::kCommonTree:
          common.AddList(list.keyspace, list.new_entries, list.ranges, list.keys);
          break;
      }
    }
  }
  std::optional<List> of_common;
  if (!common.empty()) {
    of_common = {kCommonTree, [&] { return common.NewEntries(); }, common.Ranges(), common.keys()};
    outputs.push_back({.list = &*of_common});
  }
  for (size_t i = 0; !is_simple && i < outputs.size(); ++i) TakeAlong(&outputs[i], edit);
  TRELLIS_RETURN_IF_ERROR(Plan(&outputs));
  for (const Output& output : outputs)
    TRELLIS_RETURN_IF_ERROR(RunList(output, snapshots, age_nanos, result));
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
    if (calls_.note_more_bytes != nullptr) {
      const CommonBounds bounds = CommonBoundsOf(*chosen, "", std::nullopt);
      calls_.note_more_bytes(common->ApproximateBytes(bounds.from, bounds.to));
    }
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
    TRELLIS_ASSIGN_OR_RETURN(JobContext context, ContextOf(*chosen, own_options));
    TRELLIS_ASSIGN_OR_RETURN(
        context.trees_beside,
        TreesBeside(context_, own_options_, *calls_.version_now(), {&*chosen, 1}));
    const List& list = *std::find_if(lists.begin(), lists.end(),
                                     [&](const List& each) { return each.keyspace == *chosen; });
    TRELLIS_ASSIGN_OR_RETURN(
        *result, RunLeaving(context, *common, *chosen, list.new_entries(), list.ranges, list.keys,
                            snapshots, age_nanos, calls_.stop));
    // The filters of the flush's other outputs share the memory with those of these tables.
    TRELLIS_ASSIGN_OR_RETURN(const auto tree,
                             Tree::Create({OpenTables(), result->outputs}, *chosen));
    runs_of_leaver_ = RunsNow(context, *tree);
    if (in_edit != edit->keyspaces.end()) {
      in_edit->has_own_tree = true;
    } else {
      edit->keyspaces.push_back(*std::move(record));
    }
    leaves_ = true;
    return absl::OkStatus();
  });
  // It stays, and is flushed as the others are.
  if (!status.ok()) RemoveOutputs(result);
}

std::shared_ptr<const OpenTable> FlushRun::FindAlong(KeyspaceId keyspace) const {
  if (calls_.take_along == nullptr) return nullptr;
  const std::shared_ptr<const Version> version = calls_.version_now();
  const Tree* const tree = version->TreeOf(keyspace);
  if (version->trees().size() < 2 || tree == nullptr || tree->level(0).empty()) return nullptr;
  const OpenTables& tables = tree->level(0);
  if (tables.front()->meta.file_bytes >= SmallTableBytes(context_.options->write_buffer_bytes))
    return nullptr;
  // The output may overlap tables that this one does not.  They must be older, also in a store that
  // was repaired.
  const Sequence smallest = tables.front()->table->sequences().first;
  const bool is_newest =
      std::all_of(std::next(tables.begin()), tables.end(),
                  [&](const auto& each) { return each->table->sequences().second < smallest; });
  if (!is_newest) return nullptr;
  const auto plan = std::make_shared<CompactionPlan>();
  plan->keyspace = keyspace;
  plan->inputs = {tables.front()};
  return calls_.take_along(plan) ? tables.front() : nullptr;
}

void FlushRun::TakeAlong(Output* output, VersionEdit* edit) {
  const std::shared_ptr<const OpenTable> along = FindAlong(output->list->keyspace);
  if (along == nullptr) return;
  if (calls_.note_more_bytes != nullptr) calls_.note_more_bytes(along->meta.file_bytes);
  replaced_.push_back(along);
  edit->removed.push_back({0, along->meta.number});
  output->along = along;
}

absl::Status FlushRun::Plan(std::vector<Output>* outputs) const {
  // Held only here: a version keeps files.
  const std::shared_ptr<const Version> version = calls_.version_now();
  std::vector<KeyspaceId> ids;
  std::vector<std::shared_ptr<const Tree>> trees;
  std::vector<FlushOutput> planned;
  for (Output& output : *outputs) {
    const KeyspaceId id = output.list->keyspace;
    TRELLIS_ASSIGN_OR_RETURN(output.context, ContextOf(id, own_options_));
    ids.push_back(id);
    trees.push_back(version->ShareTree(id));
    SetTree(*trees.back(), &output.context);
    const uint64_t keys_along = output.along == nullptr ? 0 : KeysOf(*output.along);
    planned.push_back({&output.context, trees.back().get(), output.list->keys + keys_along});
  }
  TRELLIS_ASSIGN_OR_RETURN(std::vector<RunsOfTree> beside,
                           TreesBeside(context_, own_options_, *version, ids));
  if (leaves_) beside.push_back(runs_of_leaver_);
  TRELLIS_ASSIGN_OR_RETURN(std::vector<TableFilter> filters, PlanFlush(planned, beside));
  for (size_t i = 0; i < outputs->size(); ++i) (*outputs)[i].filter = std::move(filters[i]);
  return absl::OkStatus();
}

absl::Status FlushRun::RunList(const Output& output, const SnapshotList& snapshots,
                               uint64_t age_nanos, JobResult* result) {
  const List& list = *output.list;
  const std::shared_ptr<const OpenTable>& along = output.along;
  const TablesNow tree_now = [&] { return calls_.version_now()->ShareTree(list.keyspace); };
  std::vector<std::unique_ptr<InnerIterator>> inputs;
  inputs.push_back(list.new_entries());
  RangeMap ranges = list.ranges;
  const InnerIterator* entries_along = nullptr;
  if (along != nullptr) {
    inputs.push_back(along->table->NewIterator(ScanOfJob()));
    entries_along = inputs.back().get();
    const RangeMap* const maps[] = {&list.ranges, &along->table->ranges()};
    ranges = RangeMap::Merged(maps);
  }
  const std::unique_ptr<Iterator> entries = NewMergingIterator(std::move(inputs));
  result->outputs.reserve(result->outputs.size() + 1);  // before there is a file
  absl::StatusOr<JobResult> part =
      RunFlush(output.context, *entries, ranges, output.filter, snapshots, tree_now, age_nanos,
               list.keyspace, along.get());
  if (!part.ok()) {
    is_along_unreadable_ = entries_along != nullptr && !entries_along->status().ok();
    return std::move(part).status();
  }
  for (auto& table : part->outputs) result->outputs.push_back(std::move(table));
  result->bytes_written += part->bytes_written;
  result->entries_dropped += part->entries_dropped;
  result->tombstones_dropped += part->tombstones_dropped;
  return absl::OkStatus();
}

absl::StatusOr<JobContext> FlushRun::ContextOf(KeyspaceId keyspace,
                                               const OwnOptions& own_options) const {
  const uint64_t bytes_beside = calls_.version_now()->FilterIndexBytesBeside(keyspace);
  return ContextOfTree(context_, own_options, keyspace, bytes_beside);
}

}  // namespace lsm
