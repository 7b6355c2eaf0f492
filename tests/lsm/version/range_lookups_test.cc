// Lookups and iterators of trees whose tables have range deletes, and drops of tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/merging_iterator.h"
#include "lsm/base/range_map.h"
#include "lsm/bytes/status.h"
#include "lsm/threads/epoch.h"
#include "lsm/version/tree.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/lsm/version/tree_fixture.h"
#include "tests/support/dice.h"
#include "tests/support/range_maps.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::Dice;

// The range deletes of memtables.
class OneAbove final : public RangesAbove {
 public:
  explicit OneAbove(RangeMap map) : map_(std::move(map)) {}
  Sequence NewestAt(const LookupKey& key) const override {
    ++asked;
    return map_.NewestAt(key.user_key(), key.sequence());
  }
  mutable int asked = 0;

 private:
  const RangeMap map_;
};

class RangeLookupsTest : public TreeFixture {
 protected:
  std::shared_ptr<const OpenTable> Make(uint64_t number, const std::vector<Entry>& entries,
                                        const RangeMap& ranges = {}, uint32_t run = 0) {
    return maker_.Make(number, entries, /*file_bytes=*/0, run, ranges);
  }

  std::string Get(const Tree& tree, std::string_view key, Sequence sequence = kSequenceMax,
                  Explanation* explanation = nullptr) {
    const EpochGuard guard;
    KeyLookup lookup(key, sequence, TableMaker::kDigestSeed);
    lookup.doubt_filters = doubts_;
    lookup.ranges_above = above_;
    lookup.explanation = explanation;
    tree.Get(&lookup, {}, &maker_.counters);
    return TextOf(lookup);
  }

  uint64_t BlocksRead() {
    const LevelStatistics total = Counted().total;
    return total.blocks_from_cache + total.blocks_from_file;
  }

  bool doubts_ = false;
  const RangesAbove* above_ = nullptr;
};

TEST_F(RangeLookupsTest, ARangeAboveHidesATableUnread) {
  const auto tree =
      TreeOf({{{Make(9, {PutOf("x", 90)}, RangesOf({{"b", "d", 91}})), Make(8, {PutOf("c", 80)})},
               {Make(3, {PutOf("a", 30, "old"), PutOf("b", 31), PutOf("d", 32, "old")})}}});
  ASSERT_TRUE(tree->has_ranges());
  EXPECT_EQ(Get(*tree, "b"), "deleted");
  EXPECT_EQ(Get(*tree, "c"), "deleted");
  EXPECT_EQ(BlocksRead(), 0u);
  EXPECT_EQ(Counted().lookups_ended_in_range, 2u);
  EXPECT_EQ(Counted().total.wasted_reads, 0u);
  EXPECT_EQ(Get(*tree, "a"), "old");
  EXPECT_EQ(Get(*tree, "d"), "old") << "the end is excluded";
  EXPECT_EQ(Get(*tree, "bb"), "absent");
  EXPECT_EQ(Counted().lookups_ended_in_range, 2u);
  EXPECT_EQ(Get(*tree, "b", 90), "v") << "the reader does not see the range";
}

TEST_F(RangeLookupsTest, ATableWithNewerEntriesIsRead) {
  const auto tree = TreeOf(
      {{{Make(9, {PutOf("b", 90, "old"), PutOf("c", 99, "new")}, RangesOf({{"a", "z", 95}}))},
        {Make(3, {PutOf("b", 30), PutOf("d", 31)})}}});
  EXPECT_EQ(Get(*tree, "c"), "new");
  EXPECT_EQ(Get(*tree, "b"), "deleted");
  EXPECT_EQ(BlocksRead(), 2u);
  EXPECT_EQ(Get(*tree, "d"), "deleted");
  EXPECT_EQ(BlocksRead(), 2u);
  EXPECT_EQ(Counted().lookups_ended_in_range, 2u);
  EXPECT_EQ(Get(*tree, "b", 94), "old");
  EXPECT_EQ(Get(*tree, "c", 98), "absent") << "there is nothing to hide";
}

TEST_F(RangeLookupsTest, ATableWithoutNewerEntriesIsNotRead) {
  const auto tree = TreeOf({{{Make(9, {PutOf("b", 90)}, RangesOf({{"a", "z", 95}}))}}});
  EXPECT_EQ(Get(*tree, "b"), "deleted");
  EXPECT_EQ(BlocksRead(), 0u);
}

TEST_F(RangeLookupsTest, TablesOfRangesAloneAreAsked) {
  const auto tree =
      TreeOf({{{},
               {Make(7, {}, RangesOf({{"b", "d", 70}}), /*run=*/1), Make(5, {PutOf("a", 50)}),
                Make(6, {PutOf("c", 60)})},
               {Make(3, {PutOf("a", 30), PutOf("b", 31), PutOf("c", 32), PutOf("e", 33)})}}});
  EXPECT_EQ(Get(*tree, "b"), "deleted");
  EXPECT_EQ(Get(*tree, "c"), "deleted");
  EXPECT_EQ(Get(*tree, "e"), "v");
  EXPECT_EQ(Get(*tree, "bb"), "absent");
  doubts_ = true;
  EXPECT_EQ(Get(*tree, "bb"), "deleted") << "a lookup that doubts would have read";
}

TEST_F(RangeLookupsTest, DoubtingLookupsAskRangesBeforeTheyRead) {
  doubts_ = true;
  const auto tree = TreeOf({{{Make(9, {PutOf("x", 90)}, RangesOf({{"a", "c", 91}}))},
                             {Make(3, {PutOf("a", 30), PutOf("b", 31)})}}});
  EXPECT_EQ(Get(*tree, "b"), "deleted");
  EXPECT_EQ(Get(*tree, "aa"), "deleted");
  EXPECT_EQ(BlocksRead(), 0u);
}

TEST_F(RangeLookupsTest, PartitionsOfFiltersAreNotReadBelowARange) {
  const auto above = Make(9, {PutOf("zz", 90)}, RangesOf({{"key3", "key4", 91}}));
  maker_.partition_bytes = 512;
  maker_.context.partitions_on_demand = true;
  std::vector<Entry> entries;
  for (int i = 1000; i < 5000; ++i) entries.push_back(PutOf(Concat("key", i), 7, "value"));
  const auto partitioned = Make(3, entries);
  ASSERT_TRUE(partitioned->table->has_filter_partitions());
  const auto tree = TreeOf({{{above}, {partitioned}}});
  EXPECT_EQ(Get(*tree, "key3500"), "deleted");
  const LevelStatistics total = Counted().total;
  EXPECT_EQ(total.partitions_from_cache + total.partitions_from_file, 0u);
  EXPECT_EQ(Get(*tree, "key2500"), "value");
}

TEST_F(RangeLookupsTest, MemtablesAreAskedOnlyBeforeARead) {
  const OneAbove above(RangesOf({{"a", "c", 95}}));
  above_ = &above;
  const auto tree = TreeOf({{{Make(9, {PutOf("a", 90), PutOf("x", 91)})},
                             {Make(3, {PutOf("a", 30), PutOf("b", 31), PutOf("c", 32)})}}});
  EXPECT_EQ(Get(*tree, "a"), "deleted");
  EXPECT_EQ(Get(*tree, "b"), "deleted");
  EXPECT_EQ(above.asked, 2);
  EXPECT_EQ(BlocksRead(), 0u);
  EXPECT_EQ(Get(*tree, "aa"), "absent");
  EXPECT_EQ(above.asked, 2) << "no table was to be read";
  EXPECT_EQ(Get(*tree, "c"), "v");
  EXPECT_EQ(Get(*tree, "b", 94), "v");
}

TEST_F(RangeLookupsTest, ExplainsTheRangeThatEndedTheLookup) {
  const auto tree =
      TreeOf({{{Make(9, {PutOf("a", 90), PutOf("x", 90)}, RangesOf({{"b", "d", 91}})),
                Make(8, {PutOf("b", 80), PutOf("d", 81)}, RangesOf({{"a", "z", 79}}))},
               {Make(3, {PutOf("b", 30), PutOf("c", 31)})}}});
  Explanation explanation;
  explanation.tables_by_level = {2, 1};
  EXPECT_EQ(Get(*tree, "c", 99, &explanation), "deleted");
  EXPECT_EQ(explanation.answered_by, "table 9 at level 0");
  ASSERT_EQ(explanation.tables.size(), 3u);
  EXPECT_EQ(explanation.tables[0].outcome, "range delete");
  EXPECT_EQ(explanation.tables[0].range_sequence, 91u);
  EXPECT_EQ(explanation.tables[1].outcome, "skipped");
  EXPECT_EQ(explanation.tables[1].range_sequence, 79u);
  EXPECT_EQ(explanation.tables[2].outcome, "not read");
  EXPECT_THAT(explanation.ToText(),
              AllOf(HasSubstr("range delete, covered by a range delete at sequence 91\n"),
                    HasSubstr("skipped, covered by a range delete at sequence 79\n"),
                    HasSubstr("level 1: 1 of 1 table considered\n"), HasSubstr("      not read\n"),
                    HasSubstr("not found; answered by table 9 at level 0")));
  EXPECT_THAT(explanation.ToJson(), HasSubstr("\"range_sequence\":91"));

  Explanation of_itself;
  EXPECT_EQ(Get(*tree, "b", 90, &of_itself), "v");
  EXPECT_EQ(of_itself.tables.back().outcome, "put");
  EXPECT_EQ(of_itself.tables.back().range_sequence, 79u);
}

TEST_F(RangeLookupsTest, ExplainsTheRangeOfAMemtable) {
  const OneAbove above(RangesOf({{"a", "c", 95}}));
  above_ = &above;
  const auto tree = TreeOf({{{}, {Make(3, {PutOf("a", 30), PutOf("b", 31)})}}});
  Explanation explanation;
  explanation.tables_by_level = {0, 1};
  explanation.memtables.push_back({"memtable", "absent"});
  explanation.memtables.push_back({"sealed memtable 0", "absent", 95});
  EXPECT_EQ(Get(*tree, "b", 99, &explanation), "deleted");
  EXPECT_EQ(explanation.answered_by, "sealed memtable 0");
  EXPECT_EQ(explanation.memtables[1].outcome, "range delete");
  EXPECT_EQ(explanation.tables.back().outcome, "not read");
}

TEST_F(RangeLookupsTest, IteratorsPassTablesOfRangesAlone) {
  const auto tree =
      TreeOf({{{Make(9, {}, RangesOf({{"x", std::nullopt, 90}}))},
               {Make(1, {}, RangesOf({{"", "b", 10}})), Make(2, {PutOf("b", 11), PutOf("c", 12)}),
                Make(4, {}, RangesOf({{"d", "f", 13}})),
                Make(5, {PutOf("f", 14)}, RangesOf({{"g", "h", 15}})),
                Make(6, {}, RangesOf({{"h", "k", 16}}))}}});
  std::vector<std::unique_ptr<InnerIterator>> iterators;
  tree->AddIterators({}, &iterators);
  ASSERT_EQ(iterators.size(), 2u);
  EXPECT_TRUE(EntriesOf(*iterators[0]).empty());
  InnerIterator& run = *iterators[1];
  EXPECT_THAT(EntriesOf(run), ElementsAre(PutOf("b", 11), PutOf("c", 12), PutOf("f", 14)));
  const auto at = [&] { return run.Valid() ? std::string(UserKeyOf(run.key())) : ""; };
  const auto target = [](std::string_view key) { return InternalKey(PutOf(std::string(key), 99)); };
  run.SeekToLast();
  EXPECT_EQ(at(), "f");
  for (int step = 0; step < InnerIterator::kSeekSteps; ++step) run.PrefetchSeek(target("e"), step);
  run.Seek(target("e"));
  EXPECT_EQ(at(), "f");
  run.Prev();
  EXPECT_EQ(at(), "c");
  run.Seek(target("gg"));
  EXPECT_EQ(at(), "");
  run.SeekForPrev(target("i"));
  EXPECT_EQ(at(), "f");
  run.SeekForPrev(target("e"));
  EXPECT_EQ(at(), "c");
  run.SeekForPrev(target("a"));
  EXPECT_EQ(at(), "");
  EXPECT_OK(run.status());

  std::vector<const RangeCover*> covers;
  tree->AddCovers(&covers);
  ASSERT_EQ(covers.size(), 2u);
  EXPECT_EQ(covers[0]->StretchAt(target("y"), kSequenceMax).newest, 90u);
  // Two tables' ranges that meet are one cover.
  uint64_t walked = 0;
  EXPECT_EQ(covers[1]->EndsOfCover(target("g"), kSequenceMax, &walked).of_older, "k");
}

TEST_F(RangeLookupsTest, OnlyRunsWithRangesHaveCovers) {
  const auto tree = TreeOf(
      {{{Make(9, {PutOf("a", 90)})}, {Make(1, {PutOf("a", 10)}, RangesOf({{"b", "c", 9}}))}}});
  std::vector<const RangeCover*> covers;
  tree->AddCovers(&covers);
  ASSERT_EQ(covers.size(), 2u);
  EXPECT_EQ(covers[0], nullptr);
  EXPECT_NE(covers[1], nullptr);
  const auto without = TreeOf({{{Make(8, {PutOf("a", 90)})}}});
  EXPECT_FALSE(without->has_ranges());
}

// --- a store of random tables beside a naive model ---

class RangeLookupsModelTest : public RangeLookupsTest {
 protected:
  // Begins with an empty store.
  void Begin(uint64_t seed) {
    dice_ = Dice(seed);
    newest_ = 0;
    entries_.clear();
    ranges_.clear();
  }

  static constexpr size_t kKeys = 60;
  static std::string KeyOf(size_t i) { return Concat("key", 100 + i); }

  struct Range {
    std::string from;
    std::optional<std::string> to;
    Sequence sequence;
  };
  // Some writes, newer than all before.
  struct Writes {
    std::vector<Entry> entries;
    std::vector<Range> ranges;
  };
  Writes Write(size_t count) {
    Writes made;
    for (; count > 0; --count) {
      ++newest_;
      const std::string key = KeyOf(dice_.Roll(kKeys));
      if (dice_.OneIn(12)) {
        Range& range = made.ranges.emplace_back(Range{key, std::nullopt, newest_});
        if (!dice_.OneIn(6)) range.to = KeyOf(dice_.Roll(kKeys));
      } else if (dice_.OneIn(5)) {
        made.entries.push_back(DeleteOf(key, newest_));
      } else {
        made.entries.push_back(PutOf(key, newest_, Concat("v", newest_)));
      }
    }
    std::sort(made.entries.begin(), made.entries.end(), [](const Entry& a, const Entry& b) {
      return CompareInternalKeys(InternalKey(a), InternalKey(b)) < 0;
    });
    entries_.insert(entries_.end(), made.entries.begin(), made.entries.end());
    ranges_.insert(ranges_.end(), made.ranges.begin(), made.ranges.end());
    return made;
  }
  // Cuts the writes at some keys into tables.
  void MakeTables(const Writes& writes, size_t cuts, uint32_t run, OpenTables* tables) {
    std::vector<std::string> at;
    for (; cuts > 0; --cuts) at.push_back(KeyOf(dice_.Roll(kKeys)));
    std::sort(at.begin(), at.end());
    std::vector<RangeDelete> deletes;
    for (const Range& range : writes.ranges) {
      RangeDelete& made = deletes.emplace_back();
      made.from = range.from;
      if (range.to) made.to = *range.to;
      made.sequence = range.sequence;
    }
    std::vector<Sequence> snapshots(newest_);  // so that no sequence is left out
    std::iota(snapshots.begin(), snapshots.end(), 1);
    const RangeMap map = testing_support::RangesOf(deletes, snapshots);
    for (size_t i = 0; i <= at.size(); ++i) {
      KeySpan span;
      if (i > 0) span.begin = at[i - 1];
      if (i < at.size()) span.end = at[i];
      std::vector<Entry> entries;
      for (const Entry& entry : writes.entries) {
        if (span.Holds(entry.user_key)) entries.push_back(entry);
      }
      const RangeMap within = map.Within(span);
      if (entries.empty() && within.empty()) continue;
      tables->push_back(Make(++number_, entries, within, run));
    }
  }
  std::shared_ptr<const Tree> MakeTree() {
    std::array<OpenTables, kLevels> levels;
    MakeTables(Write(80), 2, 0, &levels[2]);
    MakeTables(Write(40), 2, 0, &levels[1]);
    MakeTables(Write(40), 1, 1, &levels[1]);
    for (int i = 0; i < 3; ++i) MakeTables(Write(20), 0, 0, &levels[0]);
    return TreeOf(std::move(levels));
  }

  std::string Model(std::string_view key, Sequence at) const {
    const Entry* newest = nullptr;
    for (const Entry& entry : entries_) {
      if (entry.user_key == key && entry.sequence <= at &&
          (newest == nullptr || entry.sequence > newest->sequence))
        newest = &entry;
    }
    if (newest == nullptr || newest->kind == EntryKind::kDelete) return "";
    for (const Range& range : ranges_) {
      if (range.sequence <= at && range.sequence > newest->sequence && key >= range.from &&
          (!range.to || key < *range.to))
        return "";
    }
    return newest->value;
  }

  Dice dice_{0};
  uint64_t number_ = 0;  // of tables so far
  Sequence newest_ = 0;
  std::vector<Entry> entries_;
  std::vector<Range> ranges_;
};

class SeededRangeLookupsTest : public RangeLookupsModelTest,
                               public testing::WithParamInterface<int> {};

TEST_P(SeededRangeLookupsTest, AnswersLikeTheModel) {
  Begin(static_cast<uint64_t>(GetParam()));
  if (dice_.OneIn(3)) maker_.filter_kind = "";
  if (dice_.OneIn(4)) maker_.partition_bytes = 256;
  const auto tree = MakeTree();
  for (int round = 0; round < 12; ++round) {
    const Sequence at = dice_.OneIn(3) ? kSequenceMax : dice_.Roll(newest_ + 2);
    SCOPED_TRACE(Concat("at ", at));
    doubts_ = dice_.OneIn(4);
    std::vector<std::string> keys;
    for (size_t i = 0; i < kKeys; ++i) keys.push_back(KeyOf(i));
    std::vector<KeyLookup> lookups;
    for (const std::string& key : keys) lookups.emplace_back(key, at, TableMaker::kDigestSeed);
    {
      const EpochGuard guard;
      tree->MultiGet(lookups, {}, &maker_.files, &maker_.counters);
      for (size_t i = 0; i < kKeys; ++i) {
        const std::string expected = Model(keys[i], at);
        const auto shown = [&](const std::string& text) {
          return text == "absent" || text == "deleted" ? "" : text;
        };
        ASSERT_EQ(shown(TextOf(lookups[i])), expected) << keys[i];
        ASSERT_EQ(shown(Get(*tree, keys[i], at)), expected) << keys[i];
        Explanation explanation;
        ASSERT_EQ(shown(Get(*tree, keys[i], at, &explanation)), expected) << keys[i];
      }
    }

    std::vector<std::unique_ptr<InnerIterator>> iterators;
    std::vector<const RangeCover*> covers;
    tree->AddIterators({}, &iterators);
    tree->AddCovers(&covers);
    const auto merged = NewCoveringIterator(std::move(iterators), covers, at, {});
    for (size_t i = 0; i < kKeys; ++i) {
      std::string target;
      AppendInternalKey(&target, keys[i], at, kEntryKindMax);
      merged->Seek(target);
      std::string found;
      if (merged->Valid() && UserKeyOf(merged->key()) == keys[i] &&
          !IsTombstone(SuffixOf(merged->key())))
        found = merged->value();
      ASSERT_EQ(found, Model(keys[i], at)) << keys[i];
    }
    ASSERT_OK(merged->status());
  }
  EXPECT_GT(Counted().lookups_ended_in_range, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SeededRangeLookupsTest, testing::Range(0, 40));

TEST_F(RangeLookupsModelTest, NoReaderMissesATableThatNoneNeeds) {
  size_t dropped = 0, held = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(Concat("seed ", seed));
    Begin(seed);
    auto tree = MakeTree();
    std::vector<Sequence> snapshots = {newest_};
    for (size_t i = dice_.Roll(4); i > 0; --i) snapshots.push_back(dice_.Roll(newest_));
    const auto has_snapshot = [&](Sequence from, Sequence to) {
      return std::any_of(snapshots.begin(), snapshots.end(),
                         [&](Sequence each) { return from <= each && each < to; });
    };
    for (bool goes_on = true; goes_on;) {
      VersionEdit edit;
      for (const NeedlessTable& needless : tree->needless()) {
        held += needless.IsHeld(has_snapshot);
        if (needless.IsHeld(has_snapshot) || dice_.OneIn(4)) continue;
        edit.removed.push_back({needless.level, needless.table->meta.number});
      }
      dropped += edit.removed.size();
      goes_on = !edit.removed.empty();
      tree = TreeOf(LevelsAfter(*tree, edit, {}));
      for (const Sequence at : snapshots) {
        for (size_t i = 0; i < kKeys; ++i) {
          const std::string found = Get(*tree, KeyOf(i), at);
          ASSERT_EQ(found == "absent" || found == "deleted" ? "" : found, Model(KeyOf(i), at))
              << KeyOf(i) << " at " << at;
        }
      }
    }
  }
  EXPECT_GT(dropped, 40u);
  EXPECT_GT(held, 40u);
}

}  // namespace
}  // namespace lsm
