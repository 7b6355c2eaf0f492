// A shifting filter with removal: it has counters in place of bits (CShBF_M of Yang et al., PVLDB
// 9(5), 2016).
//
//   auto filter = bloom::ShiftingCountingFilter::Make(1'000'000, 0.01);
//   filter->Add("apple");
//   filter->Remove("apple");        // true
//   filter->MayContain("apple");    // false
//
// It corresponds to `shifting` as CountingFilter does to `standard`.  One load covers both counters
// of a pair, so narrower counters allow longer offsets: [1, 57 / bits - 1], which is [1, 13] for 4
// bits.  With fewer offsets one key more often sets both cells of a pair, so the filter is larger:
// 2 % larger than CountingFilter with 4 bits, if the best k is even.
//
//     base i of a key, i < k/2, and its offset: bloom/variants/shifted_bits.h
//     payload: `size` + longest offset counters of `detail` bits, packed (bloom/core/packed.h)
//
// A key counts once in each of its cells.  A counter at its maximum stays there for ever; the
// header of CountingFilter says how rare that is.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_LITERATURE_SHIFTING_COUNTING_H_
#define TRELLIS_BLOOM_LITERATURE_SHIFTING_COUNTING_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/capacity.h"
#include "bloom/core/packed.h"
#include "bloom/core/shape.h"
#include "bloom/core/stored_counters.h"
#include "bloom/hash.h"
#include "bloom/variants/shifted_bits.h"

namespace bloom::inline TRELLIS_ABI {

class TRELLIS_API ShiftingCountingFilter {
 public:
  static constexpr std::string_view kName = "shifting-counting";
  static constexpr uint8_t kTag = 66;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // bits per counter

  static constexpr uint32_t kDefaultCounterBits = 4;
  static constexpr uint32_t kMaxCounterBits = kMaxPackedBits / 2;  // two counters fit one load
  // The number of offsets that keys choose from, which is also the longest of them.
  static constexpr uint32_t OffsetsFor(uint32_t counter_bits) {
    return kMaxPackedBits / counter_bits - 1;
  }

  // Makes a filter for `key_count` keys at `target_fpp`.  InvalidArgument for a bad count, FPP or
  // width, ResourceExhausted without memory.
  static absl::StatusOr<ShiftingCountingFilter> Make(uint64_t key_count, double target_fpp,
                                                     uint64_t seed = 0) {
    return MakeWithCounters(key_count, target_fpp, kDefaultCounterBits, seed);
  }
  // As Make, with `counter_bits` bits per counter: [1, 28].
  static absl::StatusOr<ShiftingCountingFilter> MakeWithCounters(uint64_t key_count,
                                                                 double target_fpp,
                                                                 uint32_t counter_bits,
                                                                 uint64_t seed = 0);
  // Makes a filter with a given number of bases, probes, and bits per counter (`detail`).
  // `target_fpp` is stored and has no other effect.  Errors as above, also for an impossible shape.
  static absl::StatusOr<ShiftingCountingFilter> MakeOfShape(const Shape& shape, double target_fpp,
                                                            uint64_t seed = 0);

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.  ResourceExhausted without
  // memory.
  static absl::StatusOr<ShiftingCountingFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, stored_.header.seed); }

  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest);

  // Undoes one addition.  Returns false, and changes nothing, if the filter can tell that there was
  // none.  Do not remove a key that was never added: if it passes, removing it damages the filter,
  // which may then deny other keys.
  bool Remove(std::string_view key) { return RemoveDigest(DigestOf(key)); }
  bool RemoveDigest(Digest digest);

  // False only if the key was never added, or was removed as often as it was added.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const;

  // Merge adds the counters, each up to its maximum (union).  Intersect takes the lower of two
  // counters; the result contains at least the keys of both.  InvalidArgument, naming the
  // difference, unless shape and seed agree; then nothing changes.
  absl::Status Merge(const ShiftingCountingFilter& other) { return stored_.Merge(other.stored_); }
  absl::Status Intersect(const ShiftingCountingFilter& other) {
    return stored_.Intersect(other.stored_);
  }

  // Removes all keys; keeps shape and seed.
  void Clear() { stored_.Clear(); }

  std::string Serialize() const { return stored_.Serialize(); }

  const Shape& shape() const { return stored_.header.shape; }
  uint32_t counter_bits() const { return stored_.counters.width(); }
  uint64_t seed() const { return stored_.header.seed; }
  double target_fpp() const { return stored_.header.target_fpp; }
  uint64_t size_bits() const { return stored_.counters.size_bits(); }
  // Additions minus removals.
  uint64_t added_count() const { return stored_.header.key_count; }

  // FPP with `key_count` different keys: ShiftingFpp.
  double PredictedFpp(uint64_t key_count) const;
  // Capacity in keys: the most with PredictedFpp <= target_fpp().  At least the number that the
  // filter was made for; more if its size was rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Number of nonzero cells: the number of ones in the shifting filter of the same keys.
  uint64_t CountOnes() const { return stored_.counters.CountNonZero(); }
  // FPP of the current counters (PairedFpp); number of different keys, estimated from the share of
  // nonzero cells; number of counters at their maximum, which never decrease.  Each reads all
  // counters, the first up to 2^24.
  double CurrentFpp() const;
  double EstimatedKeyCount() const;
  uint64_t CountSaturated() const { return stored_.CountSaturated(); }

  // Describes what is wrong with a shape and payload from a file; empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  friend struct StoredCounters;  // CellsOf

  explicit ShiftingCountingFilter(StoredCounters stored) : stored_(std::move(stored)) {}

  // Number of cells of a sound shape.  Bases near 2^64 are capped.
  static uint64_t CellsOf(const Shape& shape) {
    return ShiftedBits(shape.size, OffsetsFor(static_cast<uint32_t>(shape.detail)));
  }
  DistinctPairs CellsOf(Digest digest) const;
  uint32_t Offsets() const { return OffsetsFor(stored_.counters.width()); }

  StoredCounters stored_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_SHIFTING_COUNTING_H_
