#include "lsm/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/memory_file_system.h"
#include "tests/support/read_file.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::StatusIs;

class EventLogTest : public testing::Test {
 protected:
  void Open() {
    log_ = nullptr;
    absl::StatusOr<std::shared_ptr<EventLog>> log = EventLog::Open(options_);
    ASSERT_OK(log);
    log_ = *std::move(log);
  }
  void Write(const std::string& line) {
    DamageFound event;
    event.wall_micros = 1'795'712'718'123'456;
    event.store = "/store";
    event.line = line;
    log_->OnDamage(event);
  }
  std::string Bytes(const std::string& name) { return files_.FileBytes("/logs/" + name); }
  bool IsThere(const std::string& name) {
    return (*files_.OpenDirectory("/logs", /*create=*/true))->Stat(name).ok();
  }

  MemoryFileSystem files_;
  EventLogOptions options_ = {.directory = "/logs", .file_system = &files_};
  std::shared_ptr<EventLog> log_;
};

TEST_F(EventLogTest, WritesALinePerEvent) {
  Open();
  FlushEnd event;
  event.wall_micros = 1'795'712'718'123'456;
  event.store = "/var/lib/my app";
  event.lost = 2;
  event.job = 3;
  event.entries = 10;
  event.outputs.resize(2);
  event.outputs[0].number = 12;
  event.outputs[1].number = 13;
  event.bytes_written = 4096;
  event.nanos = 31'250'999;
  event.status = absl::UnavailableError("/a/b.table: \"broken\"\n");
  log_->OnFlushEnd(event);
  EXPECT_EQ(Bytes("LOG"),
            "2026-11-26T17:05:18.123456Z event=flush_end lost_events=2 job=3 reason=memtable "
            "entries=10 outputs=12,13 bytes=4096 us=31250 status=\"UNAVAILABLE: /a/b.table: "
            "\\x22broken\\x22\\x0a\" store=\"/var/lib/my app\"\n");
}

TEST_F(EventLogTest, WritesEveryKindOfEvent) {
  Open();
  log_->OnOpenBegin({});
  OpenEnd opened;
  opened.recovery.dropped.push_back({.path = "/store/000007.log", .offset = 100, .bytes = 20});
  log_->OnOpenEnd(opened);
  log_->OnFlushBegin({});
  log_->OnFlushEnd({});
  log_->OnCompactionBegin({});
  log_->OnCompactionEnd({});
  log_->OnStallBegin({});
  log_->OnStallEnd({});
  log_->OnFailure({});
  log_->OnResume({});
  log_->OnViewWentBack({});
  log_->OnDamage({});
  log_->OnFileCreated({});
  log_->OnFileRemoved({});
  log_->OnClose({});
  const std::string text = Bytes("LOG");
  for (const char* name : {"open_begin", "open_end", "flush_begin", "flush_end", "compaction_begin",
                           "compaction_end", "stall_begin", "stall_end", "failure", "resume",
                           "view_went_back", "damage", "file_created", "file_removed", "close"})
    EXPECT_THAT(text, HasSubstr(Concat("1970-01-01T00:00:00.000000Z event=", name, " ")));
  EXPECT_THAT(text, HasSubstr("dropped=\"/store/000007.log: dropped 20 bytes"));
  EXPECT_EQ(log_->lines_lost(), 0u);
}

TEST_F(EventLogTest, RotatesAndKeepsTheNewestFiles) {
  options_.file_bytes_max = 1024;
  options_.files_max = 3;
  Open();
  for (int i = 0; i < 40; ++i) Write(Concat("line", i, ".", std::string(200, 'x')));
  // Each file has three lines, so the last one holds only line 39.
  EXPECT_THAT(Bytes("LOG"), HasSubstr("line39."));
  EXPECT_THAT(Bytes("LOG.1"), HasSubstr("line38."));
  EXPECT_THAT(Bytes("LOG.2"), HasSubstr("line33."));
  EXPECT_FALSE(IsThere("LOG.3"));
  for (const char* name : {"LOG", "LOG.1", "LOG.2"}) EXPECT_LE(Bytes(name).size(), 1024u);
}

TEST_F(EventLogTest, KeepsTheFileOfAnEarlierProcess) {
  Open();
  Write("first");
  Open();
  Write("second");
  EXPECT_THAT(Bytes("LOG.1"), HasSubstr("what=first"));
  EXPECT_THAT(Bytes("LOG"), HasSubstr("what=second"));
  options_.files_max = 1;
  Open();
  EXPECT_EQ(Bytes("LOG"), "");
}

TEST_F(EventLogTest, CountsLostLines) {
  Open();
  Write("first");
  files_.SetFault([](FileOperation operation, const std::string&, uint64_t) {
    return operation == FileOperation::kAppend || operation == FileOperation::kCreate
               ? absl::ResourceExhaustedError("the disk is full")
               : absl::OkStatus();
  });
  Write("second");
  Write("third");
  files_.SetFault(nullptr);
  Write("fourth");
  EXPECT_THAT(Bytes("LOG"), HasSubstr("what=fourth"));
  EXPECT_EQ(log_->lines_lost(), 2u);
  EXPECT_THAT(log_->status(), StatusIs(absl::StatusCode::kResourceExhausted));
}

// The file is moved, as logrotate or a user does.
TEST_F(EventLogTest, BeginsAnotherFileIfItsOwnIsMissing) {
  Open();
  const auto directory = files_.OpenDirectory("/logs", false).value();
  Write("first");
  ASSERT_OK(directory->Remove("LOG"));
  Write("second");
  EXPECT_THAT(Bytes("LOG"), HasSubstr("what=second"));
  ASSERT_OK(directory->Rename("LOG", "moved"));
  Write("third");
  EXPECT_THAT(Bytes("LOG"), HasSubstr("what=third"));
  // Another file in its place is kept as an old log.
  ASSERT_OK(directory->Rename("LOG", "moved"));
  files_.SetFileBytes("/logs/LOG", "");
  Write("fourth");
  EXPECT_THAT(Bytes("LOG"), HasSubstr("what=fourth"));
  EXPECT_EQ(Bytes("LOG.1"), "");
  EXPECT_THAT(Bytes("moved"), HasSubstr("what=third"));
  EXPECT_EQ(log_->lines_lost(), 0u);
}

TEST_F(EventLogTest, NoticesAFileOfTheSameSizeOneLineLater) {
  Open();
  ASSERT_OK(files_.OpenDirectory("/logs", false).value()->Rename("LOG", "moved"));
  files_.SetFileBytes("/logs/LOG", "");
  Write("first");
  EXPECT_THAT(Bytes("moved"), HasSubstr("what=first"));
  Write("second");
  EXPECT_THAT(Bytes("LOG"), HasSubstr("what=second"));
  EXPECT_EQ(log_->lines_lost(), 0u);
}

TEST_F(EventLogTest, BeginsAnotherFileIfItsDirectoryIsMissing) {
  const testing_support::ScratchDir scratch;
  const std::string directory = scratch.path_of("logs");
  options_ = {.directory = directory};
  Open();
  Write("first");
  std::filesystem::remove_all(directory);
  Write("second");
  EXPECT_EQ(log_->lines_lost(), 0u) << log_->status();
  EXPECT_THAT(testing_support::ReadFile(directory + "/LOG"), HasSubstr("what=second"));
  // While a directory is in place of the file, lines are lost and counted.
  std::filesystem::remove(directory + "/LOG");
  std::filesystem::create_directory(directory + "/LOG");
  std::filesystem::create_directory(directory + "/LOG.1");
  std::filesystem::create_directory(directory + "/LOG.1/x");
  Write("third");
  EXPECT_EQ(log_->lines_lost(), 1u);
  EXPECT_FALSE(log_->status().ok());
  std::filesystem::remove(directory + "/LOG");
  Write("fourth");
  EXPECT_EQ(log_->lines_lost(), 1u);
}

TEST_F(EventLogTest, KeepsOldFilesWhileLinesAreLost) {
  for (const char* line : {"first", "second", "third"}) {
    Open();
    Write(line);
  }
  files_.SetFault([](FileOperation operation, const std::string&, uint64_t) {
    return operation == FileOperation::kAppend ? absl::ResourceExhaustedError("the disk is full")
                                               : absl::OkStatus();
  });
  for (int i = 0; i < 10; ++i) Write("lost");
  EXPECT_EQ(log_->lines_lost(), 10u);
  files_.SetFault(nullptr);
  Write("fourth");
  EXPECT_THAT(Bytes("LOG.2"), HasSubstr("what=first"));
  EXPECT_THAT(Bytes("LOG.1"), HasSubstr("what=second"));
  EXPECT_THAT(Bytes("LOG"),
              AllOf(HasSubstr("what=third"),
                    HasSubstr("\n2026-11-26T17:05:18.123456Z event=damage what=fourth")));
}

TEST_F(EventLogTest, KeepsOldFilesWhileItsFileCannotBeRenamed) {
  for (const char* line : {"first", "second", "third"}) {
    Open();
    Write(line);
  }
  const auto directory = files_.OpenDirectory("/logs", false).value();
  files_.SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    const bool fails =
        (operation == FileOperation::kRename || operation == FileOperation::kAppend) &&
        path.ends_with("/LOG");
    return fails ? absl::UnavailableError("EIO") : absl::OkStatus();
  });
  for (int i = 0; i < 10; ++i) Write("lost");
  EXPECT_EQ(log_->lines_lost(), 10u);
  files_.SetFault(nullptr);
  Write("fourth");
  std::string all;
  const std::vector<std::string> names = directory->List().value();
  for (const std::string& name : names) all += Bytes(name);
  for (const char* line : {"first", "second", "third", "fourth"})
    EXPECT_THAT(all, HasSubstr(Concat("what=", line)));
}

TEST_F(EventLogTest, RefusesBadOptions) {
  const auto refusal = [&](const EventLogOptions& options) {
    return EventLog::Open(options).status();
  };
  options_.file_bytes_max = 1023;
  EXPECT_THAT(refusal(options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("file_bytes_max")));
  options_ = {.directory = "/logs", .files_max = 0, .file_system = &files_};
  EXPECT_THAT(refusal(options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("files_max")));
  for (const char* name : {"CURRENT", "LOCK", "000012.log", "000012.table"}) {
    options_ = {.directory = "/logs", .name = name, .file_system = &files_};
    EXPECT_THAT(refusal(options_), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
  }
  options_ = {.directory = "/logs", .name = "a/b", .file_system = &files_};
  EXPECT_THAT(refusal(options_), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(EventLogTest, AcceptsLinesOfSeveralThreads) {
  options_.file_bytes_max = uint64_t{1} << 20;
  Open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int line = 0; line < 100; ++line) Write("whole");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = Bytes("LOG");
  size_t lines = 0;
  for (size_t at = 0;
       (at = text.find("event=damage what=whole store=/store\n", at)) != std::string::npos; ++at)
    ++lines;
  EXPECT_EQ(lines, 400u);
}

}  // namespace
}  // namespace lsm
