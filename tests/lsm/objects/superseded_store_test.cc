// An open store whose directory another process takes over, or whose lock expires.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/environment.h"
#include "lsm/keyspace.h"
#include "lsm/object_file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;
using Fate = MemoryObjectPool::Fate;

class Process {
 public:
  Process(std::shared_ptr<MemoryObjects> objects, uint64_t seed)
      : objects_(std::move(objects)), pool_(objects_), random_(seed) {
    config_.has_threads = false;
    config_.clock = &clock_;
    config_.holder = Concat("process ", seed);
    files_.emplace(&pool_, &random_, config_);
    options_ = World().SmallOptions();
    options_.environment = {&*files_, nullptr, &clock_, &scheduler_, &random_};
  }

  absl::Status Open() {
    TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(path_, options_));
    return absl::OkStatus();
  }
  DB& db() { return *db_; }
  Options& options() { return options_; }
  void SetPath(std::string path) { path_ = std::move(path); }
  MemoryObjectPool& pool() { return pool_; }
  ObjectFileSystem& files() { return *files_; }
  testing_support::ManualClock& clock() { return clock_; }
  // Calls `note` before each attempt of this process to lock.
  void OnLock(std::function<void()> note) {
    MemoryObjectPool::Hooks hooks;
    hooks.before = [note](ObjectCall call, const std::string&, uint64_t) {
      if (call == ObjectCall::kLock) note();
      return Fate::kApplied;
    };
    pool_.SetHooks(std::move(hooks));
  }
  void LetLockExpire() {
    const uint64_t nanos = config_.lock_nanos + 1'000'000;
    objects_->Advance(nanos);
    clock_.Advance(nanos);
  }
  // From now on the pool does not answer this process.
  void CutOff(bool cut) { SetFate(cut ? Fate::kRefused : Fate::kApplied); }
  // Each of its calls ends so.
  void SetFate(Fate fate) {
    MemoryObjectPool::Hooks hooks;
    hooks.before = [fate](ObjectCall, const std::string&, uint64_t) { return fate; };
    pool_.SetHooks(std::move(hooks));
  }

 private:
  const std::shared_ptr<MemoryObjects> objects_;
  MemoryObjectPool pool_;
  testing_support::SeededRandom random_;
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler scheduler_;
  ObjectFileSystem::Config config_;
  std::optional<ObjectFileSystem> files_;
  std::string path_ = "/store";
  Options options_;
  std::unique_ptr<DB> db_;
};

class SupersededStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(a_.Open());
    ASSERT_OK(a_.db().Put("flushed", "1"));
    ASSERT_OK(a_.db().Flush());
    ASSERT_OK(a_.db().Put("key", "2"));
  }
  void TakeOver() {
    a_.LetLockExpire();
    ASSERT_OK(b_.Open());
  }
  // Each call of A says that the store was taken over, and by whom.
  void ExpectAllRefused() {
    DB& db = a_.db();
    const std::string_view keys[] = {"key"};
    for (const absl::Status& status :
         {db.Put("late", "3"), db.Get("key").status(), db.MultiGet(keys)[0].status(),
          db.NewIterator()->status(), db.Flush(), db.CompactRange(), db.Resume(), db.GetFailure(),
          db.Verify().status(), db.Write({}, {.sync = true})}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status) && IsTakenOver(status)) << status;
      EXPECT_THAT(MessageOf(status), testing::HasSubstr("taken over by process 2"));
    }
    const uint64_t calls = a_.pool().call_count();
    EXPECT_TRUE(IsTakenOver(db.Resume()));
    EXPECT_EQ(a_.pool().call_count(), calls);
    EXPECT_THAT(db.GetDamage(), testing::IsEmpty());
    EXPECT_GT(db.GetStatistics().lookups, 0u);
    EXPECT_TRUE(IsTakenOver(db.Close()));
  }

  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  Process a_{objects_, 1}, b_{objects_, 2};
};

// A follower sees the writes of each owner, and its iterators keep what compactions remove.
TEST_F(SupersededStoreTest, FollowersFollowNewOwners) {
  Process follower(objects_, 3);
  follower.options().mode = OpenMode::kFollow;
  ASSERT_OK(follower.Open());
  const std::unique_ptr<Iterator> before = follower.db().NewIterator();
  ASSERT_OK(a_.db().CompactRange());
  EXPECT_EQ(follower.db().Get("key").value(), "2");
  TakeOver();
  ASSERT_OK(b_.db().Put("key", "3"));
  ASSERT_OK(b_.db().CompactRange());
  b_.files().RenewLocks();
  ASSERT_OK(follower.db().Resume());
  EXPECT_EQ(follower.db().Get("key").value(), "3");
  std::string seen;
  for (before->SeekToFirst(); before->Valid(); before->Next()) seen += Concat(before->value());
  EXPECT_OK(before->status());
  EXPECT_EQ(seen, "12");
}

TEST_F(SupersededStoreTest, KeyspacesGoToNewOwners) {
  ASSERT_OK(a_.db().OpenKeyspace("dropped"));
  ASSERT_OK(a_.db().OpenKeyspace("kept")->Put("key", "of a"));
  ASSERT_OK(a_.db().Flush());
  Process follower(objects_, 3);
  follower.options().mode = OpenMode::kFollow;
  ASSERT_OK(follower.Open());
  ASSERT_OK_AND_ASSIGN(const Keyspace kept, follower.db().OpenKeyspace("kept"));
  ASSERT_OK_AND_ASSIGN(const Keyspace dropped, follower.db().OpenKeyspace("dropped"));
  EXPECT_EQ(kept.Get("key").value(), "of a");
  EXPECT_EQ(dropped.Get("key").value(), std::nullopt);
  TakeOver();
  ASSERT_OK_AND_ASSIGN(Keyspace of_b, b_.db().OpenKeyspace("kept"));
  EXPECT_EQ(of_b.Get("key").value(), "of a");
  ASSERT_OK(of_b.Put("key", "of b"));
  ASSERT_OK(b_.db().DropKeyspace("dropped"));
  ASSERT_OK(follower.db().Resume());
  EXPECT_EQ(kept.Get("key").value(), "of b");
  EXPECT_THAT(dropped.Get("key"), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(b_.db().Flush());
  ASSERT_OK(follower.db().Resume());
  EXPECT_EQ(kept.Get("key").value(), "of b");
  EXPECT_THAT(follower.db().ListKeyspaces().value(), testing::ElementsAre("default", "kept"));
}

TEST_F(SupersededStoreTest, WritersLearnItFromTheirNextWrite) {
  TakeOver();
  // B may have recovered a write in flight.
  const absl::Status in_flight = a_.db().Put("in flight", "3");
  EXPECT_TRUE(absl::IsUnknown(in_flight) && IsTakenOver(in_flight)) << in_flight;
  ExpectAllRefused();
  EXPECT_OK(b_.db().Put("late", "4"));
}

TEST_F(SupersededStoreTest, WritersLearnItFromTheirLock) {
  TakeOver();
  a_.files().RenewLocks();
  ExpectAllRefused();
  EXPECT_OK(b_.db().Put("late", "4"));
}

TEST_F(SupersededStoreTest, WritersLearnItFromAFlush) {
  TakeOver();
  EXPECT_TRUE(IsTakenOver(a_.db().Flush()));
  ExpectAllRefused();
}

TEST_F(SupersededStoreTest, OpenIteratorsGoOn) {
  const std::unique_ptr<Iterator> iterator = a_.db().NewIterator();
  TakeOver();
  a_.files().RenewLocks();
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid()) << iterator->status();
  EXPECT_EQ(iterator->key(), "flushed");
}

// Tables that the new owner removed are not damage.
TEST_F(SupersededStoreTest, MissingTablesAreNoDamage) {
  TakeOver();
  ASSERT_OK(b_.db().CompactRange());
  const absl::Status verified = a_.db().Verify().status();
  EXPECT_TRUE(IsTakenOver(verified)) << verified;
  EXPECT_THAT(a_.db().GetDamage(), testing::IsEmpty());
  EXPECT_EQ(a_.db().GetStatistics().damage_found, 0u);
}

TEST_F(SupersededStoreTest, ReadsPauseWhileTheLockIsInDoubt) {
  a_.CutOff(true);
  a_.LetLockExpire();
  a_.files().RenewLocks();
  const absl::Status status = a_.db().Get("key").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  a_.CutOff(false);
  a_.files().RenewLocks();
  EXPECT_OK(a_.db().Get("key"));
  // Nothing failed meanwhile.
  EXPECT_OK(a_.db().GetFailure());
  EXPECT_OK(a_.db().Put("later", "3"));
  EXPECT_OK(a_.db().Close());
}

TEST_F(SupersededStoreTest, EvictedClientsHearSo) {
  const auto evicted = StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("evicted"));
  a_.SetFate(Fate::kEvicted);
  a_.files().RenewLocks();
  EXPECT_THAT(a_.db().Get("key"), evicted);
  EXPECT_THAT(a_.db().Put("key", "3"), StatusIs(absl::StatusCode::kUnknown, HasSubstr("evicted")));
  EXPECT_THAT(a_.db().Resume(), evicted);
  EXPECT_THAT(a_.db().Close(), evicted);
  // A new client of the same process.
  a_.LetLockExpire();
  ASSERT_OK(b_.Open());
  EXPECT_EQ(**b_.db().Get("key"), "2");
}

TEST_F(SupersededStoreTest, AnEvictionThatEndsIsAsAnyOtherFailure) {
  a_.SetFate(Fate::kEvicted);
  a_.files().RenewLocks();
  EXPECT_TRUE(absl::IsUnknown(a_.db().Put("key", "3")));
  a_.LetLockExpire();
  a_.SetFate(Fate::kApplied);
  EXPECT_TRUE(absl::IsPermissionDenied(a_.db().Get("key").status()));
  a_.files().RenewLocks();
  EXPECT_EQ(**a_.db().Get("key"), "2");
  EXPECT_TRUE(absl::IsAborted(a_.db().Put("key", "4")));
  ASSERT_OK(a_.db().Resume());
  EXPECT_OK(a_.db().Put("key", "5"));
  EXPECT_EQ(**a_.db().Get("key"), "5");
  EXPECT_OK(a_.db().Close());
}

// A view that is published while readers are refused must not admit them.
TEST_F(SupersededStoreTest, FlushesDoNotAdmitReaders) {
  a_.CutOff(true);
  a_.LetLockExpire();
  a_.files().RenewLocks();
  a_.CutOff(false);
  ASSERT_OK(a_.db().Flush());
  EXPECT_TRUE(absl::IsUnavailable(a_.db().Get("key").status()));
  a_.files().RenewLocks();
  EXPECT_EQ(**a_.db().Get("key"), "2");
}

TEST_F(SupersededStoreTest, CloseHandsOverAtOnce) {
  ASSERT_OK(a_.db().Close());
  ASSERT_OK(b_.Open());
  EXPECT_EQ(**b_.db().Get("key"), "2");
}

TEST_F(SupersededStoreTest, StandbysWaitForTheLock) {
  b_.options().lock_wait_seconds = 60;
  int attempts = 0;
  b_.OnLock([&] {
    if (++attempts == 3) a_.LetLockExpire();
  });
  ASSERT_OK(b_.Open());
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(**b_.db().Get("key"), "2");
  EXPECT_OK(b_.db().Put("late", "4"));
  a_.db().Put("in flight", "3").IgnoreError();
  ExpectAllRefused();
}

// The writer closes the store after the standby's third attempt.  No lock expires.
TEST_F(SupersededStoreTest, WaitingStandbysTakeOverAtTheFirstAttemptAfterClose) {
  b_.options().lock_wait_seconds = 60;
  int attempts = 0;
  MemoryObjectPool::Hooks hooks;
  hooks.after = [&](ObjectCall call, const std::string&, uint64_t) {
    if (call != ObjectCall::kLock) return true;
    ++attempts;
    if (attempts == 3) {
      EXPECT_OK(a_.db().Close());
    }
    if (attempts > 4) b_.clock().Advance(uint64_t{20'000'000'000});  // ends the wait
    return true;
  };
  b_.pool().SetHooks(std::move(hooks));
  ASSERT_OK(b_.Open());
  EXPECT_EQ(attempts, 4);
  EXPECT_EQ(**b_.db().Get("key"), "2");
}

// While the standby waits, each kind of its calls fails once: as with
// RadosOptions::give_up_after_millis, when the cluster is slow.
TEST_F(SupersededStoreTest, WaitingStandbysOutliveFailedCalls) {
  for (const bool is_applied : {false, true}) {
    for (uint64_t failing = 0; failing < 12; ++failing) {
      SCOPED_TRACE(Concat(is_applied, " at call ", failing));
      const auto objects = std::make_shared<MemoryObjects>();
      Process a(objects, 1), b(objects, 2);
      ASSERT_OK(a.Open());
      ASSERT_OK(a.db().Put("key", "2"));
      b.options().lock_wait_seconds = 60;
      int attempts = 0;
      std::optional<uint64_t> from;  // the standby's first call after its first attempt to lock
      uint64_t last = 0;
      MemoryObjectPool::Hooks hooks;
      const auto fails = [&](uint64_t number) { return from && number == *from + failing; };
      hooks.before = [&](ObjectCall call, const std::string&, uint64_t number) {
        last = number;
        if (call == ObjectCall::kLock && ++attempts == 3) a.LetLockExpire();
        if (attempts > 20) b.clock().Advance(uint64_t{20'000'000'000});
        return fails(number) && !is_applied ? Fate::kRefused : Fate::kApplied;
      };
      hooks.after = [&](ObjectCall call, const std::string&, uint64_t number) {
        if (call == ObjectCall::kLock && !from) from = number + 1;
        return !fails(number) || !is_applied;
      };
      b.pool().SetHooks(std::move(hooks));
      const absl::Status opened = b.Open();
      b.pool().SetHooks({});
      ASSERT_OK(opened);
      EXPECT_GE(last, *from + failing);
      EXPECT_EQ(**b.db().Get("key"), "2");
    }
  }
}

// A process that does not wait yet reports the error.
TEST_F(SupersededStoreTest, FirstCallsThatFailEndAnOpening) {
  b_.options().lock_wait_seconds = 60;
  b_.CutOff(true);
  EXPECT_THAT(b_.Open(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(SupersededStoreTest, StandbysThatAreCutOffGiveUp) {
  b_.options().lock_wait_seconds = 60;
  int attempts = 0;
  MemoryObjectPool::Hooks hooks;
  hooks.before = [&](ObjectCall call, const std::string&, uint64_t) {
    if (call == ObjectCall::kLock) ++attempts;
    if (attempts > 0) b_.clock().Advance(uint64_t{20'000'000'000});
    return attempts > 1 ? Fate::kRefused : Fate::kApplied;
  };
  b_.pool().SetHooks(std::move(hooks));
  EXPECT_THAT(b_.Open(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_GT(attempts, 1);
}

TEST_F(SupersededStoreTest, StandbysGiveUp) {
  b_.options().lock_wait_seconds = 60;
  int attempts = 0;
  b_.OnLock([&] {
    ++attempts;
    b_.clock().Advance(uint64_t{20'000'000'000});
  });
  const absl::Status opened = b_.Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(opened)) << opened;
  EXPECT_EQ(attempts, 3);
  EXPECT_OK(a_.db().Put("later", "3"));
}

// A full pool is a full disk.  Once there is space, the store goes on.
TEST_F(SupersededStoreTest, StoresOutliveAFullPool) {
  MemoryObjectPool::Hooks full;
  full.before = [](ObjectCall call, const std::string& object, uint64_t) {
    return call == ObjectCall::kWrite && !object.starts_with("index:") ? Fate::kFull
                                                                       : Fate::kApplied;
  };
  a_.pool().SetHooks(std::move(full));
  const absl::Status flushed = a_.db().Flush();
  EXPECT_TRUE(IsDiskFull(flushed)) << flushed;
  EXPECT_FALSE(a_.db().Put("later", "3").ok());
  EXPECT_EQ(**a_.db().Get("key"), "2");
  a_.pool().SetHooks({});
  ASSERT_OK(a_.db().Resume());
  EXPECT_OK(a_.db().Put("later", "4"));
  ASSERT_OK(a_.db().Flush());
  EXPECT_EQ(**a_.db().Get("key"), "2");
  EXPECT_EQ(**a_.db().Get("later"), "4");
}

// A store with a directory for its logs has two locks.
class TwoLocksTest : public SupersededStoreTest {
 protected:
  void SetUp() override {
    SupersededStoreTest::SetUp();
    for (Process* process : {&b_, &c_}) {
      process->options().log_directory = "/logs";
      process->options().environment.log_file_system = &process->files();
      process->SetPath("/two");
    }
    ASSERT_OK(c_.Open());
    ASSERT_OK(c_.db().Put("key", "1"));
    ASSERT_OK(c_.db().Close());
    // Once B has one lock, and before it asks for the other, C uses the store.
    MemoryObjectPool::Hooks hooks;
    hooks.before = [this](ObjectCall call, const std::string& object, uint64_t) {
      if (call == ObjectCall::kLock) has_locked_ = true;
      if (has_locked_ && object == IndexName("/logs") && !std::exchange(was_used_, true)) {
        c_.LetLockExpire();
        EXPECT_OK(c_.Open());
        EXPECT_OK(c_.db().Put("key", "2"));
        EXPECT_OK(c_.db().Close());
      }
      return Fate::kApplied;
    };
    b_.pool().SetHooks(std::move(hooks));
  }

  Process c_{objects_, 3};
  bool has_locked_ = false, was_used_ = false;
};

TEST_F(TwoLocksTest, OpeningsAskForTheFirstLockAgain) {
  const absl::Status opened = b_.Open();
  EXPECT_TRUE(IsTakenOver(opened)) << opened;
  EXPECT_TRUE(was_used_);
}

TEST_F(TwoLocksTest, DestructionsKeepStoresOfOtherOwners) {
  EXPECT_TRUE(IsTakenOver(DB::Destroy("/two", b_.options())));
  EXPECT_TRUE(was_used_);
  c_.LetLockExpire();
  ASSERT_OK(c_.Open());
  EXPECT_EQ(c_.db().Get("key").value(), "2");
}

// A child has the objects of its parent, and neither their threads nor their lock.
TEST(ForkTest, ChildrenCallAndDestroyNothing) {
  const auto objects = std::make_shared<MemoryObjects>();
  MemoryObjectPool pool(objects);
  auto files =
      std::make_unique<ObjectFileSystem>(&pool, &SystemRandom(), ObjectFileSystem::Config());
  Options options = World().SmallOptions();
  options.environment = {};
  options.environment.file_system = files.get();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DB> db, DB::Open("/store", options));
  ASSERT_OK(db->Put("key", "1"));
  const uint64_t calls = pool.call_count();
  EXPECT_EQ(testing_support::InChild([&]() -> std::string {
              const absl::Status put = db->Put("key", "2");
              if (!absl::IsFailedPrecondition(put)) return put.ToString();
              db = nullptr;
              files = nullptr;
              return pool.call_count() == calls ? "" : "called the pool";
            }),
            "");
  // The same without a store, but with the threads that it has left.
  ASSERT_OK(db->Close());
  db = nullptr;
  EXPECT_EQ(testing_support::InChild([&]() -> std::string {
              files = nullptr;
              return "";
            }),
            "");
  EXPECT_OK(DB::Open("/store", options));
}

// At each call of a reader without a lock, the writer replaces all files.
TEST(ReadOnlyBesideAWriterTest, ReportsNoDamage) {
  size_t opened = 0, refused = 0;
  bool was_reached = true;
  for (uint64_t call = 0; was_reached; ++call) {
    SCOPED_TRACE(Concat("call ", call));
    was_reached = false;
    const auto objects = std::make_shared<MemoryObjects>();
    Process writer(objects, 1), reader(objects, 2);
    ASSERT_OK(writer.Open());
    ASSERT_OK(writer.db().Put("key", "1"));
    ASSERT_OK(writer.db().Flush());
    ASSERT_OK(writer.db().Put("key", "2"));
    reader.options().mode = OpenMode::kReadOnly;
    PauseAt(&reader.pool(), call, /*after=*/false, [&] {
      was_reached = true;
      ASSERT_OK(writer.db().Flush());
      ASSERT_OK(writer.db().CompactRange());
    });
    const absl::Status status = reader.Open();
    reader.pool().SetHooks({});
    if (!status.ok()) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
      ++refused;
      ASSERT_OK(reader.Open());
    }
    const absl::StatusOr<std::optional<std::string>> value = reader.db().Get("key");
    if (value.ok()) {
      EXPECT_EQ(*value, "2");
    } else {
      // The table was removed after the reader had opened it.
      EXPECT_THAT(value.status(), StatusIs(absl::StatusCode::kUnavailable));
    }
    ++opened;
  }
  EXPECT_GT(opened, 5u);
  EXPECT_GT(refused, 1u);
}

}  // namespace
}  // namespace lsm
