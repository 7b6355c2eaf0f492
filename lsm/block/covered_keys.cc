#include "lsm/block/covered_keys.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace lsm::inline TRELLIS_ABI {

void CoveredKeys::Append(std::span<const RangeMap* const> maps,
                         absl::FunctionRef<bool(std::string_view begin)> is_wanted) {
  for (const RangeMap* const map : maps) {
    for (size_t stretch = 0; stretch < map->size(); ++stretch) {
      const std::string_view begin = map->boundary(stretch);
      if (map->sequence_count(stretch) == 0 || !is_wanted(begin)) continue;
      const bool is_last = stretch + 1 == map->size();
      spans_.push_back({begin, is_last ? End() : End(map->boundary(stretch + 1))});
    }
  }
}

void CoveredKeys::Add(std::span<const RangeMap* const> maps,
                      absl::FunctionRef<bool(std::string_view begin)> is_wanted) {
  const auto before = static_cast<ptrdiff_t>(spans_.size());
  Append(maps, is_wanted);
  const auto added = spans_.begin() + before;
  if (added == spans_.end()) return;
  const auto precedes = [](const Span& a, const Span& b) { return a.begin < b.begin; };
  if (!std::is_sorted(added, spans_.end(), precedes)) std::sort(added, spans_.end(), precedes);
  std::inplace_merge(spans_.begin(), added, spans_.end(), precedes);
  auto last = spans_.begin();
  for (auto next = std::next(last); next != spans_.end(); ++next) {
    if (last->end && *last->end < next->begin) {
      *++last = *next;
    } else if (last->end && (!next->end || *last->end < *next->end)) {
      last->end = next->end;
    }
  }
  spans_.erase(std::next(last), spans_.end());
}

std::vector<CoveredKeys::Span>::const_iterator CoveredKeys::At(std::string_view key) const {
  return std::partition_point(spans_.begin(), spans_.end(),
                              [&](const Span& span) { return span.end && *span.end <= key; });
}

bool CoveredKeys::Covers(const KeySpan& span) const {
  const auto at = At(span.begin);
  if (at == spans_.end() || span.begin < at->begin) return false;
  return !at->end || span.EndsBy(*at->end);
}

void CoveredKeys::Within(const KeySpan& span, Visitor visit) const {
  for (auto at = At(span.begin); at != spans_.end() && !span.EndsBy(at->begin); ++at) {
    const bool is_to_end = !at->end || span.EndsBy(*at->end);
    visit(std::max(at->begin, span.begin), is_to_end ? End() : at->end);
  }
}

}  // namespace lsm
