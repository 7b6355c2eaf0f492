#include "lsm/base/range_cover.h"

#include <algorithm>
#include <cassert>

namespace lsm::inline TRELLIS_ABI {

size_t MapsCover::PartsUpTo(std::string_view user_key) const {
  const auto end = std::partition_point(parts_.begin(), parts_.end(), [&](const Part& part) {
    return part.map->boundary(0) <= user_key;
  });
  return static_cast<size_t>(end - parts_.begin());
}

CoverStretch MapsCover::StretchAt(std::string_view internal_key, Sequence at) const {
  const std::string_view key = UserKeyOf(internal_key);
  const size_t parts = PartsUpTo(key);
  CoverStretch found;
  if (parts < parts_.size()) found.end = parts_[parts].map->boundary(0);
  if (parts == 0) return found;
  const RangeMap& map = *parts_[parts - 1].map;
  const size_t stretch = map.AfterStretchOf(key) - 1;
  found.newest = map.NewestIn(stretch, at);
  found.begin = map.boundary(stretch);
  if (stretch + 1 < map.size()) found.end = map.boundary(stretch + 1);
  return found;
}

std::optional<std::string_view> MapsCover::EndOfCover(std::string_view internal_key, Sequence at,
                                                      Passed passed, uint64_t* walked) const {
  const std::string_view key = UserKeyOf(internal_key);
  const size_t parts = PartsUpTo(key);
  if (parts == 0) return key;
  size_t stretch = parts_[parts - 1].map->AfterStretchOf(key) - 1;
  std::string_view end = key;
  for (size_t part = parts - 1; part < parts_.size(); ++part, stretch = 0) {
    const RangeMap& map = *parts_[part].map;
    // The first part has the key.  A later one goes on only if it begins where the last one ends.
    if (part >= parts && map.boundary(0) != end) return end;
    if (map.NewestIn(stretch, at) == 0 || !IsPassed(part, passed)) return end;
    const size_t gap = map.CoverEnd(stretch, at);
    if (at < map.largest_sequence()) *walked += gap - stretch;
    if (gap == map.size()) return std::nullopt;
    end = map.boundary(gap);
    if (gap + 1 < map.size()) return end;
  }
  return end;
}

std::string_view MapsCover::BeginOfCover(std::string_view internal_key, Sequence at, Passed passed,
                                         uint64_t* walked) const {
  std::string_view begin = UserKeyOf(internal_key);
  for (size_t part = PartsUpTo(begin); part > 0; --part) {
    const RangeMap& map = *parts_[part - 1].map;
    // The stretch of the keys right below `begin`.
    size_t stretch = map.AfterStretchOf(begin);
    if (stretch > 0 && map.boundary(stretch - 1) == begin) --stretch;
    if (stretch == 0) continue;  // they are in the part before
    --stretch;
    if (map.NewestIn(stretch, at) == 0 || !IsPassed(part - 1, passed)) return begin;
    const size_t first = map.CoverBegin(stretch, at);
    if (at < map.largest_sequence()) *walked += stretch - first + 1;
    begin = map.boundary(first);
    if (first > 0) return begin;
  }
  return begin;
}

}  // namespace lsm
