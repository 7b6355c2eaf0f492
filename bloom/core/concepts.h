// What a kind of filter is: a struct of static members, no object and no base class.
//
//   StaticKind   asked, once it is built from all its digests.  The store needs no more.  It is
//                either of the next two (or Empty, which is built from none):
//   SolvedKind   built from all digests together, as a system of equations that may have no
//                solution.
//   BitLayout    takes one digest at a time, so that Filter<Layout> can keep it open, and its fill
//                tells how full it is.
//   FoldableLayout  a BitLayout of which half the size is a half of the bits, or of the lines:
//                two neighbours become one.
//   KeyFilter    a filter that is an object: Filter<Layout>, and those of bloom/family.h.
//
// bloom/README.md lists the steps by which one is added.
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
  // By which PolicyFromName and tools know it, and by which files do.  Both are for ever.
  { K::kName } -> std::convertible_to<std::string_view>;
  { K::kTag } -> std::convertible_to<uint8_t>;
  // Version of the payload's layout, and log2 of the bytes of its lines (0: it has none).
  { K::kVersion } -> std::convertible_to<uint8_t>;
  { K::kLineBytesLog2 } -> std::convertible_to<uint8_t>;

  // Smallest shape that keeps n keys at an FPP; InvalidArgument for what cannot be.
  { K::ShapeFor(n, double{}) } -> std::same_as<absl::StatusOr<Shape>>;
  // FPP of a shape with n keys in it.
  { K::PredictedFpp(shape, n) } -> std::same_as<double>;
  // Of a sound shape: bits and bytes of the payload.  Must not overflow for any shape whatever.
  { K::SizeBits(shape) } -> std::same_as<uint64_t>;
  { K::PayloadBytes(shape) } -> std::same_as<uint64_t>;
  // What is wrong with a shape and payload from a file; empty if nothing.
  { K::Problem(shape, std::span<const uint8_t>{}) } -> std::same_as<std::string>;
  // The fastest way to ask on this CPU, for a view that Problem found nothing wrong with.
  { K::Functions(view) } -> std::same_as<FilterFunctions>;
};

// Whether the kind uses Shape::detail: a constant of that name, false where there is none.
template <class K>
inline constexpr bool kHasDetail = false;
template <class K>
requires requires {
  { K::kHasDetail } -> std::convertible_to<bool>;
}
inline constexpr bool kHasDetail<K> = K::kHasDetail;

template <class K>
concept SolvedKind = StaticKind<K> && requires(Shape shape, uint8_t* payload) {
  // Into a payload of zeros: what answers "maybe" to all digests, of which some may be equal.  May
  // note in shape.detail which attempt succeeded.  Aborted if none did, ResourceExhausted without
  // memory; the payload is worth nothing then.
  { K::Solve(payload, shape, uint64_t{}, std::span<const Digest>{}) } -> std::same_as<absl::Status>;
};

template <class L>
concept BitLayout = StaticKind<L> &&
    requires(const FilterView& view, Shape shape, uint8_t* payload) {
  // Sets the bits of all digests in a payload of zeros.
  {L::Build(payload, shape, uint64_t{}, std::span<const Digest>{})};
  // Adds Remix(digest, seed).
  {L::Add(payload, shape, uint64_t{})};
  // Starts to load all that Add of the same hash touches.  Always inlined: GCC 12 drops calls to
  // what only prefetches.
  {L::Fetch(payload, shape, uint64_t{})};
  // FPP of the bits as they are, and the number of keys that would set as many.
  { L::CurrentFpp(view) } -> std::same_as<double>;
  { L::KeyCountFromFill(shape, double{}) } -> std::same_as<double>;
};

// A BitLayout with a way to add that depends on the CPU and the shape: the same bits as Add.
template <class L>
concept AdderLayout = BitLayout<L> && requires(Shape shape) {
  { L::Adder(shape) } -> std::same_as<AddFunction>;
};

// A BitLayout that asks and adds in one walk over a digest's bits.
template <class L>
concept AskAndAddLayout = BitLayout<L> && requires(uint8_t* payload, Shape shape) {
  // Whether a bit of the hash was not set; all are then.
  { L::AddIfAbsent(payload, shape, uint64_t{}) } -> std::same_as<bool>;
};

// A BitLayout that is asked in several filters of one shape and seed at once: a digest's positions
// are the same in all of them.
template <class L>
concept SiblingLayout = BitLayout<L> && requires(const FilterView& view) {
  { L::FunctionsOfSiblings(view) } -> std::same_as<SiblingFunctions>;
};

// A BitLayout with code in headers for the CPU that a program is compiled for: asked without a
// call, a core has more questions under way.  There is no such type as L::Inlined where that CPU
// has not the instructions.
template <class L>
concept InlinedLayout = BitLayout<L> && requires(const FilterView& view, uint64_t hash) {
  // Whether all bits of the hash are set.
  { L::Inlined::HasAll(view, hash) } -> std::same_as<bool>;
};
// One that is added to likewise.
template <class L>
concept InlinedAddLayout = InlinedLayout<L> && requires(uint8_t* payload, Shape shape) {
  {L::Inlined::Add(payload, shape, uint64_t{})};
};

template <class L>
concept FoldableLayout = BitLayout<L> && requires(uint8_t* payload, Shape shape) {
  // Of a payload of an even size into one of zeros of half the size: sets the bits that the same
  // digests set in a filter made so small.
  {L::FoldInHalf(static_cast<const uint8_t*>(payload), shape, payload)};
};

// Whether a filter may deny a key that was added; one that may says so: F::kMayDeny.
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
  // InvalidArgument, naming the difference, where two do not fit together; nothing is changed then.
  { f.Merge(c) } -> std::same_as<absl::Status>;
  { c.seed() } -> std::same_as<uint64_t>;
  { c.target_fpp() } -> std::same_as<double>;
  { c.added_count() } -> std::same_as<uint64_t>;
  // All memory that grows with the filter and that a question looks at (RetouchedFilter has
  // bookkeeping besides).
  { c.size_bits() } -> std::same_as<uint64_t>;
  { c.PredictedFpp(n) } -> std::same_as<double>;
  { c.CurrentFpp() } -> std::same_as<double>;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_CONCEPTS_H_
