#include "lsm/compaction/level0_account.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/compaction/compaction_schedule.h"
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
  Level0Account Account() const { return Level0Account(*tree_); }
  bool Add(const Level0Reads& reads, RunningPlans running = {}) {
    Account().Note(reads);
    return Account().Charge(options_, running);
  }
  bool IsPaid(RunningPlans running = {}) const { return Account().IsPaid(options_, running); }
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
};

TEST_F(Level0AccountTest, CountsReadsOfLevel0Alone) {
  const Counters::Here here(&counters_);
  here.Add(0, LevelCounts::kReadsAvoided, 5);
  here.Add(0, LevelCounts::kWastedReads, 6);
  here.Add(1, LevelCounts::kReadsAvoided, 100);
  here.Add(1, LevelCounts::kWastedReads, 100);
  Account().CountSeeks(7, {1, 0}, here);
  const Level0Reads reads = Account().CountReads(counters_);
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
  const uint64_t paid = Account().paid_bytes();
  EXPECT_EQ(paid, BytesPaidBy(half));
  Add(half);
  // A thread that counted earlier reports later.
  Add({0, 0, half.seeks / 2});
  EXPECT_EQ(Account().paid_bytes(), paid);
  Add({0, 0, half.seeks + 1});
  EXPECT_EQ(Account().paid_bytes(), paid + kBytesMergedPerSeek);
}

TEST_F(Level0AccountTest, ReadersNeverPayMoreThanThePrice) {
  Add(ReadsFor(100 * price_));
  EXPECT_EQ(Account().paid_bytes(), price_);
  // If there is nothing to merge, reads pay nothing.
  tree_ = Tree::Create({}, kDefaultKeyspace, nullptr, tree_.get()).value();
  Add(ReadsFor(200 * price_));
  EXPECT_EQ(Account().paid_bytes(), 0u);
}

TEST_F(Level0AccountTest, ReadsDuringAMergeAreFree) {
  const std::vector<std::shared_ptr<const CompactionPlan>> running = {Merge()};
  EXPECT_FALSE(Add(ReadsFor(2 * price_), running));
  EXPECT_EQ(Account().paid_bytes(), 0u);
  // The reads during the merge stay unpaid after its end.
  Add(ReadsFor(2 * price_));
  EXPECT_EQ(Account().paid_bytes(), 0u);
  Add(ReadsFor(4 * price_));
  EXPECT_TRUE(IsPaid());
  EXPECT_FALSE(IsPaid(running));
}

TEST_F(Level0AccountTest, MergesDeductTheirPrice) {
  Add(ReadsFor(2 * price_));
  CompactionPlan small = *Merge();
  small.inputs.pop_back();
  Account().Spend(small);
  EXPECT_EQ(Account().paid_bytes(), price_ - PriceOf(small));
  EXPECT_FALSE(IsPaid());
  Account().Spend(*Merge());  // more than is left
  EXPECT_EQ(Account().paid_bytes(), 0u);
}

TEST_F(Level0AccountTest, FailuresRestoreThePrice) {
  Add(ReadsFor(price_));
  Account().Forfeit();
  EXPECT_EQ(Account().paid_bytes(), 0u);
  EXPECT_TRUE(Add(ReadsFor(3 * price_)));
}

TEST_F(Level0AccountTest, SeeksOfAMergedLevel0DoNotCount) {
  const Level0Account::Seen seen = Account().See();
  EXPECT_EQ(seen.tables, 2u);
  Account().CountSeeks(10, seen, Counters::Here(&counters_));
  EXPECT_EQ(Account().CountReads(counters_).seeks, 20u);
  Account().NoteMerge(*Merge());
  Account().CountSeeks(10, seen, Counters::Here(&counters_));
  EXPECT_EQ(Account().CountReads(counters_).seeks, 20u);
  Account().CountSeeks(1, Account().See(), Counters::Here(&counters_));
  EXPECT_EQ(Account().CountReads(counters_).seeks, 22u);
  EXPECT_EQ(counters_.SumOf(Counter::kLevel0Seeks), 22u);
}

TEST_F(Level0AccountTest, ThreadsChargeEachReadOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (uint64_t seeks = 1; seeks <= 1000; ++seeks) Add({0, 0, seeks});
    });
  }
  for (std::thread& thread : threads) thread.join();
  Add({0, 0, 1000});  // a thread that met another one noted nothing
  EXPECT_EQ(Account().paid_bytes(), 1000 * kBytesMergedPerSeek);
}

TEST_F(Level0AccountTest, OnlyMergesOfTheTreeCount) {
  Add(ReadsFor(2 * price_));
  const Level0Account::Seen seen = Account().See();
  CompactionPlan of_other = *Merge(), drop = *Merge(), below = *Merge();
  of_other.keyspace = 5;
  drop.drops = true;
  below.level = 1;
  for (const CompactionPlan& plan : {of_other, drop, below}) {
    Account().Spend(plan);
    EXPECT_EQ(Account().paid_bytes(), price_);
    Account().NoteMerge(plan);
    EXPECT_EQ(Account().See().merges, seen.merges);
  }
  CompactionPlan all_done = *Merge();
  all_done.inputs.clear();  // in steps
  Account().NoteMerge(all_done);
  EXPECT_EQ(Account().See().merges, seen.merges + 1);
  of_other.inputs.clear();
  Account().NoteMerge(of_other);
  EXPECT_EQ(Account().See().merges, seen.merges + 1);
}

TEST_F(Level0AccountTest, EachTreeHasItsOwn) {
  const auto other = Tree::Create({tree_->level(0), tree_->level(1)}, 5).value();
  const Level0Account of_other(*other);
  const TreeCounters::Here here(&other->reads().counters);
  here.Add(TreeCounters::kLevel0Asks, 3);
  here.Add(TreeCounters::kLevel0Reads, 4);
  of_other.CountSeeks(2, of_other.See(), &counters_);
  const Level0Reads reads = of_other.CountReads(counters_);
  EXPECT_EQ(reads.asks, 3u);
  EXPECT_EQ(reads.reads, 4u);
  EXPECT_EQ(reads.seeks, 4u);
  EXPECT_EQ(BytesPaidBy(Account().CountReads(counters_)), 0u);
  of_other.Note(ReadsFor(price_));
  EXPECT_TRUE(of_other.Charge(options_, {}));
  EXPECT_TRUE(of_other.IsPaid(options_, {}));
  EXPECT_FALSE(IsPaid());
  of_other.Spend(*Merge());
  of_other.NoteMerge(*Merge());
  EXPECT_EQ(of_other.paid_bytes(), price_) << "a merge of the default tree";
  EXPECT_EQ(of_other.See().merges, 0u);
}

// The account is that of the tree, whichever of its versions a caller has.
TEST_F(Level0AccountTest, GoesOnWithTheTree) {
  Add(ReadsFor(price_));
  const std::weak_ptr<TreeReads> reads = tree_->ShareReads();
  const auto next =
      Tree::Create({tree_->level(0), tree_->level(1)}, kDefaultKeyspace, nullptr, tree_.get())
          .value();
  EXPECT_TRUE(Level0Account(*next).IsPaid(options_, {}));
  Level0Account(*next).Forfeit();
  EXPECT_FALSE(IsPaid());
  tree_ = next;
  EXPECT_FALSE(reads.expired());
  tree_ = Tree::Create({next->level(0), next->level(1)}).value();
  EXPECT_EQ(Account().paid_bytes(), 0u) << "of a new tree";
  EXPECT_FALSE(reads.expired()) << "a reader still has the tree";
}

// A job merges level 0 of a tree whose readers have paid, and of no other.
TEST_F(Level0AccountTest, JobsTakeThePaidTree) {
  std::array<OpenTables, kLevels> levels = {tree_->level(0), tree_->level(1)};
  maker_.keyspace = 5;
  for (const uint64_t number : {13, 12})
    levels[0].push_back(maker_.Make(number, {PutOf("a", number), PutOf("z", number)}));
  const auto version = Version::Create(levels).value();
  const Tree* const other = version->TreeOf(5);
  CompactionSchedule schedule;
  schedule.Reserve(4);
  const auto choose = [&] {
    CompactionSchedule::Job job;
    job.version = version;
    const CompactionSchedule::Plans running = schedule.StartChoosing(0, &job);
    CompactionSchedule::Choose(options_, running, &job);
    schedule.Begin(&job);
    EXPECT_TRUE(job.plan == nullptr || job.plan->for_readers);
    return job.plan == nullptr ? std::vector<uint64_t>() : NumbersOf(job.plan->inputs);
  };
  const auto pay = [&](const Tree& tree) {
    Level0Account(tree).Note(ReadsFor(uint64_t{1} << 40));
    EXPECT_TRUE(Level0Account(tree).Charge(options_, schedule.running()));
  };
  EXPECT_EQ(choose(), std::vector<uint64_t>());
  pay(*other);
  EXPECT_EQ(choose(), (std::vector<uint64_t>{13, 12}));
  EXPECT_EQ(choose(), std::vector<uint64_t>()) << "the default tree is not paid";
  pay(*version->default_tree());
  EXPECT_EQ(choose(), (std::vector<uint64_t>{3, 2})) << "beside the other plan";
}

}  // namespace
}  // namespace lsm
