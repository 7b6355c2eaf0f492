// Binary fuse filters (Graf, Lemire 2022): a table of small numbers in which the sum of the few
// that a key names is the key's remainder.  Solved for all keys together; none can be added.
//
//     n keys, a = 3 or 4 slots a key (the arity: "fuse3", "fuse4"), r bits a remainder
//     S slots in segments of L, a power of two;  a key's slots lie in a segments that follow each
//     other, one in each
//
//     h = Remix(digest, seed + detail)       (mod 2^64, as all sums and products here but slot 0)
//     g = h * 0x9e3779b97f4a7c15
//     slot 0 = high 64 bits of h * (S - (a - 1) L)
//     slot i = (slot 0 + i L) xor (bits [64 - 18 i, 64 - 18 i + log2 L) of g)       i = 1 to a - 1
//     remainder = top r bits of h * 0xd1342543de82ef95
//     a key passes if the xor of the numbers in its slots is its remainder
//
//     payload:  | number of slot 0: r bits | slot 1 | ... | zeros to a byte's end | 7 zero bytes |
//               number s: bits [s r, (s + 1) r); bit p is bit (p & 7) of byte (p >> 3)
//     size      S
//     probes    a
//     detail    bit 0      8          16                                  56         64
//               +----------+----------+-----------------------------------+----------+
//               | log2 L   | r        | zeros                             | attempt  |
//               +----------+----------+-----------------------------------+----------+
//
// Slot 0 is made of the high bits of h, some thirty in large filters, and the offsets of g: cut
// from h itself, as others do it, they would be functions of slot 0 there, and such graphs need
// more slots.
//
// The seven bytes let a query load any number with one load of eight bytes.
//
// An absent key's slots hold an r-bit number that has nothing to do with its remainder, so it
// passes with a probability of 2^-r: exactly, however many keys there are, and for no other rate.
// What is asked for is met by the least r with 2^-r at most that: at 0.01 it is 2^-7, at 0.001
// 2^-10.  The 64 bits of h are enough for any r: h determines g and the remainder, but a remainder
// that its slots determine would do harm only where an absent key shares all of its slots with a
// present one.  There are S L^(a-1) places, so the share of such keys is n / (S L^(a-1)): where it
// is not far below 2^-32, places are few and leave h enough free bits (n = 1000, a = 3: 2^-14, and
// 40 bits free).
//
// Space: S is n * max(1.125, 0.875 + 0.25 ln(10^6) / ln n) for a = 3, n * max(1.075, 0.77 + 0.305
// ln(6 * 10^5) / ln n) for a = 4, rounded up to whole segments; L is 2^floor(ln n / ln 3.33 + 2.25)
// or 2^floor(ln n / ln 2.91 - 0.5), within bounds: the formulas that were published, as one can
// read them in the authors' code.  For a = 3 there is a segment more where these have holes
// (fuse.cc).  Of 125 keys and more, five attempts in six succeed or more; another attempt is
// another graph.
#ifndef TRELLIS_BLOOM_VARIANTS_FUSE_H_
#define TRELLIS_BLOOM_VARIANTS_FUSE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/shape.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

// What Shape::detail says of such a filter.
struct FuseDetail {
  uint32_t segment_log2 = 0;    // log2 L
  uint32_t remainder_bits = 0;  // r
  uint32_t attempt = 0;         // the one that succeeded, from 0 on

  constexpr uint64_t Packed() const {
    return segment_log2 | remainder_bits << 8 | uint64_t{attempt} << 56;
  }
  // Problem sees to the other bits.
  static constexpr FuseDetail Of(uint64_t detail) {
    return {static_cast<uint8_t>(detail), static_cast<uint8_t>(detail >> 8),
            static_cast<uint8_t>(detail >> 56)};
  }
};

template <uint32_t kArity>
struct Fuse {
  static_assert(kArity == 3 || kArity == 4);

  static constexpr std::string_view kName = kArity == 3 ? "fuse3" : "fuse4";
  static constexpr uint8_t kTag = kArity == 3 ? 6 : 7;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;

  static constexpr uint32_t kMaxSegmentLog2 = 18;
  static constexpr uint32_t kMaxRemainderBits = 32;  // -log2(kMinTargetFpp)
  // Attempts that Solve makes.  One fails with a probability of 0.45 at most, and of less than 0.08
  // from 1000 keys on (tests/bloom/variants/fuse_test.cc).
  static constexpr uint32_t kAttempts = 64;

  static absl::StatusOr<Shape> ShapeFor(uint64_t key_count, double target_fpp);
  // 2^-r, whatever the number of keys.
  static double PredictedFpp(const Shape& shape, uint64_t key_count);

  // All of the payload; both saturate instead of overflowing.
  static uint64_t SizeBits(const Shape& shape);
  static uint64_t PayloadBytes(const Shape& shape);
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

  // Needs 20 bytes a key while it runs (and a little more for few keys).  Equal digests count once.
  // An attacker who knows the seed can make up keys that no attempt solves: the status is Aborted
  // then. REQUIRES: a shape made for as many keys, or more.
  static absl::Status Solve(uint8_t* payload, Shape& shape, uint64_t seed,
                            std::span<const Digest> digests);

  static FilterFunctions Functions(const FilterView& view);
};

extern template struct Fuse<3>;
extern template struct Fuse<4>;

using Fuse3 = Fuse<3>;
using Fuse4 = Fuse<4>;

}  // namespace bloom

#endif  // TRELLIS_BLOOM_VARIANTS_FUSE_H_
