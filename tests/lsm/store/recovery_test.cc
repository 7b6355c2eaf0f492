// Recovery of logs made by hand: gaps, missing logs that the manifest names, obsolete files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/log/log_writer.h"
#include "lsm/version/manifest.h"
#include "lsm/write_batch.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::StatusIs;
using Unsynced = MemoryFileSystem::Unsynced;

class RecoveryTest : public StoreTest {
 protected:
  // Makes two logs with records, one of a sealed memtable and one of the active memtable.  `sync`:
  // the second log is synced, which also syncs the first.  Then kills the process.
  void TwoLogs(bool sync) {
    Open();
    for (int i = 0; i < 17; ++i) {
      Put(Concat("first", 10 + i), std::string(4096, 'f'));
      sizes_.push_back(world_.files->FileBytes(world_.FilesOf(FileKind::kLog)[0]).size());
      if (world_.FilesOf(FileKind::kLog).size() == 1) in_first_ = sizes_.size();
    }
    ASSERT_OK(db_->Put("second", "1", {.sync = sync}));
    ASSERT_OK(db_->Put("third", "2"));
    image_ = world_.files->Clone();
    logs_ = World(2, image_->Clone()).FilesOf(FileKind::kLog);
    ASSERT_EQ(logs_.size(), 2u);
  }
  void OpenImage() {
    world_of_image_ = std::make_unique<World>(3, image_->Clone());
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, world_of_image_->SmallOptions());
    status_ = db.status();
    db_ = db.ok() ? *std::move(db) : nullptr;
  }
  ~RecoveryTest() override { db_ = nullptr; }

  size_t in_first_ = 0;        // writes in the first log
  std::vector<size_t> sizes_;  // of the first log after each write
  std::unique_ptr<MemoryFileSystem> image_;
  std::vector<std::string> logs_;
  std::unique_ptr<World> world_of_image_;
  absl::Status status_;
};

TEST_F(RecoveryTest, DropsRecordsAfterACrashGap) {
  TwoLogs(/*sync=*/false);
  db_ = nullptr;
  // The machine kept the second log and lost the end of the first.
  image_->SetFileBytes(logs_[0], image_->FileBytes(logs_[0]).substr(0, sizes_[9]));
  OpenImage();
  ASSERT_OK(status_);
  EXPECT_EQ(ReadAll(*db_)->size(), 10u);
  EXPECT_EQ(Get("first19").size(), 4096u);
  EXPECT_EQ(Get("first20"), "absent");
  EXPECT_EQ(Get("second"), "absent");
  const RecoveryReport report = db_->GetStatistics().recovery;
  EXPECT_EQ(report.logs, 2u);
  EXPECT_EQ(report.records, 10u);
  EXPECT_EQ(report.writes, 10u);
  ASSERT_EQ(report.dropped.size(), 1u);  // the first log ends after a whole record
  EXPECT_EQ(report.dropped[0].path, logs_[1]);
  EXPECT_EQ(report.dropped[0].offset, kLogHeaderBytes);
  EXPECT_GE(report.dropped[0].records, 2u);
  EXPECT_FALSE(report.dropped[0].synced_before);
  Put("new", "1");
  // The dropped end does not come back.
  image_ = world_of_image_->files->Clone();
  db_ = nullptr;
  OpenImage();
  ASSERT_OK(status_);
  EXPECT_EQ(ReadAll(*db_)->size(), 11u);
}

// A zeroed end of a log looks like a torn write, but is reported.
class DroppedEndTest : public RecoveryTest, public testing::WithParamInterface<bool> {};

TEST_P(DroppedEndTest, StatisticsNameIt) {
  const bool sync = GetParam();
  Open();
  const std::string log = world_.FilesOf(FileKind::kLog)[0];
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(db_->Put(Concat("key", i), std::string(100, 'v'), {.sync = sync}));
    sizes_.push_back(world_.files->FileBytes(log).size());
  }
  image_ = world_.files->Clone();
  db_ = nullptr;
  std::string bytes = image_->FileBytes(log);
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(sizes_[9]), bytes.end(), '\0');
  image_->SetFileBytes(log, bytes);
  OpenImage();
  ASSERT_OK(status_);
  EXPECT_EQ(ReadAll(*db_)->size(), 10u);
  const Statistics statistics = db_->GetStatistics();
  ASSERT_EQ(statistics.recovery.dropped.size(), 1u);
  const DroppedLogEnd& dropped = statistics.recovery.dropped[0];
  EXPECT_EQ(dropped.path, log);
  EXPECT_EQ(dropped.offset, sizes_[9]);
  EXPECT_EQ(dropped.bytes, bytes.size() - sizes_[9]);
  EXPECT_EQ(dropped.records, 0u);
  EXPECT_EQ(dropped.synced_before, sync);
  EXPECT_THAT(statistics.ToText(), HasSubstr(dropped.Describe()));
}

// A read-only store leaves the log as it is.
TEST_P(DroppedEndTest, VerifyOfAReadOnlyStoreNamesIt) {
  const bool sync = GetParam();
  Open();
  for (int i = 0; i < 5; ++i) ASSERT_OK(db_->Put(Concat("key", i), "value", {.sync = sync}));
  EXPECT_THAT(db_->Verify()->dropped, IsEmpty());
  image_ = world_.files->Clone();
  const std::string log = world_.FilesOf(FileKind::kLog)[0];
  db_ = nullptr;
  const std::string bytes = image_->FileBytes(log);
  image_->SetFileBytes(log, bytes.substr(0, bytes.size() - 1));
  World world(3, image_->Clone());
  Options options = world.SmallOptions();
  options.mode = OpenMode::kReadOnly;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(kStorePath, options));
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db->Verify());
  EXPECT_THAT(report.problems, IsEmpty());
  ASSERT_EQ(report.dropped.size(), 1u);
  EXPECT_EQ(report.dropped[0].Describe(), db->GetStatistics().recovery.dropped[0].Describe());
  EXPECT_EQ(report.dropped[0].synced_before, sync);
}

INSTANTIATE_TEST_SUITE_P(Sync, DroppedEndTest, testing::Bool());

TEST_F(RecoveryTest, GapsBeforeSyncedWritesAreDamage) {
  TwoLogs(/*sync=*/true);
  db_ = nullptr;
  image_->SetFileBytes(logs_[0], image_->FileBytes(logs_[0]).substr(0, sizes_[9]));
  OpenImage();
  EXPECT_THAT(status_, StatusIs(absl::StatusCode::kDataLoss,
                                AllOf(HasSubstr(logs_[1]), HasSubstr("missing"))));
}

TEST_F(RecoveryTest, NamesMissingSyncedLogs) {
  TwoLogs(/*sync=*/true);
  db_ = nullptr;
  for (const std::string& log : logs_) {
    const std::unique_ptr<MemoryFileSystem> whole = image_->Clone();
    const auto directory = image_->OpenDirectory(kStorePath, false);
    ASSERT_OK((*directory)->Remove(log.substr(log.rfind('/') + 1)));
    OpenImage();
    EXPECT_THAT(status_, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(log)));
    image_ = whole->Clone();
    image_->SetFileBytes(log, image_->FileBytes(log).substr(0, 32));  // the header alone
    OpenImage();
    EXPECT_THAT(status_, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(log)));
    image_ = whole->Clone();
  }
  OpenImage();
  EXPECT_OK(status_);
}

TEST_F(RecoveryTest, NewestUnsyncedLogMayBeMissing) {
  TwoLogs(/*sync=*/false);
  db_ = nullptr;
  const auto directory = image_->OpenDirectory(kStorePath, false);
  ASSERT_OK((*directory)->Remove(logs_[1].substr(logs_[1].rfind('/') + 1)));
  OpenImage();
  ASSERT_OK(status_);
  EXPECT_EQ(ReadAll(*db_)->size(), in_first_);
}

TEST_F(RecoveryTest, LogsLargerThanAMemtableBecomeSeveralTables) {
  options_.write_buffer_bytes = 4 << 20;
  Open();
  for (int i = 0; i < 100; ++i)
    Put(Concat("k", 100 + i % 60), std::string(4096, static_cast<char>('a' + i % 26)));
  const Contents expected = *ReadAll(*db_);
  options_.write_buffer_bytes = 64 << 10;
  options_.level0_compaction_tables = 100;
  options_.level0_stop_tables = 100;
  Open();
  EXPECT_GT(db_->GetStatistics().levels[0].tables, 4u);
  EXPECT_GT(db_->GetStatistics().flush_nanos, 0u);
  EXPECT_EQ(*ReadAll(*db_), expected);
}

TEST_F(RecoveryTest, RecordsWithoutABatchAreDamage) {
  Open();
  Put("a", "1");
  db_ = nullptr;
  // The checksums of this log are right, but its contents are invalid.
  for (const std::string& payload : {std::string("short"), std::string(12, '\0') + "junk",
                                     std::string("\1\0\0\0\0\0\0\0\2\0\0\0\7", 13)}) {
    const std::unique_ptr<MemoryFileSystem> whole = world_.files->Clone();
    World world(5, whole->Clone());
    const std::string log = world.FilesOf(FileKind::kLog)[0];
    const auto directory = world.files->OpenDirectory(kStorePath, false);
    ASSERT_OK_AND_ASSIGN(const ManifestContents contents, ReadManifest(**directory));
    const uint64_t file_id = LogFileId(*contents.state.log_seed, contents.state.oldest_log);
    ASSERT_OK((*directory)->Remove(log.substr(log.rfind('/') + 1)));
    ASSERT_OK_AND_ASSIGN(auto file, (*directory)->CreateExclusive(log.substr(log.rfind('/') + 1)));
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         LogWriter::Create(std::move(file), LogKind::kWriteAhead, file_id));
    ASSERT_OK(writer->Append(payload));
    ASSERT_OK(writer->Close(true));
    EXPECT_THAT(DB::Open(kStorePath, world.SmallOptions()),
                StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(log), HasSubstr("offset"),
                                                            Not(HasSubstr("another log")))));
  }
}

TEST_F(RecoveryTest, RemovesLeftoversAndKeepsForeignFiles) {
  Open();
  Put("a", "1");
  Flush();
  const std::vector<std::pair<std::string, std::string>> left_over = {
      {"/store/000900.table", "TRLSTBL\nand so on"},
      {"/store/000901.manifest", "TRLSLOG\nand so on"},
      {"/store/CURRENT.tmp", "TRLSCUR\nand so on"},
      {"/store/000001.log", "TRLSLOG\nand so on"},
      // Files that a crash left unfinished.
      {"/store/000902.table", std::string(5000, '\0')},
      {"/store/000903.table", "TRLST"},
      {"/store/000904.log", ""},
      {"/store/000905.log", "TRLSLOG\n"},
      {"/store/000906.log", std::string(32, '\0')},
  };
  const std::vector<std::pair<std::string, std::string>> foreign = {
      {"/store/notes.txt", "keep"},      {"/store/12.table", "not a name of ours"},
      {"/store/000002.log", "my notes"}, {"/store/000800.table", std::string(5000, 'x')},
      {"/store/000801.table", "Text"},   {"/store/CURRENT.tmp.tmp", "keep"},
      {"/store/000803.log.tmp", "keep"},
  };
  for (const auto& [path, bytes] : left_over) world_.files->SetFileBytes(path, bytes);
  for (const auto& [path, bytes] : foreign) world_.files->SetFileBytes(path, bytes);
  Open();
  EXPECT_EQ(Scan(), "a=1");
  ASSERT_OK_AND_ASSIGN(const auto directory, world_.files->OpenDirectory(kStorePath, false));
  for (const auto& [path, bytes] : left_over) {
    EXPECT_THAT(directory->Stat(path.substr(path.rfind('/') + 1)),
                StatusIs(absl::StatusCode::kNotFound));
  }
  for (const auto& [path, bytes] : foreign) EXPECT_EQ(world_.files->FileBytes(path), bytes) << path;
}

TEST_F(RecoveryTest, NamesAndKeepsAForeignLog) {
  Open();
  Put("a", "1");
  db_ = nullptr;
  // The foreign log has a higher number than the store's own logs, so it would have to be replayed.
  for (const std::string& bytes : {std::string(33, 'x'), std::string(90, 'x')}) {
    world_.files->SetFileBytes("/store/202311.log", bytes);
    for (const OpenMode mode : {OpenMode::kOpenOrCreate, OpenMode::kReadOnly}) {
      options_.mode = mode;
      EXPECT_THAT(OpenStatus(),
                  StatusIs(absl::StatusCode::kDataLoss,
                           AllOf(HasSubstr("/store/202311.log"), HasSubstr("not a log"))));
    }
    EXPECT_EQ(world_.files->FileBytes("/store/202311.log"), bytes);
  }
}

// A crash may leave this of a log that was being created: its header was not synced, so no record
// followed it.
TEST_F(RecoveryTest, KeepsGarbageOfHalfCreatedLogs) {
  for (const std::string& bytes : {std::string("notes"), std::string(32, 'x')}) {
    Open();
    Put("a", "1");
    db_ = nullptr;
    world_.files->SetFileBytes("/store/202311.log", bytes);
    for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kOpenOrCreate}) {
      options_.mode = mode;
      Open();
      EXPECT_EQ(Scan(), "a=1");
    }
    EXPECT_EQ(world_.files->FileBytes("/store/202311.log"), bytes);
    EXPECT_THAT(world_.FilesOf(FileKind::kLog),
                testing::Contains(testing::Gt("/store/202311.log")));  // numbers are not used again
    db_ = nullptr;
    // A log that the manifest names must exist.
    const std::string log = world_.FilesOf(FileKind::kLog).back();
    const std::string sound = world_.files->FileBytes(log);
    world_.files->SetFileBytes(log, bytes);
    EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(log)));
    world_.files->SetFileBytes(log, sound);
  }
}

TEST_F(RecoveryTest, DetectsMismatchedTablesBeforeChanges) {
  options_.level0_compaction_tables = 100;
  options_.level0_stop_tables = 100;
  Open();
  for (const char* last : {"z", "y"}) {
    Put("a", "1");
    Put(last, "1");
    Flush();
  }
  Put("log", "1");
  db_ = nullptr;
  {
    ASSERT_OK_AND_ASSIGN(const auto directory, world_.files->OpenDirectory(kStorePath, false));
    ASSERT_OK_AND_ASSIGN(ManifestContents contents, ReadManifest(*directory));
    std::swap(contents.state.levels[0], contents.state.levels[1]);
    contents.state.next_file_number = 101;
    ASSERT_OK(ManifestWriter::Create(*directory, 100, 5, contents.state.ToSnapshot(),
                                     contents.current_bytes));
  }
  const auto list = [&] {
    return (*world_.files->OpenDirectory(kStorePath, false))->List().value();
  };
  const std::vector<std::string> names = list();
  const std::string current = world_.files->FileBytes("/store/CURRENT");
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("overlap")));
  EXPECT_EQ(world_.files->FileBytes("/store/CURRENT"), current);
  EXPECT_EQ(list(), names);
}

TEST_F(RecoveryTest, FailedOpeningsUseNoSpace) {
  options_.compression = Compression::kNone;
  options_.write_buffer_bytes = 1 << 20;
  Open();
  for (int i = 0; i < 200; ++i) Put(Concat("k", 1000 + i), std::string(4096, 'x'));
  World world(2, world_.files->Clone());
  db_ = nullptr;
  Options options = world.SmallOptions();
  options.compression = Compression::kNone;
  options.write_buffer_bytes = 256 << 10;
  ASSERT_OK_AND_ASSIGN(const auto directory, world.files->OpenDirectory(kStorePath, false));
  const std::vector<std::string> names = directory->List().value();
  constexpr uint64_t kRoomBytes = 700 << 10;  // for two of the tables
  for (int i = 0; i < 3; ++i) {
    world.files->SetFreeBytes(kRoomBytes);
    EXPECT_THAT(DB::Open(kStorePath, options), StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_EQ(directory->List().value(), names);
  }
  world.files->SetFreeBytes(10 << 20);
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(kStorePath, options));
  EXPECT_EQ(ReadAll(*db)->size(), 200u);
}

// Also if writing the manifest fails, which CURRENT does not name yet.
TEST_F(RecoveryTest, OpeningsThatFillTheDiskLeaveNothing) {
  Open();
  Put("a", "1");
  World world(2, world_.files->Clone());
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(const auto directory, world.files->OpenDirectory(kStorePath, false));
  const std::vector<std::string> names = directory->List().value();
  uint64_t room = 0;
  for (;; ++room) {
    world.files->SetFreeBytes(room);
    const absl::Status status = DB::Open(kStorePath, world.SmallOptions()).status();
    ASSERT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted)) << room << " bytes";
    // If the swap of CURRENT fails, it is unknown whether it took effect.
    if (status.message().find("CURRENT") != std::string_view::npos) break;
    ASSERT_EQ(directory->List().value(), names) << room << " bytes";
  }
  EXPECT_GT(room, 400u);  // for a table, a log and a manifest
  world.files->SetFreeBytes(10 << 20);
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(kStorePath, world.SmallOptions()));
  EXPECT_EQ(ReadAll(*db)->size(), 1u);
}

TEST_F(RecoveryTest, FileNumbersDoNotRunOut) {
  Open();
  Put("a", "1");
  Flush();
  db_ = nullptr;
  const uint64_t many = uint64_t{1} << 50;
  for (const std::string& name :
       {std::string("18446744073709551614.table"), std::string("18446744073709551615.log"),
        std::to_string(kFileNumberMax + 1) + ".manifest", TableFileName(many)}) {
    world_.files->SetFileBytes(Concat(kStorePath, "/", name), "TRLSTBL\nleft over");
  }
  for (int i = 0; i < 3; ++i) {
    Open();
    Put(Concat("b", i), "1");
    Flush();
  }
  EXPECT_EQ(Scan(), "a=1 b0=1 b1=1 b2=1");
  for (const std::string& table : world_.FilesOf(FileKind::kTable))
    EXPECT_LT(ParseFileName(table.substr(table.rfind('/') + 1))->number, many + 100);
  db_ = nullptr;
  EXPECT_EQ(world_.files->FileBytes("/store/18446744073709551614.table"), "TRLSTBL\nleft over");
  // With the last possible file number, the error says so, and the file can be moved away.
  const std::string last = Concat(kStorePath, "/", TableFileName(kFileNumberMax));
  world_.files->SetFileBytes(last, "");
  const auto used_up = StatusIs(absl::StatusCode::kResourceExhausted,
                                AllOf(HasSubstr("file numbers"), HasSubstr(last)));
  EXPECT_THAT(OpenStatus(), used_up);
  EXPECT_THAT(DB::Repair(kStorePath, options_), used_up);
  options_.mode = OpenMode::kReadOnly;
  Open();
  EXPECT_EQ(Scan(), "a=1 b0=1 b1=1 b2=1");
}

TEST_F(RecoveryTest, RangeDeletesSurviveOpeningsAndARepair) {
  Open();
  for (const char* key : {"a", "b", "c"}) Put(key, "1");
  ASSERT_OK(db_->DeleteRange("b", std::nullopt));
  Put("c", "2");
  const auto check = [&](const char* where) {
    SCOPED_TRACE(where);
    EXPECT_EQ(Get("a"), "1");
    EXPECT_EQ(Get("b"), "absent");
    EXPECT_EQ(Get("c"), "2");
  };
  check("in the memtable");
  db_ = nullptr;
  options_.mode = OpenMode::kReadOnly;
  Open();
  check("read-only");
  db_ = nullptr;
  options_.mode = OpenMode::kMustExist;
  ASSERT_OK(DB::Repair(kStorePath, options_));
  Open();
  check("repaired");
  ASSERT_OK(db_->Flush());
  db_ = nullptr;
  Open();
  check("in a table");
}

}  // namespace
}  // namespace lsm
