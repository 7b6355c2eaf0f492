// Common code of the shifting filters: bits whose distance from a base carries information (Yang,
// Liu, Shahzad, Zhong, Fu, Li, Xie, Li, "A Shifting Bloom Filter Framework for Set Queries", PVLDB
// 9(5), 2016).
//
//     h = Remix(digest, seed)
//     base i of a key = position i of bloom::Probes(h, m)          (bloom/core/probe.h)
//     offset j of a key = 1 + position j of bloom::Probes(g, offsets),
//                         g = (h xor h / 2^32) * 0x9e3779b97f4a7c15 mod 2^64
//
//     bits: | bit of base 0 | base 1 | ... | base m - 1 | as many more as the longest offset |
//           bit p is bit (p & 7) of byte (p >> 3)
//
// An offset is at most 56: up to seven bits before the base in its first byte, the base, and the
// shifted bit fit one unaligned load of 64 bits.
//
// Symbols in the formulas: n keys, m bases, k probes (bits or cells set per key), D offsets that a
// key chooses from (the paper's w - 1), e the false-positive probability.  Pure functions;
// thread-safe.
#ifndef TRELLIS_BLOOM_VARIANTS_SHIFTED_BITS_H_
#define TRELLIS_BLOOM_VARIANTS_SHIFTED_BITS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"

namespace bloom::inline TRELLIS_ABI {

// The longest offset.
inline constexpr uint32_t kMaxOffset = 56;

// Fewest bases of a filter of pairs: 128 bytes of bits.  In smaller filters the first and last
// cells, which fewer pairs reach, are a large share of all cells, and a filter of one key would
// need many probes for a low target.  With one key of two pairs, ShiftingFpp(m, 4, 1, 56) is 7.9 *
// 10^-8 for m = 1024, 3.5 * 10^-7 for 512, 1.6 * 10^-6 for 256 and 7.6 * 10^-6 for 128.
inline constexpr uint64_t kMinShiftingBases = 1024;

// The offsets of a key minus 1, one after the other.  The shift in g makes them independent of the
// bases, which come from multiples of the hash.  Without the shift, the offsets would come from
// multiples of the hash too.  Keys with a common base would then have equal offsets more or less
// often than one time in `offsets`.
inline Probes OffsetsOf(uint64_t hash, uint32_t offsets) {
  return {(hash ^ hash >> 32) * 0x9e3779b97f4a7c15ULL, offsets};
}

// --- bits with a tail ---

// Bits of `bases` bases and the longest offset after them; UINT64_MAX instead of overflowing.
constexpr uint64_t ShiftedBits(uint64_t bases, uint32_t longest) {
  return bases > UINT64_MAX - longest ? UINT64_MAX : bases + longest;
}
// Bytes of these bits, plus the bytes that a load of 64 bits at the last base also reads.
constexpr uint64_t ShiftedBytes(uint64_t bases) { return bases / 8 + (bases % 8 + 63) / 8; }

// Describes what is wrong with such bits from a file; empty if nothing is.
std::string ShiftedProblem(uint64_t bases, uint32_t longest, std::span<const uint8_t> payload);

// Bit i of the result is bit base + i, for i up to kMaxOffset.
inline uint64_t LoadShifted(const uint8_t* bits, uint64_t base) {
  return Load64(bits + (base >> 3)) >> (base & 7);
}

// For each offset from 0 to `longest`: the share of ones among the bits at that distance from a
// base.
std::vector<double> FillByOffset(std::span<const uint8_t> bits, uint64_t bases, uint32_t longest);

// --- pairs: k/2 bases per key; a second cell after each, at one offset for all of them ---

// Describes what is wrong with the probes of a shape; empty if nothing is.  Pairs need an even
// number.
std::string PairsProblem(const Shape& shape);

// The different cells of the pairs of a key.  For counters: a key that meets a cell twice counts
// once there.
class TRELLIS_API DistinctPairs {
 public:
  DistinctPairs(uint64_t hash, const Shape& shape, uint32_t offsets);

  const uint64_t* begin() const { return positions_; }
  const uint64_t* end() const { return positions_ + count_; }

 private:
  uint64_t positions_[kMaxProbes];
  uint32_t count_ = 0;
};

// The rate of a filter of n keys: the mean of PairedFpp over all such filters.  1 if there are no
// bases.
//
// All pairs of a key have one offset, so a query passes with probability (S/m)^(k/2).  S is the
// number of bases that pass at the query's offset: their own cell and the one at that offset are
// both set. Let J ~ Binomial(n, 1/D) be the number of stored keys that have the query's offset.
// Then
//
//     e = E[ E[(S/m)^(k/2) | J] ]
//
// With few keys this is far more than E[S/m]^(k/2), for two reasons.  First, a stored key with the
// query's offset (one in D) makes all its k/2 bases pass; without one, nearly none pass.  Second, S
// is small and so varies much: with two keys at a target of 10^-5, e is 15 times as high.
//
//   mean of S given J       1 - 2 P(a cell is empty) + P(both are empty).  The J keys miss both
//                           cells of a pair with probability (1 - 3/m)^(k/2), the other n - J with
//                           (1 - 4/m)^(k/2).  Exact, except for what the first and last D cells,
//                           which fewer pairs reach, add to P(both are empty).
//   variance of S given J   exact for the bases of the J keys; for the others to first order in
//                           1/m: shifted_bits.cc.
//   higher moments          MomentOfCount.
//
// Simulations agree within 1 % for filters of more than 1024 bases, any number of offsets, 1 to 100
// keys, and targets from 0.1 to 10^-8.  For 1024 bases they agree within 5 %: the rate is then
// mostly far below the target, and S so small that its higher moments matter.  Beyond 4096 keys J
// is replaced by its mean, which changes e by less than 2 * 10^-4 of it.  For large n, with x
// = kn/m and p = e^-x,
//
//     e = (1 - 2p + p^2 e^(x / (2D)))^(k/2)
//
// The paper's formula, (1 - p)^(k/2) (1 - p + p^2 / D)^(k/2), is too high: it counts cells that one
// key sets at once in addition to an empty cell.
TRELLIS_API double ShiftingFpp(uint64_t bases, uint32_t probes, uint64_t key_count,
                               uint32_t offsets);

// The fewest bases, over all even k, with ShiftingFpp <= target_fpp.  If several k need equally
// many, the least.  Errors as for StandardShapeFor.
TRELLIS_API absl::StatusOr<Shape> ShiftingShapeFor(uint64_t key_count, double target_fpp,
                                                   uint32_t offsets);

// As above, for another rate that falls with the bases and is close to that of a filter of pairs.
using RateOfShape = std::function<double(uint64_t bases, uint32_t probes)>;
absl::StatusOr<Shape> FewestBasesFor(uint64_t key_count, double target_fpp,
                                     const RateOfShape& rate);

// Number of keys, estimated from the share of the m + D cells that is set: the n at which that
// share is expected.  Infinity if all are set.
TRELLIS_API double ShiftingKeyCountFromFill(uint64_t bases, uint32_t probes, uint32_t offsets,
                                            double fill);

// The rate of the current cells: the mean, over the offsets, of (share of pairs of that offset with
// both cells set)^(k/2). word(i) returns which of the cells [64 i, 64 i + 64) are set.  It is
// called for all cells if there are at most 2^24, otherwise for at most that many, in even steps.
double PairedFpp(uint64_t bases, uint32_t probes, uint32_t offsets,
                 const std::function<uint64_t(uint64_t i)>& word);
// As above, for bits.  `bits` has ShiftedBytes(bases) bytes.
TRELLIS_API double PairedFppOfBits(const uint8_t* bits, uint64_t bases, uint32_t probes,
                                   uint32_t offsets);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_VARIANTS_SHIFTED_BITS_H_
