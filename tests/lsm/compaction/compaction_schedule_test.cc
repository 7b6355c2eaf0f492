#include "lsm/compaction/compaction_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "tests/lsm/version/table_maker.h"

namespace lsm {
namespace {

using testing::ElementsAre;
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
  // A job that was scheduled and now chooses its plan.
  Job Start() {
    schedule_.NoteScheduled();
    Job job;
    schedule_.StartChoosing(&job);
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
  CompactionSchedule::Plans Running() {
    return {schedule_.running().begin(), schedule_.running().end()};
  }

  TableMaker maker_;
  Options options_;
  std::shared_ptr<const Version> version_ = Version::Create({}).value();
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
  schedule_.NoteScheduled();
  EXPECT_THAT(schedule_.StartChoosing(&choosing), ElementsAre(first, second));
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
  EXPECT_FALSE(schedule_.IsDue(*version_, options_));
  Request first, second;
  schedule_.Add(&first);
  schedule_.Add(&second);
  EXPECT_TRUE(schedule_.IsDue(*version_, options_));
  Job job = Start();
  EXPECT_EQ(job.request, &first);
  EXPECT_TRUE(first.in_hand);
  schedule_.Begin(&job);
  Job other = Start();
  EXPECT_EQ(other.request, &second);
  schedule_.Begin(&other);
  EXPECT_FALSE(schedule_.IsDue(*version_, options_));
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
  EXPECT_TRUE(schedule_.IsDue(*version_, options_));
  schedule_.Withdraw(&request);
  EXPECT_FALSE(schedule_.IsDue(*version_, options_));
}

TEST_F(CompactionScheduleTest, FailedChoicesFailTheirRequest) {
  Request request;
  schedule_.Add(&request);
  Job job = Start();
  schedule_.End(&job, absl::ResourceExhaustedError("memory"));
  EXPECT_TRUE(request.done);
  EXPECT_EQ(request.status, absl::ResourceExhaustedError("memory"));
  EXPECT_FALSE(schedule_.IsDue(*version_, options_));
  EXPECT_TRUE(schedule_.MayChoose());
}

TEST_F(CompactionScheduleTest, KnowsReadTriggeredWork) {
  auto for_readers = std::make_shared<CompactionPlan>(*PlanOf(1));
  for_readers->for_readers = true;
  Job job = StartWith(for_readers);
  EXPECT_TRUE(schedule_.IsForReadersAlone(job, *version_, options_));
  EXPECT_FALSE(schedule_.IsForReadersAlone(StartWith(PlanOf(2)), *version_, options_));
  // Without a plan the answer tells whether any other work was due.
  EXPECT_TRUE(schedule_.IsForReadersAlone(Start(), *version_, options_));
  std::array<OpenTables, kLevels> levels;
  for (uint64_t number = 9; number >= 6; --number)
    levels[0].push_back(maker_.Make(number, {PutOf("a", number)}));
  options_.level0_compaction_tables = 4;
  const auto full = Version::Create(std::move(levels)).value();
  EXPECT_TRUE(schedule_.IsDue(*full, options_));
  EXPECT_FALSE(schedule_.IsForReadersAlone(Start(), *full, options_));
  Request request;
  schedule_.Add(&request);
  EXPECT_FALSE(schedule_.IsForReadersAlone(Start(), *version_, options_));
}

}  // namespace
}  // namespace lsm
