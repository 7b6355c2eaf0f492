#include "bloom/literature/spatial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/hash.h"
#include "tests/bloom/hostile_bytes.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::AreaRates;
using bloom::SpatialFilter;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::StatusIs;

using KeysPerArea = std::vector<uint64_t>;

// Keys 0, 1, ... go to area 1, the next ones to area 2, and so on.
void AddAreas(const KeysPerArea& keys, SpatialFilter& filter) {
  uint64_t key = 0;
  for (uint32_t area = 1; area <= keys.size(); ++area) {
    for (uint64_t i = 0; i < keys[area - 1]; ++i)
      EXPECT_THAT(filter.AddDigest(DigestOfKey(key++), area), IsOk());
  }
}

SpatialFilter WithAreas(const KeysPerArea& keys, uint64_t planned, double fpp, uint64_t seed = 1) {
  SpatialFilter filter =
      SpatialFilter::Make(planned, fpp, {.areas = static_cast<uint32_t>(keys.size()), .seed = seed})
          .value();
  AddAreas(keys, filter);
  return filter;
}

uint64_t TotalOf(const KeysPerArea& keys) {
  return std::accumulate(keys.begin(), keys.end(), uint64_t{0});
}

TEST(SpatialTest, TellsTheAreaOfAKey) {
  SpatialFilter filter = SpatialFilter::Make(1000, 1e-6, {.areas = 3, .seed = 5}).value();
  EXPECT_THAT(filter.Add("home", 3), IsOk());
  EXPECT_THAT(filter.Add("town", 1), IsOk());
  EXPECT_THAT(filter.Add("", 2), IsOk());
  EXPECT_EQ(filter.AreaOf("home"), 3u);
  EXPECT_EQ(filter.AreaOf("town"), 1u);
  EXPECT_EQ(filter.AreaOf(""), 2u);
  EXPECT_EQ(filter.AreaOf("sea"), 0u);
  EXPECT_TRUE(filter.MayContain("town"));
  EXPECT_FALSE(filter.MayContain("sea"));
  EXPECT_TRUE(filter.MayContainDigest(filter.DigestOf("home")));
  EXPECT_EQ(filter.areas(), 3u);
  EXPECT_EQ(filter.added_count(), 3u);
  EXPECT_EQ(filter.seed(), 5u);
  EXPECT_EQ(filter.target_fpp(), 1e-6);
  // The higher area wins, in any order.
  EXPECT_THAT(filter.Add("town", 2), IsOk());
  EXPECT_THAT(filter.Add("home", 1), IsOk());
  EXPECT_EQ(filter.AreaOf("town"), 2u);
  EXPECT_EQ(filter.AreaOf("home"), 3u);
}

// A key is never reported in a lower area or in none, even with far more keys than planned.
TEST(SpatialTest, KeysAreReportedInTheirAreaOrAHigherOne) {
  for (const uint32_t areas : {1, 2, 3, 4, 7, 8, 100}) {
    for (const uint64_t planned : {4000, 800}) {
      SpatialFilter filter =
          SpatialFilter::Make(planned, 0.02, {.areas = areas, .seed = areas}).value();
      std::vector<uint32_t> area_of(4000);
      Dice dice(areas);
      for (uint64_t key = 0; key < area_of.size(); ++key) {
        area_of[key] = 1 + static_cast<uint32_t>(dice.Roll(areas));
        ASSERT_THAT(filter.AddDigest(DigestOfKey(key), area_of[key]), IsOk());
      }
      uint64_t raised = 0;
      for (uint64_t key = 0; key < area_of.size(); ++key) {
        const uint32_t area = filter.AreaOfDigest(DigestOfKey(key));
        ASSERT_GE(area, area_of[key]);
        ASSERT_LE(area, areas);
        raised += area > area_of[key];
      }
      if (areas == 1) {
        EXPECT_EQ(raised, 0u);
      } else if (planned == 800) {
        EXPECT_GT(raised, 400u);
      }
    }
  }
}

TEST(SpatialTest, CellsHoldTheHighestLabelOfTheirKeys) {
  for (const uint32_t areas : {1, 3, 5, 1000, 65'535}) {
    SpatialFilter filter = SpatialFilter::Make(30, 0.01, {.areas = areas, .seed = 4}).value();
    std::vector<uint64_t> oracle(filter.shape().size, 0);
    const auto cells_of = [&](uint64_t key) {
      bloom::Probes probes(bloom::Remix(DigestOfKey(key), 4), oracle.size());
      std::vector<uint64_t> cells;
      for (uint32_t i = 0; i < filter.shape().probes; ++i) cells.push_back(probes.Next());
      return cells;
    };
    Dice dice(areas);
    for (int step = 0; step < 200; ++step) {
      const uint64_t key = dice.Roll(150), area = 1 + dice.Roll(areas);
      ASSERT_THAT(filter.AddDigest(DigestOfKey(key), static_cast<uint32_t>(area)), IsOk());
      for (const uint64_t cell : cells_of(key)) oracle[cell] = std::max(oracle[cell], area);
      for (uint64_t asked = 0; asked < 160; ++asked) {
        uint64_t lowest = UINT64_MAX;
        for (const uint64_t cell : cells_of(asked)) lowest = std::min(lowest, oracle[cell]);
        ASSERT_EQ(filter.AreaOfDigest(DigestOfKey(asked)), lowest) << areas;
      }
    }
    const std::vector<AreaRates> current = filter.CurrentAreas();
    ASSERT_EQ(current.size(), areas);
    for (uint32_t area = 1; area <= areas; ++area) {
      ASSERT_EQ(current[area - 1].cells,
                static_cast<double>(std::count(oracle.begin(), oracle.end(), area)));
    }
    const auto empty = static_cast<double>(std::count(oracle.begin(), oracle.end(), 0));
    EXPECT_NEAR(filter.Emptiness(), empty / static_cast<double>(oracle.size()), 1e-12);
  }
}

TEST(SpatialTest, OrderOfAdditionsIsIrrelevant) {
  std::vector<std::pair<uint64_t, uint32_t>> additions;
  for (uint64_t key = 0; key < 3000; ++key) additions.emplace_back(key, 1 + key % 5);
  for (uint64_t key = 0; key < 300; ++key) additions.emplace_back(key, 1 + key % 4);
  std::string bytes;
  for (uint64_t order = 0; order < 4; ++order) {
    SpatialFilter filter = SpatialFilter::Make(2000, 0.02, {.areas = 5}).value();
    for (const auto& [key, area] : additions)
      ASSERT_THAT(filter.AddDigest(DigestOfKey(key), area), IsOk());
    if (order > 0) {
      EXPECT_EQ(filter.Serialize(), bytes);
    }
    bytes = filter.Serialize();
    std::shuffle(additions.begin(), additions.end(), Dice(order));
  }
}

// --- rates ---

// The tolerance is 4 % if enough was counted, otherwise four standard errors.
void ExpectAbout(double counted, double expected) {
  const double tolerance = expected >= 1e4 ? 0.04 * expected : 4 * std::sqrt(expected) + 1;
  EXPECT_NEAR(counted, expected, tolerance);
}

// A published simulation: 40,000 cells, k = 5, keys in four areas.
TEST(SpatialRatesTest, RatesMatchTheFormulas) {
  constexpr uint64_t kCells = 40'000;
  const KeysPerArea keys = {2000, 2000, 1000, 500};
  const uint64_t total = TotalOf(keys);
  const double fpp = bloom::StandardFpp(kCells, 5, total) * (1 + 1e-9);
  constexpr uint64_t kSeeds = 1000, kAbsent = 1000;
  std::vector<double> absent_as(5, 0), cells(5, 0);
  std::vector<std::vector<double>> reported_as(5, std::vector<double>(5, 0));  // by true area
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SpatialFilter filter = WithAreas(keys, total, fpp, seed);
    ASSERT_EQ(filter.shape(), (bloom::Shape{kCells, 5, 4}));
    for (uint64_t key = total; key < total + kAbsent; ++key)
      ++absent_as[filter.AreaOfDigest(DigestOfKey(key))];
    uint64_t key = 0;
    for (uint32_t area = 1; area <= 4; ++area) {
      for (uint64_t i = 0; i < keys[area - 1]; ++i)
        ++reported_as[area][filter.AreaOfDigest(DigestOfKey(key++))];
    }
    const std::vector<AreaRates> current = filter.CurrentAreas();
    for (uint32_t area = 1; area <= 4; ++area) cells[area] += current[area - 1].cells;
    cells[0] += filter.Emptiness() * kCells;
  }

  const SpatialFilter like = WithAreas({0, 0, 0, 0}, total, fpp);
  const std::vector<AreaRates> rates = like.PredictedAreas(keys).value();
  EXPECT_NEAR(rates[0].fpp, 0.0248, 0.00005);
  EXPECT_NEAR(rates[0].inter_set_error, 0.0056, 0.00005);
  EXPECT_EQ(rates[3].inter_set_error, 0);
  double all_fpp = 0, all_cells = 0;
  for (uint32_t area = 1; area <= 4; ++area) {
    const AreaRates& of = rates[area - 1];
    const double members = static_cast<double>(keys[area - 1] * kSeeds);
    ExpectAbout(absent_as[area], of.fpp * kAbsent * kSeeds);
    ExpectAbout(members - reported_as[area][area], of.inter_set_error * members);
    for (uint32_t as = 0; as < area; ++as) EXPECT_EQ(reported_as[area][as], 0);
    for (uint32_t as = area + 1; as <= 4; ++as)
      ExpectAbout(reported_as[area][as], rates[as - 1].fpp * members);
    EXPECT_NEAR(cells[area] / kSeeds / of.cells, 1, 0.002);
    all_fpp += of.fpp;
    all_cells += of.cells;
  }
  EXPECT_NEAR(all_fpp, like.PredictedFpp(total), 1e-12);
  EXPECT_NEAR(cells[0] / kSeeds, kCells - all_cells, 0.002 * kCells);
}

TEST(SpatialRatesTest, RatesMatchPredictionAndCells) {
  const KeysPerArea keys = {50'000, 30'000, 20'000};
  for (const double fpp : {0.1, 0.01}) {
    const auto queries = static_cast<uint64_t>(1e4 / fpp);
    double passing_sum = 0, raised_sum = 0;
    std::vector<AreaRates> predicted;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const SpatialFilter filter = WithAreas(keys, 100'000, fpp, seed);
      std::vector<double> reported(4, 0);
      for (uint64_t key = 100'000; key < 100'000 + queries; ++key)
        ++reported[filter.AreaOfDigest(DigestOfKey(key))];
      for (uint64_t key = 0; key < keys[0]; ++key)
        raised_sum += filter.AreaOfDigest(DigestOfKey(key)) > 1;
      const std::vector<AreaRates> current = filter.CurrentAreas();
      predicted = filter.PredictedAreas(keys).value();
      double all_fpp = 0;
      for (uint32_t area = 1; area <= 3; ++area) {
        ExpectAbout(reported[area], predicted[area - 1].fpp * static_cast<double>(queries));
        ExpectAbout(reported[area], current[area - 1].fpp * static_cast<double>(queries));
        EXPECT_NEAR(current[area - 1].cells / predicted[area - 1].cells, 1, 0.02);
        all_fpp += current[area - 1].fpp;
      }
      EXPECT_NEAR(current[0].inter_set_error / predicted[0].inter_set_error, 1, 0.02);
      EXPECT_NEAR(all_fpp, filter.CurrentFpp(), 1e-12);
      EXPECT_NEAR(filter.CurrentFpp() / filter.PredictedFpp(100'000), 1, 0.02);
      const double passing = static_cast<double>(queries) - reported[0];
      EXPECT_NEAR(passing / static_cast<double>(queries) / filter.CurrentFpp(), 1, 0.04);
      passing_sum += passing;
    }
    EXPECT_NEAR(passing_sum / 5 / static_cast<double>(queries) / fpp, 1, 0.03);
    ExpectAbout(raised_sum, predicted[0].inter_set_error * 5 * static_cast<double>(keys[0]));
  }
}

TEST(SpatialRatesTest, PredictsRatesForAllCounts) {
  const SpatialFilter filter = SpatialFilter::Make(100, 0.01, {.areas = 2}).value();
  for (const KeysPerArea& keys : {KeysPerArea{}, KeysPerArea{1}, KeysPerArea{1, 2, 3}}) {
    EXPECT_THAT(filter.PredictedAreas(keys),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("keys_per_area")));
  }
  const auto none = filter.PredictedAreas(KeysPerArea{0, 0}).value();
  EXPECT_EQ(none[0].cells + none[0].fpp + none[1].cells + none[1].fpp, 0);
  const auto most = filter.PredictedAreas(KeysPerArea{1, UINT64_MAX}).value();
  EXPECT_EQ(most[0].fpp, 0);
  EXPECT_EQ(most[0].inter_set_error, 1);
  EXPECT_EQ(most[1].fpp, 1);
  EXPECT_EQ(most[1].cells, static_cast<double>(filter.shape().size));
  EXPECT_EQ(filter.CurrentFpp(), 0);
  EXPECT_EQ(filter.Emptiness(), 1);
}

// --- merging ---

TEST(SpatialTest, MergeEqualsTheFilterOfAllKeys) {
  SpatialFilter left = SpatialFilter::Make(3000, 0.05, {.areas = 6, .seed = 3}).value();
  SpatialFilter right = SpatialFilter::Make(3000, 0.05, {.areas = 6, .seed = 3}).value();
  SpatialFilter joint = SpatialFilter::Make(3000, 0.05, {.areas = 6, .seed = 3}).value();
  for (uint64_t key = 0; key < 4000; ++key) {
    // Both have every fifth key, in different areas.
    const auto area = static_cast<uint32_t>(1 + key % 6), other = static_cast<uint32_t>(6 - area);
    if (key % 2 == 0) {
      ASSERT_THAT(left.AddDigest(DigestOfKey(key), area), IsOk());
      ASSERT_THAT(joint.AddDigest(DigestOfKey(key), area), IsOk());
    }
    if (key % 2 == 1 || (key % 5 == 0 && other > 0)) {
      ASSERT_THAT(right.AddDigest(DigestOfKey(key), std::max(other, 1u)), IsOk());
      ASSERT_THAT(joint.AddDigest(DigestOfKey(key), std::max(other, 1u)), IsOk());
    }
  }
  ASSERT_THAT(left.Merge(right), IsOk());
  EXPECT_EQ(left.Serialize(), joint.Serialize());
}

TEST(SpatialTest, RefusesToMergeDifferentFilters) {
  SpatialFilter filter = WithAreas({10, 10, 10}, 1000, 0.01, 1);
  const std::string before = filter.Serialize();
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  // These filters also have the same number of bits per label.
  EXPECT_THAT(filter.Merge(WithAreas({5, 5}, 1000, 0.01, 1)), refused("areas 3 and 2 differ"));
  EXPECT_THAT(filter.Merge(WithAreas({5, 5, 5}, 1000, 0.01, 2)), refused("seeds 1 and 2 differ"));
  EXPECT_THAT(filter.Merge(WithAreas({5, 5, 5}, 2000, 0.01, 1)), refused("sizes"));
  EXPECT_EQ(filter.Serialize(), before);
}

// --- making, clearing, saving ---

TEST(SpatialTest, BadArgumentsAreNamedAndChangeNothing) {
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(SpatialFilter::Make(10, 0.01, {.areas = 0}), refused("areas"));
  EXPECT_THAT(SpatialFilter::Make(10, 0.01, {.areas = 65'536}), refused("areas"));
  EXPECT_THAT(SpatialFilter::Make(10, 0.01, {.areas = UINT32_MAX}), refused("areas"));
  EXPECT_THAT(SpatialFilter::Make(0, 0.01, {.areas = 3}), refused("key_count"));
  for (const double fpp : {0.0, 1.0, -1.0, std::nan("")})
    EXPECT_THAT(SpatialFilter::Make(10, fpp, {.areas = 3}), refused("target_fpp"));
  EXPECT_THAT(SpatialFilter::Make(UINT64_MAX, 0.01, {.areas = 3}), refused("2^56"));
  EXPECT_FALSE(SpatialFilter::Make(uint64_t{1} << 50, 0.01, {.areas = 65'535}).ok());

  SpatialFilter filter = SpatialFilter::Make(10, 0.01, {.areas = 5}).value();
  const std::string empty = filter.Serialize();
  for (const uint32_t area : {0u, 6u, 7u, 8u, UINT32_MAX})
    EXPECT_THAT(filter.Add("apple", area), refused("area must lie in [1, 5]"));
  EXPECT_EQ(filter.Serialize(), empty);
}

TEST(SpatialTest, TakesTheCallersShape) {
  SpatialFilter filter = SpatialFilter::MakeOfShape({1000, 7, 255}, 0.01, 3).value();
  EXPECT_EQ(filter.shape(), (bloom::Shape{1000, 7, 255}));
  EXPECT_EQ(filter.size_bits(), 8000u);
  EXPECT_THAT(filter.Add("apple", 255), IsOk());
  EXPECT_EQ(filter.AreaOf("apple"), 255u);
  EXPECT_EQ(SpatialFilter::Load(filter.Serialize()).value().Serialize(), filter.Serialize());
  const SpatialFilter sized = SpatialFilter::Make(1000, 0.01, {.areas = 6, .seed = 3}).value();
  EXPECT_EQ(SpatialFilter::MakeOfShape(sized.shape(), 0.01, 3).value().Serialize(),
            sized.Serialize());
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(SpatialFilter::MakeOfShape({1000, 7, 0}, 0.01), refused("areas"));
  EXPECT_THAT(SpatialFilter::MakeOfShape({1000, 7, 65'536}, 0.01), refused("areas"));
  EXPECT_THAT(SpatialFilter::MakeOfShape({1000, 0, 3}, 0.01), refused("probes"));
  EXPECT_THAT(SpatialFilter::MakeOfShape({1000, 33, 3}, 0.01), refused("probes"));
  EXPECT_THAT(SpatialFilter::MakeOfShape({0, 7, 3}, 0.01), refused("shape"));
  EXPECT_THAT(SpatialFilter::MakeOfShape({UINT64_MAX, 7, 3}, 0.01), refused("2^56"));
  EXPECT_THAT(SpatialFilter::MakeOfShape({1000, 7, 3}, 0.0), refused("target_fpp"));
}

TEST(SpatialTest, ALabelTakesAsManyBitsAsTheHighestNeeds) {
  const std::pair<uint32_t, uint64_t> bits[] = {{1, 1}, {2, 2},   {3, 2},   {4, 3},      {7, 3},
                                                {8, 4}, {255, 8}, {256, 9}, {65'535, 16}};
  for (const auto& [areas, width] : bits) {
    const SpatialFilter filter = SpatialFilter::Make(1000, 0.01, {.areas = areas}).value();
    EXPECT_EQ(filter.size_bits(), filter.shape().size * width);
    EXPECT_EQ(filter.Serialize().size(), 64 + (filter.size_bits() + 7) / 8);
  }
}

TEST(SpatialTest, SurvivesSavingClearingAndMoving) {
  SpatialFilter filter = WithAreas({300, 300, 300, 300, 300}, 1000, 0.05, 7);
  const std::string bytes = filter.Serialize();
  absl::StatusOr<SpatialFilter> loaded = SpatialFilter::Load(bytes);
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->Serialize(), bytes);
  EXPECT_EQ(loaded->added_count(), 1500u);
  EXPECT_EQ(loaded->areas(), 5u);
  for (SpatialFilter* one : {&filter, &*loaded})
    ASSERT_THAT(one->AddDigest(DigestOfKey(5000), 4), IsOk());
  for (uint64_t key = 0; key < 6000; ++key)
    ASSERT_EQ(loaded->AreaOfDigest(DigestOfKey(key)), filter.AreaOfDigest(DigestOfKey(key)));
  const SpatialFilter moved = std::move(*loaded);
  EXPECT_EQ(moved.Serialize(), filter.Serialize());
  filter.Clear();
  EXPECT_EQ(filter.Serialize(),
            SpatialFilter::Make(1000, 0.05, {.areas = 5, .seed = 7})->Serialize());
}

// Stored filters have these bytes.
TEST(SpatialTest, BytesAreFrozen) {
  SpatialFilter filter = SpatialFilter::MakeOfShape({816, 6, 5}, 0.02, 0xfedcba9876543210).value();
  AddAreas({40, 30, 20, 10, 5}, filter);
  EXPECT_EQ(bloom::ChecksumOf("", filter.Serialize()), 3790763267946083605u);
}

// --- untrusted bytes ---

absl::Status LoadSpatial(std::string_view bytes) {
  absl::StatusOr<SpatialFilter> filter = SpatialFilter::Load(bytes);
  if (!filter.ok()) return filter.status();
  const uint32_t areas = filter->areas();
  for (uint64_t key = 0; key < 30; ++key) {
    const auto area = static_cast<uint32_t>(1 + key % areas);
    EXPECT_THAT(filter->AddDigest(DigestOfKey(key), area), IsOk());
    EXPECT_GE(filter->AreaOfDigest(DigestOfKey(key)), area);
    EXPECT_LE(filter->AreaOfDigest(DigestOfKey(100 + key)), areas);
  }
  KeysPerArea keys(areas, 3);
  keys[0] = 0;
  for (const auto& rates : {filter->CurrentAreas(), filter->PredictedAreas(keys).value()}) {
    EXPECT_EQ(rates.size(), areas);
    for (const AreaRates& of : rates)
      EXPECT_FALSE(std::isnan(of.cells + of.fpp + of.inter_set_error));
  }
  filter->CurrentFpp();
  filter->PredictedFpp(10);
  const absl::StatusOr<SpatialFilter> copy = SpatialFilter::Load(filter->Serialize());
  EXPECT_THAT(copy, IsOk());
  EXPECT_THAT(filter->Merge(*copy), IsOk());
  filter->Clear();
  return absl::OkStatus();
}

TEST(SpatialTest, AllDamageIsDataLoss) {
  testing_support::ExpectAllDamageIsDataLoss(WithAreas({20, 20, 20, 20, 20}, 100, 0.03).Serialize(),
                                             LoadSpatial);
}

TEST(SpatialTest, ForgedBytesAreHarmless) {
  for (const uint64_t areas : {1, 5, 7})
    testing_support::ExpectForgeriesDoNoHarm(
        WithAreas(KeysPerArea(areas, 20), 100, 0.03).Serialize(), areas, 3000, LoadSpatial);
}

TEST(SpatialTest, ImpossibleContentsAreDataLoss) {
  const std::string sound =
      SpatialFilter::Make(100, 0.03, {.areas = 5})->Serialize();  // labels of 3 bits
  const auto with = [&sound](size_t at, uint64_t value) {
    std::string bytes = sound;
    bloom::Store64(&bytes[at], value);
    testing_support::RepairChecksum(bytes);
    return LoadSpatial(bytes);
  };
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  const uint64_t cells = bloom::Load64(&sound[32]);
  for (const uint64_t cell : {uint64_t{0}, uint64_t{2}, uint64_t{5}, cells - 1}) {
    const auto with_label = [&](uint64_t label) {
      std::string bytes = sound;
      for (uint64_t i = 0; i < 3; ++i) {
        if (label >> i & 1) bloom::SetBit(reinterpret_cast<uint8_t*>(&bytes[64]), 3 * cell + i);
      }
      testing_support::RepairChecksum(bytes);
      return LoadSpatial(bytes);
    };
    ASSERT_THAT(with_label(5), IsOk());
    EXPECT_THAT(with_label(6), StatusIs(kLoss, HasSubstr("label 6 with 5 areas"))) << cell;
    EXPECT_THAT(with_label(7), StatusIs(kLoss, HasSubstr("label 7 with 5 areas"))) << cell;
  }
  ASSERT_THAT(with(48, 4), IsOk());
  EXPECT_THAT(with(48, 3), StatusIs(kLoss, HasSubstr("bytes for")));
  EXPECT_THAT(with(48, 0), StatusIs(kLoss, HasSubstr("has 0 areas")));
  EXPECT_THAT(with(48, 65'536), StatusIs(kLoss, HasSubstr("has 65536 areas")));
  EXPECT_THAT(with(48, (uint64_t{1} << 32) + 5), StatusIs(kLoss, HasSubstr("areas")));
  for (const uint64_t size :
       {uint64_t{1}, uint64_t{500}, uint64_t{1} << 53, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_THAT(with(32, size), StatusIs(kLoss, HasSubstr("bytes for"))) << size;
  }
  EXPECT_THAT(with(32, 0), StatusIs(kLoss, HasSubstr("has no cells")));
  // A single cell is a filter too.
  std::string one_cell = sound.substr(0, 64) + '\3';
  bloom::Store64(&one_cell[32], 1);
  testing_support::RepairChecksum(one_cell);
  EXPECT_THAT(LoadSpatial(one_cell), IsOk());
}

TEST(SpatialTest, CountsKeysByItsCells) {
  auto filter = SpatialFilter::Make(100'000, 0.01, {.areas = 3}).value();
  for (uint64_t i = 0; i < 50'000; ++i)
    ASSERT_THAT(filter.AddDigest(DigestOfKey(i), static_cast<uint32_t>(1 + i % 3)), IsOk());
  EXPECT_NEAR(filter.EstimatedKeyCount() / 50'000, 1, 0.01);
  const auto cells = static_cast<double>(filter.shape().size);
  EXPECT_NEAR(static_cast<double>(filter.CountOnes()) / cells, 1 - filter.Emptiness(), 1e-12);
  EXPECT_GE(filter.KeyCapacity(), 100'000u);
  EXPECT_LE(filter.KeyCapacity(), 100'010u);
}

}  // namespace
