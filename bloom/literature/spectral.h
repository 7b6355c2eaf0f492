// A filter that counts how often a key was added (Spectral Bloom filter; Cohen, Matias, SIGMOD
// 2003).
//
//   auto filter = bloom::SpectralFilter::Make(1'000'000, 0.01, {.counter_bits = 16});
//   filter->Add("apple", 3);
//   filter->Count("apple");    // 3, or with a probability of 0.01 more
//   if (filter->Remove("apple")) ...   // true: 2 are left
//   filter->Count("pear");     // 0, or with a probability of 0.01 more
//
// The methods differ in the counters that an addition raises:
//
//   minimum selection   All cells of the key.  The count is the least of them.  It is too high only
//                       if every cell is shared with another key, which is as likely as a false
//                       positive of the standard filter.  Allows removal and exact merges.
//   minimal increase    Only the lowest cells: each becomes max(cell, least + times).  The count is
//                       never below the truth and never above that of minimum selection.  No
//                       removal.
//   recurring minimum   As minimum selection, with a second filter of half the cells.  If only one
//                       cell of a key has the minimum, the count is suspect, and the key is moved:
//                       it is counted in both filters from then on, and the lower count is valid.
//                       Allows removal.  Takes half as many counters more, and a bit per cell.
//
// Accuracy (tests/bloom/literature/spectral_rates_test.cc measures it):
//
//                       each key 1 to 100 times, random order     each key at once
//   method              mean error          wrong counts          mean error
//   minimum selection   1                   1                     1
//   minimal increase    1/5.4               1/2.6                 -
//   recurring minimum   1/19                1/2.5                 1/1.3
//
// These figures are for the planned keys at a target of 0.03.  (Minimum selection with as much
// memory as recurring minimum has 6 times fewer wrong counts.)
//
// Can a count be too low?  Never with the first two methods.  With recurring minimum it can, if a
// key that was not moved is taken for a moved one: its marks, and its cells in the second filter,
// all belong to other keys.  CurrentUndercountBound() is the probability of that.  Removing such a
// key lowers the counts of others.
//
//   keys                            bound         measured
//   planned number, target 0.03     below 10^-7   none in 300,000 keys
//   planned number, target 0.1      10^-3         2 * 10^-4
//   twice the planned number        some percent  10^-3
//
// A counter at its maximum stays there: a count of max_count() means "at least that many", and
// removals do not lower it.
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

// The numbers are stored in files.
enum class SpectralMethod : uint8_t {
  kMinimumSelection = 0,
  kMinimalIncrease = 1,
  kRecurringMinimum = 2,
};

// For example "minimal increase"; "unknown" for an invalid number.
TRELLIS_API std::string_view NameOf(SpectralMethod method);

struct SpectralOptions {
  SpectralMethod method = SpectralMethod::kMinimumSelection;
  // Bits per counter, 4 to 32.  With too few, many counters reach their maximum.
  uint32_t counter_bits = 8;
  // Filters with different seeds have different false positives.
  uint64_t seed = 0;
};

class TRELLIS_API SpectralFilter {
 public:
  static constexpr std::string_view kName = "spectral";
  static constexpr uint8_t kTag = 65;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // method and bits per counter

  static constexpr uint32_t kMinCounterBits = 4;
  static constexpr uint32_t kMaxCounterBits = 32;

  // Makes a filter for `key_count` different keys, each added any number of times.  Under minimum
  // selection a share of `target_fpp` of the counts is wrong, and the same share of absent keys has
  // a count above 0.  The other methods err less with as many cells.  InvalidArgument for a bad
  // count, FPP, method or width; ResourceExhausted without memory.
  static absl::StatusOr<SpectralFilter> Make(uint64_t key_count, double target_fpp,
                                             const SpectralOptions& options);
  static absl::StatusOr<SpectralFilter> Make(uint64_t key_count, double target_fpp,
                                             uint64_t seed = 0) {
    return Make(key_count, target_fpp, SpectralOptions{.seed = seed});
  }

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.  ResourceExhausted without
  // memory.
  static absl::StatusOr<SpectralFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, header_.seed); }

  // Equivalent to `times` single additions.
  void Add(std::string_view key, uint64_t times = 1) { AddDigest(DigestOf(key), times); }
  void AddDigest(Digest digest, uint64_t times = 1);

  // Undoes `times` additions.  Returns false, and changes nothing, if the filter can tell that
  // there were fewer.  If the filter cannot tell, removing more than was added lowers other counts
  // below the truth.  FailedPrecondition under minimal increase, whose cells cannot be lowered.
  absl::StatusOr<bool> Remove(std::string_view key, uint64_t times = 1) {
    return RemoveDigest(DigestOf(key), times);
  }
  absl::StatusOr<bool> RemoveDigest(Digest digest, uint64_t times = 1);

  // How often the key was added, or more.  max_count() means: at least that often.
  uint64_t Count(std::string_view key) const { return CountDigest(DigestOf(key)); }
  uint64_t CountDigest(Digest digest) const { return CountOf(Remix(digest, header_.seed)); }
  uint64_t max_count() const { return counters_.max(); }

  // Whether the count is above 0.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return CountDigest(digest) > 0; }

  // Adds all keys of `other` with their counts, by adding the counters.
  //
  //   minimum selection   the same as adding the keys one by one
  //   minimal increase    counts are still between the truth and those of minimum selection, but
  //                       higher than those of one filter that all keys were added to
  //   recurring minimum   the second filter becomes empty, since keys may be moved in one filter
  //                       only; counts are those of minimum selection until keys are added again
  //
  // InvalidArgument, naming the difference, unless shape, method, width and seed agree; then
  // nothing changes.
  absl::Status Merge(const SpectralFilter& other);

  // Removes all keys; keeps shape, method and seed.
  void Clear();

  std::string Serialize() const;

  const Shape& shape() const { return header_.shape; }
  SpectralMethod method() const;
  uint32_t counter_bits() const { return counters_.width(); }
  uint64_t seed() const { return header_.seed; }
  double target_fpp() const { return header_.target_fpp; }
  // Includes the second filter and the marks.
  uint64_t size_bits() const;
  // Additions minus removals of all keys together; stops at 2^64 - 1.
  uint64_t added_count() const { return header_.key_count; }

  // Probability that an absent key has a count above 0, with `key_count` different keys.
  double PredictedFpp(uint64_t key_count) const;
  // Capacity in keys: the most with PredictedFpp <= target_fpp().  At least the number that the
  // filter was made for; more if its size was rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Probability that the count of an added key is too high, under minimum selection; the other
  // methods have a lower one.  All its cells must be used by the other key_count - 1 keys: E[F^k],
  // with F the share of cells that those use (bloom/core/occupancy.h).
  double PredictedErrorRate(uint64_t key_count) const;
  // Number of nonzero cells: the number of ones in the standard filter of the same keys.
  uint64_t CountOnes() const { return counters_.CountNonZero(); }
  // FPP of the current counters; number of different keys, estimated from the share of nonzero
  // cells; number of counters at their maximum, which never decrease.  Each reads all counters.
  double CurrentFpp() const;
  double EstimatedKeyCount() const;
  uint64_t CountSaturated() const;
  // Probability that a key that was not moved is taken for a moved one, and may be counted too low:
  // (share of marks * share of cells in use in the second filter)^k. 0 without a second filter.
  // Reads all of the second filter and the marks.
  double CurrentUndercountBound() const;

  // Describes what is wrong with a shape and payload from a file; empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  // The additional parts of recurring minimum.
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
  // REQUIRES: Problem finds nothing wrong with the payload, or it is empty, for a new filter of
  // zeros.
  static absl::StatusOr<SpectralFilter> Of(const FilterHeader& header,
                                           std::span<const uint8_t> payload);

  uint64_t CountOf(Digest hash) const;
  DistinctProbes CellsOf(Digest hash) const {
    return {hash, header_.shape.size, header_.shape.probes};
  }
  double Fill() const;

  // Counts an addition, which the first filter has counted, in the second one if necessary.
  // REQUIRES: moved_.
  void AddToMoved(Digest hash, const DistinctProbes& cells, uint64_t times);
  bool IsMarked(Digest hash) const;
  uint64_t MovedCount(Digest hash) const;
  DistinctProbes MovedCellsOf(Digest hash) const;
  // False without moved_.
  bool IsMoved(Digest hash) const {
    return moved_.has_value() && IsMarked(hash) && MovedCount(hash) > 0;
  }

  FilterHeader header_;
  PackedArray counters_;
  std::optional<Moved> moved_;  // has a value if and only if the method is recurring minimum
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_SPECTRAL_H_
