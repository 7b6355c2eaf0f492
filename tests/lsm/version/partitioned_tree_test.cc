// Lookups in trees where some tables have their filters and indexes in partitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/threads/epoch.h"
#include "lsm/version/tree.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/lsm/version/tree_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// Looks up present and absent keys in tables, some of which are partitioned.
class PartitionedTreeTest : public TreeFixture {
 protected:
  static constexpr int kKeys = 600;
  static std::string KeyOf(int i) { return std::to_string(100'000 + i); }

  // Level 0 has every fifth key, a tenth of them as tombstones.  Level 1 has every third key.
  // Level 2 has all even keys, in two tables.
  void MakeTree(std::optional<size_t> cache_bytes = 1 << 20) {
    if (cache_bytes) cache_ = std::make_unique<BlockCache>(*cache_bytes);
    maker_.context.block_cache = cache_.get();
    maker_.context.partitions_on_demand = true;
    std::vector<Entry> level0, level1, low, high;
    for (int i = 0; i < kKeys; ++i) {
      if (i % 5 == 0)
        level0.push_back(i % 50 == 0 ? DeleteOf(KeyOf(i), 5000 + static_cast<Sequence>(i))
                                     : PutOf(KeyOf(i), 5000 + static_cast<Sequence>(i), "top"));
      if (i % 3 == 0) level1.push_back(PutOf(KeyOf(i), 3000 + static_cast<Sequence>(i), "middle"));
      if (i % 2 == 0)
        (i < kKeys / 2 ? low : high)
            .push_back(PutOf(KeyOf(i), 1000 + static_cast<Sequence>(i), "deep"));
    }
    std::array<OpenTables, kLevels> levels;
    levels[0] = {maker_.Make(9, level0)};
    maker_.partition_bytes = 16;
    levels[1] = {maker_.Make(8, level1)};
    levels[2] = {maker_.Make(6, low), maker_.Make(7, high)};
    for (const auto& table : levels[2]) ASSERT_GT(table->table->partitions().count(), 3u);
    ASSERT_OK_AND_ASSIGN(tree_, Tree::Create(std::move(levels)));
  }
  static std::string Expected(int i) {
    if (i % 50 == 0) return "deleted";
    return i % 5 == 0 ? "top" : i % 3 == 0 ? "middle" : i % 2 == 0 ? "deep" : "absent";
  }
  std::string Find(int i, Explanation* explanation = nullptr) {
    KeyLookup lookup(KeyOf(i), kSequenceMax, TableMaker::kDigestSeed);
    lookup.explanation = explanation;
    const EpochGuard guard;
    tree_->Get(&lookup, {}, &maker_.counters);
    return TextOf(lookup);
  }

  std::unique_ptr<BlockCache> cache_;  // outlives the tree
  std::shared_ptr<const Tree> tree_;
};

TEST_F(PartitionedTreeTest, AnswersMatchWholeTables) {
  for (const std::optional<size_t> cache_bytes :
       {std::optional<size_t>(), std::optional<size_t>(0), std::optional<size_t>(4000),
        std::optional<size_t>(1 << 20)}) {
    maker_.partition_bytes = 0;
    tree_ = nullptr;
    for (const uint64_t number : {6, 7, 8, 9})
      maker_.directory->Remove(TableFileName(number)).IgnoreError();
    MakeTree(cache_bytes);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < kKeys; ++i) ASSERT_EQ(Find(i), Expected(i)) << i;
      std::vector<KeyLookup> lookups;
      for (int i = 0; i < kKeys; ++i)
        lookups.emplace_back(KeyOf(i), kSequenceMax, TableMaker::kDigestSeed);
      const EpochGuard guard;
      tree_->MultiGet(lookups, {}, &maker_.files, &maker_.counters);
      for (int i = 0; i < kKeys; ++i) {
        ASSERT_EQ(TextOf(lookups[static_cast<size_t>(i)]), Expected(i)) << i;
      }
    }
    tree_ = nullptr;
  }
}

TEST_F(PartitionedTreeTest, ReadsNoTablesBelowTheAnswer) {
  MakeTree();
  EXPECT_EQ(Find(5), "top");
  Statistics statistics;
  maker_.counters.SumInto(&statistics);
  EXPECT_EQ(statistics.total.partitions_from_file, 0u);
  Explanation explanation;
  EXPECT_EQ(Find(9, &explanation), "middle");
  maker_.counters.SumInto(&statistics);
  EXPECT_EQ(statistics.levels[1].partitions_from_file, 2u);
  EXPECT_EQ(statistics.levels[2].partitions_from_file, 0u);
  ASSERT_EQ(explanation.tables.back().partitions.size(), 2u);
  EXPECT_EQ(Find(9), "middle");
  maker_.counters.SumInto(&statistics);
  EXPECT_EQ(statistics.levels[1].partitions_from_cache, 2u);
  // Reads of filter partitions that answer "no" count too.
  for (int i = 1; i < kKeys; i += 2) Find(i);
  maker_.counters.SumInto(&statistics);
  EXPECT_GT(statistics.levels[2].partitions_from_cache, 100u);
  EXPECT_GT(statistics.levels[2].reads_avoided, 100u);
  EXPECT_LT(statistics.levels[2].observed_fpp(), 0.05);
}

TEST_F(PartitionedTreeTest, DamagedFilterPartitionsAreNoFalsePositives) {
  MakeTree();
  const Table& table = *tree_->level(2)[0]->table;
  std::string bytes = maker_.files.FileBytes(table.path());
  for (size_t i = 0; i < table.partitions().count(); ++i)
    bytes[table.partitions().entry(i).filter.offset + 3] ^= 1;
  maker_.files.SetFileBytes(table.path(), bytes);
  for (int i = 0; i < kKeys; ++i) ASSERT_EQ(Find(i), Expected(i)) << i;
  Statistics statistics;
  maker_.counters.SumInto(&statistics);
  EXPECT_GT(statistics.levels[2].filters_damaged, 100u);
  EXPECT_GT(statistics.levels[2].wasted_reads, 50u);
  EXPECT_LT(statistics.levels[2].false_positives, 10u);
}

}  // namespace
}  // namespace lsm
