// Tells how often a key occurs in a multiset, up to 57 times (ShBF_X of Yang et al., PVLDB 9(5),
// 2016).
//
//   auto filter = bloom::ShiftingMultiplicityFilter::Make(1'000'000, 20, 0.01);
//   const absl::Status status = filter->Add("apple", 3);  // each key once, with its final count
//   filter->Count("apple");    // 3; for one key in a hundred a higher count
//   filter->Count("plum");     // 0, most of the time
//
//     h = Remix(digest, seed);  base i, i < k:  bloom/variants/shifted_bits.h
//     a key of count j sets the bits  base i + j - 1
//
//     size: m bases;  detail: c, the highest count
//     payload: ceil((m + 56) / 8) bytes; bit p is bit (p & 7) of byte (p >> 3); bits from m + c - 1
//     on are zero
//
// A query finds all counts that the bits allow, with one load per probe, and returns the highest:
// never less than what was added.  A wrong count passes with at most the rate of the standard
// filter, f = (1 - (1 - 1/m)^(kn))^k with n different keys (StandardFpp).  Only higher counts do
// harm, so the count of a key of count j is right with at least the probability
//
//     (1 - f)^(c - j),   and that of an absent key with (1 - f)^c.
//
// (The paper's equation 19 has the exponent j - 1, which would fit a query that returns the lowest
// count.)
//
// f is an upper bound for any counts of the keys.  A query can look at m bits, and bits of another
// count miss up to c - 1 of these.  So errors of absent keys are rarer than predicted, by a share
// of at most k (c - 1) / (2m), and errors of other keys by at most twice that.  With the planned
// number of keys, errors of absent keys are at most 1 % rarer from 2000 keys on, for any c.  With c
// = 57 they are 2 to 5 % rarer for 400 keys, 8 to 18 % for 100 keys, and 14 to 56 % for 20 keys.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
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

class TRELLIS_API ShiftingMultiplicityFilter {
 public:
  static constexpr std::string_view kName = "shifting-multiplicity";
  static constexpr uint8_t kTag = 69;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // the highest count

  static constexpr uint32_t kMaxCount = kMaxOffset + 1;

  // Makes a filter for `key_count` different keys, each up to `max_count` times.  Absent keys,
  // which err most often, get a count above 0 with probability at most `error_rate`.
  // InvalidArgument for a key_count of 0, a max_count outside of [1, 57], or a rate outside of
  // [max_count * 2^-32, 1); ResourceExhausted without memory.
  static absl::StatusOr<ShiftingMultiplicityFilter> Make(uint64_t key_count, uint32_t max_count,
                                                         double error_rate, uint64_t seed = 0);
  // Makes a filter with a given number of bases, probes, and highest count (`detail`).
  // `error_rate` is stored and has no other effect.  Errors as above, also for an impossible shape.
  static absl::StatusOr<ShiftingMultiplicityFilter> MakeOfShape(const Shape& shape,
                                                                double error_rate,
                                                                uint64_t seed = 0);

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.  ResourceExhausted without
  // memory.
  static absl::StatusOr<ShiftingMultiplicityFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, seed()); }

  // Adds a key with its count.  Counts do not add up: if a key is added again, Count returns the
  // higher count.  InvalidArgument unless `count` is in [1, max_count]; then nothing changes.
  absl::Status Add(std::string_view key, uint32_t count) { return AddDigest(DigestOf(key), count); }
  absl::Status AddDigest(Digest digest, uint32_t count);

  // At least the count that the key was added with; 0 only if it was never added.
  uint32_t Count(std::string_view key) const { return CountDigest(DigestOf(key)); }
  uint32_t CountDigest(Digest digest) const;

  // Adds all keys of `other` with their counts; the bits are the same as if they were added here.
  // This is not a union of multisets: for a key in both, Count returns the higher count, not the
  // sum.  InvalidArgument, naming the difference, unless shape and seed agree; then nothing
  // changes.
  absl::Status Merge(const ShiftingMultiplicityFilter& other) {
    return stored_.Merge(other.stored_, "max_count");
  }

  // Removes all keys; keeps shape and seed.
  void Clear() { stored_.Clear(); }

  std::string Serialize() const { return stored_.Serialize(); }

  const Shape& shape() const { return stored_.header.shape; }
  uint32_t max_count() const { return static_cast<uint32_t>(stored_.header.shape.detail); }
  uint64_t seed() const { return stored_.header.seed; }
  double error_rate() const { return stored_.header.target_fpp; }
  uint64_t size_bits() const;
  // Number of additions, including those of merged filters.
  uint64_t added_count() const { return stored_.header.key_count; }

  // Probability that Count is right for keys of a given count (0: absent keys): with `key_count`
  // different keys, and with the current bits, all of which are read.  REQUIRES: count <=
  // max_count().
  double PredictedCorrectRate(uint32_t count, uint64_t key_count) const;
  double CurrentCorrectRate(uint32_t count) const;

  // Number of ones.  Reads all bits.
  uint64_t CountOnes() const { return stored_.Ones(); }
  // Number of different keys, estimated from the share of ones; infinity if all are.  Reads all
  // bits.
  double EstimatedKeyCount() const;

  // Describes what is wrong with a shape and payload from a file; empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  explicit ShiftingMultiplicityFilter(StoredBits stored) : stored_(std::move(stored)) {}

  StoredBits stored_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_SHIFTING_MULTIPLICITY_H_
