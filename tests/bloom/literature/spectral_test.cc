#include "bloom/literature/spectral.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/hash.h"
#include "tests/bloom/hostile_bytes.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace bloom {
// How GoogleTest names a parameter.
void PrintTo(SpectralMethod method, std::ostream* out) { *out << NameOf(method); }
}  // namespace bloom

namespace {

using bloom::SpectralFilter;
using bloom::SpectralMethod;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::StatusIs;

constexpr SpectralMethod kSelection = SpectralMethod::kMinimumSelection;
constexpr SpectralMethod kIncrease = SpectralMethod::kMinimalIncrease;
constexpr SpectralMethod kRecurring = SpectralMethod::kRecurringMinimum;
constexpr SpectralMethod kAllMethods[] = {kSelection, kIncrease, kRecurring};

SpectralFilter MakeSpectral(uint64_t keys, double fpp, SpectralMethod method, uint32_t bits = 16,
                            uint64_t seed = 1) {
  return SpectralFilter::Make(keys, fpp, {.method = method, .counter_bits = bits, .seed = seed})
      .value();
}

// --- an oracle: the definitions in their simplest form ---

class SpectralOracle {
 public:
  SpectralOracle(const SpectralFilter& like)
      : method_(like.method()),
        most_(like.max_count()),
        seed_(like.seed()),
        probes_(like.shape().probes),
        first_(like.shape().size),
        second_((like.shape().size + 1) / 2),
        marks_(like.shape().size) {}

  void Add(uint64_t key, uint64_t times) {
    if (times == 0) return;
    const auto cells = CellsOf(key, 0, first_);
    if (method_ == kIncrease) {
      const uint64_t raised = Capped(Least(first_, cells), times);
      for (const uint64_t cell : cells) first_[cell] = std::max(first_[cell], raised);
      return;
    }
    for (const uint64_t cell : cells) first_[cell] = Capped(first_[cell], times);
    if (method_ == kSelection) return;
    const auto moved_cells = CellsOf(key, 1, second_), marks = CellsOf(key, 2, marks_);
    const bool marked = Least(marks_, marks) == 1;
    const uint64_t least = Least(first_, cells);
    const bool single = std::count_if(cells.begin(), cells.end(),
                                      [&](uint64_t cell) { return first_[cell] == least; }) == 1;
    const bool counted = marked && Least(second_, moved_cells) > 0;
    if (!counted && !marked && !single) return;
    for (const uint64_t mark : marks) marks_[mark] = 1;
    for (const uint64_t cell : moved_cells)
      second_[cell] = Capped(second_[cell], counted ? times : least);
  }

  void Remove(uint64_t key, uint64_t times) {
    const bool counted = IsMoved(key);
    for (const uint64_t cell : CellsOf(key, 0, first_))
      if (first_[cell] < most_) first_[cell] -= times;
    if (!counted) return;
    for (const uint64_t cell : CellsOf(key, 1, second_))
      if (second_[cell] < most_) second_[cell] -= times;
  }

  uint64_t Count(uint64_t key) const {
    const uint64_t count = Least(first_, CellsOf(key, 0, first_));
    if (count == 0 || !IsMoved(key)) return count;
    return std::min(count, Least(second_, CellsOf(key, 1, second_)));
  }

  uint64_t CountSaturated() const {
    return static_cast<uint64_t>(std::count(first_.begin(), first_.end(), most_));
  }

 private:
  using Cells = std::vector<uint64_t>;

  Cells CellsOf(uint64_t key, uint64_t salt, const Cells& among) const {
    uint64_t hash = bloom::Remix(DigestOfKey(key), seed_);
    if (salt != 0) hash = bloom::Remix(hash, salt);
    bloom::Probes positions(hash, among.size());
    Cells cells;
    for (uint32_t i = 0; i < probes_; ++i) cells.push_back(positions.Next());
    std::sort(cells.begin(), cells.end());
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
    return cells;
  }
  static uint64_t Least(const Cells& values, const Cells& at) {
    uint64_t least = UINT64_MAX;
    for (const uint64_t cell : at) least = std::min(least, values[cell]);
    return least;
  }
  uint64_t Capped(uint64_t value, uint64_t by) const {
    return by > most_ || value + by > most_ ? most_ : value + by;
  }
  bool IsMoved(uint64_t key) const {
    return method_ == kRecurring && Least(marks_, CellsOf(key, 2, marks_)) == 1 &&
           Least(second_, CellsOf(key, 1, second_)) > 0;
  }

  SpectralMethod method_;
  uint64_t most_, seed_;
  uint32_t probes_;
  Cells first_, second_, marks_;
};

class SpectralTest : public testing::TestWithParam<SpectralMethod> {
 protected:
  static bool CanRemove() { return GetParam() != kIncrease; }
};
std::string MethodNameOf(const testing::TestParamInfo<SpectralMethod>& method) {
  std::string name(bloom::NameOf(method.param));
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Methods, SpectralTest, testing::ValuesIn(kAllMethods), MethodNameOf);

// Covers additions of several at once, accepted and refused removals, and saturated counters:
// - in filters with the planned keys, and with many more, in which keys share cells and use a cell
//   twice
// - in short histories, in which few keys were moved, and in long ones, in which most were
TEST_P(SpectralTest, CountsMatchTheOracle) {
  uint64_t refused = 0, granted = 0, saturated = 0;
  const auto try_out = [&](uint32_t bits, double fpp, uint64_t load, uint64_t additions_per_key,
                           uint64_t seed) {
    SpectralFilter filter = MakeSpectral(80, fpp, GetParam(), bits, seed);
    SpectralOracle oracle(filter);
    const uint64_t keys = load * filter.shape().size / 100 / filter.shape().probes;
    Dice dice(seed);
    uint64_t total = 0;
    for (uint64_t step = 0; step < additions_per_key * keys; ++step) {
      const uint64_t key = dice.Roll(keys), times = dice.Roll(dice.OneIn(8) ? 9 : 3);
      ASSERT_EQ(filter.CountDigest(DigestOfKey(key)), oracle.Count(key));
      ASSERT_EQ(filter.MayContainDigest(DigestOfKey(key)), oracle.Count(key) > 0);
      if (!CanRemove() || dice.Roll(5) < 3) {
        filter.AddDigest(DigestOfKey(key), times);
        oracle.Add(key, times);
        total += times;
        continue;
      }
      const uint64_t count = oracle.Count(key);
      const bool possible = count >= times || count == filter.max_count();
      ASSERT_EQ(filter.RemoveDigest(DigestOfKey(key), times).value(), possible);
      ++(possible ? granted : refused);
      if (!possible) continue;
      oracle.Remove(key, times);
      total -= std::min(total, times);
    }
    for (uint64_t key = 0; key < 2 * keys; ++key)
      ASSERT_EQ(filter.CountDigest(DigestOfKey(key)), oracle.Count(key));
    EXPECT_EQ(filter.added_count(), total);
    EXPECT_EQ(filter.CountSaturated(), oracle.CountSaturated());
    EXPECT_TRUE(bits <= 8 || filter.CountSaturated() == 0);
    saturated += filter.CountSaturated();
  };
  for (const uint32_t bits : {4, 5, 13, 32}) {
    for (const double fpp : {0.5, 0.03, 1e-4}) {
      for (const uint64_t load : {30, 70, 200}) {
        for (uint64_t seed = 1; seed <= 4; ++seed) {
          try_out(bits, fpp, load, seed == 1 ? 12 : 3, seed);
          ASSERT_FALSE(HasFailure()) << bits << ", " << fpp << ", " << load << ", " << seed;
        }
      }
    }
  }
  EXPECT_GT(saturated, 1000u);
  EXPECT_TRUE(!CanRemove() || std::min(refused, granted) > 1000u);
}

TEST_P(SpectralTest, AddingManyEqualsAddingOneOften) {
  SpectralFilter at_once = MakeSpectral(2000, 0.04, GetParam());
  SpectralFilter one_by_one = MakeSpectral(2000, 0.04, GetParam());
  for (uint64_t key = 0; key < 3000; ++key) {
    const uint64_t times = 1 + 4 * key % 7;
    at_once.AddDigest(DigestOfKey(key), times);
    at_once.AddDigest(DigestOfKey(key), 0);
    for (uint64_t i = 0; i < times; ++i) one_by_one.AddDigest(DigestOfKey(key));
  }
  EXPECT_EQ(at_once.Serialize(), one_by_one.Serialize());
  const std::string before = at_once.Serialize();
  at_once.Add("nothing", 0);
  EXPECT_EQ(at_once.Serialize(), before);
}

// --- removal ---

class SpectralRemovalTest : public SpectralTest {};
INSTANTIATE_TEST_SUITE_P(Methods, SpectralRemovalTest, testing::Values(kSelection, kRecurring),
                         MethodNameOf);

TEST_P(SpectralRemovalTest, RemovesOnlyTheRemovedKeys) {
  constexpr uint64_t kKeys = 5000;
  SpectralFilter filter = MakeSpectral(kKeys, 0.02, GetParam());
  const std::string empty = filter.Serialize();
  std::vector<uint64_t> truth(kKeys, 0);
  Dice dice(8);
  for (int step = 0; step < 200'000; ++step) {
    const uint64_t key = dice.Roll(kKeys), times = 1 + dice.Roll(3);
    if (truth[key] >= times && dice.OneIn(2)) {
      ASSERT_TRUE(filter.RemoveDigest(DigestOfKey(key), times).value());
      truth[key] -= times;
    } else {
      filter.AddDigest(DigestOfKey(key), times);
      truth[key] += times;
    }
  }
  EXPECT_EQ(filter.CountSaturated(), 0u);
  uint64_t wrong = 0;
  for (uint64_t key = 0; key < kKeys; ++key) {
    const uint64_t count = filter.CountDigest(DigestOfKey(key));
    ASSERT_GE(count, truth[key]);
    wrong += count > truth[key];
  }
  EXPECT_LT(wrong, kKeys * 3 / 100);
  for (uint64_t key = 0; key < kKeys; ++key)
    ASSERT_TRUE(filter.RemoveDigest(DigestOfKey(key), truth[key]).value());
  EXPECT_EQ(filter.added_count(), 0u);
  EXPECT_EQ(filter.CurrentFpp(), 0);
  for (uint64_t key = 0; key < kKeys; ++key) ASSERT_EQ(filter.CountDigest(DigestOfKey(key)), 0u);
  if (GetParam() == kSelection) {
    EXPECT_EQ(filter.Serialize(), empty);  // recurring minimum keeps its marks
  }
}

TEST_P(SpectralRemovalTest, RefusesToRemoveMoreThanWasAdded) {
  SpectralFilter filter = MakeSpectral(1000, 1e-6, GetParam());
  EXPECT_FALSE(filter.Remove("apple").value());
  filter.Add("apple", 3);
  filter.Add("pear");
  const std::string before = filter.Serialize();
  EXPECT_FALSE(filter.Remove("apple", 4).value());
  EXPECT_FALSE(filter.Remove("apple", UINT64_MAX).value());
  EXPECT_FALSE(filter.Remove("cherry").value());
  EXPECT_TRUE(filter.Remove("cherry", 0).value());
  EXPECT_EQ(filter.Serialize(), before);
  EXPECT_TRUE(filter.Remove("apple", 2).value());
  EXPECT_EQ(filter.Count("apple"), 1u);
  EXPECT_EQ(filter.Count("pear"), 1u);
  EXPECT_EQ(filter.added_count(), 2u);
}

TEST(SpectralNoRemovalTest, MinimalIncreaseRefusesRemovals) {
  SpectralFilter filter = MakeSpectral(1000, 0.01, kIncrease);
  filter.Add("apple", 3);
  const std::string before = filter.Serialize();
  EXPECT_THAT(filter.Remove("apple"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("minimal increase")));
  EXPECT_EQ(filter.Serialize(), before);
}

// --- saturated counters ---

TEST_P(SpectralTest, FullCountersMeanAtLeast) {
  SpectralFilter filter = MakeSpectral(1000, 1e-6, GetParam(), 8);
  EXPECT_EQ(filter.max_count(), 255u);
  filter.Add("apple", 254);
  EXPECT_EQ(filter.Count("apple"), 254u);
  EXPECT_EQ(filter.CountSaturated(), 0u);
  filter.Add("apple", 5);
  filter.Add("pear", UINT64_MAX);
  filter.Add("pear", UINT64_MAX);
  EXPECT_EQ(filter.added_count(), UINT64_MAX);
  EXPECT_EQ(filter.Count("apple"), 255u);
  EXPECT_EQ(filter.Count("pear"), 255u);
  EXPECT_GT(filter.CountSaturated(), 0u);
  if (!CanRemove()) return;
  EXPECT_TRUE(filter.Remove("apple", 259).value());
  EXPECT_TRUE(filter.Remove("apple", 1).value());
  EXPECT_EQ(filter.Count("apple"), 255u);  // the counter cannot tell
}

// --- merging ---

TEST_P(SpectralTest, MergingAddsUp) {
  constexpr uint64_t kKeys = 6000;
  SpectralFilter left = MakeSpectral(kKeys, 0.03, GetParam(), 5);
  SpectralFilter right = MakeSpectral(kKeys, 0.03, GetParam(), 5);
  SpectralFilter joint = MakeSpectral(kKeys, 0.03, GetParam(), 5);
  SpectralFilter selection = MakeSpectral(kKeys, 0.03, kSelection, 5);
  std::vector<uint64_t> truth(kKeys, 0);
  const auto add = [&](SpectralFilter& filter, uint64_t key, uint64_t times) {
    for (SpectralFilter* one : {&filter, &joint, &selection})
      one->AddDigest(DigestOfKey(key), times);
    truth[key] += times;
  };
  for (uint64_t key = 0; key < kKeys * 2 / 3; ++key) add(left, key, 1 + 3 * key % 10);
  for (uint64_t key = kKeys / 3; key < kKeys; ++key) add(right, key, 1 + 7 * key % 10);
  ASSERT_THAT(left.Merge(right), IsOk());
  EXPECT_EQ(left.added_count(), joint.added_count());
  EXPECT_GT(selection.CountSaturated(), 0u);  // 5 bits: at least 31
  const auto check = [&] {
    uint64_t above_joint = 0;
    for (uint64_t key = 0; key < kKeys; ++key) {
      const uint64_t count = left.CountDigest(DigestOfKey(key));
      ASSERT_GE(count, std::min(truth[key], left.max_count()));
      ASSERT_LE(count, selection.CountDigest(DigestOfKey(key)));
      above_joint += count > joint.CountDigest(DigestOfKey(key));
    }
    EXPECT_EQ(above_joint > 0, GetParam() != kSelection);
  };
  check();
  if (GetParam() == kSelection) {
    EXPECT_EQ(left.Serialize(), joint.Serialize());
  }
  if (GetParam() == kRecurring) {
    for (uint64_t key = 0; key < kKeys; ++key)
      ASSERT_EQ(left.CountDigest(DigestOfKey(key)), selection.CountDigest(DigestOfKey(key)));
  }
  // A merged filter can still be changed.
  for (uint64_t key = 0; key < kKeys; key += 2) add(left, key, 1 + key % 3);
  check();
}

TEST_P(SpectralTest, RefusesToMergeDifferentFilters) {
  SpectralFilter filter = MakeSpectral(1000, 0.01, GetParam(), 8, 1);
  filter.Add("apple", 3);
  const std::string before = filter.Serialize();
  const auto expect_refused = [&](uint64_t keys, SpectralMethod method, uint32_t bits,
                                  uint64_t seed, const std::string& what) {
    EXPECT_THAT(filter.Merge(MakeSpectral(keys, 0.01, method, bits, seed)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  const SpectralMethod other = GetParam() == kSelection ? kIncrease : kSelection;
  expect_refused(1000, other, 8, 1, std::string(bloom::NameOf(other)) + " differ");
  expect_refused(1000, GetParam(), 16, 1, "counter_bits 8 and 16 differ");
  expect_refused(1000, GetParam(), 8, 2, "seeds 1 and 2 differ");
  expect_refused(2000, GetParam(), 8, 1, "sizes");
  EXPECT_EQ(filter.Serialize(), before);
}

// --- making, clearing, saving ---

TEST(SpectralMakeTest, BadArgumentsAreNamed) {
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  for (const uint32_t bits : {0, 3, 33, 256, 1000}) {
    EXPECT_THAT(SpectralFilter::Make(10, 0.01, {.counter_bits = bits}), refused("counter_bits"));
  }
  EXPECT_THAT(SpectralFilter::Make(10, 0.01, {.method = static_cast<SpectralMethod>(3)}),
              refused("method 3"));
  for (const SpectralMethod method : kAllMethods) {
    EXPECT_THAT(SpectralFilter::Make(0, 0.01, {.method = method}), refused("key_count"));
    EXPECT_THAT(SpectralFilter::Make(10, 1, {.method = method}), refused("target_fpp"));
    EXPECT_THAT(SpectralFilter::Make(UINT64_MAX, 0.01, {.method = method}), refused("2^56"));
    // A filter of bits may have this size, but not one of counters.
    EXPECT_THAT(SpectralFilter::Make(uint64_t{1} << 52, 0.01, {.method = method}),
                refused("key_count 4503599627370496 at target_fpp 0.01 needs more than the 2^56"));
    EXPECT_FALSE(SpectralFilter::Make(uint64_t{1} << 50, 0.01, {.method = method}).ok());
  }
}

TEST_P(SpectralTest, HasTheStatedSize) {
  for (const uint32_t bits : {4, 8, 16, 32}) {
    const SpectralFilter filter = MakeSpectral(100'003, 0.01, GetParam(), bits, 9);
    EXPECT_EQ(filter.method(), GetParam());
    EXPECT_EQ(filter.counter_bits(), bits);
    EXPECT_EQ(filter.seed(), 9u);
    const uint64_t cells = filter.shape().size;
    EXPECT_EQ(cells, bloom::StandardShapeFor(100'003, 0.01)->size);
    const uint64_t more = GetParam() == kRecurring ? (cells + 1) / 2 * bits + cells : 0;
    EXPECT_EQ(filter.size_bits(), cells * bits + more);
    EXPECT_NEAR(static_cast<double>(filter.Serialize().size()),
                64 + static_cast<double>(filter.size_bits()) / 8, 3);
  }
}

TEST_P(SpectralTest, ClearForgetsAll) {
  SpectralFilter filter = MakeSpectral(1000, 0.05, GetParam());
  const std::string empty = filter.Serialize();
  for (uint64_t key = 0; key < 1000; ++key) filter.AddDigest(DigestOfKey(key), 3);
  filter.Clear();
  EXPECT_EQ(filter.Serialize(), empty);
}

TEST_P(SpectralTest, SurvivesSavingAndLoading) {
  for (const uint32_t bits : {4, 7, 8, 32}) {
    SpectralFilter filter = MakeSpectral(1000, 0.05, GetParam(), bits, 7);
    for (uint64_t key = 0; key < 1500; ++key) filter.AddDigest(DigestOfKey(key), 1 + key % 7);
    const std::string bytes = filter.Serialize();
    absl::StatusOr<SpectralFilter> loaded = SpectralFilter::Load(bytes);
    ASSERT_THAT(loaded, IsOk());
    EXPECT_EQ(loaded->Serialize(), bytes);
    EXPECT_EQ(loaded->method(), GetParam());
    EXPECT_EQ(loaded->added_count(), filter.added_count());
    for (SpectralFilter* one : {&filter, &*loaded}) {
      for (uint64_t key = 1000; key < 2000; ++key) one->AddDigest(DigestOfKey(key), 2);
    }
    EXPECT_EQ(loaded->Serialize(), filter.Serialize());
    for (uint64_t key = 0; key < 4000; ++key)
      ASSERT_EQ(loaded->CountDigest(DigestOfKey(key)), filter.CountDigest(DigestOfKey(key)));
  }
}

// Stored filters have these bytes.
TEST_P(SpectralTest, BytesAreFrozen) {
  SpectralFilter filter = MakeSpectral(100, 0.02, GetParam(), 12, 0xfedcba9876543210);
  for (uint64_t key = 0; key < 150; ++key) filter.AddDigest(DigestOfKey(key), 1 + key % 5);
  const uint64_t expected[] = {1870953105948074125u, 8951311904474888516u, 1465491148022761453u};
  EXPECT_EQ(bloom::ChecksumOf("", filter.Serialize()), expected[static_cast<int>(GetParam())]);
}

// --- untrusted bytes ---

absl::Status LoadSpectral(std::string_view bytes) {
  absl::StatusOr<SpectralFilter> filter = SpectralFilter::Load(bytes);
  if (!filter.ok()) return filter.status();
  for (uint64_t key = 0; key < 30; ++key) {
    filter->AddDigest(DigestOfKey(key), 1 + key);
    EXPECT_GT(filter->CountDigest(DigestOfKey(key)), 0u);
    filter->RemoveDigest(DigestOfKey(key), 1).IgnoreError();
    filter->RemoveDigest(DigestOfKey(100 + key), key).IgnoreError();
  }
  filter->PredictedFpp(10);
  filter->PredictedErrorRate(10);
  filter->CurrentFpp();
  filter->CurrentUndercountBound();
  filter->EstimatedKeyCount();
  filter->CountSaturated();
  const absl::StatusOr<SpectralFilter> copy = SpectralFilter::Load(filter->Serialize());
  EXPECT_THAT(copy, IsOk());
  EXPECT_THAT(filter->Merge(*copy), IsOk());
  filter->Clear();
  return absl::OkStatus();
}

TEST_P(SpectralTest, AllDamageIsDataLoss) {
  SpectralFilter filter = MakeSpectral(80, 0.03, GetParam(), 4);
  for (uint64_t key = 0; key < 80; ++key) filter.AddDigest(DigestOfKey(key));
  testing_support::ExpectAllDamageIsDataLoss(filter.Serialize(), LoadSpectral);
}

TEST_P(SpectralTest, ForgedBytesAreHarmless) {
  SpectralFilter filter = MakeSpectral(80, 0.03, GetParam(), 5);
  for (uint64_t key = 0; key < 80; ++key) filter.AddDigest(DigestOfKey(key));
  testing_support::ExpectForgeriesDoNoHarm(filter.Serialize(), 65, 3000, LoadSpectral);
}

TEST_P(SpectralTest, ImpossibleGeometriesAreDataLoss) {
  const std::string sound = MakeSpectral(80, 0.03, GetParam(), 8).Serialize();
  const auto with = [&sound](size_t at, uint64_t value) {
    std::string bytes = sound;
    bloom::Store64(&bytes[at], value);
    testing_support::RepairChecksum(bytes);
    return LoadSpectral(bytes);
  };
  const auto method = static_cast<uint64_t>(GetParam());
  ASSERT_THAT(with(48, 8 + 256 * method), IsOk());
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  EXPECT_THAT(with(48, 3 + 256 * method), StatusIs(kLoss, HasSubstr("counters of 3 bits")));
  EXPECT_THAT(with(48, 33 + 256 * method), StatusIs(kLoss, HasSubstr("counters of 33 bits")));
  EXPECT_THAT(with(48, 16 + 256 * method), StatusIs(kLoss, HasSubstr("bytes for")));
  EXPECT_THAT(with(48, 8 + 256 * 3), StatusIs(kLoss, HasSubstr("method 3")));
  EXPECT_THAT(with(48, 8 + 256 * (256 + method)), StatusIs(kLoss, HasSubstr("method 25")));
  for (const uint64_t size : {uint64_t{1}, uint64_t{500}, uint64_t{700}, uint64_t{1} << 53,
                              uint64_t{1} << 61, UINT64_MAX}) {
    EXPECT_THAT(with(32, size), StatusIs(kLoss, HasSubstr("bytes for"))) << size;
  }
  EXPECT_THAT(with(32, 0), StatusIs(kLoss, HasSubstr("has no cells")));
}

// After the last number of each part, if it ends within a byte.
TEST_P(SpectralTest, OnesBetweenThePartsAreDataLoss) {
  const SpectralFilter filter = MakeSpectral(80, 0.02, GetParam(), 5);
  const uint64_t cells = filter.shape().size;
  ASSERT_NE(cells % 8, 0u);
  ASSERT_NE((cells + 1) / 2 % 8, 0u);
  const std::string sound = filter.Serialize();
  const uint64_t first = (5 * cells + 7) / 8, second = (5 * ((cells + 1) / 2) + 7) / 8;
  std::vector<uint64_t> ends = {first};
  if (GetParam() == kRecurring) ends = {first, first + second, first + second + (cells + 7) / 8};
  ASSERT_EQ(64 + ends.back(), sound.size());
  for (const uint64_t end : ends) {
    std::string bytes = sound;
    bytes[64 + end - 1] = static_cast<char>(0x80);
    testing_support::RepairChecksum(bytes);
    EXPECT_THAT(LoadSpectral(bytes),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("after its last number")));
  }
}

}  // namespace
