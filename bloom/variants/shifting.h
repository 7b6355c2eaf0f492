// The shifting Bloom filter for membership (ShBF_M of Yang et al., PVLDB 9(5), 2016).  It has half
// as many bases as probes, and for each base a second bit, at one offset for all bases of a key.
//
//     h = Remix(digest, seed);  positions and offsets: bloom/variants/shifted_bits.h
//     bit 2i = base i = position i of bloom::Probes(h, m)
//     bit 2i + 1 = base i + o,  o the key's first offset of 56
//
//     size: m bases; k even
//     payload: ceil((m + 56) / 8) bytes; bit p is bit (p & 7) of byte (p >> 3); bits from m + 56 on
//     are zero
//
// One unaligned load covers both bits of a pair: half the loads of the standard filter.
//
// It is larger than the standard filter at equal FPP, since the two bits of a pair are not
// independent.  It is larger by 0.5 % if the best k is even.  Otherwise it is larger by 1 % at 0.1,
// by 0.8 % at 0.01, and by 13 % at 0.5, where one probe would be best.  It is never more accurate,
// contrary to a published claim.
#ifndef TRELLIS_BLOOM_VARIANTS_SHIFTING_H_
#define TRELLIS_BLOOM_VARIANTS_SHIFTING_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"
#include "bloom/hash.h"
#include "bloom/variants/shifted_bits.h"

namespace bloom::inline TRELLIS_ABI {

struct TRELLIS_API Shifting {
  static constexpr std::string_view kName = "shifting";
  static constexpr uint8_t kTag = 8;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;

  static absl::StatusOr<Shape> ShapeFor(uint64_t key_count, double target_fpp) {
    return ShiftingShapeFor(key_count, target_fpp, kMaxOffset);
  }
  static double PredictedFpp(const Shape& shape, uint64_t key_count) {
    return ShiftingFpp(shape.size, shape.probes, key_count, kMaxOffset);
  }
  static double KeyCountFromFill(const Shape& shape, double fill) {
    return ShiftingKeyCountFromFill(shape.size, shape.probes, kMaxOffset, fill);
  }
  // Not fill^k, since the bits of a pair are not independent.  See PairedFpp.
  static double CurrentFpp(const FilterView& view) {
    return PairedFppOfBits(view.payload, view.shape.size, view.shape.probes, kMaxOffset);
  }

  static uint64_t SizeBits(const Shape& shape) { return ShiftedBits(shape.size, kMaxOffset); }
  static uint64_t PayloadBytes(const Shape& shape) { return ShiftedBytes(shape.size); }
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

  static uint64_t Offset(uint64_t hash) { return 1 + OffsetsOf(hash, kMaxOffset).Next(); }

  static void Add(uint8_t* payload, const Shape& shape, uint64_t hash) {
    const uint64_t pair = 1 | uint64_t{1} << Offset(hash);
    Probes bases(hash, shape.size);
    for (uint32_t i = 0; i < shape.probes; i += 2) SetPair(payload, bases.Next(), pair);
  }

  static bool AddIfAbsent(uint8_t* payload, const Shape& shape, uint64_t hash) {
    const uint64_t pair = 1 | uint64_t{1} << Offset(hash);
    uint64_t positions[kMaxProbes / 2];
    uint64_t missing = 0;
    Probes bases(hash, shape.size);
    for (uint32_t i = 0; i < shape.probes / 2; ++i) {
      positions[i] = bases.Next();
      missing |= pair & ~LoadShifted(payload, positions[i]);
    }
    if (missing == 0) return false;
    for (uint32_t i = 0; i < shape.probes / 2; ++i) SetPair(payload, positions[i], pair);
    return true;
  }

  [[gnu::always_inline]] static void Fetch(const uint8_t* payload, const Shape& shape,
                                           uint64_t hash) {
    Probes bases(hash, shape.size);
    for (uint32_t i = 0; i < shape.probes; i += 2) {
      const uint8_t* const at = payload + (bases.Next() >> 3);
      __builtin_prefetch(at);
      __builtin_prefetch(at + 7);  // one load in nine extends into the next cache line
    }
  }

  static void Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                    std::span<const Digest> digests);

  static FilterFunctions Functions(const FilterView& view);

 private:
  // Bit i of `pair` sets bit base + i.
  static void SetPair(uint8_t* payload, uint64_t base, uint64_t pair) {
    uint8_t* const at = payload + (base >> 3);
    Store64(at, Load64(at) | pair << (base & 7));
  }
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_VARIANTS_SHIFTING_H_
