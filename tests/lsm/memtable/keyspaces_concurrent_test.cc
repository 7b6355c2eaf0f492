// One writer begins keyspaces and writes to them, while readers read all of them.  A reader finds
// everything that was added before it began.  ThreadSanitizer checks the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/memtable/memtable.h"
#include "lsm/write_batch.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Dice;

constexpr uint64_t kKeyspaceBatches = 3000;
constexpr uint64_t kBatchesToNewKeyspace = 3;  // every third batch begins a keyspace
constexpr int kKeyspaceReaders = 3;

// The batch with this index has an entry in the newest keyspace, one in an older one, one in the
// default one, and a range in the newest one.
constexpr uint64_t kEntriesOfBatch = 4;

KeyspaceId NewestAt(uint64_t batch) {
  return kOtherKeyspaceMin + static_cast<KeyspaceId>(batch / kBatchesToNewKeyspace);
}
KeyspaceId OlderAt(uint64_t batch) {
  return kOtherKeyspaceMin +
         static_cast<KeyspaceId>(batch * 7919 % (batch / kBatchesToNewKeyspace + 1));
}
std::string KeyOfBatch(uint64_t batch) { return Concat("key", 10'000 + batch); }

class KeyspaceRace {
 public:
  void Run() {
    std::vector<std::thread> readers;
    for (int i = 0; i < kKeyspaceReaders; ++i) readers.emplace_back([this, i] { Read(i); });
    for (uint64_t i = 0; i < kKeyspaceBatches; ++i) {
      WriteBatch batch;
      const std::string key = KeyOfBatch(i);
      EncodedBatch::Put(&batch, NewestAt(i), key, "newest" + key);
      EncodedBatch::Put(&batch, OlderAt(i), "older" + key, key);
      EncodedBatch::Put(&batch, kDefaultKeyspace, key, key);
      EncodedBatch::DeleteRange(&batch, NewestAt(i), "range" + key, "range" + key + "z");
      EncodedBatch::SetFirstSequence(&batch, 1 + kEntriesOfBatch * i);
      ASSERT_OK(memtable_.PrepareBatch(EncodedBatch::Of(batch)));
      memtable_.AddPrepared();
      // Release: pairs with the readers' acquire, as the store's own publication does.
      added_.store(i + 1, std::memory_order_release);
      if (i % 16 == 0) std::this_thread::yield();  // with few cores, lets all threads run
    }
    for (std::thread& reader : readers) reader.join();
  }

 private:
  void Read(int reader) {
    Dice dice(static_cast<uint64_t>(reader));
    for (bool is_done = false; !is_done && !testing::Test::HasFailure();) {
      const uint64_t added = added_.load(std::memory_order_acquire);
      is_done = added == kKeyspaceBatches;
      if (added == 0) continue;
      for (int i = 0; i < 20; ++i) {
        ExpectAllOf(dice.Roll(added));
        ExpectAllOf(added - 1 - dice.Roll(std::min<uint64_t>(added, 5)));
      }
      ExpectRightOrNone(NewestAt(added) + static_cast<KeyspaceId>(dice.Roll(60)));
      ExpectOrder(added);
    }
  }

  void ExpectFound(KeyspaceId keyspace, const std::string& key, const std::string& expected) {
    const EntryList* const list = memtable_.Find(keyspace);
    ASSERT_NE(list, nullptr) << keyspace;
    ASSERT_EQ(list->keyspace(), keyspace);
    std::string_view value;
    ASSERT_EQ(list->Get(LookupKey(key, kSequenceMax, 0), &value), MemtableAnswer::kFound) << key;
    ASSERT_EQ(value, expected);
  }
  void ExpectAllOf(uint64_t batch) {
    const std::string key = KeyOfBatch(batch);
    ExpectFound(NewestAt(batch), key, "newest" + key);
    ExpectFound(OlderAt(batch), "older" + key, key);
    ExpectFound(kDefaultKeyspace, key, key);
    const RangeList* const ranges = memtable_.Find(NewestAt(batch))->ranges();
    ASSERT_NE(ranges, nullptr);
    const LookupKey covered("range" + key + "a", kSequenceMax, 0);
    ASSERT_EQ(ranges->NewestAt(covered.internal_key(), kSequenceMax),
              kEntriesOfBatch * (batch + 1));
  }
  // The writer may be about to begin this keyspace, or a neighbour in the table.
  void ExpectRightOrNone(KeyspaceId keyspace) {
    const EntryList* const list = memtable_.Find(keyspace);
    ASSERT_TRUE(list == nullptr || list->keyspace() == keyspace);
  }
  void ExpectOrder(uint64_t added) {
    const std::vector<const EntryList*> lists = memtable_.Lists();
    const size_t complete = 2 + (added - 1) / kBatchesToNewKeyspace;
    ASSERT_GE(lists.size(), complete);
    ASSERT_EQ(lists[0]->keyspace(), kDefaultKeyspace);
    for (size_t i = 1; i < lists.size(); ++i) {
      // Some of the lists that are made meanwhile may be missing.
      const KeyspaceId id = kOtherKeyspaceMin + static_cast<KeyspaceId>(i) - 1;
      ASSERT_TRUE(i < complete ? lists[i]->keyspace() == id : lists[i]->keyspace() >= id);
      ASSERT_LT(lists[i - 1]->keyspace(), lists[i]->keyspace());
    }
  }

  Memtable memtable_;
  std::atomic<uint64_t> added_{0};
};

TEST(KeyspacesConcurrentTest, ReadersFindListsThatAreMadeBesideThem) { KeyspaceRace().Run(); }

// The shortest race: a free slot gets the list of another id while a reader looks for its own.
TEST(KeyspacesConcurrentTest, ReadersNeverFindAnotherList) {
  constexpr KeyspaceId kIds = 64;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Memtable memtable;
    std::atomic<bool> is_done{false};
    std::thread reader([&] {
      Dice dice(seed);
      while (!is_done.load(std::memory_order_acquire)) {
        for (int i = 0; i < 50; ++i) {
          const KeyspaceId id = kOtherKeyspaceMin + static_cast<KeyspaceId>(dice.Roll(2 * kIds));
          const EntryList* const list = memtable.Find(id);
          ASSERT_TRUE(list == nullptr || list->keyspace() == id) << id;
        }
      }
    });
    for (KeyspaceId i = 0; i < kIds; ++i)
      memtable.Add(kOtherKeyspaceMin + (i + static_cast<KeyspaceId>(seed)) * 37 % kIds, i + 1,
                   EntryKind::kPut, "key", "value");
    is_done.store(true, std::memory_order_release);
    reader.join();
  }
}

}  // namespace
}  // namespace lsm
