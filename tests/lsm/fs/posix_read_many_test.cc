// Reads that are submitted together: the same outcomes as ReadAt, few calls for a batch, and the
// behaviour when the page cache or the ring fails.  Replaces three functions of liburing, pread and
// preadv2.  The replacement of preadv2 finds nothing in the page cache unless a test allows it.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <liburing.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/lsm/fs/directory_fixture.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::InChild;
using testing_support::StatusIs;

std::atomic<int> rings_opened{0}, submissions{0}, preads{0};
std::atomic<bool> hold_submissions{false};
int open_error = 0;  // of every attempt
// Replaces the next submission that waits, and returns its result.
std::function<int(io_uring*, unsigned)> next_submission;
// Reads from the page cache at an offset.  Returns a length, or -1 and sets errno.
using AskCache = std::function<ssize_t(int, const iovec&, off_t)>;
AskCache ask_cache;
std::atomic<int> cache_asked{0};
// Submissions that do not wait fail after hand_overs_max of them.
std::atomic<int> hand_overs{0}, hand_overs_max{1'000'000};

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace lsm

extern "C" {

ssize_t pread(int fd, void* bytes, size_t length, off_t offset) {
  ++lsm::preads;
  return ::syscall(SYS_pread64, fd, bytes, length, offset);
}

ssize_t preadv2(int fd, const iovec* pieces, int count, off_t offset, int flags) {
  ++lsm::cache_asked;
  // A read that waits would delay the reads after it.
  if (count != 1 || flags != RWF_NOWAIT) std::abort();
  if (lsm::ask_cache != nullptr) return lsm::ask_cache(fd, *pieces, offset);
  errno = EAGAIN;
  return -1;
}

int io_uring_queue_init(unsigned entries, io_uring* ring, unsigned flags) {
  if (lsm::open_error != 0) {
    ++lsm::rings_opened;
    return -lsm::open_error;
  }
  const int result =
      lsm::Real<decltype(io_uring_queue_init)>("io_uring_queue_init")(entries, ring, flags);
  if (result == 0) ++lsm::rings_opened;
  return result;
}

int io_uring_submit_and_wait(io_uring* ring, unsigned wait) {
  ++lsm::submissions;
  while (lsm::hold_submissions) std::this_thread::yield();
  if (lsm::next_submission != nullptr) {
    return std::exchange(lsm::next_submission, nullptr)(ring, wait);
  }
  return lsm::Real<decltype(io_uring_submit_and_wait)>("io_uring_submit_and_wait")(ring, wait);
}

int io_uring_submit(io_uring* ring) {
  if (++lsm::hand_overs > lsm::hand_overs_max) return -EAGAIN;
  return lsm::Real<decltype(io_uring_submit)>("io_uring_submit")(ring);
}

}  // extern "C"

namespace lsm {
namespace {

bool KernelHasRings() {
  io_uring ring;
  if (Real<decltype(io_uring_queue_init)>("io_uring_queue_init")(2, &ring, 0) != 0) return false;
  ::io_uring_queue_exit(&ring);
  return true;
}

// Rings belong to the process, so each test uses a process of its own.
class PosixReadManyTest : public DirectoryFixture {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(directory_, PosixFileSystem().OpenDirectory(scratch_.path_of("store"),
                                                                     /*create=*/true));
    for (size_t i = 0; i < 1'000'003; ++i) bytes_ += static_cast<char>(i * i >> 7);
    Write("a", bytes_);
    ASSERT_OK_AND_ASSIGN(file_, directory_->OpenRead("a", ReadMode::kBuffered));
    absl::StatusOr<std::unique_ptr<ReadFile>> direct = directory_->OpenRead("a", ReadMode::kDirect);
    if (direct.ok()) direct_ = *std::move(direct);  // not every file system has it
  }

  // Reads `bytes` bytes at each offset, all at once.  Returns the differences from ReadAt, or an
  // empty string.
  std::string ReadAndCompare(const ReadFile& file, const std::vector<uint64_t>& offsets,
                             size_t length) {
    std::vector<std::string> buffers(offsets.size(), std::string(length, '?'));
    std::vector<ReadRequest> requests(offsets.size());
    for (size_t i = 0; i < offsets.size(); ++i) {
      requests[i] = {&file, offsets[i], buffers[i], absl::UnknownError("not done"), 12345};
    }
    std::string wrong;
    std::vector<int> told(requests.size());
    const int preads_before = preads;
    PosixFileSystem().ReadMany(requests, [&](size_t number) {
      ++told[number];
      if (absl::IsUnknown(requests[number].status)) wrong += "told before it was done\n";
    });
    read_alone_ = preads - preads_before;
    asked_ += static_cast<int>(requests.size());
    if (told != std::vector<int>(requests.size(), 1)) wrong += "not each told once\n";
    for (size_t i = 0; i < offsets.size(); ++i) {
      std::string alone(length, '?');
      const absl::StatusOr<size_t> bytes_read = file.ReadAt(offsets[i], alone);
      if (requests[i].status != bytes_read.status()) {
        wrong += requests[i].status.ToString() + " instead of " + bytes_read.status().ToString();
      } else if (bytes_read.ok() &&
                 (requests[i].bytes_read != *bytes_read ||
                  buffers[i].substr(0, *bytes_read) !=
                      bytes_.substr(std::min<size_t>(offsets[i], bytes_.size()), *bytes_read))) {
        wrong += "other bytes at " + std::to_string(offsets[i]) + "\n";
      }
    }
    return wrong;
  }

  // Checks that there were this many rings, and at least this many waits for one; otherwise returns
  // the counts.  Results may arrive one by one, so there may be as many waits as results.  If the
  // kernel forbids rings, checks only the outcomes.
  std::string Counted(int rings, int least) const {
    static const bool has_rings = KernelHasRings();
    const int most = least == 0 ? 0 : least + asked_;
    if (!has_rings || (rings_opened == rings && submissions >= least && submissions <= most))
      return "";
    return std::to_string(rings_opened) + " rings, " + std::to_string(submissions) + " waits\n";
  }

  // Makes a batch of buffered reads with these answers of the page cache.  The cache must be asked
  // `asked` times, and the ring must get `of_ring` reads.  Returns the finding.
  std::string WithCache(const AskCache& ask, int asked, int of_ring) {
    return InFreshProcess(1, of_ring > 0 ? 1 : 0, [&] {
      ask_cache = ask;
      cache_asked = 0;
      std::string wrong = ReadAndCompare(*file_, few_, 500);
      asked_ = of_ring;
      if (read_alone_ > 0 && KernelHasRings()) wrong += "some read alone\n";
      if (cache_asked != asked && KernelHasRings())
        wrong += "asked " + std::to_string(cache_asked) + " times\n";
      return wrong;
    });
  }

  // Returns the finding of a process that reads for the first time.
  std::string InFreshProcess(int rings, int count, const std::function<std::string()>& body) {
    return InChild([&] {
      rings_opened = submissions = asked_ = 0;
      const std::string wrong = body();
      return wrong + Counted(rings, count);
    });
  }

  const std::vector<uint64_t> few_{0, 4096, 8191, 777'777, 899'000};

  std::atomic<int> read_alone_{0};  // calls of pread that the last ReadMany made
  std::atomic<int> asked_{0};       // reads, in all

  testing_support::ScratchDir scratch_;
  std::string bytes_;
  std::unique_ptr<ReadFile> file_, direct_;
};

// Reads at most this many of the requested bytes.
ssize_t ReadSome(int fd, const iovec& place, off_t offset, size_t bytes_max) {
  return ::syscall(SYS_pread64, fd, place.iov_base, std::min(place.iov_len, bytes_max), offset);
}

ssize_t ReadAll(int fd, const iovec& place, off_t offset) {
  return ReadSome(fd, place, offset, place.iov_len);
}

TEST_F(PosixReadManyTest, SubmitsABatchTogetherAndKeepsItsRing) {
  EXPECT_EQ(InFreshProcess(1, 1, [&] { return ReadAndCompare(*file_, few_, 500); }), "");
  EXPECT_EQ(InFreshProcess(1, 10,
                           [&] {
                             std::string wrong;
                             for (int i = 0; i < 10; ++i) {
                               wrong += ReadAndCompare(*file_, few_, 500);
                             }
                             return wrong;
                           }),
            "");
  // More reads than fit.
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < 300; ++i) offsets.push_back(i * 3331 % 990'000);
  EXPECT_EQ(InFreshProcess(1, 5, [&] { return ReadAndCompare(*file_, offsets, 4101); }), "");
  // The device has work as soon as some reads are submitted, and while the first results are
  // handled.
  EXPECT_EQ(InFreshProcess(1, 2,
                           [&] {
                             hand_overs = 0;
                             offsets.resize(64);
                             std::string wrong = ReadAndCompare(*file_, offsets, 4101);
                             if (hand_overs != 6 && KernelHasRings()) {
                               wrong += std::to_string(hand_overs) + " without waiting\n";
                             }
                             return wrong;
                           }),
            "");
  // A single read, or none, needs no ring.
  EXPECT_EQ(InFreshProcess(0, 0, [&] { return ReadAndCompare(*file_, {77}, 500); }), "");
  EXPECT_EQ(InFreshProcess(0, 0, [&] { return ReadAndCompare(*file_, {}, 500); }), "");
}

TEST_F(PosixReadManyTest, CachedPagesNeedNoRing) {
  const int all = static_cast<int>(few_.size());
  EXPECT_EQ(WithCache(ReadAll, all, 0), "");
  // If some are cached, the others are still tried in the cache.
  EXPECT_EQ(WithCache(
                [&](int fd, const iovec& place, off_t offset) {
                  if (offset < 8192) return ReadAll(fd, place, offset);
                  errno = EAGAIN;
                  return ssize_t{-1};
                },
                all, all - 3),
            "");
  // The cache has the beginning of each block, or nothing.
  for (const size_t bytes_max : {499, 1, 0}) {
    EXPECT_EQ(WithCache([&](int fd, const iovec& place,
                            off_t offset) { return ReadSome(fd, place, offset, bytes_max); },
                        all, all),
              "")
        << bytes_max;
  }
  // More than a ring has room for.
  EXPECT_EQ(InFreshProcess(1, 0,
                           [&] {
                             ask_cache = ReadAll;
                             std::vector<uint64_t> offsets;
                             for (uint64_t i = 0; i < 300; ++i)
                               offsets.push_back(i * 3331 % 990'000);
                             return ReadAndCompare(*file_, offsets, 4101);
                           }),
            "");
}

TEST_F(PosixReadManyTest, ReadsAllByRingWithoutCacheQueries) {
  const int all = static_cast<int>(few_.size());
  for (const int error : {EOPNOTSUPP, ENOSYS, EPERM, EINVAL, EIO}) {
    const auto fail = [&](int, const iovec& place, off_t) {
      // The result does not matter.
      static_cast<char*>(place.iov_base)[0] ^= 1;
      errno = error;
      return ssize_t{-1};
    };
    // The cache is tried once per batch.
    EXPECT_EQ(WithCache(fail, 1, all), "") << error;
  }
  // EAGAIN is no reason to stop trying.
  EXPECT_EQ(WithCache(nullptr, all, all), "");
  // Direct reads bypass the cache.
  if (direct_ == nullptr) return;
  EXPECT_EQ(InFreshProcess(1, 1,
                           [&] {
                             cache_asked = 0;
                             std::string wrong = ReadAndCompare(*direct_, few_, 500);
                             return wrong += cache_asked > 0 ? "asked the page cache\n" : "";
                           }),
            "");
}

TEST_F(PosixReadManyTest, ReadsDirectlyAtAnyAlignment) {
  if (direct_ == nullptr) return;
  const uint64_t end = bytes_.size();
  for (const size_t length : {1, 4096, 4097, 12'289, 100'000}) {
    const int count = length < 100'000 ? 2 : 11;  // a MiB and 64 reads go into one
    std::vector<uint64_t> offsets = {0, 1, 4095, 4096, 4097, 65'535, end - 8192 - length};
    for (uint64_t i = 0; i < 100; ++i) offsets.push_back(i * 9973 % (end - 8192 - length));
    EXPECT_EQ(InFreshProcess(1, count, [&] { return ReadAndCompare(*direct_, offsets, length); }),
              "")
        << length;
  }
}

TEST_F(PosixReadManyTest, CompletesShortReadsByReadAt) {
  const uint64_t end = bytes_.size();
  const std::vector<uint64_t> ends = {0,
                                      end - 499,
                                      end - 1,
                                      end,
                                      end + 1,
                                      end + 4096,
                                      1u << 31,
                                      uint64_t{1} << 62,
                                      (uint64_t{1} << 62) + 1,
                                      (uint64_t{1} << 63) - 100,
                                      ~uint64_t{0}};
  for (const ReadFile* file : {file_.get(), direct_.get()}) {
    if (file == nullptr) continue;
    EXPECT_EQ(InFreshProcess(1, 1, [&] { return ReadAndCompare(*file, ends, 500); }), "");
    EXPECT_EQ(InFreshProcess(1, 1,
                             [&] {
                               ask_cache = ReadAll;
                               return ReadAndCompare(*file, ends, 500);
                             }),
              "");
    // No bytes at all; then reads too large for a ring.
    EXPECT_EQ(InFreshProcess(1, 0, [&] { return ReadAndCompare(*file, few_, 0); }), "");
    EXPECT_EQ(InFreshProcess(1, 0, [&] { return ReadAndCompare(*file, few_, 600'000); }), "");
  }
}

TEST_F(PosixReadManyTest, ReportsDeviceErrorsAsReadAtDoes) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> process,
                       PosixFileSystem().OpenDirectory("/proc/self", /*create=*/false));
  // The memory of a process has nothing at address 0.
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> memory,
                       process->OpenRead("mem", ReadMode::kBuffered));
  std::string first(10, '?'), second(10, '?');
  std::vector<ReadRequest> requests(2);
  requests[0] = {memory.get(), 0, first, absl::OkStatus(), 0};
  requests[1] = {file_.get(), 0, second, absl::OkStatus(), 0};
  PosixFileSystem().ReadMany(requests);
  EXPECT_THAT(requests[0].status, StatusIs(absl::StatusCode::kUnavailable,
                                           HasSubstr("/proc/self/mem: read at offset 0")));
  EXPECT_EQ(requests[0].bytes_read, 0u);
  EXPECT_OK(requests[1].status);
  EXPECT_EQ(second, bytes_.substr(0, 10));
}

TEST_F(PosixReadManyTest, WorksWithoutARing) {
  const auto twice = [&](int error) {
    open_error = error;
    std::string wrong = ReadAndCompare(*file_, few_, 500);
    open_error = 0;
    return wrong += ReadAndCompare(*file_, few_, 500);
  };
  for (const int forbidden : {EPERM, ENOSYS}) {  // permanently
    EXPECT_EQ(InFreshProcess(1, 0, [&] { return twice(forbidden); }), "");
  }
  for (const int scarce : {EMFILE, ENFILE, ENOMEM, EAGAIN}) {
    EXPECT_EQ(InFreshProcess(2, 1, [&] { return twice(scarce); }), "") << scarce;
  }
  // Tried again without the flag that older kernels do not know.
  EXPECT_EQ(InFreshProcess(2, 0, [&] { return twice(EINVAL); }), "");
}

TEST_F(PosixReadManyTest, SurvivesFailedSubmissions) {
  const auto twice = [&](const ReadFile& file,
                         const std::function<int(io_uring*, unsigned)>& fail) {
    next_submission = fail;
    std::string wrong = ReadAndCompare(file, few_, 500);
    return wrong += ReadAndCompare(file, few_, 500);
  };
  for (const ReadFile* file : {file_.get(), direct_.get()}) {
    if (file == nullptr) continue;
    EXPECT_EQ(
        InFreshProcess(1, 3, [&] { return twice(*file, [](auto*, unsigned) { return -EINTR; }); }),
        "");
    // Nothing was submitted, so the ring is closed.
    EXPECT_EQ(
        InFreshProcess(2, 2, [&] { return twice(*file, [](auto*, unsigned) { return -EAGAIN; }); }),
        "");
    // Everything was submitted, but the kernel does not wait.  It owns the buffers until it is
    // done.  Then they hold the requested bytes.
    EXPECT_EQ(InFreshProcess(2, 2,
                             [&] {
                               next_submission = [](io_uring* ring, unsigned) {
                                 ::io_uring_submit(ring);
                                 return -EBADF;
                               };
                               std::string wrong = ReadAndCompare(*file, few_, 500);
                               if (read_alone_ > 0 && KernelHasRings()) wrong += "did not wait\n";
                               return wrong += ReadAndCompare(*file, few_, 500);
                             }),
              "");
  }
}

TEST_F(PosixReadManyTest, SurvivesPartialSubmissions) {
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < 60; ++i) offsets.push_back(i * 3331 % 900'000);
  for (const ReadFile* file : {file_.get(), direct_.get()}) {
    if (file == nullptr) continue;
    for (int failing = 0; failing < 6; ++failing) {
      // Waits for the reads that the ring took, and makes the others one by one.  The next batch
      // gets a new ring.
      EXPECT_EQ(InFreshProcess(2, 2,
                               [&] {
                                 hand_overs = 0;
                                 hand_overs_max = failing;
                                 std::string wrong = ReadAndCompare(*file, offsets, 3000);
                                 const int handed_over = failing < 5 ? failing * 8 : 45;
                                 if (read_alone_ != 60 - handed_over && KernelHasRings())
                                   wrong += std::to_string(read_alone_) + " alone\n";
                                 hand_overs_max = 1'000'000;
                                 return wrong += ReadAndCompare(*file, offsets, 3000);
                               }),
                "")
          << failing;
    }
  }
}

TEST_F(PosixReadManyTest, ForkedChildrenHaveTheirOwnRings) {
  const auto often = [&] {
    std::string wrong;
    for (int i = 0; i < 50; ++i) wrong += ReadAndCompare(*file_, few_, 500);
    return wrong;
  };
  EXPECT_EQ(InFreshProcess(1, 100,
                           [&] {
                             std::string wrong = often();
                             testing_support::Child child([&] {
                               rings_opened = submissions = 0;
                               std::string of_child = often();
                               return of_child += Counted(1, 50);
                             });
                             wrong += often();
                             return wrong += child.Result();
                           }),
            "");
}

TEST_F(PosixReadManyTest, LimitsTheNumberOfRings) {
  constexpr int kThreads = 60, kRingsMax = 32;
  if (!KernelHasRings()) return;
  EXPECT_EQ(InFreshProcess(kRingsMax, kRingsMax,
                           [&] {
                             hold_submissions = true;
                             std::atomic<int> done{0}, wrong{0};
                             std::vector<std::thread> threads;
                             for (int i = 0; i < kThreads; ++i) {
                               threads.emplace_back([&] {
                                 if (!ReadAndCompare(*file_, few_, 4096).empty()) ++wrong;
                                 ++done;
                               });
                             }
                             // The threads that get a ring keep it until all others have finished
                             // without one.
                             while (done + submissions < kThreads) std::this_thread::yield();
                             hold_submissions = false;
                             for (std::thread& thread : threads) thread.join();
                             return std::string(wrong > 0 ? "wrong bytes\n" : "");
                           }),
            "");
}

}  // namespace
}  // namespace lsm
