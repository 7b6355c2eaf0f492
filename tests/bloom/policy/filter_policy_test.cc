#include "bloom/filter_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "bloom/catalog.h"
#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::FilterBuilder;
using bloom::FilterContext;
using bloom::FilterDescription;
using bloom::FilterReader;
using bloom::FilterState;
using bloom::PolicyFromName;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::BuildFilter;
using testing_support::DigestOfKey;
using testing_support::DigestsOfKeys;
using testing_support::StatusIs;

std::unique_ptr<FilterBuilder> NewBuilder(std::string_view kind,
                                          const FilterContext& context = {}) {
  return PolicyFromName(kind).value()->NewBuilder(context);
}

TEST(PolicyFromNameTest, FindsEachKindThatHoldsKeys) {
  bloom::KeyedKinds::ForEach([]<bloom::StaticKind K>(K) {
    EXPECT_EQ(PolicyFromName(K::kName).value()->name(), K::kName);
  });
}

TEST(PolicyFromNameTest, AnyOtherNameIsAnErrorThatListsTheNames) {
  for (const char* name : {"x", "", "none", "empty", "Standard", "blocked "}) {
    EXPECT_THAT(PolicyFromName(name), StatusIs(absl::StatusCode::kInvalidArgument,
                                               AllOf(HasSubstr("\"" + std::string(name) + "\""),
                                                     HasSubstr("standard, blocked"))));
  }
}

// Also if the policy makes a standard filter, and down to a single key.
TEST(SizeOfFilterTest, MatchesTheBuiltFilter) {
  bloom::KeyedKinds::ForEach([]<class Kind>(Kind) {
    for (const uint64_t keys : {1, 60, 700, 9000}) {
      for (const double target_fpp : {0.9, 0.3, 0.01, 0.00003}) {
        const absl::StatusOr<bloom::FilterSize> size =
            bloom::SizeOfFilter(Kind::kName, keys, target_fpp);
        ASSERT_OK(size);
        const std::string bytes =
            BuildFilter(Kind::kName, {.target_fpp = target_fpp}, DigestsOfKeys(0, keys));
        EXPECT_EQ(size->bytes, bytes.size()) << Kind::kName << " " << keys << " " << target_fpp;
        EXPECT_DOUBLE_EQ(size->predicted_fpp, FilterReader::Open(bytes).predicted_fpp());
        EXPECT_LE(size->predicted_fpp, target_fpp);
      }
    }
  });
}

TEST(SizeOfFilterTest, ImpossibleRequestsAreErrors) {
  EXPECT_THAT(bloom::SizeOfFilter("x", 10, 0.01),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("standard, blocked")));
  EXPECT_THAT(bloom::SizeOfFilter("ribbon", 0, 0.01), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(bloom::SizeOfFilter("blocked", 10, 1), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(FilterBuilderTest, CountsConsecutiveEqualDigestsOnce) {
  const auto builder = NewBuilder("standard");
  for (const uint64_t digest : {0, 0, 1, 1, 1, 2, 0}) builder->Add(digest);
  EXPECT_EQ(builder->key_count(), 4u);
}

TEST(FilterBuilderTest, SizesTheFilterFromTheActualNumberOfKeys) {
  for (const uint64_t keys : {1000, 2000, 4000}) {
    const std::string bytes = BuildFilter("blocked", {.target_fpp = 0.01}, DigestsOfKeys(0, keys));
    const FilterDescription description = FilterReader::Open(bytes).Describe();
    EXPECT_EQ(description.key_count, keys);
    EXPECT_NEAR(description.bits_per_key, 9.9, 0.5);
  }
}

TEST(FilterBuilderTest, NoKeysMakeTheEmptyFilter) {
  for (const char* kind : {"standard", "blocked", "fuse3", "fuse4"}) {
    const std::string bytes = BuildFilter(kind, {.seed = 5}, {});
    EXPECT_EQ(bytes.size(), bloom::kFilterHeaderBytes);
    const FilterReader reader = FilterReader::Open(bytes);
    EXPECT_EQ(reader.state(), FilterState::kUsable);
    EXPECT_FALSE(reader.MayContain(DigestOfKey(0)));
    EXPECT_EQ(testing_support::CountPassing(reader, 0, 1000), 0u);
    const FilterDescription description = reader.Describe();
    EXPECT_EQ(description.kind, "empty");
    EXPECT_EQ(description.key_count, 0u);
    EXPECT_EQ(description.size_bits, 0u);
    EXPECT_EQ(description.predicted_fpp, 0);
    EXPECT_EQ(description.bits_per_key, 0);
    EXPECT_FALSE(description.has_fill);
    EXPECT_EQ(description.current_fpp, 0);
  }
}

TEST(FilterBuilderTest, FinishReportsABadTarget) {
  for (const double fpp : {0.0, 1.0, -1.0, 2.0, 1e-20, std::nan("")}) {
    for (const char* kind : {"standard", "blocked", "fuse3", "fuse4"}) {
      const auto builder = NewBuilder(kind, {.target_fpp = fpp});
      EXPECT_THAT(builder->Finish(),
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("target_fpp")));
      builder->Add(1);
      EXPECT_THAT(builder->Finish(),
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("target_fpp")));
    }
  }
}

TEST(FilterReaderTest, DescribesItsFilter) {
  const std::string bytes =
      BuildFilter("standard", {.target_fpp = 0.02, .seed = 77}, DigestsOfKeys(0, 10'000));
  const FilterReader reader = FilterReader::Open(bytes);
  const FilterDescription description = reader.Describe();
  EXPECT_EQ(description.state, FilterState::kUsable);
  EXPECT_EQ(description.kind, "standard");
  EXPECT_EQ(description.problem, "");
  EXPECT_EQ(description.version, 1u);
  EXPECT_EQ(description.key_count, 10'000u);
  EXPECT_EQ(description.size_bits, reader.size_bits());
  EXPECT_EQ(description.predicted_fpp, reader.predicted_fpp());
  EXPECT_EQ(description.kind, reader.kind_name());
  EXPECT_EQ(reader.payload().size(), (description.size_bits + 7) / 8);
  EXPECT_EQ(bytes.size(), bloom::kFilterHeaderBytes + reader.payload().size());
  EXPECT_EQ(description.probes, 6u);
  EXPECT_EQ(description.seed, 77u);
  EXPECT_EQ(description.target_fpp, 0.02);
  EXPECT_NEAR(description.predicted_fpp, 0.02, 1e-5);
  EXPECT_NEAR(description.bits_per_key, 8.15, 0.02);
  EXPECT_TRUE(description.has_fill);
  EXPECT_TRUE(reader.has_fill());
  EXPECT_NEAR(description.fill, 0.52, 0.02);
  EXPECT_EQ(static_cast<double>(description.ones) / static_cast<double>(description.size_bits),
            description.fill);
  EXPECT_NEAR(description.current_fpp, 0.02, 0.001);
  EXPECT_NEAR(description.estimated_key_count, 10'000, 200);
}

TEST(FilterReaderTest, CopiesAnswerFromTheSameBytes) {
  const std::string bytes = BuildFilter("blocked", {}, DigestsOfKeys(0, 100));
  FilterReader copy;
  {
    const FilterReader reader = FilterReader::Open(bytes);
    copy = reader;
  }
  EXPECT_EQ(copy.state(), FilterState::kUsable);
  EXPECT_EQ(testing_support::CountPassing(copy, 0, 100), 100u);
  EXPECT_LT(testing_support::CountPassing(copy, 100, 1000), 50u);
}

}  // namespace
