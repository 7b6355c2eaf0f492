// Every filter that answers "was this key added?", behind one function each: what the experiments
// and the table of bloom/README.md walk.  Made from the catalog and the family, and from those that
// are in neither because they answer another question first.
#ifndef TRELLIS_BENCH_FILTER_LAB_VARIANTS_H_
#define TRELLIS_BENCH_FILTER_LAB_VARIANTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/rate.h"
#include "bloom/hash.h"

namespace bench {

// Digest of key i: different for different i under one salt, so that keys from n on are certainly
// not among the first n; and keys of one salt are others than those of the next.
inline bloom::Digest LabDigest(uint64_t i, uint64_t salt) {
  return bloom::Remix(i, bloom::Remix(salt, 1));
}

// One filter with the first n keys in it, asked for the next `queries`.
struct VariantSample {
  Rate rate;
  uint64_t size_bits = 0;  // of all its memory that grows with the keys, once they are in
};

struct Variant {
  std::string name;
  uint8_t tag = 0;  // of its bytes; 0 if they are another's format
  // Makes a filter of `keys` keys for `target_fpp` and asks it.  Internal, naming it, if it denies
  // a key that was added.
  std::function<absl::StatusOr<VariantSample>(uint64_t keys, double target_fpp, uint64_t seed,
                                              uint64_t queries)>
      measure;
};

// By tag.
const std::vector<Variant>& Variants();
// Those with one of these names; all of them if there are no names.
std::vector<const Variant*> VariantsNamed(const std::vector<std::string>& names);

// Several filters with seeds from `seed` on, each asked for its part of `queries`.
absl::StatusOr<VariantSample> MeasureVariant(const Variant& variant, uint64_t keys,
                                             double target_fpp, uint64_t seed, uint64_t filters,
                                             uint64_t queries);

// A row of the table in bloom/README.md: its columns that follow from the sizes alone, which a test
// holds true, and the one that was measured.
struct FamilyRow {
  std::string fixed;     // "| standard | 2 | 9.59 | 0.01000 |"
  std::string measured;  // " 0.01003 | `filter_lab --family-rows --variants standard` |"
};
inline constexpr uint64_t kFamilyRowKeys = 100'000;
inline constexpr double kFamilyRowFpp = 0.01;
inline constexpr uint64_t kFamilyRowFilters = 5;
inline constexpr uint64_t kFamilyRowQueries = 5'000'000;
inline constexpr std::string_view kFamilyTableHead =
    "| filter | tag | bits/key | predicted | measured | by |\n|---|---|---|---|---|---|\n";
absl::StatusOr<FamilyRow> FamilyRowOf(const Variant& variant, uint64_t queries);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_VARIANTS_H_
