// Which of two sets a key is in: in the first only, in both, or in the second only (ShBF_A of Yang
// et al., PVLDB 9(5), 2016).
//
//   auto filter = bloom::ShiftingAssociationFilter::Make(1'000'000, 0.01);
//   filter->Add("apple", true, false);   // in the first set, not in the second
//   filter->Add("pear", true, true);     // in both
//   filter->Query("apple");              // kFirstOnly, but for one key in a hundred
//   filter->Query("plum");               // 0, most of the time: a key of neither set
//
// Each key of the two sets is added once, by a caller who knows both.  A query answers with all
// regions that the key may be in, its own always among them; one load a probe asks for all three.
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
// A key is in one region, and each of the other two passes with at most the rate of the standard
// filter, f = (1 - (1 - 1/m)^(kn))^k of the n keys of both sets together (StandardFpp).  Where half
// of the bits are ones (m = kn / ln 2) that is 2^-k.
//
// f is an upper bound for any regions of the keys.  A query may ask for m bits; bits with another
// offset than the query's miss up to 56 of these.  So f is too high by at most a share of 20k/m,
// which depends on the regions.  For a key of the sets it is too high by 1/n more: a probe for
// another region never meets the bit that the same probe of that key set.  The rates of a filter of
// its planned keys are at most 1 % below the predictions from 2000 keys on, 4 % from 500 on; with
// 100 keys they are about 10 % below, with 20 keys 3 to 45 %.
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

class ShiftingAssociationFilter {
 public:
  static constexpr std::string_view kName = "shifting-association";
  static constexpr uint8_t kTag = 68;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;

  // Where a key is.  Answers are sets of these: 0 is the certain "in neither".
  static constexpr uint32_t kFirstOnly = 1;
  static constexpr uint32_t kBoth = 2;
  static constexpr uint32_t kSecondOnly = 4;

  // How often answers are how good, of f as above.
  struct Rates {
    // Of a key of the sets: only its own region; its own and a certain one of the others (there are
    // two such answers); all three, which tells nothing.
    double clear = 0;    // (1 - f)^2
    double partial = 0;  // f (1 - f)
    double unclear = 0;  // f^2
    // Of a key of neither set: some region.
    double foreign = 0;  // 1 - (1 - f)^3
  };

  // Sized for `key_count` keys in the union of both sets, of which `unclear_rate` get an answer of
  // more than one region: 1 - (1 - f)^2.  InvalidArgument for a count of 0 or a rate outside of
  // [2^-31, 1), ResourceExhausted without memory.
  static absl::StatusOr<ShiftingAssociationFilter> Make(uint64_t key_count, double unclear_rate,
                                                        uint64_t seed = 0);
  // Of bases and probes that the caller chose; `unclear_rate` is only kept with it.  Errors as
  // above, for a shape that cannot be too.
  static absl::StatusOr<ShiftingAssociationFilter> MakeOfShape(const Shape& shape,
                                                               double unclear_rate,
                                                               uint64_t seed = 0);

  // From the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.
  static absl::StatusOr<ShiftingAssociationFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, seed()); }

  // Says of a key which of the sets it is in; a key of neither is not added.  What was said cannot
  // be taken back: of a key that is added again as something else, both are possible from then on.
  void Add(std::string_view key, bool in_first, bool in_second) {
    AddDigest(DigestOf(key), in_first, in_second);
  }
  void AddDigest(Digest digest, bool in_first, bool in_second);

  // All regions that the key may be in.
  uint32_t Query(std::string_view key) const { return QueryDigest(DigestOf(key)); }
  uint32_t QueryDigest(Digest digest) const;

  // Takes over what `other` was told of its keys: bit for bit as if this had been told it.  This is
  // not the union of their sets: a key that is in the first set alone here and in the second alone
  // there would have to become one of both, which bits do not know.  So a key that both were told
  // of must have been told of in the same way.  InvalidArgument, naming the difference, unless
  // shape and seed agree; nothing is changed then.
  absl::Status Merge(const ShiftingAssociationFilter& other) {
    return stored_.Merge(other.stored_);
  }

  // Forgets all keys, keeps shape and seed.
  void Clear() { stored_.Clear(); }

  std::string Serialize() const { return stored_.Serialize(); }

  const Shape& shape() const { return stored_.header.shape; }
  uint64_t seed() const { return stored_.header.seed; }
  double unclear_rate() const { return stored_.header.target_fpp; }
  uint64_t size_bits() const;
  // Keys added, each time that one was, and those of merged filters.
  uint64_t added_count() const { return stored_.header.key_count; }

  // Rates once `key_count` different keys are in, however they spread over the regions.
  Rates PredictedRates(uint64_t key_count) const;
  // Rates of the bits as they are.  Reads all of them.
  Rates CurrentRates() const;

  // Number of ones.  Reads all bits.
  uint64_t CountOnes() const { return stored_.Ones(); }
  // Number of different keys, judged by the share of ones; infinity if all are.  Reads all bits.
  double EstimatedKeyCount() const;

  // What is wrong with a shape and payload from a file; empty if nothing.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  explicit ShiftingAssociationFilter(StoredBits stored) : stored_(std::move(stored)) {}

  StoredBits stored_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_SHIFTING_ASSOCIATION_H_
