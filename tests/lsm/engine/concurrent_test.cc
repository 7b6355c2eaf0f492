// Several threads use one store during flushes and compactions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "lsm/threads/epoch.h"
#include "lsm/threads/thread_scheduler.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

constexpr int kScale = 30;

constexpr int kWriters = 3;
constexpr int kPairs = 8;  // of keys, for each writer

class ConcurrentTest : public testing::Test {
 protected:
  ConcurrentTest() : options_(world_.SmallOptions()) {
    options_.environment.scheduler = nullptr;  // threads
    options_.level0_compaction_tables = 2;
    options_.level0_stop_tables = 200;  // no delays
    // The cache is small, so that blocks are evicted while they are read.
    options_.block_cache_bytes = 16 << 10;
  }
  void Open() {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    ASSERT_OK(db);
    db_ = *std::move(db);
  }

  // Both keys of a pair are always written together, with the same number, which only grows.
  static std::string KeyOf(int writer, int pair, bool second) {
    return Concat(second ? "b" : "a", writer, "/", pair);
  }
  static std::string ValueOf(int number) { return Concat(number, ":", std::string(500, 'v')); }
  static int NumberIn(std::string_view value) { return std::atoi(std::string(value).c_str()); }

  void WriteRounds(int writer, int rounds) {
    for (int number = 1; number <= rounds; ++number) {
      for (int pair = 0; pair < kPairs; ++pair) {
        WriteBatch batch;
        batch.Put(KeyOf(writer, pair, false), ValueOf(number));
        batch.Put(KeyOf(writer, pair, true), ValueOf(number));
        const bool sync = (number + pair) % 16 == 0;
        const absl::Status status = db_->Write(batch, {.sync = sync});
        if (!status.ok()) {
          ADD_FAILURE() << status;
          return;
        }
      }
    }
  }

  // One thread's view of each pair.  It must never go back.
  class Watcher {
   public:
    explicit Watcher(DB* db) : db_(db) {}

    void Look(Dice& dice) {
      switch (dice.Roll(4)) {
        case 0:
          return Single(dice);
        case 1:
          return Together(dice);
        case 2:
          return AtSnapshot(dice);
        default:
          return Walk(dice);
      }
    }

   private:
    void Single(Dice& dice) {
      const int writer = static_cast<int>(dice.Roll(kWriters)),
                pair = static_cast<int>(dice.Roll(kPairs));
      PinnedValue value;
      const absl::StatusOr<bool> first = db_->Get(KeyOf(writer, pair, false), &value);
      ASSERT_OK(first);
      const int number = *first ? NumberIn(value.view()) : 0;
      // A later read is not older.
      std::string second_value;
      const absl::StatusOr<bool> second = db_->Get(KeyOf(writer, pair, true), &second_value);
      ASSERT_OK(second);
      const int second_number = *second ? NumberIn(second_value) : 0;
      ASSERT_GE(second_number, number);
      if (*first) {
        ASSERT_EQ(value.view(), ValueOf(number));
      }
      Note(writer, pair, number);
      Note(writer, pair, second_number);
    }

    void Together(Dice& dice) {
      const int writer = static_cast<int>(dice.Roll(kWriters)),
                pair = static_cast<int>(dice.Roll(kPairs));
      const std::string a = KeyOf(writer, pair, false), b = KeyOf(writer, pair, true);
      const std::vector<std::string_view> keys = {a, b};
      const auto values = db_->MultiGet(keys);
      ASSERT_OK(values[0]);
      ASSERT_OK(values[1]);
      ASSERT_EQ(*values[0], *values[1]);
      Note(writer, pair, values[0]->has_value() ? NumberIn(**values[0]) : 0);
    }

    void AtSnapshot(Dice& dice) {
      const auto snapshot = db_->GetSnapshot();
      const ReadOptions options{.snapshot = snapshot.get()};
      for (int i = 0; i < 5; ++i) {
        const int writer = static_cast<int>(dice.Roll(kWriters)),
                  pair = static_cast<int>(dice.Roll(kPairs));
        const auto a = db_->Get(KeyOf(writer, pair, false), options);
        std::this_thread::yield();
        const auto b = db_->Get(KeyOf(writer, pair, true), options);
        ASSERT_OK(a);
        ASSERT_OK(b);
        ASSERT_EQ(*a, *b);
        Note(writer, pair, a->has_value() ? NumberIn(**a) : 0);
      }
    }

    void Walk(Dice& dice) {
      ReadOptions options;
      options.fill_cache = dice.OneIn(2);
      const std::unique_ptr<Iterator> iterator = db_->NewIterator(options);
      int numbers[2][kWriters][kPairs] = {};
      const auto take = [&] {
        const std::string key(iterator->key());
        int& number = numbers[key[0] == 'b'][key[1] - '0'][key[3] - '0'];
        ASSERT_EQ(number, 0);
        number = NumberIn(iterator->value());
      };
      if (dice.OneIn(2)) {
        for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) take();
      } else {
        for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) take();
      }
      ASSERT_OK(iterator->status());
      for (int writer = 0; writer < kWriters; ++writer) {
        for (int pair = 0; pair < kPairs; ++pair) {
          ASSERT_EQ(numbers[0][writer][pair], numbers[1][writer][pair]);
          Note(writer, pair, numbers[0][writer][pair]);
        }
      }
    }

    void Note(int writer, int pair, int number) {
      int& seen = seen_[writer][pair];
      ASSERT_GE(number, seen);
      seen = number;
    }

    DB* const db_;
    int seen_[kWriters][kPairs] = {};
  };

  void CheckEnd(int rounds) {
    for (int writer = 0; writer < kWriters; ++writer) {
      for (int pair = 0; pair < kPairs; ++pair) {
        for (const bool second : {false, true})
          EXPECT_EQ(*db_->Get(KeyOf(writer, pair, second)), ValueOf(rounds));
      }
    }
  }

  World world_;
  Options options_;
  std::unique_ptr<DB> db_;
};

TEST_F(ConcurrentTest, ReadersSeeWholeBatchesInOrder) {
  const int rounds = 40 * kScale;
  Open();
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  for (uint64_t reader = 0; reader < 2; ++reader) {
    others.emplace_back([&, reader] {
      Dice dice(reader + 1);
      Watcher watcher(db_.get());
      while (!done.load() && !HasFailure()) watcher.Look(dice);
    });
  }
  others.emplace_back([&] {  // upkeep
    Dice dice(9);
    while (!done.load() && !HasFailure()) {
      switch (dice.Roll(3)) {
        case 0:
          EXPECT_OK(db_->Flush());
          break;
        case 1:
          EXPECT_OK(db_->CompactRange());
          break;
        default:
          db_->GetStatistics();
          db_->ApproximateBytes("a", "c");
          EXPECT_OK(db_->Explain("a0/0"));
      }
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer)
    writers.emplace_back([&, writer] { WriteRounds(writer, rounds); });
  for (std::thread& writer : writers) writer.join();
  done = true;
  for (std::thread& other : others) other.join();
  CheckEnd(rounds);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_GT(statistics.flushes, 3u);
  EXPECT_GT(statistics.compactions, 0u);
  EXPECT_EQ(statistics.writes, static_cast<uint64_t>(rounds * kWriters * kPairs));
  db_ = nullptr;
  Open();
  CheckEnd(rounds);
}

TEST_F(ConcurrentTest, SyncedGroupsSurviveCrashes) {
  Open();
  constexpr int kThreads = 4;
  std::atomic<int> acknowledged[kThreads] = {};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 1; i <= 40 * kScale; ++i) {
        // One of the writers does not sync, and must not disturb the others.
        const absl::Status status =
            db_->Put(Concat("k", thread), ValueOf(i), {.sync = thread != 0});
        if (!status.ok()) break;
        acknowledged[thread].store(i);
      }
    });
  }
  // The power fails several times.  All writes that were acknowledged before must exist.
  while (acknowledged[1].load() == 0 && !HasFailure()) std::this_thread::yield();
  for (int round = 0; round < 10 && !HasFailure(); ++round) {
    int least[kThreads];
    for (int thread = 1; thread < kThreads; ++thread) least[thread] = acknowledged[thread].load();
    World world(static_cast<uint64_t>(round), world_.files->Clone());
    world.files->Restart(MemoryFileSystem::Unsynced::kLost);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, world.SmallOptions()));
    for (int thread = 1; thread < kThreads; ++thread) {
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get(Concat("k", thread)));
      EXPECT_GE(value ? NumberIn(*value) : 0, least[thread]);
    }
  }
  for (std::thread& thread : threads) thread.join();
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.writes, static_cast<uint64_t>(kThreads * 40 * kScale));
  EXPECT_LE(statistics.write_groups, statistics.writes);
  EXPECT_LE(statistics.log_syncs, statistics.write_groups);
}

// Each table counts its wasted reads, while compactions read the counts and pass them on to their
// outputs.
TEST_F(ConcurrentTest, CountsWastedReadsWhileTablesChange) {
  options_.filter_goal = FilterGoal::BitsPerKey(2);
  Open();
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int thread = 0; thread < 3; ++thread) {
    readers.emplace_back([&, thread] {
      for (int i = 0; !done.load() && !HasFailure(); ++i) {
        const std::string absent = Concat("k", 10 + i % 80, " is not there ", i);
        if (thread == 0) {
          const std::vector<std::string_view> keys(3, absent);
          for (const auto& answer : db_->MultiGet(keys)) EXPECT_EQ(answer.value(), std::nullopt);
        } else {
          EXPECT_EQ(db_->Get(absent).value(), std::nullopt);
        }
      }
    });
  }
  for (int round = 0; round < 2 * kScale && !HasFailure(); ++round) {
    for (int i = 0; i < 200; ++i)
      EXPECT_OK(db_->Put(Concat("k", 10 + (round + 7 * i) % 90, "/", i), ValueOf(round)));
    EXPECT_OK(round % 10 == 0 ? db_->CompactRange() : db_->Flush());
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_OK(db_->WaitForBackgroundWork());
  EXPECT_GT(db_->GetStatistics().total.false_positives, 0u);
}

TEST_F(ConcurrentTest, ReadersPayWhileTablesChange) {
  options_.level0_compaction_tables = 100;  // by itself nothing is due
  Open();
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        for (int n = 0; n < 500; ++n) ASSERT_EQ(*db_->Get("m"), std::nullopt);
        for (int n = 0; n < 20; ++n) {
          const std::unique_ptr<Iterator> iterator = db_->NewIterator();
          iterator->Seek("b");
          ASSERT_TRUE(!iterator->Valid() || iterator->key() == "z");
          ASSERT_OK(iterator->status());
        }
      }
    });
  }
  const auto paid = [&] { return db_->GetStatistics().compactions_for_readers; };
  for (uint64_t merges = 1; merges <= 3; ++merges) {
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK(db_->Put("a", "v"));
      ASSERT_OK(db_->Put("z", "v"));
      ASSERT_OK(db_->Flush());
    }
    for (int i = 0; i < 6000 && paid() < merges; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GE(paid(), merges);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(ReadAll(*db_)->size(), 2u);
}

TEST_F(ConcurrentTest, PaidIteratorsEndDuringClose) {
  options_.level0_compaction_tables = 100;
  for (int round = 0; round < 10; ++round) {
    Open();
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK(db_->Put("a", "v"));
      ASSERT_OK(db_->Put("z", "v"));
      ASSERT_OK(db_->Flush());
    }
    std::vector<std::unique_ptr<Iterator>> iterators;
    for (int i = 0; i < 40; ++i) {
      iterators.push_back(db_->NewIterator());
      for (int n = 0; n < 1024; ++n) iterators.back()->Seek("m");
    }
    std::thread other([&] { iterators.clear(); });
    db_ = nullptr;
    other.join();
  }
}

// A job waits a while for the readers of files that it made obsolete.  If a store is only read, no
// later job would remove the files.
TEST_F(ConcurrentTest, ReadStoresRemoveObsoleteFiles) {
  Open();
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int thread = 0; thread < 2; ++thread) {
    readers.emplace_back([&, thread] {
      const std::vector<std::string_view> keys(16, "k");
      while (!done.load()) {
        if (thread == 0) {
          for (const auto& answer : db_->MultiGet(keys)) EXPECT_OK(answer);
        } else {
          EXPECT_OK(db_->Get("k"));
        }
      }
    });
  }
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    EXPECT_OK(db_->Put("k", Concat(round)));
    EXPECT_OK(db_->CompactRange());
    EXPECT_OK(db_->WaitForBackgroundWork());
    ExpectNoOtherTablesSoon(world_, *db_);
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
}

TEST_F(ConcurrentTest, LongLookupsDoNotKeepObsoleteFiles) {
  Open();
  const auto work = [&] {
    EXPECT_OK(db_->Put("k", "v"));
    EXPECT_OK(db_->CompactRange());
    EXPECT_OK(db_->WaitForBackgroundWork());
  };
  work();
  {
    const EpochGuard guard;  // as of a lookup that waits for its disk
    std::thread(work).join();
    EXPECT_GT(world_.FilesOf(FileKind::kTable).size(), db_->GetStatistics().total.tables);
  }
  ExpectNoOtherTablesSoon(world_, *db_);
}

// GetStatistics holds a view too.
TEST_F(ConcurrentTest, StatisticsKeepNoFiles) {
  Open();
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    std::atomic<bool> done{false};
    std::vector<std::thread> watchers;
    for (int thread = 0; thread < 2; ++thread) {
      watchers.emplace_back([&] {
        while (!done.load()) db_->GetStatistics();
      });
    }
    for (int i = 0; i < 20; ++i) {
      EXPECT_OK(db_->Put("k", Concat(round)));
      EXPECT_OK(db_->CompactRange());
    }
    done.store(true);
    for (std::thread& watcher : watchers) watcher.join();
    EXPECT_OK(db_->WaitForBackgroundWork());
    ExpectNoOtherTablesSoon(world_, *db_);
  }
}

TEST_F(ConcurrentTest, WritersAfterAFailedOneFail) {
  Open();
  std::atomic<bool> broken{false};
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    return broken.load() && operation == FileOperation::kAppend && path.ends_with(".log")
               ? absl::UnavailableError("broken")
               : absl::OkStatus();
  });
  std::atomic<int> last_ok[4] = {};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 1; i < 100000; ++i) {
        if (!db_->Put(Concat("k", thread), Concat(i)).ok()) return;
        last_ok[thread].store(i);
        if (thread == 0 && i == 100 * kScale) broken.store(true);
      }
      ADD_FAILURE() << "no write failed";
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto check = [&](bool exactly) {
    for (int thread = 0; thread < 4; ++thread) {
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db_->Get(Concat("k", thread)));
      const int found = value ? std::stoi(*value) : 0;
      EXPECT_GE(found, last_ok[thread].load());
      EXPECT_LE(found, last_ok[thread].load() + (exactly ? 0 : 1));
    }
  };
  check(/*exactly=*/true);
  world_.files->SetFault(nullptr);
  db_ = nullptr;
  Open();
  check(/*exactly=*/false);
}

TEST_F(ConcurrentTest, OpensAndClosesDuringWork) {
  Contents expected;
  Dice dice(5);
  for (int round = 0; round < 15 * kScale && !HasFailure(); ++round) {
    Open();
    const absl::StatusOr<Contents> found = ReadAll(*db_);
    ASSERT_OK(found);
    ASSERT_EQ(*found, expected);
    for (size_t i = dice.Roll(60); i > 0; --i) {
      const std::string key = Concat("k", dice.Roll(40));
      const std::string value(dice.Roll(4000), static_cast<char>('a' + round % 26));
      ASSERT_OK(db_->Put(key, value));
      expected[key] = value;
    }
    db_ = nullptr;  // flushes and compactions are under way
  }
}

// After that, the directory may belong to another store with the same file numbers.
TEST_F(ConcurrentTest, ClosedStoresRemoveNothing) {
  Open();
  for (int i = 0; i < 100; ++i) ASSERT_OK(db_->Put(std::to_string(i), "value"));
  ASSERT_OK(db_->Flush());
  std::unique_ptr<Iterator> iterator = db_->NewIterator();
  ASSERT_OK(db_->CompactRange());  // makes its table obsolete
  std::promise<void> removing, closed;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kRemove || !path.ends_with(".table")) return absl::OkStatus();
    removing.set_value();
    EXPECT_EQ(closed.get_future().wait_for(std::chrono::milliseconds(100)),
              std::future_status::timeout);
    return absl::OkStatus();
  });
  std::thread reader([&] { iterator = nullptr; });
  removing.get_future().wait();
  db_ = nullptr;
  closed.set_value();
  reader.join();
  world_.files->SetFault(nullptr);
  EXPECT_EQ(world_.FilesOf(FileKind::kTable).size(), 1u);
}

TEST_F(ConcurrentTest, StoresShareOnlyAScheduler) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Scheduler> scheduler, NewThreadScheduler({}));
  options_.environment.scheduler = scheduler.get();
  {
    std::vector<std::unique_ptr<DB>> stores;
    for (const char* path : {"/one", "/two"}) {
      ASSERT_OK_AND_ASSIGN(std::unique_ptr<DB> db, DB::Open(path, options_));
      stores.push_back(std::move(db));
    }
    std::vector<std::thread> threads;
    for (size_t store = 0; store < 2; ++store) {
      for (int thread = 0; thread < 2; ++thread) {
        threads.emplace_back([&, store, thread] {
          for (int i = 0; i < 150 * kScale; ++i) {
            const std::string key = Concat("k", thread, "/", i % 50);
            EXPECT_OK(stores[store]->Put(key, Concat(store, ":", i, std::string(400, 'x'))));
            const auto value = stores[store]->Get(key);
            ASSERT_OK(value);
            ASSERT_TRUE(value->has_value());
            ASSERT_EQ((**value)[0], store == 0 ? '0' : '1');
          }
        });
      }
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ReadAll(*stores[0])->size(), 100u);
    EXPECT_EQ(ReadAll(*stores[1])->size(), 100u);
    stores[0] = nullptr;  // the other goes on
    EXPECT_OK(stores[1]->CompactRange());
    EXPECT_EQ(ReadAll(*stores[1])->size(), 100u);
  }
}

TEST_F(ConcurrentTest, CompactionsOfDistantKeysRunConcurrently) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Scheduler> scheduler,
                       NewThreadScheduler({.compactions = 2}));
  options_.environment.scheduler = scheduler.get();
  options_.level0_compaction_tables = options_.level0_stop_tables = 1000;  // nothing is due
  Open();
  for (int i = 0; i < 4; ++i) {
    for (const char* key : {"a", "m"}) {
      ASSERT_OK(db_->Put(key, Concat(key, i)));
      ASSERT_OK(db_->Flush());
    }
  }
  // The first job that begins a table waits until the second one does.
  std::mutex mutex;
  std::condition_variable another;
  int begun = 0;
  bool met = false;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kCreate || !path.ends_with(".table")) return absl::OkStatus();
    std::unique_lock lock(mutex);
    ++begun;
    another.notify_all();
    met = another.wait_for(lock, std::chrono::seconds(60), [&] { return begun >= 2; });
    return absl::OkStatus();
  });
  options_.level0_compaction_tables = 4;
  db_ = nullptr;
  Open();
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(begun, 2);
  EXPECT_TRUE(met);
  world_.files->SetFault(nullptr);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.compactions_at_once, 2u);
  EXPECT_EQ(statistics.compactions, 2u);
  EXPECT_EQ(statistics.levels[0].tables, 0u);
  EXPECT_EQ(statistics.levels[1].tables, 2u);
  EXPECT_EQ(*ReadAll(*db_), (Contents{{"a", "a3"}, {"m", "m3"}}));
  db_ = nullptr;  // before the scheduler
}

// CompactRange waits for the compactions that it conflicts with, and then compacts the whole range.
TEST_F(ConcurrentTest, RangesWaitForCompactionsOfTheirTables) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Scheduler> scheduler,
                       NewThreadScheduler({.compactions = 2}));
  options_.environment.scheduler = scheduler.get();
  options_.level0_compaction_tables = options_.level0_stop_tables = 4;
  std::promise<void> begun, released;
  std::atomic<int> tables = 0;
  Open();
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(db_->Put("a", Concat(i)));
    ASSERT_OK(db_->Flush());
  }
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    // The flush makes the first table, the first compaction the second.
    if (operation == FileOperation::kCreate && path.ends_with(".table") && ++tables == 2) {
      begun.set_value();
      released.get_future().wait();
    }
    return absl::OkStatus();
  });
  ASSERT_OK(db_->Put("a", "3"));
  ASSERT_OK(db_->Flush());
  begun.get_future().wait();
  std::future<absl::Status> range =
      std::async(std::launch::async, [&] { return db_->CompactRange(); });
  EXPECT_EQ(range.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  released.set_value();
  EXPECT_OK(range.get());
  world_.files->SetFault(nullptr);
  EXPECT_EQ(db_->GetStatistics().levels[0].tables, 0u);
  EXPECT_EQ(*ReadAll(*db_), (Contents{{"a", "3"}}));
  db_ = nullptr;  // before the scheduler
}

TEST_F(ConcurrentTest, IteratorsAndSnapshotsStayTrueDuringWrites) {
  Open();
  WriteRounds(0, 1);
  WriteRounds(1, 1);
  const auto snapshot = db_->GetSnapshot();
  const auto old = db_->NewIterator();
  PinnedValue pinned;
  ASSERT_OK(db_->Get(KeyOf(0, 0, false), &pinned));
  std::thread writer([&] { WriteRounds(0, 60 * kScale); });
  std::thread other([&] { WriteRounds(1, 60 * kScale); });
  for (int round = 0; round < 30 * kScale && !HasFailure(); ++round) {
    int seen = 0;
    for (old->SeekToFirst(); old->Valid(); old->Next(), ++seen)
      EXPECT_EQ(NumberIn(old->value()), 1);
    EXPECT_OK(old->status());
    EXPECT_EQ(seen, 2 * 2 * kPairs);
    const absl::StatusOr<Contents> at_snapshot = ReadAll(*db_, {.snapshot = snapshot.get()});
    ASSERT_OK(at_snapshot);
    EXPECT_EQ(at_snapshot->size(), 2u * 2 * kPairs);
    for (const auto& [key, value] : *at_snapshot) EXPECT_EQ(NumberIn(value), 1);
  }
  writer.join();
  other.join();
  EXPECT_EQ(pinned.view(), ValueOf(1));
}

}  // namespace
}  // namespace lsm
