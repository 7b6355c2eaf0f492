// DB::Verify and scrubbing read everything and name all damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/store/pacer.h"
#include "lsm/store/verify_table.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/engine/schedulers.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using testing_support::StatusIs;

class VerifyTest : public StoreTest {
 protected:
  VerifyTest() { options_.filter_kind = "blocked"; }

  // Makes tables of several blocks in two levels, and writes that are only in the log.
  void Fill() {
    Open();
    for (int i = 0; i < 400; ++i) Put(Concat("key", 1000 + i), std::string(20, 'v'));
    CompactAll();
    for (int i = 0; i < 100; ++i) Put(Concat("key", 1000 + 4 * i), "newer");
    Flush();
    Put("key1001", "in the log");
  }

  VerifyReport Verify() {
    const absl::StatusOr<VerifyReport> report = db_->Verify();
    EXPECT_OK(report);
    return report.value_or(VerifyReport());
  }

  void FlipByte(const std::string& path, size_t offset) {
    std::string bytes = world_.files->FileBytes(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x10);
    world_.files->SetFileBytes(path, bytes);
  }
};

TEST_F(VerifyTest, FindsASoundStoreSound) {
  Fill();
  const VerifyReport report = Verify();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.tables, 2u);
  EXPECT_EQ(report.entries, 500u);
  EXPECT_EQ(report.keys, 500u);
  EXPECT_EQ(report.keys_in_filter, 500u);
  EXPECT_EQ(report.filters_absent, 0u);
  EXPECT_GT(report.blocks, 20u);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(report.bytes, statistics.total.table_bytes);
  EXPECT_EQ(statistics.tables_verified, 2u);
  EXPECT_EQ(statistics.bytes_verified, report.bytes);
  EXPECT_EQ(statistics.damage_found, 0u);
  EXPECT_THAT(db_->GetDamage(), IsEmpty());
}

TEST_F(VerifyTest, VerifiesReadOnlyStores) {
  Fill();
  db_ = nullptr;
  options_.mode = OpenMode::kReadOnly;
  Open();
  EXPECT_THAT(Verify().problems, IsEmpty());
  FlipByte(world_.FilesOf(FileKind::kLog)[0], 60);
  EXPECT_THAT(Verify().problems, ElementsAre(HasSubstr(".log: offset ")));
}

// Also bytes of which the open table has a sound copy in memory.
TEST_F(VerifyTest, ChecksEveryByteOfATable) {
  Fill();
  const std::string path = world_.FilesOf(FileKind::kTable)[0];
  const std::string bytes = world_.files->FileBytes(path);
  for (size_t offset = 0; offset < bytes.size(); offset += 7) {
    FlipByte(path, offset);
    const VerifyReport report = Verify();
    ASSERT_THAT(report.problems, Contains(StartsWith(path))) << offset;
    world_.files->SetFileBytes(path, bytes);
  }
  EXPECT_THAT(Verify().problems, IsEmpty());
  EXPECT_GT(db_->GetStatistics().damage_found, 3u);
}

TEST_F(VerifyTest, ChecksCurrentManifestAndLogs) {
  Fill();
  for (const FileKind kind : {FileKind::kManifest, FileKind::kLog}) {
    const std::string path = world_.FilesOf(kind)[0];
    const std::string bytes = world_.files->FileBytes(path);
    for (size_t offset = 0; offset < bytes.size(); ++offset) {
      FlipByte(path, offset);
      ASSERT_THAT(Verify().problems, ElementsAre(HasSubstr(path))) << offset;
      world_.files->SetFileBytes(path, bytes);
    }
    world_.files->SetFileBytes(path, "");
    EXPECT_THAT(Verify().problems, ElementsAre(HasSubstr(path)));
    world_.files->SetFileBytes(path, bytes);
  }
  FlipByte(Concat(kStorePath, "/CURRENT"), 20);
  EXPECT_THAT(Verify().problems, ElementsAre(HasSubstr("/CURRENT")));
}

// An open store knows its logs.
TEST_F(VerifyTest, DamagedManifestsHideNoDamagedLog) {
  Fill();
  for (const OpenMode mode : {OpenMode::kOpenOrCreate, OpenMode::kReadOnly}) {
    db_ = nullptr;
    options_.mode = OpenMode::kOpenOrCreate;
    Open();
    Put("key1001", "in the log");
    db_ = nullptr;
    options_.mode = mode;
    Open();
    const std::string manifest = world_.FilesOf(FileKind::kManifest)[0];
    const std::string log = world_.FilesOf(FileKind::kLog)[0];
    const std::string log_bytes = world_.files->FileBytes(log);
    FlipByte(log, 20);
    for (const std::string& path : {manifest, Concat(kStorePath, "/CURRENT")}) {
      const std::string bytes = world_.files->FileBytes(path);
      FlipByte(path, 20);
      EXPECT_THAT(Verify().problems, UnorderedElementsAre(HasSubstr(path), HasSubstr(log)));
      world_.files->SetFileBytes(path, bytes);
    }
    world_.files->SetFileBytes(log, log_bytes);
  }
}

// The report says that the records of the failed log were not checked.
TEST_F(VerifyTest, ReportsOmissionsAfterAFailure) {
  Fill();
  EXPECT_FALSE(Verify().records_left_out);
  world_.files->SetFault(
      [](FileOperation operation, const std::string& path, uint64_t) -> absl::Status {
        return operation == FileOperation::kSyncFile && path.ends_with(".log")
                   ? absl::UnavailableError("no sync")
                   : absl::OkStatus();
      });
  EXPECT_FALSE(db_->Put("key", "value", {.sync = true}).ok());
  world_.files->SetFault(nullptr);
  EXPECT_TRUE(Verify().records_left_out);
  EXPECT_THAT(Verify().problems, IsEmpty());
  ASSERT_OK(db_->Resume());
  EXPECT_FALSE(Verify().records_left_out);
}

// Opening the store would take this for the result of a crash, but the open store knows what it
// wrote.
TEST_F(VerifyTest, DetectsTruncatedLogs) {
  Fill();
  for (int i = 0; i < 5; ++i) Put(Concat("key", 2000 + i), "in the log too");
  const std::string path = world_.FilesOf(FileKind::kLog)[0];
  const std::string bytes = world_.files->FileBytes(path);
  for (size_t size = 0; size < bytes.size(); ++size) {
    world_.files->SetFileBytes(path, bytes.substr(0, size));
    ASSERT_THAT(Verify().problems, ElementsAre(StartsWith(path))) << size;
    std::string overwritten = bytes;
    overwritten.replace(size, 3, "???");
    world_.files->SetFileBytes(path, overwritten.substr(0, bytes.size()));
    ASSERT_THAT(Verify().problems, ElementsAre(StartsWith(path))) << size;
  }
  world_.files->SetFileBytes(path, bytes);
  EXPECT_THAT(Verify().problems, IsEmpty());
}

// The manifest is sound by itself, but it is not the newest one.
TEST_F(VerifyTest, DetectsOlderManifests) {
  Fill();
  const std::string path = world_.FilesOf(FileKind::kManifest)[0];
  const std::string older = world_.files->FileBytes(path);
  Flush();
  world_.files->SetFileBytes(path, older);
  EXPECT_THAT(Verify().problems,
              ElementsAre(AllOf(StartsWith(path), HasSubstr("does not say what was written"))));
}

TEST_F(VerifyTest, NamesUnreadableFiles) {
  Fill();
  Fail(FileOperation::kReadAt, ".table");
  EXPECT_THAT(Verify().problems,
              ElementsAre(HasSubstr(".table: broken"), HasSubstr(".table: broken")));
}

// A lack of descriptors in the process is not damage to a file.
TEST_F(VerifyTest, MissingDescriptorsAreNoDamage) {
  Fill();
  for (const char* suffix : {".table", ".manifest", ".log", "CURRENT"}) {
    world_.files->SetFault([suffix](FileOperation operation, const std::string& path, uint64_t) {
      return operation == FileOperation::kOpenRead && path.ends_with(suffix)
                 ? absl::ResourceExhaustedError(Concat(path, ": too many open files"))
                 : absl::OkStatus();
    });
    EXPECT_THAT(db_->Verify(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(suffix)));
  }
  EXPECT_THAT(db_->GetDamage(), IsEmpty());
  // A copy that cannot be read back is not reported as damaged either.
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kOpenRead && path.starts_with("/copy/")
               ? absl::ResourceExhaustedError(Concat(path, ": too many open files"))
               : absl::OkStatus();
  });
  EXPECT_THAT(db_->Backup("/copy"), StatusIs(absl::StatusCode::kResourceExhausted));
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->Backup("/copy"));
  EXPECT_THAT(Verify().problems, IsEmpty());
}

TEST_F(VerifyTest, NotesDamageOnce) {
  Fill();
  const std::string path = world_.FilesOf(FileKind::kTable)[1];
  FlipByte(path, 100);
  const std::vector<std::string> problems = Verify().problems;
  EXPECT_THAT(problems, ElementsAre(StartsWith(Concat(path, ": offset "))));
  EXPECT_EQ(Verify().problems, problems);
  EXPECT_EQ(db_->GetDamage(), problems);
  EXPECT_EQ(db_->GetStatistics().damage_found, 1u);
}

TEST_F(VerifyTest, CountsUnlistedDamageOnce) {
  options_.block_bytes = 256;
  options_.write_buffer_bytes = 1 << 20;
  Open();
  for (const char* name : {"a", "b"}) {
    for (int i = 0; i < 2000; ++i) Put(Concat(name, 10'000 + i), std::string(40, 'v'));
    Flush();
  }
  for (const std::string& path : world_.FilesOf(FileKind::kTable)) {
    for (uint64_t at = 100; at < 14'000; at += 200) FlipByte(path, at);
  }
  const size_t lines = Verify().problems.size();
  EXPECT_GT(lines, 100u);
  EXPECT_EQ(db_->GetStatistics().damage_found, lines);
  EXPECT_EQ(Verify().problems.size(), lines);
  EXPECT_EQ(db_->GetStatistics().damage_found, lines);
  EXPECT_EQ(db_->GetDamage().size(), 100u);
}

TEST_F(VerifyTest, ProgressMayEndIt) {
  Fill();
  uint64_t last = 0, calls = 0, total = 0;
  Pace pace;
  pace.progress = [&](const Progress& progress) {
    EXPECT_GE(progress.bytes_done, last);
    EXPECT_THAT(progress.file, StartsWith(kStorePath));
    last = progress.bytes_done;
    total = progress.bytes_total;
    ++calls;
    return true;
  };
  EXPECT_OK(db_->Verify(pace));
  EXPECT_EQ(total, db_->GetStatistics().total.table_bytes);
  EXPECT_GT(calls, 20u);
  EXPECT_GT(last, total / 2);
  EXPECT_LE(last, total);
  calls = 0;
  pace.progress = [&](const Progress&) { return ++calls < 5; };
  EXPECT_THAT(db_->Verify(pace), StatusIs(absl::StatusCode::kCancelled, HasSubstr("of ")));
  EXPECT_EQ(calls, 5u);
}

TEST_F(VerifyTest, ProgressMayReadButNotWait) {
  Fill();
  uint64_t calls = 0;
  Pace pace;
  pace.progress = [&](const Progress&) {
    if (++calls > 1) return true;
    const auto refused =
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Pace::progress"));
    EXPECT_OK(db_->Get("key1000"));
    db_->NewIterator()->SeekToFirst();
    EXPECT_GT(db_->GetStatistics().total.tables, 0u);
    EXPECT_OK(db_->GetFailure());
    EXPECT_THAT(db_->Put("a", "1"), refused);
    EXPECT_THAT(db_->Flush(), refused);
    EXPECT_THAT(db_->CompactRange(), refused);
    EXPECT_THAT(db_->WaitForBackgroundWork(), refused);
    EXPECT_THAT(db_->Resume(), refused);
    EXPECT_THAT(db_->Verify(), refused);
    EXPECT_THAT(db_->Checkpoint("/copy"), refused);
    EXPECT_THAT(db_->Backup("/copy"), refused);
    EXPECT_THAT(db_->Close(), refused);
    // The callback may use another store.  A callback of that store may close neither of the two.
    Options other_options = options_;
    other_options.mode = OpenMode::kOpenOrCreate;
    const absl::StatusOr<std::unique_ptr<DB>> other = DB::Open("/other", other_options);
    EXPECT_OK(other);
    EXPECT_OK((*other)->Put("a", "1"));
    EXPECT_OK((*other)->Flush());
    Pace nested;
    nested.progress = [&](const Progress&) {
      EXPECT_THAT(db_->Close(), refused);
      EXPECT_THAT((*other)->Close(), refused);
      return true;
    };
    EXPECT_OK((*other)->Verify(nested));
    EXPECT_OK((*other)->Close());
    return true;
  };
  EXPECT_OK(db_->Verify(pace));
  EXPECT_GT(std::exchange(calls, 0), 0u);
  EXPECT_OK(db_->Backup("/backup", "", pace));
  EXPECT_GT(calls, 0u);
  EXPECT_OK(db_->Put("a", "1"));
  EXPECT_OK(db_->Close());
}

TEST_F(VerifyTest, VerifiesTablesAgainstTheManifest) {
  Fill();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       world_.files->OpenDirectory(kStorePath, /*create=*/false));
  ASSERT_OK_AND_ASSIGN(const ManifestContents contents, ReadManifest(*directory));
  const TableMeta sound = contents.state.levels[0].begin()->second;
  const Pace pace;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Pacer> pacer,
                       Pacer::Create(pace, options_.environment, 0));
  const auto problems_of = [&](const TableMeta& meta) {
    VerifyReport report;
    EXPECT_OK(VerifyTable(*directory, meta, {0, contents.state.last_sequence}, ReadMode::kBuffered,
                          contents.state.digest_seed, pacer.get(), &report));
    return report.problems;
  };
  EXPECT_THAT(problems_of(sound), IsEmpty());
  TableMeta meta = sound;
  meta.smallest[0] = 'j';
  EXPECT_THAT(problems_of(meta),
              ElementsAre(HasSubstr("the properties say smallest_key \"key1000\""),
                          HasSubstr("the manifest says smallest key \"jey1000\"")));
  meta = sound;
  meta.largest[0] = 'l';
  EXPECT_THAT(problems_of(meta),
              ElementsAre(HasSubstr("largest_key"), HasSubstr("largest key \"ley")));
  meta = sound;
  ++meta.file_id;
  EXPECT_THAT(problems_of(meta), ElementsAre(HasSubstr(".table: ")));
}

TEST_F(VerifyTest, ClockJumpsDoNotStopVerify) {
  class JumpingClock : public Clock {
   public:
    uint64_t MonotonicNanos() override { return nanos_ -= uint64_t{1} << 40; }
    uint64_t WallMicros() override { return 0; }

   private:
    uint64_t nanos_ = uint64_t{1} << 62;
  } clock;
  CountingScheduler scheduler(&world_.clock);
  const Environment environment{nullptr, nullptr, &clock, &scheduler, nullptr};
  Pace pace;
  pace.bytes_per_second = 1000;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Pacer> pacer, Pacer::Create(pace, environment, 0));
  for (int i = 0; i < 10; ++i) EXPECT_OK(pacer->Take("file", 500));
  EXPECT_LE(scheduler.longest_nanos, 500'000'000u);
}

TEST_F(VerifyTest, KeepsThePace) {
  CountingScheduler scheduler(&world_.clock);
  options_.environment.scheduler = &scheduler;
  Fill();
  const uint64_t before = scheduler.waited_nanos;
  Pace pace;
  pace.bytes_per_second = 10'000;
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify(pace));
  const double seconds = static_cast<double>(scheduler.waited_nanos - before) * 1e-9;
  // Verify waits for all reads except the last block, including the index and the filter that
  // opening a table reads.
  EXPECT_NEAR(seconds, static_cast<double>(report.bytes) / 10'000, 0.06);
  db_ = nullptr;
}

TEST_F(VerifyTest, ScrubbingFindsDamageInItsTime) {
  CountingScheduler scheduler(&world_.clock);
  options_.environment.scheduler = &scheduler;
  options_.scrub_seconds = 60;
  Fill();
  const std::string path = world_.FilesOf(FileKind::kTable)[1];
  FlipByte(path, 100);
  const uint64_t from = world_.clock.MonotonicNanos();
  const uint64_t rounds = db_->GetStatistics().scrubs;
  while (db_->GetStatistics().scrubs < rounds + 3) scheduler.Pause(0);
  const double seconds = static_cast<double>(world_.clock.MonotonicNanos() - from) * 1e-9;
  EXPECT_GT(seconds, 100);
  EXPECT_LT(seconds, 200);
  EXPECT_THAT(db_->GetDamage(), ElementsAre(StartsWith(Concat(path, ": offset "))));
  EXPECT_EQ(db_->GetStatistics().damage_found, 1u);
  // The first of the rounds may have begun before there were tables.
  EXPECT_GE(db_->GetStatistics().tables_verified, 4u);
  // Closing the store does not wait for long.
  EXPECT_LE(scheduler.longest_nanos, 100'000'000u);
  db_ = nullptr;
}

// Tables that are made meanwhile wait for the next round; otherwise this round would never end.
TEST_F(VerifyTest, ScrubbingFinishesDuringWrites) {
  CountingScheduler scheduler(&world_.clock);
  options_.environment.scheduler = &scheduler;
  options_.scrub_seconds = 60;
  Fill();
  uint64_t waits = 0;
  scheduler.meanwhile = [&] {
    if (++waits % 100 != 0) return;  // every few seconds
    for (int i = 0; i < 400; i += 20) Put(Concat("key", 1000 + i), "again");
    CompactAll();
  };
  const uint64_t from = world_.clock.MonotonicNanos();
  while (world_.clock.MonotonicNanos() - from < 600'000'000'000) scheduler.Pause(0);
  scheduler.meanwhile = nullptr;
  EXPECT_GE(db_->GetStatistics().scrubs, 4u);
  db_ = nullptr;
}

TEST_F(VerifyTest, ClosesSoonDuringScrubbing) {
  options_.environment.scheduler = nullptr;
  options_.environment.clock = nullptr;
  options_.scrub_seconds = 1'000'000'000;
  Fill();
  EXPECT_THAT(Verify().problems, IsEmpty());
  db_ = nullptr;  // if this hangs, the test fails by its time limit
}

}  // namespace
}  // namespace lsm
