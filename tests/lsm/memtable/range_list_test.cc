#include "lsm/memtable/range_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/memtable/memtable.h"
#include "lsm/write_batch.h"
#include "tests/support/dice.h"
#include "tests/support/range_maps.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Dice;

// Few letters, zero bytes among them, so that bounds are often equal, or next to each other.
const std::vector<std::string>& Keys() {
  static const auto& keys = *new std::vector<std::string>([] {
    std::vector<std::string> made = {"", "m", std::string(100, 'm')};
    for (const char first : {'\0', 'a', 'z'}) {
      for (const char second : {'\0', 'b', '\xff'}) {
        for (const char third : {'\0', 'c'}) made.push_back({'l', first, second, third});
        made.push_back({'l', first, second});
      }
      made.push_back({'l', first});
    }
    std::sort(made.begin(), made.end());
    return made;
  }());
  return keys;
}

// The writes of a memtable, in the obvious form.
class NaiveMemtable {
 public:
  struct Range {
    std::string from;
    std::optional<std::string> to;
    Sequence sequence;
    bool Holds(const std::string& key) const { return key >= from && (!to || key < *to); }
  };
  struct Entry {
    Sequence sequence;
    bool is_put;
  };

  // Some writes, with the next numbers.
  WriteBatch RollGroup(Dice& dice) {
    WriteBatch batch;
    EncodedBatch::SetFirstSequence(&batch, last() + 1);
    rolled_ = {};
    for (size_t i = 1 + dice.Roll(5); i > 0; --i) {
      const std::string key = Keys()[dice.Roll(Keys().size())];
      const Sequence sequence = last() + 1 + batch.count();
      switch (dice.Roll(4)) {
        case 0:
          batch.Put(key, std::to_string(sequence));
          rolled_.entries[key].push_back({sequence, true});
          break;
        case 1:
          batch.Delete(key);
          rolled_.entries[key].push_back({sequence, false});
          break;
        default:
          std::optional<std::string> to;
          if (!dice.OneIn(5)) to = Keys()[dice.Roll(Keys().size())];
          batch.DeleteRange(key, to);
          if (!to || key < *to) rolled_.ranges.push_back({key, to, sequence});
      }
    }
    rolled_last_ = last() + batch.count();
    return batch;
  }
  // The last group happens.
  void Take() {
    ranges_.insert(ranges_.end(), rolled_.ranges.begin(), rolled_.ranges.end());
    for (const auto& [key, entries] : rolled_.entries)
      entries_[key].insert(entries_[key].end(), entries.begin(), entries.end());
    ends_.push_back(rolled_last_);
  }

  Sequence last() const { return ends_.back(); }
  // The last numbers of groups; readers stand there.
  const std::vector<Sequence>& ends() const { return ends_; }
  const std::vector<Range>& ranges() const { return ranges_; }

  Sequence NewestRange(const std::string& key, Sequence at) const {
    Sequence newest = 0;
    for (const Range& range : ranges_) {
      if (range.sequence <= at && range.Holds(key)) newest = std::max(newest, range.sequence);
    }
    return newest;
  }
  std::optional<Entry> NewestEntry(const std::string& key, Sequence at) const {
    std::optional<Entry> newest;
    const auto found = entries_.find(key);
    if (found == entries_.end()) return newest;
    for (const Entry& entry : found->second) {
      if (entry.sequence <= at) newest = entry;
    }
    return newest;
  }

 private:
  struct Group {
    std::vector<Range> ranges;
    std::map<std::string, std::vector<Entry>> entries;
  };

  std::vector<Range> ranges_;
  std::map<std::string, std::vector<Entry>> entries_;
  std::vector<Sequence> ends_ = {0};
  Group rolled_;
  Sequence rolled_last_ = 0;
};

// The answers of the memtable about each key to a reader at `at`.
void DemandLookups(const Memtable& memtable, const NaiveMemtable& naive, Sequence at) {
  for (const std::string& key : Keys()) {
    SCOPED_TRACE(Concat(Escape(key), " at ", at));
    const LookupKey lookup(key, at, 0);
    const Sequence range = naive.NewestRange(key, at);
    const RangeList* const ranges = memtable.ranges();
    ASSERT_EQ(ranges == nullptr ? 0 : ranges->NewestAt(lookup.internal_key(), at), range);
    const std::optional<NaiveMemtable::Entry> entry = naive.NewestEntry(key, at);
    std::string_view value;
    const MemtableAnswer answer = memtable.Get(lookup, &value);
    if (!entry) {
      ASSERT_EQ(answer, MemtableAnswer::kAbsent);
    } else if (entry->sequence < range) {
      ASSERT_EQ(answer, MemtableAnswer::kRangeDeleted);
    } else {
      ASSERT_EQ(answer, entry->is_put ? MemtableAnswer::kFound : MemtableAnswer::kDeleted);
      if (entry->is_put) {
        ASSERT_EQ(value, std::to_string(entry->sequence));
      }
    }
  }
}

void DemandCovers(const RangeList& ranges, const NaiveMemtable& naive, Sequence newest_entry,
                  Sequence at) {
  // The end of the keys from the i-th on that are covered by a range above the number.
  const auto end_above = [&](size_t i, Sequence above) {
    while (i < Keys().size() && naive.NewestRange(Keys()[i], at) > above) ++i;
    return i == Keys().size() ? std::nullopt : std::optional<std::string_view>(Keys()[i]);
  };
  const auto begin_above = [&](size_t i, Sequence above) {
    while (i > 0 && naive.NewestRange(Keys()[i - 1], at) > above) --i;
    return std::string_view(Keys()[i]);
  };
  for (size_t i = 0; i < Keys().size(); ++i) {
    const std::string& key = Keys()[i];
    SCOPED_TRACE(Concat(Escape(key), " at ", at, " above ", newest_entry));
    const LookupKey lookup(key, at, 0);
    const CoverStretch stretch = ranges.StretchAt(lookup.internal_key(), at);
    ASSERT_EQ(stretch.newest, naive.NewestRange(key, at));
    ASSERT_TRUE(stretch.begin <= key && (!stretch.end || key < *stretch.end));
    for (const std::string& other : Keys()) {
      if (stretch.begin <= other && (!stretch.end || other < *stretch.end)) {
        ASSERT_EQ(naive.NewestRange(other, at), stretch.newest) << Escape(other);
      }
    }

    // All bounds are among the keys.
    uint64_t walked = 0;
    const CoverEnds ends = ranges.EndsOfCover(lookup.internal_key(), at, newest_entry, &walked);
    ASSERT_EQ(ends.of_older, end_above(i, 0));
    ASSERT_EQ(ends.of_itself, end_above(i, newest_entry));
    ASSERT_EQ(walked > 0, ends.of_older != key);

    walked = 0;
    const CoverBegins begins =
        ranges.BeginsOfCover(lookup.internal_key(), at, newest_entry, &walked);
    ASSERT_EQ(begins.of_older, begin_above(i, 0));
    ASSERT_EQ(begins.of_itself, begin_above(i, newest_entry));
    ASSERT_EQ(walked > 0, begins.of_older != key);
  }
}

class RangeListModelTest : public testing::TestWithParam<int> {};

// Also if groups are prepared and then given up, as after a failure of the log.  Their numbers are
// used again.
TEST_P(RangeListModelTest, AgreesWithTheWrites) {
  Dice dice(static_cast<uint64_t>(GetParam()));
  NaiveMemtable naive;
  Memtable memtable(/*number_before=*/0, /*recent_max=*/8);
  for (int round = 0; round < 40; ++round) {
    if (dice.OneIn(3)) {
      ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(naive.RollGroup(dice))));
    }
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(naive.RollGroup(dice))));
    DemandLookups(memtable, naive, naive.last() + 10);
    if (HasFatalFailure()) return;
    memtable.AddPrepared();
    naive.Take();
    ASSERT_EQ(memtable.entry_count(), naive.last());
    ASSERT_EQ(memtable.last_number(), naive.last());
    ASSERT_EQ(memtable.ranges() != nullptr, !naive.ranges().empty());
    for (const Sequence at : {naive.last(), naive.ends()[dice.Roll(naive.ends().size())]}) {
      DemandLookups(memtable, naive, at);
      if (memtable.ranges() != nullptr)
        DemandCovers(*memtable.ranges(), naive, dice.Roll(at + 1), at);
      if (HasFatalFailure()) return;
    }
  }
}

// Each key keeps the highest sequence of each group; without readers between, of all groups.
TEST_P(RangeListModelTest, GivesAMapOfAllRanges) {
  Dice dice(static_cast<uint64_t>(GetParam()));
  NaiveMemtable naive;
  Memtable memtable;
  for (int round = 0; round < 40; ++round) {
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(naive.RollGroup(dice))));
    memtable.AddPrepared();
    naive.Take();
  }
  std::vector<RangeDelete> ranges;
  for (const auto& range : naive.ranges()) ranges.push_back({range.from, range.to, range.sequence});
  EXPECT_EQ(memtable.ranges()->ToMap(), testing_support::RangesOf(ranges, naive.ends()));

  Memtable replayed;
  replayed.AddRanges(ranges);
  EXPECT_EQ(replayed.entry_count(), ranges.size());
  EXPECT_EQ(replayed.ranges()->ToMap(), RangeMap::Of(ranges));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RangeListModelTest, testing::Range(1, 9));

void Add(Memtable* memtable, Sequence first, WriteBatch batch) {
  EncodedBatch::SetFirstSequence(&batch, first);
  ASSERT_OK(memtable->PrepareBatch(EncodedBatch::Of(batch)));
  memtable->AddPrepared();
}

WriteBatch RangeOf(std::string_view from, std::optional<std::string_view> to) {
  WriteBatch batch;
  batch.DeleteRange(from, to);
  return batch;
}

TEST(RangeListTest, AMemtableWithOnlyRangesIsNotEmpty) {
  Memtable memtable;
  EXPECT_EQ(memtable.ranges(), nullptr);
  EXPECT_TRUE(memtable.MapOfRanges().empty());
  Add(&memtable, 7, RangeOf("a", "c"));
  EXPECT_FALSE(memtable.empty());
  EXPECT_EQ(memtable.newest_entry(), 0u);
  ASSERT_NE(memtable.ranges(), nullptr);
  EXPECT_EQ(memtable.MapOfRanges().largest_sequence(), 7u);
}

// Its numbers may go to other writes.
TEST(RangeListTest, RangesOfAFailedGroupDoNotComeLater) {
  Memtable memtable;
  Add(&memtable, 1, RangeOf("a", "c"));
  for (const bool has_range : {false, true}) {
    WriteBatch failed = RangeOf("b", "x");
    EncodedBatch::SetFirstSequence(&failed, memtable.entry_count() + 1);
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(failed)));
    WriteBatch next;
    has_range ? next.DeleteRange("b", "bb") : next.Put("b", "value");
    Add(&memtable, memtable.entry_count() + 1, next);
    EXPECT_EQ(memtable.ranges()->NewestAt(LookupKey("d", 9, 0).internal_key(), 9), 0u);
    EXPECT_EQ(memtable.ranges()->NewestAt(LookupKey("bc", 9, 0).internal_key(), 9), 1u);
  }
}

TEST(RangeListTest, RangesHaveSlotsInTheRing) {
  Memtable memtable(/*number_before=*/0, /*recent_max=*/4);
  WriteBatch batch = RangeOf("a", "c");
  batch.Put("b", "value");
  batch.DeleteRange("d", std::nullopt);
  Add(&memtable, 1, batch);
  for (const Sequence number : {1, 2, 3}) {
    const Memtable::Entry* const entry = memtable.FindRecent(number).entry;
    ASSERT_NE(entry, nullptr) << number;
    EXPECT_EQ(SequenceOf(entry->suffix()), number);
    EXPECT_EQ(IsTombstone(entry->suffix()), number != 2);
  }
  // No iterator finds them.
  const std::unique_ptr<Iterator> entries = memtable.NewIterator();
  entries->SeekToFirst();
  ASSERT_TRUE(entries->Valid());
  EXPECT_EQ(UserKeyOf(entries->key()), "b");
  entries->Next();
  EXPECT_FALSE(entries->Valid());
  // A batch with more entries than slots: the last ones stay.
  WriteBatch large = RangeOf("a", "c");
  for (int i = 0; i < 7; ++i) large.Put("k", "v");
  Add(&memtable, 4, large);
  for (Sequence number = 4; number <= 11; ++number)
    EXPECT_EQ(memtable.FindRecent(number).entry != nullptr, number > 7) << number;
}

// The header's figure.
TEST(RangeListTest, DisjointRangesTakeLittleMemory) {
  constexpr size_t kRanges = 10'000;
  Memtable memtable;
  for (size_t i = 0; i < kRanges; ++i) {
    const std::string from = Concat("key", 10'000'000 + 7919 * i % kRanges * 10);
    Add(&memtable, i + 1, RangeOf(from, from + "5"));
  }
  EXPECT_EQ(memtable.ranges()->ToMap().range_count(), kRanges);
  EXPECT_LT(memtable.memory_bytes() / kRanges, 240u);
}

// Nested ranges in one batch, or all together, take no more than others.
TEST(RangeListTest, NestedRangesOfAGroupAreOneStretchEach) {
  constexpr size_t kRanges = 10'000;
  WriteBatch batch;
  std::vector<std::string> ends;
  for (size_t i = 0; i < kRanges; ++i) ends.push_back(Concat("key", 10'000'000 + i));
  for (const std::string& end : ends) batch.DeleteRange("a", end);
  Memtable memtable;
  Add(&memtable, 1, batch);
  EXPECT_EQ(memtable.ranges()->ToMap().size(), 2u);
  EXPECT_LT(memtable.memory_bytes(), 32 * kRanges);

  WriteBatch reversed;
  for (size_t i = kRanges; i-- > 0;) reversed.DeleteRange("a", ends[i]);
  Memtable another;
  Add(&another, 1, reversed);
  EXPECT_EQ(another.ranges()->ToMap().size(), kRanges + 1);
  EXPECT_LT(another.memory_bytes(), 240 * kRanges);
}

}  // namespace
}  // namespace lsm
