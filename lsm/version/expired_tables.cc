// Tree: the tables whose entries have expired.
#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>

#include "lsm/version/snapshot_list.h"
#include "lsm/version/tree.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// The entries that have expired for each reader that may see the table.  If several keyspaces may
// have keys in it, their mildest limit counts.  `skips_names`: ignores the names in the common
// tree, which never expire.
ExpiryView ExpiredInTable(const OpenTable& table, const Members* members, ExpiryByKeyspace& expiry,
                          bool skips_names) {
  const size_t stratum = expiry.snapshots().StratumOf(table.table->sequences().first);
  if (table.meta.keyspace != kCommonTree) return expiry.In(table.meta.keyspace)[stratum];
  const KeySpan span = table.meta.span();
  std::optional<ExpiryView> mildest;
  const auto next = [&](KeyspaceId after) {
    return after == std::numeric_limits<KeyspaceId>::max() ? std::nullopt
                                                           : members->First(after + 1);
  };
  for (std::optional<KeyspaceId> id = members->First(KeyspaceOf(span.begin)); id; id = next(*id)) {
    if (*id == kNamesInCommonTree) {
      if (skips_names) continue;
      return {};
    }
    if (span.EndsBy(CommonKeyOf(*id, ""))) break;
    const ExpiryView view = expiry.In(*id)[stratum];
    mildest = ExpiryView::MilderOf(mildest.value_or(view), view);
    if (mildest->live_from == 0) return {};
  }
  return mildest.value_or(ExpiryView());
}

// Puts without times.
uint64_t UntimedOf(const TableMeta& meta, const Table& table) {
  return meta.entries - table.properties().deletions - meta.times.timed_entries;
}

// Names come first in the common tree.  They count as puts without times, and never expire.
bool MayHaveNames(const TableMeta& meta) {
  return meta.keyspace == kCommonTree && KeyspaceOf(meta.span().begin) == kNamesInCommonTree;
}

// The share of the table's entries that are puts without times and have expired.
double UntimedShareOf(const TableMeta& meta, const Table& table, const ExpiryView& expired) {
  if (!expired.HidesUntimed() || meta.entries == 0 || MayHaveNames(meta)) return 0;
  return static_cast<double>(UntimedOf(meta, table)) / static_cast<double>(meta.entries);
}

// The bytes of the table that have expired.
double EstimateExpired(const OpenTable& table, const ExpiryView& expired) {
  return static_cast<double>(table.meta.file_bytes) *
         ExpiredShareOf(table.meta, *table.table, expired);
}

bool IsExpired(const OpenTable& table, const ExpiryView& expired) {
  const WriteTimes& times = table.meta.times;
  const uint64_t untimed = UntimedOf(table.meta, *table.table);
  return times.timed_entries + untimed > 0 &&
         (times.timed_entries == 0 || expired.HidesAt(times.newest)) &&
         (untimed == 0 || expired.HidesUntimed());
}

}  // namespace

double ExpiredShareOf(const TableMeta& meta, const Table& table, const ExpiryView& expired) {
  return std::min(ExpiredShareOf(meta.times, expired) + UntimedShareOf(meta, table, expired), 1.0);
}

std::vector<ExpiryView> SnapshotList::ExpiredIn(KeyspaceId keyspace) const {
  std::vector<ExpiryView> strata(size() + 1);
  if (expiry == nullptr) return strata;
  ExpiryView least = expiry->now.Of(keyspace);
  auto reader = expiry->readers.rbegin();
  for (size_t stratum = size();; --stratum) {
    strata[stratum] = least;
    if (stratum == 0) return strata;
    // Readers at this number see the strata below it, too.
    const Sequence number = (*this)[stratum - 1];
    for (; reader != expiry->readers.rend() && reader->first >= number; ++reader) {
      const ReadTime* const time = reader->second.get();
      least.live_from =
          std::min(least.live_from, time == nullptr ? 0 : time->Of(keyspace).live_from);
    }
  }
}

OpenTables Tree::Expired(int level_number, ExpiryByKeyspace& expiry, IsTaken is_taken) const {
  OpenTables expired;
  std::unordered_set<const OpenTable*> gone;
  const std::vector<TableSpan>& in_level = runs(level_number);
  // From the oldest run on.
  for (size_t run = in_level.size(); run-- > 0;) {
    for (const auto& table : in_level[run]) {
      if (!IsExpired(*table,
                     ExpiredInTable(*table, members_.get(), expiry, /*skips_names=*/false)) ||
          is_taken(*table))
        continue;
      const KeySpan span = table->meta.span();
      if (HasOverlappingBelow(level_number, span)) continue;
      const auto keeps_one = [&](TableSpan older) {
        size_t at = FirstBeyond(older, span.begin);
        while (at < older.size() && gone.contains(older[at].get()) &&
               !span.EndsBy(older[at]->meta.span().begin))
          ++at;
        return at < older.size() && !span.EndsBy(older[at]->meta.span().begin);
      };
      const auto older = in_level.begin() + static_cast<ptrdiff_t>(run) + 1;
      if (std::any_of(older, in_level.end(), keeps_one)) continue;
      gone.insert(table.get());
      expired.push_back(table);
    }
  }
  return expired;
}

double Tree::ExpiredBytesOf(const OpenTable& table, ExpiryByKeyspace& expiry) const {
  if (expiry.snapshots().expiry == nullptr) return 0;
  return EstimateExpired(table,
                         ExpiredInTable(table, members_.get(), expiry, /*skips_names=*/true));
}

double Tree::ExpiredBytes(const SnapshotList& snapshots) const {
  double bytes = 0;
  ExpiryByKeyspace expiry(&snapshots);
  for (const Candidate& candidate : candidates_) bytes += ExpiredBytesOf(*candidate.table, expiry);
  return bytes;
}

std::optional<Tree::HalfExpired> Tree::PickHalfExpired(ExpiryByKeyspace& expiry,
                                                       IsTaken is_taken) const {
  std::optional<HalfExpired> picked;
  uint32_t picked_since = 0;
  double bytes = 0, expired_bytes = 0;
  for (int level_number = 0; level_number < kLevels; ++level_number) {
    for (const auto& table : level(level_number)) {
      const ExpiryView expired =
          ExpiredInTable(*table, members_.get(), expiry, /*skips_names=*/true);
      const double untimed_share = UntimedShareOf(table->meta, *table->table, expired);
      const WriteTimes& times = table->meta.times;
      if (times.timed_entries == 0 && untimed_share == 0) continue;
      bytes += static_cast<double>(table->meta.file_bytes);
      expired_bytes += EstimateExpired(*table, expired);
      const bool is_by_untimed = untimed_share >= 0.2;
      const uint32_t since = is_by_untimed ? expired.untimed : times.fifth;
      if ((!is_by_untimed && (since == 0 || expired.live_from < since)) || is_taken(*table))
        continue;
      if (picked && since >= picked_since) continue;
      picked = HalfExpired{table, level_number};
      picked_since = since;
    }
  }
  return expired_bytes >= bytes / 6 ? picked : std::nullopt;
}

bool Tree::MayHaveExpired(const LimitTable& limits, uint32_t now) const {
  uint32_t live_from = 0;
  bool hides_untimed = false;
  const auto add = [&](const ExpiryView& view) {
    live_from = std::max(live_from, view.live_from);
    hides_untimed = hides_untimed || view.HidesUntimed();
  };
  if (is_common()) {
    for (const auto& [id, limit] : limits.rows()) {
      if (members_->Has(id)) add(limit.At(now));
    }
  } else {
    add(limits.At(keyspace_, now));
  }
  if (live_from == 0) return false;
  return std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
    const OpenTable& table = *candidate.table;
    const WriteTimes& times = table.meta.times;
    if (times.fifth != 0 && live_from >= times.fifth) return true;
    if (MayHaveNames(table.meta)) return false;
    return (times.timed_entries > 0 && times.newest < live_from) ||
           (hides_untimed && UntimedOf(table.meta, *table.table) > 0);
  });
}

}  // namespace lsm
