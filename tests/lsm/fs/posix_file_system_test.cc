// The POSIX file system, beyond the contract: permissions, links and special files, direct reads,
// limits of the system.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/lsm/fs/directory_fixture.h"
#include "tests/support/dice.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing_support::Dice;
using testing_support::InChild;
using testing_support::ScratchDir;
using testing_support::StatusIs;

class PosixFileSystemTest : public DirectoryFixture {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(directory_, PosixFileSystem().OpenDirectory(path(), /*create=*/true));
  }

  std::string path() const { return scratch_.path_of("store"); }
  std::string path_of(std::string_view name) const { return path() + "/" + std::string(name); }

  const ScratchDir scratch_;
};

TEST_F(PosixFileSystemTest, ContainsFollowsPathsThroughMissingDirectories) {
  std::filesystem::create_directory(path_of("below"));
  std::filesystem::create_directory(scratch_.path_of("beside"));
  std::filesystem::create_directory_symlink(path_of("below"), scratch_.path_of("link"));
  for (const std::string end :
       {"new/../store", "new/../store/a/b", "new/a/../../store", "new//./../store/", "new/../link",
        "new/../link/..", "store/new/..", "store/new/../below/new/../..", "beside/new/../../store",
        "new/../beside/new/../../link/a"}) {
    ASSERT_OK_AND_ASSIGN(const bool is_inside, directory_->Contains(scratch_.path_of(end)));
    EXPECT_TRUE(is_inside) << end;
  }
  for (const std::string end : {"new/store", "new/../beside/store", "store/new/../..",
                                "store/new/../../store2", "new/../link/../.."}) {
    ASSERT_OK_AND_ASSIGN(const bool is_inside, directory_->Contains(scratch_.path_of(end)));
    EXPECT_FALSE(is_inside) << end;
  }
}

TEST_F(PosixFileSystemTest, SetsTheRequestedMode) {
  struct Modes {
    FileSystem& files;
    std::string top;
    mode_t directories, files_in_it;
  };
  for (const Modes& modes : {Modes{PosixFileSystem(), "default", 0700, 0600},
                             Modes{PosixFileSystem(FileAccess::kOwner), "owner", 0700, 0600},
                             Modes{PosixFileSystem(FileAccess::kGroup), "group", 0750, 0640},
                             Modes{PosixFileSystem(FileAccess::kAll), "all", 0755, 0644}}) {
    const mode_t mask = ::umask(0);  // so that only the requested modes count
    ASSERT_OK_AND_ASSIGN(const auto directory,
                         modes.files.OpenDirectory(path_of(modes.top + "/below"), /*create=*/true));
    ASSERT_OK(directory->CreateExclusive("file"));
    ASSERT_OK(directory->AtomicReplace("CURRENT", "secret", std::nullopt));
    ASSERT_OK(directory->Lock("LOCK", LockKind::kExclusive));
    ::umask(mask);
    const auto mode_of = [&](std::string_view name) {
      struct stat info {};
      EXPECT_EQ(::stat(path_of(modes.top + std::string(name)).c_str(), &info), 0) << name;
      return info.st_mode & 07777;
    };
    EXPECT_EQ(mode_of(""), modes.directories);
    EXPECT_EQ(mode_of("/below"), modes.directories);
    EXPECT_EQ(mode_of("/below/file"), modes.files_in_it);
    EXPECT_EQ(mode_of("/below/CURRENT"), modes.files_in_it);
    EXPECT_EQ(mode_of("/below/LOCK"), modes.files_in_it);
  }
}

TEST_F(PosixFileSystemTest, FollowsNoSymbolicLink) {
  std::ofstream(scratch_.path_of("outside")) << "secret";
  ASSERT_EQ(::symlink("../outside", path_of("link").c_str()), 0);
  ASSERT_EQ(::symlink("../missing", path_of("dangling").c_str()), 0);
  for (const char* name : {"link", "dangling"}) {
    const auto is_a_link = StatusIs(absl::StatusCode::kUnavailable,
                                    path_of(name) + ": is a symbolic link, not a regular file");
    EXPECT_THAT(directory_->OpenRead(name, ReadMode::kBuffered), is_a_link);
    EXPECT_THAT(directory_->OpenRead(name, ReadMode::kDirect), is_a_link);
    EXPECT_THAT(directory_->Stat(name), is_a_link);
    EXPECT_THAT(directory_->Lock(name, LockKind::kExclusive), is_a_link);
    EXPECT_THAT(directory_->Lock(name, LockKind::kShared), is_a_link);
    EXPECT_THAT(directory_->AtomicReplace(name, "x", "secret"), is_a_link);
    EXPECT_THAT(directory_->CreateExclusive(name), StatusIs(absl::StatusCode::kAlreadyExists));
  }
  EXPECT_FALSE(std::filesystem::exists(scratch_.path_of("missing")));
  // A link where AtomicReplace puts its temporary file is removed, not written through.
  ASSERT_EQ(::symlink("../outside", path_of("CURRENT.tmp").c_str()), 0);
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "new", std::nullopt));
  EXPECT_EQ(Read("CURRENT"), "new");
  std::string outside;
  std::ifstream(scratch_.path_of("outside")) >> outside;
  EXPECT_EQ(outside, "secret");
}

TEST_F(PosixFileSystemTest, OpensNoSpecialFiles) {
  ASSERT_EQ(::mkfifo(path_of("fifo").c_str(), 0600), 0);
  const auto is_a_fifo =
      StatusIs(absl::StatusCode::kUnavailable, path_of("fifo") + ": is a FIFO, not a regular file");
  EXPECT_THAT(directory_->OpenRead("fifo", ReadMode::kBuffered), is_a_fifo);
  EXPECT_THAT(directory_->Stat("fifo"), is_a_fifo);
  EXPECT_THAT(directory_->Lock("fifo", LockKind::kExclusive), is_a_fifo);
  EXPECT_THAT(directory_->Lock("fifo", LockKind::kShared), is_a_fifo);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> devices,
                       PosixFileSystem().OpenDirectory("/dev", /*create=*/false));
  EXPECT_THAT(devices->OpenRead("zero", ReadMode::kBuffered),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/dev/zero: is a device")));
}

TEST_F(PosixFileSystemTest, KeepsDescriptorsFromOtherPrograms) {
  Write("file", "x");
  ASSERT_OK_AND_ASSIGN(const auto reader, directory_->OpenRead("file", ReadMode::kBuffered));
  ASSERT_OK_AND_ASSIGN(const auto writer, directory_->CreateExclusive("other"));
  ASSERT_OK_AND_ASSIGN(const auto lock, directory_->Lock("LOCK", LockKind::kExclusive));
  int ours = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the iterator's own descriptor is listed too
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!target.starts_with(path())) continue;
    ++ours;
    const int fd = std::stoi(entry.path().filename().string());
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC) << target;
  }
  EXPECT_EQ(ours, 4 + 3);  // spare ones
}

TEST_F(PosixFileSystemTest, FollowsItsRenamedDirectory) {
  Write("a", "mine");
  std::filesystem::rename(path(), scratch_.path_of("elsewhere"));
  std::filesystem::create_directory(path());
  std::ofstream(path_of("a")) << "not mine";
  EXPECT_EQ(Read("a"), "mine");
}

TEST_F(PosixFileSystemTest, ListsLinksAndSpecialFilesAsFiles) {
  Write("a", "x");
  ASSERT_EQ(::symlink("a", path_of("link").c_str()), 0);
  ASSERT_EQ(::mkfifo(path_of("fifo").c_str(), 0600), 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, directory_->List());
  EXPECT_THAT(names, UnorderedElementsAre("a", "link", "fifo"));
}

TEST_F(PosixFileSystemTest, RemovesFilesOfInterruptedReplaces) {
  Write("CURRENT.tmp", "half of someth");
  ASSERT_OK(directory_->AtomicReplace("CURRENT", "whole", std::nullopt));
  EXPECT_EQ(Read("CURRENT"), "whole");
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, directory_->List());
  EXPECT_THAT(names, UnorderedElementsAre("CURRENT"));
}

TEST_F(PosixFileSystemTest, ReadsPastThePageCacheAtAnyOffsetAndLength) {
  std::string bytes(700'001, '\0');
  Dice dice(1);
  for (char& c : bytes) c = static_cast<char>(dice.Next());
  Write("a", bytes);
  absl::StatusOr<std::unique_ptr<ReadFile>> opened = directory_->OpenRead("a", ReadMode::kDirect);
  if (absl::IsInvalidArgument(opened.status())) return;  // no direct I/O here
  ASSERT_OK(opened);
  const ReadFile& file = **opened;
  ASSERT_OK_AND_ASSIGN(const uint64_t size, file.Size());
  ASSERT_EQ(size, bytes.size());
  const auto expect_same = [&](uint64_t offset, size_t length) {
    std::string buffer(length, '?');
    absl::StatusOr<size_t> bytes_read = file.ReadAt(offset, buffer);
    ASSERT_OK(bytes_read);
    const std::string expected = offset < bytes.size() ? bytes.substr(offset, length) : "";
    EXPECT_EQ(*bytes_read, expected.size()) << offset << " " << length;
    EXPECT_TRUE(buffer.substr(0, *bytes_read) == expected) << offset << " " << length;
  };
  for (const uint64_t offset : {0, 1, 511, 512, 4095, 4096, 4097, 262'143, 262'144, 699'999,
                                700'000, 700'001, 700'002, 5'000'000}) {
    for (const size_t length :
         {0, 1, 2, 511, 4096, 4097, 9000, 262'144, 262'145, 700'001, 800'000}) {
      expect_same(offset, length);
    }
  }
  for (int i = 0; i < 300; ++i) expect_same(dice.Roll(710'000), dice.Roll(20'000));
}

TEST_F(PosixFileSystemTest, ReadsDirectlyFromFilesOfAnyLength) {
  for (const size_t length : {0, 1, 511, 512, 513, 4095, 4096, 4097, 8192}) {
    const std::string name = "file" + std::to_string(length);
    Write(name, std::string(length, 'x'));
    absl::StatusOr<std::unique_ptr<ReadFile>> opened =
        directory_->OpenRead(name, ReadMode::kDirect);
    if (absl::IsInvalidArgument(opened.status())) return;  // no direct I/O here
    ASSERT_OK(opened);
    std::string buffer(length + 10, '?');
    ASSERT_OK_AND_ASSIGN(const size_t bytes_read, (*opened)->ReadAt(0, buffer));
    EXPECT_EQ(buffer.substr(0, bytes_read), std::string(length, 'x'));
  }
}

TEST_F(PosixFileSystemTest, ReportsUnsupportedDirectReads) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> process,
                       PosixFileSystem().OpenDirectory("/proc/self", /*create=*/false));
  EXPECT_OK(process->OpenRead("status", ReadMode::kBuffered));
  EXPECT_THAT(process->OpenRead("status", ReadMode::kDirect),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr("direct I/O"), HasSubstr("/proc/self/status"))));
}

TEST_F(PosixFileSystemTest, RefusesOffsetsBeyondTheSystem) {
  Write("a", "x");
  for (const ReadMode mode : {ReadMode::kBuffered, ReadMode::kDirect}) {
    absl::StatusOr<std::unique_ptr<ReadFile>> file = directory_->OpenRead("a", mode);
    if (absl::IsInvalidArgument(file.status())) continue;  // no direct I/O here
    ASSERT_OK(file);
    char buffer[10];
    for (const uint64_t offset : {uint64_t{1} << 63, ~uint64_t{0}, (uint64_t{1} << 63) - 5}) {
      EXPECT_THAT((*file)->ReadAt(offset, buffer), StatusIs(absl::StatusCode::kUnavailable))
          << offset;
    }
  }
}

TEST_F(PosixFileSystemTest, NamesTheLimitWhenDescriptorsRunOut) {
  Write("a", "x");
  const std::string result = InChild([&]() -> std::string {
    const rlimit limit{20, 20};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    std::vector<std::unique_ptr<ReadFile>> files;
    for (int i = 0; i < 30; ++i) {
      absl::StatusOr<std::unique_ptr<ReadFile>> file =
          directory_->OpenRead("a", ReadMode::kBuffered);
      if (!file.ok()) {
        if (PosixFileSystem().OpenDirectory(path(), false).ok()) return "a directory opened";
        if (directory_->List().ok()) return "a list went well";
        return file.status().ToString();
      }
      files.push_back(*std::move(file));
    }
    return "no error";
  });
  EXPECT_THAT(result, HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(result, HasSubstr(path_of("a")));
  EXPECT_THAT(result, HasSubstr("may have 20 open"));
}

TEST_F(PosixFileSystemTest, ReportsFileSizeLimits) {
  const std::string result = InChild([&]() -> std::string {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10'000, 10'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    // A child must not change the directories that its parent has open.
    const auto directory = PosixFileSystem().OpenDirectory(path(), /*create=*/false);
    if (!directory.ok()) return directory.status().ToString();
    absl::StatusOr<std::unique_ptr<AppendFile>> file = (*directory)->CreateExclusive("a");
    if (!file.ok()) return file.status().ToString();
    const absl::Status status = (*file)->Append(std::string(15'000, 'x'));
    return status.ToString() + " at " + std::to_string((*file)->size_bytes());
  });
  EXPECT_THAT(result, HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(result, HasSubstr(path_of("a")));
  EXPECT_THAT(result, HasSubstr(" at 10000"));
}

// Fills a directory on a disk of 64 KiB that only the calling process sees; returns the findings.
std::string FillASmallDisk(const std::string& path) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=65536") != 0) {
    return "may not mount";
  }
  const std::unique_ptr<Directory> directory = PosixFileSystem().OpenDirectory(path, false).value();
  std::string log;
  const auto note = [&log](const absl::Status& status) {
    log += absl::StatusCodeToString(status.code()) + "\n";
  };
  note(directory->AtomicReplace("CURRENT", "old", std::nullopt));
  std::unique_ptr<AppendFile> file = directory->CreateExclusive("a").value();
  note(file->Append(std::string(100'000, 'x')));
  log += file->size_bytes() <= 65536 ? "counted\n" : "miscounted\n";
  note(file->Close());
  note(directory->AtomicReplace("CURRENT", std::string(5000, 'n'), "old"));
  log += ReadWholeFile(*directory, "CURRENT", 10).value() + "\n";
  log += std::to_string(directory->List().value().size()) + " files\n";
  note(directory->Remove("a"));
  note(directory->AtomicReplace("CURRENT", std::string(5000, 'n'), "old"));
  return log;
}

TEST_F(PosixFileSystemTest, ReportsAFullDiskAndKeepsTheOldPointer) {
  const std::string result = InChild([&] { return FillASmallDisk(path()); });
  if (result == "may not mount")
    return;  // not root; the test before uses a limit instead of a small disk
  EXPECT_EQ(result,
            "OK\nRESOURCE_EXHAUSTED\ncounted\nOK\n"
            "RESOURCE_EXHAUSTED\nold\n2 files\n"
            "OK\nOK\n");
}

TEST_F(PosixFileSystemTest, ReportsForbiddenAccess) {
  if (::geteuid() == 0) {
    // Root may do everything, so a child gives up its rights.
    ASSERT_EQ(::chmod(scratch_.path().c_str(), 0755), 0);
    const std::string result = InChild([&]() -> std::string {
      if (::setuid(65534) != 0) return "setuid failed";
      return PosixFileSystem().OpenDirectory(path(), false).status().ToString();
    });
    EXPECT_THAT(result, HasSubstr("UNAVAILABLE"));
    EXPECT_THAT(result, HasSubstr(path() + ": open: Permission denied"));
  } else {
    EXPECT_THAT(PosixFileSystem().OpenDirectory("/root/x", true),
                StatusIs(absl::StatusCode::kUnavailable));
  }
}

TEST(PosixEnvironmentTest, ClockNeverRunsBackwards) {
  uint64_t last = SystemClock().MonotonicNanos();
  for (int i = 0; i < 1000; ++i) {
    const uint64_t now = SystemClock().MonotonicNanos();
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_GT(SystemClock().WallMicros(), 1'600'000'000'000'000u);  // after September 2020
}

TEST(PosixEnvironmentTest, RandomNumbersDiffer) {
  const uint64_t first = SystemRandom().Next();
  EXPECT_NE(SystemRandom().Next(), first);
}

}  // namespace
}  // namespace lsm
