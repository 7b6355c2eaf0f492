#include "lsm/compaction/jobs.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/key_span.h"
#include "lsm/base/merging_iterator.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/table_output.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/prefix_iterator.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kReadaheadBytes = size_t{1} << 20;
// An entry counts as 1 KiB more than its value.
constexpr uint64_t kBytesBetweenStops = uint64_t{1} << 20;
constexpr uint64_t kBytesPerEntry = uint64_t{1} << 10;

// Decides for each entry, in the order of internal keys, whether a reader can still see it.
//
// Snapshots cut the sequence numbers into strata: two versions of a key in the same stratum look
// the same to every snapshot, so only the newer one is needed.  A range delete is a version of
// every key that it covers.
//
// A put that has expired for each reader that may see it is like a tombstone (expiry.md).  It still
// hides older versions: these may be live if the clock was set back.
class VisibilityFilter {
 public:
  enum class Verdict : uint8_t { kDrop, kKeep, kExpired };

  // `keyspace`: of the tree.  `ranges`: those of the job's inputs.  `hides_nothing(user_key)`: no
  // table outside of this job may hold older versions of the key.  `members`: as Tree::members.
  VisibilityFilter(KeyspaceId keyspace, const RangeMap& ranges, const SnapshotList& snapshots,
                   std::function<bool(std::string_view)> hides_nothing,
                   const Members* members = nullptr)
      : keyspace_(keyspace),
        ranges_(ranges),
        snapshots_(snapshots),
        hides_nothing_(std::move(hides_nothing)),
        members_(members) {
    if (snapshots.expiry != nullptr) expired_ = snapshots.ExpiredIn(keyspace);
  }

  // kExpired: keep it as a tombstone.  `value` is that of the entry.
  Verdict Judge(const ParsedKey& key, std::string_view value) {
    if (members_ != nullptr && !IsOfMember(key.user_key)) return Verdict::kDrop;
    const size_t stratum = snapshots_.StratumOf(key.sequence);
    if (!ranges_.empty() && IsCovered(key, stratum)) return Verdict::kDrop;
    const bool same_key = has_last_ && last_user_key_ == key.user_key;
    if (same_key && stratum == last_stratum_) return Verdict::kDrop;
    if (!same_key) last_user_key_.assign(key.user_key);
    has_last_ = true;
    last_stratum_ = stratum;
    // In the lowest stratum no older version of the key is kept.  So a tombstone can only hide
    // versions in tables outside of this job.
    const bool lowest = stratum == 0;
    const bool is_tombstone = key.kind == EntryKind::kDelete;
    const bool is_expired =
        !is_tombstone && snapshots_.expiry != nullptr && IsExpired(key, stratum, value);
    if (!is_tombstone && !is_expired) return Verdict::kKeep;
    if (lowest && hides_nothing_(key.user_key)) {
      tombstones_dropped_ += is_tombstone;
      return Verdict::kDrop;
    }
    return is_expired ? Verdict::kExpired : Verdict::kKeep;
  }

  uint64_t tombstones_dropped() const { return tombstones_dropped_; }

 private:
  bool IsOfMember(std::string_view user_key) {
    const KeyspaceId keyspace = KeyspaceOf(user_key);
    if (keyspace != last_keyspace_) {
      last_keyspace_ = keyspace;
      is_member_ = members_->Has(keyspace);
    }
    return is_member_;
  }
  // Whether each reader that may see the put finds it expired.
  bool IsExpired(const ParsedKey& key, size_t stratum, std::string_view value) {
    if (keyspace_ == kCommonTree) {
      const KeyspaceId keyspace = KeyspaceOf(key.user_key);
      if (keyspace == kNamesInCommonTree) return false;  // its number is that of the default one
      if (keyspace != expired_keyspace_) expired_ = snapshots_.ExpiredIn(keyspace);
      expired_keyspace_ = keyspace;
    }
    return ShowTo(expired_[stratum], key.kind, &value) == Shown::kExpired;
  }
  // Whether a range delete of the entry's stratum is above it.
  bool IsCovered(const ParsedKey& key, size_t stratum) {
    while (next_stretch_ < ranges_.size() && ranges_.boundary(next_stretch_) <= key.user_key)
      ++next_stretch_;
    if (next_stretch_ == 0) return false;
    const Sequence stratum_end = stratum == snapshots_.size() ? kSequenceMax : snapshots_[stratum];
    return ranges_.NewestIn(next_stretch_ - 1, stratum_end) > key.sequence;
  }

  const KeyspaceId keyspace_;
  std::vector<ExpiryView> expired_;            // by strata
  KeyspaceId expired_keyspace_ = kCommonTree;  // whose strata these are, in the common tree
  const RangeMap& ranges_;
  size_t next_stretch_ = 0;  // the one after that of the last key
  const SnapshotList& snapshots_;
  const std::function<bool(std::string_view)> hides_nothing_;
  const Members* const members_;
  KeyspaceId last_keyspace_ = kNamesInCommonTree;
  bool is_member_ = true;  // whether that is one
  std::string last_user_key_;
  size_t last_stratum_ = 0;
  bool has_last_ = false;
  uint64_t tombstones_dropped_ = 0;
};

// The keys of `span` that tables outside of the job may hold older versions of; nullopt: none.
using OlderSpanOf = std::function<std::optional<KeySpan>(const KeySpan& span)>;

// Drops what hides nothing: of each stretch the sequence of the lowest stratum, except on the keys
// that older tables may hold.  There it goes on without a gap, even if not all keys are in tables:
// one fragment for each table would cost more than it saves.
RangeMap NeededOf(const RangeMap& ranges, const SnapshotList& snapshots,
                  const OlderSpanOf& older_span_of) {
  RangeMapBuilder needed;
  std::vector<Sequence> list;
  for (size_t stretch = 0; stretch < ranges.size(); ++stretch) {
    ranges.ListSequences(stretch, &list);
    const KeySpan span{ranges.boundary(stretch), ranges.end(stretch)};
    const bool has_lowest =
        !list.empty() && (snapshots.empty() || list.back() <= snapshots.front());
    if (!has_lowest) {
      needed.Add(span.begin, list);
      continue;
    }
    const std::span<const Sequence> others(list.data(), list.size() - 1);
    const std::optional<KeySpan> older = older_span_of(span);
    if (!older) {
      needed.Add(span.begin, others);
      continue;
    }
    if (span.begin < older->begin) needed.Add(span.begin, others);
    needed.Add(older->begin, list);
    if (IsBefore(older->end, span.end)) needed.Add(older->end->ToString(), others);
  }
  return needed.Finish();
}

// The runs of the plan's tables, newest first.  Each table of level 0 is a run.  The spans are
// views of the plan.
std::vector<TableSpan> RunsOf(const CompactionPlan& plan) {
  std::vector<TableSpan> runs;
  if (plan.level == 0) {
    for (const auto& table : plan.inputs) runs.emplace_back(&table, 1);
  } else {
    runs = RunsAmong(plan.inputs);
  }
  const std::vector<TableSpan> overlapped = RunsAmong(plan.overlapped);
  runs.insert(runs.end(), overlapped.begin(), overlapped.end());
  return runs;
}

// The range deletes of these runs in the plan's window, thinned.  Those over keys of no member stay
// until no older table has such keys: their age is the only deadline of these keys.
RangeMap RangesOf(const CompactionPlan& plan, const std::vector<TableSpan>& runs,
                  const SnapshotList& snapshots) {
  std::vector<RangeMap> of_runs;
  std::vector<const RangeMap*> maps;
  for (const TableSpan run : runs) {
    maps.clear();
    for (const auto& table : run) maps.push_back(&table->table->ranges());
    RangeMap joined = RangeMap::Joined(maps);
    if (!joined.empty()) of_runs.push_back(std::move(joined));
  }
  if (of_runs.empty()) return {};
  maps.clear();
  for (const RangeMap& of_run : of_runs) maps.push_back(&of_run);
  const KeySpan window{plan.from ? std::string_view(*plan.from) : "",
                       plan.to ? KeyEnd(*plan.to) : std::nullopt};
  return RangeMap::Merged(maps).Within(window).Thinned(snapshots);
}

// Seeks to the first entry of the first user key >= `from`; nullopt: to the first entry.
void SeekFrom(const std::optional<std::string>& from, Iterator* entries) {
  if (!from) return entries->SeekToFirst();
  std::string newest;
  AppendInternalKey(&newest, *from, kSequenceMax, kEntryKindMax);
  entries->Seek(newest);
}

// Adds the visible entries from the position of `entries` on, those before the user key `to`.  The
// result still lacks the outputs.
absl::StatusOr<JobResult> AddVisible(Iterator& entries, const std::optional<std::string>& to,
                                     VisibilityFilter& visible, TableOutput& output,
                                     const std::function<bool()>& stop) {
  JobResult result;
  std::string tombstone;                // in place of an expired entry
  uint64_t bytes = kBytesBetweenStops;  // since `stop` was called
  for (; entries.Valid(); entries.Next()) {
    if (bytes >= kBytesBetweenStops) {
      if (stop()) return absl::AbortedError("the job was stopped");
      bytes = 0;
    }
    bytes += kBytesPerEntry;
    ParsedKey key;
    if (!ParseInternalKey(entries.key(), &key)) {
      return absl::DataLossError("an entry has a malformed internal key");
    }
    if (to && key.user_key >= *to) break;
    const std::string_view value = entries.value();
    switch (visible.Judge(key, value)) {
      case VisibilityFilter::Verdict::kDrop:
        ++result.entries_dropped;
        break;
      case VisibilityFilter::Verdict::kKeep:
        TRELLIS_RETURN_IF_ERROR(output.Add(entries.key(), value));
        bytes += value.size();
        break;
      case VisibilityFilter::Verdict::kExpired:
        tombstone.clear();
        AppendInternalKey(&tombstone, key.user_key, key.sequence, EntryKind::kDelete);
        TRELLIS_RETURN_IF_ERROR(output.Add(tombstone, {}));
        break;
    }
  }
  // A failed input must not look like one that ended: its remaining keys would be lost.
  TRELLIS_RETURN_IF_ERROR(entries.status());
  result.tombstones_dropped = visible.tombstones_dropped();
  return result;
}

absl::Status Finish(TableOutput* output, JobResult* result) {
  TRELLIS_ASSIGN_OR_RETURN(result->outputs, output->Finish());
  result->bytes_written = output->bytes_written();
  return absl::OkStatus();
}

}  // namespace

Table::ScanOptions ScanOfJob() {
  Table::ScanOptions scan;
  scan.fill_cache = false;
  scan.readahead_bytes = kReadaheadBytes;
  scan.count_blocks = false;
  scan.check_filter = true;
  return scan;
}

absl::StatusOr<JobResult> RunFlush(const JobContext& context, Iterator& entries,
                                   const RangeMap& ranges, const TableFilter& filter,
                                   const SnapshotList& snapshots, const TablesNow& tables_now,
                                   uint64_t age_nanos, KeyspaceId keyspace,
                                   const OpenTable* along) {
  std::shared_ptr<const Tree> tree;
  const auto has_tables = [&] {
    if (tree == nullptr && tables_now != nullptr) tree = tables_now();
    return tree != nullptr;
  };
  // Compactions that run beside the flush only move entries from table to table.  So a tree of any
  // moment during the flush gives the right answer.  The flush does not hold a tree for long, since
  // the tree keeps obsolete files, even on a full disk.
  const auto let_go = [&] {
    tree = nullptr;
    return false;
  };
  const RangeMap thinned = ranges.Thinned(snapshots);
  RangeMap needed = NeededOf(thinned, snapshots, [&](const KeySpan& span) {
    return has_tables() ? tree->OlderSpan(/*level=*/-1, /*run=*/0, span, along)
                        : std::optional(span);
  });
  let_go();
  VisibilityFilter visible(keyspace, thinned, snapshots, [&](std::string_view user_key) {
    if (!has_tables()) return false;
    // The tombstone of a name stays until a compaction: Repair may meet the keyspace's tables.
    const bool is_name = keyspace == kCommonTree && KeyspaceOf(user_key) == kNamesInCommonTree;
    return !tree->MayExist(user_key, is_name ? nullptr : along);
  });
  TombstoneRecord tombstones;
  tombstones.covered_bytes = [&](std::string_view user_key) -> uint64_t {
    if (!has_tables()) return 0;
    return tree->CoveredBytes(/*level=*/-1, /*run=*/0, user_key, context.digest_seed, along);
  };
  if (along != nullptr) {
    const uint64_t oldest = DeadEntriesOf(*along, /*bytes_per_key=*/0).oldest_tombstone;
    if (oldest != 0) tombstones.oldest_tombstone = oldest;
  }
  tombstones.age_seconds = age_nanos / 1'000'000'000;
  TableOutput output(context, filter, /*level=*/0, /*run=*/0, std::numeric_limits<uint64_t>::max(),
                     /*grandparents=*/{}, /*staying=*/{}, std::move(tombstones), std::move(needed),
                     keyspace);
  entries.SeekToFirst();
  TRELLIS_ASSIGN_OR_RETURN(JobResult result,
                           AddVisible(entries, std::nullopt, visible, output, let_go));
  let_go();
  TRELLIS_RETURN_IF_ERROR(Finish(&output, &result));
  return result;
}

absl::StatusOr<JobResult> RunCompaction(const JobContext& context, const Tree& tree,
                                        const CompactionPlan& plan, const SnapshotList& snapshots,
                                        const std::function<bool()>& stop) {
  const Table::ScanOptions scan = ScanOfJob();
  const std::vector<TableSpan> runs = RunsOf(plan);
  std::vector<std::unique_ptr<InnerIterator>> inputs;
  for (const TableSpan run : runs) {
    inputs.push_back(run.size() == 1 ? run.front()->table->NewIterator(scan)
                                     : NewRunIterator(run, scan));
  }
  const std::unique_ptr<Iterator> merged = NewMergingIterator(std::move(inputs));
  TRELLIS_ASSIGN_OR_RETURN(OutputFilters filters, PlanFilters(context, tree, plan));
  TombstoneRecord tombstones;
  tombstones.covered_bytes = [&](std::string_view user_key) {
    return tree.CoveredBytes(plan.output_level, plan.output_run, user_key, context.digest_seed);
  };
  DeadEntries dead;  // of the inputs
  for (const auto& table : TablesTakenBy(plan))
    dead.Add(DeadEntriesOf(*table, /*bytes_per_key=*/0));
  if (dead.oldest_tombstone != 0) tombstones.oldest_tombstone = dead.oldest_tombstone;
  const RangeMap ranges = RangesOf(plan, runs, snapshots);
  RangeMap needed = NeededOf(ranges, snapshots, [&](const KeySpan& span) {
    return tree.OlderSpan(plan.output_level, plan.output_run, span);
  });
  TableOutput output(context, std::move(filters), plan.output_level, plan.output_run,
                     plan.table_bytes != 0 ? plan.table_bytes : context.options->table_bytes,
                     plan.grandparents, plan.staying, std::move(tombstones), std::move(needed),
                     plan.keyspace);
  VisibilityFilter visible(
      plan.keyspace, ranges, snapshots,
      [&](std::string_view user_key) {
        return !tree.MayExistBelow(plan.output_level, plan.output_run, user_key);
      },
      tree.members());
  SeekFrom(plan.from, merged.get());
  TRELLIS_ASSIGN_OR_RETURN(JobResult result, AddVisible(*merged, plan.to, visible, output, stop));
  TRELLIS_RETURN_IF_ERROR(Finish(&output, &result));
  result.output_level = plan.output_level;
  result.bytes_read = BytesTakenBy(plan);
  return result;
}

absl::StatusOr<JobResult> RunLeaving(const JobContext& context, const Tree& common,
                                     KeyspaceId keyspace, std::unique_ptr<InnerIterator> entries,
                                     const RangeMap& ranges, uint64_t keys,
                                     const SnapshotList& snapshots, uint64_t age_nanos,
                                     const std::function<bool()>& stop) {
  std::vector<std::unique_ptr<InnerIterator>> inputs;
  common.AddIterators(ScanOfJob(), &inputs);
  for (auto& input : inputs) input = NewPrefixIterator(keyspace, std::move(input));
  inputs.push_back(std::move(entries));
  const std::unique_ptr<Iterator> merged = NewMergingIterator(std::move(inputs));
  std::vector<RangeMap> of_runs = {ranges};
  DeadEntries dead;  // of the tree
  uint64_t table_keys = 0, table_bytes = 0;
  const CommonBounds bounds = CommonBoundsOf(keyspace, "", std::nullopt);
  const KeySpan span{bounds.from, bounds.to ? KeyEnd(*bounds.to) : KeyEnd()};
  for (int level = 0; level < kLevels; ++level) {
    for (const auto& table : common.Overlapping(level, span)) {
      of_runs.push_back(OutOfCommonTree(keyspace, table->table->ranges()));
      dead.Add(DeadEntriesOf(*table, /*bytes_per_key=*/0));
      table_keys += table->meta.entries;
      table_bytes += table->meta.file_bytes;
    }
  }
  const uint64_t bytes = common.ApproximateBytes(bounds.from, bounds.to);
  // If a table also has other keyspaces, its keys are shared out as its bytes are.
  if (table_bytes > 0) {
    keys += static_cast<uint64_t>(static_cast<double>(table_keys) * static_cast<double>(bytes) /
                                  static_cast<double>(table_bytes));
  }
  std::vector<const RangeMap*> maps;
  for (const RangeMap& of_run : of_runs) maps.push_back(&of_run);
  const RangeMap all_ranges = RangeMap::Merged(maps).Thinned(snapshots);
  TombstoneRecord tombstones;
  if (dead.oldest_tombstone != 0) tombstones.oldest_tombstone = dead.oldest_tombstone;
  tombstones.age_seconds = age_nanos / 1'000'000'000;
  // All older entries are inputs.
  RangeMap needed =
      NeededOf(all_ranges, snapshots, [](const KeySpan&) { return std::optional<KeySpan>(); });
  VisibilityFilter visible(keyspace, all_ranges, snapshots, [](std::string_view) { return true; });
  TRELLIS_ASSIGN_OR_RETURN(const TableFilter filter, PlanFlush(context, Tree(keyspace), keys));
  TableOutput output(context, filter, /*level=*/1, /*run=*/0, context.options->table_bytes,
                     /*grandparents=*/{}, /*staying=*/{}, std::move(tombstones), std::move(needed),
                     keyspace);
  merged->SeekToFirst();
  TRELLIS_ASSIGN_OR_RETURN(JobResult result,
                           AddVisible(*merged, std::nullopt, visible, output, stop));
  TRELLIS_RETURN_IF_ERROR(Finish(&output, &result));
  result.outputs_of_leaver = result.outputs.size();
  result.bytes_read = bytes;
  return result;
}

absl::Status TreeIsGone() { return absl::CancelledError("the keyspace of the tables was dropped"); }

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
