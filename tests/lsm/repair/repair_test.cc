#include "lsm/repair/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/memory_file_system.h"
#include "lsm/table/table.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;
using testing_support::IsOk;
using testing_support::StatusIs;

constexpr char kStore[] = "/store";

std::string Key(int i) { return Concat("key", 100000 + i); }
std::string Value(int i) {
  return Concat("value ", i, std::string(60, static_cast<char>('a' + i % 26)));
}

class RepairTest : public testing::Test {
 protected:
  RepairTest() {
    options_.environment = {&files_, nullptr, &clock_, &scheduler_, &random_};
    options_.block_bytes = 512;
    options_.compression = Compression::kNone;
  }

  std::unique_ptr<DB> Open() {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStore, options_);
    EXPECT_OK(db);
    return db.ok() ? *std::move(db) : nullptr;
  }

  // Keys 0-99 in one table, 100-199 in another, 200-249 in the log.
  void MakeStore() {
    const std::unique_ptr<DB> db = Open();
    for (int i = 0; i < 250; ++i) {
      ASSERT_OK(db->Put(Key(i), Value(i), {.sync = true}));
      if (i == 99 || i == 199) {
        ASSERT_OK(db->Flush());
      }
    }
  }

  std::vector<std::string> FilesOf(FileKind kind) {
    std::vector<std::string> names;
    absl::StatusOr<std::unique_ptr<Directory>> directory = files_.OpenDirectory(kStore, false);
    const std::vector<std::string> listed = (*directory)->List().value();
    for (const std::string& name : listed) {
      const std::optional<FileName> parsed = ParseFileName(name);
      if (parsed && parsed->kind == kind) names.push_back(Concat(kStore, "/", name));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  static std::map<std::string, std::string> AllFiles(MemoryFileSystem& files) {
    absl::StatusOr<std::unique_ptr<Directory>> directory = files.OpenDirectory(kStore, false);
    const std::vector<std::string> names = (*directory)->List().value();
    std::map<std::string, std::string> contents;
    for (const std::string& name : names)
      contents[name] = files.FileBytes(Concat(kStore, "/", name));
    return contents;
  }

  void Flip(const std::string& path, size_t offset) {
    std::string bytes = files_.FileBytes(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x10);
    files_.SetFileBytes(path, bytes);
  }

  // The numbers of the existing keys.  Checks that each has its own value.
  std::vector<int> Present() {
    const std::unique_ptr<DB> db = Open();
    std::vector<int> present;
    for (int i = 0; db != nullptr && i < 250; ++i) {
      const absl::StatusOr<std::optional<std::string>> value = db->Get(Key(i));
      EXPECT_OK(value);
      if (!value.ok() || !value->has_value()) continue;
      EXPECT_EQ(**value, Value(i));
      present.push_back(i);
    }
    return present;
  }

  MemoryFileSystem files_;
  testing_support::SingleThreadScheduler scheduler_;
  testing_support::ManualClock clock_;
  testing_support::SeededRandom random_{7};
  Options options_;
};

TEST_F(RepairTest, SoundStoresKeepEverything) {
  MakeStore();
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, IsEmpty());
  EXPECT_EQ(report.tables_kept, 2);
  EXPECT_EQ(report.logs_converted, 1);
  EXPECT_EQ(report.entries_saved, 250);
  EXPECT_EQ(Present().size(), 250);
}

TEST_F(RepairTest, DirectoriesWithoutAStoreAreNotFound) {
  ASSERT_OK(files_.OpenDirectory(kStore, true));
  EXPECT_THAT(DB::Repair(kStore, options_), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RepairTest, RefusesOpenStores) {
  MakeStore();
  const std::unique_ptr<DB> db = Open();
  EXPECT_THAT(DB::Repair(kStore, options_), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(RepairTest, RefusesStoresOfOtherProducts) {
  for (const char* what : {"LevelDB", "RocksDB without CURRENT", "a user's logs"}) {
    SCOPED_TRACE(what);
    MemoryFileSystem files;
    options_.environment.file_system = &files;
    ASSERT_OK(files.OpenDirectory(kStore, true));
    std::map<std::string, std::string> contents = {{"000003.log", std::string(40, '\x7f')}};
    if (what == std::string("LevelDB")) contents["CURRENT"] = "MANIFEST-000002\n";
    if (what != std::string("a user's logs"))
      contents["MANIFEST-000002"] = "\x56\xf9\xb8\xf8\x1c leveldb.BytewiseComparator";
    for (const auto& [name, bytes] : contents) files.SetFileBytes(Concat(kStore, "/", name), bytes);
    const std::string first = contents.contains("CURRENT") ? "/CURRENT" : "/000003.log";
    const auto refused = [](const std::string& name) {
      return StatusIs(absl::StatusCode::kFailedPrecondition,
                      HasSubstr(Concat(kStore, name, ": not a file of Trellis")));
    };
    EXPECT_THAT(DB::Repair(kStore, options_), refused(first));
    EXPECT_THAT(DB::Destroy(kStore, options_), refused("/000003.log"));
    if (contents.contains("CURRENT")) {
      for (const OpenMode mode : {OpenMode::kOpenOrCreate, OpenMode::kMustNotExist,
                                  OpenMode::kMustExist, OpenMode::kReadOnly}) {
        Options options = options_;
        options.mode = mode;
        EXPECT_THAT(DB::Open(kStore, options), refused(first));
      }
    }
    EXPECT_EQ(AllFiles(files), contents);
  }
}

TEST_F(RepairTest, RefusesALevelDbCurrent) {
  MakeStore();
  files_.SetFileBytes("/store/CURRENT", "MANIFEST-000002\n");
  EXPECT_THAT(DB::Repair(kStore, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/store/CURRENT")));
  EXPECT_EQ(files_.FileBytes("/store/CURRENT"), "MANIFEST-000002\n");
}

TEST_F(RepairTest, KeepsForeignFiles) {
  MakeStore();
  files_.SetFileBytes("/store/202311.log", "my notes");
  files_.SetFileBytes("/store/202312.table", std::string(500, 'x'));
  files_.SetFileBytes("/store/202313.manifest", std::string(500, 'x'));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, ElementsAre(HasSubstr("/store/202311.log: offset 0: not a file of "
                                                     "Trellis")));
  EXPECT_EQ(Present().size(), 250u);
  EXPECT_EQ(files_.FileBytes("/store/202311.log"), "my notes");
  EXPECT_EQ(files_.FileBytes("/store/202312.table"), std::string(500, 'x'));
  EXPECT_EQ(files_.FileBytes("/store/202313.manifest"), std::string(500, 'x'));
}

TEST_F(RepairTest, KeepsForeignFilesWithoutAManifest) {
  MakeStore();
  files_.SetFileBytes("/store/CURRENT", "nonsense");
  for (const std::string& manifest : FilesOf(FileKind::kManifest)) Flip(manifest, 40);
  const std::vector<std::string> foreign = {"/store/202311.log", "/store/202312.table",
                                            "/store/202313.manifest"};
  for (const std::string& path : foreign) files_.SetFileBytes(path, "my notes");
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_EQ(Present().size(), 250u);
  for (const std::string& path : foreign) {
    EXPECT_THAT(report.left_out, Contains(HasSubstr(path)));
    EXPECT_EQ(files_.FileBytes(path), "my notes");
  }
}

TEST_F(RepairTest, KeepsOverwrittenFilesAsDamaged) {
  MakeStore();
  const std::string table = FilesOf(FileKind::kTable)[0];
  const std::string log = FilesOf(FileKind::kLog).back();
  const std::string bytes(3000, 'x');
  files_.SetFileBytes(table, bytes);
  files_.SetFileBytes(log, bytes);
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, UnorderedElementsAre(HasSubstr(table), HasSubstr(log)));
  EXPECT_EQ(Present().size(), 100u);
  for (const std::string& path : {table, log}) {
    EXPECT_EQ(files_.FileBytes(path + ".damaged"), bytes);
    EXPECT_EQ(files_.FileBytes(path), "");
  }
  EXPECT_OK(DB::Destroy(kStore, options_));  // no foreign file is left with a name of the store
}

TEST_F(RepairTest, NamesMissingLogs) {
  {
    const std::unique_ptr<DB> db = Open();
    ASSERT_OK(db->Put(Key(1), Value(1)));
  }
  const std::string log = FilesOf(FileKind::kLog).back();
  const auto directory = files_.OpenDirectory(kStore, false);
  ASSERT_OK((*directory)->Remove(log.substr(log.rfind('/') + 1)));
  EXPECT_THAT(DB::Open(kStore, options_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(log)));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, ElementsAre(HasSubstr(log + ": the log is missing")));
  EXPECT_THAT(Present(), IsEmpty());
}

TEST_F(RepairTest, NamesLogsWithoutTheirDirectory) {
  options_.log_directory = "/logs";
  {
    const std::unique_ptr<DB> db = Open();
    for (int i = 0; i < 100; ++i) ASSERT_OK(db->Put(Key(i), Value(i), {.sync = i % 10 == 0}));
  }
  options_.log_directory = "";
  EXPECT_THAT(DB::Repair(kStore, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"/logs\"")));
  ASSERT_OK(files_.OpenDirectory("/empty", /*create=*/true));
  options_.log_directory = "/empty";
  EXPECT_THAT(DB::Repair(kStore, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/logs,")));
  ASSERT_OK_AND_ASSIGN(const auto logs, files_.OpenDirectory("/logs", false));
  const std::vector<std::string> names = logs->List().value();
  EXPECT_THAT(names, UnorderedElementsAre("LOCK", "RESERVE", HasSubstr(".log")));
  // Once the logs are lost, the repair reports it.
  for (const std::string& name : names) ASSERT_OK(logs->Remove(name));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, ElementsAre(AllOf(HasSubstr(".log: the log is missing"),
                                                 HasSubstr("log_directory"))));
  EXPECT_THAT(Present(), IsEmpty());
}

TEST_F(RepairTest, EmptyDirectoriesTakeNoLogsOfOtherStores) {
  options_.log_directory = "/logs";
  MakeStore();
  ASSERT_OK(files_.OpenDirectory("/other", true));
  EXPECT_THAT(DB::Repair("/other", options_), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(Present().size(), 250u);
}

TEST_F(RepairTest, NamesEmptySyncedLogs) {
  MakeStore();
  const std::string log = FilesOf(FileKind::kLog).back();
  files_.SetFileBytes(log, "");
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, ElementsAre(HasSubstr(log)));
  EXPECT_EQ(Present().size(), 200u);
}

TEST_F(RepairTest, LeavesOutOnlyDamagedBlocks) {
  MakeStore();
  const std::string table = FilesOf(FileKind::kTable)[0];
  Flip(table, 700);  // in its second block
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  // One line, with the keys.
  EXPECT_THAT(report.left_out,
              ElementsAre(AllOf(HasSubstr(table + ": offset "), HasSubstr("(keys up to \"key1"))));
  EXPECT_EQ(report.tables_rewritten, 1);
  const std::vector<int> present = Present();
  EXPECT_GE(present.size(), 240u);
  EXPECT_LT(present.size(), 250u);
  EXPECT_FALSE(files_.FileBytes(table + ".damaged").empty());
}

TEST_F(RepairTest, NamesAndRebuildsADamagedFilter) {
  MakeStore();
  const std::string table = FilesOf(FileKind::kTable)[0];
  {
    ASSERT_OK_AND_ASSIGN(const auto directory, files_.OpenDirectory(kStore, false));
    ASSERT_OK_AND_ASSIGN(
        auto file, directory->OpenRead(table.substr(table.rfind('/') + 1), ReadMode::kBuffered));
    ASSERT_OK_AND_ASSIGN(const auto open, Table::Open(std::move(file), {}));
    Flip(table, open->footer().filter.offset + 40);
  }
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, ElementsAre(AllOf(HasSubstr(table), HasSubstr("offset"))));
  EXPECT_EQ(report.tables_rewritten, 1);
  EXPECT_EQ(Present().size(), 250);
  const std::unique_ptr<DB> db = Open();
  for (int i = 0; i < 100; ++i) EXPECT_OK(db->Get(Concat(Key(i), "x")));
  const Statistics statistics = db->GetStatistics();
  EXPECT_EQ(statistics.total.filters_damaged, 0u);
  EXPECT_GT(statistics.total.reads_avoided, 50u);
}

// The manifest knows the table's id, so that nothing else is lost.
TEST_F(RepairTest, NamesAndRebuildsADamagedHeader) {
  MakeStore();
  const std::string table = FilesOf(FileKind::kTable)[0];
  Flip(table, 10);
  EXPECT_EQ(Present().size(), 250u);
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, ElementsAre(AllOf(HasSubstr(table), HasSubstr("offset 0:"))));
  EXPECT_EQ(report.tables_rewritten, 1);
  EXPECT_EQ(Present().size(), 250u);
  ASSERT_OK_AND_ASSIGN(const VerifyReport verified, Open()->Verify());
  EXPECT_THAT(verified.problems, IsEmpty());
}

TEST_F(RepairTest, ReportsEntriesSavedAfterAGap) {
  options_.write_buffer_bytes = 64 << 10;
  {
    // Two logs whose memtables were not flushed.  The first log loses its end.
    files_.SetFault([](FileOperation operation, const std::string& path, uint64_t) {
      return operation == FileOperation::kCreate && path.ends_with(".table")
                 ? absl::UnavailableError(path)
                 : absl::OkStatus();
    });
    const std::unique_ptr<DB> db = Open();
    for (int i = 0; i < 250; ++i) {
      if (!db->Put(Key(i), Value(i)).ok()) break;
      if (FilesOf(FileKind::kLog).size() > 1) continue;
      ASSERT_OK(db->Put("pad", std::string(2000, 'p')));
    }
    files_.CrashAt(0);  // not closed
  }
  files_.Restart(MemoryFileSystem::Unsynced::kKept);
  const std::vector<std::string> logs = FilesOf(FileKind::kLog);
  ASSERT_EQ(logs.size(), 2u);
  std::string first = files_.FileBytes(logs[0]);
  files_.SetFileBytes(logs[0], first.substr(0, first.size() / 2));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, ElementsAre(AllOf(HasSubstr(logs[1]),
                                                 HasSubstr("the writes before it are missing"))));
}

TEST_F(RepairTest, LeavesOutTablesWithoutFooter) {
  MakeStore();
  const std::string table = FilesOf(FileKind::kTable)[0];
  files_.SetFileBytes(table, files_.FileBytes(table).substr(0, 2000));
  EXPECT_THAT(DB::Open(kStore, options_), Not(IsOk()));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, Contains(HasSubstr(table)));
  EXPECT_EQ(Present().size(), 150u);
}

TEST_F(RepairTest, LeavesOutOnlyDamagedRecords) {
  MakeStore();
  const std::string log = FilesOf(FileKind::kLog).back();
  Flip(log, files_.FileBytes(log).size() / 2);
  EXPECT_THAT(DB::Open(kStore, options_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(log)));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, Contains(HasSubstr(log)));
  EXPECT_EQ(Present().size(), 249u);
}

TEST_F(RepairTest, RebuildsCurrentFromTheManifest) {
  MakeStore();
  files_.SetFileBytes(Concat(kStore, "/CURRENT"), "nonsense");
  EXPECT_THAT(DB::Open(kStore, options_), Not(IsOk()));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, ElementsAre(HasSubstr("/store/CURRENT: offset 0")));
  EXPECT_EQ(files_.FileBytes("/store/CURRENT.damaged"), "nonsense");
  EXPECT_EQ(report.tables_kept, 2);
  EXPECT_EQ(Present().size(), 250u);
}

TEST_F(RepairTest, KeepsFilesOfEarlierRepairs) {
  MakeStore();
  const std::string current = "/store/CURRENT";
  for (const char* damaged : {"first", "second", "second and more", "second"}) {
    files_.SetFileBytes(current, damaged);
    EXPECT_OK(DB::Repair(kStore, options_));
  }
  EXPECT_EQ(files_.FileBytes(current + ".damaged"), "first");
  // The second file is the beginning of the third, like an incomplete copy.
  EXPECT_EQ(files_.FileBytes(current + ".damaged.2"), "second and more");
  EXPECT_EQ(files_.FileBytes(current + ".damaged.3"), "second");
  EXPECT_EQ(Present().size(), 250);
}

TEST_F(RepairTest, ChangesNothingBeforeTheSwap) {
  MakeStore();
  files_.SetFileBytes("/store/CURRENT", "nonsense");
  Flip(FilesOf(FileKind::kTable)[0], 700);
  const std::map<std::string, std::string> before = AllFiles(files_);
  int swaps = 0;
  files_.SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kAtomicReplace) return absl::OkStatus();
    ++swaps;
    return absl::UnavailableError(path);
  });
  EXPECT_THAT(DB::Repair(kStore, options_), StatusIs(absl::StatusCode::kUnavailable));
  files_.SetFault(nullptr);
  EXPECT_EQ(swaps, 1);
  for (const auto& [name, bytes] : before)
    EXPECT_EQ(files_.FileBytes(Concat(kStore, "/", name)), bytes) << name;
}

TEST_F(RepairTest, SequenceNumbersDecideWithoutAManifest) {
  {
    const std::unique_ptr<DB> db = Open();
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 250; ++i) ASSERT_OK(db->Put(Key(i), round == 3 ? Value(i) : "old"));
      ASSERT_OK(db->Flush());
      if (round == 1) {
        ASSERT_OK(db->CompactRange());
      }
    }
  }
  for (const std::string& manifest : FilesOf(FileKind::kManifest)) Flip(manifest, 40);
  EXPECT_THAT(DB::Open(kStore, options_), StatusIs(absl::StatusCode::kDataLoss));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, Contains(HasSubstr("no manifest is reliable")));
  EXPECT_EQ(Present().size(), 250u);
}

TEST_F(RepairTest, RescuedTablesOfLevel0KeepTheirAge) {
  {
    const std::unique_ptr<DB> db = Open();
    for (int i = 0; i < 250; ++i) ASSERT_OK(db->Put(Key(i), "old"));
    ASSERT_OK(db->Flush());
    for (int i = 0; i < 250; ++i) ASSERT_OK(db->Put(Key(i), Value(i)));
    ASSERT_OK(db->Flush());
  }
  Flip(FilesOf(FileKind::kTable)[0], 700);  // the older one, which then gets the higher number
  ASSERT_OK(DB::Repair(kStore, options_));
  EXPECT_EQ(Present().size(), 250u);
}

TEST_F(RepairTest, InterruptedRepairsCanBeRepeated) {
  MakeStore();
  Flip(FilesOf(FileKind::kTable)[0], 700);
  const std::unique_ptr<MemoryFileSystem> before = files_.Clone();
  files_.ResetCounts();
  ASSERT_OK(DB::Repair(kStore, options_));
  const uint64_t operations = files_.operation_count();
  ASSERT_GT(operations, 20u);
  for (uint64_t i = 0; i < operations; ++i) {
    SCOPED_TRACE(Concat("cut at operation ", i));
    const std::unique_ptr<MemoryFileSystem> files = before->Clone();
    Options options = options_;
    options.environment.file_system = files.get();
    files->ResetCounts();
    files->CrashAt(i);
    (void)DB::Repair(kStore, options);
    files->Restart(MemoryFileSystem::Unsynced::kLost);
    ASSERT_OK(DB::Repair(kStore, options));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStore, options));
    int present = 0;
    for (int key = 0; key < 250; ++key) {
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get(Key(key)));
      if (value) ++present;
    }
    EXPECT_GE(present, 240);
  }
}

}  // namespace
}  // namespace lsm
