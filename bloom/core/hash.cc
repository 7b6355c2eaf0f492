#include "bloom/hash.h"

// Inlined, so that programs that link Trellis::bloom need no xxHash library, and do not clash with
// another copy of it.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>

#include "bloom/core/siphash.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bloom::inline TRELLIS_ABI {
namespace {

#if defined(__x86_64__)

TRELLIS_AVX2 inline __m256i FoldHigh(__m256i h) {  // h ^ h >> 33
  return _mm256_xor_si256(h, _mm256_srli_epi64(h, 33));
}

// The product modulo 2^64 from products of 32 bits: low * low + (low * high + high * low) * 2^32.
TRELLIS_AVX2 inline __m256i Multiply(__m256i h, uint64_t factor) {
  const __m256i low = _mm256_set1_epi64x(static_cast<long long>(factor));
  const __m256i high = _mm256_srli_epi64(low, 32);
  const __m256i cross =
      _mm256_add_epi64(_mm256_mul_epu32(h, high), _mm256_mul_epu32(_mm256_srli_epi64(h, 32), low));
  return _mm256_add_epi64(_mm256_mul_epu32(h, low), _mm256_slli_epi64(cross, 32));
}

// Remixes all but the last (at most three) digests; returns how many.
TRELLIS_AVX2 size_t RemixByFour(std::span<const Digest> digests, uint64_t salt, uint64_t* hashes) {
  const size_t count = digests.size() / 4 * 4;
  const __m256i salts = _mm256_set1_epi64x(static_cast<long long>(salt));
  for (size_t i = 0; i < count; i += 4) {
    __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(digests.data() + i));
    h = FoldHigh(_mm256_xor_si256(h, salts));
    h = FoldHigh(Multiply(h, kRemixFactors[0]));
    h = FoldHigh(Multiply(h, kRemixFactors[1]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(hashes + i), h);
  }
  return count;
}

#endif  // defined(__x86_64__)

}  // namespace

static_assert(XXH_VERSION_NUMBER >= 800, "XXH3 is frozen only since xxHash 0.8");

Digest DigestOf(std::string_view key, uint64_t seed) {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

Digest DigestOf(std::string_view key, const DigestSeed& seed) {
  if (seed.hash == DigestHash::kXxh3) [[likely]]
    return DigestOf(key, seed.low);
  return SipHash24(key, seed.low, seed.high);
}

void RemixAll(std::span<const Digest> digests, uint64_t salt, uint64_t* hashes, Simd simd) {
  size_t done = 0;
#if defined(__x86_64__)
  if (simd == Simd::kAvx2 && digests.size() >= 4) done = RemixByFour(digests, salt, hashes);
#endif
  static_cast<void>(simd);
  for (; done < digests.size(); ++done) hashes[done] = Remix(digests[done], salt);
}

uint64_t Xxh64Of(std::string_view bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

uint64_t ChecksumOf(std::string_view head, std::string_view body) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, head.data(), head.size());
  XXH3_64bits_update(&state, body.data(), body.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace bloom
