// The blocked kind has different code for different CPUs.  All of it must give the same filter.
#include "bloom/variants/blocked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/bloom/kinds.h"

namespace {

using bloom::AlignedBytes;
using bloom::Blocked;
using bloom::FilterFunctions;
using bloom::FilterView;
using bloom::Shape;
using bloom::Simd;
using testing_support::DigestsOfKeys;

// Small filters in cache, odd numbers of lines, and a filter so large that batches prefetch.
constexpr uint64_t kLineCounts[] = {1, 3, 64, 5001};

// The best path of this CPU.  Without AVX2 that is the portable path.
const Simd kBest = bloom::BestSimd();

class BlockedTest : public testing::TestWithParam<uint32_t> {};

TEST_P(BlockedTest, TheFastPathSetsTheSameBitsAsThePortableOne) {
  for (const uint64_t lines : kLineCounts) {
    const Shape shape{lines, GetParam()};
    for (const uint64_t keys : {1, 2, 31, 32, 33, 63, 64, 65, 1000}) {
      AlignedBytes portable = AlignedBytes::Zeros(Blocked::PayloadBytes(shape));
      AlignedBytes fast = AlignedBytes::Zeros(Blocked::PayloadBytes(shape));
      Blocked::Build(portable.data(), shape, 5, DigestsOfKeys(0, keys), Simd::kPortable);
      Blocked::Build(fast.data(), shape, 5, DigestsOfKeys(0, keys), kBest);
      ASSERT_TRUE(std::equal(fast.data(), fast.data() + fast.size(), portable.data()))
          << lines << " lines, " << keys << " keys";
    }
  }
}

TEST_P(BlockedTest, TheFastPathGivesTheSameAnswersAsThePortableOne) {
  for (const uint64_t lines : kLineCounts) {
    const Shape shape{lines, GetParam()};
    AlignedBytes bits = AlignedBytes::Zeros(Blocked::PayloadBytes(shape));
    // About three quarters of ones, so that many absent keys miss by one bit only.
    const uint64_t keys = lines * 700 / GetParam() + 1;
    Blocked::Build(bits.data(), shape, 5, DigestsOfKeys(0, keys));
    const FilterView view{bits.data(), shape, 5};
    const FilterFunctions portable = Blocked::Functions(view, Simd::kPortable);
    const FilterFunctions fast = Blocked::Functions(view, kBest);
    const auto digests = DigestsOfKeys(keys - std::min<uint64_t>(keys, 500), keys + 4000);
    const std::unique_ptr<bool[]> portable_batch(new bool[digests.size()]);
    const std::unique_ptr<bool[]> fast_batch(new bool[digests.size()]);
    portable.may_contain_batch(view, digests.data(), digests.size(), portable_batch.get());
    fast.may_contain_batch(view, digests.data(), digests.size(), fast_batch.get());
    for (size_t i = 0; i < digests.size(); ++i) {
      const bool answer = portable.may_contain(view, digests[i]);
      ASSERT_EQ(fast.may_contain(view, digests[i]), answer) << lines << " lines, digest " << i;
      ASSERT_EQ(portable_batch[i], answer) << lines << " lines, digest " << i;
      ASSERT_EQ(fast_batch[i], answer) << lines << " lines, digest " << i;
    }
  }
}

// Filters of the same shape give the same answers together as one by one, on every path.
TEST_P(BlockedTest, SiblingsAnswerAsSingleFilters) {
  for (const uint64_t lines : {1, 64, 5001}) {
    const Shape shape{lines, GetParam()};
    std::vector<AlignedBytes> filters;
    std::vector<const uint8_t*> payloads;
    const uint64_t keys = lines * 500 / GetParam() + 1;  // of each
    for (uint64_t i = 0; i < 3; ++i) {
      filters.push_back(AlignedBytes::Zeros(Blocked::PayloadBytes(shape)));
      Blocked::Build(filters.back().data(), shape, 5, DigestsOfKeys(i * keys, (i + 1) * keys));
      payloads.push_back(filters.back().data());
    }
    const auto digests =
        DigestsOfKeys(3 * keys - std::min<uint64_t>(3 * keys, 900), 3 * keys + 2000);
    const std::unique_ptr<bool[]> batch(new bool[digests.size()]);
    for (const Simd simd : {Simd::kPortable, kBest}) {
      const bloom::SiblingFunctions together = Blocked::FunctionsOfSiblings(simd);
      const FilterView view{nullptr, shape, 5};
      together.any_may_contain_batch(view, payloads, digests, batch.get());
      for (size_t i = 0; i < digests.size(); ++i) {
        bool any = false;
        for (const uint8_t* const payload : payloads) {
          const FilterView one{payload, shape, 5};
          any |= Blocked::Functions(one, Simd::kPortable).may_contain(one, digests[i]);
        }
        ASSERT_EQ(together.any_may_contain(view, payloads, digests[i]), any) << i;
        ASSERT_EQ(batch[i], any) << i;
      }
    }
  }
}

// Every single bit counts: a line of ones with one zero denies exactly the keys that probe this
// bit.
TEST_P(BlockedTest, EveryPathChecksEveryBitOfALine) {
  const Shape shape{1, GetParam()};
  const auto digests = DigestsOfKeys(0, 200);
  for (uint32_t hole = 0; hole < bloom::kLineBits; ++hole) {
    std::vector<uint8_t> line(Blocked::kLineBytes, 0xff);
    line[hole / 8] = static_cast<uint8_t>(0xff ^ (1 << (hole % 8)));
    const FilterView view{line.data(), shape, 5};
    for (const bloom::Digest digest : digests) {
      const uint64_t in_line = Blocked::InLine(bloom::Remix(digest, 5));
      bool probed = false;
      for (uint32_t i = 0; i < shape.probes; ++i) probed |= Blocked::Position(in_line, i) == hole;
      for (const Simd simd : {Simd::kPortable, kBest}) {
        ASSERT_EQ(Blocked::Functions(view, simd).may_contain(view, digest), !probed) << hole;
        const uint8_t* const payload = line.data();
        const bloom::SiblingFunctions together = Blocked::FunctionsOfSiblings(simd);
        ASSERT_EQ(together.any_may_contain(view, {&payload, 1}, digest), !probed) << hole;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Probes, BlockedTest, testing::Range(1u, bloom::kMaxProbes + 1));

}  // namespace
