// The description that all filter kinds share, and how to query a filter without knowing its kind.
#ifndef TRELLIS_BLOOM_CORE_SHAPE_H_
#define TRELLIS_BLOOM_CORE_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "bloom/core/abi.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

// Largest number of probes of any kind: log2(1 / kMinTargetFpp).  More would not improve a classic
// filter.
inline constexpr uint32_t kMaxProbes = 32;

// Smallest target false-positive probability (FPP).
inline constexpr double kMinTargetFpp = 1.0 / (uint64_t{1} << 32);

// Largest filter in bits: far above any memory, far below any overflow.
inline constexpr uint64_t kMaxSizeBits = uint64_t{1} << 56;

// Size and probes of a filter.  Sizing computes it; a query needs it in addition to bits and seed.
struct Shape {
  uint64_t size = 0;    // in the unit of the kind: bits, lines, slots, cells
  uint32_t probes = 0;  // k, 1 to kMaxProbes
  uint64_t detail = 0;  // further geometry that a kind needs, as its header draws it; else 0

  friend bool operator==(const Shape&, const Shape&) = default;
};

// The bits of a filter, owned by another object.
struct FilterView {
  const uint8_t* payload = nullptr;  // needs no alignment
  Shape shape;
  uint64_t seed = 0;  // of the remix
};

// Sets the bits of Remix(digest, seed); for this CPU and one shape.
using AddFunction = void (*)(uint8_t* payload, const Shape& shape, uint64_t hash);

// The query functions of one kind, for this CPU and one shape.  They are plain function pointers
// instead of virtual functions, so a reader keeps them next to the view, in one cache line.
struct FilterFunctions {
  // False only if the digest was never added.
  bool (*may_contain)(const FilterView& view, Digest digest);
  // Starts loading the memory that may_contain reads first.
  void (*prefetch)(const FilterView& view, Digest digest);
  // results[i] = may_contain(digests[i]) for all i < count, with the cache misses overlapped.
  void (*may_contain_batch)(const FilterView& view, const Digest* digests, size_t count,
                            bool* results);
};

// Queries several filters of one shape and seed together: does any of them let a digest pass?
// `view` has their shape and seed; its own payload is not read.
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
