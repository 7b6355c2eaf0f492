#include "lsm/base/range_map.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <set>
#include <utility>

namespace lsm::inline TRELLIS_ABI {
namespace {

// The number of the sequence's stratum.
size_t StratumOf(Sequence sequence, std::span<const Sequence> snapshots) {
  return static_cast<size_t>(std::lower_bound(snapshots.begin(), snapshots.end(), sequence) -
                             snapshots.begin());
}

// A place where a range begins or ends.
struct Change {
  std::string_view key;
  Sequence sequence;
  bool begins;
};

// A place in a map that is read from front to back.
struct Reader {
  const RangeMap* map;
  size_t next = 0;  // number of the stretch after the current one

  bool at_end() const { return next == map->size(); }
  std::string_view next_key() const { return map->boundary(next); }
  void AppendTo(std::vector<Sequence>* list) const {
    if (next == 0) return;
    for (size_t i = 0; i < map->sequence_count(next - 1); ++i)
      list->push_back(map->sequence(next - 1, i));
  }
};

}  // namespace

RangeMap RangeMap::Of(std::span<const RangeDelete> ranges) {
  std::vector<Change> changes;
  changes.reserve(2 * ranges.size());
  for (const RangeDelete& range : ranges) {
    assert(range.sequence >= 1);
    if (range.to && *range.to <= range.from) continue;
    changes.push_back({range.from, range.sequence, true});
    if (range.to) changes.push_back({*range.to, range.sequence, false});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.key < b.key; });
  RangeMapBuilder builder;
  std::multiset<Sequence> open;
  std::vector<Sequence> list;
  for (size_t i = 0; i < changes.size();) {
    const std::string_view key = changes[i].key;
    // Begins come first: a range may begin where another one with its sequence ends.
    for (const bool begins : {true, false}) {
      for (size_t at = i; at < changes.size() && changes[at].key == key; ++at) {
        if (changes[at].begins != begins) continue;
        begins ? void(open.insert(changes[at].sequence))
               : void(open.erase(open.find(changes[at].sequence)));
      }
    }
    while (i < changes.size() && changes[i].key == key) ++i;
    list.clear();
    if (!open.empty()) list.push_back(*open.rbegin());
    builder.Add(key, list);
  }
  return builder.Finish();
}

RangeMap RangeMap::Merged(std::span<const RangeMap* const> maps) {
  std::vector<Reader> readers;
  for (const RangeMap* const map : maps) readers.push_back({map});
  RangeMapBuilder builder;
  std::vector<Sequence> list;
  for (;;) {
    const Reader* first = nullptr;
    for (const Reader& reader : readers) {
      if (!reader.at_end() && (first == nullptr || reader.next_key() < first->next_key()))
        first = &reader;
    }
    if (first == nullptr) return builder.Finish();
    const std::string_view key = first->next_key();
    list.clear();
    for (Reader& reader : readers) {
      if (!reader.at_end() && reader.next_key() == key) ++reader.next;
      reader.AppendTo(&list);
    }
    std::sort(list.begin(), list.end(), std::greater<>());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    builder.Add(key, list);
  }
}

RangeMap RangeMap::Joined(std::span<const RangeMap* const> maps) {
  RangeMapBuilder builder;
  std::vector<Sequence> list;
  const RangeMap* last = nullptr;  // its final gap is not added yet
  const auto end_last = [&](const RangeMap* next) {
    if (last == nullptr || !last->hull().end) return;
    // A map that begins there begins with other sequences.
    const std::string_view end = last->boundary(last->size() - 1);
    if (next == nullptr || next->boundary(0) != end) builder.Add(end, {});
  };
  for (const RangeMap* const map : maps) {
    if (map->empty()) continue;
    end_last(map);
    last = map;
    const size_t stretches = map->size() - (map->hull().end ? 1 : 0);
    for (size_t stretch = 0; stretch < stretches; ++stretch) {
      map->ListSequences(stretch, &list);
      builder.Add(map->boundary(stretch), list);
    }
  }
  end_last(nullptr);
  return builder.Finish();
}

void RangeMap::ListSequences(size_t stretch, std::vector<Sequence>* list) const {
  list->clear();
  for (size_t i = 0; i < sequence_count(stretch); ++i) list->push_back(sequence(stretch, i));
}

RangeMap RangeMap::Thinned(std::span<const Sequence> snapshots) const {
  RangeMapBuilder builder;
  std::vector<Sequence> list;
  for (size_t stretch = 0; stretch < size(); ++stretch) {
    list.clear();
    for (size_t i = 0; i < sequence_count(stretch); ++i) {
      const Sequence of_it = sequence(stretch, i);
      if (list.empty() || StratumOf(of_it, snapshots) != StratumOf(list.back(), snapshots))
        list.push_back(of_it);
    }
    builder.Add(boundary(stretch), list);
  }
  return builder.Finish();
}

RangeMap RangeMap::Within(const KeySpan& span) const {
  if (span.empty()) return {};
  RangeMapBuilder builder;
  std::vector<Sequence> list;
  const size_t after = AfterStretchOf(span.begin);
  for (size_t stretch = after == 0 ? 0 : after - 1; stretch < size(); ++stretch) {
    const std::string_view begin = std::max(boundary(stretch), span.begin);
    if (span.EndsBy(begin)) break;
    ListSequences(stretch, &list);
    builder.Add(begin, list);
  }
  if (span.end && !builder.Joins({})) builder.Add(span.end->ToString(), {});
  return builder.Finish();
}

KeySpan RangeMap::hull() const {
  assert(!empty());
  KeySpan span{boundaries_[0], std::nullopt};
  if (newest_.back() == 0) span.end = boundaries_[size() - 1];
  return span;
}

size_t RangeMap::range_count() const {
  return size() - static_cast<size_t>(std::count(newest_.begin(), newest_.end(), Sequence{0}));
}

Sequence RangeMap::NewestOf(size_t stretch, Sequence at) const {
  const auto begin = older_.begin() + static_cast<ptrdiff_t>(older_ends_[stretch]);
  const auto end = older_.begin() + static_cast<ptrdiff_t>(older_ends_[stretch + 1]);
  const auto found = std::lower_bound(begin, end, at, std::greater<>());
  return found == end ? 0 : *found;
}

size_t RangeMap::CoverEnd(size_t stretch, Sequence at) const {
  if (at >= largest_sequence_) return next_gap_[stretch];
  while (stretch < size() && NewestIn(stretch, at) != 0) ++stretch;
  return stretch;
}

size_t RangeMap::CoverBegin(size_t stretch, Sequence at) const {
  if (at >= largest_sequence_) {
    // All stretches of a cover have the same next gap, and the gap before them has itself.
    const auto begin = std::lower_bound(next_gap_.begin(), next_gap_.end(), next_gap_[stretch]);
    return static_cast<size_t>(begin - next_gap_.begin());
  }
  while (stretch > 0 && NewestIn(stretch - 1, at) != 0) --stretch;
  return stretch;
}

size_t RangeMap::memory_bytes() const {
  return boundaries_.memory_bytes() +
         (newest_.capacity() + older_ends_.capacity() + older_.capacity()) * sizeof(uint64_t) +
         next_gap_.capacity() * sizeof(uint32_t);
}

bool RangeMap::operator==(const RangeMap& other) const {
  if (newest_ != other.newest_ || older_ends_ != other.older_ends_ || older_ != other.older_)
    return false;
  for (size_t i = 0; i < size(); ++i) {
    if (boundary(i) != other.boundary(i)) return false;
  }
  return true;
}

bool RangeMapBuilder::Joins(std::span<const Sequence> sequences) const {
  const size_t stretches = map_.newest_.size();
  if (stretches == 0) return sequences.empty();
  if (map_.sequence_count(stretches - 1) != sequences.size()) return false;
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (map_.sequence(stretches - 1, i) != sequences[i]) return false;
  }
  return true;
}

void RangeMapBuilder::Add(std::string_view boundary, std::span<const Sequence> sequences) {
  assert(std::is_sorted(sequences.begin(), sequences.end(), std::greater_equal<>()));
  if (Joins(sequences)) return;
  keys_.append(boundary);
  key_ends_.push_back(keys_.size());
  std::vector<uint64_t>& older_ends = map_.older_ends_;
  if (older_ends.empty()) older_ends.push_back(0);
  map_.newest_.push_back(sequences.empty() ? 0 : sequences.front());
  if (!sequences.empty())
    map_.older_.insert(map_.older_.end(), sequences.begin() + 1, sequences.end());
  older_ends.push_back(map_.older_.size());
  if (sequences.empty()) return;
  map_.largest_sequence_ = std::max(map_.largest_sequence_, sequences.front());
  map_.smallest_sequence_ = map_.smallest_sequence_ == 0
                                ? sequences.back()
                                : std::min(map_.smallest_sequence_, sequences.back());
}

RangeMap RangeMapBuilder::Finish() {
  const size_t stretches = map_.newest_.size();
  assert(stretches < UINT32_MAX);
  if (stretches == 0) return {};
  map_.boundaries_ = Fences(std::move(keys_), std::move(key_ends_));
  map_.next_gap_.resize(stretches);
  auto gap = static_cast<uint32_t>(stretches);
  for (size_t i = stretches; i-- > 0;) {
    if (map_.newest_[i] == 0) gap = static_cast<uint32_t>(i);
    map_.next_gap_[i] = gap;
  }
  map_.newest_.shrink_to_fit();
  map_.older_ends_.shrink_to_fit();
  map_.older_.shrink_to_fit();
  return std::move(map_);
}

RangeMap NewestRanges(std::span<const RangeMap* const> maps) {
  std::vector<RangeDelete> all;
  for (const RangeMap* const map : maps) {
    for (size_t i = 0; i < map->size(); ++i) {
      if (map->sequence_count(i) == 0) continue;
      const bool is_last = i + 1 == map->size();
      all.push_back({map->boundary(i), is_last ? std::nullopt : std::optional(map->boundary(i + 1)),
                     map->sequence(i, 0)});
    }
  }
  return RangeMap::Of(all);
}

}  // namespace lsm
