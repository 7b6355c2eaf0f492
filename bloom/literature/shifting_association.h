// Tells which of two sets a key is in: only the first, both, or only the second (ShBF_A of Yang et
// al., PVLDB 9(5), 2016).
//
//   auto filter = bloom::ShiftingAssociationFilter::Make(1'000'000, 0.01);
//   filter->Add("apple", true, false);   // in the first set, not in the second
//   filter->Add("pear", true, true);     // in both
//   filter->Query("apple");              // kFirstOnly, except for one key in a hundred
//   filter->Query("plum");               // 0, most of the time: a key of neither set
//
// The caller knows both sets, and adds each of their keys once.  A query returns all regions in
// which the key may be; its own is always among them.  One load per probe covers all three regions.
//
//     h = Remix(digest, seed);  base i, i < k:  bloom/variants/shifted_bits.h
//     a key sets the bits  base i         if it is in the first set only
//                          base i + o1    if it is in both,         o1 its first offset of 28
//                          base i + o2    if it is in the second only,  o2 = o1 + its second one
//
//     size: m bases
//     payload: ceil((m + 56) / 8) bytes; bit p is bit (p & 7) of byte (p >> 3); bits from m + 56 on
//     are zero
//
// Rates.  A key is in one region.  Each of the other two passes with at most the rate of a standard
// filter with the n keys of both sets, f = (1 - (1 - 1/m)^(kn))^k (StandardFpp).  If half of the
// bits are ones (m = kn / ln 2), that is 2^-k.
//
// f is an upper bound for any distribution of the keys over the regions:
//
//   - A query can look at m bits, and bits with other offsets miss up to 56 of these.  So f is too
//     high by a share of at most 20k/m, depending on the regions.
//   - For a key of the sets it is too high by another 1/n: a probe for another region never meets
//     the bit that the same probe of that key set.
//
// With the planned number of keys, rates are at most 1 % below the predictions from 2000 keys on,
// and 4 % from 500 on.  With 100 keys they are about 10 % below, with 20 keys 3 to 45 %.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_LITERATURE_SHIFTING_ASSOCIATION_H_
#define TRELLIS_BLOOM_LITERATURE_SHIFTING_ASSOCIATION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/shape.h"
#include "bloom/core/stored_bits.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

class TRELLIS_API ShiftingAssociationFilter {
 public:
  static constexpr std::string_view kName = "shifting-association";
  static constexpr uint8_t kTag = 68;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;

  // The regions.  An answer is a set of these; 0 means certainly in neither set.
  static constexpr uint32_t kFirstOnly = 1;
  static constexpr uint32_t kBoth = 2;
  static constexpr uint32_t kSecondOnly = 4;

  // Probabilities of the possible answers, with f as above.
  struct Rates {
    // For a key of the sets: only its own region; its own and a certain other one (there are two
    // such answers); all three, which tells nothing.
    double clear = 0;    // (1 - f)^2
    double partial = 0;  // f (1 - f)
    double unclear = 0;  // f^2
    // For a key of neither set: any region.
    double foreign = 0;  // 1 - (1 - f)^3
  };

  // Makes a filter for `key_count` keys in the union of both sets.  A share of `unclear_rate` of
  // them gets an answer with more than one region: 1 - (1 - f)^2.  InvalidArgument for a count of 0
  // or a rate outside of [2^-31, 1), ResourceExhausted without memory.
  static absl::StatusOr<ShiftingAssociationFilter> Make(uint64_t key_count, double unclear_rate,
                                                        uint64_t seed = 0);
  // Makes a filter with a given number of bases and probes.  `unclear_rate` is stored and has no
  // other effect.  Errors as above, also for an impossible shape.
  static absl::StatusOr<ShiftingAssociationFilter> MakeOfShape(const Shape& shape,
                                                               double unclear_rate,
                                                               uint64_t seed = 0);

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.  ResourceExhausted without
  // memory.
  static absl::StatusOr<ShiftingAssociationFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, seed()); }

  // Adds a key with the sets that it is in; a key of neither is not added.  An addition cannot be
  // undone: if a key is added again with other sets, both answers are possible from then on.
  void Add(std::string_view key, bool in_first, bool in_second) {
    AddDigest(DigestOf(key), in_first, in_second);
  }
  void AddDigest(Digest digest, bool in_first, bool in_second);

  // All regions in which the key may be.
  uint32_t Query(std::string_view key) const { return QueryDigest(DigestOf(key)); }
  uint32_t QueryDigest(Digest digest) const;

  // Adds all additions of `other`; the bits are the same as if they were made here.  This is not a
  // union of sets: a key that is only in the first set here, and only in the second there, would
  // have to be in both, which the bits cannot express.  So a key that was added to both filters
  // must have been added with the same sets.  InvalidArgument, naming the difference, unless shape
  // and seed agree; then nothing changes.
  absl::Status Merge(const ShiftingAssociationFilter& other) {
    return stored_.Merge(other.stored_);
  }

  // Removes all keys; keeps shape and seed.
  void Clear() { stored_.Clear(); }

  std::string Serialize() const { return stored_.Serialize(); }

  const Shape& shape() const { return stored_.header.shape; }
  uint64_t seed() const { return stored_.header.seed; }
  double unclear_rate() const { return stored_.header.target_fpp; }
  uint64_t size_bits() const;
  // Number of additions, including those of merged filters.
  uint64_t added_count() const { return stored_.header.key_count; }

  // Rates with `key_count` different keys, in any regions.
  Rates PredictedRates(uint64_t key_count) const;
  // Rates of the current bits.  Reads all of them.
  Rates CurrentRates() const;

  // Number of ones.  Reads all bits.
  uint64_t CountOnes() const { return stored_.Ones(); }
  // Number of different keys, estimated from the share of ones; infinity if all are.  Reads all
  // bits.
  double EstimatedKeyCount() const;

  // Describes what is wrong with a shape and payload from a file; empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  explicit ShiftingAssociationFilter(StoredBits stored) : stored_(std::move(stored)) {}

  StoredBits stored_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_SHIFTING_ASSOCIATION_H_
