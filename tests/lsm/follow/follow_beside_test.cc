// A follower beside a writer: threads of one process, and two processes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "tests/lsm/follow/counted_writes.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/support/dice.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Child;
using testing_support::Dice;
using testing_support::FastFolder;
using testing_support::ScratchDir;
using Clock = std::chrono::steady_clock;

Options Following() {
  Options options;
  options.mode = OpenMode::kFollow;
  options.block_cache_bytes = 64 << 10;
  return options;
}

// --- one process ---

TEST(FollowThreadsTest, EachViewIsAPrefixAndViewsGoForward) {
  const ScratchDir scratch(FastFolder());
  Options options;
  options.write_buffer_bytes = 64 << 10;
  options.table_bytes = 64 << 10;
  options.level1_bytes = 64 << 10;
  options.reserve_bytes = 0;
  options.level0_compaction_tables = 2;
  const std::string path = scratch.path_of("store");
  std::unique_ptr<DB> writer = *DB::Open(path, options);
  const std::unique_ptr<DB> follower = *DB::Open(path, Following());
  std::atomic<uint64_t> acknowledged{0};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      uint64_t last = 0;
      while (!is_over) {
        const std::unique_ptr<const Snapshot> snapshot = follower->GetSnapshot();
        ReadOptions at;
        at.snapshot = snapshot.get();
        const absl::StatusOr<uint64_t> count = CountOf(follower->NewIterator(at).get());
        ASSERT_OK(count);
        ASSERT_GE(*count, last);
        last = *count;
        const auto same = follower->Get("z", at);
        ASSERT_OK(same);
        ASSERT_EQ(same->value_or("0"), std::to_string(*count));
      }
    });
  }
  std::thread refreshing([&] {
    while (!is_over) {
      const uint64_t before = acknowledged;
      ASSERT_OK(follower->Resume());
      const absl::StatusOr<uint64_t> count = CountOf(follower->NewIterator().get());
      ASSERT_OK(count);
      ASSERT_GE(*count, before);
    }
  });
  for (uint64_t number = 1; number <= 6000; ++number) {
    ASSERT_OK(writer->Write(CountedWrite(number)));
    acknowledged = number;
    if (number % 500 == 0) {
      ASSERT_OK(writer->CompactRange());
    }
    if (number % 900 == 0) {
      writer = nullptr;
      writer = *DB::Open(path, options);
    }
  }
  is_over = true;
  refreshing.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_OK(follower->GetFailure());
}

// --- two processes ---

// A process that runs follow_writer.
class WriterProcess {
 public:
  WriterProcess(const std::string& directory, int seed) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    const std::string number = std::to_string(seed);
    pid_ = ::fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl(TRELLIS_FOLLOW_WRITER, "follow_writer", directory.c_str(), number.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    from_ = ends[0];
    ::fcntl(from_, F_SETFL, O_NONBLOCK);
  }
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;
  ~WriterProcess() {
    Kill();
    ::close(from_);
  }

  // The last write that it has acknowledged.
  uint64_t Acknowledged() {
    char buffer[65536];
    for (ssize_t count = 0; (count = ::read(from_, buffer, sizeof(buffer))) > 0;)
      text_.append(buffer, static_cast<size_t>(count));
    const size_t end = text_.rfind('\n');
    if (end == std::string::npos) return last_;
    const size_t begin = end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
    last_ = std::stoull(text_.substr(begin == std::string::npos ? 0 : begin + 1));
    text_.erase(0, end + 1);
    return last_;
  }
  // Kills the process, unless it has ended itself.
  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    pid_ = -1;
  }
  bool WasKilled() const { return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL; }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
  int status_ = 0;
  std::string text_;
  uint64_t last_ = 0;
};

absl::StatusOr<std::unique_ptr<DB>> OpenOnceThere(const std::string& path) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(60);
  for (;;) {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(path, Following());
    if (!absl::IsNotFound(db.status()) || Clock::now() > end) return db;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(FollowProcessesTest, FollowsAWriterThatIsKilledAgainAndAgain) {
  const ScratchDir scratch(FastFolder());
  const std::string path = scratch.path_of("store");
  Dice dice(1);
  std::unique_ptr<DB> follower;
  uint64_t count = 0, refreshes = 0;
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    WriterProcess writer(path, round);
    if (follower == nullptr) {
      ASSERT_OK_AND_ASSIGN(follower, OpenOnceThere(path));
    }
    const uint64_t enough = count + 200 + dice.Roll(1500);
    const std::unique_ptr<const Snapshot> snapshot = follower->GetSnapshot();
    ReadOptions at;
    at.snapshot = snapshot.get();
    ASSERT_OK_AND_ASSIGN(const uint64_t at_snapshot, CountOf(follower->NewIterator(at).get()));
    const Clock::time_point end = Clock::now() + std::chrono::seconds(100);
    while (count < enough) {
      ASSERT_LT(Clock::now(), end);
      const uint64_t acknowledged = writer.Acknowledged();
      ASSERT_OK(follower->Resume());
      ++refreshes;
      ASSERT_OK_AND_ASSIGN(const uint64_t now, CountOf(follower->NewIterator().get()));
      ASSERT_GE(now, acknowledged);
      ASSERT_GE(now, count);
      count = now;
    }
    ASSERT_OK_AND_ASSIGN(const uint64_t again, CountOf(follower->NewIterator(at).get()));
    EXPECT_EQ(again, at_snapshot);
    writer.Kill();
    EXPECT_TRUE(writer.WasKilled());
    const uint64_t acknowledged = writer.Acknowledged();
    ASSERT_OK(follower->Resume());
    ASSERT_OK_AND_ASSIGN(count, CountOf(follower->NewIterator().get()));
    ASSERT_GE(count, acknowledged);
  }
  std::printf("%llu refreshes, %llu writes\n", static_cast<unsigned long long>(refreshes),
              static_cast<unsigned long long>(count));
}

TEST(FollowProcessesTest, TheViewAdvancesWithoutAnyCall) {
  const ScratchDir scratch(FastFolder());
  const std::string path = scratch.path_of("store");
  WriterProcess writer(path, 1);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> follower, OpenOnceThere(path));
  uint64_t acknowledged = 0;
  while (acknowledged < 500) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    acknowledged = writer.Acknowledged();
  }
  writer.Kill();
  acknowledged = writer.Acknowledged();
  // The bound only ends a test that hangs.
  const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
  uint64_t count = 0;
  while (count < acknowledged && Clock::now() < end) {
    ASSERT_OK_AND_ASSIGN(count, CountOf(follower->NewIterator().get()));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GE(count, acknowledged);
}

// --- a directory that the follower may only read ---

std::map<std::string, std::string> FilesIn(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path()).rdbuf();
    files[entry.path()] = bytes.str();
  }
  return files;
}

TEST(FollowReadOnlyTest, NeedsNoRightToWrite) {
  const ScratchDir scratch;
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  const std::string path = scratch.path_of("store");
  Options options;
  options.reserve_bytes = 0;
  options.file_access = FileAccess::kAll;
  const auto follow = [&]() -> std::string {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return "setuid failed";
    const auto follower = DB::Open(path, Following());
    if (!follower.ok()) return follower.status().ToString();
    const absl::StatusOr<uint64_t> count = CountOf((*follower)->NewIterator().get());
    if (!count.ok()) return count.status().ToString();
    const absl::Status refreshed = (*follower)->Resume();
    if (!refreshed.ok()) return refreshed.ToString();
    const absl::StatusOr<VerifyReport> verified = (*follower)->Verify();
    return verified.ok() ? Concat("saw ", *count) : verified.status().ToString();
  };
  // Forks before this process has opened the store.
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  Child child([&] {
    char byte = 0;
    return ::read(ready[0], &byte, 1) == 1 ? follow() : "not told to begin";
  });
  std::unique_ptr<DB> writer = *DB::Open(path, options);
  for (uint64_t number = 1; number <= 300; ++number) {
    ASSERT_OK(writer->Write(CountedWrite(number)));
    if (number == 200) {
      ASSERT_OK(writer->Flush());
    }
  }
  ASSERT_OK(writer->WaitForBackgroundWork());  // the log of the flush is removed
  ASSERT_EQ(::chmod(path.c_str(), 0555), 0);
  const std::map<std::string, std::string> before = FilesIn(path);
  ASSERT_EQ(::write(ready[1], "x", 1), 1);
  EXPECT_EQ(child.Result(), "saw 300");
  EXPECT_EQ(FilesIn(path), before);
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FollowForkTest, AChildIsRefused) {
  const ScratchDir scratch(FastFolder());
  const std::string path = scratch.path_of("store");
  *DB::Open(path, {});
  const std::unique_ptr<DB> follower = *DB::Open(path, Following());
  Child child([&] { return std::string(absl::StatusCodeToString(follower->Close().code())); });
  EXPECT_EQ(child.Result(), "FAILED_PRECONDITION");
  EXPECT_OK(follower->Close());
}

}  // namespace
}  // namespace lsm
