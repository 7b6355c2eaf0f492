// The number of calls to the pool that a store makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

struct CountedProcess {
  CountedProcess(std::shared_ptr<MemoryObjects> objects, uint64_t seed)
      : client(std::move(objects), "a process", seed,
               {.log_chunk_bytes = uint64_t{64} << 20, .table_chunk_bytes = uint64_t{4} << 20}),
        counting(&client.pool),
        files(&counting, &client.random, {.has_threads = false}) {
    options = World().SmallOptions();
    options.block_cache_bytes = 1 << 20;
    options.environment = {&files, nullptr, &clock, &scheduler, &client.random};
  }

  std::unique_ptr<DB> Open() {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open("/store", options);
    EXPECT_OK(db);
    return db.ok() ? *std::move(db) : nullptr;
  }

  PoolClient client;
  CountingPool counting;
  ObjectFileSystem files;
  testing_support::ManualClock clock;
  testing_support::SingleThreadScheduler scheduler;
  Options options;
};

struct Calls {
  int on_indexes = 0, reads_of_chunks = 0;
};

class PoolCallsTest : public testing::Test {
 protected:
  // Puts `count` keys, with values that fill a block of their own.
  static void Fill(DB& db, int from, int count) {
    for (int i = from; i < from + count; ++i)
      ASSERT_OK(db.Put(Concat("key", 1000 + i), std::string(600, static_cast<char>('a' + i % 26))));
  }
  // A store with this many tables, all on level 0.
  void MakeStore(int tables) {
    objects_ = std::make_shared<MemoryObjects>();
    CountedProcess first(objects_, 1);
    const std::unique_ptr<DB> db = first.Open();
    ASSERT_NE(db, nullptr);
    for (int i = 0; i < tables; ++i) {
      Fill(*db, 100 * i, 20);
      ASSERT_OK(db->Flush());
    }
    ASSERT_OK(db->Close());
  }
  // A process writes without a flush, and dies.
  void Crash() {
    CountedProcess crashed(objects_, 3);
    const std::unique_ptr<DB> db = crashed.Open();
    ASSERT_NE(db, nullptr);
    Fill(*db, 1000, 3);
    StopAt(&crashed.client.pool, 0, /*after=*/false);
    ExpireLocks(objects_.get());
  }
  // The calls of an opening by a new process.
  Calls CountOpening() {
    CountedProcess process(objects_, 2);
    Calls calls;
    process.client.pool.SetHooks({[&](ObjectCall call, const std::string& object, uint64_t) {
                                    if (object.starts_with("index:")) {
                                      ++calls.on_indexes;
                                    } else if (call == ObjectCall::kRead) {
                                      ++calls.reads_of_chunks;
                                    }
                                    return MemoryObjectPool::Fate::kApplied;
                                  },
                                  nullptr});
    const std::unique_ptr<DB> db = process.Open();
    process.client.pool.SetHooks({});
    return calls;
  }

  std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
};

// The first look makes three calls on the index: it opens the directory, reads CURRENT, and lists.
TEST_F(PoolCallsTest, OpeningsMakeFewCalls) {
  EXPECT_LE(CountOpening().on_indexes, 9);  // makes the store
  MakeStore(0);
  const int reads_without_tables = CountOpening().reads_of_chunks;
  for (const int tables : {0, 1, 4}) {
    SCOPED_TRACE(tables);
    MakeStore(tables);
    const Calls clean = CountOpening();
    EXPECT_LE(clean.on_indexes, 12);
    EXPECT_LE(clean.reads_of_chunks, reads_without_tables + 2 * tables);
    MakeStore(tables);
    Crash();
    EXPECT_LE(CountOpening().on_indexes, 14);  // writes a table
  }
}

// A table costs two calls on the index: its name, and its size.  The removal of all inputs costs
// two: their names, and the entries gone:TAG.  An input that cannot be removed is removed later.
TEST_F(PoolCallsTest, CompactionsRemoveTheirInputsTogether) {
  enum class Removal { kAnswered, kAnswerLost, kRefused };
  for (const Removal removal : {Removal::kAnswered, Removal::kAnswerLost, Removal::kRefused}) {
    SCOPED_TRACE(static_cast<int>(removal));
    MakeStore(6);
    CountedProcess process(objects_, 2);
    const std::unique_ptr<DB> db = process.Open();
    ASSERT_NE(db, nullptr);
    Fill(*db, 0, 20);
    ASSERT_OK(db->Flush());
    int calls = 0;
    process.client.pool.SetHooks({[&](ObjectCall, const std::string& object, uint64_t) {
                                    calls += object.starts_with("index:") ? 1 : 0;
                                    return removal == Removal::kRefused && calls >= 3
                                               ? MemoryObjectPool::Fate::kRefused
                                               : MemoryObjectPool::Fate::kApplied;
                                  },
                                  [&](ObjectCall, const std::string&, uint64_t) {
                                    return removal != Removal::kAnswerLost || calls != 3;
                                  }});
    ASSERT_OK(db->CompactRange());
    process.client.pool.SetHooks({});
    EXPECT_GE(calls, 3);
    if (removal == Removal::kAnswered) {
      EXPECT_LE(calls, 4);
    }
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                         process.files.OpenDirectory("/store", /*create=*/false));
    const auto count_tables = [&] {
      const std::vector<std::string> names = directory->List().value();
      return std::count_if(names.begin(), names.end(),
                           [](const std::string& name) { return name.ends_with(".table"); });
    };
    EXPECT_EQ(count_tables(), removal == Removal::kRefused ? 8 : 1);
    Fill(*db, 0, 20);
    ASSERT_OK(db->CompactRange());
    EXPECT_EQ(db->GetStatistics().total.tables, 1u);
    EXPECT_EQ(count_tables(), 1);
  }
}

// Blocks are read together, whatever table they are in.
TEST_F(PoolCallsTest, MultiGetOfColdKeysReadsOnce) {
  CountedProcess process(objects_, 2);
  const std::unique_ptr<DB> db = process.Open();
  ASSERT_NE(db, nullptr);
  Fill(*db, 0, 70);
  ASSERT_OK(db->Flush());
  ASSERT_OK(db->CompactRange());
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) names.push_back(Concat("key", 1000 + i));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  process.counting.reads_together.clear();
  process.counting.reads = 0;
  for (const absl::StatusOr<std::optional<std::string>>& value : db->MultiGet(keys)) {
    ASSERT_OK(value);
    EXPECT_TRUE(value->has_value());
  }
  EXPECT_THAT(process.counting.reads_together, testing::ElementsAre(64));
  EXPECT_EQ(process.counting.reads, 64u);
}

}  // namespace
}  // namespace lsm
