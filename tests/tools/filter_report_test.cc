#include "tools/sstdump/filter_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "lsm/fs/file_names.h"
#include "lsm/memory_file_system.h"
#include "tests/support/dice.h"
#include "tests/tools/sample_store.h"
#include "tools/sstdump/store/absent_keys.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {
namespace {

using testing_support::Dice;

std::unique_ptr<lsm::Table> MakeAndOpen(lsm::MemoryFileSystem& files, const TableRecipe& recipe,
                                        const std::vector<SampleEntry>& entries) {
  auto directory = files.OpenDirectory("d", true).value();
  MakeTable(*directory, recipe, entries);
  return lsm::Table::Open(
             directory->OpenRead(lsm::TableFileName(recipe.number), lsm::ReadMode::kBuffered)
                 .value(),
             {})
      .value();
}

TEST(AbsentKeysTest, LieStrictlyBetweenTheTwo) {
  const uint64_t seed = 5;
  SCOPED_TRACE(seed);
  Dice dice(seed);
  AbsentKeys absent_keys(seed);
  int mutated = 0, extended = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string below(dice.Roll(6), '\0'), above(1 + dice.Roll(6), '\0');
    for (char& c : below) c = static_cast<char>(dice.OneIn(3) ? dice.Next() : dice.Roll(2) * 255);
    for (char& c : above) c = static_cast<char>(dice.OneIn(3) ? dice.Next() : dice.Roll(2) * 255);
    if (dice.OneIn(3)) above = below + above;
    if (below >= above) continue;
    std::string key;
    if (absent_keys.Mutate(below, above, &key)) {
      ++mutated;
      EXPECT_GT(key, below);
      EXPECT_LT(key, above);
      EXPECT_EQ(key.size(), below.size());
    }
    if (absent_keys.Extend(below, above, &key)) {
      ++extended;
      EXPECT_GT(key, below);
      EXPECT_LT(key, above);
    }
  }
  EXPECT_GT(mutated, 1000);
  EXPECT_GT(extended, 10000);
}

TEST(AbsentKeysTest, LieBetweenKeysWithRoom) {
  AbsentKeys absent_keys(1);
  std::string key;
  EXPECT_TRUE(absent_keys.Extend("key000003", "key000004", &key));
  EXPECT_TRUE(absent_keys.Extend("", "a", &key));
  EXPECT_TRUE(absent_keys.Extend("a", "b", &key));
  EXPECT_TRUE(absent_keys.Mutate("key000003", "key000009", &key));
  EXPECT_FALSE(absent_keys.Mutate("a", "aa", &key));
  // No key lies between these two.
  EXPECT_FALSE(absent_keys.Extend("a", std::string("a\0", 2), &key));
}

TEST(WilsonIntervalTest, MatchesTheTextbook) {
  // 10 of 100: 0.0552 to 0.1744 (Newcombe 1998, method 3).
  const lsm::Interval ten = lsm::WilsonInterval(10, 100);
  EXPECT_NEAR(ten.low, 0.0552, 0.0001);
  EXPECT_NEAR(ten.high, 0.1744, 0.0001);
  const lsm::Interval none = lsm::WilsonInterval(0, 100);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.0370, 0.0001);
  EXPECT_EQ(lsm::WilsonInterval(100, 100).high, 1);
  EXPECT_EQ(lsm::WilsonInterval(0, 0).high, 1);
  EXPECT_GT(lsm::WilsonInterval(0, 1000).high, 0);
}

// The true rate of a filter with this many bits is close to its prediction.  So the interval should
// contain the prediction about 95 times in 100.  Fewer than 80 times would mean that the
// measurement is wrong.
TEST(MeasureFilterTest, IntervalMostlyHoldsTheRate) {
  for (const char* kind : {"standard", "blocked"}) {
    int held = 0;
    constexpr int kTables = 30;
    for (int i = 0; i < kTables; ++i) {
      lsm::MemoryFileSystem files;
      const auto table = MakeAndOpen(files,
                                     {.number = static_cast<uint64_t>(i + 1),
                                      .filter_kind = kind,
                                      .target_fpp = 0.05,
                                      .digest_seed = static_cast<uint64_t>(1000 + i)},
                                     NumberedEntries(2000, 1));
      const FilterMeasurement measured = MeasureFilter(*table, 20'000);
      EXPECT_EQ(measured.keys, 2000u);
      EXPECT_EQ(measured.false_negatives, 0u);
      EXPECT_EQ(measured.probes, 20'000u);
      const double rate = table->filter().Describe().current_fpp;
      held += rate >= measured.interval.low && rate <= measured.interval.high ? 1 : 0;
    }
    EXPECT_GE(held, kTables * 8 / 10) << kind;
  }
}

TEST(MeasureFilterTest, RepeatsItsFigures) {
  lsm::MemoryFileSystem files;
  const auto table = MakeAndOpen(files, {}, NumberedEntries(500, 1));
  EXPECT_EQ(MeasureFilter(*table, 50'000).passed, MeasureFilter(*table, 50'000).passed);
}

TEST(MeasureFilterTest, CountsVersionsOfAKeyOnce) {
  lsm::MemoryFileSystem files;
  const auto table = MakeAndOpen(
      files, {.block_bytes = 1},
      {{"a", 3, false, "x"}, {"a", 2, true, ""}, {"a", 1, false, "y"}, {"b", 4, false, "z"}});
  const FilterMeasurement measured = MeasureFilter(*table, 100);
  EXPECT_EQ(measured.keys, 2u);
  EXPECT_EQ(measured.probes, 100u);
}

TEST(ProbesForTest, GrowWithTheRarityOfFalsePositives) {
  EXPECT_EQ(ProbesFor(0.01), 400'000u);
  EXPECT_EQ(ProbesFor(0.5), 20'000u);
  EXPECT_EQ(ProbesFor(1e-9), 10'000'000u);
  EXPECT_EQ(ProbesFor(0), 10'000'000u);
  EXPECT_EQ(ProbesFor(std::nan("")), 10'000'000u);
}

TEST(FillHistogramTest, CountsEveryBlockOnce) {
  lsm::MemoryFileSystem files;
  const auto table = MakeAndOpen(files, {}, NumberedEntries(2000, 1));
  uint64_t blocks = 0;
  double last_to = 0;
  for (const FillBin& bin : FillHistogram(table->filter())) {
    if (blocks > 0) {
      EXPECT_DOUBLE_EQ(bin.from, last_to);
    }
    last_to = bin.to;
    blocks += bin.blocks;
  }
  EXPECT_EQ(blocks, table->filter().payload().size() / 64);
}

}  // namespace
}  // namespace tools
