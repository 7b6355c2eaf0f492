#include "bloom/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bloom/core/bits.h"
#include "tests/bloom/kinds.h"

namespace {

using bloom::FillByPart;
using bloom::FilterReader;
using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::BuildFilter;
using testing_support::DigestsOfKeys;

// A standard filter with these bits.
std::string FilterOf(const std::vector<uint8_t>& payload, uint64_t bits) {
  return bloom::EncodeFilter({.kind = bloom::Standard::kTag,
                              .version = bloom::Standard::kVersion,
                              .shape = {bits, 3},
                              .key_count = 1,
                              .target_fpp = 0.5},
                             payload);
}

TEST(InspectTest, CountsOnesPartByPart) {
  const std::string bytes = FilterOf({0xff, 0x00, 0x0f, 0x01}, 32);
  const FilterReader reader = FilterReader::Open(bytes);
  EXPECT_THAT(FillByPart(reader, 1), ElementsAre(13 / 32.0));
  EXPECT_THAT(FillByPart(reader, 2), ElementsAre(0.5, 5 / 16.0));
  EXPECT_THAT(FillByPart(reader, 4), ElementsAre(1, 0, 0.5, 0.125));
  EXPECT_THAT(FillByPart(reader, 8), ElementsAre(1, 1, 0, 0, 1, 0, 0.25, 0));
  EXPECT_EQ(reader.Describe().fill, 13 / 32.0);
}

TEST(InspectTest, PartsNeedNotAlignToBytes) {
  const std::string bytes = FilterOf({0b11111111, 0b11}, 10);
  const FilterReader reader = FilterReader::Open(bytes);
  EXPECT_THAT(FillByPart(reader, 3), ElementsAre(1, 1, 1));
  const std::string hole = FilterOf({0b11110111, 0b11}, 10);
  EXPECT_THAT(FillByPart(FilterReader::Open(hole), 3), ElementsAre(1, 2 / 3.0, 1));
  const std::string end = FilterOf({0b11111111, 0b01}, 10);
  EXPECT_THAT(FillByPart(FilterReader::Open(end), 3), ElementsAre(1, 1, 3 / 4.0));
}

TEST(InspectTest, AtMostOnePartPerBit) {
  const std::string bytes = FilterOf({0b101}, 3);
  const FilterReader reader = FilterReader::Open(bytes);
  EXPECT_THAT(FillByPart(reader, 100), ElementsAre(1, 0, 1));
  EXPECT_THAT(FillByPart(reader, 0), IsEmpty());
}

TEST(InspectTest, FiltersWithoutBitsHaveNoParts) {
  EXPECT_THAT(FillByPart(FilterReader(), 5), IsEmpty());
  const std::string empty = BuildFilter("standard", {}, {});
  EXPECT_THAT(FillByPart(FilterReader::Open(empty), 5), IsEmpty());
}

TEST(InspectTest, SolvedKindsHaveNoFill) {
  const std::string bytes =
      BuildFilter("fuse3", {.target_fpp = testing_support::kFewKeysFpp}, DigestsOfKeys(0, 5000));
  const FilterReader reader = FilterReader::Open(bytes);
  ASSERT_EQ(reader.kind_name(), "fuse3");
  EXPECT_THAT(FillByPart(reader, 5), IsEmpty());
}

TEST(InspectTest, AFilterIsEvenlyFilled) {
  for (const char* kind : {"standard", "blocked"}) {
    const std::string bytes = BuildFilter(kind, {}, DigestsOfKeys(0, 100'000));
    const FilterReader reader = FilterReader::Open(bytes);
    const double fill = reader.Describe().fill;
    EXPECT_NEAR(fill, 0.5, 0.05);
    for (const double part : FillByPart(reader, 20)) EXPECT_NEAR(part, fill, 0.02);
  }
}

TEST(BitsTest, CountsBetweenAnyTwoBits) {
  std::vector<uint8_t> bytes(40);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + 11);
  for (uint64_t from = 0; from <= 320; from += 7) {
    uint64_t ones = 0;
    for (uint64_t to = from; to <= 320; ++to) {
      ASSERT_EQ(bloom::CountOnesBetween(bytes.data(), from, to), ones) << from << " to " << to;
      if (to < 320) ones += bloom::TestBit(bytes.data(), to);
    }
  }
}

}  // namespace
