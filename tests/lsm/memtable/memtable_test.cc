#include "lsm/memtable/memtable.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/limits.h"
#include "lsm/write_batch.h"
#include "tests/support/dice.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::Dice;
using testing_support::StatusIs;

struct InternalKeyLess {
  bool operator()(const std::string& a, const std::string& b) const {
    return CompareInternalKeys(a, b) < 0;
  }
};

// A memtable and a map with the same entries.
class Twins {
 public:
  void Add(const std::string& user_key, EntryKind kind, const std::string& value) {
    ++sequence_;
    memtable_.Add(sequence_, kind, user_key, value);
    std::string key;
    AppendInternalKey(&key, user_key, sequence_, kind);
    model_[key] = value;
  }
  void Put(const std::string& user_key) {
    Add(user_key, EntryKind::kPut, "value " + std::to_string(sequence_ + 1));
  }

  void ExpectSameGet(const std::string& user_key, Sequence sequence) const {
    const LookupKey key(user_key, sequence, 0);
    std::string_view value = "untouched";
    const MemtableAnswer answer = memtable_.Get(key, &value);
    const auto at = model_.lower_bound(std::string(key.internal_key()));
    if (at == model_.end() || UserKeyOf(at->first) != user_key) {
      ASSERT_EQ(answer, MemtableAnswer::kAbsent);
    } else if ((SuffixOf(at->first) & 0xff) == static_cast<uint8_t>(EntryKind::kDelete)) {
      ASSERT_EQ(answer, MemtableAnswer::kDeleted);
    } else {
      ASSERT_EQ(answer, MemtableAnswer::kFound);
      ASSERT_EQ(value, at->second);
    }
  }

  void ExpectSameScans() const {
    const std::unique_ptr<Iterator> iterator = memtable_.NewIterator();
    auto at = model_.begin();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++at) {
      ASSERT_NE(at, model_.end());
      ASSERT_EQ(iterator->key(), at->first);
      ASSERT_EQ(iterator->value(), at->second);
    }
    ASSERT_EQ(at, model_.end());
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
      ASSERT_NE(at, model_.begin());
      --at;
      ASSERT_EQ(iterator->key(), at->first);
      ASSERT_EQ(iterator->value(), at->second);
    }
    ASSERT_EQ(at, model_.begin());
    ASSERT_EQ(memtable_.entry_count(), model_.size());
  }

  // `count` random moves of one iterator.
  void ExpectSameWalk(Dice& dice, int count, const std::function<std::string()>& user_key) const {
    const std::unique_ptr<Iterator> iterator = memtable_.NewIterator();
    auto at = model_.end();
    while (count-- > 0) {
      std::string target;
      AppendInternalKey(&target, user_key(), dice.Roll(sequence_ + 2), EntryKind::kPut);
      const uint64_t choice = dice.Roll(at == model_.end() ? 4 : 20);
      if (choice == 0) {
        iterator->SeekToFirst();
        at = model_.begin();
      } else if (choice == 1) {
        iterator->SeekToLast();
        at = model_.empty() ? model_.end() : std::prev(model_.end());
      } else if (choice == 2) {
        iterator->Seek(target);
        at = model_.lower_bound(target);
      } else if (choice == 3) {
        iterator->SeekForPrev(target);
        at = model_.upper_bound(target);
        at = at == model_.begin() ? model_.end() : std::prev(at);
      } else if (choice % 2 == 0) {
        iterator->Next();
        ++at;
      } else {
        iterator->Prev();
        at = at == model_.begin() ? model_.end() : std::prev(at);
      }
      ASSERT_EQ(iterator->Valid(), at != model_.end());
      if (at != model_.end()) {
        ASSERT_EQ(iterator->key(), at->first);
      }
    }
  }

  const Memtable& memtable() const { return memtable_; }
  Sequence sequence() const { return sequence_; }

 private:
  Memtable memtable_;
  std::map<std::string, std::string, InternalKeyLess> model_;
  Sequence sequence_ = 0;
};

// As db_bench makes keys.
std::string Digits(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(16 - digits.size(), '0') + digits;
}

TEST(MemtableTest, NewMemtablesAreEmptyAndSmall) {
  Twins twins;
  EXPECT_TRUE(twins.memtable().empty());
  twins.ExpectSameGet("", kSequenceMax);
  twins.ExpectSameGet("a", kSequenceMax);
  twins.ExpectSameScans();
  EXPECT_LE(twins.memtable().memory_bytes(), 8192u);
  const std::unique_ptr<Iterator> iterator = twins.memtable().NewIterator();
  EXPECT_FALSE(iterator->Valid());
  iterator->Seek("\1\0\0\0\0\0\0\0");
  EXPECT_FALSE(iterator->Valid());
}

TEST(MemtableTest, ReturnsTheNewestVisibleVersion) {
  Memtable memtable;
  memtable.Add(5, EntryKind::kPut, "k", "five");
  memtable.Add(7, EntryKind::kDelete, "k", "");
  memtable.Add(9, EntryKind::kPut, "k", "nine");
  std::string_view value;
  const auto get = [&](Sequence sequence) {
    return memtable.Get(LookupKey("k", sequence, 0), &value);
  };
  EXPECT_EQ(get(4), MemtableAnswer::kAbsent);
  EXPECT_EQ(get(5), MemtableAnswer::kFound);
  EXPECT_EQ(value, "five");
  EXPECT_EQ(get(6), MemtableAnswer::kFound);
  EXPECT_EQ(get(7), MemtableAnswer::kDeleted);
  EXPECT_EQ(get(8), MemtableAnswer::kDeleted);
  EXPECT_EQ(get(kSequenceMax), MemtableAnswer::kFound);
  EXPECT_EQ(value, "nine");
  EXPECT_EQ(memtable.entry_count(), 3u);
}

// Kinds of keys that use different parts of the comparison, and orders of insertion that split
// leaves differently.
struct Workload {
  const char* name;
  std::function<std::string(Dice&, uint64_t)> key;  // the i-th to be put
};

std::vector<Workload> Workloads() {
  return {
      {"ascending", [](Dice&, uint64_t i) { return Digits(i); }},
      {"descending", [](Dice&, uint64_t i) { return Digits(100000 - i); }},
      {"outwards", [](Dice&, uint64_t i) { return Digits(i % 2 ? 50000 + i : 50000 - i); }},
      {"runs", [](Dice&, uint64_t i) { return Digits(i % 7 * 10000 + i / 7); }},
      {"digits", [](Dice& dice, uint64_t) { return Digits(dice.Roll(1000000)); }},
      {"few keys", [](Dice& dice, uint64_t) { return Digits(dice.Roll(9)); }},
      {"one key", [](Dice&, uint64_t) { return std::string("the same"); }},
      {"binary",
       [](Dice& dice, uint64_t) {
         std::string key(dice.Roll(20), '\0');
         for (char& byte : key) byte = static_cast<char>(dice.Next());
         return key;
       }},
      {"two letters",
       [](Dice& dice, uint64_t) {
         std::string key(dice.Roll(12), '\0');
         for (char& byte : key) byte = dice.OneIn(2) ? '\xff' : '\0';
         return key;
       }},
      {"long prefix",
       [](Dice& dice, uint64_t) {
         std::string key(110 + dice.Roll(30), 'p');
         if (!dice.OneIn(4)) key[dice.Roll(key.size())] = static_cast<char>('o' + dice.Roll(3));
         return key + std::to_string(dice.Roll(100));
       }},
      // The pivot is from the first group, so the hints of all other keys are equal.
      {"a family after another",
       [](Dice& dice, uint64_t i) {
         return (i < 20 ? "meta/" : "user/") + Digits(dice.Roll(1000000));
       }},
      {"two families",
       [](Dice& dice, uint64_t) {
         return (dice.OneIn(2) ? "index/" : "row/") + Digits(dice.Roll(1000));
       }},
  };
}

TEST(MemtableTest, MatchesAMap) {
  for (const Workload& workload : Workloads()) {
    // The last count rebuilds the directory of leaves three times.
    for (const uint64_t count : {1, 14, 15, 16, 17, 40, 400, 4000, 16'000}) {
      SCOPED_TRACE(workload.name + std::string(", ") + std::to_string(count));
      Dice dice(count);
      Twins twins;
      std::vector<std::string> keys;
      for (uint64_t i = 0; i < count; ++i) {
        keys.push_back(workload.key(dice, i));
        if (dice.OneIn(5)) {
          twins.Add(keys.back(), EntryKind::kDelete, "");
        } else {
          twins.Put(keys.back());
        }
      }
      const auto some_key = [&] {
        std::string key = keys[dice.Roll(keys.size())];
        const uint64_t change = dice.Roll(4);
        if (change == 0) key += '\0';
        if (change == 1 && !key.empty()) key.back() = static_cast<char>(key.back() - 1);
        return key;
      };
      ASSERT_NO_FATAL_FAILURE(twins.ExpectSameScans());
      for (uint64_t i = 0; i < count; i += testing_support::kStride) {
        ASSERT_NO_FATAL_FAILURE(twins.ExpectSameGet(keys[i], kSequenceMax)) << i;
        ASSERT_NO_FATAL_FAILURE(twins.ExpectSameGet(keys[i], dice.Roll(count + 1)));
        ASSERT_NO_FATAL_FAILURE(twins.ExpectSameGet(some_key(), kSequenceMax));
      }
      ASSERT_NO_FATAL_FAILURE(twins.ExpectSameWalk(dice, 1000, some_key));
    }
  }
}

// An iterator that stays at an entry while others are added continues from this entry.
TEST(MemtableTest, IteratorsSurviveInsertions) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    Memtable memtable;
    Sequence sequence = 0;
    std::vector<uint64_t> early;
    for (uint64_t i = 0; i < 1 + seed; ++i) {
      early.push_back(i * 1000);
      memtable.Add(++sequence, EntryKind::kPut, Digits(i * 1000), "early");
    }
    const std::unique_ptr<Iterator> forward = memtable.NewIterator();
    const std::unique_ptr<Iterator> backward = memtable.NewIterator();
    forward->SeekToFirst();
    backward->SeekToLast();
    std::string before_forward, before_backward;
    std::vector<uint64_t> seen_forward, seen_backward;
    while (forward->Valid() || backward->Valid()) {
      if (forward->Valid()) {
        const std::string key(forward->key());
        ASSERT_TRUE(before_forward.empty() || CompareInternalKeys(before_forward, key) < 0);
        before_forward = key;
        if (forward->value() == "early") {
          seen_forward.push_back(std::stoull(std::string(UserKeyOf(key))));
        }
      }
      if (backward->Valid()) {
        const std::string key(backward->key());
        ASSERT_TRUE(before_backward.empty() || CompareInternalKeys(key, before_backward) < 0);
        before_backward = key;
        if (backward->value() == "early") {
          seen_backward.insert(seen_backward.begin(), std::stoull(std::string(UserKeyOf(key))));
        }
      }
      for (uint64_t left = dice.Roll(40); left > 0 && sequence < 5000; --left) {
        ++sequence;
        const uint64_t number = dice.OneIn(3) ? 30000 + sequence : dice.Roll(60000);
        memtable.Add(sequence, EntryKind::kPut, Digits(number), "late");
      }
      if (forward->Valid()) forward->Next();
      if (backward->Valid()) backward->Prev();
    }
    ASSERT_EQ(seen_forward, early);
    ASSERT_EQ(seen_backward, early);
  }
}

TEST(MemtableTest, AcceptsKeysAndValuesUpToTheirLimits) {
  Twins twins;
  twins.Add(std::string(kKeyBytesMax, 'k'), EntryKind::kPut, std::string(1 << 20, 'v'));
  twins.Add(std::string(kKeyBytesMax, 'l'), EntryKind::kPut, std::string(kValueBytesMax, 'v'));
  twins.Add("", EntryKind::kPut, "");
  twins.ExpectSameScans();
  twins.ExpectSameGet("", kSequenceMax);
  twins.ExpectSameGet(std::string(kKeyBytesMax, 'k'), kSequenceMax);
}

TEST(MemtableTest, ReportsItsMemory) {
  constexpr uint64_t kCount = 50000;
  const std::string value(100, 'v');
  for (const Workload& workload : Workloads()) {
    SCOPED_TRACE(workload.name);
    Dice dice(1);
    Memtable memtable;
    size_t net_bytes = 0;
    for (uint64_t i = 0; i < kCount; ++i) {
      const std::string key = workload.key(dice, i);
      memtable.Add(i + 1, EntryKind::kPut, key, value);
      net_bytes += key.size() + kInternalKeySuffixBytes + value.size();
      ASSERT_GE(memtable.memory_bytes(), net_bytes);
    }
    // Per entry: its lengths, rounding, and its share of a leaf.  In total: the rest of a block.
    EXPECT_LT(memtable.memory_bytes(), net_bytes + kCount * (8 + 7 + 36) + (1 << 20));
    const std::string name = workload.name;
    if (name == "ascending" || name == "descending" || name == "outwards" || name == "runs") {
      EXPECT_LT(memtable.memory_bytes(), net_bytes + kCount * (8 + 7 + 22) + (1 << 20))
          << "runs of neighbours fill their leaves";
    }
  }
}

TEST(MemtableTest, LargeValuesWasteNoBlocks) {
  Memtable memtable;
  size_t net_bytes = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    memtable.Add(2 * i, EntryKind::kPut, "large", std::string(600 << 10, 'v'));
    memtable.Add(2 * i + 1, EntryKind::kPut, "small", "v");
    net_bytes += 600 << 10;
  }
  EXPECT_GE(memtable.memory_bytes(), net_bytes);
  EXPECT_LT(memtable.memory_bytes(), net_bytes + (1 << 20) + 65536);
}

// Memory reserved for the worst case of a batch is returned after the batch was added.
TEST(MemtableTest, LargeBatchesTakeTheMemoryOfSingleEntries) {
  constexpr int kEntries = 20'000;
  Memtable singly, at_once;
  WriteBatch batch;
  for (int i = 0; i < kEntries; ++i) {
    const std::string key = Concat("key", 100'000 + i * 7919 % kEntries);
    singly.Add(static_cast<Sequence>(1 + i), EntryKind::kPut, key, "v");
    batch.Put(key, "v");
  }
  EncodedBatch::SetFirstSequence(&batch, 1);
  ASSERT_OK(at_once.PrepareBatch(EncodedBatch::Of(batch)));
  at_once.AddPrepared();
  EXPECT_EQ(at_once.entry_count(), static_cast<uint64_t>(kEntries));
  EXPECT_LE(at_once.memory_bytes(), singly.memory_bytes() * 5 / 4);
}

// A descending run towards an ascending one, which may have ended with a full leaf.
TEST(MemtableTest, RunsFromBothSidesFillLeaves) {
  constexpr int kEntries = 10'000;
  for (int up = kEntries / 2; up < kEntries / 2 + 16; ++up) {
    Memtable memtable;
    for (int i = 0; i < kEntries; ++i) {
      const int number = i < up ? i : kEntries - 1 - (i - up);
      memtable.Add(static_cast<Sequence>(1 + i), EntryKind::kPut, Concat("key", 10'000 + number),
                   "v");
    }
    EXPECT_LE(memtable.memory_bytes(), kEntries * 100u) << up;
  }
}

TEST(MemtableTest, AddsBatchesFromTheirSequenceNumber) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("b");
  batch.Put("a", "3");
  EncodedBatch::SetFirstSequence(&batch, 10);
  Memtable memtable;
  ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(batch)));
  memtable.AddPrepared();
  EXPECT_EQ(memtable.entry_count(), 3u);
  std::string_view value;
  EXPECT_EQ(memtable.Get(LookupKey("a", 9, 0), &value), MemtableAnswer::kAbsent);
  EXPECT_EQ(memtable.Get(LookupKey("a", 11, 0), &value), MemtableAnswer::kFound);
  EXPECT_EQ(value, "1");
  EXPECT_EQ(memtable.Get(LookupKey("a", 12, 0), &value), MemtableAnswer::kFound);
  EXPECT_EQ(value, "3");
  EXPECT_EQ(memtable.Get(LookupKey("b", 12, 0), &value), MemtableAnswer::kDeleted);
}

TEST(MemtableTest, CountsTombstonesOfBatches) {
  Memtable memtable;
  const EntryList& list = *memtable.Find(kDefaultKeyspace);
  WriteBatch batch;
  batch.Delete("a");
  batch.Put("b", "value");
  batch.Delete("c");
  for (int round = 1; round <= 2; ++round) {
    EncodedBatch::SetFirstSequence(&batch, static_cast<Sequence>(10 * round));
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(batch)));
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(batch))) << "the first one was given up";
    EXPECT_EQ(list.tombstone_count(), 2u * static_cast<uint64_t>(round - 1));
    memtable.AddPrepared();
    EXPECT_EQ(list.tombstone_count(), 2u * static_cast<uint64_t>(round));
  }
}

TEST(MemtableTest, FindsTheLastEntriesByTheirNumbers) {
  constexpr Sequence kBefore = 100;
  Memtable memtable(kBefore, /*recent_max=*/8);
  EXPECT_EQ(memtable.number_before(), kBefore);
  EXPECT_EQ(memtable.last_number(), kBefore);
  for (Sequence last = kBefore; last < kBefore + 60; last += 3) {
    WriteBatch batch;
    batch.Put(Concat("put", last + 1), "value");
    batch.Delete(Concat("deleted", last + 2));
    batch.Put(Concat("put", last + 3), "value");
    EncodedBatch::SetFirstSequence(&batch, last + 1);
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(batch)));
    // Entries that are only prepared are in no slot.
    ASSERT_EQ(memtable.last_number(), last);
    ASSERT_EQ(memtable.FindRecent(last + 1).entry, nullptr);
    memtable.AddPrepared();
    ASSERT_EQ(memtable.last_number(), last + 3);
    for (Sequence number = kBefore + 1; number <= last + 3; ++number) {
      const Memtable::Entry* entry = memtable.FindRecent(number).entry;
      ASSERT_EQ(entry != nullptr, number + 8 > last + 3) << number;
      if (entry == nullptr) continue;
      const bool deletes = (number - kBefore) % 3 == 2;
      ASSERT_EQ(entry->user_key(), Concat(deletes ? "deleted" : "put", number));
      ASSERT_EQ(entry->suffix(),
                PackSuffix(number, deletes ? EntryKind::kDelete : EntryKind::kPut));
    }
  }
}

TEST(MemtableTest, BatchesMayBeLargerThanTheRing) {
  WriteBatch batch;
  for (int i = 0; i < 20; ++i) batch.Put(Concat(i), "value");
  EncodedBatch::SetFirstSequence(&batch, 1);
  Memtable ring(/*number_before=*/0, /*recent_max=*/8), none;
  for (Memtable* memtable : {&ring, &none}) {
    ASSERT_OK(memtable->PrepareBatch(EncodedBatch::Of(batch)));
    memtable->AddPrepared();
    EXPECT_EQ(memtable->last_number(), 20u);
    EXPECT_EQ(memtable->FindRecent(12).entry, nullptr);
    EXPECT_EQ(memtable->FindRecent(13).entry != nullptr, memtable == &ring);
  }
}

TEST(MemtableTest, PreparedEntriesAppearWhenAdded) {
  Memtable memtable;
  Sequence sequence = 0;
  for (int round = 0; round < 50; ++round) {
    WriteBatch batch;
    for (int i = 0; i < 40; ++i) batch.Put(std::to_string((i * 7919 + round) % 4001), "value");
    EncodedBatch::SetFirstSequence(&batch, sequence + 1);
    // The first preparation is abandoned, as by a writer that lacks memory for something else.
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(batch)));
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(batch)));
    ASSERT_EQ(memtable.entry_count(), sequence);
    std::string_view value;
    ASSERT_EQ(memtable.Get(LookupKey(std::to_string(round), sequence + 40, 0), &value),
              MemtableAnswer::kAbsent);
    const size_t bytes_before = memtable.memory_bytes();
    memtable.AddPrepared();
    ASSERT_LE(memtable.memory_bytes(), bytes_before + (40 << 10));  // a block that was reserved
    sequence += 40;
    ASSERT_EQ(memtable.entry_count(), sequence);
    ASSERT_EQ(memtable.Get(LookupKey(std::to_string(round), sequence, 0), &value),
              MemtableAnswer::kFound);
  }
}

TEST(MemtableTest, DamagedBatchesAreErrorsAndAddNothing) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "2");
  Memtable memtable;
  for (size_t size = 0; size < batch.size_bytes(); ++size) {
    EXPECT_THAT(memtable.PrepareBatch(EncodedBatch::Of(batch).substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("write batch: offset")));
    EXPECT_TRUE(memtable.empty());
  }
  std::string bytes(EncodedBatch::Of(batch));
  StoreFixed64(bytes.data(), kSequenceMax + 1);
  EXPECT_THAT(memtable.PrepareBatch(bytes), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace lsm
