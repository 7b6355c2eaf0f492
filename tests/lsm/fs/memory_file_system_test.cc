// The file system in memory, beyond the contract: crashes, faults and damage.
#include "lsm/memory_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;
using Unsynced = MemoryFileSystem::Unsynced;

class MemoryFileSystemTest : public testing::Test {
 protected:
  void SetUp() override { Open(); }

  void Open() { ASSERT_OK_AND_ASSIGN(directory_, files_.OpenDirectory("/db", /*create=*/true)); }
  void Restart(Unsynced unsynced) {
    files_.Restart(unsynced);
    Open();
  }

  std::unique_ptr<AppendFile> Create(std::string_view name, std::string_view bytes) {
    absl::StatusOr<std::unique_ptr<AppendFile>> file = directory_->CreateExclusive(name);
    EXPECT_OK(file);
    EXPECT_OK((*file)->Append(bytes));
    return *std::move(file);
  }
  void CreateSynced(std::string_view name, std::string_view bytes) {
    const std::unique_ptr<AppendFile> file = Create(name, bytes);
    ASSERT_OK(file->Sync());
    ASSERT_OK(file->Close());
    ASSERT_OK(directory_->Sync());
  }
  // "name=bytes" of each file.
  static std::vector<std::string> Contents(MemoryFileSystem& files) {
    absl::StatusOr<std::unique_ptr<Directory>> directory = files.OpenDirectory("/db", false);
    if (!directory.ok()) return {directory.status().ToString()};
    std::vector<std::string> contents;
    const std::vector<std::string> names = (*directory)->List().value();
    for (const std::string& name : names) {
      contents.push_back(name + "=" + files.FileBytes("/db/" + name));
    }
    return contents;
  }
  std::vector<std::string> Contents() { return Contents(files_); }

  MemoryFileSystem files_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(MemoryFileSystemTest, LosesUnsyncedBytes) {
  CreateSynced("other", "x");
  const std::unique_ptr<AppendFile> file = Create("a", "synced");
  ASSERT_OK(file->Sync());
  ASSERT_OK(directory_->Sync());
  ASSERT_OK(file->Append(" and not"));
  ASSERT_OK(file->Close());  // syncs nothing
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("a=synced", "other=x"));
}

TEST_F(MemoryFileSystemTest, KeepsUnsyncedBytesOnRequest) {
  const std::unique_ptr<AppendFile> file = Create("a", "one");
  Restart(Unsynced::kKept);
  EXPECT_THAT(Contents(), ElementsAre("a=one"));
  // From now on they are durable.
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("a=one"));
}

TEST_F(MemoryFileSystemTest, LosesNamesOfUnsyncedDirectories) {
  ASSERT_OK(Create("a", "bytes")->Sync());
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), IsEmpty());
}

TEST_F(MemoryFileSystemTest, KeepsNamesOfFilesThatLostTheirBytes) {
  Create("a", "bytes");
  ASSERT_OK(directory_->Sync());
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("a="));
}

TEST_F(MemoryFileSystemTest, RestoresNamesAfterUnsyncedRemovals) {
  CreateSynced("a", "bytes");
  ASSERT_OK(directory_->Remove("a"));
  EXPECT_THAT(Contents(), IsEmpty());
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("a=bytes"));
  ASSERT_OK(directory_->Remove("a"));
  ASSERT_OK(directory_->Sync());
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), IsEmpty());
}

TEST_F(MemoryFileSystemTest, RestoresTheRemovedFileNotItsSuccessor) {
  CreateSynced("a", "old");
  ASSERT_OK(directory_->Remove("a"));
  ASSERT_OK(Create("a", "new")->Sync());
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("a=old"));
}

TEST_F(MemoryFileSystemTest, RollsBackUnsyncedRenames) {
  CreateSynced("a", "new");
  CreateSynced("b", "old");
  ASSERT_OK(directory_->Rename("a", "b"));
  EXPECT_THAT(Contents(), ElementsAre("b=new"));
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("a=new", "b=old"));
  ASSERT_OK(directory_->Rename("a", "b"));
  ASSERT_OK(directory_->Sync());
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("b=new"));
}

TEST_F(MemoryFileSystemTest, LosesBytesAppendedAfterTheDirectorySync) {
  const std::unique_ptr<AppendFile> file = Create("a", "");
  ASSERT_OK(directory_->Sync());
  ASSERT_OK(file->Append("one"));
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Append("two"));
  ASSERT_OK(directory_->Sync());  // says nothing about bytes
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("a=one"));
}

TEST_F(MemoryFileSystemTest, ReplaceMakesNothingElseDurable) {
  Create("unsynced", "x");
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "one", std::nullopt));
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("CURRENT=one"));
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "two", "one"));
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("CURRENT=two"));
}

TEST_F(MemoryFileSystemTest, KeepsTheOldBytesWhenItCrashesAtAReplace) {
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "one", std::nullopt));
  for (const Unsynced unsynced : {Unsynced::kLost, Unsynced::kKept}) {
    files_.ResetCounts();
    files_.CrashAt(0);
    EXPECT_THAT(directory_->AtomicReplace("CURRENT", "two", "one"),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("crashed")));
    EXPECT_EQ(files_.operation_count(), 1u);
    Restart(unsynced);
    EXPECT_THAT(Contents(), ElementsAre("CURRENT=one"));
  }
}

TEST_F(MemoryFileSystemTest, CountsEveryOperationOnce) {
  std::vector<std::string> seen;
  files_.ResetCounts();
  files_.SetFault([&](FileOperation operation, const std::string& path, uint64_t number) {
    EXPECT_EQ(number, seen.size());
    seen.push_back(std::string(NameOf(operation)) + " " + path);
    return absl::OkStatus();
  });
  ASSERT_OK_AND_ASSIGN(directory_, files_.OpenDirectory("/db/", /*create=*/true));
  ASSERT_OK(directory_->Lock("LOCK", LockKind::kExclusive));
  const std::unique_ptr<AppendFile> file = Create("a", "bytes");
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Close());
  ASSERT_OK(directory_->Rename("a", "b"));
  ASSERT_OK(directory_->Sync());
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "b", std::nullopt));
  ASSERT_OK(directory_->List());
  ASSERT_OK(directory_->Stat("b"));
  ASSERT_OK(ReadWholeFile(*directory_, "b", 100));
  ASSERT_OK(directory_->Remove("b"));
  EXPECT_THAT(files_.RemoveDirectory("/db"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(
      seen, ElementsAre("open directory /db", "lock /db/LOCK", "create /db/a", "append /db/a",
                        "sync /db/a", "close /db/a", "rename /db/a", "sync directory /db",
                        "replace /db/CURRENT", "list /db", "stat /db/b", "open /db/b", "size /db/b",
                        "read /db/b", "remove /db/b", "remove directory /db"));
  EXPECT_EQ(files_.operation_count(), seen.size());
}

TEST_F(MemoryFileSystemTest, StopsAtTheGivenOperationAndStaysStopped) {
  const std::unique_ptr<AppendFile> file = Create("a", "synced");
  ASSERT_OK(file->Sync());
  ASSERT_OK(directory_->Sync());
  files_.ResetCounts();
  files_.CrashAt(1);
  ASSERT_OK(file->Append("-"));
  EXPECT_FALSE(files_.crashed());
  const auto crashed = StatusIs(absl::StatusCode::kUnavailable, HasSubstr("crashed"));
  EXPECT_THAT(file->Append("12345678"), crashed);
  EXPECT_TRUE(files_.crashed());
  EXPECT_THAT(file->Append("12345678"), crashed);
  EXPECT_THAT(file->Sync(), crashed);
  EXPECT_THAT(file->Close(), crashed);
  EXPECT_THAT(directory_->Remove("a"), crashed);
  EXPECT_THAT(directory_->Sync(), crashed);
  EXPECT_THAT(directory_->CreateExclusive("b"), crashed);
  EXPECT_THAT(directory_->Lock("LOCK", LockKind::kExclusive), crashed);
  EXPECT_THAT(directory_->List(), crashed);
  EXPECT_THAT(files_.OpenDirectory("/db", true), crashed);
  EXPECT_THAT(files_.OpenDirectory("/other", true), crashed);

  const std::unique_ptr<MemoryFileSystem> clone = files_.Clone();
  EXPECT_FALSE(clone->crashed());
  clone->Restart(Unsynced::kKept);
  EXPECT_THAT(Contents(*clone), ElementsAre("a=synced-1234"));  // half of the append
  files_.Restart(Unsynced::kLost);
  EXPECT_FALSE(files_.crashed());
  EXPECT_THAT(Contents(), ElementsAre("a=synced"));
}

TEST_F(MemoryFileSystemTest, CrashesInvalidateHandles) {
  const std::unique_ptr<AppendFile> writer = Create("a", "bytes");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> reader,
                       directory_->OpenRead("a", ReadMode::kBuffered));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  const std::unique_ptr<Directory> old_directory = std::move(directory_);
  Restart(Unsynced::kKept);

  const auto dead =
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("before the machine crashed"));
  char buffer[10];
  EXPECT_THAT(writer->Append("more"), dead);
  EXPECT_THAT(writer->Sync(), dead);
  EXPECT_THAT(writer->Close(), dead);
  EXPECT_THAT(reader->ReadAt(0, buffer), dead);
  EXPECT_THAT(reader->Size(), dead);
  EXPECT_THAT(old_directory->CreateExclusive("b"), dead);
  EXPECT_THAT(old_directory->Remove("a"), dead);
  EXPECT_THAT(Contents(), ElementsAre("LOCK=", "a=bytes"));

  // The lock is free, and the old holder cannot release the new one.
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> new_lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  lock.reset();
  EXPECT_THAT(directory_->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(MemoryFileSystemTest, FaultsFailWithoutEffect) {
  CreateSynced("a", "bytes");
  const std::vector<std::string> before = Contents();
  files_.SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return absl::UnavailableError(std::string(NameOf(operation)) + " of " + path);
  });
  EXPECT_THAT(directory_->Remove("a"), StatusIs(absl::StatusCode::kUnavailable, "remove of /db/a"));
  EXPECT_FALSE(directory_->CreateExclusive("b").ok());
  EXPECT_FALSE(directory_->Rename("a", "b").ok());
  EXPECT_FALSE(directory_->AtomicReplace("c", "x", std::nullopt).ok());
  EXPECT_FALSE(directory_->Lock("LOCK", LockKind::kExclusive).ok());
  EXPECT_FALSE(directory_->OpenRead("a", ReadMode::kBuffered).ok());
  EXPECT_FALSE(files_.RemoveDirectory("/db").ok());
  EXPECT_FALSE(files_.crashed());
  files_.SetFault(nullptr);
  EXPECT_EQ(Contents(), before);
}

TEST_F(MemoryFileSystemTest, FailedSyncsAreFinal) {
  const std::unique_ptr<AppendFile> file = Create("a", "bytes");
  ASSERT_OK(directory_->Sync());
  files_.SetFault([](FileOperation operation, const std::string&, uint64_t) {
    return operation == FileOperation::kSyncFile ? absl::UnavailableError("EIO") : absl::OkStatus();
  });
  EXPECT_THAT(file->Sync(), StatusIs(absl::StatusCode::kUnavailable, "EIO"));
  files_.SetFault(nullptr);
  files_.ResetCounts();
  EXPECT_THAT(file->Sync(), StatusIs(absl::StatusCode::kUnavailable, "EIO"));
  EXPECT_EQ(files_.operation_count(), 0u);
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("a="));
}

TEST_F(MemoryFileSystemTest, FailedDirectorySyncsKeepNamesUndurable) {
  CreateSynced("a", "x");
  ASSERT_OK(directory_->Remove("a"));
  files_.SetFault([](FileOperation operation, const std::string&, uint64_t) {
    return operation == FileOperation::kSyncDirectory ? absl::UnavailableError("EIO")
                                                      : absl::OkStatus();
  });
  EXPECT_FALSE(directory_->Sync().ok());
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("a=x"));
}

TEST_F(MemoryFileSystemTest, SyncsNoDroppedNameBeforeItIsRecreated) {
  CreateSynced("removed", "x");
  CreateSynced("stays", "y");
  ASSERT_OK(Create("dropped", "1")->Sync());
  ASSERT_OK(Create("made again", "2")->Sync());
  ASSERT_OK(directory_->Remove("removed"));
  files_.DropUnsyncedNames("/db");
  EXPECT_THAT(Contents(), ElementsAre("dropped=1", "made again=2", "stays=y"));
  ASSERT_OK(directory_->Remove("made again"));
  ASSERT_OK(Create("made again", "3")->Sync());
  ASSERT_OK(Create("later", "4")->Sync());
  ASSERT_OK(directory_->Sync());
  const std::unique_ptr<MemoryFileSystem> clone = files_.Clone();
  clone->Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(*clone), ElementsAre("later=4", "made again=3", "removed=x", "stays=y"));
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("later=4", "made again=3", "removed=x", "stays=y"));
}

TEST_F(MemoryFileSystemTest, KeepsHalfOfAFailedAppend) {
  const std::unique_ptr<AppendFile> file = Create("a", "");
  files_.SetFault([](FileOperation operation, const std::string&, uint64_t) {
    return operation == FileOperation::kAppend ? absl::UnavailableError("EIO") : absl::OkStatus();
  });
  EXPECT_FALSE(file->Append("12345").ok());
  files_.SetFault(nullptr);
  EXPECT_EQ(files_.FileBytes("/db/a"), "12");
  EXPECT_EQ(file->size_bytes(), 2u);
}

TEST_F(MemoryFileSystemTest, LetsAFaultUseTheFileSystem) {
  files_.SetFault([this](FileOperation, const std::string&, uint64_t number) {
    return files_.FileBytes("/db/a").empty() && number > 1000 ? absl::AbortedError("")
                                                              : absl::OkStatus();
  });
  EXPECT_OK(directory_->CreateExclusive("a"));
}

TEST_F(MemoryFileSystemTest, FillsUp) {
  files_.SetFreeBytes(10);
  const std::unique_ptr<AppendFile> file = Create("a", "123456");
  EXPECT_THAT(directory_->AtomicReplace("CURRENT", "12345", std::nullopt),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("/db/CURRENT")));
  EXPECT_THAT(file->Append("abcdef"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("/db/a")));
  EXPECT_EQ(file->size_bytes(), 10u);
  EXPECT_THAT(Contents(), ElementsAre("a=123456abcd"));
  files_.SetFreeBytes(5);
  EXPECT_OK(directory_->AtomicReplace("CURRENT", "12345", std::nullopt));
  EXPECT_FALSE(file->Append("x").ok());
}

TEST_F(MemoryFileSystemTest, FreesSpaceWithTheLastName) {
  const auto free_bytes = [this] { return directory_->FreeBytes().value(); };
  Create("before", "1234");  // there before the limit is set
  files_.SetFreeBytes(10);
  Create("a", "123456");
  EXPECT_EQ(free_bytes(), 4u);
  ASSERT_OK(directory_->Remove("before"));
  EXPECT_EQ(free_bytes(), 8u);
  ASSERT_OK(directory_->Link("a", *directory_, "b"));
  ASSERT_OK(directory_->Remove("a"));
  EXPECT_EQ(free_bytes(), 8u);
  ASSERT_OK(directory_->Remove("b"));
  EXPECT_EQ(free_bytes(), 14u);
}

TEST_F(MemoryFileSystemTest, FreesSpaceOfReplacedFiles) {
  files_.SetFreeBytes(20);
  Create("a", "123456");
  Create("b", "123");
  ASSERT_OK(directory_->Rename("b", "a"));
  EXPECT_EQ(directory_->FreeBytes().value(), 17u);
  ASSERT_OK(directory_->Rename("a", "a"));
  EXPECT_EQ(directory_->FreeBytes().value(), 17u);
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "12345", std::nullopt));
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "1", "12345"));
  EXPECT_EQ(directory_->FreeBytes().value(), 16u);
}

TEST_F(MemoryFileSystemTest, FreesSpaceOfFilesLostInACrash) {
  files_.SetFreeBytes(10);
  CreateSynced("a", "123");
  Create("b", "4567");
  EXPECT_EQ(directory_->FreeBytes().value(), 3u);
  Restart(Unsynced::kLost);
  EXPECT_EQ(directory_->FreeBytes().value(), 7u);
  ASSERT_OK(directory_->Remove("a"));
  EXPECT_EQ(directory_->FreeBytes().value(), 10u);
  Restart(Unsynced::kLost);  // brings it back
  EXPECT_EQ(directory_->FreeBytes().value(), 7u);
}

TEST_F(MemoryFileSystemTest, FreesSpaceAppendedAfterARemoval) {
  files_.SetFreeBytes(10);
  std::unique_ptr<AppendFile> file = Create("a", "123");
  ASSERT_OK(directory_->Remove("a"));
  EXPECT_EQ(directory_->FreeBytes().value(), 10u);
  ASSERT_OK(file->Append("45"));
  EXPECT_EQ(directory_->FreeBytes().value(), 8u);
  file = nullptr;
  EXPECT_EQ(directory_->FreeBytes().value(), 10u);
}

TEST_F(MemoryFileSystemTest, AllocatesAvailableSpace) {
  files_.SetFreeBytes(10);
  const std::unique_ptr<AppendFile> file = Create("a", "123");
  ASSERT_OK(file->Allocate(4));
  EXPECT_EQ(file->size_bytes(), 7u);
  const absl::Status status = file->Allocate(4);
  EXPECT_TRUE(IsDiskFull(status)) << status;
  EXPECT_EQ(directory_->FreeBytes().value(), 0u);
  ASSERT_OK(directory_->Remove("a"));
  EXPECT_EQ(directory_->FreeBytes().value(), 10u);
}

TEST_F(MemoryFileSystemTest, ClonesAreIndependent) {
  CreateSynced("a", "old");
  const std::unique_ptr<AppendFile> file = Create("b", "open");
  ASSERT_OK(directory_->Remove("a"));
  const std::unique_ptr<MemoryFileSystem> clone = files_.Clone();

  ASSERT_OK(file->Append(" more"));
  ASSERT_OK(file->Sync());
  Create("c", "new");
  EXPECT_THAT(Contents(*clone), ElementsAre("b=open"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> clones_directory,
                       clone->OpenDirectory("/db", false));
  ASSERT_OK(clones_directory->Remove("b"));
  EXPECT_THAT(Contents(), ElementsAre("b=open more", "c=new"));
  clone->Restart(Unsynced::kLost);  // the clone also knows what was durable
  EXPECT_THAT(Contents(*clone), ElementsAre("a=old"));
  EXPECT_THAT(Contents(), ElementsAre("b=open more", "c=new"));
}

TEST_F(MemoryFileSystemTest, ClonesKnowWhichBytesAreDurable) {
  const std::unique_ptr<AppendFile> file = Create("a", "synced");
  ASSERT_OK(file->Sync());
  ASSERT_OK(directory_->Sync());
  ASSERT_OK(file->Append(" and not"));
  const std::unique_ptr<MemoryFileSystem> clone = files_.Clone();
  EXPECT_THAT(Contents(*clone), ElementsAre("a=synced and not"));
  clone->Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(*clone), ElementsAre("a=synced"));
}

TEST_F(MemoryFileSystemTest, ClonesHaveNoFaultsLocksOrCrash) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  files_.SetFault(
      [](FileOperation, const std::string&, uint64_t) { return absl::UnavailableError("fault"); });
  files_.CrashAt(0);
  const std::unique_ptr<MemoryFileSystem> clone = files_.Clone();
  EXPECT_EQ(clone->operation_count(), 0u);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       clone->OpenDirectory("/db", false));
  EXPECT_OK(directory->Lock("LOCK", LockKind::kExclusive));
}

TEST_F(MemoryFileSystemTest, DamageShowsInOpenFilesAndSurvivesCrashes) {
  CreateSynced("a", "sound");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> reader,
                       directory_->OpenRead("a", ReadMode::kBuffered));
  files_.SetFileBytes("/db/a", "damaged");
  char buffer[10];
  ASSERT_OK_AND_ASSIGN(const size_t bytes_read, reader->ReadAt(0, buffer));
  EXPECT_EQ(std::string(buffer, bytes_read), "damaged");
  files_.SetFileBytes("/db/new", "made");
  Restart(Unsynced::kLost);
  EXPECT_THAT(Contents(), ElementsAre("a=damaged", "new=made"));
  EXPECT_EQ(files_.FileBytes("/db/none"), "");
}

TEST_F(MemoryFileSystemTest, AppendsAfterBytesWereReplaced) {
  const std::unique_ptr<AppendFile> file = Create("a", "sound");
  files_.SetFileBytes("/db/a", "damaged");
  ASSERT_OK(file->Append(" more"));
  EXPECT_EQ(files_.FileBytes("/db/a"), "damaged more");
}

}  // namespace
}  // namespace lsm
