#include "lsm/version/key_ranges.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace lsm::inline TRELLIS_ABI {

KeyRanges::KeyRanges(std::span<const KeySpan> ranges) {
  if (ranges.empty()) return;
  std::vector<KeyBound> bounds;
  bounds.reserve(2 * ranges.size());
  for (const KeySpan& range : ranges) {
    assert(!range.empty());
    bounds.push_back(range.begin);
    if (range.end) bounds.push_back(*range.end);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::string bytes;
  std::vector<uint64_t> ends = {0};
  for (const KeyBound& bound : bounds) {
    bound.AppendTo(&bytes);
    ends.push_back(bytes.size());
  }
  bounds_ = Fences(std::move(bytes), std::move(ends));

  // Stretch i lies before bound i.
  struct Held {
    size_t first, end;
  };
  std::vector<Held> held;
  held.reserve(ranges.size());
  begins_.assign(bounds.size() + 2, 0);
  const auto stretch_from = [&bounds](const KeyBound& bound) {
    return static_cast<size_t>(std::lower_bound(bounds.begin(), bounds.end(), bound) -
                               bounds.begin()) +
           1;
  };
  for (const KeySpan& range : ranges) {
    held.push_back(
        {stretch_from(range.begin), range.end ? stretch_from(*range.end) : bounds.size() + 1});
    // The change in the number of ranges from one stretch to the next.
    ++begins_[held.back().first];
    --begins_[held.back().end];
  }
  size_t holding = 0, total = 0;
  for (size_t& begin : begins_) {
    holding += begin;
    begin = total;
    total += holding;
  }
  held_by_.resize(total);
  std::vector<size_t> next(begins_.begin(), begins_.end() - 1);
  for (size_t i = 0; i < held.size(); ++i) {
    for (size_t stretch = held[i].first; stretch < held[i].end; ++stretch)
      held_by_[next[stretch]++] = static_cast<uint32_t>(i);
  }
}

}  // namespace lsm
