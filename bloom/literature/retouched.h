// A Bloom filter that gives up some of its keys to be rid of false positives that are known to hurt
// (Donnet, Baynat, Friedman 2006): bits of those are cleared.
//
//   auto filter = bloom::RetouchedFilter::Make(1'000'000, 0.01);
//   filter->Add("apple");
//   absl::StatusOr<bool> done;                // "pear" passes, and is asked for all the time
//   done = filter->AddFalsePositive("pear");  // true
//   done = filter->SelectiveClearing("pear", bloom::ClearingScheme::kRatio);  // true
//   filter->MayContain("pear");          // false, and so it is for some keys that were added
//
// IT MAY DENY KEYS THAT WERE ADDED (`kMayDeny`), once a bit has been cleared: all those that have a
// probe there.  Nothing that relies on a "no" may use it, least of all a store.
//
// To clear any bit denies, of the keys as of the false positives, the share that has a probe there:
// clearing a share q of the ones at random removes 1 - (1 - q)^k of either, and nothing is won.  To
// clear those of known false positives is better, and better still where the bit is well chosen.
// What a choice is worth is the share of false positives removed by the share of keys denied, the
// paper's chi.
//
// Bits and probes are those of the standard filter.  Beside them, a filter that is to choose keeps,
// for each bit, which keys and which known false positives have a probe there
// (bloom/literature/digests_by_bit.h; `bookkeeping_bytes`: with the planned keys at 0.01, 62 times
// the bits); to send it elsewhere, or to ask it only, the bits suffice (`SerializeBits`,
// `DropBookkeeping`).
//
// The weight of a bit is counted again for each choice: the different keys with a probe there that
// pass at that moment, and likewise the known false positives.  So a key that is given up already
// costs nothing more at its other bits, and costs again once others have set its bit again.  That
// takes as many questions as there are keys and known false positives at the bits of the one that
// is to go: a few microseconds.  In a filter of many times its planned keys these are many, and so
// they are where an attacker who knows the seed chose keys that share bits, or made the file: then
// all calls but questions take time in proportion.
//
// Payload, of m bits:
//
//     +----------------+------------+- - - - - - -+------------+- - - - - - - -+
//     | bits           | keys: u64  | digests     | known false| digests       |
//     | ceil(m/8) B    |            | u64 each    | pos.: u64  | u64 each      |
//     +----------------+------------+- - - - - - -+------------+- - - - - - - -+
//                       \______ if the header's detail is 1, not if it is 0 _____/
//
// Digests ascend strictly, and none stands in both parts.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_LITERATURE_RETOUCHED_H_
#define TRELLIS_BLOOM_LITERATURE_RETOUCHED_H_

#include <cstddef>
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

// Which of a false positive's bits is cleared, by keys and known false positives that pass.  Of
// equal bits, the first in the order of its probes.
enum class ClearingScheme : uint8_t {
  kRandom,     // any of them, by digest and seed alone
  kMinimumFn,  // of the fewest keys; of those, of the most known false positives
  kMaximumFp,  // of the most known false positives; of those, of the fewest keys
  kRatio,      // of the fewest keys a known false positive: 0 without keys, else infinitely many
               // without the latter; of those, as kMinimumFn
};

class RetouchedFilter {
 public:
  static constexpr std::string_view kName = "retouched";
  static constexpr uint8_t kTag = 73;
  static constexpr uint8_t kVersion = 2;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // 1 with bookkeeping, else 0

  static constexpr bool kMayDeny = true;

  // Sized for `key_count` keys at `target_fpp`, as the standard filter is; with bookkeeping.
  // InvalidArgument for a bad count or FPP, ResourceExhausted without memory.
  static absl::StatusOr<RetouchedFilter> Make(uint64_t key_count, double target_fpp,
                                              uint64_t seed = 0);

  // From the bytes of Serialize or SerializeBits.  DataLoss if they are damaged, Unimplemented if
  // their version is unknown, InvalidArgument if they are a filter of another kind,
  // ResourceExhausted without memory.
  static absl::StatusOr<RetouchedFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, stored_.header.seed); }

  // Sets the bits of a key, those that were cleared too.  A known false positive is none any more
  // once it was added.  A key that is added twice weighs as one.  Beyond 2^32 - 1 keys and known
  // false positives, or without memory for its digest, a new key is in the filter as any other, but
  // weighs nothing.
  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest);

  // False if the key was never added, or was given up.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return functions_.may_contain(view(), digest); }

  // From now on `key`, which was not added, weighs in the choice of bits.  True if it did not yet;
  // false too if it was added, since it is no false positive then, and if it does not pass, since
  // there is nothing to be rid of.  FailedPrecondition without bookkeeping, ResourceExhausted if it
  // has 2^32 - 1 keys and known false positives, or there is no memory for another.
  absl::StatusOr<bool> AddFalsePositive(std::string_view key) {
    return AddFalsePositiveDigest(DigestOf(key));
  }
  absl::StatusOr<bool> AddFalsePositiveDigest(Digest digest);

  // Clears one bit of a key that passes, known as a false positive or not, so that it does not pass
  // any more.  False if it did not pass anyway.  FailedPrecondition without bookkeeping, which only
  // kRandom does without.
  absl::StatusOr<bool> SelectiveClearing(std::string_view key, ClearingScheme scheme) {
    return SelectiveClearingDigest(DigestOf(key), scheme);
  }
  absl::StatusOr<bool> SelectiveClearingDigest(Digest digest, ClearingScheme scheme);
  // The same for all known false positives, one after the other; the number of bits cleared.  None
  // of them passes then, and none is known any more.  ResourceExhausted without memory for their
  // digests; nothing is changed then.
  absl::StatusOr<uint64_t> ClearKnownFalsePositives(ClearingScheme scheme);

  // Clears a share of the ones, to the nearest whole number, chosen at random by `random_seed`; the
  // number of bits cleared.  InvalidArgument unless the share lies in [0, 1].
  absl::StatusOr<uint64_t> RandomClearing(double share, uint64_t random_seed);

  // Union.  A bit that only one of the two cleared is set again, and known false positives of both
  // are forgotten, since they may be keys of the other.  InvalidArgument, naming the difference,
  // unless shape and seed agree, and both have bookkeeping (details 1) or none (details 0),
  // ResourceExhausted without memory for the keys of both, or with 2^32 of them; nothing is changed
  // then.
  absl::Status Merge(const RetouchedFilter& other);

  // Forgets all keys and false positives, keeps shape and seed.
  void Clear();

  std::string Serialize() const;
  // Without bookkeeping.
  std::string SerializeBits() const;

  bool has_bookkeeping() const { return stored_.header.shape.detail != 0; }
  void DropBookkeeping();

  const Shape& shape() const { return stored_.header.shape; }
  uint64_t seed() const { return stored_.header.seed; }
  double target_fpp() const { return stored_.header.target_fpp; }
  // Of the bits alone, which a query needs.
  uint64_t size_bits() const { return stored_.header.shape.size; }
  // Memory beside them.
  uint64_t bookkeeping_bytes() const;
  // Keys added, each time that one was, and those of merged filters.  Not fewer when some are given
  // up.
  uint64_t added_count() const { return stored_.header.key_count; }
  uint64_t known_false_positive_count() const {
    return digests_.Count(DigestsByBit::Kind::kFalsePositive);
  }

  // FPP once `key_count` different keys are in and no bit has been cleared.
  double PredictedFpp(uint64_t key_count) const;
  // The number of keys that the filter has room for: the most with PredictedFpp <= target_fpp().
  // That is the number that it was made for, or more where sizes are rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Number of ones.
  uint64_t CountOnes() const { return stored_.Ones(); }
  // FPP of the bits as they are.  Reads all of them.
  double CurrentFpp() const;
  // Number of different keys, judged by the share of ones; too low where bits were cleared.  Reads
  // all bits.
  double EstimatedKeyCount() const;

  // What is wrong with a shape and payload from a file; empty if nothing.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  explicit RetouchedFilter(StoredBits stored);

  FilterView view() const { return {stored_.bits.data(), shape(), seed()}; }

  uint64_t ChooseBit(Digest digest, ClearingScheme scheme) const;
  void ForgetFalsePositive(Digest digest);

  StoredBits stored_;
  FilterFunctions functions_;
  // Bookkeeping; empty without.  Nothing in it changes when a bit is cleared.
  DigestsByBit digests_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_RETOUCHED_H_
