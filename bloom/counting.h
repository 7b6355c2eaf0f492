// A Bloom filter with removal: counters in place of bits (Fan, Cao, Almeida, Broder 2000).
//
//   auto filter = bloom::CountingFilter::Make(1'000'000, 0.01);
//   filter->Add("apple");
//   filter->Remove("apple");        // true
//   filter->MayContain("apple");    // false
//
// A cell counts the additions of keys that probe it.  A key counts once, even if several of its
// probes hit the cell.  The FPP is that of a standard filter with as many bits as there are cells.
//
//     cell i of a key = position i of bloom::Probes(Remix(digest, seed), cells)
//     payload: `size` counters of `detail` bits, packed (bloom/core/packed.h)
//
// A counter at its maximum stays there for ever, since its true value is unknown.  This causes no
// false negative, but such a cell never becomes zero again.  With the planned number of keys, each
// added once, a cell has ln 2 keys on average, and a counter of 4 bits overflows with probability
// 7 * 10^-17.  If keys are added many times, use wider counters.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_COUNTING_H_
#define TRELLIS_BLOOM_COUNTING_H_

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
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"
#include "bloom/core/stored_counters.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

class TRELLIS_API CountingFilter {
 public:
  static constexpr std::string_view kName = "counting";
  static constexpr uint8_t kTag = 64;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // bits per counter

  static constexpr uint32_t kDefaultCounterBits = 4;
  static constexpr uint32_t kMaxCounterBits = 32;

  // Makes a filter for `key_count` keys at `target_fpp`, sized as the standard filter.
  // InvalidArgument for a bad count, FPP or width, ResourceExhausted without memory.
  static absl::StatusOr<CountingFilter> Make(uint64_t key_count, double target_fpp,
                                             uint64_t seed = 0) {
    return MakeWithCounters(key_count, target_fpp, kDefaultCounterBits, seed);
  }
  // As Make, with `counter_bits` bits per counter: [1, 32].
  static absl::StatusOr<CountingFilter> MakeWithCounters(uint64_t key_count, double target_fpp,
                                                         uint32_t counter_bits, uint64_t seed = 0);
  // Makes a filter with a given number of cells, probes, and bits per counter (`detail`).
  static absl::StatusOr<CountingFilter> MakeOfShape(const Shape& shape, double target_fpp,
                                                    uint64_t seed = 0);

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.  ResourceExhausted without
  // memory.
  static absl::StatusOr<CountingFilter> Load(std::string_view bytes);

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
  absl::Status Merge(const CountingFilter& other) { return stored_.Merge(other.stored_); }
  absl::Status Intersect(const CountingFilter& other) { return stored_.Intersect(other.stored_); }

  // Removes all keys; keeps shape and seed.
  void Clear() { stored_.Clear(); }

  std::string Serialize() const { return stored_.Serialize(); }
  // Bytes of a standard filter with the same keys, one bit per cell, for Filter<Standard>::Load and
  // FilterReader.  ResourceExhausted without memory.
  absl::StatusOr<std::string> SerializeAsStandard() const;

  const Shape& shape() const { return stored_.header.shape; }
  uint32_t counter_bits() const { return stored_.counters.width(); }
  uint64_t seed() const { return stored_.header.seed; }
  double target_fpp() const { return stored_.header.target_fpp; }
  uint64_t size_bits() const { return stored_.counters.size_bits(); }
  // Additions minus removals.
  uint64_t added_count() const { return stored_.header.key_count; }

  // FPP with `key_count` different keys.
  double PredictedFpp(uint64_t key_count) const;
  // Capacity in keys: the most with PredictedFpp <= target_fpp().  At least the number that the
  // filter was made for; more if its size was rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Number of nonzero cells: the number of ones in the standard filter of the same keys.
  uint64_t CountOnes() const { return stored_.counters.CountNonZero(); }
  // FPP of the current counters; number of different keys, estimated from the share of nonzero
  // cells; number of counters at their maximum, which never decrease.  Each reads all counters.
  double CurrentFpp() const;
  double EstimatedKeyCount() const;
  uint64_t CountSaturated() const { return stored_.CountSaturated(); }

  // Describes what is wrong with a shape and payload from a file; empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  friend struct StoredCounters;  // CellsOf

  explicit CountingFilter(StoredCounters stored) : stored_(std::move(stored)) {}

  static uint64_t CellsOf(const Shape& shape) { return shape.size; }
  DistinctProbes CellsOf(Digest digest) const;

  StoredCounters stored_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_COUNTING_H_
