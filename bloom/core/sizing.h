// Sizing of filters: size and probes from (keys, target FPP), and the resulting FPP.
//
// Symbols in the formulas: n keys, m bits, k probes, e the FPP (the probability that a key that was
// never added passes).  Sizes are exact above 2^32 bits.  Pure functions; thread-safe.
#ifndef TRELLIS_BLOOM_CORE_SIZING_H_
#define TRELLIS_BLOOM_CORE_SIZING_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/shape.h"

namespace bloom::inline TRELLIS_ABI {

// Bits in a line of the blocked kind: one cache line of current CPUs, but a constant of the format.
inline constexpr uint32_t kLineBits = 512;

// Smallest standard filter in bits: 64 bytes, as much as its header.
inline constexpr uint64_t kMinStandardBits = 512;

// The split-block kind has lines of eight words of 32 bits.
inline constexpr uint32_t kSplitBlockWords = 8;
inline constexpr uint32_t kSplitBlockWordBits = 32;
inline constexpr uint64_t kMaxSplitBlockLines = UINT32_MAX;

// InvalidArgument unless kMinTargetFpp <= target_fpp < 1 (so for NaN too).
TRELLIS_API absl::Status CheckTargetFpp(double target_fpp);

// The InvalidArgument for a request that needs more than kMaxSizeBits.
absl::Status TooLarge(uint64_t key_count, double rate, std::string_view rate_name = "target_fpp");

// The textbook's rate of a filter of m bits with independent probes: (1 - (1 - 1/m)^(kn))^k (Bloom
// 1970). 1 if bits is 0.
//
// It assumes that the share of ones equals its mean.  The share varies, so the exact rate is
// higher: by a factor of about 1 + 0.31 k (k - 1) / (2 m) in a filter with half its bits set.  That
// is below 1 % from m = 1500 on at k <= 10.  With few keys and a low target it is more: 9 % with 20
// keys at 10^-6.
double ClassicFpp(uint64_t bits, uint32_t probes, uint64_t key_count);

// The exact rate of that filter: the mean of (ones / m)^k over all filters of n keys (Bose et al.
// 2008), by OccupiedMoment.  Exact for any n, m and k, for keys whose probes are independent.
TRELLIS_API double StandardFpp(uint64_t bits, uint32_t probes, uint64_t key_count);

// The fewest bits, over all k, with StandardFpp <= target_fpp, and at least kMinStandardBits.  That
// is a few bits more than m = 1 / (1 - (1 - e^(1/k))^(1/(kn))), where the classic rate meets the
// target.  If several k need equally many bits, the least k.  InvalidArgument if key_count is 0,
// target_fpp is bad, or more than kMaxSizeBits are needed.
TRELLIS_API absl::StatusOr<Shape> StandardShapeFor(uint64_t key_count, double target_fpp);

// The rate of a filter of `lines` lines of kLineBits bits, in which a key picks one line, and k
// positions in it with repetition. 1 if lines is 0.
//
// Let X ~ Binomial(n, 1/lines) be the number of keys in the line of a query, and F its share of
// ones after kX throws.  The FPP is E[F^k], computed as a mix over X (Putze, Sanders, Singler 2007,
// with the binomial distribution instead of its Poisson limit).  For each X it uses the moments of
// the occupancy of kLineBits cells (mean and variance exact, higher ones those of a normal
// distribution).
TRELLIS_API double BlockedFpp(uint64_t lines, uint32_t probes, uint64_t key_count);

// The fewest lines, over all k, with BlockedFpp <= target_fpp (to one in 10^5 lines).  If several k
// need equally many, the least.  Errors as for StandardShapeFor.
TRELLIS_API absl::StatusOr<Shape> BlockedShapeFor(uint64_t key_count, double target_fpp);

// The rate of a filter of `lines` lines of eight words of 32 bits.  A key picks one line, and one
// bit in each of its words by 32 bits of its hash.  1 if lines is 0.  With X as above, an absent
// key passes with probability
//
//     E[(1 - (31/32)^X)^8 + X / 2^32]
//
// The first term is exact for words that are filled independently, each by one throw per key.  The
// second is for absent keys with the same 32 bits as a key of the line, and so the same bit in all
// words: 5 % of a target of 10^-8.
TRELLIS_API double SplitBlockFpp(uint64_t lines, uint64_t key_count);

// The fewest lines with SplitBlockFpp <= target_fpp (to one in 10^5 lines), always with eight
// probes.  (Parquet's own -8 / ln(1 - e^(1/8)) bits/key ignores that lines differ: a filter made
// for 0.01 has an FPP of 0.0146.) Errors as for StandardShapeFor, and InvalidArgument for more than
// kMaxSplitBlockLines.
TRELLIS_API absl::StatusOr<Shape> SplitBlockShapeFor(uint64_t key_count, double target_fpp);

// Number of keys, estimated from the share of ones of a classic filter: the n at which that share
// is expected.  Infinity if all bits are ones.
TRELLIS_API double StandardKeyCountFromFill(uint64_t bits, uint32_t probes, double fill);

// The same for the blocked kind: solves E[fill] = 1 - (1 - (1 - (1 - 1/512)^k) / lines)^n for n.
TRELLIS_API double BlockedKeyCountFromFill(uint64_t lines, uint32_t probes, double fill);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_SIZING_H_
