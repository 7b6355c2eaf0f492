// Threads that open keyspaces at once, write to them and read.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/write_batch.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class KeyspacesConcurrentTest : public testing::Test {
 protected:
  KeyspacesConcurrentTest() {
    options_.environment.file_system = &files_;
    options_.write_buffer_bytes = 64 << 10;
  }
  void Open() {
    db_ = nullptr;
    ASSERT_OK_AND_ASSIGN(db_, DB::Open("/store", options_));
  }
  static void InThreads(size_t count, const std::function<void(size_t)>& run) {
    std::atomic<size_t> waiting = count;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        for (--waiting; waiting > 0;) std::this_thread::yield();
        run(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  MemoryFileSystem files_;
  Options options_;
  std::unique_ptr<DB> db_;
};

// They all get the same keyspace, whichever thread is first.
TEST_F(KeyspacesConcurrentTest, OneNewNameIsOneKeyspace) {
  constexpr size_t kThreads = 4;
  Open();
  for (int round = 0; round < 20; ++round) {
    const std::string name = Concat("name", round);
    std::vector<absl::StatusOr<Keyspace>> opened(kThreads, absl::UnknownError(""));
    InThreads(kThreads, [&](size_t i) {
      KeyspaceOptions options;
      if (i == 1) options.target_fpp = 0.25;
      if (i == 2) options.compression = Compression::kNone;
      opened[i] = db_->OpenKeyspace(name, options);
    });
    for (size_t i = 0; i < kThreads; ++i) {
      ASSERT_OK(opened[i]);
      ASSERT_OK(opened[i]->Put(Concat("key", i), name));
    }
    for (const auto& keyspace : opened) {
      const std::vector<std::string_view> keys = {"key0", "key1", "key2", "key3"};
      for (const auto& value : keyspace->MultiGet(keys)) {
        ASSERT_OK(value);
        EXPECT_EQ(*value, name);
      }
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, db_->ListKeyspaces());
    EXPECT_EQ(names.size(), static_cast<size_t>(round) + 2);
  }
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, db_->ListKeyspaces());
  EXPECT_EQ(names.size(), 21u);
  // The store has the options of all callers, so a reader that asks for them changes nothing.
  ASSERT_OK(db_->Close());
  options_.mode = OpenMode::kReadOnly;
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_OK(db_->OpenKeyspace("name7", {.target_fpp = 0.25, .compression = Compression::kNone}));
}

// Creations, changes of options, writes, flushes and reads at once.
TEST_F(KeyspacesConcurrentTest, EachWriterReadsItsWritesBesideTheOthers) {
  constexpr size_t kThreads = 4;
  constexpr int kRounds = 60;
  Open();
  InThreads(kThreads, [&](size_t i) {
    for (int round = 0; round < kRounds; ++round) {
      absl::StatusOr<Keyspace> own = db_->OpenKeyspace(
          Concat("own", i), {.compaction_style = round % 2 == 0 ? CompactionStyle::kTiered
                                                                : CompactionStyle::kLeveled});
      absl::StatusOr<Keyspace> shared = db_->OpenKeyspace(Concat("shared", round % 5));
      ASSERT_OK(own);
      ASSERT_OK(shared);
      WriteBatch batch;
      const std::string value = Concat(round, std::string(2000, 'v'));
      batch.Put(*own, "key", value);
      batch.Put(*shared, Concat("key", i), value);
      ASSERT_OK(db_->Write(batch));
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string> read, own->Get("key"));
      EXPECT_EQ(read, value);
      const std::unique_ptr<Iterator> iterator = shared->NewIterator();
      size_t keys = 0;
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++keys;
      EXPECT_OK(iterator->status());
      EXPECT_GE(keys, 1u);
      EXPECT_LE(keys, kThreads);
      own->GetStatistics();
      if (i == 0 && round % 20 == 7) {
        ASSERT_OK(shared->CompactRange());
      }
    }
  });
  ASSERT_NO_FATAL_FAILURE(Open());
  for (size_t i = 0; i < kThreads; ++i) {
    ASSERT_OK_AND_ASSIGN(const Keyspace own, db_->OpenKeyspace(Concat("own", i)));
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, own.Get("key"));
    EXPECT_EQ(value, Concat(kRounds - 1, std::string(2000, 'v')));
  }
}

}  // namespace
}  // namespace lsm
