// SipHash-2-4, a keyed hash for hash tables under attack.  Source: Aumasson, Bernstein, "SipHash: a
// fast short-input PRF", INDOCRYPT 2012.
#ifndef TRELLIS_BLOOM_CORE_SIPHASH_H_
#define TRELLIS_BLOOM_CORE_SIPHASH_H_

#include <cstdint>
#include <string_view>

#include "bloom/core/abi.h"

namespace bloom::inline TRELLIS_ABI {

// Hashes the bytes to 64 bits under a key of 128 bits (the paper's k0 and k1).  No method is known
// that distinguishes the result from random bits without the key.
uint64_t SipHash24(std::string_view bytes, uint64_t key_low, uint64_t key_high);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_SIPHASH_H_
