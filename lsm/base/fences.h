// A sorted array of byte strings with a fast search, for the index of a table and the key ranges of
// a level.
//
// A search first compares the prefix that all strings share.  Then it searches the next eight bytes
// of each string (its head), as big-endian numbers in one array.  It compares whole keys only if
// heads are equal.  Every 64th head is also in a smaller array, which fits the first-level cache.
// The final 64 heads are loaded at once.
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

  // REQUIRES: `keys` ascend (equal ones are allowed).
  explicit Fences(std::span<const std::string_view> keys);
  // As above, from adjacent keys: key i is bytes [ends[i], ends[i + 1]).
  Fences(std::string bytes, std::vector<uint64_t> ends);

  size_t size() const { return heads_.size(); }
  bool empty() const { return heads_.empty(); }
  std::string_view operator[](size_t i) const {
    return std::string_view(bytes_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }

  // The first string >= key, or size() if there is none; and whether it is equal.
  struct Place {
    size_t at;
    bool is_there;
  };
  Place Find(std::string_view key) const;
  size_t LowerBound(std::string_view key) const { return Find(key).at; }

  // Find in two steps, so that a caller can overlap the loads of several searches.  Approach starts
  // loading what FindFrom reads.  `approached` must come from Approach of the same key.
  size_t Approach(std::string_view key) const;
  Place FindFrom(size_t approached, std::string_view key) const;

  // Whether Find would return `at`, judged by two heads.  Also false if whole keys would have to be
  // compared, or if `at` is size().
  bool IsFoundAt(size_t at, std::string_view key) const;

  // Without the object itself.
  size_t memory_bytes() const;

 private:
  static constexpr size_t kStretch = 64;

  // Whether the key begins with the common prefix.  If not, `at` is its position.  (These are
  // inlined: each lookup and seek makes several searches, and compilers leave them calls.)
  [[gnu::always_inline]] bool HasPrefix(std::string_view key, size_t* at) const;
  // The position of a key that does not begin with the common prefix.
  [[gnu::noinline]] size_t FindWithoutPrefix(std::string_view key) const;

  // Approach and FindFrom for a key with the common prefix and this head.
  [[gnu::always_inline]] size_t ApproachHead(uint64_t head) const;
  [[gnu::always_inline]] Place FindHead(size_t approached, uint64_t head,
                                        std::string_view key) const;
  // The rest of FindHead if the head at `first` is equal: compares whole keys.
  [[gnu::noinline]] Place FindAmongEqual(size_t first, uint64_t head, std::string_view key) const;

  size_t prefix_bytes_ = 0;
  std::vector<uint64_t> heads_;
  std::vector<uint64_t> samples_;  // the last head of each complete group of 64
  std::vector<uint64_t> ends_;     // one more than keys; key i is bytes [ends_[i], ends_[i + 1])
  std::string bytes_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_FENCES_H_
