// A Bloom filter divided into lines of 512 bits.  All probes of a key lie in one line, hence in one
// cache line.
//
//     h = Remix(digest, seed);  line = high 64 bits of h * lines
//     g = h * 0x9e3779b97f4a7c15 (mod 2^64)
//     probe i = top 9 bits of (g_i * multiplier(i)) mod 2^32
//               g_i: low half of g for even i, high half for odd i
//               multiplier(i) = 0x9e3779b9^(i/2 + 1) mod 2^32
//
//     payload:  | line 0: 64 bytes | line 1 | ... |
//               bit p of a line is bit (p & 7) of its byte (p >> 3)
//
// Within one line the low 32 bits of h are still uniform (unless there are 2^32 lines), and both
// halves of g depend on them, so line and positions are independent.  One word of 32 bits could
// make too few patterns, which would limit the FPP; so there are two.  Powers of the golden ratio
// spread the products of one word evenly (Fibonacci hashing).
//
// Larger than the standard kind at equal FPP, since some lines get more keys than others: by 0.6 %
// at 0.1, 3.4 % at 0.01, 8.1 % at 0.001, 35 % at 10^-6.
#ifndef TRELLIS_BLOOM_VARIANTS_BLOCKED_H_
#define TRELLIS_BLOOM_VARIANTS_BLOCKED_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/cpu.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"
#include "bloom/core/sizing.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

struct BlockedAvx2;

struct TRELLIS_API Blocked {
  static constexpr std::string_view kName = "blocked";
  static constexpr uint8_t kTag = 3;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 6;
  static constexpr uint64_t kLineBytes = kLineBits / 8;

  static absl::StatusOr<Shape> ShapeFor(uint64_t key_count, double target_fpp) {
    return BlockedShapeFor(key_count, target_fpp);
  }
  static double PredictedFpp(const Shape& shape, uint64_t key_count) {
    return BlockedFpp(shape.size, shape.probes, key_count);
  }
  static double KeyCountFromFill(const Shape& shape, double fill) {
    return BlockedKeyCountFromFill(shape.size, shape.probes, fill);
  }
  // Mean of (fill of the line)^k over the lines.
  static double CurrentFpp(const FilterView& view);

  // Saturates instead of overflowing: no payload is that long.
  static uint64_t SizeBits(const Shape& shape) {
    return shape.size > UINT64_MAX / kLineBits ? UINT64_MAX : shape.size * kLineBits;
  }
  static uint64_t PayloadBytes(const Shape& shape) { return SizeBits(shape) / 8; }
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

  alignas(32) static constexpr std::array<uint32_t, kMaxProbes> kMultipliers = [] {
    std::array<uint32_t, kMaxProbes> multipliers{};
    uint32_t power = 1;
    for (uint32_t i = 0; i < kMaxProbes; ++i) {
      if (i % 2 == 0) power *= 0x9e3779b9;
      multipliers[i] = power;
    }
    return multipliers;
  }();

  static uint64_t LineOffset(const Shape& shape, uint64_t hash) {
    return ReduceRange(hash, shape.size) * kLineBytes;
  }
  // The g above, from which the positions within the line are computed.
  static uint64_t InLine(uint64_t hash) { return hash * 0x9e3779b97f4a7c15ULL; }
  // Position of probe i within the line.
  static uint32_t Position(uint64_t in_line, uint32_t i) {
    return static_cast<uint32_t>(in_line >> (32 * (i % 2))) * kMultipliers[i] >> 23;
  }

  static void Add(uint8_t* payload, const Shape& shape, uint64_t hash) {
    uint8_t* const line = payload + LineOffset(shape, hash);
    const uint64_t in_line = InLine(hash);
    const uint32_t probes = shape.probes;  // a written byte may alias the shape
    for (uint32_t i = 0; i < probes; ++i) SetBit(line, Position(in_line, i));
  }

  [[gnu::always_inline]] static void Fetch(const uint8_t* payload, const Shape& shape,
                                           uint64_t hash) {
    __builtin_prefetch(payload + LineOffset(shape, hash));
  }

  // Overloads with `simd` are for tests and benchmarks; the CPU must support it.
  static void Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                    std::span<const Digest> digests) {
    Build(payload, shape, seed, digests, BestSimd());
  }
  static void Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                    std::span<const Digest> digests, Simd simd);

  static AddFunction Adder(const Shape& shape);

  // Halving the number of lines halves a line's number, and keeps a key's bits within it.  So lines
  // 2i and 2i + 1 become line i.
  static void FoldInHalf(const uint8_t* payload, const Shape& shape, uint8_t* half) {
    FoldLinesInHalf({payload, PayloadBytes(shape)}, kLineBytes, half);
  }

  static FilterFunctions Functions(const FilterView& view) { return Functions(view, BestSimd()); }
  static FilterFunctions Functions(const FilterView& view, Simd simd);

  static SiblingFunctions FunctionsOfSiblings(const FilterView&) {
    return FunctionsOfSiblings(BestSimd());
  }
  static SiblingFunctions FunctionsOfSiblings(Simd simd);

#ifdef TRELLIS_INLINES_AVX2
  using Inlined = BlockedAvx2;
#endif
};

}  // namespace bloom

#ifdef TRELLIS_INLINES_AVX2
#include "bloom/variants/blocked_avx2.h"
#endif

#endif  // TRELLIS_BLOOM_VARIANTS_BLOCKED_H_
