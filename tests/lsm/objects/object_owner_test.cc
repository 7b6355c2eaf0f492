// Directories of an object store that change their owner, and calls that are lost or repeated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/object_fixture.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

class ObjectOwnerTest : public ObjectFixture {};

TEST_F(ObjectOwnerTest, NewOwnersRefuseEarlierOnes) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> a,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> log, directory_->CreateExclusive(kLog));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> table,
                       directory_->CreateExclusive(kTable));
  ASSERT_OK(log->Append("12345"));
  ASSERT_OK(table->Append("12345"));
  const std::unique_ptr<Directory> other = OpenAs(b_);
  EXPECT_THAT(other->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another process")));
  ExpireLocks(objects_.get());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> b,
                       other->Lock("LOCK", LockKind::kExclusive));
  const auto taken_over = [](const absl::Status& status) {
    return IsTakenOver(status) && status.message().find("writer B") != absl::string_view::npos;
  };
  for (const absl::Status& status :
       {log->Append("6"), log->Append("6"), table->Sync(), directory_->Remove(kLog),
        directory_->Rename(kLog, "x"), directory_->AtomicReplace("CURRENT", "x", std::nullopt),
        directory_->CreateExclusive("000003.log").status(),
        directory_->CreateExclusive("000003.table").status(), directory_->List().status()}) {
    EXPECT_TRUE(taken_over(status)) << status;
  }
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*other, kLog, 100));
  EXPECT_EQ(bytes, "12345");
  EXPECT_THAT(*other->List(), testing::UnorderedElementsAre("LOCK", kLog, kTable));
  // Nothing is left of the refused files.
  ASSERT_OK(other->Remove(kLog));
  ASSERT_OK(other->Remove(kTable));
  EXPECT_EQ(CountChunks(), 0u);
}

// The lock of B expires between its reading of the owner and the swap.
TEST_F(ObjectOwnerTest, StaleCandidatesDisturbNoOwner) {
  const std::unique_ptr<Directory> of_b = OpenAs(b_), of_c = OpenAs(c_);
  // B reads the owner again, because the one of its opening has been used.
  ASSERT_OK(of_b->Lock("LOCK", LockKind::kExclusive));
  std::unique_ptr<FileLock> c;
  std::unique_ptr<AppendFile> log;
  b_.pool.SetHooks({nullptr, [&](ObjectCall call, const std::string&, uint64_t) {
                      if (call != ObjectCall::kLock || c != nullptr) return true;
                      ExpireLocks(objects_.get());
                      c = of_c->Lock("LOCK", LockKind::kExclusive).value();
                      log = of_c->CreateExclusive(kLog).value();
                      return true;
                    }});
  EXPECT_THAT(of_b->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("came first")));
  EXPECT_OK(log->Append("goes on"));
  EXPECT_THAT(of_b->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has the lock")));
}

// Between the opening of B and its lock, C has the directory.
TEST_F(ObjectOwnerTest, StaleHandlesReadTheOwnerAgain) {
  for (const bool is_released : {false, true}) {
    const std::unique_ptr<Directory> of_b = OpenAs(b_), of_c = OpenAs(c_);
    std::unique_ptr<FileLock> c = TakeOver(*of_c), b;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> log, of_c->CreateExclusive(kLog));
    if (is_released) {
      c = nullptr;
      ASSERT_OK_AND_ASSIGN(b, of_b->Lock("LOCK", LockKind::kExclusive));
      EXPECT_TRUE(IsTakenOver(log->Append("late")));
      ASSERT_OK(of_b->Remove(kLog));
      continue;
    }
    // The lock of C has expired.  The first attempt of B does not disturb it.
    bool unlocked = false;
    b_.pool.SetHooks({[&](ObjectCall call, const std::string&, uint64_t) {
                        if (call == ObjectCall::kLock) ExpireLocks(objects_.get());
                        if (call == ObjectCall::kUnlock && !std::exchange(unlocked, true)) {
                          EXPECT_OK(log->Append("goes on"));
                        }
                        return MemoryObjectPool::Fate::kApplied;
                      },
                      nullptr});
    EXPECT_OK(of_b->Lock("LOCK", LockKind::kExclusive));
    b_.pool.SetHooks({});
    EXPECT_TRUE(unlocked);
    c = nullptr;
    ASSERT_OK(of_b->Remove(kLog));
  }
}

// The seal of B comes after C has sealed the same log.
TEST_F(ObjectOwnerTest, LateSealsAreRefused) {
  Write(kLog, "0123456789abc");
  const std::unique_ptr<Directory> of_b = OpenAs(b_), of_c = OpenAs(c_);
  std::unique_ptr<FileLock> c;
  b_.pool.SetHooks({[&](ObjectCall call, const std::string& object, uint64_t) {
                      if (call == ObjectCall::kWrite && !object.starts_with("index:") &&
                          c == nullptr) {
                        ExpireLocks(objects_.get());
                        c = of_c->Lock("LOCK", LockKind::kExclusive).value();
                      }
                      return MemoryObjectPool::Fate::kApplied;
                    },
                    nullptr});
  EXPECT_TRUE(IsTakenOver(of_b->Lock("LOCK", LockKind::kExclusive).status()));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*of_c, kLog, 100));
  EXPECT_EQ(bytes, "0123456789abc");
}

TEST_F(ObjectOwnerTest, LostAnswersOfLocksLeaveNoLock) {
  a_.pool.SetHooks({nullptr, [](ObjectCall call, const std::string&, uint64_t) {
                      return call != ObjectCall::kLock;
                    }});
  EXPECT_THAT(directory_->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/store/LOCK")));
  a_.pool.SetHooks({});
  EXPECT_OK(directory_->Lock("LOCK", LockKind::kExclusive));
}

TEST_F(ObjectOwnerTest, EvictedClientsCannotLock) {
  a_.pool.SetHooks(
      {[](ObjectCall, const std::string&, uint64_t) { return MemoryObjectPool::Fate::kEvicted; },
       nullptr});
  EXPECT_THAT(directory_->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("evicted")));
}

TEST_F(ObjectOwnerTest, SupersededOwnersReadNoLog) {
  Write(kLog, "0123456789abc");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> a,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> log,
                       directory_->OpenRead(kLog, ReadMode::kBuffered));
  ExpireLocks(objects_.get());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> b,
                       OpenAs(b_)->Lock("LOCK", LockKind::kExclusive));
  std::string bytes(13, '?');
  EXPECT_TRUE(IsTakenOver(log->ReadAt(0, bytes).status()));
  EXPECT_TRUE(IsTakenOver(log->Size().status()));
  EXPECT_TRUE(IsTakenOver(directory_->OpenRead(kLog, ReadMode::kBuffered).status()));
}

TEST_F(ObjectOwnerTest, LateRegistrationsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> log, directory_->CreateExclusive(kLog));
  ASSERT_OK(log->Append("0123456789"));  // the first chunk is full
  a_.pool.SetHooks({[&](ObjectCall call, const std::string& object, uint64_t) {
                      return call == ObjectCall::kWrite && object.starts_with("index:")
                                 ? MemoryObjectPool::Fate::kDelayed
                                 : MemoryObjectPool::Fate::kApplied;
                    },
                    nullptr});
  EXPECT_THAT(log->Append("x"), StatusIs(absl::StatusCode::kUnavailable));
  a_.pool.SetHooks({});
  ASSERT_OK(directory_->Remove(kLog));
  a_.pool.DeliverDelayed();
  EXPECT_THAT(*directory_->List(), testing::IsEmpty());
  EXPECT_EQ(CountChunks(), 0u);
}

// A candidate that is stopped after its swap gets no lock, so its handle may change nothing.
TEST_F(ObjectOwnerTest, FailedLocksChangeNothing) {
  Write(kLog, "0123456789abc");
  Write(kTable, "the bytes of a table");
  uint64_t calls = 0, swapped = 0;
  for (uint64_t stop = 1; stop == 1 || stop < calls; ++stop) {
    const std::shared_ptr<MemoryObjects> objects = objects_->Clone();
    PoolClient b(objects, "B", 100 + stop);
    const std::unique_ptr<Directory> directory = OpenAs(b);
    const uint64_t from = b.pool.call_count();
    if (stop == 1) {
      PoolClient other(objects_->Clone(), "C", 99);
      const std::unique_ptr<Directory> of_other = OpenAs(other);
      const uint64_t before = other.pool.call_count();
      ASSERT_OK(of_other->Lock("LOCK", LockKind::kExclusive));
      calls = other.pool.call_count() - before - 1;  // the last one unlocks
    }
    b.pool.SetHooks({[&](ObjectCall, const std::string&, uint64_t number) {
                       return number - from == stop ? MemoryObjectPool::Fate::kRefused
                                                    : MemoryObjectPool::Fate::kApplied;
                     },
                     nullptr});
    const absl::Status locked = directory->Lock("LOCK", LockKind::kExclusive).status();
    b.pool.SetHooks({});
    if (locked.ok()) continue;  // the call was not needed
    const bool has_swapped = directory->Stat("LOCK").ok();
    swapped += has_swapped ? 1 : 0;
    for (const absl::Status& status :
         {directory->CreateExclusive("000003.log").status(),
          directory->AtomicReplace("CURRENT", "x", std::nullopt), directory->Remove(kTable)}) {
      EXPECT_EQ(IsTakenOver(status), has_swapped) << "call " << stop << ": " << status;
    }
    ExpireLocks(objects.get());
    EXPECT_OK(directory->Lock("LOCK", LockKind::kExclusive));
  }
  EXPECT_GT(swapped, 2u);
}

// This process locks the directory between the chunk of a log and its name.  The chunk has the
// owner of before.
TEST_F(ObjectOwnerTest, CreationsHaveOneOwner) {
  std::unique_ptr<FileLock> lock;
  a_.pool.SetHooks({nullptr, [&](ObjectCall call, const std::string& object, uint64_t) {
                      if (call == ObjectCall::kWrite && object.ends_with(".0") && lock == nullptr)
                        lock = directory_->Lock("LOCK", LockKind::kExclusive).value();
                      return true;
                    }});
  EXPECT_TRUE(IsTakenOver(directory_->CreateExclusive(kLog).status()));
  a_.pool.SetHooks({});
  EXPECT_EQ(CountChunks(), 0u);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> log, directory_->CreateExclusive(kLog));
  EXPECT_OK(log->Append("12345"));
}

// B takes over and removes the directory.  A does not call that damage.
TEST_F(ObjectOwnerTest, RemovedDirectoriesAreNoDamage) {
  for (const bool leaves_an_object : {false, true}) {
    ASSERT_OK_AND_ASSIGN(directory_, a_.files.OpenDirectory(kStore, /*create=*/true));
    Write(kLog, "0123456789abc");
    Write(kTable, "the bytes of a table");
    const std::unique_ptr<FileLock> a = TakeOver(*directory_);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> log,
                         directory_->OpenRead(kLog, ReadMode::kBuffered));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> table,
                         directory_->OpenRead(kTable, ReadMode::kBuffered));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> next,
                         directory_->CreateExclusive("000003.log"));
    const std::unique_ptr<Directory> of_b = OpenAs(b_);
    {
      const std::unique_ptr<FileLock> b = TakeOver(*of_b);
      for (const char* name : {kLog, kTable, "000003.log", "LOCK"}) ASSERT_OK(of_b->Remove(name));
      ASSERT_OK(b_.files.RemoveDirectory(kStore));
    }
    // A lock of an object store may make an empty object.
    if (leaves_an_object) {
      ASSERT_OK(b_.pool.Write(IndexName(kStore), {}));
    }
    std::string bytes(13, '?');
    for (const absl::Status& status :
         {log->ReadAt(0, bytes).status(), log->Size().status(), table->ReadAt(0, bytes).status(),
          next->Append("1"), directory_->Stat(kTable).status(), directory_->List().status(),
          directory_->OpenRead(kTable, ReadMode::kBuffered).status(),
          directory_->CreateExclusive("000004.log").status(),
          directory_->CreateExclusive("000004.table").status(), directory_->Remove(kTable),
          directory_->AtomicReplace("CURRENT", "x", std::nullopt)}) {
      EXPECT_TRUE(IsTakenOver(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("/store")) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("the directory was removed")) << status;
    }
  }
}

// The owner changes between two pages of a listing.
TEST_F(ObjectOwnerTest, ListingsHaveOneOwner) {
  for (int i = 0; i < 1500; ++i)
    ASSERT_OK(directory_->AtomicReplace("small" + std::to_string(i), "x", std::nullopt));
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  for (const bool locks : {false, true}) {
    std::unique_ptr<FileLock> b;
    ASSERT_OK_AND_ASSIGN(directory_, a_.files.OpenDirectory(kStore, /*create=*/false));
    ExpireLocks(objects_.get());
    // A lock lists after it has swapped the owner.
    PauseAt(&a_.pool, a_.pool.call_count() + (locks ? 2 : 0), /*after=*/true,
            [&] { b = TakeOver(*of_b); });
    if (locks) {
      EXPECT_TRUE(IsTakenOver(directory_->Lock("LOCK", LockKind::kExclusive).status()));
    } else {
      // A reader without the lock lists again.
      ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, directory_->List());
      EXPECT_EQ(names.size(), 1501u);
    }
    a_.pool.SetHooks({});
    EXPECT_NE(b, nullptr);
    EXPECT_OK(directory_->List());
  }
}

TEST_F(ObjectOwnerTest, OwnersAreCountedToTheEnd) {
  ObjectWrite write;
  write.set_attributes[kOwnerAttribute] = Owner{UINT64_MAX - 1, 1, "x"}.Encode();
  ASSERT_OK(checker_.pool.Write(IndexName(kStore), write));
  const std::unique_ptr<Directory> last = OpenAs(a_);
  const std::unique_ptr<FileLock> lock = TakeOver(*last);
  EXPECT_OK(last->AtomicReplace("small", "x", std::nullopt));
  const std::unique_ptr<Directory> one_more = OpenAs(b_);
  ExpireLocks(objects_.get());
  EXPECT_THAT(one_more->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("/store")));
  ASSERT_OK(last->Remove("small"));
  ASSERT_OK(last->Remove("LOCK"));
  EXPECT_THAT(b_.files.RemoveDirectory(kStore),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("/store")));
  EXPECT_OK(last->AtomicReplace("small", "x", std::nullopt));
}

// Files of other names, such as those of an event log, belong to no owner.
TEST_F(ObjectOwnerTest, OtherFilesOutliveTakeOvers) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> events,
                       directory_->CreateExclusive("EVENTS"));
  ASSERT_OK(events->Append("12345"));
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  const std::unique_ptr<FileLock> b = TakeOver(*of_b);
  ASSERT_OK(events->Append("67890abc"));  // in two chunks
  EXPECT_EQ(Read("EVENTS"), "1234567890abc");
  ASSERT_OK(directory_->Rename("EVENTS", "EVENTS.1"));
  EXPECT_THAT(events->Append(std::string(20, 'x')), StatusIs(absl::StatusCode::kUnavailable));
  Write("EVENTS", "2");
  ASSERT_OK(directory_->Rename("EVENTS", "EVENTS.1"));  // replaces a file
  EXPECT_EQ(Read("EVENTS.1"), "2");
  ASSERT_OK(directory_->Remove("EVENTS.1"));
  EXPECT_EQ(CountChunks(), 0u);
  EXPECT_THAT(*OpenAs(c_)->List(), testing::ElementsAre("LOCK"));
}

}  // namespace
}  // namespace lsm
