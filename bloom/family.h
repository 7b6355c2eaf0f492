// The lists of all filter objects: filters that are made in memory, changed key by key, saved and
// loaded.  To add one, include its header here (bloom/literature.h for one in that folder) and name
// it in one of the lists below; those of BitKinds (bloom/catalog.h) are in it already.  Typed
// tests, golden files, fuzzers and the lab then include the new filter.  Where they need code to
// query it, they do not compile until that code exists.
//
// Their bytes have the header of all filters (bloom/core/filter_format.h), with tags from 64 on.  A
// FilterReader answers "maybe" to them and names the tag.
#ifndef TRELLIS_BLOOM_FAMILY_H_
#define TRELLIS_BLOOM_FAMILY_H_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "bloom/catalog.h"
#include "bloom/concurrent.h"
#include "bloom/core/abi.h"
#include "bloom/core/concepts.h"
#include "bloom/counting.h"
#include "bloom/dynamic.h"
#include "bloom/filter.h"
#include "bloom/literature.h"
#include "bloom/parquet.h"
#include "bloom/prefix.h"
#include "bloom/rotating.h"
#include "bloom/scalable.h"

namespace bloom::inline TRELLIS_ABI {

template <KeyFilter... Filters>
struct FilterList {};

// A filter of each kind, and the others.
template <class Kinds, KeyFilter... Others>
struct FiltersOf;
template <class... Kinds, KeyFilter... Others>
struct FiltersOf<KindList<Kinds...>, Others...> {
  using List = FilterList<Filter<Kinds>..., Others...>;
};

// Filters that answer "was this key added?", made from a number of keys and a target FPP.
using Family =
    FiltersOf<BitKinds, ConcurrentFilter, CountingFilter, SpectralFilter, ShiftingCountingFilter,
              ShiftingDoubleFilter, DynamicFilter<>, DynamicFilter<CountingFilter>,
              ScalableFilter<>, RetouchedFilter, RotatingFilter<>>::List;

// Filters that answer another question, or take something other than keys.
template <class... Filters>
struct ObjectList {};
using OtherFilters =
    ObjectList<SpatialFilter, ShiftingAssociationFilter, ShiftingMultiplicityFilter, PrefixFilter,
               ParquetFilter, VectorFilter<float>, VectorFilter<float, CountingFilter>>;

// --- checked at compile time ---

// Parquet's bytes have no tag.
template <class F>
concept Tagged = requires {
  { F::kTag } -> std::convertible_to<uint8_t>;
};

// Filters of one kind have one tag, whatever their rows are.
template <class A, class B>
inline constexpr bool kHaveOneTag = false;
template <class RowsOfA, class RowsOfB>
inline constexpr bool kHaveOneTag<DynamicFilter<RowsOfA>, DynamicFilter<RowsOfB>> = true;

// Whether a tag is that of a kind in files.  If so, the filter's bytes are those of that kind.
template <class... Kinds>
consteval bool IsTagOf(KindList<Kinds...>, uint8_t tag) {
  return ((Kinds::kTag == tag) || ...);
}

template <class A, class B>
consteval bool ClashWith() {
  if constexpr (std::is_same_v<A, B> || kHaveOneTag<A, B> || !Tagged<A> || !Tagged<B>) {
    return false;
  } else {
    return A::kName == B::kName || (A::kTag == B::kTag && A::kTag >= kFirstObjectTag);
  }
}

template <class A, class... All>
consteval bool HasItsOwnTag() {
  if constexpr (Tagged<A>) {
    if (A::kTag < kFirstObjectTag && !IsTagOf(FileKinds{}, A::kTag)) return false;
  }
  return !(ClashWith<A, All>() || ...);
}

template <class... A, class... B>
consteval bool AreSound(FilterList<A...>, ObjectList<B...>) {
  return (HasItsOwnTag<A, A..., B...>() && ...) && (HasItsOwnTag<B, A..., B...>() && ...);
}
static_assert(AreSound(Family{}, OtherFilters{}), "a filter's tag or name is taken");

}  // namespace bloom

#endif  // TRELLIS_BLOOM_FAMILY_H_
