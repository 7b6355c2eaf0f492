// Readers of a follower's keyspaces beside refreshes: threads of one process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/write_batch.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::FastFolder;
using testing_support::ScratchDir;
using Value = absl::StatusOr<std::optional<std::string>>;

class FollowKeyspacesThreadsTest : public testing::Test {
 protected:
  FollowKeyspacesThreadsTest() {
    options_.write_buffer_bytes = 64 << 10;
    options_.table_bytes = 64 << 10;
    options_.level1_bytes = 64 << 10;
    options_.reserve_bytes = 0;
    options_.level0_compaction_tables = 2;
    Options follow;
    follow.mode = OpenMode::kFollow;
    follow.block_cache_bytes = 64 << 10;
    writer_ = DB::Open(path_, options_).value();
    follower_ = DB::Open(path_, follow).value();
  }

  const ScratchDir scratch_{FastFolder()};
  const std::string path_ = scratch_.path_of("store");
  Options options_;
  std::unique_ptr<DB> writer_, follower_;
};

TEST_F(FollowKeyspacesThreadsTest, EachViewIsAPrefixOfAllKeyspaces) {
  ASSERT_OK(writer_->OpenKeyspace("a"));
  ASSERT_OK(writer_->OpenKeyspace("b"));
  ASSERT_OK(follower_->Resume());
  const Keyspace a = follower_->OpenKeyspace("a").value();
  const Keyspace b = follower_->OpenKeyspace("b").value();
  std::atomic<uint64_t> acknowledged{0};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      uint64_t last = 0;
      while (!is_over) {
        const std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
        const ReadOptions at{.snapshot = snapshot.get()};
        const Value value = a.Get("number", at);
        ASSERT_OK(value);
        ASSERT_EQ(b.Get("number", at).value(), *value);
        ASSERT_EQ(follower_->Get("number", at).value(), *value);
        const uint64_t now = std::stoull(value->value_or("0"));
        ASSERT_GE(now, last);
        last = now;
      }
    });
  }
  threads.emplace_back([&] {
    while (!is_over) {
      const uint64_t before = acknowledged;
      ASSERT_OK(follower_->Resume());
      ASSERT_GE(std::stoull(b.Get("number").value().value_or("0")), before);
    }
  });
  for (uint64_t number = 1; number <= 4000; ++number) {
    const Keyspace to_a = writer_->OpenKeyspace("a").value();
    WriteBatch batch;
    for (const std::string& key : {std::string("number"), Concat("key", number % 100)}) {
      batch.Put(to_a, key, std::to_string(number));
      batch.Put(writer_->OpenKeyspace("b").value(), key, std::to_string(number));
      batch.Put(key, std::to_string(number));
    }
    batch.Put(to_a, Concat("filler", number % 50), std::string(200, 'v'));
    ASSERT_OK(writer_->Write(batch));
    acknowledged = number;
    // Others come and go.
    ASSERT_OK(writer_->OpenKeyspace(Concat("other", number % 7)));
    if (number % 3 == 0) {
      ASSERT_OK(writer_->DropKeyspace(Concat("other", number % 7)));
    }
    if (number % 900 == 0) {
      writer_ = nullptr;
      writer_ = DB::Open(path_, options_).value();
    }
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(follower_->GetFailure());
}

// A reader of a dropped keyspace gets the value or the refusal, never "absent": the flag comes
// before the view that lacks the keys.
TEST_F(FollowKeyspacesThreadsTest, ReadersOfADroppedKeyspaceNeverFindNothing) {
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    ASSERT_OK(writer_->OpenKeyspace("a").value().Put("key", "value"));
    if (round % 2 == 0) {
      ASSERT_OK(writer_->Flush());
    }
    ASSERT_OK(follower_->Resume());
    const Keyspace keyspace = follower_->OpenKeyspace("a").value();
    std::atomic<int> begun{0}, wrong{0};
    std::atomic<bool> is_shown{false};
    // False once the view shows the drop.
    const auto read = [&](const auto& get) {
      const bool was_shown = is_shown;
      const Value value = get();
      begun.fetch_add(1);
      if (value.ok() ? was_shown || *value != "value" : !absl::IsFailedPrecondition(value.status()))
        wrong.fetch_add(1);
      return value.ok() && !was_shown;
    };
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      while (read([&] { return keyspace.Get("key"); })) {
      }
    });
    threads.emplace_back([&] {
      const std::string_view key = "key";
      while (read([&] { return keyspace.MultiGet({&key, 1})[0]; })) {
      }
    });
    threads.emplace_back([&] {
      const auto scan = [&]() -> Value {
        const std::unique_ptr<Iterator> iterator = keyspace.NewIterator();
        iterator->SeekToFirst();
        TRELLIS_RETURN_IF_ERROR(iterator->status());
        if (!iterator->Valid()) return std::nullopt;
        return std::string(iterator->value());
      };
      while (read(scan)) {
      }
    });
    while (begun < 20) std::this_thread::yield();
    ASSERT_OK(writer_->DropKeyspace("a"));
    ASSERT_OK(writer_->Flush());  // the memtable goes, and the tables
    ASSERT_OK(follower_->Resume());
    is_shown = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace lsm
