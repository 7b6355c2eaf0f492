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
// for each bit, how many additions and how many known false positives have a probe there
// (`bookkeeping_bytes`, 16 times the bits); to send it elsewhere, or to ask it only, the bits
// suffice (`SerializeBits`, `DropBookkeeping`).
//
// Payload, of m bits:
//
//     +----------------+-----------------+-----------------+------------+- - - - - - -+
//     | bits           | additions by bit| false pos. by   | count: u64 | digests     |
//     | ceil(m/8) B    | m B             | bit, m B        |            | u64 each    |
//     +----------------+-----------------+-----------------+------------+- - - - - - -+
//                       \________ if the header's detail is 1, not if it is 0 _______/
//
// Digests are those of the false positives that are known, ascending.  Numbers by bit stop at 255
// and are then never lowered.
//
// Thread-safe as long as nobody changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_FILTERS_RETOUCHED_H_
#define TRELLIS_BLOOM_FILTERS_RETOUCHED_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/hash.h"
#include "bloom/core/packed.h"
#include "bloom/core/shape.h"
#include "bloom/core/stored_bits.h"

namespace bloom {

// Which of a false positive's bits is cleared.  Of equal ones, the first in the order of its
// probes.
enum class ClearingScheme : uint8_t {
  kRandom,     // any of them, by digest and seed alone
  kMinimumFn,  // of the fewest additions; of those, of the most known false positives
  kMaximumFp,  // of the most known false positives; of those, of the fewest additions
  kRatio,      // of the fewest additions a known false positive; without any, as kMinimumFn
};

class RetouchedFilter {
 public:
  static constexpr std::string_view kName = "retouched";
  static constexpr uint8_t kTag = 73;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // 1 with bookkeeping, else 0

  static constexpr bool kMayDeny = true;
  static constexpr uint32_t kWeightBits = 8;

  // Sized for `key_count` keys at `target_fpp`, as the standard filter is; with bookkeeping.
  // InvalidArgument for a bad count or FPP, ResourceExhausted without memory.
  static absl::StatusOr<RetouchedFilter> Make(uint64_t key_count, double target_fpp,
                                              uint64_t seed = 0);

  // From the bytes of Serialize or SerializeBits.  DataLoss if they are damaged, Unimplemented if
  // their version is unknown, InvalidArgument if they are a filter of another kind.
  static absl::StatusOr<RetouchedFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, stored_.header.seed); }

  // Sets the bits of a key, those that were cleared too.  A known false positive is none any more
  // once it was added.
  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest);

  // False if the key was never added, or was given up.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return functions_.may_contain(view(), digest); }

  // From now on `key`, which nobody added, weighs in the choice of bits.  True if it did not yet;
  // false too if it does not pass, since there is nothing to be rid of.  FailedPrecondition without
  // bookkeeping.
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
  // of them passes then, and none is known any more.
  absl::StatusOr<uint64_t> ClearKnownFalsePositives(ClearingScheme scheme);

  // Clears a share of the ones, to the nearest whole number, chosen at random by `random_seed`; the
  // number of bits cleared.  InvalidArgument unless the share lies in [0, 1].
  absl::StatusOr<uint64_t> RandomClearing(double share, uint64_t random_seed);

  // Union.  A bit that only one of the two cleared is set again, and known false positives of both
  // are forgotten, since they may be keys of the other.  InvalidArgument, naming the difference,
  // unless shape and seed agree, and both have bookkeeping (details 1) or none (details 0); nothing
  // is changed then.
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
  uint64_t known_false_positive_count() const { return known_.size(); }

  // FPP once `key_count` different keys are in and no bit has been cleared.
  double PredictedFpp(uint64_t key_count) const;
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
  void ClearOne(uint64_t position);
  void ForgetFalsePositive(Digest digest);

  StoredBits stored_;
  FilterFunctions functions_;
  // Bookkeeping; empty without.
  PackedArray additions_;
  PackedArray false_positives_;
  std::set<Digest> known_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_FILTERS_RETOUCHED_H_
