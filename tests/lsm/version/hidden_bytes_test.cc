// How many bytes of tables range deletes hide: the estimate of a tree against a count of its
// entries.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/block/covered_keys.h"
#include "lsm/bytes/status.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/tree.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/lsm/version/tree_fixture.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

std::string KeyOf(size_t i) { return Concat(10'000 + i); }

Statistics StatisticsOf(const Tree& tree) {
  Statistics of_tree, statistics;
  tree.Describe(&of_tree);
  statistics.SumTrees({&of_tree, 1});
  return statistics;
}

// --- covered keys ---

void Add(const RangeMap& ranges, CoveredKeys* covered) {
  const RangeMap* const maps[] = {&ranges};
  covered->Add(maps, [](std::string_view) { return true; });
}

std::string TextOf(const CoveredKeys& covered, const KeySpan& span = {}) {
  std::string text;
  covered.Within(span, [&](std::string_view begin, std::optional<std::string_view> end) {
    text += Concat(text.empty() ? "" : " ", begin, "..", end.value_or(""));
  });
  return text;
}

TEST(CoveredKeysTest, JoinsSpansThatMeet) {
  const RangeMap first = RangesOf({{"b", "f", 1}, {"k", "m", 2}, {"p", "r", 3}}),
                 meets = RangesOf({{"f", "g", 1}}), within = RangesOf({{"l", "la", 9}}),
                 over = RangesOf({{"e", "q", 4}}), open = RangesOf({{"z", {}, 5}});
  CoveredKeys covered;
  EXPECT_TRUE(covered.empty());
  EXPECT_EQ(TextOf(covered), "");
  Add(first, &covered);
  EXPECT_EQ(TextOf(covered), "b..f k..m p..r");
  Add(meets, &covered);
  Add(within, &covered);
  EXPECT_EQ(TextOf(covered), "b..g k..m p..r");
  EXPECT_EQ(TextOf(covered, {"c", KeyEnd("l")}), "c..g k..");
  EXPECT_EQ(TextOf(covered, {"m", KeyEnd("p")}), "");
  EXPECT_TRUE(covered.Covers({"b", KeyEnd("g")}));
  EXPECT_FALSE(covered.Covers({"a", KeyEnd("c")}));
  EXPECT_FALSE(covered.Covers({"f", KeyEnd("l")}));
  EXPECT_FALSE(covered.Covers({"x", KeyEnd("y")}));
  Add(open, &covered);
  EXPECT_FALSE(covered.Covers({"q", std::nullopt}));
  EXPECT_TRUE(covered.Covers({"zz", std::nullopt}));
  Add(over, &covered);
  EXPECT_EQ(TextOf(covered), "b..r z..");
}

TEST(CoveredKeysTest, HasTheKeysOfItsMaps) {
  testing_support::Dice dice(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<RangeMap> maps;
    std::array<bool, 30> expected = {};
    for (size_t map = 0; map < 1 + dice.Roll(4); ++map) {
      std::vector<RangeDelete> ranges;
      std::vector<std::string> keys;
      keys.reserve(20);
      for (size_t i = 0; i < dice.Roll(6); ++i) {
        const size_t from = dice.Roll(30), to = from + 1 + dice.Roll(5);
        keys.push_back(KeyOf(from));
        keys.push_back(KeyOf(to));
        const bool is_open = to > 30;
        ranges.push_back({keys[keys.size() - 2],
                          is_open ? std::nullopt : std::optional<std::string_view>(keys.back()),
                          1 + i});
        for (size_t key = from; key < std::min<size_t>(to, 30); ++key) expected[key] = true;
      }
      maps.push_back(RangeMap::Of(ranges));
    }
    CoveredKeys covered;
    if (dice.OneIn(2)) {
      for (const RangeMap& map : maps) Add(map, &covered);
    } else {  // all together
      std::vector<const RangeMap*> all;
      for (const RangeMap& map : maps) all.push_back(&map);
      covered.Add(all, [](std::string_view) { return true; });
    }
    std::array<bool, 30> found = {};
    std::string_view last;
    covered.Within({}, [&](std::string_view begin, std::optional<std::string_view> end) {
      EXPECT_TRUE(last.empty() || last < begin);
      last = end.value_or(begin);
      for (size_t key = 0; key < 30; ++key)
        found[key] |= begin <= KeyOf(key) && (!end || KeyOf(key) < *end);
    });
    EXPECT_EQ(found, expected) << round;
  }
}

// --- trees ---

// A tree with three tables in level 0, one run in level 1 and two in level 2.  Each run has some of
// the keys, and ranges that are newer than its entries, as if a snapshot had kept these.
class HiddenBytesTest : public TreeFixture {
 protected:
  static constexpr size_t kKeys = 2000;

  struct Part {  // a table, and what it was made of
    std::shared_ptr<const OpenTable> table;
    std::vector<Entry> entries;
    RangeMap ranges;
    int level;
    uint32_t run;
  };

  // The user key in the tree.
  virtual std::string InTree(size_t i) { return KeyOf(i); }
  // Where a range that begins at the key must end.
  virtual size_t EndFor(size_t) { return kKeys; }

  std::vector<Part> Make(testing_support::Dice* dice) {
    std::vector<Part> parts;
    Sequence sequence = 0;
    // From the oldest run on.
    for (const auto& [level, run, tables] : {std::tuple(2, 0u, size_t{4}),
                                             {2, 1u, 2},
                                             {1, 0u, 4},
                                             {0, 0u, 1},
                                             {0, 0u, 1},
                                             {0, 0u, 1}}) {
      sequence += 100'000;
      const size_t one_in = level == 2 ? 1 : 2 + dice->Roll(6);
      const size_t range_count = dice->OneIn(3) ? 0 : dice->Roll(12);
      for (size_t i = 0; i < tables; ++i) {
        Part part{nullptr, {}, {}, level, run};
        const size_t begin = kKeys / tables * i, end = kKeys / tables * (i + 1);
        for (size_t key = begin; key < end; ++key) {
          if (dice->OneIn(one_in))
            part.entries.push_back(
                PutOf(InTree(key), ++sequence, std::string(20 + dice->Roll(80), 'v')));
        }
        std::vector<std::string> keys;
        keys.reserve(2 * range_count);
        std::vector<RangeDelete> ranges;
        for (size_t range = 0; range < range_count; ++range) {
          const size_t from = begin + dice->Roll(end - begin),
                       width = 1 + dice->Roll(dice->OneIn(4) ? 400 : 30),
                       to = std::min({end, from + width, EndFor(from)});
          keys.push_back(InTree(from));
          keys.push_back(InTree(to));
          ranges.push_back({keys[keys.size() - 2], keys.back(), sequence + 50'000 + range});
        }
        part.ranges = RangeMap::Of(ranges);
        part.table = maker_.Make(++number_, part.entries, 0, run, part.ranges);
        parts.push_back(std::move(part));
      }
    }
    return parts;
  }

  static std::array<OpenTables, kLevels> LevelsOf(const std::vector<Part>& parts) {
    std::array<OpenTables, kLevels> levels;
    for (const Part& part : parts) levels[static_cast<size_t>(part.level)].push_back(part.table);
    return levels;
  }

  // The bytes of the table whose keys a range of its own or of a newer run covers.
  double Count(const std::vector<Part>& parts, const Part& in) {
    double hidden = 0, all = 0;
    for (const Entry& entry : in.entries) {
      const auto bytes = static_cast<double>(entry.user_key.size() + entry.value.size() + 12);
      all += bytes;
      const bool is_hidden = std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
        return part.ranges.NewestAt(entry.user_key, kSequenceMax) > entry.sequence;
      });
      if (is_hidden && IsLive(entry.user_key)) hidden += bytes;
    }
    return all == 0 ? 0 : hidden / all * static_cast<double>(in.table->meta.file_bytes);
  }
  // False for keys of no member.
  virtual bool IsLive(std::string_view) { return true; }

  uint64_t number_ = 0;
  double estimated_ = 0, counted_ = 0;  // of all trees
  void Compare(const Tree& tree, const std::vector<Part>& parts, double tolerance) {
    const Statistics statistics = StatisticsOf(tree);
    double oldest_run_bytes = 0, hidden_in_oldest_run = 0;
    for (int level = 0; level < 3; ++level) {
      double count = 0;
      for (const Part& part : parts) {
        if (part.level != level) continue;
        count += Count(parts, part);
        if (level != 2 || part.run != 0) continue;
        oldest_run_bytes += static_cast<double>(part.table->meta.file_bytes);
        hidden_in_oldest_run += Count(parts, part);
      }
      const auto estimate =
          static_cast<double>(statistics.levels[static_cast<size_t>(level)].hidden_bytes);
      EXPECT_NEAR(estimate, count, tolerance) << level;
      estimated_ += estimate;
      counted_ += count;
    }
    if (tree.members() != nullptr) return;
    EXPECT_NEAR(static_cast<double>(statistics.live_bytes), oldest_run_bytes - hidden_in_oldest_run,
                tolerance);
  }
};

TEST_F(HiddenBytesTest, AgreesWithACountOfTheEntries) {
  testing_support::Dice dice(1);
  for (int round = 0; round < 60; ++round) {
    const std::vector<Part> parts = Make(&dice);
    // A tenth of the oldest run.
    Compare(*TreeOf(LevelsOf(parts)), parts, 16 << 10);
  }
  EXPECT_GT(counted_, 60 * 50e3);
  EXPECT_NEAR(estimated_ / counted_, 1, 0.01);
}

TEST_F(HiddenBytesTest, AgreesIfPartitionsAreOnDisk) {
  maker_.partition_bytes = 64;
  maker_.context.partitions_on_demand = true;
  testing_support::Dice dice(2);
  for (int round = 0; round < 60; ++round) {
    const std::vector<Part> parts = Make(&dice);
    const auto tree = TreeOf(LevelsOf(parts));
    ASSERT_TRUE(parts[0].table->table->reads_partitions());
    const uint64_t read = Counted().total.partitions_from_file;
    Compare(*tree, parts, 32 << 10);
    EXPECT_EQ(Counted().total.partitions_from_file, read) << "no partition is read";
  }
  EXPECT_NEAR(estimated_ / counted_, 1, 0.03);
}

class HiddenBytesInCommonTreeTest : public HiddenBytesTest {
 protected:
  HiddenBytesInCommonTreeTest() { maker_.keyspace = kCommonTree; }
  // The keyspaces 1 to 8.
  std::string InTree(size_t i) override {
    return CommonKeyOf(static_cast<KeyspaceId>(1 + i / (kKeys / 8)), KeyOf(i));
  }
  // A range ends with its keyspace.
  size_t EndFor(size_t i) override { return (i / (kKeys / 8) + 1) * (kKeys / 8); }
  bool IsLive(std::string_view key) override { return members_->Has(KeyspaceOf(key)); }

  const std::shared_ptr<const Members> members_ =
      std::make_shared<const Members>(std::vector<KeyspaceId>{1, 3, 4, 7});
};

TEST_F(HiddenBytesInCommonTreeTest, BytesOfNoMemberCountOnce) {
  testing_support::Dice dice(4);
  for (int round = 0; round < 60; ++round) {
    const std::vector<Part> parts = Make(&dice);
    const auto tree = Tree::Create(LevelsOf(parts), kCommonTree, members_);
    ASSERT_OK(tree);
    Compare(**tree, parts, 16 << 10);
    const Statistics statistics = StatisticsOf(**tree);
    for (const LevelStatistics& level : statistics.levels)
      EXPECT_LE(level.freeable_bytes + level.hidden_bytes, level.table_bytes);
  }
  EXPECT_NEAR(estimated_ / counted_, 1, 0.02);
}

// --- tables that ranges cover otherwise ---

class HiddenTablesTest : public TreeFixture {
 protected:
  // 1,000 keys with these sequences.
  static std::vector<Entry> Puts(Sequence first, size_t begin = 0, size_t end = 1000) {
    std::vector<Entry> entries;
    for (size_t i = begin; i < end; ++i)
      entries.push_back(PutOf(KeyOf(i), first + i, std::string(100, 'v')));
    return entries;
  }
  static uint64_t HiddenIn(const Tree& tree, size_t level) {
    return StatisticsOf(tree).levels[level].hidden_bytes;
  }
  // The part of the table, in percent.
  static double PercentOf(uint64_t bytes, const std::shared_ptr<const OpenTable>& table) {
    return 100 * static_cast<double>(bytes) / static_cast<double>(table->meta.file_bytes);
  }
};

TEST_F(HiddenTablesTest, ACoveredTableCountsWhole) {
  const auto table = maker_.Make(1, Puts(1));
  const auto over = maker_.Make(2, {}, 0, 0, RangesOf({{"0", "5", 5000}})),
             again = maker_.Make(3, {}, 0, 0, RangesOf({{"0", {}, 6000}})),
             later = maker_.Make(4, {PutOf("7", 7000)});
  const auto tree = TreeOf({{{over, again, later}, {table}}});
  ASSERT_EQ(tree->needless().size(), 2u);
  EXPECT_EQ(HiddenIn(*tree, 1), table->meta.file_bytes) << "once";
  EXPECT_EQ(HiddenIn(*tree, 0), over->meta.file_bytes);
  EXPECT_EQ(StatisticsOf(*tree).live_bytes, 0u);
  // The rule of compactions does not see it.
  EXPECT_EQ(tree->tombstone_gain(), 0);
  EXPECT_EQ(StatisticsOf(*tree).total.freeable_bytes, 0u);
}

TEST_F(HiddenTablesTest, OlderRangesHideNothing) {
  const auto ranges = maker_.Make(1, {}, 0, 0, RangesOf({{"0", {}, 1}}));
  const auto table = maker_.Make(2, Puts(2));
  EXPECT_EQ(HiddenIn(*TreeOf({{{}, {table}, {ranges}}}), 1), 0u);
}

TEST_F(HiddenTablesTest, OwnRangesHideOlderEntries) {
  // Newer than all entries.
  const RangeMap above = RangesOf({{KeyOf(100), KeyOf(800), 5000}});
  const auto kept = maker_.Make(1, Puts(1), 0, 0, above);
  EXPECT_NEAR(PercentOf(HiddenIn(*TreeOf({{{}, {kept}}}), 1), kept), 70, 1);
  // Newer than half of the entries: of the rest there, some may be newer.
  const RangeMap between = RangesOf({{KeyOf(0), KeyOf(400), 500}});
  const auto mixed = maker_.Make(2, Puts(1), 0, 0, between);
  EXPECT_NEAR(PercentOf(HiddenIn(*TreeOf({{{}, {mixed}}}), 1), mixed), 20, 1);
  // A compaction above an older table keeps the range for that table, without a snapshot.
  const auto older = maker_.Make(3, {PutOf(KeyOf(7), 1)});
  EXPECT_EQ(HiddenIn(*TreeOf({{{}, {mixed}, {older}}}), 1), 0u);
  // Older than all entries.
  const auto newer = maker_.Make(4, Puts(1000), 0, 0, between);
  EXPECT_EQ(HiddenIn(*TreeOf({{{}, {newer}}}), 1), 0u);
  // Its own ranges and newer ones count once.
  const auto over = maker_.Make(5, {}, 0, 0, RangesOf({{KeyOf(0), KeyOf(500), 9000}}));
  EXPECT_NEAR(PercentOf(HiddenIn(*TreeOf({{{over}, {kept}}}), 1), kept), 80, 1);
}

TEST_F(HiddenTablesTest, DeadEntriesCountOnce) {
  // Every other entry is an older version.
  std::vector<Entry> entries;
  for (size_t i = 0; i < 1000; ++i) {
    for (const Sequence sequence : {2000 + i, 1 + i})
      entries.push_back(PutOf(KeyOf(i), sequence, std::string(100, 'v')));
  }
  const auto table = maker_.Make(1, entries);
  ASSERT_NEAR(PercentOf(table->meta.dead.dead_bytes, table), 47, 3);
  const auto over = maker_.Make(2, {}, 0, 0, RangesOf({{KeyOf(0), KeyOf(600), 9000}}));
  const auto tree = TreeOf({{{over}, {table}}});
  const double alive = 100 - PercentOf(table->meta.dead.dead_bytes, table);
  EXPECT_NEAR(PercentOf(HiddenIn(*tree, 1), table), 0.6 * alive, 1);
  EXPECT_NEAR(PercentOf(StatisticsOf(*tree).live_bytes, table), 0.4 * alive, 1);
}

TEST_F(HiddenTablesTest, CoveredBytesCountOnce) {
  const auto table = maker_.Make(1, Puts(1));
  // Tombstones for the first 500 keys, and a range for 250 of these and 250 others.
  std::vector<Entry> deletes;
  for (size_t i = 0; i < 500; ++i) deletes.push_back(DeleteOf(KeyOf(i), 2000 + i));
  maker_.covered_bytes = table->meta.file_bytes / 2;
  const auto tombstones = maker_.Make(2, deletes);
  const auto over = maker_.Make(3, {}, 0, 0, RangesOf({{KeyOf(250), KeyOf(750), 9000}}));
  const auto tree = TreeOf({{{tombstones, over}, {table}}});
  EXPECT_NEAR(PercentOf(HiddenIn(*tree, 1), table), 25, 2);
  EXPECT_NEAR(PercentOf(StatisticsOf(*tree).live_bytes, table), 25, 2);
  // In the other order of writes, too: keys were put again, and deleted.
  const auto under = maker_.Make(4, {}, 0, 0, RangesOf({{KeyOf(250), KeyOf(750), 1500}}));
  const auto newest = maker_.Make(5, deletes);
  EXPECT_NEAR(PercentOf(StatisticsOf(*TreeOf({{{newest, under}, {table}}})).live_bytes, table), 25,
              2);
}

}  // namespace
}  // namespace lsm
