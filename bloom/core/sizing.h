// How large a filter must be: size and probes from (keys, target FPP), and the FPP that results.
//
// Symbols in the formulas: n keys, m bits, k probes, e the FPP (the probability that a key which
// was never added passes).  Sizes are exact above 2^32 bits.  Pure functions; thread-safe.
#ifndef TRELLIS_BLOOM_CORE_SIZING_H_
#define TRELLIS_BLOOM_CORE_SIZING_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/shape.h"

namespace bloom::inline TRELLIS_ABI {

// Bits of a line of the blocked kind: one cache line of today's CPUs, but a constant of the format.
inline constexpr uint32_t kLineBits = 512;

// Fewest bits of a standard filter: 64 bytes, as many as its header has.
inline constexpr uint64_t kMinStandardBits = 512;

// The split-block kind: lines of eight words of 32 bits.
inline constexpr uint32_t kSplitBlockWords = 8;
inline constexpr uint32_t kSplitBlockWordBits = 32;
inline constexpr uint64_t kMaxSplitBlockLines = UINT32_MAX;

// InvalidArgument unless kMinTargetFpp <= target_fpp < 1 (so for NaN too).
absl::Status CheckTargetFpp(double target_fpp);

// The InvalidArgument of a request that needs more than kMaxSizeBits.
absl::Status TooLarge(uint64_t key_count, double rate, std::string_view rate_name = "target_fpp");

// The textbook's rate of a filter of m bits with every probe anywhere:
// (1 - (1 - 1/m)^(kn))^k (Bloom 1970).  1 where bits is 0.  It takes the share of ones to be its
// mean.  The share varies, so the true rate is higher: in a filter with half its bits set by about
// 0.31 k (k - 1) / (2 m) of it, which is below 1 % from m = 1500 on at k <= 10.  With few keys and
// a low target it is more: by 9 % with 20 keys at 10^-6.
double ClassicFpp(uint64_t bits, uint32_t probes, uint64_t key_count);

// The true rate of the same filter, the mean of (ones / m)^k over all filters of n keys (Bose et
// al. 2008): OccupiedMoment.  It is exact for any n, m and k, for keys whose probes are
// independent.
double StandardFpp(uint64_t bits, uint32_t probes, uint64_t key_count);

// The fewest bits, over all k, with StandardFpp <= target_fpp, and at least kMinStandardBits.  That
// is a few bits more than m = 1 / (1 - (1 - e^(1/k))^(1/(kn))), where the classic rate meets the
// target.  If several k need equally many bits, the least k.  InvalidArgument: key_count is 0,
// target_fpp is bad, or more than kMaxSizeBits would be needed.
absl::StatusOr<Shape> StandardShapeFor(uint64_t key_count, double target_fpp);

// Filter of `lines` lines of kLineBits bits; a key picks one line, and k positions in it with
// repetition. With X ~ Binomial(n, 1/lines) keys in the line that a query meets and F the share of
// ones after kX throws, the FPP is E[F^k]: the mix over X (Putze, Sanders, Singler 2007, with the
// binomial instead of its Poisson limit), and within it the moments of the occupancy of kLineBits
// cells (mean and variance exact, higher ones as those of a normal distribution).  1 where lines is
// 0.
double BlockedFpp(uint64_t lines, uint32_t probes, uint64_t key_count);

// The fewest lines, over all k, with BlockedFpp <= target_fpp (to one in 10^5 lines).  Of several k
// with equally many lines, the least.  Errors as for StandardShapeFor.
absl::StatusOr<Shape> BlockedShapeFor(uint64_t key_count, double target_fpp);

// Filter of `lines` lines of eight words of 32 bits; a key picks one line and one bit in each of
// its words, by 32 bits of its hash.  With X as above, an absent key passes with
//
//     E[(1 - (31/32)^X)^8 + X / 2^32]
//
// The first term is exact for words that are filled independently of each other, each by one throw
// a key.  The second is for absent keys that have the same 32 bits as a key of the line, and so the
// same bit in all words: 5 % of a target of 10^-8.  1 where lines is 0.
double SplitBlockFpp(uint64_t lines, uint64_t key_count);

// The fewest lines with SplitBlockFpp <= target_fpp (to one in 10^5 lines), always of eight probes.
// (Parquet's own -8 / ln(1 - e^(1/8)) bits a key leave out that lines differ: asked for 0.01, such
// a filter delivers 0.0146.)  Errors as for StandardShapeFor, and InvalidArgument for more than
// kMaxSplitBlockLines.
absl::StatusOr<Shape> SplitBlockShapeFor(uint64_t key_count, double target_fpp);

// How many keys were added, judged by the share of ones of a classic filter: the n at which that
// share is expected.  Infinity for a filter of ones only.
double StandardKeyCountFromFill(uint64_t bits, uint32_t probes, double fill);

// The same for the blocked kind: E[fill] = 1 - (1 - (1 - (1 - 1/512)^k) / lines)^n, solved for n.
double BlockedKeyCountFromFill(uint64_t lines, uint32_t probes, double fill);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_SIZING_H_
