#include "lsm/runtime/known_gaps.h"

#include <algorithm>
#include <new>
#include <utility>

namespace lsm::inline TRELLIS_ABI {
namespace {

// `until` is raised if it lags by this many numbers, so that many readers do not contend for its
// cache line.
constexpr Sequence kLagMin = 16;

// Puts that divide a gap.  After more of them, only the piece that was asked for remains.
constexpr size_t kDividingPutsMax = 8;

using End = std::optional<std::string_view>;  // nullopt: after all keys

bool IsWithin(std::string_view key, const End& end) { return !end || key < *end; }
std::string KeyAfter(std::string_view key) { return std::string(key) + '\0'; }

// Calls `visit(recent)` for each entry with a number in (from, to].  False if one is missing.
template <typename Visit>
bool ForEachBetween(const ReadView& view, Sequence from, Sequence to, const Visit& visit) {
  Sequence next = from + 1;
  const auto visit_in = [&](const Memtable& memtable) {
    const Sequence last = std::min(to, memtable.last_number());
    if (next > last) return true;
    if (next <= memtable.number_before()) return false;
    for (; next <= last; ++next) {
      const Memtable::RecentEntry recent = memtable.FindRecent(next);
      if (recent.entry == nullptr) return false;
      visit(recent);
    }
    return true;
  };
  for (auto sealed = view.sealed.rbegin(); sealed != view.sealed.rend(); ++sealed) {
    if (!visit_in(**sealed)) return false;
  }
  return visit_in(*view.memtable) && next > to;
}

}  // namespace

ReadPoint ReadPoint::In(const ReadView& view, Sequence sequence, KeyspaceId keyspace) {
  // A view that takes no writes has all of them up to its own limit.
  if (view.sequence_max != kSequenceMax) return {&view, sequence, keyspace};
  return {&view, std::min(sequence, view.memtable->last_number()), keyspace};
}

KnownGaps::Gap::Gap(KeyspaceId of_keyspace, std::string_view from_key, End to_key,
                    Sequence since_number, Sequence until_number, uint64_t walked_entries,
                    uint64_t in_order)
    : keyspace(of_keyspace),
      from(from_key),
      to(to_key),
      since(since_number),
      until(until_number),
      walked(walked_entries),
      order(in_order) {}

KnownGaps::~KnownGaps() { delete list_.load(std::memory_order_relaxed); }

bool KnownGaps::Find(const ReadPoint& point, std::string_view key, Range* found) {
  const EpochGuard guard;
  const List* list = list_.load(std::memory_order_seq_cst);
  if (list == nullptr) return false;
  const auto after = std::upper_bound(
      list->begin(), list->end(), key, [&point](std::string_view sought, const auto& gap) {
        return point.keyspace != gap->keyspace ? point.keyspace < gap->keyspace
                                               : sought < gap->from;
      });
  if (after == list->begin()) return false;
  Gap& gap = **std::prev(after);
  if (!IsWithin(key, gap.to) || !gap.IsFor(point)) return false;

  std::string_view from = gap.from;
  End to = gap.to;
  std::vector<std::string_view> puts;
  const Sequence until = gap.until.load(std::memory_order_relaxed);
  if (point.number > until) {
    // Looking at more entries than the gap spares would cost more than a walk.
    if (point.number - until > gap.walked) return false;
    const bool has_all =
        ForEachBetween(*point.view, until, point.number, [&](const Memtable::RecentEntry& recent) {
          if (recent.keyspace != gap.keyspace || IsTombstone(recent.entry->suffix())) return;
          const std::string_view put = recent.entry->user_key();
          if (put >= gap.from && IsWithin(put, gap.to)) puts.push_back(put);
        });
    if (!has_all) return false;
    if (puts.empty() && point.number - until >= kLagMin)
      gap.until.store(point.number, std::memory_order_relaxed);
  }
  found->walked = gap.walked;
  found->from.assign(from);
  found->has_end = to.has_value();
  if (to) found->to.assign(*to);
  if (puts.empty()) return true;

  const List pieces = Divide(gap, point.number, &puts);
  bool has_key = false;
  List kept;
  for (const auto& piece : pieces) {
    const bool is_here = key >= piece->from && IsWithin(key, piece->to);
    if (is_here || pieces.size() <= kDividingPutsMax) kept.push_back(piece);
    if (!is_here) continue;
    has_key = true;
    found->walked = piece->walked;
    found->from.assign(piece->from);
    found->has_end = piece->to.has_value();
    if (piece->to) found->to.assign(*piece->to);
  }
  Replace(point, gap.from, gap.to, kept);
  return has_key;
}

KnownGaps::List KnownGaps::Divide(const Gap& gap, Sequence until,
                                  std::vector<std::string_view>* puts) {
  std::sort(puts->begin(), puts->end());
  puts->erase(std::unique(puts->begin(), puts->end()), puts->end());
  const uint64_t walked = std::max(gap.walked / (puts->size() + 1), kWalkedMin);
  List pieces;
  std::string from = gap.from;
  const auto add = [&](const End& to) {
    pieces.push_back(
        std::make_shared<Gap>(gap.keyspace, from, to, gap.since, until, walked, gap.order));
  };
  for (const std::string_view put : *puts) {
    if (from < put) add(put);
    from = KeyAfter(put);
  }
  if (IsWithin(from, gap.to)) add(gap.to);
  return pieces;
}

uint64_t KnownGaps::Record(const ReadPoint& point, std::string_view from, End to,
                           uint64_t walked) noexcept {
  if (!IsWithin(from, to) || from.size() > kKeyBytesMax || (to && to->size() > kKeyBytesMax))
    return 0;
  const uint64_t order = point.timed ? order_.fetch_add(1, std::memory_order_release) + 1 : 0;
  try {
    Replace(point, from, to,
            {std::make_shared<Gap>(point.keyspace, from, to, point.number, point.number, walked,
                                   order)});
  } catch (const std::bad_alloc&) {  // the next walk records it
  }
  return order;
}

void KnownGaps::Replace(const ReadPoint& point, std::string_view from, End to,
                        const List& pieces) noexcept {
  if (!mutex_.TryLock()) return;
  try {
    ReplaceLocked(point, from, to, pieces);
  } catch (const std::bad_alloc&) {  // the gaps stay as they are
  }
  mutex_.Unlock();
}

void KnownGaps::ReplaceLocked(const ReadPoint& point, std::string_view from, End to,
                              const List& pieces) {
  const Sequence until = point.number;
  // Relaxed: only threads with the lock change it.
  const List* const list = list_.load(std::memory_order_relaxed);
  const auto spares_more = [&](const std::shared_ptr<Gap>& gap) {
    return gap->until.load(std::memory_order_relaxed) >= until &&
           gap->walked >= pieces.front()->walked;
  };
  if (list != nullptr && list->size() == kGapsMax && pieces.size() == 1 &&
      std::all_of(list->begin(), list->end(), spares_more))
    return;  // a scan over many small gaps does not drive out the others

  retired_.Reserve(1);
  auto next = std::make_unique<List>();
  next->reserve((list != nullptr ? list->size() : 0) + pieces.size() + 1);
  bool is_placed = false;
  const auto place = [&] {
    if (!std::exchange(is_placed, true)) next->insert(next->end(), pieces.begin(), pieces.end());
  };
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const std::shared_ptr<Gap>& gap = (*list)[i];
    const bool is_here = gap->keyspace == point.keyspace;
    const bool is_before = is_here ? !IsWithin(from, gap->to) : gap->keyspace < point.keyspace;
    const bool is_after = is_here ? !IsWithin(gap->from, to) : !is_before;
    if (is_after) place();
    if (is_before || is_after) {
      next->push_back(gap);
      continue;
    }
    const Sequence gap_until = gap->until.load(std::memory_order_relaxed);
    if (gap_until > until) return;
    // The parts that the new ones leave stay true.
    const uint64_t walked = std::max(gap->walked / 2, kWalkedMin);
    const auto keep = [&](std::string_view part, const End& part_end) {
      next->push_back(std::make_shared<Gap>(gap->keyspace, part, part_end, gap->since, gap_until,
                                            walked, gap->order));
    };
    if (gap->from < from) keep(gap->from, from);
    place();
    if (to && IsWithin(*to, gap->to)) keep(*to, gap->to);
  }
  place();
  while (next->size() > kGapsMax) {
    // The gap that was used the longest time ago goes, or of several the one that spares least.
    next->erase(std::min_element(next->begin(), next->end(), [](const auto& a, const auto& b) {
      const Sequence a_until = a->until.load(std::memory_order_relaxed);
      const Sequence b_until = b->until.load(std::memory_order_relaxed);
      return a_until != b_until ? a_until < b_until : a->walked < b->walked;
    }));
  }
  list_.store(next.release(), std::memory_order_seq_cst);
  if (list != nullptr)
    retired_.Retire(const_cast<List*>(list), [](void* old) { delete static_cast<List*>(old); });
  retired_.Drain();
}

}  // namespace lsm
