// The digest of a key, computed once per lookup; the remix, which makes an independent digest for
// each file; and the checksum of a filter's bytes.
//
// All three are frozen, since filters on disk depend on them.  Golden values in tests/bloom pin
// them.
#ifndef TRELLIS_BLOOM_HASH_H_
#define TRELLIS_BLOOM_HASH_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "bloom/core/abi.h"
#include "bloom/core/cpu.h"

namespace bloom::inline TRELLIS_ABI {

// 64 bits that stand for a key.
using Digest = uint64_t;

// XXH3-64 of the key's bytes under a seed (xxHash 0.8 or newer, the same on every platform).
// Stores draw the seed at random, so that different stores have different collisions.  Not a MAC.
TRELLIS_API Digest DigestOf(std::string_view key, uint64_t seed);

// Hash functions for digests.
enum class DigestHash : uint8_t {
  kXxh3 = 1,
  kSipHash = 2,  // SipHash-2-4 (bloom/core/siphash.h), for keys that untrusted users choose; slower
};

// Hash function and seed of a store's digests.
struct DigestSeed {
  constexpr DigestSeed(uint64_t xxh3_seed = 0) : low(xxh3_seed) {}  // NOLINT: the common one
  constexpr DigestSeed(DigestHash of, uint64_t low_half, uint64_t high_half)
      : hash(of), low(low_half), high(high_half) {}
  bool operator==(const DigestSeed&) const = default;

  DigestHash hash = DigestHash::kXxh3;
  uint64_t low = 0;
  uint64_t high = 0;  // second half of SipHash's key
};

TRELLIS_API Digest DigestOf(std::string_view key, const DigestSeed& seed);

// Factors of the 64-bit finalizer of MurmurHash3 (Appleby).
inline constexpr uint64_t kRemixFactors[] = {0xff51afd7ed558ccdULL, 0xc4ceb9fe1a85ec53ULL};

// An independent digest for each salt: xors the salt, then applies that finalizer
// (multiply-xorshift).  A bijection for each salt; every bit of the result depends on every bit of
// the digest.
constexpr Digest Remix(Digest digest, uint64_t salt) {
  uint64_t h = digest ^ salt;
  h ^= h >> 33;
  h *= kRemixFactors[0];
  h ^= h >> 33;
  h *= kRemixFactors[1];
  h ^= h >> 33;
  return h;
}

// hashes[i] = Remix(digests[i], salt), four at a time if the CPU can.  `simd` is for tests and
// benchmarks; the CPU must support it.
TRELLIS_API void RemixAll(std::span<const Digest> digests, uint64_t salt, uint64_t* hashes,
                          Simd simd = BestSimd());

// XXH3-64, seed 0, of the bytes of `head` followed by those of `body`.
TRELLIS_API uint64_t ChecksumOf(std::string_view head, std::string_view body);

// XXH64, seed 0: for filters of other programs, such as Parquet's.
TRELLIS_API uint64_t Xxh64Of(std::string_view bytes);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_HASH_H_
