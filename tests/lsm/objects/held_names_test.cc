// Names that are held until AtomicReplace, and removals that come later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lsm/file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/object_fixture.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing_support::StatusIs;
using Fate = MemoryObjectPool::Fate;

class HeldNamesTest : public ObjectFixture {
 protected:
  void SetUp() override {
    ObjectFixture::SetUp();
    lock_ = TakeOver(*directory_);
    directory_->HoldNames();
  }
  absl::Status Replace() { return directory_->AtomicReplace("CURRENT", "1", std::nullopt); }
  // As another process sees them.
  std::vector<std::string> NamesInPool() { return OpenAs(checker_)->List().value(); }
  // Writes of the index that `function` makes.
  int CountIndexWrites(const std::function<void()>& function) {
    int count = 0;
    a_.pool.SetHooks({[&](ObjectCall call, const std::string& object, uint64_t) {
                        count += call == ObjectCall::kWrite && object.starts_with("index:") ? 1 : 0;
                        return Fate::kApplied;
                      },
                      nullptr});
    function();
    a_.pool.SetHooks({});
    return count;
  }
  // Refuses the next write of the index, or loses the answer to it.
  void FailNextChange(bool is_applied) {
    const auto is_change = [](ObjectCall call, const std::string& object) {
      return call == ObjectCall::kWrite && object.starts_with("index:");
    };
    a_.pool.SetHooks({[=](ObjectCall call, const std::string& object, uint64_t) {
                        return is_change(call, object) && !is_applied ? Fate::kRefused
                                                                      : Fate::kApplied;
                      },
                      [=](ObjectCall call, const std::string& object, uint64_t) {
                        return !is_change(call, object);
                      }});
  }

  std::unique_ptr<FileLock> lock_;
};

TEST_F(HeldNamesTest, TheyComeWithTheReplacement) {
  EXPECT_EQ(CountIndexWrites([this] { Write(kLog, "log"); }), 0);
  EXPECT_EQ(CountIndexWrites([this] { Write(kTable, "a long table"); }), 1);  // its name
  EXPECT_THAT(NamesInPool(), UnorderedElementsAre("LOCK", kTable));
  EXPECT_EQ(OpenAs(checker_)->Stat(kTable)->size_bytes, 0u);
  // The handle knows more.
  EXPECT_EQ(Read(kLog), "log");
  EXPECT_EQ(Read(kTable), "a long table");
  EXPECT_THAT(*directory_->List(), UnorderedElementsAre("LOCK", kLog, kTable));
  EXPECT_EQ(CountIndexWrites([this] { EXPECT_OK(Replace()); }), 1);
  EXPECT_THAT(NamesInPool(), UnorderedElementsAre("CURRENT", "LOCK", kLog, kTable));
  EXPECT_EQ(OpenAs(checker_)->Stat(kTable)->size_bytes, 12u);
  // From then on names are not held.
  EXPECT_EQ(CountIndexWrites([this] { Write("000003.log", "log"); }), 1);
}

TEST_F(HeldNamesTest, ALongLogNeedsItsName) {
  EXPECT_EQ(CountIndexWrites([this] { Write(kLog, "more than ten bytes"); }), 1);
  EXPECT_THAT(NamesInPool(), UnorderedElementsAre("LOCK", kLog));
  EXPECT_OK(Replace());
}

TEST_F(HeldNamesTest, RemovedNamesLeaveNothing) {
  Write(kLog, "log");
  Write(kTable, "table");
  EXPECT_OK(directory_->Remove(kTable));
  EXPECT_OK(directory_->Remove(kLog));
  EXPECT_THAT(NamesInPool(), ElementsAre("LOCK"));
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(HeldNamesTest, NamesAreMadeOnce) {
  Write(kLog, "log");
  EXPECT_THAT(directory_->CreateExclusive(kLog).status(),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_OK(Replace());
  EXPECT_EQ(Read(kLog), "log");
}

TEST_F(HeldNamesTest, FailedReplacementsForgetThem) {
  for (const bool is_applied : {false, true}) {
    SCOPED_TRACE(is_applied);
    Write(kLog, "log");
    FailNextChange(is_applied);
    EXPECT_THAT(Replace(), StatusIs(absl::StatusCode::kUnavailable));
    a_.pool.SetHooks({});
    // The handle asks the pool.
    EXPECT_EQ(directory_->Stat(kLog).ok(), is_applied);
    EXPECT_EQ(directory_->Stat("CURRENT").ok(), is_applied);
  }
}

// Otherwise the file that is replaced could name files that do not exist.
TEST_F(HeldNamesTest, NothingIsReplacedAfterALoss) {
  Write(kLog, "log");
  Write("000003.manifest", "manifest");
  FailNextChange(/*is_applied=*/false);
  EXPECT_FALSE(directory_->Remove(kLog).ok());
  a_.pool.SetHooks({});
  EXPECT_FALSE(Replace().ok());
  EXPECT_THAT(NamesInPool(), ElementsAre("LOCK"));
}

// The handle asks the pool, and adds what it holds.
TEST_F(HeldNamesTest, TheyOutliveTheListing) {
  Write(kLog, "log");
  Write(kTable, "a long table");
  FailNextChange(/*is_applied=*/true);
  EXPECT_FALSE(directory_->CreateExclusive("000003.table").ok());
  a_.pool.SetHooks({});
  EXPECT_EQ(Read(kLog), "log");
  EXPECT_EQ(Read(kTable), "a long table");
  EXPECT_THAT(*directory_->List(), UnorderedElementsAre("LOCK", kLog, kTable, "000003.table"));
  EXPECT_OK(Replace());
  EXPECT_EQ(OpenAs(checker_)->Stat(kTable)->size_bytes, 12u);
}

TEST_F(HeldNamesTest, ANewOwnerRefusesThem) {
  Write(kLog, "log");
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  const std::unique_ptr<FileLock> lock_of_b = TakeOver(*of_b);
  EXPECT_TRUE(IsTakenOver(Replace()));
  EXPECT_THAT(NamesInPool(), ElementsAre("LOCK"));
}

// Without the lock, another process might need the names.
TEST_F(HeldNamesTest, OnlyOwnersHoldThem) {
  lock_ = nullptr;
  directory_ = OpenAs(a_);
  directory_->HoldNames();
  EXPECT_EQ(CountIndexWrites([this] { Write(kLog, "log"); }), 1);
}

// Removals that come later are made by a thread.
TEST_F(HeldNamesTest, RemovalsComeLater) {
  ObjectFileSystem files(&b_.pool, &b_.random,
                         {.lock_nanos = 4'000'000, .log_chunk_bytes = 10, .table_chunk_bytes = 8});
  ASSERT_OK_AND_ASSIGN(directory_, files.OpenDirectory("/other", /*create=*/true));
  ASSERT_OK_AND_ASSIGN(lock_, directory_->Lock("LOCK", LockKind::kExclusive));
  Write(kLog, "the bytes of a log");
  Write(kTable, "the bytes of a table");
  const std::thread::id caller = std::this_thread::get_id();
  b_.pool.SetHooks({[&](ObjectCall, const std::string&, uint64_t) {
                      EXPECT_NE(std::this_thread::get_id(), caller);
                      return Fate::kApplied;
                    },
                    nullptr});
  const std::vector<std::string> names = {kLog, kTable, "missing"};
  directory_->RemoveLater(names);
  while (CountChunks() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  b_.pool.SetHooks({});
  EXPECT_THAT(*OpenAs(checker_, "/other")->List(), ElementsAre("LOCK"));
  lock_ = nullptr;
  directory_ = nullptr;
}

// The fence itself waits for no removal.
TEST_F(HeldNamesTest, EarlierRemovalsComeLater) {
  ASSERT_OK(Replace());
  Write(kTable, "the bytes of a table");
  StopAt(&a_.pool, a_.pool.call_count() + 1, /*after=*/false);  // the name goes, the chunks stay
  ASSERT_OK(directory_->Remove(kTable));
  EXPECT_GT(CountChunks(), 0u);
  ExpireLocks(objects_.get());
  ObjectFileSystem files(&b_.pool, &b_.random, {.lock_nanos = 4'000'000});
  const std::thread::id caller = std::this_thread::get_id();
  bool waited = false;
  b_.pool.SetHooks({[&](ObjectCall, const std::string& object, uint64_t) {
                      const bool is_caller = std::this_thread::get_id() == caller;
                      if (is_caller && !object.starts_with("index:")) waited = true;
                      return Fate::kApplied;
                    },
                    nullptr});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> of_b,
                       files.OpenDirectory(kStore, /*create=*/false));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> lock_of_b,
                       of_b->Lock("LOCK", LockKind::kExclusive));
  EXPECT_FALSE(waited);
  while (CountChunks() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace lsm
