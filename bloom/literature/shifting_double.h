// A shifting filter with a second array of the same length, in which a key has one more bit.  A
// public implementation of filters presents it as an improvement on the paper.
//
//     h = Remix(digest, seed)
//     first array: the bits of `shifting` (bloom/variants/shifting.h), k per key
//     second array: position k/2 of bloom::Probes(h, m), the one after the last base
//
//     payload:  | first: ceil((m + 56) / 8) bytes | second: ceil(m / 8) bytes |
//
// An absent key passes with the rate of the shifting filter times 1 - (1 - 1/m)^n: less than with
// the first array alone, but for twice the memory.  `standard` is better with the same memory: at
// 0.01 this filter needs 11.56 bits/key instead of 9.59, and with 11.56 bits/key the standard one
// has an FPP of 0.0039.  It is included for completeness and comparison.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_LITERATURE_SHIFTING_DOUBLE_H_
#define TRELLIS_BLOOM_LITERATURE_SHIFTING_DOUBLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/capacity.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"
#include "bloom/core/stored_bits.h"
#include "bloom/hash.h"
#include "bloom/variants/shifted_bits.h"

namespace bloom::inline TRELLIS_ABI {

class TRELLIS_API ShiftingDoubleFilter {
 public:
  static constexpr std::string_view kName = "shifting-double";
  static constexpr uint8_t kTag = 67;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;

  // Makes a filter for `key_count` keys at `target_fpp`, with the fewest bits in both arrays.
  // InvalidArgument for a bad count or FPP, ResourceExhausted without memory.
  static absl::StatusOr<ShiftingDoubleFilter> Make(uint64_t key_count, double target_fpp,
                                                   uint64_t seed = 0);
  // Makes a filter with a given number of bases and probes (of the first array).  `target_fpp` is
  // stored and has no other effect.  Errors as above, also for an impossible shape.
  static absl::StatusOr<ShiftingDoubleFilter> MakeOfShape(const Shape& shape, double target_fpp,
                                                          uint64_t seed = 0);

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.  ResourceExhausted without
  // memory.
  static absl::StatusOr<ShiftingDoubleFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, seed()); }

  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest);

  // False only if the key was never added.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const;
  // Starts loading the memory that MayContainDigest and AddDigest access.  For callers that know
  // many digests in advance.
  [[gnu::always_inline]] void Prefetch(Digest digest) const {
    const uint8_t* const first = stored_.bits.data();
    const uint8_t* const second = first + ShiftedBytes(shape().size);
    Probes probes(Remix(digest, seed()), shape().size);
    for (uint32_t i = 0; i < shape().probes; i += 2)
      __builtin_prefetch(first + (probes.Next() >> 3));
    __builtin_prefetch(second + (probes.Next() >> 3));
  }

  // Adds all keys of `other`.  The bits are the same as if they were added one by one.
  // InvalidArgument, naming the difference, unless shape and seed agree; then nothing changes.
  absl::Status Merge(const ShiftingDoubleFilter& other) { return stored_.Merge(other.stored_); }

  // Removes all keys; keeps shape and seed.
  void Clear() { stored_.Clear(); }

  std::string Serialize() const { return stored_.Serialize(); }

  const Shape& shape() const { return stored_.header.shape; }
  uint64_t seed() const { return stored_.header.seed; }
  double target_fpp() const { return stored_.header.target_fpp; }
  uint64_t size_bits() const;  // of both arrays
  // Number of additions, including those of merged filters.
  uint64_t added_count() const { return stored_.header.key_count; }

  // FPP with `key_count` different keys.
  double PredictedFpp(uint64_t key_count) const;
  // Capacity in keys: the most with PredictedFpp <= target_fpp().  At least the number that the
  // filter was made for; more if its size was rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Number of ones in both arrays.
  uint64_t CountOnes() const { return stored_.Ones(); }
  // FPP of the current bits: PairedFpp of the first array times the share of ones of the second.
  double CurrentFpp() const;
  // Number of different keys, estimated from the share of ones of the second array; infinity if all
  // are.
  double EstimatedKeyCount() const;

  // Describes what is wrong with a shape and payload from a file; empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  explicit ShiftingDoubleFilter(StoredBits stored) : stored_(std::move(stored)) {}

  StoredBits stored_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_SHIFTING_DOUBLE_H_
