#include "bloom/core/bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace {

using bloom::AlignedBytes;

bool AllZero(const AlignedBytes& bytes) {
  const auto span = bytes.span();
  return std::all_of(span.begin(), span.end(), [](uint8_t byte) { return byte == 0; });
}

// Below and above the size from which huge pages are requested.
TEST(AlignedBytesTest, ZeroedAndAligned) {
  constexpr size_t kMiB = size_t{1} << 20;
  for (const size_t size : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, kMiB, 8 * kMiB - 1,
                            8 * kMiB, 8 * kMiB + 1, 9 * kMiB, 33 * kMiB + 5}) {
    // Runs twice: the second round gets the memory that the first one freed.
    for (int round = 0; round < 2; ++round) {
      AlignedBytes bytes = AlignedBytes::Zeros(size);
      ASSERT_EQ(bytes.size(), size);
      const size_t alignment = size < 8 * kMiB ? AlignedBytes::kAlignment : 2 * kMiB;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % alignment, 0u) << size;
      ASSERT_TRUE(AllZero(bytes)) << size;
      std::fill_n(bytes.data(), size, uint8_t{0xff});
    }
  }
}

TEST(AlignedBytesTest, EmptyForZeroBytesAndWithoutMemory) {
  EXPECT_EQ(AlignedBytes::Zeros(0).data(), nullptr);
  EXPECT_EQ(AlignedBytes::Zeros(SIZE_MAX).data(), nullptr);
  EXPECT_EQ(AlignedBytes::Zeros(SIZE_MAX / 2 + 2).size(), 0u);
  EXPECT_TRUE(absl::IsResourceExhausted(bloom::ZerosFor(uint64_t{1} << 62).status()));
}

TEST(AlignedBytesTest, MovedFromIsEmpty) {
  AlignedBytes from = AlignedBytes::Zeros(100);
  const uint8_t* const data = from.data();
  AlignedBytes to = std::move(from);
  EXPECT_EQ(to.data(), data);
  EXPECT_EQ(from.size(), 0u);  // NOLINT(bugprone-use-after-move): that is the point
  EXPECT_EQ(from.data(), nullptr);
}

}  // namespace
