// Flushes and compactions with range deletes: what they keep, and where outputs end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/jobs.h"
#include "lsm/compaction/table_output.h"
#include "lsm/memtable/memtable.h"
#include "tests/lsm/compaction/job_world.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/lsm/version/table_text.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Levels = std::array<OpenTables, kLevels>;

class JobRangesTest : public testing::Test, protected JobWorld {
 protected:
  JobRangesTest() : JobWorld(1, 100, "blocked") { options_.table_bytes = 64 << 10; }

  // Entries and ranges as table_text.h writes them.
  struct Contents {
    std::vector<Entry> entries;
    RangeMap ranges;
  };
  static Contents Of(const std::string& text) {
    Contents contents;
    TextRanges ranges;
    for (const std::string& word : testing_support::WordsOf(text)) {
      if (TextRanges::IsOne(word)) {
        ranges.Add(word);
      } else {
        contents.entries.push_back(EntryOf(word, 1));
      }
    }
    contents.ranges = ranges.Map();
    return contents;
  }
  static RangeMap RangesOf(const std::string& text) { return Of(text).ranges; }

  std::shared_ptr<const OpenTable> TableOf(const std::string& text, uint32_t run = 0) {
    const Contents contents = Of(text);
    return maker_.Make(next_number_++, contents.entries, 0, run, contents.ranges);
  }

  // "entries | ranges" of each table; a zero byte in a bound shows as \x00.
  static std::vector<std::string> TextsOf(const OpenTables& tables) {
    std::vector<std::string> texts;
    for (const auto& table : tables) {
      const std::string ranges = TextOf(table->table->ranges());
      texts.push_back(Concat(TextOf(EntriesOf(*table->table->NewIterator({}))),
                             ranges.empty() ? "" : " | ", Escape(ranges)));
    }
    return texts;
  }

  std::vector<std::string> Flush(const std::string& text, const SnapshotList& snapshots,
                                 const TablesNow& tables_now = nullptr) {
    const Contents contents = Of(text);
    Memtable memtable;
    for (const Entry& entry : contents.entries)
      memtable.Add(entry.sequence, entry.kind, entry.user_key, entry.value);
    absl::StatusOr<JobResult> result = RunFlush(context_, *memtable.NewIterator(), contents.ranges,
                                                TableFilter(), snapshots, tables_now);
    EXPECT_OK(result);
    return result.ok() ? TextsOf(result->outputs) : std::vector<std::string>();
  }
  std::vector<std::string> FlushOver(Levels levels, const std::string& text,
                                     const SnapshotList& snapshots = {}) {
    tree_ = Tree::Create(std::move(levels)).value();
    return Flush(text, snapshots, [this] { return tree_; });
  }

  std::vector<std::string> Compact(Levels levels, int level, const SnapshotList& snapshots = {}) {
    tree_ = Tree::Create(std::move(levels)).value();
    const CompactionPlan plan = PlanRange(*tree_, level, std::nullopt, std::nullopt).value();
    absl::StatusOr<JobResult> result =
        RunCompaction(context_, *tree_, plan, snapshots, [] { return false; });
    EXPECT_OK(result);
    return result.ok() ? TextsOf(result->outputs) : std::vector<std::string>();
  }

  std::shared_ptr<const Tree> tree_;
};

// --- what stays ---

TEST_F(JobRangesTest, RangesDropOlderEntries) {
  // The end of a range is not covered.
  EXPECT_THAT(Flush("a@1 b@5 b@2- c@2 b..c@3 a@1- a..b@3", {}),
              ElementsAre("b@5=v c@2=v | a..c@3"));
  // A range stays below a newer tombstone: it may hide other keys.
  EXPECT_THAT(Flush("b@9- b@7 a..c@8", {}), ElementsAre("b@9- | a..c@8"));
}

TEST_F(JobRangesTest, EntriesOfSnapshotsStay) {
  const std::string text = "a@7 a@5 a@3 a..b@6";
  EXPECT_THAT(Flush(text, {}), ElementsAre("a@7=v | a..b@6"));
  EXPECT_THAT(Flush(text, {5}), ElementsAre("a@7=v a@5=v | a..b@6"));
  EXPECT_THAT(Flush(text, {6}), ElementsAre("a@7=v | a..b@6"));
  EXPECT_THAT(Flush(text, {3, 5}), ElementsAre("a@7=v a@5=v a@3=v | a..b@6"));
  EXPECT_THAT(Flush(text, {2, 4}), ElementsAre("a@7=v a@3=v | a..b@6"));
}

TEST_F(JobRangesTest, EachSnapshotNeedsOneRange) {
  const std::string text = "a..e@9 b..f@7 c..g@5";
  EXPECT_THAT(Flush(text, {}), ElementsAre("nothing | a..e@9 e..f@7 f..g@5"));
  EXPECT_THAT(Flush(text, {7}), ElementsAre("nothing | a..b@9 b..e@9,7 e..f@7 f..g@5"));
  EXPECT_THAT(Flush(text, {6}), ElementsAre("nothing | a..c@9 c..e@9,5 e..f@7,5 f..g@5"));
}

TEST_F(JobRangesTest, FlushesDropRangesOverNothing) {
  EXPECT_THAT(FlushOver({}, "b@9 a..z@8"), ElementsAre("b@9=v"));
  EXPECT_THAT(FlushOver({}, "b@7 a..z@8 x..@5"), IsEmpty());
  // A snapshot that is older than the range may see what it hides.
  EXPECT_THAT(FlushOver({}, "b@7 a..z@8", {7}), ElementsAre("b@7=v | a..z@8"));
  EXPECT_THAT(FlushOver({}, "a..c@8 b..d@6", {7}), ElementsAre("nothing | a..c@8"));
}

TEST_F(JobRangesTest, RangesShrinkToOlderTables) {
  for (size_t level = 0; level < kLevels; ++level) {
    Levels levels;
    levels[level] = {TableOf("f@2 h@3")};
    EXPECT_THAT(FlushOver(levels, "a..z@8"), ElementsAre("nothing | f..h\\x00@8")) << level;
    EXPECT_THAT(FlushOver(levels, "g..@8"), ElementsAre("nothing | g..h\\x00@8")) << level;
    EXPECT_THAT(FlushOver(levels, "a..f@8 i..z@8"), IsEmpty()) << level;
    // Only the lowest stratum.
    EXPECT_THAT(FlushOver(levels, "a..z@8 a..z@6", {7}),
                ElementsAre("nothing | a..f@8 f..h\\x00@8,6 h\\x00..z@8"))
        << level;
  }
  // One hull over several runs, and over ranges.
  EXPECT_THAT(FlushOver({{{TableOf("k..m@4")}, {TableOf("b@1"), TableOf("d@1"), TableOf("r@1")}}},
                        "c..p@8 a..b@8"),
              ElementsAre("nothing | d..m@8"));
}

TEST_F(JobRangesTest, CompactionsApplyRangesOfAllInputs) {
  EXPECT_THAT(Compact({{{TableOf("e@7 f..@6 k@3"), TableOf("d..h@9 b@8")},
                        {TableOf("a@1 e@1 f@2"), TableOf("h@3 z@4")}}},
                      0),
              ElementsAre("a@1=v b@8=v"));
  EXPECT_THAT(Compact({{{TableOf("e@7 f..@6 k@3"), TableOf("d..h@9 b@8")},
                        {TableOf("a@1 e@1 f@2"), TableOf("h@3 z@4")}}},
                      0, {6}),
              ElementsAre("a@1=v b@8=v e@1=v | d..h@9"));
  EXPECT_THAT(
      Compact({{{TableOf("e@7 f..@6 k@3"), TableOf("d..h@9 b@8")},
                {TableOf("a@1 e@1 f@2"), TableOf("h@3 z@4")}}},
              0, {5, 8}),
      ElementsAre("a@1=v b@8=v e@7=v e@1=v f@2=v h@3=v k@3=v z@4=v | d..f@9 f..h@9,6 h..@6"));
}

TEST_F(JobRangesTest, CompactionsKeepRangesAboveOlderTables) {
  // These are in a deeper level,
  EXPECT_THAT(
      Compact({{{TableOf("a..z@9")}, {TableOf("c@1")}, {TableOf("x@1"), TableOf("y@1")}}}, 0),
      ElementsAre("nothing | x..y\\x00@9"));
  // or in an older run of the output's level.
  tree_ = Tree::Create({{{TableOf("a..z@9")}, {TableOf("m@1 n@2", /*run=*/3)}}}).value();
  CompactionPlan plan;
  plan.output_level = 1;
  plan.output_run = 4;
  plan.inputs = tree_->level(0);
  ASSERT_OK_AND_ASSIGN(const JobResult result,
                       RunCompaction(context_, *tree_, plan, {}, [] { return false; }));
  EXPECT_THAT(TextsOf(result.outputs), ElementsAre("nothing | m..n\\x00@9"));
}

TEST_F(JobRangesTest, RewritesInPlaceDropRanges) {
  EXPECT_THAT(Compact({{{}, {TableOf("a@5 c..e@7"), TableOf("e@1"), TableOf("f@1 g..@9")}}}, 1),
              ElementsAre("a@5=v", "f@1=v"));
  // A range of a snapshot does not reach into a table that stays.
  EXPECT_THAT(
      Compact({{{}, {TableOf("a@5 c..e@7"), TableOf("e@1"), TableOf("f@1 g..@9")}}}, 1, {6}),
      ElementsAre("a@5=v | c..e@7", "f@1=v | g..@9"));
}

// A copy, which a compaction in steps has left.
TEST_F(JobRangesTest, CopiesOfRangesBecomeOne) {
  EXPECT_THAT(Compact({{{TableOf("a..m@9 a@8")},
                        {TableOf("a..g@9 g@7"), TableOf("x@1")},
                        {TableOf("b@1 k@1")}}},
                      0),
              ElementsAre("nothing | b..k\\x00@9"));
}

// --- where outputs end ---

class RangeOutputTest : public JobRangesTest {
 protected:
  std::vector<std::string> Split(const std::string& text, OpenTables grandparents,
                                 uint64_t table_bytes_max) {
    const Contents contents = Of(text);
    TableOutput output(context_, TableFilter(), 1, /*run=*/0, table_bytes_max,
                       std::move(grandparents), {}, {}, contents.ranges);
    for (const Entry& entry : contents.entries)
      EXPECT_OK(output.Add(InternalKey(entry), entry.value));
    absl::StatusOr<OpenTables> tables = output.Finish();
    EXPECT_OK(tables);
    if (!tables.ok()) return {};
    EXPECT_OK(Tree::Create({{{}, *tables}})) << "they do not overlap";
    std::vector<const RangeMap*> maps;
    for (const auto& table : *tables) maps.push_back(&table->table->ranges());
    EXPECT_EQ(RangeMap::Joined(maps), contents.ranges);
    tables_ = *tables;
    return TextsOf(*tables);
  }

  OpenTables tables_;
};

TEST_F(RangeOutputTest, RangesLieAnywhere) {
  EXPECT_THAT(Split("c@1 e@1 a..b@9 d..f@9 x..@9", {}, 1 << 20),
              ElementsAre("c@1=v e@1=v | a..b@9 d..f@9 x..@9"));
  EXPECT_THAT(Split("a..b@9", {}, 1 << 20), ElementsAre("nothing | a..b@9"));
}

// Each table is full at once.
TEST_F(RangeOutputTest, PiecesMeetAtTheCut) {
  EXPECT_THAT(Split("a@1 c@1 e@2 e@1 b..d@9 d..@7", {}, 1),
              ElementsAre("a@1=v", "nothing | b..c@9", "c@1=v | c..d@9", "nothing | d..e@7",
                          "e@2=v e@1=v | e..@7"));
  EXPECT_EQ(tables_[2]->meta.span(), (KeySpan{"c", KeyEnd("d")}));
  // In a gap.
  EXPECT_THAT(Split("a@1 e@1 a..b@9", {}, 1), ElementsAre("a@1=v | a..b@9", "e@1=v"));
  // A range that begins, or ends, at a key.
  EXPECT_THAT(Split("a@1 b@1 c@1 b..c@9", {}, 1), ElementsAre("a@1=v", "b@1=v | b..c@9", "c@1=v"));
}

TEST_F(RangeOutputTest, RangesFillTables) {
  std::string text;
  for (int i = 1000; i < 3000; i += 2) text += Concat("k", i, "..k", i + 1, "@", i, " ");
  EXPECT_THAT(Split(text, {}, 20 << 10), SizeIs(testing::AllOf(testing::Ge(3u), testing::Le(7u))));
}

// A wide range becomes several tables, so that each overlaps only so much of the next level.
TEST_F(RangeOutputTest, WideRangesAreCutAtGrandparents) {
  OpenTables grandparents;
  for (uint64_t i = 0; i < 30; ++i) {
    grandparents.push_back(
        maker_.Make(i + 1, {PutOf(Concat("k", 10 + i), 1), PutOf(Concat("k", 10 + i, "z"), 1)},
                    options_.table_bytes));
  }
  EXPECT_THAT(Split("a..z@9", grandparents, 1 << 20),
              ElementsAre("nothing | a..k21@9", "nothing | k21..k32@9", "nothing | k32..z@9"));
  EXPECT_THAT(Split("a..@9 k22m@1", grandparents, 1 << 20),
              ElementsAre("nothing | a..k21@9", "k22m@1=v | k21..k32@9", "nothing | k32..@9"));
  // Before an entry, not within a grandparent.
  EXPECT_THAT(Split("k10m..k23@9 k22m@1 k30@1", grandparents, 1 << 20),
              ElementsAre("nothing | k10m..k21@9", "k22m@1=v k30@1=v | k21..k23@9"));
}

}  // namespace
}  // namespace lsm
