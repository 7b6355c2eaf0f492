// Options::listener: which events come, in which order, and that callbacks may use the store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lsm/event_listener.h"
#include "lsm/events/event_queue.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::StatusIs;

std::string Outcome(const absl::Status& status) { return status.ok() ? "ok" : status.ToString(); }

// Records each event in a few words, tracks the set of files by the events, and calls `during` in
// each callback.
class Recorder final : public EventListener {
 public:
  std::vector<std::string> Take() { return std::exchange(lines, {}); }
  // Removes all lines and returns those with this beginning.
  std::vector<std::string> Take(std::string_view beginning) {
    std::vector<std::string> chosen;
    for (const std::string& line : Take()) {
      if (line.starts_with(beginning)) chosen.push_back(line);
    }
    return chosen;
  }

  void OnOpenBegin(const OpenBegin& event) override {
    Note(event, Concat("open begin", event.read_only ? " read-only" : ""));
  }
  void OnOpenEnd(const OpenEnd& event) override {
    Note(event, Concat("open end ", Outcome(event.status)));
    recovery = event.recovery;
  }
  void OnClose(const Closed& event) override {
    Note(event, Concat("close ", Outcome(event.status)));
  }
  void OnFlushBegin(const FlushBegin& event) override {
    Note(event, Concat("flush begin ", NameOf(event.reason), " entries ", event.entries));
  }
  void OnFlushEnd(const FlushEnd& event) override {
    Note(event, Concat("flush end ", NameOf(event.reason), " tables ", event.outputs.size(), " ",
                       Outcome(event.status)));
    flush_end = event;
  }
  void OnCompactionBegin(const CompactionBegin& event) override {
    Note(event, Concat("compaction begin ", NameOf(event.reason), " ", event.level, " to ",
                       event.output_level, " inputs ", event.inputs.size()));
  }
  void OnCompactionEnd(const CompactionEnd& event) override {
    Note(event, Concat("compaction end ", NameOf(event.reason), event.moved ? " moved" : "",
                       " outputs ", event.outputs.size(), " dropped ", event.entries_dropped, " ",
                       Outcome(event.status)));
    compaction_end = event;
  }
  void OnStallBegin(const StallBegin& event) override {
    Note(event, Concat("stall begin ", NameOf(event.cause)));
  }
  void OnStallEnd(const StallEnd& event) override {
    Note(event, Concat("stall end ", NameOf(event.cause)));
  }
  void OnFailure(const Failure& event) override {
    Note(event, Concat("failure ", NameOf(event.kind),
                       event.writes_stopped ? " stops writes " : " ", Outcome(event.status)));
  }
  void OnResume(const Resumed& event) override {
    Note(event, Concat("resume ", Outcome(event.status)));
  }
  void OnDamage(const DamageFound& event) override { Note(event, Concat("damage ", event.line)); }
  void OnFileCreated(const FileCreated& event) override {
    EXPECT_TRUE(files.insert(event.path).second) << event.path << " was created twice";
    Note(event, Concat("created ", event.path));
  }
  void OnFileRemoved(const FileRemoved& event) override {
    EXPECT_EQ(files.erase(event.path), 1u) << event.path << " was removed, but never created";
    Note(event, Concat("removed ", event.path));
  }

  std::vector<std::string> lines;
  std::set<std::string> files;
  RecoveryReport recovery;
  FlushEnd flush_end;
  CompactionEnd compaction_end;
  std::function<void()> during;
  uint64_t lost = 0;

 private:
  void Note(const Event& event, std::string line) {
    EXPECT_EQ(event.store, kStorePath);
    lost += event.lost;
    lines.push_back(std::move(line));
    if (during != nullptr) during();
  }
};

class EventsTest : public StoreTest {
 protected:
  EventsTest() { options_.listener = recorder_; }

  // The existing files of the kinds that events report.
  std::set<std::string> FilesThere() {
    std::set<std::string> files;
    for (const FileKind kind : {FileKind::kTable, FileKind::kLog, FileKind::kManifest}) {
      for (const std::string& path : world_.FilesOf(kind)) files.insert(path);
    }
    return files;
  }

  const std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
};

TEST_F(EventsTest, CountsCallbacksAndTheirTime) {
  Open();
  const Statistics before = db_->GetStatistics();
  const size_t lines_before = recorder_->lines.size();
  recorder_->during = [&] { world_.clock.Advance(5'000); };
  Put("a", "1");
  Flush();
  ASSERT_OK(db_->WaitForBackgroundWork());
  recorder_->during = nullptr;
  const Statistics counted = db_->GetStatistics().Since(before);
  EXPECT_GE(counted.listener_calls, 4u);  // a flush, its table, and a log
  EXPECT_EQ(counted.listener_calls, recorder_->lines.size() - lines_before);
  // Reading the clock takes 1,000 more.
  EXPECT_EQ(counted.listener_nanos, 6'000 * counted.listener_calls);
  EXPECT_THAT(db_->GetStatistics().ToText(), HasSubstr("callbacks of the listener"));
  options_.listener = nullptr;
  Open();
  EXPECT_EQ(db_->GetStatistics().listener_calls, 0u);
}

TEST_F(EventsTest, ReportsOpeningAndClosing) {
  Open();
  const std::vector<std::string> opened = recorder_->Take();
  ASSERT_GE(opened.size(), 2u);
  EXPECT_EQ(opened.front(), "open begin");
  EXPECT_EQ(opened.back(), "open end ok");
  db_ = nullptr;
  const std::vector<std::string> closed = recorder_->Take();
  ASSERT_FALSE(closed.empty());
  EXPECT_EQ(closed.back(), "close ok");
}

TEST_F(EventsTest, ReportsFailedOpenings) {
  options_.mode = OpenMode::kMustExist;
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(recorder_->Take(), ElementsAre("open begin", HasSubstr("open end NOT_FOUND")));

  options_.mode = OpenMode::kOpenOrCreate;
  Fail(FileOperation::kCreate, ".manifest");
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kUnavailable));
  const std::vector<std::string> lines = recorder_->Take();
  EXPECT_EQ(lines.front(), "open begin");
  EXPECT_THAT(lines.back(), HasSubstr("open end UNAVAILABLE"));
  EXPECT_EQ(recorder_->files, FilesThere());
}

TEST_F(EventsTest, ReportsFlushes) {
  Open();
  Put("a", "1");
  Put("b", "2");
  recorder_->Take();
  Flush();
  EXPECT_THAT(recorder_->Take("flush"),
              ElementsAre("flush begin request entries 2", "flush end request tables 1 ok"));
  const FlushEnd& end = recorder_->flush_end;
  EXPECT_GT(end.job, 0u);
  EXPECT_EQ(end.outputs[0].entries, 2u);
  EXPECT_EQ(end.outputs[0].level, 0);
  EXPECT_EQ(end.outputs[0].bytes, end.bytes_written);
  EXPECT_EQ(end.outputs[0].filter_kind, "blocked");
  EXPECT_EQ(end.outputs[0].target_fpp, 0.01);
}

TEST_F(EventsTest, TellsFullMemtablesFromRequests) {
  Open();
  recorder_->Take();
  for (int i = 0; i < 100; ++i) Put(Concat("key", i), std::string(1000, 'v'));
  ASSERT_OK(db_->WaitForBackgroundWork());
  std::vector<std::string> ends = recorder_->Take("flush end");
  EXPECT_THAT(ends, AllOf(Not(IsEmpty()), testing::Each("flush end memtable tables 1 ok")));
  for (const auto& flush : std::vector<std::function<absl::Status()>>{
           [&] { return db_->Flush(); }, [&] { return db_->CompactRange(); },
           [&] { return db_->Checkpoint("/copy"); },
           [&] { return db_->Backup("/backup").status(); }}) {
    Put("key", "v");
    recorder_->Take();
    EXPECT_OK(flush());
    ends = recorder_->Take("flush end");
    EXPECT_THAT(ends, ElementsAre("flush end request tables 1 ok"));
  }
}

TEST_F(EventsTest, ReportsFlushesDuringOpening) {
  Open();
  Put("a", "1");
  Open();
  EXPECT_THAT(recorder_->Take("flush"),
              ElementsAre("flush begin opening entries 1", "flush end opening tables 1 ok"));
  EXPECT_EQ(recorder_->recovery.records, 1u);
  EXPECT_THAT(recorder_->recovery.dropped, IsEmpty());
}

TEST_F(EventsTest, ReportsDroppedLogEnds) {
  Open();
  Put("a", "1");
  Put("b", "2");
  const std::string log = world_.FilesOf(FileKind::kLog)[0];
  const std::string bytes = world_.files->FileBytes(log);
  std::unique_ptr<MemoryFileSystem> image = world_.files->Clone();  // as a crash leaves it
  image->SetFileBytes(log, bytes.substr(0, bytes.size() - 3));
  db_ = nullptr;
  world_.files = std::move(image);
  options_.environment.file_system = world_.files.get();
  Open();
  ASSERT_EQ(recorder_->recovery.dropped.size(), 1u);
  EXPECT_EQ(recorder_->recovery.dropped[0].path, log);
  EXPECT_EQ(recorder_->recovery.dropped[0].Describe(),
            db_->GetStatistics().recovery.dropped[0].Describe());
}

TEST_F(EventsTest, ReportsCompactions) {
  Open();
  Put("a", "1");
  Put("b", "1");
  Flush();
  recorder_->Take();
  CompactAll();
  EXPECT_THAT(recorder_->Take("compaction"),
              ElementsAre("compaction begin request 0 to 1 inputs 1",
                          "compaction end request outputs 1 dropped 0 ok"));
  Put("a", "2");
  CompactAll();
  EXPECT_THAT(recorder_->Take("compaction"),
              ElementsAre("compaction begin request 0 to 1 inputs 2",
                          "compaction end request outputs 1 dropped 1 ok"));
  const CompactionEnd& end = recorder_->compaction_end;
  EXPECT_EQ(end.inputs.size(), 2u);
  EXPECT_EQ(end.inputs[0].level, 0);
  EXPECT_EQ(end.inputs[1].level, 1);
  EXPECT_EQ(end.outputs[0].level, 1);
  EXPECT_EQ(end.bytes_read, end.inputs[0].bytes + end.inputs[1].bytes);
  EXPECT_EQ(end.bytes_written, end.outputs[0].bytes);
}

TEST_F(EventsTest, ReportsMoves) {
  Open();
  for (const char* key : {"a", "b", "c", "d"}) {  // no table overlaps another
    Put(key, "1");
    Flush();
  }
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_THAT(recorder_->Take("compaction end"),
              testing::Contains("compaction end level moved outputs 1 dropped 0 ok"));
  EXPECT_EQ(recorder_->compaction_end.inputs[0].number,
            recorder_->compaction_end.outputs[0].number);
}

TEST_F(EventsTest, ReportsFailuresAndResuming) {
  Open();
  Put("a", "1");
  Fail(FileOperation::kCreate, ".table");
  EXPECT_THAT(db_->Flush(), StatusIs(absl::StatusCode::kUnavailable));
  std::vector<std::string> lines = recorder_->Take();
  EXPECT_THAT(lines, testing::Contains(HasSubstr("flush end request tables 0 UNAVAILABLE")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("failure flush UNAVAILABLE")));
  EXPECT_FALSE(db_->Resume().ok());
  EXPECT_THAT(recorder_->Take("resume"), ElementsAre(HasSubstr("resume UNAVAILABLE")));
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->Resume());
  lines = recorder_->Take();
  EXPECT_THAT(lines, testing::Contains("flush end resume tables 1 ok"));
  EXPECT_THAT(lines, testing::Contains("resume ok"));
  EXPECT_OK(db_->Resume());
  EXPECT_THAT(recorder_->Take(), IsEmpty());

  Fail(FileOperation::kAppend, ".log");
  EXPECT_FALSE(db_->Put("b", "2").ok());
  EXPECT_THAT(recorder_->Take(), ElementsAre(HasSubstr("failure log stops writes UNAVAILABLE")));
}

TEST_F(EventsTest, ReportsDamage) {
  Open();
  Put("a", "1");
  Flush();
  const std::string path = world_.FilesOf(FileKind::kTable).back();
  std::string bytes = world_.files->FileBytes(path);
  bytes[bytes.size() / 2] ^= 1;
  world_.files->SetFileBytes(path, bytes);
  recorder_->Take();
  EXPECT_FALSE(db_->Verify()->problems.empty());
  EXPECT_THAT(recorder_->Take(), ElementsAre(AllOf(HasSubstr("damage "), HasSubstr(path))));
  EXPECT_FALSE(db_->Verify()->problems.empty());
  EXPECT_THAT(recorder_->Take(), IsEmpty());
}

TEST_F(EventsTest, ReportsEveryFile) {
  Open();
  Dice dice(7);
  for (int i = 0; i < 3000; ++i) {
    Put(Concat("key", dice.Roll(1000)), std::string(100, 'v'));
    if (i % 1000 == 999) {
      ASSERT_OK(db_->WaitForBackgroundWork());
      EXPECT_EQ(recorder_->files, FilesThere());
      Open();
      EXPECT_EQ(recorder_->files, FilesThere());
    }
  }
  CompactAll();
  EXPECT_EQ(recorder_->files, FilesThere());
  EXPECT_THAT(recorder_->Take("removed"), Not(IsEmpty()));
  EXPECT_EQ(recorder_->lost, 0u);
}

TEST_F(EventsTest, PairsStalls) {
  Open();
  for (int i = 0; i < 3000; ++i) Put(Concat("key", i), std::string(1000, 'v'));
  const std::vector<std::string> stalls = recorder_->Take("stall");
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(stalls.size(),
            2 * (statistics.stalls_memtable + statistics.stalls_level0 + statistics.stalls_log));
  EXPECT_GT(stalls.size(), 0u);
  for (size_t i = 0; i + 1 < stalls.size(); i += 2) {
    EXPECT_THAT(stalls[i], HasSubstr("begin"));
    EXPECT_EQ(stalls[i + 1], Concat("stall end", stalls[i].substr(strlen("stall begin"))));
  }
}

TEST_F(EventsTest, CreatingALogIsAStall) {
  Open();
  bool has_failed = false;  // making it ahead of time
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (has_failed || operation != FileOperation::kCreate || !path.ends_with(".log"))
      return absl::OkStatus();
    has_failed = true;
    return absl::UnavailableError(path);
  });
  Put("a", "1");
  Flush();
  EXPECT_TRUE(has_failed);
  EXPECT_THAT(recorder_->Take("stall"), ElementsAre("stall begin log", "stall end log"));
  EXPECT_EQ(db_->GetStatistics().stalls_log, 1u);
  world_.files->SetFault(nullptr);  // otherwise it would outlive the object that it refers to
}

// The store stays open, and no call waits.
TEST_F(EventsTest, DestroyingTheDBInACallbackLeavesTheStoreOpen) {
  Open();
  for (int i = 0; world_.scheduler.queued_count() == 0; ++i)
    Put(Concat("key", i), std::string(1000, 'v'));
  recorder_->during = [&] { db_ = nullptr; };
  world_.scheduler.RunAll();
  recorder_->during = nullptr;
  EXPECT_EQ(db_, nullptr);
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

// This test would hang if a callback could wait for a lock.
TEST_F(EventsTest, CallbacksMayReadButNotWait) {
  Open();
  int calls = 0;
  recorder_->during = [&] {
    ++calls;
    EXPECT_OK(db_->Get("key1"));
    const std::vector<std::string_view> keys = {"key1", "key2"};
    for (const auto& answer : db_->MultiGet(keys)) EXPECT_OK(answer);
    db_->NewIterator()->SeekToFirst();
    (void)db_->GetSnapshot();
    (void)db_->GetStatistics();
    (void)db_->GetFailure();
    (void)db_->GetDamage();
    (void)db_->ApproximateBytes();
    EXPECT_OK(db_->Explain("key1"));
    for (const absl::Status& status :
         {db_->Put("key1", "2"), db_->Delete("key1"), db_->Flush(), db_->CompactRange(),
          db_->WaitForBackgroundWork(), db_->Resume(), db_->Verify().status(),
          db_->Checkpoint("/copy"), db_->Backup("/backup").status()}) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("callback")));
    }
  };
  for (int i = 0; i < 2000; ++i) Put(Concat("key", i % 500), std::string(500, 'v'));
  CompactAll();
  Fail(FileOperation::kAppend, ".log");
  EXPECT_FALSE(db_->Put("b", "2").ok());
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->Resume());
  EXPECT_GT(calls, 50);
  std::set<std::string> kinds;
  for (const std::string& line : recorder_->Take()) kinds.insert(line.substr(0, line.find(' ')));
  EXPECT_THAT(kinds, testing::IsSupersetOf(
                         {"flush", "compaction", "stall", "failure", "resume", "created"}));
  recorder_->during = nullptr;
}

TEST_F(EventsTest, CopiesReportNothing) {
  Open();
  Put("a", "1");
  Flush();
  recorder_->Take();
  EXPECT_OK(db_->Checkpoint("/copy"));
  EXPECT_OK(DB::Restore("/copy", "/restored", options_));
  EXPECT_THAT(recorder_->Take(), testing::Each(Not(HasSubstr("copy"))));
}

TEST(EventQueueTest, CountsLostEvents) {
  testing_support::ManualClock clock;
  const auto recorder = std::make_shared<Recorder>();
  EventQueue queue(recorder, &clock, kStorePath);
  for (size_t i = 0; i < kEventsQueuedMax + 5; ++i) queue.Add(DamageFound());
  queue.Deliver();
  EXPECT_EQ(recorder->lines.size(), kEventsQueuedMax);
  EXPECT_EQ(recorder->lost, 0u);
  queue.Add(DamageFound());
  queue.Deliver();
  EXPECT_EQ(recorder->lost, 5u);
  queue.Close();
  queue.Add(DamageFound());
  queue.Deliver();
  EXPECT_EQ(recorder->lines.size(), kEventsQueuedMax + 1);
}

TEST(EventQueueTest, CountsEventsWithoutMemoryAsLost) {
  testing_support::ManualClock clock;
  const auto recorder = std::make_shared<Recorder>();
  EventQueue queue(recorder, &clock, kStorePath);
  queue.AddMade([]() -> DamageFound { throw std::bad_alloc(); });
  queue.AddMade([] { return DamageFound(); });
  queue.Deliver();
  EXPECT_EQ(recorder->lines.size(), 1u);
  EXPECT_EQ(recorder->lost, 1u);
}

TEST(EventQueueTest, KeepsEndsOfOpeningAndClosing) {
  testing_support::ManualClock clock;
  const auto recorder = std::make_shared<Recorder>();
  EventQueue queue(recorder, &clock, kStorePath);
  for (size_t i = 0; i < kEventsQueuedMax + 5; ++i) queue.Add(DamageFound());
  queue.Add(OpenEnd());
  for (size_t i = 0; i < 7; ++i) queue.Add(DamageFound());
  queue.Add(Closed());
  queue.Close();
  ASSERT_EQ(recorder->lines.size(), kEventsQueuedMax + 2);
  EXPECT_EQ(recorder->lines[kEventsQueuedMax], "open end ok");
  EXPECT_EQ(recorder->lines.back(), "close ok");
  EXPECT_EQ(recorder->lost, 12u);
}

}  // namespace
}  // namespace lsm
