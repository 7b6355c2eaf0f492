#include "bloom/variants/standard.h"

#include <cmath>

#include "bloom/core/concat.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/staged_query.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

// The probes of a digest, one after the other, for bloom/core/staged_query.h.
struct ProbeWalk {
  static constexpr uint32_t kFirst = 3;  // an absent key fails one of them seven times out of eight
  static uint32_t Count(const Shape& shape) { return shape.probes; }
  static uint64_t PayloadBytes(const Shape& shape) { return Standard::PayloadBytes(shape); }

  ProbeWalk() = default;
  ProbeWalk(const Shape& shape, uint64_t hash) : probes(hash, shape.size) {}

  bool HasAll(const uint8_t* payload, uint32_t count) {
    uint32_t all = 1;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t position = probes.Next();
      all &= uint32_t{payload[position >> 3]} >> (position & 7);
    }
    return (all & 1) != 0;
  }

  [[gnu::always_inline]] void Fetch(const uint8_t* payload, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) __builtin_prefetch(payload + (probes.Next() >> 3));
  }

  Probes probes;
};

// Bit i of the result is bit 2i or bit 2i + 1: four bits.
uint8_t OrPairs(uint8_t byte) {
  uint32_t bits = (byte | byte >> 1) & 0x55u;
  bits = (bits | bits >> 1) & 0x33u;
  return static_cast<uint8_t>((bits | bits >> 2) & 0x0fu);
}

}  // namespace

double Standard::CurrentFpp(const FilterView& view) {
  const uint64_t ones = CountOnes(view.payload, PayloadBytes(view.shape));
  return std::pow(static_cast<double>(ones) / static_cast<double>(view.shape.size),
                  view.shape.probes);
}

std::string Standard::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (shape.size == 0) return "has no bits";
  if (shape.size > kMaxSizeBits || PayloadBytes(shape) != payload.size()) {
    return Concat("has ", payload.size(), " bytes for ", shape.size, " bits");
  }
  if (shape.size % 8 != 0 && payload.back() >> (shape.size % 8) != 0) {
    return "has ones after its last bit";
  }
  return "";
}

void Standard::Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                     std::span<const Digest> digests) {
  TakeFetchingAhead<Standard>(payload, shape, seed, digests,
                              [&](size_t, uint64_t hash) { Add(payload, shape, hash); });
}

void Standard::FoldInHalf(const uint8_t* payload, const Shape& shape, uint8_t* half) {
  for (uint64_t i = 0; i < PayloadBytes(shape); ++i) {
    half[i / 2] = static_cast<uint8_t>(half[i / 2] | OrPairs(payload[i]) << 4 * (i % 2));
  }
}

FilterFunctions Standard::Functions(const FilterView& view) {
  return StagedFunctions<ProbeWalk, 16>(view);  // 16: an FPP of 2^-16
}

}  // namespace bloom
