// Common to building and querying a ribbon filter: how to read its shape, and the equation of a
// digest. bloom/variants/ribbon.h draws and explains both.
#ifndef TRELLIS_BLOOM_VARIANTS_RIBBON_EQUATION_H_
#define TRELLIS_BLOOM_VARIANTS_RIBBON_EQUATION_H_

#include <cstdint>

#include "bloom/core/abi.h"
#include "bloom/core/shape.h"
#include "bloom/variants/ribbon.h"

namespace bloom::inline TRELLIS_ABI::ribbon {

inline constexpr uint64_t kWordBytes = 8;

// --- shapes ---

inline constexpr uint32_t kShardsLog2At = 8;  // bits of Shape::detail
inline constexpr uint32_t kLowerAt = 14;

inline uint64_t AttemptIn(uint64_t detail) { return detail & 0xff; }
inline uint32_t ShardsLog2In(uint64_t detail) { return detail >> kShardsLog2At & 0x3f; }
inline uint64_t LowerIn(uint64_t detail) { return detail >> kLowerAt; }

inline uint64_t BlocksOf(const Shape& shape) { return shape.size / Ribbon::kBlockSlots; }
inline uint64_t ShardSlots(const Shape& shape) { return shape.size >> ShardsLog2In(shape.detail); }
// Number of possible window starts among `slots` slots.  It is one less than the number of windows
// that fit: the last window would start at the first slot of a block, and a query reads three
// blocks from any start.
inline uint64_t StartsIn(uint64_t slots) { return slots - Ribbon::kWindowSlots; }

// Number of words of all columns; the attempts follow them.
inline uint64_t WordsOf(const Shape& shape) {
  return BlocksOf(shape) * shape.probes - LowerIn(shape.detail);
}

// Whether the numbers are consistent, so that no computation with them overflows.
inline bool IsSound(const Shape& shape) {
  const uint32_t shards_log2 = ShardsLog2In(shape.detail);
  return shape.size <= kMaxSizeBits && shape.size % Ribbon::kBlockSlots == 0 &&
         BlocksOf(shape) >> shards_log2 << shards_log2 == BlocksOf(shape) &&
         ShardSlots(shape) > Ribbon::kWindowSlots && LowerIn(shape.detail) < BlocksOf(shape) &&
         (shards_log2 == 0 || AttemptIn(shape.detail) == 0);
}

// --- from a digest to an equation ---

inline uint64_t HashOf(uint64_t x, uint64_t attempt) {
  return (x ^ attempt * 0x9e3779b97f4a7c15) * 0xd1342543de82ef95;
}

// The coefficients in the first two blocks (the third block has those that the first does not use),
// and the expected bit for each column.
struct Equation {
  explicit Equation(uint64_t hash) {
    __extension__ using Wide = unsigned __int128;
    const Wide p = static_cast<Wide>(hash) * 0x9e3779b97f4a7c15;
    const Wide q = static_cast<Wide>(hash) * 0xc2b2ae3d27d4eb4f;
    const auto p_low = static_cast<uint64_t>(p), p_high = static_cast<uint64_t>(p >> 64);
    const auto q_low = static_cast<uint64_t>(q), q_high = static_cast<uint64_t>(q >> 64);
    first = p_low ^ q_high;
    second = q_low ^ p_high;
    expected = static_cast<uint32_t>((p_low + q_low) >> 32);
  }

  uint64_t first, second;
  uint32_t expected;
};

inline uint64_t ShardOf(uint64_t x, uint32_t shards_log2) { return x >> 1 >> (63 - shards_log2); }

// Location of a block.
struct BlockPlace {
  BlockPlace(const Shape& shape, uint64_t block) {
    const uint64_t lower = LowerIn(shape.detail);
    columns = shape.probes - (block < lower);
    word = block * columns - (block < lower ? 0 : lower);
  }

  uint64_t word;  // the first of `columns`
  uint32_t columns;
};

}  // namespace bloom::ribbon

#endif  // TRELLIS_BLOOM_VARIANTS_RIBBON_EQUATION_H_
