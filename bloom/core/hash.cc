#include "bloom/core/hash.h"

// Inlined, so that programs which link Trellis::bloom need no xxHash library and meet no second
// copy of it.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace bloom {

static_assert(XXH_VERSION_NUMBER >= 800, "XXH3 is frozen only since xxHash 0.8");

Digest DigestOf(std::string_view key, uint64_t seed) {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
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
