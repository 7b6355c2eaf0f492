// The promises about threads in file_system.h.  Mainly for ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/memory_file_system.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

constexpr int kThreadCount = 4;

void InThreads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreadCount; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

void WriteReadAndRemoveAtOnce(FileSystem& file_system, const std::string& path) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       file_system.OpenDirectory(path, /*create=*/true));
  {
    ASSERT_OK_AND_ASSIGN(const auto file, directory->CreateExclusive("shared"));
    ASSERT_OK(file->Append(std::string(50'000, 's')));
    ASSERT_OK(file->Close());
  }
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> shared,
                       directory->OpenRead("shared", ReadMode::kBuffered));
  absl::StatusOr<std::unique_ptr<ReadFile>> direct =
      directory->OpenRead("shared", ReadMode::kDirect);
  InThreads([&](int thread) {
    for (int i = 0; i < 25; ++i) {
      const std::string name = std::to_string(thread) + "-" + std::to_string(i);
      absl::StatusOr<std::unique_ptr<AppendFile>> file = directory->CreateExclusive(name);
      ASSERT_OK(file);
      ASSERT_OK((*file)->Append(name));
      ASSERT_OK((*file)->Close());
      std::string buffer(777, '?');
      ASSERT_OK(shared->ReadAt(static_cast<uint64_t>(i) * 997, buffer));
      EXPECT_EQ(buffer, std::string(777, 's'));
      if (direct.ok()) {
        ASSERT_OK((*direct)->ReadAt(static_cast<uint64_t>(i) * 997, buffer));
        EXPECT_EQ(buffer, std::string(777, 's'));
      }
      std::string first(100, '?'), second(100, '?');
      std::vector<ReadRequest> requests(2);
      requests[0] = {shared.get(), static_cast<uint64_t>(i), first, absl::OkStatus(), 0};
      requests[1] = {shared.get(), 40'000, second, absl::OkStatus(), 0};
      file_system.ReadMany(requests);
      EXPECT_EQ(first + second, std::string(200, 's'));
      ASSERT_OK(directory->List());
      EXPECT_EQ(ReadWholeFile(*directory, name, 100).value(), name);
      ASSERT_OK(directory->Remove(name));
    }
  });
}

TEST(ConcurrentFileSystemTest, ManyThreadsUseOnePosixDirectory) {
  const testing_support::ScratchDir scratch;
  WriteReadAndRemoveAtOnce(PosixFileSystem(), scratch.path());
}

TEST(ConcurrentFileSystemTest, ManyThreadsUseOneDirectoryInMemory) {
  MemoryFileSystem files;
  files.SetFault([](FileOperation, const std::string&, uint64_t) { return absl::OkStatus(); });
  WriteReadAndRemoveAtOnce(files, "/db");
}

void ExcludeEachOther(FileSystem& file_system, const std::string& path) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       file_system.OpenDirectory(path, /*create=*/true));
  std::atomic<int> holders = 0;
  std::atomic<int> taken = 0;
  InThreads([&](int) {
    while (taken < 50) {
      absl::StatusOr<std::unique_ptr<FileLock>> lock =
          directory->Lock("LOCK", LockKind::kExclusive);
      if (!lock.ok()) {
        ASSERT_TRUE(absl::IsFailedPrecondition(lock.status())) << lock.status();
        continue;
      }
      EXPECT_EQ(++holders, 1);
      ++taken;
      --holders;
    }
  });
}

TEST(ConcurrentFileSystemTest, OneThreadAtATimeHoldsAPosixLock) {
  const testing_support::ScratchDir scratch;
  ExcludeEachOther(PosixFileSystem(), scratch.path());
}

TEST(ConcurrentFileSystemTest, OneThreadAtATimeHoldsALockInMemory) {
  MemoryFileSystem files;
  ExcludeEachOther(files, "/db");
}

void ReplaceInTurn(FileSystem& file_system, const std::string& path) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       file_system.OpenDirectory(path, /*create=*/true));
  ASSERT_OK(directory->AtomicReplace("CURRENT", "0", std::nullopt));
  std::atomic<int> replaced = 0;
  InThreads([&](int) {
    for (int i = 0; i < 10; ++i) {
      const std::string old_bytes = ReadWholeFile(*directory, "CURRENT", 100).value();
      const std::string next = std::to_string(std::stoi(old_bytes) + 1);
      const absl::Status status = directory->AtomicReplace("CURRENT", next, old_bytes);
      if (status.ok()) ++replaced;
      EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status;
    }
  });
  // Each success increased the number that it had read by one.  None was lost.
  EXPECT_EQ(ReadWholeFile(*directory, "CURRENT", 100).value(), std::to_string(replaced));
}

TEST(ConcurrentFileSystemTest, ReplacesInAPosixDirectoryComeOneAfterAnother) {
  const testing_support::ScratchDir scratch;
  ReplaceInTurn(PosixFileSystem(), scratch.path());
}

TEST(ConcurrentFileSystemTest, ReplacesInMemoryComeOneAfterAnother) {
  MemoryFileSystem files;
  ReplaceInTurn(files, "/db");
}

}  // namespace
}  // namespace lsm
