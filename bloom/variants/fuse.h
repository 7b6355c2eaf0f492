// Binary fuse filters (Graf, Lemire 2022).  A table of small numbers; a key passes if the xor of
// the numbers in its slots is the key's remainder.  Solved for all keys together; no key can be
// added later.
//
//     n keys, a = 3 or 4 slots per key (the arity: "fuse3", "fuse4"), r bits per remainder
//     S slots in segments of L, a power of two;  a key has one slot in each of its a segments,
//     which are consecutive
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
// Slot 0 comes from the high bits of h (some thirty in large filters), and the offsets come from g.
// Other implementations take the offsets from h itself.  In large filters these are functions of
// slot 0, and such graphs need more slots.
//
// With the seven zero bytes a query can load any number with one load of eight bytes.
//
// FPP: the xor of the numbers in an absent key's slots is an r-bit number that is unrelated to the
// key's remainder.  So the key passes with probability 2^-r exactly, however many keys there are.
// The target is met by the least r with 2^-r <= target: 2^-7 for 0.01, 2^-10 for 0.001.
//
// The 64 bits of h suffice for any r.  h determines both the slots and the remainder.  A remainder
// that depends on the slots does harm only if an absent key shares all of its slots with a present
// key.  There are S L^(a-1) combinations of slots, so the share of such absent keys is n / (S
// L^(a-1)).  If that is not far below 2^-32, the combinations are few and leave h enough free bits
// (n = 1000, a = 3: the share is 2^-14, and 40 bits are free).
//
// Space, by the published formulas (read from the authors' code):
//
//     a   S, rounded up to whole segments                        L, within bounds
//     3   n * max(1.125, 0.875 + 0.25 ln(10^6) / ln n)           2^floor(ln n / ln 3.33 + 2.25)
//     4   n * max(1.075, 0.77 + 0.305 ln(6 * 10^5) / ln n)       2^floor(ln n / ln 2.91 - 0.5)
//
// For a = 3 there is one more segment where these sizes are too small (fuse.cc).  From 125 keys on,
// at least five attempts in six succeed; another attempt is another graph.
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

// The contents of Shape::detail.
struct FuseDetail {
  uint32_t segment_log2 = 0;    // log2 L
  uint32_t remainder_bits = 0;  // r
  uint32_t attempt = 0;         // number of the attempt that succeeded, from 0

  constexpr uint64_t Packed() const {
    return segment_log2 | remainder_bits << 8 | uint64_t{attempt} << 56;
  }
  // Problem checks the other bits.
  static constexpr FuseDetail Of(uint64_t detail) {
    return {static_cast<uint8_t>(detail), static_cast<uint8_t>(detail >> 8),
            static_cast<uint8_t>(detail >> 56)};
  }
};

template <uint32_t kArity>
struct TRELLIS_API Fuse {
  static_assert(kArity == 3 || kArity == 4);

  static constexpr std::string_view kName = kArity == 3 ? "fuse3" : "fuse4";
  static constexpr uint8_t kTag = kArity == 3 ? 6 : 7;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;

  static constexpr uint32_t kMaxSegmentLog2 = 18;
  static constexpr uint32_t kMaxRemainderBits = 32;  // -log2(kMinTargetFpp)
  // Attempts that Solve makes.  One fails with a probability of at most 0.45, and below 0.08 from
  // 1000 keys on (tests/bloom/variants/fuse_test.cc).
  static constexpr uint32_t kAttempts = 64;

  static absl::StatusOr<Shape> ShapeFor(uint64_t key_count, double target_fpp);
  // 2^-r, for any number of keys.
  static double PredictedFpp(const Shape& shape, uint64_t key_count);

  // Whole payload.  Both saturate instead of overflowing.
  static uint64_t SizeBits(const Shape& shape);
  static uint64_t PayloadBytes(const Shape& shape);
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

  // Takes 20 bytes/key while it runs (and a little more for few keys).  Equal digests count once.
  // An attacker who knows the seed can construct keys that no attempt solves; the status is then
  // Aborted.  REQUIRES: a shape for at least as many keys.
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
