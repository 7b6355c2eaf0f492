// The tables of a tree whose entries have expired.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/keyspace_state.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/snapshot_list.h"
#include "tests/lsm/version/tree_fixture.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr KeyspaceId kOwnTree = 7, kInCommonTree = 8, kOtherInCommonTree = 9;

class ExpiredTablesTest : public TreeFixture {
 protected:
  static Entry TimedPutOf(std::string key, uint32_t time, Sequence sequence) {
    std::string value;
    AppendTimed(&value, time, "v");
    return {std::move(key), sequence, EntryKind::kTimedPut, std::move(value)};
  }
  // A table of `run` with the keys `first` to `last`, all written at `time`.
  std::shared_ptr<const OpenTable> Table(char first, char last, uint32_t time, uint32_t run) {
    std::vector<Entry> entries;
    for (char key = first; key <= last; ++key)
      entries.push_back(TimedPutOf(std::string(1, key), time, 100 + run));
    maker_.keyspace = kOwnTree;
    return OfRun(run, ++number_, entries);
  }
  std::shared_ptr<const Tree> OwnTree(std::vector<OpenTables> levels) {
    std::array<OpenTables, kLevels> all;
    std::move(levels.begin(), levels.end(), all.begin());
    return Tree::Create(std::move(all), kOwnTree).value();
  }
  // The number beside an id is the seconds for which the entries of this keyspace live.
  static std::shared_ptr<const LimitTable> LimitsOf(
      std::vector<std::pair<KeyspaceId, uint32_t>> seconds) {
    std::vector<LimitTable::Row> rows;
    for (const auto& [id, each] : seconds) rows.push_back({id, {each, {0, /*timed_from=*/1}}});
    return std::make_shared<const LimitTable>(std::move(rows));
  }
  static SnapshotList Present(std::shared_ptr<const LimitTable> limits, uint32_t now) {
    SnapshotList present;
    auto expiry = std::make_shared<JobExpiry>();
    expiry->now = {now, std::move(limits)};
    present.expiry = std::move(expiry);
    return present;
  }
  // The numbers of the tables that can go from this level at time 1000, if entries live for 100 s.
  static std::vector<uint64_t> ExpiredIn(const Tree& tree, int level, uint64_t taken = 0) {
    const SnapshotList present = Present(LimitsOf({{kOwnTree, 100}}), 1000);
    ExpiryByKeyspace expiry(&present);
    std::vector<uint64_t> numbers;
    for (const auto& table : tree.Expired(
             level, expiry, [&](const OpenTable& each) { return each.meta.number == taken; }))
      numbers.push_back(table->meta.number);
    return numbers;
  }

  uint64_t number_ = 0;
};

TEST_F(ExpiredTablesTest, OlderOnesOfTheLevelGoFirst) {
  // Newest run first.
  const auto tree = OwnTree({{},
                             {Table('a', 'm', 10, 3), Table('a', 'c', 20, 2),
                              Table('d', 'f', 30, 2), Table('b', 'z', 40, 1)}});
  EXPECT_THAT(ExpiredIn(*tree, 1), ElementsAre(4, 2, 3, 1));
}

TEST_F(ExpiredTablesTest, TablesStayAboveThoseThatStay) {
  const auto tree =
      OwnTree({{},
               {Table('a', 'm', 10, 3), Table('n', 'z', 10, 3), Table('a', 'c', 20, 2),
                Table('d', 'f', 950, 2), Table('g', 'i', 30, 2), Table('b', 'b', 40, 1)}});
  EXPECT_THAT(ExpiredIn(*tree, 1), ElementsAre(6, 3, 5, 2)) << "table 4 lives, so table 1 stays";
  EXPECT_THAT(ExpiredIn(*tree, 1, /*taken=*/6), ElementsAre(5, 2)) << "so does table 3";
}

TEST_F(ExpiredTablesTest, TablesStayAboveDeeperOnes) {
  const auto tree =
      OwnTree({{}, {Table('a', 'c', 10, 1), Table('d', 'f', 10, 1)}, {Table('e', 'z', 10, 1)}});
  EXPECT_THAT(ExpiredIn(*tree, 1), ElementsAre(1));
  EXPECT_THAT(ExpiredIn(*tree, 2), ElementsAre(3));
  EXPECT_THAT(ExpiredIn(*tree, 0), IsEmpty());
}

TEST_F(ExpiredTablesTest, LimitsOfOtherTreesDoNotCount) {
  maker_.keyspace = kCommonTree;
  const auto table =
      maker_.Make(++number_, {TimedPutOf(CommonKeyOf(kInCommonTree, "a"), 10, 1),
                              TimedPutOf(CommonKeyOf(kOtherInCommonTree, "a"), 10, 2)});
  const auto members = std::make_shared<const Members>(
      std::vector<KeyspaceId>{kNamesInCommonTree, kInCommonTree, kOtherInCommonTree});
  const auto tree = Tree::Create({{{table}}}, kCommonTree, members).value();
  EXPECT_FALSE(tree->MayHaveExpired(*LimitsOf({{kOwnTree, 100}, {kInCommonTree, 995}}), 1000));
  EXPECT_TRUE(tree->MayHaveExpired(*LimitsOf({{kOwnTree, 100}, {kInCommonTree, 985}}), 1000));
}

}  // namespace
}  // namespace lsm
