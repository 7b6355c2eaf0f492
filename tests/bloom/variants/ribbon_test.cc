// The ribbon kind: its promises about size, rate and builds.  Every code path and every shape
// follows the drawing in its header, and so does the reading of forged payloads.
#include "bloom/variants/ribbon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/probe.h"
#include "bloom/filter_policy.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/golden.h"
#include "tests/support/memory_taken.h"
#include "tests/support/sanitized.h"

namespace {

using bloom::Digest;
using bloom::FilterFunctions;
using bloom::FilterReader;
using bloom::FilterState;
using bloom::FilterView;
using bloom::Ribbon;
using bloom::Shape;
using bloom::Simd;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::DigestsOfKeys;

constexpr Simd kRibbonPaths[] = {Simd::kPortable, Simd::kAvx2};

// Replaces kAvx2, which this CPU may lack, with its best path.
Simd PathOf(Simd simd) { return simd == Simd::kAvx2 ? bloom::BestSimd() : simd; }

uint64_t DetailOf(uint64_t lower_blocks, uint64_t shards_log2, uint64_t attempt = 0) {
  return lower_blocks << 14 | shards_log2 << 8 | attempt;
}
uint64_t LowerOf(const Shape& shape) { return shape.detail >> 14; }
uint64_t ShardsOf(const Shape& shape) { return uint64_t{1} << (shape.detail >> 8 & 63); }

// A filter in memory of exactly the size of its payload, so that AddressSanitizer detects reads
// outside it.
struct RibbonFilter {
  Shape shape;
  uint64_t seed = 0;
  std::unique_ptr<uint8_t[]> payload;
  absl::Status status;

  static RibbonFilter Of(const Shape& shape, uint64_t seed, std::span<const Digest> digests,
                         Simd simd = bloom::BestSimd()) {
    RibbonFilter filter;
    filter.shape = shape;
    filter.seed = seed;
    filter.payload.reset(new uint8_t[filter.bytes()]());
    filter.status = Ribbon::Solve(filter.payload.get(), filter.shape, seed, digests, simd);
    return filter;
  }
  static RibbonFilter For(uint64_t keys, double fpp, uint64_t seed, uint64_t space = 0) {
    return Of(Ribbon::ShapeFor(keys, fpp).value(), seed, DigestsOfKeys(0, keys, space));
  }

  uint64_t bytes() const { return Ribbon::PayloadBytes(shape); }
  std::span<const uint8_t> span() const { return {payload.get(), bytes()}; }
  FilterView view() const { return {payload.get(), shape, seed}; }
  bool MayContain(Digest digest, Simd simd = bloom::BestSimd()) const {
    return Ribbon::Functions(view(), simd).may_contain(view(), digest);
  }
  std::vector<uint8_t> Attempts() const {
    if (ShardsOf(shape) == 1) return {static_cast<uint8_t>(shape.detail)};
    return {payload.get() + bytes() - ShardsOf(shape), payload.get() + bytes()};
  }
};

// The answers of batches.
std::vector<bool> AnswersOf(const FilterView& view, Simd simd, std::span<const Digest> digests) {
  const std::unique_ptr<bool[]> answers(new bool[digests.size()]);
  Ribbon::Functions(view, simd)
      .may_contain_batch(view, digests.data(), digests.size(), answers.get());
  return std::vector<bool>(answers.get(), answers.get() + digests.size());
}

uint64_t CountPassingOf(const RibbonFilter& filter, uint64_t from, uint64_t count, uint64_t space) {
  constexpr uint64_t kBatch = 4096;
  uint64_t passing = 0;
  for (uint64_t i = from; i < from + count; i += kBatch) {
    const std::vector<bool> answers =
        AnswersOf(filter.view(), bloom::BestSimd(),
                  DigestsOfKeys(i, std::min(i + kBatch, from + count), space));
    passing += static_cast<uint64_t>(std::count(answers.begin(), answers.end(), true));
  }
  return passing;
}

// The definition in the kind's header, slot by slot and bit by bit.
bool PassesByDefinition(const FilterView& view, Digest digest) {
  __extension__ using Wide = unsigned __int128;
  const uint64_t x = bloom::Remix(digest, view.seed);
  const uint64_t shards = ShardsOf(view.shape), slots = view.shape.size / shards;
  const uint64_t blocks = view.shape.size / 64, lower = LowerOf(view.shape);
  uint64_t shard = 0, attempt = view.shape.detail & 0xff;
  if (shards > 1) {
    shard = static_cast<uint64_t>(static_cast<Wide>(x) * shards >> 64);
    attempt = view.payload[8 * (blocks * view.shape.probes - lower) + shard];
  }
  const uint64_t h = (x ^ attempt * 0x9e3779b97f4a7c15) * 0xd1342543de82ef95;
  const uint64_t start =
      shard * slots + static_cast<uint64_t>(static_cast<Wide>(h) * (slots - 128) >> 64);
  const Wide p = static_cast<Wide>(h) * 0x9e3779b97f4a7c15;
  const Wide q = static_cast<Wide>(h) * 0xc2b2ae3d27d4eb4f;
  const Wide c = (p << 64 >> 64 ^ q >> 64) | (q ^ p >> 64) << 64;
  const uint64_t expects = (static_cast<uint64_t>(p) + static_cast<uint64_t>(q)) >> 32;

  const uint64_t first_slot = start / 64 * 64;
  for (uint32_t j = 0; j < view.shape.probes - (start / 64 < lower); ++j) {
    bool odd = false;
    for (uint64_t slot = start; slot < start + 128; ++slot) {
      const uint64_t block = slot / 64;
      uint64_t word = j;
      for (uint64_t b = 0; b < block; ++b) word += view.shape.probes - (b < lower);
      const bool bit = bloom::TestBit(view.payload, 64 * word + slot % 64);
      odd ^= bit && (slot == start || (c >> ((slot - first_slot) % 128) & 1) != 0);
    }
    if (odd != ((expects >> j & 1) != 0)) return false;
  }
  return true;
}

// --- promises ---

TEST(RibbonTest, NeverDeniesAKeyAtAnySize) {
  for (const uint64_t keys : {1,   2,   3,   63,  64,  65,  127,  128,  129,  150,
                              185, 191, 192, 193, 250, 500, 1000, 1500, 4096, 10'007}) {
    for (const double fpp : {0.99, 0.7, 0.5, 0.3, 0.1, 0.01, 0.0012, 1e-4, 1e-6, 0x1p-32}) {
      const RibbonFilter filter = RibbonFilter::For(keys, fpp, keys, keys);
      ASSERT_TRUE(filter.status.ok()) << filter.status;
      ASSERT_EQ(Ribbon::Problem(filter.shape, filter.span()), "");
      for (const Simd simd : kRibbonPaths) {
        for (const Digest digest : DigestsOfKeys(0, keys, keys)) {
          ASSERT_TRUE(filter.MayContain(digest, PathOf(simd))) << keys << " keys at " << fpp;
        }
      }
    }
  }
  // One shard, two, and four.
  for (const uint64_t keys : {131'072, 131'073, 200'000, 270'000}) {
    const RibbonFilter filter = RibbonFilter::For(keys, 0.02, keys, keys);
    ASSERT_TRUE(filter.status.ok()) << filter.status;
    EXPECT_EQ(ShardsOf(filter.shape), keys <= 131'072 ? 1u : keys <= 262'144 ? 2u : 4u);
    EXPECT_EQ(CountPassingOf(filter, 0, keys, keys), keys);
  }
}

TEST(RibbonTest, PassesAbsentKeysAtThePredictedRate) {
  constexpr uint64_t kKeys = 100'000;
  // Mixes of 1 and 2, 3 and 4, 6 and 7, 8 and 9 columns, and 7 alone.
  for (const double fpp : {0.4, 0.1, 0.01, 0x1p-7, 0.002}) {
    const double predicted = Ribbon::PredictedFpp(Ribbon::ShapeFor(kKeys, fpp).value(), kKeys);
    EXPECT_LE(predicted, fpp);
    EXPECT_GE(predicted, 0.998 * fpp);
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const RibbonFilter filter = RibbonFilter::For(kKeys, fpp, seed, seed);
      // A standard error of 1 % at most.
      const auto queries = static_cast<uint64_t>(1e4 / fpp);
      const auto passing = static_cast<double>(CountPassingOf(filter, kKeys, queries, seed));
      EXPECT_NEAR(passing / static_cast<double>(queries) / predicted, 1, 0.04)
          << fpp << ", seed " << seed;
    }
  }
}

TEST(RibbonTest, PassesAbsentKeysAtThePredictedRateInAnyGeometry) {
  struct Case {
    uint64_t keys;
    double fpp;
    int filters;
  };
  // Nearly all blocks without a column, few keys, and shards.
  for (const Case& c :
       {Case{20'000, 0.95, 5}, Case{160, 0.1, 300}, Case{700, 0.03, 100}, Case{300'000, 0.02, 1}}) {
    const Shape shape = Ribbon::ShapeFor(c.keys, c.fpp).value();
    const uint64_t queries = static_cast<uint64_t>(5e4 / c.fpp) / static_cast<uint64_t>(c.filters);
    double passing = 0;
    for (uint64_t seed = 0; seed < static_cast<uint64_t>(c.filters); ++seed) {
      const RibbonFilter filter = RibbonFilter::For(c.keys, c.fpp, seed, seed);
      passing += static_cast<double>(CountPassingOf(filter, c.keys, queries, seed));
    }
    const double measured = passing / static_cast<double>(queries) / c.filters;
    EXPECT_NEAR(measured / Ribbon::PredictedFpp(shape, c.keys), 1, 0.02) << c.keys;
    EXPECT_LE(measured, 1.02 * c.fpp) << c.keys;
  }
}

TEST(RibbonTest, LowerBlocksPassTwiceAsOften) {
  // Two of three blocks are lower ones; with 1, 2 and 3 columns.
  const Shape shape{64 * 303, 2, DetailOf(200, 0)};
  const RibbonFilter filter = RibbonFilter::Of(shape, 1, DigestsOfKeys(0, 18'000));
  ASSERT_TRUE(filter.status.ok());
  double passing[2] = {}, all[2] = {};
  for (uint64_t i = 18'000; i < 400'000; ++i) {
    const uint64_t h = bloom::Remix(DigestOfKey(i), 1);
    const uint64_t hash =
        (h ^ (filter.shape.detail & 0xff) * 0x9e3779b97f4a7c15) * 0xd1342543de82ef95;
    const bool is_lower = bloom::ReduceRange(hash, shape.size - 128) / 64 < 200;
    all[is_lower] += 1;
    passing[is_lower] += filter.MayContain(DigestOfKey(i));
  }
  EXPECT_NEAR(passing[0] / all[0], 0.25, 0.005);
  EXPECT_NEAR(passing[1] / all[1], 0.5, 0.005);
  EXPECT_NEAR(all[1] / (all[0] + all[1]), 200.0 / 301, 0.005);
  EXPECT_DOUBLE_EQ(Ribbon::PredictedFpp(shape, 18'000), (1 + 200.0 / 301) / 4);
}

TEST(RibbonTest, TakesFewBitsMoreThanTheLimit) {
  // The bits per key divided by log2(1 / FPP).  If the FPP is a power of two, this is slots / keys.
  // Otherwise the mix of two numbers of columns adds to it.
  const auto over = [](uint64_t keys, double fpp) {
    const Shape shape = Ribbon::ShapeFor(keys, fpp).value();
    return static_cast<double>(Ribbon::SizeBits(shape)) / static_cast<double>(keys) /
           -std::log2(fpp);
  };
  struct Row {
    uint64_t keys;
    double power_of_two, percent, permille;
  };
  for (const Row& row : {Row{1000, 1.025, 1.055, 1.04}, Row{10'000, 1.031, 1.045, 1.035},
                         Row{100'000, 1.036, 1.05, 1.04}, Row{1'000'000, 1.037, 1.05, 1.04},
                         Row{100'000'000, 1.037, 1.05, 1.04}}) {
    EXPECT_LE(over(row.keys, 0x1p-7), row.power_of_two) << row.keys;
    EXPECT_LE(over(row.keys, 0.1), row.keys < 10'000 ? 1.08 : 1.062) << row.keys;
    EXPECT_LE(over(row.keys, 0.01), row.percent) << row.keys;
    EXPECT_LE(over(row.keys, 0.001), row.permille) << row.keys;
  }
  // From 65,536 keys on, whatever the FPP, the overhead is at most that of the worst mix of whole
  // columns.
  for (uint64_t keys = 65'536; keys < 10'000'000; keys += keys / 7) {
    for (double fpp = 0.2; fpp > 1e-6; fpp *= 0.93) {
      EXPECT_LE(over(keys, fpp), 1.037 * (1 + 0.0861 / -std::log2(fpp))) << keys << " at " << fpp;
    }
  }
  // RocksDB takes 7.05 bits for 0.952 % of 100,000 keys.
  EXPECT_LT(over(100'000, 0.00952) * -std::log2(0.00952), 7.05);
}

// The most keys for which ShapeFor takes this many slots.
uint64_t MostKeysFor(uint64_t slots) {
  uint64_t keys = std::min(slots, Ribbon::kMaxShardKeys);
  while (Ribbon::ShapeFor(keys, 0.5).value().size > slots) --keys;
  return keys;
}

// At 2^-7, because with few columns dependent equations may agree by chance.
TEST(RibbonTest, TheFirstAttemptSucceedsMoreThanNineTimesInTen) {
  struct Case {
    uint64_t slots;
    int builds;
  };
  const uint64_t most_slots = Ribbon::ShapeFor(Ribbon::kMaxShardKeys, 0.5).value().size;
  for (const Case& c : {Case{192, 2000}, Case{384, 2000}, Case{512, 2000}, Case{2048, 500},
                        Case{8192, 150}, Case{32'768, 50}, Case{most_slots, 20}}) {
    const std::vector<Digest> digests = DigestsOfKeys(0, MostKeysFor(c.slots));
    int first = 0;
    for (int seed = 0; seed < c.builds; ++seed) {
      const RibbonFilter filter =
          RibbonFilter::Of({c.slots, 7}, static_cast<uint64_t>(seed), digests);
      ASSERT_TRUE(filter.status.ok()) << filter.status;
      first += filter.Attempts()[0] == 0;
    }
    // Less three standard errors, which are small with many builds.
    EXPECT_GE(first, 0.92 * c.builds - 3 * std::sqrt(0.92 * 0.08 * c.builds)) << c.slots;
    EXPECT_TRUE(c.builds < 2000 || first > 0.9 * c.builds) << first << " of " << c.slots;
  }
}

// --- builds ---

TEST(RibbonTest, ShardsWithMoreAttemptsKeepTheirKeys) {
  // So few slots that about every second attempt fails.
  constexpr uint64_t kKeys = 8 * 7990;
  const Shape shape{8 * 8192, 6, DetailOf(250, 3)};
  const std::vector<Digest> digests = DigestsOfKeys(0, kKeys);
  std::vector<uint64_t> of_attempt(Ribbon::kMaxAttempts);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const RibbonFilter filter = RibbonFilter::Of(shape, seed, digests);
    ASSERT_TRUE(filter.status.ok()) << filter.status;
    EXPECT_EQ(filter.shape, shape);  // the attempts follow the words
    for (const uint8_t attempt : filter.Attempts()) ++of_attempt[attempt];
    for (const Simd simd : kRibbonPaths) {
      const std::vector<bool> answers = AnswersOf(filter.view(), PathOf(simd), digests);
      EXPECT_EQ(std::count(answers.begin(), answers.end(), false), 0);
    }
  }
  EXPECT_GT(of_attempt[0], 5u);
  EXPECT_GT(of_attempt[1], 1u);
}

TEST(RibbonTest, LaterAttemptsAreAsGoodAsTheFirst) {
  // If 60 % of the first attempts succeed, 60 % of the next ones must succeed, too.
  const Shape shape{1024, 1};
  const std::vector<Digest> digests = DigestsOfKeys(0, 1017);
  double needed[3] = {};
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const RibbonFilter filter = RibbonFilter::Of(shape, seed, digests);
    ASSERT_TRUE(filter.status.ok());
    ++needed[std::min<uint32_t>(filter.Attempts()[0], 2)];
  }
  const double first = needed[0] / 600, second = needed[1] / (600 - needed[0]);
  EXPECT_GT(first, 0.3);
  EXPECT_LT(first, 0.9);
  EXPECT_NEAR(second, first, 0.1);
}

TEST(RibbonTest, EqualDigestsAreOneKey) {
  const std::vector<Digest> same(10'000, DigestOfKey(5));
  RibbonFilter filter = RibbonFilter::Of(Ribbon::ShapeFor(1, 0.001).value(), 1, same);
  ASSERT_TRUE(filter.status.ok()) << filter.status;
  EXPECT_TRUE(filter.MayContain(DigestOfKey(5)));

  std::vector<Digest> repeated = DigestsOfKeys(0, 1000);
  const RibbonFilter once = RibbonFilter::Of(Ribbon::ShapeFor(1000, 0.001).value(), 1, repeated);
  for (uint64_t i = 0; i < 5000; ++i) repeated.push_back(DigestOfKey(i * i % 1000));
  const RibbonFilter often = RibbonFilter::Of(once.shape, 1, repeated);
  ASSERT_TRUE(often.status.ok()) << often.status;
  EXPECT_TRUE(std::equal(once.span().begin(), once.span().end(), often.span().begin()));
}

TEST(RibbonTest, NoKeysAreNoEquations) {
  const RibbonFilter filter = RibbonFilter::Of({192, 8, DetailOf(1, 0)}, 1, {});
  ASSERT_TRUE(filter.status.ok());
  EXPECT_EQ(bloom::CountOnes(filter.payload.get(), filter.bytes()), 0u);
}

TEST(RibbonTest, MoreKeysThanSlotsHaveNoSolution) {
  const RibbonFilter one = RibbonFilter::Of({192, 20}, 1, DigestsOfKeys(0, 193));
  EXPECT_TRUE(absl::IsAborted(one.status)) << one.status;
  EXPECT_THAT(std::string(one.status.message()), HasSubstr("193 keys in 192 slots"));
  const RibbonFilter two =
      RibbonFilter::Of({2 * 192, 20, DetailOf(0, 1)}, 1, DigestsOfKeys(0, 500));
  EXPECT_TRUE(absl::IsAborted(two.status)) << two.status;
  // The policy uses another kind in this case, and for the small numbers of keys that
  // bloom/README.md states.
  const auto kind_of = [](uint64_t keys) {
    return FilterReader::Open(testing_support::BuildFilter("ribbon", {}, DigestsOfKeys(0, keys)))
        .kind_name();
  };
  EXPECT_EQ(kind_of(139), "standard");
  EXPECT_EQ(kind_of(140), "ribbon");
}

TEST(RibbonTest, PathsForDifferentCpusGiveTheSameBits) {
  for (uint32_t columns = 1; columns <= bloom::kMaxProbes; ++columns) {
    const Shape shape{2 * 64 * 9, columns, DetailOf(columns % 3 * 5, 1)};
    const std::vector<Digest> digests = DigestsOfKeys(0, 950);
    const RibbonFilter portable = RibbonFilter::Of(shape, 7, digests, Simd::kPortable);
    const RibbonFilter best = RibbonFilter::Of(shape, 7, digests);
    ASSERT_TRUE(portable.status.ok() && best.status.ok());
    ASSERT_TRUE(std::equal(best.span().begin(), best.span().end(), portable.span().begin()))
        << columns;
  }
}

// --- queries of any payload ---

class RibbonQueryTest : public testing::TestWithParam<uint32_t> {};

TEST_P(RibbonQueryTest, EveryPathMatchesTheDefinition) {
  Dice dice(GetParam());
  for (const uint64_t shards_log2 : {0, 1, 2}) {
    for (const uint64_t shard_blocks : {3, 4, 7}) {
      const uint64_t blocks = shard_blocks << shards_log2;
      for (uint64_t lower = 0; lower < blocks; lower += 1 + lower / 3) {
        const Shape shape{64 * blocks, GetParam(),
                          DetailOf(lower, shards_log2, shards_log2 == 0 ? dice.Roll(3) : 0)};
        const uint64_t bytes = Ribbon::PayloadBytes(shape);
        const std::unique_ptr<uint8_t[]> payload(new uint8_t[bytes]);
        const FilterView view{payload.get(), shape, dice.Next()};
        // Rare ones let many keys pass whose equations expect few ones.
        const uint64_t every = 1 + dice.Roll(9);
        std::generate_n(payload.get(), bytes,
                        [&] { return static_cast<uint8_t>(dice.OneIn(every) ? dice.Next() : 0); });
        ASSERT_EQ(Ribbon::Problem(shape, {payload.get(), bytes}), "");
        for (int i = 0; i < 60; ++i) {
          const Digest digest = dice.Next();
          const bool expected = PassesByDefinition(view, digest);
          for (const Simd simd : kRibbonPaths) {
            const FilterFunctions functions = Ribbon::Functions(view, PathOf(simd));
            functions.prefetch(view, digest);
            ASSERT_EQ(functions.may_contain(view, digest), expected)
                << blocks << " blocks, " << lower << " lower, 2^" << shards_log2 << " shards";
          }
        }
      }
    }
  }
}

// With many columns, random bits pass too rarely to distinguish the paths.  Keys with one wrong bit
// of the payload do.
TEST_P(RibbonQueryTest, EveryPathChecksEveryColumn) {
  const Shape shape{64 * 5, GetParam(), DetailOf(2, 0)};
  const std::vector<Digest> digests = DigestsOfKeys(0, 200);
  RibbonFilter filter = RibbonFilter::Of(shape, 3, digests);
  ASSERT_TRUE(filter.status.ok());
  Dice dice(GetParam());
  uint64_t denied = 0;
  for (uint64_t bit = 0; bit < 8 * filter.bytes(); bit += 1 + dice.Roll(filter.bytes()) / 10) {
    uint8_t& byte = filter.payload[bit / 8];
    byte = static_cast<uint8_t>(byte ^ 1 << bit % 8);
    for (uint64_t i = bit % 7; i < digests.size(); i += 7) {
      const bool expected = PassesByDefinition(filter.view(), digests[i]);
      denied += !expected;
      ASSERT_EQ(filter.MayContain(digests[i], Simd::kPortable), expected) << bit;
      ASSERT_EQ(filter.MayContain(digests[i]), expected) << bit;
    }
    byte = static_cast<uint8_t>(byte ^ 1 << bit % 8);
  }
  EXPECT_GT(denied, 0u);
}

INSTANTIATE_TEST_SUITE_P(Columns, RibbonQueryTest,
                         testing::Values(1, 2, 3, 4, 5, 6, 8, 9, 10, 13, 16, 17, 24, 25, 32));

TEST(RibbonTest, SolvingTakesEightBytesAKeyAndAShard) {
  if (testing_support::kIsSanitized) return;  // which take memory of their own
  constexpr uint64_t kKeys = 2'000'000;
  const std::vector<Digest> digests = DigestsOfKeys(0, kKeys);
  Shape shape = Ribbon::ShapeFor(kKeys, 0.01).value();
  bloom::AlignedBytes payload = bloom::AlignedBytes::Zeros(Ribbon::PayloadBytes(shape));
  std::fill_n(payload.data(), payload.size(), 0);  // so that it is in memory before
  const double taken = testing_support::MemoryTakenBy(
      [&] { return Ribbon::Solve(payload.data(), shape, 1, digests).ok(); });
  const auto shards = static_cast<double>(ShardsOf(shape));
  const double of_a_shard = (8.0 * kKeys + 32.0 * static_cast<double>(shape.size)) / shards;
  // If huge pages are enabled for all memory, whole pages count.
  EXPECT_NEAR(taken / (8.0 * kKeys + of_a_shard), 1, 0.15);
}

TEST(RibbonTest, BatchesAnswerAsSingleQueriesDo) {
  // In the cache and beyond it, one shard and two.
  for (const uint64_t keys : {1000, 100'000, 140'000}) {
    const RibbonFilter filter = RibbonFilter::For(keys, 1e-7, keys);
    ASSERT_EQ(filter.bytes() > bloom::kNearPayloadBytes, keys > 1000);
    for (const Simd simd : kRibbonPaths) {
      for (const size_t count : {0, 1, 31, 32, 33, 63, 64, 65, 200}) {
        const std::vector<Digest> digests = DigestsOfKeys(keys - count / 2, keys + count / 2);
        const std::vector<bool> answers = AnswersOf(filter.view(), PathOf(simd), digests);
        for (size_t i = 0; i < digests.size(); ++i) {
          ASSERT_EQ(answers[i], filter.MayContain(digests[i], PathOf(simd)))
              << i << " of " << count;
        }
      }
    }
  }
}

TEST(RibbonTest, AlignmentOfTheBytesDoesNotMatter) {
  const std::vector<Digest> digests = DigestsOfKeys(0, 1200);
  for (const uint32_t columns : {3, 7, 20}) {
    const RibbonFilter filter =
        RibbonFilter::Of({2 * 448, columns, DetailOf(3, 1)}, 9, {digests.data(), 800});
    ASSERT_TRUE(filter.status.ok());
    for (size_t offset = 1; offset < 64; ++offset) {
      const std::unique_ptr<uint8_t[]> buffer(new uint8_t[offset + filter.bytes()]);
      std::copy(filter.span().begin(), filter.span().end(), buffer.get() + offset);
      const FilterView view{buffer.get() + offset, filter.shape, filter.seed};
      for (const Simd simd : kRibbonPaths) {
        ASSERT_EQ(AnswersOf(view, PathOf(simd), digests),
                  AnswersOf(filter.view(), PathOf(simd), digests));
      }
    }
  }
}

// --- shapes ---

TEST(RibbonTest, ShapesAreSoundAndMeetTheTarget) {
  for (const double fpp : {0.999999, 0.9, 0.75, 0.5, 0.3, 0.125, 0.01, 1e-5, 0x1.8p-31, 0x1p-32}) {
    for (uint64_t keys = 1; keys < uint64_t{1} << 50; keys += keys / 3 + 1) {
      const absl::StatusOr<Shape> shape = Ribbon::ShapeFor(keys, fpp);
      ASSERT_TRUE(shape.ok()) << shape.status();
      ASSERT_LE(Ribbon::SizeBits(*shape), bloom::kMaxSizeBits);
      ASSERT_LE(Ribbon::PredictedFpp(*shape, keys), fpp) << keys;
      ASSERT_GE(shape->size, keys);
      // With many keys no accuracy is wasted.
      ASSERT_GE(Ribbon::PredictedFpp(*shape, keys), keys > 1'000'000 ? 0.9999 * fpp : fpp / 2);
      ASSERT_LE(keys / ShardsOf(*shape), Ribbon::kMaxShardKeys);
    }
  }
}

TEST(RibbonTest, ImpossibleRequestsAreInvalidArguments) {
  EXPECT_THAT(Ribbon::ShapeFor(0, 0.01).status().ToString(), HasSubstr("key_count"));
  for (const double fpp : {0.0, 1.0, -1.0, 0x1p-33, std::nan("")}) {
    EXPECT_THAT(Ribbon::ShapeFor(10, fpp).status().ToString(), HasSubstr("target_fpp"));
  }
  // The last case has many keys, for which the standard kind has room.
  for (const auto& [keys, fpp] :
       {std::pair{UINT64_MAX, 0.01}, {uint64_t{1} << 55, 1e-9}, {uint64_t{1} << 59, 0.999999}}) {
    const absl::Status status = Ribbon::ShapeFor(keys, fpp).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << keys;
    EXPECT_THAT(status.ToString(), HasSubstr("2^56 bits"));
  }
}

TEST(RibbonTest, ImpossibleShapesAreProblems) {
  const Shape good{2 * 192, 5, DetailOf(3, 1)};
  const std::vector<uint8_t> payload(8 * (6 * 5 - 3) + 2);
  ASSERT_EQ(Ribbon::PayloadBytes(good), payload.size());
  ASSERT_EQ(Ribbon::Problem(good, payload), "");
  const auto problem = [&](uint64_t size, uint32_t probes, uint64_t detail) {
    return Ribbon::Problem({size, probes, detail}, payload);
  };
  EXPECT_NE(Ribbon::Problem(good, {}), "");
  EXPECT_NE(Ribbon::Problem(good, {payload.data(), payload.size() - 1}), "");
  EXPECT_THAT(problem(384, 0, good.detail), HasSubstr("probes"));
  EXPECT_THAT(problem(384, 33, good.detail), HasSubstr("probes"));
  EXPECT_NE(problem(384, 6, good.detail), "");
  EXPECT_NE(problem(384, 5, DetailOf(2, 1)), "");
  EXPECT_NE(problem(384, 5, DetailOf(3, 0)), "");
  EXPECT_NE(problem(384, 5, DetailOf(3, 1, 1)), "");  // an attempt of two shards together

  // The same with payloads of the length that the shape needs.
  const auto fits = [](const Shape& shape, uint64_t bytes) {
    return Ribbon::Problem(shape, std::vector<uint8_t>(bytes)).empty();
  };
  EXPECT_TRUE(fits({192, 2, DetailOf(2, 0, 255)}, 8 * 4));
  EXPECT_FALSE(fits({192, 2, DetailOf(3, 0)}, 8 * 3));  // no block has the last column
  EXPECT_FALSE(fits({128, 2, 0}, 8 * 4));               // no room to start
  EXPECT_FALSE(fits({0, 2, 0}, 0));
  EXPECT_FALSE(fits({191, 2, 0}, 8 * 4));
  EXPECT_FALSE(fits({193, 2, 0}, 8 * 6));
  EXPECT_FALSE(fits({192 + 64, 2, DetailOf(0, 1)}, 8 * 8 + 2));  // shards of 128 slots
  EXPECT_FALSE(fits({192 * 3, 2, DetailOf(0, 1)}, 8 * 18 + 2));  // of four blocks and a half
  EXPECT_FALSE(fits({192 * 2, 2, DetailOf(0, 2)}, 8 * 12 + 4));
  // Numbers that overflow to a valid size.
  for (const uint32_t probes : {2, 4, 8, 16, 32}) {
    ASSERT_TRUE(fits({192, probes, 0}, 24 * probes));
    for (int shift = 56; shift < 64; ++shift) {
      EXPECT_FALSE(fits({192 + (uint64_t{1} << shift), probes, 0}, 24 * probes)) << shift;
    }
  }
  for (int shift = 40; shift < 64; ++shift) {
    const uint64_t huge = uint64_t{1} << shift;
    EXPECT_NE(problem(huge, 5, DetailOf(0, 0)), "") << shift;
    EXPECT_NE(problem(huge + 384, 5, good.detail), "") << shift;
    EXPECT_NE(problem(384, 5, good.detail | huge), "") << shift;
  }
  for (uint64_t shards_log2 = 2; shards_log2 < 64; ++shards_log2) {
    EXPECT_NE(problem(384, 5, DetailOf(3, shards_log2)), "");
    EXPECT_NE(problem(0, 5, DetailOf(0, shards_log2)), "");
    EXPECT_NE(problem(UINT64_MAX, 5, DetailOf(3, shards_log2)), "");
  }
  // SizeBits takes any shape.
  EXPECT_EQ(Ribbon::SizeBits({UINT64_MAX, UINT32_MAX, UINT64_MAX}), UINT64_MAX);
  EXPECT_EQ(Ribbon::SizeBits({bloom::kMaxSizeBits, UINT32_MAX, 0}), UINT64_MAX);
}

TEST(RibbonTest, ForgedHeadersNeverReadOutside) {
  Dice dice(5);
  int usable = 0, sharded = 0;
  for (int round = 0; round < 30'000; ++round) {
    // A nearly valid geometry over random bytes.
    const uint64_t shards_log2 = dice.OneIn(4) ? dice.Roll(64) : dice.Roll(3);
    const uint64_t blocks = (2 + dice.Roll(6)) << (shards_log2 % 8);
    Shape shape{64 * blocks, static_cast<uint32_t>(1 + dice.Roll(32)),
                DetailOf(dice.Roll(blocks + 2), shards_log2, dice.OneIn(4) ? dice.Roll(256) : 0)};
    if (dice.OneIn(8)) shape.size += dice.Roll(3) - 1;
    if (dice.OneIn(8)) shape.detail ^= uint64_t{1} << dice.Roll(64);
    uint64_t bytes = Ribbon::PayloadBytes(shape);
    if (bytes > 100'000 || dice.OneIn(8)) bytes = dice.Roll(1000);
    std::vector<uint8_t> payload(bytes);
    for (uint8_t& byte : payload) byte = static_cast<uint8_t>(dice.Next());
    bloom::FilterHeader header = bloom::HeaderFor<Ribbon>(shape, dice.Next(), 0.01);
    header.key_count = dice.Roll(1000);
    const std::string forged = bloom::EncodeFilter(header, payload);
    const std::unique_ptr<char[]> copy(new char[forged.size()]);
    std::copy(forged.begin(), forged.end(), copy.get());
    const FilterReader reader = FilterReader::Open({copy.get(), forged.size()});
    if (reader.state() != FilterState::kUsable) {
      EXPECT_EQ(reader.state(), FilterState::kDamaged);
      EXPECT_NE(reader.Describe().problem, "");
      continue;
    }
    ++usable;
    sharded += ShardsOf(shape) > 1;
    const auto* at = reinterpret_cast<const uint8_t*>(copy.get()) + bloom::kFilterHeaderBytes;
    const FilterView view{at, shape, header.seed};
    bool answers[100];
    std::vector<Digest> digests(100);
    for (Digest& digest : digests) digest = dice.Next();
    reader.MayContainBatch(digests, answers);
    for (size_t i = 0; i < digests.size(); ++i) {
      reader.Prefetch(digests[i]);
      ASSERT_EQ(answers[i], reader.MayContain(digests[i]));
      ASSERT_EQ(answers[i], Ribbon::Functions(view, Simd::kPortable).may_contain(view, digests[i]));
    }
    EXPECT_GE(reader.predicted_fpp(), 0x1p-32);
    EXPECT_LE(reader.predicted_fpp(), 1);
  }
  EXPECT_GT(usable, 5000);
  EXPECT_GT(sharded, 1000);
}

// --- golden bytes ---

std::string DrawRibbon(const RibbonFilter& filter, std::string_view what) {
  char line[100];
  std::snprintf(line, sizeof(line), "\n%llu slots, %u columns, detail %llx\n",
                static_cast<unsigned long long>(filter.shape.size), filter.shape.probes,
                static_cast<unsigned long long>(filter.shape.detail));
  std::string text = std::string(what) + line;
  for (uint64_t i = 0; i < 8 * filter.bytes(); ++i) {
    text += bloom::TestBit(filter.payload.get(), i) ? '1' : '.';
    if (i % 64 == 63 || i + 1 == 8 * filter.bytes()) text += "\n";
  }
  return text + "\n";
}

TEST(RibbonGoldenTest, FiltersAreFrozen) {
  std::vector<Digest> digests;
  for (int i = 0; i < 150'000; ++i) {
    digests.push_back(bloom::DigestOf("key " + std::to_string(i), 0x0123456789abcdef));
  }
  constexpr uint64_t kSeed = 0xfedcba9876543210;
  const auto of = [&](uint64_t keys, double fpp) {
    return RibbonFilter::Of(Ribbon::ShapeFor(keys, fpp).value(), kSeed, {digests.data(), keys});
  };
  std::string text =
      DrawRibbon(of(180, 0.02), "180 keys at 0.02") + DrawRibbon(of(300, 0.6), "300 keys at 0.6") +
      DrawRibbon(RibbonFilter::Of({4 * 192, 3, DetailOf(7, 2)}, kSeed, {digests.data(), 700}),
                 "700 keys in four shards");
  const std::string bytes =
      testing_support::BuildFilter("ribbon", {.target_fpp = 0.01, .seed = kSeed}, digests);
  char line[100];
  std::snprintf(line, sizeof(line), "150000 keys at 0.01: %zu bytes, checksum %016llx\n",
                bytes.size(), static_cast<unsigned long long>(bloom::ChecksumOf(bytes, "")));
  testing_support::ExpectGolden("bloom/ribbon.golden", text + line);
}

}  // namespace
