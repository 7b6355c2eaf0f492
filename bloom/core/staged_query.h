// How a filter is asked whose probes lie anywhere: an absent key fails one of its first steps with
// a high probability, so a query takes those together and seldom the others.  Within each of the
// two parts no branch stands between the steps: the CPU loads them at the same time, which costs
// one miss instead of several where the filter is not in cache.
//
// A kind says what its steps are, for the walk of one digest through one filter:
//
//     struct Walk {
//       static constexpr uint32_t kFirst;                  // steps that are taken together
//       static uint32_t Count(const Shape& shape);         // of all steps
//       static uint64_t PayloadBytes(const Shape& shape);
//       Walk();
//       Walk(const FilterView& view, Digest digest);
//       bool HasAll(const uint8_t* payload, uint32_t count);  // of the next steps
//       void Fetch(const uint8_t* payload, uint32_t count);   // starts to load the next steps
//     };
//
// Fetch must be always inlined: GCC 12 takes a function that only prefetches for one without
// effect, and drops calls to it.
#ifndef TRELLIS_BLOOM_CORE_STAGED_QUERY_H_
#define TRELLIS_BLOOM_CORE_STAGED_QUERY_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "bloom/core/hash.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"

namespace bloom {

// The functions for kSteps steps, unrolled; for as many as the view says where kSteps is 0.
template <class Walk, uint32_t kSteps>
struct StagedQuery {
  static uint32_t Count(const FilterView& view) {
    return kSteps != 0 ? kSteps : Walk::Count(view.shape);
  }
  static uint32_t First(const FilterView& view) { return std::min(Count(view), Walk::kFirst); }

  static bool MayContain(const FilterView& view, Digest digest) {
    Walk walk(view, digest);
    const uint32_t first = First(view);
    return walk.HasAll(view.payload, first) && walk.HasAll(view.payload, Count(view) - first);
  }

  static void Prefetch(const FilterView& view, Digest digest) {
    Walk walk(view, digest);
    walk.Fetch(view.payload, First(view));
  }

  static void MayContainBatch(const FilterView& view, const Digest* digests, size_t count,
                              bool* results) {
    if (Walk::PayloadBytes(view.shape) <= kNearPayloadBytes) {
      for (size_t i = 0; i < count; ++i) {
        Walk walk(view, digests[i]);
        results[i] = walk.HasAll(view.payload, Count(view));
      }
      return;
    }
    for (size_t begin = 0; begin < count; begin += kBatchGroup) {
      FarGroup(view, digests + begin, std::min(count - begin, kBatchGroup), results + begin);
    }
  }

  // Fetches the first steps of all, tests them, then the same for the other steps of those that
  // passed.
  static void FarGroup(const FilterView& view, const Digest* digests, size_t count, bool* results) {
    const uint32_t first = First(view);
    const uint32_t rest = Count(view) - first;
    Walk passed[kBatchGroup];
    bool* passed_results[kBatchGroup];
    size_t passed_count = 0;
    for (size_t i = 0; i < count; ++i) {
      Walk walk(view, digests[i]);
      walk.Fetch(view.payload, first);
    }
    for (size_t i = 0; i < count; ++i) {
      Walk& walk = passed[passed_count] = Walk(view, digests[i]);
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

// By number of steps up to kMost; entry 0 serves all others.
template <class Walk, uint32_t kMost>
inline constexpr auto kStagedQueries =
    StagedQueries<Walk>(std::make_integer_sequence<uint32_t, kMost + 1>{});

// The functions that serve this view.
template <class Walk, uint32_t kMost>
FilterFunctions StagedFunctions(const FilterView& view) {
  const uint32_t steps = Walk::Count(view.shape);
  return kStagedQueries<Walk, kMost>[steps <= kMost ? steps : 0];
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_STAGED_QUERY_H_
