// The original Bloom filter: m bits, k probes, each anywhere.
//
//     probe i = position i of bloom::Probes(Remix(digest, seed), m)    (bloom/core/probe.h)
//
//     payload: ceil(m / 8) bytes; bit p is bit (p & 7) of byte (p >> 3); bits from m on are zero
//
// Smaller than the blocked kind, but a query accesses up to k cache lines.
#ifndef TRELLIS_BLOOM_VARIANTS_STANDARD_H_
#define TRELLIS_BLOOM_VARIANTS_STANDARD_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"
#include "bloom/core/sizing.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

struct TRELLIS_API Standard {
  static constexpr std::string_view kName = "standard";
  static constexpr uint8_t kTag = 2;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;

  static absl::StatusOr<Shape> ShapeFor(uint64_t key_count, double target_fpp) {
    return StandardShapeFor(key_count, target_fpp);
  }
  static double PredictedFpp(const Shape& shape, uint64_t key_count) {
    return StandardFpp(shape.size, shape.probes, key_count);
  }
  static double KeyCountFromFill(const Shape& shape, double fill) {
    return StandardKeyCountFromFill(shape.size, shape.probes, fill);
  }
  // fill^k: each probe of an absent key meets a one with probability fill.
  static double CurrentFpp(const FilterView& view);

  static uint64_t SizeBits(const Shape& shape) { return shape.size; }
  static uint64_t PayloadBytes(const Shape& shape) {
    return shape.size / 8 + (shape.size % 8 != 0);
  }
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

  static void Add(uint8_t* payload, const Shape& shape, uint64_t hash) {
    Probes probes(hash, shape.size);
    for (uint32_t i = 0; i < shape.probes; ++i) SetBit(payload, probes.Next());
  }

  static bool AddIfAbsent(uint8_t* payload, const Shape& shape, uint64_t hash) {
    uint64_t positions[kMaxProbes];
    Probes probes(hash, shape.size);
    uint32_t all = 1;
    for (uint32_t i = 0; i < shape.probes; ++i) {
      positions[i] = probes.Next();
      all &= uint32_t{payload[positions[i] >> 3]} >> (positions[i] & 7);
    }
    if ((all & 1) != 0) return false;
    for (uint32_t i = 0; i < shape.probes; ++i) SetBit(payload, positions[i]);
    return true;
  }

  [[gnu::always_inline]] static void Fetch(const uint8_t* payload, const Shape& shape,
                                           uint64_t hash) {
    Probes probes(hash, shape.size);
    for (uint32_t i = 0; i < shape.probes; ++i) __builtin_prefetch(payload + (probes.Next() >> 3));
  }

  static void Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                    std::span<const Digest> digests);

  // floor(x * (m / 2) / 2^64) is half of floor(x * m / 2^64): bits 2i and 2i + 1 become bit i.
  static void FoldInHalf(const uint8_t* payload, const Shape& shape, uint8_t* half);

  static FilterFunctions Functions(const FilterView& view);
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_VARIANTS_STANDARD_H_
