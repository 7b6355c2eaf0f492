// Sorted byte strings in flat memory, for finding where a key falls: the index of a table, the key
// ranges of a level.
//
// A search compares the prefix that all strings share once.  Then a binary search runs over the
// next eight bytes of each (its head), as big-endian numbers in one array.  Whole keys are compared
// only where heads are equal.  Every 64th head stands in an array of its own, small enough for the
// processor's nearest cache; the 64 heads that remain are loaded at once.
//
// Immutable once built; thread-safe.
#ifndef TRELLIS_LSM_BASE_FENCES_H_
#define TRELLIS_LSM_BASE_FENCES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

class Fences {
 public:
  Fences() = default;

  // REQUIRES: ascending (equal ones allowed).
  explicit Fences(std::span<const std::string_view> keys);
  // The same of adjacent keys: key i is bytes [ends[i], ends[i + 1]).
  Fences(std::string bytes, std::vector<uint64_t> ends);

  size_t size() const { return heads_.size(); }
  bool empty() const { return heads_.empty(); }
  std::string_view operator[](size_t i) const {
    return std::string_view(bytes_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }

  // The first one >= key, or size() if there is none; and whether that one is the key itself.
  struct Place {
    size_t at;
    bool is_there;
  };
  Place Find(std::string_view key) const;
  size_t LowerBound(std::string_view key) const { return Find(key).at; }

  // Find in two steps, so that a caller who searches several lets their loads overlap: Approach
  // begins to load what FindFrom reads.  `approached` must come from Approach of the same key.
  size_t Approach(std::string_view key) const;
  Place FindFrom(size_t approached, std::string_view key) const;

  // Whether Find would say `at`, as far as two heads tell.  Also false if whole keys would have to
  // be compared, or if `at` is size().
  bool IsFoundAt(size_t at, std::string_view key) const;

  size_t memory_bytes() const;

 private:
  static constexpr size_t kStretch = 64;

  // Whether the key begins as all of them do; if not, `at` is where it falls.
  bool HasPrefix(std::string_view key, size_t* at) const;

  // Approach and FindFrom of a key that does, whose head is known.
  size_t ApproachHead(uint64_t head) const;
  Place FindHead(size_t approached, uint64_t head, std::string_view key) const;

  size_t prefix_bytes_ = 0;
  std::vector<uint64_t> heads_;
  std::vector<uint64_t> samples_;  // the last head of each whole stretch
  std::vector<uint64_t> ends_;     // one more than keys; key i is bytes [ends_[i], ends_[i + 1])
  std::string bytes_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_FENCES_H_
