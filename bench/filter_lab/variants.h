// Every filter that answers "was this key added?", behind one interface.  The experiments and the
// table of bloom/README.md iterate over it.  It is made from the catalog and the family, and from
// filters in neither because they mainly answer another question.
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

// Digest of key i.  Different i under one salt give different digests, so keys from n on are
// certainly not among the first n.  Different salts give different keys.
inline bloom::Digest LabDigest(uint64_t i, uint64_t salt) {
  return bloom::Remix(i, bloom::Remix(salt, 1));
}

// One filter that holds the first n keys, queried with the next `queries` keys.
struct VariantSample {
  Rate rate;
  uint64_t size_bits = 0;  // all memory that grows with the keys, after they were added
};

struct Variant {
  std::string name;
  uint8_t tag = 0;  // of its bytes; 0 if they have another format
  // Makes a filter of `keys` keys for `target_fpp` and queries it.  Internal, naming the filter, if
  // it denies an added key.
  std::function<absl::StatusOr<VariantSample>(uint64_t keys, double target_fpp, uint64_t seed,
                                              uint64_t queries)>
      measure;
};

// By tag.
const std::vector<Variant>& Variants();
// The variants with these names; all variants if there are no names.
std::vector<const Variant*> VariantsNamed(const std::vector<std::string>& names);

// Measures several filters with seeds from `seed` on; each gets its part of `queries`.
absl::StatusOr<VariantSample> MeasureVariant(const Variant& variant, uint64_t keys,
                                             double target_fpp, uint64_t seed, uint64_t filters,
                                             uint64_t queries);

// A row of the table in bloom/README.md: the columns that follow from sizes alone, which a test
// checks, and the measured column.
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
