#include "lsm/base/merging_iterator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/internal_key.h"
#include "tests/lsm/base/vector_iterator.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Dice;
using testing_support::StatusIs;

// Many are the same up to, or around, the bytes that decide most comparisons; some have zeros where
// others end.
std::string RandomUserKey(Dice& dice) {
  static constexpr size_t kSharedBytes[] = {0, 0, 0, 7, 8, 14, 15, 16, 30};
  std::string key(kSharedBytes[dice.Roll(std::size(kSharedBytes))], 'm');
  for (size_t count = dice.Roll(3); count > 0; --count) {
    static constexpr char kLetters[] = {'\0', '\x01', 'a', 'b', '\xff'};
    key.push_back(kLetters[dice.Roll(std::size(kLetters))]);
  }
  return key;
}

// Some sorted inputs, and all their entries sorted.
struct Inputs {
  std::vector<std::vector<Entry>> parts;
  std::vector<Entry> all;

  Inputs(Dice& dice, size_t part_count, size_t entry_count) : parts(part_count) {
    for (size_t i = 0; i < entry_count; ++i) {
      Entry entry{Key(RandomUserKey(dice), i), std::to_string(i)};
      parts[dice.Roll(part_count)].push_back(entry);
      all.push_back(std::move(entry));
    }
    for (std::vector<Entry>& part : parts) std::sort(part.begin(), part.end(), Precedes);
    std::sort(all.begin(), all.end(), Precedes);
  }

  std::unique_ptr<Iterator> Merge(int* moves_left = nullptr) const {
    std::vector<std::unique_ptr<InnerIterator>> iterators;
    for (const std::vector<Entry>& part : parts) {
      iterators.push_back(std::make_unique<VectorIterator>(part, moves_left));
    }
    return NewMergingIterator(std::move(iterators));
  }
};

TEST(MergingIteratorTest, NoInputsMakeAnEmptyIterator) {
  const std::unique_ptr<Iterator> merged = NewMergingIterator({});
  merged->SeekToFirst();
  EXPECT_FALSE(merged->Valid());
  EXPECT_OK(merged->status());
}

TEST(MergingIteratorTest, IsNotValidBeforeASeek) {
  Dice dice(1);
  EXPECT_FALSE(Inputs(dice, 3, 10).Merge()->Valid());
}

TEST(MergingIteratorTest, WalksLikeASortedVector) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    const Inputs inputs(dice, 1 + dice.Roll(7), dice.Roll(40));
    const std::unique_ptr<Iterator> merged = inputs.Merge();
    VectorIterator model(inputs.all);
    for (int step = 0; step < 100; ++step) {
      const auto both = [&](auto move) {
        move(*merged);
        move(model);
      };
      const std::string target = Key(RandomUserKey(dice), dice.Roll(40));
      const uint64_t choice = dice.Roll(model.Valid() ? 20 : 4);
      switch (choice) {
        case 0:
          both([](Iterator& it) { it.SeekToFirst(); });
          break;
        case 1:
          both([](Iterator& it) { it.SeekToLast(); });
          break;
        case 2:
          both([&](Iterator& it) { it.Seek(target); });
          break;
        case 3:
          both([&](Iterator& it) { it.SeekForPrev(target); });
          break;
        default:
          both([&](Iterator& it) { choice % 2 == 0 ? it.Next() : it.Prev(); });
      }
      ASSERT_EQ(merged->Valid(), model.Valid()) << "step " << step;
      ASSERT_OK(merged->status());
      if (model.Valid()) {
        ASSERT_EQ(merged->key(), model.key()) << "step " << step;
        ASSERT_EQ(merged->value(), model.value()) << "step " << step;
      }
    }
  }
}

// A compaction in steps leaves such copies.  A copy is an entry by itself, unless the iteration
// turns around.
TEST(MergingIteratorTest, TurnsAroundPastCopies) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    Inputs inputs(dice, 2 + dice.Roll(3), 1 + dice.Roll(20));
    for (const Entry& entry : inputs.all) {
      for (std::vector<Entry>& part : inputs.parts) {
        if (!dice.OneIn(3) || std::find(part.begin(), part.end(), entry) != part.end()) continue;
        part.insert(std::upper_bound(part.begin(), part.end(), entry, Precedes), entry);
      }
    }
    const std::unique_ptr<Iterator> merged = inputs.Merge();
    VectorIterator model(inputs.all);
    merged->SeekToFirst();
    model.SeekToFirst();
    bool was_forward = true;
    for (int step = 0; step < 100 && model.Valid(); ++step) {
      const std::string at(model.key());
      const bool forward = dice.OneIn(2);
      const auto move = [forward](Iterator& it) { forward ? it.Next() : it.Prev(); };
      move(*merged);
      while (forward == was_forward && merged->Valid() && merged->key() == at) move(*merged);
      was_forward = forward;
      move(model);
      ASSERT_EQ(merged->Valid(), model.Valid()) << "step " << step;
      if (model.Valid()) {
        ASSERT_EQ(merged->key(), model.key()) << "step " << step;
        ASSERT_EQ(merged->value(), model.value()) << "step " << step;
      }
    }
    ASSERT_OK(merged->status());
  }
}

// A compaction writes a tombstone in place of a put that has expired, with the same sequence.  If
// the put is still there, the one of the newer input decides, whatever their kinds.
TEST(MergingIteratorTest, CopiesOfOtherKindsStandInTheOrderOfTheInputs) {
  std::vector<Entry> copies(2);
  AppendInternalKey(&copies[0].first, "k", 7, EntryKind::kTimedPut);
  AppendInternalKey(&copies[1].first, "k", 7, EntryKind::kDelete);
  for (int order = 0; order < 2; ++order) {
    std::vector<std::unique_ptr<InnerIterator>> inputs;
    for (const Entry& copy : copies)
      inputs.push_back(std::make_unique<VectorIterator>(std::vector<Entry>{copy}));
    const std::unique_ptr<Iterator> merged = NewMergingIterator(std::move(inputs));
    merged->SeekToFirst();
    for (const Entry& copy : copies) {
      ASSERT_TRUE(merged->Valid());
      EXPECT_EQ(merged->key(), copy.first);
      merged->Next();
    }
    EXPECT_FALSE(merged->Valid());
    merged->SeekToLast();
    ASSERT_TRUE(merged->Valid());
    EXPECT_EQ(merged->key(), copies[1].first);
    std::swap(copies[0], copies[1]);
  }
}

// For every k, the k-th move of any input fails.  The entries before it are right, and the iterator
// returns the error.
TEST(MergingIteratorTest, FailsWithItsFirstFailedInput) {
  Dice dice(2);
  const Inputs inputs(dice, 4, 30);
  for (const bool forward : {true, false}) {
    std::vector<Entry> expected = inputs.all;
    if (!forward) std::reverse(expected.begin(), expected.end());
    for (int fail_at = 0; fail_at < 34; ++fail_at) {
      int moves_left = fail_at;
      const std::unique_ptr<Iterator> merged = inputs.Merge(&moves_left);
      size_t count = 0;
      for (forward ? merged->SeekToFirst() : merged->SeekToLast(); merged->Valid();
           forward ? merged->Next() : merged->Prev()) {
        ASSERT_EQ(merged->key(), expected[count].first);
        ++count;
      }
      EXPECT_THAT(merged->status(), StatusIs(absl::StatusCode::kDataLoss)) << fail_at;
      EXPECT_EQ(count, static_cast<size_t>(std::max(0, fail_at - 3)));

      moves_left = 1000;
      merged->SeekToFirst();
      EXPECT_OK(merged->status()) << "a new seek tries again";
      EXPECT_TRUE(merged->Valid());
    }
  }
}

TEST(MergingIteratorTest, FailsIfTurningAroundFails) {
  Dice dice(3);
  const Inputs inputs(dice, 4, 30);
  for (int fail_at = 0; fail_at < 4; ++fail_at) {
    int moves_left = 1000;
    const std::unique_ptr<Iterator> merged = inputs.Merge(&moves_left);
    merged->Seek(inputs.all[15].first);
    moves_left = fail_at;
    merged->Prev();
    EXPECT_FALSE(merged->Valid());
    EXPECT_THAT(merged->status(), StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST(EmptyIteratorTest, HasNoEntriesAndItsStatus) {
  const std::unique_ptr<Iterator> fine = NewEmptyIterator();
  EXPECT_OK(fine->status());
  const std::unique_ptr<Iterator> failed = NewEmptyIterator(absl::DataLossError("bad"));
  failed->SeekToFirst();
  failed->SeekToLast();
  failed->Seek("a");
  failed->SeekForPrev("a");
  EXPECT_FALSE(failed->Valid());
  EXPECT_THAT(failed->status(), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(MergingIteratorTest, InputsLoadAheadTogether) {
  std::vector<std::pair<std::string, int>> prefetches;
  std::vector<std::unique_ptr<InnerIterator>> inputs;
  for (int i = 0; i < 2; ++i) {
    auto input = std::make_unique<VectorIterator>(std::vector<Entry>{{Key("k", 9), "v"}});
    input->NoteIn(&prefetches);
    inputs.push_back(std::move(input));
  }
  const std::string target = Key("c", 1);
  NewMergingIterator(std::move(inputs))->Seek(target);
  std::vector<std::pair<std::string, int>> expected;
  for (int step = 0; step < InnerIterator::kSeekSteps; ++step) {
    for (int i = 0; i < 2; ++i) expected.emplace_back(target, step);
  }
  EXPECT_EQ(prefetches, expected);
}

}  // namespace
}  // namespace lsm
