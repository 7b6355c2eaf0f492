#include "lsm/compaction/level0_account.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/lsm/version/table_maker.h"

namespace lsm {
namespace {

class Level0AccountTest : public testing::Test {
 protected:
  // Two tables in level 0 over one in level 1, so that a merge pays off.
  Level0AccountTest() {
    options_.level0_compaction_tables = 100;
    std::array<OpenTables, kLevels> levels;
    levels[0] = {maker_.Make(3, {PutOf("a", 5), PutOf("z", 6)}),
                 maker_.Make(2, {PutOf("a", 3), PutOf("z", 4)})};
    levels[1] = {maker_.Make(1, {PutOf("a", 1), PutOf("z", 2)})};
    tree_ = Tree::Create(std::move(levels)).value();
    price_ = PriceForReaders(*tree_, options_).value();
  }
  // Reads that pay at least this much.
  static Level0Reads ReadsFor(uint64_t bytes) { return {0, 0, bytes / kBytesMergedPerSeek + 1}; }
  bool Add(const Level0Reads& reads, RunningPlans running = {}) {
    return account_.AddReads(reads, *tree_, options_, running);
  }
  bool IsPaid(RunningPlans running = {}) const {
    return account_.IsPaid(*tree_, options_, running);
  }
  std::shared_ptr<const CompactionPlan> Merge() const {
    auto plan = std::make_shared<CompactionPlan>();
    plan->output_level = 1;
    plan->inputs = tree_->level(0);
    plan->overlapped = tree_->level(1);
    return plan;
  }

  TableMaker maker_;
  Options options_;
  std::shared_ptr<const Tree> tree_;
  uint64_t price_ = 0;
  Counters counters_;
  Level0Account account_{&counters_};
};

TEST_F(Level0AccountTest, CountsReadsOfLevel0Alone) {
  const Counters::Here here(&counters_);
  here.Add(0, LevelCounts::kReadsAvoided, 5);
  here.Add(0, LevelCounts::kWastedReads, 6);
  here.Add(1, LevelCounts::kReadsAvoided, 100);
  here.Add(1, LevelCounts::kWastedReads, 100);
  here.Add(Counter::kLevel0Seeks, 7);
  const Level0Reads reads = account_.CountReads();
  EXPECT_EQ(reads.asks, 5u);
  EXPECT_EQ(reads.reads, 6u);
  EXPECT_EQ(reads.seeks, 7u);
}

TEST_F(Level0AccountTest, BecomesDueAtThePrice) {
  const Level0Reads half = ReadsFor(price_ / 2);
  EXPECT_FALSE(Add(half));
  EXPECT_FALSE(IsPaid());
  EXPECT_TRUE(Add({half.asks, half.reads, 2 * half.seeks}));
  EXPECT_TRUE(IsPaid());
  // Add reports it only once.
  EXPECT_FALSE(Add({half.asks, half.reads, 3 * half.seeks}));
  EXPECT_TRUE(IsPaid());
}

TEST_F(Level0AccountTest, ReadsAreChargedOnce) {
  const Level0Reads half = ReadsFor(price_ / 2);
  Add(half);
  const uint64_t paid = account_.paid_bytes();
  EXPECT_EQ(paid, BytesPaidBy(half));
  Add(half);
  // A thread that counted earlier reports later.
  Add({0, 0, half.seeks / 2});
  EXPECT_EQ(account_.paid_bytes(), paid);
  Add({0, 0, half.seeks + 1});
  EXPECT_EQ(account_.paid_bytes(), paid + kBytesMergedPerSeek);
}

TEST_F(Level0AccountTest, ReadersNeverPayMoreThanThePrice) {
  Add(ReadsFor(100 * price_));
  EXPECT_EQ(account_.paid_bytes(), price_);
  // If there is nothing to merge, reads pay nothing.
  tree_ = Tree::Create({}).value();
  Add(ReadsFor(200 * price_));
  EXPECT_EQ(account_.paid_bytes(), 0u);
}

TEST_F(Level0AccountTest, ReadsDuringAMergeAreFree) {
  const std::vector<std::shared_ptr<const CompactionPlan>> running = {Merge()};
  EXPECT_FALSE(Add(ReadsFor(2 * price_), running));
  EXPECT_EQ(account_.paid_bytes(), 0u);
  // The reads during the merge stay unpaid after its end.
  Add(ReadsFor(2 * price_));
  EXPECT_EQ(account_.paid_bytes(), 0u);
  Add(ReadsFor(4 * price_));
  EXPECT_TRUE(IsPaid());
  EXPECT_FALSE(IsPaid(running));
}

TEST_F(Level0AccountTest, MergesDeductTheirPrice) {
  Add(ReadsFor(2 * price_));
  CompactionPlan small = *Merge();
  small.inputs.pop_back();
  account_.Spend(small);
  EXPECT_EQ(account_.paid_bytes(), price_ - PriceOf(small));
  EXPECT_FALSE(IsPaid());
  account_.Spend(*Merge());  // more than is left
  EXPECT_EQ(account_.paid_bytes(), 0u);
}

TEST_F(Level0AccountTest, FailuresRestoreThePrice) {
  Add(ReadsFor(price_));
  account_.Forfeit();
  EXPECT_EQ(account_.paid_bytes(), 0u);
  EXPECT_TRUE(Add(ReadsFor(3 * price_)));
}

TEST_F(Level0AccountTest, SeeksOfAMergedLevel0DoNotCount) {
  const Level0Account::Seen seen = account_.See(*tree_);
  EXPECT_EQ(seen.tables, 2u);
  account_.CountSeeks(10, seen, Counters::Here(&counters_));
  EXPECT_EQ(account_.CountReads().seeks, 20u);
  account_.NoteMerge(*Merge());
  account_.CountSeeks(10, seen, Counters::Here(&counters_));
  EXPECT_EQ(account_.CountReads().seeks, 20u);
  account_.CountSeeks(1, account_.See(*tree_), Counters::Here(&counters_));
  EXPECT_EQ(account_.CountReads().seeks, 22u);
}

TEST_F(Level0AccountTest, ThreadsChargeEachReadOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (uint64_t seeks = 1; seeks <= 1000; ++seeks) Add({0, 0, seeks});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(account_.paid_bytes(), 1000 * kBytesMergedPerSeek);
}

TEST_F(Level0AccountTest, OnlyMergesOfTheDefaultTreeCount) {
  Add(ReadsFor(2 * price_));
  const Level0Account::Seen seen = account_.See(*tree_);
  CompactionPlan of_other = *Merge(), drop = *Merge(), below = *Merge();
  of_other.keyspace = 5;
  drop.drops = true;
  below.level = 1;
  for (const CompactionPlan& plan : {of_other, drop, below}) {
    account_.Spend(plan);
    EXPECT_EQ(account_.paid_bytes(), price_);
    account_.NoteMerge(plan);
    EXPECT_EQ(account_.See(*tree_).merges, seen.merges);
  }
  CompactionPlan all_done = *Merge();
  all_done.inputs.clear();  // in steps
  account_.NoteMerge(all_done);
  EXPECT_EQ(account_.See(*tree_).merges, seen.merges + 1);
  of_other.inputs.clear();
  account_.NoteMerge(of_other);
  EXPECT_EQ(account_.See(*tree_).merges, seen.merges + 1);
}

}  // namespace
}  // namespace lsm
