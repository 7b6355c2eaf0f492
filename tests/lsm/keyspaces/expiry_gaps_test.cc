// Iterators remember gaps also where entries expire, and show what they would show without that
// (lsm/runtime/known_gaps.h).
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lsm/iterator.h"
#include "lsm/keyspace.h"
#include "lsm/snapshot.h"
#include "tests/lsm/keyspaces/expiry_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

constexpr int kKeys = 200;

class ExpiryGapsTest : public ExpiryTest {
 protected:
  // Large enough for all writes, so that no flush drops tombstones.
  ExpiryGapsTest() { options_.write_buffer_bytes = 1 << 20; }

  void Begin() {
    ASSERT_NO_FATAL_FAILURE(Open());
    OpenKeyspace("default", {.expire_after = 100});
    Flush();  // records the limit
  }
  static std::string KeyOf(int number) { return Concat("k", 10'000 + number); }
  void DeleteAllBut(int but) {
    for (int i = 0; i < kKeys; ++i) {
      if (i != but) Delete(KeyOf(i));
    }
  }
  static std::string KeyAt(const Iterator& iterator) {
    EXPECT_OK(iterator.status());
    return iterator.Valid() ? std::string(iterator.key()) : "end";
  }
  // The keys at which the iterator stands after seeks to both ends.
  static std::string Ends(Iterator* iterator) {
    iterator->SeekToFirst();
    const std::string first = KeyAt(*iterator);
    iterator->SeekToLast();
    return Concat(first, " ", KeyAt(*iterator));
  }
  std::string Ends(const ReadOptions& options = {}) {
    const std::unique_ptr<Iterator> iterator = db_->NewIterator(options);
    return Ends(iterator.get());
  }
  uint64_t Walked() { return db_->GetStatistics().dead_entries_walked; }
};

TEST_F(ExpiryGapsTest, WalksOverDeletedKeysOnce) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  DeleteAllBut(-1);
  Put("z", "value");
  EXPECT_EQ(Ends(), "z z");
  const uint64_t walked = Walked();
  EXPECT_GE(walked, 200u);
  EXPECT_EQ(Ends(), "z z");
  const std::unique_ptr<Iterator> iterator = db_->NewIterator({});
  for (int i = 0; i < kKeys; ++i) {
    iterator->Seek(KeyOf(i));
    EXPECT_EQ(KeyAt(*iterator), "z");
  }
  EXPECT_EQ(Walked(), walked);
}

TEST_F(ExpiryGapsTest, IteratorsUseTheirOwnGaps) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  DeleteAllBut(-1);
  std::unique_ptr<Iterator> iterator = db_->NewIterator({});
  for (int i = 0; i < 10; ++i) {
    iterator->SeekToFirst();
    EXPECT_EQ(KeyAt(*iterator), "end");
  }
  iterator = nullptr;
  EXPECT_LT(Walked(), 2u * kKeys);
}

TEST_F(ExpiryGapsTest, ExpiredVersionsAreInNoGap) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  Put(KeyOf(99), "old");
  Put(KeyOf(99), "value");
  DeleteAllBut(99);
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  clock_.Add(101);
  EXPECT_EQ(Ends(), "end end");
  const uint64_t walked = Walked();
  EXPECT_EQ(Ends(), "end end");
  EXPECT_LT(Walked() - walked, 50u) << "two gaps, and one expired key between them";
  EXPECT_EQ(Ends({.snapshot = snapshot.get()}), KeyOf(99) + " " + KeyOf(99));
  const std::unique_ptr<Iterator> iterator = db_->NewIterator({.snapshot = snapshot.get()});
  iterator->Seek(KeyOf(10));
  EXPECT_EQ(KeyAt(*iterator), KeyOf(99));
  iterator->SeekForPrev(KeyOf(150));
  EXPECT_EQ(KeyAt(*iterator), KeyOf(99));
  iterator->Next();
  EXPECT_EQ(KeyAt(*iterator), "end");
}

// A walk backward meets the versions of a key from the oldest one on.
TEST_F(ExpiryGapsTest, AnExpiredVersionUnderATombstone) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  Put(KeyOf(99), "value");
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  DeleteAllBut(-1);
  clock_.Add(101);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ends(), "end end");
  EXPECT_EQ(Ends({.snapshot = snapshot.get()}), KeyOf(99) + " " + KeyOf(99));
}

// The table with the only key is dropped, and then a walk finds nothing.  An iterator that was
// made before still shows the key.
TEST_F(ExpiryGapsTest, OlderViewsUseNoGapOfANewerOne) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  Put(KeyOf(99), "value");
  Flush();
  DeleteAllBut(99);
  const std::unique_ptr<Iterator> older = db_->NewIterator({});
  clock_.Add(101);
  Settle();
  ASSERT_EQ(db_->OpenKeyspace("default")->GetStatistics().table_bytes, 0u);
  EXPECT_EQ(Ends(), "end end");
  const uint64_t walked = Walked();
  EXPECT_EQ(Ends(), "end end");
  EXPECT_LT(Walked(), walked + 10) << "a newer iterator uses the gap";
  EXPECT_EQ(Ends(older.get()), KeyOf(99) + " " + KeyOf(99));
}

}  // namespace
}  // namespace lsm
