// Lookups and additions that are inlined into the caller's code give the same bits and answers as
// those in the library.  This file is compiled for a CPU with AVX2, unlike the library.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bloom/core/concepts.h"
#include "bloom/filter.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/split_block.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/filter_functions.h"
#include "tests/bloom/kinds.h"

namespace {

using bloom::Blocked;
using bloom::Digest;
using bloom::Filter;
using bloom::FilterFunctions;
using bloom::FilterView;
using bloom::Shape;
using bloom::Simd;
using bloom::SplitBlock;
using testing_support::DigestsOfKeys;

static_assert(bloom::InlinedAddLayout<SplitBlock> && bloom::InlinedLayout<Blocked>);
static_assert(!bloom::InlinedAddLayout<Blocked> && !bloom::InlinedLayout<bloom::Standard>);

constexpr uint64_t kSeed = 5;

std::string_view PayloadOf(std::string_view filter) {
  return filter.substr(bloom::kFilterHeaderBytes);
}

// Adds and looks up keys one by one, and compares with the library's portable code on the same
// bits.
template <class Layout>
void ExpectTheLibrarysBitsAndAnswers(const Shape& shape) {
  const uint64_t keys = 300 * shape.size / shape.probes + 20;
  const auto digests = DigestsOfKeys(0, keys);
  auto filter = Filter<Layout>::MakeOfShape(shape, 0.01, kSeed).value();
  for (const Digest digest : digests) filter.AddDigest(digest);

  auto bits = bloom::AlignedBytes::Zeros(Layout::PayloadBytes(shape));
  Layout::Build(bits.data(), shape, kSeed, digests, Simd::kPortable);
  const std::string_view expected(reinterpret_cast<const char*>(bits.data()), bits.size());
  ASSERT_TRUE(PayloadOf(filter.Serialize()) == expected);
  ASSERT_EQ(filter.added_count(), keys);

  const FilterView view{bits.data(), shape, kSeed};
  const FilterFunctions functions = Layout::Functions(view, Simd::kPortable);
  uint64_t passed = 0, denied = 0;
  for (const Digest digest : DigestsOfKeys(0, keys + 3000)) {
    const bool answer = functions.may_contain(view, digest);
    ASSERT_EQ(filter.MayContainDigest(digest), answer);
    (answer ? passed : denied) += 1;
  }
  EXPECT_GE(passed, keys);
  EXPECT_GE(denied, 1000u);
}

TEST(InlinedTest, SplitBlockMatchesTheLibrary) {
  for (const uint64_t lines : {1, 3, 64, 20'001}) {
    SCOPED_TRACE(lines);
    ExpectTheLibrarysBitsAndAnswers<SplitBlock>({lines, SplitBlock::kProbes});
  }
}

TEST(InlinedTest, BlockedMatchesTheLibrary) {
  for (const uint64_t lines : {1, 3, 2001}) {
    for (uint32_t probes = 1; probes <= bloom::kMaxProbes; ++probes) {
      SCOPED_TRACE(testing::Message() << lines << " lines, " << probes << " probes");
      ExpectTheLibrarysBitsAndAnswers<Blocked>({lines, probes});
    }
  }
}

// Every single bit counts: a line of ones with one zero denies exactly the keys that probe this
// bit.
template <class Layout, class ProbesHole>
void ExpectEveryBitCounts(const Shape& shape, const ProbesHole& probes_hole) {
  for (uint32_t hole = 0; hole < 8 * Layout::kLineBytes; ++hole) {
    std::vector<uint8_t> line(Layout::kLineBytes, 0xff);
    bloom::ClearBit(line.data(), hole);
    const FilterView view{line.data(), shape, kSeed};
    for (const Digest digest : DigestsOfKeys(0, 300)) {
      const uint64_t hash = bloom::Remix(digest, kSeed);
      ASSERT_EQ(Layout::Inlined::HasAll(view, hash), !probes_hole(hash, hole)) << hole;
    }
  }
}

TEST(InlinedTest, SplitBlockLooksAtEveryBit) {
  ExpectEveryBitCounts<SplitBlock>({1, SplitBlock::kProbes}, [](uint64_t hash, uint32_t hole) {
    return SplitBlock::Position(hash, hole / 32) == hole;
  });
}

TEST(InlinedTest, BlockedLooksAtEveryBit) {
  for (uint32_t probes = 1; probes <= bloom::kMaxProbes; ++probes) {
    ExpectEveryBitCounts<Blocked>({1, probes}, [probes](uint64_t hash, uint32_t hole) {
      for (uint32_t i = 0; i < probes; ++i) {
        if (Blocked::Position(Blocked::InLine(hash), i) == hole) return true;
      }
      return false;
    });
  }
}

// A linker keeps one of several functions with the same name.  So functions with inlined code need
// other names than those for any CPU.  Otherwise code for any CPU could get instructions that its
// CPU lacks.
TEST(InlinedTest, FilesForOtherCpusKeepTheirOwnFunctions) {
  const testing_support::FunctionAddresses here = testing_support::AddressesInThisFile();
  const testing_support::FunctionAddresses there = testing_support::AddressesForAnyCpu();
  for (size_t i = 0; i < here.size(); ++i) EXPECT_NE(here[i], there[i]) << i;
}

}  // namespace
