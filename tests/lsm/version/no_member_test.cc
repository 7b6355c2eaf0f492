// Which bytes of the common tree's tables belong to no member.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/version/common_keys.h"
#include "lsm/version/version.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/lsm/version/tree_fixture.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class NoMemberTest : public TreeFixture {
 protected:
  NoMemberTest() { maker_.keyspace = kCommonTree; }

  // A table with `keys` keys of each id, and values of this size.
  std::shared_ptr<const OpenTable> TableOf(const std::vector<KeyspaceId>& ids, int keys,
                                           size_t value_bytes) {
    std::vector<Entry> entries;
    for (const KeyspaceId id : ids) {
      for (int i = 0; i < keys; ++i)
        entries.push_back(PutOf(CommonKeyOf(id, std::to_string(1000 + i)), ++sequence_,
                                std::string(value_bytes, 'v')));
    }
    return maker_.Make(++number_, entries);
  }
  static std::shared_ptr<const Members> MembersOf(std::vector<KeyspaceId> ids) {
    return std::make_shared<const Members>(std::move(ids));
  }
  static std::shared_ptr<const Tree> TreeOf(const std::shared_ptr<const OpenTable>& table,
                                            std::shared_ptr<const Members> members,
                                            const Tree* before = nullptr) {
    return Tree::Create({{{table}}}, kCommonTree, std::move(members), before).value();
  }

  uint64_t number_ = 0;
  Sequence sequence_ = 0;
};

// The pieces of the table that have keys of these ids alone.
struct DeadPieces {
  uint64_t bytes = 0;
  uint64_t largest = 0;  // of all pieces
};
DeadPieces PiecesOf(const OpenTable& table, const std::vector<KeyspaceId>& dead) {
  const Table& file = *table.table;
  DeadPieces found;
  const auto entries = file.NewIterator({});
  entries->SeekToFirst();
  for (size_t piece = 0; piece < file.piece_count(); ++piece) {
    bool is_dead = true;
    for (; entries->Valid() && UserKeyOf(entries->key()) <= file.piece_fence(piece);
         entries->Next()) {
      const KeyspaceId id = KeyspaceOf(UserKeyOf(entries->key()));
      is_dead = is_dead && std::binary_search(dead.begin(), dead.end(), id);
    }
    const uint64_t bytes = file.piece_offset(piece + 1) - file.piece_offset(piece);
    if (is_dead) found.bytes += bytes;
    found.largest = std::max(found.largest, bytes);
  }
  EXPECT_FALSE(entries->Valid());
  return found;
}

TEST_F(NoMemberTest, CountsDeadBlocks) {
  testing_support::Dice dice(1);
  int partitioned = 0, counted = 0;
  for (int round = 0; round < 400; ++round) {
    maker_.partition_bytes = dice.OneIn(3) ? 64 : 0;
    maker_.context.partitions_on_demand = maker_.partition_bytes != 0;
    std::vector<KeyspaceId> ids, members, dead;
    uint64_t gaps = 1;  // the highest ids
    for (KeyspaceId id = 2; id < 30; ++id) {
      const bool is_member = dice.OneIn(2), has_keys = !dice.OneIn(4);
      if (has_keys) ids.push_back(id);
      if (is_member && !dead.empty() && (members.empty() || members.back() != id - 1)) ++gaps;
      if (is_member) members.push_back(id);
      if (!is_member) dead.push_back(id);
    }
    const int keys = 1 + static_cast<int>(dice.Roll(40));
    const auto table = TableOf(ids, keys, dice.Roll(300));
    partitioned += table->table->is_partitioned() ? 1 : 0;
    const auto tree = TreeOf(table, MembersOf(members));
    const DeadPieces pieces = PiecesOf(*table, dead);
    const uint64_t bytes = tree->BytesOfNoMember(*table);
    EXPECT_LE(bytes, pieces.bytes) << round;
    EXPECT_GE(bytes + 2 * gaps * pieces.largest, pieces.bytes) << round;
    counted += bytes > 0 ? 1 : 0;
    EXPECT_EQ(tree->DeadEntriesIn(*table).dead_bytes, bytes);

    // The output of a compaction for these members has none.
    std::vector<KeyspaceId> left;
    std::set_intersection(ids.begin(), ids.end(), members.begin(), members.end(),
                          std::back_inserter(left));
    if (left.empty()) continue;
    const auto rewritten = TableOf(left, keys, dice.Roll(600));
    EXPECT_EQ(TreeOf(rewritten, MembersOf(members))->BytesOfNoMember(*rewritten), 0u) << round;
  }
  EXPECT_GT(partitioned, 50);
  EXPECT_GT(counted, 200);
}

TEST_F(NoMemberTest, CountsAgainIfTheMembersChange) {
  const auto table = TableOf({2, 3, 4}, 50, 100);
  const auto all = MembersOf({2, 3, 4}), two = MembersOf({2, 4});
  const auto before = TreeOf(table, all);
  EXPECT_EQ(before->BytesOfNoMember(*table), 0u);
  const auto after = TreeOf(table, two, before.get());
  const uint64_t bytes = after->BytesOfNoMember(*table);
  EXPECT_GT(bytes, table->meta.file_bytes / 5);
  EXPECT_LT(bytes, table->meta.file_bytes / 2);
  EXPECT_EQ(TreeOf(table, two, after.get())->BytesOfNoMember(*table), bytes);
  EXPECT_EQ(after->tombstone_gain(), 0) << "not half of it";
  const auto none = TreeOf(table, MembersOf({}), after.get());
  EXPECT_EQ(none->DeadEntriesIn(*table).dead_bytes,
            table->table->footer().data_end() - table->table->block_handle(0).offset);
  EXPECT_GT(none->tombstone_gain(), 0);
}

// Keyspace 3 is none any more.
class StrayRangesTest : public NoMemberTest {
 protected:
  std::shared_ptr<const OpenTable> TableOf(const std::vector<KeyspaceId>& ids,
                                           const RangeMap& ranges = {}) {
    std::vector<Entry> entries;
    for (const KeyspaceId id : ids) entries.push_back(PutOf(CommonKeyOf(id, "key"), ++sequence_));
    return maker_.Make(++number_, entries, /*file_bytes=*/0, /*run=*/0, ranges);
  }
  std::shared_ptr<const Tree> LevelsOf(std::array<OpenTables, kLevels> levels) {
    return Tree::Create(std::move(levels), kCommonTree, MembersOf({2, 4})).value();
  }
  static std::vector<uint64_t> NeedlessIn(const Tree& tree) {
    std::vector<uint64_t> numbers;
    for (const NeedlessTable& needless : tree.needless()) {
      numbers.push_back(needless.table->meta.number);
      EXPECT_FALSE(needless.IsHeld([](Sequence, Sequence) { return true; })) << numbers.back();
    }
    return numbers;
  }
  const RangeMap over_three_ = RangesOverAll({3}, 90);
};

TEST_F(StrayRangesTest, ReadersAskForRangesOfMembersAlone) {
  const auto strays = TableOf({2, 4}, over_three_), below = TableOf({2, 3, 4});
  const auto tree = LevelsOf({{{strays}, {below}}});
  EXPECT_FALSE(tree->has_ranges());
  std::vector<const RangeCover*> covers;
  tree->AddCovers(&covers);
  EXPECT_EQ(covers, (std::vector<const RangeCover*>{nullptr, nullptr}));
  // A lookup does not even look into the table because of them.
  const auto names = TableOf({0}, over_three_);
  EXPECT_FALSE(LevelsOf({{{names}}})->MayExist(CommonKeyOf(2, "key")));
  // While 3 is a member, its ranges count.
  const auto members = MembersOf({2, 3, 4});
  EXPECT_TRUE(Tree::Create({{{strays}, {below}}}, kCommonTree, members).value()->has_ranges());
  EXPECT_TRUE(
      Tree::Create({{{names}}}, kCommonTree, members).value()->MayExist(CommonKeyOf(2, "key")));
}

TEST_F(StrayRangesTest, StayWhileStraysMayBeBelow) {
  const auto mixed = TableOf({2, 3, 4}), alone = TableOf({}, over_three_);
  EXPECT_TRUE(NeedlessIn(*LevelsOf({{{}, {alone}, {mixed}}})).empty());
  EXPECT_EQ(NeedlessIn(*LevelsOf({{{}, {alone}}})), std::vector<uint64_t>{alone->meta.number});
  const auto beside = TableOf({4});
  EXPECT_EQ(NeedlessIn(*LevelsOf({{{}, {alone}, {beside}}})),
            std::vector<uint64_t>{alone->meta.number});
  // Strays without ranges are needless in any case.
  const auto strays = TableOf({3});
  EXPECT_EQ(NeedlessIn(*LevelsOf({{{}, {strays}, {mixed}}})),
            std::vector<uint64_t>{strays->meta.number});
}

TEST_F(StrayRangesTest, GiveWayToNewerOnes) {
  const auto mixed = TableOf({2, 3, 4}), older = TableOf({3}, RangesOverAll({3}, 80));
  const auto newer = TableOf({2, 4}, over_three_);
  EXPECT_TRUE(NeedlessIn(*LevelsOf({{{}, {older}, {mixed}}})).empty());
  EXPECT_EQ(NeedlessIn(*LevelsOf({{{newer}, {older}, {mixed}}})),
            std::vector<uint64_t>{older->meta.number});
}

}  // namespace
}  // namespace lsm
