// Queries of filters whose probes lie anywhere.  An absent key fails one of its first steps with
// high probability, so a query takes the first steps together, and the others only if those pass.
// Within each of the two parts there are no branches.  The CPU therefore loads the steps of a part
// at the same time, which costs one miss instead of several if the filter is not in cache.
//
// A kind describes its steps as the walk of one digest through one filter:
//
//     struct Walk {
//       static constexpr uint32_t kFirst;                  // steps that are taken together
//       static uint32_t Count(const Shape& shape);         // of all steps
//       static uint64_t PayloadBytes(const Shape& shape);
//       Walk();
//       Walk(const Shape& shape, uint64_t hash);
//       bool HasAll(const uint8_t* payload, uint32_t count);  // of the next steps
//       void Fetch(const uint8_t* payload, uint32_t count);   // starts loading the next steps
//     };
//
// Fetch must be always inlined: GCC 12 drops calls to functions that only prefetch.
#ifndef TRELLIS_BLOOM_CORE_STAGED_QUERY_H_
#define TRELLIS_BLOOM_CORE_STAGED_QUERY_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "bloom/core/abi.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/shape.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

// The functions for kSteps steps, unrolled. kSteps = 0: for the number of steps in the view.
template <class Walk, uint32_t kSteps>
struct StagedQuery {
  static uint32_t Count(const FilterView& view) {
    return kSteps != 0 ? kSteps : Walk::Count(view.shape);
  }
  static uint32_t First(const FilterView& view) { return std::min(Count(view), Walk::kFirst); }

  static bool MayContain(const FilterView& view, Digest digest) {
    Walk walk(view.shape, Remix(digest, view.seed));
    const uint32_t first = First(view);
    return walk.HasAll(view.payload, first) && walk.HasAll(view.payload, Count(view) - first);
  }

  static void Prefetch(const FilterView& view, Digest digest) {
    Walk(view.shape, Remix(digest, view.seed)).Fetch(view.payload, First(view));
  }

  static void MayContainBatch(const FilterView& view, const Digest* digests, size_t count,
                              bool* results) {
    TakeInGroups<kBatchGroup>(
        {digests, count}, view.seed, Walk::PayloadBytes(view.shape),
        [&](uint64_t hash) __attribute__((always_inline)) {
          Walk(view.shape, hash).Fetch(view.payload, First(view));
        },
        [&](const HashGroup& group) {
          if (group.is_far) {
            FarGroup(view, group, results + group.begin);
          } else {
            NearGroup(view, group.hashes, results + group.begin);
          }
        });
  }

  static void NearGroup(FilterView view, std::span<const uint64_t> hashes, bool* results) {
    for (const uint64_t hash : hashes)
      *results++ = Walk(view.shape, hash).HasAll(view.payload, Count(view));
  }

  // Tests the first steps of a group while it fetches those of the next.  Then fetches and tests
  // the other steps of the digests that passed.
  static void FarGroup(FilterView view, const HashGroup& group, bool* results) {
    const uint32_t first = First(view);
    const uint32_t rest = Count(view) - first;
    Walk passed[kBatchGroup];
    bool* passed_results[kBatchGroup];
    size_t passed_count = 0;
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) Walk(view.shape, group.next[i]).Fetch(view.payload, first);
      Walk& walk = passed[passed_count] = Walk(view.shape, group.hashes[i]);
      passed_results[passed_count] = &results[i];
      results[i] = walk.HasAll(view.payload, first);
      passed_count += results[i];
    }
    for (size_t i = 0; i < passed_count; ++i) {
      Walk walk = passed[i];
      walk.Fetch(view.payload, rest);
    }
    for (size_t i = 0; i < passed_count; ++i)
      *passed_results[i] = passed[i].HasAll(view.payload, rest);
  }
};

template <class Walk, uint32_t... kSteps>
constexpr auto StagedQueries(std::integer_sequence<uint32_t, kSteps...>) {
  using Queries = std::array<FilterFunctions, sizeof...(kSteps)>;
  return Queries{FilterFunctions{&StagedQuery<Walk, kSteps>::MayContain,
                                 &StagedQuery<Walk, kSteps>::Prefetch,
                                 &StagedQuery<Walk, kSteps>::MayContainBatch}...};
}

// Functions by number of steps, up to kMost.  Entry 0 serves all other numbers.
template <class Walk, uint32_t kMost>
inline constexpr auto kStagedQueries =
    StagedQueries<Walk>(std::make_integer_sequence<uint32_t, kMost + 1>{});

// The functions for this view.
template <class Walk, uint32_t kMost>
FilterFunctions StagedFunctions(const FilterView& view) {
  const uint32_t steps = Walk::Count(view.shape);
  return kStagedQueries<Walk, kMost>[steps <= kMost ? steps : 0];
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_STAGED_QUERY_H_
