// A shifting filter with a second array as long as the first, in which a key has one bit more: what
// a public implementation of filters calls its improvement on the paper.
//
//     h = Remix(digest, seed)
//     first array: the bits of `shifting` (bloom/variants/shifting.h), k of them a key
//     second array: position k/2 of bloom::Probes(h, m), which is the one behind the last base
//
//     payload:  | first: ceil((m + 56) / 8) bytes | second: ceil(m / 8) bytes |
//
// An absent key passes with the rate of the shifting filter times 1 - (1 - 1/m)^n: lower than that
// of the first array alone, but for twice the memory.  It is here for completeness, and for its
// numbers.  `standard` does better with the same memory: at 0.01 this filter needs 11.56 bits a key
// against 9.59, and with 11.56 bits the standard one has an FPP of 0.0039.
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

class ShiftingDoubleFilter {
 public:
  static constexpr std::string_view kName = "shifting-double";
  static constexpr uint8_t kTag = 67;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;

  // Sized for `key_count` keys at `target_fpp`: the fewest bits of both arrays.  InvalidArgument
  // for a bad count or FPP, ResourceExhausted without memory.
  static absl::StatusOr<ShiftingDoubleFilter> Make(uint64_t key_count, double target_fpp,
                                                   uint64_t seed = 0);
  // Of bases and probes (of the first array) that the caller chose; `target_fpp` is only kept with
  // it.  Errors as above, for a shape that cannot be too.
  static absl::StatusOr<ShiftingDoubleFilter> MakeOfShape(const Shape& shape, double target_fpp,
                                                          uint64_t seed = 0);

  // From the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.
  static absl::StatusOr<ShiftingDoubleFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, seed()); }

  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest);

  // False only if the key was never added.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const;
  // Starts to load what these and AddDigest touch: for those who know many digests ahead.
  [[gnu::always_inline]] void Prefetch(Digest digest) const {
    const uint8_t* const first = stored_.bits.data();
    const uint8_t* const second = first + ShiftedBytes(shape().size);
    Probes probes(Remix(digest, seed()), shape().size);
    for (uint32_t i = 0; i < shape().probes; i += 2)
      __builtin_prefetch(first + (probes.Next() >> 3));
    __builtin_prefetch(second + (probes.Next() >> 3));
  }

  // Adds all keys of `other`: bit for bit what adding them one by one would give.  InvalidArgument,
  // naming the difference, unless shape and seed agree; nothing is changed then.
  absl::Status Merge(const ShiftingDoubleFilter& other) { return stored_.Merge(other.stored_); }

  // Forgets all keys, keeps shape and seed.
  void Clear() { stored_.Clear(); }

  std::string Serialize() const { return stored_.Serialize(); }

  const Shape& shape() const { return stored_.header.shape; }
  uint64_t seed() const { return stored_.header.seed; }
  double target_fpp() const { return stored_.header.target_fpp; }
  uint64_t size_bits() const;  // of both arrays
  // Keys added, each time that one was, and those of merged filters.
  uint64_t added_count() const { return stored_.header.key_count; }

  // FPP once `key_count` different keys are in.
  double PredictedFpp(uint64_t key_count) const;
  // The number of keys that the filter has room for: the most with PredictedFpp <= target_fpp().
  // That is the number that it was made for, or more where sizes are rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Number of ones in both arrays together.
  uint64_t CountOnes() const { return stored_.Ones(); }
  // FPP of the bits as they are: PairedFpp of the first array times the share of ones of the
  // second.
  double CurrentFpp() const;
  // Number of different keys, judged by the share of ones of the second array; infinity if all are.
  double EstimatedKeyCount() const;

  // What is wrong with a shape and payload from a file; empty if nothing.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  explicit ShiftingDoubleFilter(StoredBits stored) : stored_(std::move(stored)) {}

  StoredBits stored_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_SHIFTING_DOUBLE_H_
