// Filters in memory, of every kind, whose keys are all known in advance.
#include "bloom/static_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/catalog.h"
#include "tests/bloom/hostile_bytes.h"
#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::StaticFilter;
using testing::HasSubstr;
using testing_support::DigestsOfKeys;
using testing_support::IsOk;
using testing_support::StatusIs;

std::vector<std::string> StaticKindNames() {
  std::vector<std::string> names;
  bloom::KeyedKinds::ForEach([&names]<class Kind>(Kind) { names.emplace_back(Kind::kName); });
  return names;
}

TEST(StaticFilterTest, EveryKindHasItsKeysAndFewOthers) {
  std::vector<std::string> texts;
  for (int i = 0; i < 110'000; ++i) texts.push_back("key " + std::to_string(i));
  const std::vector<std::string_view> keys(texts.begin(), texts.begin() + 10'000);
  for (const std::string& kind : StaticKindNames()) {
    StaticFilter made = StaticFilter::OfKeys(kind, keys, 1.0 / 128, 5).value();
    const StaticFilter filter = std::move(made);
    EXPECT_EQ(filter.kind_name(), kind);
    EXPECT_EQ(filter.seed(), 5u);
    EXPECT_EQ(filter.Describe().key_count, 10'000u);
    int passing = 0;
    for (int i = 0; i < 110'000; ++i) {
      const bool passes = filter.MayContain(texts[static_cast<size_t>(i)]);
      ASSERT_TRUE(passes || i >= 10'000) << kind;
      passing += passes;
    }
    // A standard error of 3.6 %.
    EXPECT_NEAR((passing - 10'000) / 1e5 / filter.PredictedFpp(), 1, 0.15) << kind;
    const StaticFilter again = StaticFilter::Load(filter.Serialize()).value();
    EXPECT_EQ(again.Serialize(), filter.Serialize());
    EXPECT_TRUE(again.MayContain(keys[7]));
    EXPECT_EQ(again.size_bits(), filter.size_bits());
  }
}

TEST(StaticFilterTest, BatchesAnswerAsSingleQuestionsDo) {
  const auto digests = DigestsOfKeys(0, 2000);
  const auto filter =
      StaticFilter::OfDigests("ribbon", std::span(digests).first(1000), 0.1).value();
  bool answers[2000];
  filter.MayContainBatch(digests, answers);
  for (size_t i = 0; i < digests.size(); ++i) {
    filter.Prefetch(digests[i]);
    ASSERT_EQ(answers[i], filter.MayContainDigest(digests[i]));
  }
}

TEST(StaticFilterTest, FewKeysAndNoneMakeOtherKinds) {
  const std::vector<std::string_view> keys = {"apple"};
  EXPECT_EQ(StaticFilter::OfKeys("ribbon", keys, 0.01).value().kind_name(), "standard");
  const StaticFilter none = StaticFilter::OfKeys("ribbon", {}, 0.01).value();
  EXPECT_EQ(none.kind_name(), "empty");
  EXPECT_FALSE(none.MayContain("apple"));
}

TEST(StaticFilterTest, ManyRepeatedKeysCountOnce) {
  for (const uint64_t different : {uint64_t{10}, uint64_t{50'000}}) {
    auto digests = DigestsOfKeys(0, different);
    const uint64_t bits = StaticFilter::OfDigests("blocked", digests, 0.01).value().size_bits();
    const auto once = digests;
    while (digests.size() < 110'000) digests.insert(digests.end(), once.begin(), once.end());
    const auto filter = StaticFilter::OfDigests("blocked", digests, 0.01).value();
    EXPECT_EQ(filter.size_bits(), bits);
    EXPECT_EQ(filter.Describe().key_count, different);
    for (const bloom::Digest digest : once) ASSERT_TRUE(filter.MayContainDigest(digest));
  }
}

TEST(StaticFilterTest, FewRepeatedKeysEnlargeTheFilter) {
  auto digests = DigestsOfKeys(0, 100'000);
  digests.insert(digests.end(), digests.begin(), digests.begin() + 1000);
  const auto filter = StaticFilter::OfDigests("blocked", digests, 0.01).value();
  EXPECT_EQ(filter.Describe().key_count, 101'000u);
}

TEST(StaticFilterTest, BadArgumentsAreNamed) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const std::vector<std::string_view> keys = {"apple"};
  EXPECT_THAT(StaticFilter::OfKeys("ribbons", keys, 0.01),
              StatusIs(kInvalid, HasSubstr("ribbons")));
  EXPECT_THAT(StaticFilter::OfKeys("ribbon", keys, 1), StatusIs(kInvalid, HasSubstr("target_fpp")));
}

TEST(StaticFilterTest, DamageIsDataLossAndOtherKindsAreUnknown) {
  const auto load = [](std::string_view bytes) { return StaticFilter::Load(bytes).status(); };
  const auto digests = DigestsOfKeys(0, 150);
  const std::string sound = StaticFilter::OfDigests("ribbon", digests, 0.01).value().Serialize();
  testing_support::ExpectAllDamageIsDataLoss(sound, load);
  std::string other = sound;
  other[8] = static_cast<char>(200);
  testing_support::RepairChecksum(other);
  EXPECT_THAT(load(other), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("kind 200")));
  EXPECT_THAT(load(""), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
