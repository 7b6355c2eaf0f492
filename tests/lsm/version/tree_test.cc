#include "lsm/version/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/threads/epoch.h"
#include "tests/lsm/table/forgetful_policy.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/lsm/version/tree_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

class TreeTest : public TreeFixture {
 protected:
  std::string Get(const Tree& tree, std::string_view key, Sequence sequence = kSequenceMax,
                  Explanation* explanation = nullptr, bool doubt_filters = false) {
    const EpochGuard guard;
    KeyLookup lookup(key, sequence, TableMaker::kDigestSeed);
    lookup.doubt_filters = doubt_filters;
    lookup.explanation = explanation;
    tree.Get(&lookup, {}, &maker_.counters);
    return TextOf(lookup);
  }
};

TEST_F(TreeTest, NewestLevelWithTheKeyAnswers) {
  const auto tree = TreeOf(
      {{{maker_.Make(5, {PutOf("b", 50, "L0")})},
        {maker_.Make(3, {PutOf("a", 30, "L1"), PutOf("b", 31, "L1")})},
        {maker_.Make(1, {PutOf("a", 10, "L2"), PutOf("b", 11, "L2"), PutOf("c", 12, "L2")})}}});
  EXPECT_EQ(Get(*tree, "a"), "L1");
  EXPECT_EQ(Get(*tree, "b"), "L0");
  EXPECT_EQ(Get(*tree, "c"), "L2");
  EXPECT_EQ(Get(*tree, "d"), "absent");
}

TEST_F(TreeTest, OrdersLevel0ByNumber) {
  const auto tree =
      TreeOf({{{maker_.Make(7, {PutOf("k", 70, "seven")}), maker_.Make(9, {PutOf("k", 90, "nine")}),
                maker_.Make(8, {PutOf("k", 80, "eight")})}}});
  EXPECT_THAT(NumbersOf(tree->level(0)), ElementsAre(9, 8, 7));
  EXPECT_EQ(Get(*tree, "k"), "nine");
  EXPECT_EQ(Get(*tree, "k", 89), "eight");
  EXPECT_EQ(Get(*tree, "k", 70), "seven");
  EXPECT_EQ(Get(*tree, "k", 69), "absent");
}

TEST_F(TreeTest, RefusesNewerEntriesUnderALowerNumber) {
  const auto older = maker_.Make(1, {PutOf("a", 5), PutOf("m", 7)});
  const auto newer = maker_.Make(2, {PutOf("n", 6)});
  const auto same_key = maker_.Make(3, {PutOf("m", 6)});
  const auto later = maker_.Make(4, {PutOf("b", 8)});
  // One flush may make several tables with different keys.
  TreeOf({{{older, newer, later}}});
  EXPECT_THAT(Tree::Create({{{older, same_key}}}).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("000003.table"), HasSubstr("newer writes"))));
  // A table that was made after the next flush does not belong to this flush.
  const auto late = maker_.Make(5, {PutOf("x", 6)});
  EXPECT_THAT(Tree::Create({{{older, later, late}}}).status(),
              StatusIs(absl::StatusCode::kDataLoss));
}

// The last key was written first, then the others in ascending order.  So the second table begins
// with a newer sequence than the end of the first table, and the third table has an old sequence.
TEST_F(TreeTest, TablesOfAFlushMayHaveAnySequences) {
  TreeOf({{{maker_.Make(1, {PutOf("a", 12), PutOf("b", 13)}),
            maker_.Make(2, {PutOf("c", 14), PutOf("d", 15)}),
            maker_.Make(3, {PutOf("e", 16), PutOf("z", 11)}),
            maker_.Make(4, {PutOf("c", 17), PutOf("e", 19)}), maker_.Make(5, {PutOf("f", 18)})}}});
}

// Tables of several flushes that look like tables of one flush.
TEST_F(TreeTest, RefusesOlderEntriesAfterSplitKeys) {
  const auto first = maker_.Make(1, {PutOf("a", 5)});
  const auto second = maker_.Make(2, {PutOf("c", 8)});
  const auto again = maker_.Make(3, {PutOf("b", 9)});
  EXPECT_THAT(Tree::Create({{{first, second, again, maker_.Make(4, {PutOf("c", 7)})}}}).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("newer writes")));
  EXPECT_THAT(Tree::Create({{{first, second, maker_.Make(5, {PutOf("a", 7)})}}}).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("newer writes")));
}

TEST_F(TreeTest, TombstonesHideOlderVersions) {
  const auto tree =
      TreeOf({{{maker_.Make(5, {DeleteOf("k", 50)})}, {maker_.Make(3, {PutOf("k", 30, "old")})}}});
  EXPECT_EQ(Get(*tree, "k"), "deleted");
  EXPECT_EQ(Get(*tree, "k", 49), "old");
}

TEST_F(TreeTest, ConsidersOnlyTablesWithTheKeyInRange) {
  const auto tree = TreeOf({{{maker_.Make(9, {PutOf("c", 90), PutOf("e", 91)}),
                              maker_.Make(8, {PutOf("a", 80), PutOf("b", 81)})},
                             {maker_.Make(3, {PutOf("a", 30), PutOf("c", 31)}),
                              maker_.Make(4, {PutOf("d", 32), PutOf("f", 33)})},
                             {},
                             {maker_.Make(1, {PutOf("d", 1), PutOf("d5", 2)})}}});
  // The key is the first of a table in level 0, and the last of one in level 1.
  EXPECT_EQ(Get(*tree, "c"), "v");
  Statistics counted = Counted();
  EXPECT_EQ(counted.levels[0].tables_considered, 1u);
  EXPECT_EQ(counted.levels[0].useful_reads, 1u);
  EXPECT_EQ(counted.levels[0].lookups, 1u);
  EXPECT_EQ(counted.levels[1].lookups, 0u);  // the lookup ended before this level

  Explanation explanation;
  EXPECT_EQ(Get(*tree, "d4", kSequenceMax, &explanation), "absent");
  EXPECT_THAT(ConsideredIn(explanation), ElementsAre(9, 4, 1));
  counted = Counted();
  EXPECT_EQ(counted.levels[0].lookups, 2u);
  EXPECT_EQ(counted.levels[2].lookups, 1u);  // has no tables, but was passed
  EXPECT_EQ(counted.levels[3].lookups, 1u);
  EXPECT_EQ(counted.levels[4].lookups, 0u);  // below the deepest

  explanation = {};
  EXPECT_EQ(Get(*tree, "c5", kSequenceMax, &explanation), "absent");  // between two of level 1
  EXPECT_THAT(ConsideredIn(explanation), ElementsAre(9));
}

TEST_F(TreeTest, FiltersAvoidReads) {
  std::vector<Entry> entries;
  for (int i = 100; i < 200; ++i) entries.push_back(PutOf(Concat(i), 1));
  const auto with = TreeOf({{{maker_.Make(1, entries)}}});
  for (int i = 100; i < 200; ++i) EXPECT_EQ(Get(*with, Concat(i, "x")), "absent");
  Statistics counted = Counted();
  // "199x" is beyond the table's range.
  EXPECT_EQ(counted.total.tables_considered, 99u);
  EXPECT_GT(counted.total.reads_avoided, 90u);
  EXPECT_EQ(counted.total.reads_avoided + counted.total.wasted_reads, 99u);
  EXPECT_EQ(counted.total.false_positives, counted.total.wasted_reads);
  EXPECT_EQ(counted.total.blocks_from_file + counted.total.blocks_from_cache,
            counted.total.wasted_reads);

  maker_.filter_kind = "";
  const auto without = TreeOf({{{maker_.Make(2, entries)}}});
  EXPECT_EQ(Get(*without, "150x"), "absent");
  const Statistics after = Counted();
  EXPECT_EQ(after.total.filters_absent, 1u);
  EXPECT_EQ(after.total.wasted_reads, counted.total.wasted_reads + 1);
  EXPECT_EQ(after.total.false_positives, counted.total.false_positives);
}

TEST_F(TreeTest, DoubtingLookupsFindDeniedKeys) {
  std::vector<Entry> entries;
  for (int i = 100; i < 400; ++i)
    entries.push_back(i % 2 == 0 ? PutOf(Concat(i), 7) : DeleteOf(Concat(i), 7));
  const auto sound = maker_.Make(1, entries);
  maker_.filter_policy = std::make_shared<ForgetfulPolicy>();
  const auto wrong = maker_.Make(2, entries);
  const auto tree = TreeOf({{{wrong}, {sound}}});
  uint64_t denied = 0;
  for (const Entry& entry : entries) {
    const bool denies =
        !wrong->table->MayContain(bloom::DigestOf(entry.user_key, TableMaker::kDigestSeed));
    denied += denies;
    Explanation explanation;
    EXPECT_EQ(Get(*tree, entry.user_key, kSequenceMax, &explanation, /*doubt_filters=*/true),
              entry.kind == EntryKind::kPut ? "v" : "deleted");
    EXPECT_THAT(explanation.answered_by, HasSubstr("table 2"));
    EXPECT_EQ(Counted().filter_false_negatives, denied);
    EXPECT_EQ(Counted().filter_denials_checked, denied);
    const LevelStatistics total = Counted().total;
    EXPECT_EQ(total.tables_considered,
              total.reads_avoided + total.useful_reads + total.wasted_reads);
    Get(*tree, entry.user_key);
    EXPECT_EQ(Counted().filter_denials_checked, denied);
  }
  EXPECT_GE(denied, 25u);
  // The key stays absent, and the lookup does not count as a pass of the filter.
  const Statistics before = Counted();
  uint64_t absent = 0;
  for (int i = 100; i < 399; ++i) {
    const std::string key = Concat(i, "x");
    if (wrong->table->MayContain(bloom::DigestOf(key, TableMaker::kDigestSeed)) ||
        sound->table->MayContain(bloom::DigestOf(key, TableMaker::kDigestSeed)))
      continue;
    ++absent;
    EXPECT_EQ(Get(*tree, key, kSequenceMax, nullptr, /*doubt_filters=*/true), "absent");
  }
  EXPECT_GE(absent, 200u);
  const Statistics after = Counted();
  EXPECT_EQ(after.filter_denials_checked - before.filter_denials_checked, 2 * absent);
  EXPECT_EQ(after.filter_false_negatives, before.filter_false_negatives);
  EXPECT_EQ(after.total.reads_avoided - before.total.reads_avoided, 2 * absent);
  EXPECT_EQ(after.total.wasted_reads, before.total.wasted_reads);
  EXPECT_EQ(after.total.false_positives, before.total.false_positives);
  EXPECT_EQ(after.total.blocks_from_file - before.total.blocks_from_file +
                after.total.blocks_from_cache - before.total.blocks_from_cache,
            2 * absent);
}

// A file whose reads fail if `state` says so.
class BreakingFile final : public ReadFile {
 public:
  enum State : uint8_t { kSound, kBroken, kWithoutMemory };
  BreakingFile(std::unique_ptr<ReadFile> file, const State* state)
      : file_(std::move(file)), state_(state) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    if (*state_ == kBroken) return absl::UnavailableError(Concat(path(), ": broken"));
    if (*state_ == kWithoutMemory) throw std::bad_alloc();
    return file_->ReadAt(offset, buffer);
  }
  absl::StatusOr<uint64_t> Size() const override { return file_->Size(); }
  const std::string& path() const override { return file_->path(); }

 private:
  const std::unique_ptr<ReadFile> file_;
  const State* const state_;
};

// The lookup did not have to read anything.
TEST_F(TreeTest, FailedDoubtsDoNotFailTheLookup) {
  const TableMeta meta = maker_.WriteFile(1, {PutOf("1", 7), PutOf("9", 7)});
  auto file = maker_.directory->OpenRead(TableFileName(1), ReadMode::kBuffered);
  ASSERT_OK(file);
  BreakingFile::State state = BreakingFile::kSound;
  ASSERT_OK_AND_ASSIGN(
      std::unique_ptr<Table> table,
      Table::Open(std::make_unique<BreakingFile>(*std::move(file), &state), maker_.context));
  ASSERT_FALSE(table->MayContain(bloom::DigestOf("5 absent", TableMaker::kDigestSeed)));
  const auto tree =
      TreeOf({{{std::make_shared<const OpenTable>(OpenTable{meta, std::move(table)})}}});
  for (const auto how : {BreakingFile::kBroken, BreakingFile::kWithoutMemory}) {
    state = how;
    EXPECT_EQ(Get(*tree, "5 absent", kSequenceMax, nullptr, /*doubt_filters=*/true), "absent");
  }
  EXPECT_EQ(Counted().filter_denials_checked, 0u);
  EXPECT_EQ(Counted().total.reads_avoided, 2u);
  state = BreakingFile::kSound;
  EXPECT_EQ(Get(*tree, "5 absent", kSequenceMax, nullptr, /*doubt_filters=*/true), "absent");
  EXPECT_EQ(Counted().filter_denials_checked, 1u);
}

TEST_F(TreeTest, DescribesLevelsWithExpectedReads) {
  maker_.filter_reason = "share: of something";
  const auto level0_new = maker_.Make(9, {PutOf("a", 90), PutOf("z", 91)});
  maker_.filter_reason = "";
  const auto level0_old = maker_.Make(8, {PutOf("a", 80), PutOf("z", 81)});
  const auto filtered = maker_.Make(4, {PutOf("a", 4), PutOf("b", 5), PutOf("c", 6)});
  maker_.filter_kind = "";
  maker_.filter_reason = "does not pay: of something";
  const auto unfiltered = maker_.Make(5, {PutOf("x", 7)});
  const auto tree =
      TreeOf({OpenTables{level0_old, level0_new}, OpenTables{}, OpenTables{filtered, unfiltered}});
  Statistics statistics;
  tree->Describe(&statistics);
  const double each = level0_new->table->properties().expected_fpp;
  EXPECT_DOUBLE_EQ(statistics.levels[0].expected_wasted_reads, 2 * each);
  EXPECT_EQ(statistics.levels[0].filter_kind, "blocked");
  EXPECT_EQ(statistics.levels[0].filter_reason, "share: of something");
  EXPECT_EQ(statistics.levels[1].expected_wasted_reads, 0);
  EXPECT_EQ(statistics.levels[1].filter_kind, "");
  // Three keys in four are in tables with a filter.
  EXPECT_DOUBLE_EQ(statistics.levels[2].expected_wasted_reads,
                   (3 * filtered->table->properties().expected_fpp + 1) / 4);
  EXPECT_EQ(statistics.levels[2].filter_kind, "absent");
  EXPECT_EQ(statistics.levels[2].filter_reason, "does not pay: of something");
  const Statistics of_tree = statistics;
  statistics.SumTrees({&of_tree, 1});
  EXPECT_DOUBLE_EQ(
      statistics.total.expected_wasted_reads,
      statistics.levels[0].expected_wasted_reads + statistics.levels[2].expected_wasted_reads);
}

TEST_F(TreeTest, SearchesALargeLevel0) {
  OpenTables level0;
  for (uint64_t i = 1; i <= 100; ++i)
    level0.push_back(
        maker_.Make(i, {PutOf("a", 2 * i, "x"), PutOf(Concat("k", 1000 + i), 2 * i + 1, Concat(i)),
                        PutOf("z", 2 * i)}));
  const auto tree = TreeOf({{level0}});
  for (uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(Get(*tree, Concat("k", 1000 + i)), Concat(i));
  EXPECT_EQ(Get(*tree, "k1101"), "absent");
  EXPECT_EQ(Counted().total.tables_considered, 100u * 101u / 2 + 100u);
}

TEST_F(TreeTest, UnreadableFilesAreErrors) {
  const auto tree = TreeOf(
      {{{maker_.Make(5, {PutOf("k", 50, "new")})}, {maker_.Make(3, {PutOf("k", 30, "old")})}}});
  maker_.files.SetFault([](FileOperation, const std::string& path, uint64_t) {
    return path.find("000005") != path.npos ? absl::UnavailableError(Concat(path, ": broken"))
                                            : absl::OkStatus();
  });
  EXPECT_THAT(Get(*tree, "k"), HasSubstr("000005.table: broken"));
}

TEST_F(TreeTest, DeeperTablesMustNotShareAUserKey) {
  EXPECT_THAT(Tree::Create({{{},
                             {maker_.Make(3, {PutOf("a", 30), PutOf("c", 31)}),
                              maker_.Make(4, {PutOf("b", 32), PutOf("d", 33)})}}}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("000003.table"), HasSubstr("000004.table"))));
  EXPECT_THAT(Tree::Create({{{},
                             {maker_.Make(5, {PutOf("a", 30), PutOf("c", 32)}),
                              maker_.Make(6, {PutOf("c", 31), PutOf("d", 33)})}}}),
              StatusIs(absl::StatusCode::kDataLoss));
}

// --- runs ---

TEST_F(TreeTest, NewerRunsAnswerFirst) {
  const auto tree =
      TreeOf({{{},
               {OfRun(0, 1, {PutOf("a", 10, "oldest"), PutOf("k", 11, "oldest")}),
                OfRun(2, 9, {PutOf("k", 90, "newest")}), OfRun(1, 7, {PutOf("k", 70, "middle")}),
                OfRun(1, 8, {DeleteOf("a", 71), PutOf("c", 72, "middle")})},
               {OfRun(5, 4, {PutOf("k", 5, "below"), PutOf("z", 6, "below")})}}});
  EXPECT_THAT(NumbersOf(tree->level(1)), ElementsAre(9, 8, 7, 1));
  EXPECT_EQ(tree->run_count(0), 0u);
  EXPECT_EQ(tree->run_count(1), 3u);
  EXPECT_EQ(tree->run_count(2), 1u);
  EXPECT_EQ(Get(*tree, "k"), "newest");
  EXPECT_EQ(Get(*tree, "k", 89), "middle");
  EXPECT_EQ(Get(*tree, "k", 69), "oldest");
  EXPECT_EQ(Get(*tree, "k", 10), "below");
  EXPECT_EQ(Get(*tree, "a"), "deleted");
  EXPECT_EQ(Get(*tree, "a", 70), "oldest");
  EXPECT_EQ(Get(*tree, "z"), "below");
  Explanation explanation;
  EXPECT_EQ(Get(*tree, "b", kSequenceMax, &explanation), "absent");
  EXPECT_THAT(ConsideredIn(explanation), ElementsAre(8, 1));  // one table per run, by their ranges
}

TEST_F(TreeTest, MultiLookupsMatchSingleLookupsInRuns) {
  std::array<OpenTables, kLevels> levels;
  uint64_t number = 1;
  for (const uint32_t run : {0u, 1u, 2u}) {
    std::vector<Entry> entries;
    for (uint64_t i = 0; i < 100; ++i) {
      if ((i * 7 + run) % 3 != 0)
        entries.push_back(PutOf(Concat("k", 100 + i), 10 + run, Concat("run ", run)));
    }
    levels[1].push_back(OfRun(run, number++, entries));
  }
  const auto tree = TreeOf(std::move(levels));
  std::vector<std::string> keys;
  for (int i = 90; i < 210; ++i) keys.push_back(Concat("k", i));
  std::vector<KeyLookup> lookups;
  for (const std::string& key : keys)
    lookups.emplace_back(key, kSequenceMax, TableMaker::kDigestSeed);
  const EpochGuard guard;
  tree->MultiGet(lookups, {}, &maker_.files, &maker_.counters);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_OK(lookups[i].status);
    const bool found = lookups[i].result.answer == TableAnswer::kFound;
    EXPECT_EQ(found ? std::string(lookups[i].result.value) : "absent", Get(*tree, keys[i]));
  }
}

TEST_F(TreeTest, IteratorsCoverEachRun) {
  const auto tree =
      TreeOf({{{maker_.Make(9, {PutOf("x", 90)})},
               {OfRun(1, 7, {PutOf("b", 70)}), OfRun(0, 1, {PutOf("a", 10), PutOf("b", 11)}),
                OfRun(0, 2, {PutOf("c", 12)})},
               {maker_.Make(3, {PutOf("a", 1)})}}});
  std::vector<std::unique_ptr<InnerIterator>> iterators;
  tree->AddIterators({}, &iterators);
  ASSERT_EQ(iterators.size(), 4u);
  EXPECT_THAT(EntriesOf(*iterators[0]), ElementsAre(PutOf("x", 90)));
  EXPECT_THAT(EntriesOf(*iterators[1]), ElementsAre(PutOf("b", 70)));
  EXPECT_THAT(EntriesOf(*iterators[2]),
              ElementsAre(PutOf("a", 10), PutOf("b", 11), PutOf("c", 12)));
  EXPECT_THAT(EntriesOf(*iterators[3]), ElementsAre(PutOf("a", 1)));
}

TEST_F(TreeTest, OnlyTablesOfDifferentRunsMayShareAUserKey) {
  const auto ac = std::vector<Entry>{PutOf("a", 30), PutOf("c", 31)};
  const auto bd = std::vector<Entry>{PutOf("b", 32), PutOf("d", 33)};
  EXPECT_OK(Tree::Create({{{}, {OfRun(0, 1, ac), OfRun(1, 2, bd)}}}));
  EXPECT_THAT(Tree::Create({{{}, {}, {OfRun(4, 3, ac), OfRun(4, 4, bd), OfRun(0, 5, bd)}}}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("level 2, run 4"), HasSubstr("000003.table"),
                             HasSubstr("000004.table"))));
}

TEST_F(TreeTest, OlderRunsCountAsBelow) {
  const auto tree = TreeOf({{{maker_.Make(9, {PutOf("a", 90)})},
                             {OfRun(3, 5, {PutOf("a", 50)}), OfRun(1, 4, {PutOf("b", 40)})},
                             {maker_.Make(1, {PutOf("c", 1)})}}});
  EXPECT_EQ(Below(*tree, 0, 0, "abc"), "abc");
  EXPECT_EQ(Below(*tree, 1, 4, "abc"), "abc") << "a run that would be newer than both";
  EXPECT_EQ(Below(*tree, 1, 3, "abc"), "bc");
  EXPECT_EQ(Below(*tree, 1, 1, "abc"), "c");
  EXPECT_EQ(Below(*tree, 2, 0, "abc"), "");
}

TEST_F(TreeTest, TheNewestTableWithTombstonesGetsTheRent) {
  const auto puts = maker_.Make(9, {PutOf("a", 90), PutOf("z", 91)});
  const auto newest = maker_.Make(8, {DeleteOf("b", 80), PutOf("m", 81)});
  const auto oldest = maker_.Make(3, {DeleteOf("a", 30), PutOf("z", 31)});
  const auto tree = TreeOf({{{puts, newest}, {oldest}}});
  EXPECT_TRUE(tree->PayRent("c", 10)) << "the price is not known yet";
  EXPECT_EQ(newest->rent->paid_bytes(), 10u);
  EXPECT_FALSE(tree->PayRent("c", 1000));
  newest->rent->SetPrice(1013);
  EXPECT_FALSE(tree->PayRent("b", 2));
  EXPECT_TRUE(tree->PayRent("m", 1));
  EXPECT_FALSE(tree->PayRent("m", 1)) << "once";
  EXPECT_EQ(oldest->rent->paid_bytes(), 0u);
  EXPECT_TRUE(tree->PayRent("n", 5));
  EXPECT_EQ(oldest->rent->paid_bytes(), 5u);
  EXPECT_FALSE(tree->PayRent("zz", 5)) << "in no table";
  EXPECT_EQ(puts->rent->paid_bytes(), 0u);
}

TEST_F(TreeTest, StatisticsShowRuns) {
  const auto tree = TreeOf({{{maker_.Make(9, {PutOf("a", 90)}), maker_.Make(8, {PutOf("a", 80)})},
                             {OfRun(2, 5, {PutOf("a", 50)}), OfRun(1, 4, {PutOf("b", 40)}),
                              OfRun(1, 3, {PutOf("c", 40)})},
                             {maker_.Make(1, {PutOf("c", 1)})}}});
  Statistics statistics;
  tree->Describe(&statistics);
  EXPECT_EQ(statistics.levels[0].runs, 2u);
  EXPECT_EQ(statistics.levels[1].runs, 2u);
  EXPECT_EQ(statistics.levels[1].tables, 3u);
  EXPECT_EQ(statistics.levels[1].oldest_run_bytes,
            tree->level(1)[1]->meta.file_bytes + tree->level(1)[2]->meta.file_bytes);
  EXPECT_EQ(statistics.levels[2].runs, 1u);
  EXPECT_EQ(statistics.levels[2].oldest_run_bytes, tree->level_bytes(2));
  EXPECT_EQ(statistics.levels[3].runs, 0u);
}

TEST_F(TreeTest, ExpectsWastedReadsForEachRun) {
  const auto filtered = OfRun(2, 5, {PutOf("a", 50), PutOf("b", 51), PutOf("c", 52)});
  const double fpp = filtered->table->properties().expected_fpp;
  const auto beside_it = OfRun(1, 4, {PutOf("a", 40), PutOf("b", 41), PutOf("c", 42)});
  maker_.filter_kind = "";
  const auto tree = TreeOf(
      {{{}, {filtered, beside_it, OfRun(1, 3, {PutOf("d", 30)}), OfRun(0, 2, {PutOf("a", 20)})}}});
  Statistics statistics;
  tree->Describe(&statistics);
  // The newest has filters, the middle one for three keys in four, the oldest none.
  EXPECT_DOUBLE_EQ(statistics.levels[1].expected_wasted_reads, fpp + (3 * fpp + 1) / 4 + 1);
  EXPECT_EQ(statistics.levels[2].expected_wasted_reads, 0);
}

TEST_F(TreeTest, OverlappingAndMayExistBelowCountTheEnds) {
  const auto tree = TreeOf({{{maker_.Make(9, {PutOf("a", 90), PutOf("m", 91)})},
                             {maker_.Make(3, {PutOf("b", 30), PutOf("d", 31)}),
                              maker_.Make(4, {PutOf("f", 32), PutOf("h", 33)})},
                             {maker_.Make(2, {PutOf("g", 2), PutOf("i", 3)})}}});
  const auto overlapping = [&](std::string_view first, std::string_view last) {
    return NumbersOf(tree->Overlapping(1, KeySpan::OfKeys(first, last)));
  };
  EXPECT_THAT(overlapping("d", "f"), ElementsAre(3, 4));
  EXPECT_THAT(overlapping("a", "b"), ElementsAre(3));
  EXPECT_THAT(overlapping("e", "e5"), IsEmpty());
  EXPECT_THAT(overlapping("c", "c"), ElementsAre(3));
  EXPECT_THAT(overlapping("", "zz"), ElementsAre(3, 4));
  EXPECT_EQ(Below(*tree, 0, 0, "abcdefghij"), "bcdfghi");
  EXPECT_EQ(Below(*tree, 1, 0, "abcdefghij"), "ghi");
  EXPECT_EQ(Below(*tree, 2, 0, "abcdefghij"), "");
  EXPECT_EQ(tree->deepest_level(), 2);
  EXPECT_EQ(TreeOf({})->deepest_level(), 0);
}

TEST_F(TreeTest, OverlappingSearchesEachRun) {
  // Newest run first, as level() has them.
  const auto tree = TreeOf(
      {{{maker_.Make(12, {PutOf("c", 120)}), maker_.Make(11, {PutOf("a", 110), PutOf("e", 111)})},
        {OfRun(2, 5, {PutOf("b", 50), PutOf("d", 50)}), OfRun(2, 6, {PutOf("k", 50)}),
         OfRun(1, 4, {PutOf("e", 40)}), OfRun(1, 3, {PutOf("a", 30), PutOf("c", 30)}),
         OfRun(1, 7, {PutOf("m", 30)})}}});
  const auto overlapping = [&](int level, const KeySpan& span) {
    return NumbersOf(tree->Overlapping(level, span));
  };
  EXPECT_THAT(overlapping(0, {"c", "d"}), ElementsAre(12, 11));
  EXPECT_THAT(overlapping(0, {"d", std::nullopt}), ElementsAre(11));
  EXPECT_THAT(overlapping(1, {}), ElementsAre(5, 6, 3, 4, 7));
  EXPECT_THAT(overlapping(1, {"c", "e"}), ElementsAre(5, 3)) << "e is not included";
  EXPECT_THAT(overlapping(1, {std::string_view("c\0", 2), "e"}), ElementsAre(5));
  EXPECT_THAT(overlapping(1, KeySpan::OfKeys("e", "k")), ElementsAre(6, 4));
  EXPECT_THAT(overlapping(1, {"k5", std::nullopt}), ElementsAre(7));
  EXPECT_THAT(overlapping(1, {"n", std::nullopt}), IsEmpty());
  EXPECT_THAT(overlapping(2, {}), IsEmpty());
}

TEST_F(TreeTest, ApproximateBytesFollowTheRange) {
  std::vector<Entry> entries;
  for (int i = 1000; i < 2000; ++i) entries.push_back(PutOf(Concat(i), 1, std::string(100, 'x')));
  const auto tree = TreeOf({{{}, {maker_.Make(1, entries)}}});
  const uint64_t all = tree->level_bytes(1);
  EXPECT_EQ(tree->ApproximateBytes("", "3"), all);
  EXPECT_EQ(tree->ApproximateBytes("", std::nullopt), all);
  EXPECT_EQ(tree->ApproximateBytes("2", "3"), 0u);
  EXPECT_EQ(tree->ApproximateBytes("", "1"), 0u);
  EXPECT_EQ(tree->ApproximateBytes("1500", "1500"), 0u);
  EXPECT_EQ(tree->ApproximateBytes("1600", "1500"), 0u);
  const auto about = [&](double share) {
    return testing::DoubleNear(share * static_cast<double>(all), 0.02 * static_cast<double>(all));
  };
  EXPECT_THAT(static_cast<double>(tree->ApproximateBytes("1250", "1750")), about(0.5));
  EXPECT_THAT(static_cast<double>(tree->ApproximateBytes("", "1100")), about(0.1));
}

TEST_F(TreeTest, VerifiesTablesAgainstTheManifest) {
  TableMeta meta = maker_.WriteFile(1, {PutOf("a", 1)});
  const auto open = [&](const TableMeta& with) {
    return OpenTableFile(*maker_.directory, with, ReadMode::kBuffered, maker_.context);
  };
  EXPECT_OK(open(meta));
  TableMeta other = meta;
  other.number = 2;
  EXPECT_THAT(open(other), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("000002.table")));
  other = meta;
  other.file_bytes += 1;
  EXPECT_THAT(open(other), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("000001.table")));
  other = meta;
  other.file_id += 1;
  EXPECT_THAT(open(other), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("000001.table")));
  other = meta;
  other.entries += 1;
  EXPECT_THAT(open(other), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("000001.table")));
}

class RunIteratorTest : public TreeTest {
 protected:
  RunIteratorTest() {
    // Two versions of some keys; tables of one entry and of many blocks.
    for (int i = 0; i < 60; ++i) {
      const std::string key = Concat("k", 100 + 2 * i);
      if (i % 3 == 0) entries_.push_back(PutOf(key, 100, std::string(90, 'n')));
      entries_.push_back(i % 7 == 0 ? DeleteOf(key, 50) : PutOf(key, 50, std::string(90, 'o')));
    }
    size_t from = 0;
    uint64_t number = 1;
    for (const size_t to : {size_t{2}, size_t{3}, size_t{40}, entries_.size()}) {
      tables_.push_back(maker_.Make(number++, {entries_.begin() + static_cast<int>(from),
                                               entries_.begin() + static_cast<int>(to)}));
      from = to;
    }
  }

  std::vector<Entry> entries_;
  OpenTables tables_;
};

TEST_F(RunIteratorTest, WalksItsTablesInBothDirections) {
  const std::unique_ptr<Iterator> iterator = NewRunIterator(tables_, {});
  EXPECT_FALSE(iterator->Valid());
  EXPECT_EQ(EntriesOf(*iterator), entries_);
  EXPECT_FALSE(iterator->Valid());
  size_t left = entries_.size();
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev())
    EXPECT_EQ(iterator->key(), InternalKey(entries_[--left]));
  EXPECT_EQ(left, 0u);
  EXPECT_OK(iterator->status());
}

TEST_F(RunIteratorTest, SeeksEveryPlaceBetweenItsEntries) {
  const std::unique_ptr<Iterator> iterator = NewRunIterator(tables_, {});
  std::vector<std::string> targets;
  for (int i = 98; i < 224; ++i) {
    for (const Sequence sequence :
         {Sequence{0}, Sequence{50}, Sequence{70}, Sequence{100}, kSequenceMax})
      targets.push_back(InternalKey(PutOf(Concat("k", i), sequence)));
  }
  for (const std::string& target : targets) {
    size_t at = 0;  // the first entry at or after the target
    while (at < entries_.size() && CompareInternalKeys(InternalKey(entries_[at]), target) < 0) ++at;
    iterator->Seek(target);
    ASSERT_EQ(iterator->Valid(), at < entries_.size());
    if (iterator->Valid()) {
      ASSERT_EQ(iterator->key(), InternalKey(entries_[at]));
    }

    const bool equal =
        at < entries_.size() && CompareInternalKeys(InternalKey(entries_[at]), target) == 0;
    const size_t behind = equal ? at + 1 : at;
    iterator->SeekForPrev(target);
    ASSERT_EQ(iterator->Valid(), behind > 0);
    if (!iterator->Valid()) continue;
    ASSERT_EQ(iterator->key(), InternalKey(entries_[behind - 1]));
    iterator->Next();  // turns around, perhaps into the next table
    ASSERT_EQ(iterator->Valid(), behind < entries_.size());
    if (!iterator->Valid()) continue;
    ASSERT_EQ(iterator->key(), InternalKey(entries_[behind]));
    iterator->Prev();
    ASSERT_TRUE(iterator->Valid());
    ASSERT_EQ(iterator->key(), InternalKey(entries_[behind - 1]));
  }
}

TEST_F(RunIteratorTest, StopsAtUnreadableTablesAndNamesThem) {
  const std::unique_ptr<Iterator> iterator = NewRunIterator(tables_, {.fill_cache = false});
  const auto break_table = [&](std::string_view name) {
    maker_.files.SetFault([name](FileOperation, const std::string& path, uint64_t) {
      return path.ends_with(name) ? absl::UnavailableError(Concat(path, ": broken"))
                                  : absl::OkStatus();
    });
  };
  break_table("000003.table");
  size_t seen = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++seen;
  EXPECT_EQ(seen, 3u);  // the entries of the two tables before
  EXPECT_THAT(iterator->status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("000003.table")));
  seen = 0;
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) ++seen;
  EXPECT_EQ(seen, entries_.size() - 40);
  EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kUnavailable));
  iterator->Seek(InternalKey(entries_[20]));
  EXPECT_FALSE(iterator->Valid());
  EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kUnavailable));
  // A new seek tries again.
  break_table("none");
  iterator->Seek(InternalKey(entries_[20]));
  EXPECT_TRUE(iterator->Valid());
  EXPECT_OK(iterator->status());
}

TEST_F(RunIteratorTest, IsEmptyWithoutTables) {
  const OpenTables none;
  const std::unique_ptr<Iterator> iterator = NewRunIterator(none, {});
  iterator->SeekToFirst();
  EXPECT_FALSE(iterator->Valid());
  iterator->SeekToLast();
  EXPECT_FALSE(iterator->Valid());
  iterator->Seek(InternalKey(PutOf("a", 1)));
  EXPECT_FALSE(iterator->Valid());
  iterator->SeekForPrev(InternalKey(PutOf("a", 1)));
  EXPECT_FALSE(iterator->Valid());
  EXPECT_OK(iterator->status());
}

}  // namespace
}  // namespace lsm
