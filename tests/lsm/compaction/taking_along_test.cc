// Flushes that take the small table of a tree's level 0 along.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/merging_iterator.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/compaction_schedule.h"
#include "lsm/compaction/flush_run.h"
#include "lsm/fs/file_names.h"
#include "lsm/memtable/memtable.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/keyspace_records.h"
#include "tests/lsm/compaction/job_world.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TakingAlongTest : public testing::Test, protected JobWorld {
 protected:
  TakingAlongTest() : JobWorld(1, 100, "blocked") {}

  std::shared_ptr<const OpenTable> TableOf(KeyspaceId keyspace, uint64_t number,
                                           const std::vector<Entry>& entries,
                                           const RangeMap& ranges = {}) {
    maker_.keyspace = keyspace;
    return maker_.Make(number, entries, /*file_bytes=*/0, /*run=*/0, ranges);
  }
  // Keyspace 5 has a tree of its own, with these tables; 7 is in the common tree.
  void SetTables(std::array<OpenTables, kLevels> levels) {
    KeyspaceRecords records;
    EXPECT_EQ(records.Advance(8), "");
    EXPECT_EQ(records.Put({.id = 5, .options = {}, .name = "5"}), "");
    EXPECT_EQ(records.Put({.id = 7, .has_own_tree = false, .options = {}, .name = "7"}), "");
    version_ = Version::Create(std::move(levels), records).value();
  }
  struct Flushed {
    absl::Status status;
    std::vector<Entry> entries;
    RangeMap ranges;
    std::vector<uint64_t> replaced, removed;
    size_t tables = 0;
  };
  Flushed Flush(KeyspaceId keyspace, const std::vector<Entry>& entries,
                const SnapshotList& snapshots = {}, const std::vector<RangeDelete>& ranges = {}) {
    Memtable memtable;
    for (const Entry& entry : entries)
      memtable.Add(entry.sequence, entry.kind, entry.user_key, entry.value);
    std::vector<FlushRun::List> lists;
    lists.push_back(
        {keyspace, [&] { return memtable.NewIterator(); }, RangesOf(ranges), entries.size()});
    FlushRun::Calls calls;
    calls.version_now = [this] { return version_; };
    if (takes_) {
      calls.take_along = [this](const auto& plan) {
        EXPECT_EQ(plan->level, 0);
        asked_.push_back(plan->inputs.at(0)->meta.number);
        return schedule_.TakeForFlush(plan, *version_);
      };
    }
    calls.note_more_bytes = [this](uint64_t bytes) { more_bytes_ += bytes; };
    FlushRun run(&context_, {}, std::move(calls));
    VersionEdit edit;
    JobResult result;
    Flushed flushed;
    flushed.status =
        run.Run(lists, /*last_sequence=*/90, snapshots, /*age_nanos=*/0, &edit, &result);
    flushed.entries = EntriesIn(result.outputs);
    flushed.tables = result.outputs.size();
    if (!result.outputs.empty()) flushed.ranges = result.outputs[0]->table->ranges();
    flushed.replaced = NumbersOf(run.replaced());
    for (const auto& removed : edit.removed) {
      EXPECT_EQ(removed.level, 0);
      flushed.removed.push_back(removed.number);
    }
    // Trees check the order of ages in level 0.
    if (flushed.status.ok()) {
      const auto after = version_->After(edit, result.outputs);
      EXPECT_OK(after.status());
      if (after.ok()) version_ = *after;
    }
    schedule_.EndFlush();
    return flushed;
  }

  std::shared_ptr<const Version> version_;
  CompactionSchedule schedule_;
  std::vector<uint64_t> asked_;
  uint64_t more_bytes_ = 0;
  bool takes_ = true;
};

TEST_F(TakingAlongTest, TheOutputReplacesTheNewestTable) {
  SetTables({{{TableOf(5, 1, {PutOf("b", 1), PutOf("z", 2)}),
               TableOf(5, 2, {PutOf("a", 10), PutOf("c", 11), PutOf("m", 12)}),
               TableOf(0, 3, {PutOf("a", 13)})}}});
  const uint64_t bytes = version_->TreeOf(5)->level(0).front()->meta.file_bytes;
  const Flushed flushed = Flush(5, {PutOf("b", 20), PutOf("c", 21), PutOf("x", 22)});
  ASSERT_OK(flushed.status);
  EXPECT_EQ(more_bytes_, bytes);
  EXPECT_THAT(flushed.entries, ElementsAre(PutOf("a", 10), PutOf("b", 20), PutOf("c", 21),
                                           PutOf("m", 12), PutOf("x", 22)));
  EXPECT_THAT(flushed.replaced, ElementsAre(2));
  EXPECT_THAT(flushed.removed, ElementsAre(2));
  EXPECT_THAT(NumbersOf(version_->TreeOf(5)->level(0)), ElementsAre(100, 1));
  EXPECT_THAT(NumbersOf(version_->TreeOf(0)->level(0)), ElementsAre(3));
  // Again and again.
  const Flushed again = Flush(5, {PutOf("b", 30)});
  EXPECT_THAT(again.replaced, ElementsAre(100));
  EXPECT_EQ(version_->TreeOf(5)->level(0).size(), 2u);
}

TEST_F(TakingAlongTest, TheCommonAndTheDefaultTreeDoSo) {
  SetTables({{{TableOf(kCommonTree, 1, {PutOf(CommonKeyOf(7, "a"), 10)}),
               TableOf(0, 2, {PutOf("a", 13)})}}});
  EXPECT_THAT(Flush(7, {PutOf("b", 20)}).entries,
              ElementsAre(PutOf(CommonKeyOf(7, "a"), 10), PutOf(CommonKeyOf(7, "b"), 20)));
  EXPECT_THAT(Flush(0, {PutOf("b", 21)}).entries, ElementsAre(PutOf("a", 13), PutOf("b", 21)));
  EXPECT_THAT(asked_, ElementsAre(1, 2));
}

TEST_F(TakingAlongTest, SomeTablesAreNotTaken) {
  const std::vector<Entry> entries = {PutOf("b", 20)};
  const auto is_taken = [&] {
    const Flushed flushed = Flush(5, entries);
    EXPECT_OK(flushed.status);
    EXPECT_EQ(flushed.removed, flushed.replaced);
    EXPECT_EQ(flushed.entries.size(), flushed.replaced.empty() ? 1u : 2u);
    return !flushed.replaced.empty();
  };
  const auto table = TableOf(5, 1, {PutOf("a", 10)});
  const std::array<OpenTables, kLevels> tables = {{{table}}};
  SetTables(tables);
  EXPECT_TRUE(is_taken());
  takes_ = false;
  SetTables(tables);
  EXPECT_FALSE(is_taken());
  takes_ = true;
  // A large one.
  for (const bool is_small : {false, true}) {
    options_.write_buffer_bytes = 64 * (table->meta.file_bytes + (is_small ? 1 : 0));
    SetTables(tables);
    EXPECT_EQ(is_taken(), is_small);
  }
  options_ = {};
  // One that a compaction has.
  SetTables(tables);
  CompactionSchedule::Job job;
  schedule_.Reserve(1);
  schedule_.NoteScheduled();
  auto plan = std::make_shared<CompactionPlan>();
  plan->keyspace = 5;
  plan->inputs = {table};
  plan->output_level = 1;
  job.plan = plan;
  schedule_.Begin(&job);
  EXPECT_FALSE(is_taken());
  schedule_.End(&job, absl::OkStatus());
  SetTables(tables);
  EXPECT_TRUE(is_taken());
  // One in a store with one tree.
  version_ = Version::Create({{{TableOf(0, 50, {PutOf("a", 1)})}}}).value();
  EXPECT_THAT(Flush(0, {PutOf("b", 2)}).replaced, IsEmpty());
  // One below level 0.
  std::array<OpenTables, kLevels> deep;
  deep[1] = {table};
  SetTables(std::move(deep));
  EXPECT_FALSE(is_taken());
  // One whose span does not meet an older table with newer entries, as Repair leaves it.
  SetTables({{{TableOf(5, 60, {PutOf("a", 12)}), TableOf(5, 61, {PutOf("x", 3)})}}});
  EXPECT_FALSE(is_taken());
}

TEST_F(TakingAlongTest, OnlyOtherTablesKeepATombstone) {
  const auto tables = [&](bool has_older) {
    std::array<OpenTables, kLevels> levels;
    levels[0] = {TableOf(5, 2, {PutOf("a", 10), DeleteOf("b", 11), PutOf("c", 12)})};
    if (has_older) levels[1] = {TableOf(5, 1, {PutOf("a", 1), PutOf("b", 2)})};
    for (const uint64_t number : {1, 2})
      maker_.directory->Remove(TableFileName(number)).IgnoreError();
    return levels;
  };
  SetTables(tables(/*has_older=*/false));
  EXPECT_THAT(Flush(5, {DeleteOf("a", 20), PutOf("d", 21)}).entries,
              ElementsAre(PutOf("c", 12), PutOf("d", 21)));
  SetTables(tables(/*has_older=*/true));
  EXPECT_THAT(Flush(5, {DeleteOf("a", 20), PutOf("d", 21)}).entries,
              ElementsAre(DeleteOf("a", 20), DeleteOf("b", 11), PutOf("c", 12), PutOf("d", 21)));
  // The tables cover 2 and 1 bytes a key, not the table that goes.
  const DeadEntries dead = DeadEntriesOf(*version_->TreeOf(5)->level(0).front(), 0);
  const auto& older = version_->TreeOf(5)->level(1).front();
  EXPECT_EQ(dead.covered_bytes, older->meta.file_bytes / 2 * 2);
}

TEST_F(TakingAlongTest, SnapshotsSeeTheirVersions) {
  const std::vector<std::shared_ptr<const OpenTable>> tables = {
      TableOf(5, 2, {PutOf("a", 10), PutOf("b", 11)})};
  SetTables({{{tables[0]}}});
  EXPECT_THAT(Flush(5, {DeleteOf("a", 20), PutOf("b", 21)}, {15}).entries,
              ElementsAre(DeleteOf("a", 20), PutOf("a", 10), PutOf("b", 21), PutOf("b", 11)));
}

TEST_F(TakingAlongTest, RangesOfBothHide) {
  const auto ranges_of = [](const RangeMap& map) { return map.size(); };
  std::array<OpenTables, kLevels> levels;
  levels[0] = {TableOf(5, 2, {PutOf("a", 10), PutOf("f", 12)}, RangesOf({{"k", "m", 11}}))};
  levels[1] = {TableOf(5, 1, {PutOf("e", 1), PutOf("l", 2)})};
  SetTables(levels);
  const Flushed flushed = Flush(5, {PutOf("z", 22)}, {}, {{"e", "g", 20}});
  EXPECT_THAT(flushed.entries, ElementsAre(PutOf("a", 10), PutOf("z", 22)));
  EXPECT_EQ(ranges_of(flushed.ranges), 4u) << "e to g, and k to the table's last key";
  // Without older tables nothing is left of the ranges.
  levels[1].clear();
  SetTables(levels);
  const Flushed alone = Flush(5, {PutOf("z", 22)}, {}, {{"e", "g", 20}});
  EXPECT_THAT(alone.entries, ElementsAre(PutOf("a", 10), PutOf("z", 22)));
  EXPECT_TRUE(alone.ranges.empty());
  EXPECT_THAT(alone.replaced, ElementsAre(2));
}

TEST_F(TakingAlongTest, NothingMayBeLeft) {
  SetTables({{{TableOf(5, 2, {PutOf("a", 10)})}}});
  const Flushed flushed = Flush(5, {DeleteOf("a", 20)});
  EXPECT_EQ(flushed.tables, 0u);
  EXPECT_THAT(flushed.removed, ElementsAre(2));
  EXPECT_TRUE(version_->TreeOf(5)->empty());
}

TEST_F(TakingAlongTest, TheOldestTombstoneStays) {
  maker_.oldest_tombstone = 1'000;
  std::array<OpenTables, kLevels> levels;
  levels[0] = {TableOf(5, 2, {DeleteOf("a", 10)})};
  levels[1] = {TableOf(5, 1, {PutOf("a", 1), PutOf("b", 2)})};
  SetTables(std::move(levels));
  ASSERT_OK(Flush(5, {DeleteOf("b", 20)}).status);
  EXPECT_EQ(DeadEntriesOf(*version_->TreeOf(5)->level(0).front(), 0).oldest_tombstone, 1'000u);
}

// A damaged table, or a full disk, must not stop a flush.
TEST_F(TakingAlongTest, AFailureEndsWithoutIt) {
  SetTables({{{TableOf(5, 2, {PutOf("a", 10)})}}});
  for (const FileOperation failing : {FileOperation::kReadAt, FileOperation::kAppend}) {
    SCOPED_TRACE(NameOf(failing));
    int failures = 0;
    maker_.files.SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
      if (operation != failing || failures > 0) return absl::OkStatus();
      ++failures;
      return operation == FileOperation::kReadAt ? absl::UnavailableError(Concat(path, ": broken"))
                                                 : DiskFull(Concat(path, ": the disk is full"));
    });
    const Flushed flushed = Flush(5, {PutOf("b", 20)});
    maker_.files.SetFault(nullptr);
    EXPECT_EQ(failures, 1);
    ASSERT_OK(flushed.status);
    EXPECT_THAT(flushed.entries, ElementsAre(PutOf("b", 20)));
    EXPECT_THAT(flushed.replaced, IsEmpty());
    EXPECT_THAT(flushed.removed, IsEmpty());
    SetTables({{{TableOf(5, failing == FileOperation::kReadAt ? 3 : 4, {PutOf("a", 10)})}}});
  }
  // Any other failure is one of the flush.
  maker_.files.SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kSyncFile ? absl::UnavailableError(Concat(path, ": broken"))
                                                 : absl::OkStatus();
  });
  EXPECT_FALSE(Flush(5, {PutOf("b", 20)}).status.ok());
  maker_.files.SetFault(nullptr);
}

// A job that chose before the flush took the table gives its plan up.
TEST_F(TakingAlongTest, APlanThatCameTooLateIsGivenUp) {
  options_.level0_compaction_tables = 1;
  SetTables({{{TableOf(5, 2, {PutOf("a", 10)})}}});
  schedule_.Reserve(2);
  const TreeOptions tree_options(options_);
  const auto has_snapshot = [](Sequence, Sequence) { return false; };
  const auto choose = [&](const std::function<void()>& meanwhile) {
    EXPECT_TRUE(schedule_.MayChoose());
    schedule_.NoteScheduled();
    CompactionSchedule::Job job;
    job.version = version_;
    const CompactionSchedule::Plans running = schedule_.StartChoosing(0, &job);
    CompactionSchedule::Choose(options_, running, &job);
    meanwhile();
    schedule_.Begin(&job);
    return job;
  };
  const auto take = [&] {
    auto plan = std::make_shared<CompactionPlan>();
    plan->keyspace = 5;
    plan->inputs = {version_->TreeOf(5)->level(0).front()};
    return schedule_.TakeForFlush(plan, *version_);
  };
  CompactionSchedule::Request request;
  request.keyspace = 5;
  for (const bool is_asked : {false, true}) {
    SCOPED_TRACE(is_asked);
    if (is_asked) schedule_.Add(&request);
    CompactionSchedule::Job late = choose([&] { EXPECT_TRUE(take()); });
    EXPECT_EQ(late.plan, nullptr);
    schedule_.End(&late, absl::OkStatus());
    EXPECT_FALSE(request.done);
    EXPECT_FALSE(request.in_hand);
    EXPECT_FALSE(schedule_.MayChoose()) << "until the flush has ended";
    schedule_.NoteChange();
    CompactionSchedule::Job later = choose([] {});
    EXPECT_EQ(later.plan, nullptr) << "it knows of the flush";
    schedule_.End(&later, absl::OkStatus());
    schedule_.EndFlush();
    EXPECT_TRUE(schedule_.IsDue(*version_, tree_options, has_snapshot));
    CompactionSchedule::Job job = choose([] {});
    ASSERT_NE(job.plan, nullptr);
    EXPECT_FALSE(take());
    schedule_.End(&job, absl::OkStatus());
    EXPECT_EQ(request.done, is_asked);
    // A table that a compaction has removed.
    const auto before = version_;
    SetTables({});
    auto plan = std::make_shared<CompactionPlan>();
    plan->keyspace = 5;
    plan->inputs = {before->TreeOf(5)->level(0).front()};
    EXPECT_FALSE(schedule_.TakeForFlush(plan, *version_));
    version_ = before;
    schedule_.NoteChange();
  }
}

TEST_F(TakingAlongTest, APlanDoesNotBeginIfItsTableIsGone) {
  schedule_.Reserve(2);
  SetTables({{{TableOf(5, 1, {PutOf("a", 1)}), TableOf(5, 2, {PutOf("a", 2)})}}});
  CompactionSchedule::Request request;
  request.keyspace = 5;
  for (const bool begins : {false, true}) {
    schedule_.Add(&request);
    schedule_.NoteScheduled();
    CompactionSchedule::Job job;
    job.version = version_;
    const CompactionSchedule::Plans running = schedule_.StartChoosing(0, &job);
    CompactionSchedule::Choose(options_, running, &job);
    ASSERT_NE(job.plan, nullptr);
    if (!begins) {
      EXPECT_THAT(Flush(5, {PutOf("a", 20)}).replaced, ElementsAre(2));  // and ends
    }
    schedule_.Begin(&job);
    EXPECT_EQ(job.plan != nullptr, begins);
    if (!begins) schedule_.Withdraw(&request);
  }
}

// The job was scheduled while the flush ran, and looks at the version that the flush left.
TEST_F(TakingAlongTest, AFlushThatHasEndedHindersNoLaterChoice) {
  schedule_.Reserve(2);
  SetTables({{{TableOf(5, 1, {PutOf("a", 1)}), TableOf(5, 2, {PutOf("a", 2)})}}});
  CompactionSchedule::Request request;
  request.keyspace = 5;
  schedule_.Add(&request);
  auto plan = std::make_shared<CompactionPlan>();
  plan->keyspace = 5;
  plan->inputs = {version_->TreeOf(5)->level(0).front()};
  ASSERT_TRUE(schedule_.TakeForFlush(plan, *version_));
  schedule_.NoteScheduled();
  schedule_.EndFlush();  // it has failed: the version still has the table
  CompactionSchedule::Job job;
  job.version = version_;
  const CompactionSchedule::Plans running = schedule_.StartChoosing(0, &job);
  EXPECT_EQ(running.size(), 0u);
  CompactionSchedule::Choose(options_, running, &job);
  schedule_.Begin(&job);
  EXPECT_NE(job.plan, nullptr);
  schedule_.End(&job, absl::OkStatus());
}

}  // namespace
}  // namespace lsm
