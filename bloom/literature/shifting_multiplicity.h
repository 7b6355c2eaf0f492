// How often a key is in a multiset, up to 57 times (ShBF_X of Yang et al., PVLDB 9(5), 2016).
//
//   auto filter = bloom::ShiftingMultiplicityFilter::Make(1'000'000, 20, 0.01);
//   const absl::Status status = filter->Add("apple", 3);  // each key once, with its final count
//   filter->Count("apple");    // 3, but for one key in a hundred, of which it is more
//   filter->Count("plum");     // 0, most of the time
//
//     h = Remix(digest, seed);  base i, i < k:  bloom/variants/shifted_bits.h
//     a key of count j sets the bits  base i + j - 1
//
//     size: m bases;  detail: c, the highest count
//     payload: ceil((m + 56) / 8) bytes; bit p is bit (p & 7) of byte (p >> 3); bits from m + c - 1
//     on are zero
//
// A query reads all counts that the bits allow, one load a probe, and reports the highest of them:
// never less than what was added.  A count that is not the key's passes with at most the rate of
// the standard filter, f = (1 - (1 - 1/m)^(kn))^k of n different keys (StandardFpp).  Only higher
// ones do harm, so the count of a key of count j is right with at least
//
//     (1 - f)^(c - j),   and that of an absent key with (1 - f)^c.
//
// (The paper's equation 19 has the exponent j - 1, which would fit a query that reports the
// lowest.)
//
// f is an upper bound for any counts of the keys.  A query may ask for m bits; bits of another
// count miss up to c - 1 of these.  So errors of absent keys are rarer than predicted by at
// most a share of k (c - 1) / (2m), those of other keys by twice that.  Errors of absent keys in a
// filter of its planned keys are at most 1 % rarer from 2000 keys on, whatever c is; with 400 keys
// and c = 57, 2 to 5 % rarer, with 100 keys 8 to 18 %, with 20 keys 14 to 56 %.
//
// Thread-safe as long as no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_LITERATURE_SHIFTING_MULTIPLICITY_H_
#define TRELLIS_BLOOM_LITERATURE_SHIFTING_MULTIPLICITY_H_

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
#include "bloom/variants/shifted_bits.h"

namespace bloom::inline TRELLIS_ABI {

class ShiftingMultiplicityFilter {
 public:
  static constexpr std::string_view kName = "shifting-multiplicity";
  static constexpr uint8_t kTag = 69;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // the highest count

  static constexpr uint32_t kMaxCount = kMaxOffset + 1;

  // Sized for `key_count` different keys of up to `max_count` each, so that absent keys, of which
  // most go wrong, get a count above 0 with a probability of at most `error_rate`.  InvalidArgument
  // for a key_count of 0, a max_count outside of [1, 57] or a rate outside of [max_count * 2^-32,
  // 1), ResourceExhausted without memory.
  static absl::StatusOr<ShiftingMultiplicityFilter> Make(uint64_t key_count, uint32_t max_count,
                                                         double error_rate, uint64_t seed = 0);
  // Of bases, probes and (in `detail`) a highest count that the caller chose; `error_rate` is only
  // kept with it.  Errors as above, for a shape that cannot be too.
  static absl::StatusOr<ShiftingMultiplicityFilter> MakeOfShape(const Shape& shape,
                                                                double error_rate,
                                                                uint64_t seed = 0);

  // From the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.
  static absl::StatusOr<ShiftingMultiplicityFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, seed()); }

  // Says how often a key is there.  Counts do not add up: of a key that is added again the higher
  // count is reported.  InvalidArgument unless `count` lies in [1, max_count]; nothing is changed
  // then.
  absl::Status Add(std::string_view key, uint32_t count) { return AddDigest(DigestOf(key), count); }
  absl::Status AddDigest(Digest digest, uint32_t count);

  // At least what the key was added with; 0 only if it never was.
  uint32_t Count(std::string_view key) const { return CountDigest(DigestOf(key)); }
  uint32_t CountDigest(Digest digest) const;

  // Takes over all counts of `other`, bit for bit as if they had been added here.  This is not the
  // union of multisets: of a key in both the higher count is reported, not the sum.
  // InvalidArgument, naming the difference, unless shape and seed agree; nothing is changed then.
  absl::Status Merge(const ShiftingMultiplicityFilter& other) {
    return stored_.Merge(other.stored_, "max_count");
  }

  // Forgets all keys, keeps shape and seed.
  void Clear() { stored_.Clear(); }

  std::string Serialize() const { return stored_.Serialize(); }

  const Shape& shape() const { return stored_.header.shape; }
  uint32_t max_count() const { return static_cast<uint32_t>(stored_.header.shape.detail); }
  uint64_t seed() const { return stored_.header.seed; }
  double error_rate() const { return stored_.header.target_fpp; }
  uint64_t size_bits() const;
  // Keys added, each time that one was, and those of merged filters.
  uint64_t added_count() const { return stored_.header.key_count; }

  // Probability with which Count is right for keys of a count, 0 for absent ones, once `key_count`
  // different keys are in, and for the bits as they are, all of which are read.
  // REQUIRES: count <= max_count().
  double PredictedCorrectRate(uint32_t count, uint64_t key_count) const;
  double CurrentCorrectRate(uint32_t count) const;

  // Number of ones.  Reads all bits.
  uint64_t CountOnes() const { return stored_.Ones(); }
  // Number of different keys, judged by the share of ones; infinity if all are.  Reads all bits.
  double EstimatedKeyCount() const;

  // What is wrong with a shape and payload from a file; empty if nothing.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  explicit ShiftingMultiplicityFilter(StoredBits stored) : stored_(std::move(stored)) {}

  StoredBits stored_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_SHIFTING_MULTIPLICITY_H_
