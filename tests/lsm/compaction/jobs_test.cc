#include "lsm/compaction/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/compaction/table_output.h"
#include "lsm/limits.h"
#include "lsm/memtable/memtable.h"
#include "tests/lsm/compaction/job_world.h"
#include "tests/lsm/table/forgetful_policy.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

const auto kNeverStop = [] { return false; };

class JobsTest : public testing::Test, protected JobWorld {
 protected:
  JobsTest() : JobWorld(1, 100, "blocked") {
    options_.table_bytes = 64 << 10;
    options_.block_bytes = 512;
  }

  // Without `tables_now`, a flush that drops no tombstone.
  std::vector<Entry> Flush(const std::vector<Entry>& entries, const SnapshotList& snapshots,
                           const TablesNow& tables_now = nullptr) {
    Memtable memtable;
    for (const Entry& entry : entries)
      memtable.Add(entry.sequence, entry.kind, entry.user_key, entry.value);
    absl::StatusOr<JobResult> result =
        RunFlush(context_, *memtable.NewIterator(), RangeMap(), FilterOf(0), snapshots, tables_now);
    EXPECT_OK(result);
    if (!result.ok()) return {};
    tombstones_dropped_ = result->tombstones_dropped;
    EXPECT_LE(result->outputs.size(), 1u);
    EXPECT_EQ(result->entries_dropped + Sum(result->outputs), entries.size());
    EXPECT_EQ(result->output_level, 0);
    return EntriesIn(result->outputs);
  }

  // A flush over these tables.
  std::vector<Entry> FlushOver(std::array<OpenTables, kLevels> levels,
                               const std::vector<Entry>& entries,
                               const SnapshotList& snapshots = {}) {
    tree_ = Tree::Create(std::move(levels)).value();
    return Flush(entries, snapshots, [this] { return tree_; });
  }

  // The filter of a store without a filter goal.
  TableFilter FilterOf(int level) {
    return {context_.filter_choice.ForLevel(level), options_.target_fpp, ""};
  }

  static uint64_t Sum(const OpenTables& tables) {
    uint64_t entries = 0;
    for (const auto& table : tables) entries += table->meta.entries;
    return entries;
  }

  absl::StatusOr<JobResult> Compact(std::array<OpenTables, kLevels> levels, int level,
                                    const SnapshotList& snapshots) {
    tree_ = Tree::Create(std::move(levels)).value();
    plan_ = PlanRange(*tree_, level, std::nullopt, std::nullopt).value();
    return RunCompaction(context_, *tree_, plan_, snapshots, kNeverStop);
  }
  std::vector<Entry> Compacted(std::array<OpenTables, kLevels> levels, int level,
                               const SnapshotList& snapshots) {
    const absl::StatusOr<JobResult> result = Compact(std::move(levels), level, snapshots);
    EXPECT_OK(result);
    return result.ok() ? EntriesIn(result->outputs) : std::vector<Entry>();
  }

  size_t FileCount() { return maker_.directory->List().value().size(); }

  std::shared_ptr<const Tree> tree_;
  CompactionPlan plan_;
  uint64_t tombstones_dropped_ = 0;  // by the last Flush
};

// --- entries that are kept ---

TEST_F(JobsTest, KeepsTheNewestVersion) {
  EXPECT_THAT(
      Flush({PutOf("a", 3, "new"), PutOf("a", 2, "mid"), PutOf("a", 1, "old"), PutOf("b", 4)}, {}),
      ElementsAre(PutOf("a", 3, "new"), PutOf("b", 4)));
}

TEST_F(JobsTest, KeepsVersionsOfSnapshots) {
  const std::vector<Entry> entries = {PutOf("a", 9), PutOf("a", 7), PutOf("a", 5), PutOf("a", 3)};
  EXPECT_THAT(Flush(entries, {2}), ElementsAre(PutOf("a", 9)));
  EXPECT_THAT(Flush(entries, {3}), ElementsAre(PutOf("a", 9), PutOf("a", 3)));
  EXPECT_THAT(Flush(entries, {4}), ElementsAre(PutOf("a", 9), PutOf("a", 3)));
  EXPECT_THAT(Flush(entries, {5}), ElementsAre(PutOf("a", 9), PutOf("a", 5)));
  EXPECT_THAT(Flush(entries, {5, 6}), ElementsAre(PutOf("a", 9), PutOf("a", 5)));
  EXPECT_THAT(Flush(entries, {3, 5, 8}),
              ElementsAre(PutOf("a", 9), PutOf("a", 7), PutOf("a", 5), PutOf("a", 3)));
  EXPECT_THAT(Flush(entries, {9}), ElementsAre(PutOf("a", 9)));
  EXPECT_THAT(Flush(entries, {20}), ElementsAre(PutOf("a", 9)));
}

TEST_F(JobsTest, FlushesOverUnknownTablesKeepTombstones) {
  EXPECT_THAT(Flush({DeleteOf("a", 3), PutOf("a", 2), PutOf("b", 1)}, {}),
              ElementsAre(DeleteOf("a", 3), PutOf("b", 1)));
  EXPECT_THAT(Flush({DeleteOf("a", 3), PutOf("a", 2)}, {2}),
              ElementsAre(DeleteOf("a", 3), PutOf("a", 2)));
}

TEST_F(JobsTest, FlushesDropTombstonesAboveNothing) {
  const std::vector<Entry> entries = {DeleteOf("a", 3), PutOf("a", 2), PutOf("b", 1)};
  EXPECT_THAT(FlushOver({}, entries), ElementsAre(PutOf("b", 1)));
  EXPECT_EQ(tombstones_dropped_, 1u);
  // Beside the key, between two tables of a run.
  EXPECT_THAT(FlushOver({{{}, {maker_.Make(1, {PutOf("0", 1)}), maker_.Make(2, {PutOf("b", 1)})}}},
                        {DeleteOf("a", 3), PutOf("b", 2)}),
              ElementsAre(PutOf("b", 2)));
  EXPECT_EQ(tombstones_dropped_, 1u);
}

TEST_F(JobsTest, FlushesKeepTombstonesAboveATableOfAnyLevel) {
  // Each table's range holds "c", though none of them has it.
  const auto table = [&] { return maker_.Make(next_number_++, {PutOf("b", 1), PutOf("d", 1)}); };
  const auto far = [&] { return maker_.Make(next_number_++, {PutOf("x", 1), PutOf("y", 1)}); };
  const std::vector<Entry> entries = {DeleteOf("a", 7), DeleteOf("c", 8), DeleteOf("e", 9)};
  for (size_t level = 0; level < kLevels; ++level) {
    std::array<OpenTables, kLevels> levels;
    for (size_t other = 0; other < kLevels; ++other) levels[other] = {far()};
    levels[level] = {table()};
    EXPECT_THAT(FlushOver(std::move(levels), entries), ElementsAre(DeleteOf("c", 8))) << level;
    EXPECT_EQ(tombstones_dropped_, 2u);
  }
}

TEST_F(JobsTest, FlushesKeepTombstonesForOlderSnapshots) {
  const std::vector<Entry> entries = {PutOf("a", 9), DeleteOf("a", 7), PutOf("a", 5)};
  EXPECT_THAT(FlushOver({}, entries, {4}), ElementsAre(PutOf("a", 9)));
  EXPECT_EQ(tombstones_dropped_, 0u);  // the put hides it
  EXPECT_THAT(FlushOver({}, entries, {5}), ElementsAre(PutOf("a", 9), PutOf("a", 5)));
  EXPECT_THAT(FlushOver({}, entries, {6, 8}),
              ElementsAre(PutOf("a", 9), DeleteOf("a", 7), PutOf("a", 5)));
  EXPECT_EQ(tombstones_dropped_, 0u);
  EXPECT_THAT(FlushOver({}, entries, {8}), ElementsAre(PutOf("a", 9)));
  EXPECT_EQ(tombstones_dropped_, 1u);
  EXPECT_THAT(FlushOver({}, {DeleteOf("a", 7), PutOf("a", 5)}, {7}), IsEmpty());
}

TEST_F(JobsTest, FlushesOfTombstonesAloneMakeNoTable) {
  const size_t files = FileCount();
  EXPECT_THAT(FlushOver({}, {DeleteOf("a", 3), PutOf("a", 2), DeleteOf("b", 4)}), IsEmpty());
  EXPECT_EQ(tombstones_dropped_, 2u);
  EXPECT_EQ(FileCount(), files);
}

// A flush holds a version only for a while, so that the files of obsolete tables can be removed.
TEST_F(JobsTest, FlushesLookAtTheTablesAgainAndAgain) {
  std::vector<Entry> entries;
  for (int i = 10'000; i < 15'000; ++i)
    entries.push_back(DeleteOf(Concat("k", i), static_cast<Sequence>(i)));
  std::weak_ptr<const Tree> held;
  int calls = 0;
  const auto tables_now = [&] {
    EXPECT_TRUE(held.expired());
    // From the third look on, a table holds the rest of the keys.
    std::array<OpenTables, kLevels> levels;
    if (++calls >= 3) levels[1] = {maker_.Make(next_number_++, {PutOf("k", 1), PutOf("l", 1)})};
    std::shared_ptr<const Tree> tree = Tree::Create(std::move(levels)).value();
    held = tree;
    return tree;
  };
  int syncs = 0;
  maker_.files.SetFault([&](FileOperation operation, const std::string&, uint64_t) {
    if (operation == FileOperation::kSyncFile && calls == 5) {
      EXPECT_TRUE(held.expired());
      ++syncs;
    }
    return absl::OkStatus();
  });
  const std::vector<Entry> left = Flush(entries, {}, tables_now);
  EXPECT_EQ(calls, 5);
  EXPECT_GE(syncs, 1);
  EXPECT_EQ(left.size(), 5000u - 2 * 1024);
  EXPECT_TRUE(held.expired());
}

TEST_F(JobsTest, FlushesOfLargeValuesLookAgainSooner) {
  std::vector<Entry> entries;
  for (int i = 10; i < 20; ++i) {
    entries.push_back(DeleteOf(Concat("k", i), static_cast<Sequence>(i)));
    entries.push_back(PutOf(Concat("k", i, "p"), 1, std::string(1 << 20, 'x')));
  }
  int calls = 0;
  Flush(entries, {}, [&] {
    ++calls;
    return Tree::Create({}).value();
  });
  EXPECT_EQ(calls, 10);
}

TEST_F(JobsTest, FlushesWithoutTombstonesAskForNoTables) {
  EXPECT_THAT(Flush({PutOf("a", 3), PutOf("b", 2)}, {},
                    []() -> std::shared_ptr<const Tree> {
                      ADD_FAILURE();
                      return nullptr;
                    }),
              ElementsAre(PutOf("a", 3), PutOf("b", 2)));
}

TEST_F(JobsTest, DropsTombstonesAboveNothing) {
  // Neither the tombstone nor the entries that it hides are kept.
  EXPECT_THAT(Compacted({{{maker_.Make(9, {DeleteOf("a", 9), PutOf("b", 8)})},
                          {maker_.Make(1, {PutOf("a", 1), PutOf("c", 2)})}}},
                        0, {}),
              ElementsAre(PutOf("b", 8), PutOf("c", 2)));
}

TEST_F(JobsTest, KeepsTombstonesAboveTheirKey) {
  const OpenTables below = {maker_.Make(1, {PutOf("a", 1), PutOf("c", 2)})};
  EXPECT_THAT(
      Compacted({{{maker_.Make(9, {DeleteOf("b", 9), DeleteOf("d", 10)})}, {}, below}}, 0, {}),
      ElementsAre(DeleteOf("b", 9)));  // within the range of the table below; "d" is not
}

TEST_F(JobsTest, KeepsTombstonesAboveOlderRuns) {
  options_.compaction_style = CompactionStyle::kTiered;
  options_.level0_compaction_tables = 2;
  tree_ = Tree::Create({{{maker_.Make(9, {DeleteOf("b", 9), DeleteOf("x", 10)}),
                          maker_.Make(8, {PutOf("b", 8)})},
                         {maker_.Make(1, {PutOf("a", 1), PutOf("c", 2)})}}})
              .value();
  plan_ = PickCompaction(*tree_, options_).plan.value();
  absl::StatusOr<JobResult> result =
      RunCompaction(context_, *tree_, plan_, /*snapshots=*/{}, kNeverStop);
  ASSERT_OK(result);
  EXPECT_THAT(EntriesIn(result->outputs), ElementsAre(DeleteOf("b", 9)));
  EXPECT_EQ(result->outputs[0]->meta.run, 1u);
  // In the oldest run the tombstone is dropped, because it is merged with everything that it may
  // hide.
  plan_ = PlanRange(*tree_, 0, std::nullopt, std::nullopt).value();
  result = RunCompaction(context_, *tree_, plan_, /*snapshots=*/{}, kNeverStop);
  ASSERT_OK(result);
  EXPECT_THAT(EntriesIn(result->outputs), ElementsAre(PutOf("a", 1), PutOf("c", 2)));
  EXPECT_EQ(result->outputs[0]->meta.run, 0u);
}

TEST_F(JobsTest, MergesRunsAsOneInput) {
  tree_ =
      Tree::Create({{{},
                     {maker_.Make(9, {PutOf("a", 9, "new"), DeleteOf("c", 8)}, 0, /*run=*/2),
                      maker_.Make(8, {PutOf("x", 7)}, 0, /*run=*/2),
                      maker_.Make(7, {PutOf("a", 3, "old"), PutOf("b", 4), PutOf("c", 2)}, 0, 1)},
                     {maker_.Make(1, {PutOf("a", 1, "older"), PutOf("d", 1)}, 0, /*run=*/4)}}})
          .value();
  plan_ = PlanRange(*tree_, 1, std::nullopt, std::nullopt).value();
  const absl::StatusOr<JobResult> result =
      RunCompaction(context_, *tree_, plan_, /*snapshots=*/{}, kNeverStop);
  ASSERT_OK(result);
  EXPECT_THAT(EntriesIn(result->outputs),
              ElementsAre(PutOf("a", 9, "new"), PutOf("b", 4), PutOf("d", 1), PutOf("x", 7)));
  const VersionEdit edit = EditOf(plan_, &*result);
  EXPECT_EQ(edit.removed.size(), 4u);
  ASSERT_EQ(edit.added.size(), 1u);
  EXPECT_EQ(edit.added[0].level, 2);
  EXPECT_EQ(edit.added[0].table.run, 4u);
}

TEST_F(JobsTest, KeepsTombstonesForOlderSnapshots) {
  const auto tree = [&](uint64_t number) -> std::array<OpenTables, kLevels> {
    return {{{maker_.Make(number, {DeleteOf("a", 9)})},
             {maker_.Make(number + 1, {PutOf("a", 5, "old"), PutOf("a", 3, "older")})}}};
  };
  EXPECT_THAT(Compacted(tree(10), 0, {4}), ElementsAre(DeleteOf("a", 9), PutOf("a", 3, "older")));
  EXPECT_THAT(Compacted(tree(20), 0, {8}), ElementsAre(DeleteOf("a", 9), PutOf("a", 5, "old")));
  EXPECT_THAT(Compacted(tree(30), 0, {9}), IsEmpty());  // sees that it is deleted
  EXPECT_THAT(Compacted(tree(40), 0, {2}), ElementsAre(DeleteOf("a", 9)));
}

TEST_F(JobsTest, DroppedTombstonesReviveNoPut) {
  EXPECT_THAT(Compacted({{{maker_.Make(9, {PutOf("a", 9, "new"), DeleteOf("a", 8), PutOf("a", 7)}),
                           maker_.Make(8, {DeleteOf("b", 6), PutOf("b", 5)})},
                          {maker_.Make(1, {PutOf("a", 1), PutOf("b", 2)})}}},
                        0, {}),
              ElementsAre(PutOf("a", 9, "new")));
}

TEST_F(JobsTest, RewritesDropVersionsOfOldSnapshots) {
  EXPECT_THAT(
      Compacted({{{}, {maker_.Make(1, {PutOf("a", 9), PutOf("a", 3), DeleteOf("b", 4)})}}}, 1, {}),
      ElementsAre(PutOf("a", 9)));
  EXPECT_EQ(plan_.output_level, 1);
}

// --- what tables record about dead entries ---

TEST_F(JobsTest, FlushesRecordCoveredBytes) {
  // The oldest of three runs with the key counts.
  std::vector<Entry> many;
  for (int i = 100; i < 200; ++i) many.push_back(PutOf(Concat("k", i), 1, std::string(100, 'x')));
  const auto oldest = maker_.Make(1, many);
  const auto middle = maker_.Make(2, {PutOf("k150", 5), PutOf("k300", 5)});
  tree_ =
      Tree::Create({{{maker_.Make(3, {PutOf("k150", 9), PutOf("k999", 9)})}, {middle}, {oldest}}})
          .value();
  const uint64_t per_key = oldest->meta.file_bytes / 100;
  const auto covered = [&](const std::vector<Entry>& entries) {
    Memtable memtable;
    for (const Entry& entry : entries)
      memtable.Add(entry.sequence, entry.kind, entry.user_key, entry.value);
    const absl::StatusOr<JobResult> result = RunFlush(
        context_, *memtable.NewIterator(), RangeMap(), FilterOf(0), {}, [&] { return tree_; },
        /*age_nanos=*/uint64_t{50} * 1'000'000'000);
    EXPECT_OK(result);
    const TableMeta& meta = result->outputs.at(0)->meta;
    EXPECT_EQ(meta.dead, result->outputs[0]->table->properties().dead_entries());
    if (meta.dead.tombstones > 0) {
      EXPECT_NEAR(static_cast<double>(meta.dead.oldest_tombstone), 1'600'000'000 - 50, 2);
    }
    return meta.dead.covered_bytes;
  };
  EXPECT_EQ(covered({DeleteOf("k150", 20)}), per_key);
  EXPECT_EQ(covered({DeleteOf("k150", 20), DeleteOf("k151", 21)}), 2 * per_key);
  EXPECT_EQ(covered({DeleteOf("k300", 20)}), middle->meta.file_bytes / 2);
  // Filters deny it, though ranges hold it.
  EXPECT_EQ(covered({DeleteOf("k150a", 20)}), 0u);
  EXPECT_EQ(covered({PutOf("k150", 20)}), 0u);
}

TEST_F(JobsTest, CompactionsKeepTheOldestTime) {
  const auto flushed = [&](Sequence sequence, uint64_t age_seconds) {
    Memtable memtable;
    memtable.Add(sequence, EntryKind::kDelete, "m", "");
    memtable.Add(sequence + 1, EntryKind::kPut, "n", "v");
    return RunFlush(context_, *memtable.NewIterator(), RangeMap(), FilterOf(0), {}, nullptr,
                    age_seconds * 1'000'000'000)
        .value()
        .outputs.at(0);
  };
  const OpenTables below = {maker_.Make(1, {PutOf("a", 1), PutOf("z", 2)})};
  const auto old = flushed(5, 1000), young = flushed(10, 10);
  const absl::StatusOr<JobResult> result = Compact({{{young, old}, {}, below}}, 0, {});
  ASSERT_OK(result);
  const DeadEntries& dead = result->outputs.at(0)->meta.dead;
  EXPECT_EQ(dead.tombstones, 1u);
  EXPECT_EQ(dead.oldest_tombstone, old->meta.dead.oldest_tombstone);
  EXPECT_LT(dead.oldest_tombstone, young->meta.dead.oldest_tombstone);
  EXPECT_GT(dead.dead_bytes, 0u);
  EXPECT_EQ(dead.covered_bytes, 0u);  // the filter of the table below denies it
}

// --- outcome and edit ---

TEST_F(JobsTest, EditsRemoveInputsAndAddOutputs) {
  const absl::StatusOr<JobResult> result =
      Compact({{{maker_.Make(9, {PutOf("b", 9)}), maker_.Make(8, {PutOf("a", 8), PutOf("c", 7)})},
                {maker_.Make(1, {PutOf("a", 1), PutOf("b", 2)}), maker_.Make(2, {PutOf("x", 3)})}}},
              0, {});
  ASSERT_OK(result);
  EXPECT_EQ(result->entries_dropped, 2u);
  EXPECT_EQ(result->bytes_read, tree_->level_bytes(0) + tree_->level(1)[0]->meta.file_bytes);
  ASSERT_EQ(result->outputs.size(), 1u);
  EXPECT_EQ(result->bytes_written, result->outputs[0]->meta.file_bytes);
  const VersionEdit edit = EditOf(plan_, &*result);
  EXPECT_THAT(edit.removed, ElementsAre(VersionEdit::Removed{0, 9}, VersionEdit::Removed{0, 8},
                                        VersionEdit::Removed{1, 1}));
  EXPECT_THAT(edit.added, ElementsAre(VersionEdit::Added{1, result->outputs[0]->meta}));
}

TEST_F(JobsTest, MovesOnlyEdit) {
  CompactionPlan plan;
  plan.level = 2;
  plan.output_level = 3;
  plan.inputs = {maker_.Make(5, {PutOf("a", 1)})};
  plan.trivial_move = true;
  const VersionEdit edit = EditOf(plan, nullptr);
  EXPECT_THAT(edit.removed, ElementsAre(VersionEdit::Removed{2, 5}));
  EXPECT_THAT(edit.added, ElementsAre(VersionEdit::Added{3, plan.inputs[0]->meta}));
}

TEST_F(JobsTest, CompactionsCheckFiltersOfTheirInputs) {
  std::vector<Entry> entries;
  for (int i = 100; i < 400; ++i) entries.push_back(PutOf(Concat("k", i), 1000 - i));
  const auto denied = [this] {
    Statistics statistics;
    maker_.counters.SumInto(&statistics);
    return statistics.filter_false_negatives;
  };
  EXPECT_EQ(Compacted({{{maker_.Make(1, entries)}}}, 0, {}), entries);
  EXPECT_EQ(denied(), 0u);
  maker_.filter_policy = std::make_shared<ForgetfulPolicy>();
  const auto wrong = maker_.Make(2, entries);
  ASSERT_EQ(wrong->table->filter_presence(), FilterPresence::kUsable);
  const absl::StatusOr<JobResult> result = Compact({{{wrong}}}, 0, {});
  ASSERT_OK(result);
  EXPECT_EQ(EntriesIn(result->outputs), entries);
  EXPECT_GE(denied(), 25u);  // of 30; the others are false positives
  // The output's filter holds all of them.
  for (const Entry& entry : entries) {
    EXPECT_TRUE(result->outputs[0]->table->MayContain(
        bloom::DigestOf(entry.user_key, TableMaker::kDigestSeed)));
  }
}

TEST_F(JobsTest, UnreadableInputsFailTheJobWithoutFiles) {
  std::vector<Entry> entries;
  for (int i = 1000; i < 4000; ++i)
    entries.push_back(PutOf(Concat("k", i), 1, std::string(800, 'x')));
  const auto big = maker_.Make(1, entries);
  const size_t files = FileCount();
  int reads = 0;
  maker_.files.SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    const bool of_input = operation == FileOperation::kReadAt && path.ends_with("000001.table");
    return of_input && ++reads == 2 ? absl::UnavailableError("broken") : absl::OkStatus();
  });
  EXPECT_THAT(Compact({{{}, {big}, {maker_.Make(2, {PutOf("k2", 1)})}}}, 1, {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("broken")));
  EXPECT_EQ(FileCount(), files + 1);  // the table of level 2
}

// For example, if the filters of the run have too many bits for their new level.
TEST_F(JobsTest, RewrittenRunsKeepTheirNumber) {
  const auto first = maker_.Make(1, {PutOf("a", 10), DeleteOf("b", 11), PutOf("b", 5)}, 0, 2);
  const auto second = maker_.Make(2, {PutOf("c", 12)}, 0, 2);
  tree_ = Tree::Create({{{maker_.Make(9, {PutOf("b", 90)})}, {first, second}}}).value();
  CompactionPlan plan;
  plan.level = 1;
  plan.output_level = 2;
  plan.output_run = 2;
  plan.inputs = tree_->level(1);
  plan.trivial_move = true;
  ASSERT_OK_AND_ASSIGN(const JobResult result,
                       RunCompaction(context_, *tree_, plan, {}, kNeverStop));
  EXPECT_THAT(EntriesIn(result.outputs), ElementsAre(PutOf("a", 10), PutOf("c", 12)));
  const VersionEdit edit = EditOf(plan, &result);
  EXPECT_THAT(edit.removed, ElementsAre(VersionEdit::Removed{1, 1}, VersionEdit::Removed{1, 2}));
  ASSERT_EQ(edit.added.size(), 1u);
  EXPECT_EQ(edit.added[0].level, 2);
  EXPECT_EQ(edit.added[0].table.run, 2u);
}

TEST_F(JobsTest, StopsOnRequest) {
  std::vector<Entry> entries;
  for (int i = 1000; i < 4000; ++i) entries.push_back(PutOf(Concat("k", i), 1));
  tree_ =
      Tree::Create({{{}, {maker_.Make(1, entries)}, {maker_.Make(2, {PutOf("k2", 1)})}}}).value();
  const size_t files = FileCount();
  EXPECT_THAT(
      RunCompaction(context_, *tree_, PlanRange(*tree_, 1, std::nullopt, std::nullopt).value(), {},
                    [] { return true; }),
      StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(FileCount(), files);
}

TEST_F(JobsTest, FailedOperationsFailTheFlushWithoutFiles) {
  Memtable memtable;
  for (int i = 1000; i < 1100; ++i)
    memtable.Add(static_cast<Sequence>(i), EntryKind::kPut, Concat("k", i), std::string(100, 'x'));
  maker_.files.ResetCounts();
  ASSERT_OK(RunFlush(context_, *memtable.NewIterator(), RangeMap(), FilterOf(0), {}, nullptr));
  const uint64_t operations = maker_.files.operation_count();
  const size_t files = FileCount();
  for (uint64_t at = 0; at < operations; ++at) {
    FileOperation failed{};
    maker_.files.SetFault([&](FileOperation operation, const std::string&, uint64_t number) {
      if (number != at) return absl::OkStatus();
      failed = operation;
      return absl::UnavailableError("injected");
    });
    maker_.files.ResetCounts();
    const absl::StatusOr<JobResult> result =
        RunFlush(context_, *memtable.NewIterator(), RangeMap(), FilterOf(0), {}, nullptr);
    maker_.files.SetFault(nullptr);
    if (result.ok()) {
      // The filter could not be read back: its table does without.
      EXPECT_EQ(failed, FileOperation::kReadAt);
      EXPECT_EQ(result->outputs[0]->table->filter_presence(), FilterPresence::kDamaged);
      ASSERT_OK(maker_.directory->Remove(TableFileName(result->outputs[0]->meta.number)));
    } else {
      EXPECT_THAT(result, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("injected")));
    }
    EXPECT_EQ(FileCount(), files) << "operation " << at << ", " << NameOf(failed);
  }
}

// --- where outputs end ---

class TableOutputTest : public JobsTest {
 protected:
  // Tables of (user key, versions) of about 1 KB each.
  std::vector<std::vector<std::string>> Split(const std::vector<std::pair<std::string, int>>& keys,
                                              OpenTables grandparents) {
    TableOutput output(context_, FilterOf(1), 1, /*run=*/0, options_.table_bytes,
                       std::move(grandparents));
    for (const auto& [key, versions] : keys) {
      for (int i = versions; i > 0; --i) {
        const Entry entry = PutOf(key, static_cast<Sequence>(i), std::string(1000, 'x'));
        EXPECT_OK(output.Add(InternalKey(entry), entry.value));
      }
    }
    absl::StatusOr<OpenTables> tables = output.Finish();
    EXPECT_OK(tables);
    std::vector<std::vector<std::string>> split;
    for (const auto& table : *tables) {
      auto& user_keys = split.emplace_back();
      for (const Entry& entry : EntriesOf(*table->table->NewIterator({}))) {
        if (user_keys.empty() || user_keys.back() != entry.user_key)
          user_keys.push_back(entry.user_key);
      }
      EXPECT_EQ(UserKeyOf(table->meta.smallest), user_keys.front());
      EXPECT_EQ(UserKeyOf(table->meta.largest), user_keys.back());
    }
    return split;
  }
};

TEST_F(TableOutputTest, TablesEndAtTheirSize) {
  std::vector<std::pair<std::string, int>> keys;
  for (int i = 100; i < 300; ++i) keys.emplace_back(Concat("k", i), 1);
  const auto split = Split(keys, {});
  ASSERT_EQ(split.size(), 4u);  // 200 KB in tables of 64
  for (size_t i = 0; i + 1 < split.size(); ++i)
    EXPECT_NEAR(static_cast<double>(split[i].size()), 64, 3);
}

// Readers refuse an index beyond a maximum size.
TEST_F(TableOutputTest, TablesEndBeforeTheIndexLimit) {
  TableOutput output(context_, FilterOf(1), 1, /*run=*/0, ~uint64_t{0}, {});
  // Each key gets a block.  The index stores a whole key between two keys that differ only in their
  // last byte.  It shares nothing with the index key of the next pair.
  const uint64_t pairs = kIndexBytesMax / 4 / kKeyBytesMax * 5 / 4;
  for (uint64_t i = 0; i < pairs; ++i) {
    std::string key = Concat(10'000 + i);
    key.resize(kKeyBytesMax, 'k');
    for (const char last : {'a', 'b'}) {
      key.back() = last;
      const Entry entry = PutOf(key, 1, "");
      ASSERT_OK(output.Add(InternalKey(entry), entry.value));
    }
  }
  ASSERT_OK_AND_ASSIGN(const OpenTables tables, output.Finish());
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(Sum(tables), 2 * pairs);
  for (const auto& table : tables)
    EXPECT_LE(table->table->properties().index_bytes, kIndexBytesMax / 4 + 2 * kKeyBytesMax);
}

// An index whose keys share nearly all bytes is small on disk and large in memory.
TEST_F(TableOutputTest, TablesEndBeforeTheIndexKeyLimit) {
  TableOutput output(context_, FilterOf(1), 1, /*run=*/0, ~uint64_t{0}, {});
  constexpr uint64_t kKeys = kIndexBytesMax / 4 / kKeyBytesMax * 5 / 4;
  for (uint64_t i = 0; i < kKeys; ++i) {
    const std::string number = std::to_string(10'000 + i);
    const std::string key = std::string(kKeyBytesMax - number.size() - 1, 'k') + number;
    const Entry entry = PutOf(key + "a", 1, "");
    ASSERT_OK(output.Add(InternalKey(entry), entry.value));
  }
  ASSERT_OK_AND_ASSIGN(const OpenTables tables, output.Finish());
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(Sum(tables), kKeys);
  for (const auto& table : tables) {
    EXPECT_LE(table->table->properties().index_bytes, kIndexBytesMax / 32);
    EXPECT_LE(table->table->index_memory_bytes(), kIndexBytesMax / 4 + kIndexBytesMax / 64);
  }
}

TEST_F(TableOutputTest, NeverSplitsAUserKey) {
  // 100 KB of "b" alone, within tables of 64.
  EXPECT_THAT(Split({{"a", 1}, {"b", 100}, {"c", 1}}, {}),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
}

TEST_F(TableOutputTest, TablesEndAtTheOverlapLimit) {
  // Tables of the next level, each as large as a full table.  An output ends once it overlaps
  // more than ten of them.
  OpenTables grandparents;
  for (uint64_t i = 0; i < 30; ++i) {
    grandparents.push_back(
        maker_.Make(i + 1, {PutOf(Concat("k", 10 + i), 1), PutOf(Concat("k", 10 + i, "z"), 1)},
                    options_.table_bytes));
  }
  std::vector<std::pair<std::string, int>> keys;
  for (int i = 0; i < 30; ++i) keys.emplace_back(Concat("k", 10 + i, "m"), 1);
  const auto split = Split(keys, grandparents);
  ASSERT_EQ(split.size(), 3u);
  EXPECT_EQ(split[0].size(), 11u);  // the eleventh table exceeds the limit
  EXPECT_EQ(split[1].size(), 11u);
  EXPECT_EQ(split[2].size(), 8u);
}

TEST_F(TableOutputTest, GrandparentsBeforeTheFirstKeyDoNotCount) {
  OpenTables grandparents;
  for (uint64_t i = 0; i < 30; ++i)
    grandparents.push_back(
        maker_.Make(i + 1, {PutOf(Concat("a", 10 + i), 1)}, options_.table_bytes));
  EXPECT_THAT(Split({{"k1", 1}, {"k2", 1}, {"k3", 1}}, grandparents),
              ElementsAre(ElementsAre("k1", "k2", "k3")));
}

TEST_F(TableOutputTest, LevelsChooseTheFilter) {
  context_.filter_choice = FilterChoice::Of("by-level").value();
  for (const int level : {0, 1, 2, 3, kLevels - 1}) {
    TableOutput output(context_, FilterOf(level), level, /*run=*/0, uint64_t{1} << 30, {});
    for (int i = 1000; i < 2000; ++i) {
      const Entry entry = PutOf(Concat("k", i), 1);
      ASSERT_OK(output.Add(InternalKey(entry), entry.value));
    }
    ASSERT_OK_AND_ASSIGN(const OpenTables tables, output.Finish());
    ASSERT_EQ(tables.size(), 1u);
    const char* const kind = level < 2 ? "blocked" : "ribbon";
    EXPECT_EQ(tables[0]->table->filter().kind_name(), kind) << level;
    EXPECT_EQ(tables[0]->table->properties().filter_kind, kind);
  }
}

TEST_F(TableOutputTest, WritesNoEmptyTable) {
  const size_t files = FileCount();
  TableOutput output(context_, FilterOf(1), 1, /*run=*/0, options_.table_bytes, {});
  ASSERT_OK_AND_ASSIGN(const OpenTables tables, output.Finish());
  EXPECT_THAT(tables, IsEmpty());
  EXPECT_EQ(FileCount(), files);
}

TEST_F(TableOutputTest, RemovesAbandonedFiles) {
  const size_t files = FileCount();
  {
    TableOutput output(context_, FilterOf(1), 1, /*run=*/0, options_.table_bytes, {});
    for (int i = 100; i < 300; ++i) {
      const Entry entry = PutOf(Concat("k", i), 1, std::string(1000, 'x'));
      ASSERT_OK(output.Add(InternalKey(entry), entry.value));
    }
    EXPECT_EQ(FileCount(), files + 4);
  }
  EXPECT_EQ(FileCount(), files);
}

TEST_F(TableOutputTest, FinishMakesNamesDurable) {
  TableOutput output(context_, FilterOf(1), 1, /*run=*/0, options_.table_bytes, {});
  const Entry entry = PutOf("k", 1);
  ASSERT_OK(output.Add(InternalKey(entry), entry.value));
  ASSERT_OK_AND_ASSIGN(const OpenTables tables, output.Finish());
  maker_.files.Restart(MemoryFileSystem::Unsynced::kLost);
  ASSERT_OK_AND_ASSIGN(const auto directory, maker_.files.OpenDirectory("/tables", false));
  EXPECT_OK(OpenTableFile(*directory, tables[0]->meta, ReadMode::kBuffered, maker_.context));
}

}  // namespace
}  // namespace lsm
