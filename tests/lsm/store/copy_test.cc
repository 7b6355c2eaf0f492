// Checkpoints, backups and restored stores are whole and verified, or do not exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lsm/version/manifest.h"
#include "tests/lsm/engine/schedulers.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/engine/wrapped_reads.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::StatusIs;
using Unsynced = MemoryFileSystem::Unsynced;

constexpr char kCopyPath[] = "/copies/first";
constexpr char kSecondPath[] = "/copies/second";

class CopyTest : public StoreTest {
 protected:
  // Makes tables in two levels, and writes that are only in the log.
  void Fill() {
    Open();
    for (int i = 0; i < 300; ++i) Put(Concat("key", 1000 + i), Concat("value", i));
    CompactAll();
    for (int i = 0; i < 50; ++i) Put(Concat("key", 1000 + 4 * i), "newer");
    Flush();
    Delete("key1001");
    Put("key1002", "in the log");
  }

  Contents ContentsOf(const std::string& path) {
    Options options = options_;
    options.mode = OpenMode::kMustExist;
    options.log_directory.clear();
    const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(path, options);
    EXPECT_OK(db);
    if (!db.ok()) return {};
    const absl::StatusOr<VerifyReport> report = (*db)->Verify();
    EXPECT_OK(report);
    if (report.ok()) {
      EXPECT_THAT(report->problems, IsEmpty());
    }
    return ReadAll(**db).value_or(Contents());
  }

  size_t OperationsOf(FileOperation wanted) {
    size_t count = 0;
    world_.files->SetFault([&, wanted](FileOperation operation, const std::string&, uint64_t) {
      count += operation == wanted;
      return absl::OkStatus();
    });
    EXPECT_OK(db_->Checkpoint(kCopyPath));
    world_.files->SetFault(nullptr);
    return count;
  }
};

TEST_F(CopyTest, CheckpointsHoldTheStore) {
  Fill();
  const Contents before = ReadAll(*db_).value();
  ASSERT_OK(db_->Checkpoint(kCopyPath));
  for (int i = 0; i < 300; ++i) Put(Concat("key", 1000 + i), "later");
  CompactAll();
  EXPECT_EQ(ContentsOf(kCopyPath), before);
  // The store and its copy do not need each other.
  db_ = nullptr;
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  EXPECT_EQ(ContentsOf(kCopyPath), before);
}

TEST_F(CopyTest, CheckpointsLinkTables) {
  Fill();
  EXPECT_EQ(OperationsOf(FileOperation::kLink), 3u);
}

TEST_F(CopyTest, CopiesTablesThatCannotBeLinked) {
  Fill();
  const Contents before = ReadAll(*db_).value();
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kLink ? absl::UnimplementedError(path) : absl::OkStatus();
  });
  ASSERT_OK(db_->Checkpoint(kCopyPath));
  world_.files->SetFault(nullptr);
  EXPECT_EQ(ContentsOf(kCopyPath), before);
}

TEST_F(CopyTest, RefusesUsedTargetsAndReadOnlyStores) {
  Fill();
  ASSERT_OK(db_->Checkpoint(kCopyPath));
  EXPECT_THAT(db_->Checkpoint(kCopyPath),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(kCopyPath)));
  db_ = nullptr;
  options_.mode = OpenMode::kReadOnly;
  Open();
  EXPECT_THAT(db_->Checkpoint(kSecondPath), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(CopyTest, RefusesACopyInsideTheStore) {
  options_.log_directory = "/logs";
  Fill();
  for (const std::string path :
       {"/store", "/store/", "/./store", "/store/copy", "/store/a/b", "/logs", "/logs/copy"}) {
    SCOPED_TRACE(path);
    EXPECT_THAT(db_->Checkpoint(path),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
    EXPECT_THAT(db_->Backup(path), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  }
  EXPECT_OK(db_->Checkpoint("/store2"));
  EXPECT_OK(db_->Checkpoint("/logs2/store"));
  EXPECT_THAT(DB::Restore("/store2", "/store2/again", options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/store2/again")));
}

TEST_F(CopyTest, LogDirectoryStays) {
  options_.log_directory = "/logs";
  Fill();
  const Contents before = ReadAll(*db_).value();
  ASSERT_OK(db_->Checkpoint(kCopyPath));
  EXPECT_EQ(ContentsOf(kCopyPath), before);
  EXPECT_EQ(ReadAll(*db_).value(), before);
}

TEST_F(CopyTest, BackupsAreVerifiedAndRestored) {
  Fill();
  const Contents before = ReadAll(*db_).value();
  ASSERT_OK_AND_ASSIGN(const CopyReport report, db_->Backup(kCopyPath));
  EXPECT_EQ(report.tables_copied, 3u);
  EXPECT_EQ(report.tables_linked, 0u);
  EXPECT_EQ(report.bytes_copied, db_->GetStatistics().total.table_bytes);
  EXPECT_EQ(report.entries, 352u);
  db_ = nullptr;
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  ASSERT_OK_AND_ASSIGN(const CopyReport restored, DB::Restore(kCopyPath, kStorePath, options_));
  EXPECT_EQ(restored.tables_copied, 3u);
  EXPECT_EQ(restored.bytes_copied, report.bytes_copied);
  EXPECT_EQ(restored.entries, 352u);
  EXPECT_EQ(ContentsOf(kStorePath), before);
  EXPECT_EQ(ContentsOf(kCopyPath), before);
}

TEST_F(CopyTest, BackupsReuseTheLastOne) {
  Fill();
  ASSERT_OK(db_->Backup(kCopyPath));
  const Contents first = ReadAll(*db_).value();
  Put("later", "1");
  const Contents second = ReadAll(*db_).value();
  ASSERT_OK_AND_ASSIGN(const CopyReport report, db_->Backup(kSecondPath, kCopyPath));
  EXPECT_EQ(report.tables_copied, 1u);
  EXPECT_EQ(report.tables_linked, 3u);
  EXPECT_EQ(ContentsOf(kCopyPath), first);
  ASSERT_OK(DB::Destroy(kCopyPath, options_));
  EXPECT_EQ(ContentsOf(kSecondPath), second);
}

TEST_F(CopyTest, BackupsReplaceDamagedFilesOfTheLastOne) {
  Fill();
  ASSERT_OK(db_->Backup(kCopyPath));
  const Contents before = ReadAll(*db_).value();
  const std::vector<std::string> tables = world_.FilesOf(FileKind::kTable, kCopyPath);
  std::string bytes = world_.files->FileBytes(tables[0]);
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  world_.files->SetFileBytes(tables[0], bytes);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       world_.files->OpenDirectory(kCopyPath, /*create=*/false));
  ASSERT_OK(directory->Remove(tables[1].substr(tables[1].rfind('/') + 1)));
  ASSERT_OK_AND_ASSIGN(const CopyReport report, db_->Backup(kSecondPath, kCopyPath));
  EXPECT_EQ(report.tables_copied, 2u);
  EXPECT_EQ(report.tables_linked, 1u);
  EXPECT_EQ(ContentsOf(kSecondPath), before);
}

// Each table is read twice at the given pace and counted once.  The same holds for a table that is
// damaged in the base.
TEST_F(CopyTest, ReadingBackKeepsThePace) {
  CountingScheduler scheduler(&world_.clock);
  options_.environment.scheduler = &scheduler;
  Fill();
  ASSERT_OK(db_->Backup(kCopyPath));
  const std::string damaged = world_.FilesOf(FileKind::kTable, kCopyPath)[0];
  std::string bytes = world_.files->FileBytes(damaged);
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  world_.files->SetFileBytes(damaged, bytes);
  for (const std::string& base : {std::string(), std::string(kCopyPath)}) {
    const uint64_t before = scheduler.waited_nanos;
    uint64_t done = 0, calls_for_copies = 0;
    Pace pace;
    pace.bytes_per_second = 10'000;
    pace.progress = [&](const Progress& progress) {
      EXPECT_GE(progress.bytes_done, done);
      EXPECT_LE(progress.bytes_done, progress.bytes_total);
      done = progress.bytes_done;
      calls_for_copies += progress.file.starts_with(kSecondPath);
      return true;
    };
    ASSERT_OK_AND_ASSIGN(const CopyReport report, db_->Backup(kSecondPath, base, pace));
    EXPECT_EQ(report.tables_copied, base.empty() ? 3u : 1u);
    // The last call of `progress` comes before the last bytes of the last table.
    EXPECT_GT(done, db_->GetStatistics().total.table_bytes / 2);
    EXPECT_GT(calls_for_copies, report.tables_copied);
    const auto total = static_cast<double>(db_->GetStatistics().total.table_bytes);
    const double seconds = static_cast<double>(scheduler.waited_nanos - before) * 1e-9;
    if (base.empty()) {
      EXPECT_NEAR(seconds, 2 * total / 10'000, 0.3);
    } else {
      EXPECT_GT(seconds, total / 10'000);
    }
    ASSERT_OK(DB::Destroy(kSecondPath, options_));
  }
  db_ = nullptr;
}

// A copy is read back from the disk if its file system supports direct reads.
TEST_F(CopyTest, ReadsCopiesBackPastThePageCache) {
  std::vector<std::string> asked;
  bool copies_can = true;
  WrappedReads files = DirectReads(world_.files.get(), [&](const std::string& path) {
    asked.push_back(path);
    return copies_can || path.starts_with(kStorePath);
  });
  options_.environment.file_system = &files;
  options_.direct_reads = true;
  Fill();
  const Contents before = ReadAll(*db_).value();
  for (copies_can = true;; copies_can = false) {
    asked.clear();
    ASSERT_OK(db_->Backup(kCopyPath));
    // Opened once to try direct reads, and then to read it.
    for (const std::string& table : world_.FilesOf(FileKind::kTable, kCopyPath))
      EXPECT_EQ(std::count(asked.begin(), asked.end(), table), copies_can ? 2 : 1) << table;
    if (!copies_can) break;
    EXPECT_EQ(ContentsOf(kCopyPath), before);
    ASSERT_OK(DB::Destroy(kCopyPath, options_));
  }
  options_.direct_reads = false;
  EXPECT_EQ(ContentsOf(kCopyPath), before);
}

// File numbers of different stores are unrelated.
TEST_F(CopyTest, LinksNothingFromBackupsOfOtherStores) {
  Fill();
  ASSERT_OK(db_->Backup(kCopyPath));
  db_ = nullptr;
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  Fill();
  ASSERT_OK_AND_ASSIGN(const CopyReport report, db_->Backup(kSecondPath, kCopyPath));
  EXPECT_EQ(report.tables_linked, 0u);
  EXPECT_EQ(ContentsOf(kSecondPath), ReadAll(*db_).value());
}

TEST_F(CopyTest, RefusesToBackUpDamagedTables) {
  Fill();
  const std::string path = world_.FilesOf(FileKind::kTable)[0];
  std::string bytes = world_.files->FileBytes(path);
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  world_.files->SetFileBytes(path, bytes);
  EXPECT_THAT(db_->Backup(kCopyPath), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
  EXPECT_THAT(world_.FilesOf(FileKind::kTable, kCopyPath), IsEmpty());
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  world_.files->SetFileBytes(path, bytes);
  EXPECT_OK(db_->Backup(kCopyPath));
}

TEST_F(CopyTest, RefusesBasesWithoutABackup) {
  Fill();
  ASSERT_OK(world_.files->OpenDirectory("/empty", /*create=*/true));
  for (const char* base : {"/nowhere", "/empty"}) {
    EXPECT_THAT(db_->Backup(kCopyPath, base),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr(base)));
    EXPECT_THAT(world_.files->OpenDirectory(kCopyPath, /*create=*/false),
                StatusIs(absl::StatusCode::kNotFound));
  }
  EXPECT_THAT(db_->Backup(kCopyPath, "/empty"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("there is no store")));
}

TEST_F(CopyTest, RefusesDamagedBackups) {
  Fill();
  ASSERT_OK(db_->Backup(kCopyPath));
  for (const FileKind kind : {FileKind::kTable, FileKind::kManifest}) {
    const std::string path = world_.FilesOf(kind, kCopyPath)[0];
    const std::string bytes = world_.files->FileBytes(path);
    for (size_t offset = 0; offset < bytes.size(); offset += 31) {
      std::string damaged = bytes;
      damaged[offset] = static_cast<char>(damaged[offset] ^ 4);
      world_.files->SetFileBytes(path, damaged);
      ASSERT_THAT(DB::Restore(kCopyPath, kSecondPath, options_),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)))
          << offset;
      ASSERT_THAT(world_.FilesOf(FileKind::kTable, kSecondPath), IsEmpty());
    }
    world_.files->SetFileBytes(path, bytes);
  }
  EXPECT_OK(DB::Restore(kCopyPath, kSecondPath, options_));
}

// The copy takes no space: a sparse file may claim more bytes than it has.
TEST_F(CopyTest, DetectsWrongSizesBeforeCopying) {
  Fill();
  ASSERT_OK(db_->Backup(kCopyPath));
  const std::string path = world_.FilesOf(FileKind::kTable, kCopyPath)[0];
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto restored = [&] {
    world_.files->SetFault([&](FileOperation operation, const std::string& file, uint64_t) {
      return operation == FileOperation::kCreate && file.ends_with(name)
                 ? absl::UnavailableError(Concat(file, ": was made"))
                 : absl::OkStatus();
    });
    const absl::Status status = DB::Restore(kCopyPath, kSecondPath, options_).status();
    world_.files->SetFault(nullptr);
    return status;
  };
  world_.files->SetFileBytes(path, world_.files->FileBytes(path) + std::string(1 << 20, '\0'));
  EXPECT_THAT(restored(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       world_.files->OpenDirectory(kCopyPath, /*create=*/false));
  ASSERT_OK(directory->Remove(name));
  EXPECT_THAT(restored(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
}

TEST_F(CopyTest, NamesMissingTablesByPath) {
  Fill();
  Flush();
  const std::string table = world_.FilesOf(FileKind::kTable)[0];
  ASSERT_OK_AND_ASSIGN(const auto directory, world_.files->OpenDirectory(kStorePath, false));
  ASSERT_OK(directory->Remove(table.substr(table.rfind('/') + 1)));
  const auto missing =
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr(Concat(table, ": the manif")));
  EXPECT_THAT(db_->Checkpoint(kCopyPath), missing);
  EXPECT_THAT(db_->Backup(kSecondPath), missing);
}

// Each of its files is sound, but they do not belong together.
TEST_F(CopyTest, RefusesUnopenableBackups) {
  Fill();
  ASSERT_OK(db_->Backup(kCopyPath));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       world_.files->OpenDirectory(kCopyPath, /*create=*/false));
  ASSERT_OK_AND_ASSIGN(const ManifestContents contents, ReadManifest(*directory));
  ManifestState state = contents.state;
  state.levels[1].merge(state.levels[0]);
  state.next_file_number += 1;
  ASSERT_OK(ManifestWriter::Create(*directory, state.next_file_number - 1, 77, state.ToSnapshot(),
                                   contents.current.Encode()));
  EXPECT_THAT(DB::Restore(kCopyPath, kSecondPath, options_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("overlap")));
  EXPECT_THAT(world_.FilesOf(FileKind::kTable, kSecondPath), IsEmpty());
}

// Any closed store can be copied, not only a backup.  Its logs are copied too.
TEST_F(CopyTest, CopiesAnyClosedStore) {
  Fill();
  const Contents before = ReadAll(*db_).value();
  EXPECT_THAT(DB::Restore(kStorePath, kCopyPath, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  db_ = nullptr;
  options_.log_directory = "/other/logs";
  ASSERT_OK_AND_ASSIGN(const CopyReport report, DB::Restore(kStorePath, kCopyPath, options_));
  EXPECT_EQ(report.logs_copied, 1u);
  EXPECT_THAT(world_.FilesOf(FileKind::kLog, "/other/logs"), SizeIs(1));
  options_.mode = OpenMode::kMustExist;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> copy, DB::Open(kCopyPath, options_));
  EXPECT_EQ(ReadAll(*copy).value(), before);
}

TEST_F(CopyTest, RefusesEmptySourcesAndUsedTargets) {
  Fill();
  EXPECT_THAT(DB::Restore("/nowhere", kCopyPath, options_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere")));
  ASSERT_OK(db_->Backup(kCopyPath));
  EXPECT_THAT(DB::Restore(kCopyPath, kCopyPath, options_),
              StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK(db_->Backup(kSecondPath));
  EXPECT_THAT(DB::Restore(kCopyPath, kSecondPath, options_),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(kSecondPath)));
}

// A file does not belong to the copy just because of its name.  A failed attempt must not remove
// it.
TEST_F(CopyTest, KeepsFilesOfTheLogDirectory) {
  Fill();
  const std::string log = world_.FilesOf(FileKind::kLog)[0];
  db_ = nullptr;
  options_.log_directory = "/other/logs";
  const std::string name = Concat(options_.log_directory, log.substr(log.rfind('/')));
  ASSERT_OK(world_.files->OpenDirectory(options_.log_directory, /*create=*/true));
  world_.files->SetFileBytes(name, "a user's notes");
  EXPECT_THAT(DB::Restore(kStorePath, kCopyPath, options_),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(name)));
  EXPECT_EQ(world_.files->FileBytes(name), "a user's notes");
}

TEST(CopyOnDiskTest, RefusesACopyInsideTheStoreByAnyPath) {
  const testing_support::ScratchDir scratch;
  const std::string store = scratch.path_of("store"), link = scratch.path_of("link");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(store));
  ASSERT_OK(db->Put("key", "value"));
  std::filesystem::create_directory(scratch.path_of("beside"));
  std::filesystem::create_directory_symlink(store, link);
  for (const std::string& path :
       {store, Concat(store, "/a/b"), link, Concat(link, "/a"), Concat(store, "/../store/a"),
        scratch.path_of("beside/../link/a"), scratch.path_of("new/../store/a"),
        scratch.path_of("new/./deep//../../link/a"), Concat(store, "/new/../../new/../store")}) {
    EXPECT_THAT(db->Checkpoint(path),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
    EXPECT_THAT(db->Backup(path), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  }
  EXPECT_FALSE(std::filesystem::exists(Concat(store, "/a")));
  EXPECT_FALSE(std::filesystem::exists(scratch.path_of("new")));
  EXPECT_OK(db->Checkpoint(scratch.path_of("beside/store")));
  EXPECT_OK(db->Checkpoint(Concat(store, "/../new/store")));
}

TEST(CopyOnDiskTest, RefusesToRestoreIntoTheBackupByAnyPath) {
  const testing_support::ScratchDir scratch;
  const std::string backup = scratch.path_of("backup"), restored = scratch.path_of("restored");
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(backup));
    ASSERT_OK(db->Put("key", "value"));
  }
  for (const std::string& inside :
       {backup, Concat(backup, "/a"), scratch.path_of("new/../backup/a")}) {
    const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(inside));
    EXPECT_THAT(DB::Restore(backup, inside), refused);
    EXPECT_THAT(DB::Restore(backup, restored, {.log_directory = inside}), refused);
  }
  EXPECT_FALSE(std::filesystem::exists(Concat(backup, "/a")));
  EXPECT_FALSE(std::filesystem::exists(restored));
  EXPECT_OK(DB::Restore(backup, restored, {.log_directory = scratch.path_of("new/../logs")}));
}

// NotFound would say that there is no store to copy.
TEST(CopyOnDiskTest, UncreatableTargetsAreUnavailable) {
  const testing_support::ScratchDir scratch;
  const std::string store = scratch.path_of("store"), dangling = scratch.path_of("dangling");
  std::filesystem::create_directory_symlink(scratch.path_of("nowhere"), dangling);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DB> db, DB::Open(store));
  ASSERT_OK(db->Put("a", "1"));
  for (const std::string& path : {dangling, std::string("/proc/trellis/copy")}) {
    const auto refused = StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path));
    EXPECT_THAT(db->Checkpoint(path), refused);
    EXPECT_THAT(db->Backup(path), refused);
    EXPECT_THAT(DB::Restore(scratch.path_of("backup"), path),
                StatusIs(absl::StatusCode::kNotFound));
  }
  ASSERT_OK(db->Backup(scratch.path_of("backup")));
  EXPECT_THAT(DB::Restore(scratch.path_of("backup"), dangling),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(dangling)));
}

TEST(CopyOnDiskTest, TablesAreHardLinks) {
  const testing_support::ScratchDir scratch;
  const std::string store = scratch.path_of("store"), copy = scratch.path_of("deep/copy");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(store));
  ASSERT_OK(db->Put("key", "value"));
  ASSERT_OK(db->Checkpoint(copy));
  ASSERT_OK_AND_ASSIGN(const CopyReport report, db->Backup(scratch.path_of("backup"), copy));
  EXPECT_EQ(report.tables_linked, 1u);
  size_t tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(copy)) {
    if (entry.path().extension() != ".table") continue;
    ++tables;
    EXPECT_EQ(std::filesystem::hard_link_count(entry.path()), 3u);
  }
  EXPECT_EQ(tables, 1u);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> opened, DB::Open(copy));
  ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, opened->Get("key"));
  EXPECT_EQ(value, "value");
}

}  // namespace
}  // namespace lsm
