// The builder of a keyed kind.  The policies of PolicyFromName make it.
#ifndef TRELLIS_BLOOM_POLICY_KIND_BUILDER_H_
#define TRELLIS_BLOOM_POLICY_KIND_BUILDER_H_

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/catalog.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/status.h"
#include "bloom/filter_policy.h"

namespace bloom::inline TRELLIS_ABI {

// Internal unless the filter is usable and passes every digest: the last check before data could be
// lost.
absl::Status CheckHasAll(std::string_view filter, std::span<const Digest> digests);

// ResourceExhausted: there was memory for `digests` digests only.
absl::Status NoMemoryBeyond(uint64_t digests);

// Builds the bytes of a filter of kind K.
template <StaticKind K>
absl::StatusOr<std::string> BuildFilter(const FilterContext& context,
                                        std::span<const Digest> digests) {
  TRELLIS_ASSIGN_OR_RETURN(Shape shape, K::ShapeFor(digests.size(), context.target_fpp));
  TRELLIS_ASSIGN_OR_RETURN(AlignedBytes payload, ZerosFor(K::PayloadBytes(shape)));
  if constexpr (SolvedKind<K>) {
    TRELLIS_RETURN_IF_ERROR(K::Solve(payload.data(), shape, context.seed, digests));
  } else if constexpr (BitLayout<K>) {
    K::Build(payload.data(), shape, context.seed, digests);
  }
  FilterHeader header = HeaderFor<K>(shape, context.seed, context.target_fpp);
  header.key_count = digests.size();
  return EncodeFilter(header, payload.span());
}

// Whether K, a solved kind, is no smaller than a standard filter for that few keys at that FPP,
// because of its padding.
template <SolvedKind K>
absl::StatusOr<bool> StandardIsAsSmall(uint64_t key_count, double target_fpp) {
  TRELLIS_ASSIGN_OR_RETURN(const Shape standard, Standard::ShapeFor(key_count, target_fpp));
  const absl::StatusOr<Shape> shape = K::ShapeFor(key_count, target_fpp);
  return !shape.ok() || K::SizeBits(*shape) >= Standard::SizeBits(standard);
}

// As BuildFilter, but builds a standard filter if K has no solution or is no smaller.
template <StaticKind K>
absl::StatusOr<std::string> BuildBest(const FilterContext& context,
                                      std::span<const Digest> digests) {
  if constexpr (SolvedKind<K>) {
    TRELLIS_ASSIGN_OR_RETURN(const bool as_small,
                             StandardIsAsSmall<K>(digests.size(), context.target_fpp));
    if (!as_small) {
      absl::StatusOr<std::string> filter = BuildFilter<K>(context, digests);
      if (!absl::IsAborted(filter.status())) return filter;
    }
    return BuildFilter<Standard>(context, digests);
  } else {
    return BuildFilter<K>(context, digests);
  }
}

// Size of the result of BuildFilter.
template <StaticKind K>
absl::StatusOr<FilterSize> SizeOf(uint64_t key_count, double target_fpp) {
  TRELLIS_ASSIGN_OR_RETURN(const Shape shape, K::ShapeFor(key_count, target_fpp));
  return FilterSize{kFilterHeaderBytes + K::PayloadBytes(shape), K::PredictedFpp(shape, key_count)};
}

// Size of the result of BuildBest, if there is a solution.
template <StaticKind K>
absl::StatusOr<FilterSize> SizeOfBest(uint64_t key_count, double target_fpp) {
  if constexpr (SolvedKind<K>) {
    TRELLIS_ASSIGN_OR_RETURN(const bool as_small, StandardIsAsSmall<K>(key_count, target_fpp));
    if (as_small) return SizeOf<Standard>(key_count, target_fpp);
  }
  return SizeOf<K>(key_count, target_fpp);
}

// Every filter is checked with all its digests before it is returned.
template <StaticKind K>
class KindBuilder final : public FilterBuilder {
 public:
  explicit KindBuilder(const FilterContext& context) : context_(context) {}

  void Add(Digest digest) override {
    if (!digests_.empty() && digests_.back() == digest) return;
    try {
      digests_.push_back(digest);
    } catch (const std::bad_alloc&) {
      dropped_ = true;
    }
  }

  uint64_t key_count() const override { return digests_.size(); }

  absl::StatusOr<std::string> Finish() override {
    if (dropped_) return NoMemoryBeyond(digests_.size());
    try {
      absl::StatusOr<std::string> filter = digests_.empty() ? BuildFilter<Empty>(context_, digests_)
                                                            : BuildBest<K>(context_, digests_);
      TRELLIS_RETURN_IF_ERROR(filter.status());
      TRELLIS_RETURN_IF_ERROR(CheckHasAll(*filter, digests_));
      return filter;
    } catch (const std::bad_alloc&) {  // for the bytes, or while solving
      return NoMemoryForDigests(digests_.size());
    }
  }

 private:
  const FilterContext context_;
  std::vector<Digest> digests_;
  bool dropped_ = false;  // there was no memory for a digest
};

template <StaticKind K>
class KindPolicy final : public FilterPolicy {
 public:
  std::string_view name() const override { return K::kName; }

  std::unique_ptr<FilterBuilder> NewBuilder(const FilterContext& context) const override {
    return std::make_unique<KindBuilder<K>>(context);
  }
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_POLICY_KIND_BUILDER_H_
