#include "bloom/core/packed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "bloom/core/shape.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::kMaxPackedBits;
using bloom::PackedArray;
using bloom::PackedBytes;
using bloom::PackedProblem;
using testing::HasSubstr;
using testing_support::Dice;

TEST(PackedTest, StoresNumbersOfEveryWidth) {
  Dice dice(5);
  for (uint32_t width = 1; width <= kMaxPackedBits; ++width) {
    PackedArray array = PackedArray::Zeros(101, width).value();
    std::vector<uint64_t> oracle(101, 0);
    EXPECT_EQ(array.max(), ~uint64_t{0} >> (64 - width));
    for (int step = 0; step < 2000; ++step) {
      const uint64_t i = dice.Roll(101);
      oracle[i] = step % 3 == 0 ? array.max() : dice.Next() & array.max();
      array.Set(i, oracle[i]);
      const uint64_t j = dice.Roll(101);
      ASSERT_EQ(array.Get(j), oracle[j]) << width;
    }
    for (uint64_t i = 0; i < 101; ++i) ASSERT_EQ(array.Get(i), oracle[i]) << width;
    EXPECT_EQ(PackedProblem(101, width, array.bytes()), "");
    const PackedArray copy = PackedArray::From(101, width, array.bytes()).value();
    for (uint64_t i = 0; i < 101; ++i) ASSERT_EQ(copy.Get(i), oracle[i]) << width;
    array.Clear();
    EXPECT_EQ(array.CountNonZero(), 0u);
  }
}

TEST(PackedTest, BytesMatchTheDrawing) {
  PackedArray array = PackedArray::Zeros(3, 12).value();
  array.Set(0, 0xabc);
  array.Set(1, 0xdef);
  array.Set(2, 0x123);
  EXPECT_THAT(std::vector<uint8_t>(array.bytes().begin(), array.bytes().end()),
              testing::ElementsAre(0xbc, 0xfa, 0xde, 0x23, 0x01));
  EXPECT_EQ(array.CountNonZero(), 3u);
}

TEST(PackedTest, AdditionStopsAtTheMaximum) {
  PackedArray array = PackedArray::Zeros(3, 4).value();
  array.AddSaturating(1, 14);
  EXPECT_EQ(array.Get(1), 14u);
  array.AddSaturating(1, 1);
  EXPECT_EQ(array.Get(1), 15u);
  array.AddSaturating(1, 1);
  array.AddSaturating(1, UINT64_MAX);
  EXPECT_EQ(array.Get(1), 15u);
  EXPECT_EQ(array.Get(0) + array.Get(2), 0u);
}

TEST(PackedTest, NamesImpossibleBytes) {
  const std::vector<uint8_t> bytes = {0xff, 0x0f};
  EXPECT_EQ(PackedProblem(3, 4, bytes), "");
  EXPECT_EQ(PackedProblem(4, 3, bytes), "");
  EXPECT_THAT(PackedProblem(11, 1, bytes), HasSubstr("after its last number"));
  EXPECT_THAT(PackedProblem(5, 4, bytes), HasSubstr("2 bytes for 5 numbers of 4 bits"));
  EXPECT_NE(PackedProblem(0, 4, {}), "");
  EXPECT_NE(PackedProblem(3, 0, bytes), "");
  for (int shift = 40; shift < 64; ++shift) {
    EXPECT_NE(PackedProblem((uint64_t{1} << shift) + 3, 4, bytes), "");
    EXPECT_NE(PackedProblem(uint64_t{1} << shift, 4, {}), "");
  }
  EXPECT_EQ(PackedBytes(UINT64_MAX, 57), UINT64_MAX);
  EXPECT_THAT(
      PackedArray::Zeros(UINT64_MAX, 4),
      testing_support::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^56 bits")));
}

}  // namespace
