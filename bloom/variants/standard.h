// Bloom's filter as he described it: m bits, k probes, each anywhere.
//
//     h = Remix(digest, seed);  step = rotl(h, 32) | 1;  turn = rotl(h, 16)
//     x_i = h + i * step + i * (i - 1) / 2 * turn          (mod 2^64)
//     probe i = high 64 bits of x_i * m
//
//     payload: ceil(m / 8) bytes; bit p is bit (p & 7) of byte (p >> 3); bits from m on are zero
//
// This is double hashing with a quadratic term: by `step` alone two keys that share a start and a
// stride would share all probes, which at 100 keys and an FPP of 0.001 lets 24 % more absent keys
// pass; with `turn` it is 4 %, and nothing that can be measured from 300 keys on (Dillinger,
// Manolios 2004, on "triple hashing").
//
// Smallest of the kinds here, but a query touches up to k cache lines.
#ifndef TRELLIS_BLOOM_VARIANTS_STANDARD_H_
#define TRELLIS_BLOOM_VARIANTS_STANDARD_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/core/bits.h"
#include "bloom/core/hash.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"
#include "bloom/core/sizing.h"

namespace bloom {

struct Standard {
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
  // fill^k: each probe of an absent key meets a one with that probability.
  static double CurrentFpp(const FilterView& view);

  static uint64_t SizeBits(const Shape& shape) { return shape.size; }
  static uint64_t PayloadBytes(const Shape& shape) {
    return shape.size / 8 + (shape.size % 8 != 0);
  }
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

  // The positions of one key, one after the other.
  class Probes {
   public:
    Probes() = default;
    Probes(uint64_t hash, uint64_t bits)
        : hash_(hash), step_(std::rotl(hash, 32) | 1), turn_(std::rotl(hash, 16)), bits_(bits) {}

    uint64_t Next() {
      const uint64_t position = ReduceRange(hash_, bits_);
      hash_ += step_;
      step_ += turn_;
      return position;
    }

   private:
    uint64_t hash_ = 0;
    uint64_t step_ = 0;
    uint64_t turn_ = 0;
    uint64_t bits_ = 0;
  };

  static void Add(uint8_t* payload, const Shape& shape, uint64_t hash) {
    Probes probes(hash, shape.size);
    for (uint32_t i = 0; i < shape.probes; ++i) SetBit(payload, probes.Next());
  }

  static void Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                    std::span<const Digest> digests);

  static FilterFunctions Functions(const FilterView& view);
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_VARIANTS_STANDARD_H_
