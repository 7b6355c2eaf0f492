// From 64 random bits to positions.
#ifndef TRELLIS_BLOOM_CORE_PROBE_H_
#define TRELLIS_BLOOM_CORE_PROBE_H_

#include <algorithm>
#include <cstdint>

#include "bloom/core/abi.h"
#include "bloom/core/shape.h"

namespace bloom::inline TRELLIS_ABI {

// Maps a uniform 64-bit value to [0, size) by the high half of the product (Lemire): no division,
// any size, and the order of values is kept, so that the top bits of `value` decide.
constexpr uint64_t ReduceRange(uint64_t value, uint64_t size) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(value) * size) >> 64);
}

// The positions of one key among `cells` cells, one after the other: each anywhere, and as good as
// independent.
//
//     x_0 = hash;  x_(i+1) = x_i * 0xd1342543de82ef95  (mod 2^64)
//     position i = high 64 bits of x_i * cells
//
// The multiplier is odd, so each x_i is a bijection of the hash: every single position is uniform
// over all cells, however many there are.  Those of two keys that meet in one part in the next: the
// states of a congruential generator, with a multiplier that is good in the spectral test up to
// dimension eight (Steele, Vigna 2021).  In double hashing (h + i * step) the positions of two keys
// run along each other and overlap in part: 40 keys at 0.001 would let half as many absent keys
// again pass (tests/bloom/core/probes_test.cc).
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

// The same without repetitions, for cells that count: a key that meets a cell twice counts once
// there, when it comes and when it goes.  In the order of the probes.
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
