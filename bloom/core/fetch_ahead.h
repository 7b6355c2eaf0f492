// Digests one after the other, each of which touches lines all over a filter: what one will touch
// is fetched while those before it have their turns.
#ifndef TRELLIS_BLOOM_CORE_FETCH_AHEAD_H_
#define TRELLIS_BLOOM_CORE_FETCH_AHEAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bloom/core/hash.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"

namespace bloom {

// Calls take(i, Remix(digests[i], seed)) for every i in order.  Layout::Fetch(payload, shape, hash)
// starts to load what take touches; it is called where the payload is not near anyway.
template <class Layout, class Take>
void TakeFetchingAhead(const uint8_t* payload, const Shape& shape, uint64_t seed,
                       std::span<const Digest> digests, const Take& take) {
  const bool is_far = Layout::PayloadBytes(shape) > kNearPayloadBytes;
  const size_t count = digests.size();
  uint64_t hashes[kAddsAhead];  // of the digests from the next one on, number j at j % kAddsAhead
  const auto look_at = [&](size_t j) {
    const uint64_t hash = hashes[j % kAddsAhead] = Remix(digests[j], seed);
    if (is_far) Layout::Fetch(payload, shape, hash);
  };
  for (size_t j = 0; j < std::min(kAddsAhead, count); ++j) look_at(j);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t hash = hashes[i % kAddsAhead];
    if (i + kAddsAhead < count) look_at(i + kAddsAhead);
    take(i, hash);
  }
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_FETCH_AHEAD_H_
