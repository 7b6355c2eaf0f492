#include "lsm/compaction/jobs.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "lsm/base/merging_iterator.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/table_output.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Compactions read whole tables front to back, past the block cache.
constexpr size_t kReadaheadBytes = size_t{1} << 20;
constexpr uint64_t kEntriesBetweenStops = 1024;

// Decides for each entry, in the order of internal keys, whether a reader can still see it.
//
// Snapshots cut the sequence numbers into strata: two versions of a key in the same stratum look
// the same to every snapshot, so only the newer one is needed.
class VisibilityFilter {
 public:
  // `hides_nothing(user_key)`: no table outside of this job may hold older versions of the key.
  VisibilityFilter(const SnapshotList& snapshots,
                   std::function<bool(std::string_view)> hides_nothing)
      : snapshots_(snapshots), hides_nothing_(std::move(hides_nothing)) {}

  bool Keep(const ParsedKey& key) {
    const size_t stratum = static_cast<size_t>(
        std::lower_bound(snapshots_.begin(), snapshots_.end(), key.sequence) - snapshots_.begin());
    const bool same_key = has_last_ && last_user_key_ == key.user_key;
    if (same_key && stratum == last_stratum_) return false;
    if (!same_key) last_user_key_.assign(key.user_key);
    has_last_ = true;
    last_stratum_ = stratum;
    // In the lowest stratum no older version of the key is kept.  So a tombstone can only hide
    // versions in tables outside of this job.
    const bool lowest = stratum == 0;
    return !(key.kind == EntryKind::kDelete && lowest && hides_nothing_(key.user_key));
  }

 private:
  const SnapshotList& snapshots_;
  const std::function<bool(std::string_view)> hides_nothing_;
  std::string last_user_key_;
  size_t last_stratum_ = 0;
  bool has_last_ = false;
};

// Seeks to the first entry of the first user key >= `from`; nullopt: to the first entry.
void SeekFrom(const std::optional<std::string>& from, Iterator* entries) {
  if (!from) return entries->SeekToFirst();
  std::string newest;
  AppendInternalKey(&newest, *from, kSequenceMax, kEntryKindMax);
  entries->Seek(newest);
}

// Writes the visible entries from the position of `entries` on, those before the user key `to`.
absl::StatusOr<JobResult> WriteVisible(Iterator& entries, const std::optional<std::string>& to,
                                       VisibilityFilter& visible, TableOutput& output,
                                       const std::function<bool()>& stop) {
  JobResult result;
  uint64_t seen = 0;
  for (; entries.Valid(); entries.Next()) {
    if (seen++ % kEntriesBetweenStops == 0 && stop())
      return absl::AbortedError("the store is being closed");
    ParsedKey key;
    if (!ParseInternalKey(entries.key(), &key)) {
      return absl::DataLossError("an entry has a malformed internal key");
    }
    if (to && key.user_key >= *to) break;
    if (!visible.Keep(key)) {
      ++result.entries_dropped;
      continue;
    }
    TRELLIS_RETURN_IF_ERROR(output.Add(entries.key(), entries.value()));
  }
  // A failed input must not look like one that ended: its remaining keys would be lost.
  TRELLIS_RETURN_IF_ERROR(entries.status());
  TRELLIS_ASSIGN_OR_RETURN(result.outputs, output.Finish());
  result.bytes_written = output.bytes_written();
  return result;
}

}  // namespace

absl::StatusOr<JobResult> RunMerge(const JobContext& context, Iterator& entries,
                                   const TableFilter& filter, int level, uint64_t table_bytes_max,
                                   const SnapshotList& snapshots) {
  TableOutput output(context, filter, level, /*run=*/0, table_bytes_max, {});
  VisibilityFilter visible(snapshots, [](std::string_view) { return false; });
  entries.SeekToFirst();
  TRELLIS_ASSIGN_OR_RETURN(
      JobResult result, WriteVisible(entries, std::nullopt, visible, output, [] { return false; }));
  result.output_level = level;
  return result;
}

absl::StatusOr<JobResult> RunFlush(const JobContext& context, Iterator& entries,
                                   const TableFilter& filter, const SnapshotList& snapshots) {
  return RunMerge(context, entries, filter, 0, std::numeric_limits<uint64_t>::max(), snapshots);
}

absl::StatusOr<JobResult> RunCompaction(const JobContext& context, const Version& version,
                                        const CompactionPlan& plan, const SnapshotList& snapshots,
                                        const std::function<bool()>& stop) {
  Table::ScanOptions scan;
  scan.fill_cache = false;
  scan.readahead_bytes = kReadaheadBytes;
  scan.count_blocks = false;
  scan.check_filter = true;
  std::vector<std::unique_ptr<InnerIterator>> inputs;
  if (plan.level == 0) {
    for (const auto& table : plan.inputs) inputs.push_back(table->table->NewIterator(scan));
  } else {
    for (const TableSpan run : RunsAmong(plan.inputs)) inputs.push_back(NewRunIterator(run, scan));
  }
  for (const TableSpan run : RunsAmong(plan.overlapped))
    inputs.push_back(NewRunIterator(run, scan));
  const std::unique_ptr<Iterator> merged = NewMergingIterator(std::move(inputs));
  TRELLIS_ASSIGN_OR_RETURN(OutputFilters filters, PlanFilters(context, version, plan));
  TableOutput output(context, std::move(filters), plan.output_level, plan.output_run,
                     plan.table_bytes != 0 ? plan.table_bytes : context.options->table_bytes,
                     plan.grandparents, plan.staying);
  VisibilityFilter visible(snapshots, [&](std::string_view user_key) {
    return !version.MayExistBelow(plan.output_level, plan.output_run, user_key);
  });
  SeekFrom(plan.from, merged.get());
  TRELLIS_ASSIGN_OR_RETURN(JobResult result, WriteVisible(*merged, plan.to, visible, output, stop));
  result.output_level = plan.output_level;
  result.bytes_read = BytesTakenBy(plan);
  return result;
}

VersionEdit EditOf(const CompactionPlan& plan, const JobResult* result) {
  VersionEdit edit;
  if (!plan.to) {
    for (const auto& table : plan.inputs) edit.removed.push_back({plan.level, table->meta.number});
  }
  if (result == nullptr) {
    for (const auto& table : plan.inputs) edit.added.push_back({plan.output_level, table->meta});
    return edit;
  }
  for (const auto& table : plan.overlapped)
    edit.removed.push_back({plan.output_level, table->meta.number});
  for (const auto& table : result->outputs) edit.added.push_back({plan.output_level, table->meta});
  return edit;
}

}  // namespace lsm
