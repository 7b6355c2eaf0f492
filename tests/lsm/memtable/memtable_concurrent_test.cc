// One writer and concurrent readers.  A read must see, in order, everything that was added before
// it began.  ThreadSanitizer checks the rest.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lsm/memtable/memtable.h"
#include "tests/support/dice.h"

namespace lsm {
namespace {

using testing_support::Dice;

constexpr uint64_t kEntries = 8000;
constexpr int kReaders = 3;

// Returns the i-th key.  All keys are different.
using KeyFunction = std::function<std::string(uint64_t i)>;

// As db_bench makes keys.
std::string Digits(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(16 - digits.size(), '0') + digits;
}

class Race {
 public:
  explicit Race(KeyFunction key_of) : key_of_(std::move(key_of)) {}

  void Run() {
    std::vector<std::thread> readers;
    for (int i = 0; i < kReaders; ++i) readers.emplace_back([this, i] { Read(i); });
    for (uint64_t i = 0; i < kEntries; ++i) {
      memtable_.Add(i + 1, EntryKind::kPut, key_of_(i), key_of_(i));
      // Release: pairs with the readers' acquire, as the store's own publication does.
      added_.store(i + 1, std::memory_order_release);
      if (i % 64 == 0) std::this_thread::yield();  // with few cores, lets all threads run
    }
    for (std::thread& reader : readers) reader.join();
  }

 private:
  void Read(int reader) {
    Dice dice(static_cast<uint64_t>(reader));
    bool done = false;
    for (int round = 0; !done; ++round) {
      const uint64_t added = added_.load(std::memory_order_acquire);
      done = added == kEntries;
      if (added == 0) continue;
      for (int i = 0; i < 50; ++i) {
        ExpectFound(dice.Roll(added));
        ExpectFound(added - 1 - dice.Roll(std::min<uint64_t>(added, 20)));
      }
      switch (round % 8) {
        case 0:
          ExpectScan(added, true);
          break;
        case 4:
          ExpectScan(added, false);
          break;
        default:
          ExpectWalk(dice, dice.Roll(added));
      }
      if (testing::Test::HasFailure()) return;
    }
  }

  void ExpectFound(uint64_t i) {
    const std::string user_key = key_of_(i);
    const LookupKey key(user_key, kSequenceMax, 0);
    std::string_view value;
    ASSERT_EQ(memtable_.Get(key, &value), MemtableAnswer::kFound) << i;
    ASSERT_EQ(value, user_key);
  }

  // The scan passes all entries that existed at its beginning, in order.
  void ExpectScan(uint64_t added, bool forward) {
    const std::unique_ptr<Iterator> iterator = memtable_.NewIterator();
    uint64_t early = 0;
    std::string before;
    for (forward ? iterator->SeekToFirst() : iterator->SeekToLast(); iterator->Valid();
         forward ? iterator->Next() : iterator->Prev()) {
      const std::string key(iterator->key());
      ASSERT_EQ(UserKeyOf(key), iterator->value());
      if (!before.empty()) {
        ASSERT_EQ(CompareInternalKeys(before, key) < 0, forward);
      }
      early += SequenceOf(SuffixOf(key)) <= added;
      before = key;
    }
    ASSERT_EQ(early, added);
  }

  // Moves back and forth from an existing entry.  Each step moves, in order.
  void ExpectWalk(Dice& dice, uint64_t from) {
    const std::unique_ptr<Iterator> iterator = memtable_.NewIterator();
    const std::string user_key = key_of_(from);
    const LookupKey key(user_key, kSequenceMax, 0);
    iterator->Seek(key.internal_key());
    for (int i = 0; i < 60 && iterator->Valid(); ++i) {
      if (i == 0) {
        ASSERT_EQ(iterator->value(), user_key);
      }
      const std::string before(iterator->key());
      const bool forward = !dice.OneIn(3);
      forward ? iterator->Next() : iterator->Prev();
      if (iterator->Valid()) {
        ASSERT_EQ(CompareInternalKeys(before, iterator->key()) < 0, forward);
      }
    }
  }

  const KeyFunction key_of_;
  Memtable memtable_;
  std::atomic<uint64_t> added_{0};
};

TEST(MemtableConcurrentTest, ReadersSeeRandomInsertions) {
  // 7919 has no factor in common with the number of entries: a permutation.
  Race([](uint64_t i) { return Digits(i * 7919 % kEntries); }).Run();
}

TEST(MemtableConcurrentTest, ReadersSeeAscendingInsertions) { Race(Digits).Run(); }

TEST(MemtableConcurrentTest, ReadersSeeDescendingInsertions) {
  Race([](uint64_t i) { return Digits(kEntries - i); }).Run();
}

TEST(MemtableConcurrentTest, ReadersSeeRunsOfInsertions) {
  Race([](uint64_t i) { return Digits(i % 10 * kEntries + i / 10); }).Run();
}

TEST(MemtableConcurrentTest, ReadersSeeInsertionsWithEqualHints) {
  // Two groups of keys with long prefixes.  The hints are useless within one of them.
  Race([](uint64_t i) {
    return (i % 2 ? "a long prefix of its own/" : "another prefix, as long/") +
           Digits(i * 7919 % kEntries);
  }).Run();
}

// The shortest race: slots of the first leaf are reused while a reader searches it.
TEST(MemtableConcurrentTest, ReadersSeeEntriesOfSplitLeaves) {
  constexpr uint64_t kCount = 100000;
  Memtable memtable;
  std::atomic<uint64_t> added{0};
  std::thread reader([&] {
    Dice dice(1);
    uint64_t seen = 0;
    while (seen < kCount) {
      seen = added.load(std::memory_order_acquire);
      for (int i = 0; i < 20 && seen > 0; ++i) {
        const uint64_t wanted = seen - dice.Roll(std::min<uint64_t>(seen, 16));
        std::string_view value;
        ASSERT_EQ(memtable.Get(LookupKey(Digits(kCount - wanted), kSequenceMax, 0), &value),
                  MemtableAnswer::kFound)
            << wanted;
      }
    }
  });
  for (uint64_t i = 1; i <= kCount; ++i) {
    memtable.Add(i, EntryKind::kPut, Digits(kCount - i), "");
    added.store(i, std::memory_order_release);
  }
  reader.join();
}

// Most races occur at the start, when the list takes its shape, so this makes many short runs.
TEST(MemtableConcurrentTest, ReadersSeeTheFirstInsertions) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Memtable memtable;
    std::atomic<uint64_t> added{0};
    const auto key_of = [&](uint64_t i) { return Digits((i + seed) * 7919 % 64); };
    std::thread reader([&] {
      uint64_t seen = 0;
      while (seen < 64 && !testing::Test::HasFailure()) {
        seen = added.load(std::memory_order_acquire);
        const std::unique_ptr<Iterator> iterator = memtable.NewIterator();
        uint64_t early = 0;
        for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
          early += SequenceOf(SuffixOf(iterator->key())) <= seen;
        }
        EXPECT_EQ(early, seen);
        for (uint64_t i = 0; i < seen; ++i) {
          std::string_view value;
          EXPECT_EQ(memtable.Get(LookupKey(key_of(i), kSequenceMax, 0), &value),
                    MemtableAnswer::kFound);
        }
      }
    });
    for (uint64_t i = 0; i < 64; ++i) {
      memtable.Add(i + 1, EntryKind::kPut, key_of(i), "");
      added.store(i + 1, std::memory_order_release);
    }
    reader.join();
  }
}

}  // namespace
}  // namespace lsm
