// What a kind of filter is: a struct of static members, no object and no base class.
//
//   StaticKind   built once from all its digests, then asked.  The store needs no more.
//   BitLayout    a StaticKind that takes one digest at a time, so that Filter<Layout> can keep
//                it open, and whose fill tells how full it is.
//   FoldableLayout  a BitLayout of which half the size is a half of the bits, or of the lines:
//                two neighbours become one.
//
// bloom/README.md lists the steps by which one is added.
#ifndef TRELLIS_BLOOM_CORE_CONCEPTS_H_
#define TRELLIS_BLOOM_CORE_CONCEPTS_H_

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/core/shape.h"

namespace bloom {

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

  // Sets the bits of all digests in a payload of zeros.
  {K::Build(payload, shape, uint64_t{}, std::span<const Digest>{})};
  // The fastest way to ask on this CPU, for a view that Problem found nothing wrong with.
  { K::Functions(view) } -> std::same_as<FilterFunctions>;
};

template <class L>
concept BitLayout = StaticKind<L> &&
    requires(const FilterView& view, Shape shape, uint8_t* payload) {
  // Adds Remix(digest, seed).
  {L::Add(payload, shape, uint64_t{})};
  // FPP of the bits as they are, and the number of keys that would set as many.
  { L::CurrentFpp(view) } -> std::same_as<double>;
  { L::KeyCountFromFill(shape, double{}) } -> std::same_as<double>;
};

template <class L>
concept FoldableLayout = BitLayout<L> && requires(uint8_t* payload, Shape shape) {
  // Of a payload of an even size into one of zeros of half the size: sets the bits that the same
  // digests set in a filter made so small.
  {L::FoldInHalf(static_cast<const uint8_t*>(payload), shape, payload)};
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_CONCEPTS_H_
