// Iterators jump over deleted keys, and show what they would show without that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/merging_iterator.h"
#include "lsm/engine/db_iterator.h"
#include "lsm/keyspace.h"
#include "lsm/snapshot.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/runtime/written_views.h"
#include "tests/support/dice.h"

namespace lsm {
namespace {

class EngineGapsTest : public StoreTest {
 protected:
  // Large enough for all writes of most tests, so that no flush drops what a tombstone covers.
  EngineGapsTest() { options_.write_buffer_bytes = 1 << 20; }

  static std::string KeyOf(int number) { return Concat("k", 10'000 + number); }
  void PutAll(int from, int to) {
    for (int i = from; i < to; ++i) Put(KeyOf(i), "value");
  }
  void DeleteAll(int from, int to) {
    for (int i = from; i < to; ++i) Delete(KeyOf(i));
  }
  // The key at which a new iterator stands after the move, or "end".
  template <typename Move>
  std::string After(const Move& move, const ReadOptions& options = {}) {
    const std::unique_ptr<Iterator> iterator = db_->NewIterator(options);
    move(*iterator);
    EXPECT_OK(iterator->status());
    return iterator->Valid() ? std::string(iterator->key()) : "end";
  }
  std::string First(const ReadOptions& options = {}) {
    return After([](Iterator& iterator) { iterator.SeekToFirst(); }, options);
  }
  std::string Last(const ReadOptions& options = {}) {
    return After([](Iterator& iterator) { iterator.SeekToLast(); }, options);
  }
  std::string AtOrAfter(int number, const ReadOptions& options = {}) {
    return After([=](Iterator& iterator) { iterator.Seek(KeyOf(number)); }, options);
  }
  std::string AtOrBefore(int number, const ReadOptions& options = {}) {
    return After([=](Iterator& iterator) { iterator.SeekForPrev(KeyOf(number)); }, options);
  }
  uint64_t Walked() { return db_->GetStatistics().dead_entries_walked; }
  uint64_t Jumps() { return db_->GetStatistics().gap_jumps; }
};

TEST_F(EngineGapsTest, WalksOverDeletedKeysOnce) {
  Open();
  PutAll(0, 300);
  DeleteAll(0, 200);
  EXPECT_EQ(First(), KeyOf(200));
  EXPECT_EQ(Walked(), 400u);
  EXPECT_EQ(Jumps(), 0u);
  EXPECT_EQ(First(), KeyOf(200));
  EXPECT_EQ(AtOrAfter(100), KeyOf(200));
  EXPECT_EQ(Walked(), 400u);
  EXPECT_EQ(Jumps(), 2u);
  EXPECT_EQ(AtOrBefore(100), "end");
  EXPECT_EQ(Jumps(), 3u);
  EXPECT_LT(Walked(), 410u);
}

TEST_F(EngineGapsTest, OutliveFlushesAndCompactions) {
  Open();
  PutAll(0, 300);
  const auto snapshot = db_->GetSnapshot();  // so the tombstones stay
  DeleteAll(100, 200);
  EXPECT_EQ(AtOrAfter(100), KeyOf(200));
  const uint64_t walked = Walked();
  Flush();
  EXPECT_EQ(AtOrAfter(150), KeyOf(200));
  CompactAll();
  EXPECT_EQ(AtOrAfter(150), KeyOf(200));
  EXPECT_EQ(Walked(), walked);
  EXPECT_EQ(AtOrAfter(150, {.snapshot = snapshot.get()}), KeyOf(150));
}

TEST_F(EngineGapsTest, SeeksSkipTheBlocksOfAGap) {
  Open();
  PutAll(0, 5000);
  const auto snapshot = db_->GetSnapshot();  // so puts and tombstones stay
  DeleteAll(10, 4990);
  CompactAll();
  ASSERT_GT(db_->GetStatistics().total.tombstones, 4000u);
  const auto blocks_of = [&](const auto& move) {
    const Statistics before = db_->GetStatistics();
    move();
    const Statistics read = db_->GetStatistics().Since(before);
    return read.scan_blocks_from_cache + read.scan_blocks_from_file;
  };
  EXPECT_GT(blocks_of([&] { EXPECT_EQ(AtOrAfter(10), KeyOf(4990)); }), 30u);
  EXPECT_LT(blocks_of([&] { EXPECT_EQ(AtOrAfter(10), KeyOf(4990)); }), 8u);
  EXPECT_LT(blocks_of([&] { EXPECT_EQ(AtOrAfter(2000), KeyOf(4990)); }), 8u);
  EXPECT_LT(blocks_of([&] { EXPECT_EQ(AtOrBefore(4989), KeyOf(9)); }), 8u);
}

TEST_F(EngineGapsTest, QueuesPopInFewSteps) {
  Open();
  PutAll(0, 50);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(First(), KeyOf(i));
    Delete(KeyOf(i));
    Put(KeyOf(50 + i), "value");
  }
  // Half of the steps before the first gap, and then less than one in four of those before each
  // growth of it.
  EXPECT_LT(Walked(), 12'000u);
  EXPECT_GT(Jumps(), 900u);
}

TEST_F(EngineGapsTest, QueuesOfKeyspacesPopInFewSteps) {
  Open();
  ASSERT_OK_AND_ASSIGN(Keyspace queue, db_->OpenKeyspace("queue"));
  PutAll(0, 1050);  // where the other keyspace has its queue
  for (int i = 0; i < 50; ++i) ASSERT_OK(queue.Put(KeyOf(i), "value"));
  for (int i = 0; i < 1000; ++i) {
    const std::unique_ptr<Iterator> first = queue.NewIterator();
    first->SeekToFirst();
    ASSERT_TRUE(first->Valid());
    ASSERT_EQ(first->key(), KeyOf(i));
    ASSERT_OK(queue.Delete(KeyOf(i)));
    ASSERT_OK(queue.Put(KeyOf(50 + i), "value"));
  }
  EXPECT_LT(Walked(), 12'000u);
  EXPECT_GT(Jumps(), 900u);
  EXPECT_EQ(First(), KeyOf(0));
}

TEST_F(EngineGapsTest, StacksPopInFewSteps) {
  Open();
  PutAll(0, 1000);
  for (int i = 999; i >= 0; --i) {
    ASSERT_EQ(Last(), KeyOf(i));
    Delete(KeyOf(i));
  }
  EXPECT_EQ(Last(), "end");
  EXPECT_LT(Walked(), 12'000u);
}

TEST_F(EngineGapsTest, PutsInAGapAreSeen) {
  Open();
  PutAll(0, 300);
  DeleteAll(100, 200);
  EXPECT_EQ(AtOrAfter(100), KeyOf(200));
  Put(KeyOf(150), "again");
  EXPECT_EQ(AtOrAfter(100), KeyOf(150));
  EXPECT_EQ(AtOrAfter(151), KeyOf(200));
  EXPECT_EQ(AtOrBefore(199), KeyOf(150));
  EXPECT_EQ(AtOrBefore(149), KeyOf(99));
  Delete(KeyOf(150));
  EXPECT_EQ(AtOrAfter(100), KeyOf(200));
  EXPECT_EQ(AtOrBefore(199), KeyOf(99));
}

TEST_F(EngineGapsTest, OlderSnapshotsWalk) {
  Open();
  PutAll(0, 300);
  const auto snapshot = db_->GetSnapshot();
  DeleteAll(100, 200);
  EXPECT_EQ(AtOrAfter(100), KeyOf(200));
  EXPECT_EQ(AtOrAfter(100), KeyOf(200));
  EXPECT_EQ(AtOrAfter(100, {.snapshot = snapshot.get()}), KeyOf(100));
  EXPECT_EQ(AtOrBefore(199, {.snapshot = snapshot.get()}), KeyOf(199));
}

TEST_F(EngineGapsTest, BoundsAreNoEnd) {
  Open();
  PutAll(0, 300);
  DeleteAll(100, 200);
  const std::string bound = KeyOf(150);
  EXPECT_EQ(AtOrAfter(100, {.upper_bound = bound}), "end");
  EXPECT_EQ(AtOrBefore(199, {.lower_bound = bound}), "end");
  EXPECT_EQ(AtOrAfter(100), KeyOf(200));
  EXPECT_EQ(AtOrBefore(199), KeyOf(99));
  // Jumps stop at bounds too.
  EXPECT_EQ(AtOrAfter(100, {.upper_bound = bound}), "end");
  EXPECT_EQ(AtOrBefore(199, {.lower_bound = bound}), "end");
  EXPECT_EQ(Last({.upper_bound = bound}), KeyOf(99));
  EXPECT_EQ(First({.lower_bound = bound}), KeyOf(200));
}

TEST_F(EngineGapsTest, ReachesBothEnds) {
  Open();
  PutAll(0, 100);
  DeleteAll(0, 100);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(First(), "end");
    EXPECT_EQ(Last(), "end");
    EXPECT_EQ(AtOrAfter(50), "end");
    EXPECT_EQ(AtOrBefore(50), "end");
  }
  EXPECT_LT(Walked(), 300u);
  Put("", "the first key");
  EXPECT_EQ(First(), "");
  EXPECT_EQ(AtOrBefore(50), "");
  Put("z", "the last key");
  EXPECT_EQ(AtOrAfter(50), "z");
  EXPECT_EQ(Last(), "z");
}

TEST_F(EngineGapsTest, StoresOpenForReadingJump) {
  Open();
  PutAll(0, 300);
  DeleteAll(100, 200);
  options_.mode = OpenMode::kReadOnly;
  Open();
  EXPECT_EQ(AtOrAfter(100), KeyOf(200));
  EXPECT_EQ(AtOrAfter(100), KeyOf(200));
  EXPECT_EQ(Jumps(), 1u);
}

// Writes to keyspaces of a store and to maps, and compares iterators with these.
class GapsModelTest : public EngineGapsTest {
 protected:
  static constexpr int kKeys = 400;
  static constexpr size_t kKeyspaces = 3;
  using Entries = std::vector<std::pair<std::string, std::string>>;

  struct Moment {
    std::unique_ptr<const Snapshot> snapshot;
    std::array<Contents, kKeyspaces> contents;
  };

  int Roll(size_t sides) { return static_cast<int>(dice_.Roll(sides)); }

  // Deletes a window of keys, or puts some of them.
  void Write(int round) {
    const int at = Roll(kKeys);
    const int length = dice_.OneIn(3) ? Roll(120) : Roll(3);
    const bool deletes = dice_.OneIn(2);
    const size_t of = OneKeyspace();
    Contents& contents = contents_[of];
    for (int i = at; i < at + length && i < kKeys; ++i) {
      if (deletes) {
        ASSERT_OK(keyspaces_[of].Delete(KeyOf(i)));
        contents.erase(KeyOf(i));
      } else if (length < 3 || dice_.OneIn(8)) {
        ASSERT_OK(keyspaces_[of].Put(KeyOf(i), Concat(round)));
        contents[KeyOf(i)] = Concat(round);
      }
    }
    if (dice_.OneIn(60)) Flush();
    if (dice_.OneIn(200)) CompactAll();
    if (dice_.OneIn(20)) moments_.push_back({db_->GetSnapshot(), contents_});
    if (moments_.size() > 3) moments_.erase(moments_.begin() + Roll(4));
  }

  void Read() {
    const Moment* moment = dice_.OneIn(3) && !moments_.empty() ? &moments_.front() : nullptr;
    const size_t of = OneKeyspace();
    const Contents& expected = moment != nullptr ? moment->contents[of] : contents_[of];
    Entries entries(expected.begin(), expected.end());
    ReadOptions options{.snapshot = moment != nullptr ? moment->snapshot.get() : nullptr};
    const std::string lower = KeyOf(Roll(kKeys)), upper = KeyOf(Roll(kKeys));
    if (dice_.OneIn(4)) {
      options.lower_bound = lower;
      std::erase_if(entries, [&](const auto& entry) { return entry.first < lower; });
    }
    if (dice_.OneIn(4)) {
      options.upper_bound = upper;
      std::erase_if(entries, [&](const auto& entry) { return entry.first >= upper; });
    }
    const std::unique_ptr<Iterator> iterator = keyspaces_[of].NewIterator(options);
    int place = -1;
    for (int moves = 0; moves < 6; ++moves) {
      place = Move(entries, place, iterator.get());
      ASSERT_OK(iterator->status());
      const bool is_valid = place >= 0 && place < static_cast<int>(entries.size());
      ASSERT_EQ(iterator->Valid(), is_valid);
      if (!is_valid) continue;
      ASSERT_EQ(iterator->key(), entries[static_cast<size_t>(place)].first);
      ASSERT_EQ(iterator->value(), entries[static_cast<size_t>(place)].second);
    }
  }

  // Returns the expected place after the move.
  int Move(const Entries& entries, int place, Iterator* iterator) {
    const int count = static_cast<int>(entries.size());
    const std::string target = KeyOf(Roll(kKeys));
    const auto first_from = [&](const std::string& key) {
      int i = 0;
      while (i < count && entries[static_cast<size_t>(i)].first < key) ++i;
      return i;
    };
    switch (Roll(place >= 0 && place < count ? 6 : 4)) {
      case 0:
        iterator->SeekToFirst();
        return 0;
      case 1:
        iterator->SeekToLast();
        return count - 1;
      case 2:
        iterator->Seek(target);
        return first_from(target);
      case 3:
        iterator->SeekForPrev(target);
        return first_from(target + '\0') - 1;
      case 4:
        iterator->Next();
        return place + 1;
      default:
        iterator->Prev();
        return place - 1;
    }
  }

  // With odd seeds only the default one, so that its writes are closer together.
  size_t OneKeyspace() { return has_keyspaces_ ? dice_.Roll(kKeyspaces) : 0; }

  Dice dice_{1};
  bool has_keyspaces_ = false;
  std::vector<Keyspace> keyspaces_;
  std::array<Contents, kKeyspaces> contents_;
  std::vector<Moment> moments_;
};

TEST_F(GapsModelTest, AgreesWithAMap) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    dice_ = Dice(seed);
    options_.write_buffer_bytes = seed % 4 < 2 ? 64 << 10 : 1 << 20;
    has_keyspaces_ = seed % 2 == 0;
    moments_.clear();
    keyspaces_.clear();
    contents_ = {};
    db_ = nullptr;
    ASSERT_OK(DB::Destroy(kStorePath, options_));
    Open();
    for (const char* name : {"default", "a", "b"}) {
      ASSERT_OK_AND_ASSIGN(Keyspace keyspace, db_->OpenKeyspace(name));
      keyspaces_.push_back(std::move(keyspace));
    }
    for (int round = 0; round < (has_keyspaces_ ? 3000 : 1000) && !HasFatalFailure(); ++round) {
      SCOPED_TRACE(round);
      Write(round);
      Read();
    }
    EXPECT_GT(Jumps(), 20u);
  }
  moments_.clear();
}

// --- iterators over memtables ---

class MemtableGapsTest : public testing::Test {
 protected:
  static std::unique_ptr<Iterator> NewIterator(const ReadView& view, Sequence sequence,
                                               KnownGaps* gaps) {
    std::vector<std::unique_ptr<InnerIterator>> inputs;
    inputs.push_back(view.memtable->NewIterator());
    for (const auto& memtable : view.sealed) inputs.push_back(memtable->NewIterator());
    return NewDbIterator(NewMergingIterator(std::move(inputs)), sequence, {}, {}, {},
                         {gaps, ReadPoint::In(view, sequence)}, [](const IteratorCounts&) {});
  }

  WrittenViews writes_{/*recent_max=*/256};
  KnownGaps gaps_;
};

// A reader loads its view, then the memtable is sealed and the next one gets a put, and then the
// reader loads its sequence.  Its walk knows nothing about that put.
TEST_F(MemtableGapsTest, AWalkProvesNothingBeyondItsView) {
  for (int i = 0; i < 100; ++i) writes_.Delete(Concat("k", 100 + i));
  const ReadView view = writes_.Now();
  writes_.Seal();
  writes_.Put("k150");
  const auto slow = NewIterator(view, writes_.last(), &gaps_);
  slow->SeekToFirst();
  EXPECT_FALSE(slow->Valid());
  EXPECT_FALSE(gaps_.empty());
  const ReadView now = writes_.Now();
  for (const char* target : {"", "k100", "k150"}) {
    const auto iterator = NewIterator(now, writes_.last(), &gaps_);
    iterator->Seek(target);
    ASSERT_TRUE(iterator->Valid()) << target;
    EXPECT_EQ(iterator->key(), "k150");
  }
}

// For the rent of tables: an iterator that walks over few dead keys pays nothing.
TEST_F(MemtableGapsTest, LongWalksAreCharged) {
  for (int i = 0; i < 131; ++i) writes_.Delete(Concat("k", 100 + i));
  writes_.Put("k130x");
  const ReadView view = writes_.Now();
  const auto charges_of = [&](std::string_view target, bool forward) {
    std::string charges;
    GapUse gaps;
    gaps.charge = [&](KeyspaceId, std::string_view key, uint64_t entries) {
      charges += Concat(charges.empty() ? "" : " ", entries, " at ", key);
    };
    const auto iterator = NewDbIterator(view.memtable->NewIterator(), writes_.last(), {}, {}, {},
                                        gaps, [](const IteratorCounts&) {});
    forward ? iterator->Seek(target) : iterator->SeekForPrev(target);
    return charges;
  };
  EXPECT_EQ(charges_of("k100", true), "") << "31 dead keys to the live one";
  EXPECT_EQ(charges_of("k099", true), "");
  EXPECT_EQ(charges_of("k131", true), "32 at k162 32 at k194 32 at k226");
  EXPECT_EQ(charges_of("k229", false), "32 at k198 32 at k166 32 at k134");
}

// An iterator that fails after some moves.
class BrokenIterator : public InnerIterator {
 public:
  BrokenIterator(std::unique_ptr<InnerIterator> of, int moves) : of_(std::move(of)), left_(moves) {}
  bool Valid() const override { return left_ > 0 && of_->Valid(); }
  void SeekToFirst() override { of_->SeekToFirst(); }
  void SeekToLast() override { of_->SeekToLast(); }
  void Seek(std::string_view target) override { of_->Seek(target); }
  void SeekForPrev(std::string_view target) override { of_->SeekForPrev(target); }
  void Next() override { --left_, of_->Next(); }
  void Prev() override { --left_, of_->Prev(); }
  std::string_view key() const override { return of_->key(); }
  std::string_view value() const override { return of_->value(); }
  absl::Status status() const override {
    return left_ > 0 ? of_->status() : absl::UnavailableError("broken");
  }

 private:
  const std::unique_ptr<InnerIterator> of_;
  int left_;
};

TEST_F(MemtableGapsTest, AFailedWalkRecordsNothing) {
  for (int i = 0; i < 100; ++i) writes_.Delete(Concat("k", 100 + i));
  const ReadView view = writes_.Now();
  for (const bool forward : {true, false}) {
    const auto iterator = NewDbIterator(
        std::make_unique<BrokenIterator>(view.memtable->NewIterator(), 50), writes_.last(), {}, {},
        {}, {&gaps_, ReadPoint::In(view, writes_.last())}, [](const IteratorCounts&) {});
    forward ? iterator->SeekToFirst() : iterator->SeekToLast();
    EXPECT_FALSE(iterator->status().ok());
    EXPECT_TRUE(gaps_.empty());
  }
}

}  // namespace
}  // namespace lsm
