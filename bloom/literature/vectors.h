// A filter whose keys are vectors of int32, float32 or uint8.
//
//   auto filter = bloom::VectorFilter<float>::Make(1'000'000, 0.01, {.dimension = 128});
//   absl::Status status = filter->Add(vector);  // InvalidArgument unless it has 128 components
//   filter->MayContain(other);
//
// It wraps another filter (of bits, or of counters, with removal), which gets the VectorDigest of
// each vector.  Size and FPP are those of that base filter.
//
// Bytes: EncodeWrapped of the base filter (bloom/core/wrapped.h), no tail;
//
//     detail:  bits 0 to 31 the dimension, 0 for any; bits 32 to 39 the VectorType; the rest zeros
//
// As thread-safe as the base filter.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_LITERATURE_VECTORS_H_
#define TRELLIS_BLOOM_LITERATURE_VECTORS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/concepts.h"
#include "bloom/core/shape.h"
#include "bloom/core/status.h"
#include "bloom/core/wrapped.h"
#include "bloom/filter.h"
#include "bloom/hash.h"
#include "bloom/literature/vector_digest.h"
#include "bloom/variants/blocked.h"

namespace bloom::inline TRELLIS_ABI {

template <class F>
concept ForgettingFilter = KeyFilter<F> && requires(F f) {
  { f.RemoveDigest(Digest{}) } -> std::same_as<bool>;
};

// A possible base of a VectorFilter: its bytes describe its shape, and it never denies an added
// key.
template <class F>
concept VectorBase = KeyFilter<F> && !kMayDeny<F> && requires(const F& f) {
  { f.shape() } -> std::convertible_to<Shape>;
};

struct VectorOptions {
  uint32_t dimension = 0;  // of all vectors; 0: any
  uint64_t seed = 0;
};

template <VectorComponent T, VectorBase Base = Filter<Blocked>>
class VectorFilter {
 public:
  static constexpr std::string_view kName = ForgettingFilter<Base> ? "counting-vectors" : "vectors";
  static constexpr uint8_t kTag = ForgettingFilter<Base> ? 77 : 76;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;

  // Makes a filter for `vector_count` vectors at `target_fpp`.  InvalidArgument for a bad count or
  // FPP, ResourceExhausted without memory.
  static absl::StatusOr<VectorFilter> Make(uint64_t vector_count, double target_fpp,
                                           const VectorOptions& options = {}) {
    TRELLIS_ASSIGN_OR_RETURN(Base base, Base::Make(vector_count, target_fpp, options.seed));
    return VectorFilter(options.dimension, std::move(base));
  }

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown.  InvalidArgument, naming the difference, if they are a filter of another kind, another
  // type of component, or another dimension than the given one.  ResourceExhausted without memory.
  static absl::StatusOr<VectorFilter> Load(std::string_view bytes,
                                           std::optional<uint32_t> dimension = std::nullopt) {
    TRELLIS_ASSIGN_OR_RETURN(Unwrapped<Base> parts, (Unwrap<VectorFilter, Base>(bytes)));
    if (TypeIn(parts.detail) != kVectorTypeOf<T>) {
      return absl::InvalidArgumentError("filter is of " + NameIn(parts.detail) +
                                        " vectors, not of " + NameIn(DetailOf(0)));
    }
    const auto own = static_cast<uint32_t>(parts.detail);
    if (dimension.has_value() && *dimension != own) {
      return absl::InvalidArgumentError("filter is of vectors of dimension " + DimensionName(own) +
                                        ", not " + DimensionName(*dimension));
    }
    return VectorFilter(own, std::move(parts.base));
  }

  // For callers that use it more than once, and for AddDigest and MayContainDigest.
  Digest DigestOf(std::span<const T> vector) const { return VectorDigest(vector, base_.seed()); }

  // InvalidArgument if the vector has another dimension; then nothing changes.
  absl::Status Add(std::span<const T> vector) {
    if (!Fits(vector)) {
      return absl::InvalidArgumentError("vector of dimension " + std::to_string(vector.size()) +
                                        " for a filter of dimension " + std::to_string(dimension_));
    }
    AddDigest(DigestOf(vector));
    return absl::OkStatus();
  }
  void AddDigest(Digest digest) { base_.AddDigest(digest); }

  // False only if the vector was never added, so also if it has another dimension.
  bool MayContain(std::span<const T> vector) const {
    return Fits(vector) && MayContainDigest(DigestOf(vector));
  }
  bool MayContainDigest(Digest digest) const { return base_.MayContainDigest(digest); }

  // Undoes one addition.  Returns false if the base can tell that there was none (CountingFilter).
  bool Remove(std::span<const T> vector) requires ForgettingFilter<Base> {
    return Fits(vector) && base_.RemoveDigest(DigestOf(vector));
  }

  // Adds all vectors of `other`, as the base does.  InvalidArgument, naming the difference, unless
  // dimension, shape and seed agree; then nothing changes.
  absl::Status Merge(const VectorFilter& other) {
    if (dimension_ != other.dimension_)
      return CannotMerge("dimensions", DimensionName(dimension_), DimensionName(other.dimension_));
    return base_.Merge(other.base_);
  }

  // Removes all vectors; keeps dimension, shape and seed.
  void Clear() { base_.Clear(); }

  std::string Serialize() const { return EncodeWrapped<VectorFilter>(base_, DetailOf(dimension_)); }

  // The common dimension; 0: any.
  uint32_t dimension() const { return dimension_; }
  const Base& base() const { return base_; }
  uint64_t seed() const { return base_.seed(); }
  double target_fpp() const { return base_.target_fpp(); }
  uint64_t size_bits() const { return base_.size_bits(); }
  uint64_t added_count() const { return base_.added_count(); }

  // FPP with `vector_count` different vectors, and FPP of the current bits.
  double PredictedFpp(uint64_t vector_count) const { return base_.PredictedFpp(vector_count); }
  double CurrentFpp() const { return base_.CurrentFpp(); }
  // Number of different vectors, estimated from the share of ones, if the base can.
  double EstimatedKeyCount() const requires requires(const Base& b) { b.EstimatedKeyCount(); }
  { return base_.EstimatedKeyCount(); }

  // Describes what is wrong with a shape and payload from a file; empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload) {
    if (shape.detail >> 40 != 0 || NameIn(shape.detail).empty())
      return "has vectors of unknown type " + std::to_string(shape.detail >> 32);
    if (shape.size < payload.size()) return "has bytes after the filter inside";
    return WrappedProblem(shape, payload);
  }

 private:
  VectorFilter(uint32_t dimension, Base base) : dimension_(dimension), base_(std::move(base)) {}

  bool Fits(std::span<const T> vector) const {
    return dimension_ == 0 || vector.size() == dimension_;
  }

  static uint64_t DetailOf(uint32_t dimension) {
    return uint64_t{static_cast<uint8_t>(kVectorTypeOf<T>)} << 32 | dimension;
  }
  static VectorType TypeIn(uint64_t detail) { return static_cast<VectorType>(detail >> 32 & 0xff); }
  static std::string NameIn(uint64_t detail) { return std::string(NameOf(TypeIn(detail))); }
  static std::string DimensionName(uint32_t dimension) {
    return dimension == 0 ? "any" : std::to_string(dimension);
  }

  uint32_t dimension_;  // 0 for any
  Base base_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_VECTORS_H_
