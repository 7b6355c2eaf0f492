// A Bloom filter in memory, to which keys are added one by one.  For programs that need a filter
// without a store.
//
//   auto filter = bloom::Filter<bloom::Blocked>::Make(1'000'000, 0.01);  // absl::StatusOr
//   filter->Add("apple");
//   filter->MayContain("pear");                     // false, except for one key in a hundred
//   const std::string bytes = filter->Serialize();  // for a file; Load reads it back
//
// Thread-safe while no thread changes it; a change needs exclusive access.  Movable, not copyable.
// More keys than planned raise the FPP; CurrentFpp() returns the actual one.
#ifndef TRELLIS_BLOOM_FILTER_H_
#define TRELLIS_BLOOM_FILTER_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/catalog.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/capacity.h"
#include "bloom/core/concepts.h"
#include "bloom/core/cpu.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/shape.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"
#include "bloom/core/stored_bits.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

template <BitLayout Layout>
class Filter {
 public:
  static constexpr std::string_view kName = Layout::kName;
  static constexpr uint8_t kTag = Layout::kTag;
  using LayoutType = Layout;

  // Makes a filter for `key_count` keys at `target_fpp`.  Filters with different `seed`s have
  // different false positives; draw the seed at random if untrusted users choose keys.
  // InvalidArgument for a bad count or FPP, ResourceExhausted without memory.
  static absl::StatusOr<Filter> Make(uint64_t key_count, double target_fpp, uint64_t seed = 0) {
    TRELLIS_ASSIGN_OR_RETURN(Shape shape, Layout::ShapeFor(key_count, target_fpp));
    return MakeOfShape(shape, target_fpp, seed);
  }

  // Makes a filter with a given size and number of probes (bloom/parameters.h helps to choose), for
  // example one that can be folded.  `target_fpp` is stored and has no other effect.  Errors as
  // above, and InvalidArgument for a shape that the layout cannot have.
  static absl::StatusOr<Filter> MakeOfShape(const Shape& shape, double target_fpp,
                                            uint64_t seed = 0) {
    TRELLIS_RETURN_IF_ERROR(CheckTargetFpp(target_fpp));
    TRELLIS_ASSIGN_OR_RETURN(
        StoredBits stored,
        StoredBits::Zeros<Layout>(shape, Layout::PayloadBytes(shape), seed, target_fpp));
    return Filter(std::move(stored));
  }

  // Loads the bytes of Serialize, or of a FilterBuilder of the same kind.  DataLoss if they are
  // damaged, Unimplemented if their version is unknown, InvalidArgument if they are a filter of
  // another kind.  ResourceExhausted without memory.  (A FilterBuilder without keys makes the kind
  // "empty", which has no room for keys.)
  //
  // If a filter was built from digests, query it by digests.  Add and MayContain hash keys under
  // seed(), and would deny keys whose digests were made under another one.
  static absl::StatusOr<Filter> Load(std::string_view bytes) {
    TRELLIS_ASSIGN_OR_RETURN(StoredBits stored, StoredBits::Load<Layout>(bytes));
    return Filter(std::move(stored));
  }

  Filter(Filter&&) noexcept = default;
  Filter& operator=(Filter&&) noexcept = default;

  // The digest of a key in this filter, for callers that use it more than once.
  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, seed()); }

  TRELLIS_OF_THIS_CPU void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  TRELLIS_OF_THIS_CPU void AddDigest(Digest digest) { AddHash(Remix(digest, seed())); }
  void AddDigests(std::span<const Digest> digests) {
    Layout::Build(stored_.bits.data(), shape(), seed(), digests);
    stored_.header.CountKeys(digests.size());
  }

  // Adds the key unless it passes, e.g. to remove duplicates from a stream.  Returns true if it did
  // not pass; it is then certainly new.  Returns false if it passed; nothing changes then.
  TRELLIS_OF_THIS_CPU bool AddIfAbsent(std::string_view key) {
    return AddDigestIfAbsent(DigestOf(key));
  }
  TRELLIS_OF_THIS_CPU bool AddDigestIfAbsent(Digest digest) {
    return AddHashIfAbsent(digest, Remix(digest, seed()));
  }
  // were_absent[i] = AddDigestIfAbsent(digests[i]), in order of i, with the cache misses of many
  // digests overlapped.  REQUIRES: were_absent.size() >= digests.size().
  TRELLIS_OF_THIS_CPU void AddDigestsIfAbsent(std::span<const Digest> digests,
                                              std::span<bool> were_absent) {
    assert(were_absent.size() >= digests.size());
    TakeFetchingAhead<Layout>(
        stored_.bits.data(), shape(), seed(), digests,
        [&](size_t i, uint64_t hash) { were_absent[i] = AddHashIfAbsent(digests[i], hash); });
  }

  // False only if the key was never added.
  TRELLIS_OF_THIS_CPU bool MayContain(std::string_view key) const {
    return MayContainDigest(DigestOf(key));
  }
  TRELLIS_OF_THIS_CPU bool MayContainDigest(Digest digest) const {
    return HasAll(digest, Remix(digest, seed()));
  }
  // Starts loading the memory that MayContainDigest reads first.  For callers that know many
  // digests in advance.
  void Prefetch(Digest digest) const { functions_.prefetch(view(), digest); }
  // results[i] = MayContainDigest(digests[i]); faster than single calls from about eight digests
  // on.  REQUIRES: results.size() >= digests.size().
  void MayContainBatch(std::span<const Digest> digests, std::span<bool> results) const {
    assert(results.size() >= digests.size());
    functions_.may_contain_batch(view(), digests.data(), digests.size(), results.data());
  }

  // Adds all keys of `other`.  The bits are the same as if they were added one by one.
  // InvalidArgument, naming the difference, unless shape and seed agree; then nothing changes.
  absl::Status Merge(const Filter& other) { return stored_.Merge(other.stored_); }

  // Keeps only bits that `other` also has.  Every key that was added to both passes.  More absent
  // keys pass than in a filter made of those keys, since bits of different keys may coincide.
  // added_count() becomes the lower of the two counts, an upper bound of the common keys.  Errors
  // as for Merge.
  absl::Status Intersect(const Filter& other) { return stored_.Intersect(other.stored_); }

  // Halves the size.  The bits are the same as if the keys were added to a filter of half the size,
  // so the FPP rises accordingly.  InvalidArgument if the size (bits, or lines) is odd,
  // ResourceExhausted without memory; then nothing changes.
  absl::Status FoldInHalf() requires FoldableLayout<Layout> {
    if (shape().size % 2 != 0) {
      return absl::InvalidArgumentError("a filter of odd size cannot be folded: size " +
                                        std::to_string(shape().size));
    }
    Shape half = shape();
    half.size /= 2;
    TRELLIS_ASSIGN_OR_RETURN(AlignedBytes bits, ZerosFor(Layout::PayloadBytes(half)));
    Layout::FoldInHalf(stored_.bits.data(), shape(), bits.data());
    FilterHeader header = stored_.header;
    header.shape = half;
    *this = Filter(StoredBits{header, std::move(bits)});
    return absl::OkStatus();
  }

  // Removes all keys; keeps shape and seed.
  void Clear() { stored_.Clear(); }

  // Header and bits, as bloom/README.md draws them.  FilterReader reads them too.
  std::string Serialize() const { return stored_.Serialize(); }

  // The bits.  Valid until the filter is folded, assigned to or destroyed; still valid after a
  // move.
  const FilterView& view() const { return view_; }
  const Shape& shape() const { return stored_.header.shape; }
  uint64_t seed() const { return stored_.header.seed; }
  double target_fpp() const { return stored_.header.target_fpp; }
  uint64_t size_bits() const { return Layout::SizeBits(shape()); }
  // Number of additions, including those of merged filters.
  uint64_t added_count() const { return stored_.header.key_count; }

  // FPP with `key_count` different keys.
  double PredictedFpp(uint64_t key_count) const { return Layout::PredictedFpp(shape(), key_count); }
  // FPP of the current bits.  Reads all of them.
  double CurrentFpp() const { return Layout::CurrentFpp(view()); }
  // Number of different keys, estimated from the share of ones; infinity if all bits are set.
  // Reads all bits.
  double EstimatedKeyCount() const { return Layout::KeyCountFromFill(shape(), Fill()); }
  // Capacity in keys: the most with PredictedFpp <= target_fpp().  At least the number that the
  // filter was made for; more if its size was rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Number of ones, and their share of all bits.  Each reads all bits.
  uint64_t CountOnes() const { return stored_.Ones(); }
  double Fill() const { return stored_.OnesPer(size_bits()); }

 private:
  explicit Filter(StoredBits stored)
      : stored_(std::move(stored)),
        view_{stored_.bits.data(), stored_.header.shape, stored_.header.seed},
        functions_(Layout::Functions(view_)),
        add_(AdderFor(stored_.header.shape)) {}

  static AddFunction AdderFor(const Shape& shape) {
    if constexpr (AdderLayout<Layout>) {
      return Layout::Adder(shape);
    } else {
      static_cast<void>(shape);
      return &Layout::Add;
    }
  }

  // In these functions `hash` is Remix(digest, seed()).  Functions called by pointer compute it
  // from the digest; inlined ones take it.
  TRELLIS_OF_THIS_CPU bool HasAll(Digest digest, [[maybe_unused]] uint64_t hash) const {
    if constexpr (InlinedLayout<Layout>) {
      return Layout::Inlined::HasAll(view(), hash);
    } else {
      return functions_.may_contain(view(), digest);
    }
  }
  TRELLIS_OF_THIS_CPU void AddHash(uint64_t hash) {
    if constexpr (InlinedAddLayout<Layout>) {
      Layout::Inlined::Add(stored_.bits.data(), shape(), hash);
    } else {
      add_(stored_.bits.data(), shape(), hash);
    }
    stored_.header.CountKeys();
  }
  TRELLIS_OF_THIS_CPU bool AddHashIfAbsent([[maybe_unused]] Digest digest, uint64_t hash) {
    if constexpr (AskAndAddLayout<Layout>) {
      const bool was_absent = Layout::AddIfAbsent(stored_.bits.data(), shape(), hash);
      stored_.header.CountKeys(was_absent ? 1 : 0);
      return was_absent;
    } else {
      if (HasAll(digest, hash)) return false;
      AddHash(hash);
      return true;
    }
  }

  StoredBits stored_;
  FilterView view_;  // of the bits, ready for queries
  FilterFunctions functions_;
  AddFunction add_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_FILTER_H_
