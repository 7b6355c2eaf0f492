// AVX2 queries of blocked filters.  Used by variants/blocked.cc if the CPU has AVX2, and inline in
// the caller's loop if the program is compiled for it (Filter, bloom/filter.h).  Always inlined:
// otherwise the linker could replace the library's copy by one compiled for a still newer CPU.
#ifndef TRELLIS_BLOOM_VARIANTS_BLOCKED_AVX2_H_
#define TRELLIS_BLOOM_VARIANTS_BLOCKED_AVX2_H_

#include <array>
#include <cstdint>

#include "bloom/core/abi.h"
#include "bloom/core/cpu.h"
#include "bloom/core/shape.h"
#include "bloom/variants/blocked.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace bloom::inline TRELLIS_ABI {

struct BlockedAvx2 {
  [[gnu::always_inline]] TRELLIS_AVX2 static bool HasAll(const FilterView& view, uint64_t hash) {
    const uint32_t probes = view.shape.probes;
    const Line line(view.payload + Blocked::LineOffset(view.shape, hash));
    const __m256i in_line = InLine(hash, probes);
    __m256i missing = _mm256_setzero_si256();
    uint32_t i = 0;
    do {
      missing = _mm256_or_si256(missing, line.Missing(Positions(in_line, probes, i)));
      i += 8;
    } while (i < probes);
    return _mm256_testz_si256(missing, missing) != 0;
  }

  // Whether one of several filters has all bits.  Computes eight positions once.  No branches
  // between the loads.
  [[gnu::always_inline]] TRELLIS_AVX2 static bool AnyHasAll(const FilterView& view,
                                                            Payloads payloads, uint64_t hash) {
    const uint32_t probes = view.shape.probes;
    const uint64_t offset = Blocked::LineOffset(view.shape, hash);
    const Positions positions(InLine(hash, probes), probes, 0);
    int passes = 0;
    for (const uint8_t* const payload : payloads) {
      const __m256i missing = Line(payload + offset).Missing(positions);
      passes |= _mm256_testz_si256(missing, missing);
    }
    if (passes == 0 || probes <= 8) return passes != 0;
    for (const uint8_t* const payload : payloads) {
      if (HasAll({payload, view.shape, view.seed}, hash)) return true;
    }
    return false;
  }

 private:
  // Eight positions.  The top four bits of a product select a 32-bit word of the line, the next
  // five a bit in that word.
  struct Positions {
    [[gnu::always_inline]] TRELLIS_AVX2 Positions(__m256i in_line, uint32_t probes, uint32_t i)
        : product(_mm256_mullo_epi32(in_line, _mm256_load_si256(reinterpret_cast<const __m256i*>(
                                                  kLanes[probes].multiplier + i)))),
          word(_mm256_srli_epi32(product, 28)),
          bit(_mm256_sllv_epi32(_mm256_set1_epi32(1),
                                _mm256_srli_epi32(_mm256_slli_epi32(product, 4), 27))) {}

    __m256i product;
    __m256i word;
    __m256i bit;
  };

  struct Line {
    [[gnu::always_inline]] TRELLIS_AVX2 explicit Line(const uint8_t* line)
        : low(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(line))),
          high(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(line + 32))) {}

    // Zero if and only if the bits at all positions are set.  The permutation uses three bits of
    // `word`.  The fourth is the sign of the product, which selects the half.
    [[gnu::always_inline]] TRELLIS_AVX2 __m256i Missing(const Positions& at) const {
      const __m256i words = _mm256_castps_si256(
          _mm256_blendv_ps(_mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, at.word)),
                           _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, at.word)),
                           _mm256_castsi256_ps(at.product)));
      return _mm256_andnot_si256(words, at.bit);
    }

    __m256i low;
    __m256i high;
  };

  [[gnu::always_inline]] TRELLIS_AVX2 static __m256i InLine(uint64_t hash, uint32_t probes) {
    uint64_t in_line = Blocked::InLine(hash);
    if (probes == 1) in_line = (in_line & 0xffffffff) * 0x100000001;  // its low word in every lane
    return _mm256_set1_epi64x(static_cast<long long>(in_line));
  }

  // Row k holds the multipliers of k probes, one for each lane, and then repeats the first.  A
  // spare lane thus tests a bit that is tested anyway, and no lane needs a mask.  (Probes 0 and 1
  // have the same multiplier, with the low word of g in even lanes and the high one in odd ones.)
  // There is no row 0.
  struct alignas(32) Lanes {
    uint32_t multiplier[kMaxProbes];
  };
  static constexpr std::array<Lanes, kMaxProbes + 1> kLanes = [] {
    std::array<Lanes, kMaxProbes + 1> rows{};
    for (uint32_t probes = 1; probes <= kMaxProbes; ++probes) {
      for (uint32_t i = 0; i < kMaxProbes; ++i)
        rows[probes].multiplier[i] = Blocked::kMultipliers[i < probes ? i : 0];
    }
    return rows;
  }();
};

}  // namespace bloom

#endif  // defined(__x86_64__)

#endif  // TRELLIS_BLOOM_VARIANTS_BLOCKED_AVX2_H_
