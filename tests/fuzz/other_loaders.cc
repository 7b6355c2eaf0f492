#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bloom/family.h"
#include "tests/bloom/kinds.h"
#include "tests/bloom/use_loaded.h"
#include "tests/fuzz/loaders.h"

namespace fuzz {
namespace {

using testing_support::Demand;
using testing_support::DigestOfKey;
using testing_support::ExactCopy;

// Loads a copy of the bytes and passes it to `use`.  Demands that the filter can be saved and
// loaded before and after.
template <class F, class Use>
bool LoadAnd(std::string_view bytes, Use use) {
  const ExactCopy copy(bytes);
  absl::StatusOr<F> filter = F::Load(copy.view());
  if (!filter.ok()) return false;
  absl::StatusOr<F> again = F::Load(filter->Serialize());
  Demand(again.ok(), "a serialized filter can be loaded");
  Demand(again->Serialize() == filter->Serialize(),
         "a reloaded filter serializes to the same bytes");
  use(*filter);
  Demand(F::Load(filter->Serialize()).ok(), "a changed filter can be saved and loaded");
  Demand(filter->Merge(*again).ok(), "a changed filter can be merged with the original");
  filter->Clear();
  return true;
}

// --- spatial ---

bool UseSpatial(std::string_view bytes) {
  return LoadAnd<bloom::SpatialFilter>(bytes, [](bloom::SpatialFilter& filter) {
    const uint32_t areas = filter.areas();
    for (uint64_t key = 0; key < 30; ++key) {
      const auto area = static_cast<uint32_t>(1 + key % areas);
      Demand(filter.AddDigest(DigestOfKey(key), area).ok(), "an area is one that it has");
      Demand(filter.AreaOfDigest(DigestOfKey(key)) >= area, "a key is in its area or a higher one");
      Demand(filter.AreaOfDigest(DigestOfKey(100 + key)) <= areas, "an area is one that it has");
    }
    for (const bloom::AreaRates& of : filter.CurrentAreas())
      Demand(!std::isnan(of.cells + of.fpp + of.inter_set_error), "rates are numbers");
    filter.CurrentFpp();
    filter.PredictedFpp(10);
  });
}

std::vector<std::string> SpatialSeeds() {
  std::vector<std::string> seeds;
  for (const uint32_t areas : {1, 3, 7, 300}) {
    auto filter = bloom::SpatialFilter::Make(20, 0.1, {.areas = areas, .seed = 7}).value();
    seeds.push_back(filter.Serialize());
    for (uint64_t i = 0; i < 20; ++i)
      filter.AddDigest(DigestOfKey(i), static_cast<uint32_t>(1 + i % areas)).IgnoreError();
    seeds.push_back(filter.Serialize());
  }
  return seeds;
}

// --- shifting ---

using Association = bloom::ShiftingAssociationFilter;
using Multiplicity = bloom::ShiftingMultiplicityFilter;

bool UseAssociation(std::string_view bytes) {
  return LoadAnd<Association>(bytes, [](Association& filter) {
    for (uint64_t i = 0; i < 30; ++i) {
      const bool first = i % 3 != 0, second = i % 3 != 1;
      filter.AddDigest(DigestOfKey(i), first, second);
      const uint32_t region = first && second ? Association::kBoth
                              : first         ? Association::kFirstOnly
                                              : Association::kSecondOnly;
      Demand((filter.QueryDigest(DigestOfKey(i)) & region) != 0, "a key is in its region");
    }
    filter.PredictedRates(10);
    filter.CurrentRates();
  });
}

std::vector<std::string> AssociationSeeds() {
  std::vector<std::string> seeds;
  for (const uint64_t keys : {0, 20, 60}) {
    auto filter = Association::Make(20, 0.1, 7).value();
    for (uint64_t i = 0; i < keys; ++i) filter.AddDigest(DigestOfKey(i), i % 3 != 0, i % 3 != 1);
    seeds.push_back(filter.Serialize());
  }
  return seeds;
}

bool UseMultiplicity(std::string_view bytes) {
  return LoadAnd<Multiplicity>(bytes, [](Multiplicity& filter) {
    const uint32_t most = filter.max_count();
    for (uint64_t i = 0; i < 30; ++i) {
      const auto count = static_cast<uint32_t>(1 + i % most);
      Demand(filter.AddDigest(DigestOfKey(i), count).ok(), "a count is one that it has");
      Demand(filter.CountDigest(DigestOfKey(i)) >= count, "a key has its count or a higher one");
      Demand(filter.CountDigest(DigestOfKey(100 + i)) <= most, "a count is one that it has");
    }
    for (const uint32_t count : {uint32_t{0}, most}) {
      Demand(filter.PredictedCorrectRate(count, 10) <= 1, "a rate is at most 1");
      Demand(filter.CurrentCorrectRate(count) <= 1, "a rate is at most 1");
    }
  });
}

std::vector<std::string> MultiplicitySeeds() {
  std::vector<std::string> seeds;
  for (const uint32_t most : {1, 20, 57}) {
    auto filter = Multiplicity::Make(20, most, 0.1, 7).value();
    seeds.push_back(filter.Serialize());
    for (uint64_t i = 0; i < 20; ++i)
      filter.AddDigest(DigestOfKey(i), static_cast<uint32_t>(1 + i % most)).IgnoreError();
    seeds.push_back(filter.Serialize());
  }
  return seeds;
}

// --- filters within filters ---

void RepairBoth(std::string& bytes) {
  if (bytes.size() >= bloom::kFilterHeaderBytes) testing_support::RepairBothChecksums(bytes);
}

// Sets the size of the inner filter, the size of the outer filter, and the fields that both headers
// have.
void ReshapeBoth(std::string& bytes, uint64_t random) {
  constexpr size_t kInner = testing_support::kInnerAt;
  if (bytes.size() < kInner + bloom::kFilterHeaderBytes) return;
  const uint64_t tail = random % 20;
  const uint64_t inner_bytes = bytes.size() - kInner - std::min(tail, bytes.size() - kInner - 64);
  std::string inner = bytes.substr(kInner, inner_bytes);
  ReshapeHeader(inner, random / 20);
  bytes.replace(kInner, inner_bytes, inner);
  bloom::Store64(&bytes[32], inner_bytes);
  bytes[10] = bytes[kInner + 10];
  bytes.replace(16, 16, bytes, kInner + 16, 16);
  bytes.replace(40, 8, bytes, kInner + 40, 8);
}

bool UsePrefix(std::string_view bytes) {
  return LoadAnd<bloom::PrefixFilter>(bytes, [](bloom::PrefixFilter& filter) {
    for (const std::string_view key : {"", "a", "fruit/apple", "fruit/pear", "a/b/c/d:e:f"}) {
      filter.Add(key);
      Demand(filter.MayContain(key), "a key is in once it was added");
      Demand(filter.MayContainPrefix(key), "the prefix of an added key is in");
      Demand(filter.MayMatchRange(key, key), "the range that is only an added key is in");
      filter.MayMatchRange("fruit/", key);
    }
    filter.CurrentFpp();
    filter.PredictedFpp(10);
  });
}

std::vector<std::string> PrefixSeeds() {
  std::vector<std::string> seeds;
  for (const char* extractor : {"fixed:2", "delimiter:/", "delimiter:::2"}) {
    for (const auto whole : {bloom::WholeKeys::kLeftOut, bloom::WholeKeys::kToo}) {
      auto filter = bloom::PrefixFilter::Make(
                        20, 0.1, {.extractor = extractor, .seed = 7, .whole_keys = whole})
                        .value();
      for (const char* key : {"a/b", "abcdef", "b:c/d:e"}) filter.Add(key);
      seeds.push_back(filter.Serialize());
    }
  }
  return seeds;
}

template <class T, class Base>
using Vectors = bloom::VectorFilter<T, Base>;

template <class T, class Base>
bool UseVectors(std::string_view bytes) {
  return LoadAnd<Vectors<T, Base>>(bytes, [](Vectors<T, Base>& filter) {
    const uint32_t dimension = filter.dimension() == 0 ? 3 : filter.dimension();
    const std::vector<T> vector(std::min<uint32_t>(dimension, 1000), 1);
    const bool fits = vector.size() == dimension;
    filter.MayContain(vector);
    Demand(filter.Add(vector).ok() == fits,
           "Add accepts exactly the vectors of the filter's dimension");
    Demand(filter.MayContain(vector) == fits,
           "MayContain finds a vector exactly if Add accepted it");
    if constexpr (requires { filter.Remove(vector); }) filter.Remove(vector);
    filter.CurrentFpp();
    filter.PredictedFpp(10);
  });
}

// Tries both component types, because bytes can be valid for only one of them.
bool UseAllVectors(std::string_view bytes) {
  using Bits = bloom::Filter<bloom::Blocked>;
  using Counters = bloom::CountingFilter;
  const int loaded = UseVectors<int32_t, Bits>(bytes) + UseVectors<float, Bits>(bytes) +
                     UseVectors<uint8_t, Bits>(bytes) + UseVectors<int32_t, Counters>(bytes) +
                     UseVectors<float, Counters>(bytes) + UseVectors<uint8_t, Counters>(bytes);
  Demand(loaded <= 1, "bytes are vectors of one type and filters of one kind");
  return loaded == 1;
}

template <class T, class Base>
void AddVectorSeeds(std::vector<std::string>& seeds) {
  for (const uint32_t dimension : {0, 1, 3}) {
    auto filter = Vectors<T, Base>::Make(20, 0.1, {.dimension = dimension, .seed = 7}).value();
    for (int i = 0; i < 20; ++i)
      filter.Add(std::vector<T>(std::max<uint32_t>(dimension, 1), static_cast<T>(i))).IgnoreError();
    seeds.push_back(filter.Serialize());
  }
}

std::vector<std::string> VectorSeeds() {
  std::vector<std::string> seeds;
  AddVectorSeeds<int32_t, bloom::Filter<bloom::Blocked>>(seeds);
  AddVectorSeeds<float, bloom::Filter<bloom::Blocked>>(seeds);
  AddVectorSeeds<uint8_t, bloom::Filter<bloom::Blocked>>(seeds);
  AddVectorSeeds<float, bloom::CountingFilter>(seeds);
  return seeds;
}

// --- Parquet's ---

bool UseParquet(std::string_view bytes) {
  const ExactCopy copy(bytes);
  auto filter = bloom::ParquetFilter::Load(copy.view());
  if (!filter.ok()) return false;
  filter->Add(int64_t{7});
  Demand(filter->MayContain(int64_t{7}), "a value is in once it was added");
  filter->CurrentFpp();
  const auto again = bloom::ParquetFilter::Load(filter->Serialize());
  Demand(again.ok() && again->Serialize() == filter->Serialize(),
         "a filter can be saved and loaded");
  return true;
}

std::vector<std::string> ParquetSeeds() {
  auto filter = bloom::ParquetFilter::Make(10, 0.01).value();
  for (int32_t i = 0; i < 10; ++i) filter.Add(i);
  return {filter.Serialize()};
}

// --- files of vectors ---

template <class T>
bool ParseAndEncode(std::string_view bytes) {
  const ExactCopy copy(bytes);
  const auto vectors = bloom::ParseVectors<T>(copy.view());
  if (!vectors.ok()) return false;
  Demand(vectors->size() > 0, "a file has vectors");
  Demand((*vectors)[vectors->size() - 1].size() == vectors->dimension(),
         "each vector has the file's dimension");
  Demand(bloom::EncodeVectors(*vectors) == bytes, "rewritten vectors are the same bytes");
  return true;
}

bool UseVectorFile(std::string_view bytes) {
  const bool floats = ParseAndEncode<float>(bytes), ints = ParseAndEncode<int32_t>(bytes);
  Demand(floats == ints, "four-byte components load as floats exactly if they load as integers");
  return ParseAndEncode<uint8_t>(bytes) || floats;
}

// Sets the dimension of each vector to the first one, if that is small.
void ReshapeVectorFile(std::string& bytes, uint64_t random) {
  const size_t dimension = 1 + random % 20, record = 4 + dimension * (random / 20 % 2 == 0 ? 1 : 4);
  bytes.resize(std::max<size_t>(bytes.size() / record, 1) * record);
  for (size_t at = 0; at < bytes.size(); at += record)
    bytes.replace(at, 4, {static_cast<char>(dimension), 0, 0, 0});
}

std::vector<std::string> VectorFileSeeds() {
  std::vector<std::string> seeds;
  for (const uint32_t dimension : {1, 3, 16}) {
    bloom::VectorList<float> floats(dimension);
    bloom::VectorList<uint8_t> bytes(dimension);
    for (int i = 0; i < 5; ++i) {
      floats.Add(std::vector<float>(dimension, static_cast<float>(i)));
      bytes.Add(std::vector<uint8_t>(dimension, static_cast<uint8_t>(i)));
    }
    seeds.push_back(bloom::EncodeVectors(floats));
    seeds.push_back(bloom::EncodeVectors(bytes));
  }
  return seeds;
}

// --- one function for each of OtherFilters ---

Loader LoaderOf(std::type_identity<bloom::SpatialFilter>) {
  return {"spatial", &UseSpatial, &ReshapeHeader, &RepairHeader, &SpatialSeeds};
}
Loader LoaderOf(std::type_identity<Association>) {
  return {"shifting-association", &UseAssociation, &ReshapeHeader, &RepairHeader,
          &AssociationSeeds};
}
Loader LoaderOf(std::type_identity<Multiplicity>) {
  return {"shifting-multiplicity", &UseMultiplicity, &ReshapeHeader, &RepairHeader,
          &MultiplicitySeeds};
}
Loader LoaderOf(std::type_identity<bloom::PrefixFilter>) {
  return {"prefix", &UsePrefix, &ReshapeBoth, &RepairBoth, &PrefixSeeds};
}
Loader LoaderOf(std::type_identity<bloom::ParquetFilter>) {
  return {"parquet", &UseParquet, [](std::string&, uint64_t) {}, [](std::string&) {},
          &ParquetSeeds};
}
// Filters of all vector types share one name.
template <class T, class Base>
Loader LoaderOf(std::type_identity<Vectors<T, Base>>) {
  return {"vectors", &UseAllVectors, &ReshapeBoth, &RepairBoth, &VectorSeeds};
}

template <class... Filters>
std::vector<Loader> LoadersOf(bloom::ObjectList<Filters...>) {
  std::vector<Loader> loaders;
  for (Loader& loader : std::vector<Loader>{LoaderOf(std::type_identity<Filters>{})...}) {
    const bool is_new = std::none_of(loaders.begin(), loaders.end(), [&](const Loader& other) {
      return other.name == loader.name;
    });
    if (is_new) loaders.push_back(std::move(loader));
  }
  return loaders;
}

}  // namespace

std::vector<Loader> OtherLoaders() {
  std::vector<Loader> loaders = LoadersOf(bloom::OtherFilters());
  loaders.push_back(
      {"vector-file", &UseVectorFile, &ReshapeVectorFile, [](std::string&) {}, &VectorFileSeeds});
  return loaders;
}

}  // namespace fuzz
