#include "lsm/runtime/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "lsm/store/store_clock.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SequencesTest, ListsSnapshotsOnceInOrder) {
  Sequences sequences;
  sequences.Start(7);
  EXPECT_THAT(sequences.Snapshots(), IsEmpty());
  EXPECT_EQ(sequences.oldest_snapshot(), kSequenceMax);
  EXPECT_EQ(sequences.Take(), 7u);
  EXPECT_EQ(sequences.Take(), 7u);
  sequences.Advance(2);
  EXPECT_EQ(sequences.Take(), 9u);
  EXPECT_THAT(sequences.Snapshots(), ElementsAre(7, 9));
  sequences.Release(7);
  EXPECT_THAT(sequences.Snapshots(), ElementsAre(7, 9)) << "one of two";
  EXPECT_EQ(sequences.oldest_snapshot(), 7u);
  sequences.Release(7);
  EXPECT_THAT(sequences.Snapshots(), ElementsAre(9));
  EXPECT_EQ(sequences.oldest_snapshot(), 9u);
}

TEST(SequencesTest, SnapshotsOfOneNumberHaveTheirOwnTimes) {
  Sequences sequences;
  const auto early = std::make_shared<const ReadTime>(ReadTime{100, nullptr});
  const auto late = std::make_shared<const ReadTime>(ReadTime{200, nullptr});
  sequences.Take(early);
  sequences.Take();
  sequences.Take(late);
  sequences.Take(early);
  sequences.Release(0, early.get());
  EXPECT_THAT(sequences.Readers(), testing::UnorderedElementsAre(JobExpiry::Reader(0, nullptr),
                                                                 JobExpiry::Reader(0, late),
                                                                 JobExpiry::Reader(0, early)));
  sequences.Release(0, late.get());
  sequences.Release(0);
  EXPECT_THAT(sequences.Readers(), ElementsAre(JobExpiry::Reader(0, early)));
  EXPECT_THAT(sequences.Snapshots(), ElementsAre(0));
}

// Each stratum by the mildest of the readers that see it.
TEST(SequencesTest, SnapshotsDelayExpiry) {
  const auto limits = [](uint32_t seconds, uint32_t cutoff) {
    return std::make_shared<const LimitTable>(
        std::vector<LimitTable::Row>{{2, {seconds, {cutoff, /*timed_from=*/50}}}});
  };
  SnapshotList list = {5, 9};
  EXPECT_EQ(list.ExpiredIn(2), std::vector<ExpiryView>(3));
  list.expiry = std::make_shared<const JobExpiry>(
      JobExpiry{{1000, limits(10, 0)},
                {{5, std::make_shared<const ReadTime>(ReadTime{900, limits(10, 0)})},
                 {5, std::make_shared<const ReadTime>(ReadTime{950, limits(100, 870)})},
                 {9, std::make_shared<const ReadTime>(ReadTime{999, limits(20, 0)})}}});
  EXPECT_THAT(list.ExpiredIn(2),
              ElementsAre(ExpiryView{870, 50}, ExpiryView{979, 50}, ExpiryView{990, 50}));
  EXPECT_EQ(list.ExpiredIn(3), std::vector<ExpiryView>(3)) << "another keyspace";
  EXPECT_EQ(list.StratumOf(5), 0u);
  EXPECT_EQ(list.StratumOf(6), 1u);
  EXPECT_EQ(list.StratumOf(10), 2u);
}

TEST(LimitTableTest, TheMildestLimitCounts) {
  const LimitTable table(
      std::vector<LimitTable::Row>{{0, {5, {7, 1}}}, {2, {10, {0, 3}}}, {2, {50, {20, 3}}}});
  EXPECT_EQ(table.At(0, 100), (ExpiryView{95, 1}));
  EXPECT_EQ(table.At(0, 10), (ExpiryView{7, 1})) << "the cutoff";
  EXPECT_EQ(table.At(2, 100), (ExpiryView{50, 3}));
  EXPECT_EQ(table.At(2, 65), (ExpiryView{20, 3}));
  EXPECT_EQ(table.At(1, 100), ExpiryView());
  EXPECT_TRUE(table.Has(0) && table.Has(2) && !table.Has(1));
}

TEST(StoreClockTest, NeverRunsBackwards) {
  struct Wall : Clock {
    uint64_t MonotonicNanos() override { return 0; }
    uint64_t WallMicros() override { return micros; }
    uint64_t micros = 0;
  } wall;
  StoreClock clock(&wall);
  wall.micros = 7'999'999;
  EXPECT_EQ(clock.Now(), 7u);
  wall.micros = 3'000'000;
  EXPECT_EQ(clock.Now(), 7u);
  wall.micros = 9'000'000;
  EXPECT_EQ(clock.Now(), 9u);
  wall.micros = (uint64_t{1} << 33) * 1'000'000;
  EXPECT_EQ(clock.Now(), kSecondsMax) << "in 2106";
}

TEST(SequencesTest, NeverUsesTheHighestNumber) {
  Sequences sequences;
  sequences.Start(kSequenceMax - 3);
  EXPECT_TRUE(sequences.HaveRoomFor(2));
  EXPECT_FALSE(sequences.HaveRoomFor(3));
}

}  // namespace
}  // namespace lsm
