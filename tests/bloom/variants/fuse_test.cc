// The additional promises of the binary fuse kinds: their geometry, the bytes that
// bloom/variants/fuse.h draws, and every width of a remainder.  (kinds_test.cc tests the promises
// of all kinds.)
#include "bloom/variants/fuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/filter_format.h"
#include "bloom/filter_policy.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/memory_taken.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::AlignedBytes;
using bloom::Digest;
using bloom::FilterFunctions;
using bloom::FilterReader;
using bloom::FilterState;
using bloom::FilterView;
using bloom::Fuse3;
using bloom::Fuse4;
using bloom::FuseDetail;
using bloom::Shape;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::DigestsOfKeys;
using testing_support::IsOk;
using testing_support::StatusIs;

constexpr uint32_t kWidths = 32;

double RateOf(uint32_t width) { return std::ldexp(1, -static_cast<int>(width)); }

// A filter of these digests without a policy, however small.
template <class K>
struct SolvedFuse {
  SolvedFuse(const std::vector<Digest>& digests, uint32_t width, uint64_t of_remix = 9)
      : seed(of_remix) {
    shape = K::ShapeFor(std::max<size_t>(digests.size(), 1), RateOf(width)).value();
    payload = AlignedBytes::Zeros(K::PayloadBytes(shape));
    status = K::Solve(payload.data(), shape, seed, digests);
  }

  FilterView view() const { return {payload.data(), shape, seed}; }
  FuseDetail detail() const { return FuseDetail::Of(shape.detail); }
  bool MayContain(Digest digest) const { return K::Functions(view()).may_contain(view(), digest); }
  uint64_t CountPassing(uint64_t from, uint64_t to, uint64_t space = 0) const {
    const FilterFunctions functions = K::Functions(view());
    uint64_t passing = 0;
    for (uint64_t i = from; i < to; ++i)
      passing += functions.may_contain(view(), DigestOfKey(i, space));
    return passing;
  }
  // As a policy writes it.
  std::string Encode(uint64_t keys) const {
    bloom::FilterHeader header = bloom::HeaderFor<K>(shape, seed, 0.5);
    header.key_count = keys;
    return bloom::EncodeFilter(header, payload.span());
  }

  uint64_t seed;
  Shape shape;
  AlignedBytes payload;
  absl::Status status;
};

// --- the drawing in bloom/variants/fuse.h, implemented again bit by bit ---

uint64_t DrawnHash(const FilterView& view, Digest digest) {
  return bloom::Remix(digest, view.seed + view.shape.detail);
}

// The first `arity` elements are slots.
std::array<uint64_t, 4> DrawnSlots(const Shape& shape, uint64_t hash) {
  __extension__ using Wide = unsigned __int128;
  const uint64_t segment = uint64_t{1} << (shape.detail & 0xff);
  const uint64_t starts = shape.size - (shape.probes - 1) * segment;
  const auto first = static_cast<uint64_t>(static_cast<Wide>(hash) * starts >> 64);
  std::array<uint64_t, 4> slots = {first, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  const uint64_t g = hash * 0x9e3779b97f4a7c15;
  for (uint32_t i = 1; i < shape.probes; ++i) {
    slots[i] = (first + i * segment) ^ ((g >> (64 - 18 * i)) % segment);
  }
  return slots;
}

// The xor of the key's numbers and its remainder: 0 if it passes.
uint64_t DrawnSum(const FilterView& view, Digest digest) {
  const uint64_t width = view.shape.detail >> 8 & 0xff;
  const uint64_t hash = DrawnHash(view, digest);
  const std::array<uint64_t, 4> slots = DrawnSlots(view.shape, hash);
  uint64_t sum = (hash * 0xd1342543de82ef95) >> (64 - width);
  for (uint32_t i = 0; i < view.shape.probes; ++i) {
    for (uint64_t bit = 0; bit < width; ++bit) {
      sum ^= uint64_t{bloom::TestBit(view.payload, slots[i] * width + bit)} << bit;
    }
  }
  return sum;
}

using FuseTypes = testing::Types<Fuse3, Fuse4>;
template <class K>
class FuseTest : public testing::Test {};
TYPED_TEST_SUITE(FuseTest, FuseTypes, testing_support::KindNames);

TYPED_TEST(FuseTest, NeverDeniesAKeyAtAnyWidth) {
  for (const uint64_t keys : {1, 2, 3, 4, 7, 12, 13, 14, 15, 33, 100, 256, 257, 999, 2500}) {
    for (uint32_t width = 1; width <= kWidths; ++width) {
      const SolvedFuse<TypeParam> filter(DigestsOfKeys(0, keys, width), width, keys);
      ASSERT_THAT(filter.status, IsOk());
      ASSERT_EQ(filter.CountPassing(0, keys, width), keys) << width << " bits";
    }
  }
  for (const uint64_t keys : {10'000, 30'001, 100'000, 200'000}) {
    for (const uint32_t width : {1, 7, 8, 13, 32}) {
      const SolvedFuse<TypeParam> filter(DigestsOfKeys(0, keys, width), width, keys);
      ASSERT_THAT(filter.status, IsOk());
      ASSERT_EQ(filter.CountPassing(0, keys, width), keys) << width << " bits";
    }
  }
}

TYPED_TEST(FuseTest, PassesAbsentKeysAtTwoToTheMinusWidth) {
  constexpr uint64_t kKeys = 100'000;
  for (const uint32_t width : {1, 5, 8}) {
    double mean = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const SolvedFuse<TypeParam> filter(DigestsOfKeys(0, kKeys, seed), width, seed);
      EXPECT_EQ(TypeParam::PredictedFpp(filter.shape, kKeys), RateOf(width));
      const auto queries = static_cast<uint64_t>(1e4 / RateOf(width));
      const double measured =
          static_cast<double>(filter.CountPassing(kKeys, kKeys + queries, seed)) /
          static_cast<double>(queries);
      EXPECT_NEAR(measured / RateOf(width), 1, 0.04) << width << " bits, seed " << seed;
      mean += measured / RateOf(width) / 5;
    }
    EXPECT_NEAR(mean, 1, 0.015) << width << " bits";
  }
}

// With few slots, absent keys often share all of their slots with a present key.
TYPED_TEST(FuseTest, FewKeysPassAsRarely) {
  for (const uint32_t width : {4, 8}) {
    for (const uint64_t keys : {1, 2, 5, 14, 60}) {
      constexpr uint64_t kFilters = 400;
      const auto queries = static_cast<uint64_t>(1e4 / RateOf(width) / kFilters);
      uint64_t passing = 0;
      for (uint64_t seed = 0; seed < kFilters; ++seed) {
        const SolvedFuse<TypeParam> filter(DigestsOfKeys(0, keys, seed), width, seed);
        passing += filter.CountPassing(keys, keys + queries, seed);
      }
      EXPECT_NEAR(
          static_cast<double>(passing) / static_cast<double>(kFilters * queries) / RateOf(width), 1,
          0.04)
          << keys << " keys, " << width << " bits";
    }
  }
}

// A rate of 2^-32 cannot be measured, but the sums of absent keys can be checked piece by piece.
TYPED_TEST(FuseTest, SumsOfAbsentKeysAreSpreadEvenlyOverAllBits) {
  for (const uint64_t keys : {300, 100'000}) {
    const SolvedFuse<TypeParam> filter(DigestsOfKeys(0, keys), 32);
    ASSERT_THAT(filter.status, IsOk());
    constexpr uint64_t kQueries = 100'000;
    std::array<std::array<double, 256>, 4> counts{};
    std::array<double, 31> equal_neighbours{};
    for (uint64_t i = keys; i < keys + kQueries; ++i) {
      const uint64_t sum = DrawnSum(filter.view(), DigestOfKey(i));
      for (int piece = 0; piece < 4; ++piece) ++counts[piece][sum >> 8 * piece & 0xff];
      for (int bit = 0; bit < 31; ++bit)
        equal_neighbours[bit] += (sum >> bit & 1) == (sum >> (bit + 1) & 1);
    }
    for (const auto& of_piece : counts) {
      double chi_square = 0;
      for (const double count : of_piece) {
        chi_square += (count - kQueries / 256.0) * (count - kQueries / 256.0) / (kQueries / 256.0);
      }
      EXPECT_LT(chi_square, 255 + 5 * std::sqrt(2 * 255.0)) << keys;
    }
    for (const double equal : equal_neighbours) EXPECT_NEAR(equal / kQueries, 0.5, 0.008) << keys;
  }
}

TYPED_TEST(FuseTest, BytesMatchTheDrawing) {
  constexpr uint64_t kKeys = 700;
  for (uint32_t width = 1; width <= kWidths; ++width) {
    const SolvedFuse<TypeParam> filter(DigestsOfKeys(0, kKeys), width);
    EXPECT_EQ(filter.detail().remainder_bits, width);
    EXPECT_EQ(filter.shape.probes, TypeParam::kTag - 3u);
    EXPECT_EQ(filter.payload.size(), (filter.shape.size * width + 7) / 8 + 7);
    EXPECT_EQ(TypeParam::SizeBits(filter.shape), 8 * filter.payload.size());
    for (uint64_t i = 0; i < 3 * kKeys; ++i) {
      const uint64_t sum = DrawnSum(filter.view(), DigestOfKey(i));
      ASSERT_EQ(filter.MayContain(DigestOfKey(i)), sum == 0) << width << " bits";
      if (i < kKeys) {
        ASSERT_EQ(sum, 0u);
      }
    }
  }
}

// A query that reads too few bits, or bits of a neighbour, would change only low rates noticeably.
TYPED_TEST(FuseTest, EveryBitOfEveryNumberCountsAndNoOther) {
  constexpr uint64_t kKeys = 40;
  for (uint32_t width = 1; width <= kWidths; ++width) {
    SolvedFuse<TypeParam> filter(DigestsOfKeys(0, kKeys), width);
    for (const Digest digest : DigestsOfKeys(0, kKeys)) {
      const auto slots = DrawnSlots(filter.shape, DrawnHash(filter.view(), digest));
      for (uint64_t bit = 0; bit < filter.shape.size * width; ++bit) {
        uint8_t& byte = filter.payload.data()[bit / 8];
        const auto flip = static_cast<uint8_t>(1 << bit % 8);
        byte ^= flip;
        const bool is_own = std::count(slots.begin(), slots.end(), bit / width) != 0;
        ASSERT_EQ(filter.MayContain(digest), !is_own) << width << " bits, bit " << bit;
        byte ^= flip;
      }
    }
  }
}

TYPED_TEST(FuseTest, BatchesAnswerAsSingleQueriesDoAtAnyWidth) {
  Dice dice(5);
  for (uint32_t width = 1; width <= kWidths; ++width) {
    for (const uint64_t keys : {500, 12'000, 400'000}) {  // near, near, far at most widths
      if (keys > 12'000 && width % 4 > 1) continue;
      Shape shape = TypeParam::ShapeFor(keys, RateOf(width)).value();
      AlignedBytes payload = AlignedBytes::Zeros(TypeParam::PayloadBytes(shape));
      // Numbers that are nearly all zero, and digests with a remainder of zero: they often pass.
      for (int i = 0; i < 20; ++i) payload.data()[dice.Roll(payload.size())] = 1;
      const FilterView view{payload.data(), shape, 4};
      std::vector<Digest> digests;
      for (uint64_t i = 0; digests.size() < 300; ++i) {
        if (width > 8 || DrawnSum(view, DigestOfKey(i)) == 0 || i % 3 == 0)
          digests.push_back(DigestOfKey(i));
      }
      const FilterFunctions functions = TypeParam::Functions(view);
      for (const size_t count : {0, 1, 31, 32, 33, 63, 64, 65, 300}) {
        bool answers[301] = {};
        answers[count] = true;
        functions.may_contain_batch(view, digests.data(), count, answers);
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(answers[i], functions.may_contain(view, digests[i])) << width << " bits";
        }
        ASSERT_TRUE(answers[count]);
      }
    }
  }
}

TYPED_TEST(FuseTest, TakesAsMuchSpaceAsPublished) {
  const bool is3 = std::is_same_v<TypeParam, Fuse3>;
  const std::map<uint64_t, double> slots_per_key = {{10'000, is3 ? 1.280 : 1.229},
                                                    {100'000, is3 ? 1.188 : 1.126},
                                                    {1'000'000, is3 ? 1.130 : 1.077},
                                                    {100'000'000, is3 ? 1.125 : 1.075}};
  for (const auto& [keys, expected] : slots_per_key) {
    for (const uint32_t width : {1, 8, 32}) {
      const Shape shape = TypeParam::ShapeFor(keys, RateOf(width)).value();
      EXPECT_NEAR(static_cast<double>(shape.size) / static_cast<double>(keys), expected, 0.001);
      EXPECT_NEAR(static_cast<double>(TypeParam::SizeBits(shape)) / static_cast<double>(keys),
                  width * expected, 0.001 * width + 0.006);
    }
  }
}

TYPED_TEST(FuseTest, TheWidthIsTheSmallestForTheTarget) {
  const auto width = [](double fpp) {
    return FuseDetail::Of(TypeParam::ShapeFor(1000, fpp).value().detail).remainder_bits;
  };
  EXPECT_EQ(width(0.99), 1u);
  EXPECT_EQ(width(0.1), 4u);
  EXPECT_EQ(width(0.01), 7u);
  EXPECT_EQ(width(0.001), 10u);
  for (uint32_t bits = 1; bits <= kWidths; ++bits) {
    EXPECT_EQ(width(RateOf(bits)), bits);
    EXPECT_EQ(width(std::nextafter(RateOf(bits), 1)), bits);
    if (bits > 1) {
      EXPECT_EQ(width(std::nextafter(RateOf(bits - 1), 0)), bits);
    }
  }
}

TYPED_TEST(FuseTest, ShapesOfAnySizeAreSoundAndBadArgumentsNamed) {
  for (uint64_t keys = 1; keys < uint64_t{1} << 51; keys += keys / 3 + 1) {
    for (const double fpp : {0.9, 1.0 / 256, bloom::kMinTargetFpp}) {
      const absl::StatusOr<Shape> shape = TypeParam::ShapeFor(keys, fpp);
      if (!shape.ok()) {
        EXPECT_GT(static_cast<double>(keys) * -std::log2(fpp) * 1.5, std::ldexp(1, 56));
        continue;
      }
      const FuseDetail detail = FuseDetail::Of(shape->detail);
      EXPECT_LE(detail.segment_log2, TypeParam::kMaxSegmentLog2);
      EXPECT_EQ(shape->size % (uint64_t{1} << detail.segment_log2), 0u);
      EXPECT_GE(shape->size >> detail.segment_log2, shape->probes);
      EXPECT_GE(static_cast<double>(shape->size), 1.074 * static_cast<double>(keys));
      EXPECT_LE(static_cast<double>(shape->size), 1.7 * static_cast<double>(keys) + 40) << keys;
      EXPECT_LE(TypeParam::SizeBits(*shape), bloom::kMaxSizeBits);
    }
  }
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(TypeParam::ShapeFor(0, 0.01), refused("key_count"));
  for (const double fpp : {0.0, 1.0, -1.0, 1e-300, std::nan("")}) {
    EXPECT_THAT(TypeParam::ShapeFor(10, fpp), refused("target_fpp"));
  }
  EXPECT_THAT(TypeParam::ShapeFor(UINT64_MAX, 0.01), refused("2^56"));
  // This exceeds 2^56 bits only by the kind's own sizing: more than one bit per key, where a
  // standard filter needs less.
  EXPECT_THAT(TypeParam::ShapeFor(uint64_t{1} << 56, 0.9), refused("2^56"));
}

// The header's promise about the rate of failed attempts.
TYPED_TEST(FuseTest, MostBuildsSucceedAtTheFirstAttempt) {
  struct Expected {
    uint64_t keys;
    double first;  // share of builds, at least
  };
  for (const auto& [keys, first] : {Expected{14, 0.55},
                                    {40, 0.63},
                                    {112, 0.75},
                                    {126, 5 / 6.0},
                                    {300, 0.88},
                                    {1000, 0.92},
                                    {3000, 0.92},
                                    {20'000, 0.96}}) {
    const uint64_t builds = keys < 5000 ? 2000 : 100;
    uint64_t at_first = 0;
    for (uint64_t seed = 0; seed < builds; ++seed) {
      const SolvedFuse<TypeParam> filter(DigestsOfKeys(0, keys, seed), 8, seed);
      ASSERT_THAT(filter.status, IsOk());
      at_first += filter.detail().attempt == 0;
      EXPECT_LT(filter.detail().attempt, 20u);
    }
    // Less three standard errors.
    const auto count = static_cast<double>(builds);
    EXPECT_GT(static_cast<double>(at_first),
              first * count - 3 * std::sqrt(first * (1 - first) * count))
        << keys;
  }
}

// Tries many numbers of keys, because the segments double in length at some of them.
TYPED_TEST(FuseTest, NoNumberOfKeysIsHardToSolve) {
  constexpr uint64_t kBuilds = 12, kNeighbours = 5;
  std::vector<uint64_t> failed;  // attempts, by number of keys
  for (uint64_t keys = 100; keys < 45'000; keys += 1 + keys / 60) {
    failed.push_back(0);
    for (uint64_t seed = 0; seed < kBuilds; ++seed) {
      const SolvedFuse<TypeParam> filter(DigestsOfKeys(0, keys, seed), 8, seed);
      ASSERT_THAT(filter.status, IsOk());
      failed.back() += filter.detail().attempt;
    }
    // A sixth of the attempts may fail.  Twice as many failures by chance are very unlikely.
    EXPECT_LT(failed.back(), kBuilds * 3 / 4) << keys << " keys";
    // If a quarter of all attempts fails, 60 builds need 20 more.  The chance of 41 is one in
    // 30,000.
    if (failed.size() < kNeighbours) continue;
    EXPECT_LT(std::accumulate(failed.end() - kNeighbours, failed.end(), uint64_t{0}), 41u)
        << "up to " << keys << " keys";
  }
  const uint64_t all = std::accumulate(failed.begin(), failed.end(), uint64_t{0});
  EXPECT_LT(static_cast<double>(all), 0.1 * static_cast<double>(kBuilds * failed.size()));
}

TYPED_TEST(FuseTest, UnsolvableKeysAreAborted) {
  // Three keys for two slots.
  Shape shape = TypeParam::ShapeFor(2000, 0.01).value();
  AlignedBytes payload = AlignedBytes::Zeros(TypeParam::PayloadBytes(shape));
  EXPECT_THAT(TypeParam::Solve(payload.data(), shape, 1, DigestsOfKeys(0, 3000)),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("3000 keys")));
}

TYPED_TEST(FuseTest, SolvingTakesTwentyBytesAKey) {
  if (testing_support::kIsSanitized) return;  // which take memory of their own
  constexpr uint64_t kKeys = 2'000'000;
  const std::vector<Digest> digests = DigestsOfKeys(0, kKeys);
  Shape shape = TypeParam::ShapeFor(kKeys, 0.01).value();
  AlignedBytes payload = AlignedBytes::Zeros(TypeParam::PayloadBytes(shape));
  std::fill_n(payload.data(), payload.size(), 0);  // so that it is in memory before
  const double taken = testing_support::MemoryTakenBy(
      [&] { return TypeParam::Solve(payload.data(), shape, 1, digests).ok(); });
  EXPECT_GT(taken / kKeys, 18);
  EXPECT_LE(taken / kKeys, 20.5);
}

TYPED_TEST(FuseTest, SolvingWithoutMemoryFails) {
  if (testing_support::kIsSanitized) return;  // sanitizers end the program if there is no memory
  Shape shape{uint64_t{1} << 50, TypeParam::kTag - 3u, FuseDetail{18, 1, 0}.Packed()};
  EXPECT_THAT(TypeParam::Solve(nullptr, shape, 1, DigestsOfKeys(0, 10)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("memory")));
}

// --- keys made by an attacker who knows the seed ---

// The digest that Remix maps to `hash`.
Digest Unmix(uint64_t hash, uint64_t salt) {
  const auto inverse = [](uint64_t odd) {  // modulo 2^64, by Newton
    uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  };
  hash ^= hash >> 33;
  hash *= inverse(0xc4ceb9fe1a85ec53);
  hash ^= hash >> 33;
  hash *= inverse(0xff51afd7ed558ccd);
  hash ^= hash >> 33;
  return hash ^ salt;
}

TYPED_TEST(FuseTest, UnsolvableKeysMakeAStandardFilter) {
  constexpr uint64_t kSeed = 0x5eed;
  constexpr double kFpp = 1.0 / 1024;
  constexpr uint64_t kKeys = std::is_same_v<TypeParam, Fuse3> ? 3000 : 2000;
  std::vector<Digest> digests = DigestsOfKeys(0, kKeys - 2 * TypeParam::kAttempts);
  // For each attempt, two keys with the same slots.
  Shape shape = TypeParam::ShapeFor(kKeys, kFpp).value();
  Dice dice(3);
  for (uint32_t attempt = 0; attempt < TypeParam::kAttempts; ++attempt) {
    FuseDetail detail = FuseDetail::Of(shape.detail);
    detail.attempt = attempt;
    shape.detail = detail.Packed();
    const uint64_t hash = dice.Next();
    const std::array<uint64_t, 4> slots = DrawnSlots(shape, hash);
    uint64_t other = hash + 1;  // the next ones have the same first slot
    while (DrawnSlots(shape, other) != slots) ++other;
    for (const uint64_t one : {hash, other}) {
      digests.push_back(Unmix(one, kSeed + shape.detail));
      ASSERT_EQ(bloom::Remix(digests.back(), kSeed + shape.detail), one);
    }
  }
  AlignedBytes payload = AlignedBytes::Zeros(TypeParam::PayloadBytes(shape));
  EXPECT_THAT(TypeParam::Solve(payload.data(), shape, kSeed, digests),
              StatusIs(absl::StatusCode::kAborted));
  const std::string_view kind = TypeParam::kName;
  const auto build = [&](uint64_t seed) {
    return testing_support::BuildFilter(kind, {.target_fpp = kFpp, .seed = seed}, digests);
  };
  const std::string filter = build(kSeed);
  const FilterReader reader = FilterReader::Open(filter);
  EXPECT_EQ(reader.kind_name(), "standard");
  for (const Digest digest : digests) EXPECT_TRUE(reader.MayContain(digest));
  // With another seed they are like any other keys.
  const std::string with_other_seed = build(kSeed + 1);
  EXPECT_EQ(FilterReader::Open(with_other_seed).kind_name(), kind);
}

// --- untrusted bytes ---

TYPED_TEST(FuseTest, ImpossibleShapesAreProblems) {
  constexpr uint32_t kArity = TypeParam::kTag - 3u;
  const std::vector<uint8_t> payload(8 * 16 + 7, 0);  // 128 slots of 8 bits
  const auto problem = [&payload](uint64_t size, uint32_t probes, FuseDetail detail) {
    return TypeParam::Problem({size, probes, detail.Packed()}, payload);
  };
  EXPECT_EQ(problem(128, kArity, {4, 8, 0}), "");
  EXPECT_EQ(problem(128, kArity, {0, 8, 255}), "");
  EXPECT_EQ(problem(128, kArity, {5, 8, 63}), "");
  EXPECT_EQ(problem(32, kArity, {3, 32, 0}), "");
  EXPECT_NE(problem(128, kArity - 1, {4, 8, 0}), "");
  EXPECT_NE(problem(128, kArity + 1, {4, 8, 0}), "");
  EXPECT_NE(problem(128, 0, {4, 8, 0}), "");
  for (const uint32_t width : {0, 7, 9, 16, 33, 64, 255}) {
    EXPECT_NE(problem(128, kArity, {4, width, 0}), "") << width;
  }
  // Fewer than `arity` segments, parts of one, segments beyond the fields of g or any number.
  for (const uint32_t segment_log2 : {6, 7, 8, 19, 63, 64, 65, 255}) {
    EXPECT_NE(problem(128, kArity, {segment_log2, 8, 0}), "") << segment_log2;
  }
  EXPECT_NE(TypeParam::Problem({129, kArity, FuseDetail{4, 8, 0}.Packed()},
                               std::vector<uint8_t>(129 + 7)),
            "");
  EXPECT_NE(TypeParam::Problem({0, kArity, FuseDetail{0, 8, 0}.Packed()}, std::vector<uint8_t>(7)),
            "");
  EXPECT_NE(TypeParam::Problem({128, kArity, FuseDetail{4, 8, 0}.Packed()}, {}), "");
  const std::vector<uint8_t> long_payload((uint64_t{1} << 21) / 8 + 7);
  EXPECT_EQ(TypeParam::Problem({1 << 21, kArity, FuseDetail{18, 1, 0}.Packed()}, long_payload), "");
  EXPECT_NE(TypeParam::Problem({1 << 21, kArity, FuseDetail{19, 1, 0}.Packed()}, long_payload), "");
  // Large sizes, with every possible overflow.
  for (int shift = 20; shift < 64; ++shift) {
    for (const uint32_t width : {1, 8, 32}) {
      EXPECT_NE(problem((uint64_t{1} << shift) + 128, kArity, {4, width, 0}), "") << shift;
      EXPECT_NE(problem(uint64_t{1} << shift, kArity, {4, width, 0}), "") << shift;
    }
  }
  EXPECT_NE(problem(UINT64_MAX - 15, kArity, {4, 8, 0}), "");
  for (int bit = 16; bit < 56; ++bit) {
    const Shape shape{128, kArity, FuseDetail{4, 8, 0}.Packed() | uint64_t{1} << bit};
    EXPECT_NE(TypeParam::Problem(shape, payload), "") << bit;
  }
  // The sizes of any shape are computed without overflow.
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 56, UINT64_MAX}) {
    for (const uint64_t detail : {uint64_t{0}, uint64_t{0x108}, uint64_t{0x2004}, UINT64_MAX}) {
      const uint64_t bits = TypeParam::SizeBits({size, 77, detail});
      const uint64_t bytes = TypeParam::PayloadBytes({size, 77, detail});
      EXPECT_TRUE(bits == UINT64_MAX ? bytes > bloom::kMaxSizeBits / 8 : bits == 8 * bytes);
    }
  }
}

TYPED_TEST(FuseTest, OnesAfterTheLastNumberAreDamage) {
  for (const uint32_t width : {1, 3, 8}) {
    const SolvedFuse<TypeParam> filter(DigestsOfKeys(0, 2), width);
    const uint64_t used = filter.shape.size * width;
    for (uint64_t bit = used; bit < 8 * filter.payload.size(); ++bit) {
      std::vector<uint8_t> bytes(filter.payload.data(),
                                 filter.payload.data() + filter.payload.size());
      EXPECT_EQ(TypeParam::Problem(filter.shape, bytes), "");
      bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] | 1 << bit % 8);
      EXPECT_NE(TypeParam::Problem(filter.shape, bytes), "") << bit;
    }
  }
}

// A forger may write any consistent geometry.  All reads then stay within the bytes.
TYPED_TEST(FuseTest, ForgedGeometriesAreReadWithinTheirBytes) {
  Dice dice(20'220'101);
  for (int round = 0; round < 4000; ++round) {
    const auto segment_log2 = static_cast<uint32_t>(dice.Roll(6));
    const auto width = static_cast<uint32_t>(1 + dice.Roll(kWidths));
    const Shape shape{(TypeParam::kTag - 3 + dice.Roll(4)) << segment_log2, TypeParam::kTag - 3u,
                      FuseDetail{segment_log2, width, static_cast<uint8_t>(dice.Next())}.Packed()};
    std::vector<uint8_t> payload(TypeParam::PayloadBytes(shape));
    for (uint64_t bit = 0; bit < shape.size * width; ++bit) {
      if (dice.OneIn(2)) bloom::SetBit(payload.data(), bit);
    }
    bloom::FilterHeader header = bloom::HeaderFor<TypeParam>(shape, dice.Next(), 0.5);
    header.key_count = dice.Next();
    const std::string bytes = bloom::EncodeFilter(header, payload);
    // Exactly as long, so that AddressSanitizer sees a read beside them.
    const std::unique_ptr<char[]> copy(new char[bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), copy.get());
    const FilterReader reader = FilterReader::Open({copy.get(), bytes.size()});
    ASSERT_EQ(reader.state(), FilterState::kUsable);
    const FilterView view{payload.data(), shape, header.seed};
    const auto digests = DigestsOfKeys(0, 100, static_cast<uint64_t>(round));
    bool answers[100];
    reader.MayContainBatch(digests, answers);
    for (size_t i = 0; i < digests.size(); ++i) {
      reader.Prefetch(digests[i]);
      const bool expected = DrawnSum(view, digests[i]) == 0;
      ASSERT_EQ(reader.MayContain(digests[i]), expected);
      ASSERT_EQ(answers[i], expected);
    }
  }
}

}  // namespace
