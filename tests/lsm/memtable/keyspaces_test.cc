// The lists of several keyspaces in one memtable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/memtable/memtable.h"
#include "lsm/write_batch.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::Dice;

// Adds the batch in two steps, like a writer.
void AddBatch(Memtable* memtable, Sequence first, WriteBatch batch) {
  EncodedBatch::SetFirstSequence(&batch, first);
  ASSERT_OK(memtable->PrepareBatch(EncodedBatch::Of(batch)));
  memtable->AddPrepared();
}

std::vector<KeyspaceId> IdsOf(const Memtable& memtable) {
  std::vector<KeyspaceId> ids;
  for (const EntryList* const list : memtable.Lists()) ids.push_back(list->keyspace());
  return ids;
}

// "=" and the value, "deleted", or "absent".
std::string AnswerOf(const Memtable& memtable, KeyspaceId keyspace, std::string_view key,
                     Sequence at = kSequenceMax) {
  const EntryList* const list = memtable.Find(keyspace);
  if (list == nullptr) return "absent";
  const LookupKey lookup(key, at, 0);
  std::string_view value;
  switch (list->Get(lookup, &value)) {
    case MemtableAnswer::kFound:
      return Concat("=", value);
    case MemtableAnswer::kDeleted:
    case MemtableAnswer::kRangeDeleted:
      return "deleted";
    case MemtableAnswer::kExpired:
      return "expired";
    case MemtableAnswer::kAbsent:
      break;
  }
  const bool is_covered =
      list->ranges() != nullptr && list->ranges()->NewestAt(lookup.internal_key(), at) > 0;
  return is_covered ? "deleted" : "absent";
}

TEST(KeyspacesTest, EachHasItsOwnKeys) {
  Memtable memtable;
  WriteBatch batch;
  batch.Put("key", "default");
  EncodedBatch::Put(&batch, 2, "key", "two");
  EncodedBatch::Put(&batch, 300, "key", "first");
  EncodedBatch::Put(&batch, 300, "key", "second");
  EncodedBatch::Delete(&batch, 4, "key");
  AddBatch(&memtable, 10, batch);
  EXPECT_EQ(AnswerOf(memtable, 0, "key"), "=default");
  EXPECT_EQ(AnswerOf(memtable, 2, "key"), "=two");
  EXPECT_EQ(AnswerOf(memtable, 300, "key"), "=second");
  EXPECT_EQ(AnswerOf(memtable, 300, "key", 12), "=first");
  EXPECT_EQ(AnswerOf(memtable, 300, "key", 11), "absent");
  EXPECT_EQ(AnswerOf(memtable, 4, "key"), "deleted");
  EXPECT_EQ(memtable.Find(3), nullptr);
  EXPECT_EQ(memtable.Find(~KeyspaceId{0}), nullptr);
  EXPECT_THAT(IdsOf(memtable), ElementsAre(0u, 2u, 4u, 300u));
  std::string_view value;
  EXPECT_EQ(memtable.Get(LookupKey("key", kSequenceMax, 0), &value), MemtableAnswer::kFound);
  EXPECT_EQ(value, "default");
}

TEST(KeyspacesTest, RangeDeletesStayInTheirKeyspace) {
  Memtable memtable;
  WriteBatch batch;
  for (const KeyspaceId keyspace : {0u, 2u, 3u}) EncodedBatch::Put(&batch, keyspace, "c", "old");
  EncodedBatch::DeleteRange(&batch, 2, "a", "d");
  EncodedBatch::DeleteRange(&batch, 4, "b", std::nullopt);
  EncodedBatch::DeleteRange(&batch, 2, "x", "y");
  AddBatch(&memtable, 1, batch);
  EXPECT_EQ(AnswerOf(memtable, 0, "c"), "=old");
  EXPECT_EQ(AnswerOf(memtable, 2, "c"), "deleted");
  EXPECT_EQ(AnswerOf(memtable, 2, "c", 3), "=old");
  EXPECT_EQ(AnswerOf(memtable, 2, "x"), "deleted");
  EXPECT_EQ(AnswerOf(memtable, 3, "c"), "=old");
  EXPECT_EQ(AnswerOf(memtable, 4, "zzz"), "deleted");
  EXPECT_EQ(AnswerOf(memtable, 4, "a"), "absent");
  EXPECT_EQ(memtable.ranges(), nullptr);
  EXPECT_EQ(memtable.Find(3)->ranges(), nullptr);
  EXPECT_EQ(memtable.Find(2)->MapOfRanges().largest_sequence(), 6u);
  EXPECT_EQ(memtable.Find(4)->MapOfRanges().largest_sequence(), 5u);
  // A list of ranges alone is walked, too.
  EXPECT_THAT(IdsOf(memtable), ElementsAre(0u, 2u, 3u, 4u));
}

TEST(KeyspacesTest, CallersGetTheRangesOfTheDefaultKeyspace) {
  Memtable memtable;
  WriteBatch batch;
  EncodedBatch::DeleteRange(&batch, 2, "a", "z");
  batch.DeleteRange("b", "d");
  batch.Put("c", "");
  batch.DeleteRange("c", "e");
  EncodedBatch::SetFirstSequence(&batch, 1);
  std::optional<RangeMap> ranges;
  ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(batch), &ranges));
  memtable.AddPrepared();
  ASSERT_TRUE(ranges);
  EXPECT_EQ(*ranges, RangeMap::Of(std::vector<RangeDelete>{{"b", "d", 2}, {"c", "e", 4}}));
  EXPECT_EQ(memtable.MapOfRanges(), *ranges);
  EXPECT_EQ(memtable.Find(2)->MapOfRanges(), RangeMap::Of(std::vector<RangeDelete>{{"a", "z", 1}}));
  WriteBatch next;
  EncodedBatch::DeleteRange(&next, 2, "a", "b");
  EncodedBatch::SetFirstSequence(&next, 5);
  ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(next), &ranges));
  EXPECT_FALSE(ranges);
}

TEST(KeyspacesTest, CountsSayWhoseTheyAre) {
  Memtable memtable;
  WriteBatch batch;
  batch.Delete("a");
  EncodedBatch::Delete(&batch, 2, "a");
  EncodedBatch::Delete(&batch, 2, "b");
  EncodedBatch::DeleteRange(&batch, 2, "a", "b");
  EncodedBatch::Put(&batch, 3, "a", "");
  batch.DeleteRange("a", "b");
  AddBatch(&memtable, 1, batch);
  EXPECT_EQ(memtable.entry_count(), 6u);
  EXPECT_EQ(memtable.last_number(), 6u);
  EXPECT_EQ(memtable.Find(kDefaultKeyspace)->tombstone_count(), 1u);
  EXPECT_EQ(memtable.Find(2)->tombstone_count(), 2u);
  EXPECT_EQ(memtable.MapOfRanges().range_count(), 1u);
  EXPECT_EQ(memtable.newest_entry(), 1u);
  EXPECT_EQ(memtable.Find(2)->newest_entry(), 3u);
  EXPECT_EQ(memtable.Find(3)->newest_entry(), 5u);
  WriteBatch more;
  EncodedBatch::Put(&more, 2, "a", "");
  AddBatch(&memtable, 7, more);
  EXPECT_FALSE(memtable.empty());
  EXPECT_EQ(memtable.entry_count(), 7u);
  EXPECT_EQ(memtable.newest_entry(), 1u);
  EXPECT_EQ(memtable.Find(2)->newest_entry(), 7u);
}

// As after a failure of the log.
TEST(KeyspacesTest, AGivenUpBatchLeavesAnEmptyList) {
  Memtable memtable;
  WriteBatch given_up;
  EncodedBatch::Put(&given_up, 7, "a", "1");
  EncodedBatch::DeleteRange(&given_up, 8, "a", "b");
  EncodedBatch::SetFirstSequence(&given_up, 1);
  ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(given_up)));
  EXPECT_TRUE(memtable.empty());
  ASSERT_NE(memtable.Find(7), nullptr);
  EXPECT_TRUE(memtable.Find(7)->empty());
  EXPECT_TRUE(memtable.Find(8)->empty());
  EXPECT_THAT(IdsOf(memtable), IsEmpty());
  WriteBatch batch;
  batch.Put("a", "2");
  AddBatch(&memtable, 1, batch);
  EXPECT_THAT(IdsOf(memtable), ElementsAre(0u));
  EXPECT_EQ(AnswerOf(memtable, 7, "a"), "absent");
  EXPECT_EQ(AnswerOf(memtable, 8, "a"), "absent");
  AddBatch(&memtable, 2, given_up);
  EXPECT_THAT(IdsOf(memtable), ElementsAre(0u, 7u, 8u));
}

TEST(KeyspacesTest, AMemtableKeepsTheChanges) {
  using Kind = KeyspaceChange::Kind;
  Memtable memtable(/*number_before=*/0, /*recent_max=*/8);
  std::vector<KeyspaceChange> expected;
  Sequence next = 1;
  for (KeyspaceId id = 2; id < 20; ++id) {
    WriteBatch given_up, batch;
    EncodedBatch::Change(&given_up, {Kind::kCreated, 77, "given up", {}});
    EncodedBatch::SetFirstSequence(&given_up, next);
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(given_up)));
    expected.push_back({Kind::kCreated, id, Concat("name", id), {.expire_after = id}});
    EncodedBatch::Change(&batch, expected.back());
    const size_t before = memtable.memory_bytes();
    AddBatch(&memtable, next, batch);
    EXPECT_GE(memtable.memory_bytes(), before + 100);
    EXPECT_EQ(memtable.last_number(), next);
    ASSERT_NE(memtable.FindRecent(next).entry, nullptr);
    EXPECT_EQ(memtable.FindRecent(next).entry->suffix() & 0xff, 0u) << "a tombstone";
    ++next;
  }
  EXPECT_EQ(memtable.changes(), expected);
  EXPECT_EQ(memtable.entry_count(), 18u);
  EXPECT_THAT(IdsOf(memtable), IsEmpty());
}

TEST(KeyspacesTest, AMemtableCountsTheEntriesOfEachList) {
  Memtable memtable;
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "1");
  EncodedBatch::Put(&batch, 2, "a", "1");
  EncodedBatch::Delete(&batch, 2, "b");
  EncodedBatch::Put(&batch, 2, "c", "1");
  EncodedBatch::Change(&batch, {KeyspaceChange::Kind::kOptions, 2, "", {}});
  AddBatch(&memtable, 1, batch);
  memtable.Add(2, 9, EntryKind::kPut, "d", "1");
  memtable.AddChange({KeyspaceChange::Kind::kOptions, 2, "", {}});
  EXPECT_EQ(memtable.Find(0)->entry_count(), 2u);
  EXPECT_EQ(memtable.Find(2)->entry_count(), 4u);
}

TEST(KeyspacesTest, AMemtableCountsTheBytesOfEachList) {
  Memtable memtable(/*number_before=*/0, /*recent_max=*/8);
  EXPECT_EQ(memtable.BytesOf(0), 0u);
  EXPECT_EQ(memtable.BytesOf(2), 0u);
  const std::string value(100, 'v');
  Sequence last = 0;
  size_t of_default = 0, of_2 = 0;
  for (int i = 0; i < 100; ++i) {
    WriteBatch batch, given_up;
    EncodedBatch::Put(&given_up, 3, "key", value);
    EncodedBatch::SetFirstSequence(&given_up, last + 1);
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(given_up)));
    batch.Put(Concat("key", i), value);
    for (int j = 0; j < 3; ++j) EncodedBatch::Put(&batch, 2, Concat("key", 3 * i + j), value);
    AddBatch(&memtable, last + 1, batch);
    last += 4;
    EXPECT_GE(memtable.BytesOf(0), of_default + 100);
    EXPECT_GE(memtable.BytesOf(2), of_2 + 3 * 100);
    of_default = memtable.BytesOf(0);
    of_2 = memtable.BytesOf(2);
  }
  EXPECT_LT(of_default, 100 * 250u);
  EXPECT_LT(of_2, 300 * 200u);
  memtable.Add(2, ++last, EntryKind::kPut, "last", value);
  EXPECT_GE(memtable.BytesOf(2), of_2 + 100);
  memtable.Add(0, ++last, EntryKind::kPut, "last", value);
  EXPECT_GE(memtable.BytesOf(0), of_default + 100);

  WriteBatch ranges;
  for (int i = 0; i < 50; ++i)
    EncodedBatch::DeleteRange(&ranges, 4, Concat(100 + 2 * i), Concat(101 + 2 * i));
  AddBatch(&memtable, last + 1, ranges);
  const size_t of_4 = memtable.BytesOf(4);
  EXPECT_GE(of_4, 50 * 50u);
  EXPECT_LT(of_4, 50 * 240u);
  const std::string key(100, 'k');
  const RangeDelete of_range[] = {{key, std::nullopt, last + 51}};
  memtable.AddRanges(4, of_range);
  EXPECT_GE(memtable.BytesOf(4), of_4 + 100);
  EXPECT_EQ(memtable.BytesOf(5), 0u);

  size_t sum = 0;
  for (KeyspaceId id = 0; id < 6; ++id) sum += memtable.BytesOf(id);
  EXPECT_LE(sum, memtable.memory_bytes());
  EXPECT_GT(sum, memtable.memory_bytes() * 3 / 4) << "the last block may be empty";
}

TEST(KeyspacesTest, TheRingKnowsTheKeyspaceOfEachEntry) {
  Memtable memtable(/*number_before=*/0, /*recent_max=*/8);
  const auto recent = [&](Sequence number) {
    const auto [entry, keyspace] = memtable.FindRecent(number);
    return entry == nullptr ? std::string("none")
                            : Concat(keyspace, "/", entry->user_key(), "/",
                                     IsTombstone(entry->suffix()) ? "deleted" : entry->value());
  };
  WriteBatch of_default, batch;
  of_default.Put("a", "1");
  of_default.Delete("b");
  AddBatch(&memtable, 1, of_default);
  EXPECT_EQ(recent(1), "0/a/1");
  batch.Put("a", "3");
  EncodedBatch::Put(&batch, 2, "b", "4");
  EncodedBatch::Delete(&batch, 70'000, "c");
  EncodedBatch::DeleteRange(&batch, 2, "c", "d");
  batch.Put("e", "7");
  AddBatch(&memtable, 3, batch);
  EXPECT_EQ(recent(1), "0/a/1") << "from before the words";
  EXPECT_EQ(recent(2), "0/b/deleted");
  EXPECT_EQ(recent(3), "0/a/3");
  EXPECT_EQ(recent(4), "2/b/4");
  EXPECT_EQ(recent(5), "70000/c/deleted");
  EXPECT_EQ(recent(6), "0//deleted") << "a range";
  EXPECT_EQ(recent(7), "0/e/7");
  AddBatch(&memtable, 8, batch);
  EXPECT_EQ(recent(4), "none");
  EXPECT_EQ(recent(5), "70000/c/deleted");
  EXPECT_EQ(recent(9), "2/b/4");
  EXPECT_EQ(recent(12), "0/e/7");
}

TEST(KeyspacesTest, ReplaysAddToAnyList) {
  Memtable memtable;
  memtable.Add(5, 1, EntryKind::kPut, "a", "old");
  memtable.Add(5, 2, EntryKind::kPut, "b", "kept");
  memtable.AddRanges(5, std::vector<RangeDelete>{{"a", "b", 3}});
  memtable.AddRanges(6, std::vector<RangeDelete>{{"a", std::nullopt, 4}});
  EXPECT_EQ(AnswerOf(memtable, 5, "a"), "deleted");
  EXPECT_EQ(AnswerOf(memtable, 5, "b"), "=kept");
  EXPECT_EQ(AnswerOf(memtable, 6, "b"), "deleted");
  EXPECT_EQ(memtable.entry_count(), 4u);
  EXPECT_EQ(memtable.ranges(), nullptr);
  EXPECT_EQ(memtable.Find(5)->newest_entry(), 2u);
}

// The writes of all keyspaces.
class NaiveKeyspaces {
 public:
  explicit NaiveKeyspaces(std::vector<KeyspaceId> ids) : ids_(std::move(ids)) {}

  // Makes a group with the next numbers.  It belongs to the writes once it is taken.
  WriteBatch Roll(Dice& dice) {
    rolled_ = writes_;
    WriteBatch batch;
    EncodedBatch::SetFirstSequence(&batch, writes_.size() + 1);
    for (size_t i = 1 + dice.Roll(30); i > 0; --i) {
      Write write{ids_[dice.Roll(ids_.size())], Key(dice), std::nullopt, std::nullopt, false};
      if (dice.OneIn(8)) {
        const std::string to = Key(dice);
        write.is_range = true;
        if (!dice.OneIn(10)) write.to = to;
        if (write.to && *write.to <= write.key) continue;
        EncodedBatch::DeleteRange(&batch, write.keyspace, write.key, write.to);
      } else if (dice.OneIn(4)) {
        EncodedBatch::Delete(&batch, write.keyspace, write.key);
      } else {
        write.value = Concat("value ", rolled_.size() + 1);
        EncodedBatch::Put(&batch, write.keyspace, write.key, *write.value);
      }
      rolled_.push_back(std::move(write));
    }
    return batch;
  }
  void Take() { writes_ = std::move(rolled_); }

  Sequence last() const { return writes_.size(); }
  const std::vector<KeyspaceId>& ids() const { return ids_; }
  static std::string Key(Dice& dice) { return Concat("key", 100 + dice.Roll(60)); }

  std::string AnswerOf(KeyspaceId keyspace, const std::string& key, Sequence at) const {
    for (size_t i = std::min<size_t>(at, writes_.size()); i-- > 0;) {
      const Write& write = writes_[i];
      if (write.keyspace != keyspace) continue;
      const bool changes =
          write.is_range ? write.key <= key && (!write.to || key < *write.to) : write.key == key;
      if (changes) return write.value ? Concat("=", *write.value) : "deleted";
    }
    return "absent";
  }
  // The internal keys of each keyspace that has writes.
  std::map<KeyspaceId, std::vector<std::string>> Entries() const {
    std::map<KeyspaceId, std::vector<std::string>> entries;
    for (size_t i = 0; i < writes_.size(); ++i) {
      std::vector<std::string>& of_keyspace = entries[writes_[i].keyspace];
      if (writes_[i].is_range) continue;
      AppendInternalKey(&of_keyspace.emplace_back(), writes_[i].key, i + 1,
                        writes_[i].value ? EntryKind::kPut : EntryKind::kDelete);
    }
    for (auto& [id, keys] : entries) {
      std::sort(keys.begin(), keys.end(), [](const std::string& a, const std::string& b) {
        return CompareInternalKeys(a, b) < 0;
      });
    }
    return entries;
  }

 private:
  struct Write {
    KeyspaceId keyspace;
    std::string key;  // or the begin of a range
    std::optional<std::string> value, to;
    bool is_range;
  };

  const std::vector<KeyspaceId> ids_;
  std::vector<Write> writes_, rolled_;
};

class KeyspacesModelTest : public testing::TestWithParam<uint64_t> {};

TEST_P(KeyspacesModelTest, AgreesWithTheWrites) {
  Dice dice(GetParam());
  std::vector<KeyspaceId> ids = {0, 2, ~KeyspaceId{0}};
  for (size_t i = dice.Roll(40); i > 0; --i)
    ids.push_back(2 +
                  static_cast<KeyspaceId>(dice.OneIn(2) ? dice.Roll(60) : 1024 * dice.Roll(90)));
  NaiveKeyspaces naive(ids);
  Memtable memtable(/*number_before=*/0, dice.OneIn(2) ? 64 : 0);
  for (int round = 0; round < 60; ++round) {
    if (dice.OneIn(3)) {
      ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(naive.Roll(dice))));
    }
    ASSERT_OK(memtable.PrepareBatch(EncodedBatch::Of(naive.Roll(dice))));
    memtable.AddPrepared();
    naive.Take();
    ASSERT_EQ(memtable.entry_count(), naive.last());
    for (int i = 0; i < 100; ++i) {
      const KeyspaceId id = ids[dice.Roll(ids.size())];
      const std::string key = NaiveKeyspaces::Key(dice);
      const Sequence at = naive.last();
      ASSERT_EQ(AnswerOf(memtable, id, key, at), naive.AnswerOf(id, key, at)) << id << " " << key;
    }
  }
  std::map<KeyspaceId, std::vector<std::string>> entries;
  for (const EntryList* const list : memtable.Lists()) {
    ASSERT_TRUE(entries.empty() || entries.rbegin()->first < list->keyspace());
    std::vector<std::string>& keys = entries[list->keyspace()];
    const std::unique_ptr<InnerIterator> entry = list->NewIterator();
    for (entry->SeekToFirst(); entry->Valid(); entry->Next()) keys.emplace_back(entry->key());
  }
  EXPECT_EQ(entries, naive.Entries());
}

INSTANTIATE_TEST_SUITE_P(Seeds, KeyspacesModelTest, testing::Range(uint64_t{1}, uint64_t{13}));

TEST(KeyspacesTest, AllOfAListCountsAsMemory) {
  constexpr size_t kKeyspaces = 10'000;
  for (const size_t entries : {1, 16}) {
    Memtable memtable;
    Sequence last = 0;
    for (size_t entry = 0; entry < entries; ++entry) {
      for (KeyspaceId i = 0; i < kKeyspaces; ++i) {
        WriteBatch batch;
        EncodedBatch::Put(&batch, kOtherKeyspaceMin + i, Concat("key", entry), "value");
        AddBatch(&memtable, ++last, batch);
      }
    }
    EXPECT_EQ(memtable.Lists().size(), kKeyspaces);
    // lsm/design/keyspaces.md names these figures.  An entry takes 32 bytes.
    const size_t per_keyspace = memtable.memory_bytes() / kKeyspaces - entries * 32;
    RecordProperty(Concat("bytes_with_", entries), static_cast<int>(per_keyspace));
    EXPECT_GE(per_keyspace, entries == 1 ? 410u : 1300u);
    EXPECT_LE(per_keyspace, entries == 1 ? 560u : 1500u) << "the last block may be empty";
  }
}

// The table doubles, and the old ones stay.
TEST(KeyspacesTest, IdsWithACommonDivisorAreFound) {
  for (const KeyspaceId step : {1u, 2u, 1000u, 1024u, 65'536u}) {
    Memtable memtable;
    for (KeyspaceId i = 0; i < 3000; ++i) {
      WriteBatch batch;
      EncodedBatch::Put(&batch, 2 + i * step, "key", Concat(i));
      AddBatch(&memtable, 1 + i, batch);
    }
    for (KeyspaceId i = 0; i < 3000; ++i)
      ASSERT_EQ(AnswerOf(memtable, 2 + i * step, "key"), Concat("=", i));
    EXPECT_EQ(memtable.Find(2 + 3000 * step), nullptr);
    EXPECT_EQ(memtable.Lists().size(), 3000u);
  }
}

TEST(KeyspacesTest, LargeBatchesTakeTheMemoryOfSingleEntries) {
  constexpr int kEntries = 20'000;
  Memtable singly, at_once;
  WriteBatch batch;
  for (int i = 0; i < kEntries; ++i) {
    const std::string key = Concat("key", 100'000 + i * 7919 % kEntries);
    const KeyspaceId keyspace = i % 50 == 0 ? 0 : 2 + static_cast<KeyspaceId>(i) % 50;
    singly.Add(keyspace, static_cast<Sequence>(1 + i), EntryKind::kPut, key, "v");
    EncodedBatch::Put(&batch, keyspace, key, "v");
  }
  AddBatch(&at_once, 1, batch);
  EXPECT_EQ(at_once.entry_count(), static_cast<uint64_t>(kEntries));
  EXPECT_LE(at_once.memory_bytes(), singly.memory_bytes() * 5 / 4);
}

}  // namespace
}  // namespace lsm
