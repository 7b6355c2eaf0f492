// A ribbon filter (Dillinger, Walzer 2021): a system of linear equations over bits, solved for all
// keys at once.
//
// The filter is a row of slots, each with one bit in every column.  A key has a window of 128
// slots, a coefficient for each of them, and an expected bit for each column.  In every column, the
// number of ones in the slots with coefficient one must be odd if the key expects a one there, and
// even if it expects a zero.  If so, the key passes.  Gaussian elimination finds slots for which
// all keys pass.  An absent key passes with probability 2^-columns.  So the filter has about
// log2(1 / FPP) bits per slot, which is the theoretical minimum, and a few percent more slots than
// keys.
//
//     x       = Remix(digest, seed)
//     shard   = x's top s bits: one of 2^s ranges of slots, each with its own equations
//     h       = (x xor attempt * 0x9e3779b97f4a7c15) * 0xd1342543de82ef95  (mod 2^64)
//     start   = slot number (high 64 bits of h * (slots of a shard - 128)) of the shard
//     p, q    = h * 0x9e3779b97f4a7c15 and h * 0xc2b2ae3d27d4eb4f, of 128 bits each
//     c       = (low half of p xor high half of q) + 2^64 * (low half of q xor high half of p)
//     expects bit j of (low half of p + low half of q, mod 2^64) / 2^32 in column j
//
// Slots are stored in blocks of 64; the bits of a column in a block are one word.  Coefficients
// need no shift: number the slots from the first slot of the block in which the window starts; then
// the coefficient of slot i is bit (i mod 128) of c.  Exception: it is one at the start of the
// window.
//
//          block with the start     block after it           block after that
//          +-----------------------+------------------------+-----------------------+
//     slot |0       |o           63|64                   127|128      127+o|        |
//          +--------+--------------+------------------------+--------------+--------+
//                   |<- c: o to 63 ->|<----- 64 to 127 ------>|<- 0 to o-1 ->|
//
// Fractional bits per slot: the first blocks ("lower blocks") lack the last column.  A query uses
// the columns of the block in which its window starts.
//
//     size    slots: a multiple of 64 in each of 2^s shards, at least 192
//     probes  columns, 1 to 32, of all but the lower blocks
//     detail  bits 0 to 7: attempt, if there is one shard; otherwise 0
//             bits 8 to 13: s
//             bits 14 to 63: number of lower blocks
//
//     payload | block 0: a word of 8 bytes for each column it has | block 1 | ... | attempts |
//             little-endian; attempts: a byte for each shard if there are more than one
//
// If equations contradict each other, the shard tries another hash, up to 256 times.  A shard has
// enough slots that the first attempt succeeds in more than nine builds of ten.  The share of slots
// beyond one per key grows with the square of the logarithm of the number of keys, since the
// fullest range of slots decides.  It is 2 % at 1,000 keys, 2.5 % at 10,000, 3.5 % at 100,000, and
// would be 7 % at ten million.  Beyond 2^17 keys there are therefore shards of 2^16 to 2^17 keys,
// and the share stays at 3.2 to 3.7 %.
#ifndef TRELLIS_BLOOM_VARIANTS_RIBBON_H_
#define TRELLIS_BLOOM_VARIANTS_RIBBON_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/cpu.h"
#include "bloom/core/shape.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

struct TRELLIS_API Ribbon {
  static constexpr std::string_view kName = "ribbon";
  static constexpr uint8_t kTag = 5;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;

  static constexpr uint64_t kWindowSlots = 128;
  static constexpr uint64_t kBlockSlots = 64;
  static constexpr uint64_t kMaxShardKeys = uint64_t{1} << 17;
  static constexpr uint32_t kMaxAttempts = 256;

  // Errors as for StandardShapeFor.
  static absl::StatusOr<Shape> ShapeFor(uint64_t key_count, double target_fpp);

  // (1 + share of the starts in lower blocks) / 2^probes, for any number of keys.
  static double PredictedFpp(const Shape& shape, uint64_t key_count);

  // Saturates instead of overflowing.
  static uint64_t SizeBits(const Shape& shape);
  static uint64_t PayloadBytes(const Shape& shape) { return SizeBits(shape) / 8; }
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

  // Takes 8 bytes/key for all keys, 8 more for the keys of one shard, and 32 for each slot of one
  // shard.  Overloads with `simd` are for tests and benchmarks; the CPU must support it.
  static absl::Status Solve(uint8_t* payload, Shape& shape, uint64_t seed,
                            std::span<const Digest> digests) {
    return Solve(payload, shape, seed, digests, BestSimd());
  }
  static absl::Status Solve(uint8_t* payload, Shape& shape, uint64_t seed,
                            std::span<const Digest> digests, Simd simd);

  static FilterFunctions Functions(const FilterView& view) { return Functions(view, BestSimd()); }
  static FilterFunctions Functions(const FilterView& view, Simd simd);
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_VARIANTS_RIBBON_H_
