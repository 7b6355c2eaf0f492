#include "lsm/runtime/write_throttle.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/lsm/engine/world.h"
#include "tests/lsm/version/table_maker.h"

namespace lsm {
namespace {

using Job = CompactionSchedule::Job;

class WriteThrottleTest : public testing::Test {
 protected:
  WriteThrottleTest() : options_(world_.SmallOptions()) {
    options_.level0_compaction_tables = 2;
    options_.level0_stop_tables = 6;
    view_.memtable = std::make_shared<Memtable>();
    SetLevel0(0);
  }

  void SetLevel0(size_t tables) {
    std::array<OpenTables, kLevels> levels;
    for (size_t i = 0; i < tables; ++i) levels[0].push_back(MakeTable());
    view_.version = Version::Create(std::move(levels)).value();
  }
  std::shared_ptr<const OpenTable> MakeTable() {
    ++number_;
    return maker_.Make(number_, {PutOf("a", number_)});
  }
  // True if a writer at full speed must wait.
  bool Waits(bool has_compactions = true) {
    bool waits = false;
    for (int i = 0; i < 20; ++i) {
      waits |= throttle_.NanosToWait(view_, *view_.version->fullest_tree(), has_compactions) > 0;
      throttle_.Spend(options_.write_buffer_bytes / 4);
    }
    return waits;
  }
  std::shared_ptr<const CompactionPlan> PlanOf(int level, KeyspaceId keyspace = kDefaultKeyspace) {
    auto plan = std::make_shared<CompactionPlan>();
    plan->keyspace = keyspace;
    plan->level = level;
    plan->inputs.push_back(MakeTable());
    return plan;
  }

  World world_;
  TableMaker maker_;
  uint64_t number_ = 0;
  Options options_;
  ReadView view_;
  WriteThrottle throttle_{&options_, &world_.clock};
};

TEST_F(WriteThrottleTest, AFlushThatMergesMoreTakesLonger) {
  view_.sealed.push_back(std::make_shared<Memtable>());
  const auto waits = [&](uint64_t more) {
    WriteThrottle throttle(&options_, &world_.clock);
    throttle.BeginFlush(*view_.sealed.back());
    throttle.AddToFlush(more);
    throttle.NanosToWait(view_, *view_.version->fullest_tree(), true);
    throttle.Spend(1'000);
    return throttle.NanosToWait(view_, *view_.version->fullest_tree(), true);
  };
  EXPECT_EQ(waits(0), 0u);
  EXPECT_GT(waits(10 << 20), 0u);
  // Without a flush there is nothing to add to.
  throttle_.AddToFlush(uint64_t{1} << 40);
  throttle_.BeginFlush(*view_.sealed.back());
  EXPECT_EQ(throttle_.NanosToWait(view_, *view_.version->fullest_tree(), true), 0u);
}

TEST_F(WriteThrottleTest, WritesDoNotWaitWithEnoughRoom) {
  SetLevel0(3);
  EXPECT_FALSE(Waits());
}

TEST_F(WriteThrottleTest, SlowFlushesDelayWrites) {
  view_.sealed.push_back(std::make_shared<Memtable>());
  throttle_.BeginFlush(*view_.sealed[0]);
  world_.clock.Advance(1'000'000'000);
  EXPECT_TRUE(Waits());
  throttle_.EndFlush(true);
  view_.sealed.clear();
  EXPECT_FALSE(Waits());
}

TEST_F(WriteThrottleTest, Level0DelaysWritesHalfWayToTheStop) {
  SetLevel0(4);
  Job job;
  job.plan = PlanOf(0);
  throttle_.BeginCompaction(&job, *view_.version->fullest_tree());
  world_.clock.Advance(1'000'000'000);
  EXPECT_TRUE(Waits());
  EXPECT_FALSE(Waits(/*has_compactions=*/false)) << "no job makes room";
  SetLevel0(3);
  EXPECT_FALSE(Waits());
}

TEST_F(WriteThrottleTest, FirstCompactionOfLevel0Counts) {
  SetLevel0(4);
  Job first, second, below, move, nothing;
  first.plan = PlanOf(0);
  second.plan = PlanOf(0);
  below.plan = PlanOf(1);
  auto unread = std::make_shared<CompactionPlan>(*PlanOf(0));
  unread->drops = true;
  Job drop;
  drop.plan = unread;
  throttle_.BeginCompaction(&nothing, *view_.version->fullest_tree());
  throttle_.BeginCompaction(&below, *view_.version->fullest_tree());
  throttle_.BeginCompaction(&drop, *view_.version->fullest_tree());
  EXPECT_FALSE(Waits()) << "none of level 0 runs, and the estimate is short";
  throttle_.BeginCompaction(&first, *view_.version->fullest_tree());
  world_.clock.Advance(1'000'000'000);
  throttle_.BeginCompaction(&second, *view_.version->fullest_tree());
  throttle_.EndCompaction(&second, true);
  throttle_.EndCompaction(&below, true);
  EXPECT_TRUE(Waits()) << "the first one still runs";
  first.plan = PlanOf(0);  // it continues in steps
  throttle_.EndCompaction(&first, false);
  SetLevel0(0);
  EXPECT_FALSE(Waits());
  SetLevel0(4);
  EXPECT_FALSE(Waits()) << "it has ended";
}

// Level 0 of the default tree, and one of another tree that is not as full.
TEST_F(WriteThrottleTest, MergesOfAnotherTreeSayNothingAboutTheFullestOne) {
  std::array<OpenTables, kLevels> levels;
  for (size_t i = 0; i < 4; ++i) levels[0].push_back(MakeTable());
  maker_.keyspace = 5;
  for (size_t i = 0; i < 3; ++i) levels[0].push_back(MakeTable());
  Job of_other, of_fullest;
  of_other.plan = PlanOf(0, 5);
  maker_.keyspace = 0;
  of_fullest.plan = PlanOf(0);
  const auto fuller = Version::Create(levels).value();
  maker_.keyspace = 5;
  for (size_t i = 0; i < 2; ++i) levels[0].push_back(MakeTable());
  const auto other_is_fullest = Version::Create(levels).value();
  view_.version = fuller;
  throttle_.BeginCompaction(&of_other, *view_.version->fullest_tree());
  world_.clock.Advance(1'000'000'000);
  EXPECT_FALSE(Waits()) << "the estimate for a merge of the fullest tree is short";
  // The merge begins while its tree is the fullest.  Then another tree becomes the fullest.
  throttle_.BeginCompaction(&of_other, *other_is_fullest->fullest_tree());
  world_.clock.Advance(1'000'000'000);
  EXPECT_FALSE(Waits());
  view_.version = other_is_fullest;
  EXPECT_TRUE(Waits());
  view_.version = fuller;
  throttle_.BeginCompaction(&of_fullest, *view_.version->fullest_tree());
  world_.clock.Advance(1'000'000'000);
  EXPECT_TRUE(Waits()) << "it takes the place of the other";
  throttle_.EndCompaction(&of_other, true);
  EXPECT_TRUE(Waits());
  throttle_.EndCompaction(&of_fullest, true);
}

}  // namespace
}  // namespace lsm
