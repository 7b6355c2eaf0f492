// A filter that counts: how often was a key added?  (Spectral Bloom filter; Cohen, Matias, SIGMOD
// 2003.)
//
//   auto filter = bloom::SpectralFilter::Make(1'000'000, 0.01, {.counter_bits = 16});
//   filter->Add("apple", 3);
//   filter->Count("apple");    // 3, or with a probability of 0.01 more
//   if (filter->Remove("apple")) ...   // true: 2 are left
//   filter->Count("pear");     // 0, or with a probability of 0.01 more
//
// The methods differ in which counters an addition raises, and in what that costs:
//
//   minimum selection   All cells of the key.  The count is the least of them: too high only where
//                       every cell is shared with another key, which is as likely as a false
//                       positive of the standard filter.  Removal, and a merge that is exact.
//   minimal increase    Only the cells that are lowest: each becomes max(cell, least + times).  The
//                       count is never below the truth and never above that of minimum selection,
//                       in every single case.  No removal.
//   recurring minimum   Minimum selection, and a second filter of half the cells.  A key whose
//                       minimum stands in one cell only is suspect: it is moved, which means that
//                       it is counted in both from then on, and that the lower count holds.
//                       Removal.  Half as many counters again, and a bit a cell.
//
// With the planned keys at a target of 0.03, each added up to 100 times in a random order, the mean
// error is 6 times less than that of minimum selection with minimal increase, and 20 times with
// recurring minimum; 2.6 and 2.5 times fewer counts are wrong.  (Minimum selection in as many bits
// as the latter takes has 6 times fewer wrong.)  Where each key is added once, or all its times
// together, recurring minimum gains next to nothing: 1.3 times.  All that is measured in
// tests/bloom/literature/spectral_rates_test.cc.
//
// Is a count ever too low?  Never with the first two.  With recurring minimum, where a key that was
// never moved is taken for one that was: its marks, and its cells in the second filter, must all
// belong to others.  CurrentUndercountBound() is the chance of that: with the planned keys below
// 10^-7 at a target of 0.03 (measured: none in 300,000 keys), but 10^-3 at 0.1 (2 * 10^-4), and per
// cents in a filter of twice its keys (10^-3).  To remove such a key lowers others.
//
// A counter that reached its maximum stays there: a count of max_count() means "at least that
// many", and is not lowered by removals.
//
//     h = Remix(digest, seed), m = size
//     cells of a key               positions of bloom::Probes(h, m), each once
//     cells in the second filter   of bloom::Probes(Remix(h, 1), ceil(m / 2))
//     marks                        of bloom::Probes(Remix(h, 2), m)
//     detail = bits of a counter + 256 * method
//
//     payload, each part packed (bloom/core/packed.h) and begun at a byte of its own:
//     +--------------+----------------------------+---------------------+
//     | m counters   | ceil(m / 2) counters       | m marks of 1 bit    |
//     +--------------+----------------------------+---------------------+
//                    |<------- recurring minimum alone has these ------>|
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_LITERATURE_SPECTRAL_H_
#define TRELLIS_BLOOM_LITERATURE_SPECTRAL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/capacity.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/packed.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

// The numbers stand in files.
enum class SpectralMethod : uint8_t {
  kMinimumSelection = 0,
  kMinimalIncrease = 1,
  kRecurringMinimum = 2,
};

// E.g. "minimal increase"; "unknown" for what is none.
std::string_view NameOf(SpectralMethod method);

struct SpectralOptions {
  SpectralMethod method = SpectralMethod::kMinimumSelection;
  // Bits of a counter, 4 to 32.  Too few make many counts "at least".
  uint32_t counter_bits = 8;
  // Makes keys that collide in one filter differ in another.
  uint64_t seed = 0;
};

class SpectralFilter {
 public:
  static constexpr std::string_view kName = "spectral";
  static constexpr uint8_t kTag = 65;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // method and bits of a counter

  static constexpr uint32_t kMinCounterBits = 4;
  static constexpr uint32_t kMaxCounterBits = 32;

  // Sized for `key_count` different keys, however often each, of whose counts a share of
  // `target_fpp` is wrong under minimum selection; the other methods, in as many cells, err less.
  // As many absent keys have a count above 0.  InvalidArgument for a bad count, FPP, method or
  // width, ResourceExhausted without memory.
  static absl::StatusOr<SpectralFilter> Make(uint64_t key_count, double target_fpp,
                                             const SpectralOptions& options);
  static absl::StatusOr<SpectralFilter> Make(uint64_t key_count, double target_fpp,
                                             uint64_t seed = 0) {
    return Make(key_count, target_fpp, SpectralOptions{.seed = seed});
  }

  // From the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.
  static absl::StatusOr<SpectralFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, header_.seed); }

  // The same as `times` additions of one.
  void Add(std::string_view key, uint64_t times = 1) { AddDigest(DigestOf(key), times); }
  void AddDigest(Digest digest, uint64_t times = 1);

  // Takes back `times` additions.  False if there are fewer, as far as can be told, and then
  // nothing is changed.  To remove what was never added but is counted lowers others below the
  // truth. FailedPrecondition under minimal increase, whose cells do not know what raised them.
  absl::StatusOr<bool> Remove(std::string_view key, uint64_t times = 1) {
    return RemoveDigest(DigestOf(key), times);
  }
  absl::StatusOr<bool> RemoveDigest(Digest digest, uint64_t times = 1);

  // How often the key is in: that or more.  At max_count() the counters could not tell more.
  uint64_t Count(std::string_view key) const { return CountDigest(DigestOf(key)); }
  uint64_t CountDigest(Digest digest) const { return CountOf(Remix(digest, header_.seed)); }
  uint64_t max_count() const { return counters_.max(); }

  // Whether the count is above 0.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return CountDigest(digest) > 0; }

  // Adds all keys of `other`, as often as they are in there: adds the counters.
  //   minimum selection: bit for bit what adding them one by one would give;
  //   minimal increase: counts from the truth up to those of minimum selection as ever, but higher
  //     than those of one filter that all keys were added to;
  //   recurring minimum: keys that were moved in one filter may not be in the other, so the second
  //     filter starts empty: counts are those of minimum selection until keys are added again.
  // InvalidArgument, naming the difference, unless shape, method, width and seed agree; nothing is
  // changed then.
  absl::Status Merge(const SpectralFilter& other);

  // Forgets all keys, keeps shape, method and seed.
  void Clear();

  std::string Serialize() const;

  const Shape& shape() const { return header_.shape; }
  SpectralMethod method() const;
  uint32_t counter_bits() const { return counters_.width(); }
  uint64_t seed() const { return header_.seed; }
  double target_fpp() const { return header_.target_fpp; }
  // With the second filter and the marks.
  uint64_t size_bits() const;
  // Additions less removals, of all keys together; stops at 2^64 - 1.
  uint64_t added_count() const { return header_.key_count; }

  // Chance that an absent key has a count above 0 once `key_count` different keys are in.
  double PredictedFpp(uint64_t key_count) const;
  // The number of keys that the filter has room for: the most with PredictedFpp <= target_fpp().
  // That is the number that it was made for, or more where sizes are rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // The same of a key that is in, for a count that is too high, under minimum selection; the other
  // methods stay below.  To be wrong all its cells must be taken by the other key_count - 1 keys:
  // E[F^k] with F the share of cells that those take (bloom/core/occupancy.h).
  double PredictedErrorRate(uint64_t key_count) const;
  // Number of cells that are not zero: the ones of the standard filter of the same keys.
  uint64_t CountOnes() const { return counters_.CountNonZero(); }
  // FPP of the counters as they are; the number of different keys, judged by the share of cells
  // that are not zero; the number of counters that will never be lowered.  Each reads all of them.
  double CurrentFpp() const;
  double EstimatedKeyCount() const;
  uint64_t CountSaturated() const;
  // The chance that a key which was never moved is taken for one that was, and may so be counted
  // too low: (share of marks * share of cells in use in the second filter)^k.  0 without a second
  // filter.  Reads it.
  double CurrentUndercountBound() const;

  // What is wrong with a shape and payload from a file; empty if nothing.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  // What recurring minimum has besides.
  struct Moved {
    PackedArray counters;
    PackedArray marks;

    void Clear() {
      counters.Clear();
      marks.Clear();
    }
  };

  SpectralFilter(const FilterHeader& header, PackedArray counters)
      : header_(header), counters_(std::move(counters)) {}
  // With a payload that Problem finds nothing wrong with, or zeros for none.
  static absl::StatusOr<SpectralFilter> Of(const FilterHeader& header,
                                           std::span<const uint8_t> payload);

  uint64_t CountOf(Digest hash) const;
  DistinctProbes CellsOf(Digest hash) const {
    return {hash, header_.shape.size, header_.shape.probes};
  }
  double Fill() const;

  // REQUIRES: moved_.  An addition that the first filter has counted is counted in the second, if
  // it should be.
  void AddToMoved(Digest hash, const DistinctProbes& cells, uint64_t times);
  bool IsMarked(Digest hash) const;
  uint64_t MovedCount(Digest hash) const;
  DistinctProbes MovedCellsOf(Digest hash) const;
  // Without it too.
  bool IsMoved(Digest hash) const {
    return moved_.has_value() && IsMarked(hash) && MovedCount(hash) > 0;
  }

  FilterHeader header_;
  PackedArray counters_;
  std::optional<Moved> moved_;  // has a value exactly under recurring minimum
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_SPECTRAL_H_
