#include "bloom/variants/split_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/bloom/kinds.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::AlignedBytes;
using bloom::FilterFunctions;
using bloom::FilterView;
using bloom::Shape;
using bloom::Simd;
using bloom::SplitBlock;
using bloom::SplitBlockFpp;
using bloom::SplitBlockShapeFor;
using testing::HasSubstr;
using testing_support::DigestsOfKeys;
using testing_support::StatusIs;

TEST(SplitBlockTest, PathsForDifferentCpusAreOneFilter) {
  for (const uint64_t lines : {1, 3, 64, 20'001}) {
    const Shape shape{lines, SplitBlock::kProbes};
    const uint64_t keys = 40 * lines + 7;
    AlignedBytes portable = AlignedBytes::Zeros(SplitBlock::PayloadBytes(shape));
    AlignedBytes fast = AlignedBytes::Zeros(SplitBlock::PayloadBytes(shape));
    SplitBlock::Build(portable.data(), shape, 5, DigestsOfKeys(0, keys), Simd::kPortable);
    SplitBlock::Build(fast.data(), shape, 5, DigestsOfKeys(0, keys), bloom::BestSimd());
    ASSERT_TRUE(std::equal(fast.data(), fast.data() + fast.size(), portable.data())) << lines;

    const FilterView view{portable.data(), shape, 5};
    const auto digests = DigestsOfKeys(keys - 47, keys + 4000);
    for (const Simd simd : {Simd::kPortable, bloom::BestSimd()}) {
      const FilterFunctions functions = SplitBlock::Functions(view, simd);
      const std::unique_ptr<bool[]> answers(new bool[digests.size()]);
      functions.may_contain_batch(view, digests.data(), digests.size(), answers.get());
      uint64_t denied = 0;
      for (size_t i = 0; i < digests.size(); ++i) {
        const uint64_t hash = bloom::Remix(digests[i], 5);
        const bool answer = SplitBlock::HasAll(portable.data(), shape, hash);
        ASSERT_EQ(functions.may_contain(view, digests[i]), answer) << lines << ", " << i;
        ASSERT_EQ(answers[i], answer) << lines << ", " << i;
        denied += !answer;
      }
      EXPECT_GT(denied, 1000u);
    }
  }
}

// Every single bit counts: a line of ones with one zero denies exactly the keys that probe this
// bit.
TEST(SplitBlockTest, EveryPathChecksEveryBitOfALine) {
  const Shape shape{1, SplitBlock::kProbes};
  const auto digests = DigestsOfKeys(0, 300);
  for (uint32_t hole = 0; hole < 256; ++hole) {
    std::vector<uint8_t> line(SplitBlock::kLineBytes, 0xff);
    line[hole / 8] = static_cast<uint8_t>(0xff ^ (1 << (hole % 8)));
    const FilterView view{line.data(), shape, 5};
    for (const bloom::Digest digest : digests) {
      const uint32_t in_word =
          static_cast<uint32_t>(bloom::Remix(digest, 5)) * SplitBlock::kSalts[hole / 32] >> 27;
      for (const Simd simd : {Simd::kPortable, bloom::BestSimd()}) {
        ASSERT_EQ(SplitBlock::Functions(view, simd).may_contain(view, digest), in_word != hole % 32)
            << hole;
      }
    }
  }
}

// The mix over the loads of lines, term by term.
double ExactSplitBlockFpp(uint64_t lines, uint64_t keys) {
  const auto n = static_cast<double>(keys);
  const double p = 1.0 / static_cast<double>(lines);
  double sum = 0;
  for (double i = 0; i <= std::min(n, n * p + 14 * std::sqrt(n * p) + 40); ++i) {
    const double log_weight = std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) +
                              i * std::log(p) + (n - i) * std::log1p(-p);
    // The last term is for a key with the same 32 bits.
    sum += std::exp(log_weight) * (std::pow(1 - std::pow(31.0 / 32, i), 8) + i * 0x1p-32);
  }
  return sum;
}

TEST(SplitBlockSizingTest, RatesAgreeWithTheMixAndWithMeasurementsOfOthers) {
  for (const uint64_t keys : {3, 100, 10'000, 1'000'000}) {
    for (const double bits_per_key : {4.0, 10.0, 12.0, 20.0, 40.0}) {
      const auto lines = std::max<uint64_t>(
          2, static_cast<uint64_t>(bits_per_key * static_cast<double>(keys) / 256));
      EXPECT_NEAR(SplitBlockFpp(lines, keys) / ExactSplitBlockFpp(lines, keys), 1, 1e-6)
          << keys << " keys, " << lines << " lines";
    }
  }
  EXPECT_NEAR(SplitBlockFpp(12 * 1'000'000 / 256, 1'000'000) / 0.005415, 1, 0.01);  // Boost's
  // Parquet's sizes for 0.005 and 0.01, which have fewer bits than these rates need.
  EXPECT_NEAR(SplitBlockFpp(11'540'000 / 256, 1'000'000) / 0.0065, 1, 0.01);
  EXPECT_NEAR(SplitBlockFpp(9'680'000 / 256, 1'000'000) / 0.0146, 1, 0.01);
  EXPECT_EQ(SplitBlockFpp(0, 5), 1);
  EXPECT_EQ(SplitBlockFpp(5, 0), 0);
  EXPECT_EQ(SplitBlockFpp(5, 1'000'000), 1);
  EXPECT_NEAR(SplitBlockFpp(1, 40), std::pow(1 - std::pow(31.0 / 32, 40), 8) + 40 * 0x1p-32, 1e-12);
}

TEST(SplitBlockSizingTest, FindsTheFewestLines) {
  for (const double fpp : {0.9, 0.1, 0.01, 0.001, 1e-6, 1e-9}) {
    for (const uint64_t keys : {1, 5, 77, 5000, 100'000}) {
      const Shape shape = SplitBlockShapeFor(keys, fpp).value();
      EXPECT_EQ(shape.probes, 8u);
      EXPECT_LE(SplitBlockFpp(shape.size, keys), fpp);
      const uint64_t smaller = shape.size - 1 - shape.size / 50'000;
      EXPECT_TRUE(shape.size == 1 || SplitBlockFpp(smaller, keys) > fpp) << keys << " at " << fpp;
    }
  }
}

TEST(SplitBlockSizingTest, SizesComparedWithBlocked) {
  const auto times_blocked = [](double fpp) {
    return static_cast<double>(SplitBlockShapeFor(1'000'000, fpp).value().size) * 256 /
           (static_cast<double>(bloom::BlockedShapeFor(1'000'000, fpp).value().size) * 512);
  };
  EXPECT_NEAR(times_blocked(0.1), 1.24, 0.005);
  EXPECT_NEAR(times_blocked(0.01), 1.06, 0.005);
  EXPECT_NEAR(times_blocked(0.001), 1.085, 0.005);
}

TEST(SplitBlockSizingTest, ParquetsFormulaWouldMissTheTarget) {
  const auto delivered = [](double fpp) {
    const double bits = -8 / std::log(1 - std::pow(fpp, 1.0 / 8)) * 1e6;
    return SplitBlockFpp(static_cast<uint64_t>(bits / 256), 1'000'000);
  };
  EXPECT_NEAR(delivered(0.01), 0.0146, 0.0001);
  EXPECT_NEAR(delivered(0.005), 0.0082, 0.0003);
  const Shape shape = SplitBlockShapeFor(1'000'000, 0.01).value();
  EXPECT_NEAR(static_cast<double>(shape.size) * 256 / 1e6, 10.53, 0.01);
}

TEST(SplitBlockSizingTest, RefusesTooManyLines) {
  EXPECT_THAT(SplitBlockShapeFor(uint64_t{1} << 40, 0.01),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4294967295")));
  EXPECT_THAT(SplitBlockShapeFor(uint64_t{1} << 36, 0.01), testing_support::IsOk());
  // Probes reach the last line, but none beyond it.
  const Shape most{SplitBlock::kMaxLines, SplitBlock::kProbes};
  EXPECT_EQ(SplitBlock::LineOffset(most, UINT64_MAX), (SplitBlock::kMaxLines - 1) * 32);
}

}  // namespace
