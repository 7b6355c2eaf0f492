#include "lsm/base/range_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/escape.h"
#include "tests/support/dice.h"
#include "tests/support/range_maps.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::Dice;

using Snapshots = std::vector<Sequence>;

// The sequences that cover each of some keys, in the obvious form.
class NaiveMap {
 public:
  // Few letters, zero bytes among them, so that bounds are often equal, or next to each other.
  static const std::vector<std::string>& Keys() {
    static const auto& keys = *new std::vector<std::string>([] {
      std::vector<std::string> made = {""};
      for (size_t i = 0; i < made.size() && made[i].size() < 3; ++i) {
        for (const char letter : {'\0', 'a', '\xff'}) made.push_back(made[i] + letter);
      }
      for (std::string& key : made) key = "longer than a head" + key;
      made.push_back("");
      made.push_back("m");
      std::sort(made.begin(), made.end());
      return made;
    }());
    return keys;
  }

  void Add(const RangeDelete& range) {
    for (const std::string& key : Keys()) {
      if (key >= range.from && (!range.to || key < *range.to))
        covering_[key].insert(range.sequence);
    }
  }
  void Thin(const Snapshots& snapshots) {
    for (auto& [key, sequences] : covering_) {
      std::map<size_t, Sequence> newest;
      for (const Sequence sequence : sequences)
        newest[std::count_if(snapshots.begin(), snapshots.end(),
                             [&](Sequence snapshot) { return snapshot < sequence; })] = sequence;
      sequences.clear();
      for (const auto& [stratum, sequence] : newest) sequences.insert(sequence);
    }
  }
  Sequence NewestAt(const std::string& key, Sequence at) const {
    Sequence newest = 0;
    const auto found = covering_.find(key);
    if (found == covering_.end()) return 0;
    for (const Sequence sequence : found->second) {
      if (sequence <= at) newest = std::max(newest, sequence);
    }
    return newest;
  }

  // Whether the map says the same of each key at each time.
  void Demand(const RangeMap& map, const KeySpan& span = {}) const {
    for (const std::string& key : Keys()) {
      for (Sequence at = 0; at <= kNewest + 1; ++at) {
        const Sequence expected = span.Holds(key) ? NewestAt(key, at) : 0;
        ASSERT_EQ(map.NewestAt(key, at), expected) << Escape(key) << " at " << at;
      }
    }
  }
  // The first key of Keys() at or after `key` that is not covered.
  std::optional<std::string> NextGap(const std::string& key, Sequence at) const {
    for (auto of_it = std::lower_bound(Keys().begin(), Keys().end(), key); of_it != Keys().end();
         ++of_it) {
      if (NewestAt(*of_it, at) == 0) return *of_it;
    }
    return std::nullopt;
  }

  static constexpr Sequence kNewest = 12;

 private:
  std::map<std::string, std::set<Sequence>> covering_;
};

// A map has one form for each content.
void DemandForm(const RangeMap& map) {
  Sequence smallest = 0, largest = 0;
  std::vector<Sequence> last;
  size_t ranges = 0;
  for (size_t stretch = 0; stretch < map.size(); ++stretch) {
    ASSERT_TRUE(stretch == 0 || map.boundary(stretch - 1) < map.boundary(stretch));
    std::vector<Sequence> list;
    for (size_t i = 0; i < map.sequence_count(stretch); ++i)
      list.push_back(map.sequence(stretch, i));
    ASSERT_TRUE(std::is_sorted(list.begin(), list.end(), std::greater_equal<>()));
    ASSERT_NE(list, last);
    last = list;
    if (list.empty()) continue;
    ++ranges;
    smallest = smallest == 0 ? list.back() : std::min(smallest, list.back());
    largest = std::max(largest, list.front());
  }
  ASSERT_EQ(map.range_count(), ranges);
  ASSERT_EQ(map.smallest_sequence(), smallest);
  ASSERT_EQ(map.largest_sequence(), largest);
}

class RangeMapModelTest : public testing::TestWithParam<int> {
 protected:
  RangeMapModelTest() : dice_(static_cast<uint64_t>(GetParam())) {}

  const std::string& Key() { return NaiveMap::Keys()[dice_.Roll(NaiveMap::Keys().size())]; }
  Snapshots SomeSnapshots() {
    std::set<Sequence> snapshots;
    for (size_t i = dice_.Roll(4); i > 0; --i) snapshots.insert(dice_.Roll(NaiveMap::kNewest + 2));
    return {snapshots.begin(), snapshots.end()};
  }
  // Some are empty, some open; sequences repeat.
  std::vector<RangeDelete> SomeRanges() {
    std::vector<RangeDelete> ranges(dice_.Roll(7));
    for (RangeDelete& range : ranges) {
      range.from = Key();
      if (!dice_.OneIn(6)) range.to = Key();
      range.sequence = 1 + dice_.Roll(NaiveMap::kNewest);
    }
    return ranges;
  }
  // Every sequence has a stratum of its own.
  static const Snapshots& All() {
    static const auto& all = *new Snapshots([] {
      Snapshots every;
      for (Sequence sequence = 0; sequence <= NaiveMap::kNewest; ++sequence)
        every.push_back(sequence);
      return every;
    }());
    return all;
  }

  Dice dice_;
};

TEST_P(RangeMapModelTest, AgreesWithTheRanges) {
  for (int round = 0; round < 60; ++round) {
    const std::vector<RangeDelete> ranges = SomeRanges();
    NaiveMap naive;
    for (const RangeDelete& range : ranges) naive.Add(range);
    const RangeMap map = testing_support::RangesOf(ranges, All());
    ASSERT_NO_FATAL_FAILURE(DemandForm(map));
    ASSERT_NO_FATAL_FAILURE(naive.Demand(map));
    for (const std::string& key : NaiveMap::Keys()) {
      for (const Sequence at : {Sequence{3}, Sequence{9}, NaiveMap::kNewest, kSequenceMax}) {
        const KeyEnd gap = testing_support::NextGap(map, key, at);
        const std::optional<std::string> expected = naive.NextGap(key, at);
        // All bounds are among the keys, so every gap has one.
        ASSERT_EQ(gap ? std::optional(gap->ToString()) : std::nullopt, expected) << Escape(key);
      }
    }
  }
}

TEST_P(RangeMapModelTest, ThinsByStrata) {
  for (int round = 0; round < 60; ++round) {
    const std::vector<RangeDelete> ranges = SomeRanges();
    const Snapshots snapshots = SomeSnapshots();
    NaiveMap naive;
    for (const RangeDelete& range : ranges) naive.Add(range);
    naive.Thin(snapshots);
    const RangeMap thinned = testing_support::RangesOf(ranges, All()).Thinned(snapshots);
    ASSERT_NO_FATAL_FAILURE(DemandForm(thinned));
    ASSERT_NO_FATAL_FAILURE(naive.Demand(thinned));
  }
}

TEST_P(RangeMapModelTest, MergesMaps) {
  for (int round = 0; round < 60; ++round) {
    NaiveMap naive;
    std::vector<RangeDelete> all;
    std::vector<RangeMap> maps(dice_.Roll(4));
    std::vector<const RangeMap*> pointers;
    std::vector<std::vector<RangeDelete>> ranges;
    for (RangeMap& map : maps) {
      ranges.push_back(SomeRanges());
      all.insert(all.end(), ranges.back().begin(), ranges.back().end());
      map = testing_support::RangesOf(ranges.back(), All());
      pointers.push_back(&map);
    }
    for (const RangeDelete& range : all) naive.Add(range);
    const RangeMap merged = RangeMap::Merged(pointers);
    ASSERT_NO_FATAL_FAILURE(DemandForm(merged));
    ASSERT_NO_FATAL_FAILURE(naive.Demand(merged));
    ASSERT_TRUE(merged == testing_support::RangesOf(all, All()));
    ASSERT_TRUE(NewestRanges(pointers) == merged.Thinned({}));
    ASSERT_TRUE(RangeMap::Of(all) == merged.Thinned({}));
  }
}

TEST_P(RangeMapModelTest, PiecesHoldTheirPartAndMeet) {
  for (int round = 0; round < 60; ++round) {
    const std::vector<RangeDelete> ranges = SomeRanges();
    NaiveMap naive;
    for (const RangeDelete& range : ranges) naive.Add(range);
    const RangeMap map = testing_support::RangesOf(ranges, All());
    const std::string from = Key(), to = Key();
    for (const KeySpan& span : {KeySpan{from, std::nullopt}, KeySpan{"", to}, KeySpan{from, to},
                                KeySpan::OfKeys(from, to)}) {
      const RangeMap part = map.Within(span);
      ASSERT_NO_FATAL_FAILURE(DemandForm(part));
      ASSERT_NO_FATAL_FAILURE(naive.Demand(part, span));
      ASSERT_TRUE(part.empty() || (span.Covers(part.hull()) && map.hull().Covers(part.hull())));
    }
    const RangeMap below = map.Within({"", from}), above = map.Within({from, std::nullopt});
    const std::array<const RangeMap*, 2> pieces = {&below, &above};
    ASSERT_TRUE(RangeMap::Merged(pieces) == map);
  }
}

TEST_P(RangeMapModelTest, PiecesInARowJoin) {
  for (int round = 0; round < 60; ++round) {
    const std::vector<RangeDelete> ranges = SomeRanges();
    const RangeMap map = testing_support::RangesOf(ranges, All());
    std::set<std::string> cuts;
    while (cuts.size() < dice_.Roll(6)) cuts.insert(Key());
    std::vector<RangeMap> pieces;
    std::string from;
    for (const std::string& cut : cuts) {
      pieces.push_back(map.Within({from, cut}));
      from = cut;
    }
    pieces.push_back(map.Within({from, std::nullopt}));
    std::vector<const RangeMap*> pointers;
    for (const RangeMap& piece : pieces) pointers.push_back(&piece);
    const RangeMap joined = RangeMap::Joined(pointers);
    ASSERT_NO_FATAL_FAILURE(DemandForm(joined));
    ASSERT_TRUE(joined == map);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RangeMapModelTest, testing::Range(1, 9));

TEST(RangeMapTest, AnEmptyMapCoversNothing) {
  const RangeMap map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.NewestAt("a", kSequenceMax), 0u);
  EXPECT_TRUE(map.Within({}).empty());
  EXPECT_TRUE(map.Thinned({}).empty());
  EXPECT_TRUE(RangeMap::Merged({}).empty());
  EXPECT_EQ(map.memory_bytes(), 0u);
  EXPECT_EQ(RangeMap::Of({}).memory_bytes(), 0u);
}

// 36 bytes for a boundary beside its key of 16.
TEST(RangeMapTest, TakesTheMemoryThatTheHeaderSays) {
  constexpr size_t kRanges = 10'000;
  std::vector<std::string> keys;
  for (size_t i = 0; i < 2 * kRanges; ++i)
    keys.push_back(std::to_string(1'000'000'000'000'000 + i));
  std::vector<RangeDelete> ranges;
  for (size_t i = 0; i < kRanges; ++i)
    ranges.push_back({keys[2 * i], keys[2 * i + 1], static_cast<Sequence>(1 + i)});
  const RangeMap map = RangeMap::Of(ranges);
  EXPECT_EQ(map.size(), 2 * kRanges);
  EXPECT_EQ(map.range_count(), kRanges);
  const double of_one = static_cast<double>(map.memory_bytes()) / (2 * kRanges);
  EXPECT_GE(of_one, 16 + 36);
  EXPECT_LE(of_one, 16 + 36 + 1);
}

// Each begins or ends within all that came before: n * n sequences without thinning.
TEST(RangeMapTest, NestedRangesTakeOneSequenceEach) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20'000; ++i) keys.push_back(std::to_string(100'000 + i));
  std::vector<RangeDelete> ranges;
  for (size_t i = 0; i < keys.size(); ++i) ranges.push_back({"", keys[i], 1 + i});
  const RangeMap one = RangeMap::Of(ranges);
  EXPECT_EQ(one.size(), 2u) << "the last one covers all others";
  std::reverse(keys.begin(), keys.end());
  for (size_t i = 0; i < keys.size(); ++i) ranges[i].to = keys[i];
  const RangeMap steps = RangeMap::Of(ranges);
  EXPECT_EQ(steps.size(), keys.size() + 1);
  EXPECT_EQ(steps.sequence_count(0), 1u);
  EXPECT_EQ(steps.NewestAt(keys[7], kSequenceMax), 7u) << "its own range ends there";
}

}  // namespace
}  // namespace lsm
