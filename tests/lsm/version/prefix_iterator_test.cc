// A keyspace in the common tree, beside the same entries and ranges alone.
#include "lsm/version/prefix_iterator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/version/common_keys.h"
#include "tests/lsm/base/vector_iterator.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;

constexpr KeyspaceId kLastId = 0xffffffff;
constexpr KeyspaceId kIds[] = {0, 2, 3, 0xff, 0x100, kLastId - 1, kLastId};

// An entry of the keyspace, as it is alone.
struct EntryOfId {
  KeyspaceId id;
  std::string key;
  Sequence sequence;
};

std::vector<Entry> InTree(const std::vector<EntryOfId>& entries) {
  std::vector<Entry> found;
  for (const auto& [id, key, sequence] : entries)
    found.emplace_back(Key(CommonKeyOf(id, key), sequence), Concat(id, "/", key, "/", sequence));
  std::sort(found.begin(), found.end(), Precedes);
  return found;
}
std::vector<Entry> Alone(KeyspaceId wanted, const std::vector<EntryOfId>& entries) {
  std::vector<Entry> found;
  for (const auto& [id, key, sequence] : entries) {
    if (id == wanted) found.emplace_back(Key(key, sequence), Concat(id, "/", key, "/", sequence));
  }
  std::sort(found.begin(), found.end(), Precedes);
  return found;
}

std::unique_ptr<InnerIterator> PrefixOf(KeyspaceId id, const std::vector<EntryOfId>& entries) {
  return NewPrefixIterator(id, std::make_unique<VectorIterator>(InTree(entries)));
}

std::string Forward(Iterator& iterator) {
  std::string shown;
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next())
    shown += Concat(UserKeyOf(iterator.key()), " ");
  return shown;
}
std::string Backward(Iterator& iterator) {
  std::string shown;
  for (iterator.SeekToLast(); iterator.Valid(); iterator.Prev())
    shown += Concat(UserKeyOf(iterator.key()), " ");
  return shown;
}

TEST(PrefixIteratorTest, EndsWhereTheIdEnds) {
  using Both = std::pair<std::string, std::string>;  // forward and backward
  const std::vector<EntryOfId> entries = {{2, "b", 1},           {3, "", 2},
                                          {3, "c", 3},           {4, "", kSequenceMax},
                                          {kLastId - 1, "d", 4}, {kLastId, "e", 5},
                                          {kLastId, "f", 6},     {kLastId, "\xff\xff\xff\xff", 7}};
  const auto shown = [&](KeyspaceId id) {
    const auto iterator = PrefixOf(id, entries);
    EXPECT_FALSE(iterator->Valid());
    return Both(Forward(*iterator), Backward(*iterator));
  };
  EXPECT_EQ(shown(0), Both("", ""));
  EXPECT_EQ(shown(2), Both("b ", "b "));
  EXPECT_EQ(shown(3), Both(" c ", "c  "));
  EXPECT_EQ(shown(4), Both(" ", " "));
  EXPECT_EQ(shown(5), Both("", ""));
  EXPECT_EQ(shown(kLastId - 1), Both("d ", "d "));
  EXPECT_EQ(shown(kLastId), Both("e f \xff\xff\xff\xff ", "\xff\xff\xff\xff f e "));
}

TEST(PrefixIteratorTest, FailsAsTheTreeDoes) {
  int moves_left = 2;
  const auto iterator =
      NewPrefixIterator(2, std::make_unique<VectorIterator>(
                               InTree({{2, "a", 1}, {2, "b", 2}, {2, "c", 3}}), &moves_left));
  iterator->SeekToFirst();
  iterator->Next();
  EXPECT_TRUE(iterator->Valid());
  EXPECT_OK(iterator->status());
  iterator->Next();
  EXPECT_FALSE(iterator->Valid());
  EXPECT_EQ(iterator->status().code(), absl::StatusCode::kDataLoss);
}

TEST(PrefixIteratorTest, LoadsAheadWhereItWillSeek) {
  std::vector<std::pair<std::string, int>> prefetches;
  auto of_tree = std::make_unique<VectorIterator>(std::vector<Entry>());
  of_tree->NoteIn(&prefetches);
  const auto iterator = NewPrefixIterator(0x01020304, std::move(of_tree));
  iterator->PrefetchSeek(Key("key", 9), 3);
  const std::string target = Key("\x01\x02\x03\x04key", 9);
  EXPECT_THAT(prefetches, ElementsAre(std::pair(target, 3)));
}

TEST(PrefixIteratorTest, WalksAsTheKeyspaceAlone) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    testing_support::Dice dice(seed);
    const auto some_key = [&] {
      std::string key;
      for (size_t i = dice.Roll(3); i > 0; --i)
        key += dice.OneIn(4) ? '\xff' : static_cast<char>(dice.Roll(2));
      return key;
    };
    std::vector<EntryOfId> entries;
    for (size_t i = dice.Roll(30); i > 0; --i)
      entries.push_back({kIds[dice.Roll(std::size(kIds))], some_key(), i});
    for (const KeyspaceId id : kIds) {
      VectorIterator expected(Alone(id, entries));
      const auto iterator = PrefixOf(id, entries);
      for (int step = 0; step < 60; ++step) {
        const std::string target = Key(some_key(), dice.Roll(31));
        const auto move = [&](Iterator& each, size_t kind) {
          if (kind == 0) return each.SeekToFirst();
          if (kind == 1) return each.SeekToLast();
          if (kind == 2) return each.Seek(target);
          if (kind == 3) return each.SeekForPrev(target);
          kind % 2 == 0 ? each.Next() : each.Prev();
        };
        const size_t kind = dice.Roll(expected.Valid() ? 12 : 4);
        move(expected, kind);
        move(*iterator, kind);
        ASSERT_EQ(iterator->Valid(), expected.Valid()) << id << ", step " << step;
        if (!expected.Valid()) continue;
        ASSERT_EQ(iterator->key(), expected.key()) << id << ", step " << step;
        ASSERT_EQ(iterator->value(), expected.value());
      }
    }
  }
}

// --- covers ---

TEST(PrefixCoverTest, OpenEndsEndAtTheNextId) {
  const RangeMap ranges = RangeMap::Of(std::vector<RangeDelete>{{"b", std::nullopt, 5}});
  const RangeMap of_two = InCommonTree(2, ranges);
  EXPECT_EQ(of_two.hull().begin, CommonKeyOf(2, "b"));
  EXPECT_EQ(of_two.hull().end, KeyEnd(CommonKeyOf(3, "")));
  EXPECT_EQ(of_two.NewestAt(CommonKeyOf(2, "\xff\xff\xff\xff"), 5), 5u);
  EXPECT_EQ(of_two.NewestAt(CommonKeyOf(3, ""), 5), 0u);
  EXPECT_EQ(of_two.NewestAt(CommonKeyOf(2, "a"), 5), 0u);
  // No id follows the last one.
  const RangeMap of_last = InCommonTree(kLastId, ranges);
  EXPECT_EQ(of_last.hull().end, std::nullopt);
  EXPECT_EQ(of_last.NewestAt(CommonKeyOf(kLastId, "b"), 5), 5u);
  EXPECT_TRUE(InCommonTree(2, {}).empty());
}

TEST(PrefixCoverTest, AnswersAsTheKeyspaceAlone) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    testing_support::Dice dice(seed);
    const auto some_key = [&] {
      std::string key;
      for (size_t i = dice.Roll(3); i > 0; --i)
        key += dice.OneIn(4) ? '\xff' : static_cast<char>(dice.Roll(2));
      return key;
    };
    std::vector<RangeMap> alone, in_tree;
    Sequence sequence = 0;
    for (const KeyspaceId id : kIds) {
      std::vector<std::string> keys;  // of the ranges; two for each
      for (size_t i = 2 * dice.Roll(4); i > 0; --i) keys.push_back(some_key());
      std::vector<RangeDelete> ranges;
      for (size_t i = 0; i < keys.size(); i += 2) {
        ranges.push_back({keys[i], keys[i + 1], ++sequence});
        if (dice.OneIn(4)) ranges.back().to = std::nullopt;
      }
      alone.push_back(RangeMap::Of(ranges));
      in_tree.push_back(InCommonTree(id, alone.back()));
    }
    std::vector<const RangeMap*> maps;
    for (const RangeMap& map : in_tree) maps.push_back(&map);
    const RangeMap joined = RangeMap::Joined(maps);
    if (joined.empty()) continue;
    const Sequence newest_entry = dice.Roll(2) * sequence;
    const MapsCover tree_cover({{&joined, newest_entry}});
    for (size_t i = 0; i < std::size(kIds); ++i) {
      if (alone[i].empty()) continue;
      const MapsCover expected({{&alone[i], newest_entry}});
      const PrefixCover cover(kIds[i], &tree_cover);
      for (int step = 0; step < 20; ++step) {
        const std::string key = Key(some_key(), 1);
        const Sequence at = dice.OneIn(2) ? kSequenceMax : dice.Roll(sequence + 1);
        SCOPED_TRACE(Concat(kIds[i], ", step ", step));
        const CoverStretch stretch = cover.StretchAt(key, at), of_it = expected.StretchAt(key, at);
        ASSERT_EQ(stretch.newest, of_it.newest);
        ASSERT_EQ(stretch.begin, of_it.begin);
        ASSERT_EQ(stretch.end, of_it.end);
        uint64_t walked = 0;
        const CoverEnds ends = cover.EndsOfCover(key, at, &walked);
        const CoverEnds its_ends = expected.EndsOfCover(key, at, &walked);
        const CoverBegins begins = cover.BeginsOfCover(key, at, &walked);
        const CoverBegins its_begins = expected.BeginsOfCover(key, at, &walked);
        ASSERT_EQ(ends.of_older, its_ends.of_older);
        ASSERT_EQ(begins.of_older, its_begins.of_older);
        ASSERT_EQ(ends.of_itself, its_ends.of_itself);
        ASSERT_EQ(begins.of_itself, its_begins.of_itself);
        // Not a view of the cover's buffer, which the next question changes.
        cover.StretchAt(Key("another key", 2), at);
        ASSERT_EQ(ends.of_older, its_ends.of_older);
        ASSERT_EQ(begins.of_itself, its_begins.of_itself);
      }
    }
  }
}

}  // namespace
}  // namespace lsm
