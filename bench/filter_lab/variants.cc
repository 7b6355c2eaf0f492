#include "bench/filter_lab/variants.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "bench/workload.h"
#include "bloom/catalog.h"
#include "bloom/family.h"
#include "bloom/filter_policy.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using bloom::Digest;

absl::Status Denies(std::string_view name) {
  return absl::InternalError(lsm::Concat(name, ": denies a key that was added"));
}

// The number of keys [from, from + count) that pass, queried in batches if the filter supports
// them.
template <class Filter>
uint64_t CountPassing(const Filter& filter, uint64_t from, uint64_t count, uint64_t salt) {
  constexpr size_t kBatch = 512;
  Digest digests[kBatch];
  bool answers[kBatch];
  uint64_t passing = 0;
  for (uint64_t done = 0; done < count;) {
    const size_t size = std::min<uint64_t>(kBatch, count - done);
    for (size_t i = 0; i < size; ++i) digests[i] = LabDigest(from + done + i, salt);
    if constexpr (requires { filter.MayContainBatch(std::span<const Digest>(), answers); }) {
      filter.MayContainBatch({digests, size}, {answers, size});
    } else {
      for (size_t i = 0; i < size; ++i) answers[i] = filter.MayContainDigest(digests[i]);
    }
    for (size_t i = 0; i < size; ++i) passing += answers[i];
    done += size;
  }
  return passing;
}

template <class Filter>
absl::StatusOr<VariantSample> Ask(std::string_view name, const Filter& filter, uint64_t keys,
                                  uint64_t salt, uint64_t queries, double predicted) {
  if (CountPassing(filter, 0, keys, salt) != keys) return Denies(name);
  return VariantSample{{CountPassing(filter, keys, queries, salt), queries, predicted},
                       filter.size_bits()};
}

// A kind of the catalog, built for a file and read as from a file.
template <bloom::StaticKind K>
Variant CatalogVariant() {
  return {std::string(K::kName), K::kTag,
          [](uint64_t keys, double target_fpp, uint64_t seed,
             uint64_t queries) -> absl::StatusOr<VariantSample> {
            TRELLIS_ASSIGN_OR_RETURN(const auto policy, bloom::PolicyFromName(K::kName));
            const std::unique_ptr<bloom::FilterBuilder> builder =
                policy->NewBuilder({.target_fpp = target_fpp, .seed = seed});
            for (uint64_t i = 0; i < keys; ++i) builder->Add(LabDigest(i, seed));
            TRELLIS_ASSIGN_OR_RETURN(const std::string bytes, builder->Finish());
            const bloom::FilterReader reader = bloom::FilterReader::Open(bytes);
            return Ask(K::kName, reader, keys, seed, queries, reader.predicted_fpp());
          }};
}

// Adds the keys to a new filter and queries it.
template <class Filter>
absl::StatusOr<VariantSample> FillAndAsk(absl::StatusOr<Filter> filter, uint64_t keys,
                                         uint64_t salt, uint64_t queries) {
  TRELLIS_RETURN_IF_ERROR(filter.status());
  for (uint64_t i = 0; i < keys; ++i) filter->AddDigest(LabDigest(i, salt));
  return Ask(Filter::kName, *filter, keys, salt, queries, filter->PredictedFpp(keys));
}

template <bloom::KeyFilter Filter>
Variant FamilyVariant() {
  return {std::string(Filter::kName), Filter::kTag,
          [](uint64_t keys, double target_fpp, uint64_t seed, uint64_t queries) {
            return FillAndAsk(Filter::Make(keys, target_fpp, seed), keys, seed, queries);
          }};
}

// Queries the area of a key; keys are spread over three areas.
Variant VariantOf(std::type_identity<bloom::SpatialFilter>) {
  return {std::string(bloom::SpatialFilter::kName), bloom::SpatialFilter::kTag,
          [](uint64_t keys, double target_fpp, uint64_t seed,
             uint64_t queries) -> absl::StatusOr<VariantSample> {
            constexpr uint32_t kAreas = 3;
            TRELLIS_ASSIGN_OR_RETURN(
                bloom::SpatialFilter filter,
                bloom::SpatialFilter::Make(keys, target_fpp, {.areas = kAreas, .seed = seed}));
            for (uint64_t i = 0; i < keys; ++i) {
              TRELLIS_RETURN_IF_ERROR(
                  filter.AddDigest(LabDigest(i, seed), 1 + static_cast<uint32_t>(i % kAreas)));
            }
            return Ask(filter.kName, filter, keys, seed, queries, filter.PredictedFpp(keys));
          }};
}

// Which of two sets holds a key?  Each region holds a third of the keys.  An answer with more than
// one region counts as wrong, so the queries are for stored keys.
Variant VariantOf(std::type_identity<bloom::ShiftingAssociationFilter>) {
  using Filter = bloom::ShiftingAssociationFilter;
  return {std::string(Filter::kName), Filter::kTag,
          [](uint64_t keys, double target_fpp, uint64_t seed,
             uint64_t queries) -> absl::StatusOr<VariantSample> {
            TRELLIS_ASSIGN_OR_RETURN(Filter filter, Filter::Make(keys, target_fpp, seed));
            for (uint64_t i = 0; i < keys; ++i)
              filter.AddDigest(LabDigest(i, seed), i % 3 != 0, i % 3 != 1);
            const uint64_t asked = std::min(queries, keys);
            uint64_t unclear = 0;
            for (uint64_t i = 0; i < asked; ++i) {
              const uint32_t own = i % 3 == 0   ? Filter::kSecondOnly
                                   : i % 3 == 1 ? Filter::kFirstOnly
                                                : Filter::kBoth;
              const uint32_t answer = filter.QueryDigest(LabDigest(i, seed));
              if ((answer & own) == 0) return Denies(Filter::kName);
              unclear += answer != own;
            }
            return VariantSample{{unclear, asked, 1 - filter.PredictedRates(keys).clear},
                                 filter.size_bits()};
          }};
}

// How often does a key occur?  Up to 20 times.  A count above 0 of an absent key is wrong.
Variant VariantOf(std::type_identity<bloom::ShiftingMultiplicityFilter>) {
  using Filter = bloom::ShiftingMultiplicityFilter;
  return {std::string(Filter::kName), Filter::kTag,
          [](uint64_t keys, double target_fpp, uint64_t seed,
             uint64_t queries) -> absl::StatusOr<VariantSample> {
            constexpr uint32_t kMaxCount = 20;
            TRELLIS_ASSIGN_OR_RETURN(Filter filter,
                                     Filter::Make(keys, kMaxCount, target_fpp, seed));
            for (uint64_t i = 0; i < keys; ++i) {
              TRELLIS_RETURN_IF_ERROR(
                  filter.AddDigest(LabDigest(i, seed), 1 + static_cast<uint32_t>(i % kMaxCount)));
            }
            uint64_t counted = 0;
            for (uint64_t i = 0; i < keys; ++i) {
              if (filter.CountDigest(LabDigest(i, seed)) < 1 + i % kMaxCount)
                return Denies(Filter::kName);
            }
            for (uint64_t i = keys; i < keys + queries; ++i)
              counted += filter.CountDigest(LabDigest(i, seed)) > 0;
            return VariantSample{{counted, queries, 1 - filter.PredictedCorrectRate(0, keys)},
                                 filter.size_bits()};
          }};
}

// Filters whose keys are not digests; they take number i of a key space.
template <class Filter, class Contains>
absl::StatusOr<VariantSample> AskByNumber(const Filter& filter, uint64_t keys, uint64_t queries,
                                          const Contains& contains) {
  for (uint64_t i = 0; i < keys; ++i) {
    if (!contains(i)) return Denies(Filter::kName);
  }
  uint64_t passing = 0;
  for (uint64_t i = keys; i < keys + queries; ++i) passing += contains(i);
  return VariantSample{{passing, queries, filter.PredictedFpp(keys)}, filter.size_bits()};
}

// 64-bit integers.  The number of lines is a power of two: up to twice as many as needed.
Variant VariantOf(std::type_identity<bloom::ParquetFilter>) {
  return {"parquet", 0,
          [](uint64_t keys, double target_fpp, uint64_t seed,
             uint64_t queries) -> absl::StatusOr<VariantSample> {
            TRELLIS_ASSIGN_OR_RETURN(auto filter, bloom::ParquetFilter::Make(keys, target_fpp));
            const auto value = [seed](uint64_t i) {
              return static_cast<int64_t>(LabDigest(i, seed));
            };
            for (uint64_t i = 0; i < keys; ++i) filter.Add(value(i));
            VariantSample sample{{0, queries, filter.PredictedFpp(keys)}, 8 * filter.size_bytes()};
            for (uint64_t i = 0; i < keys; ++i) {
              if (!filter.MayContain(value(i))) return Denies("parquet");
            }
            for (uint64_t i = keys; i < keys + queries; ++i)
              sample.rate.hits += filter.MayContain(value(i));
            return sample;
          }};
}

// Prefixes of 16 bytes.
Variant VariantOf(std::type_identity<bloom::PrefixFilter>) {
  using Filter = bloom::PrefixFilter;
  return {std::string(Filter::kName), Filter::kTag,
          [](uint64_t keys, double target_fpp, uint64_t seed,
             uint64_t queries) -> absl::StatusOr<VariantSample> {
            TRELLIS_ASSIGN_OR_RETURN(
                Filter filter,
                Filter::Make(keys, target_fpp, {.extractor = "fixed:16", .seed = seed}));
            for (uint64_t i = 0; i < keys; ++i) filter.Add(SyntheticKey(i, seed) + "/key");
            return AskByNumber(filter, keys, queries, [&](uint64_t i) {
              return filter.MayContainPrefix(SyntheticKey(i, seed));
            });
          }};
}

// Vectors of eight components, of bits or of counters.
template <class T, class Base>
Variant VariantOf(std::type_identity<bloom::VectorFilter<T, Base>>) {
  using Filter = bloom::VectorFilter<int32_t, Base>;
  return {std::string(Filter::kName), Filter::kTag,
          [](uint64_t keys, double target_fpp, uint64_t seed,
             uint64_t queries) -> absl::StatusOr<VariantSample> {
            constexpr uint32_t kDimension = 8;
            TRELLIS_ASSIGN_OR_RETURN(
                Filter filter,
                Filter::Make(keys, target_fpp, {.dimension = kDimension, .seed = seed}));
            std::array<int32_t, kDimension> vector{};
            const auto made = [&vector, seed](uint64_t i) {
              const Digest digest = LabDigest(i, seed);
              vector[0] = static_cast<int32_t>(digest);
              vector[5] = static_cast<int32_t>(digest >> 32);
              return std::span<const int32_t>(vector);
            };
            for (uint64_t i = 0; i < keys; ++i) TRELLIS_RETURN_IF_ERROR(filter.Add(made(i)));
            return AskByNumber(filter, keys, queries,
                               [&](uint64_t i) { return filter.MayContain(made(i)); });
          }};
}

// Filters of the family that are not a kind of the catalog.
template <class... Filters>
void AddFamily(bloom::FilterList<Filters...>, std::vector<Variant>* variants) {
  const auto is_new = [variants](const Variant& variant) {
    return std::none_of(variants->begin(), variants->end(),
                        [&variant](const Variant& other) { return other.name == variant.name; });
  };
  for (Variant& variant : std::vector<Variant>{FamilyVariant<Filters>()...}) {
    if (is_new(variant)) variants->push_back(std::move(variant));
  }
}

// Each of them has a VariantOf above.
template <class... Filters>
void AddOthers(bloom::ObjectList<Filters...>, std::vector<Variant>* variants) {
  (variants->push_back(VariantOf(std::type_identity<Filters>{})), ...);
}

std::vector<Variant> MakeVariants() {
  std::vector<Variant> variants;
  bloom::KeyedKinds::ForEach(
      [&variants]<bloom::StaticKind K>(K) { variants.push_back(CatalogVariant<K>()); });
  AddFamily(bloom::Family(), &variants);
  AddOthers(bloom::OtherFilters(), &variants);
  std::stable_sort(variants.begin(), variants.end(),
                   [](const Variant& a, const Variant& b) { return a.tag < b.tag; });
  return variants;
}

}  // namespace

const std::vector<Variant>& Variants() {
  static const auto* const variants = new std::vector<Variant>(MakeVariants());
  return *variants;
}

std::vector<const Variant*> VariantsNamed(const std::vector<std::string>& names) {
  std::vector<const Variant*> chosen;
  for (const Variant& variant : Variants()) {
    if (names.empty() || std::find(names.begin(), names.end(), variant.name) != names.end())
      chosen.push_back(&variant);
  }
  return chosen;
}

absl::StatusOr<VariantSample> MeasureVariant(const Variant& variant, uint64_t keys,
                                             double target_fpp, uint64_t seed, uint64_t filters,
                                             uint64_t queries) {
  VariantSample sum;
  for (uint64_t i = 0; i < filters; ++i) {
    TRELLIS_ASSIGN_OR_RETURN(const VariantSample sample,
                             variant.measure(keys, target_fpp, seed + i, queries / filters));
    sum.rate.predicted = sample.rate.predicted;
    sum.rate.Add(sample.rate.hits, sample.rate.queries);
    sum.size_bits = sample.size_bits;
  }
  return sum;
}

absl::StatusOr<FamilyRow> FamilyRowOf(const Variant& variant, uint64_t queries) {
  TRELLIS_ASSIGN_OR_RETURN(const VariantSample sample,
                           MeasureVariant(variant, kFamilyRowKeys, kFamilyRowFpp, 1,
                                          queries == 0 ? 1 : kFamilyRowFilters, queries));
  const double bits_per_key =
      static_cast<double>(sample.size_bits) / static_cast<double>(kFamilyRowKeys);
  return FamilyRow{
      lsm::Concat("| ", variant.name, " | ", variant.tag == 0 ? "-" : std::to_string(variant.tag),
                  " | ", Fixed(bits_per_key, 2), " | ", Fixed(sample.rate.predicted.value_or(0), 5),
                  " |"),
      lsm::Concat(" ", Fixed(sample.rate.measured(), 5), " | `filter_lab --family-rows --variants ",
                  variant.name, "` |")};
}

}  // namespace bench
