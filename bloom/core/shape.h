// What every kind of filter is described by, and how a filter is queried without knowing its kind.
#ifndef TRELLIS_BLOOM_CORE_SHAPE_H_
#define TRELLIS_BLOOM_CORE_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "bloom/core/abi.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

// Most probes that any kind makes: log2(1 / kMinTargetFpp), beyond which a classic filter gains
// nothing.
inline constexpr uint32_t kMaxProbes = 32;

// Smallest target false-positive probability (FPP) that can be asked for.
inline constexpr double kMinTargetFpp = 1.0 / (uint64_t{1} << 32);

// Bits beyond which no filter is made: far above any memory, far below any overflow.
inline constexpr uint64_t kMaxSizeBits = uint64_t{1} << 56;

// Size and probes of a filter: all that sizing decides and a query needs besides bits and seed.
struct Shape {
  uint64_t size = 0;    // in the unit of the kind: bits, lines, slots, cells
  uint32_t probes = 0;  // k, 1 to kMaxProbes
  uint64_t detail = 0;  // what else a kind's geometry needs, as its header draws it; else 0

  friend bool operator==(const Shape&, const Shape&) = default;
};

// The bits of a filter, owned by another object.
struct FilterView {
  const uint8_t* payload = nullptr;  // needs no alignment
  Shape shape;
  uint64_t seed = 0;  // of the remix
};

// Sets the bits of Remix(digest, seed), on this CPU and for one shape.
using AddFunction = void (*)(uint8_t* payload, const Shape& shape, uint64_t hash);

// How one kind answers, on this CPU and for one shape.  Plain functions instead of virtual ones: a
// reader then keeps them beside the view, in one cache line, with no object behind.
struct FilterFunctions {
  // False only if the digest was never added.
  bool (*may_contain)(const FilterView& view, Digest digest);
  // Starts to load what may_contain will touch first.
  void (*prefetch)(const FilterView& view, Digest digest);
  // results[i] = may_contain(digests[i]) for all i < count, with the cache misses overlapped.
  void (*may_contain_batch)(const FilterView& view, const Digest* digests, size_t count,
                            bool* results);
};

// Filters of one shape and seed that are asked together: does any of them let a digest pass?
// `view` has their shape and seed, and its own payload is not looked at.
using Payloads = std::span<const uint8_t* const>;
struct SiblingFunctions {
  // False only if the digest was added to none of them.
  bool (*any_may_contain)(const FilterView& view, Payloads payloads, Digest digest);
  // results[i] = any_may_contain(digests[i]) for all i, with the cache misses overlapped.
  void (*any_may_contain_batch)(const FilterView& view, Payloads payloads,
                                std::span<const Digest> digests, bool* results);
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_SHAPE_H_
