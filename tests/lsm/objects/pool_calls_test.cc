// The number of calls to the pool that a store makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

struct CountedProcess {
  CountedProcess(std::shared_ptr<MemoryObjects> objects, uint64_t seed, bool has_threads = false)
      : client(std::move(objects), "a process", seed,
               {.log_chunk_bytes = uint64_t{64} << 20, .table_chunk_bytes = uint64_t{4} << 20}),
        counting(&client.pool),
        files(&counting, &client.random, {.has_threads = has_threads}) {
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
    first.options.log_directory = log_directory_;
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
  // The calls that an opening by a new process waits for.  `total`: also those that come later.
  Calls CountOpening(bool total = false) {
    // Without threads, an opening does itself what comes later.
    CountedProcess process(objects_, 2, /*has_threads=*/!total);
    process.options.log_directory = log_directory_;
    Calls calls;
    const std::thread::id opening = std::this_thread::get_id();
    process.client.pool.SetHooks({[&](ObjectCall call, const std::string& object, uint64_t) {
                                    if (std::this_thread::get_id() != opening) {
                                      return MemoryObjectPool::Fate::kApplied;
                                    }
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
  void ExpectFewCalls(bool total, int more) {
    EXPECT_LE(CountOpening(total).on_indexes, 6);  // makes the store
    MakeStore(0);
    const int reads_without_tables = CountOpening(total).reads_of_chunks;
    for (const int tables : {0, 1, 4}) {
      SCOPED_TRACE(tables);
      MakeStore(tables);
      const Calls clean = CountOpening(total);
      EXPECT_LE(clean.on_indexes, 5 + more);
      EXPECT_LE(clean.reads_of_chunks, reads_without_tables + 2 * tables);
      MakeStore(tables);
      Crash();
      EXPECT_LE(CountOpening(total).on_indexes, 6 + more);  // writes a table
    }
  }

  std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  std::string log_directory_;  // empty: none
};

// The calls are: opening the directory, lock, swap of the owner, listing; a table that is
// recovered; and the names of all new files together with CURRENT.  A new store is looked for and
// made.
TEST_F(PoolCallsTest, OpeningsWaitForSixIndexCalls) { ExpectFewCalls(/*total=*/false, 0); }
// Later, the old files become gone:TAG, and those entries are removed.
TEST_F(PoolCallsTest, OldFilesCostTwoIndexCalls) { ExpectFewCalls(/*total=*/true, 2); }

// The question for the first lock makes two, and the second directory is opened again.
TEST_F(PoolCallsTest, OpeningsOfTwoIndexesMakeFourteenCalls) {
  log_directory_ = "/logs";
  MakeStore(1);
  EXPECT_LE(CountOpening().on_indexes, 14);
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

// Records the writes of a process.
class RecordingPool final : public ForwardingPool {
 public:
  using ForwardingPool::ForwardingPool;
  struct Recorded {
    std::string object;
    std::vector<std::string> set_entries;  // names
  };
  absl::Status Write(const std::string& object, const ObjectWrite& write) override {
    Recorded& one = writes.emplace_back(Recorded{object, {}});
    for (const auto& [entry, value] : write.set_entries) one.set_entries.push_back(entry);
    return ForwardingPool::Write(object, write);
  }
  absl::StatusOr<ObjectContents> Read(const std::string& object, const ObjectRead& read) override {
    ++reads;
    return ForwardingPool::Read(object, read);
  }

  std::vector<Recorded> writes;
  size_t reads = 0;
};

class PoolWritesTest : public testing::Test {
 protected:
  void Open(size_t write_buffer_bytes) {
    options_ = World().SmallOptions();
    options_.write_buffer_bytes = write_buffer_bytes;
    options_.table_bytes = write_buffer_bytes;
    options_.block_cache_bytes = 0;
    options_.environment = {&files_, nullptr, &clock_, &scheduler_, &client_.random};
    ASSERT_OK_AND_ASSIGN(db_, DB::Open("/store", options_));
    pool_.writes.clear();
  }
  // The object that holds the first bytes of the file.
  std::string FirstChunk(const std::string& name) {
    ObjectRead read;
    read.entries = {"f:" + name};
    const absl::StatusOr<ObjectContents> index = pool_.Read(IndexName("/store"), read);
    EXPECT_OK(index);
    return ChunkName(IndexedFile::Decode(index->entries.at("f:" + name), name)->id, 0);
  }
  // The only file with this ending.
  std::string NameOf(std::string_view ending) {
    std::string found;
    absl::StatusOr<std::unique_ptr<Directory>> directory =
        files_.OpenDirectory("/store", /*create=*/false);
    const std::vector<std::string> names = (*directory)->List().value();
    for (const std::string& name : names) {
      if (!name.ends_with(ending)) continue;
      EXPECT_EQ(found, "") << name;
      found = name;
    }
    return found;
  }

  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  PoolClient client_{objects_, "a process", 2};
  RecordingPool pool_{&client_.pool};
  ObjectFileSystem files_{&pool_, &client_.random, {.has_threads = false}};
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler scheduler_;
  Options options_;
  std::unique_ptr<DB> db_;
};

// The first group of a log costs one more: the manifest lists the log as synced.
TEST_F(PoolWritesTest, SyncedPutsCostOneWrite) {
  Open(1 << 20);
  ASSERT_OK(db_->Put("first", "value", {.sync = true}));
  EXPECT_EQ(pool_.writes.size(), 2u);
  const std::string log = FirstChunk(NameOf(".log"));
  pool_.writes.clear();
  pool_.reads = 0;
  const uint64_t groups = db_->GetStatistics().write_groups;
  for (int i = 0; i < 300; ++i)
    ASSERT_OK(db_->Put(Concat("key", i), std::string(100, 'v'), {.sync = i % 3 != 0}));
  EXPECT_EQ(db_->GetStatistics().write_groups, groups + 300);
  EXPECT_EQ(pool_.writes.size(), 300u);
  for (const RecordingPool::Recorded& write : pool_.writes) EXPECT_EQ(write.object, log);
  EXPECT_EQ(pool_.reads, 0u);
}

// The three other writes are the table's name, its size, and the edit of the manifest.  The next
// log costs three (its first chunk, its header, its name), and the removal of the earlier one three
// (its name, its chunk and the next one, the entry gone:TAG).
TEST_F(PoolWritesTest, FlushesCostThreeWritesBesideChunks) {
  Open(64 << 20);
  testing_support::SeededRandom random(7);
  std::string value(100'000, '\0');
  constexpr int kValues = 100;
  for (int i = 0; i < kValues; ++i) {
    for (char& c : value) c = static_cast<char>(random.Next());
    ASSERT_OK(db_->Put(Concat("key", i), value));
  }
  const std::string manifest = FirstChunk(NameOf(".manifest"));
  pool_.writes.clear();
  ASSERT_OK(db_->Flush());
  const std::string table = NameOf(".table");
  const std::string first = FirstChunk(table);
  const std::string id = first.substr(0, first.find('.'));
  size_t chunks = 0, edits = 0, names = 0;
  for (const RecordingPool::Recorded& write : pool_.writes) {
    chunks += write.object.starts_with(id) ? 1 : 0;
    edits += write.object == manifest ? 1 : 0;
    names += std::count(write.set_entries.begin(), write.set_entries.end(), "f:" + table);
  }
  EXPECT_EQ(chunks, kValues * value.size() / (4 << 20) + 1);
  EXPECT_EQ(edits + names, 3u);
  EXPECT_LE(pool_.writes.size(), chunks + 3 + 7);
}

// The filters and indexes are in memory.
TEST_F(PoolWritesTest, OnlyPresentKeysAreRead) {
  constexpr int kKeys = 20'000;
  Open(8 << 20);
  // Values of several chunks of 4 MiB, so that some blocks are in two of them.
  testing_support::SeededRandom random(7);
  std::string value(400, '\0');
  for (int i = 0; i < kKeys; ++i) {
    for (char& c : value) c = static_cast<char>(random.Next());
    ASSERT_OK(db_->Put(Concat("key", i), value));
  }
  ASSERT_OK(db_->CompactRange());
  EXPECT_GT(db_->GetStatistics().total.tables, 0u);
  const auto count_reads = [&](std::string_view prefix, bool is_there) {
    pool_.reads = 0;
    for (int i = 0; i < kKeys; ++i) {
      const absl::StatusOr<std::optional<std::string>> found = db_->Get(Concat(prefix, i));
      EXPECT_TRUE(found.ok() && found->has_value() == is_there);
    }
    return static_cast<double>(pool_.reads) / kKeys;
  };
  EXPECT_LE(count_reads("absent", false), 1.2 * options_.target_fpp);
  // In the range of the present keys.
  EXPECT_LE(count_reads("key1absent", false), 1.2 * options_.target_fpp);
  const double present = count_reads("key", true);
  EXPECT_GE(present, 1);
  EXPECT_LE(present, 1.01);
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
