// Ranges of keys in flat memory, which may overlap and keep the order they come in: the tables of
// level 0.  Which of them hold a key is found out from two numbers a range, side by side in one
// array; whole keys are compared only where those are equal.
//
// Immutable once built; thread-safe.
#ifndef TRELLIS_LSM_BASE_KEY_RANGES_H_
#define TRELLIS_LSM_BASE_KEY_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/base/key_head.h"

namespace lsm {

class KeyRanges {
 public:
  struct Range {
    std::string_view smallest, largest;  // both are in it
  };

  KeyRanges() = default;

  // REQUIRES: no range's largest key is before its smallest.
  explicit KeyRanges(std::span<const Range> ranges);

  // take(i) for each range i that holds the key, in their order.
  template <typename Take>
  void ForEachWith(std::string_view key, const Take& take) const {
    // What all ends begin with, all keys between them begin with.
    if (!key.starts_with(std::string_view(bytes_).substr(0, prefix_bytes_))) return;
    const uint64_t head = KeyHead(key, prefix_bytes_);
    for (size_t i = 0; i < heads_.size(); ++i) {
      const Heads& heads = heads_[i];
      if (head < heads.smallest || head > heads.largest) continue;
      if (head == heads.smallest && key < End(2 * i)) continue;
      if (head == heads.largest && key > End(2 * i + 1)) continue;
      take(i);
    }
  }

 private:
  struct Heads {
    uint64_t smallest, largest;
  };
  // Smallest and largest key of each range, one after the other.
  std::string_view End(size_t i) const {
    return std::string_view(bytes_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }

  size_t prefix_bytes_ = 0;
  std::vector<Heads> heads_;
  std::vector<size_t> ends_;  // key i is bytes [ends_[i], ends_[i + 1])
  std::string bytes_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_KEY_RANGES_H_
