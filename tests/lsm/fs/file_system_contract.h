// The contract of file_system.h, as tests that run on every implementation.  A program includes
// this header once and instantiates FileSystemContractTest.
#ifndef TRELLIS_TESTS_LSM_FS_FILE_SYSTEM_CONTRACT_H_
#define TRELLIS_TESTS_LSM_FS_FILE_SYSTEM_CONTRACT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lsm/file_system.h"
#include "lsm/memory_file_system.h"
#include "tests/lsm/fs/directory_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {

class Backend {
 public:
  virtual ~Backend() = default;
  // Whether there is a file system to test.
  virtual absl::Status status() const { return absl::OkStatus(); }
  virtual FileSystem& file_system() = 0;
  virtual std::string root() const = 0;
  // An object store locks only LOCK, and only exclusively, shows a table only after its sync, and
  // allocates no space.
  virtual bool has_all_locks() const { return true; }
  virtual bool needs_sync() const { return false; }
  virtual bool allocates() const { return true; }
};

struct BackendFactory {
  std::string name;
  std::function<std::unique_ptr<Backend>()> make;
};
inline void PrintTo(const BackendFactory& factory, std::ostream* out) { *out << factory.name; }

class FileSystemContractTest : public DirectoryFixture,
                               public testing::WithParamInterface<BackendFactory> {
 protected:
  void SetUp() override {
    ASSERT_OK(backend_->status());
    ASSERT_OK_AND_ASSIGN(directory_, file_system().OpenDirectory(path(), /*create=*/true));
  }

  bool needs_sync() const override { return backend_->needs_sync(); }
  FileSystem& file_system() { return backend_->file_system(); }
  std::string path() const { return backend_->root() + "/store"; }

  std::vector<std::string> List() {
    absl::StatusOr<std::vector<std::string>> names = directory_->List();
    return names.ok() ? *names : std::vector<std::string>{names.status().ToString()};
  }

  const std::unique_ptr<Backend> backend_ = GetParam().make();
};

TEST_P(FileSystemContractTest, ReadsAppendedBytes) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  EXPECT_EQ(file->path(), path() + "/a");
  EXPECT_EQ(file->size_bytes(), 0u);
  ASSERT_OK(file->Append("hello "));
  ASSERT_OK(file->Append(""));
  EXPECT_EQ(Read("a"), "hello ");  // also while it is being written, unsynced
  ASSERT_OK(file->Append("world"));
  EXPECT_EQ(file->size_bytes(), 11u);
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Close());
  EXPECT_EQ(Read("a"), "hello world");
}

TEST_P(FileSystemContractTest, AllocatesZerosAndAppendsAfterThem) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive("a"));
  ASSERT_OK(file->Append("a"));
  ASSERT_OK(file->Allocate(0));
  if (!backend_->allocates()) {
    EXPECT_THAT(file->Allocate(3), testing_support::StatusIs(absl::StatusCode::kUnimplemented));
    return;
  }
  ASSERT_OK(file->Allocate(3));
  ASSERT_OK(file->Append("b"));
  EXPECT_EQ(file->size_bytes(), 5u);
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Close());
  EXPECT_EQ(Read("a"), std::string("a\0\0\0b", 5));
  EXPECT_EQ(directory_->Stat("a")->size_bytes, 5u);
}

TEST_P(FileSystemContractTest, KnowsItsFreeSpace) {
  ASSERT_OK_AND_ASSIGN(const uint64_t free, directory_->FreeBytes());
  EXPECT_GT(free, 0u);
}

TEST_P(FileSystemContractTest, ReadsAreShortOnlyAtTheEnd) {
  Write("a", "0123456789");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> file,
                       directory_->OpenRead("a", ReadMode::kBuffered));
  EXPECT_EQ(file->path(), path() + "/a");
  ASSERT_OK_AND_ASSIGN(const uint64_t size, file->Size());
  EXPECT_EQ(size, 10u);
  const auto read = [&](uint64_t offset, size_t length) {
    std::string buffer(length, '?');
    absl::StatusOr<size_t> bytes_read = file->ReadAt(offset, buffer);
    return bytes_read.ok() ? buffer.substr(0, *bytes_read) : bytes_read.status().ToString();
  };
  EXPECT_EQ(read(0, 10), "0123456789");
  EXPECT_EQ(read(3, 4), "3456");
  EXPECT_EQ(read(8, 5), "89");
  EXPECT_EQ(read(10, 5), "");
  EXPECT_EQ(read(uint64_t{1} << 40, 5), "");
  EXPECT_EQ(read(0, 0), "");
}

TEST_P(FileSystemContractTest, CreatesOnlyNewFiles) {
  Write("a", "old");
  EXPECT_THAT(directory_->CreateExclusive("a"),
              testing_support::StatusIs(absl::StatusCode::kAlreadyExists,
                                        testing::HasSubstr(path() + "/a")));
  EXPECT_EQ(Read("a"), "old");
}

TEST_P(FileSystemContractTest, NamesMissingFiles) {
  const auto names_the_file =
      testing_support::StatusIs(absl::StatusCode::kNotFound, testing::HasSubstr(path() + "/none"));
  EXPECT_THAT(directory_->OpenRead("none", ReadMode::kBuffered), names_the_file);
  EXPECT_THAT(directory_->OpenRead("none", ReadMode::kDirect), names_the_file);
  EXPECT_THAT(directory_->Stat("none"), names_the_file);
  EXPECT_THAT(directory_->Remove("none"), names_the_file);
  EXPECT_THAT(directory_->Rename("none", "other"), names_the_file);
  EXPECT_THAT(directory_->Lock("none", LockKind::kShared), names_the_file);
  EXPECT_THAT(List(), testing::IsEmpty());
}

TEST_P(FileSystemContractTest, RefusesNamesOutsideTheDirectory) {
  Write("a", "x");
  const std::string too_long(256, 'n');
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../a"), std::string("/a"),
        std::string("a/"), std::string("b/a"), std::string("a\0b", 3), too_long}) {
    const auto refused = testing_support::StatusIs(absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(directory_->OpenRead(name, ReadMode::kBuffered), refused) << name;
    EXPECT_THAT(directory_->CreateExclusive(name), refused) << name;
    EXPECT_THAT(directory_->Stat(name), refused) << name;
    EXPECT_THAT(directory_->Rename(name, "b"), refused) << name;
    EXPECT_THAT(directory_->Rename("a", name), refused) << name;
    EXPECT_THAT(directory_->Remove(name), refused) << name;
    EXPECT_THAT(directory_->AtomicReplace(name, "x", std::nullopt), refused) << name;
    EXPECT_THAT(directory_->Lock(name, LockKind::kExclusive), refused) << name;
  }
  EXPECT_THAT(List(), testing::UnorderedElementsAre("a"));
}

TEST_P(FileSystemContractTest, ListsFilesAndNotDirectories) {
  Write("a", "1");
  Write("b", "22");
  ASSERT_OK(file_system().OpenDirectory(path() + "/below", /*create=*/true));
  EXPECT_THAT(List(), testing::UnorderedElementsAre("a", "b"));
  EXPECT_THAT(List(), testing::UnorderedElementsAre("a", "b"));  // a second call gives the same
  ASSERT_OK_AND_ASSIGN(const FileInfo info, directory_->Stat("b"));
  EXPECT_EQ(info.size_bytes, 2u);
  EXPECT_THAT(directory_->CreateExclusive("below"),
              testing_support::StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(directory_->Stat("below"), testing_support::StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(
      directory_->OpenRead("below", ReadMode::kBuffered),
      testing_support::StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("directory")));
}

TEST_P(FileSystemContractTest, RenamesOverFilesAndKeepsHandles) {
  Write("a", "new");
  Write("b", "old");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> old_file,
                       directory_->OpenRead("b", ReadMode::kBuffered));
  ASSERT_OK(directory_->Rename("a", "b"));
  EXPECT_THAT(List(), testing::UnorderedElementsAre("b"));
  EXPECT_EQ(Read("b"), "new");
  std::string buffer(10, '?');
  ASSERT_OK_AND_ASSIGN(const size_t bytes_read, old_file->ReadAt(0, buffer));
  EXPECT_EQ(buffer.substr(0, bytes_read), "old");
  ASSERT_OK(directory_->Rename("b", "b"));
  EXPECT_EQ(Read("b"), "new");
}

TEST_P(FileSystemContractTest, LinksIntoAnotherDirectory) {
  const std::string a = "000001.table", b = "000002.table";  // an object store links only tables
  Write(a, "bytes");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> other,
                       file_system().OpenDirectory(path() + "/other", /*create=*/true));
  ASSERT_OK(directory_->Link(a, *other, a));
  EXPECT_THAT(directory_->Link(a, *other, a),
              testing_support::StatusIs(absl::StatusCode::kAlreadyExists,
                                        testing::HasSubstr("other/" + a)));
  EXPECT_THAT(directory_->Link("none", *other, "none"),
              testing_support::StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(directory_->Link("../a", *other, "../a"),
              testing_support::StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK(directory_->Remove(a));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*other, a, 100));
  EXPECT_EQ(bytes, "bytes");
  // A second name in the same directory.
  ASSERT_OK(other->Link(a, *other, b));
  EXPECT_THAT(other->Link(a, *other, "../b"),
              testing_support::StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK(other->Remove(a));
  ASSERT_OK_AND_ASSIGN(const std::string same_bytes, ReadWholeFile(*other, b, 100));
  EXPECT_EQ(same_bytes, "bytes");
}

// Directories of another file system have another class.
TEST_P(FileSystemContractTest, LinksIntoNoOtherFileSystem) {
  Write("a", "bytes");
  MemoryFileSystem elsewhere;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> other,
                       elsewhere.OpenDirectory("/other", /*create=*/true));
  EXPECT_THAT(directory_->Link("a", *other, "a"),
              testing_support::StatusIs(absl::StatusCode::kUnimplemented));
}

TEST_P(FileSystemContractTest, RemovesNamesOfOpenFiles) {
  Write("a", "bytes");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> file,
                       directory_->OpenRead("a", ReadMode::kBuffered));
  ASSERT_OK(directory_->Remove("a"));
  EXPECT_THAT(List(), testing::IsEmpty());
  std::string buffer(5, '?');
  ASSERT_OK_AND_ASSIGN(const size_t bytes_read, file->ReadAt(0, buffer));
  EXPECT_EQ(bytes_read, 5u);
  EXPECT_EQ(buffer, "bytes");
}

TEST_P(FileSystemContractTest, RemovesSeveralFiles) {
  for (const char* name : {"a", "000002.table", "c", "d"}) Write(name, "bytes");
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "one", std::nullopt));
  ASSERT_OK(file_system().OpenDirectory(path() + "/below", /*create=*/true));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> file,
                       directory_->OpenRead("a", ReadMode::kBuffered));
  EXPECT_THAT(directory_->RemoveAll({}), testing::IsEmpty());
  // An error of one name does not keep the others.
  const std::string names[] = {"none", "a", "below", "000002.table", "x/y", "CURRENT", "c"};
  using testing_support::IsOk, testing_support::StatusIs;
  const auto fails = [this](absl::StatusCode code, const std::string& name) {
    return StatusIs(code, testing::AllOf(testing::HasSubstr(path()), testing::HasSubstr(name)));
  };
  EXPECT_THAT(directory_->RemoveAll(names),
              testing::ElementsAre(
                  fails(absl::StatusCode::kNotFound, "none"), IsOk(), testing::Not(IsOk()), IsOk(),
                  fails(absl::StatusCode::kInvalidArgument, "x/y"), IsOk(), IsOk()));
  EXPECT_THAT(List(), testing::ElementsAre("d"));
  const std::string last[] = {"d"};
  EXPECT_THAT(directory_->RemoveAll(last), testing::ElementsAre(IsOk()));
  EXPECT_THAT(List(), testing::IsEmpty());
  std::string buffer(5, '?');
  ASSERT_OK_AND_ASSIGN(const size_t bytes_read, file->ReadAt(0, buffer));
  EXPECT_EQ(bytes_read, 5u);
}

TEST_P(FileSystemContractTest, ReplacesExpectedBytesAtomically) {
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "one", std::nullopt));
  EXPECT_EQ(Read("CURRENT"), "one");
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "number two", "one"));
  EXPECT_EQ(Read("CURRENT"), "number two");
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "", "number two"));
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "three", ""));
  EXPECT_EQ(Read("CURRENT"), "three");
  EXPECT_THAT(List(), testing::UnorderedElementsAre("CURRENT"));
}

TEST_P(FileSystemContractTest, RefusesToReplaceUnexpectedBytes) {
  const auto aborted = testing_support::StatusIs(absl::StatusCode::kAborted,
                                                 testing::HasSubstr(path() + "/CURRENT"));
  EXPECT_THAT(directory_->AtomicReplace("CURRENT", "x", ""), aborted);
  EXPECT_THAT(List(), testing::IsEmpty());
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "one", std::nullopt));
  for (const std::string_view other : {"", "on", "onf", "one ", "two", "one and more"}) {
    EXPECT_THAT(directory_->AtomicReplace("CURRENT", "x", other), aborted) << other;
  }
  EXPECT_THAT(directory_->AtomicReplace("CURRENT", "x", std::nullopt), aborted);
  EXPECT_EQ(Read("CURRENT"), "one");
  EXPECT_THAT(List(), testing::UnorderedElementsAre("CURRENT"));
}

TEST_P(FileSystemContractTest, LocksExclusivelyOnlyOnce) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> lock,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  EXPECT_THAT(List(), testing::UnorderedElementsAre("LOCK"));
  const auto refused =
      testing_support::StatusIs(absl::StatusCode::kFailedPrecondition,
                                testing::HasSubstr("/LOCK: already open in this process"));
  EXPECT_THAT(directory_->Lock("LOCK", LockKind::kExclusive), refused);
  if (backend_->has_all_locks()) {
    EXPECT_THAT(directory_->Lock("LOCK", LockKind::kShared), refused);
  } else {
    EXPECT_THAT(directory_->Lock("LOCK", LockKind::kShared),
                testing_support::StatusIs(absl::StatusCode::kNotFound));
  }
  // Another handle of the same directory makes no difference.
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> again,
                       file_system().OpenDirectory(path() + "/", /*create=*/false));
  EXPECT_THAT(again->Lock("LOCK", LockKind::kExclusive), refused);
  if (backend_->has_all_locks()) {
    EXPECT_OK(directory_->Lock("OTHER", LockKind::kExclusive));
  }
  lock.reset();
  EXPECT_OK(again->Lock("LOCK", LockKind::kExclusive));
}

TEST_P(FileSystemContractTest, ReadersShareTheLock) {
  if (!backend_->has_all_locks()) {
    EXPECT_THAT(directory_->Lock("LOCK", LockKind::kShared),
                testing_support::StatusIs(absl::StatusCode::kNotFound));
    return;
  }
  Write("LOCK", "");
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> first,
                       directory_->Lock("LOCK", LockKind::kShared));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> second,
                       directory_->Lock("LOCK", LockKind::kShared));
  first.reset();
  EXPECT_THAT(directory_->Lock("LOCK", LockKind::kExclusive),
              testing_support::StatusIs(absl::StatusCode::kFailedPrecondition));
  second.reset();
  EXPECT_OK(directory_->Lock("LOCK", LockKind::kExclusive));
}

TEST_P(FileSystemContractTest, MakesDirectoriesOnlyWhenAsked) {
  const std::string deep = path() + "/x/y//z/";
  EXPECT_THAT(file_system().OpenDirectory(deep, /*create=*/false),
              testing_support::StatusIs(absl::StatusCode::kNotFound, testing::HasSubstr("/x/y")));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> made,
                       file_system().OpenDirectory(deep, /*create=*/true));
  ASSERT_OK(made->CreateExclusive("a"));
  ASSERT_OK(made->Sync());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> again,
                       file_system().OpenDirectory(path() + "/x/y/z", /*create=*/false));
  EXPECT_OK(again->Stat("a"));
  EXPECT_OK(file_system().OpenDirectory(path() + "/x", /*create=*/false));
  EXPECT_THAT(file_system().OpenDirectory("", /*create=*/true),
              testing_support::StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(FileSystemContractTest, DoesNotOpenAFileAsADirectory) {
  Write("a", "x");
  EXPECT_THAT(file_system().OpenDirectory(path() + "/a", /*create=*/true),
              testing_support::StatusIs(absl::StatusCode::kInvalidArgument,
                                        testing::HasSubstr(path() + "/a")));
  EXPECT_THAT(file_system().OpenDirectory(path() + "/a/b", /*create=*/true),
              testing_support::StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(FileSystemContractTest, RemovesOnlyEmptyDirectories) {
  Write("a", "x");
  EXPECT_THAT(
      file_system().RemoveDirectory(path()),
      testing_support::StatusIs(absl::StatusCode::kFailedPrecondition, testing::HasSubstr(path())));
  ASSERT_OK(directory_->Remove("a"));
  ASSERT_OK(file_system().OpenDirectory(path() + "/below", /*create=*/true));
  EXPECT_THAT(file_system().RemoveDirectory(path()),
              testing_support::StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(file_system().RemoveDirectory(path() + "/below"));
  ASSERT_OK(file_system().RemoveDirectory(path()));
  EXPECT_THAT(file_system().RemoveDirectory(path()),
              testing_support::StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(file_system().OpenDirectory(path(), /*create=*/false),
              testing_support::StatusIs(absl::StatusCode::kNotFound));
  // The remaining handle cannot create files in the removed directory.
  EXPECT_THAT(
      directory_->CreateExclusive("b"),
      testing_support::StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("removed")));
  EXPECT_THAT(directory_->OpenRead("b", ReadMode::kBuffered),
              testing_support::StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(directory_->Stat("b"), testing_support::StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(FileSystemContractTest, KnowsPathsInsideADirectory) {
  for (const std::string end : {"", "/", "/.", "/below", "/not/yet/there"}) {
    ASSERT_OK_AND_ASSIGN(const bool is_inside, directory_->Contains(path() + end));
    EXPECT_TRUE(is_inside) << end;
  }
  for (const std::string& outside : {path() + "2", path() + "x/below", std::string("/")}) {
    ASSERT_OK_AND_ASSIGN(const bool is_inside, directory_->Contains(outside));
    EXPECT_FALSE(is_inside) << outside;
  }
}

TEST_P(FileSystemContractTest, ReadsManyWithSeparateOutcomes) {
  Write("a", "0123456789");
  Write("b", std::string(100'000, 'b'));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> a,
                       directory_->OpenRead("a", ReadMode::kBuffered));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> b,
                       directory_->OpenRead("b", ReadMode::kBuffered));
  std::vector<std::string> buffers(300, std::string(500, '?'));
  std::vector<ReadRequest> requests(buffers.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].file = i % 3 == 0 ? a.get() : b.get();
    requests[i].offset = i % 3 == 0 ? i % 12 : i * 400;
    requests[i].buffer = buffers[i];
    requests[i].status = absl::UnknownError("not done");
  }
  std::vector<int> told(requests.size());
  file_system().ReadMany(requests, [&](size_t number) {
    ++told[number];
    // The outcome is available now, not only at the end.
    EXPECT_OK(requests[number].status);
    EXPECT_LE(requests[number].bytes_read, 500u);
    const char first = number % 3 == 0 ? static_cast<char>('0' + number % 12) : 'b';
    EXPECT_TRUE(requests[number].bytes_read == 0 || buffers[number][0] == first) << number;
  });
  EXPECT_EQ(told, std::vector<int>(requests.size(), 1));
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_OK(requests[i].status);
    const std::string whole = i % 3 == 0 ? "0123456789" : std::string(100'000, 'b');
    const std::string expected =
        requests[i].offset < whole.size() ? whole.substr(requests[i].offset, 500) : "";
    EXPECT_EQ(buffers[i].substr(0, requests[i].bytes_read), expected) << "request " << i;
  }
  file_system().ReadMany({});
}

TEST_P(FileSystemContractTest, KeepsTheReadLimit) {
  Write("a", "0123456789");
  ASSERT_OK_AND_ASSIGN(const std::string exact, ReadWholeFile(*directory_, "a", 10));
  EXPECT_EQ(exact, "0123456789");
  EXPECT_THAT(ReadWholeFile(*directory_, "a", 9),
              testing_support::StatusIs(absl::StatusCode::kResourceExhausted,
                                        testing::HasSubstr(path() + "/a")));
}

TEST_P(FileSystemContractTest, DirectoriesKnowTheirPath) { EXPECT_EQ(directory_->path(), path()); }

TEST_P(FileSystemContractTest, KeepsLargeAppendsWhole) {
  std::string large(3'000'000, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 + (i >> 10));
  Write("a", large);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*directory_, "a", large.size()));
  EXPECT_TRUE(bytes == large);
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_FS_FILE_SYSTEM_CONTRACT_H_
