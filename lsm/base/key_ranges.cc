#include "lsm/base/key_ranges.h"

#include <algorithm>
#include <cassert>

namespace lsm::inline TRELLIS_ABI {

KeyRanges::KeyRanges(std::span<const Range> ranges) {
  if (ranges.empty()) return;
  std::vector<std::string_view> ends;
  ends.reserve(2 * ranges.size());
  for (const Range& range : ranges) {
    assert(range.smallest <= range.largest);
    ends.push_back(range.smallest);
    ends.push_back(range.largest);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  ends_ = Fences(ends);

  // Number the stretches and ends in turn.  A range covers numbers 2 i + 1 to 2 j + 1, where i and
  // j are its ends.
  struct Held {
    size_t first, last;
  };
  std::vector<Held> held;
  held.reserve(ranges.size());
  begins_.assign(2 * ends.size() + 2, 0);
  for (const Range& range : ranges) {
    held.push_back(
        {2 * ends_.LowerBound(range.smallest) + 1, 2 * ends_.LowerBound(range.largest) + 1});
    // The change in the number of ranges from one number to the next.
    ++begins_[held.back().first];
    --begins_[held.back().last + 1];
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
    for (size_t number = held[i].first; number <= held[i].last; ++number)
      held_by_[next[number]++] = static_cast<uint32_t>(i);
  }
}

}  // namespace lsm
