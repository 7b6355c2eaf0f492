// A store on objects changes its writer.  A writer, or a candidate, is paused at each of its calls;
// meanwhile another one takes the store over, or goes on writing.  Or a writer is paused at every
// third call, and the candidate is stopped at each of its calls.  In the end one more process opens
// the store.  It must find every write that any of them acknowledged, and no process may report
// damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/object_file_system.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using Fate = MemoryObjectPool::Fate;

// Sanitizers take a sample, because they take twenty times as long.
constexpr uint64_t kStride = testing_support::kIsSanitized ? 21 : 3;

// A process with a store.
class Writer {
 public:
  Writer(std::shared_ptr<MemoryObjects> objects, std::string name)
      : objects_(std::move(objects)),
        name_(std::move(name)),
        pool_(objects_),
        random_(std::hash<std::string>()(name_)),
        files_(&pool_, &random_, ConfigOf(name_)) {
    options_ = World().SmallOptions();
    options_.environment = {&files_, nullptr, &clock_, &scheduler_, &random_};
  }

  MemoryObjectPool& pool() { return pool_; }

  // Opens the store after the lock of an earlier writer has expired.
  absl::Status Open() {
    objects_->Advance(ConfigOf("").lock_nanos + 1);
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open("/store", options_);
    Note(db.status());
    if (!db.ok()) return db.status();
    db_ = *std::move(db);
    return absl::OkStatus();
  }
  void Close() { db_ = nullptr; }

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

  // No process did anything but write, so nothing is damaged.
  void Note(const absl::Status& status) {
    EXPECT_FALSE(absl::IsDataLoss(status)) << name_ << ": " << status;
  }

 private:
  static ObjectFileSystem::Config ConfigOf(std::string name) {
    ObjectFileSystem::Config config;
    config.holder = std::move(name);
    config.log_chunk_bytes = 512;
    config.table_chunk_bytes = 512;
    return config;
  }

  const std::shared_ptr<MemoryObjects> objects_;
  const std::string name_;
  MemoryObjectPool pool_;
  testing_support::SeededRandom random_;
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler scheduler_;
  ObjectFileSystem files_;
  Options options_;
  int next_key_ = 0;
  std::unique_ptr<DB> db_;
};

// Runs `meanwhile` before the call with this number, or after it.
void PauseAt(MemoryObjectPool* pool, uint64_t number, bool after,
             const std::function<void()>& meanwhile) {
  MemoryObjectPool::Hooks hooks;
  if (after) {
    hooks.after = [=](ObjectCall, const std::string&, uint64_t now) {
      if (now == number) meanwhile();
      return true;
    };
  } else {
    hooks.before = [=](ObjectCall, const std::string&, uint64_t now) {
      if (now == number) meanwhile();
      return Fate::kApplied;
    };
  }
  pool->SetHooks(std::move(hooks));
}

// From this call on the process does nothing any more.
void StopAt(MemoryObjectPool* pool, uint64_t number, bool after) {
  MemoryObjectPool::Hooks hooks;
  hooks.before = [=](ObjectCall, const std::string&, uint64_t now) {
    return now < number || (after && now == number) ? Fate::kApplied : Fate::kRefused;
  };
  pool->SetHooks(std::move(hooks));
}

// Number of calls of a writer that is left alone.
uint64_t CallsOf(const char* name, bool with_store) {
  const auto objects = std::make_shared<MemoryObjects>();
  std::set<std::string> ignored;
  if (with_store) {
    Writer first(objects, "x");
    EXPECT_OK(first.Open());
    first.Work(&ignored);
  }
  Writer writer(objects, name);
  EXPECT_OK(writer.Open());
  writer.Work(&ignored);
  writer.Close();
  return writer.pool().call_count();
}

class TakeOverTest : public testing::Test {
 protected:
  // Calls `one` on a new pool for each call of a writer, to pause it before and after that call.
  // Then all writes that were acknowledged must be there.
  void ForEachPause(uint64_t calls, const std::function<void(uint64_t pause, bool after)>& one) {
    for (const bool after : {false, true}) {
      for (uint64_t pause = 0; pause < calls && !HasFailure(); ++pause) {
        SCOPED_TRACE(Concat("paused ", after ? "after" : "before", " call ", pause));
        Begin();
        one(pause, after);
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
    Writer last(objects_, "z");
    ASSERT_OK(last.Open());
    EXPECT_THAT(last.Missing(acknowledged_), testing::IsEmpty());
  }

  std::shared_ptr<MemoryObjects> objects_;
  std::set<std::string> acknowledged_;
};

TEST_F(TakeOverTest, PausedWritersLoseNoWrite) {
  const uint64_t calls = CallsOf("a", false);
  EXPECT_GT(calls, 60u);
  ForEachPause(calls, [this](uint64_t pause, bool after) {
    Writer a(objects_, "a"), b(objects_, "b");
    PauseAt(&a.pool(), pause, after, [&] { TakeOver(&b); });
    a.Open().IgnoreError();
    a.Work(&acknowledged_);
    a.Close();
  });
}

// The candidate is paused while it opens a store that exists, and later.
TEST_F(TakeOverTest, PausedCandidatesLoseNoWrite) {
  const uint64_t calls = CallsOf("b", true);
  EXPECT_GT(calls, 60u);
  ForEachPause(calls, [this](uint64_t pause, bool after) {
    Writer a(objects_, "a"), b(objects_, "b"), c(objects_, "c");
    ASSERT_OK(a.Open());
    a.Work(&acknowledged_);
    PauseAt(&b.pool(), pause, after, [&] { TakeOver(&c); });
    b.Open().IgnoreError();
    b.Work(&acknowledged_);
    b.Close();
    a.Work(&acknowledged_);
    a.Close();
  });
}

// The writer works between two calls of the candidate, and again when the candidate has the store.
TEST_F(TakeOverTest, WritersBesideCandidatesLoseNoWrite) {
  ForEachPause(CallsOf("b", true), [this](uint64_t pause, bool after) {
    Writer a(objects_, "a"), b(objects_, "b");
    ASSERT_OK(a.Open());
    a.Work(&acknowledged_);
    PauseAt(&b.pool(), pause, after, [&] { a.Work(&acknowledged_); });
    EXPECT_OK(b.Open());
    a.Work(&acknowledged_);
    b.Work(&acknowledged_);
    a.Work(&acknowledged_);
    a.Close();
  });
}

TEST_F(TakeOverTest, StoppedCandidatesLoseNoWrite) {
  const uint64_t calls = CallsOf("b", true);
  const uint64_t calls_of_a = CallsOf("a", false);
  for (uint64_t pause = 3; pause < calls_of_a; pause += kStride) {
    for (const bool after : {false, true}) {
      for (uint64_t stop = 0; stop < calls && !HasFailure(); ++stop) {
        SCOPED_TRACE(Concat("a paused before call ", pause, ", b stopped ",
                            after ? "after" : "before", " call ", stop));
        Begin();
        {
          Writer a(objects_, "a"), b(objects_, "b");
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
}

}  // namespace
}  // namespace lsm
