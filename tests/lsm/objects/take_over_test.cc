// A store on objects changes its writer.  A writer, or a candidate, is paused at each of its calls;
// meanwhile another one takes the store over, or goes on writing.  Or it loses the answer to a
// call, or a write is applied late or twice.  Or a writer is paused at a sample of its calls, and
// the candidate is stopped at each of its calls.  In the end one more process opens the store.  It
// must find every write that any of them acknowledged, and no process may report damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/event_log.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using Fate = MemoryObjectPool::Fate;

// Tests whose trials are pairs of calls take a sample.  Sanitizers take twenty times as long, so
// they take a smaller one.
constexpr uint64_t kStride = testing_support::kIsSanitized ? 41 : 7;
// The same for all other tests.
constexpr uint64_t kPauseStride = testing_support::kIsSanitized ? 5 : 1;

// Logs and tables of several chunks.
constexpr PoolClientOptions kSmallChunks = {.log_chunk_bytes = 128, .table_chunk_bytes = 512};
constexpr PoolClientOptions kRepeatedWrites = {
    .log_chunk_bytes = 128, .table_chunk_bytes = 512, .repeats_writes = true};

constexpr PoolClientOptions kChunksInFlight = {
    .log_chunk_bytes = 128, .table_chunk_bytes = 128, .holds_started_writes = true};

// A process with a store.  Its name is one letter.
class Writer {
 public:
  Writer(std::shared_ptr<MemoryObjects> objects, char name,
         const PoolClientOptions& options = kSmallChunks, size_t cache_bytes = 64 << 10)
      : objects_(std::move(objects)),
        name_(1, name),
        client_(objects_, name_, static_cast<uint64_t>(name), options) {
    options_ = World().SmallOptions();
    options_.block_cache_bytes = cache_bytes;
    options_.environment = {&client_.files, nullptr, &clock_, &scheduler_, &client_.random};
  }

  MemoryObjectPool& pool() { return client_.pool; }
  ObjectFileSystem& files() { return client_.files; }

  // Opens the store after the lock of an earlier writer has expired.
  absl::Status Open() {
    ExpireLocks(objects_.get());
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open("/store", options_);
    Note(db.status());
    if (!db.ok()) return db.status();
    db_ = *std::move(db);
    return absl::OkStatus();
  }
  void Close() { db_ = nullptr; }
  absl::Status Destroy() { return DB::Destroy("/store", options_); }

  // Writes new keys; adds those that were acknowledged.
  void Work(std::set<std::string>* acknowledged) {
    for (int i = 0; i < 12 && db_ != nullptr; ++i) {
      const std::string key = Concat(name_, next_key_++);
      const absl::Status status = db_->Put(key, std::string(40, 'v'), {.sync = i % 2 == 0});
      Note(status);
      if (status.ok()) acknowledged->insert(key);
      if (i == 5) Note(db_->Flush());
      if (i == 9) Note(db_->CompactRange());
    }
  }

  // The keys that are missing.
  std::set<std::string> Missing(const std::set<std::string>& keys) {
    std::set<std::string> missing;
    for (const std::string& key : keys) {
      const absl::StatusOr<std::optional<std::string>> value = db_->Get(key);
      EXPECT_OK(value);
      if (!value.ok() || !value->has_value()) missing.insert(key);
    }
    return missing;
  }

  // Reads, perhaps after another writer has taken over.  Returns the number of refused reads.
  int ReadAll(const std::set<std::string>& keys) {
    if (db_ == nullptr) return 0;
    int refused = 0;
    const auto count = [&](const absl::Status& status) {
      Note(status);
      EXPECT_TRUE(status.ok() || IsTakenOver(status) || absl::IsUnavailable(status)) << status;
      refused += status.ok() ? 0 : 1;
    };
    for (const std::string& key : keys) count(db_->Get(key).status());
    const std::unique_ptr<Iterator> iterator = db_->NewIterator();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    }
    count(iterator->status());
    return refused;
  }

  // No process did anything but write, so nothing is damaged.
  void Note(const absl::Status& status) {
    EXPECT_FALSE(absl::IsDataLoss(status)) << name_ << ": " << status;
  }

 private:
  const std::shared_ptr<MemoryObjects> objects_;
  const std::string name_;
  PoolClient client_;
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler scheduler_;
  Options options_;
  int next_key_ = 0;
  std::unique_ptr<DB> db_;
};

// Number of calls of a writer that is left alone.
uint64_t CallsOf(char name, bool with_store, const PoolClientOptions& options = kSmallChunks) {
  const auto objects = std::make_shared<MemoryObjects>();
  std::set<std::string> ignored;
  if (with_store) {
    Writer first(objects, 'x');
    EXPECT_OK(first.Open());
    first.Work(&ignored);
  }
  Writer writer(objects, name, options);
  EXPECT_OK(writer.Open());
  writer.Work(&ignored);
  writer.Close();
  return writer.pool().call_count();
}

// A call that is not answered.
enum class Fault { kAnswerLost, kDelayed };

void FailAt(MemoryObjectPool* pool, uint64_t number, Fault fault) {
  MemoryObjectPool::Hooks hooks;
  if (fault == Fault::kDelayed) {
    hooks.before = [=](ObjectCall, const std::string&, uint64_t now) {
      return now == number ? Fate::kDelayed : Fate::kApplied;
    };
  } else {
    hooks.after = [=](ObjectCall, const std::string&, uint64_t now) { return now != number; };
  }
  pool->SetHooks(std::move(hooks));
}

class TakeOverTest : public testing::Test {
 protected:
  // Calls `one` on a new pool for each call of a writer, to pause it before and after that call.
  // Then all writes that were acknowledged must be there.
  void ForEachPause(uint64_t calls, const std::function<void(uint64_t pause, bool after)>& one) {
    for (const bool after : {false, true}) {
      for (uint64_t pause = 0; pause < calls && !HasFailure(); pause += kPauseStride) {
        SCOPED_TRACE(Concat("paused ", after ? "after" : "before", " call ", pause));
        Begin();
        one(pause, after);
        ExpectAllThere();
      }
    }
  }
  // The same for a call that is not answered.
  void ForEachFault(uint64_t calls, const std::function<void(uint64_t call, Fault fault)>& one) {
    for (const Fault fault : {Fault::kAnswerLost, Fault::kDelayed}) {
      for (uint64_t call = 0; call < calls && !HasFailure(); call += kPauseStride) {
        SCOPED_TRACE(
            Concat("call ", call, fault == Fault::kDelayed ? " delayed" : " not answered"));
        Begin();
        one(call, fault);
        ExpectAllThere();
      }
    }
  }
  void Begin() {
    objects_ = std::make_shared<MemoryObjects>();
    acknowledged_.clear();
  }
  // Opens the store, in which all writes so far must be there, and works.
  void TakeOver(Writer* writer) {
    const std::set<std::string> until_now = acknowledged_;
    ASSERT_OK(writer->Open());
    EXPECT_THAT(writer->Missing(until_now), testing::IsEmpty());
    writer->Work(&acknowledged_);
  }
  void ExpectAllThere() {
    Writer last(objects_, 'z');
    ASSERT_OK(last.Open());
    EXPECT_THAT(last.Missing(acknowledged_), testing::IsEmpty());
  }
  void PauseEachCallOfA(const PoolClientOptions& options) {
    const uint64_t calls = CallsOf('a', false, options);
    EXPECT_GT(calls, 60u);
    ForEachPause(calls, [&](uint64_t pause, bool after) {
      Writer a(objects_, 'a', options), b(objects_, 'b');
      PauseAt(&a.pool(), pause, after, [&] { TakeOver(&b); });
      a.Open().IgnoreError();
      a.Work(&acknowledged_);
      a.ReadAll(acknowledged_);
      a.Close();
    });
  }
  // The candidate is paused while it opens a store that exists, and later.
  void PauseEachCallOfB(const PoolClientOptions& options) {
    const uint64_t calls = CallsOf('b', true, options);
    EXPECT_GT(calls, 60u);
    ForEachPause(calls, [&](uint64_t pause, bool after) {
      Writer a(objects_, 'a'), b(objects_, 'b', options), c(objects_, 'c');
      ASSERT_OK(a.Open());
      a.Work(&acknowledged_);
      PauseAt(&b.pool(), pause, after, [&] { TakeOver(&c); });
      b.Open().IgnoreError();
      b.Work(&acknowledged_);
      b.ReadAll(acknowledged_);
      b.Close();
      a.Work(&acknowledged_);
      a.ReadAll(acknowledged_);
      a.Close();
    });
  }

  std::shared_ptr<MemoryObjects> objects_;
  std::set<std::string> acknowledged_;
};

// Otherwise the other tests would not see a log that gets a chunk.
TEST_F(TakeOverTest, LogsHaveSeveralChunks) {
  Begin();
  Writer a(objects_, 'a');
  ASSERT_OK(a.Open());
  a.Work(&acknowledged_);
  ObjectRead read;
  read.entries_after = "";
  ASSERT_OK_AND_ASSIGN(const ObjectContents index, a.pool().Read(IndexName("/store"), read));
  uint64_t chunks_max = 0;
  for (const auto& [entry, value] : index.entries) {
    if (!entry.ends_with(".log")) continue;
    ASSERT_OK_AND_ASSIGN(const IndexedFile file, IndexedFile::Decode(value, entry));
    chunks_max = std::max(chunks_max, file.chunks);
  }
  EXPECT_GE(chunks_max, 2u);
}

TEST_F(TakeOverTest, PausedWritersLoseNoWrite) { PauseEachCallOfA(kSmallChunks); }
TEST_F(TakeOverTest, PausedCandidatesLoseNoWrite) { PauseEachCallOfB(kSmallChunks); }
TEST_F(TakeOverTest, RepeatedWritesOfWritersLoseNoWrite) { PauseEachCallOfA(kRepeatedWrites); }
TEST_F(TakeOverTest, RepeatedWritesOfCandidatesLoseNoWrite) { PauseEachCallOfB(kRepeatedWrites); }
TEST_F(TakeOverTest, ChunksInFlightOfWritersLoseNoWrite) { PauseEachCallOfA(kChunksInFlight); }
TEST_F(TakeOverTest, ChunksInFlightOfCandidatesLoseNoWrite) { PauseEachCallOfB(kChunksInFlight); }

// The writer works between two calls of the candidate, and again when the candidate has the store.
TEST_F(TakeOverTest, WritersBesideCandidatesLoseNoWrite) {
  ForEachPause(CallsOf('b', true), [this](uint64_t pause, bool after) {
    Writer a(objects_, 'a'), b(objects_, 'b');
    ASSERT_OK(a.Open());
    a.Work(&acknowledged_);
    PauseAt(&b.pool(), pause, after, [&] { a.Work(&acknowledged_); });
    EXPECT_OK(b.Open());
    a.Work(&acknowledged_);
    b.Work(&acknowledged_);
    a.Work(&acknowledged_);
    a.ReadAll(acknowledged_);
    a.Close();
  });
}

// A delayed write is applied when the next writer has the store.
TEST_F(TakeOverTest, UnansweredWritersLoseNoWrite) {
  ForEachFault(CallsOf('a', false), [this](uint64_t call, Fault fault) {
    Writer a(objects_, 'a'), b(objects_, 'b');
    FailAt(&a.pool(), call, fault);
    a.Open().IgnoreError();
    a.Work(&acknowledged_);
    a.ReadAll(acknowledged_);
    TakeOver(&b);
    a.pool().DeliverDelayed();
    a.Work(&acknowledged_);
    a.Close();
    b.Work(&acknowledged_);
  });
}

// A delayed write is applied while its writer still has the store.
TEST_F(TakeOverTest, LateWritesLoseNoWrite) {
  ForEachFault(CallsOf('a', false), [this](uint64_t call, Fault fault) {
    Writer a(objects_, 'a');
    FailAt(&a.pool(), call, fault);
    if (!a.Open().ok()) {
      EXPECT_OK(a.Open());
    }
    a.Work(&acknowledged_);
    a.pool().DeliverDelayed();
    a.Work(&acknowledged_);
    a.Close();
  });
}

TEST_F(TakeOverTest, UnansweredCandidatesLoseNoWrite) {
  ForEachFault(CallsOf('b', true), [this](uint64_t call, Fault fault) {
    Writer a(objects_, 'a'), b(objects_, 'b'), c(objects_, 'c');
    ASSERT_OK(a.Open());
    a.Work(&acknowledged_);
    FailAt(&b.pool(), call, fault);
    b.Open().IgnoreError();
    b.Work(&acknowledged_);
    a.Work(&acknowledged_);
    TakeOver(&c);
    b.pool().DeliverDelayed();
    b.Work(&acknowledged_);
    b.Close();
    c.Work(&acknowledged_);
    a.Close();
  });
}

TEST_F(TakeOverTest, StoppedCandidatesLoseNoWrite) {
  const uint64_t calls = CallsOf('b', true);
  const uint64_t calls_of_a = CallsOf('a', false);
  for (uint64_t pause = 3; pause < calls_of_a; pause += kStride) {
    // Half of the candidates do not hear of their last call.
    for (uint64_t stop = 0; stop < calls && !HasFailure(); ++stop) {
      const bool after = (pause + stop) % 2 == 0;
      SCOPED_TRACE(Concat("a paused before call ", pause, ", b stopped ",
                          after ? "after" : "before", " call ", stop));
      Begin();
      {
        Writer a(objects_, 'a'), b(objects_, 'b');
        PauseAt(&a.pool(), pause, false, [&] {
          StopAt(&b.pool(), stop, after);
          b.Open().IgnoreError();
          b.Work(&acknowledged_);
        });
        a.Open().IgnoreError();
        a.Work(&acknowledged_);
        b.Close();
        a.Close();
      }
      ExpectAllThere();
    }
  }
}

// A superseded writer reads what it has in memory, or says that it was superseded.
TEST_F(TakeOverTest, SupersededWritersReportNoDamage) {
  for (const bool destroys : {false, true}) {
    Begin();
    Writer a(objects_, 'a', kSmallChunks, /*cache_bytes=*/0), b(objects_, 'b');
    ASSERT_OK(a.Open());
    a.Work(&acknowledged_);
    const std::set<std::string> keys = acknowledged_;
    EXPECT_EQ(a.ReadAll(keys), 0);
    TakeOver(&b);
    b.Close();
    if (destroys) {
      ASSERT_OK(b.Destroy());
      EXPECT_THAT(objects_->Names(), testing::IsEmpty());
    }
    EXPECT_GT(a.ReadAll(keys), 0);
    std::set<std::string> more;
    a.Work(&more);
    EXPECT_THAT(more, testing::IsEmpty());
  }
}

// An event log in the store's directory has a handle of its own, which is older than the owner.
TEST_F(TakeOverTest, EventLogsOutliveTakeOvers) {
  Begin();
  Writer a(objects_, 'a'), b(objects_, 'b');
  ASSERT_OK_AND_ASSIGN(
      const std::shared_ptr<EventLog> log,
      EventLog::Open({.directory = "/store", .file_bytes_max = 1024, .file_system = &a.files()}));
  const auto rotate = [&] {
    for (int i = 0; i < 30; ++i) log->OnOpenBegin({});
    EXPECT_OK(log->status());
    EXPECT_EQ(log->lines_lost(), 0u);
  };
  ASSERT_OK(a.Open());
  rotate();
  a.Work(&acknowledged_);
  TakeOver(&b);
  rotate();
  ExpectAllThere();
}

}  // namespace
}  // namespace lsm
