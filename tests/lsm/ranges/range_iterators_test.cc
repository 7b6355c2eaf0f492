// Iterators over memtables with range deletes, beside bounds, turns and known gaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/merging_iterator.h"
#include "lsm/base/range_cover.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/db_iterator.h"
#include "lsm/memtable/memtable_cover.h"
#include "tests/lsm/runtime/written_views.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Dice;
using LiveEntries = std::map<std::string, std::string>;

std::string KeyOf(size_t i) { return Concat("k", 1000 + i); }

class RangeIteratorsTest : public testing::Test {
 protected:
  // An iterator as of all writes so far.  With `as_tables`, sealed memtables have covers as tables
  // have them.
  std::unique_ptr<Iterator> NewIterator(const IteratorBounds& bounds = {}, bool as_tables = false) {
    views_.push_back(std::make_unique<ReadView>(writes_.Now()));
    const ReadView& view = *views_.back();
    const Sequence sequence = writes_.last();
    std::vector<std::unique_ptr<InnerIterator>> inputs;
    std::vector<const RangeCover*> covers;
    const auto add = [&](const Memtable& memtable, bool as_table) {
      inputs.push_back(memtable.NewIterator());
      if (memtable.ranges() == nullptr) return covers.push_back(nullptr);
      if (!as_table) {
        memtable_covers_.push_back(
            std::make_unique<MemtableCover>(memtable.Find(kDefaultKeyspace)));
        return covers.push_back(memtable_covers_.back().get());
      }
      maps_.push_back(std::make_unique<RangeMap>(memtable.ranges()->ToMap()));
      maps_covers_.push_back(std::make_unique<MapsCover>(
          std::vector<MapsCover::Part>{{maps_.back().get(), memtable.newest_entry()}}));
      covers.push_back(maps_covers_.back().get());
    };
    add(*view.memtable, false);
    for (const auto& memtable : view.sealed) add(*memtable, as_tables);
    auto merged = NewCoveringIterator(std::move(inputs), covers, sequence, bounds);
    const GapUse gaps{&gaps_, ReadPoint::In(view, sequence), merged.get()};
    return NewDbIterator(std::move(merged), sequence, {}, bounds, {}, gaps,
                         [this](const IteratorCounts& counts) { last_counts_ = counts; });
  }

  static std::string At(const Iterator& iterator) {
    EXPECT_OK(iterator.status());
    return iterator.Valid() ? std::string(iterator.key()) : "end";
  }

  WrittenViews writes_{/*recent_max=*/1024};
  KnownGaps gaps_;
  IteratorCounts last_counts_;
  // The iterators use these.
  std::vector<std::unique_ptr<ReadView>> views_;
  std::vector<std::unique_ptr<RangeMap>> maps_;
  std::vector<std::unique_ptr<MapsCover>> maps_covers_;
  std::vector<std::unique_ptr<MemtableCover>> memtable_covers_;
};

TEST_F(RangeIteratorsTest, ATurnAtTheLowerBoundStaysWithinIt) {
  for (size_t i = 0; i < 300; ++i) writes_.Put(KeyOf(i));
  writes_.Seal();
  writes_.DeleteRange(KeyOf(100), KeyOf(200));
  // The cover before the only key begins before the bound, so the merge ends there.
  const auto iterator = NewIterator({KeyOf(150), KeyOf(201)});
  iterator->SeekToLast();
  EXPECT_EQ(At(*iterator), KeyOf(200));
  iterator->Prev();
  EXPECT_EQ(At(*iterator), "end");
  iterator->SeekToLast();
  iterator->Next();
  EXPECT_EQ(At(*iterator), "end");

  const auto wider = NewIterator({KeyOf(150), std::nullopt});
  wider->SeekForPrev(KeyOf(200));
  EXPECT_EQ(At(*wider), KeyOf(200));
  wider->Next();
  EXPECT_EQ(At(*wider), KeyOf(201));
  wider->Prev();
  wider->Next();
  EXPECT_EQ(At(*wider), KeyOf(201));
}

TEST_F(RangeIteratorsTest, AMemtableIsWalkedOnce) {
  for (size_t i = 0; i < 500; ++i) writes_.Put(KeyOf(i));
  writes_.DeleteRange(KeyOf(100), KeyOf(400));
  writes_.Put(KeyOf(450));  // so that the memtable has an entry above the range
  uint64_t dead[2];
  for (uint64_t& walked : dead) {
    auto iterator = NewIterator();
    iterator->Seek(KeyOf(99));
    iterator->Next();
    EXPECT_EQ(At(*iterator), KeyOf(400));
    iterator.reset();
    walked = last_counts_.dead_entries;
  }
  EXPECT_GT(dead[0], 200u);
  EXPECT_LT(dead[1], 120u) << "the walk became a gap";
  // A put divides it.
  writes_.Put(KeyOf(200));
  const auto iterator = NewIterator();
  iterator->Seek(KeyOf(150));
  EXPECT_EQ(At(*iterator), KeyOf(200));
  iterator->Next();
  EXPECT_EQ(At(*iterator), KeyOf(400));
}

// The entry below the range is read before the move to it.
TEST_F(RangeIteratorsTest, AMemtableIsWalkedOnceBackward) {
  for (size_t i = 0; i < 500; ++i) writes_.Put(KeyOf(i));
  writes_.DeleteRange(KeyOf(100), KeyOf(400));
  writes_.Put(KeyOf(450));
  uint64_t dead[2];
  for (uint64_t& walked : dead) {
    auto iterator = NewIterator();
    iterator->SeekForPrev(KeyOf(401));
    EXPECT_EQ(At(*iterator), KeyOf(401));
    iterator->Prev();
    EXPECT_EQ(At(*iterator), KeyOf(400));
    iterator->Prev();
    EXPECT_EQ(At(*iterator), KeyOf(99));
    iterator.reset();
    walked = last_counts_.dead_entries;
  }
  EXPECT_GT(dead[0], 200u);
  EXPECT_LT(dead[1], 120u) << "the walk became a gap";
}

TEST_F(RangeIteratorsTest, AMemtableWithoutNewerEntriesIsJumpedOver) {
  for (size_t i = 0; i < 1000; ++i) writes_.Put(KeyOf(i));
  writes_.DeleteRange(KeyOf(100), KeyOf(900));
  auto iterator = NewIterator();
  iterator->Seek(KeyOf(100));
  EXPECT_EQ(At(*iterator), KeyOf(900));
  iterator.reset();
  EXPECT_EQ(last_counts_.dead_entries, 0u);
  EXPECT_EQ(last_counts_.range_jumps, 1u);
}

TEST_F(RangeIteratorsTest, ACoverOfManyStretchesIsWalkedOnce) {
  for (size_t i = 0; i < 500; ++i) {
    writes_.DeleteRange(KeyOf(i), KeyOf(i + 1));
  }
  writes_.Put(KeyOf(600));
  auto iterator = NewIterator();
  iterator->Seek(KeyOf(0));
  EXPECT_EQ(At(*iterator), KeyOf(600));
  iterator.reset();
  EXPECT_GE(last_counts_.dead_entries, 500u);
  iterator = NewIterator();
  iterator->Seek(KeyOf(0));
  EXPECT_EQ(At(*iterator), KeyOf(600));
  iterator.reset();
  EXPECT_EQ(last_counts_.dead_entries, 0u);
  EXPECT_EQ(last_counts_.gap_jumps, 1u);
}

// A merge that ends because of the bound says nothing about the keys after it.
TEST_F(RangeIteratorsTest, AWalkToTheBoundIsAGapUpToIt) {
  for (size_t i = 0; i < 300; ++i) writes_.Put(KeyOf(i));
  writes_.Seal();
  for (size_t i = 0; i < 100; ++i) writes_.Delete(KeyOf(i));
  writes_.DeleteRange(KeyOf(100), KeyOf(200));
  const auto bounded = NewIterator({std::nullopt, KeyOf(150)});
  bounded->SeekToFirst();
  EXPECT_EQ(At(*bounded), "end");
  EXPECT_FALSE(gaps_.empty());
  const auto iterator = NewIterator();
  iterator->SeekToFirst();
  EXPECT_EQ(At(*iterator), KeyOf(200));
}

TEST_F(RangeIteratorsTest, AWalkBackToTheBoundIsAGapDownToIt) {
  for (size_t i = 0; i < 300; ++i) writes_.Put(KeyOf(i));
  writes_.Seal();
  for (size_t i = 200; i < 300; ++i) writes_.Delete(KeyOf(i));
  writes_.DeleteRange(KeyOf(100), KeyOf(200));
  const auto bounded = NewIterator({KeyOf(150), std::nullopt});
  bounded->SeekToLast();
  EXPECT_EQ(At(*bounded), "end");
  EXPECT_FALSE(gaps_.empty());
  const auto iterator = NewIterator();
  iterator->SeekToLast();
  EXPECT_EQ(At(*iterator), KeyOf(99));
}

// Below the bound one input has ended and another one has not.  The place of that one says nothing
// about the keys of the first.
TEST_F(RangeIteratorsTest, AWalkBelowAFoundKeyIsAGapDownToTheBound) {
  for (size_t i = 0; i < 120; ++i) writes_.Put(KeyOf(i));
  writes_.Seal();
  for (size_t i = 120; i < 200; ++i) writes_.Put(KeyOf(i));
  writes_.DeleteRange(KeyOf(100), KeyOf(200));
  writes_.Put(KeyOf(10));
  writes_.Put(KeyOf(250));
  const auto bounded = NewIterator({KeyOf(150), std::nullopt});
  bounded->SeekToLast();
  EXPECT_EQ(At(*bounded), KeyOf(250));
  EXPECT_FALSE(gaps_.empty());
  const auto all = NewIterator();
  all->SeekForPrev(KeyOf(200));
  EXPECT_EQ(At(*all), KeyOf(99));
}

// --- random walks beside a map ---

class RangeIteratorsModelTest : public RangeIteratorsTest, public testing::WithParamInterface<int> {
 protected:
  static constexpr size_t kKeys = 150;

  RangeIteratorsModelTest() : dice_(static_cast<uint64_t>(GetParam())) {}

  void WriteSome() {
    const size_t begin = dice_.Roll(kKeys);
    for (size_t i = 0, count = dice_.Roll(80); i < count; ++i) {
      const size_t key = dice_.OneIn(2) ? (begin + i) % kKeys : dice_.Roll(kKeys);
      if (dice_.OneIn(15)) {
        const size_t to = key + dice_.Roll(dice_.OneIn(2) ? 4 : kKeys);
        const bool has_end = to < kKeys;
        writes_.DeleteRange(KeyOf(key), has_end ? std::optional(KeyOf(to)) : std::nullopt);
        live_.erase(live_.lower_bound(KeyOf(key)),
                    has_end ? live_.lower_bound(KeyOf(to)) : live_.end());
      } else if (dice_.OneIn(4)) {
        writes_.Delete(KeyOf(key));
        live_.erase(KeyOf(key));
      } else {
        writes_.Put(KeyOf(key));
        live_[KeyOf(key)] = "value";
      }
    }
    if (dice_.OneIn(3)) writes_.Seal();
  }

  // Walks at random; Fails at the first difference.
  void Walk(Iterator& iterator, const LiveEntries& contents, const IteratorBounds& bounds) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : contents) {
      if ((!bounds.lower || key >= *bounds.lower) && (!bounds.upper || key < *bounds.upper))
        keys.push_back(key);
    }
    const ptrdiff_t end = static_cast<ptrdiff_t>(keys.size());
    const size_t one_turn_in = 1 + dice_.Roll(20);
    bool is_forward = true;
    ptrdiff_t at = -1;
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE(step);
      if (at >= 0 && at < end && !dice_.OneIn(15)) {
        if (dice_.OneIn(one_turn_in)) is_forward = !is_forward;
        is_forward ? iterator.Next() : iterator.Prev();
        at += is_forward ? 1 : -1;
      } else {
        const std::string key = KeyOf(dice_.Roll(kKeys)) + (dice_.OneIn(4) ? "x" : "");
        switch (dice_.Roll(6)) {
          case 0:
            iterator.SeekToFirst();
            at = 0;
            break;
          case 1:
            iterator.SeekToLast();
            at = end - 1;
            break;
          case 2:
          case 3:
            iterator.Seek(key);
            at = std::lower_bound(keys.begin(), keys.end(), key) - keys.begin();
            break;
          default:
            iterator.SeekForPrev(key);
            at = std::upper_bound(keys.begin(), keys.end(), key) - keys.begin() - 1;
        }
      }
      ASSERT_OK(iterator.status());
      ASSERT_EQ(iterator.Valid(), at >= 0 && at < end);
      if (iterator.Valid()) {
        ASSERT_EQ(iterator.key(), keys[static_cast<size_t>(at)]);
      }
    }
  }

  Dice dice_;
  LiveEntries live_;
};

TEST_P(RangeIteratorsModelTest, WalkLikeAMap) {
  struct Opened {
    std::unique_ptr<Iterator> iterator;
    LiveEntries contents;
    IteratorBounds bounds;
  };
  std::vector<Opened> opened;
  uint64_t jumps = 0;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(Concat("round ", round));
    WriteSome();
    IteratorBounds bounds;
    if (dice_.OneIn(3)) bounds.lower = KeyOf(dice_.Roll(kKeys));
    if (dice_.OneIn(3)) bounds.upper = KeyOf(dice_.Roll(kKeys));
    if (bounds.lower && bounds.upper && *bounds.upper < *bounds.lower) bounds.upper.reset();
    opened.push_back({NewIterator(bounds, dice_.OneIn(2)), live_, bounds});
    if (opened.size() > 4) {
      opened.erase(opened.begin());
      jumps += last_counts_.range_jumps;
    }
    for (Opened& each : opened) {
      Walk(*each.iterator, each.contents, each.bounds);
      if (HasFatalFailure()) return;
    }
  }
  opened.clear();
  EXPECT_GT(jumps, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RangeIteratorsModelTest, testing::Range(0, 25));

}  // namespace
}  // namespace lsm
