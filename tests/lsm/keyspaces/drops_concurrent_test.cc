// Readers and writers beside drops.  A reader gets the value or the refusal, never "absent".
#include <gtest/gtest.h>

#include <atomic>
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
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class DropsConcurrentTest : public KeyspacesTest {};

TEST_F(DropsConcurrentTest, ReadersNeverFindNothing) {
  constexpr int kRounds = 60;
  std::vector<std::string> owns;
  for (int i = 0; i < kRounds; i += 2) owns.push_back(Concat("k", i));
  Open();
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees(owns));
  db_ = nullptr;
  options_.environment.scheduler = nullptr;  // with threads
  options_.environment.clock = nullptr;
  ASSERT_NO_FATAL_FAILURE(Open());
  const auto is_refusal = [](const absl::Status& status) {
    return status.code() == absl::StatusCode::kFailedPrecondition;
  };
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    Keyspace keyspace = OpenKeyspace(Concat("k", round));
    ASSERT_OK(keyspace.Put("key", "value"));
    Flush();
    std::atomic<int> begun{0}, wrong{0};
    std::atomic<bool> has_dropped{false};
    using Value = absl::StatusOr<std::optional<std::string>>;
    // False once the keyspace was dropped.
    const auto read = [&](const auto& get) {
      const bool was_dropped = has_dropped.load();
      const Value value = get();
      begun.fetch_add(1);
      if (value.ok() ? was_dropped || *value != "value" : !is_refusal(value.status()))
        wrong.fetch_add(1);
      return value.ok() && !was_dropped;
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
    // A batch is written as a whole, or not at all.
    std::string last = "absent";
    threads.emplace_back([&] {
      for (int i = 0;; ++i) {
        WriteBatch batch;
        batch.Put(Concat("of default ", round), std::to_string(i));
        batch.Put(keyspace, "other", std::to_string(i));
        const absl::Status status = db_->Write(batch);
        begun.fetch_add(1);
        if (!status.ok()) {
          if (!is_refusal(status)) wrong.fetch_add(1);
          return;
        }
        last = std::to_string(i);
      }
    });
    while (begun.load() < 20) std::this_thread::yield();
    ASSERT_OK(db_->DropKeyspace(keyspace.name()));
    has_dropped.store(true);
    Flush();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(Get(Concat("of default ", round)), last);
  }
}

}  // namespace
}  // namespace lsm
