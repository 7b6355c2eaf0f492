// Many digests in one call.  Each accesses lines all over a filter, so their lines are fetched
// while earlier digests are processed.
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

// How many digests to fetch ahead in batch queries, and in additions that access one line each:
// about as many as a core has misses in flight.  Among 16, 32, 64 and 96 it was as fast as any, for
// kinds with one line per key and with several.
inline constexpr size_t kBatchGroup = 32;

// How many to fetch ahead in additions to any layout (TakeFetchingAhead), most of which access a
// line for each probe.
inline constexpr size_t kAddsAhead = 16;

// Payloads up to this size stay in a second-level cache, where fetching ahead costs more than it
// saves.
inline constexpr uint64_t kNearPayloadBytes = 256 << 10;

// A group of hashes, digests[begin] and on.  If the payload is large, their loads are in flight.
// `next` is the following group, whose loads are to be started meanwhile, one in each step, since
// many loads at once delay each other.  `next` is empty in the last group, and if the payload is
// small.
struct HashGroup {
  bool is_far;
  size_t begin;
  std::span<const uint64_t> hashes;
  std::span<const uint64_t> next;
};

// Calls take(group) for each group in turn. fetch(hash) starts loading what the hash accesses.
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

// Calls take(i, Remix(digests[i], seed)) for every i in order.  For code that is not specific to a
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

// Starts loading what a hash accesses in a layout, by Layout::Fetch(payload, shape, hash).
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
