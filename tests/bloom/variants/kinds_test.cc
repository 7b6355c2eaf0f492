// The common contract of all kinds in the catalog: each is tested against its promises.
#include "tests/bloom/kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/core/bits.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/filter_policy.h"
#include "bloom/inspect.h"
#include "tests/support/read_file.h"
#include "tests/support/source_directory.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::Digest;
using bloom::FilterDescription;
using bloom::FilterReader;
using bloom::FilterState;
using testing_support::BuildFilter;
using testing_support::CountPassing;
using testing_support::DigestOfKey;
using testing_support::DigestsOfKeys;
using testing_support::IsOk;

template <class K>
class KindsTest : public testing::Test {};
TYPED_TEST_SUITE(KindsTest, testing_support::KeyedKindTypes, testing_support::KindNames);

// Kinds to which keys are added one by one.
template <class K>
class BitKindsTest : public testing::Test {};
TYPED_TEST_SUITE(BitKindsTest, testing_support::BitKindTypes, testing_support::KindNames);

// Kinds that are solved for all keys at once.
template <class K>
class SolvedKindsTest : public testing::Test {};
TYPED_TEST_SUITE(SolvedKindsTest, testing_support::SolvedKindTypes, testing_support::KindNames);

TYPED_TEST(KindsTest, NeverDeniesAKeyThatWasAdded) {
  for (const uint64_t keys : {1, 2, 3, 7, 64, 65, 100, 513, 1000, 10'000, 100'000}) {
    for (const double fpp : {0.5, 0.1, 0.01, 0.001, 1e-6}) {
      const uint64_t seed = keys * 31 + 7;
      const auto digests = DigestsOfKeys(0, keys, seed);
      const std::string bytes =
          BuildFilter(TypeParam::kName, {.target_fpp = fpp, .seed = seed}, digests);
      const FilterReader reader = FilterReader::Open(bytes);
      ASSERT_EQ(reader.state(), FilterState::kUsable);
      EXPECT_EQ(CountPassing(reader, 0, keys, seed), keys) << keys << " keys at " << fpp;
      for (const Digest digest : digests) ASSERT_TRUE(reader.MayContain(digest)) << keys << " keys";
    }
  }
}

TYPED_TEST(KindsTest, MeetsItsTargetAndItsPrediction) {
  constexpr uint64_t kKeys = 100'000;
  for (const double fpp : {0.1, 0.01, 0.001}) {
    double sum = 0;
    const std::vector<uint64_t> seeds = {11, 22, 33, 44, 55};
    for (const uint64_t seed : seeds) {
      const std::string bytes = BuildFilter(TypeParam::kName, {.target_fpp = fpp, .seed = seed},
                                            DigestsOfKeys(0, kKeys, seed));
      const FilterReader reader = FilterReader::Open(bytes);
      const FilterDescription description = reader.Describe();
      EXPECT_EQ(description.kind, TypeParam::kName);
      // The standard error of one filter is 1 %.  The variation between filters is as large.
      const auto queries = static_cast<uint64_t>(1e4 / fpp);
      const uint64_t passing = CountPassing(reader, kKeys, queries, seed);
      const double measured = static_cast<double>(passing) / static_cast<double>(queries);
      EXPECT_NEAR(measured / description.predicted_fpp, 1, 0.05) << fpp << ", seed " << seed;
      EXPECT_NEAR(measured / description.current_fpp, 1, 0.05) << fpp << ", seed " << seed;
      EXPECT_LE(measured, fpp * 1.05) << "seed " << seed;
      sum += measured;
    }
    const double mean = sum / static_cast<double>(seeds.size());
    EXPECT_NEAR(mean / TypeParam::PredictedFpp(TypeParam::ShapeFor(kKeys, fpp).value(), kKeys), 1,
                0.03);
  }
}

TYPED_TEST(KindsTest, FewKeysMeetTheTarget) {
  // For fewer keys, a policy makes a standard filter instead of a solved one.
  const std::vector<uint64_t> few = bloom::SolvedKind<TypeParam>
                                        ? std::vector<uint64_t>{testing_support::kFewKeys}
                                        : std::vector<uint64_t>{1, 3, 10, 40, 100, 1000};
  for (const uint64_t keys : few) {
    for (const double fpp : {0.1, 0.01, 0.001}) {
      const uint64_t filters = 20'000 / keys + 20;
      // 2 * 10^4 or more false positives at the target.
      const uint64_t queries = static_cast<uint64_t>(2e4 / fpp) / filters + 100;
      uint64_t passing = 0;
      for (uint64_t seed = 0; seed < filters; ++seed) {
        const std::string bytes = BuildFilter(TypeParam::kName, {.target_fpp = fpp, .seed = seed},
                                              DigestsOfKeys(0, keys, seed));
        passing += CountPassing(FilterReader::Open(bytes), keys, queries, seed);
      }
      const double measured = static_cast<double>(passing) / static_cast<double>(filters * queries);
      EXPECT_LE(measured, fpp * 1.05) << keys << " keys at " << fpp;
    }
  }
}

TYPED_TEST(KindsTest, RealKeysAreAsGoodAsRandomDigests) {
  constexpr uint64_t kKeys = 100'000;
  constexpr uint64_t kQueries = 1'000'000;
  const uint64_t store_seed = 99;
  std::unordered_set<Digest> present;
  std::vector<Digest> digests;
  for (uint64_t i = 0; i < kKeys; ++i) {
    digests.push_back(bloom::DigestOf("user" + std::to_string(2 * i), store_seed));
    present.insert(digests.back());
  }
  const std::string bytes = BuildFilter(TypeParam::kName, {.target_fpp = 0.01, .seed = 5}, digests);
  const FilterReader reader = FilterReader::Open(bytes);
  uint64_t passing = 0;
  for (uint64_t i = 0; i < kQueries; ++i) {
    const Digest digest = bloom::DigestOf("user" + std::to_string(2 * i + 1), store_seed);
    ASSERT_FALSE(present.contains(digest));
    passing += reader.MayContain(digest);
  }
  EXPECT_NEAR(static_cast<double>(passing) / kQueries / reader.Describe().predicted_fpp, 1, 0.05);
}

TYPED_TEST(KindsTest, FalsePositivesOfFiltersWithDifferentSeedsAreIndependent) {
  constexpr uint64_t kKeys = 20'000;
  constexpr uint64_t kQueries = 2'500'000;
  constexpr double kFpp = 1.0 / 16;
  const auto digests = DigestsOfKeys(0, kKeys);
  const std::string one = BuildFilter(TypeParam::kName, {.target_fpp = kFpp, .seed = 1}, digests);
  const std::string two = BuildFilter(TypeParam::kName, {.target_fpp = kFpp, .seed = 2}, digests);
  const FilterReader first = FilterReader::Open(one), second = FilterReader::Open(two);
  ASSERT_EQ(first.kind_name(), TypeParam::kName);
  double in_first = 0, in_second = 0, in_both = 0;
  for (uint64_t i = kKeys; i < kKeys + kQueries; ++i) {
    const bool a = first.MayContain(DigestOfKey(i)), b = second.MayContain(DigestOfKey(i));
    in_first += a;
    in_second += b;
    in_both += a && b;
  }
  EXPECT_NEAR(in_both / (in_first * in_second / kQueries), 1, 0.04);
}

TYPED_TEST(KindsTest, BatchesAnswerAsSingleQueriesDo) {
  // From one probe to twenty.  Filters in the cache and beyond it use different code.
  for (const double fpp : {0.5, 0.1, 0.05, 0.001, 1e-6}) {
    for (const uint64_t payload_bytes : {uint64_t{1000}, 2 * bloom::kNearPayloadBytes}) {
      const auto keys =
          static_cast<uint64_t>(8.0 * static_cast<double>(payload_bytes) / -std::log2(fpp) / 1.44);
      const std::string bytes =
          BuildFilter(TypeParam::kName, {.target_fpp = fpp, .seed = 3}, DigestsOfKeys(0, keys));
      const FilterReader reader = FilterReader::Open(bytes);
      // The builder of tables relies on this (lsm/table/table_builder.cc).
      EXPECT_LT(reader.size_bits(), 128 * keys) << fpp;
      ASSERT_EQ(reader.payload().size() > bloom::kNearPayloadBytes, payload_bytes > 1000);
      for (const size_t count : {0, 1, 2, 31, 32, 33, 63, 64, 65, 128, 1000, 20'000}) {
        // Half of them present.
        const auto digests = DigestsOfKeys(keys - count / 2 * (count / 2 < keys), keys + count, 0);
        const std::unique_ptr<bool[]> answers(new bool[digests.size()]);
        reader.MayContainBatch(digests, {answers.get(), digests.size()});
        for (size_t i = 0; i < digests.size(); ++i) {
          ASSERT_EQ(answers[i], reader.MayContain(digests[i])) << i << " of " << count;
        }
      }
    }
  }
}

TYPED_TEST(KindsTest, AlignmentOfTheBytesDoesNotMatter) {
  constexpr uint64_t kKeys = testing_support::kFewKeys;
  const std::string bytes =
      BuildFilter(TypeParam::kName, {.target_fpp = testing_support::kFewKeysFpp, .seed = 3},
                  DigestsOfKeys(0, kKeys));
  const FilterReader original = FilterReader::Open(bytes);
  ASSERT_EQ(original.kind_name(), TypeParam::kName);
  for (size_t offset = 0; offset < 64; ++offset) {
    // Exactly as long as needed, so that AddressSanitizer detects a read after the end.
    const std::unique_ptr<char[]> buffer(new char[offset + bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), buffer.get() + offset);
    const FilterReader reader = FilterReader::Open({buffer.get() + offset, bytes.size()});
    ASSERT_EQ(reader.state(), FilterState::kUsable);
    for (uint64_t i = 0; i < 4 * kKeys; ++i) {
      const Digest digest = DigestOfKey(i);
      reader.Prefetch(digest);
      ASSERT_EQ(reader.MayContain(digest), original.MayContain(digest)) << offset;
    }
  }
}

TYPED_TEST(BitKindsTest, ProbesOfAKeyAreDifferentPositions) {
  // A faulty filter that uses one hash for all of its probes sets one bit per key.
  const bloom::Shape shape = TypeParam::ShapeFor(100'000, 0.001).value();
  bloom::AlignedBytes bits = bloom::AlignedBytes::Zeros(TypeParam::PayloadBytes(shape));
  constexpr uint64_t kKeys = 1000;
  TypeParam::Build(bits.data(), shape, 1, DigestsOfKeys(0, kKeys));
  const double ones = static_cast<double>(bloom::CountOnes(bits.data(), bits.size()));
  EXPECT_NEAR(ones / (kKeys * shape.probes), 1, 0.02);
}

TYPED_TEST(BitKindsTest, FillTellsTheRateAndTheNumberOfKeys) {
  constexpr uint64_t kDesigned = 50'000;
  const bloom::Shape shape = TypeParam::ShapeFor(kDesigned, 0.01).value();
  for (const double times : {0.3, 1.0, 2.0}) {
    const auto keys = static_cast<uint64_t>(times * kDesigned);
    bloom::AlignedBytes bits = bloom::AlignedBytes::Zeros(TypeParam::PayloadBytes(shape));
    TypeParam::Build(bits.data(), shape, 9, DigestsOfKeys(0, keys));
    const double fill = static_cast<double>(bloom::CountOnes(bits.data(), bits.size())) /
                        static_cast<double>(TypeParam::SizeBits(shape));
    EXPECT_NEAR(TypeParam::KeyCountFromFill(shape, fill) / static_cast<double>(keys), 1, 0.01);
    EXPECT_NEAR(
        TypeParam::CurrentFpp({bits.data(), shape, 9}) / TypeParam::PredictedFpp(shape, keys), 1,
        0.03);
  }
}

TYPED_TEST(BitKindsTest, AddingOneByOneAndBuildingGiveTheSameBits) {
  for (const double fpp : {0.5, 0.01, 1e-5, 1e-9}) {
    const bloom::Shape shape = TypeParam::ShapeFor(999, fpp).value();
    const size_t size = TypeParam::PayloadBytes(shape);
    bloom::AlignedBytes built = bloom::AlignedBytes::Zeros(size);
    bloom::AlignedBytes added = bloom::AlignedBytes::Zeros(size);
    const auto digests = DigestsOfKeys(0, 999);
    TypeParam::Build(built.data(), shape, 4, digests);
    for (const Digest digest : digests) {
      TypeParam::Add(added.data(), shape, bloom::Remix(digest, 4));
    }
    EXPECT_TRUE(std::equal(built.data(), built.data() + size, added.data())) << fpp;
  }
}

TYPED_TEST(SolvedKindsTest, SolvesAnyNumberOfKeysAndAnyTarget) {
  for (const uint64_t keys : {1, 2, 3, 5, 10, 30, 100, 1000, 50'000}) {
    const auto digests = DigestsOfKeys(0, keys);
    for (const double fpp : {0.9, 0.5, 0.1, 0.01, 1e-4, 1e-7, bloom::kMinTargetFpp}) {
      bloom::Shape shape = TypeParam::ShapeFor(keys, fpp).value();
      bloom::AlignedBytes payload = bloom::AlignedBytes::Zeros(TypeParam::PayloadBytes(shape));
      ASSERT_THAT(TypeParam::Solve(payload.data(), shape, keys, digests), IsOk());
      ASSERT_EQ(TypeParam::Problem(shape, payload.span()), "");
      EXPECT_LE(TypeParam::PredictedFpp(shape, keys), fpp);
      EXPECT_EQ(TypeParam::PayloadBytes(shape), payload.size());
      const bloom::FilterView view{payload.data(), shape, keys};
      const bloom::FilterFunctions functions = TypeParam::Functions(view);
      for (const Digest digest : digests) ASSERT_TRUE(functions.may_contain(view, digest)) << keys;
    }
  }
}

TYPED_TEST(SolvedKindsTest, SolvesEqualDigests) {
  for (const uint64_t different : {1, 2, 50, 3000}) {
    for (const uint64_t times : {2, 3, 100}) {
      std::vector<Digest> digests;
      for (uint64_t i = 0; i < times * different; ++i)
        digests.push_back(DigestOfKey(i % different));
      bloom::Shape shape = TypeParam::ShapeFor(digests.size(), 0.001).value();
      bloom::AlignedBytes payload = bloom::AlignedBytes::Zeros(TypeParam::PayloadBytes(shape));
      ASSERT_THAT(TypeParam::Solve(payload.data(), shape, 5, digests), IsOk());
      const bloom::FilterView view{payload.data(), shape, 5};
      const bloom::FilterFunctions functions = TypeParam::Functions(view);
      for (const Digest digest : digests) ASSERT_TRUE(functions.may_contain(view, digest));
    }
  }
}

TYPED_TEST(SolvedKindsTest, PoliciesPreferSmallerStandardFilters) {
  int standard = 0, own = 0;
  for (const uint64_t keys : {1, 2, 10, 60, 200, 1000, 3000, 10'000}) {
    for (const double fpp : {0.6, 0.3, 0.1, 0.01, 0.001, 1e-6}) {
      const auto digests = DigestsOfKeys(0, keys);
      const std::string bytes = BuildFilter(TypeParam::kName, {.target_fpp = fpp}, digests);
      const size_t standard_bytes = BuildFilter("standard", {.target_fpp = fpp}, digests).size();
      const FilterReader reader = FilterReader::Open(bytes);
      ASSERT_EQ(reader.state(), FilterState::kUsable);
      if (reader.kind_name() == "standard") {
        ++standard;
        EXPECT_EQ(bytes.size(), standard_bytes);
        EXPECT_GE(TypeParam::PayloadBytes(TypeParam::ShapeFor(keys, fpp).value()) + 64,
                  standard_bytes);
      } else {
        ++own;
        EXPECT_EQ(reader.kind_name(), TypeParam::kName);
        EXPECT_LE(bytes.size(), standard_bytes);
      }
      EXPECT_EQ(reader.Describe().target_fpp, fpp);
      EXPECT_LE(reader.predicted_fpp(), 1.0001 * fpp);
      EXPECT_EQ(CountPassing(reader, 0, keys), keys);
    }
  }
  EXPECT_GT(standard, 10);
  EXPECT_GT(own, 10);
}

TYPED_TEST(SolvedKindsTest, DescriptionsHaveNoFill) {
  const std::string bytes =
      BuildFilter(TypeParam::kName, {.target_fpp = 0.001, .seed = 77}, DigestsOfKeys(0, 10'000));
  const FilterReader reader = FilterReader::Open(bytes);
  const FilterDescription description = reader.Describe();
  EXPECT_EQ(description.kind, TypeParam::kName);
  EXPECT_EQ(description.key_count, 10'000u);
  EXPECT_EQ(description.seed, 77u);
  EXPECT_EQ(description.target_fpp, 0.001);
  EXPECT_EQ(reader.payload().size(), (description.size_bits + 7) / 8);
  EXPECT_LE(description.predicted_fpp, 0.001);
  EXPECT_EQ(description.current_fpp, description.predicted_fpp);
  EXPECT_FALSE(description.has_fill);
  EXPECT_FALSE(reader.has_fill());
  EXPECT_EQ(description.fill, 0);
  EXPECT_EQ(description.estimated_key_count, 0);
  EXPECT_EQ(bloom::FillByPart(reader, 10), std::vector<double>());
}

TYPED_TEST(KindsTest, ReadmeRowsAreTrue) {
  const std::string readme =
      testing_support::ReadFile(testing_support::SourceDirectory() / "bloom/README.md");
  constexpr uint64_t kKeys = 100'000;
  for (const int digits : {4, 5, 6}) {
    const double fpp = std::pow(10, 3 - digits);
    const bloom::Shape shape = TypeParam::ShapeFor(kKeys, fpp).value();
    // As layout_bench prints them.
    char row[200];
    std::snprintf(row, sizeof row, "| %s | %u | %g | %u | %.2f | %.*f |",
                  std::string(TypeParam::kName).c_str(), TypeParam::kTag, fpp, shape.probes,
                  static_cast<double>(TypeParam::SizeBits(shape)) / kKeys, digits,
                  TypeParam::PredictedFpp(shape, kKeys));
    EXPECT_NE(readme.find(row), std::string::npos) << "not in bloom/README.md: " << row;
  }
}

TYPED_TEST(BitKindsTest, ImpossibleShapesAreProblems) {
  constexpr uint32_t kProbes = testing_support::kSomeProbes<TypeParam>;
  const uint64_t size =
      TypeParam::kLineBytesLog2 == 0 ? 1024 : 1024 >> (TypeParam::kLineBytesLog2 + 3);
  const std::vector<uint8_t> payload(TypeParam::PayloadBytes({size, kProbes}), 0);
  EXPECT_EQ(TypeParam::Problem({size, kProbes}, payload), "");
  EXPECT_NE(TypeParam::Problem({size, 0}, payload), "");
  EXPECT_NE(TypeParam::Problem({size, bloom::kMaxProbes + 1}, payload), "");
  EXPECT_NE(TypeParam::Problem({0, kProbes}, payload), "");
  EXPECT_NE(TypeParam::Problem({0, kProbes}, {}), "");
  EXPECT_NE(TypeParam::Problem({size, kProbes}, {}), "");
  EXPECT_NE(TypeParam::Problem({2 * size, kProbes}, payload), "");
  // Sizes whose bytes or bits overflow to the length of the payload.
  for (int shift = 50; shift < 64; ++shift) {
    EXPECT_NE(TypeParam::Problem({(uint64_t{1} << shift) + size, kProbes}, payload), "") << shift;
    EXPECT_NE(TypeParam::Problem({uint64_t{1} << shift, kProbes}, {}), "") << shift;
  }
  EXPECT_NE(TypeParam::Problem({UINT64_MAX, kProbes}, payload), "");
}

}  // namespace
