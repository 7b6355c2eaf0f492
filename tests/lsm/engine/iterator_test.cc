// Iterators: bounds, directions, the versions that they see, and the files that they keep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/engine/db_iterator.h"
#include "lsm/memtable/memtable.h"
#include "lsm/snapshot.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

class IteratorTest : public StoreTest {
 protected:
  // Writes keys to level 2, level 1, level 0, a sealed memtable and the active one.  The newest
  // version of each key and its older versions are in different places.
  void FillAllPlaces() {
    options_.level0_compaction_tables = 20;
    Open();
    for (const char* key : {"b", "d", "f", "h", "j", "l"}) Put(key, "level 2");
    CompactAll();
    for (int i = 0; i < 400; ++i)
      Put(Concat("z", i), std::string(300, 'z'));  // exceeds the limit of level 1
    options_.level0_compaction_tables = 1;
    Open();
    ASSERT_OK(db_->WaitForBackgroundWork());
    options_.level0_compaction_tables = 20;
    Open();
    ASSERT_OK(db_->CompactRange("z", std::nullopt));
    for (const char* key : {"c", "d", "i"}) Put(key, "level 1");
    Delete("f");
    ASSERT_OK(db_->Flush());
    for (const char* key : {"a", "d", "g"}) Put(key, "level 0");
    Delete("h");
    Flush();
    for (const char* key : {"e", "d", "f"}) Put(key, "sealed");
    Delete("a");
    Put("zz", std::string(64 << 10, 'z'));  // fills it
    for (const char* key : {"k", "d"}) Put(key, "active");
    Delete("j");
  }
  static constexpr char kAll[] =
      "b=level 2 c=level 1 d=active e=sealed f=sealed g=level 0 i=level 1 k=active l=level 2";
};

TEST_F(IteratorTest, MergesAllSourcesInBothDirections) {
  FillAllPlaces();
  EXPECT_EQ(db_->GetStatistics().levels[0].tables, 2u);
  EXPECT_EQ(db_->GetStatistics().flushes, 2u);  // so one memtable is sealed and waits
  EXPECT_EQ(Scan({.upper_bound = "z"}), kAll);
  EXPECT_EQ(Scan({.lower_bound = "c", .upper_bound = "i"}),
            "c=level 1 d=active e=sealed f=sealed g=level 0");
}

TEST_F(IteratorTest, TurnsRoundAtEveryEntry) {
  FillAllPlaces();
  const std::unique_ptr<Iterator> iterator = db_->NewIterator({.upper_bound = "z"});
  std::vector<std::string> keys;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
    keys.emplace_back(iterator->key());
  ASSERT_EQ(keys.size(), 9u);
  for (size_t i = 0; i < keys.size(); ++i) {
    // Forward to i, back to the beginning, and forward again.
    iterator->SeekToFirst();
    for (size_t steps = 0; steps < i; ++steps) iterator->Next();
    for (size_t at = i; at > 0; --at) {
      ASSERT_EQ(iterator->key(), keys[at]);
      iterator->Prev();
    }
    ASSERT_EQ(iterator->key(), keys[0]);
    for (size_t at = 0; at + 1 < keys.size(); ++at) {
      ASSERT_EQ(iterator->key(), keys[at]);
      // A step forward, a step back, a step forward.
      iterator->Next();
      ASSERT_EQ(iterator->key(), keys[at + 1]);
      iterator->Prev();
      ASSERT_EQ(iterator->key(), keys[at]);
      iterator->Next();
    }
    iterator->Next();
    ASSERT_FALSE(iterator->Valid());
    iterator->SeekToFirst();
    iterator->Prev();
    ASSERT_FALSE(iterator->Valid());
  }
}

TEST_F(IteratorTest, SeeksToTheNearestKey) {
  FillAllPlaces();
  const std::unique_ptr<Iterator> iterator = db_->NewIterator({.upper_bound = "z"});
  const auto at = [&] { return iterator->Valid() ? std::string(iterator->key()) : "none"; };
  iterator->Seek("");
  EXPECT_EQ(at(), "b");
  iterator->Seek("a");  // deleted
  EXPECT_EQ(at(), "b");
  iterator->Seek("d");
  EXPECT_EQ(at(), "d");
  iterator->Seek("d1");
  EXPECT_EQ(at(), "e");
  iterator->Seek("h");  // deleted
  EXPECT_EQ(at(), "i");
  iterator->Seek("l1");
  EXPECT_EQ(at(), "none");
  iterator->Seek("zzz");
  EXPECT_EQ(at(), "none");
  iterator->SeekForPrev("a");
  EXPECT_EQ(at(), "none");
  iterator->SeekForPrev("b");
  EXPECT_EQ(at(), "b");
  iterator->SeekForPrev("h");
  EXPECT_EQ(at(), "g");
  iterator->SeekForPrev("j5");
  EXPECT_EQ(at(), "i");
  iterator->SeekForPrev("zzz");
  EXPECT_EQ(at(), "l");
}

TEST_F(IteratorTest, KeepsToItsBounds) {
  Open();
  for (const char* key : {"a", "b", "c", "d", "e"}) Put(key, "1");
  for (const bool flushed : {false, true}) {
    if (flushed) Flush();
    EXPECT_EQ(Scan({.lower_bound = "b"}), "b=1 c=1 d=1 e=1");
    EXPECT_EQ(Scan({.upper_bound = "b"}), "a=1");
    EXPECT_EQ(Scan({.lower_bound = "b", .upper_bound = "d"}), "b=1 c=1");
    EXPECT_EQ(Scan({.lower_bound = "b1", .upper_bound = "c1"}), "c=1");
    EXPECT_EQ(Scan({.lower_bound = "b1", .upper_bound = "b2"}), "");
    EXPECT_EQ(Scan({.lower_bound = "d", .upper_bound = "b"}), "");
    EXPECT_EQ(Scan({.lower_bound = "c", .upper_bound = "c"}), "");
    EXPECT_EQ(Scan({.lower_bound = "", .upper_bound = ""}), "");
    EXPECT_EQ(Scan({.lower_bound = "f"}), "");
    const auto iterator = db_->NewIterator({.lower_bound = "b", .upper_bound = "d"});
    iterator->Seek("a");
    EXPECT_EQ(iterator->key(), "b");
    iterator->Seek("d");
    EXPECT_FALSE(iterator->Valid());
    iterator->SeekForPrev("e");
    EXPECT_EQ(iterator->key(), "c");
    iterator->SeekForPrev("d");
    EXPECT_EQ(iterator->key(), "c");
    iterator->SeekForPrev("a");
    EXPECT_FALSE(iterator->Valid());
    iterator->Seek("b");
    iterator->Prev();
    EXPECT_FALSE(iterator->Valid());
    iterator->SeekForPrev("c");
    iterator->Next();
    EXPECT_FALSE(iterator->Valid());
  }
}

TEST_F(IteratorTest, OwnsItsBounds) {
  Open();
  const std::string prefix(40, 'p');  // longer than a string's inline buffer
  for (const char* suffix : {"1", "2", "3"}) Put(prefix + suffix, "v");
  Put("a", "before");
  Put("z", "after");
  std::string lower = prefix, upper = *PrefixEnd(prefix);
  const auto iterator = db_->NewIterator({.lower_bound = lower, .upper_bound = upper});
  std::fill(lower.begin(), lower.end(), 'z');
  std::fill(upper.begin(), upper.end(), 'a');
  std::string seen;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) seen += iterator->key().back();
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) seen += iterator->key().back();
  EXPECT_EQ(seen, "123321");
}

TEST_F(IteratorTest, TheEmptyKeyComesFirst) {
  Open();
  Put("", "empty");
  Put("a", "1");
  EXPECT_EQ(Scan(), "=empty a=1");
  Flush();
  EXPECT_EQ(Scan(), "=empty a=1");
  const auto iterator = db_->NewIterator();
  iterator->SeekForPrev("");
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "");
  iterator->Next();
  EXPECT_EQ(iterator->key(), "a");
}

TEST_F(IteratorTest, DoesNotSeeLaterWrites) {
  Open();
  Put("b", "1");
  const auto iterator = db_->NewIterator();
  Put("a", "2");
  Put("b", "2");
  Put("c", "2");
  iterator->SeekToFirst();
  EXPECT_EQ(iterator->key(), "b");
  EXPECT_EQ(iterator->value(), "1");
  Put("b1", "2");
  Delete("b");
  iterator->Next();
  EXPECT_FALSE(iterator->Valid());
  iterator->SeekToLast();
  EXPECT_EQ(iterator->value(), "1");
  Put("0", "2");  // a new first entry, while the iterator is at the old first one
  iterator->Prev();
  EXPECT_FALSE(iterator->Valid());
  EXPECT_OK(iterator->status());
}

TEST_F(IteratorTest, SkipsManyHiddenVersions) {
  Open();
  Put("a", "first");
  for (int i = 0; i < 300; ++i) {
    Put("m", Concat(i));
    Delete("n");
  }
  Put("z", "last");
  for (const bool flushed : {false, true}) {
    if (flushed) Flush();
    EXPECT_EQ(Scan(), "a=first m=299 z=last");
  }
}

// Compares with a map.  Keys have enough versions for a step to seek past them, and a snapshot does
// not see some of these versions.  The iteration turns around anywhere.
TEST_F(IteratorTest, WalksKeysOfManyVersions) {
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    db_ = nullptr;
    ASSERT_OK(DB::Destroy(kStorePath, options_));
    Open();
    Dice dice(seed);
    std::vector<std::pair<std::unique_ptr<const Snapshot>, Contents>> moments;
    Contents now;
    for (int i = 0; i < 6; ++i) {
      const uint64_t often_keys = 4 + static_cast<uint64_t>(i);
      for (int write = 0; write < 600; ++write) {
        // Between two snapshots some keys are written about fifty times, others once or twice.
        // Some keys do not exist at the first snapshots.
        const std::string key = dice.Next() % 4 == 0 ? Concat("rare", dice.Next() % 300)
                                                     : Concat("often", dice.Next() % often_keys);
        if (dice.Next() % 3 == 0) {
          Delete(key);
          now.erase(key);
        } else {
          now[key] = Concat(i, "-", write);
          Put(key, now[key]);
        }
      }
      moments.emplace_back(db_->GetSnapshot(), now);
      if (dice.Next() % 4 == 0) Flush();
    }
    for (const auto& moment : moments) {
      const Contents& contents = moment.second;
      const std::unique_ptr<Iterator> iterator = db_->NewIterator({.snapshot = moment.first.get()});
      const auto expect_at = [&](Contents::const_iterator at) {
        ASSERT_EQ(iterator->Valid(), at != contents.end());
        if (!iterator->Valid()) return;
        ASSERT_EQ(iterator->key(), at->first);
        ASSERT_EQ(iterator->value(), at->second);
      };
      Contents::const_iterator at = contents.end();
      for (int move = 0; move < 1500 && !HasFatalFailure(); ++move) {
        const uint64_t kind = at == contents.end() ? dice.Next() % 4 : dice.Next() % 20;
        const std::string target = Concat("often", dice.Next() % 9);
        if (kind == 0) {
          iterator->SeekToFirst();
          at = contents.begin();
        } else if (kind == 1) {
          iterator->SeekToLast();
          at = contents.empty() ? contents.end() : std::prev(contents.end());
        } else if (kind == 2) {
          iterator->Seek(target);
          at = contents.lower_bound(target);
        } else if (kind == 3) {
          iterator->SeekForPrev(target);
          at = contents.upper_bound(target);
          at = at == contents.begin() ? contents.end() : std::prev(at);
        } else if (kind % 2 == 0) {
          iterator->Next();
          ++at;
        } else {
          iterator->Prev();
          at = at == contents.begin() ? contents.end() : std::prev(at);
        }
        expect_at(at);
      }
    }
  }
}

// Counts the moves of the iterator below it, and the reads of values.  One of these moves fails,
// until the next seek.
class CountedIterator : public InnerIterator {
 public:
  CountedIterator(std::unique_ptr<Iterator> of, int* moves, int failing = -1, int* values = nullptr)
      : of_(std::move(of)), moves_(*moves), failing_(failing), values_(values) {}
  bool Valid() const override { return !failed_ && of_->Valid(); }
  void SeekToFirst() override { Count(), of_->SeekToFirst(); }
  void SeekToLast() override { Count(), of_->SeekToLast(); }
  void Seek(std::string_view target) override { Count(), of_->Seek(target); }
  void SeekForPrev(std::string_view target) override { Count(), of_->SeekForPrev(target); }
  void Next() override { Count(), of_->Next(); }
  void Prev() override { Count(), of_->Prev(); }
  std::string_view key() const override { return of_->key(); }
  std::string_view value() const override {
    if (values_ != nullptr) ++*values_;
    return of_->value();
  }
  absl::Status status() const override {
    return failed_ ? absl::UnavailableError("broken") : of_->status();
  }

 private:
  void Count() { failed_ = moves_++ == failing_; }

  const std::unique_ptr<Iterator> of_;
  int& moves_;
  const int failing_;
  int* const values_;
  bool failed_ = false;
};

class DbIteratorTest : public testing::Test {
 protected:
  static constexpr Sequence kVersions = 10000;

  DbIteratorTest() {
    for (const char* const key : {"a", "b", "c"}) {
      for (Sequence i = 0; i < kVersions; ++i) {
        const EntryKind kind = i % 2 == 0 ? EntryKind::kPut : EntryKind::kDelete;
        memtable.Add(++sequence, kind, key, Concat(i));
      }
    }
    for (const char* const key : {"a", "c", "d"})
      memtable.Add(++sequence, EntryKind::kPut, key, "x");
  }

  Memtable memtable;
  Sequence sequence = 0;
};

TEST_F(DbIteratorTest, FailedMovesHideNothing) {
  const std::vector<std::string> keys = {"a", "c", "d"};
  for (const bool forward : {true, false}) {
    for (int failing = 0;; ++failing) {
      int moves = 0;
      const auto iterator =
          NewDbIterator(std::make_unique<CountedIterator>(memtable.NewIterator(), &moves, failing),
                        sequence, {}, {}, {}, {}, [](const IteratorCounts&) {});
      std::vector<std::string> seen;
      for (forward ? iterator->SeekToFirst() : iterator->SeekToLast(); iterator->Valid();
           forward ? iterator->Next() : iterator->Prev())
        seen.emplace_back(iterator->key());
      if (!forward) std::reverse(seen.begin(), seen.end());
      if (moves <= failing) {
        EXPECT_EQ(seen, keys);
        break;
      }
      ASSERT_FALSE(iterator->status().ok()) << failing;
      ASSERT_LT(failing, 1000);
      ASSERT_LE(seen.size(), keys.size());
      const auto begin = forward ? keys.begin() : keys.end() - static_cast<int>(seen.size());
      EXPECT_TRUE(std::equal(seen.begin(), seen.end(), begin)) << failing;
    }
  }
}

TEST_F(DbIteratorTest, SkipsManyVersionsInFewMoves) {
  // The newest version of b is a tombstone.  The earlier sequence lies before the last three puts
  // and before the last tombstone of c.
  for (const Sequence as_of : {sequence, kVersions * 3 - 1}) {
    int moves = 0;
    const auto iterator =
        NewDbIterator(std::make_unique<CountedIterator>(memtable.NewIterator(), &moves), as_of, {},
                      {}, {}, {}, [](const IteratorCounts&) {});
    std::string seen;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
      seen += Concat(iterator->key(), "=", iterator->value(), " ");
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev())
      seen += Concat(iterator->key(), "=", iterator->value(), " ");
    EXPECT_EQ(seen, as_of == sequence ? "a=x c=x d=x d=x c=x a=x " : "c=9998 c=9998 ");
    EXPECT_LT(moves, 600);
  }
}

// --- values ---

class DbIteratorValuesTest : public testing::Test {
 protected:
  static constexpr int kDead = 1000;

  void Add(EntryKind kind, std::string_view key, size_t value_bytes = 0) {
    memtable_->Add(++sequence_, kind, key, std::string(value_bytes, key[0]));
  }
  // The keys "a0" and "b0" to "b<live - 1>", and between them kDead deleted ones.
  void Fill(size_t value_bytes, int live) {
    Add(EntryKind::kPut, "a0", value_bytes);
    for (int i = 0; i < kDead; ++i) {
      Add(EntryKind::kPut, Concat("aa", 1000 + i), value_bytes);
      Add(EntryKind::kDelete, Concat("aa", 1000 + i));
    }
    for (int i = 0; i < live; ++i) Add(EntryKind::kPut, Concat("b", i), value_bytes);
  }
  std::unique_ptr<Iterator> Iterate() {
    return NewDbIterator(std::make_unique<CountedIterator>(memtable_->NewIterator(), &moves_,
                                                           /*failing=*/-1, &values_),
                         sequence_, {}, {}, {}, {}, [](const IteratorCounts&) {});
  }

  std::optional<Memtable> memtable_{std::in_place};
  Sequence sequence_ = 0;
  int moves_ = 0;
  int values_ = 0;
};

TEST_F(DbIteratorValuesTest, ForwardThoseOfDeadEntriesAreNotRead) {
  Fill(/*value_bytes=*/1000, /*live=*/1);
  const auto iterator = Iterate();
  iterator->SeekToFirst();
  iterator->Next();
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "b0");
  EXPECT_EQ(values_, 0);
  EXPECT_EQ(iterator->value(), std::string(1000, 'b'));
}

TEST_F(DbIteratorValuesTest, BackwardFewOfDeadEntriesAreRead) {
  for (const size_t value_bytes : {1'000, 100'000}) {
    SCOPED_TRACE(value_bytes);
    memtable_.emplace();
    values_ = 0;
    Fill(value_bytes, /*live=*/1);
    const auto iterator = Iterate();
    iterator->SeekToLast();
    EXPECT_EQ(values_, 1);
    iterator->Prev();
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "a0");
    EXPECT_EQ(iterator->value(), std::string(value_bytes, 'a'));
    // kCopiedBytesMax or kCopiesMax (db_iterator.cc), and those of "b0" and "a0".
    EXPECT_EQ(values_, value_bytes == 1'000 ? 17 + 2 : 4 + 2);
    iterator->Next();
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "b0");
    iterator->Prev();
    iterator->Prev();
    EXPECT_FALSE(iterator->Valid());
    EXPECT_OK(iterator->status());
  }
}

TEST_F(DbIteratorValuesTest, BackwardThoseOfLiveEntriesAreReadOnce) {
  Fill(/*value_bytes=*/10'000, /*live=*/10);
  const auto iterator = Iterate();
  iterator->SeekToLast();
  for (int i = 9; i > 0; --i, iterator->Prev()) ASSERT_EQ(iterator->key(), Concat("b", i));
  EXPECT_EQ(iterator->key(), "b0");
  EXPECT_EQ(values_, 10);
  EXPECT_EQ(moves_, 1 + 10) << "a seek, and a step beyond each";
}

// Moves backward that copy no more values, with tombstones, range deletes and snapshots.
TEST_F(IteratorTest, BackwardOverDeadValuesIsForwardReversed) {
  options_.write_buffer_bytes = 8 << 20;
  Open();
  testing_support::Dice dice(1);
  const auto some_key = [&] { return Concat("k", 100 + dice.Roll(200)); };
  std::vector<std::unique_ptr<const Snapshot>> snapshots;
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    for (int i = 0; i < 100; ++i) Put(some_key(), Concat(round, std::string(8000, 'v'), i));
    snapshots.push_back(db_->GetSnapshot());
    for (int i = 0; i < 300; ++i) Delete(some_key());
    const std::string from = some_key();
    ASSERT_OK(db_->DeleteRange(from, from + "0"));
    ASSERT_OK(db_->DeleteRange(Concat("k", 150 + round), Concat("k", 170 + round)));
    if (dice.OneIn(3)) Flush();
    const auto& snapshot = snapshots[dice.Roll(snapshots.size())];
    for (const Snapshot* as_of : {static_cast<const Snapshot*>(nullptr), snapshot.get()}) {
      std::vector<std::pair<std::string, std::string>> forward, backward;
      const auto iterator = db_->NewIterator({.snapshot = as_of});
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
        forward.emplace_back(iterator->key(), iterator->value());
      for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
        backward.emplace_back(iterator->key(), iterator->value());
        if (!dice.OneIn(4)) continue;
        iterator->Next();
        if (iterator->Valid()) {
          iterator->Prev();
        } else {
          iterator->SeekToLast();
        }
        ASSERT_TRUE(iterator->Valid());
        ASSERT_EQ(iterator->key(), backward.back().first);
        ASSERT_EQ(iterator->value(), backward.back().second);
      }
      ASSERT_OK(iterator->status());
      std::reverse(backward.begin(), backward.end());
      ASSERT_TRUE(forward == backward);
    }
  }
}

TEST_F(IteratorTest, IteratorsKeepTheirFiles) {
  options_.block_cache_bytes = 0;
  Open();
  for (int i = 0; i < 50; ++i) Put(Concat("k", 10 + i), std::string(200, 'a'));
  Flush();
  for (int i = 0; i < 50; ++i) Put(Concat("k", 10 + i), std::string(200, 'b'));
  Flush();
  const std::vector<std::string> before = world_.FilesOf(FileKind::kTable);
  ASSERT_EQ(before.size(), 2u);
  auto first = db_->NewIterator();
  auto second = db_->NewIterator();
  CompactAll();
  EXPECT_EQ(world_.FilesOf(FileKind::kTable).size(), 3u);  // the new one and the two old ones
  for (auto* iterator : {first.get(), second.get()}) {
    int seen = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++seen)
      EXPECT_EQ(iterator->value()[0], 'b');
    EXPECT_OK(iterator->status());
    EXPECT_EQ(seen, 50);
  }
  first = nullptr;
  EXPECT_EQ(world_.FilesOf(FileKind::kTable).size(), 3u);
  second = nullptr;
  world_.scheduler.RunAll();
  const std::vector<std::string> after = world_.FilesOf(FileKind::kTable);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_NE(after[0], before[0]);
  EXPECT_NE(after[0], before[1]);
}

TEST_F(IteratorTest, IteratorsKeepTheirMemtable) {
  Open();
  for (int i = 0; i < 50; ++i) Put(Concat("k", 10 + i), "v");
  const auto iterator = db_->NewIterator();
  iterator->SeekToFirst();
  for (int round = 0; round < 5; ++round) {
    Put("x", std::string(100 << 10, 'x'));
    CompactAll();
  }
  int seen = 0;
  for (; iterator->Valid(); iterator->Next()) ++seen;
  EXPECT_EQ(seen, 50);
}

TEST_F(IteratorTest, ErrorsEndTheWalk) {
  options_.block_cache_bytes = 0;
  Open();
  for (int i = 0; i < 100; ++i) Put(Concat("k", 100 + i), std::string(100, 'v'));
  Flush();
  const auto iterator = db_->NewIterator();
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  const std::string table = world_.FilesOf(FileKind::kTable)[0];
  world_.files->SetFault([&](FileOperation, const std::string& path, uint64_t) {
    return path == table ? absl::UnavailableError(Concat(path, ": broken")) : absl::OkStatus();
  });
  int seen = 0;
  for (; iterator->Valid(); iterator->Next()) ++seen;
  EXPECT_LT(seen, 100);
  EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(table)));
  iterator->SeekToLast();
  EXPECT_FALSE(iterator->Valid());
  EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kUnavailable));
  world_.files->SetFault(nullptr);
  iterator->SeekToLast();  // tries again
  EXPECT_TRUE(iterator->Valid());
  EXPECT_OK(iterator->status());
}

TEST_F(IteratorTest, BackwardErrorsShowNoOlderVersion) {
  // Backward, the iterator reaches the older version of "m" before the newer one, which is in an
  // unreadable block.
  options_.block_cache_bytes = 0;
  options_.block_bytes = 256;
  Open();
  const auto snapshot = db_->GetSnapshot();
  std::vector<std::unique_ptr<const Snapshot>> snapshots;
  for (int i = 0; i < 6; ++i) {
    Put("m", std::string(200, static_cast<char>('0' + i)));
    snapshots.push_back(db_->GetSnapshot());
  }
  Flush();
  int reads = 0;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kReadAt && ++reads > 1
               ? absl::UnavailableError(Concat(path, ": broken"))
               : absl::OkStatus();
  });
  const auto iterator = db_->NewIterator();
  iterator->SeekToLast();
  EXPECT_FALSE(iterator->Valid());
  EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kUnavailable));
  world_.files->SetFault(nullptr);
}

// Another opening may change everything meanwhile.
TEST_F(IteratorTest, ReadersOutliveTheDb) {
  options_.block_cache_bytes = 1 << 20;
  Open();
  for (int i = 0; i < 500; ++i) Put(Concat("key", 1000 + i), std::string(100, 'v'));
  Flush();
  Put("key1000", "in the memtable");
  const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  const std::unique_ptr<Iterator> iterator = db_->NewIterator();
  PinnedValue pinned;
  ASSERT_OK(db_->Get("key1001", &pinned));
  iterator->Seek("key1100");
  db_ = nullptr;
  Open();
  for (int i = 0; i < 500; ++i) Delete(Concat("key", 1000 + i));
  CompactAll();
  EXPECT_EQ(Scan(), "");
  EXPECT_EQ(pinned.view(), std::string(100, 'v'));
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "key1100");
  size_t count = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    EXPECT_EQ(iterator->value(), count == 0 ? "in the memtable" : std::string(100, 'v'));
    ++count;
  }
  EXPECT_OK(iterator->status());
  EXPECT_EQ(count, 500u);
}

}  // namespace
}  // namespace lsm
