#include "bloom/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bloom/core/probe.h"
#include "bloom/filter_policy.h"
#include "bloom/hash.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::Filter;
using testing::HasSubstr;
using testing_support::DigestOfKey;
using testing_support::DigestsOfKeys;
using testing_support::IsOk;
using testing_support::kSomeProbes;
using testing_support::StatusIs;

std::string Key(int i) { return "key " + std::to_string(i); }

template <class Layout>
class FilterTest : public testing::Test {
 protected:
  static Filter<Layout> Make(uint64_t keys, double fpp, uint64_t seed = 0) {
    return Filter<Layout>::Make(keys, fpp, seed).value();
  }
  static Filter<Layout> WithKeys(int from, int to, uint64_t designed = 10'000) {
    Filter<Layout> filter = Make(designed, 0.01, 3);
    for (int i = from; i < to; ++i) filter.Add(Key(i));
    return filter;
  }
};
TYPED_TEST_SUITE(FilterTest, testing_support::BitKindTypes, testing_support::KindNames);

TYPED_TEST(FilterTest, HoldsItsKeysAndFewOthers) {
  const Filter<TypeParam> filter = this->WithKeys(0, 10'000);
  int passing = 0;
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(filter.MayContain(Key(i)));
  for (int i = 10'000; i < 110'000; ++i) passing += filter.MayContain(Key(i));
  EXPECT_NEAR(passing, 1000, 150);
  EXPECT_EQ(filter.added_count(), 10'000u);
  EXPECT_NEAR(filter.EstimatedKeyCount(), 10'000, 150);
  EXPECT_NEAR(filter.CurrentFpp(), 0.01, 0.001);
  EXPECT_NEAR(filter.PredictedFpp(10'000), 0.01, 0.0002);
  EXPECT_EQ(filter.target_fpp(), 0.01);
}

TYPED_TEST(FilterTest, TakesDigestsAndKeys) {
  Filter<TypeParam> filter = this->Make(1000, 0.01);
  filter.AddDigest(filter.DigestOf("apple"));
  EXPECT_TRUE(filter.MayContain("apple"));
  EXPECT_FALSE(filter.MayContain("pear"));
  const auto digests = DigestsOfKeys(0, 500);
  filter.AddDigests(digests);
  EXPECT_EQ(filter.added_count(), 501u);
  bool answers[500];
  filter.MayContainBatch(digests, answers);
  for (const bool answer : answers) EXPECT_TRUE(answer);
  EXPECT_TRUE(filter.MayContainDigest(digests[7]));
}

TYPED_TEST(FilterTest, DigestsAddedOneByOneAndTogetherMakeTheSameFilter) {
  for (uint32_t probes = 1; probes <= bloom::kMaxProbes; ++probes) {
    const auto of_shape = [&] { return Filter<TypeParam>::MakeOfShape({1000, probes}, 0.01, 3); };
    auto one_by_one = of_shape(), together = of_shape();
    if (!one_by_one.ok()) continue;  // a number of probes that this kind cannot have
    const auto digests = DigestsOfKeys(0, 300);
    for (const bloom::Digest digest : digests) one_by_one->AddDigest(digest);
    together->AddDigests(digests);
    ASSERT_EQ(one_by_one->Serialize(), together->Serialize()) << probes;
  }
  // A filter that exceeds the near caches, so that additions prefetch.
  Filter<TypeParam> one_by_one = this->Make(400'000, 0.01, 3),
                    together = this->Make(400'000, 0.01, 3);
  uint64_t from = 0;
  for (const uint64_t count : {0, 1, 15, 16, 17, 31, 32, 33, 5000}) {
    const auto digests = DigestsOfKeys(from, from + count);
    for (const bloom::Digest digest : digests) one_by_one.AddDigest(digest);
    together.AddDigests(digests);
    ASSERT_EQ(one_by_one.Serialize(), together.Serialize()) << count;
    from += count;
  }
}

// In a filter that fits a near cache and in one that does not.  One of them is overfilled, so that
// many new digests pass.
TYPED_TEST(FilterTest, AddIfAbsentEqualsAskingAndAdding) {
  for (const uint64_t planned : {1000, 400'000}) {
    Filter<TypeParam> together = this->Make(planned, 0.01, 3), apart = this->Make(planned, 0.01, 3);
    Filter<TypeParam> in_batches = this->Make(planned, 0.01, 3);
    std::vector<bloom::Digest> digests;
    for (uint64_t i = 0; i < 6000; ++i) digests.push_back(DigestOfKey(i * i % 4001));
    int absent = 0;
    std::vector<bool> answers;
    for (const bloom::Digest digest : digests) {
      const bool passes = apart.MayContainDigest(digest);
      apart.AddDigest(digest);
      ASSERT_EQ(together.AddDigestIfAbsent(digest), !passes);
      ASSERT_FALSE(together.AddDigestIfAbsent(digest));
      absent += !passes;
      answers.push_back(!passes);
    }
    EXPECT_GT(absent, planned == 1000 ? 1500 : 1990);
    EXPECT_LE(absent, 2001);  // squares modulo a prime
    EXPECT_EQ(together.added_count(), static_cast<uint64_t>(absent));
    EXPECT_EQ(together.Fill(), apart.Fill());
    EXPECT_EQ(together.CurrentFpp(), apart.CurrentFpp());
    size_t at = 0;
    for (const size_t count : {0, 1, 15, 16, 17, 31, 32, 33, 100, 5755}) {
      const std::unique_ptr<bool[]> were_absent(new bool[count]);
      in_batches.AddDigestsIfAbsent({digests.data() + at, count}, {were_absent.get(), count});
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(were_absent[i], answers[at + i]) << at + i;
      at += count;
    }
    EXPECT_EQ(at, digests.size());
    EXPECT_EQ(in_batches.Serialize(), together.Serialize());
  }
  Filter<TypeParam> filter = this->Make(100, 0.001);
  EXPECT_TRUE(filter.AddIfAbsent("apple"));
  EXPECT_FALSE(filter.AddIfAbsent("apple"));
  EXPECT_TRUE(filter.MayContain("apple"));
}

TYPED_TEST(FilterTest, ReportsOverfilling) {
  const Filter<TypeParam> filter = this->WithKeys(0, 20'000, 10'000);
  EXPECT_NEAR(filter.CurrentFpp() / filter.PredictedFpp(20'000), 1, 0.05);
  EXPECT_GT(filter.CurrentFpp(), 0.1);
  EXPECT_NEAR(filter.EstimatedKeyCount(), 20'000, 300);
}

TYPED_TEST(FilterTest, SurvivesSavingAndLoading) {
  const Filter<TypeParam> filter = this->WithKeys(0, 5000);
  const auto loaded = Filter<TypeParam>::Load(filter.Serialize());
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->Serialize(), filter.Serialize());
  EXPECT_EQ(loaded->added_count(), 5000u);
  EXPECT_EQ(loaded->shape(), filter.shape());
  for (int i = 0; i < 20'000; ++i) ASSERT_EQ(loaded->MayContain(Key(i)), filter.MayContain(Key(i)));
}

TYPED_TEST(FilterTest, IsReadByFilterReaderToo) {
  const Filter<TypeParam> filter = this->WithKeys(0, 5000);
  const std::string bytes = filter.Serialize();
  const bloom::FilterReader reader = bloom::FilterReader::Open(bytes);
  ASSERT_EQ(reader.state(), bloom::FilterState::kUsable);
  EXPECT_EQ(reader.Describe().kind, TypeParam::kName);
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(reader.MayContain(filter.DigestOf(Key(i))), filter.MayContain(Key(i)));
  }
}

TYPED_TEST(FilterTest, LoadsTheBytesOfABuilder) {
  const auto digests = DigestsOfKeys(0, 1000);
  const std::string bytes = testing_support::BuildFilter(TypeParam::kName, {.seed = 12}, digests);
  const auto filter = Filter<TypeParam>::Load(bytes);
  ASSERT_THAT(filter, IsOk());
  for (const bloom::Digest digest : digests) EXPECT_TRUE(filter->MayContainDigest(digest));
  EXPECT_EQ(filter->Serialize(), bytes);
}

TYPED_TEST(FilterTest, LoadRefusesDamageUnknownVersionsAndOtherKinds) {
  const std::string bytes = this->WithKeys(0, 100, 100).Serialize();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_THAT(Filter<TypeParam>::Load(damaged), StatusIs(absl::StatusCode::kDataLoss)) << i;
    EXPECT_THAT(Filter<TypeParam>::Load(bytes.substr(0, i)), StatusIs(absl::StatusCode::kDataLoss));
  }
  bloom::FilterHeader newer = bloom::ParseFilter(bytes).header;
  newer.version = 9;
  EXPECT_THAT(Filter<TypeParam>::Load(bloom::EncodeFilter(newer, {})),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("version 9")));
  EXPECT_THAT(Filter<TypeParam>::Load(testing_support::BuildFilter("standard", {}, {})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kind 1")));
}

TYPED_TEST(FilterTest, MergingGivesTheBitsOfBothSetsOfKeys) {
  Filter<TypeParam> left = this->WithKeys(0, 3000);
  EXPECT_THAT(left.Merge(this->WithKeys(3000, 7000)), IsOk());
  EXPECT_EQ(left.Serialize(), this->WithKeys(0, 7000).Serialize());
}

TYPED_TEST(FilterTest, RefusesToMergeDifferentFilters) {
  Filter<TypeParam> filter = this->WithKeys(0, 1000);
  const std::string before = filter.Serialize();
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(filter.Merge(this->Make(20'000, 0.01, 3)), StatusIs(kInvalid, HasSubstr("sizes")));
  EXPECT_THAT(filter.Merge(this->Make(10'000, 0.01, 4)), StatusIs(kInvalid, HasSubstr("seeds")));
  EXPECT_EQ(filter.Serialize(), before);
}

TYPED_TEST(FilterTest, IntersectionHoldsSharedKeys) {
  Filter<TypeParam> filter = this->WithKeys(0, 6000);
  const Filter<TypeParam> left = this->WithKeys(0, 6000), right = this->WithKeys(4000, 10'000);
  EXPECT_THAT(filter.Intersect(right), IsOk());
  for (int i = 4000; i < 6000; ++i) ASSERT_TRUE(filter.MayContain(Key(i)));
  int of_one = 0, absent = 0;
  for (int i = 0; i < 110'000; ++i) {
    if (filter.MayContain(Key(i))) {
      ASSERT_TRUE(left.MayContain(Key(i)) && right.MayContain(Key(i)));
      of_one += i < 4000 || (i >= 6000 && i < 10'000);
      absent += i >= 10'000;
    }
  }
  EXPECT_LT(of_one, 80);  // because they pass the other filter
  EXPECT_GT(absent, 0);
  EXPECT_LE(filter.CurrentFpp(), left.CurrentFpp());
  EXPECT_GT(filter.CurrentFpp(), this->WithKeys(4000, 6000).CurrentFpp());
  EXPECT_EQ(filter.added_count(), 6000u);
}

TYPED_TEST(FilterTest, RefusesToIntersectDifferentFilters) {
  Filter<TypeParam> filter = this->WithKeys(0, 1000);
  const std::string before = filter.Serialize();
  EXPECT_THAT(filter.Intersect(this->Make(20'000, 0.01, 3)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sizes")));
  EXPECT_EQ(filter.Serialize(), before);
}

TYPED_TEST(FilterTest, FoldedItIsTheFilterOfHalfTheSize) {
  if constexpr (bloom::FoldableLayout<TypeParam>) {
    constexpr uint32_t kProbes = kSomeProbes<TypeParam>;
    for (const uint64_t size : {64, 1000, 1002, 1026, 4096}) {
      const auto of_size = [&](uint64_t of) {
        Filter<TypeParam> filter = Filter<TypeParam>::MakeOfShape({of, kProbes}, 0.01, 3).value();
        for (int i = 0; i < 300; ++i) filter.Add(Key(i));
        return filter;
      };
      Filter<TypeParam> filter = of_size(size);
      for (uint64_t half = size; half % 2 == 0;) {
        half /= 2;
        ASSERT_THAT(filter.FoldInHalf(), IsOk());
        EXPECT_EQ(filter.shape(), (bloom::Shape{half, kProbes}));
        ASSERT_EQ(filter.Serialize(), of_size(half).Serialize()) << size << " to " << half;
        for (int i = 0; i < 300; ++i) ASSERT_TRUE(filter.MayContain(Key(i)));
      }
      const std::string before = filter.Serialize();
      EXPECT_THAT(filter.FoldInHalf(),
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("odd size")));
      EXPECT_EQ(filter.Serialize(), before);
    }
  }
}

TYPED_TEST(FilterTest, RefusesImpossibleShapes) {
  constexpr uint32_t kProbes = kSomeProbes<TypeParam>;
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(Filter<TypeParam>::MakeOfShape({0, kProbes}, 0.01), refused("shape: "));
  EXPECT_THAT(Filter<TypeParam>::MakeOfShape({100, 0}, 0.01), refused("0 probes"));
  EXPECT_THAT(Filter<TypeParam>::MakeOfShape({100, 33}, 0.01), refused("33 probes"));
  EXPECT_THAT(Filter<TypeParam>::MakeOfShape({UINT64_MAX, kProbes}, 0.01), refused("2^56 bits"));
  EXPECT_THAT(Filter<TypeParam>::MakeOfShape({100, kProbes}, 1), refused("target_fpp"));
}

TYPED_TEST(FilterTest, LoadsEveryFilterThatCanBeMade) {
  constexpr uint32_t kProbes = kSomeProbes<TypeParam>;
  for (const uint64_t detail : {uint64_t{0}, uint64_t{4}, UINT64_MAX}) {
    const auto filter = Filter<TypeParam>::MakeOfShape({100, kProbes, detail}, 0.01);
    if (detail == 0) {
      ASSERT_THAT(filter, IsOk());
      EXPECT_THAT(Filter<TypeParam>::Load(filter->Serialize()), IsOk());
    } else {
      EXPECT_THAT(filter, StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("shape.detail must be 0")));
    }
  }
}

TYPED_TEST(FilterTest, ClearForgetsAllKeys) {
  Filter<TypeParam> filter = this->WithKeys(0, 1000);
  filter.Clear();
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(filter.MayContain(Key(i)));
  EXPECT_EQ(filter.added_count(), 0u);
  EXPECT_EQ(filter.Fill(), 0);
  EXPECT_EQ(filter.EstimatedKeyCount(), 0);
  EXPECT_EQ(filter.CurrentFpp(), 0);
}

TYPED_TEST(FilterTest, MovesWithItsBits) {
  Filter<TypeParam> filter = this->WithKeys(0, 1000);
  const std::string bytes = filter.Serialize();
  Filter<TypeParam> moved = std::move(filter);
  EXPECT_EQ(moved.Serialize(), bytes);
  EXPECT_TRUE(moved.MayContain(Key(5)));
}

TYPED_TEST(FilterTest, BadParametersAreNamedErrors) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Filter<TypeParam>::Make(0, 0.01), StatusIs(kInvalid, HasSubstr("key_count")));
  EXPECT_THAT(Filter<TypeParam>::Make(10, std::nan("")),
              StatusIs(kInvalid, HasSubstr("target_fpp")));
  EXPECT_THAT(Filter<TypeParam>::Make(UINT64_MAX, 0.01), StatusIs(kInvalid));
}

TYPED_TEST(FilterTest, SeedsMakeDifferentFilters) {
  Filter<TypeParam> one = this->Make(100, 0.01, 1), two = this->Make(100, 0.01, 2);
  one.Add("apple");
  two.Add("apple");
  EXPECT_NE(one.DigestOf("apple"), two.DigestOf("apple"));
  EXPECT_NE(one.Serialize().substr(64), two.Serialize().substr(64));
}

// An attacker who knows the seed can choose keys none of whose bits are set yet (Gerbet, Kumar,
// Lauradoux 2015).  The rate is then (kn / m)^k.  With an unknown seed these keys are like any
// others.
TEST(FilterSeedTest, ChosenKeysSpoilAFilterWhoseSeedIsKnown) {
  constexpr uint64_t kKeys = 1000, kKnown = 5, kUnknown = 6;
  const struct { double target_fpp, spoilt; } cases[] = {{0.01, 0.111}, {0.001, 0.026}};
  for (const auto& c : cases) {
    auto known = Filter<bloom::Standard>::Make(kKeys, c.target_fpp, kKnown).value();
    auto unknown = Filter<bloom::Standard>::Make(kKeys, c.target_fpp, kUnknown).value();
    const bloom::Shape& shape = known.shape();
    std::vector<bool> taken(shape.size);
    for (uint64_t key = 0; known.added_count() < kKeys; ++key) {
      const bloom::DistinctProbes bits(bloom::Remix(DigestOfKey(key), kKnown), shape.size,
                                       shape.probes);
      if (bits.end() - bits.begin() < shape.probes ||
          std::any_of(bits.begin(), bits.end(), [&](uint64_t bit) { return taken[bit]; }))
        continue;
      for (const uint64_t bit : bits) taken[bit] = true;
      known.AddDigest(DigestOfKey(key));
      unknown.AddDigest(DigestOfKey(key));
    }
    EXPECT_NEAR(known.CurrentFpp() / c.spoilt, 1, 0.02);
    EXPECT_NEAR(unknown.CurrentFpp() / c.target_fpp, 1, 0.2);
  }
}

}  // namespace
