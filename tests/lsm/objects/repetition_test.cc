// Writes that the pool applies twice.  The caller gets the second status, which may be a refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

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

class RepetitionTest : public ObjectFixture {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(directory_, r_.files.OpenDirectory(kStore, /*create=*/true));
  }
  // Runs `meanwhile` between the two applications of the next write whose object ends so.
  void PauseBetween(const std::string& end, const std::function<void()>& meanwhile) {
    auto done = std::make_shared<bool>(false);
    r_.pool.SetHooks({nullptr, [=](ObjectCall call, const std::string& object, uint64_t) {
                        if (call == ObjectCall::kWrite && object.ends_with(end) && !*done) {
                          *done = true;
                          meanwhile();
                        }
                        return true;
                      }});
  }

  PoolClient r_{objects_, "writer R", 5, {.repeats_writes = true}};
};

TEST_F(RepetitionTest, CallsSucceed) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  Write(kLog, std::string(35, 'l'));
  Write(kTable, std::string(35, 't'));
  Write("000004.log", "replaced");
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "1", std::nullopt));
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "2", "1"));
  EXPECT_THAT(directory_->AtomicReplace("CURRENT", "3", "1"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(directory_->CreateExclusive(kLog), StatusIs(absl::StatusCode::kAlreadyExists));
  ASSERT_OK(directory_->Rename(kLog, "000004.log"));
  EXPECT_EQ(Read("000004.log"), std::string(35, 'l'));
  ASSERT_OK(directory_->Link(kTable, *directory_, "000005.table"));
  EXPECT_THAT(directory_->Link(kTable, *directory_, "000005.table"),
              StatusIs(absl::StatusCode::kAlreadyExists));
  ASSERT_OK(directory_->Remove(kTable));
  EXPECT_THAT(directory_->Remove(kTable), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(Read("000005.table"), std::string(35, 't'));
  for (const char* name : {"000004.log", "000005.table", "CURRENT", "LOCK"})
    ASSERT_OK(directory_->Remove(name));
  EXPECT_EQ(CountChunks(), 0u);
  ASSERT_OK(r_.files.OpenDirectory("/x/y", /*create=*/true));
  ASSERT_OK(r_.files.RemoveDirectory("/x/y"));
  ASSERT_OK(r_.files.RemoveDirectory("/x"));
  ASSERT_OK(r_.files.RemoveDirectory(kStore));
  EXPECT_THAT(objects_->Names(), testing::IsEmpty());
}

// The creation was applied, then B took over, then the repetition was refused.
TEST_F(RepetitionTest, NewOwnersKeepFilesThatTheyFound) {
  for (const char* name : {kLog, kTable}) {
    std::unique_ptr<FileLock> b;
    const std::unique_ptr<Directory> of_b = OpenAs(b_);
    ASSERT_OK_AND_ASSIGN(directory_, r_.files.OpenDirectory(kStore, /*create=*/false));
    PauseBetween("/store/", [&] { b = TakeOver(*of_b); });
    EXPECT_TRUE(IsTakenOver(directory_->CreateExclusive(name).status()));
    r_.pool.SetHooks({});
    ASSERT_NE(b, nullptr);
    ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*of_b, name, 100));
    EXPECT_EQ(bytes, "");
    ASSERT_OK(of_b->Remove(name));
    EXPECT_EQ(CountChunks(), 0u);
  }
}

// The same for both writes that a link makes in the target.
TEST_F(RepetitionTest, NewOwnersKeepLinksThatTheyFound) {
  Write(kTable, "the bytes of a table");
  for (const bool at_the_end : {false, true}) {
    const std::string path = at_the_end ? "/copy1" : "/copy2";
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> copy,
                         r_.files.OpenDirectory(path, /*create=*/true));
    const std::unique_ptr<Directory> of_b = OpenAs(b_, path);
    std::unique_ptr<FileLock> b;
    int writes = 0;
    r_.pool.SetHooks({nullptr, [&](ObjectCall call, const std::string& object, uint64_t) {
                        if (call == ObjectCall::kWrite && object.ends_with(path + "/") &&
                            ++writes == (at_the_end ? 3 : 1)) {
                          b = TakeOver(*of_b);
                        }
                        return true;
                      }});
    EXPECT_TRUE(IsTakenOver(directory_->Link(kTable, *copy, kTable)));
    r_.pool.SetHooks({});
    ASSERT_NE(b, nullptr);
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, of_b->List());
    EXPECT_EQ(names.size(), at_the_end ? 2u : 1u);
    if (!at_the_end) continue;
    ASSERT_OK(directory_->Remove(kTable));
    ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*of_b, kTable, 100));
    EXPECT_EQ(bytes, "the bytes of a table");
    ASSERT_OK(of_b->Remove(kTable));
    EXPECT_EQ(CountChunks(), 0u);
  }
}

// A longer log was registered, then B took over, then the repetition was refused.
TEST_F(RepetitionTest, NewOwnersSealNewChunks) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> log, directory_->CreateExclusive(kLog));
  ASSERT_OK(log->Append("0123456789"));
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  std::unique_ptr<FileLock> b;
  PauseBetween("/store/", [&] { b = TakeOver(*of_b); });
  EXPECT_TRUE(IsTakenOver(log->Append("x")));
  r_.pool.SetHooks({});
  ASSERT_NE(b, nullptr);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*of_b, kLog, 100));
  EXPECT_EQ(bytes, "0123456789");
}

// A directory that a lock left as an empty object.
TEST_F(RepetitionTest, EmptyObjectsBecomeDirectories) {
  for (PoolClient* client : {&a_, &r_}) {
    const std::string path = client == &a_ ? "/x" : "/y";
    ASSERT_OK(checker_.pool.Write(IndexName(path), {}));
    EXPECT_THAT(client->files.OpenDirectory(path, /*create=*/false),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
    ASSERT_OK_AND_ASSIGN(directory_, client->files.OpenDirectory(path, /*create=*/true));
    Write(kLog, "bytes");
    EXPECT_EQ(Read(kLog), "bytes");
  }
}

}  // namespace
}  // namespace lsm
