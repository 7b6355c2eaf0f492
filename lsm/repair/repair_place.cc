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
#include "lsm/version/age_order.h"
#include "lsm/version/key_order.h"
#include "lsm/version/runs_reader.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// If the last sequence is above this, all entries are renumbered, so that later writes have
// numbers.
constexpr Sequence kSequenceKept = kSequenceMax / 2;

}  // namespace

// Both levels and sequences tell which versions are newer.  If they disagree, sequences decide: all
// tables are merged into one run.
absl::Status RepairJob::PlaceTables() {
  const Sequence largest = LargestSequence();
  const bool renumbers = largest > kSequenceKept;
  if (renumbers) {
    LeaveOut(Concat(directory_.path(), ": writes have sequences up to ", largest,
                    ", which leave no room for later writes: all are numbered again"));
  }
  TRELLIS_ASSIGN_OR_RETURN(const std::string disorder, FindDisorder());
  if (!disorder.empty()) {
    LeaveOut(Concat(directory_.path(), ": ", disorder,
                    ": the levels are ignored; all tables become one run, in which the "
                    "sequences decide"));
  }
  if (renumbers || !disorder.empty()) {
    for (Tables& level : new_levels_) {
      loose_tables_.insert(loose_tables_.end(), level.begin(), level.end());
      level.clear();
    }
  }
  if (!loose_tables_.empty()) {
    TRELLIS_ASSIGN_OR_RETURN(const Tables merged, Merge(loose_tables_, 1, renumbers));
    Place(1, merged);
    loose_tables_.clear();
  }
  // The numbers of dropped entries and ranges are not reused, unless too few numbers are left.
  if (state_.last_sequence > kSequenceKept) state_.last_sequence = 0;
  state_.last_sequence = std::max(state_.last_sequence, renumbers ? LargestSequence() : largest);
  return absl::OkStatus();
}

Sequence RepairJob::LargestSequence() const {
  Sequence largest = 0;
  for (const Tables& level : new_levels_) {
    for (const SalvagedTable& table : level) largest = std::max(largest, table.largest_sequence);
  }
  for (const SalvagedTable& table : loose_tables_)
    largest = std::max(largest, table.largest_sequence);
  return largest;
}

absl::StatusOr<std::string> RepairJob::FindDisorder() {
  std::string disorder = FindDisorderOfSpans();
  if (!disorder.empty()) return disorder;
  return FindDisorderOfKeys();
}

// Sorts each level in the order of lookups.
std::string RepairJob::FindDisorderOfSpans() {
  Tables& newest = new_levels_[0];
  std::sort(newest.begin(), newest.end(),
            [](const auto& a, const auto& b) { return a.meta.number > b.meta.number; });
  AgeOrder order;
  for (auto table = newest.rbegin(); table != newest.rend(); ++table) {
    if (order.Follows({table->meta.span(), table->smallest_sequence, table->largest_sequence}))
      continue;
    return Concat("level 0: ", TableFileName(table->meta.number),
                  " has a higher number than tables with newer entries");
  }
  for (size_t level = 1; level < new_levels_.size(); ++level) {
    Tables& tables = new_levels_[level];
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
absl::StatusOr<std::string> RepairJob::FindDisorderOfKeys() {
  AgedRuns runs;
  for (size_t level = 0; level < new_levels_.size(); ++level) {
    const Tables& tables = new_levels_[level];
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

absl::StatusOr<RepairJob::Tables> RepairJob::Merge(const Tables& tables, int level,
                                                   bool renumbers) {
  std::vector<TableMeta> metas;
  std::vector<const RangeMap*> maps;
  for (const SalvagedTable& table : tables) {
    maps.push_back(table.ranges.get());
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
  TRELLIS_RETURN_IF_ERROR(reader.Start());
  // A range may go on after the last entry of its table.
  const RangeMap ranges = NewestRanges(maps);
  TableOutput output(context_, UsualFilter(context_, level), level, /*run=*/0,
                     level == 0 ? UINT64_MAX : options_.table_bytes, {}, {}, {},
                     level == 0 ? ranges : RangeMap());
  std::string key;  // of the last entry that was the newest of its user key
  while (reader.Valid()) {
    if (key.empty() || UserKeyOf(key) != UserKeyOf(reader.key())) {
      key.assign(reader.key());
      const Sequence sequence = SequenceOf(SuffixOf(key));
      const bool is_hidden = ranges.NewestAt(UserKeyOf(key), kSequenceMax) > sequence;
      if (renumbers) {
        const auto kind = static_cast<EntryKind>(SuffixOf(key) & 0xff);
        key.resize(key.size() - kInternalKeySuffixBytes);
        AppendFixed64(&key, PackSuffix(1, kind));
      }
      if (!is_hidden) TRELLIS_RETURN_IF_ERROR(output.Add(key, reader.value()));
    }
    TRELLIS_RETURN_IF_ERROR(reader.Next());
  }
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

void RepairJob::Place(int level, const Tables& tables) {
  Tables& there = new_levels_[static_cast<size_t>(level)];
  there.insert(there.end(), tables.begin(), tables.end());
}

}  // namespace lsm
