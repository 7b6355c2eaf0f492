// Many digests in one call, each of which touches lines all over a filter: what one will touch is
// fetched while those before it have their turns.
#ifndef TRELLIS_BLOOM_CORE_FETCH_AHEAD_H_
#define TRELLIS_BLOOM_CORE_FETCH_AHEAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bloom/core/abi.h"
#include "bloom/core/shape.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

// Digests by which fetching is ahead in batches, and in additions that touch one line each: about
// as many as a core has misses in flight.  Of 16, 32, 64 and 96 this was as fast as any, for kinds
// of one line a key and of several.
inline constexpr size_t kBatchGroup = 32;

// The same for additions to any layout, by TakeFetchingAhead: most touch a line for every probe.
inline constexpr size_t kAddsAhead = 16;

// Payloads up to this size stay in a second-level cache, where fetching ahead costs more than it
// gains.
inline constexpr uint64_t kNearPayloadBytes = 256 << 10;

// The hashes of digests[begin] and on, whose loads are under way where the payload is far, and
// those of the following group, whose loads are to be started meanwhile, one each turn: asked for
// all at once they hold each other up.  `next` is empty in the last group, and where the payload is
// near.
struct HashGroup {
  bool is_far;
  size_t begin;
  std::span<const uint64_t> hashes;
  std::span<const uint64_t> next;
};

// Calls take(group) for one group after the other; fetch(hash) starts to load what the hash
// touches.
template <size_t kGroup, class Fetch, class Take>
void TakeInGroups(std::span<const Digest> digests, uint64_t seed, uint64_t payload_bytes,
                  const Fetch& fetch, const Take& take) {
  const bool is_far = payload_bytes > kNearPayloadBytes;
  uint64_t buffers[2][kGroup];
  const auto hashes_from = [&](size_t begin, uint64_t* to) {
    if (begin >= digests.size()) return std::span<const uint64_t>();
    const auto group = digests.subspan(begin, std::min(digests.size() - begin, kGroup));
    RemixAll(group, seed, to);
    return std::span<const uint64_t>(to, group.size());
  };
  auto hashes = hashes_from(0, buffers[0]);
  if (is_far) {
    for (const uint64_t hash : hashes) fetch(hash);
  }
  for (size_t begin = 0; begin < digests.size(); begin += kGroup) {
    const auto next = hashes_from(begin + kGroup, buffers[(begin / kGroup + 1) % 2]);
    take(HashGroup{is_far, begin, hashes, is_far ? next : std::span<const uint64_t>()});
    hashes = next;
  }
}

// Calls take(i, Remix(digests[i], seed)) for every i in order, for what needs no code for another
// CPU.
template <size_t kGroup, class Fetch, class Take>
void TakeOneByOne(std::span<const Digest> digests, uint64_t seed, uint64_t payload_bytes,
                  const Fetch& fetch, const Take& take) {
  TakeInGroups<kGroup>(digests, seed, payload_bytes, fetch, [&](const HashGroup& group) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) fetch(group.next[i]);
      take(group.begin + i, group.hashes[i]);
    }
  });
}

// Starts to load what a hash touches in a layout, by Layout::Fetch(payload, shape, hash).
template <class Layout>
auto FetchOf(const uint8_t* payload, const Shape& shape) {
  return [ payload, &shape ](uint64_t hash) __attribute__((always_inline)) {
    Layout::Fetch(payload, shape, hash);
  };
}

// TakeInGroups for a layout.
template <class Layout, class Take>
void TakeInGroupsOf(const uint8_t* payload, const Shape& shape, uint64_t seed,
                    std::span<const Digest> digests, const Take& take) {
  TakeInGroups<kBatchGroup>(digests, seed, Layout::PayloadBytes(shape),
                            FetchOf<Layout>(payload, shape), take);
}

// TakeOneByOne for additions to any layout.
template <class Layout, class Take>
void TakeFetchingAhead(const uint8_t* payload, const Shape& shape, uint64_t seed,
                       std::span<const Digest> digests, const Take& take) {
  TakeOneByOne<kAddsAhead>(digests, seed, Layout::PayloadBytes(shape),
                           FetchOf<Layout>(payload, shape), take);
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_FETCH_AHEAD_H_
