// Finds all ranges that contain a key.  Ranges may overlap and keep their order: the tables of a
// store, newest first.
//
// The ends of all ranges divide the keys into stretches.  All keys of a stretch are in the same
// ranges, so a lookup is one search among the ends, however many ranges contain the key.
//
//   ranges        a       c       e       g
//     0           |---------------|
//     1                   |---------------|
//   ends          a       c       e       g
//   held by    -  0   0   01  01  01  1   1   -        stretch, end, stretch, end, ..., stretch
//
// Memory: a range takes four bytes for each end within it; n tables in r sorted runs take about
// 16 n r bytes.
//
// Immutable once built; thread-safe.
#ifndef TRELLIS_LSM_BASE_KEY_RANGES_H_
#define TRELLIS_LSM_BASE_KEY_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/fences.h"

namespace lsm::inline TRELLIS_ABI {

class KeyRanges {
 public:
  struct Range {
    std::string_view smallest, largest;  // both inclusive
  };

  KeyRanges() = default;

  // REQUIRES: no range's largest key is before its smallest.
  explicit KeyRanges(std::span<const Range> ranges);

  // The ranges that contain the key, ascending.
  std::span<const uint32_t> With(std::string_view key) const {
    if (ends_.empty()) return {};
    const Fences::Place place = ends_.Find(key);
    const size_t stretch = 2 * place.at + (place.is_there ? 1 : 0);
    return std::span(held_by_).subspan(begins_[stretch], begins_[stretch + 1] - begins_[stretch]);
  }

 private:
  Fences ends_;                    // each end once
  std::vector<size_t> begins_;     // in held_by_, of each stretch and end in turn; and its size
  std::vector<uint32_t> held_by_;  // numbers of ranges
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_KEY_RANGES_H_
