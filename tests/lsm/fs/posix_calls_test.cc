// The system calls of the POSIX file system, their order, and its behaviour when a call is
// interrupted, is cut short or fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "tests/lsm/fs/directory_fixture.h"
#include "tests/lsm/fs/watched_calls.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing_support::StatusIs;

class PosixCallsTest : public DirectoryFixture {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(directory_, PosixFileSystem().OpenDirectory(path(), /*create=*/true));
  }
  void TearDown() override { call_script = nullptr; }

  std::string path() const { return scratch_.path_of("store"); }

  // Forgets the calls so far.
  void Watch() {
    script_ = CallScript();
    call_script = &script_;
  }
  std::vector<std::string> Calls() {
    call_script = nullptr;
    return script_.calls;
  }

  const testing_support::ScratchDir scratch_;
  CallScript script_;
};

TEST_F(PosixCallsTest, HandsEachAppendToTheKernelAtOnce) {
  Watch();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  ASSERT_OK(file->Append("one"));
  ASSERT_OK(file->Append("two"));
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Close());
  ASSERT_OK(directory_->Sync());
  EXPECT_THAT(Calls(), ElementsAre("create a", "write a", "write a", "fdatasync a", "close a",
                                   "fsync store"));
}

TEST_F(PosixCallsTest, ReplacesByRenameOfASyncedFile) {
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "old", std::nullopt));
  Watch();
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "new", "old"));
  EXPECT_THAT(Calls(),
              ElementsAre("open CURRENT", "pread CURRENT", "pread CURRENT", "close CURRENT",
                          "unlink CURRENT.tmp", "create CURRENT.tmp", "write CURRENT.tmp",
                          "fdatasync CURRENT.tmp", "close CURRENT.tmp",
                          "rename CURRENT.tmp CURRENT", "fsync store"));
}

TEST_F(PosixCallsTest, FailedReplacesKeepTheOldBytes) {
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "old", std::nullopt));
  for (const char* call : {"open", "pread", "unlink", "create", "write", "fdatasync", "rename"}) {
    Watch();
    script_.fail[call] = {EIO};
    bool may_hold_new_bytes = false;
    EXPECT_THAT(
        directory_->AtomicReplace("CURRENT", "new", "old", [&] { may_hold_new_bytes = true; }),
        StatusIs(absl::StatusCode::kUnavailable, HasSubstr("CURRENT")))
        << call;
    EXPECT_EQ(may_hold_new_bytes, std::string_view(call) == "rename") << call;
    call_script = nullptr;
    EXPECT_EQ(Read("CURRENT"), "old") << call;
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, directory_->List());
    EXPECT_THAT(names, UnorderedElementsAre("CURRENT")) << call;
  }
  // From here on a crash may leave either file, and the caller gets an error.
  Watch();
  script_.fail["fsync"] = {EIO};
  EXPECT_THAT(
      directory_->AtomicReplace("CURRENT", "new", "old"),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path() + ": sync of the directory")));
}

TEST_F(PosixCallsTest, TellsMissingDescriptorsFromOtherBytes) {
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "old", std::nullopt));
  for (const char* call : {"open", "create"}) {
    Watch();
    script_.fail[call] = {EMFILE, EMFILE, EMFILE, EMFILE};  // also with each spare descriptor
    EXPECT_THAT(directory_->AtomicReplace("CURRENT", "new", "old"),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("Too many open files")))
        << call;
  }
}

// Three descriptors are reserved for files that every write needs.
TEST_F(PosixCallsTest, ImportantFilesUseASpareDescriptor) {
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "old", std::nullopt));
  for (const char* name : {"000001.log", "000002.manifest", "CURRENT.tmp"}) {
    Watch();
    script_.fail["create"] = {EMFILE};
    EXPECT_OK(directory_->CreateExclusive(name)) << name;
  }
  Watch();
  script_.fail["open"] = {EMFILE};
  EXPECT_OK(directory_->OpenRead("CURRENT", ReadMode::kBuffered));
  script_.fail["create"] = {EMFILE};
  EXPECT_THAT(directory_->CreateExclusive("000003.table"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("000003.table")));
  EXPECT_THAT(Calls().back(), "create 000003.table");
}

// Another thread of the process may take the freed descriptor first.
TEST_F(PosixCallsTest, TakesTheNextSpareDescriptor) {
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "old", std::nullopt));
  for (const bool creates : {true, false}) {
    Watch();
    script_.fail[creates ? "create" : "open"] = {EMFILE, EMFILE, EMFILE};
    if (creates) {
      EXPECT_OK(directory_->CreateExclusive("000001.log"));
    } else {
      EXPECT_OK(directory_->OpenRead("000001.log", ReadMode::kBuffered));
    }
    script_.fail.clear();
    ASSERT_OK(directory_->CreateExclusive(creates ? "a" : "b"));  // reserves descriptors again
  }
}

TEST_F(PosixCallsTest, WritesAllBytesThroughInterruptionsAndShortWrites) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  Watch();
  script_.fail["write"] = {EINTR, EINTR, 0, EINTR};
  script_.transfer_max = 4;
  ASSERT_OK(file->Append("0123456789"));
  EXPECT_EQ(file->size_bytes(), 10u);
  EXPECT_EQ(Calls().size(), 6u);
  EXPECT_EQ(Read("a"), "0123456789");
}

TEST_F(PosixCallsTest, AllocatesWithoutWriting) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  ASSERT_OK(file->Append("x"));
  Watch();
  script_.fail["fallocate"] = {EINTR};
  ASSERT_OK(file->Allocate(1 << 20));
  EXPECT_THAT(Calls(), ElementsAre("fallocate a", "fallocate a"));
  ASSERT_OK(file->Append("y"));
  EXPECT_EQ(file->size_bytes(), (1u << 20) + 2);
  struct stat info {};
  ASSERT_EQ(::stat((path() + "/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, (1 << 20) + 2);
  EXPECT_GE(info.st_blocks * 512, 1 << 20);  // it is not sparse
}

TEST_F(PosixCallsTest, WritesZerosWithoutAllocation) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  Watch();
  script_.fail["fallocate"] = {EOPNOTSUPP};
  ASSERT_OK(file->Allocate(5));
  EXPECT_THAT(Calls(), ElementsAre("fallocate a", "write a", "fdatasync a"));
  EXPECT_EQ(Read("a"), std::string(5, '\0'));
}

TEST_F(PosixCallsTest, TellsAFullDiskFromOtherLimits) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  for (const int error : {ENOSPC, EDQUOT, EMFILE, EFBIG, EIO}) {
    Watch();
    script_.fail["fallocate"] = {error};
    const absl::Status status = file->Allocate(5);
    EXPECT_THAT(status.ToString(), HasSubstr("/a: allocate 5 bytes at offset 0")) << error;
    EXPECT_EQ(IsDiskFull(status), error == ENOSPC || error == EDQUOT) << status;
  }
}

TEST_F(PosixCallsTest, ReportsUnknownFreeSpace) {
  Watch();
  script_.fail["fstatvfs"] = {EINTR, EIO};
  EXPECT_THAT(directory_->FreeBytes(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("free space")));
  call_script = nullptr;
  EXPECT_OK(directory_->FreeBytes());
}

TEST_F(PosixCallsTest, CountsBytesBeforeAFailedWrite) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  Watch();
  script_.fail["write"] = {0, ENOSPC};
  script_.transfer_max = 4;
  EXPECT_THAT(file->Append("0123456789"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("/a: write at offset 4")));
  EXPECT_EQ(file->size_bytes(), 4u);
}

TEST_F(PosixCallsTest, ReadsAllBytesThroughInterruptionsAndShortReads) {
  std::string bytes(20'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  Write("a", bytes);
  for (const ReadMode mode : {ReadMode::kBuffered, ReadMode::kDirect}) {
    absl::StatusOr<std::unique_ptr<ReadFile>> file = directory_->OpenRead("a", mode);
    if (absl::IsInvalidArgument(file.status())) continue;  // no direct I/O here
    ASSERT_OK(file);
    std::string buffer(15'000, '?');
    Watch();
    script_.fail["pread"] = {EINTR, EINTR};
    script_.transfer_max = 4096;
    ASSERT_OK_AND_ASSIGN(const size_t bytes_read, (*file)->ReadAt(1000, buffer));
    call_script = nullptr;
    EXPECT_EQ(bytes_read, buffer.size());
    EXPECT_TRUE(buffer == bytes.substr(1000, 15'000));
  }
}

TEST_F(PosixCallsTest, ReportsFailedReadsWithTheirOffset) {
  Write("a", std::string(20'000, 'x'));
  for (const ReadMode mode : {ReadMode::kBuffered, ReadMode::kDirect}) {
    absl::StatusOr<std::unique_ptr<ReadFile>> file = directory_->OpenRead("a", mode);
    if (absl::IsInvalidArgument(file.status())) continue;
    ASSERT_OK(file);
    std::string buffer(9000, '?');
    Watch();
    script_.fail["pread"] = {0, EIO};
    script_.transfer_max = 4096;
    EXPECT_THAT((*file)->ReadAt(0, buffer),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("/a: read at offset 4096: Input/output error")));
    call_script = nullptr;
  }
}

TEST_F(PosixCallsTest, TellsShortDirectReadsFromTheEnd) {
  Write("a", std::string(20'000, 'x'));
  absl::StatusOr<std::unique_ptr<ReadFile>> file = directory_->OpenRead("a", ReadMode::kDirect);
  if (absl::IsInvalidArgument(file.status())) return;  // no direct I/O here
  ASSERT_OK(file);
  std::string buffer(9000, '?');
  Watch();
  script_.transfer_max = 100;  // less than a block of any device, and never the end
  EXPECT_THAT((*file)->ReadAt(0, buffer), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(PosixCallsTest, StartsWritebackInSteps) {
  Watch();
  script_.fail["sync_file_range"] = {EIO};
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  ASSERT_OK(file->Append("x"));
  file->StartWriteback();
  ASSERT_OK(file->Append(std::string(10'000, 'x')));
  for (int i = 0; i < 2; ++i) file->StartWriteback();
  ASSERT_OK(file->Append(std::string(4096, 'x')));
  file->StartWriteback();
  ASSERT_OK(file->Sync());
  EXPECT_THAT(Calls(), ElementsAre("create a", "write a", "write a", "sync_file_range a", "write a",
                                   "sync_file_range a", "fdatasync a"));
}

TEST_F(PosixCallsTest, NeverSyncsAgainAfterAFailedSync) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  ASSERT_OK(file->Append("x"));
  Watch();
  script_.fail["fdatasync"] = {EIO};
  const auto first_error =
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/a: sync: Input/output error"));
  EXPECT_THAT(file->Sync(), first_error);
  EXPECT_THAT(file->Sync(), first_error);
  EXPECT_THAT(Calls(), ElementsAre("fdatasync a"));
}

TEST_F(PosixCallsTest, RetriesInterruptedSyncs) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  Watch();
  script_.fail["fdatasync"] = {EINTR};
  script_.fail["fsync"] = {EINTR};
  EXPECT_OK(file->Sync());
  EXPECT_OK(directory_->Sync());
  EXPECT_THAT(Calls(), ElementsAre("fdatasync a", "fdatasync a", "fsync store", "fsync store"));
}

TEST_F(PosixCallsTest, ReportsFailedClosesAndClosesOnce) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  Watch();
  script_.fail["close"] = {EIO};
  EXPECT_THAT(file->Close(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/a: close")));
  file.reset();
  EXPECT_THAT(Calls(), ElementsAre("close a"));
}

TEST_F(PosixCallsTest, MakesDirectoriesDurableFromTheTopDown) {
  Watch();
  ASSERT_OK(PosixFileSystem().OpenDirectory(path() + "/x/y", /*create=*/true));
  std::vector<std::string> calls = Calls();
  std::erase_if(calls, [](const std::string& call) { return call.starts_with("close"); });
  EXPECT_THAT(calls, ElementsAre("mkdir y", "mkdir x", "fsync store", "mkdir y", "fsync x"));
  Watch();  // an older process may have made it and been killed before its sync
  ASSERT_OK(PosixFileSystem().OpenDirectory(path() + "/x/y", /*create=*/true));
  EXPECT_THAT(Calls(), testing::Contains("fsync x"));
  Watch();
  ASSERT_OK(PosixFileSystem().OpenDirectory(path() + "/x/y", /*create=*/false));
  EXPECT_THAT(Calls(), testing::Not(testing::Contains(HasSubstr("fsync"))));
}

// The kernel reports a failed sync only once.  Another attempt must not assume that the name is
// durable.
TEST_F(PosixCallsTest, DirectoriesWithoutDurableNamesAreMissing) {
  const auto open = [&] { return PosixFileSystem().OpenDirectory(path() + "/x", /*create=*/true); };
  for (int attempt = 0; attempt < 2; ++attempt) {
    Watch();
    script_.fail["fsync"] = {EIO};
    EXPECT_THAT(open(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("sync")));
    EXPECT_THAT(PosixFileSystem().OpenDirectory(path() + "/x", /*create=*/false),
                StatusIs(absl::StatusCode::kNotFound));
  }
  Watch();
  ASSERT_OK(open());
  // Another process may have made the directory, so this one must sync it again.
  Watch();
  script_.fail["fsync"] = {EIO};
  EXPECT_THAT(open(), StatusIs(absl::StatusCode::kUnavailable));
  // The parent may be on a read-only file system, which does not support sync.
  Watch();
  script_.fail["fsync"] = {EINVAL};
  EXPECT_OK(open());
}

// The caller then copies instead.  That must not hide other errors.
TEST_F(PosixCallsTest, ReportsMissingLinkSupport) {
  ASSERT_OK(directory_->CreateExclusive("a"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> other,
                       PosixFileSystem(FileAccess::kOwner).OpenDirectory(path() + "/other", true));
  for (const int error : {EXDEV, EPERM, EMLINK, EOPNOTSUPP, ENOSYS, EIO, ENOSPC}) {
    Watch();
    script_.fail["link"] = {error};
    const absl::StatusCode code = error == EIO      ? absl::StatusCode::kUnavailable
                                  : error == ENOSPC ? absl::StatusCode::kResourceExhausted
                                                    : absl::StatusCode::kUnimplemented;
    EXPECT_THAT(directory_->Link("a", *other, "a"), StatusIs(code)) << error;
  }
  EXPECT_OK(directory_->Link("a", *other, "a"));
}

TEST_F(PosixCallsTest, RemovesAndRenamesByNamesInTheDirectory) {
  Write("a", "x");
  Watch();
  ASSERT_OK(directory_->Rename("a", "b"));
  ASSERT_OK(directory_->Remove("b"));
  EXPECT_THAT(Calls(), ElementsAre("rename a b", "unlink b"));
}

}  // namespace
}  // namespace lsm
