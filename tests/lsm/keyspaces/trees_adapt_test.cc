// Each tree has an account of its readers, and its share of the memory of all filters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/hash.h"
#include "lsm/filter_goal.h"
#include "lsm/keyspace.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// As in engine_read.cc: a thread looks at the accounts after this many lookups or seeks.
constexpr uint64_t kLookupsBetweenNotes = 16'384, kSeeksBetweenNotes = 1024;

class TreesAdaptTest : public KeyspacesTest {
 protected:
  TreesAdaptTest() { options_.compression = Compression::kNone; }

  // In an order that looks random.
  static std::string KeyAt(uint64_t i) {
    return std::to_string(10'000'000'000'000'000'000u |
                          (bloom::DigestOf(std::to_string(i), 1) >> 1))
        .substr(0, 16);
  }
  static void GetOften(const Keyspace& keyspace, std::string_view key, uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) ASSERT_EQ(Get(keyspace, key), "absent");
  }
  static std::string LevelsOf(const Keyspace& keyspace) {
    std::string shown;
    for (const LevelStatistics& level : keyspace.GetStatistics().levels)
      shown += Concat(shown.empty() ? "" : " ", level.tables);
    return shown.substr(0, 3);  // levels 0 and 1
  }
  static LevelStatistics SumOf(const Keyspace& keyspace) {
    LevelStatistics sum;
    for (const LevelStatistics& level : keyspace.GetStatistics().levels) {
      sum.keys += level.keys;
      sum.filter_bytes += level.filter_bytes;
      sum.expected_wasted_reads += level.expected_wasted_reads;
    }
    return sum;
  }
  static double BitsPerKeyOf(const Keyspace& keyspace) {
    const LevelStatistics sum = SumOf(keyspace);
    return 8 * static_cast<double>(sum.filter_bytes) / static_cast<double>(sum.keys);
  }
  uint64_t ForReaders() { return db_->GetStatistics().compactions_for_readers; }
};

// --- filters ---

constexpr uint64_t kKeysOfTree = 10'000;

class TreesGoalTest : public TreesAdaptTest {
 protected:
  TreesGoalTest() {
    options_.filter_kind = "standard";
    options_.block_cache_bytes = 8 << 20;
  }
  static void Fill(Keyspace& keyspace) {
    for (uint64_t i = 0; i < kKeysOfTree; ++i) ASSERT_OK(keyspace.Put(KeyAt(i), "some value"));
  }
  static void AskForAbsentKeys(const Keyspace& keyspace, uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) ASSERT_EQ(Get(keyspace, KeyAt(kKeysOfTree + i)), "absent");
  }
  void OpenWithTwoTrees() {
    ASSERT_NO_FATAL_FAILURE(Open());
    ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"hot", "cold"}));
    for (const char* const name : {"hot", "cold"}) {
      Keyspace keyspace = OpenKeyspace(name);
      ASSERT_NO_FATAL_FAILURE(Fill(keyspace));
    }
    Flush();
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
};

TEST_F(TreesGoalTest, FiltersFollowTheLookupsOfTheTrees) {
  constexpr uint64_t kBudget = 2 * kKeysOfTree * 10 / 8;
  options_.filter_goal = FilterGoal::Bytes(kBudget);
  ASSERT_NO_FATAL_FAILURE(OpenWithTwoTrees());
  Keyspace hot = OpenKeyspace("hot"), cold = OpenKeyspace("cold");
  for (int round = 0; round < 3; ++round) {
    for (Keyspace* const keyspace : {&cold, &hot}) {
      ASSERT_NO_FATAL_FAILURE(Fill(*keyspace));
      ASSERT_OK(keyspace->CompactRange());
    }
  }
  EXPECT_LE(db_->GetStatistics().total.filter_bytes, kBudget);
  EXPECT_NEAR(BitsPerKeyOf(hot), BitsPerKeyOf(cold), 1.5) << "no lookup has asked yet";
  ASSERT_NO_FATAL_FAILURE(AskForAbsentKeys(hot, 50'000));
  ASSERT_NO_FATAL_FAILURE(AskForAbsentKeys(cold, 500));
  for (int round = 0; round < 3; ++round) {
    for (Keyspace* const keyspace : {&cold, &hot}) {
      ASSERT_NO_FATAL_FAILURE(Fill(*keyspace));
      ASSERT_OK(keyspace->CompactRange());
    }
  }
  // The lookups are 50,500 to 1,000 with those that are spread: 8 bits more, as of the textbook.
  EXPECT_GT(BitsPerKeyOf(hot), BitsPerKeyOf(cold) + 6);
  EXPECT_LT(BitsPerKeyOf(hot), BitsPerKeyOf(cold) + 11);
  const Statistics now = db_->GetStatistics();
  EXPECT_LE(now.total.filter_bytes, kBudget);
  EXPECT_GT(now.total.filter_bytes, kBudget * 8 / 10);
  // A lookup of the store asks the hot tree, mostly.
  const double spread = 500, asked = 50'000, seldom = 500;
  EXPECT_NEAR(now.total.expected_wasted_reads,
              (SumOf(hot).expected_wasted_reads * (asked + spread) +
               SumOf(cold).expected_wasted_reads * (seldom + spread)) /
                  (asked + seldom + 2 * spread),
              1e-6);
  for (uint64_t i = 0; i < kKeysOfTree; i += 7) EXPECT_EQ(Get(cold, KeyAt(i)), "some value");
}

// The goal is for a lookup of the store, so a tree that is seldom asked may waste more.
TEST_F(TreesGoalTest, WastedReadsAreThoseOfTheStore) {
  options_.filter_goal = FilterGoal::WastedReads(0.02);
  ASSERT_NO_FATAL_FAILURE(OpenWithTwoTrees());
  Keyspace hot = OpenKeyspace("hot"), cold = OpenKeyspace("cold");
  ASSERT_NO_FATAL_FAILURE(AskForAbsentKeys(hot, 50'000));
  for (int round = 0; round < 3; ++round) {
    for (Keyspace* const keyspace : {&cold, &hot}) {
      ASSERT_NO_FATAL_FAILURE(Fill(*keyspace));
      ASSERT_OK(keyspace->CompactRange());
    }
  }
  EXPECT_NEAR(db_->GetStatistics().total.expected_wasted_reads, 0.02, 0.004);
  EXPECT_GT(SumOf(cold).expected_wasted_reads, 3 * SumOf(hot).expected_wasted_reads);
}

TEST_F(TreesGoalTest, KeyspacesKeepTheirKindsOfFilters) {
  options_.filter_goal = FilterGoal::BitsPerKey(10);
  ASSERT_NO_FATAL_FAILURE(OpenWithTwoTrees());
  Keyspace hot = OpenKeyspace("hot", {.filter_kind = "ribbon"}), cold = OpenKeyspace("cold");
  for (Keyspace* const keyspace : {&hot, &cold}) {
    ASSERT_NO_FATAL_FAILURE(Fill(*keyspace));
    ASSERT_OK(keyspace->CompactRange());
  }
  const auto kinds_of = [](const Keyspace& keyspace) {
    std::string kinds;
    for (const LevelStatistics& level : keyspace.GetStatistics().levels) kinds += level.filter_kind;
    return kinds;
  };
  EXPECT_EQ(kinds_of(hot), "ribbon");
  EXPECT_EQ(kinds_of(cold), "standard");
}

// A flush of many trees gives the budget once, and not once to each of them.
TEST_F(TreesGoalTest, AFlushSharesTheBudgetAmongItsTables) {
  constexpr uint64_t kBudget = 8'000, kKeys = 400;
  options_.filter_goal = FilterGoal::Bytes(kBudget);
  options_.write_buffer_bytes = 4 << 20;
  ASSERT_NO_FATAL_FAILURE(Open());
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) names.push_back(Concat("k", i));
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees(names));
  Keyspace small = OpenKeyspace("small");
  for (uint64_t i = 0; i < kKeys; ++i) {
    Put(KeyAt(i), "value");
    ASSERT_OK(small.Put(KeyAt(i), "value"));
    for (const std::string& name : names) ASSERT_OK(OpenKeyspace(name).Put(KeyAt(i), "value"));
  }
  Flush();
  const Statistics now = db_->GetStatistics();
  EXPECT_EQ(now.levels[0].tables, 18u);
  EXPECT_EQ(now.total.keys, 18 * kKeys + 17) << "and the names";
  EXPECT_LE(now.total.filter_bytes, kBudget);
  EXPECT_GT(now.total.filter_bytes, kBudget * 9 / 10);
}

// A keyspace that leaves the common tree has its part of the budget.
TEST_F(TreesGoalTest, LeavingKeepsToTheBudget) {
  constexpr uint64_t kBudget = 4'000;
  options_.filter_goal = FilterGoal::Bytes(kBudget);
  ASSERT_NO_FATAL_FAILURE(Open());
  Keyspace keyspace = OpenKeyspace("a");
  for (uint64_t i = 0; i < 2'000 && !keyspace.GetStatistics().has_own_tree; ++i) {
    Put(KeyAt(i), std::string(100, 'd'));
    ASSERT_OK(keyspace.Put(KeyAt(i), std::string(100, 'a')));
  }
  ASSERT_TRUE(keyspace.GetStatistics().has_own_tree);
  EXPECT_LE(db_->GetStatistics().total.filter_bytes, kBudget * 5 / 4);
}

// --- read-triggered compaction ---

class TreesPayTest : public TreesAdaptTest {
 protected:
  TreesPayTest() {
    options_.target_fpp = 0.000001;  // so low that no filter gives a false positive
    options_.level1_bytes = options_.table_bytes = uint64_t{1} << 20;
    options_.write_buffer_bytes = 1 << 20;  // a table below 16 KiB is taken along
  }
  // A merge of two tables over level 1 costs 1 MiB and less than 128 KiB.
  void FillTrees(const std::vector<Keyspace>& keyspaces) {
    for (int table = 0; table < 3; ++table) {
      for (Keyspace keyspace : keyspaces) {
        ASSERT_OK(keyspace.Put("a", std::string(20'000, 'a')));
        ASSERT_OK(keyspace.Put("z", "z"));
      }
      Flush();
      if (table > 0) continue;
      for (Keyspace keyspace : keyspaces) ASSERT_OK(keyspace.CompactRange());
    }
    ASSERT_OK(db_->WaitForBackgroundWork());
    for (const Keyspace& keyspace : keyspaces) {
      if (keyspace.GetStatistics().has_own_tree) {
        ASSERT_EQ(LevelsOf(keyspace), "2 1");
      }
    }
  }
};

TEST_F(TreesPayTest, ReadersPayForTheirOwnTree) {
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"a", "b"}));
  const Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b"), of_default = OpenKeyspace("default");
  ASSERT_NO_FATAL_FAILURE(FillTrees({a, b, of_default}));
  ASSERT_NO_FATAL_FAILURE(GetOften(b, "m", 8 * kLookupsBetweenNotes));
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(LevelsOf(b), "2 1");
  ASSERT_NO_FATAL_FAILURE(GetOften(b, "m", 2 * kLookupsBetweenNotes));
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(LevelsOf(b), "0 1");
  EXPECT_EQ(LevelsOf(a), "2 1");
  EXPECT_EQ(LevelsOf(of_default), "2 1");
  EXPECT_EQ(ForReaders(), 1u);
  // By seeks, and by keys of MultiGet.
  for (uint64_t i = 0; i < 19 * kSeeksBetweenNotes; ++i) a.NewIterator()->Seek("m");
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(LevelsOf(a), "0 1");
  EXPECT_EQ(LevelsOf(of_default), "2 1");
  const std::vector<std::string_view> keys(64, "m");
  for (uint64_t i = 0; i < 10 * kLookupsBetweenNotes / keys.size(); ++i) of_default.MultiGet(keys);
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(LevelsOf(of_default), "0 1");
  EXPECT_EQ(ForReaders(), 3u);
  EXPECT_EQ(db_->GetStatistics().level0_seeks, 38 * kSeeksBetweenNotes);
}

TEST_F(TreesPayTest, ReadersOfTheCommonTreePayTogether) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b"), of_default = OpenKeyspace("default");
  ASSERT_NO_FATAL_FAILURE(FillTrees({a, b, of_default}));
  ASSERT_EQ(Levels(), "4 2");
  ASSERT_NO_FATAL_FAILURE(GetOften(a, "m", 5 * kLookupsBetweenNotes));
  ASSERT_NO_FATAL_FAILURE(GetOften(b, "m", 3 * kLookupsBetweenNotes));
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(Levels(), "4 2");
  ASSERT_NO_FATAL_FAILURE(GetOften(b, "m", 2 * kLookupsBetweenNotes));
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(Levels(), "2 2");
  EXPECT_EQ(LevelsOf(of_default), "2 1");
}

// An account goes with its tree, so what readers of a dropped keyspace paid buys nothing.
TEST_F(TreesPayTest, AccountsEndWithTheirTree) {
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"a", "b"}));
  const Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b");
  ASSERT_NO_FATAL_FAILURE(FillTrees({a, b}));
  ASSERT_NO_FATAL_FAILURE(GetOften(a, "m", 7 * kLookupsBetweenNotes));
  std::unique_ptr<Iterator> iterator = a.NewIterator();
  for (uint64_t i = 0; i < 3 * kSeeksBetweenNotes; ++i) iterator->Seek("m");
  ASSERT_OK(db_->DropKeyspace("a"));
  Flush();
  EXPECT_EQ(a.GetStatistics().lookups, 0u);
  for (uint64_t i = 0; i < 20 * kSeeksBetweenNotes; ++i) iterator->Seek("m");
  iterator = nullptr;  // the last reader of the tree
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(LevelsOf(b), "2 1");
  EXPECT_EQ(ForReaders(), 0u);
  ASSERT_NO_FATAL_FAILURE(GetOften(b, "m", 10 * kLookupsBetweenNotes));
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(LevelsOf(b), "0 1");
}

// --- statistics ---

TEST_F(TreesAdaptTest, KeyspacesCountLookupsAndWrites) {
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"a", "b"}));
  Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b"), small = OpenKeyspace("small");
  const Keyspace of_default = OpenKeyspace("default");
  WriteBatch batch;
  batch.DeleteRange(a, "x", "y");
  batch.Put(a, "key", "value");
  batch.Put(b, "key", "value");
  batch.Put("key", "value");
  batch.Delete("other");
  batch.Delete(small, "other");
  ASSERT_OK(db_->Write(batch));
  ASSERT_OK(a.Put("key2", "value"));
  ASSERT_OK(small.Put("key2", "value"));
  Put("key2", "value");
  EXPECT_EQ(Get(a, "key"), "value") << "of the memtable";
  Flush();
  EXPECT_EQ(Get(a, "key"), "value");
  EXPECT_EQ(Get(a, "no"), "absent");
  const std::vector<std::string_view> keys = {"key", "key2", "no"};
  b.MultiGet(keys);
  EXPECT_EQ(Get(small, "key2"), "value");
  EXPECT_EQ(Get("key"), "value");
  const auto expect = [&](const Keyspace& keyspace, uint64_t lookups, uint64_t writes) {
    EXPECT_EQ(keyspace.GetStatistics().lookups, lookups) << keyspace.name();
    EXPECT_EQ(keyspace.GetStatistics().writes, writes) << keyspace.name();
  };
  const auto expect_all = [&] {
    expect(a, 2, 3);
    expect(b, 3, 1);
    expect(of_default, 1, 3);
    expect(small, 0, 0);
  };
  expect_all();
  EXPECT_EQ(db_->GetStatistics().total.lookups, 7u);
  // Compactions and DB::Resume replace trees, and the counts go on.
  ASSERT_OK(a.CompactRange());
  Fail(FileOperation::kSyncFile, ".log");
  EXPECT_FALSE(db_->Put("unknown", "", {.sync = true}).ok());
  world_.files->SetFault(nullptr);
  ASSERT_OK(db_->Resume());
  expect_all();
  EXPECT_EQ(Get(a, "no"), "absent");
  expect(a, 3, 3);
  ASSERT_NO_FATAL_FAILURE(Open());
  expect(OpenKeyspace("a"), 0, 0);
}

}  // namespace
}  // namespace lsm
