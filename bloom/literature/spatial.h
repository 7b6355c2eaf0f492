// Tells which area a key lies in (spatial Bloom filter; Palmieri, Calderoni, Maio, Inscrypt 2014).
//
//   auto filter = bloom::SpatialFilter::Make(1'000'000, 0.01, {.areas = 3});  // areas 1, 2 and 3
//   absl::Status status = filter->Add("home", 3);
//   status.Update(filter->Add("town", 1));   // InvalidArgument for an area that does not exist
//   filter->AreaOf("home");   // 3
//   filter->AreaOf("sea");    // 0: in no area, except for one key in a hundred
//
// A cell holds the label of an area, or 0.  Adding a key raises its k cells to the label of its
// area. A query returns the lowest label in the key's cells.  So higher labels win; give them to
// the areas that matter more:
//
//   - A key is reported in its area or a higher one, never in a lower one, never in none.
//   - A key of the highest area is always reported correctly.
//   - A key in no area is reported in an area with the FPP of the standard filter.
//
// A key added to two areas lies in the higher one.  The order of additions makes no difference.
//
//     cell i of a key = position i of bloom::Probes(Remix(digest, seed), size)
//     detail  = areas s
//     payload = `size` labels of floor(log2 s) + 1 bits, packed (bloom/core/packed.h)
//
// Rates, with n_i keys in area i, N_i = n_i + ... + n_s, m cells, q = 1 - 1/m:
//
//     B(n)    = (1 - q^(kn))^k                    the standard filter's rate
//     p_i     = B(N_i) - B(N_(i+1))               an absent key is reported in area i
//     isep_i  = B(N_(i+1))                        a key of area i is reported in a higher one
//     cells_i = m (1 - q^(k n_i)) q^(k N_(i+1))   cells that hold label i
//
// The sum of all p_i is B(N_1), from which the filter's size follows.  A key of area i is reported
// in area j > i with probability p_j.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_LITERATURE_SPATIAL_H_
#define TRELLIS_BLOOM_LITERATURE_SPATIAL_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Rates of one area.
struct AreaRates {
  double cells = 0;            // number that hold its label
  double fpp = 0;              // p_i
  double inter_set_error = 0;  // isep_i
};

struct SpatialOptions {
  uint32_t areas = 1;
  uint64_t seed = 0;
};

class TRELLIS_API SpatialFilter {
 public:
  static constexpr std::string_view kName = "spatial";
  static constexpr uint8_t kTag = 70;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // number of areas

  static constexpr uint32_t kMaxAreas = 65'535;

  // Makes a filter for areas 1 to `options.areas`, sized as the standard filter for `key_count`
  // keys in all of them together.  Filters with different seeds have different false positives.
  // InvalidArgument for a bad count or FPP, ResourceExhausted without memory.
  static absl::StatusOr<SpatialFilter> Make(uint64_t key_count, double target_fpp,
                                            const SpatialOptions& options);
  // Makes a filter with a given number of cells, probes and areas (`shape.detail`).  `target_fpp`
  // is stored and has no other effect.  Errors as above, also for an impossible shape.
  static absl::StatusOr<SpatialFilter> MakeOfShape(const Shape& shape, double target_fpp,
                                                   uint64_t seed = 0);

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.  ResourceExhausted without
  // memory.
  static absl::StatusOr<SpatialFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, header_.seed); }

  // InvalidArgument unless 1 <= area <= areas(); then nothing changes.
  absl::Status Add(std::string_view key, uint32_t area) { return AddDigest(DigestOf(key), area); }
  absl::Status AddDigest(Digest digest, uint32_t area);

  // The key's area, or by chance a higher one; 0 only if it was never added to any.
  uint32_t AreaOf(std::string_view key) const { return AreaOfDigest(DigestOf(key)); }
  uint32_t AreaOfDigest(Digest digest) const;

  // Starts loading the memory that AreaOfDigest and AddDigest access.  For callers that know many
  // digests in advance.
  [[gnu::always_inline]] void Prefetch(Digest digest) const {
    Probes cells(Remix(digest, header_.seed), header_.shape.size);
    for (uint32_t i = 0; i < header_.shape.probes; ++i) labels_.Prefetch(cells.Next());
  }

  // Whether the key is reported in any area.
  bool MayContain(std::string_view key) const { return AreaOf(key) != 0; }
  bool MayContainDigest(Digest digest) const { return AreaOfDigest(digest) != 0; }

  // Adds all keys of `other`, each to its area.  The labels are the same as if they were added one
  // by one.  InvalidArgument, naming the difference, unless areas, shape and seed agree; then
  // nothing changes.
  absl::Status Merge(const SpatialFilter& other);

  // Removes all keys; keeps areas, shape and seed.
  void Clear();

  std::string Serialize() const { return EncodeFilter(header_, labels_.bytes()); }

  const Shape& shape() const { return header_.shape; }
  uint32_t areas() const { return static_cast<uint32_t>(header_.shape.detail); }
  uint64_t seed() const { return header_.seed; }
  double target_fpp() const { return header_.target_fpp; }
  uint64_t size_bits() const { return labels_.size_bits(); }
  // Number of additions, including those of merged filters; stops at 2^64 - 1.
  uint64_t added_count() const { return header_.key_count; }

  // FPP with `key_count` different keys in any areas: B.
  double PredictedFpp(uint64_t key_count) const;
  // Capacity in keys: the most with PredictedFpp <= target_fpp().  At least the number that the
  // filter was made for; more if its size was rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // The rates by the formulas above, for areas with the given numbers of different keys, area 1
  // first.  The rates of area i are at [i - 1].  InvalidArgument unless there is one count for each
  // area.
  absl::StatusOr<std::vector<AreaRates>> PredictedAreas(
      std::span<const uint64_t> keys_per_area) const;

  // Rates of the current cells: as above, with the share of cells that hold label i or a higher one
  // in place of 1 - q^(k N_i).  Each reads all cells.
  double CurrentFpp() const;
  std::vector<AreaRates> CurrentAreas() const;
  // Number of different keys in all areas together, estimated from the cells that hold a label;
  // infinity if all do.
  double EstimatedKeyCount() const;
  // Number of cells that hold a label: the number of ones in the standard filter of the same keys.
  uint64_t CountOnes() const { return labels_.CountNonZero(); }
  // Share of cells without a label.
  double Emptiness() const;

  // Describes what is wrong with a shape and payload from a file, without looking at each label;
  // empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  SpatialFilter(const FilterHeader& header, PackedArray labels)
      : header_(header), labels_(std::move(labels)) {}

  FilterHeader header_;
  PackedArray labels_;  // no label is above areas()
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_SPATIAL_H_
