#include "lsm/runtime/write_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace lsm {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

TEST(RoomMakerTest, EstimatesFromEarlierJobs) {
  RoomMaker maker;
  EXPECT_EQ(maker.NanosToGo(1), 0);  // no job runs
  maker.Begin(1000, 1'000'000);
  const double first_guess = maker.NanosToGo(1000);
  EXPECT_GT(first_guess, 0);
  maker.End(1000 + 40 * kMillisecond, true);
  EXPECT_EQ(maker.NanosToGo(2000), 0);
  // The assumed rate has the weight of half a MiB, beside the measured job.
  const double believed_bytes = 1 << 20;
  EXPECT_DOUBLE_EQ(maker.NanosFor(1'000'000), (first_guess * believed_bytes / 1e6 / 2 + 40e6) /
                                                  (believed_bytes / 2 + 1e6) * 1e6);
  // Failed jobs do not change the rate.  Neither does a clock that stands still or jumps.
  const double guess = maker.NanosFor(1'000'000);
  maker.Begin(5000, 10);
  maker.End(5000 + 90 * kMillisecond, false);
  maker.Begin(5000, 10);
  maker.End(5000, true);
  maker.Begin(5000, 10);
  maker.End(4000, true);
  EXPECT_EQ(maker.NanosToGo(6000), 0);
  EXPECT_DOUBLE_EQ(maker.NanosFor(1'000'000), guess);
  maker.Begin(5000, 10);
  EXPECT_EQ(maker.NanosToGo(4000), 0);
  maker.End(uint64_t{1} << 62, true);
  EXPECT_LE(maker.NanosFor(1), 1000);
}

TEST(RoomMakerTest, SmallFlushesKeepTheEstimate) {
  RoomMaker maker;
  for (int i = 0; i < 10; ++i) {
    maker.Begin(0, 64 << 20);
    maker.End(500 * kMillisecond, true);
  }
  const double guess = maker.NanosFor(64 << 20);
  EXPECT_NEAR(guess, 500e6, 5e6);
  maker.Begin(0, 4096);
  maker.End(5 * kMillisecond, true);  // its syncs
  EXPECT_NEAR(maker.NanosFor(64 << 20), guess, guess / 20);
}

TEST(RoomMakerTest, LateJobsAreNotExpectedAtOnce) {
  RoomMaker maker;
  maker.Begin(0, 1'000'000);
  const double guess = maker.NanosFor(1'000'000);
  EXPECT_DOUBLE_EQ(maker.NanosToGo(static_cast<uint64_t>(guess / 2)), guess / 2);
  EXPECT_DOUBLE_EQ(maker.NanosToGo(static_cast<uint64_t>(guess)), guess / 4);
  EXPECT_DOUBLE_EQ(maker.NanosToGo(static_cast<uint64_t>(8 * guess)), 2 * guess);
}

TEST(WritePaceTest, WritersDoNotWaitWithEnoughRoom) {
  WritePace pace;
  for (uint64_t now = 0; now < 100; ++now) {
    EXPECT_EQ(pace.Begin(now, 0), 0u);
    pace.Spend(uint64_t{1} << 30);
  }
}

// Makes writes of 1000 bytes that take `own_nanos` without throttling.  Returns the nanoseconds per
// write.
double RateOf(double nanos_per_byte, uint64_t own_nanos, uint64_t* longest) {
  WritePace pace;
  constexpr int kWrites = 20'000;
  uint64_t now = 1'000'000;
  for (int i = 0; i < kWrites; ++i) {
    const uint64_t wait = pace.Begin(now, nanos_per_byte);
    *longest = std::max(*longest, wait);
    EXPECT_TRUE(wait == 0 || wait >= WritePace::kWaitNanosMin);
    now += wait + own_nanos;
    pace.Spend(1000);
  }
  return static_cast<double>(now - 1'000'000) / kWrites;
}

TEST(WritePaceTest, WritesKeepThePaceInShortWaits) {
  uint64_t longest = 0;
  EXPECT_NEAR(RateOf(20, 2'000, &longest), 20'000, 200);
  EXPECT_LT(longest, 2 * WritePace::kWaitNanosMin);
  EXPECT_NEAR(RateOf(400, 2'000, &longest), 400'000, 5'000);
  EXPECT_LT(longest, 500'000u);
}

TEST(WritePaceTest, SlowWritersNeverWait) {
  uint64_t longest = 0;
  EXPECT_DOUBLE_EQ(RateOf(20, 25'000, &longest), 25'000);
  EXPECT_EQ(longest, 0u);
}

TEST(WritePaceTest, WritesNeverWaitLong) {
  WritePace pace;
  uint64_t now = 1000;
  EXPECT_EQ(pace.Begin(now, 1e300), 0u);
  pace.Spend(~uint64_t{0});
  int waits = 0;
  for (; pace.Begin(now, 1e-9) > 0; ++waits) {
    EXPECT_LE(pace.Begin(now, 1e-9), WritePace::kWaitNanosMax);
    now += WritePace::kWaitNanosMax;
  }
  EXPECT_EQ(waits, 50);  // a tenth of a second in all
  // Debts are dropped when there is room.
  pace.Begin(now, 100);
  pace.Spend(1 << 20);
  EXPECT_GT(pace.Begin(now, 100), 0u);
  EXPECT_EQ(pace.Begin(now, 0), 0u);
  EXPECT_EQ(pace.Begin(now, 100), 0u);
  // If the clock goes back, no write waits for the difference.
  pace.Begin(uint64_t{1} << 60, 100);
  pace.Spend(1 << 20);
  EXPECT_LE(pace.Begin(1000, 100), WritePace::kWaitNanosMax);
  EXPECT_EQ(pace.Begin(1000 + 200 * kMillisecond, 100), 0u);
}

}  // namespace
}  // namespace lsm
