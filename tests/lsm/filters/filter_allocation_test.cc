#include "lsm/filters/filter_allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

using Runs = std::vector<FilterRun>;

std::unique_ptr<FilterAllocator> Allocator(const std::string& kind, const FilterGoal& goal) {
  return FilterAllocator::Of(kind, goal).value();
}
FilterAllocation Allocate(const std::string& kind, const FilterGoal& goal, const Runs& runs) {
  return Allocator(kind, goal)->Allocate(runs);
}

// Two tables in level 0 and three levels, each ten times the one above.
Runs FourLevels() {
  return {
      {9'000, 1, 0.25}, {9'000, 1, 0.25}, {40'000, 4, 1}, {400'000, 40, 10}, {4'000'000, 400, 100}};
}
uint64_t KeysOf(const Runs& runs) {
  uint64_t keys = 0;
  for (const FilterRun& run : runs) keys += run.keys;
  return keys;
}

void ExpectSums(const FilterAllocation& allocation, const Runs& runs) {
  ASSERT_EQ(allocation.shares.size(), runs.size());
  double reads = 0, bytes = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].keys > 0) reads += runs[i].weight * allocation.shares[i].fpp;
    bytes += allocation.shares[i].bytes;
  }
  EXPECT_NEAR(allocation.wasted_reads, reads, 1e-9);
  EXPECT_NEAR(allocation.bytes, bytes, 1e-3);
}

TEST(FilterAllocationTest, EmptyStoresHaveNoFilters) {
  const FilterAllocation allocation = Allocate("standard", FilterGoal::BitsPerKey(10), {});
  EXPECT_TRUE(allocation.shares.empty());
  EXPECT_EQ(allocation.bytes, 0);
  EXPECT_EQ(allocation.wasted_reads, 0);
}

TEST(FilterAllocationTest, EmptyRunsGetAndWasteNothing) {
  const Runs runs = {{0, 1, 0}, {1'000, 1, 1}};
  const FilterAllocation allocation = Allocate("standard", FilterGoal::BitsPerKey(10), runs);
  EXPECT_EQ(allocation.shares[0].bytes, 0);
  ExpectSums(allocation, runs);
}

TEST(FilterAllocationTest, OneRunGetsAllTheMemory) {
  const FilterAllocation allocation =
      Allocate("standard", FilterGoal::BitsPerKey(10), {{1'000'000, 10, 5}});
  EXPECT_NEAR(allocation.wasted_reads, 0.0082, 0.0001);
  EXPECT_NEAR(allocation.bytes, 1'250'000, 1'000);
  EXPECT_LE(allocation.bytes, 1'250'000);
  EXPECT_EQ(allocation.shares[0].kind, "standard");
  EXPECT_EQ(allocation.shares[0].reason, FilterReason::kShare);
}

TEST(FilterAllocationTest, SpendsBitsWhereTheyPayMost) {
  const FilterAllocation allocation =
      Allocate("standard", FilterGoal::BitsPerKey(10), FourLevels());
  ExpectSums(allocation, FourLevels());
  // Monkey: FPPs as different as the sizes.
  EXPECT_NEAR(allocation.shares[4].fpp / allocation.shares[3].fpp, 10, 2);
  EXPECT_NEAR(allocation.shares[3].fpp / allocation.shares[2].fpp, 10, 2);
  EXPECT_EQ(allocation.shares[0].fpp, allocation.shares[1].fpp);
  // Wasted reads are at least 2.5 times fewer than with an FPP of 0.0082 in all five runs.  For
  // keys in the deepest run they are at least 10 times fewer than with 0.0082 in the four runs
  // above.
  EXPECT_LT(allocation.wasted_reads, 5 * 0.0082 / 2.5);
  EXPECT_LT(allocation.wasted_reads - allocation.shares[4].fpp, 4 * 0.0082 / 10);
}

// Searches all points of the curves for the lowest weighted sum of FPPs within the bytes, and for
// the fewest bytes with at most that sum.
struct Best {
  double reads = 1e300;
  double bytes = 1e300;
};
Best BruteForce(const std::string& kind, const Runs& runs, double bytes_max, double reads_max) {
  FilterCurves curves;
  std::vector<std::vector<std::pair<double, double>>> choices;  // (bytes, reads)
  for (const FilterRun& run : runs) {
    choices.push_back({{0, run.weight}});
    for (const auto& point : curves.Of(kind, run.keys / run.tables).points()) {
      choices.back().emplace_back(
          static_cast<double>(run.tables) * 64 + static_cast<double>(run.keys) * point.bits / 8,
          run.weight * point.fpp);
    }
  }
  Best best;
  for (const auto& a : choices[0]) {
    for (const auto& b : choices[1]) {
      for (const auto& c : choices[2]) {
        const double bytes = a.first + b.first + c.first, reads = a.second + b.second + c.second;
        if (bytes <= bytes_max) best.reads = std::min(best.reads, reads);
        if (reads <= reads_max) best.bytes = std::min(best.bytes, bytes);
      }
    }
  }
  return best;
}

class FilterAllocationOfKindTest : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Kinds, FilterAllocationOfKindTest,
                         testing::Values("standard", "blocked", "ribbon", "fuse3"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(FilterAllocationOfKindTest, NoChoiceWithinTheMemoryIsBetter) {
  // Kinds with steps in their sizes cannot use up the memory to the last bit.
  const double usual_slack = GetParam() == std::string("fuse3") ? 1.8 : 1.002;
  for (const Runs& runs : {Runs{{3'000, 1, 0}, {40'000, 3, 1}, {300'000, 20, 9}},
                           Runs{{50'000, 2, 0}, {50'000, 2, 1}, {50'000, 2, 9}},
                           Runs{{500, 1, 0}, {2'000'000, 9, 1}, {700, 20, 9}},
                           Runs{{40'000, 3, 1}, {30'000, 2, 9, 0.9}, {270'000, 18, 9, 0.1, true}},
                           Runs{{9'000, 3, 1, 7}, {50'000, 2, 9, 0.01}, {50'000, 2, 9, 1}}}) {
    for (const double bits : {0.7, 1.5, 3.0, 5.0, 10.0, 16.0, 40.0}) {
      const auto allocator = Allocator(GetParam(), FilterGoal::BitsPerKey(bits));
      const FilterAllocation allocation = allocator->Allocate(runs);
      const double budget = allocator->BudgetBytes(KeysOf(runs));
      // The first step, from no filter to one of a bit a key, is a long one.
      const double slack = bits < 1 ? usual_slack + 0.02 : usual_slack;
      ExpectSums(allocation, runs);
      EXPECT_LE(allocation.bytes, budget * 1.000001) << bits;
      EXPECT_LE(allocation.wasted_reads, BruteForce(GetParam(), runs, budget, 0).reads * slack)
          << bits;
    }
  }
}

TEST_P(FilterAllocationOfKindTest, NoChoiceForTheReadsIsSmaller) {
  const double slack = GetParam() == std::string("fuse3") ? 1.2 : 1.005;
  for (const Runs& runs :
       {Runs{{3'000, 1, 0}, {40'000, 3, 1}, {300'000, 20, 9}},
        Runs{{40'000, 3, 1, 1.2}, {30'000, 2, 9, 0.8}, {270'000, 18, 9, 0.2, true}}}) {
    for (const double reads : {2.5, 1.0, 0.3, 0.02, 0.001}) {
      const FilterAllocation allocation =
          Allocate(GetParam(), FilterGoal::WastedReads(reads), runs);
      ExpectSums(allocation, runs);
      EXPECT_LE(allocation.wasted_reads, reads * 1.000001);
      EXPECT_LE(allocation.bytes, BruteForce(GetParam(), runs, 0, reads).bytes * slack) << reads;
    }
  }
}

TEST_P(FilterAllocationOfKindTest, MoreMemoryMakesNoLevelWorse) {
  FilterAllocation before;
  for (double bits = 0.2; bits < 64; bits *= 1.03) {
    const FilterAllocation now = Allocate(GetParam(), FilterGoal::BitsPerKey(bits), FourLevels());
    if (!before.shares.empty()) {
      EXPECT_LE(now.wasted_reads, before.wasted_reads);
      for (size_t i = 0; i < now.shares.size(); ++i)
        EXPECT_LE(now.shares[i].fpp, before.shares[i].fpp) << bits << " bits, run " << i;
    }
    before = now;
  }
  EXPECT_LT(before.wasted_reads, 1e-5);
}

// e to the divergence of the keys' distribution from the lookups': 0.1 ln(0.1 / 0.9) +
// 0.9 ln(0.9 / 0.1) = 1.76.
TEST(FilterAllocationTest, HotRunsGetTheMemory) {
  const FilterGoal goal = FilterGoal::BitsPerKey(10);
  const double alike = Allocate("standard", goal, {{1'000'000, 100, 9}}).wasted_reads;
  const Runs runs = {{100'000, 10, 9, 0.9}, {900'000, 90, 9, 0.1, true}};
  const FilterAllocation allocation = Allocate("standard", goal, runs);
  ExpectSums(allocation, runs);
  EXPECT_NEAR(alike / allocation.wasted_reads, 5.8, 0.3);
  // FPPs are proportional to keys and inversely proportional to weights.
  EXPECT_NEAR(allocation.shares[1].fpp / allocation.shares[0].fpp, 81, 15);
}

TEST(FilterAllocationTest, EquallyHotPartsActAsOneRun) {
  const Runs whole = FourLevels();
  Runs parts(whole.begin(), whole.end() - 1);
  parts.push_back({1'000'000, 100, 100, 0.25});
  parts.push_back({3'000'000, 300, 100, 0.75, true});
  for (const FilterGoal& goal : {FilterGoal::BitsPerKey(10), FilterGoal::WastedReads(0.02)}) {
    const FilterAllocation one = Allocate("standard", goal, whole);
    const FilterAllocation two = Allocate("standard", goal, parts);
    EXPECT_NEAR(two.wasted_reads, one.wasted_reads, 0.02 * one.wasted_reads);
    EXPECT_NEAR(two.shares[4].fpp, one.shares[4].fpp, 0.2 * one.shares[4].fpp);
    EXPECT_NEAR(two.bytes, one.bytes, 0.01 * one.bytes);
  }
}

TEST(FilterAllocationTest, LeavesOutFiltersThatDoNotPay) {
  const FilterAllocation allocation =
      Allocate("standard", FilterGoal::BitsPerKey(0.2), FourLevels());
  EXPECT_EQ(allocation.shares[4].kind, "");
  EXPECT_EQ(allocation.shares[4].fpp, 1);
  EXPECT_EQ(allocation.shares[4].reason, FilterReason::kDoesNotPay);
  EXPECT_LT(allocation.shares[2].fpp, 0.3);
}

TEST(FilterAllocationTest, MoreReadsThanRunsNeedNoFilters) {
  const FilterAllocation allocation =
      Allocate("standard", FilterGoal::WastedReads(5), FourLevels());
  EXPECT_EQ(allocation.bytes, 0);
  EXPECT_EQ(allocation.wasted_reads, 5);
}

TEST(FilterAllocationTest, FiltersStopAtTheLowestFpp) {
  for (const FilterGoal& goal : {FilterGoal::BitsPerKey(64), FilterGoal::WastedReads(0.000001)}) {
    const FilterAllocation allocation = Allocate("standard", goal, FourLevels());
    for (const FilterShare& share : allocation.shares) {
      EXPECT_EQ(share.target_fpp, FilterCurve::kLeastFpp);
      EXPECT_EQ(share.reason, FilterReason::kFloor);
    }
    EXPECT_LT(allocation.bytes, 4 * static_cast<double>(KeysOf(FourLevels())));
  }
}

TEST(FilterAllocationTest, CountsHeadersOfSmallTables) {
  const FilterAllocation allocation =
      Allocate("standard", FilterGoal::Bytes(180'000), {{600'000, 1'000, 1}});
  EXPECT_GT(allocation.bytes, 175'000);
  EXPECT_LE(allocation.bytes, 180'000);
  EXPECT_GT(allocation.wasted_reads, 0.4);  // as 1.5 bits a key, not 2.4
  EXPECT_EQ(Allocate("standard", FilterGoal::Bytes(64'000), {{600'000, 1'000, 1}}).bytes, 0);
}

TEST(FilterAllocationTest, UsesCompactKindsWhereTheyPay) {
  const Runs runs = FourLevels();
  const FilterAllocation by_level = Allocate("by-level", FilterGoal::BitsPerKey(10), runs);
  EXPECT_EQ(by_level.shares[0].kind, "blocked");
  EXPECT_EQ(by_level.shares[1].kind, "blocked");
  EXPECT_EQ(by_level.shares[3].kind, "ribbon");
  EXPECT_EQ(by_level.shares[4].kind, "ribbon");
  for (const char* kind : {"standard", "blocked"}) {
    EXPECT_LT(by_level.wasted_reads,
              Allocate(kind, FilterGoal::BitsPerKey(10), runs).wasted_reads / 3);
  }
  // A level that is still as small as level 1 is rewritten as often as level 1.
  Runs young = runs;
  for (FilterRun& run : young) run.lifetime = 0.25;
  for (const FilterShare& share : Allocate("by-level", FilterGoal::BitsPerKey(10), young).shares) {
    EXPECT_EQ(share.kind, "blocked");
  }
}

TEST(FilterAllocationTest, NamesUnknownKinds) {
  EXPECT_THAT(FilterAllocator::Of("cuckoo", FilterGoal::BitsPerKey(10)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cuckoo")));
}

TEST(FilterAllocationTest, ReasonsNameTheGoal) {
  for (int i = 0; i <= static_cast<int>(FilterReason::kCold); ++i) {
    const auto reason = static_cast<FilterReason>(i);
    const std::string text = ExplanationOf(reason, FilterGoal::BitsPerKey(10));
    EXPECT_EQ(text.substr(0, text.find(':')), NameOf(reason));
    EXPECT_THAT(text, HasSubstr("10.0 bits a key"));
  }
}

// --- one job's output ---

// The share of an output with a single part.
FilterShare ForOutput(const FilterAllocator& allocator, const Runs& runs,
                      const FilterOutput& output) {
  return allocator.ForOutput(runs, output).shares[output.parts[0].run];
}

// The bytes of the runs' filters at their shares, except for a part of one run.
double SharesBut(const FilterAllocation& allocation, size_t run, double part) {
  return allocation.bytes - part * allocation.shares[run].bytes;
}

TEST(FilterOutputTest, JobsGetTheirShareWithinTheBudget) {
  const Runs runs = FourLevels();
  const auto allocator = Allocator("standard", FilterGoal::BitsPerKey(10));
  const FilterAllocation all = allocator->Allocate(runs);
  for (const size_t run : {0, 2, 4}) {
    const FilterShare share =
        ForOutput(*allocator, runs, {{{run, runs[run].keys / 2}}, SharesBut(all, run, 0.5), 0});
    EXPECT_NEAR(share.bytes, all.shares[run].bytes, 0.01 * all.shares[run].bytes);
    EXPECT_EQ(share.reason, FilterReason::kShare);
  }
}

TEST(FilterOutputTest, OversizedOlderTablesLeaveLess) {
  const Runs runs = FourLevels();
  const auto allocator = Allocator("standard", FilterGoal::BitsPerKey(10));
  const FilterAllocation all = allocator->Allocate(runs);
  for (const size_t run : {0, 4}) {
    double before = all.shares[run].bytes;
    for (const double excess : {0.03, 0.1, 0.3, 3.0}) {
      const FilterShare share = ForOutput(
          *allocator, runs,
          {{{run, runs[run].keys / 20}}, SharesBut(all, run, 0.05) + excess * all.bytes, 0});
      EXPECT_LE(share.bytes, before);
      EXPECT_LT(share.bytes, all.shares[run].bytes);
      if (excess > 0.05) {
        EXPECT_EQ(share.reason, FilterReason::kLess);
      }
      // No run loses its filter to compensate for others.
      EXPECT_GT(share.bytes, 0);
      before = share.bytes;
    }
  }
}

TEST(FilterOutputTest, JobsMeetTheBudgetIfTheyCan) {
  const Runs runs = FourLevels();
  const auto allocator = Allocator("standard", FilterGoal::BitsPerKey(10));
  const FilterAllocation all = allocator->Allocate(runs);
  const double budget = allocator->BudgetBytes(KeysOf(runs));
  for (const double excess : {-0.05, -0.02, 0.02, 0.05}) {
    const double staying = SharesBut(all, 4, 0.8) + excess * budget;
    const FilterShare share =
        ForOutput(*allocator, runs, {{{4, runs[4].keys * 8 / 10}}, staying, 0});
    EXPECT_NEAR(staying + 0.8 * share.bytes, budget, 0.002 * budget) << excess;
    EXPECT_EQ(share.reason, excess > 0 ? FilterReason::kLess : FilterReason::kMore);
  }
}

TEST(FilterOutputTest, JobsCorrectReadsToo) {
  const Runs runs = FourLevels();
  const auto allocator = Allocator("standard", FilterGoal::WastedReads(0.02));
  const FilterAllocation all = allocator->Allocate(runs);
  const double staying = all.wasted_reads - 0.5 * all.shares[4].fpp;
  const auto fpp_with = [&](double more_reads) {
    return ForOutput(*allocator, runs, {{{4, runs[4].keys / 2}}, 0, staying + more_reads}).fpp;
  };
  EXPECT_NEAR(fpp_with(0), all.shares[4].fpp, 0.0002);
  EXPECT_LT(fpp_with(0.003), 0.9 * all.shares[4].fpp);
  EXPECT_GT(fpp_with(-0.003), 1.1 * all.shares[4].fpp);
}

// Tables of the deepest level were made when the store was smaller.  A fixed budget must leave room
// for the growth of the store.
TEST(FilterOutputTest, FixedBudgetsLeaveRoomForGrowth) {
  const Runs runs = {{100'000, 10, 10}, {900'000, 90, 90}};
  const auto bytes = Allocator("standard", FilterGoal::Bytes(1'250'000));
  const FilterAllocation all = bytes->Allocate(runs);
  const double staying = SharesBut(all, 1, 0.01);
  const FilterShare share = ForOutput(*bytes, runs, {{{1, 9'000}}, staying, 0});
  EXPECT_NEAR(share.bytes / all.shares[1].bytes, 1 / 1.05, 0.02);
  const auto bits = Allocator("standard", FilterGoal::BitsPerKey(10));
  EXPECT_NEAR(ForOutput(*bits, runs, {{{1, 9'000}}, staying, 0}).bytes, all.shares[1].bytes,
              0.01 * all.shares[1].bytes);
  // The parts of the deepest run are the whole run.
  const Runs parts = {{100'000, 10, 10}, {450'000, 45, 90, 0.5}, {450'000, 45, 90, 0.5, true}};
  EXPECT_NEAR(ForOutput(*bytes, parts, {{{1, 9'000}}, staying, 0}).bytes, share.bytes / 2,
              0.01 * share.bytes);
}

// A job that writes parts of different hotness compensates for the other runs with all its parts
// together.
TEST(FilterOutputTest, PartsOfAnOutputMeetTheGoalTogether) {
  const Runs runs = {{100'000, 10, 10}, {90'000, 9, 90, 0.9}, {810'000, 81, 90, 0.1, true}};
  const FilterOutput output = {{{1, 80'000}, {2, 720'000}}, 0, 0};
  for (const FilterGoal& goal : {FilterGoal::BitsPerKey(10), FilterGoal::WastedReads(0.01)}) {
    const bool is_reads = goal.kind() == FilterGoal::Kind::kWastedReads;
    const auto allocator = Allocator("standard", goal);
    const FilterAllocation all = allocator->Allocate(runs);
    const auto written = [&](const FilterAllocation& allocation) {
      double sum = 0;
      for (const size_t i : {1, 2}) {
        sum += 8.0 / 9 *
               (is_reads ? runs[i].weight * allocation.shares[i].fpp : allocation.shares[i].bytes);
      }
      return sum;
    };
    const double total = is_reads ? all.wasted_reads : all.bytes;
    for (const double excess : {-0.05, 0.0, 0.05}) {
      FilterOutput with = output;
      (is_reads ? with.staying_reads : with.staying_bytes) = total * (1 + excess) - written(all);
      const FilterAllocation allocation = allocator->ForOutput(runs, with);
      EXPECT_NEAR(total * (1 + excess) - written(all) + written(allocation), total, 0.005 * total);
      for (const size_t i : {1, 2}) {
        const FilterReason reason = allocation.shares[i].reason;
        // 5 % of the reads may change the bytes of a part by less than is reported.
        if (is_reads && reason == FilterReason::kShare) continue;
        const bool gets_more = is_reads ? excess > 0 : excess < 0;
        const FilterReason other = gets_more ? FilterReason::kMore : FilterReason::kLess;
        EXPECT_EQ(reason, excess == 0 ? FilterReason::kShare : other)
            << goal.ToText() << " " << excess;
      }
    }
  }
}

TEST(FilterOutputTest, FirstFlushGetsTheWholeGoal) {
  const Runs runs = {{1'000, 1, 0}};
  EXPECT_NEAR(
      ForOutput(*Allocator("standard", FilterGoal::BitsPerKey(10)), runs, {{{0, 1'000}}, 0, 0})
          .bytes,
      1'250, 5);
  const FilterShare share =
      ForOutput(*Allocator("standard", FilterGoal::Bytes(1 << 20)), runs, {{{0, 1'000}}, 0, 0});
  EXPECT_EQ(share.reason, FilterReason::kFloor);
  EXPECT_EQ(ForOutput(*Allocator("standard", FilterGoal::BitsPerKey(10)), Runs{{0, 1, 0}},
                      {{{0, 0}}, 0, 0})
                .kind,
            "");
}

}  // namespace
}  // namespace lsm
