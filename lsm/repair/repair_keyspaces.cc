// RepairJob: keyspaces.
#include <algorithm>
#include <string>
#include <utility>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/table_output.h"
#include "lsm/fs/file_names.h"
#include "lsm/repair/repair_job.h"
#include "lsm/version/common_keys.h"

namespace lsm::inline TRELLIS_ABI {

// --- what the common tree says ---

absl::Status RepairJob::ReadCommonTree() {
  const auto is_timed = [](const SalvagedTable& table) {
    return table.meta.times.timed_entries > 0;
  };
  for (const auto& [id, tree] : trees_) {
    keyspaces_.AddTable(id);
    bool any = std::any_of(tree.loose.begin(), tree.loose.end(), is_timed);
    for (const Tables& level : tree.levels)
      any = any || std::any_of(level.begin(), level.end(), is_timed);
    if (any && id != kCommonTree) keyspaces_.AddTimed(id);
  }
  const auto common = trees_.find(kCommonTree);
  if (common == trees_.end()) return absl::OkStatus();
  for (const SalvagedTable& table : common->second.loose)
    TRELLIS_RETURN_IF_ERROR(ReadCommonTable(table));
  for (const Tables& level : common->second.levels) {
    for (const SalvagedTable& table : level) TRELLIS_RETURN_IF_ERROR(ReadCommonTable(table));
  }
  return absl::OkStatus();
}

// Reads all names.  Of other ids it reads one entry each.
absl::Status RepairJob::ReadCommonTable(const SalvagedTable& table) {
  for (size_t stretch = 0; stretch < table.ranges->size(); ++stretch) {
    if (table.ranges->sequence_count(stretch) == 0) continue;
    keyspaces_.AdvanceTo(uint64_t{KeyspaceOf(table.ranges->boundary(stretch))} + 1);
    if (stretch + 1 == table.ranges->size()) continue;
    // The range may go on over later ids.
    const std::string_view end = table.ranges->boundary(stretch + 1);
    keyspaces_.AdvanceTo(uint64_t{KeyspaceOf(end)} + (end.size() > kKeyspacePrefixBytes ? 1 : 0));
  }
  if (!table.meta.has_entries()) return absl::OkStatus();
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Table> open,
                           OpenAnyTable(table.meta.number, &table.meta));
  const std::unique_ptr<Iterator> entries = open->NewIterator({});
  entries->SeekToFirst();
  while (entries->Valid()) {
    const std::string_view key = UserKeyOf(entries->key());
    const KeyspaceId id = KeyspaceOf(key);
    if (id == kNamesInCommonTree || key.size() < kKeyspacePrefixBytes) {
      if (id == kNamesInCommonTree) TRELLIS_RETURN_IF_ERROR(ReadName(*entries, *open));
      entries->Next();
      continue;
    }
    keyspaces_.AddEntry(id);
    if (KindOf(SuffixOf(entries->key())) == EntryKind::kTimedPut) keyspaces_.AddTimed(id);
    const std::optional<std::string> end = CommonEndOf(id);
    if (!end) break;
    std::string next;
    AppendInternalKey(&next, *end, kSequenceMax, kEntryKindMax);
    entries->Seek(next);
  }
  return entries->status();
}

absl::Status RepairJob::ReadName(const Iterator& entry, const Table& table) {
  const std::string_view key = UserKeyOf(entry.key());
  const uint64_t suffix = SuffixOf(entry.key());
  KeyspaceRecord record;
  record.id = key.size() == 2 * kKeyspacePrefixBytes ? KeyspaceOf(key.substr(kKeyspacePrefixBytes))
                                                     : kCommonTree;
  const auto what = [&] { return Concat(table.path(), ": the name at key ", QuotedKey(key)); };
  if (record.id == kCommonTree) {
    LeaveOut(Concat(what(), " is of no keyspace"));
    return absl::OkStatus();
  }
  named_.insert(record.id);
  if (IsTombstone(suffix)) {
    keyspaces_.AddDroppedName(record.id, SequenceOf(suffix));
    return absl::OkStatus();
  }
  absl::Status status = DecodeName(entry.value(), &record);
  if (status.ok() && (record.id == kDefaultKeyspace) != (record.name == kDefaultKeyspaceName))
    status = absl::DataLossError(Concat("it is \"", Escape(record.name), "\""));
  if (absl::IsDataLoss(status)) {
    LeaveOut(Concat(what(), ": ", MessageOf(status)));
    keyspaces_.AddEntry(record.id);
    return absl::OkStatus();
  }
  TRELLIS_RETURN_IF_ERROR(WithContext(status, what()));
  keyspaces_.AddName(record, SequenceOf(suffix));
  return absl::OkStatus();
}

// --- what becomes of the keyspaces ---

void RepairJob::NoteOptions(const KeyspaceRecords& records) {
  own_options_.clear();
  for (const auto& [id, record] : records.all()) {
    if (ReplacesAny(record.options)) {
      own_options_[id] =
          std::make_shared<const Options>(EffectiveOptions(options_, record.options));
    }
  }
}

absl::StatusOr<JobContext> RepairJob::ContextOf(KeyspaceId tree) const {
  return ContextOfTree(context_, own_options_, tree, /*filter_index_bytes_beside=*/0);
}

void RepairJob::FinishKeyspaces() {
  state_.keyspaces = keyspaces_.Records(Say());
  NoteOptions(state_.keyspaces);
  for (auto& [id, tree] : trees_) {
    if (!keyspaces_.IsDropped(id)) continue;
    for (const SalvagedTable& table : tree.loose) {
      if (table.meta.number >= first_new_number_) continue;
      --report_.tables_kept;
      report_.entries_saved -= table.meta.entries;
      const std::string name = TableFileName(table.meta.number);
      LeaveOut(Concat(directory_.path(), "/", name, ": the table belongs to keyspace ", id,
                      ", which was dropped"));
      damaged_.insert(name);
    }
  }
  std::erase_if(trees_, [&](const auto& tree) { return keyspaces_.IsDropped(tree.first); });
}

absl::Status RepairJob::FinishLeavings() {
  for (const auto& [id, record] : state_.keyspaces.all()) {
    if (id == kDefaultKeyspace || !record.has_own_tree || keyspaces_.HasLeft(id)) continue;
    TRELLIS_ASSIGN_OR_RETURN(const Tables taken, TakeOutOfCommonTree(id));
    if (taken.empty()) continue;
    Say()(Concat("keyspace ", id, ", \"", Escape(record.name),
                 "\", has tables of its own and entries in the common tree, but no name that says "
                 "that it has left it: both are merged, and deleted keys may be back"));
    Tables& loose = trees_[id].loose;
    loose.insert(loose.end(), taken.begin(), taken.end());
  }
  return absl::OkStatus();
}

absl::StatusOr<RepairJob::Tables> RepairJob::TakeOutOfCommonTree(KeyspaceId keyspace) {
  const Tables& common = trees_[kCommonTree].loose;
  const RangeMap ranges = NewestRangesOf(common);
  const CommonBounds bounds = CommonBoundsOf(keyspace, "", std::nullopt);
  RangeMap of_keyspace = OutOfCommonTree(keyspace, ranges);
  bool any = !of_keyspace.empty();
  TRELLIS_ASSIGN_OR_RETURN(const JobContext context, ContextOf(keyspace));
  TableOutput output(context, UsualFilter(context, 0), /*level=*/0, /*run=*/0, UINT64_MAX, {}, {},
                     {}, std::move(of_keyspace), keyspace);
  TRELLIS_RETURN_IF_ERROR(ForNewest(common,
                                    {bounds.from, bounds.to ? KeyEnd(*bounds.to) : KeyEnd()},
                                    ranges, [&](std::string_view key, std::string_view value) {
                                      any = true;
                                      return output.Add(key.substr(kKeyspacePrefixBytes), value);
                                    }));
  if (!any) return Tables();
  TRELLIS_ASSIGN_OR_RETURN(const OpenTables outputs, output.Finish());
  return Written(outputs);
}

CommonOutput RepairJob::Names(bool all, Sequence sequence) const {
  CommonOutput names(sequence);
  for (const auto& [id, record] : state_.keyspaces.all()) {
    const auto known = manifest_keyspaces_.all().find(id);
    if (all || known == manifest_keyspaces_.all().end() || known->second != record)
      names.AddName(record);
  }
  for (const auto& [id, record] : manifest_keyspaces_.all()) {
    if (state_.keyspaces.Has(id)) continue;
    names.AddDropped(id);
    if (!record.has_own_tree) names.AddStrays(id);
  }
  if (!names_are_lost_) return names;
  // The tombstones of these may be lost.
  for (const KeyspaceId id : named_) {
    if (!state_.keyspaces.Has(id)) names.AddDropped(id);
  }
  return names;
}

}  // namespace lsm
