// RepairJob, step 3: decides the levels of the saved tables.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "lsm/base/key_span.h"
#include "lsm/base/range_map.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/table_output.h"
#include "lsm/repair/repair_job.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/key_order.h"
#include "lsm/version/runs_reader.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// If the last sequence is above this, all entries are renumbered, so that later writes have
// numbers.
constexpr Sequence kSequenceKept = kSequenceMax / 2;

// "keyspace 5: ", for the report.
std::string TextOfTree(KeyspaceId tree) {
  if (tree == kDefaultKeyspace) return "";
  return tree == kCommonTree ? "the common tree: " : Concat("keyspace ", tree, ": ");
}

}  // namespace

// Both levels and sequences tell which versions are newer.  If they disagree, sequences decide: all
// tables of the tree are merged into one run.
absl::Status RepairJob::PlaceTables() {
  FinishKeyspaces();
  const Sequence largest = LargestSequence();
  const bool renumbers = largest > kSequenceKept;
  if (renumbers) {
    LeaveOut(Concat(directory_.path(), ": writes have sequences up to ", largest,
                    ", which leave no room for later writes: all are numbered again"));
  }
  TRELLIS_RETURN_IF_ERROR(FinishLeavings());
  const Sequence names_sequence = renumbers ? 1 : largest + 1;
  const bool has_names = !Names(names_are_lost_, names_sequence).empty();
  if (has_names) trees_[kCommonTree];
  for (auto& [id, tree] : trees_)
    TRELLIS_RETURN_IF_ERROR(PlaceTree(id, &tree, names_sequence, renumbers));
  // The numbers of dropped entries and ranges are not reused, unless too few numbers are left.
  if (state_.last_sequence > kSequenceKept) state_.last_sequence = 0;
  const Sequence last = LargestSequence();
  state_.last_sequence = std::max({state_.last_sequence, last, renumbers ? last : largest});
  return absl::OkStatus();
}

absl::Status RepairJob::PlaceTree(KeyspaceId id, SalvagedTree* tree, Sequence names_sequence,
                                  bool renumbers) {
  TRELLIS_ASSIGN_OR_RETURN(const std::string disorder, FindDisorder(tree));
  if (!disorder.empty()) {
    LeaveOut(Concat(directory_.path(), ": ", TextOfTree(id), disorder,
                    ": the levels are ignored; all tables become one run, in which the "
                    "sequences decide"));
  }
  if (renumbers || !disorder.empty()) {
    for (Tables& level : tree->levels) {
      tree->loose.insert(tree->loose.end(), level.begin(), level.end());
      level.clear();
    }
  }
  if (!tree->loose.empty()) {
    TRELLIS_ASSIGN_OR_RETURN(tree->levels[1],
                             MergeTree(id, tree->loose, names_sequence, renumbers));
    tree->loose.clear();
  } else if (id == kCommonTree) {
    const CommonOutput names = Names(names_are_lost_, names_sequence);
    if (names.empty()) return absl::OkStatus();
    TRELLIS_ASSIGN_OR_RETURN(const Tables written, Flush(id, *names.NewEntries(), names.Ranges()));
    Place(id, 0, written);
  }
  return absl::OkStatus();
}

Sequence RepairJob::LargestSequence() const {
  Sequence largest = 0;
  for (const auto& [id, tree] : trees_) {
    for (const Tables& level : tree.levels) {
      for (const SalvagedTable& table : level) largest = std::max(largest, table.largest_sequence);
    }
    for (const SalvagedTable& table : tree.loose)
      largest = std::max(largest, table.largest_sequence);
  }
  return largest;
}

absl::StatusOr<std::string> RepairJob::FindDisorder(SalvagedTree* tree) {
  std::string disorder = FindDisorderOfSpans(tree);
  if (!disorder.empty()) return disorder;
  return FindDisorderOfKeys(*tree);
}

// Sorts each level in the order of lookups.
std::string RepairJob::FindDisorderOfSpans(SalvagedTree* tree) {
  Tables& newest = tree->levels[0];
  std::sort(newest.begin(), newest.end(),
            [](const auto& a, const auto& b) { return a.meta.number > b.meta.number; });
  AgeOrder order;
  for (auto table = newest.rbegin(); table != newest.rend(); ++table) {
    if (order.Follows({table->meta.span(), table->smallest_sequence, table->largest_sequence}))
      continue;
    return Concat("level 0: ", TableFileName(table->meta.number),
                  " has a higher number than tables with newer entries");
  }
  for (size_t level = 1; level < tree->levels.size(); ++level) {
    Tables& tables = tree->levels[level];
    std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) {
      if (a.meta.run != b.meta.run) return a.meta.run > b.meta.run;
      return a.meta.span().begin < b.meta.span().begin;
    });
    for (size_t i = 1; i < tables.size(); ++i) {
      const TableMeta& before = tables[i - 1].meta;
      const TableMeta& after = tables[i].meta;
      if (before.run != after.run || before.span().EndsBy(after.span().begin)) continue;
      return Concat("level ", level, ": ", TableFileName(before.number), " and ",
                    TableFileName(after.number), " overlap at key ", QuotedKey(after.span().begin));
    }
  }
  return "";
}

// Only the newest version of a key matters, because snapshots do not outlive a process.
absl::StatusOr<std::string> RepairJob::FindDisorderOfKeys(const SalvagedTree& tree) {
  AgedRuns runs;
  for (size_t level = 0; level < tree.levels.size(); ++level) {
    const Tables& tables = tree.levels[level];
    for (size_t i = 0; i < tables.size(); ++i) {
      const bool begins = i == 0 || level == 0 || tables[i].meta.run != tables[i - 1].meta.run;
      if (begins) runs.emplace_back();
      runs.back().push_back(tables[i]);
    }
  }
  std::string disorder;
  KeyOrderCalls calls;
  calls.problem = [&](const std::string& problem) {
    disorder = problem;
    return false;
  };
  TRELLIS_RETURN_IF_ERROR(CompareRuns(directory_, context_.table_context, TablesToCompare(runs),
                                      /*from=*/"", UINT64_MAX, calls)
                              .status());
  return disorder;
}

absl::Status RepairJob::ForNewest(const Tables& tables, const KeySpan& span, const RangeMap& ranges,
                                  const AddEntry& add) {
  std::vector<TableMeta> metas;
  for (const SalvagedTable& table : tables) {
    if (table.meta.has_entries()) metas.push_back(table.meta);
  }
  std::sort(metas.begin(), metas.end(),
            [](const TableMeta& a, const TableMeta& b) { return a.span().begin < b.span().begin; });
  // Groups disjoint tables, so that few are open at a time.
  std::multimap<KeyEnd, std::vector<TableMeta>, decltype(&IsBefore)> runs(&IsBefore);  // by end
  for (const TableMeta& meta : metas) {
    std::vector<TableMeta> run;
    const auto after = runs.upper_bound(meta.span().begin);
    if (after != runs.begin()) run = std::move(runs.extract(std::prev(after)).mapped());
    run.push_back(meta);
    runs.emplace(meta.span().end, std::move(run));
  }
  RunsReader reader(&directory_, context_.table_context);
  for (auto& [end, run] : runs) reader.AddRun(std::move(run));
  TRELLIS_RETURN_IF_ERROR(reader.Start(span.begin));
  std::string key;  // of the last entry that was the newest of its user key
  for (bool has_any = false; reader.Valid() && !span.EndsBy(UserKeyOf(reader.key()));) {
    if (!has_any || UserKeyOf(key) != UserKeyOf(reader.key())) {
      has_any = true;
      key.assign(reader.key());
      const Sequence sequence = SequenceOf(SuffixOf(key));
      const bool is_hidden = ranges.NewestAt(UserKeyOf(key), kSequenceMax) > sequence;
      if (!is_hidden) TRELLIS_RETURN_IF_ERROR(add(key, reader.value()));
    }
    TRELLIS_RETURN_IF_ERROR(reader.Next());
  }
  return absl::OkStatus();
}

// A range may go on after the last entry of its table.
RangeMap RepairJob::NewestRangesOf(const Tables& tables) {
  std::vector<const RangeMap*> maps;
  for (const SalvagedTable& table : tables) maps.push_back(table.ranges.get());
  return NewestRanges(maps);
}

absl::StatusOr<RepairJob::Tables> RepairJob::MergeLevel0(KeyspaceId tree, const Tables& tables) {
  const RangeMap ranges = NewestRangesOf(tables);
  TRELLIS_ASSIGN_OR_RETURN(const JobContext context, ContextOf(tree));
  TableOutput output(context, UsualFilter(context, 0), /*level=*/0, /*run=*/0, UINT64_MAX, {}, {},
                     {}, ranges, tree);
  TRELLIS_RETURN_IF_ERROR(ForNewest(
      tables, {}, ranges,
      [&](std::string_view key, std::string_view value) { return output.Add(key, value); }));
  TRELLIS_ASSIGN_OR_RETURN(const OpenTables outputs, output.Finish());
  return Written(outputs);
}

absl::StatusOr<RepairJob::Tables> RepairJob::MergeTree(KeyspaceId tree, const Tables& tables,
                                                       Sequence names_sequence, bool renumbers) {
  TRELLIS_ASSIGN_OR_RETURN(const JobContext context, ContextOf(tree));
  TableOutput output(context, UsualFilter(context, 1), /*level=*/1, /*run=*/0,
                     context.options->table_bytes, {}, {}, {}, {}, tree);
  const Members members(state_.keyspaces.InCommonTree());
  if (tree == kCommonTree) {
    const CommonOutput output_of_names = Names(/*all=*/true, names_sequence);
    const std::unique_ptr<InnerIterator> names = output_of_names.NewEntries();
    for (names->SeekToFirst(); names->Valid(); names->Next())
      TRELLIS_RETURN_IF_ERROR(output.Add(names->key(), names->value()));
  }
  std::string numbered;
  const auto add = [&](std::string_view key, std::string_view value) -> absl::Status {
    if (tree == kCommonTree) {
      const KeyspaceId id = KeyspaceOf(UserKeyOf(key));
      if (id == kNamesInCommonTree || !members.Has(id)) return absl::OkStatus();
    }
    if (!renumbers) return output.Add(key, value);
    numbered.clear();
    AppendInternalKey(&numbered, UserKeyOf(key), 1, static_cast<EntryKind>(SuffixOf(key) & 0xff));
    return output.Add(numbered, value);
  };
  TRELLIS_RETURN_IF_ERROR(ForNewest(tables, {}, NewestRangesOf(tables), add));
  TRELLIS_ASSIGN_OR_RETURN(const OpenTables outputs, output.Finish());
  return Written(outputs);
}

RepairJob::Tables RepairJob::Written(const OpenTables& outputs) {
  Tables written;
  for (const auto& table : outputs) {
    const auto [smallest, largest] = table->table->sequences();
    written.push_back(
        {table->meta, smallest, largest, std::make_shared<const RangeMap>(table->table->ranges())});
  }
  return written;
}

void RepairJob::Place(KeyspaceId tree, int level, const Tables& tables) {
  Tables& there = trees_[tree].levels[static_cast<size_t>(level)];
  there.insert(there.end(), tables.begin(), tables.end());
}

}  // namespace lsm
