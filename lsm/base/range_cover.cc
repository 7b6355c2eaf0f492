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

CoverStretch MapsCover::StretchOf(std::string_view user_key, size_t* stretch,
                                  const RangeMap** map) const {
  const size_t parts = PartsUpTo(user_key);
  CoverStretch found;
  if (parts < parts_.size()) found.end = parts_[parts].map->boundary(0);
  if (parts == 0) return found;
  *map = parts_[parts - 1].map;
  *stretch = (*map)->AfterStretchOf(user_key) - 1;
  found.begin = (*map)->boundary(*stretch);
  if (*stretch + 1 < (*map)->size()) found.end = (*map)->boundary(*stretch + 1);
  return found;
}

CoverStretch MapsCover::StretchAt(std::string_view internal_key, Sequence at) const {
  const RangeMap* map = nullptr;
  size_t stretch = 0;
  CoverStretch found = StretchOf(UserKeyOf(internal_key), &stretch, &map);
  if (map != nullptr) found.newest = map->NewestIn(stretch, at);
  return found;
}

CoverStretch MapsCover::StretchAbove(std::string_view user_key, Sequence above) const {
  const RangeMap* map = nullptr;
  size_t stretch = 0;
  CoverStretch found = StretchOf(user_key, &stretch, &map);
  if (map == nullptr) return found;
  // They descend.
  for (size_t i = 0; i < map->sequence_count(stretch); ++i) {
    const Sequence sequence = map->sequence(stretch, i);
    if (sequence <= above) break;
    found.newest = sequence;
  }
  return found;
}

CoverEnds MapsCover::EndsOfCover(std::string_view internal_key, Sequence at,
                                 uint64_t* walked) const {
  return EndsFrom(UserKeyOf(internal_key), at, walked);
}

CoverEnds MapsCover::EndsFrom(std::string_view key, Sequence at, uint64_t* walked) const {
  CoverEnds ends{.of_older = key, .of_itself = key};
  const size_t parts = PartsUpTo(key);
  if (parts == 0) return ends;
  size_t stretch = parts_[parts - 1].map->AfterStretchOf(key) - 1;
  bool hides_itself = true;
  for (size_t part = parts - 1; part < parts_.size(); ++part, stretch = 0) {
    const RangeMap& map = *parts_[part].map;
    // The first part has the key.  A later one goes on only if it begins where the last one ends.
    if (part >= parts && map.boundary(0) != ends.of_older) return ends;
    if (map.NewestIn(stretch, at) == 0) return ends;
    const size_t gap = map.CoverEnd(stretch, at);
    if (at < map.largest_sequence()) *walked += gap - stretch;
    hides_itself = hides_itself && HidesItself(parts_[part]);
    ends.of_older = gap == map.size() ? std::nullopt : std::optional(map.boundary(gap));
    if (hides_itself) ends.of_itself = ends.of_older;
    // The cover may go on in the next part only if it reaches the end of this one.
    if (gap + 1 != map.size()) return ends;
  }
  return ends;
}

CoverBegins MapsCover::BeginsOfCover(std::string_view internal_key, Sequence at,
                                     uint64_t* walked) const {
  const std::string_view key = UserKeyOf(internal_key);
  CoverBegins begins{.of_older = key, .of_itself = key};
  bool hides_itself = true;
  for (size_t part = PartsUpTo(key); part > 0; --part) {
    const RangeMap& map = *parts_[part - 1].map;
    // The stretch of the keys right below the begin found so far.
    size_t stretch = map.AfterStretchOf(begins.of_older);
    if (stretch > 0 && map.boundary(stretch - 1) == begins.of_older) --stretch;
    if (stretch == 0) continue;  // those keys are in the part before
    --stretch;
    if (map.NewestIn(stretch, at) == 0) return begins;
    const size_t first = map.CoverBegin(stretch, at);
    if (at < map.largest_sequence()) *walked += stretch - first + 1;
    hides_itself = hides_itself && HidesItself(parts_[part - 1]);
    begins.of_older = map.boundary(first);
    if (hides_itself) begins.of_itself = begins.of_older;
    if (first > 0) return begins;
  }
  return begins;
}

}  // namespace lsm
