// A program that uses only the filters.  It includes every public header, bloom/*.h, which shows
// that the installed headers are complete.  It prints errors, and exits with 1 if there are any.
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/concurrent.h"
#include "bloom/counting.h"
#include "bloom/dynamic.h"
#include "bloom/family.h"
#include "bloom/filter.h"
#include "bloom/filter_policy.h"
#include "bloom/hash.h"
#include "bloom/inspect.h"
#include "bloom/literature.h"
#include "bloom/parameters.h"
#include "bloom/parquet.h"
#include "bloom/payload.h"
#include "bloom/prefix.h"
#include "bloom/rotating.h"
#include "bloom/scalable.h"
#include "bloom/static_filter.h"

namespace {

static_assert(bloom::StaticKind<bloom::Empty> && !bloom::BitLayout<bloom::Empty>);
static_assert(bloom::BitLayout<bloom::Standard> && bloom::BitLayout<bloom::Blocked>);
static_assert(bloom::SolvedKind<bloom::Ribbon> && bloom::SolvedKind<bloom::Fuse3> &&
              bloom::SolvedKind<bloom::Fuse4>);
static_assert(bloom::BitLayout<bloom::Shifting> && !bloom::FoldableLayout<bloom::Shifting>);

int wrong = 0;

void Expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "wrong: " << what << "\n";
  ++wrong;
}

// A filter that is built from all keys and read from its bytes.
std::string UsePolicy() {
  auto policy = bloom::PolicyFromName("standard");
  if (!policy.ok()) return Expect(false, policy.status().ToString()), "";
  auto builder = (*policy)->NewBuilder({.target_fpp = 0.01, .seed = 7});
  for (int key = 0; key < 1000; ++key) builder->Add(bloom::DigestOf(std::to_string(key), 42));
  auto bytes = builder->Finish();
  if (!bytes.ok()) return Expect(false, bytes.status().ToString()), "";
  const bloom::FilterReader reader = bloom::FilterReader::Open(*bytes);
  Expect(reader.MayContain(bloom::DigestOf("5", 42)), "the filter lost a key");
  Expect(bloom::DigestOf("5", {bloom::DigestHash::kSipHash, 42, 7}) != bloom::DigestOf("5", 42),
         "DigestSeed");
  Expect(reader.Describe().kind == "standard", "Describe");
  Expect(bloom::FillByPart(reader, 4).size() == 4, "FillByPart");
  return *std::move(bytes);
}

template <bloom::KeyFilter Filter>
void UseFilter() {
  auto one = Filter::Make(1000, 0.01, 3), other = Filter::Make(1000, 0.01, 3);
  if (!one.ok() || !other.ok()) return Expect(false, one.status().ToString());
  one->Add("apple");
  other->Add("pear");
  Expect(one->Merge(*other).ok() && one->MayContain("pear"), "Merge");
  auto loaded = Filter::Load(one->Serialize());
  Expect(loaded.ok() && loaded->MayContain("apple") && loaded->added_count() == 2, "Load");
}

template <bloom::KeyFilter... Filters>
void UseAll(bloom::FilterList<Filters...>) {
  (UseFilter<Filters>(), ...);
}

// Builds a filter for all keys at once, without a policy.
template <bloom::SolvedKind Kind>
void UseSolved(const std::vector<bloom::Digest>& digests) {
  auto shape = Kind::ShapeFor(digests.size(), 0.001);
  if (!shape.ok()) return Expect(false, shape.status().ToString());
  auto payload = bloom::AlignedBytes::Zeros(Kind::PayloadBytes(*shape));
  Expect(Kind::Solve(payload.data(), *shape, 7, digests).ok(), "Solve");
  const bloom::FilterView view{payload.data(), *shape, 7};
  Expect(Kind::Functions(view).may_contain(view, digests.back()), "a key was not solved for");
}

void UseShifting() {
  auto sets = bloom::ShiftingAssociationFilter::Make(1000, 1e-6);
  if (sets.ok()) sets->Add("apple", true, true);
  Expect(sets.ok() && sets->Query("apple") == bloom::ShiftingAssociationFilter::kBoth, "Query");
  auto counts = bloom::ShiftingMultiplicityFilter::Make(1000, 20, 1e-6);
  Expect(counts.ok() && counts->Add("apple", 7).ok() && counts->Count("apple") == 7, "Count");
  auto counters = bloom::ShiftingCountingFilter::MakeWithCounters(1000, 0.01, 8);
  if (counters.ok()) counters->Add("apple");
  Expect(counters.ok() && counters->Remove("apple") && !counters->MayContain("apple"), "Remove");
  auto doubled = bloom::ShiftingDoubleFilter::Make(1000, 0.01);
  Expect(doubled.ok() && doubled->size_bits() > 2 * doubled->shape().size, "size_bits");
}

void UsePayload(const std::string& bytes) {
  const auto parts = bloom::RemoveHeader(bytes);
  Expect(parts.ok() && bloom::AddHeader(parts->parameters, parts->payload).value_or("") == bytes,
         "AddHeader");
  uint8_t field[16] = {};
  auto filter = bloom::PayloadFilter<bloom::Standard>::Over(field, {.size = 128, .probes = 4});
  Expect(filter.ok() && filter->AddIfAbsent("apple") && !filter->AddIfAbsent("apple"), "payload");
}

void UseStatic() {
  const std::vector<std::string_view> keys = {"apple", "cherry"};
  const auto filter = bloom::StaticFilter::OfKeys("ribbon", keys, 0.01);
  Expect(filter.ok() && filter->MayContain("apple"), "StaticFilter");
}

void UseParts(const std::string& bytes) {
  Expect(bloom::OpenFilter(bytes).kind == bloom::FindKind(bloom::Standard::kTag), "OpenFilter");
  const auto shape = bloom::Blocked::ShapeFor(1000, 0.01);
  Expect(shape.ok() && shape->probes > 0, "ShapeFor");
  Expect(bloom::BestProbesFor(10'000, 1000).value_or(0) == 7, "BestProbesFor");
  auto counting = bloom::CountingFilter::MakeWithCounters(1000, 0.01, 8);
  if (counting.ok()) counting->Add("apple");
  Expect(counting.ok() && counting->Remove("apple") && !counting->MayContain("apple"), "Remove");
  auto parquet = bloom::ParquetFilter::Make(10, 0.01);
  if (parquet.ok()) parquet->Add(int64_t{42});
  Expect(parquet.ok() && parquet->MayContain(int64_t{42}), "ParquetFilter");
  auto spectral = bloom::SpectralFilter::Make(
      1000, 0.01, {.method = bloom::SpectralMethod::kMinimalIncrease, .counter_bits = 16});
  if (spectral.ok()) spectral->Add("apple", 1000);
  Expect(spectral.ok() && spectral->Count("apple") == 1000, "Count");
  auto spatial = bloom::SpatialFilter::Make(1000, 0.01, {.areas = 3});
  Expect(spatial.ok() && spatial->Add("home", 3).ok() && spatial->AreaOf("home") == 3, "AreaOf");
  auto shared = bloom::ConcurrentFilter::Make(1000, 0.01);
  Expect(shared.ok() && shared->AddIfAbsent("apple") && !shared->AddIfAbsent("apple"),
         "AddIfAbsent");
}

void UseFiltersOfFilters() {
  auto dynamic = bloom::DynamicFilter<bloom::CountingFilter>::Make(10, 0.001);
  if (dynamic.ok()) dynamic->Add("apple");
  Expect(dynamic.ok() && dynamic->Remove("apple") && !dynamic->MayContain("apple"), "dynamic");
  auto scalable = bloom::ScalableFilter<>::MakeWithGrowth(10, 0.01, {.factor = 4});
  Expect(scalable.ok() && scalable->AddIfAbsent("apple") && !scalable->AddIfAbsent("apple"),
         "scalable");
  auto rotating = bloom::RotatingFilter<>::MakeWithGenerations(10, 0.01, 2);
  Expect(rotating.ok() && rotating->AddIfAbsent("apple"), "rotating");
  if (rotating.ok()) rotating->Advance(), rotating->Advance();
  Expect(rotating.ok() && !rotating->MayContain("apple"), "Advance");
  auto retouched = bloom::RetouchedFilter::Make(10, 0.01);
  if (retouched.ok()) retouched->Add("apple");
  Expect(retouched.ok() && retouched->RandomClearing(1, 2).ok() && !retouched->MayContain("apple"),
         "retouched");
}

// Filters with other kinds of keys or other kinds of queries.
void UsePrefixesAndVectors() {
  auto prefixes = bloom::PrefixFilter::Make(100, 0.001, {.extractor = "delimiter:/"});
  if (!prefixes.ok()) return Expect(false, prefixes.status().ToString());
  prefixes->Add("fruit/apple");
  Expect(prefixes->MayMatchRange("fruit/a", "fruit/b"), "MayMatchRange");
  Expect(!prefixes->MayContainPrefix("nuts/"), "MayContainPrefix");

  const std::vector<float> vector = {1, 2, 3};
  bloom::VectorList<float> list(3);
  list.Add(vector);
  const auto parsed = bloom::ParseVectors<float>(bloom::EncodeVectors(list));
  auto vectors =
      bloom::VectorFilter<float, bloom::CountingFilter>::Make(100, 0.001, {.dimension = 3});
  if (!parsed.ok() || !vectors.ok()) return Expect(false, "vectors");
  Expect(vectors->Add((*parsed)[0]).ok() && vectors->MayContain(vector), "VectorFilter");
  Expect(vectors->Remove(vector) && !vectors->MayContain(vector), "Remove");
}

}  // namespace

int main() {
  const std::string bytes = UsePolicy();
  UseParts(bytes);
  UsePayload(bytes);
  UsePrefixesAndVectors();
  UseAll(bloom::Family());
  UseFiltersOfFilters();
  UseStatic();
  std::vector<bloom::Digest> digests;
  for (int key = 0; key < 1000; ++key) digests.push_back(bloom::DigestOf(std::to_string(key), 42));
  bloom::SolvedKinds::ForEach([&]<bloom::SolvedKind Kind>(Kind) { UseSolved<Kind>(digests); });
  UseShifting();
  std::cout << bloom::KeyedKindNames() << "\n";
  return wrong == 0 ? 0 : 1;
}
