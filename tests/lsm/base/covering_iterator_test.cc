#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/base/merging_iterator.h"
#include "lsm/base/range_cover.h"
#include "lsm/base/range_map.h"
#include "lsm/bytes/status.h"
#include "tests/lsm/base/vector_iterator.h"
#include "tests/support/dice.h"
#include "tests/support/range_maps.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing_support::Dice;
using testing_support::StatusIs;

constexpr size_t kKeys = 180;

// Ascending; each third is the next possible one after another.
const std::string& UserKey(size_t i) {
  static const auto& keys = *new std::vector<std::string>([] {
    std::vector<std::string> made;
    for (size_t at = 0; at < kKeys; ++at)
      made.push_back(at % 3 == 2 ? made.back() + '\0' : Concat("key", 1000 + at));
    return made;
  }());
  return keys[i];
}

// An input of the merge, before it is cut into tables.
struct Level {
  std::vector<Entry> entries;
  std::vector<RangeDelete> ranges;
};

bool Covers(const RangeDelete& range, std::string_view key) {
  return key >= range.from && (!range.to || key < *range.to);
}

// A history of writes, the inputs that hold it, and what a reader sees of it.
class History {
 public:
  explicit History(Dice& dice) : dice_(dice), levels_(1 + dice.Roll(5)) {
    for (size_t i = levels_.size(); i-- > 0;) Write(&levels_[i]);
    sequence_ = dice.OneIn(2) ? newest_ : dice.Roll(newest_ + 1);
    ListSeen();
    for (Level& level : levels_) {
      if (dice.OneIn(2)) DropHidden(&level);
    }
    for (size_t i = 1; i < levels_.size(); ++i) {
      if (dice.OneIn(3)) CopyDown(levels_[i - 1], &levels_[i]);
    }
    for (const Level& level : levels_) CutIntoTables(level);
  }

  Sequence sequence() const { return sequence_; }
  // The entries that the reader sees, in order.
  const std::vector<Entry>& seen() const { return seen_; }

  std::unique_ptr<CoveringIterator> Merge(const IteratorBounds& bounds,
                                          int* moves_left = nullptr) const {
    std::vector<std::unique_ptr<InnerIterator>> inputs;
    std::vector<const RangeCover*> covers;
    for (size_t i = 0; i < levels_.size(); ++i) {
      inputs.push_back(std::make_unique<VectorIterator>(levels_[i].entries, moves_left));
      covers.push_back(covers_[i].get());
    }
    return NewCoveringIterator(std::move(inputs), covers, sequence_, bounds);
  }

 private:
  void Write(Level* level) {
    const size_t begin = dice_.Roll(kKeys);
    const size_t stride = dice_.OneIn(2) ? 1 : 1 + dice_.Roll(5);
    const bool ranges_come_last = dice_.OneIn(2);
    size_t at = begin;
    for (size_t entries = dice_.Roll(2 * kKeys); entries > 0; --entries, at += stride) {
      if (!ranges_come_last && dice_.OneIn(40)) WriteRange(level);
      ++newest_;
      level->entries.emplace_back(Key(UserKey(at % kKeys), newest_), Concat(newest_));
    }
    for (size_t ranges = dice_.Roll(4); ranges_come_last && ranges > 0; --ranges) WriteRange(level);
    std::sort(level->entries.begin(), level->entries.end(), Precedes);
  }
  void WriteRange(Level* level) {
    RangeDelete& range = level->ranges.emplace_back();
    const size_t from = dice_.Roll(kKeys);
    const size_t to = from + dice_.Roll(dice_.OneIn(2) ? 5 : kKeys);
    range.from = UserKey(from);
    if (dice_.OneIn(8)) range.from = "";
    if (to < kKeys) range.to = UserKey(to);
    range.sequence = ++newest_;
  }

  // The sequence of a range that hides the entry from the reader; 0: none does.
  static Sequence HidingRange(const Level& level, std::string_view key, Sequence at) {
    for (const RangeDelete& range : level.ranges) {
      if (range.sequence <= at && range.sequence > SequenceOf(SuffixOf(key)) &&
          Covers(range, UserKeyOf(key)))
        return range.sequence;
    }
    return 0;
  }
  void ListSeen() {
    for (const Level& level : levels_) {
      for (const Entry& entry : level.entries) {
        const auto hides = [&](const Level& any) {
          return HidingRange(any, entry.first, sequence_) != 0;
        };
        if (SequenceOf(SuffixOf(entry.first)) <= sequence_ &&
            std::none_of(levels_.begin(), levels_.end(), hides))
          seen_.push_back(entry);
      }
    }
    std::sort(seen_.begin(), seen_.end(), Precedes);
  }

  // As a compaction that keeps what a snapshot at sequence_ needs.
  void DropHidden(Level* level) const {
    std::erase_if(level->entries, [&](const Entry& entry) {
      return HidingRange(*level, entry.first, sequence_) != 0;
    });
  }
  // As a step of a compaction.
  void CopyDown(const Level& from, Level* to) {
    const size_t begin = dice_.Roll(kKeys);
    const size_t end = begin + dice_.Roll(kKeys - begin);
    const std::string_view first = UserKey(begin), last = UserKey(end);  // excluded
    for (const Entry& entry : from.entries) {
      const std::string_view key = UserKeyOf(entry.first);
      if (key >= first && key < last) to->entries.push_back(entry);
    }
    std::sort(to->entries.begin(), to->entries.end(), Precedes);
    to->entries.erase(std::unique(to->entries.begin(), to->entries.end()), to->entries.end());
    for (RangeDelete range : from.ranges) {
      range.from = std::max(range.from, first);
      range.to = range.to ? std::min(*range.to, last) : last;
      if (range.from < *range.to) to->ranges.push_back(range);
    }
  }

  void CutIntoTables(const Level& level) {
    const RangeMap map = testing_support::RangesOf(level.ranges, {&sequence_, 1});
    std::vector<std::string_view> cuts;
    for (size_t i = dice_.Roll(4); i > 0; --i) cuts.push_back(UserKey(dice_.Roll(kKeys)));
    std::sort(cuts.begin(), cuts.end());
    std::vector<MapsCover::Part> parts;
    for (size_t i = 0; i <= cuts.size(); ++i) {
      KeySpan span;
      if (i > 0) span.begin = cuts[i - 1];
      if (i < cuts.size()) span.end = cuts[i];
      RangeMap within = map.Within(span);
      if (within.empty()) continue;
      Sequence newest = 0;
      for (const Entry& entry : level.entries) {
        if (span.Holds(UserKeyOf(entry.first)))
          newest = std::max(newest, SequenceOf(SuffixOf(entry.first)));
      }
      maps_.push_back(std::make_unique<RangeMap>(std::move(within)));
      parts.push_back({maps_.back().get(), newest});
    }
    covers_.push_back(parts.empty() ? nullptr : std::make_unique<MapsCover>(std::move(parts)));
  }

  Dice& dice_;
  std::vector<Level> levels_;
  Sequence newest_ = 0;
  Sequence sequence_ = 0;
  std::vector<Entry> seen_;
  std::vector<std::unique_ptr<RangeMap>> maps_;
  std::vector<std::unique_ptr<MapsCover>> covers_;
};

// The merge beside a vector of what the reader sees, within bounds.
class Pair {
 public:
  Pair(const History& history, const IteratorBounds& bounds)
      : bounds_(bounds),
        sequence_(history.sequence()),
        merged_(history.Merge(bounds)),
        model_(Within(history.seen(), bounds)) {}

  bool Valid() const { return model_.Valid(); }
  uint64_t jumps() const { return merged_->jumps(); }

  template <typename Call>
  void Move(bool is_forward, const Call& call) {
    call(*merged_);
    call(model_);
    while (IsWithin() &&
           (SequenceOf(SuffixOf(merged_->key())) > sequence_ || merged_->key() == before_of_step_))
      is_forward ? merged_->Next() : merged_->Prev();
    ASSERT_OK(merged_->status());
    ASSERT_EQ(IsWithin(), model_.Valid());
    if (!model_.Valid()) return;
    ASSERT_EQ(merged_->key(), model_.key());
    ASSERT_EQ(merged_->value(), model_.value());
  }
  void Step(bool is_forward) {
    before_of_step_ = model_.key();
    Move(is_forward, [&](Iterator& it) { is_forward ? it.Next() : it.Prev(); });
  }
  template <typename Call>
  void Seek(bool is_forward, const Call& call) {
    before_of_step_.clear();
    Move(is_forward, call);
  }

 private:
  static std::vector<Entry> Within(std::vector<Entry> entries, const IteratorBounds& bounds) {
    std::erase_if(entries, [&](const Entry& entry) {
      const std::string_view key = UserKeyOf(entry.first);
      return (bounds.lower && key < *bounds.lower) || (bounds.upper && key >= *bounds.upper);
    });
    return entries;
  }
  bool IsWithin() const {
    if (!merged_->Valid()) return false;
    const std::string_view key = UserKeyOf(merged_->key());
    return (!bounds_.lower || key >= *bounds_.lower) && (!bounds_.upper || key < *bounds_.upper);
  }

  const IteratorBounds bounds_;
  const Sequence sequence_;
  const std::unique_ptr<CoveringIterator> merged_;
  VectorIterator model_;
  std::string before_of_step_;  // copies of it may follow
};

// A target within the bounds, of the kinds that DbIterator uses.
std::string SomeTarget(Dice& dice, const IteratorBounds& bounds) {
  std::string key = UserKey(dice.Roll(kKeys));
  if (bounds.lower && key < *bounds.lower) key = *bounds.lower;
  if (bounds.upper && key >= *bounds.upper) return Key(*bounds.upper, kSequenceMax);
  const Sequence sequences[] = {0, dice.Roll(600), kSequenceMax, kSequenceMax};
  return Key(key, sequences[dice.Roll(4)]);
}

class CoveringModelTest : public testing::TestWithParam<int> {};

TEST_P(CoveringModelTest, WalksLikeAVector) {
  uint64_t jumps = 0;
  for (int history_number = 0; history_number < 60; ++history_number) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * 1000 + history_number;
    SCOPED_TRACE(Concat("seed ", seed));
    Dice dice(seed);
    const History history(dice);
    for (int walks = 0; walks < 3; ++walks) {
      IteratorBounds bounds;
      if (dice.OneIn(3)) bounds.lower = UserKey(dice.Roll(kKeys));
      if (dice.OneIn(3)) bounds.upper = UserKey(dice.Roll(kKeys));
      if (bounds.lower && bounds.upper && *bounds.upper < *bounds.lower) continue;
      Pair pair(history, bounds);
      const size_t one_turn_in = 1 + dice.Roll(40);
      bool is_forward = true;
      for (int step = 0; step < 150; ++step) {
        SCOPED_TRACE(Concat("step ", step));
        if (pair.Valid() && !dice.OneIn(30)) {
          if (dice.OneIn(one_turn_in)) is_forward = !is_forward;
          pair.Step(is_forward);
        } else {
          const std::string target = SomeTarget(dice, bounds);
          is_forward = dice.OneIn(2);
          const bool to_end = dice.OneIn(4) && !(is_forward ? bounds.lower : bounds.upper);
          pair.Seek(is_forward, [&](Iterator& it) {
            if (to_end) return is_forward ? it.SeekToFirst() : it.SeekToLast();
            is_forward ? it.Seek(target) : it.SeekForPrev(target);
          });
        }
        if (testing::Test::HasFatalFailure()) return;
      }
      jumps += pair.jumps();
    }
  }
  EXPECT_GT(jumps, 100u);
}

// For every k, the k-th move of any input fails.  The entries before it are right.
TEST_P(CoveringModelTest, FailsWithItsFirstFailedInput) {
  Dice dice(static_cast<uint64_t>(GetParam()));
  const History history(dice);
  for (const bool is_forward : {true, false}) {
    std::vector<Entry> expected = history.seen();
    if (!is_forward) std::reverse(expected.begin(), expected.end());
    bool has_failed = true;
    for (int fail_at = 0; has_failed; ++fail_at) {
      int moves_left = fail_at;
      const auto merged = history.Merge({}, &moves_left);
      size_t count = 0;
      std::string last;
      for (is_forward ? merged->SeekToFirst() : merged->SeekToLast(); merged->Valid();
           is_forward ? merged->Next() : merged->Prev()) {
        if (SequenceOf(SuffixOf(merged->key())) > history.sequence() || merged->key() == last)
          continue;
        last = merged->key();
        ASSERT_LT(count, expected.size());
        ASSERT_EQ(merged->key(), expected[count].first);
        ++count;
      }
      has_failed = !merged->status().ok();
      if (!has_failed) {
        ASSERT_EQ(count, expected.size());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CoveringModelTest, testing::Range(0, 12));

// --- what it reads ---

// Keys from `begin` to `end`, with one sequence.
std::vector<Entry> Entries(int begin, int end, Sequence sequence) {
  std::vector<Entry> entries;
  for (int i = begin; i < end; ++i)
    entries.emplace_back(Key(Concat("k", 100'000 + i), sequence), "value");
  return entries;
}
std::string Name(int i) { return Concat("k", 100'000 + i); }
// Where a jump forward goes, and from where a jump backward looks back.
std::string JumpTo(std::string_view user_key) {
  std::string key;
  AppendInternalKey(&key, user_key, kSequenceMax, kEntryKindMax);
  return key;
}
std::string JumpTo(int i) { return JumpTo(Name(i)); }

class CoveringWorkTest : public testing::Test {
 protected:
  using Parts = std::vector<std::pair<RangeMap, Sequence>>;

  // An input, older than those before it.
  void AddInput(std::vector<Entry> entries, Parts parts = {}) {
    std::vector<MapsCover::Part> of_cover;
    for (auto& [map, newest_entry] : parts) {
      maps_.push_back(std::make_unique<RangeMap>(std::move(map)));
      of_cover.push_back({maps_.back().get(), newest_entry});
    }
    auto iterator = std::make_unique<VectorIterator>(std::move(entries));
    work_.push_back(std::make_unique<VectorIterator::Work>());
    iterator->CountIn(work_.back().get());
    covers_.push_back(of_cover.empty() ? nullptr
                                       : std::make_unique<MapsCover>(std::move(of_cover)));
    inputs_.push_back(std::move(iterator));
  }
  static RangeMap Ranges(const std::vector<std::tuple<int, std::optional<int>, Sequence>>& ranges) {
    std::vector<std::string> names;
    names.reserve(2 * ranges.size());
    std::vector<RangeDelete> deletes;
    for (const auto& [from, to, sequence] : ranges) {
      RangeDelete& made = deletes.emplace_back();
      made.from = names.emplace_back(Name(from));
      if (to) made.to = names.emplace_back(Name(*to));
      made.sequence = sequence;
    }
    return RangeMap::Of(deletes);
  }
  CoveringIterator& Merge(const IteratorBounds& bounds = {}, Sequence sequence = 1000) {
    std::vector<const RangeCover*> covers;
    for (const auto& cover : covers_) covers.push_back(cover.get());
    merged_ = NewCoveringIterator(std::move(inputs_), covers, sequence, bounds);
    return *merged_;
  }
  std::string Current() const {
    return merged_->Valid() ? std::string(UserKeyOf(merged_->key())) : "";
  }
  VectorIterator::Work& work(size_t input) { return *work_[input]; }

  std::vector<std::unique_ptr<RangeMap>> maps_;
  std::vector<std::unique_ptr<MapsCover>> covers_;
  std::vector<std::unique_ptr<VectorIterator::Work>> work_;
  std::vector<std::unique_ptr<InnerIterator>> inputs_;
  std::unique_ptr<CoveringIterator> merged_;
};

TEST_F(CoveringWorkTest, ASeekFromWithinARangeSeeksEachInputOnce) {
  AddInput(Entries(2000, 2010, 60), {{Ranges({{0, 1000, 50}}), 60}});
  AddInput(Entries(0, 5000, 10));
  // Its cover begins where the first one ends.
  AddInput(Entries(0, 5000, 9), {{Ranges({{1000, 1100, 8}}), 9}});
  AddInput(Entries(0, 5000, 7));
  Merge().Seek(Key(Name(500), 1000));
  EXPECT_EQ(Current(), Name(1000));
  EXPECT_THAT(work(0).seeks, ElementsAre(Key(Name(500), 1000)));
  EXPECT_THAT(work(1).seeks, ElementsAre(JumpTo(1000)));
  EXPECT_THAT(work(2).seeks, ElementsAre(JumpTo(1000)));
  EXPECT_THAT(work(3).seeks, ElementsAre(JumpTo(1100)));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(work(i).moves, 1u) << i;
  EXPECT_EQ(merged_->jumps(), 3u);
}

TEST_F(CoveringWorkTest, ASeekToTheFirstEntryReadsNothingUnderARange) {
  AddInput({}, {{RangeMap::Of(std::vector<RangeDelete>{{"", Name(1000), 50}}), 0}});
  AddInput(Entries(0, 5000, 10));
  Merge().SeekToFirst();
  EXPECT_EQ(Current(), Name(1000));
  EXPECT_THAT(work(1).seeks, ElementsAre(JumpTo(1000)));
  EXPECT_EQ(work(1).moves, 1u);
}

TEST_F(CoveringWorkTest, ASeekBackFromWithinARangeSeeksEachInputOnce) {
  AddInput({}, {{Ranges({{500, 1000, 50}}), 0}});
  AddInput(Entries(0, 5000, 10), {{Ranges({{400, 500, 8}}), 10}});
  AddInput(Entries(0, 5000, 7));
  // The oldest possible entry of the key is the last one at or before it.
  Merge().SeekForPrev(Key(Name(999), 0));
  EXPECT_EQ(Current(), Name(499));
  EXPECT_THAT(work(1).seeks, ElementsAre(JumpTo(500)));
  EXPECT_THAT(work(2).seeks, ElementsAre(JumpTo(400)));
  EXPECT_EQ(work(1).moves + work(2).moves, 2u);
}

TEST_F(CoveringWorkTest, ASeekBeforeTheEndOfARangeJumps) {
  AddInput({}, {{Ranges({{500, 1000, 50}}), 0}});
  AddInput(Entries(0, 5000, 10));
  Merge().SeekForPrev(JumpTo(1000));
  EXPECT_EQ(Current(), Name(499));
  EXPECT_THAT(work(1).seeks, ElementsAre(JumpTo(500)));
}

TEST_F(CoveringWorkTest, ASeekThatLandsOnAHiddenEntryJumpsAtOnce) {
  AddInput({}, {{Ranges({{500, 1000, 50}}), 0}});
  AddInput(Entries(500, 5000, 10));
  Merge().Seek(Key(Name(499), 1000));
  EXPECT_EQ(Current(), Name(1000));
  EXPECT_THAT(work(1).seeks, ElementsAre(Key(Name(499), 1000), JumpTo(1000)));
  EXPECT_EQ(work(1).moves, 2u);
}

TEST_F(CoveringWorkTest, AFewHiddenEntriesAreSteppedOver) {
  const int few = CoveringIterator::kPassedMax;
  AddInput({}, {{Ranges({{10, 10 + few, 50}}), 0}});
  AddInput(Entries(0, 100, 10));
  Merge().Seek(Key(Name(9), 1000));
  merged_->Next();
  EXPECT_EQ(Current(), Name(10 + few));
  EXPECT_EQ(work(1).seeks.size(), 1u);
  merged_->Prev();
  EXPECT_EQ(Current(), Name(9));
}

TEST_F(CoveringWorkTest, ManyHiddenEntriesAreJumpedOver) {
  // Three adjacent ranges, the last one of the next table, count as one.
  AddInput({}, {{Ranges({{10, 1000, 50}, {1000, 2000, 60}}), 0}, {Ranges({{2000, 3000, 50}}), 0}});
  AddInput(Entries(0, 5000, 10));
  Merge().Seek(Key(Name(9), 1000));
  merged_->Next();
  EXPECT_EQ(Current(), Name(3000));
  EXPECT_THAT(work(1).seeks, ElementsAre(Key(Name(9), 1000), JumpTo(3000)));
  merged_->Prev();
  EXPECT_EQ(Current(), Name(9));
  EXPECT_LT(work(1).moves, 2 * CoveringIterator::kPassedMax + 10);
}

TEST_F(CoveringWorkTest, NewerEntriesBetweenHiddenOnesDoNotDelayTheJump) {
  std::vector<Entry> newer;
  for (int i = 0; i < 1000; i += 10) newer.push_back(Entries(i, i + 1, 70).front());
  AddInput(newer, {{Ranges({{0, 1000, 50}}), 70}});
  AddInput(Entries(0, 2000, 10));
  Merge().SeekToFirst();
  for (int i = 0; i < 1000; i += 10) {
    ASSERT_EQ(Current(), Name(i));
    merged_->Next();
  }
  EXPECT_EQ(Current(), Name(1000));
  EXPECT_LT(work(1).moves, 2 * CoveringIterator::kPassedMax);
}

TEST_F(CoveringWorkTest, AnInputWithNewerEntriesStepsOverItsOwnRange) {
  std::vector<Entry> entries = Entries(0, 1000, 10);
  entries[500].first = Key(Name(500), 70);
  // The cover goes on in a second table, whose entries are all older.
  AddInput(entries, {{Ranges({{0, 600, 50}}), 70}, {Ranges({{600, 900, 50}}), 10}});
  Merge().SeekToFirst();
  EXPECT_EQ(Current(), Name(500));
  merged_->Next();
  EXPECT_EQ(Current(), Name(900));
  merged_->Prev();
  EXPECT_EQ(Current(), Name(500));
}

TEST_F(CoveringWorkTest, AnInputJumpsOverTablesWithoutNewerEntries) {
  std::vector<Entry> entries = Entries(0, 1000, 10);
  entries[850].first = Key(Name(850), 70);
  AddInput(entries, {{Ranges({{0, 400, 50}}), 10},
                     {Ranges({{400, 800, 51}}), 10},
                     {Ranges({{800, 900, 50}}), 70}});
  Merge().SeekToFirst();
  EXPECT_EQ(Current(), Name(850));
  EXPECT_THAT(work(0).seeks, ElementsAre(JumpTo(""), JumpTo(800)));
  work(0) = {};
  merged_->SeekForPrev(Key(Name(700), 0));
  EXPECT_EQ(Current(), "");
  EXPECT_THAT(work(0).seeks, ElementsAre(JumpTo(0)));
}

TEST_F(CoveringWorkTest, AnInputAboveTheRangeStays) {
  AddInput(Entries(100, 200, 70));
  AddInput({}, {{Ranges({{0, 1000, 50}}), 0}});
  AddInput(Entries(0, 2000, 10));
  Merge().Seek(Key(Name(50), 1000));
  EXPECT_EQ(Current(), Name(100));
  EXPECT_THAT(work(2).seeks, ElementsAre(JumpTo(1000)));
  merged_->Seek(Key(Name(199), 1000));
  merged_->Next();
  EXPECT_EQ(Current(), Name(1000));
}

TEST_F(CoveringWorkTest, ARangeAboveTheReaderIsNoCover) {
  AddInput({}, {{Ranges({{0, 1000, 50}}), 0}});
  AddInput(Entries(0, 2000, 10));
  Merge({}, 49).SeekToFirst();
  EXPECT_EQ(Current(), Name(0));
  merged_->Seek(Key(Name(500), 49));
  EXPECT_EQ(Current(), Name(500));
  EXPECT_EQ(merged_->jumps(), 0u);
}

TEST_F(CoveringWorkTest, AJumpBeyondABoundReadsNothing) {
  AddInput({}, {{Ranges({{100, 900, 50}}), 0}});
  AddInput(Entries(0, 1000, 10));
  Merge({Name(200), Name(800)}).Seek(Key(Name(200), 1000));
  EXPECT_EQ(Current(), "");
  merged_->SeekForPrev(Key(Name(800), kSequenceMax));
  EXPECT_EQ(Current(), "");
  EXPECT_OK(merged_->status());
  EXPECT_EQ(work(1).moves, 0u);
}

TEST_F(CoveringWorkTest, ARangeWithoutEndEndsTheOlderInputs) {
  AddInput({}, {{Ranges({{100, std::nullopt, 50}}), 0}});
  AddInput(Entries(0, 1000, 10));
  Merge().Seek(Key(Name(100), 1000));
  EXPECT_EQ(Current(), "");
  EXPECT_EQ(work(1).moves, 0u);
  merged_->SeekToLast();
  EXPECT_EQ(Current(), Name(99));
  EXPECT_EQ(work(1).moves, 2u);
}

// --- what it walks over ---

class FakeObserver final : public DeadWalkObserver {
 public:
  void NoteDead(uint64_t count, std::string_view user_key, bool is_forward) override {
    dead += count;
    last_key = user_key;
    was_forward = is_forward;
  }
  std::optional<KeySpan> FindGap(std::string_view user_key, bool is_forward) override {
    ++looks;
    was_forward = is_forward;
    return gap && gap->Holds(user_key) ? gap : std::nullopt;
  }

  uint64_t dead = 0;
  uint64_t looks = 0;
  std::string last_key;
  bool was_forward = true;
  std::optional<KeySpan> gap;
};

TEST_F(CoveringWorkTest, ReportsLongWalks) {
  AddInput(Entries(0, 10'000, 10), {{Ranges({{0, 9'999, 50}}), 70}});
  FakeObserver observer;
  Merge().ReportTo(&observer);
  merged_->SeekToFirst();
  EXPECT_EQ(Current(), Name(9'999));
  // The rest is walked since the last plan.
  EXPECT_GT(observer.dead, 5'000u);
  EXPECT_LT(observer.dead, 10'000u);
  EXPECT_LT(observer.looks, 12u) << "a plan is made only after twice the steps";
  EXPECT_EQ(work(0).moves, 10'000u);
}

TEST_F(CoveringWorkTest, JumpsOverAKnownGap) {
  AddInput(Entries(0, 10'000, 10), {{Ranges({{100, 9'000, 50}}), 70}});
  FakeObserver observer;
  const std::string from = Name(100), to = Name(8'990);
  observer.gap = KeySpan{from, KeyBound(to)};
  Merge().ReportTo(&observer);
  merged_->Seek(Key(Name(99), 1000));
  merged_->Next();
  EXPECT_EQ(Current(), Name(9'000));
  EXPECT_LT(work(0).moves, 60u);
  merged_->Prev();
  EXPECT_EQ(Current(), Name(99));
  EXPECT_FALSE(observer.was_forward);
  EXPECT_LT(work(0).moves, 120u);
}

TEST_F(CoveringWorkTest, EndsAtAKnownGapWithoutEnd) {
  AddInput(Entries(0, 10'000, 10), {{Ranges({{100, std::nullopt, 50}}), 70}});
  FakeObserver observer;
  const std::string from = Name(100);
  observer.gap = KeySpan{from, std::nullopt};
  Merge().ReportTo(&observer);
  merged_->Seek(Key(Name(100), 1000));
  EXPECT_EQ(Current(), "");
  EXPECT_OK(merged_->status());
  EXPECT_EQ(work(0).moves, 1u);
}

TEST_F(CoveringWorkTest, ReportsTheStretchesThatAPlanWalksOver) {
  std::vector<std::tuple<int, std::optional<int>, Sequence>> ranges;
  for (int i = 0; i < 1000; ++i) ranges.emplace_back(i, i + 1, i % 2 == 0 ? 50 : 51);
  ranges.emplace_back(2000, 2001, 999);  // the reader does not see it, so covers are walked
  AddInput({}, {{Ranges(ranges), 0}});
  AddInput(Entries(0, 3000, 10));
  FakeObserver observer;
  Merge({}, 500).ReportTo(&observer);
  merged_->Seek(Key(Name(0), 500));
  EXPECT_EQ(Current(), Name(1000));
  EXPECT_EQ(observer.dead, 1000u);
  merged_->SeekForPrev(JumpTo(1000));
  EXPECT_EQ(Current(), "");
  EXPECT_EQ(observer.dead, 2000u);
}

}  // namespace
}  // namespace lsm
