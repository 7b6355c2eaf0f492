// AVX2 queries of and additions to split-block filters.  Used by variants/split_block.cc if the CPU
// has AVX2, and inline in the caller's loop if the program is compiled for it (Filter,
// bloom/filter.h).  Always inlined: otherwise the linker could replace the library's copy by one
// compiled for a still newer CPU.
#ifndef TRELLIS_BLOOM_VARIANTS_SPLIT_BLOCK_AVX2_H_
#define TRELLIS_BLOOM_VARIANTS_SPLIT_BLOCK_AVX2_H_

#include <cstdint>

#include "bloom/core/abi.h"
#include "bloom/core/cpu.h"
#include "bloom/core/shape.h"
#include "bloom/variants/split_block.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace bloom::inline TRELLIS_ABI {

struct SplitBlockAvx2 {
  [[gnu::always_inline]] TRELLIS_AVX2 static bool HasAll(const FilterView& view, uint64_t hash) {
    const __m256i line = _mm256_loadu_si256(
        reinterpret_cast<const __m256i*>(view.payload + SplitBlock::LineOffset(view.shape, hash)));
    return _mm256_testc_si256(line, BitsOf(hash)) != 0;
  }

  [[gnu::always_inline]] TRELLIS_AVX2 static void Add(uint8_t* payload, const Shape& shape,
                                                      uint64_t hash) {
    auto* const line = reinterpret_cast<__m256i*>(payload + SplitBlock::LineOffset(shape, hash));
    _mm256_storeu_si256(line, _mm256_or_si256(_mm256_loadu_si256(line), BitsOf(hash)));
  }

 private:
  // One bit for each word.
  [[gnu::always_inline]] TRELLIS_AVX2 static __m256i BitsOf(uint64_t hash) {
    const __m256i salts =
        _mm256_load_si256(reinterpret_cast<const __m256i*>(SplitBlock::kSalts.data()));
    const __m256i product =
        _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(static_cast<uint32_t>(hash))), salts);
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(product, 27));
  }
};

}  // namespace bloom

#endif  // defined(__x86_64__)

#endif  // TRELLIS_BLOOM_VARIANTS_SPLIT_BLOCK_AVX2_H_
