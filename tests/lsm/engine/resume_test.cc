// DB::Resume: after a failure the store recovers without being opened again.  It keeps everything
// that reads showed, and accepts writes again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/lsm/engine/schedulers.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing_support::StatusIs;
using Unsynced = MemoryFileSystem::Unsynced;

using ResumeTest = StoreTest;

TEST_F(ResumeTest, RecoversFromAFailedFlush) {
  Open();
  Put("a", "1");
  Fail(FileOperation::kCreate, ".table");
  EXPECT_THAT(db_->Flush(), StatusIs(absl::StatusCode::kUnavailable));
  Put("b", "2");
  EXPECT_THAT(db_->Resume(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(".table: broken")));
  EXPECT_THAT(db_->GetFailure(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(Scan(), "a=1 b=2");
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->Resume());
  EXPECT_OK(db_->GetFailure());
  EXPECT_EQ(Scan(), "a=1 b=2");
  EXPECT_EQ(world_.FilesOf(FileKind::kTable).size(), 2u);
  Put("c", "3");
  Flush();
  Open();
  EXPECT_EQ(Scan(), "a=1 b=2 c=3");
}

// A failed attempt removes the log that it began, so no write to that log may be acknowledged.
TEST_F(ResumeTest, HalfFailedAttemptsKeepWritesWaiting) {
  Open();
  Put("a", "1");
  bool log_was_made = false;
  Fail(FileOperation::kCreate, ".table");
  EXPECT_FALSE(db_->Flush().ok());
  Put("b", "2");
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    log_was_made |= operation == FileOperation::kCreate && path.ends_with(".log");
    return operation == FileOperation::kSyncDirectory && log_was_made
               ? absl::UnavailableError(Concat(path, ": broken"))
               : absl::OkStatus();
  });
  EXPECT_FALSE(db_->Resume().ok());
  EXPECT_TRUE(log_was_made);
  EXPECT_THAT(db_->Put("c", "3"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(Scan(), "a=1 b=2");
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->Resume());
  Put("d", "4");
  Open();
  EXPECT_EQ(Scan(), "a=1 b=2 d=4");
}

// The manifest does not know the log that the attempt began; closing must leave it empty.
TEST_F(ResumeTest, HalfFailedAttemptsLeaveAnOpenableStore) {
  Open();
  Put("a", "1");
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    const bool fails = (operation == FileOperation::kAppend && path.ends_with(".log")) ||
                       operation == FileOperation::kAtomicReplace;
    return fails ? absl::UnavailableError(Concat(path, ": broken")) : absl::OkStatus();
  });
  EXPECT_THAT(db_->Put("b", "2"), StatusIs(absl::StatusCode::kUnknown));
  Fail(FileOperation::kAtomicReplace, "");
  EXPECT_FALSE(db_->Resume().ok());
  world_.files->SetFault(nullptr);
  Open();
  EXPECT_EQ(Scan(), "a=1");
}

// The part of the write in the log is not trusted.  It is dropped with the log.
TEST_F(ResumeTest, BeginsANewLogAfterAFailedOne) {
  for (const FileOperation fails : {FileOperation::kAppend, FileOperation::kSyncFile}) {
    Open();
    Put("a", "1");
    Put("b", "2");
    Fail(fails, ".log");
    EXPECT_THAT(db_->Put("a", "of unknown outcome", {.sync = true}),
                StatusIs(absl::StatusCode::kUnknown, HasSubstr(".log: broken")));
    world_.files->SetFault(nullptr);
    EXPECT_THAT(db_->Put("a", "refused"), StatusIs(absl::StatusCode::kAborted));
    EXPECT_EQ(Scan(), "a=1 b=2");
    const std::vector<std::string> logs = world_.FilesOf(FileKind::kLog);
    EXPECT_OK(db_->Resume());
    EXPECT_EQ(Scan(), "a=1 b=2");
    EXPECT_THAT(world_.FilesOf(FileKind::kLog), ElementsAre(Gt(logs.back())));
    EXPECT_EQ(world_.FilesOf(FileKind::kManifest).size(), 1u);
    Put("c", "3");
    world_.files->CrashAt(0);
    db_ = nullptr;
    world_.files->Restart(Unsynced::kKept);
    Open();
    EXPECT_EQ(Scan(), "a=1 b=2 c=3");
    ASSERT_OK(db_->Delete("c"));
  }
}

// It is unknown which manifest is the current one.  Both must stay valid until that is known.
TEST_F(ResumeTest, ReadsCurrentAgain) {
  Open();
  Put("a", "1");
  Flush();
  Put("a", "2");
  const auto let_fail = [this](FileOperation fails) {
    world_.files->SetFault([fails](FileOperation operation, const std::string& path, uint64_t) {
      return operation == fails && !path.ends_with(".log") && !path.ends_with(".table")
                 ? absl::UnavailableError(Concat(path, ": broken"))
                 : absl::OkStatus();
    });
  };
  let_fail(FileOperation::kSyncFile);  // of the manifest
  EXPECT_THAT(db_->Flush(), StatusIs(absl::StatusCode::kUnavailable));
  for (const FileOperation fails :
       {FileOperation::kAtomicReplace, FileOperation::kSyncDirectory, FileOperation::kSyncFile}) {
    let_fail(fails);
    EXPECT_THAT(db_->Resume(), StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_THAT(db_->Put("b", "refused"), StatusIs(absl::StatusCode::kAborted));
    EXPECT_EQ(Scan(), "a=2");
    World image(5, world_.files->Clone());
    image.files->Restart(Unsynced::kLost);
    Options options = options_;
    options.environment = image.SmallOptions().environment;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options));
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get("a"));
    EXPECT_THAT(value.value_or("absent"), AnyOf("1", "2"));
  }
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->Resume());
  EXPECT_EQ(world_.FilesOf(FileKind::kManifest).size(), 1u);
  Put("b", "3");
  Open();
  EXPECT_EQ(Scan(), "a=2 b=3");
}

TEST_F(ResumeTest, SnapshotsAndIteratorsStayTrue) {
  Open();
  Put("a", "1");
  const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  Put("a", "2");
  const std::unique_ptr<Iterator> iterator = db_->NewIterator();
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kAppend ? absl::UnavailableError(path) : absl::OkStatus();
  });
  EXPECT_THAT(db_->Put("a", "3"), StatusIs(absl::StatusCode::kUnknown));
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->Resume());
  EXPECT_OK(db_->Resume());  // nothing to be done
  Put("a", "4");
  EXPECT_EQ(Get("a", {.snapshot = snapshot.get()}), "1");
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->value(), "2");
  EXPECT_EQ(Get("a"), "4");
}

// A caller that retries a sync of names must not rely on earlier names: the log's own name may be
// lost.
TEST_F(ResumeTest, FailedAttemptsDistrustUnsyncedLogNames) {
  Open();
  ASSERT_OK(db_->Put("a", "1", {.sync = true}));
  const auto fail = [&](FileOperation what) {
    world_.files->SetFault(
        [=, failed = false](FileOperation operation, const std::string& path, uint64_t) mutable {
          if (operation != what || std::exchange(failed, true)) return absl::OkStatus();
          return absl::UnavailableError(path);
        });
  };
  fail(FileOperation::kSyncDirectory);
  EXPECT_FALSE(db_->Flush().ok());
  world_.files->DropUnsyncedNames(kStorePath);
  fail(FileOperation::kCreate);
  EXPECT_FALSE(db_->Resume().ok());
  world_.files->SetFault(nullptr);
  EXPECT_THAT(db_->Put("b", "2", {.sync = true}), StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK(db_->Resume());
  ASSERT_OK(db_->Put("c", "3", {.sync = true}));
  world_.files->Restart(MemoryFileSystem::Unsynced::kLost);
  Open();
  EXPECT_EQ(Scan(), "a=1 c=3");
}

// An error would say that nothing was recovered, but the outcome of the earlier writes is known by
// then.
TEST_F(ResumeTest, LaterFailuresAreNew) {
  NarrowScheduler scheduler;
  scheduler.has_memory = false;
  options_.environment.scheduler = &scheduler;
  Open();
  for (int i = 0; db_->GetFailure().ok(); ++i) {
    ASSERT_LT(i, 20);
    Put(Concat(i), "x");
    Flush();
  }
  world_.files->SetFault([](FileOperation operation, const std::string&, uint64_t) {
    return operation == FileOperation::kSyncFile ? absl::UnavailableError("broken")
                                                 : absl::OkStatus();
  });
  EXPECT_THAT(db_->Put("a", "1", {.sync = true}), StatusIs(absl::StatusCode::kUnknown));
  EXPECT_THAT(db_->Put("b", "2"), StatusIs(absl::StatusCode::kAborted));
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->Resume());
  EXPECT_THAT(db_->GetFailure(), StatusIs(absl::StatusCode::kResourceExhausted));
  Put("b", "2");
  scheduler.has_memory = true;
  EXPECT_OK(db_->Resume());
  EXPECT_OK(db_->GetFailure());
  EXPECT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(Get("a"), "absent");
  EXPECT_EQ(Get("b"), "2");
  db_ = nullptr;  // before its scheduler
}

// A failed attempt removes only files that it made.
TEST_F(ResumeTest, KeepsForeignFilesInItsWay) {
  Open();
  Put("a", "1");
  const std::string notes = "a user's notes";
  std::vector<std::string> foreign;
  for (int number = 3; number < 9; ++number)
    foreign.push_back(Concat(kStorePath, "/", LogFileName(static_cast<uint64_t>(number))));
  for (const std::string& path : foreign) world_.files->SetFileBytes(path, notes);
  EXPECT_FALSE(db_->Flush().ok());
  // Without a descriptor an attempt fails before it has looked at the name.
  for (const bool has_descriptors : {true, false}) {
    world_.files->SetFault([=](FileOperation operation, const std::string& path, uint64_t) {
      return operation == FileOperation::kCreate && path.ends_with(".log") && !has_descriptors
                 ? absl::ResourceExhaustedError(path)
                 : absl::OkStatus();
    });
    for (int attempt = 0; attempt < 3 && !db_->GetFailure().ok(); ++attempt)
      db_->Resume().IgnoreError();
  }
  world_.files->SetFault(nullptr);
  for (const std::string& path : foreign) EXPECT_EQ(world_.files->FileBytes(path), notes) << path;
  EXPECT_EQ(Get("a"), "1");
}

// None of these calls may find a store missing, so none returns NotFound.
TEST(ResumeOnDiskTest, RemovedDirectoriesAreUnavailable) {
  for (const bool flushed : {false, true}) {
    const testing_support::ScratchDir scratch;
    const std::string path = scratch.path_of("store");
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(path));
    ASSERT_OK(db->Put("key", "value"));
    if (flushed) {
      ASSERT_OK(db->Flush());
    }
    ASSERT_OK(db->Put("key", "newer"));
    // A job may remove an obsolete log at the same time.
    std::error_code ignored;
    while (std::filesystem::exists(path)) std::filesystem::remove_all(path, ignored);
    const auto unavailable =
        testing_support::StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr(path));
    if (flushed) {
      EXPECT_THAT(db->Checkpoint(scratch.path_of("copy")), unavailable);
    } else {
      EXPECT_THAT(db->Flush(), unavailable);
    }
    EXPECT_THAT(db->GetFailure(), unavailable);
    EXPECT_THAT(db->WaitForBackgroundWork(), unavailable);
    EXPECT_THAT(db->Flush(), testing_support::StatusIs(absl::StatusCode::kAborted));
    EXPECT_THAT(db->Resume(), unavailable);
    EXPECT_THAT(db->Put("key", "refused"), testing_support::StatusIs(absl::StatusCode::kAborted));
    EXPECT_THAT(db->CompactRange(), testing_support::StatusIs(absl::StatusCode::kAborted));
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get("key"));
    EXPECT_EQ(value, "newer");
    ASSERT_OK_AND_ASSIGN(const VerifyReport report, db->Verify());
  }
}

// A child limits its own file size, because the parent might not be allowed to raise the limit
// again.
TEST(ResumeOnDiskTest, FileSizeLimitsCountAsFullDisks) {
  const testing_support::ScratchDir scratch;
  const std::string path = scratch.path_of("store");
  const auto set_limit = [](rlim_t bytes) {
    struct rlimit limit {};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    return ::setrlimit(RLIMIT_FSIZE, &limit);
  };
  const std::string value(1000, 'v');
  EXPECT_EQ(testing_support::InChild([&]() -> std::string {
              ::signal(SIGXFSZ, SIG_IGN);
              absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(path);
              if (!db.ok()) return db.status().ToString();
              if (set_limit(64 << 10) != 0) return "no limit";
              int acknowledged = 0;
              absl::Status failed;
              for (; failed.ok() && acknowledged < 1000; ++acknowledged)
                failed = (*db)->Put(Concat("key", 1000 + acknowledged), value, {.sync = true});
              if (failed.ok()) return "nothing failed";
              --acknowledged;
              if (MessageOf(failed).find("ulimit -f") == std::string_view::npos)
                return failed.ToString();
              const absl::Status failure = (*db)->GetFailure();
              if (!absl::IsResourceExhausted(failure)) return failure.ToString();
              if (!absl::IsAborted((*db)->Put("later", "v"))) return "not refused";
              set_limit(RLIM_INFINITY);
              if (const absl::Status resumed = (*db)->Resume(); !resumed.ok())
                return resumed.ToString();
              for (int i = 0; i < acknowledged; ++i) {
                const auto got = (*db)->Get(Concat("key", 1000 + i));
                if (!got.ok() || *got != value) return Concat("key ", i, " is lost");
              }
              return (*db)->Put("later", "v").ToString();
            }),
            "OK");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(path));
  ASSERT_OK_AND_ASSIGN(const std::optional<std::string> later, db->Get("later"));
  EXPECT_EQ(later, "v");
  ASSERT_OK_AND_ASSIGN(const std::optional<std::string> first, db->Get("key1000"));
  EXPECT_EQ(first, value);
}

// The log of the next memtable gets a reserved descriptor.
TEST(ResumeOnDiskTest, WritesContinueWithoutDescriptors) {
  const testing_support::ScratchDir scratch;
  const std::string result = testing_support::InChild([&]() -> std::string {
    const rlimit limit{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    Options options;
    options.write_buffer_bytes = 64 << 10;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(scratch.path_of("store"), options);
    if (!db.ok()) return db.status().ToString();
    std::vector<int> held;
    for (int fd; (fd = ::dup(0)) >= 0;) held.push_back(fd);
    const std::string value(1000, 'v');
    int written = 0;
    absl::Status status;
    while (written < 1000 && (status = (*db)->Put(Concat("key", written), value)).ok()) ++written;
    // More than a memtable's worth.
    if (written < 80 || written == 1000) return Concat("wrote ", written, ": ", status.ToString());
    if (!absl::IsResourceExhausted((*db)->GetFailure())) return (*db)->GetFailure().ToString();
    if ((*db)->Resume().ok()) return "resumed without descriptors";
    for (const int fd : held) ::close(fd);
    if (!(status = (*db)->Resume()).ok()) return status.ToString();
    for (int i = 0; i < written; ++i) {
      const absl::StatusOr<std::optional<std::string>> found = (*db)->Get(Concat("key", i));
      if (!found.ok() || *found != value) return Concat("key", i, " is gone");
    }
    return (*db)->Put("last", value).ok() ? "as it should" : "takes no writes";
  });
  EXPECT_EQ(result, "as it should");
}

}  // namespace
}  // namespace lsm
