// A Bloom filter that clears bits to remove known, harmful false positives, and loses some keys
// with them (Donnet, Baynat, Friedman 2006).
//
//   auto filter = bloom::RetouchedFilter::Make(1'000'000, 0.01);
//   filter->Add("apple");
//   absl::StatusOr<bool> done;                // "pear" passes, and is queried all the time
//   done = filter->AddFalsePositive("pear");  // true
//   done = filter->SelectiveClearing("pear", bloom::ClearingScheme::kRatio);  // true
//   filter->MayContain("pear");          // false, and so it is for some keys that were added
//
// IT MAY DENY KEYS THAT WERE ADDED (`kMayDeny`): once a bit is cleared, it denies all keys with a
// probe there. Do not use it where a "no" must be right, least of all in a store.
//
// Clearing random bits gains nothing.  It removes keys and false positives in the same share:
// 1 - (1 - q)^k if a share q of the ones is cleared.  Clearing bits of known false positives is
// better, and a good choice of the bit better still.  The paper measures a choice by chi: the share
// of false positives removed, divided by the share of keys denied.
//
// Bits and probes are those of the standard filter.  For the choice, the filter also keeps the keys
// and known false positives that have a probe at each bit (bloom/literature/digests_by_bit.h). That
// takes 62 times the memory of the bits, with the planned keys at 0.01 (`bookkeeping_bytes`).  To
// send or to query a filter, the bits alone suffice (`SerializeBits`, `DropBookkeeping`).
//
// At each choice, two numbers are computed for a bit: the different keys, and the known false
// positives, that have a probe there and pass at that moment.  So a key that is already denied
// costs nothing at its other bits, until its cleared bit is set again by other keys.  Computing
// them takes a query for each key and known false positive that has a probe at a bit of the one to
// remove: a few microseconds.  This and all other calls except queries take longer if the filter
// has many times its planned keys, or if an attacker who knows the seed chose keys that share bits,
// or made the file.
//
// Payload, of m bits:
//
//     +----------------+------------+- - - - - - -+------------+- - - - - - - -+
//     | bits           | keys: u64  | digests     | known false| digests       |
//     | ceil(m/8) B    |            | u64 each    | pos.: u64  | u64 each      |
//     +----------------+------------+- - - - - - -+------------+- - - - - - - -+
//                       \______ if the header's detail is 1, not if it is 0 _____/
//
// Digests ascend strictly, and none is in both parts.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_LITERATURE_RETOUCHED_H_
#define TRELLIS_BLOOM_LITERATURE_RETOUCHED_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/capacity.h"
#include "bloom/core/shape.h"
#include "bloom/core/stored_bits.h"
#include "bloom/hash.h"
#include "bloom/literature/digests_by_bit.h"

namespace bloom::inline TRELLIS_ABI {

// Which bit of a false positive to clear, by the keys and known false positives that pass.  If bits
// are equal in this, the first in the order of the probes.
enum class ClearingScheme : uint8_t {
  kRandom,     // a random one, determined by digest and seed
  kMinimumFn,  // fewest keys; then most known false positives
  kMaximumFp,  // most known false positives; then fewest keys
  kRatio,      // fewest keys per known false positive (0 without keys, infinite without
               // known false positives); then as kMinimumFn
};

class TRELLIS_API RetouchedFilter {
 public:
  static constexpr std::string_view kName = "retouched";
  static constexpr uint8_t kTag = 73;
  static constexpr uint8_t kVersion = 2;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // 1 with bookkeeping, else 0

  static constexpr bool kMayDeny = true;

  // Makes a filter for `key_count` keys at `target_fpp`, sized as the standard filter, with
  // bookkeeping.  InvalidArgument for a bad count or FPP, ResourceExhausted without memory.
  static absl::StatusOr<RetouchedFilter> Make(uint64_t key_count, double target_fpp,
                                              uint64_t seed = 0);

  // Loads the bytes of Serialize or SerializeBits.  DataLoss if they are damaged, Unimplemented if
  // their version is unknown, InvalidArgument if they are a filter of another kind,
  // ResourceExhausted without memory.
  static absl::StatusOr<RetouchedFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, stored_.header.seed); }

  // Sets the bits of a key, cleared ones too.  A known false positive that is added becomes a key.
  // Repeated additions weigh as one.  Beyond 2^32 - 1 keys and known false positives, or without
  // memory for its digest, a new key is added, but has no weight.
  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest);

  // False if the key was never added, or was lost by clearing.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return functions_.may_contain(view(), digest); }

  // Makes `key`, which was not added, count as a false positive in the choice of bits.  Returns
  // true if it did not count yet and now does.  Returns false if it was added, or if it does not
  // pass.  FailedPrecondition without bookkeeping; ResourceExhausted if there are 2^32 - 1 keys and
  // known false positives, or no memory for another.
  absl::StatusOr<bool> AddFalsePositive(std::string_view key) {
    return AddFalsePositiveDigest(DigestOf(key));
  }
  absl::StatusOr<bool> AddFalsePositiveDigest(Digest digest);

  // Clears one bit of a key that passes, so that it no longer passes.  The key need not be a known
  // false positive; if it is, it is forgotten.  Returns false if it did not pass anyway.
  // FailedPrecondition without bookkeeping, except for kRandom, which needs none.
  absl::StatusOr<bool> SelectiveClearing(std::string_view key, ClearingScheme scheme) {
    return SelectiveClearingDigest(DigestOf(key), scheme);
  }
  absl::StatusOr<bool> SelectiveClearingDigest(Digest digest, ClearingScheme scheme);
  // Calls SelectiveClearing for all known false positives, one after the other.  None of them
  // passes afterwards, and none is known any more.  Returns the number of bits cleared.
  // FailedPrecondition without bookkeeping; ResourceExhausted without memory for their digests.  On
  // an error nothing changes.
  absl::StatusOr<uint64_t> ClearKnownFalsePositives(ClearingScheme scheme);

  // Clears a share of the ones (rounded to a whole number), chosen at random by `random_seed`.
  // Returns the number of bits cleared.  InvalidArgument unless the share is in [0, 1].
  absl::StatusOr<uint64_t> RandomClearing(double share, uint64_t random_seed);

  // Union.  A bit that only one of the two has cleared is set again.  The known false positives of
  // both are forgotten, since they may be keys of the other.  On an error nothing changes:
  // InvalidArgument, naming the difference, unless shape and seed agree and both or neither have
  // bookkeeping; ResourceExhausted without memory for the keys of both, or if there are 2^32 of
  // them.
  absl::Status Merge(const RetouchedFilter& other);

  // Removes all keys and false positives; keeps shape and seed.
  void Clear();

  std::string Serialize() const;
  // The bytes without bookkeeping.
  std::string SerializeBits() const;

  bool has_bookkeeping() const { return stored_.header.shape.detail != 0; }
  void DropBookkeeping();

  const Shape& shape() const { return stored_.header.shape; }
  uint64_t seed() const { return stored_.header.seed; }
  double target_fpp() const { return stored_.header.target_fpp; }
  // Size of the bits, without bookkeeping.
  uint64_t size_bits() const { return stored_.header.shape.size; }
  // Memory of the bookkeeping.
  uint64_t bookkeeping_bytes() const;
  // Number of additions, including those of merged filters.  Clearing does not lower it.
  uint64_t added_count() const { return stored_.header.key_count; }
  uint64_t known_false_positive_count() const {
    return digests_.Count(DigestsByBit::Kind::kFalsePositive);
  }

  // FPP with `key_count` different keys, before any bit is cleared.
  double PredictedFpp(uint64_t key_count) const;
  // Capacity in keys: the most with PredictedFpp <= target_fpp().  At least the number that the
  // filter was made for; more if its size was rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Number of ones.
  uint64_t CountOnes() const { return stored_.Ones(); }
  // FPP of the current bits.  Reads all of them.
  double CurrentFpp() const;
  // Number of different keys, estimated from the share of ones; too low after clearing.  Reads all
  // bits.
  double EstimatedKeyCount() const;

  // Describes what is wrong with a shape and payload from a file; empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  explicit RetouchedFilter(StoredBits stored);

  FilterView view() const { return {stored_.bits.data(), shape(), seed()}; }

  uint64_t ChooseBit(Digest digest, ClearingScheme scheme) const;
  void ForgetFalsePositive(Digest digest);

  StoredBits stored_;
  FilterFunctions functions_;
  // The bookkeeping; empty without.  Clearing a bit changes nothing in it.
  DigestsByBit digests_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_RETOUCHED_H_
