#include "bloom/rotating.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bloom/core/sizing.h"
#include "tests/bloom/filters/rows.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::RotatingFilter;
using testing::HasSubstr;
using testing_support::AddKeys;
using testing_support::BlockedRow;
using testing_support::CountKeys;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::LoadRowsAndUse;
using testing_support::PartsOf;
using testing_support::ScarceRow;
using testing_support::StandardRow;
using testing_support::StatusIs;
using testing_support::WithNumberAt;
using testing_support::WithParts;

constexpr auto kRotatingLoss = absl::StatusCode::kDataLoss;
constexpr auto kRotatingInvalid = absl::StatusCode::kInvalidArgument;

template <class Row>
RotatingFilter<Row> MakeRotating(uint64_t from, uint64_t to, uint64_t window, double fpp = 0.01,
                                 uint32_t generations = 4, uint64_t seed = 3) {
  auto filter = RotatingFilter<Row>::MakeWithGenerations(window, fpp, generations, seed).value();
  AddKeys(filter, from, to);
  return filter;
}

template <class Row>
std::vector<uint64_t> AgeCounts(const RotatingFilter<Row>& filter) {
  std::vector<uint64_t> counts;
  for (uint32_t age = 0; age < filter.generations(); ++age)
    counts.push_back(filter.added_count_of_age(age));
  return counts;
}

template <class Row>
class RotatingTest : public testing::Test {};
using RotatingRows = testing::Types<BlockedRow, StandardRow>;
TYPED_TEST_SUITE(RotatingTest, RotatingRows, testing_support::KindNames);

// After each addition, the filter holds the window, and no keys older than all generations.
TYPED_TEST(RotatingTest, RemembersOnlyTheWindow) {
  for (const uint32_t generations : {2, 3, 4, 8}) {
    auto filter = MakeRotating<TypeParam>(0, 0, 210, 1e-7, generations);
    const uint64_t capacity = filter.generation_capacity();
    ASSERT_EQ(filter.window(), capacity * (generations - 1));
    ASSERT_GE(filter.window(), 210u);
    uint64_t remembered_least = UINT64_MAX;
    for (uint64_t added = 1; added <= 2000; ++added) {
      filter.AddDigest(DigestOfKey(added - 1));
      const uint64_t back = std::min(added, filter.window() + 1);
      ASSERT_EQ(CountKeys(filter, added - back, added), back) << added;
      const uint64_t all = capacity * generations;
      if (added <= all) continue;
      ASSERT_EQ(CountKeys(filter, added - all - 1, added - all), 0u) << added;
      remembered_least = std::min(remembered_least, filter.remembered_count());
    }
    EXPECT_EQ(remembered_least, filter.window() + 1);  // the bound is tight
    EXPECT_EQ(filter.added_count(), 2000u);
  }
}

TYPED_TEST(RotatingTest, NeverGrows) {
  auto filter = MakeRotating<TypeParam>(0, 0, 1000);
  const uint64_t bits = filter.size_bits();
  const size_t bytes = filter.Serialize().size();
  AddKeys(filter, 0, 50'000);
  EXPECT_EQ(filter.size_bits(), bits);
  EXPECT_EQ(filter.Serialize().size(), bytes);
  EXPECT_LE(filter.remembered_count(), 4 * filter.generation_capacity());
}

TYPED_TEST(RotatingTest, MeetsItsTargetAtTheWorstFill) {
  constexpr uint64_t kWindow = 60'000;
  constexpr double kTarget = 0.05;
  constexpr uint64_t kQueries = 250'000;
  for (const uint64_t keys : {40'000, 80'000, 80'001, 250'000}) {
    double sum = 0, predicted = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const auto filter = MakeRotating<TypeParam>(0, keys, kWindow, kTarget, 4, seed);
      const double measured =
          static_cast<double>(CountKeys(filter, keys, keys + kQueries)) / kQueries;
      predicted = filter.PredictedFpp(keys);
      EXPECT_NEAR(measured / predicted, 1, 0.05) << keys;
      EXPECT_NEAR(measured / filter.CurrentFpp(), 1, 0.04) << keys;
      sum += measured;
    }
    EXPECT_NEAR(sum / 5 / predicted, 1, 0.02) << keys;
    EXPECT_LE(sum / 5, kTarget * 1.02);
    EXPECT_LE(predicted, kTarget * 1.0001);
  }
  const auto filter = MakeRotating<TypeParam>(0, 0, kWindow, kTarget);
  EXPECT_EQ(filter.PredictedFpp(0), 0);
  EXPECT_GT(filter.PredictedFpp(80'000), kTarget * 0.99);
  double highest = 0;
  for (uint64_t keys = 1; keys < 400'000; keys += 4999)
    highest = std::max(highest, filter.PredictedFpp(keys));
  EXPECT_LE(highest, filter.PredictedFpp(80'000));
  EXPECT_EQ(filter.PredictedFpp(80'001), filter.PredictedFpp(100'001));
  EXPECT_GT(filter.PredictedFpp(UINT64_MAX), 0.03);
}

// A rotating filter without false positives: the keys of each generation, newest first.
class ExactRotating {
 public:
  ExactRotating(size_t generations, size_t capacity)
      : generations_(generations), capacity_(capacity) {}

  bool AddIfAbsent(uint64_t key) {
    if (generations_[0].contains(key)) return false;
    const bool is_new = std::none_of(generations_.begin(), generations_.end(),
                                     [key](const auto& keys) { return keys.contains(key); });
    if (generations_[0].size() == capacity_) {
      generations_.pop_back();
      generations_.emplace_front();
    }
    generations_[0].insert(key);
    return is_new;
  }

 private:
  std::deque<std::unordered_set<uint64_t>> generations_;
  size_t capacity_;
};

// A stream of keys that repeat soon, late, or never.
TYPED_TEST(RotatingTest, DeduplicatesAStreamAsTheOracleDoes) {
  auto filter = MakeRotating<TypeParam>(0, 0, 1200, 1e-7);
  ExactRotating oracle(4, 400);
  Dice dice(5);
  std::unordered_map<uint64_t, uint64_t> last;  // call, by key
  uint64_t duplicates = 0;
  for (uint64_t call = 0; call < 100'000; ++call) {
    const uint64_t key = dice.OneIn(3) ? dice.Next() : dice.Roll(2000);
    const bool is_new = filter.AddDigestIfAbsent(DigestOfKey(key));
    ASSERT_EQ(is_new, oracle.AddIfAbsent(key)) << call;
    // Checks the promise by calls, because each call adds at most one key.
    const auto [at, is_first] = last.try_emplace(key, call);
    if (!is_first && call - at->second <= filter.window()) {
      ASSERT_FALSE(is_new);
    }
    duplicates += !is_new;
    at->second = call;
  }
  EXPECT_GT(duplicates, 20'000u);
}

// A key that repeats within each window is never taken for new.  A key that is only looked up ages.
TYPED_TEST(RotatingTest, RepeatedKeysNeverAgeOut) {
  auto filter = MakeRotating<TypeParam>(0, 0, 300, 1e-6);
  EXPECT_TRUE(filter.AddIfAbsent("steady"));
  EXPECT_TRUE(filter.AddIfAbsent("asked"));
  bool asked_is_known = true;
  for (uint64_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(filter.AddDigestIfAbsent(DigestOfKey(i)));
    if (i % 250 == 249) {
      ASSERT_FALSE(filter.AddIfAbsent("steady")) << i;
    }
    asked_is_known = filter.MayContain("asked");
  }
  EXPECT_FALSE(asked_is_known);
  // Repetitions do not use up the newest generation.
  const uint64_t before = filter.added_count();
  for (int i = 0; i < 1000; ++i) filter.AddIfAbsent("steady");
  EXPECT_LE(filter.added_count(), before + 1);
  // The call that rotates the generations refreshes it, too.
  auto full = MakeRotating<TypeParam>(0, 0, 3, 1e-6);  // one key a generation
  EXPECT_TRUE(full.AddIfAbsent("steady"));
  AddKeys(full, 0, 3);
  EXPECT_FALSE(full.AddIfAbsent("steady"));
  AddKeys(full, 3, 6);
  EXPECT_TRUE(full.MayContain("steady"));
}

TYPED_TEST(RotatingTest, AdvanceForgetsByTime) {
  auto filter = MakeRotating<TypeParam>(0, 0, 3000, 1e-6);
  for (uint64_t hour = 0; hour < 10; ++hour) {
    AddKeys(filter, 100 * hour, 100 * hour + 100);
    const uint64_t first = hour < 4 ? 0 : hour - 3;
    EXPECT_EQ(CountKeys(filter, 0, 1000), 100 * (hour + 1 - first));
    EXPECT_EQ(CountKeys(filter, 100 * first, 100 * hour + 100), 100 * (hour + 1 - first));
    filter.Advance();
  }
  for (int i = 0; i < 3; ++i) filter.Advance();
  EXPECT_EQ(CountKeys(filter, 0, 1000), 0u);
  EXPECT_EQ(filter.remembered_count(), 0u);
  EXPECT_EQ(filter.added_count(), 1000u);
  EXPECT_EQ(filter.CurrentFpp(), 0);
}

TYPED_TEST(RotatingTest, SavingKeepsTheAges) {
  for (const uint64_t keys : {0, 5, 399, 400, 401, 1000, 1234, 1600, 5000}) {
    auto filter = MakeRotating<TypeParam>(0, keys, 1200, 1e-6);
    const std::string bytes = filter.Serialize();
    auto loaded = RotatingFilter<TypeParam>::Load(bytes).value();
    EXPECT_EQ(loaded.Serialize(), bytes);
    EXPECT_EQ(AgeCounts(loaded), AgeCounts(filter));
    EXPECT_EQ(loaded.generations(), 4u);
    EXPECT_EQ(loaded.window(), 1200u);
    for (uint64_t i = keys; i < keys + 1500; ++i) {
      filter.AddDigest(DigestOfKey(i));
      loaded.AddDigest(DigestOfKey(i));
    }
    EXPECT_EQ(loaded.Serialize(), filter.Serialize());
    filter.Advance();
    loaded.Advance();
    EXPECT_EQ(loaded.Serialize(), filter.Serialize());
  }
}

TYPED_TEST(RotatingTest, MergesGenerationsWithRoom) {
  auto left = MakeRotating<TypeParam>(0, 0, 3000, 1e-6);
  auto right = MakeRotating<TypeParam>(0, 0, 3000, 1e-6);
  for (uint64_t age = 4; age-- > 0;) {
    if (age < 3) left.Advance(), right.Advance();
    AddKeys(left, 1000 * age, 1000 * age + 400);
    AddKeys(right, 1000 * age + 400, 1000 * age + 700 + 100 * age);
  }
  ASSERT_THAT(left.Merge(right), IsOk());
  EXPECT_EQ(AgeCounts(left), std::vector<uint64_t>({700, 800, 900, 1000}));
  EXPECT_EQ(left.added_count(), 3400u);
  for (uint64_t age = 4; age-- > 0;) {
    for (uint64_t young = 0; young <= age; ++young)
      EXPECT_EQ(CountKeys(left, 1000 * young, 1000 * young + 700), 700u);
    left.Advance();
    EXPECT_EQ(CountKeys(left, 1000 * age, 1000 * age + 700), 0u);
  }
}

TYPED_TEST(RotatingTest, RefusesMergesThatOverfillAGeneration) {
  auto left = MakeRotating<TypeParam>(0, 1500, 3000);
  const std::string before = left.Serialize();
  EXPECT_THAT(left.Merge(MakeRotating<TypeParam>(0, 1001, 3000)),
              StatusIs(kRotatingInvalid, HasSubstr("1000 and 1000 keys of age 1")));
  EXPECT_EQ(left.Serialize(), before);
  EXPECT_THAT(left.Merge(MakeRotating<TypeParam>(1500, 2001, 3000)),
              StatusIs(kRotatingInvalid, HasSubstr("500 and 501 keys of age 0")));
  EXPECT_EQ(left.Serialize(), before);
  EXPECT_THAT(left.Merge(MakeRotating<TypeParam>(1500, 2000, 3000)), IsOk());
  EXPECT_EQ(left.Serialize(), MakeRotating<TypeParam>(0, 2000, 3000).Serialize());
  const std::string full = left.Serialize();
  EXPECT_THAT(left.Merge(left), StatusIs(kRotatingInvalid, HasSubstr("age")));
  EXPECT_EQ(left.Serialize(), full);
}

TYPED_TEST(RotatingTest, RefusesToMergeDifferentFilters) {
  auto filter = MakeRotating<TypeParam>(0, 100, 3000);
  const std::string before = filter.Serialize();
  const auto refused = [&](const RotatingFilter<TypeParam>& other, const char* what) {
    EXPECT_THAT(filter.Merge(other), StatusIs(kRotatingInvalid, HasSubstr(what)));
    EXPECT_EQ(filter.Serialize(), before);
  };
  refused(MakeRotating<TypeParam>(0, 0, 3001), "row capacities");
  refused(MakeRotating<TypeParam>(0, 0, 3000, 0.0101), "target_fpp");
  refused(MakeRotating<TypeParam>(0, 0, 4000, 0.01, 5), "generations 4 and 5");
  refused(MakeRotating<TypeParam>(0, 0, 3000, 0.01, 4, 4), "seeds");
}

TYPED_TEST(RotatingTest, DamageInARowIsDataLossThatNamesTheRow) {
  const std::string sound = MakeRotating<TypeParam>(0, 50, 30, 0.1).Serialize();
  const std::vector<std::string> parts = PartsOf(sound);
  ASSERT_EQ(parts.size(), 4u);
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t bit = 0; bit < 8 * parts[i].size(); ++bit) {
      std::vector<std::string> damaged = parts;
      damaged[i][bit / 8] = static_cast<char>(damaged[i][bit / 8] ^ (1 << (bit % 8)));
      ASSERT_THAT(LoadRowsAndUse<RotatingFilter<TypeParam>>(WithParts(sound, damaged)),
                  StatusIs(kRotatingLoss, HasSubstr("row " + std::to_string(i))))
          << "bit " << bit;
    }
  }
}

TYPED_TEST(RotatingTest, MismatchedRowsAreDataLoss) {
  using Filter = RotatingFilter<TypeParam>;
  const std::string sound = MakeRotating<TypeParam>(0, 50, 30, 0.1).Serialize();
  const std::vector<std::string> parts = PartsOf(sound);
  const auto loss = [](const char* what) { return StatusIs(kRotatingLoss, HasSubstr(what)); };
  const auto with_part = [&](const std::string& part) {
    return WithParts(sound, {parts[0], part, parts[2], parts[3]});
  };
  EXPECT_THAT(Filter::Load(with_part(parts[2])), IsOk());
  const std::string other_seed = MakeRotating<TypeParam>(0, 50, 30, 0.1, 4, 5).Serialize();
  EXPECT_THAT(Filter::Load(with_part(PartsOf(other_seed)[1])), loss("row 1 has another seed"));
  const std::string other_target = MakeRotating<TypeParam>(0, 50, 30, 0.09).Serialize();
  EXPECT_THAT(Filter::Load(with_part(PartsOf(other_target)[1])), loss("row 1 has another shape"));
  EXPECT_THAT(Filter::Load(WithParts(sound, {parts[0], parts[1], parts[2]})), loss("3 parts"));
  EXPECT_THAT(Filter::Load(WithParts(sound, {})), loss("0 parts"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 24, 39)), loss("more keys than were ever added"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 24, 40)), IsOk());
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 32, 0)), StatusIs(kRotatingLoss));
  const uint64_t detail = bloom::Load64(&sound[48]);
  EXPECT_EQ(detail, 0x400u + TypeParam::kTag);
  for (const uint64_t generations : {0, 1, 65, 256, 260})
    EXPECT_THAT(Filter::Load(WithNumberAt(sound, 48, generations << 8 | TypeParam::kTag)),
                loss("generations"));
  EXPECT_THAT(Filter::Load(WithNumberAt(sound, 48, detail + 0x100)), loss("4 parts, not 5"));
}

TYPED_TEST(RotatingTest, ForgedRowsAreHarmless) {
  const std::string sound = MakeRotating<TypeParam>(0, 50, 30, 0.1).Serialize();
  EXPECT_GT(testing_support::LoadWithForgedParts<RotatingFilter<TypeParam>>(sound, 7, 3000), 0);
}

// In every state, from empty through each rotation to long full; in a small filter, and in one so
// large that queries prefetch.
TYPED_TEST(RotatingTest, BatchesAnswerAsSingleQuestionsDo) {
  for (const uint32_t generations : {2, 4, 7}) {
    for (const uint64_t window : {300, 300'000}) {
      auto filter = MakeRotating<TypeParam>(0, 0, window, 0.1, generations);
      const uint64_t step = filter.generation_capacity() / 2 + 1;
      for (uint64_t added = 0; added <= 5 * window; added += step) {
        for (const size_t count : {1, 33, 700}) {
          // Forgotten keys, keys of each generation, and new keys.
          std::vector<bloom::Digest> digests;
          for (size_t i = 0; i < count; ++i)
            digests.push_back(DigestOfKey(added - std::min(added, i * 2 * window / count)));
          const std::unique_ptr<bool[]> answers(new bool[count]);
          filter.MayContainBatch(digests, {answers.get(), count});
          for (size_t i = 0; i < count; ++i) {
            filter.Prefetch(digests[i]);
            ASSERT_EQ(answers[i], filter.MayContainDigest(digests[i])) << added << ", " << i;
          }
        }
        AddKeys(filter, added, added + step);
      }
    }
  }
}

// With rotations in between, repetitions within a batch, and keys of an old generation.
TYPED_TEST(RotatingTest, BatchesAddAsSingleKeysDo) {
  Dice dice(8);
  for (const uint64_t window : {50, 200'000}) {
    auto in_batches = MakeRotating<TypeParam>(0, 0, window),
         singly = MakeRotating<TypeParam>(0, 0, window);
    uint64_t last = 0;
    while (last < 5 * window) {
      const size_t count = dice.Roll(window / 2);
      std::vector<bloom::Digest> digests;
      for (size_t i = 0; i < count; ++i) {
        const uint64_t back = dice.OneIn(3) ? dice.Roll(2 * window) : 0;
        last += back == 0 ? 1 : 0;
        digests.push_back(DigestOfKey(last - std::min(last, back)));
      }
      const std::unique_ptr<bool[]> were_absent(new bool[count]);
      in_batches.AddDigestsIfAbsent(digests, {were_absent.get(), count});
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(were_absent[i], singly.AddDigestIfAbsent(digests[i])) << last << ", " << i;
    }
    EXPECT_EQ(in_batches.Serialize(), singly.Serialize());
    EXPECT_EQ(in_batches.added_count(), singly.added_count());
  }
}

TEST(RotatingPlanTest, TakesTheStatedBitsPerKey) {
  const auto filter = RotatingFilter<>::Make(100'000, 0.01).value();
  EXPECT_NEAR(static_cast<double>(filter.size_bits()) / 100'000, 17.6, 0.05);
}

TEST(RotatingPlanTest, BytesMatchTheDrawing) {
  const auto filter = MakeRotating<StandardRow>(0, 52, 30);  // generations of 10
  const std::string bytes = filter.Serialize();
  EXPECT_EQ(bytes[8], 74);
  EXPECT_EQ(bloom::Load64(&bytes[24]), 52u);
  EXPECT_EQ(bloom::Load64(&bytes[32]), 10u);
  EXPECT_EQ(bloom::Load64(&bytes[48]), 0x402u);  // 4, standard
  const std::vector<std::string> parts = PartsOf(bytes);
  for (uint64_t age = 0; age < 4; ++age) {
    const auto row = StandardRow::Load(parts[age]).value();
    EXPECT_EQ(bytes[10], static_cast<char>(row.shape().probes));
    EXPECT_EQ(row.added_count(), age == 0 ? 2u : 10u);
    const uint64_t first = 50 - 10 * age;
    EXPECT_EQ(CountKeys(row, first, first + row.added_count()), row.added_count());
  }
}

TEST(RotatingPlanTest, RefusesRowsOfAnotherKind) {
  EXPECT_THAT(RotatingFilter<BlockedRow>::Load(MakeRotating<StandardRow>(0, 50, 20).Serialize()),
              StatusIs(kRotatingInvalid, HasSubstr("rows of kind 2, not 3")));
}

TEST(RotatingPlanTest, AllocatesAllGenerationsAtOnce) {
  ScarceRow::rows_left = 3;
  EXPECT_THAT(RotatingFilter<ScarceRow>::Make(100, 0.01),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ScarceRow::rows_left = 4;
  auto filter = RotatingFilter<ScarceRow>::Make(100, 0.01).value();
  AddKeys(filter, 0, 1000);
  EXPECT_EQ(CountKeys(filter, 900, 1000), 100u);
}

TEST(RotatingPlanTest, BadPlansAreNamed) {
  for (const uint32_t generations : {0u, 1u, 65u, UINT32_MAX}) {
    EXPECT_THAT(RotatingFilter<>::MakeWithGenerations(10, 0.01, generations),
                StatusIs(kRotatingInvalid, HasSubstr("generations")));
  }
  EXPECT_THAT(RotatingFilter<>::Make(10, bloom::kMinTargetFpp),
              StatusIs(kRotatingInvalid, HasSubstr("too low for 4 generations")));
  EXPECT_EQ(bloom::PlanRotating(10, 0.01, 4)->capacity, 4u);
  EXPECT_EQ(bloom::PlanRotating(9, 0.01, 4)->capacity, 3u);
  EXPECT_EQ(bloom::PlanRotating(UINT64_MAX, 0.01, 2)->capacity, UINT64_MAX);
  const double row = bloom::PlanRotating(9, 0.01, 4)->target_fpp;
  EXPECT_NEAR(1 - std::pow(1 - row, 4), 0.01, 1e-12);
}

}  // namespace
