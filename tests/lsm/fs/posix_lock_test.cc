// Locks between processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::Child;
using testing_support::InChild;
using testing_support::ScratchDir;
using testing_support::StatusIs;

class PosixLockTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(directory_,
                         PosixFileSystem().OpenDirectory(scratch_.path(), /*create=*/false));
  }

  // A process that does not know this process's locks.  It starts before they are taken, and locks
  // on command.
  class OtherProcess {
   public:
    OtherProcess(Directory& directory, LockKind kind) {
      if (::pipe(go_) != 0) std::abort();
      child_ = std::make_unique<Child>([&directory, kind, this] {
        char go;
        if (::read(go_[0], &go, 1) != 1) return std::string("no command came");
        return directory.Lock("LOCK", kind).status().ToString();
      });
    }
    ~OtherProcess() {
      Go();  // so that it ends, if Lock was never called
      child_.reset();
      ::close(go_[0]);
      ::close(go_[1]);
    }
    std::string Lock() {
      Go();
      return child_->Result();
    }

   private:
    void Go() {
      if (::write(go_[1], "!", 1) != 1) std::abort();
    }

    int go_[2];
    std::unique_ptr<Child> child_;
  };

  const ScratchDir scratch_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(PosixLockTest, KeepsOtherProcessesOut) {
  OtherProcess writer(*directory_, LockKind::kExclusive);
  OtherProcess reader(*directory_, LockKind::kShared);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  for (OtherProcess* other : {&writer, &reader}) {
    const std::string result = other->Lock();
    EXPECT_THAT(result, HasSubstr("FAILED_PRECONDITION"));
    EXPECT_THAT(result, HasSubstr(scratch_.path_of("LOCK") + ": locked by another process"));
  }
}

TEST_F(PosixLockTest, IsSharedByReadersOfOtherProcesses) {
  ASSERT_OK(directory_->Lock("LOCK", LockKind::kExclusive));  // makes the file
  OtherProcess writer(*directory_, LockKind::kExclusive);
  OtherProcess reader(*directory_, LockKind::kShared);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kShared));
  EXPECT_EQ(reader.Lock(), "OK");
  EXPECT_THAT(writer.Lock(), HasSubstr("locked by another process"));
}

TEST_F(PosixLockTest, OutlivesOtherDescriptorsOnTheFile) {
  // A classic fcntl lock is lost as soon as the process closes any descriptor of the file.
  OtherProcess other(*directory_, LockKind::kExclusive);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  ASSERT_OK(directory_->OpenRead("LOCK", ReadMode::kBuffered));
  ASSERT_OK(ReadWholeFile(*directory_, "LOCK", 100));
  EXPECT_THAT(other.Lock(), HasSubstr("locked by another process"));
}

// Another program may remove the file; this process still knows that it holds it.
TEST_F(PosixLockTest, HoldsWithinTheProcessWithoutItsFile) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  ASSERT_OK(directory_->Remove("LOCK"));
  EXPECT_THAT(directory_->Lock("LOCK", LockKind::kExclusive).status().ToString(),
              HasSubstr("already open in this process"));
  lock = nullptr;
  EXPECT_OK(directory_->Lock("LOCK", LockKind::kExclusive));
}

TEST_F(PosixLockTest, EndsWithItsHolder) {
  OtherProcess other(*directory_, LockKind::kExclusive);
  ASSERT_OK(directory_->Lock("LOCK", LockKind::kExclusive));  // and releases it at once
  EXPECT_EQ(other.Lock(), "OK");
  // The other process ended without releasing its lock.
  EXPECT_EQ(InChild([&]() -> std::string {
              absl::StatusOr<std::unique_ptr<FileLock>> lock =
                  directory_->Lock("LOCK", LockKind::kExclusive);
              return lock.ok() && lock->release() != nullptr ? "held" : "failed";
            }),
            "held");
  EXPECT_OK(directory_->Lock("LOCK", LockKind::kExclusive));
}

TEST_F(PosixLockTest, SurvivesAForkedChildThatCloses) {
  OtherProcess other(*directory_, LockKind::kExclusive);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  EXPECT_EQ(InChild([&]() -> std::string {
              lock.reset();
              return "dropped";
            }),
            "dropped");
  EXPECT_THAT(other.Lock(), HasSubstr("locked by another process"));
}

TEST_F(PosixLockTest, EndsAlthoughAForkedChildLives) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  int hold[2];
  ASSERT_EQ(::pipe(hold), 0);
  {
    Child child([&]() -> std::string {
      ::close(hold[1]);
      char ignored;
      while (::read(hold[0], &ignored, 1) > 0) {
      }
      return "";
    });
    lock.reset();
    EXPECT_OK(directory_->Lock("LOCK", LockKind::kExclusive));
    ::close(hold[1]);
  }
  ::close(hold[0]);
}

TEST_F(PosixLockTest, BelongsToTheFileAndNotToThePath) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  ASSERT_EQ(::symlink(scratch_.path().c_str(), scratch_.path_of("alias").c_str()), 0);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> alias,
                       PosixFileSystem().OpenDirectory(scratch_.path_of("alias"), false));
  EXPECT_THAT(
      alias->Lock("LOCK", LockKind::kExclusive),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("already open in this process")));
}

}  // namespace
}  // namespace lsm
