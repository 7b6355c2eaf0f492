#include "lsm/compaction/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/compaction/jobs.h"
#include "tests/lsm/compaction/job_world.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/lsm/version/table_text.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

// A tree, and a plan for it that is carried out step by step.
class Stepper : protected JobWorld {
 protected:
  explicit Stepper(uint64_t seed) : JobWorld(seed, 1, "none") {
    options_.table_bytes = 64 << 10;
    options_.block_bytes = 256;
    maker_.filter_kind = "";
  }

  std::shared_ptr<const OpenTable> TableOf(const std::vector<Entry>& entries, uint32_t run = 0,
                                           const RangeMap& ranges = {}) {
    return maker_.Make(next_number_++, entries, 0, run, ranges);
  }

  // A plan for all of the level.
  void Plan(std::array<OpenTables, kLevels> levels, int level) {
    tree_ = Tree::Create(std::move(levels)).value();
    plan_ = PlanRange(*tree_, level, std::nullopt, std::nullopt).value();
    left_ = AllOf(plan_);
  }

  std::optional<CompactionPlan> Next() const {
    return NextStep(*tree_, left_, options_.table_bytes);
  }

  // Carries out a step and returns its outputs.
  OpenTables Take(const CompactionPlan& step) {
    JobResult result =
        RunCompaction(context_, *tree_, step, snapshots_, [] { return false; }).value();
    auto next = Tree::Create(LevelsAfter(*tree_, EditOf(step, &result), result.outputs));
    EXPECT_OK(next);
    if (next.ok()) tree_ = *std::move(next);
    left_ = LeftAfter(left_, step, result.outputs);
    return std::move(result.outputs);
  }

  SnapshotList snapshots_;
  std::shared_ptr<const Tree> tree_;
  CompactionPlan plan_;
  PlanLeft left_;
};

class StepsTest : public testing::Test, protected Stepper {
 protected:
  StepsTest() : Stepper(1) {}
};

TEST_F(StepsTest, TakesOneTargetAndItsSources) {
  const auto a = TableOf({PutOf("b", 9), PutOf("e", 9), PutOf("f", 9), PutOf("k", 9)});
  const auto left = TableOf({PutOf("a", 1)}), first = TableOf({PutOf("a1", 1), PutOf("e", 1)}),
             second = TableOf({PutOf("f", 1), PutOf("h", 1)}), right = TableOf({PutOf("l", 1)});
  Plan({{{a}, {left, first, second, right}}}, 0);

  std::optional<CompactionPlan> step = Next();
  ASSERT_TRUE(step);
  EXPECT_THAT(step->inputs, ElementsAre(a));
  EXPECT_THAT(step->overlapped, ElementsAre(first));
  EXPECT_EQ(step->from, std::nullopt);
  EXPECT_THAT(step->to, Optional(std::string("e\0", 2)));
  EXPECT_THAT(EntriesIn(Take(*step)), ElementsAre(PutOf("a1", 1), PutOf("b", 9), PutOf("e", 9)));
  EXPECT_THAT(tree_->level(0), ElementsAre(a)) << "it holds more";

  step = Next();
  ASSERT_TRUE(step);
  EXPECT_THAT(step->inputs, ElementsAre(a));
  EXPECT_THAT(step->overlapped, ElementsAre(second));
  EXPECT_THAT(step->from, Optional(std::string("e\0", 2)));
  EXPECT_EQ(step->to, std::nullopt) << "the rest goes with its last target";
  EXPECT_THAT(EntriesIn(Take(*step)), ElementsAre(PutOf("f", 9), PutOf("h", 1), PutOf("k", 9)));
  EXPECT_THAT(tree_->level(0), IsEmpty());
  EXPECT_EQ(tree_->level(1).size(), 4u);
  EXPECT_FALSE(Next());
}

TEST_F(StepsTest, TakesTheOldestTableOfLevelZeroFirst) {
  const auto oldest = TableOf({PutOf("a", 1), PutOf("z", 2)}),
             middle = TableOf({PutOf("a", 3), PutOf("z", 4)}),
             newest = TableOf({PutOf("a", 5), PutOf("z", 6)});
  Plan({{{newest, middle, oldest}}}, 0);
  for (const auto& table : {oldest, middle, newest}) {
    const std::optional<CompactionPlan> step = Next();
    ASSERT_TRUE(step);
    EXPECT_THAT(step->inputs, ElementsAre(table));
    EXPECT_EQ(step->overlapped.size(), table == oldest ? 0u : 1u) << "what the step before wrote";
    Take(*step);
  }
  EXPECT_FALSE(Next());
  EXPECT_THAT(EntriesIn(tree_->level(1)), ElementsAre(PutOf("a", 5), PutOf("z", 6)));
}

TEST_F(StepsTest, TakesNewerRunsBelowFirst) {
  const auto above = TableOf({PutOf("a", 9), PutOf("z", 9)}, 4),
             newest = TableOf({PutOf("c", 5)}, 7), middle = TableOf({PutOf("b", 3)}, 6),
             oldest = TableOf({PutOf("a", 1), PutOf("z", 1)}, 5);
  Plan({{{}, {above}, {newest, middle, oldest}, {TableOf({PutOf("m", 0)})}}}, 1);
  std::vector<std::pair<int, std::shared_ptr<const OpenTable>>> sources;
  for (std::optional<CompactionPlan> step = Next(); step; step = Next()) {
    sources.emplace_back(step->level, step->inputs[0]);
    EXPECT_EQ(step->output_run, 5u);
    Take(*step);
  }
  EXPECT_THAT(sources,
              ElementsAre(std::pair(2, middle), std::pair(2, newest), std::pair(1, above)));
  EXPECT_EQ(tree_->run_count(2), 1u);
}

TEST_F(StepsTest, RewritesInPlaceTableByTable) {
  const auto first = TableOf({DeleteOf("a", 9), PutOf("b", 3)}), clean = TableOf({PutOf("c", 1)}),
             second = TableOf({PutOf("d", 9), PutOf("d", 1)});
  Plan({{{}, {first, clean, second}}}, 1);
  EXPECT_THAT(EntriesIn(Take(Next().value())), ElementsAre(PutOf("b", 3)));
  EXPECT_THAT(EntriesIn(Take(Next().value())), ElementsAre(PutOf("d", 9)));
  EXPECT_FALSE(Next());
  EXPECT_EQ(tree_->level(1).size(), 3u);
}

TEST_F(StepsTest, StepsKeepVersionsTogether) {
  snapshots_ = {5, 7, 8};
  const auto a = TableOf({PutOf("k", 9), PutOf("k", 8), PutOf("k", 7), PutOf("x", 6)});
  const auto b = TableOf({PutOf("j", 1), PutOf("k", 4)}), c = TableOf({PutOf("x", 1)});
  Plan({{{a}, {b, c}}}, 0);
  EXPECT_THAT(
      EntriesIn(Take(Next().value())),
      ElementsAre(PutOf("j", 1), PutOf("k", 9), PutOf("k", 8), PutOf("k", 7), PutOf("k", 4)));
  EXPECT_THAT(EntriesIn(Take(Next().value())), ElementsAre(PutOf("x", 6), PutOf("x", 1)));
}

// A tombstone hides an older entry until the table with this entry is removed.
TEST_F(StepsTest, TombstonesStayUntilTheirTableGoes) {
  const auto a = TableOf({DeleteOf("b", 9), PutOf("e", 8)});
  Plan({{{a}, {TableOf({PutOf("b", 1)}), TableOf({PutOf("e", 2)})}}}, 0);
  EXPECT_THAT(Take(Next().value()), IsEmpty());
  EXPECT_THAT(EntriesIn(tree_->level(0)), ElementsAre(DeleteOf("b", 9), PutOf("e", 8)));
  EXPECT_THAT(EntriesIn(Take(Next().value())), ElementsAre(PutOf("e", 8)));
  EXPECT_THAT(tree_->level(0), IsEmpty());
}

// The ranges of the rest would otherwise overlap the next target.
TEST_F(StepsTest, OutputsHaveTheRangesOfTheWindow) {
  const auto a = TableOf({PutOf("a", 8)}, 0, RangesOf({{"b", "z", 9}}));
  const auto first = TableOf({PutOf("b", 1), PutOf("c", 2)}), second = TableOf({PutOf("x", 3)}),
             below = TableOf({PutOf("a", 0), PutOf("z", 0)});
  Plan({{{a}, {first, second}, {below}}}, 0);
  std::optional<CompactionPlan> step = Next();
  ASSERT_TRUE(step);
  EXPECT_THAT(step->overlapped, ElementsAre(first));
  OpenTables outputs = Take(*step);
  EXPECT_THAT(EntriesIn(outputs), ElementsAre(PutOf("a", 8)));
  ASSERT_EQ(outputs.size(), 1u);
  const std::string end("c\0", 2);
  EXPECT_EQ(outputs[0]->table->ranges(), RangesOf({{"b", end, 9}}));
  EXPECT_THAT(tree_->level(0), ElementsAre(a)) << "with all its ranges";
  outputs = Take(Next().value());
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0]->table->ranges(), RangesOf({{end, "z", 9}}));
  EXPECT_THAT(EntriesIn(outputs), IsEmpty());
  EXPECT_THAT(tree_->level(0), IsEmpty());
  EXPECT_EQ(tree_->level(1).size(), 2u);
}

// A step ends after the last key of its target.  The next possible key, which is that key and a
// zero byte, belongs to the step after it, as do the ranges that begin there.
TEST_F(StepsTest, BorderIsTheNextPossibleKey) {
  const std::string next("e\0", 2);
  const auto a =
      TableOf({PutOf("e", 9), PutOf(next, 8), PutOf("g", 7)}, 0, RangesOf({{next, "f", 5}}));
  const auto first = TableOf({PutOf("d", 1), PutOf("e", 2)}),
             second = TableOf({PutOf(next, 3), PutOf("g", 4)}),
             below = TableOf({PutOf("a", 0), PutOf("z", 0)});
  Plan({{{a}, {first, second}, {below}}}, 0);
  std::optional<CompactionPlan> step = Next();
  ASSERT_TRUE(step);
  EXPECT_THAT(step->overlapped, ElementsAre(first));
  EXPECT_THAT(step->to, Optional(next));
  OpenTables outputs = Take(*step);
  EXPECT_THAT(EntriesIn(outputs), ElementsAre(PutOf("d", 1), PutOf("e", 9)));
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_TRUE(outputs[0]->table->ranges().empty());
  step = Next();
  ASSERT_TRUE(step);
  EXPECT_THAT(step->overlapped, ElementsAre(second));
  outputs = Take(*step);
  EXPECT_THAT(EntriesIn(outputs), ElementsAre(PutOf(next, 8), PutOf("g", 7)));
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0]->table->ranges(), RangesOf({{next, "f", 5}}));
}

TEST_F(StepsTest, OpensOnlyItsTables) {
  Plan({{{TableOf({PutOf("a", 9), PutOf("z", 9)})},
         {TableOf({PutOf("b", 2)}), TableOf({PutOf("y", 2)})},
         {TableOf({PutOf("c", 1)}), TableOf({PutOf("x", 1)})}}},
       0);
  ASSERT_EQ(plan_.grandparents.size(), 2u);
  EXPECT_THAT(left_.plan.grandparents, IsEmpty());
  plan_ = {};
  std::optional<CompactionPlan> step = Next();
  EXPECT_THAT(step->grandparents, IsEmpty()) << "those of this step alone, up to b";
  const std::weak_ptr<const OpenTable> target = step->overlapped[0];
  Take(*step);
  step.reset();
  EXPECT_TRUE(target.expired());
}

// Four tables of level 0 with keys all over the 300 of level 1, and nothing that could be dropped.
class LargeStepsTest : public StepsTest {
 protected:
  LargeStepsTest() {
    options_.table_bytes = 8 << 10;
    const auto key = [](uint64_t i) { return "k" + std::to_string(100'000 + i); };
    std::array<OpenTables, kLevels> levels;
    for (uint64_t table = 0; table < 4; ++table) {
      std::vector<Entry> entries;
      for (uint64_t i = table; i < 60'000; i += 600)
        entries.push_back(PutOf(key(i), 1000 + table, std::string(60, 'n')));
      levels[0].push_back(TableOf(entries));
    }
    for (uint64_t begin = 0; begin < 60'000; begin += 200) {
      std::vector<Entry> entries;
      for (uint64_t i = begin; i < begin + 200; ++i)
        entries.push_back(PutOf(key(i) + "x", 1, std::string(20, 'o')));
      levels[1].push_back(TableOf(entries));
    }
    Plan(std::move(levels), 0);
  }

  static uint64_t BytesOf(const OpenTables& tables) {
    uint64_t bytes = 0;
    for (const auto& table : tables) bytes += table->meta.file_bytes;
    return bytes;
  }
  uint64_t LiveBytes() const { return tree_->level_bytes(0) + tree_->level_bytes(1); }
};

TEST_F(LargeStepsTest, NeedLittleRoom) {
  const uint64_t before = LiveBytes();
  uint64_t most = 0, steps = 0, tables_max = 0;
  for (std::optional<CompactionPlan> step = Next(); step; step = Next()) {
    const uint64_t live = LiveBytes();
    tables_max = std::max(tables_max, BytesOf(step->inputs) + BytesOf(step->overlapped));
    most = std::max(most, live + BytesOf(Take(*step)) - before);
    ++steps;
  }
  RecordProperty("step_bytes_at_most", std::to_string(most));
  RecordProperty("whole_bytes", std::to_string(before));
  EXPECT_GT(steps, 1000u);
  EXPECT_LT(most, tables_max + (4 << 10));
  EXPECT_LT(most, before / 50) << "what the whole compaction needs";
}

// Many steps do not leave many small tables.
TEST_F(LargeStepsTest, LeaveTablesOfUsualSizes) {
  for (std::optional<CompactionPlan> step = Next(); step; step = Next()) Take(*step);
  EXPECT_LT(tree_->level(1).size(), LiveBytes() / options_.table_bytes * 3 / 2);
  for (const auto& table : tree_->level(1))
    EXPECT_LT(table->meta.file_bytes, options_.table_bytes * 3 / 2);
}

// --- trees at random ---

class RandomSteps : private Stepper {
 public:
  // Makes levels 0 to 3, with newer writes above older ones.
  explicit RandomSteps(uint64_t seed) : Stepper(seed) {
    options_.table_bytes = 300 + Roll(600);
    std::array<OpenTables, kLevels> levels;
    levels[3] = RunOf(0);
    const uint64_t runs = 1 + Roll(3);
    for (uint32_t run = 0; run < runs; ++run) Append(RunOf(run), &levels[2]);
    Append(RunOf(3), &levels[1]);
    for (uint64_t tables = 1 + Roll(4); tables > 0; --tables) {
      const std::vector<Entry> entries = Write(1 + Roll(20));
      levels[0].push_back(TableOf(entries, 0, ranges_.Map()));
    }
    while (snapshots_.size() < Roll(4)) {
      snapshots_.push_back(1 + Roll(last_sequence_));
      std::sort(snapshots_.begin(), snapshots_.end());
      snapshots_.erase(std::unique(snapshots_.begin(), snapshots_.end()), snapshots_.end());
    }
    begin_ = Tree::Create(std::move(levels)).value();
  }

  // Carries out a plan for all of the level.
  void Compact(int level) {
    tree_ = begin_;
    const auto before = Answers();
    const std::optional<CompactionPlan> plan = PlanRange(*tree_, level, std::nullopt, std::nullopt);
    if (!plan) return;
    left_ = AllOf(*plan);
    OpenTables untouched = TablesTakenBy(*plan);
    for (std::optional<CompactionPlan> step = Next(); step; step = Next()) {
      for (const auto& taken : TablesTakenBy(*step)) std::erase(untouched, taken);
      Take(*step);
      ASSERT_EQ(Answers(), before) << "level " << level;
    }
    if (!untouched.empty()) return;
    // The steps take the same tables as the whole compaction, so the outcome is the same.
    const JobResult whole =
        RunCompaction(context_, *begin_, *plan, snapshots_, [] { return false; }).value();
    OpenTables made = left_.plan.overlapped;
    std::sort(made.begin(), made.end(), [](const auto& a, const auto& b) {
      return a->meta.span().begin < b->meta.span().begin;
    });
    ASSERT_EQ(EntriesIn(made), EntriesIn(whole.outputs)) << "level " << level;
    ++compared_;
  }

  int compared() const { return compared_; }

 private:
  uint64_t Roll(uint64_t sides) { return random_.Next() % sides; }
  static void Append(const OpenTables& tables, OpenTables* to) {
    to->insert(to->end(), tables.begin(), tables.end());
  }

  // Sets ranges_, too.
  std::vector<Entry> Write(uint64_t count) {
    std::vector<Entry> entries;
    ranges_ = {};
    const uint64_t from = Roll(60), width = 1 + Roll(60), range_sides = 2 + Roll(60);
    for (; count > 0; --count) {
      if (Roll(range_sides) == 0) {
        const uint64_t begin = 100 + Roll(120);
        const std::string end = Roll(8) == 0 ? "" : "k" + std::to_string(begin + 1 + Roll(30));
        ranges_.Add(Concat("k", begin, "..", end, "@", ++last_sequence_));
      }
      const std::string key = "k" + std::to_string(100 + from + Roll(width));
      const Sequence sequence = ++last_sequence_;
      entries.push_back(Roll(3) == 0 ? DeleteOf(key, sequence)
                                     : PutOf(key, sequence, "v" + std::to_string(sequence)));
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.user_key, b.sequence) < std::tie(b.user_key, a.sequence);
    });
    return entries;
  }

  OpenTables RunOf(uint32_t run) {
    const std::vector<Entry> entries = Write(10 + Roll(60));
    const RangeMap ranges = ranges_.Map();
    OpenTables tables;
    std::vector<Entry> some;
    KeySpan span;  // of the table's part of the ranges
    for (size_t i = 0; i < entries.size(); ++i) {
      some.push_back(entries[i]);
      const bool is_last = i + 1 == entries.size();
      const bool ends = is_last || (entries[i + 1].user_key != entries[i].user_key && Roll(5) == 0);
      if (!ends) continue;
      // Ranges may go on up to the first entry of the next table.
      span.end = is_last ? KeyEnd() : KeyEnd(entries[i + 1].user_key);
      tables.push_back(TableOf(std::exchange(some, {}), run, ranges.Within(span)));
      if (!is_last) span.begin = entries[i + 1].user_key;
    }
    return tables;
  }

  // The answers of lookups, by key and sequence.
  std::map<std::pair<std::string, Sequence>, std::string> Answers() const {
    std::vector<Sequence> moments = snapshots_;
    moments.push_back(last_sequence_);
    std::map<std::pair<std::string, Sequence>, std::string> found;
    for (int level = 0; level < kLevels; ++level) {
      for (const TableSpan run : tree_->runs(level)) {
        for (const Sequence moment : moments) {
          for (const auto& [key, answer] : AnswersOf(run, moment))
            found.emplace(std::pair(key, moment), answer);
        }
      }
    }
    std::erase_if(found, [](const auto& each) { return each.second.empty(); });
    return found;
  }

  // The newest versions in the run; empty for deletes.
  static std::map<std::string, std::string> AnswersOf(TableSpan run, Sequence moment) {
    std::map<std::string, std::string> answers;
    for (const auto& table : run) {
      const RangeMap& ranges = table->table->ranges();
      for (int number = 100; number < 250; ++number) {
        const std::string key = "k" + std::to_string(number);
        if (ranges.NewestAt(key, moment) != 0) answers[key] = "";
      }
      std::string last;
      for (const Entry& entry : EntriesOf(*table->table->NewIterator({}))) {
        if (entry.sequence > moment || entry.user_key == last) continue;
        last = entry.user_key;
        if (ranges.NewestAt(last, moment) < entry.sequence)
          answers[last] = entry.kind == EntryKind::kDelete ? "" : entry.value;
      }
    }
    return answers;
  }

  Sequence last_sequence_ = 0;
  TextRanges ranges_;
  std::shared_ptr<const Tree> begin_;
  int compared_ = 0;  // with the whole compaction's outcome
};

TEST(RandomStepsTest, AnswersStayTheSame) {
  std::array<int, 4> compared = {};
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSteps steps(seed);
    for (int level = 0; level < 4; ++level) {
      const int compared_before = steps.compared();
      steps.Compact(level);
      if (testing::Test::HasFatalFailure()) return;
      compared[static_cast<size_t>(level)] += steps.compared() - compared_before;
    }
  }
  for (const int count : compared) EXPECT_GT(count, 20);
}

}  // namespace
}  // namespace lsm
