// Range maps for tests.
#ifndef TRELLIS_TESTS_SUPPORT_RANGE_MAPS_H_
#define TRELLIS_TESTS_SUPPORT_RANGE_MAPS_H_

#include <span>
#include <string_view>
#include <vector>

#include "lsm/base/range_map.h"

namespace testing_support {

// The ranges that a compaction keeps beside ascending snapshots: the newest one of each stratum at
// each key.
inline lsm::RangeMap RangesOf(std::span<const lsm::RangeDelete> ranges,
                              std::span<const lsm::Sequence> snapshots) {
  std::vector<lsm::RangeMap> maps;
  maps.reserve(ranges.size());
  std::vector<const lsm::RangeMap*> all;
  for (const lsm::RangeDelete& range : ranges)
    all.push_back(&maps.emplace_back(lsm::RangeMap::Of({&range, 1})));
  return lsm::RangeMap::Merged(all).Thinned(snapshots);
}

// An overload for lists in braces.
inline lsm::RangeMap RangesOf(const std::vector<lsm::RangeDelete>& ranges,
                              const std::vector<lsm::Sequence>& snapshots = {}) {
  return RangesOf(std::span(ranges), std::span(snapshots));
}

// The first key at or after `key` that no sequence <= `at` covers; nullopt: there is none.  A view
// of the map or of `key`.
inline lsm::KeyEnd NextGap(const lsm::RangeMap& map, std::string_view key, lsm::Sequence at) {
  const size_t after = map.AfterStretchOf(key);
  if (after == 0 || map.NewestIn(after - 1, at) == 0) return key;
  const size_t gap = map.CoverEnd(after - 1, at);
  return gap == map.size() ? lsm::KeyEnd() : lsm::KeyEnd(map.boundary(gap));
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_RANGE_MAPS_H_
