#include "bloom/literature/vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/concurrent.h"
#include "bloom/counting.h"
#include "bloom/filter.h"
#include "bloom/filter_policy.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/kinds.h"
#include "tests/bloom/wrapped_bytes.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::VectorFilter;
using testing::HasSubstr;
using testing_support::IsOk;
using testing_support::StatusIs;

constexpr auto kVectorInvalid = absl::StatusCode::kInvalidArgument;

template <class T, class F>
struct VectorCase {
  using Component = T;
  using Base = F;
  using Filter = VectorFilter<T, F>;
};
using Bits = bloom::Filter<bloom::Blocked>;
using StandardBits = bloom::Filter<bloom::Standard>;

template <class Case>
class VectorFilterTest : public testing::Test {
 protected:
  // Different for different i, of any dimension from 8 on.
  static auto VectorOf(uint64_t i, uint32_t dimension = 8) {
    std::vector<typename Case::Component> vector(dimension, 0);
    for (size_t byte = 0; byte < 8; ++byte)
      vector[byte] = static_cast<typename Case::Component>(i >> (8 * byte) & 0xff);
    return vector;
  }

  static auto WithVectors(uint64_t count, uint64_t planned, double fpp = 0.01, uint64_t seed = 3,
                          uint32_t dimension = 8) {
    auto filter = Case::Filter::Make(planned, fpp, {.dimension = dimension, .seed = seed}).value();
    for (uint64_t i = 0; i < count; ++i)
      EXPECT_THAT(filter.Add(VectorOf(i, dimension == 0 ? 8 : dimension)), IsOk());
    return filter;
  }
};
using VectorCases = testing::Types<VectorCase<float, Bits>, VectorCase<uint8_t, StandardBits>,
                                   VectorCase<int32_t, bloom::CountingFilter>>;
TYPED_TEST_SUITE(VectorFilterTest, VectorCases);

TYPED_TEST(VectorFilterTest, HoldsTheDigestsOfItsVectors) {
  using T = typename TypeParam::Component;
  const auto filter = this->WithVectors(500, 500);
  auto base = TypeParam::Base::Make(500, 0.01, 3).value();
  for (uint64_t i = 0; i < 500; ++i) {
    const std::vector<T> vector = this->VectorOf(i);
    base.AddDigest(bloom::VectorDigest(std::span<const T>(vector), 3));
  }
  EXPECT_EQ(filter.base().Serialize(), base.Serialize());
  EXPECT_EQ(filter.Serialize().substr(64), base.Serialize());
  EXPECT_EQ(filter.added_count(), 500u);
  EXPECT_EQ(filter.size_bits(), base.size_bits());
  EXPECT_EQ(filter.PredictedFpp(77), base.PredictedFpp(77));
  EXPECT_EQ(filter.CurrentFpp(), base.CurrentFpp());
  EXPECT_EQ(filter.seed(), 3u);
  EXPECT_EQ(filter.target_fpp(), 0.01);
}

TYPED_TEST(VectorFilterTest, PassesAbsentVectorsAtThePredictedRate) {
  constexpr uint64_t kVectors = 100'000, kQueries = 1'000'000, kSeeds = 5;
  std::vector<typename TypeParam::Filter> filters;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed)
    filters.push_back(this->WithVectors(kVectors, kVectors, 0.01, seed));
  uint64_t passing[kSeeds] = {};
  for (uint64_t i = 0; i < kVectors + kQueries; ++i) {
    // Most absent vectors differ from a stored one by 1 in one component.
    const auto vector = this->VectorOf(i);
    for (uint64_t f = 0; f < kSeeds; ++f) {
      const bool passes = filters[f].MayContain(vector);
      ASSERT_TRUE(passes || i >= kVectors);
      passing[f] += passes && i >= kVectors;
    }
  }
  double sum = 0;
  const double predicted = filters[0].PredictedFpp(kVectors);
  for (const uint64_t count : passing) {
    const double measured = static_cast<double>(count) / kQueries;
    EXPECT_NEAR(measured / predicted, 1, 0.05);
    sum += measured;
  }
  EXPECT_NEAR(sum / kSeeds / predicted, 1, 0.03);
  EXPECT_LE(predicted, 0.01001);
}

TYPED_TEST(VectorFilterTest, VectorsOfNoAndOfOneComponentAreVectors) {
  using T = typename TypeParam::Component;
  auto filter = TypeParam::Filter::Make(100, 1e-9).value();
  const std::vector<T> none, zero = {0}, one = {1}, zeros = {0, 0};
  EXPECT_FALSE(filter.MayContain(none));
  ASSERT_THAT(filter.Add(none), IsOk());
  EXPECT_TRUE(filter.MayContain(none));
  EXPECT_FALSE(filter.MayContain(zero) || filter.MayContain(one) || filter.MayContain(zeros));
  ASSERT_THAT(filter.Add(zero), IsOk());
  EXPECT_TRUE(filter.MayContain(zero));
  EXPECT_FALSE(filter.MayContain(one) || filter.MayContain(zeros));
}

TYPED_TEST(VectorFilterTest, OtherDimensionsAreRefusedOrAbsent) {
  auto filter = this->WithVectors(10, 100, 1e-9);
  const std::string before = filter.Serialize();
  for (const uint32_t dimension : {9, 16, 128}) {
    EXPECT_THAT(filter.Add(this->VectorOf(1, dimension)),
                StatusIs(kVectorInvalid, HasSubstr("dimension " + std::to_string(dimension) +
                                                   " for a filter of dimension 8")));
    EXPECT_FALSE(filter.MayContain(this->VectorOf(1, dimension)));
  }
  EXPECT_THAT(filter.Add({}), StatusIs(kVectorInvalid, HasSubstr("dimension 0 for")));
  EXPECT_EQ(filter.Serialize(), before);
  // Even in a filter that nearly every vector passes.
  const auto full = this->WithVectors(500, 10, 0.5);
  int passing = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    passing += full.MayContain(this->VectorOf(1000 + i));
    EXPECT_FALSE(full.MayContain(this->VectorOf(i, 9)));
  }
  EXPECT_GT(passing, 50);
  auto any = this->WithVectors(10, 100, 1e-9, 3, 0);
  EXPECT_THAT(any.Add(this->VectorOf(1, 9)), IsOk());
  EXPECT_TRUE(any.MayContain(this->VectorOf(1, 9)));
  EXPECT_FALSE(any.MayContain(this->VectorOf(1, 10)));
}

TYPED_TEST(VectorFilterTest, SurvivesSavingAndLoading) {
  using F = typename TypeParam::Filter;
  for (const uint32_t dimension : {0, 8, 128}) {
    auto filter = this->WithVectors(200, 100, 0.01, 3, dimension);
    const std::string bytes = filter.Serialize();
    for (const std::optional<uint32_t> wanted : {std::optional<uint32_t>(), {dimension}}) {
      auto loaded = F::Load(bytes, wanted);
      ASSERT_THAT(loaded, IsOk());
      EXPECT_EQ(loaded->dimension(), dimension);
      EXPECT_EQ(loaded->Serialize(), bytes);
      EXPECT_EQ(loaded->added_count(), 200u);
      for (uint64_t i = 0; i < 1000; ++i) {
        const auto vector = this->VectorOf(i, dimension == 0 ? 8 : dimension);
        ASSERT_EQ(loaded->MayContain(vector), filter.MayContain(vector));
      }
      F moved = *std::move(loaded);
      EXPECT_EQ(moved.Serialize(), bytes);
    }
    const auto vector = this->VectorOf(999, dimension == 0 ? 8 : dimension);
    auto again = F::Load(bytes);
    ASSERT_THAT(again->Add(vector), IsOk());
    ASSERT_THAT(filter.Add(vector), IsOk());
    EXPECT_EQ(again->Serialize(), filter.Serialize());
  }
}

TYPED_TEST(VectorFilterTest, RefusesOtherTypesAndDimensions) {
  using T = typename TypeParam::Component;
  using Base = typename TypeParam::Base;
  using F = typename TypeParam::Filter;
  const auto refused = [](const std::string& what) {
    return StatusIs(kVectorInvalid, HasSubstr(what));
  };
  const std::string bytes = this->WithVectors(20, 20).Serialize();
  EXPECT_THAT(F::Load(bytes, 9), refused("dimension 8, not 9"));
  EXPECT_THAT(F::Load(bytes, 0), refused("dimension 8, not any"));
  EXPECT_THAT(F::Load(this->WithVectors(20, 20, 0.01, 3, 0).Serialize(), 8),
              refused("dimension any, not 8"));
  const std::string mine(bloom::NameOf(bloom::kVectorTypeOf<T>));
  const auto expect_refused = [&](const absl::Status& status, std::string_view other) {
    if (other == mine) {
      EXPECT_THAT(status, IsOk());
    } else {
      EXPECT_THAT(status, refused(mine + " vectors, not of " + std::string(other)));
    }
  };
  expect_refused((VectorFilter<float, Base>::Load(bytes).status()), "float32");
  expect_refused((VectorFilter<int32_t, Base>::Load(bytes).status()), "int32");
  expect_refused((VectorFilter<uint8_t, Base>::Load(bytes).status()), "uint8");
}

TEST(VectorsTest, TellsBitsAndCountersApart) {
  const std::string bits = VectorFilter<float, Bits>::Make(10, 0.1).value().Serialize();
  const std::string standard = VectorFilter<float, StandardBits>::Make(10, 0.1).value().Serialize();
  const std::string counters =
      VectorFilter<float, bloom::CountingFilter>::Make(10, 0.1).value().Serialize();
  const auto refused = [](const char* what) { return StatusIs(kVectorInvalid, HasSubstr(what)); };
  EXPECT_THAT((VectorFilter<float, Bits>::Load(counters)), refused("kind 77, not 76"));
  EXPECT_THAT((VectorFilter<float, bloom::CountingFilter>::Load(bits)), refused("kind 76, not 77"));
  EXPECT_THAT((VectorFilter<float, Bits>::Load(standard)), refused("kind 2, not 3"));
  EXPECT_THAT((VectorFilter<float, StandardBits>::Load(bits)), refused("kind 3, not 2"));
  EXPECT_THAT(Bits::Load(bits), refused("kind 76, not 3"));
  EXPECT_THAT((VectorFilter<float, bloom::ConcurrentFilter>::Load(bits)), IsOk());
  const bloom::FilterReader reader = bloom::FilterReader::Open(bits);
  EXPECT_TRUE(reader.MayContain(1) && reader.MayContain(2));
}

TYPED_TEST(VectorFilterTest, MergesOnlyMatchingFilters) {
  using F = typename TypeParam::Filter;
  F left = this->WithVectors(100, 300),
    right = F::Make(300, 0.01, {.dimension = 8, .seed = 3}).value();
  for (uint64_t i = 100; i < 300; ++i) ASSERT_THAT(right.Add(this->VectorOf(i)), IsOk());
  ASSERT_THAT(left.Merge(right), IsOk());
  EXPECT_EQ(left.Serialize(), this->WithVectors(300, 300).Serialize());
  const std::string before = left.Serialize();
  const auto refused = [](const char* what) { return StatusIs(kVectorInvalid, HasSubstr(what)); };
  EXPECT_THAT(left.Merge(this->WithVectors(5, 300, 0.01, 4)), refused("seeds"));
  EXPECT_THAT(left.Merge(this->WithVectors(5, 900)), refused("sizes"));
  EXPECT_THAT(left.Merge(this->WithVectors(5, 300, 0.01, 3, 9)), refused("dimensions 8 and 9"));
  EXPECT_THAT(left.Merge(this->WithVectors(5, 300, 0.01, 3, 0)), refused("dimensions 8 and any"));
  EXPECT_EQ(left.Serialize(), before);
}

TYPED_TEST(VectorFilterTest, ClearForgetsAllVectors) {
  auto filter = this->WithVectors(100, 100);
  filter.Clear();
  EXPECT_EQ(filter.Serialize(), this->WithVectors(0, 100).Serialize());
}

TYPED_TEST(VectorFilterTest, BadParametersAreNamedErrors) {
  using F = typename TypeParam::Filter;
  const auto refused = [](const char* what) { return StatusIs(kVectorInvalid, HasSubstr(what)); };
  EXPECT_THAT(F::Make(0, 0.01), refused("key_count"));
  for (const double fpp : {0.0, 1.0, -0.5, 2.0, std::nan(""), HUGE_VAL, 1e-300})
    EXPECT_THAT(F::Make(10, fpp), refused("target_fpp")) << fpp;
  EXPECT_THAT(F::Make(UINT64_MAX, 0.01), refused("2^56"));
}

TEST(VectorsTest, CountersForgetVectors) {
  auto filter =
      VectorFilter<uint8_t, bloom::CountingFilter>::Make(1000, 1e-6, {.dimension = 4}).value();
  const std::string empty = filter.Serialize();
  const std::vector<uint8_t> apple = {1, 2, 3, 4}, pear = {1, 2, 3, 5}, longer = {1, 2, 3, 4, 0};
  ASSERT_THAT(filter.Add(apple), IsOk());
  ASSERT_THAT(filter.Add(pear), IsOk());
  EXPECT_FALSE(filter.Remove(longer));
  EXPECT_TRUE(filter.Remove(apple));
  EXPECT_FALSE(filter.MayContain(apple));
  EXPECT_TRUE(filter.MayContain(pear));
  EXPECT_FALSE(filter.Remove(apple));
  EXPECT_TRUE(filter.Remove(pear));
  EXPECT_EQ(filter.Serialize(), empty);
  // A vector of another dimension is removed from no filter, however full.
  auto full = VectorFilter<uint8_t, bloom::CountingFilter>::Make(1, 0.5, {.dimension = 1}).value();
  for (int i = 0; i < 256; ++i) {
    const uint8_t vector[] = {static_cast<uint8_t>(i)};
    for (int j = 0; j < 4; ++j) ASSERT_THAT(full.Add(vector), IsOk());
  }
  for (int i = 0; i < 256; ++i) {
    const uint8_t vector[] = {static_cast<uint8_t>(i), 0};
    EXPECT_FALSE(full.Remove(vector));
  }
}

template <class T, class F>
concept CanRemove = requires(VectorFilter<T, F> f, std::span<const T> vector) {
  f.Remove(vector);
};
static_assert(CanRemove<float, bloom::CountingFilter> && !CanRemove<float, Bits>);

template <class F, class T>
absl::Status LoadAndUseVectors(std::string_view bytes) {
  absl::StatusOr<F> filter = F::Load(bytes);
  if (!filter.ok()) return filter.status();
  const uint32_t dimension = filter->dimension() == 0 ? 3 : filter->dimension();
  const std::vector<T> vector(std::min<uint32_t>(dimension, 1000), 1);
  filter->MayContain(vector);
  EXPECT_EQ(filter->Add(vector).ok(), vector.size() == dimension);
  EXPECT_TRUE(filter->MayContain(vector) || vector.size() != dimension);
  filter->PredictedFpp(10);
  filter->CurrentFpp();
  if constexpr (requires { filter->Remove(vector); }) filter->Remove(vector);
  EXPECT_THAT(F::Load(filter->Serialize()), IsOk());
  filter->Clear();
  return absl::OkStatus();
}

TYPED_TEST(VectorFilterTest, AnyBytesAreReadOrRefused) {
  using F = typename TypeParam::Filter;
  const auto load = LoadAndUseVectors<F, typename TypeParam::Component>;
  const std::string sound = this->WithVectors(20, 20, 0.1).Serialize();
  testing_support::ExpectWrappedDamageIsDataLoss(sound, load);
  testing_support::ExpectOtherWrappedAreRefusedByName(sound, load);
  testing_support::ExpectForgedWrappedDoNoHarm(sound, 5000, load);
  // Unknown types, and reserved bits of `detail`.
  for (const auto& [at, value] : {std::pair{52, 0}, {52, 4}, {52, 255}, {53, 1}, {55, 128}}) {
    std::string bytes = sound;
    bytes[static_cast<size_t>(at)] = static_cast<char>(value);
    testing_support::RepairChecksum(bytes);
    EXPECT_THAT(load(bytes), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("unknown type")));
  }
  std::string longer = sound + "behind";
  testing_support::RepairChecksum(longer);
  EXPECT_THAT(load(longer),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bytes after the filter inside")));
}

}  // namespace
