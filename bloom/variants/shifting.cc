#include "bloom/variants/shifting.h"

#include "bloom/core/fetch_ahead.h"
#include "bloom/core/staged_query.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

// The pairs of a digest, one after the other, for bloom/core/staged_query.h.
struct PairWalk {
  static constexpr uint32_t kFirst = 2;  // an absent key fails one of them 15 times out of 16
  static uint32_t Count(const Shape& shape) { return shape.probes / 2; }
  static uint64_t PayloadBytes(const Shape& shape) { return Shifting::PayloadBytes(shape); }

  PairWalk() = default;
  PairWalk(const Shape& shape, uint64_t hash)
      : bases(hash, shape.size), offset(Shifting::Offset(hash)) {}

  bool HasAll(const uint8_t* payload, uint32_t count) {
    uint64_t all = 1;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t bits = LoadShifted(payload, bases.Next());
      all &= bits & bits >> offset;
    }
    return all != 0;
  }

  // One load in nine extends into the next cache line, which is not fetched.
  [[gnu::always_inline]] void Fetch(const uint8_t* payload, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) __builtin_prefetch(payload + (bases.Next() >> 3));
  }

  Probes bases;
  uint64_t offset = 0;
};

}  // namespace

std::string Shifting::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = PairsProblem(shape); !problem.empty()) return problem;
  return ShiftedProblem(shape.size, kMaxOffset, payload);
}

void Shifting::Build(uint8_t* payload, const Shape& shape, uint64_t seed,
                     std::span<const Digest> digests) {
  TakeFetchingAhead<Shifting>(payload, shape, seed, digests,
                              [&](size_t, uint64_t hash) { Add(payload, shape, hash); });
}

FilterFunctions Shifting::Functions(const FilterView& view) {
  return StagedFunctions<PairWalk, 8>(view);  // 8 pairs: an FPP of 2^-16
}

}  // namespace bloom
