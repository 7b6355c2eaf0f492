#include "lsm/version/tree.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/filters/filter_allocation.h"
#include "lsm/version/key_order.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// The error for tables of a run that overlap.
absl::Status OverlapError(int level, const OpenTable& a, const OpenTable& b) {
  const uint32_t run = b.meta.run;
  return absl::DataLossError(Concat("level ", level, run == 0 ? "" : Concat(", run ", run),
                                    ": tables ", a.table->path(), " and ", b.table->path(),
                                    " overlap at key ", QuotedKey(b.meta.span().begin)));
}

// DataLoss unless each table of level 0 is older than those with higher numbers.
absl::Status CheckAges(const OpenTables& newest_first) {
  AgeOrder order;
  for (auto table = newest_first.rbegin(); table != newest_first.rend(); ++table) {
    const TableMeta& meta = (*table)->meta;
    const auto [smallest, largest] = (*table)->table->sequences();
    if (order.Follows({meta.span(), smallest, largest})) continue;
    return DamageAt((*table)->table->path(), (*table)->table->footer().properties.offset,
                    Concat("the table says smallest_sequence ", smallest,
                           ", but tables with lower numbers in level 0 hold newer writes"));
  }
  return absl::OkStatus();
}

bool HasReason(const TableProperties& properties, FilterReason reason) {
  const std::string_view text = properties.filter_reason;
  return text.substr(0, text.find(':')) == NameOf(reason);
}

// Does not read partitions for this.
std::string FilterKindOf(const Table& table) {
  return table.is_partitioned() ? table.properties().filter_kind : table.filter().kind_name();
}

// Expected wasted reads of a run for an absent key: mean FPP of its tables, weighted by keys.
double WastedReadsOf(TableSpan run) {
  double reads = 0, keys = 0;
  for (const auto& table : run) {
    const auto keys_of_table = static_cast<double>(KeysOf(*table));
    reads += keys_of_table * FppOf(*table);
    keys += keys_of_table;
  }
  // Without keys there are only ranges, which a lookup asks without a read.
  return keys == 0 ? 0 : reads / keys;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Tree>> Tree::Create(std::array<OpenTables, kLevels> levels,
                                                         KeyspaceId keyspace,
                                                         std::shared_ptr<const Members> members,
                                                         const Tree* before) {
  auto tree = std::make_shared<Tree>(keyspace, std::move(members), before);
  for (int i = 0; i < kLevels; ++i) {
    Level& level = tree->levels_[static_cast<size_t>(i)];
    level.tables = std::move(levels[static_cast<size_t>(i)]);
    OpenTables& tables = level.tables;
    for (const auto& table : tables) {
      level.bytes += table->meta.file_bytes;
      tree->filter_index_bytes_ += table->table->filter_bytes() + table->table->index_bytes();
    }
    if (i == 0) {
      // Table numbers follow the order in which their memtables were sealed.
      std::sort(tables.begin(), tables.end(),
                [](const auto& a, const auto& b) { return a->meta.number > b->meta.number; });
      for (const auto& table : tables) {
        level.runs.push_back(TableSpan(&table, 1));
        tree->level0_sixteenths_ += SixteenthsOf(*table);
      }
      TRELLIS_RETURN_IF_ERROR(CheckAges(tables));
      continue;
    }
    TRELLIS_RETURN_IF_ERROR(tree->FindRuns(i));
    if (!tables.empty()) tree->deepest_level_ = i;
  }
  tree->ListCandidates();
  tree->SumBytesOfNoMember(before);
  tree->NoteTombstones();
  tree->MakeCovers();
  tree->ListNeedless();
  return std::shared_ptr<const Tree>(std::move(tree));
}

absl::Status Tree::FindRuns(int level_number) {
  Level& level = levels_[static_cast<size_t>(level_number)];
  std::sort(level.tables.begin(), level.tables.end(), [](const auto& a, const auto& b) {
    if (a->meta.run != b->meta.run) return a->meta.run > b->meta.run;
    return a->meta.span().begin < b->meta.span().begin;
  });
  level.runs = RunsAmong(level.tables);
  for (const TableSpan tables : level.runs) {
    for (size_t at = 1; at < tables.size(); ++at) {
      if (!tables[at - 1]->meta.span().EndsBy(tables[at]->meta.span().begin))
        return OverlapError(level_number, *tables[at - 1], *tables[at]);
    }
  }
  return absl::OkStatus();
}

uint64_t Tree::LookupsSoFar(const Counters* store) const {
  if (keyspace_ != kDefaultKeyspace) return reads_->counters.SumOf(TreeCounters::kLookups);
  return store == nullptr ? 0 : store->LookupsOfDefaultTree();
}

void Tree::ListCandidates() {
  std::vector<KeySpan> ranges;
  for (int i = 0; i < kLevels; ++i) {
    for (const auto& table : level(i)) {
      const RangeMap& map = table->table->ranges();
      // No reader needs ranges over keys of no member.
      const bool has_ranges = !map.empty() && (members_ == nullptr || members_->HasIn(map));
      has_maps_ |= !map.empty();
      candidates_.push_back({table.get(), i, has_ranges, table->table->has_entries(),
                             static_cast<uint8_t>(SlotOf(i))});
      has_ranges_ |= has_ranges;
      // Nor does a lookup look into a table where only such ranges cover its key.
      const bool is_narrow = !map.empty() && !has_ranges && table->meta.has_entries();
      ranges.push_back(is_narrow ? table->meta.span_of_entries() : table->meta.span());
    }
  }
  ranges_ = KeyRanges(ranges);
}

void Tree::NoteTombstones() {
  double keys = 0;
  for (const Candidate& candidate : candidates_)
    keys += static_cast<double>(KeysOf(*candidate.table));
  if (keys > 0) bytes_per_key_ = static_cast<double>(bytes()) / keys;
  for (const Candidate& candidate : candidates_) {
    const DeadEntries dead = DeadEntriesIn(*candidate.table);
    tombstone_gain_ += std::max(0.0, 2 * static_cast<double>(dead.freeable_bytes()) -
                                         static_cast<double>(candidate.table->meta.file_bytes));
    if (dead.oldest_tombstone != 0) tombstone_times_.push_back(dead.oldest_tombstone);
  }
  std::sort(tombstone_times_.begin(), tombstone_times_.end());
}

void Tree::MakeCovers() {
  if (!has_maps_) return;
  for (Level& level : levels_) {
    for (const TableSpan run : level.runs) {
      std::vector<MapsCover::Part> parts;
      for (const auto& table : run) {
        if (!table->table->ranges().empty())
          parts.push_back({&table->table->ranges(), table->table->newest_entry()});
      }
      level.covers.push_back(parts.empty() ? nullptr
                                           : std::make_unique<MapsCover>(std::move(parts)));
    }
  }
}

DeadEntries Tree::DeadEntriesIn(const OpenTable& table) const {
  DeadEntries dead = DeadEntriesOf(table, bytes_per_key_);
  // Old versions of no member count once.
  const uint64_t more = BytesOfNoMember(table);
  if (more > 0) dead.dead_bytes = std::min(dead.dead_bytes + more, table.meta.file_bytes);
  return dead;
}

uint64_t Tree::BytesOfNoMember(const OpenTable& table) const {
  const auto at = bytes_of_no_member_.find(table.meta.number);
  return at != bytes_of_no_member_.end() ? at->second : 0;
}

bool Tree::PayRent(std::string_view user_key, uint64_t bytes) const {
  for (const uint32_t at : ranges_.With(user_key)) {
    const OpenTable& table = *candidates_[at].table;
    if (table.table->properties().deletions > 0) return table.rent->Pay(bytes);
  }
  return false;
}

void Tree::AddIterators(const Table::ScanOptions& options,
                        std::vector<std::unique_ptr<InnerIterator>>* iterators) const {
  for (const auto& table : levels_[0].tables)
    iterators->push_back(table->table->NewIterator(options));
  for (int i = 1; i < kLevels; ++i) {
    for (const TableSpan run : runs(i)) iterators->push_back(NewRunIterator(run, options));
  }
}

void Tree::AddCovers(std::vector<const RangeCover*>* covers) const {
  for (const Level& level : levels_) {
    for (size_t i = 0; i < level.runs.size(); ++i)
      covers->push_back(has_ranges_ ? level.covers[i].get() : nullptr);
  }
}

size_t Tree::iterator_count() const {
  size_t count = 0;
  for (const Level& level : levels_) count += level.runs.size();
  return count;
}

OpenTables Tree::Overlapping(int level_number, const KeySpan& span) const {
  OpenTables found;
  for (const TableSpan run : runs(level_number)) {
    for (size_t at = FirstBeyond(run, span.begin); at < run.size(); ++at) {
      if (span.EndsBy(run[at]->meta.span().begin)) break;
      found.push_back(run[at]);
    }
  }
  return found;
}

bool Tree::HasOverlappingBelow(int level_number, const KeySpan& span) const {
  for (int below = level_number + 1; below < kLevels; ++below) {
    if (HasOverlapping(below, span)) return true;
  }
  return false;
}

bool Tree::HasOverlapping(int level_number, const KeySpan& span) const {
  const auto& level_runs = runs(level_number);
  return std::any_of(level_runs.begin(), level_runs.end(), [&](TableSpan run) {
    const size_t at = FirstBeyond(run, span.begin);
    return at < run.size() && !span.EndsBy(run[at]->meta.span().begin);
  });
}

bool Tree::MayExistBelow(int level_number, uint32_t run_number, std::string_view user_key) const {
  const std::span<const uint32_t> with_key = ranges_.With(user_key);
  if (with_key.empty()) return false;
  const Candidate& oldest = candidates_[with_key.back()];
  return IsOlder(oldest.level, *oldest.table, level_number, run_number);
}

std::optional<KeySpan> Tree::OlderSpan(int level, uint32_t run, const KeySpan& span,
                                       const OpenTable* without) const {
  std::optional<KeySpan> older;
  for (int i = std::max(level, 0); i < kLevels; ++i) {
    for (const TableSpan tables : runs(i)) {
      if (tables.front().get() == without || !IsOlder(i, *tables.front(), level, run)) continue;
      const size_t first = FirstBeyond(tables, span.begin);
      if (first == tables.size() || span.EndsBy(tables[first]->meta.span().begin)) continue;
      const auto after = std::partition_point(
          tables.begin() + static_cast<ptrdiff_t>(first), tables.end(),
          [&](const auto& table) { return !span.EndsBy(table->meta.span().begin); });
      const KeySpan here = HullOf(tables[first]->meta.span(), (*std::prev(after))->meta.span());
      older = older ? HullOf(*older, here) : here;
    }
  }
  if (!older) return std::nullopt;
  return CutTo(*older, span);
}

uint64_t Tree::CoveredBytes(int level, uint32_t run, std::string_view user_key,
                            const bloom::DigestSeed& seed, const OpenTable* without) const {
  const std::span<const uint32_t> with_key = ranges_.With(user_key);
  std::optional<bloom::Digest> digest;
  for (auto at = with_key.rbegin(); at != with_key.rend(); ++at) {
    const Candidate& candidate = candidates_[*at];
    if (!IsOlder(candidate.level, *candidate.table, level, run)) break;
    if (!candidate.has_entries || candidate.table == without) continue;
    const OpenTable& table = *candidate.table;
    if (!digest) digest = bloom::DigestOf(user_key, seed);
    if (table.table->MayContain(*digest))
      return table.meta.file_bytes / std::max<uint64_t>(KeysOf(table), 1);
  }
  return 0;
}

bool Tree::IsOlder(int table_level, const OpenTable& table, int level, uint32_t run) {
  if (table_level != level) return table_level > level;
  return table.meta.run < run;
}

uint64_t Tree::ApproximateBytes(std::string_view from, std::optional<std::string_view> to) const {
  if (to && from >= *to) return 0;
  uint64_t bytes = 0;
  for (const Level& level : levels_) {
    for (const TableSpan run : level.runs) {
      for (size_t at = FirstBeyond(run, from); at < run.size(); ++at) {
        const OpenTable& table = *run[at];
        const KeySpan span = table.meta.span();
        if (to && span.begin >= *to) break;
        const uint64_t begin = from <= span.begin ? 0 : table.table->ApproximateOffsetOf(from);
        const uint64_t end =
            !to || span.EndsBy(*to) ? table.meta.file_bytes : table.table->ApproximateOffsetOf(*to);
        bytes += end - std::min(begin, end);
      }
    }
  }
  return bytes;
}

void Tree::DescribeRuns(int level_number, ExpiryByKeyspace& expiry,
                        std::span<const uint64_t> hidden, LevelStatistics* statistics) const {
  const std::vector<TableSpan>& runs = this->runs(level_number);
  statistics->runs = runs.size();
  for (const TableSpan run : runs) statistics->expected_wasted_reads += WastedReadsOf(run);
  if (runs.empty() || level_number == 0) return;
  hidden = hidden.last(runs.back().size());
  for (size_t i = 0; i < runs.back().size(); ++i) {
    const OpenTable& table = *runs.back()[i];
    statistics->oldest_run_bytes += table.meta.file_bytes;
    const auto expired = static_cast<uint64_t>(ExpiredBytesOf(table, expiry));
    statistics->oldest_run_dead_bytes +=
        std::min(DeadEntriesIn(table).dead_bytes + expired + hidden[i], table.meta.file_bytes);
  }
}

void Tree::Describe(Statistics* statistics, const SnapshotList& present) const {
  ExpiryByKeyspace expiry(&present);
  const std::vector<uint64_t> hidden_bytes = HiddenBytesOfTables(expiry);
  size_t done = 0;
  for (int i = 0; i < kLevels; ++i) {
    LevelStatistics& level_statistics = statistics->levels[static_cast<size_t>(i)];
    const auto hidden = std::span(hidden_bytes).subspan(done, level(i).size());
    done += hidden.size();
    DescribeRuns(i, expiry, hidden, &level_statistics);
    level_statistics.hidden_bytes = std::accumulate(hidden.begin(), hidden.end(), uint64_t{0});
    double target_sum = 0, predicted_sum = 0;
    double filtered_keys = 0;
    uint64_t newest = 0;
    DeadEntries dead;
    for (const auto& table : level(i)) {
      ++level_statistics.tables;
      level_statistics.table_bytes += table->meta.file_bytes;
      level_statistics.entries += table->meta.entries;
      const TableProperties& properties = table->table->properties();
      level_statistics.keys += properties.distinct_keys;
      dead.Add(DeadEntriesIn(*table));
      level_statistics.timed_entries += table->meta.times.timed_entries;
      level_statistics.expired_bytes += static_cast<uint64_t>(ExpiredBytesOf(*table, expiry));
      level_statistics.range_deletes += table->table->ranges().range_count();
      level_statistics.range_bytes += table->table->ranges().memory_bytes();
      level_statistics.filter_bytes += table->table->filter_memory_bytes();
      level_statistics.index_bytes += table->table->index_memory_bytes();
      if (table->table->is_partitioned()) {
        level_statistics.filter_partition_bytes += table->table->filter_bytes();
        level_statistics.index_partition_bytes += table->table->index_bytes();
      }
      const FilterPresence presence = table->table->filter_presence();
      const bool is_usable = presence == FilterPresence::kUsable;
      if (table->meta.number > newest && table->meta.has_entries()) {
        newest = table->meta.number;
        level_statistics.filter_kind = is_usable ? FilterKindOf(*table->table) : NameOf(presence);
        level_statistics.filter_reason = properties.filter_reason;
      }
      level_statistics.hot_tables += HasReason(properties, FilterReason::kHot);
      level_statistics.cold_tables += HasReason(properties, FilterReason::kCold);
      if (!is_usable) continue;
      const auto keys = static_cast<double>(properties.distinct_keys);
      target_sum += keys * properties.target_fpp;
      predicted_sum += keys * properties.expected_fpp;
      filtered_keys += keys;
    }
    level_statistics.tombstones = dead.tombstones;
    level_statistics.freeable_bytes = dead.freeable_bytes() + level_statistics.expired_bytes;
    level_statistics.covered_bytes = dead.covered_bytes;
    level_statistics.oldest_tombstone = dead.oldest_tombstone;
    if (filtered_keys == 0) continue;
    level_statistics.target_fpp = target_sum / filtered_keys;
    level_statistics.predicted_fpp = predicted_sum / filtered_keys;
  }
}

std::array<OpenTables, kLevels> LevelsAfter(const Tree& base, const VersionEdit& edit,
                                            const OpenTables& outputs) {
  std::set<uint64_t> removed;
  for (const auto& entry : edit.removed) removed.insert(entry.number);
  std::array<OpenTables, kLevels> levels;
  OpenTables at_hand = outputs;
  for (int i = 0; i < kLevels; ++i) {
    for (const auto& table : base.level(i)) {
      if (removed.contains(table->meta.number)) {
        at_hand.push_back(table);
      } else {
        levels[static_cast<size_t>(i)].push_back(table);
      }
    }
  }
  for (const auto& added : edit.added) {
    if (added.table.keyspace != base.keyspace()) continue;
    const auto table = std::find_if(at_hand.begin(), at_hand.end(), [&](const auto& each) {
      return each->meta.number == added.table.number;
    });
    levels[static_cast<size_t>(added.level)].push_back(*table);
  }
  return levels;
}

}  // namespace lsm
