// A program that wants the filters alone: each header of bloom/ once, so that what is installed is
// known to be complete.  Says what it got wrong, and exits with 1, if it did.
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/capacity.h"
#include "bloom/core/concepts.h"
#include "bloom/core/cpu.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/filter.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/hash.h"
#include "bloom/core/occupancy.h"
#include "bloom/core/packed.h"
#include "bloom/core/parameters.h"
#include "bloom/core/parts.h"
#include "bloom/core/probe.h"
#include "bloom/core/shape.h"
#include "bloom/core/shifting.h"
#include "bloom/core/siblings.h"
#include "bloom/core/siphash.h"
#include "bloom/core/sizing.h"
#include "bloom/core/staged_query.h"
#include "bloom/core/stored_bits.h"
#include "bloom/core/stored_counters.h"
#include "bloom/core/vector_digest.h"
#include "bloom/core/vector_file.h"
#include "bloom/core/wrapped.h"
#include "bloom/family.h"
#include "bloom/filter_policy.h"
#include "bloom/filters/concurrent.h"
#include "bloom/filters/counting.h"
#include "bloom/filters/digests_by_bit.h"
#include "bloom/filters/dynamic.h"
#include "bloom/filters/parquet.h"
#include "bloom/filters/prefix.h"
#include "bloom/filters/retouched.h"
#include "bloom/filters/rotating.h"
#include "bloom/filters/rows.h"
#include "bloom/filters/scalable.h"
#include "bloom/filters/shifting_association.h"
#include "bloom/filters/shifting_counting.h"
#include "bloom/filters/shifting_double.h"
#include "bloom/filters/shifting_multiplicity.h"
#include "bloom/filters/spatial.h"
#include "bloom/filters/spectral.h"
#include "bloom/filters/vectors.h"
#include "bloom/inspect.h"
#include "bloom/kind_builder.h"
#include "bloom/payload.h"
#include "bloom/static_filter.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/blocked_avx2.h"
#include "bloom/variants/empty.h"
#include "bloom/variants/fuse.h"
#include "bloom/variants/ribbon.h"
#include "bloom/variants/ribbon_equation.h"
#include "bloom/variants/shifting.h"
#include "bloom/variants/split_block.h"
#include "bloom/variants/split_block_avx2.h"
#include "bloom/variants/standard.h"

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

// Built from all keys, read from the bytes.
std::string UsePolicy() {
  auto policy = bloom::PolicyFromName("standard");
  if (!policy.ok()) return Expect(false, policy.status().ToString()), "";
  auto builder = (*policy)->NewBuilder({.target_fpp = 0.01, .seed = 7});
  for (int key = 0; key < 1000; ++key) builder->Add(bloom::DigestOf(std::to_string(key), 42));
  auto bytes = builder->Finish();
  if (!bytes.ok()) return Expect(false, bytes.status().ToString()), "";
  const bloom::FilterReader reader = bloom::FilterReader::Open(*bytes);
  Expect(reader.MayContain(bloom::DigestOf("5", 42)), "the filter lost a key");
  Expect(bloom::DigestOf("5", {bloom::DigestHash::kSipHash, 42, 7}) == bloom::SipHash24("5", 42, 7),
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

// For all keys together, without a policy.
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
  Expect(bloom::ShiftingFpp(1000, 4, 0, bloom::kMaxOffset) == 0, "ShiftingFpp");
}

void UsePayload(const std::string& bytes) {
  const auto parts = bloom::RemoveHeader(bytes);
  Expect(parts.ok() && bloom::AddHeader(parts->parameters, parts->payload).value_or("") == bytes,
         "AddHeader");
  uint8_t field[16] = {};
  auto filter = bloom::PayloadFilter<bloom::Standard>::Over(field, {.size = 128, .probes = 4});
  Expect(filter.ok() && filter->AddIfAbsent("apple") && !filter->AddIfAbsent("apple"), "payload");
  Expect(bloom::MostKeysWithin(0.5, [](uint64_t n) { return n / 10.0; }) == 5, "MostKeysWithin");
}

void UseStatic() {
  const std::vector<std::string_view> keys = {"apple", "cherry"};
  const auto filter = bloom::StaticFilter::OfKeys("ribbon", keys, 0.01);
  Expect(filter.ok() && filter->MayContain("apple"), "StaticFilter");
}

void UseParts(const std::string& bytes) {
  Expect(bloom::OpenFilter(bytes).kind == bloom::FindKind(bloom::Standard::kTag), "OpenFilter");
  const bloom::ParsedFilter parsed = bloom::ParseFilter(bytes);
  Expect(parsed.header.key_count == 1000, "ParseFilter");
  Expect(bloom::CountOnes(parsed.payload.data(), parsed.payload.size()) > 0, "CountOnes");
  const auto shape = bloom::BlockedShapeFor(1000, 0.01);
  Expect(shape.ok() && shape->probes <= bloom::kMaxProbes, "BlockedShapeFor");
  Expect(bloom::BestProbesFor(10'000, 1000).value_or(0) == 7, "BestProbesFor");
  Expect(bloom::OccupiedMoment(1, 1, 1) == 1, "OccupiedMoment");
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
  Expect(bloom::PackedBytes(10, 4) == 5, "PackedBytes");
  Expect(bloom::ReadParts(bloom::BytesOf("")).ok(), "ReadParts");
  Expect(bloom::ReduceRange(bloom::Remix(1, 2), 10) < 10, "ReduceRange");
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
  std::vector<bloom::Filter<bloom::Blocked>> generations;
  while (generations.size() < 2)
    generations.push_back(bloom::Filter<bloom::Blocked>::Make(10, 0.01).value());
  generations.back().Add("apple");
  const bloom::Siblings<bloom::Blocked> siblings(generations);
  Expect(siblings.AnyMayContain(generations.front().DigestOf("apple")), "AnyMayContain");
  if (rotating.ok()) rotating->Advance(), rotating->Advance();
  Expect(rotating.ok() && !rotating->MayContain("apple"), "Advance");
  static_assert(bloom::RowFilter<bloom::CountingFilter>);
  auto retouched = bloom::RetouchedFilter::Make(10, 0.01);
  if (retouched.ok()) retouched->Add("apple");
  Expect(retouched.ok() && retouched->RandomClearing(1, 2).ok() && !retouched->MayContain("apple"),
         "retouched");
}

// Filters whose keys are something else, or whose questions are.
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
  Expect(vectors->DigestOf(vector) == bloom::VectorDigest<float>(vector, 0), "VectorDigest");
  Expect(bloom::Unwrap<bloom::VectorFilter<float, bloom::CountingFilter>, bloom::CountingFilter>(
             vectors->Serialize())
             .ok(),
         "Unwrap");
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
  std::cout << bloom::KeyedKindNames()
            << (bloom::BestSimd() == bloom::Simd::kAvx2 ? " (AVX2)\n" : " (portable)\n");
  return wrong == 0 ? 0 : 1;
}
