#include "lsm/compaction/compaction_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "tests/lsm/compaction/job_world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::StatusIs;

// A store of one version, which the run changes.
class CompactionRunTest : public testing::Test, protected JobWorld {
 protected:
  CompactionRunTest() : JobWorld(1, 1, "none") { maker_.filter_kind = ""; }

  std::shared_ptr<const OpenTable> TableOf(const std::vector<Entry>& entries) {
    return maker_.Make(next_number_++, entries);
  }
  void Plan(std::array<OpenTables, kLevels> levels, int level) {
    version_ = Version::Create(std::move(levels)).value();
    job_.tree = version_->default_tree();
    plan_ = std::make_shared<CompactionPlan>(
        PlanRange(*version_->default_tree(), level, std::nullopt, std::nullopt).value());
    job_.plan = plan_;
  }
  // Three tables of level 0 over two of level 1.
  void PlanMerge() {
    const auto c = TableOf({PutOf("a", 3), PutOf("z", 4)}),
               b = TableOf({PutOf("a", 5), PutOf("z", 6)}),
               a = TableOf({PutOf("a", 7), PutOf("z", 8)});
    Plan({{{a, b, c}, {TableOf({PutOf("b", 1)}), TableOf({PutOf("y", 2)})}}}, 0);
  }
  void ExpectMerged() {
    EXPECT_THAT(version_->default_tree()->level(0), IsEmpty());
    std::vector<Entry> entries;
    for (const auto& table : version_->default_tree()->level(1)) {
      const std::vector<Entry> some = EntriesIn({table});
      entries.insert(entries.end(), some.begin(), some.end());
    }
    EXPECT_THAT(entries, ElementsAre(PutOf("a", 7), PutOf("b", 1), PutOf("y", 2), PutOf("z", 8)));
  }

  CompactionRun::Calls Calls() {
    CompactionRun::Calls calls;
    calls.now = [this] { return CompactionRun::Now{version_->ShareTree(plan_->keyspace), {}}; };
    calls.is_room_short = [this] { return is_room_short_; };
    calls.stop = [this] { return is_closing_; };
    calls.apply = [this](const CompactionPlan& plan, const JobResult* result,
                         const CompactionRun::Plan& left) {
      TRELLIS_RETURN_IF_ERROR(std::exchange(apply_status_, absl::OkStatus()));
      ++applied_;
      is_last_move_ = result == nullptr;
      if (left != nullptr) job_.plan = left;
      TRELLIS_ASSIGN_OR_RETURN(version_,
                               version_->After(EditOf(plan, result),
                                               result != nullptr ? result->outputs : OpenTables()));
      return absl::OkStatus();
    };
    calls.collect = [this] { ++collected_; };
    return calls;
  }

  Counters counters_;
  CompactionSchedule::Job job_;
  std::shared_ptr<CompactionPlan> plan_;
  CompactionRun run_{&context_, &counters_, Calls(), &job_};
  std::shared_ptr<const Version> version_;
  bool is_room_short_ = false, is_closing_ = false, is_last_move_ = false;
  absl::Status apply_status_;
  int applied_ = 0, collected_ = 0;
  JobResult result_;
};

TEST_F(CompactionRunTest, MergesAtOnceWhileThereIsRoom) {
  PlanMerge();
  EXPECT_OK(run_.Run(&result_));
  ExpectMerged();
  EXPECT_EQ(applied_, 1);
  EXPECT_EQ(collected_, 0);
  EXPECT_EQ(job_.plan, plan_);
  EXPECT_EQ(result_.entries_dropped, 4u);
  EXPECT_EQ(counters_.SumOf(Counter::kCompactions), 1u);
}

TEST_F(CompactionRunTest, MergesWithinTheTreeOfItsTables) {
  for (const bool in_steps : {false, true}) {
    SCOPED_TRACE(in_steps);
    is_room_short_ = in_steps;
    applied_ = 0;
    const auto of_default = TableOf({PutOf("a", 1), PutOf("z", 2)});
    maker_.keyspace = 5;
    version_ = Version::Create({{{TableOf({PutOf("a", 7), PutOf("z", 8)})},
                                 {TableOf({PutOf("b", 1)}), TableOf({PutOf("y", 2)}), of_default}}})
                   .value();
    maker_.keyspace = 0;
    const std::shared_ptr<const Tree> default_tree = version_->default_tree();
    job_.tree = version_->ShareTree(5);
    plan_ = std::make_shared<CompactionPlan>(
        PlanRange(*version_->TreeOf(5), 0, std::nullopt, std::nullopt).value());
    job_.plan = plan_;
    CompactionRun run(&context_, &counters_, Calls(), &job_);
    EXPECT_OK(run.Run(&result_));
    EXPECT_EQ(applied_ > 1, in_steps) << applied_;
    EXPECT_EQ(version_->default_tree(), default_tree);
    const Tree& tree = *version_->TreeOf(5);
    EXPECT_THAT(tree.level(0), IsEmpty());
    EXPECT_THAT(tree.level(1), SizeIs(result_.outputs.size()));
    EXPECT_THAT(EntriesIn(tree.level(1)),
                ElementsAre(PutOf("a", 7), PutOf("b", 1), PutOf("y", 2), PutOf("z", 8)));
  }
}

TEST_F(CompactionRunTest, MovesATableWithoutReadingIt) {
  const auto table = TableOf({PutOf("a", 1)});
  version_ = Version::Create({{{}, {table}}}).value();
  job_.tree = version_->default_tree();
  plan_ = std::make_shared<CompactionPlan>();
  plan_->level = 1;
  plan_->output_level = 2;
  plan_->inputs = {table};
  plan_->trivial_move = true;
  job_.plan = plan_;
  is_room_short_ = true;
  EXPECT_OK(run_.Run(&result_));
  EXPECT_TRUE(is_last_move_);
  EXPECT_THAT(version_->default_tree()->level(2), ElementsAre(table));
  EXPECT_EQ(counters_.SumOf(Counter::kTrivialMoves), 1u);
  EXPECT_EQ(counters_.SumOf(Counter::kCompactions), 0u);
}

TEST_F(CompactionRunTest, DropsTablesWithoutReadingThem) {
  const auto stays = TableOf({PutOf("z", 3)});
  const auto goes = TableOf({PutOf("a", 1)}), goes_too = TableOf({PutOf("b", 2)});
  version_ = Version::Create({{{}, {goes, goes_too, stays}}}).value();
  job_.tree = version_->default_tree();
  plan_ = std::make_shared<CompactionPlan>();
  plan_->level = plan_->output_level = 1;
  plan_->inputs = {goes, goes_too};
  plan_->drops = true;
  job_.plan = plan_;
  is_room_short_ = true;
  EXPECT_OK(run_.Run(&result_));
  EXPECT_EQ(applied_, 1);
  EXPECT_FALSE(is_last_move_);
  EXPECT_THAT(version_->default_tree()->level(1), ElementsAre(stays));
  EXPECT_THAT(result_.outputs, IsEmpty());
  EXPECT_EQ(counters_.SumOf(Counter::kTablesDroppedUnread), 2u);
  EXPECT_EQ(counters_.SumOf(Counter::kBytesDroppedUnread),
            goes->meta.file_bytes + goes_too->meta.file_bytes);
  EXPECT_EQ(counters_.SumOf(Counter::kTrivialMoves), 0u);
  EXPECT_EQ(counters_.SumOf(Counter::kCompactions), 0u);
}

TEST_F(CompactionRunTest, GoesInStepsWhileSpaceIsShort) {
  PlanMerge();
  is_room_short_ = true;
  EXPECT_OK(run_.Run(&result_));
  ExpectMerged();
  EXPECT_GT(applied_, 2);
  EXPECT_EQ(collected_, applied_) << "each step gives its space back";
  EXPECT_THAT(job_.plan->inputs, IsEmpty());
  EXPECT_EQ(job_.tree, nullptr) << "the job keeps no table that is not in its plan";
  EXPECT_EQ(result_.output_level, 1);
  EXPECT_THAT(result_.outputs, SizeIs(version_->default_tree()->level(1).size()));
  EXPECT_EQ(counters_.SumOf(Counter::kCompactions), 1u);
}

TEST_F(CompactionRunTest, GoesOnInStepsAfterAFailure) {
  PlanMerge();
  is_room_short_ = true;
  apply_status_ = DiskFull("full");
  EXPECT_TRUE(IsDiskFull(run_.Run(&result_)));
  is_room_short_ = false;
  EXPECT_OK(run_.Run(&result_));
  ExpectMerged();
  EXPECT_GT(applied_, 2);
}

TEST_F(CompactionRunTest, ForReadersItTakesNoSteps) {
  PlanMerge();
  plan_->for_readers = true;
  is_room_short_ = true;
  EXPECT_OK(run_.Run(&result_));
  EXPECT_EQ(applied_, 1);
  EXPECT_EQ(counters_.SumOf(Counter::kCompactionsForReaders), 1u);
}

TEST_F(CompactionRunTest, ForTombstonesItTakesSteps) {
  PlanMerge();
  plan_->for_tombstones = true;
  is_room_short_ = true;
  EXPECT_OK(run_.Run(&result_));
  EXPECT_GT(applied_, 2);
  EXPECT_EQ(counters_.SumOf(Counter::kCompactionsForTombstones), 1u);
}

TEST_F(CompactionRunTest, StopsWhenTheStoreIsClosed) {
  PlanMerge();
  is_closing_ = true;
  EXPECT_THAT(run_.Run(&result_), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(applied_, 0);
  EXPECT_EQ(counters_.SumOf(Counter::kCompactions), 0u);
}

}  // namespace
}  // namespace lsm
