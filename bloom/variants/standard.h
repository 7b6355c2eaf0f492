// Bloom's filter as he described it: m bits, k probes, each anywhere.
//
//     x_0 = Remix(digest, seed);  x_(i+1) = x_i * 0xd1342543de82ef95  (mod 2^64)
//     probe i = high 64 bits of x_i * m
//
//     payload: ceil(m / 8) bytes; bit p is bit (p & 7) of byte (p >> 3); bits from m on are zero
//
// The multiplier is odd, so each x_i is a bijection of the hash: every single probe is uniform over
// all m bits, however many there are.  Probes of one key are like independent ones because those of
// two keys that meet in one probe part in the next: the states of a congruential generator, with a
// multiplier that is good in the spectral test up to dimension eight (Steele, Vigna 2021).  In
// double hashing (h + i * step) the positions of two keys run along each other and overlap in part:
// 40 keys at 0.001 would let half as many absent keys again pass (tests/bloom/probes_test.cc).
//
// Smallest of the kinds here, but a query touches up to k cache lines.
#ifndef TRELLIS_BLOOM_VARIANTS_STANDARD_H_
#define TRELLIS_BLOOM_VARIANTS_STANDARD_H_

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
    Probes(uint64_t hash, uint64_t bits) : state_(hash), bits_(bits) {}

    uint64_t Next() {
      const uint64_t position = ReduceRange(state_, bits_);
      state_ *= 0xd1342543de82ef95ULL;
      return position;
    }

   private:
    uint64_t state_ = 0;
    uint64_t bits_ = 0;
  };

  static void Add(uint8_t* payload, const Shape& shape, uint64_t hash) {
    Probes probes(hash, shape.size);
    for (uint32_t i = 0; i < shape.probes; ++i) SetBit(payload, probes.Next());
  }

  static void Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                    std::span<const Digest> digests);

  // floor(x * (m / 2) / 2^64) is half of floor(x * m / 2^64): bits 2i and 2i + 1 become bit i.
  static void FoldInHalf(const uint8_t* payload, const Shape& shape, uint8_t* half);

  static FilterFunctions Functions(const FilterView& view);
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_VARIANTS_STANDARD_H_
