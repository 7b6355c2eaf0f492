// The wasted reads that each table counts.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/threads/epoch.h"
#include "lsm/version/tree.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

constexpr int kLookups = 2000;

class WastedReadsTest : public testing::Test {
 protected:
  // Makes a table with the keys 1'000 to 1'199.
  std::shared_ptr<const OpenTable> Table(uint64_t number, Sequence sequence = 1) {
    std::vector<Entry> entries;
    for (int i = 0; i < 200; ++i) entries.push_back(PutOf(std::to_string(1'000 + i), sequence));
    return maker_.Make(number, entries);
  }
  static std::string AbsentKey(int i) { return Concat(1'000 + i % 199, " is absent ", i); }

  TableAnswer Get(const Tree& tree, const std::string& key, Sequence sequence = kSequenceMax,
                  bool doubt_filters = false) {
    const EpochGuard guard;
    KeyLookup lookup(key, sequence, TableMaker::kDigestSeed);
    lookup.doubt_filters = doubt_filters;
    tree.Get(&lookup, {}, &maker_.counters);
    EXPECT_OK(lookup.status);
    return lookup.result.answer;
  }
  void MultiGetAbsent(const Tree& tree) {
    constexpr int kAtOnce = 20;
    for (int first = 0; first < kLookups; first += kAtOnce) {
      const EpochGuard guard;
      std::vector<std::string> keys;
      for (int i = first; i < first + kAtOnce; ++i) keys.push_back(AbsentKey(i));
      std::vector<KeyLookup> lookups;
      for (const std::string& key : keys)
        lookups.emplace_back(key, kSequenceMax, TableMaker::kDigestSeed);
      tree.MultiGet(lookups, {}, &maker_.files, &maker_.counters);
      for (const KeyLookup& lookup : lookups) {
        EXPECT_OK(lookup.status);
        EXPECT_EQ(lookup.result.answer, TableAnswer::kAbsent);
      }
    }
  }

  static double SeenBy(const OpenTable& table) { return table.wasted_reads->Get(0, 0).seen; }
  double Counted(int level) const {
    Statistics statistics;
    maker_.counters.SumInto(&statistics);
    return static_cast<double>(statistics.levels[static_cast<size_t>(level)].wasted_reads);
  }

  TableMaker maker_;
};

TEST_F(WastedReadsTest, CountsEachOnceInAnyLookup) {
  maker_.target_fpp = 0.2;
  const auto upper = Table(1, 5);
  maker_.target_fpp = 0.05;
  const auto lower = Table(2);
  const auto tree = Tree::Create({OpenTables{}, {upper}, {lower}}).value();
  for (int i = 0; i < kLookups; ++i) EXPECT_EQ(Get(*tree, AbsentKey(i)), TableAnswer::kAbsent);
  const double upper_seen = SeenBy(*upper), lower_seen = SeenBy(*lower);
  EXPECT_EQ(upper_seen, Counted(1));
  EXPECT_EQ(lower_seen, Counted(2));
  EXPECT_NEAR(upper_seen, 0.2 * kLookups, 0.06 * kLookups);
  EXPECT_NEAR(lower_seen, 0.05 * kLookups, 0.03 * kLookups);
  // Lookups of keys in the table are not wasted, and neither are those that an upper table answers.
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(Get(*tree, std::to_string(1'000 + i)), TableAnswer::kFound);
  EXPECT_EQ(SeenBy(*upper), upper_seen);
  EXPECT_EQ(SeenBy(*lower), lower_seen);
  MultiGetAbsent(*tree);
  EXPECT_EQ(SeenBy(*upper), 2 * upper_seen);
  EXPECT_EQ(SeenBy(*lower), 2 * lower_seen);
}

TEST_F(WastedReadsTest, WithoutAFilterEveryWastedReadCounts) {
  maker_.filter_kind = "";
  const auto table = Table(1);
  const auto tree = Tree::Create({OpenTables{}, {table}}).value();
  for (int i = 0; i < 50; ++i) Get(*tree, AbsentKey(i));
  EXPECT_EQ(SeenBy(*table), 50);
  for (int i = 0; i < 50; ++i) Get(*tree, std::to_string(1'000 + i));
  EXPECT_EQ(SeenBy(*table), 50);  // not wasted
}

// A reader of an older state does not see a key that the filter rightly contains.  No filter could
// have avoided that read.
TEST_F(WastedReadsTest, NewerVersionsAreNotWasted) {
  const auto table = Table(1, /*sequence=*/9);
  const auto tree = Tree::Create({OpenTables{}, {table}}).value();
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(Get(*tree, std::to_string(1'000 + i), /*sequence=*/5), TableAnswer::kAbsent);
  EXPECT_EQ(Counted(1), 200);
  EXPECT_EQ(SeenBy(*table), 0);
}

// A check of a filter reads a table although the filter answers "no".
TEST_F(WastedReadsTest, DoubtsDoNotCount) {
  maker_.target_fpp = 0.001;
  const auto table = Table(1);
  const auto tree = Tree::Create({OpenTables{}, {table}}).value();
  for (int i = 0; i < kLookups; ++i) Get(*tree, AbsentKey(i), kSequenceMax, /*doubt_filters=*/true);
  EXPECT_LT(SeenBy(*table), 12);
  EXPECT_EQ(SeenBy(*table), Counted(1));
}

TEST_F(WastedReadsTest, TablesContinueInheritedCounts) {
  const TableMeta meta = Table(1)->meta;
  ASSERT_OK_AND_ASSIGN(const auto table,
                       OpenTableFile(*maker_.directory, meta, ReadMode::kBuffered, maker_.context,
                                     WastedReads{6, 7}, /*lookups=*/1000));
  const WastedReads reads = table->wasted_reads->Get(/*lookups=*/1500, /*expected=*/0.1);
  EXPECT_EQ(reads.seen, 6);
  EXPECT_DOUBLE_EQ(reads.expected, 7 + 50);
}

}  // namespace
}  // namespace lsm
