#include "lsm/objects/lock_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/fs/file_names.h"
#include "lsm/object_file_system.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;
using Fate = MemoryObjectPool::Fate;

constexpr uint64_t kLockNanos = 10'000'000'000;
constexpr uint64_t kMilli = 1'000'000;  // far more than the readings of the clock take

// A process, whose clock and that of the pool are moved by hand.
struct Client {
  Client(std::shared_ptr<MemoryObjects> objects, uint64_t seed, bool has_threads = false)
      : pool(std::move(objects)), random(seed) {
    ObjectFileSystem::Config config;
    config.lock_nanos = has_threads ? 4'000'000 : kLockNanos;
    config.has_threads = has_threads;
    if (!has_threads) config.clock = &clock;
    config.holder = Concat("process ", seed);
    files = std::make_unique<ObjectFileSystem>(&pool, &random, config);
  }

  absl::Status Lock() {
    absl::StatusOr<std::unique_ptr<Directory>> opened = files->OpenDirectory("/d", true);
    TRELLIS_RETURN_IF_ERROR(opened.status());
    directory = *std::move(opened);
    TRELLIS_ASSIGN_OR_RETURN(lock, directory->Lock(kLockFileName, LockKind::kExclusive));
    lock->Watch([this](const absl::Status& state) { states.push_back(state); });
    return absl::OkStatus();
  }
  void Refuse(ObjectCall refused) {
    MemoryObjectPool::Hooks hooks;
    hooks.before = [refused](ObjectCall call, const std::string&, uint64_t) {
      return call == refused ? Fate::kRefused : Fate::kApplied;
    };
    pool.SetHooks(std::move(hooks));
  }
  void Evict() {
    MemoryObjectPool::Hooks hooks;
    hooks.before = [](ObjectCall, const std::string&, uint64_t) { return Fate::kEvicted; };
    pool.SetHooks(std::move(hooks));
  }

  MemoryObjectPool pool;
  testing_support::SeededRandom random;
  testing_support::ManualClock clock;
  std::unique_ptr<ObjectFileSystem> files;
  std::unique_ptr<Directory> directory;
  std::unique_ptr<FileLock> lock;
  std::vector<absl::Status> states;
};

class LockKeeperTest : public testing::Test {
 protected:
  void Advance(uint64_t nanos) {
    objects_->Advance(nanos);
    a_.clock.Advance(nanos);
    b_.clock.Advance(nanos);
  }

  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  Client a_{objects_, 1}, b_{objects_, 2};
};

TEST_F(LockKeeperTest, RenewedLocksStand) {
  ASSERT_OK(a_.Lock());
  for (int i = 0; i < 5; ++i) {
    Advance(kLockNanos * 3 / 4);
    a_.files->RenewLocks();
    EXPECT_OK(a_.states.back());
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(b_.Lock()));
  Advance(kLockNanos + 1);
  EXPECT_OK(b_.Lock());
}

TEST_F(LockKeeperTest, ReleasedLocksAreFreeAtOnce) {
  ASSERT_OK(a_.Lock());
  a_.lock->Release();
  EXPECT_OK(b_.Lock());
  const size_t states = a_.states.size();
  a_.files->RenewLocks();
  EXPECT_EQ(a_.states.size(), states);
  EXPECT_OK(b_.lock->Confirm());
}

TEST_F(LockKeeperTest, AnotherOwnerIsNoticed) {
  ASSERT_OK(a_.Lock());
  Advance(kLockNanos + 1);
  ASSERT_OK(b_.Lock());
  EXPECT_TRUE(IsTakenOver(a_.lock->Confirm()));
  ASSERT_TRUE(IsTakenOver(a_.states.back())) << a_.states.back();
  EXPECT_THAT(MessageOf(a_.states.back()), testing::HasSubstr("process 2"));
  // That is final, and the new owner is not disturbed.
  b_.lock->Release();
  a_.files->RenewLocks();
  EXPECT_TRUE(IsTakenOver(a_.states.back()));
}

// The new owner's lock has expired, too: the old one takes it, and must give it back.
TEST_F(LockKeeperTest, SupersededOwnersGiveTheLockBack) {
  ASSERT_OK(a_.Lock());
  Advance(kLockNanos + 1);
  ASSERT_OK(b_.Lock());
  Advance(kLockNanos + 1);
  a_.files->RenewLocks();
  EXPECT_TRUE(IsTakenOver(a_.states.back()));
  b_.files->RenewLocks();
  EXPECT_OK(b_.states.back());
}

TEST_F(LockKeeperTest, ExpiryIsNoticedWithoutThePool) {
  ASSERT_OK(a_.Lock());
  a_.Refuse(ObjectCall::kRenew);
  Advance(kLockNanos - kMilli);
  a_.files->RenewLocks();
  EXPECT_OK(a_.states.back());
  Advance(kMilli);
  a_.files->RenewLocks();
  EXPECT_TRUE(absl::IsUnavailable(a_.states.back())) << a_.states.back();
  // The lock is free, but the owner is the same.
  a_.pool.SetHooks({});
  Advance(kLockNanos);
  a_.files->RenewLocks();
  EXPECT_OK(a_.states.back());
  EXPECT_TRUE(absl::IsFailedPrecondition(b_.Lock()));
}

TEST_F(LockKeeperTest, EvictedClientsHearSo) {
  const auto evicted =
      StatusIs(absl::StatusCode::kPermissionDenied,
               testing::AllOf(testing::HasSubstr("/d/LOCK"), testing::HasSubstr("evicted")));
  ASSERT_OK(a_.Lock());
  a_.Evict();
  a_.files->RenewLocks();
  EXPECT_THAT(a_.states.back(), evicted);
  EXPECT_THAT(a_.lock->Confirm(), evicted);
  Advance(kLockNanos + 1);
  a_.files->RenewLocks();
  EXPECT_THAT(a_.states.back(), evicted);
  // The eviction has ended.
  a_.pool.SetHooks({});
  a_.files->RenewLocks();
  EXPECT_OK(a_.states.back());
  EXPECT_TRUE(absl::IsFailedPrecondition(b_.Lock()));
}

TEST_F(LockKeeperTest, EvictionsAreReportedAfterTheLockHasExpired) {
  ASSERT_OK(a_.Lock());
  a_.Refuse(ObjectCall::kRenew);
  Advance(kLockNanos);
  a_.files->RenewLocks();
  EXPECT_TRUE(absl::IsUnavailable(a_.states.back())) << a_.states.back();
  a_.Evict();
  a_.files->RenewLocks();
  EXPECT_TRUE(absl::IsPermissionDenied(a_.states.back())) << a_.states.back();
  ASSERT_OK(b_.Lock());
  a_.pool.SetHooks({});
  a_.files->RenewLocks();
  EXPECT_TRUE(IsTakenOver(a_.states.back())) << a_.states.back();
}

TEST_F(LockKeeperTest, CandidatesThatStopGiveTheLockBack) {
  ASSERT_OK(a_.Lock());
  Advance(kLockNanos + 1);
  // B takes the lock, and not the directory.
  MemoryObjectPool::Hooks hooks;
  hooks.before = [](ObjectCall call, const std::string&, uint64_t) {
    return call == ObjectCall::kWrite || call == ObjectCall::kUnlock ? Fate::kRefused
                                                                     : Fate::kApplied;
  };
  b_.pool.SetHooks(std::move(hooks));
  EXPECT_FALSE(b_.Lock().ok());
  a_.files->RenewLocks();
  EXPECT_TRUE(absl::IsUnavailable(a_.states.back())) << a_.states.back();
  Advance(kLockNanos + 1);
  a_.files->RenewLocks();
  EXPECT_OK(a_.states.back());
}

// The lock is taken again while it is released: then it must not stay.
TEST_F(LockKeeperTest, RenewalsBesideReleaseLeaveNoLock) {
  ASSERT_OK(a_.Lock());
  Advance(kLockNanos + 1);
  MemoryObjectPool::Hooks hooks;
  hooks.before = [this](ObjectCall call, const std::string&, uint64_t) {
    if (call == ObjectCall::kLock) a_.lock->Release();
    return Fate::kApplied;
  };
  a_.pool.SetHooks(std::move(hooks));
  a_.files->RenewLocks();
  EXPECT_OK(b_.Lock());
}

TEST(LockThreadsTest, RenewAndWatch) {
  const auto objects = std::make_shared<MemoryObjects>();
  Client client(objects, 1, /*has_threads=*/true);
  std::atomic<int> renewals{0}, expiries{0};
  std::atomic<bool> refuses{false};
  MemoryObjectPool::Hooks hooks;
  hooks.before = [&](ObjectCall call, const std::string&, uint64_t) {
    if (call != ObjectCall::kRenew) return Fate::kApplied;
    ++renewals;
    return refuses ? Fate::kRefused : Fate::kApplied;
  };
  client.pool.SetHooks(std::move(hooks));
  ASSERT_OK(client.files->OpenDirectory("/d", true));
  const std::unique_ptr<Directory> directory = *client.files->OpenDirectory("/d", false);
  absl::StatusOr<std::unique_ptr<FileLock>> lock =
      directory->Lock(kLockFileName, LockKind::kExclusive);
  ASSERT_OK(lock);
  (*lock)->Watch([&](const absl::Status& state) { expiries += absl::IsUnavailable(state); });
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  while (renewals < 3) wait();
  refuses = true;
  while (expiries == 0) wait();
}

}  // namespace
}  // namespace lsm
