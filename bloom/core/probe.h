// Positions in a filter from 64 random bits.
#ifndef TRELLIS_BLOOM_CORE_PROBE_H_
#define TRELLIS_BLOOM_CORE_PROBE_H_

#include <algorithm>
#include <cstdint>

#include "bloom/core/abi.h"
#include "bloom/core/shape.h"

namespace bloom::inline TRELLIS_ABI {

// Maps a uniform 64-bit value to [0, size) by the high half of the product (Lemire).  It needs no
// division, works for any size, and keeps the order of values: the top bits of `value` decide.
constexpr uint64_t ReduceRange(uint64_t value, uint64_t size) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(value) * size) >> 64);
}

// The positions of one key among `cells` cells, one after the other.  Each is uniform, and they are
// practically independent.
//
//     x_0 = hash;  x_(i+1) = x_i * 0xd1342543de82ef95  (mod 2^64)
//     position i = high 64 bits of x_i * cells
//
// The multiplier is odd, so each x_i is a bijection of the hash, and every single position is
// uniform over all cells, however many there are.  After a collision the positions of two keys
// separate again: the x_i are states of a congruential generator whose multiplier is good in the
// spectral test up to dimension eight (Steele, Vigna 2021).  With double hashing (h + i * step) the
// positions of two keys would run in parallel and overlap partly: with 40 keys at 0.001, half as
// many absent keys again would pass (tests/bloom/core/probes_test.cc).
class Probes {
 public:
  Probes() = default;
  Probes(uint64_t hash, uint64_t cells) : state_(hash), cells_(cells) {}

  uint64_t Next() {
    const uint64_t position = ReduceRange(state_, cells_);
    state_ *= 0xd1342543de82ef95ULL;
    return position;
  }

 private:
  uint64_t state_ = 0;
  uint64_t cells_ = 0;
};

// The positions without repetitions, in the same order.  For counters: if several probes of a key
// meet in a cell, the key counts once there, when added and when removed.
class DistinctProbes {
 public:
  DistinctProbes(uint64_t hash, uint64_t cells, uint32_t probes) {
    Probes all(hash, cells);
    for (uint32_t i = 0; i < probes; ++i) {
      const uint64_t position = all.Next();
      if (std::find(begin(), end(), position) == end()) positions_[count_++] = position;
    }
  }

  const uint64_t* begin() const { return positions_; }
  const uint64_t* end() const { return positions_ + count_; }

 private:
  uint64_t positions_[kMaxProbes];
  uint32_t count_ = 0;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_PROBE_H_
