// The concepts of a filter kind.  A kind is a struct of static members, without objects or a base
// class.
//
//   StaticKind      can be queried once it is built from all its digests; the store needs no more.
//                   Each is a SolvedKind, a BitLayout, or Empty (which is built from none)
//   SolvedKind      is built from all digests together, as a system of equations that may have no
//                   solution
//   BitLayout       takes one digest at a time, so Filter<Layout> can keep adding; its share of
//                   ones tells how many keys it has
//   FoldableLayout  is a BitLayout that can be halved: two neighbouring bits or lines become one
//   KeyFilter       is a filter object: Filter<Layout>, and those of bloom/family.h
//
// CONTRIBUTING.md has the steps to add a kind.
#ifndef TRELLIS_BLOOM_CORE_CONCEPTS_H_
#define TRELLIS_BLOOM_CORE_CONCEPTS_H_

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/shape.h"

namespace bloom::inline TRELLIS_ABI {

template <class K>
concept StaticKind = requires(const FilterView& view, Shape shape, uint8_t* payload, uint64_t n) {
  // Name for PolicyFromName and tools, and tag in files.  Neither ever changes.
  { K::kName } -> std::convertible_to<std::string_view>;
  { K::kTag } -> std::convertible_to<uint8_t>;
  // Version of the payload's layout, and log2 of the bytes of a line (0: no lines).
  { K::kVersion } -> std::convertible_to<uint8_t>;
  { K::kLineBytesLog2 } -> std::convertible_to<uint8_t>;

  // Smallest shape that keeps n keys at an FPP; InvalidArgument if there is none.
  { K::ShapeFor(n, double{}) } -> std::same_as<absl::StatusOr<Shape>>;
  // FPP of a shape with n keys.
  { K::PredictedFpp(shape, n) } -> std::same_as<double>;
  // Bits and bytes of the payload of a sound shape.  Must not overflow for any shape, sound or not.
  { K::SizeBits(shape) } -> std::same_as<uint64_t>;
  { K::PayloadBytes(shape) } -> std::same_as<uint64_t>;
  // Describes what is wrong with a shape and payload from a file; empty if nothing is.
  { K::Problem(shape, std::span<const uint8_t>{}) } -> std::same_as<std::string>;
  // The fastest query functions for this CPU.  REQUIRES: Problem found nothing wrong with the view.
  { K::Functions(view) } -> std::same_as<FilterFunctions>;
};

// Whether the kind uses Shape::detail: K::kHasDetail, or false if K has no such constant.
template <class K>
inline constexpr bool kHasDetail = false;
template <class K>
requires requires {
  { K::kHasDetail } -> std::convertible_to<bool>;
}
inline constexpr bool kHasDetail<K> = K::kHasDetail;

template <class K>
concept SolvedKind = StaticKind<K> && requires(Shape shape, uint8_t* payload) {
  // Fills a payload of zeros so that it answers "maybe" to all digests, which may repeat.  May note
  // in shape.detail which attempt succeeded.  Aborted if none did, ResourceExhausted without
  // memory; the payload is then unusable.
  { K::Solve(payload, shape, uint64_t{}, std::span<const Digest>{}) } -> std::same_as<absl::Status>;
};

template <class L>
concept BitLayout = StaticKind<L> &&
    requires(const FilterView& view, Shape shape, uint8_t* payload) {
  // Sets the bits of all digests in a payload of zeros.
  {L::Build(payload, shape, uint64_t{}, std::span<const Digest>{})};
  // Adds Remix(digest, seed).
  {L::Add(payload, shape, uint64_t{})};
  // Starts loading all memory that Add of the same hash accesses.  Must be always inlined: GCC 12
  // drops calls to functions that only prefetch.
  {L::Fetch(payload, shape, uint64_t{})};
  // FPP of the current bits, and number of keys that sets as many bits on average.
  { L::CurrentFpp(view) } -> std::same_as<double>;
  { L::KeyCountFromFill(shape, double{}) } -> std::same_as<double>;
};

// A BitLayout with an Add function that depends on the CPU and the shape.  It sets the same bits as
// Add.
template <class L>
concept AdderLayout = BitLayout<L> && requires(Shape shape) {
  { L::Adder(shape) } -> std::same_as<AddFunction>;
};

// A BitLayout that queries and adds in one walk over a digest's bits.
template <class L>
concept AskAndAddLayout = BitLayout<L> && requires(uint8_t* payload, Shape shape) {
  // Sets all bits of the hash; returns whether one was not set.
  { L::AddIfAbsent(payload, shape, uint64_t{}) } -> std::same_as<bool>;
};

// A BitLayout that can be queried in several filters at once.  They have one shape and seed, so a
// digest has the same positions in all of them.
template <class L>
concept SiblingLayout = BitLayout<L> && requires(const FilterView& view) {
  { L::FunctionsOfSiblings(view) } -> std::same_as<SiblingFunctions>;
};

// A BitLayout with inline code for the CPU that the program is compiled for.  Without a call, the
// core has more queries in flight.  The type L::Inlined does not exist if that CPU lacks the
// instructions.
template <class L>
concept InlinedLayout = BitLayout<L> && requires(const FilterView& view, uint64_t hash) {
  // Whether all bits of the hash are set.
  { L::Inlined::HasAll(view, hash) } -> std::same_as<bool>;
};
// Inline code for additions, likewise.
template <class L>
concept InlinedAddLayout = InlinedLayout<L> && requires(uint8_t* payload, Shape shape) {
  {L::Inlined::Add(payload, shape, uint64_t{})};
};

template <class L>
concept FoldableLayout = BitLayout<L> && requires(uint8_t* payload, Shape shape) {
  // Folds a payload of even size into zeros of half the size.  The result has the bits that the
  // same digests set in a filter of half the size.
  {L::FoldInHalf(static_cast<const uint8_t*>(payload), shape, payload)};
};

// Whether a filter may deny an added key.  Such filters declare F::kMayDeny.
template <class F>
inline constexpr bool kMayDeny = false;
template <class F>
requires(F::kMayDeny) inline constexpr bool kMayDeny<F> = true;

template <class F>
concept KeyFilter = requires(F f, const F& c, uint64_t n, std::string_view bytes) {
  { F::kName } -> std::convertible_to<std::string_view>;
  { F::kTag } -> std::convertible_to<uint8_t>;
  // For n keys at an FPP, under a seed.
  { F::Make(n, double{}, n) } -> std::same_as<absl::StatusOr<F>>;
  { F::Load(bytes) } -> std::same_as<absl::StatusOr<F>>;
  { c.Serialize() } -> std::same_as<std::string>;
  { c.DigestOf(bytes) } -> std::same_as<Digest>;
  {f.Add(bytes)};
  {f.AddDigest(Digest{})};
  { c.MayContain(bytes) } -> std::same_as<bool>;
  { c.MayContainDigest(Digest{}) } -> std::same_as<bool>;
  {f.Clear()};
  // InvalidArgument, naming the difference, if the two cannot be merged; then nothing changes.
  { f.Merge(c) } -> std::same_as<absl::Status>;
  { c.seed() } -> std::same_as<uint64_t>;
  { c.target_fpp() } -> std::same_as<double>;
  { c.added_count() } -> std::same_as<uint64_t>;
  // All memory that grows with the filter and that a query reads.  (RetouchedFilter has further
  // bookkeeping.)
  { c.size_bits() } -> std::same_as<uint64_t>;
  { c.PredictedFpp(n) } -> std::same_as<double>;
  { c.CurrentFpp() } -> std::same_as<double>;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_CONCEPTS_H_
