// Tree: the tables that no reader needs.
#include <algorithm>
#include <optional>
#include <span>

#include "lsm/base/range_cover.h"
#include "lsm/base/range_map.h"
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

void Tree::ListNeedless() {
  if (!has_ranges_ && members_ == nullptr) return;
  std::vector<const MapsCover*> newer;
  for (int i = 0; i < kLevels; ++i) {
    const Level& level = levels_[static_cast<size_t>(i)];
    for (size_t run = 0; run < level.runs.size(); ++run) {
      for (const auto& table : level.runs[run]) {
        if (members_ != nullptr && !members_->HasIn(table->meta.span())) {
          needless_.push_back({table, i});
        } else if (!table->meta.has_entries() && !HasOlder(i, run, table->meta.span())) {
          needless_.push_back({table, i});
        } else if (const auto hidden_from = HiddenFrom(*table, newer)) {
          needless_.push_back({table, i, table->table->sequences().first, *hidden_from});
        }
      }
      // A run's own ranges are not above its tables.
      if (has_ranges_ && level.covers[run] != nullptr) newer.push_back(level.covers[run].get());
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

}  // namespace lsm
