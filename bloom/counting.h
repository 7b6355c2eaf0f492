// A Bloom filter that forgets: counters in place of bits (Fan, Cao, Almeida, Broder 2000).
//
//   auto filter = bloom::CountingFilter::Make(1'000'000, 0.01);
//   filter->Add("apple");
//   filter->Remove("apple");        // true
//   filter->MayContain("apple");    // false
//
// A cell counts the additions of keys that have one of their probes there, each key once however
// many of its probes it has there.  An absent key passes as in the standard filter of as many
// cells.
//
//     cell i of a key = position i of bloom::Probes(Remix(digest, seed), cells)
//     payload: `size` counters of `detail` bits, packed (bloom/core/packed.h)
//
// A counter that reached its maximum stays there for ever, since its true value is unknown: a key
// is never denied for it, but what lies there is never forgotten either.  With as many
// keys as planned, each added once, a cell has ln 2 keys on average, and one of 4 bits overflows
// with a probability of 7 * 10^-17.  Keys that are added often need more bits.
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

class CountingFilter {
 public:
  static constexpr std::string_view kName = "counting";
  static constexpr uint8_t kTag = 64;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // bits of a counter

  static constexpr uint32_t kDefaultCounterBits = 4;
  static constexpr uint32_t kMaxCounterBits = 32;

  // Sized for `key_count` keys at `target_fpp`, as the standard filter is.  InvalidArgument for a
  // bad count, FPP or width, ResourceExhausted without memory.
  static absl::StatusOr<CountingFilter> Make(uint64_t key_count, double target_fpp,
                                             uint64_t seed = 0) {
    return MakeWithCounters(key_count, target_fpp, kDefaultCounterBits, seed);
  }
  // With counters of another width: [1, 32] bits.
  static absl::StatusOr<CountingFilter> MakeWithCounters(uint64_t key_count, double target_fpp,
                                                         uint32_t counter_bits, uint64_t seed = 0);
  // Of a number of cells, probes and bits of a counter (`detail`) that the caller chose.
  static absl::StatusOr<CountingFilter> MakeOfShape(const Shape& shape, double target_fpp,
                                                    uint64_t seed = 0);

  // From the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.
  static absl::StatusOr<CountingFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, stored_.header.seed); }

  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest);

  // Takes back one addition.  False if there was none, as far as can be told, and then nothing is
  // changed.  To remove a key that was never added but passes damages others: they may then be
  // denied.
  bool Remove(std::string_view key) { return RemoveDigest(DigestOf(key)); }
  bool RemoveDigest(Digest digest);

  // False only if the key was never added, or removed as often.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const;

  // Union: adds the counters, each up to its maximum.  Intersection: the lower of two counters;
  // holds at least the keys of both.  InvalidArgument, naming the difference, unless shape and seed
  // agree; nothing is changed then.
  absl::Status Merge(const CountingFilter& other) { return stored_.Merge(other.stored_); }
  absl::Status Intersect(const CountingFilter& other) { return stored_.Intersect(other.stored_); }

  // Forgets all keys, keeps shape and seed.
  void Clear() { stored_.Clear(); }

  std::string Serialize() const { return stored_.Serialize(); }
  // The standard filter of the keys that are in: a bit a cell, for Filter<Standard>::Load and
  // FilterReader.  ResourceExhausted without memory.
  absl::StatusOr<std::string> SerializeAsStandard() const;

  const Shape& shape() const { return stored_.header.shape; }
  uint32_t counter_bits() const { return stored_.counters.width(); }
  uint64_t seed() const { return stored_.header.seed; }
  double target_fpp() const { return stored_.header.target_fpp; }
  uint64_t size_bits() const { return stored_.counters.size_bits(); }
  // Additions less removals.
  uint64_t added_count() const { return stored_.header.key_count; }

  // FPP once `key_count` different keys are in.
  double PredictedFpp(uint64_t key_count) const;
  // The number of keys that the filter has room for: the most with PredictedFpp <= target_fpp().
  // That is the number that it was made for, or more where sizes are rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Number of cells that are not zero: the ones of the standard filter of the same keys.
  uint64_t CountOnes() const { return stored_.counters.CountNonZero(); }
  // FPP of the counters as they are; the number of different keys, judged by the share of cells
  // that are not zero; the number of counters that will never be lowered.  Each reads all of them.
  double CurrentFpp() const;
  double EstimatedKeyCount() const;
  uint64_t CountSaturated() const { return stored_.CountSaturated(); }

  // What is wrong with a shape and payload from a file; empty if nothing.
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
