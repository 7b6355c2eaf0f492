// The listing of a directory that a handle keeps while it has the lock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/object_fixture.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

class KeptListingTest : public ObjectFixture {
 protected:
  void SetUp() override {
    ObjectFixture::SetUp();
    MakeFiles();
  }
  // Also locks the directory.
  void MakeFiles() {
    Write(kLog, "the bytes of a log");
    Write(kTable, "the bytes of a table");
    ASSERT_OK(directory_->AtomicReplace("CURRENT", "1", std::nullopt));
    lock_ = TakeOver(*directory_);
  }
  // Calls on the index that `function` makes.
  int CountIndexCalls(const std::function<void()>& function) {
    int count = 0;
    a_.pool.SetHooks({[&](ObjectCall, const std::string& object, uint64_t) {
                        count += object.starts_with("index:") ? 1 : 0;
                        return MemoryObjectPool::Fate::kApplied;
                      },
                      nullptr});
    function();
    a_.pool.SetHooks({});
    return count;
  }
  // The names of a directory, with the bytes of the files.
  static std::string Contents(Directory& directory) {
    absl::StatusOr<std::vector<std::string>> names = directory.List();
    if (!names.ok()) return names.status().ToString();
    std::sort(names->begin(), names->end());
    std::string all;
    for (const std::string& name : *names) {
      const absl::StatusOr<std::string> bytes = ReadWholeFile(directory, name, 1000);
      all += Concat(name, ": ", bytes.ok() ? *bytes : bytes.status().ToString(), "\n");
    }
    return all;
  }
  void ExpectAsInThePool() { EXPECT_EQ(Contents(*directory_), Contents(*OpenAs(checker_))); }

  // Calls that change the index.
  std::vector<std::function<absl::Status()>> Changes() {
    return {[this] { return directory_->CreateExclusive("000003.log").status(); },
            [this] { return directory_->CreateExclusive("000004.table").status(); },
            [this] { return directory_->AtomicReplace("CURRENT", "2", "1"); },
            [this] { return directory_->Rename(kLog, "000005.log"); },
            [this] { return directory_->Link(kTable, *directory_, "000006.table"); },
            [this] { return directory_->Remove(kTable); }};
  }

  std::unique_ptr<FileLock> lock_;
};

TEST_F(KeptListingTest, OwnersNeedNoCall) {
  const auto look = [this] {
    EXPECT_OK(directory_->List());
    EXPECT_OK(directory_->Stat(kLog));
    EXPECT_OK(directory_->OpenRead(kTable, ReadMode::kBuffered));
    EXPECT_EQ(Read("CURRENT"), "1");
    EXPECT_THAT(directory_->Stat("000009.table"), StatusIs(absl::StatusCode::kNotFound));
  };
  EXPECT_EQ(CountIndexCalls(look), 0);
  directory_ = OpenAs(a_);
  EXPECT_EQ(CountIndexCalls(look), 5);
}

TEST_F(KeptListingTest, OwnChangesAreListed) {
  ExpectAsInThePool();
  for (const std::function<absl::Status()>& change : Changes()) {
    ASSERT_OK(change());
    ExpectAsInThePool();
  }
  for (const char* name : {"000007.log", "000008.table"}) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive(name));
    for (int i = 0; i < 5; ++i) {
      ASSERT_OK(file->Append("some more bytes"));
      ASSERT_OK(file->Sync());
      ExpectAsInThePool();
    }
  }
  EXPECT_EQ(CountIndexCalls([this] { EXPECT_OK(directory_->List()); }), 0);
}

// A call that is not answered may have been applied, or may be applied later.
TEST_F(KeptListingTest, UnansweredChangesAreFollowedByQuestions) {
  const size_t count = Changes().size();
  for (const bool is_late : {false, true}) {
    for (size_t i = 0; i < count; ++i) {
      lock_ = nullptr;
      directory_ = OpenAs(a_);
      ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, directory_->List());
      for (const std::string& name : names) ASSERT_OK(directory_->Remove(name));
      MakeFiles();
      const auto is_change = [](ObjectCall call, const std::string& object) {
        return call == ObjectCall::kWrite && object.starts_with("index:");
      };
      if (is_late) {
        a_.pool.SetHooks({[=](ObjectCall call, const std::string& object, uint64_t) {
                            return is_change(call, object) ? MemoryObjectPool::Fate::kDelayed
                                                           : MemoryObjectPool::Fate::kApplied;
                          },
                          nullptr});
      } else {
        a_.pool.SetHooks({nullptr, [=](ObjectCall call, const std::string& object, uint64_t) {
                            return !is_change(call, object);
                          }});
      }
      EXPECT_THAT(Changes()[i](), StatusIs(absl::StatusCode::kUnavailable));
      a_.pool.SetHooks({});
      ExpectAsInThePool();
      a_.pool.DeliverDelayed();
      ExpectAsInThePool();
    }
  }
}

TEST_F(KeptListingTest, RefusalsKeepTheListing) {
  EXPECT_THAT(directory_->CreateExclusive(kLog), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(directory_->AtomicReplace("CURRENT", "2", "0"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(CountIndexCalls([this] { EXPECT_OK(directory_->List()); }), 0);
}

// A handle that was opened after the lock may change the files, although none should.
TEST_F(KeptListingTest, RefusalsCorrectTheListing) {
  ASSERT_OK(OpenAs(b_)->CreateExclusive("000003.log"));
  EXPECT_THAT(directory_->Stat("000003.log"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(directory_->CreateExclusive("000003.log"),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_OK(directory_->Stat("000003.log"));
  ExpectAsInThePool();
}

// The first change is answered after the second one, which another thread makes.
TEST_F(KeptListingTest, ChangesMayEndInAnyOrder) {
  for (const char* last : {"3", "1"}) {
    SCOPED_TRACE(last);
    bool is_first = true;
    a_.pool.SetHooks({nullptr, [&](ObjectCall call, const std::string& object, uint64_t) {
                        if (call == ObjectCall::kWrite && object.starts_with("index:") &&
                            std::exchange(is_first, false)) {
                          EXPECT_OK(directory_->AtomicReplace("CURRENT", last, "2"));
                        }
                        return true;
                      }});
    ASSERT_OK(directory_->AtomicReplace("CURRENT", "2", "1"));
    a_.pool.SetHooks({});
    EXPECT_EQ(Read("CURRENT"), last);
    ExpectAsInThePool();
    lock_ = nullptr;
    ASSERT_OK(OpenAs(a_)->AtomicReplace("CURRENT", "1", last));
    lock_ = TakeOver(*directory_);
  }
}

// This process locks the directory again before it hears of a change, and undoes it.
TEST_F(KeptListingTest, ChangesOfEarlierOwnersAreInTheListing) {
  bool is_first = true;
  a_.pool.SetHooks({nullptr, [&](ObjectCall call, const std::string& object, uint64_t) {
                      if (call == ObjectCall::kWrite && object.starts_with("index:") &&
                          std::exchange(is_first, false)) {
                        lock_ = nullptr;
                        lock_ = TakeOver(*directory_);
                        EXPECT_OK(directory_->Remove("000003.table"));
                      }
                      return true;
                    }});
  ASSERT_OK(directory_->CreateExclusive("000003.table"));
  a_.pool.SetHooks({});
  EXPECT_THAT(directory_->Stat("000003.table"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(CountIndexCalls([this] { EXPECT_OK(directory_->List()); }), 0);
}

TEST_F(KeptListingTest, OtherNamesAreNotKept) {
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  ASSERT_OK(of_b->AtomicReplace("EVENTS", "1", std::nullopt));
  EXPECT_EQ(Read("EVENTS"), "1");
  ASSERT_OK(of_b->AtomicReplace("EVENTS", "2", "1"));
  EXPECT_EQ(Read("EVENTS"), "2");
  ASSERT_OK(of_b->Remove("EVENTS"));
  EXPECT_THAT(directory_->Stat("EVENTS"), StatusIs(absl::StatusCode::kNotFound));
}

// Once the lock is released, other processes change the files.
TEST_F(KeptListingTest, ReleasedLocksKeepNoListing) {
  lock_->Release();
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  const std::unique_ptr<FileLock> b = TakeOver(*of_b);
  EXPECT_TRUE(IsTakenOver(directory_->List().status()));
  EXPECT_TRUE(IsTakenOver(directory_->Stat(kTable).status()));
}

TEST_F(KeptListingTest, SupersededOwnersLearnItFromAnyRefusal) {
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  const std::unique_ptr<FileLock> b = TakeOver(*of_b);
  EXPECT_OK(directory_->Stat(kTable));
  EXPECT_TRUE(IsTakenOver(directory_->Remove(kTable)));
  EXPECT_TRUE(IsTakenOver(directory_->Stat(kTable).status()));
  EXPECT_TRUE(IsTakenOver(directory_->List().status()));
}

// The new owner has removed the table, so its first chunk is missing.
TEST_F(KeptListingTest, LinksOfSupersededOwnersAreNoDamage) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> copy,
                       a_.files.OpenDirectory("/copy", /*create=*/true));
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  const std::unique_ptr<FileLock> b = TakeOver(*of_b);
  ASSERT_OK(of_b->Remove(kTable));
  EXPECT_TRUE(IsTakenOver(directory_->Link(kTable, *copy, kTable)));
}

// The lock is held again, but another process that had it meanwhile changes the owner only now.
TEST_F(KeptListingTest, ConfirmAsksForTheOwner) {
  EXPECT_OK(lock_->Confirm());
  ObjectWrite write;
  write.set_attributes[kOwnerAttribute] = Owner{100, 1, "writer B"}.Encode();
  ASSERT_OK(checker_.pool.Write(IndexName(kStore), write));
  EXPECT_TRUE(IsTakenOver(lock_->Confirm()));
}

}  // namespace
}  // namespace lsm
