// Finds all ranges that contain a key.  Ranges may overlap and keep their order: the tables of a
// store, newest first.
//
// The bounds of all ranges divide the keys into stretches.  All keys of a stretch are in the same
// ranges, so a lookup is one search among the bounds, however many ranges contain the key.
//
//   ranges        a       c       e       g
//     0           [---------------)
//     1                   [---------------)
//   bounds        a       c       e       g
//   held by    -      0      0 1      1      -        stretch 0, 1, ..., 4
//
// Memory: a range takes four bytes for each bound within it; n tables in r sorted runs take about
// 8 n r bytes.
//
// Immutable once built; thread-safe.
#ifndef TRELLIS_LSM_VERSION_KEY_RANGES_H_
#define TRELLIS_LSM_VERSION_KEY_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/fences.h"
#include "lsm/base/key_span.h"

namespace lsm::inline TRELLIS_ABI {

class KeyRanges {
 public:
  KeyRanges() = default;

  // Copies the bounds.  REQUIRES: no range is empty.
  explicit KeyRanges(std::span<const KeySpan> ranges);

  // The ranges that contain the key, ascending.
  std::span<const uint32_t> With(std::string_view key) const {
    if (bounds_.empty()) return {};
    const Fences::Place place = bounds_.Find(key);
    const size_t stretch = place.at + (place.is_there ? 1 : 0);
    return std::span(held_by_).subspan(begins_[stretch], begins_[stretch + 1] - begins_[stretch]);
  }

 private:
  Fences bounds_;                  // each bound once
  std::vector<size_t> begins_;     // in held_by_, of each stretch; and its size
  std::vector<uint32_t> held_by_;  // numbers of ranges
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_KEY_RANGES_H_
