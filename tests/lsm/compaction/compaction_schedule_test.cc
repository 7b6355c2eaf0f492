#include "lsm/compaction/compaction_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/compaction/level0_account.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/lsm/version/table_maker.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using Job = CompactionSchedule::Job;
using Request = CompactionSchedule::Request;

class CompactionScheduleTest : public testing::Test {
 protected:
  CompactionScheduleTest() { schedule_.Reserve(4); }

  // A plan that takes a table of this number.
  std::shared_ptr<const CompactionPlan> PlanOf(uint64_t number) {
    auto plan = std::make_shared<CompactionPlan>();
    plan->inputs.push_back(maker_.Make(number, {PutOf("a", number)}));
    return plan;
  }
  std::shared_ptr<const CompactionPlan> TombstonePlanOf(uint64_t number) {
    auto plan = std::make_shared<CompactionPlan>(*PlanOf(number));
    plan->for_tombstones = true;
    return plan;
  }
  // One table in level 1.
  std::shared_ptr<const Version> VersionWith(const std::vector<Entry>& entries,
                                             uint64_t oldest_tombstone,
                                             uint64_t covered_bytes = 0) {
    maker_.oldest_tombstone = oldest_tombstone;
    maker_.covered_bytes = covered_bytes;
    std::array<OpenTables, kLevels> levels;
    levels[1] = {maker_.Make(100 + versions_++, entries)};
    return Version::Create(std::move(levels)).value();
  }
  // Enough for the rule.
  std::shared_ptr<const Version> VersionWithGarbage() {
    return VersionWith({DeleteOf("a", 1)}, wall_seconds_, /*covered_bytes=*/1 << 20);
  }
  // A job that has chosen and begun.
  Job Chosen() {
    schedule_.NoteScheduled();
    Job job;
    job.version = version_;
    job.snapshots = snapshots_;
    const CompactionSchedule::Plans running = schedule_.StartChoosing(wall_seconds_, &job);
    CompactionSchedule::Choose(options_, running, &job);
    schedule_.Begin(&job);
    return job;
  }
  // A job that was scheduled and now chooses its plan.
  Job Start() {
    schedule_.NoteScheduled();
    Job job;
    job.version = version_;
    job.snapshots = snapshots_;
    schedule_.StartChoosing(wall_seconds_, &job);
    return job;
  }
  Job StartWith(std::shared_ptr<const CompactionPlan> plan) {
    Job job = Start();
    job.plan = std::move(plan);
    schedule_.Begin(&job);
    return job;
  }
  void FindNothing() {
    Job job = Start();
    job.found_nothing = true;
    EXPECT_FALSE(schedule_.Begin(&job));
    schedule_.End(&job, absl::OkStatus());
  }
  bool IsDue() { return schedule_.IsDue(*version_, options_, has_snapshot_); }
  CompactionSchedule::Plans Running() {
    return {schedule_.running().begin(), schedule_.running().end()};
  }

  TableMaker maker_;
  Options options_;
  std::shared_ptr<const Version> version_ = Version::Create({}).value();
  SnapshotList snapshots_;
  uint64_t wall_seconds_ = 1'600'000'000;
  uint64_t versions_ = 0;
  const std::function<bool(Sequence, Sequence)> has_snapshot_ = [this](Sequence from, Sequence to) {
    return HasSnapshotBetween(snapshots_, from, to);
  };
  CompactionSchedule schedule_;
};

TEST_F(CompactionScheduleTest, OneJobChoosesAtATime) {
  EXPECT_TRUE(schedule_.MayChoose());
  Job job = Start();
  EXPECT_FALSE(schedule_.MayChoose());
  job.plan = PlanOf(1);
  EXPECT_TRUE(schedule_.Begin(&job));
  EXPECT_TRUE(schedule_.MayChoose());  // beside this one
  schedule_.End(&job, absl::OkStatus());
  EXPECT_TRUE(schedule_.MayChoose());
}

TEST_F(CompactionScheduleTest, ChoosesAgainOnlyAfterAChange) {
  FindNothing();
  EXPECT_FALSE(schedule_.MayChoose());
  schedule_.NoteChange();
  EXPECT_TRUE(schedule_.MayChoose());
  FindNothing();
  Request request;
  schedule_.Add(&request);
  EXPECT_TRUE(schedule_.MayChoose());
}

TEST_F(CompactionScheduleTest, NoticesChangesDuringTheChoice) {
  Job job = Start();
  schedule_.NoteChange();
  job.found_nothing = true;
  schedule_.Begin(&job);
  schedule_.End(&job, absl::OkStatus());
  EXPECT_TRUE(schedule_.MayChoose());
}

TEST_F(CompactionScheduleTest, EndedCompactionsAreChanges) {
  Job job = StartWith(PlanOf(1));
  FindNothing();
  EXPECT_FALSE(schedule_.MayChoose());
  schedule_.End(&job, absl::OkStatus());
  EXPECT_TRUE(schedule_.MayChoose());
}

TEST_F(CompactionScheduleTest, PlansRunUntilTheirJobEnds) {
  const auto first = PlanOf(1), second = PlanOf(2);
  Job job = StartWith(first), other = StartWith(second);
  EXPECT_THAT(Running(), ElementsAre(first, second));
  Job choosing;
  choosing.version = version_;
  schedule_.NoteScheduled();
  EXPECT_THAT(schedule_.StartChoosing(wall_seconds_, &choosing), ElementsAre(first, second));
  schedule_.Begin(&choosing);
  schedule_.End(&job, absl::OkStatus());
  EXPECT_THAT(Running(), ElementsAre(second));
  schedule_.End(&other, absl::DataLossError("damage"));
  EXPECT_THAT(Running(), IsEmpty());
}

TEST_F(CompactionScheduleTest, ReportsNewMaximumOfConcurrentJobs) {
  Job first = Start();
  first.plan = PlanOf(1);
  EXPECT_TRUE(schedule_.Begin(&first));
  schedule_.End(&first, absl::OkStatus());
  Job second = Start();
  second.plan = PlanOf(2);
  EXPECT_FALSE(schedule_.Begin(&second));
  Job third = Start();
  third.plan = PlanOf(3);
  EXPECT_TRUE(schedule_.Begin(&third));
}

TEST_F(CompactionScheduleTest, StepsReplaceThePlan) {
  const auto whole = PlanOf(1), rest = PlanOf(2);
  Job job = StartWith(whole);
  schedule_.Replace(&job, rest);
  EXPECT_EQ(job.plan, rest);
  EXPECT_THAT(Running(), ElementsAre(rest));
  const auto empty = std::make_shared<const CompactionPlan>();
  schedule_.Replace(&job, empty);
  EXPECT_EQ(job.plan, empty);
  EXPECT_THAT(Running(), IsEmpty());
  schedule_.End(&job, absl::OkStatus());
}

TEST_F(CompactionScheduleTest, RunsRequestsInOrder) {
  EXPECT_FALSE(IsDue());
  Request first, second;
  schedule_.Add(&first);
  schedule_.Add(&second);
  EXPECT_TRUE(IsDue());
  Job job = Start();
  EXPECT_EQ(job.request, &first);
  EXPECT_TRUE(first.in_hand);
  schedule_.Begin(&job);
  Job other = Start();
  EXPECT_EQ(other.request, &second);
  schedule_.Begin(&other);
  EXPECT_FALSE(IsDue());
  EXPECT_FALSE(first.done);
  schedule_.End(&job, absl::DataLossError("damage"));
  EXPECT_TRUE(first.done);
  EXPECT_EQ(first.status, absl::DataLossError("damage"));
  schedule_.End(&other, absl::OkStatus());
  EXPECT_TRUE(second.done);
  EXPECT_EQ(second.status, absl::OkStatus());
}

TEST_F(CompactionScheduleTest, ConflictingRequestsWait) {
  Request request;
  schedule_.Add(&request);
  Job job = Start();
  job.found_nothing = true;
  schedule_.Begin(&job);
  schedule_.End(&job, absl::OkStatus());
  EXPECT_FALSE(request.in_hand);
  EXPECT_FALSE(request.done);
  EXPECT_TRUE(IsDue());
  schedule_.Withdraw(&request);
  EXPECT_FALSE(IsDue());
}

TEST_F(CompactionScheduleTest, FailedChoicesFailTheirRequest) {
  Request request;
  schedule_.Add(&request);
  Job job = Start();
  schedule_.End(&job, absl::ResourceExhaustedError("memory"));
  EXPECT_TRUE(request.done);
  EXPECT_EQ(request.status, absl::ResourceExhaustedError("memory"));
  EXPECT_FALSE(IsDue());
  EXPECT_TRUE(schedule_.MayChoose());
}

TEST_F(CompactionScheduleTest, KnowsOptionalWork) {
  auto for_readers = std::make_shared<CompactionPlan>(*PlanOf(1));
  for_readers->for_readers = true;
  Job job = StartWith(for_readers);
  EXPECT_TRUE(schedule_.IsOptional(job, *version_, options_, has_snapshot_));
  EXPECT_TRUE(
      schedule_.IsOptional(StartWith(TombstonePlanOf(3)), *version_, options_, has_snapshot_));
  EXPECT_FALSE(schedule_.IsOptional(StartWith(PlanOf(2)), *version_, options_, has_snapshot_));
  // Without a plan the answer tells whether any other work was due.
  EXPECT_TRUE(schedule_.IsOptional(Start(), *version_, options_, has_snapshot_));
  std::array<OpenTables, kLevels> levels;
  for (uint64_t number = 9; number >= 6; --number)
    levels[0].push_back(maker_.Make(number, {PutOf("a", number)}));
  options_.level0_compaction_tables = 4;
  const auto full = Version::Create(std::move(levels)).value();
  EXPECT_TRUE(schedule_.IsDue(*full, options_, has_snapshot_));
  EXPECT_FALSE(schedule_.IsOptional(Start(), *full, options_, has_snapshot_));
  Request request;
  schedule_.Add(&request);
  EXPECT_FALSE(schedule_.IsOptional(Start(), *version_, options_, has_snapshot_));
}

// --- several trees ---

// Stores with trees of keyspaces 0 and 5.
class TreesScheduleTest : public CompactionScheduleTest {
 protected:
  // Each number is a table of level 0.  All tables of a tree have the same keys.
  void SetTables(const std::vector<uint64_t>& of_default, const std::vector<uint64_t>& of_other) {
    levels_[0] = {};
    Add(0, of_default);
    Add(5, of_other);
    version_ = Version::Create(levels_).value();
  }
  void Add(KeyspaceId keyspace, const std::vector<uint64_t>& numbers) {
    maker_.keyspace = keyspace;
    for (const uint64_t number : numbers)
      levels_[0].push_back(maker_.Make(number, {PutOf("a", number), PutOf("z", number)}));
    maker_.keyspace = 0;
  }
  static std::vector<uint64_t> InputsOf(const Job& job) {
    return job.plan == nullptr ? std::vector<uint64_t>() : NumbersOf(job.plan->inputs);
  }

  std::array<OpenTables, kLevels> levels_;
};

TEST_F(TreesScheduleTest, TheTreeFurthestOverItsLimitComesFirst) {
  SetTables({4, 3, 2, 1}, {15, 14, 13, 12, 11});
  Job job = Chosen();
  EXPECT_THAT(InputsOf(job), ElementsAre(15, 14, 13, 12, 11));
  EXPECT_TRUE(IsDue());
  EXPECT_THAT(InputsOf(Chosen()), ElementsAre(4, 3, 2, 1)) << "beside the other tree's plan";
  EXPECT_FALSE(IsDue());
  const Job none = Chosen();
  EXPECT_TRUE(none.found_nothing);
}

TEST_F(TreesScheduleTest, WorkInAnyTreeIsDue) {
  SetTables({1}, {11});
  EXPECT_FALSE(IsDue());
  EXPECT_TRUE(schedule_.IsOptional(Start(), *version_, options_, has_snapshot_));
  SetTables({2}, {25, 24, 23, 22});
  EXPECT_TRUE(IsDue());
  EXPECT_FALSE(schedule_.IsOptional(Start(), *version_, options_, has_snapshot_));
}

TEST_F(TreesScheduleTest, ReadersWaitForDueWorkOfAnyTree) {
  SetTables({}, {14, 13, 12, 11});
  Job first = Chosen();
  // More of the same keys: due, but in conflict.
  SetTables({2, 1}, {18, 17, 16, 15});
  const Level0Account account(*version_->default_tree());
  account.Note({.seeks = uint64_t{1} << 40});
  EXPECT_TRUE(account.Charge(options_, {}));
  EXPECT_EQ(Chosen().plan, nullptr);
  schedule_.End(&first, absl::OkStatus());
  EXPECT_THAT(InputsOf(Chosen()), ElementsAre(18, 17, 16, 15));
}

TEST_F(TreesScheduleTest, TheRuleForTombstonesLooksAtAllTrees) {
  SetTables({1}, {11});
  EXPECT_FALSE(schedule_.MayFree(*version_));
  EXPECT_FALSE(Chosen().is_rule_idle) << "it was not asked";
  schedule_.NoteRent();
  EXPECT_TRUE(Chosen().is_rule_idle) << "in both trees";
  maker_.keyspace = 5;
  maker_.covered_bytes = 1 << 20;
  maker_.oldest_tombstone = wall_seconds_;
  levels_[1] = {maker_.Make(10, {DeleteOf("b", 1)})};
  version_ = Version::Create(levels_).value();
  EXPECT_TRUE(schedule_.MayFree(*version_)) << "by its gain";
  const Job job = Chosen();
  EXPECT_THAT(InputsOf(job), ElementsAre(10));
  EXPECT_TRUE(job.plan->for_tombstones);
}

TEST_F(TreesScheduleTest, TombstonesOfAnyTreeGrowOld) {
  maker_.keyspace = 5;
  maker_.oldest_tombstone = wall_seconds_;
  levels_[1] = {maker_.Make(10, {DeleteOf("b", 1)})};
  version_ = Version::Create(levels_).value();
  schedule_.NoteTime(*version_, wall_seconds_ + kTombstoneSecondsMax - 1);
  EXPECT_FALSE(schedule_.MayFree(*version_));
  FindNothing();
  schedule_.NoteTime(*version_, wall_seconds_ + kTombstoneSecondsMax);
  EXPECT_TRUE(schedule_.MayChoose());
  EXPECT_TRUE(schedule_.MayFree(*version_));
}

TEST_F(TreesScheduleTest, SnapshotsThatHeldTablesOfAnyTreeAreChanges) {
  maker_.keyspace = 5;
  const RangeDelete range{"b", "c", 30};
  levels_[0] = {maker_.Make(9, {}, 0, 0, RangeMap::Of({&range, 1}))};
  levels_[1] = {maker_.Make(2, {PutOf("b", 20)})};
  version_ = Version::Create(levels_).value();
  EXPECT_FALSE(schedule_.NoteReleased(*version_, 30));
  EXPECT_TRUE(schedule_.NoteReleased(*version_, 25));
  EXPECT_TRUE(IsDue()) << "a drop";
  EXPECT_THAT(InputsOf(Chosen()), ElementsAre(2));
}

TEST_F(TreesScheduleTest, SnapshotsHoldPlansOfEachTree) {
  maker_.covered_bytes = 1 << 20;
  maker_.oldest_tombstone = wall_seconds_;
  for (const auto& [keyspace, sequence] :
       std::vector<std::pair<KeyspaceId, Sequence>>{{0, 20}, {5, 10}, {7, 30}}) {
    maker_.keyspace = keyspace;
    levels_[1].push_back(maker_.Make(100 + keyspace, {DeleteOf("b", sequence)}));
  }
  version_ = Version::Create(levels_).value();
  snapshots_ = {5};
  Job held = Chosen();
  EXPECT_TRUE(held.found_nothing);
  EXPECT_EQ(held.held_until, 10u);
  schedule_.End(&held, absl::OkStatus());
  EXPECT_FALSE(schedule_.NoteOldestSnapshot(9));
  EXPECT_TRUE(schedule_.NoteOldestSnapshot(10));
  snapshots_ = {10};
  const Job job = Chosen();
  EXPECT_THAT(InputsOf(job), ElementsAre(105)) << "the default tree's plan is held";
  EXPECT_EQ(job.held_until, 20u);
}

TEST_F(TreesScheduleTest, TablesOfEachTreeLearnTheRentThatTheyLack) {
  maker_.oldest_tombstone = wall_seconds_;
  for (const KeyspaceId keyspace : {0, 5}) {
    maker_.keyspace = keyspace;
    levels_[1].push_back(maker_.Make(100 + keyspace, {DeleteOf("b", 1)}));
    levels_[1].back()->rent->Pay(1000);
  }
  version_ = Version::Create(levels_).value();
  schedule_.NoteTime(*version_, wall_seconds_);
  schedule_.NoteRent();
  EXPECT_TRUE(Chosen().is_rule_idle);
  for (const auto& table : levels_[1]) {
    const uint64_t price =
        kBytesMergedPerJob + table->meta.file_bytes - 2 * table->meta.dead.dead_bytes;
    EXPECT_FALSE(table->rent->Pay(price - 1001)) << table->meta.keyspace;
    EXPECT_TRUE(table->rent->Pay(1)) << table->meta.keyspace;
  }
}

// --- drops ---

class DropScheduleTest : public CompactionScheduleTest {
 protected:
  // A table of "a", and one of "b" at 20 and 29, under a range delete at 30.
  DropScheduleTest() {
    std::array<OpenTables, kLevels> levels;
    levels[0] = {maker_.Make(9, {}, 0, 0, RangesOf({{"b", "c", 30}}))};
    levels[1] = {maker_.Make(1, {PutOf("a", 10)}),
                 maker_.Make(2, {PutOf("b", 29), PutOf("b", 20)})};
    version_ = Version::Create(std::move(levels)).value();
  }
};

TEST_F(DropScheduleTest, DropsAreDueUntilTheyRun) {
  EXPECT_TRUE(IsDue());
  EXPECT_FALSE(schedule_.IsOptional(Start(), *version_, options_, has_snapshot_));
  const Job job = Chosen();
  ASSERT_NE(job.plan, nullptr);
  EXPECT_TRUE(job.plan->drops);
  EXPECT_THAT(NumbersOf(job.plan->inputs), ElementsAre(2));
  EXPECT_FALSE(schedule_.IsOptional(job, *version_, options_, has_snapshot_));
  EXPECT_FALSE(IsDue());
}

TEST_F(DropScheduleTest, SnapshotsHoldThem) {
  snapshots_ = {19, 30};
  EXPECT_TRUE(IsDue());
  snapshots_ = {19, 20, 30};
  EXPECT_FALSE(IsDue());
  EXPECT_EQ(Chosen().plan, nullptr);
  snapshots_ = {29};
  EXPECT_FALSE(IsDue());
}

TEST_F(DropScheduleTest, TheEndOfASnapshotThatHeldATableIsAChange) {
  snapshots_ = {5, 25, 30};
  Job nothing = Chosen();
  ASSERT_TRUE(nothing.found_nothing);
  schedule_.End(&nothing, absl::OkStatus());
  EXPECT_FALSE(schedule_.MayChoose());
  for (const Sequence other : {5, 19, 30, 31})
    EXPECT_FALSE(schedule_.NoteReleased(*version_, other)) << other;
  EXPECT_FALSE(schedule_.MayChoose());
  EXPECT_TRUE(schedule_.NoteReleased(*version_, 25));
  EXPECT_TRUE(schedule_.MayChoose());
}

TEST_F(DropScheduleTest, ARequestDropsOnlyInItsRange) {
  Request outside, inside;
  outside.drops = inside.drops = true;
  outside.to = "b";
  inside.from = "b";
  schedule_.Add(&outside);
  schedule_.Add(&inside);
  Job nothing = Chosen();
  EXPECT_EQ(nothing.request, &outside);
  EXPECT_EQ(nothing.plan, nullptr);
  schedule_.End(&nothing, absl::OkStatus());
  EXPECT_TRUE(outside.done);
  const Job job = Chosen();
  EXPECT_EQ(job.request, &inside);
  ASSERT_NE(job.plan, nullptr);
  EXPECT_TRUE(job.plan->drops);
}

// --- the turns of the rule for tombstones ---

using PickTurn = PickMoment::Turn;

TEST_F(CompactionScheduleTest, AsksTheRuleOnlyWithEnoughToFree) {
  EXPECT_FALSE(schedule_.MayFree(*version_));
  EXPECT_EQ(Start().moment.tombstones, PickTurn::kNever);
  version_ = VersionWithGarbage();
  EXPECT_TRUE(schedule_.MayFree(*version_));
  const Job job = Start();
  EXPECT_EQ(job.moment.tombstones, PickTurn::kAfterLevels);
  EXPECT_EQ(job.moment.wall_seconds, wall_seconds_);
  EXPECT_EQ(job.moment.oldest_snapshot, kSequenceMax);
  snapshots_ = {5, 7};
  EXPECT_EQ(Start().moment.oldest_snapshot, 5u);
}

TEST_F(CompactionScheduleTest, EveryEighthPlanIsOneOfTheRule) {
  version_ = VersionWithGarbage();
  uint64_t number = 0;
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < 7; ++i) {
      Job job = Start();
      EXPECT_EQ(job.moment.tombstones, PickTurn::kAfterLevels) << i;
      job.plan = PlanOf(++number);
      schedule_.Begin(&job);
      schedule_.End(&job, absl::OkStatus());
    }
    // It keeps its turn until it has a plan.
    FindNothing();
    Job job = Start();
    EXPECT_EQ(job.moment.tombstones, PickTurn::kFirst);
    job.plan = TombstonePlanOf(++number);
    schedule_.Begin(&job);
    EXPECT_FALSE(schedule_.MayFree(*version_)) << "one at a time";
    schedule_.End(&job, absl::OkStatus());
  }
}

TEST_F(CompactionScheduleTest, TombstonesBecomeDueWithTime) {
  version_ = VersionWith({DeleteOf("a", 1)}, /*oldest_tombstone=*/wall_seconds_);
  schedule_.NoteTime(*version_, wall_seconds_);
  FindNothing();
  EXPECT_FALSE(schedule_.MayFree(*version_));
  schedule_.NoteTime(*version_, wall_seconds_ + kTombstoneSecondsMax - 1);
  EXPECT_FALSE(schedule_.MayChoose());
  schedule_.NoteTime(*version_, wall_seconds_ + kTombstoneSecondsMax);
  EXPECT_TRUE(schedule_.MayChoose());
  EXPECT_TRUE(schedule_.MayFree(*version_));
  // Also a tombstone from the future.
  schedule_.NoteTime(*version_, wall_seconds_ - 1);
  EXPECT_TRUE(schedule_.MayFree(*version_));
  schedule_.NoteTime(*version_, wall_seconds_);
  EXPECT_FALSE(schedule_.MayFree(*version_));
}

TEST_F(CompactionScheduleTest, RestsForAnHourAfterAFailure) {
  version_ = VersionWithGarbage();
  schedule_.RestAfter(StartWith(TombstonePlanOf(1)));
  Job job = Start();
  EXPECT_EQ(job.moment.tombstones, PickTurn::kNever);
  schedule_.Begin(&job);
  schedule_.NoteTime(*version_, wall_seconds_ + 3599);
  EXPECT_FALSE(schedule_.MayFree(*version_));
  // If the clock runs back, the hour begins again.
  schedule_.NoteTime(*version_, wall_seconds_ - 5000);
  schedule_.NoteTime(*version_, wall_seconds_ - 5000 + 3599);
  EXPECT_EQ(Start().moment.tombstones, PickTurn::kNever);
}

TEST_F(CompactionScheduleTest, WorksAgainAfterTheRest) {
  version_ = VersionWithGarbage();
  Job failed = StartWith(TombstonePlanOf(1));
  schedule_.RestAfter(failed);
  schedule_.End(&failed, absl::UnavailableError("no disk"));
  FindNothing();
  schedule_.NoteTime(*version_, wall_seconds_ + 3600);
  EXPECT_TRUE(schedule_.MayChoose());
  EXPECT_TRUE(schedule_.MayFree(*version_));
  // Readers' merges do not make it rest.
  auto for_readers = std::make_shared<CompactionPlan>(*PlanOf(2));
  for_readers->for_readers = true;
  schedule_.RestAfter(StartWith(std::move(for_readers)));
  EXPECT_TRUE(schedule_.MayFree(*version_));
}

TEST_F(CompactionScheduleTest, AsksForRentUntilTheRuleIsIdle) {
  FindNothing();
  schedule_.NoteRent();
  EXPECT_TRUE(schedule_.MayChoose());
  EXPECT_TRUE(schedule_.MayFree(*version_));
  FindNothing();  // a plan is due, but it is held or in conflict
  EXPECT_TRUE(schedule_.MayFree(*version_));
  Job job = Start();
  job.found_nothing = job.is_rule_idle = true;
  schedule_.NoteRent();  // of another table, which the job does not know
  schedule_.Begin(&job);
  EXPECT_TRUE(schedule_.MayFree(*version_));
  job = Start();
  job.found_nothing = job.is_rule_idle = true;
  schedule_.Begin(&job);
  EXPECT_FALSE(schedule_.MayFree(*version_));
}

TEST_F(CompactionScheduleTest, TablesLearnTheRentThatTheyLack) {
  version_ = VersionWith({DeleteOf("a", 1)}, wall_seconds_);
  schedule_.NoteTime(*version_, wall_seconds_);
  const auto& table = *version_->default_tree()->level(1).front();
  EXPECT_TRUE(table.rent->Pay(1000));
  schedule_.NoteRent();
  Job job = Start();
  CompactionSchedule::Choose(options_, {}, &job);
  EXPECT_TRUE(job.found_nothing);
  EXPECT_TRUE(job.is_rule_idle);
  const uint64_t price =
      kBytesMergedPerJob + table.meta.file_bytes - 2 * table.meta.dead.dead_bytes;
  EXPECT_FALSE(table.rent->Pay(price - 1001));
  EXPECT_TRUE(table.rent->Pay(1));
  job = Start();
  CompactionSchedule::Choose(options_, {}, &job);
  ASSERT_NE(job.plan, nullptr);
  EXPECT_TRUE(job.plan->for_tombstones);
}

TEST_F(CompactionScheduleTest, WakesWhenNoSnapshotHoldsAPlan) {
  version_ = VersionWithGarbage();
  snapshots_ = {5};
  EXPECT_FALSE(schedule_.NoteOldestSnapshot(kSequenceMax)) << "no plan is held";
  Job job = Start();
  job.found_nothing = true;
  job.held_until = 9;
  schedule_.Begin(&job);
  schedule_.End(&job, absl::OkStatus());
  EXPECT_FALSE(schedule_.NoteOldestSnapshot(8));
  EXPECT_FALSE(schedule_.MayChoose());
  EXPECT_TRUE(schedule_.NoteOldestSnapshot(9));
  EXPECT_TRUE(schedule_.MayChoose());
  FindNothing();
  EXPECT_FALSE(schedule_.NoteOldestSnapshot(kSequenceMax));
}

TEST_F(CompactionScheduleTest, NoticesSnapshotsReleasedDuringTheChoice) {
  Job job = Start();
  EXPECT_TRUE(schedule_.NoteOldestSnapshot(9));
  job.found_nothing = true;
  job.held_until = 9;
  schedule_.Begin(&job);
  schedule_.End(&job, absl::OkStatus());
  EXPECT_TRUE(schedule_.MayChoose());
}

// --- each reason, in all trees ---

TEST_F(TreesScheduleTest, DropsOfAnyTreeComeBeforeDueLevels) {
  SetTables({4, 3, 2, 1}, {});
  maker_.keyspace = 5;
  levels_[0].push_back(maker_.Make(19, {}, 0, 0, RangesOf({{"b", "c", 30}})));
  levels_[1] = {maker_.Make(12, {PutOf("b", 20)})};
  version_ = Version::Create(levels_).value();
  const Job drop = Chosen();
  EXPECT_THAT(InputsOf(drop), ElementsAre(12));
  EXPECT_TRUE(drop.plan->drops);
  EXPECT_THAT(InputsOf(Chosen()), ElementsAre(4, 3, 2, 1));
}

TEST_F(TreesScheduleTest, TheRuleHasItsTurnBeforeDueLevelsOfAllTrees) {
  SetTables({4, 3, 2, 1}, {});
  maker_.keyspace = 5;
  maker_.covered_bytes = 1 << 20;
  maker_.oldest_tombstone = wall_seconds_;
  levels_[1] = {maker_.Make(10, {DeleteOf("b", 1)})};
  version_ = Version::Create(levels_).value();
  maker_.keyspace = 0;
  for (uint64_t i = 0; i < 7; ++i) {
    Job job = StartWith(PlanOf(100 + i));
    EXPECT_EQ(job.moment.tombstones, PickMoment::Turn::kAfterLevels);
    schedule_.End(&job, absl::OkStatus());
  }
  const Job job = Chosen();
  EXPECT_EQ(job.moment.tombstones, PickMoment::Turn::kFirst);
  EXPECT_THAT(InputsOf(job), ElementsAre(10));
}

TEST_F(TreesScheduleTest, DueLevelsOfAllTreesComeByTheirScores) {
  // Level 0 of the default tree has score 1, and a job takes it.
  SetTables({4, 3, 2, 1}, {});
  Job first = Chosen();
  EXPECT_THAT(InputsOf(first), ElementsAre(4, 3, 2, 1));
  // The scores are then 4, which conflicts, 3 in the other tree, and 2.
  std::vector<uint64_t> of_default, of_other;
  for (uint64_t i = 0; i < 16; ++i) of_default.push_back(40 - i);
  for (uint64_t i = 0; i < 12; ++i) of_other.push_back(60 - i);
  levels_[2] = {maker_.Make(21, {PutOf("a", 2)}, 0, /*run=*/2),
                maker_.Make(22, {PutOf("a", 1)}, 0, /*run=*/1)};
  SetTables(of_default, of_other);
  EXPECT_THAT(InputsOf(Chosen()), ElementsAreArray(of_other));
  EXPECT_THAT(InputsOf(Chosen()), ElementsAre(21, 22));
  EXPECT_EQ(Chosen().plan, nullptr);
}

TEST_F(TreesScheduleTest, TheRuleTakesThePlanThatFreesMostOfAllTrees) {
  for (const KeyspaceId keyspace : {0, 5, 7}) {
    maker_.keyspace = keyspace;
    maker_.covered_bytes = (keyspace == 5 ? 20 : 10) << 20;
    maker_.oldest_tombstone = wall_seconds_;
    levels_[1].push_back(maker_.Make(10 + keyspace, {DeleteOf("b", 1)}));
  }
  version_ = Version::Create(levels_).value();
  EXPECT_THAT(InputsOf(Chosen()), ElementsAre(15));
}

// A job does not hold a version, which would keep the files of all trees.
TEST_F(TreesScheduleTest, JobsHoldTheTreeOfTheirPlanAlone) {
  SetTables({1}, {15, 14, 13, 12});
  const std::shared_ptr<const Tree> tree = version_->ShareTree(5);
  const std::weak_ptr<const Tree> other = version_->default_tree();
  const uint64_t bytes_beside = version_->default_tree()->filter_index_bytes();
  levels_ = {};
  schedule_.NoteScheduled();
  Job job;
  job.version = std::exchange(version_, nullptr);
  const CompactionSchedule::Plans running = schedule_.StartChoosing(wall_seconds_, &job);
  EXPECT_FALSE(other.expired());
  CompactionSchedule::Choose(options_, running, &job);
  EXPECT_THAT(InputsOf(job), ElementsAre(15, 14, 13, 12));
  EXPECT_TRUE(other.expired());
  EXPECT_EQ(job.tree, tree);
  EXPECT_EQ(job.filter_index_bytes_beside, bytes_beside);
  EXPECT_GT(bytes_beside, 0u);
}

}  // namespace
}  // namespace lsm
