// Tree: the tables that no reader needs, and the bytes of other tables that ranges hide.
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "lsm/base/range_cover.h"
#include "lsm/base/range_map.h"
#include "lsm/block/covered_keys.h"
#include "lsm/version/open_table.h"
#include "lsm/version/tree.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

using Covers = std::span<const MapsCover* const>;

// Whether ranges cover the whole span, whatever their sequences.  Few tables are covered, so this
// is asked first: it takes one search for each cover on the way.
bool AreAllCovered(const KeySpan& span, Covers covers) {
  std::string_view key = span.begin;
  while (!span.EndsBy(key)) {
    const std::string_view from = key;
    for (const MapsCover* const cover : covers) {
      const std::optional<std::string_view> end = cover->EndOfAll(key);
      if (!end) return true;
      key = *end;
    }
    if (key == from) return false;
  }
  return true;
}

// NeedlessTable::hidden_from for a table below these covers; nullopt if they do not cover it.
std::optional<Sequence> HiddenFrom(const OpenTable& table, Covers covers) {
  const KeySpan span = table.meta.span();
  if (!AreAllCovered(span, covers)) return std::nullopt;
  const Sequence largest = table.table->sequences().second;
  Sequence hidden_from = 0;
  std::string_view key = span.begin;
  while (!span.EndsBy(key)) {
    CoverStretch lowest;
    for (const MapsCover* const cover : covers) {
      const CoverStretch stretch = cover->StretchAbove(key, largest);
      if (stretch.newest != 0 && (lowest.newest == 0 || stretch.newest < lowest.newest))
        lowest = stretch;
    }
    if (lowest.newest == 0) return std::nullopt;
    hidden_from = std::max(hidden_from, lowest.newest);
    if (!lowest.end) break;
    key = *lowest.end;
  }
  return hidden_from;
}

bool IsBeforeInNumber(const NeedlessTable& a, const NeedlessTable& b) {
  return a.table->meta.number < b.table->meta.number;
}

}  // namespace

bool HasSnapshotBetween(std::span<const Sequence> snapshots, Sequence from, Sequence to) {
  const auto first = std::lower_bound(snapshots.begin(), snapshots.end(), from);
  return first != snapshots.end() && *first < to;
}

bool Tree::HasOlder(int level_number, size_t run, const KeySpan& span) const {
  const std::vector<TableSpan>& in_level = runs(level_number);
  for (size_t i = run + 1; i < in_level.size(); ++i) {
    const size_t at = FirstBeyond(in_level[i], span.begin);
    if (at < in_level[i].size() && !span.EndsBy(in_level[i][at]->meta.span().begin)) return true;
  }
  return HasOverlappingBelow(level_number, span);
}

bool Tree::IsIdle(const OpenTable& table, int level, size_t run,
                  std::span<const MapsCover* const> newer) const {
  const KeySpan span = table.meta.span();
  const bool is_of_no_member = members_ != nullptr && !members_->HasIn(span);
  if (table.meta.has_entries() && !is_of_no_member) return false;
  if (table.table->ranges().empty() || !HasOlder(level, run, span)) return true;
  // Ranges over strays stay while strays may be below.  Newer ones take their place.
  return is_of_no_member && AreAllCovered(span, newer);
}

void Tree::ListNeedless() {
  if (!has_maps_ && members_ == nullptr) return;
  std::vector<const MapsCover*> newer;
  for (int i = 0; i < kLevels; ++i) {
    const Level& level = levels_[static_cast<size_t>(i)];
    for (size_t run = 0; run < level.runs.size(); ++run) {
      for (const auto& table : level.runs[run]) {
        if (IsIdle(*table, i, run, newer)) {
          needless_.push_back({table, i});
        } else if (const auto hidden_from = HiddenFrom(*table, newer)) {
          needless_.push_back({table, i, table->table->sequences().first, *hidden_from});
        }
      }
      // A run's own ranges are not above its tables.
      if (has_maps_ && level.covers[run] != nullptr) newer.push_back(level.covers[run].get());
    }
  }
  std::sort(needless_.begin(), needless_.end(), IsBeforeInNumber);
}

namespace {

uint64_t BytesBetween(const Members& members, const OpenTable& table) {
  const Table& file = *table.table;
  uint64_t bytes = 0;
  // All keys of the pieces from `piece` on are at or after `from`.
  std::string from(table.meta.span().begin);
  for (size_t piece = 0; piece < file.piece_count();) {
    const std::optional<KeyspaceId> other = members.FirstOther(KeyspaceOf(from));
    if (!other) break;
    const std::string begin = CommonKeyOf(*other, "");
    const size_t first = begin <= from ? piece : file.FirstPieceFor(begin) + 1;
    const std::optional<KeyspaceId> member = members.First(*other);
    const size_t end = member ? file.FirstPieceFor(CommonKeyOf(*member, "")) : file.piece_count();
    if (first < end) bytes += file.piece_offset(end) - file.piece_offset(first);
    if (end == file.piece_count()) break;
    from = file.piece_fence(end);
    piece = end + 1;
  }
  return bytes;
}

}  // namespace

void Tree::SumBytesOfNoMember(const Tree* before) {
  if (members_ == nullptr) return;
  const bool knows = before != nullptr && before->members_ == members_;
  for (const Candidate& candidate : candidates_) {
    const OpenTable& table = *candidate.table;
    const auto known =
        knows ? before->bytes_of_no_member_.find(table.meta.number) : bytes_of_no_member_.end();
    const bool is_known = knows && known != before->bytes_of_no_member_.end();
    bytes_of_no_member_.emplace(table.meta.number,
                                is_known ? known->second : BytesBetween(*members_, table));
  }
}

uint64_t Tree::BytesUnder(const RangeMap& ranges, HasSnapshotIn has_snapshot,
                          uint64_t enough) const {
  if (ranges.empty()) return 0;
  const MapsCover cover({{&ranges, /*newest_entry=*/0}});
  const MapsCover* const covers[] = {&cover};
  const auto bytes_of = [&](const std::shared_ptr<const OpenTable>& table) -> uint64_t {
    const NeedlessTable here{table, /*level=*/0};
    if (std::binary_search(needless_.begin(), needless_.end(), here, IsBeforeInNumber)) return 0;
    const std::optional<Sequence> hidden_from = HiddenFrom(*table, covers);
    if (!hidden_from || has_snapshot(table->table->sequences().first, *hidden_from)) return 0;
    return table->meta.file_bytes;
  };
  uint64_t bytes = 0;
  for (size_t begin = 0; begin < ranges.size();) {
    if (ranges.sequence_count(begin) == 0) {
      ++begin;
      continue;
    }
    const size_t end = ranges.CoverEnd(begin, kSequenceMax);
    KeySpan span{ranges.boundary(begin), std::nullopt};
    if (end < ranges.size()) span.end = ranges.boundary(end);
    begin = end;
    for (const Level& level : levels_) {
      for (const TableSpan run : level.runs) {
        size_t at = FirstBeyond(run, span.begin);
        // The first one may begin before the cover.
        if (at < run.size() && run[at]->meta.span().begin < span.begin) ++at;
        for (; at < run.size() && span.Covers(run[at]->meta.span()); ++at) {
          bytes += bytes_of(run[at]);
          if (bytes >= enough) return bytes;
        }
      }
    }
  }
  return bytes;
}

namespace {

// Where keys lie among the data blocks of a table, for keys that ascend.
class DataOffsets {
 public:
  // REQUIRES: the table has entries.
  explicit DataOffsets(const Table& table)
      : table_(table),
        begin_(table.piece_offset(0)),
        end_(table.piece_offset(table.piece_count())) {}

  uint64_t all() const { return end_ - begin_; }
  // nullopt: after the last key.
  uint64_t Of(std::optional<std::string_view> key) {
    if (!key) return all();
    if (piece_ < table_.piece_count() && table_.piece_fence(piece_) < *key)
      piece_ = table_.FirstPieceFor(*key);
    return table_.piece_offset(piece_) - begin_;
  }
  // The bytes of the keys in both.
  uint64_t Under(const CoveredKeys& covered, const KeySpan& span,
                 std::optional<std::string_view> end_of_span) {
    uint64_t bytes = 0;
    covered.Within(span, [&](std::string_view begin, std::optional<std::string_view> end) {
      const uint64_t from = Of(begin);
      bytes += Of(end ? end : end_of_span) - from;
    });
    return bytes;
  }

 private:
  const Table& table_;
  const uint64_t begin_, end_;
  size_t piece_ = 0;  // of the last key
};

uint64_t BytesUnder(const CoveredKeys& covered, const TableMeta& meta, const Table& table) {
  return DataOffsets(table).Under(covered, meta.span(), std::nullopt);
}

// The share of the table's entries that a range of its own hides, where it covers them.
double ShareBelow(Sequence range, const Table& table, bool has_older) {
  const Sequence newest = table.newest_entry(), oldest = table.properties().smallest_sequence;
  if (range > newest) return 1;
  if (has_older || range <= oldest) return 0;
  return static_cast<double>(range - oldest) / static_cast<double>(newest - oldest + 1);
}

}  // namespace

bool HiddenBytes::IsWanted(std::string_view begin) const {
  return members_ == nullptr || members_->Has(KeyspaceOf(begin));
}

bool HiddenBytes::AreOfOneRun(const Estimate& a, const Estimate& b) {
  return a.level == b.level && a.level > 0 && a.run == b.run;
}

void HiddenBytes::AddRanges(std::span<const RangeMap* const> of_tables) {
  all_.Add(of_tables, [&](std::string_view begin) { return IsWanted(begin); });
}

double HiddenBytes::HiddenShareOf(const Input& input) const {
  const TableMeta& meta = input.meta;
  const Table& table = input.table;
  if (!table.has_entries()) return newer_.Covers(meta.span()) ? 1 : 0;
  auto hidden = static_cast<double>(BytesUnder(newer_, meta, table));
  // Own ranges, where no newer one is.
  DataOffsets offsets(table);
  const RangeMap& own = input.ranges;
  for (size_t stretch = 0; stretch < own.size(); ++stretch) {
    if (own.sequence_count(stretch) == 0 || !IsWanted(own.boundary(stretch))) continue;
    const double share = ShareBelow(own.sequence(stretch, 0), table, input.has_older);
    if (share == 0) continue;
    const KeySpan span{own.boundary(stretch), own.end(stretch)};
    std::optional<std::string_view> end;
    if (stretch + 1 < own.size()) end = own.boundary(stretch + 1);
    const uint64_t from = offsets.Of(span.begin);
    const uint64_t hidden_before = offsets.Under(newer_, span, end);
    hidden += share * static_cast<double>(offsets.Of(end) - from - hidden_before);
  }
  return hidden / static_cast<double>(offsets.all());
}

void HiddenBytes::Add(const Input& input) {
  Estimate estimate{input.level, input.meta.run, 0, 0};
  if (!estimates_.empty() && !AreOfOneRun(estimates_.back(), estimate)) {
    newer_.Add(run_, [&](std::string_view begin) { return IsWanted(begin); });
    run_.clear();
  }
  const auto file_bytes = static_cast<double>(input.meta.file_bytes);
  const double of_members = std::max(0.0, file_bytes - static_cast<double>(input.no_member_bytes));
  const double alive = std::max(0.0, of_members - static_cast<double>(input.dead_bytes));
  if (alive > 0) {
    estimate.hidden =
        std::min(HiddenShareOf(input) * file_bytes, of_members) * (alive / of_members);
  }
  if (input.covered_bytes > 0 && input.table.has_entries()) {
    estimate.covered = static_cast<double>(input.covered_bytes) *
                       static_cast<double>(BytesUnder(all_, input.meta, input.table)) /
                       static_cast<double>(DataOffsets(input.table).all());
  }
  estimates_.push_back(estimate);
  if (!input.ranges.empty()) run_.push_back(&input.ranges);
}

std::vector<uint64_t> HiddenBytes::Take() const {
  // Tombstones are expected to cover entries of the oldest run.  In level 0, no table is the
  // oldest.
  const auto is_of_oldest = [&](const Estimate& estimate) {
    const Estimate& last = estimates_.back();
    return AreOfOneRun(estimate, last) || (estimate.level == 0 && last.level == 0);
  };
  double hidden = 0, covered = 0;
  for (const Estimate& estimate : estimates_) {
    covered += estimate.covered;
    if (is_of_oldest(estimate)) hidden += estimate.hidden;
  }
  const double kept = hidden > 0 ? std::max(0.0, 1 - covered / hidden) : 0;
  std::vector<uint64_t> bytes;
  bytes.reserve(estimates_.size());
  for (const Estimate& estimate : estimates_)
    bytes.push_back(static_cast<uint64_t>(estimate.hidden * (is_of_oldest(estimate) ? kept : 1)));
  return bytes;
}

std::vector<uint64_t> Tree::HiddenBytesOfTables(ExpiryByKeyspace& expiry) const {
  if (!has_ranges_) return std::vector<uint64_t>(candidates_.size());
  HiddenBytes hidden(members_.get());
  std::vector<const RangeMap*> maps;
  bool has_covered = false;
  for (const Candidate& candidate : candidates_) {
    if (candidate.has_ranges) maps.push_back(&candidate.table->table->ranges());
    has_covered |= DeadEntriesOf(*candidate.table, bytes_per_key_).covered_bytes > 0;
  }
  if (has_covered) hidden.AddRanges(maps);
  for (int i = 0; i < kLevels; ++i) {
    for (size_t run = 0; run < run_count(i); ++run) {
      for (const auto& table : runs(i)[run]) {
        const DeadEntries dead = DeadEntriesOf(*table, bytes_per_key_);
        const bool has_older =
            !table->table->ranges().empty() && HasOlder(i, run, table->meta.span());
        hidden.Add(
            {.meta = table->meta,
             .table = *table->table,
             .ranges = table->table->ranges(),
             .level = i,
             .has_older = has_older,
             .dead_bytes = dead.dead_bytes + static_cast<uint64_t>(ExpiredBytesOf(*table, expiry)),
             .no_member_bytes = BytesOfNoMember(*table),
             .covered_bytes = dead.covered_bytes});
      }
    }
  }
  return hidden.Take();
}

}  // namespace lsm
