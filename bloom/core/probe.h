// From 64 random bits to positions.
#ifndef TRELLIS_BLOOM_CORE_PROBE_H_
#define TRELLIS_BLOOM_CORE_PROBE_H_

#include <cstddef>
#include <cstdint>

namespace bloom {

// Batches: digests whose lines are fetched together.  About as many as a core has misses in flight,
// twice over.
inline constexpr size_t kBatchGroup = 64;

// Payloads up to this size stay in a second-level cache, where fetching ahead costs more than it
// gains.
inline constexpr uint64_t kNearPayloadBytes = 256 << 10;

// Maps a uniform 64-bit value to [0, size) by the high half of the product (Lemire): no division,
// any size, and the order of values is kept, so that the top bits of `value` decide.
constexpr uint64_t ReduceRange(uint64_t value, uint64_t size) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(value) * size) >> 64);
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_PROBE_H_
