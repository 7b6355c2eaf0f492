// Opening, closing and destroying a store: modes, options, locks, directories.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/engine/wrapped_reads.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::InChild;
using testing_support::IsOk;
using testing_support::ScratchDir;
using testing_support::StatusIs;

class OpenTest : public StoreTest {
 protected:
  void MakeStore() {
    options_.mode = OpenMode::kOpenOrCreate;
    Open();
    Put("table", "1");
    Flush();
    Put("log", "2");
    db_ = nullptr;
  }
  absl::Status OpenAs(OpenMode mode) {
    options_.mode = mode;
    return OpenStatus();
  }
  std::vector<std::string> Names(const std::string& path = kStorePath) {
    const auto directory = world_.files->OpenDirectory(path, /*create=*/false);
    return directory.ok() ? (*directory)->List().value() : std::vector<std::string>();
  }
};

TEST_F(OpenTest, CreatesANewStoreUnlessItMustExist) {
  EXPECT_THAT(OpenAs(OpenMode::kMustExist),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(kStorePath)));
  EXPECT_THAT(OpenAs(OpenMode::kReadOnly),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(kStorePath)));
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_OK(OpenAs(OpenMode::kOpenOrCreate));
  EXPECT_OK(OpenAs(OpenMode::kMustExist));
  EXPECT_OK(OpenAs(OpenMode::kReadOnly));
}

TEST_F(OpenTest, OpensAnExistingStoreUnlessItMustNotExist) {
  MakeStore();
  EXPECT_THAT(OpenAs(OpenMode::kMustNotExist),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(kStorePath)));
  EXPECT_OK(OpenAs(OpenMode::kMustExist));
  options_.mode = OpenMode::kOpenOrCreate;
  Open();
  EXPECT_EQ(Scan(), "log=2 table=1");
}

TEST_F(OpenTest, DirectoriesWithoutAStoreAreRefused) {
  ASSERT_OK(world_.files->OpenDirectory(kStorePath, /*create=*/true));
  world_.files->SetFileBytes("/store/README", "not ours");
  EXPECT_THAT(OpenAs(OpenMode::kMustExist), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(OpenAs(OpenMode::kReadOnly), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_OK(OpenAs(OpenMode::kMustNotExist));
  EXPECT_EQ(world_.files->FileBytes("/store/README"), "not ours");
}

TEST_F(OpenTest, FailedMustExistLeavesNothing) {
  ASSERT_OK(world_.files->OpenDirectory(kStorePath, /*create=*/true));
  EXPECT_THAT(OpenAs(OpenMode::kMustExist), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(OpenTest, NamesBadOptionsAndCreatesNothing) {
  const std::vector<std::pair<std::string, std::function<void(Options*)>>> bad = {
      {"target_fpp", [](Options* o) { o->target_fpp = 0; }},
      {"target_fpp", [](Options* o) { o->target_fpp = std::numeric_limits<double>::quiet_NaN(); }},
      {"filter_kind", [](Options* o) { o->filter_kind = "bloomy"; }},
      {"write_buffer_bytes", [](Options* o) { o->write_buffer_bytes = 1000; }},
      {"block_bytes", [](Options* o) { o->block_bytes = 255; }},
      {"block_restart_interval", [](Options* o) { o->block_restart_interval = 0; }},
      {"compression", [](Options* o) { o->compression = static_cast<Compression>(9); }},
      {"table_bytes", [](Options* o) { o->table_bytes = 1; }},
      {"level1_bytes", [](Options* o) { o->level1_bytes = 0; }},
      {"level0_compaction_tables", [](Options* o) { o->level0_compaction_tables = 21; }},
      {"level0_stop_tables", [](Options* o) { o->level0_stop_tables = 1001; }},
      {"mode", [](Options* o) { o->mode = static_cast<OpenMode>(7); }},
  };
  for (const auto& [name, spoil] : bad) {
    Options options = world_.SmallOptions();
    spoil(&options);
    EXPECT_THAT(DB::Open(kStorePath, options),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("Options::"), HasSubstr(name))))
        << name;
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(OpenTest, RefusesASecondOpen) {
  Open();
  EXPECT_THAT(OpenAs(OpenMode::kOpenOrCreate),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/store/LOCK")));
  EXPECT_THAT(OpenAs(OpenMode::kReadOnly), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(DB::Destroy(kStorePath, options_), StatusIs(absl::StatusCode::kFailedPrecondition));
  Put("a", "1");  // the open store is not affected
  EXPECT_EQ(Get("a"), "1");
  db_ = nullptr;
  EXPECT_OK(OpenAs(OpenMode::kOpenOrCreate));
}

TEST_F(OpenTest, FailedOpensReleaseTheLock) {
  MakeStore();
  const std::string current = world_.files->FileBytes("/store/CURRENT");
  world_.files->SetFileBytes("/store/CURRENT", "damaged");
  EXPECT_THAT(OpenStatus(), Not(IsOk()));
  world_.files->SetFileBytes("/store/CURRENT", current);
  EXPECT_OK(OpenStatus());
}

// --- for reading only ---

TEST_F(OpenTest, ReadersShareAStoreAndKeepWritersOut) {
  MakeStore();
  options_.mode = OpenMode::kReadOnly;
  Open();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> other, DB::Open(kStorePath, options_));
  EXPECT_EQ(Scan(), "log=2 table=1");
  EXPECT_EQ(*other->Get("log"), "2");
  EXPECT_THAT(OpenAs(OpenMode::kOpenOrCreate), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(OpenTest, ReadersWriteNothing) {
  MakeStore();
  const std::vector<std::string> names = Names();
  std::vector<std::string> before;
  for (const std::string& name : names)
    before.push_back(world_.files->FileBytes(Concat(kStorePath, "/", name)));
  options_.mode = OpenMode::kReadOnly;
  // It does not even make a call that could change something.
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    switch (operation) {
      case FileOperation::kOpenDirectory:
      case FileOperation::kOpenRead:
      case FileOperation::kList:
      case FileOperation::kStat:
      case FileOperation::kLock:
      case FileOperation::kReadAt:
      case FileOperation::kSize:
        return absl::OkStatus();
      default:
        ADD_FAILURE() << NameOf(operation) << " " << path;
        return absl::OkStatus();
    }
  });
  Open();
  EXPECT_EQ(Scan(), "log=2 table=1");
  EXPECT_EQ(Get("log"), "2");
  const auto snapshot = db_->GetSnapshot();
  EXPECT_EQ(Get("table", {.snapshot = snapshot.get()}), "1");
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("kReadOnly"));
  EXPECT_THAT(db_->Put("a", "1"), refused);
  EXPECT_THAT(db_->Delete("a"), refused);
  EXPECT_THAT(db_->Write(WriteBatch(), {.sync = true}), refused);
  EXPECT_THAT(db_->Flush(), refused);
  EXPECT_THAT(db_->CompactRange(), refused);
  EXPECT_OK(db_->WaitForBackgroundWork());
  db_->GetStatistics();
  EXPECT_OK(db_->Explain("log"));
}

TEST_F(OpenTest, ReadersSeeSeveralLogs) {
  Open();
  for (int i = 0; i < 30; ++i)
    Put(Concat("k", 10 + i), std::string(4000, static_cast<char>('a' + i % 26)));
  // Killed with one memtable sealed: two logs hold records.
  const std::unique_ptr<MemoryFileSystem> image = world_.files->Clone();
  World world(2, image->Clone());
  ASSERT_EQ(world.FilesOf(FileKind::kLog).size(), 2u);
  Options options = world.SmallOptions();
  options.mode = OpenMode::kReadOnly;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options));
  ASSERT_OK_AND_ASSIGN(const Contents read, ReadAll(*db));
  ASSERT_OK_AND_ASSIGN(const Contents written, ReadAll(*db_));
  EXPECT_EQ(read, written);
}

// --- directories ---

TEST_F(OpenTest, LogsMayLiveElsewhere) {
  options_.log_directory = "/fast/logs";
  MakeStore();
  EXPECT_THAT(world_.FilesOf(FileKind::kLog), IsEmpty());
  EXPECT_EQ(world_.FilesOf(FileKind::kLog, "/fast/logs").size(), 1u);
  Open();
  EXPECT_EQ(Scan(), "log=2 table=1");
  db_ = nullptr;
  // Opening without the log directory is refused.
  options_.log_directory = "";
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("log_directory")));
  options_.log_directory = "/fast/logs";
  Open();
  EXPECT_EQ(Scan(), "log=2 table=1");
}

TEST_F(OpenTest, LogDirectoriesBelongToOneStore) {
  options_.log_directory = "/logs";
  const auto refused = [&] {
    EXPECT_THAT(DB::Open("/other", options_),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         AllOf(HasSubstr("/logs/0"), HasSubstr(".log: a log of another store"))));
    EXPECT_THAT(world_.files->OpenDirectory("/other", false),
                StatusIs(absl::StatusCode::kNotFound));
  };
  Open();
  refused();  // while it is open
  db_ = nullptr;
  refused();  // and when its log holds nothing
  Open();
  Put("a", "1");
  db_ = nullptr;
  refused();
  Open();
  EXPECT_EQ(Scan(), "a=1");
  // A store was killed before its first write.  Its log is in the state that a crash during opening
  // leaves.
  db_ = nullptr;
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  Open();
  World killed(2, world_.files->Clone());
  Options options = killed.SmallOptions();
  options.log_directory = "/logs";
  EXPECT_THAT(DB::Open("/other", options), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_OK(DB::Open(kStorePath, options));
  // Foreign files are no obstacle, and stay.
  killed.files->SetFileBytes("/var/log/202311.log", "notes");
  options.log_directory = "/var/log";
  EXPECT_OK(DB::Open("/other", options));
  EXPECT_OK(DB::Open("/other", options));
  EXPECT_EQ(killed.files->FileBytes("/var/log/202311.log"), "notes");
}

TEST_F(OpenTest, FailedOpensDoNotBlockTheNext) {
  options_.log_directory = "/logs";
  for (uint64_t at = 0;; ++at) {
    SCOPED_TRACE(Concat("operation ", at, " fails"));
    World world(2);
    Options options = world.SmallOptions();
    options.log_directory = "/logs";
    bool failed = false;
    world.files->SetFault([&](FileOperation, const std::string& path, uint64_t number) {
      failed = failed || number == at;
      return number == at ? absl::UnavailableError(path) : absl::OkStatus();
    });
    (void)DB::Open(kStorePath, options);
    world.files->SetFault(nullptr);
    EXPECT_OK(DB::Open(kStorePath, options));
    if (!failed) break;
  }
}

TEST_F(OpenTest, RefusesAnothersLogDirectory) {
  options_.log_directory = "/logs";
  Open();
  db_ = nullptr;  // its log is closed and holds nothing
  options_.log_directory = "";
  EXPECT_THAT(DB::Open("/logs", options_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("belongs to a store")));
  options_.log_directory = "/logs";
  Open();
}

TEST_F(OpenTest, LogsMayLiveInAnotherFileSystem) {
  MemoryFileSystem other;
  options_.environment.log_file_system = &other;
  EXPECT_THAT(OpenStatus(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("log_directory")));
  options_.log_directory = "/logs";
  MakeStore();
  EXPECT_THAT(world_.FilesOf(FileKind::kLog), IsEmpty());
  Open();
  EXPECT_EQ(Scan(), "log=2 table=1");
  db_ = nullptr;
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  EXPECT_THAT(other.OpenDirectory("/logs", false), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(OpenTest, LogDirectoryMayBeTheStores) {
  options_.log_directory = kStorePath;
  MakeStore();
  options_.log_directory = "";
  Open();
  EXPECT_EQ(Scan(), "log=2 table=1");
}

TEST_F(OpenTest, ExhaustedSequenceNumbersAllowOnlyReads) {
  // Writes a manifest by hand, after which two more writes use up the sequence numbers.
  MakeStore();
  {
    ASSERT_OK_AND_ASSIGN(const auto directory, world_.files->OpenDirectory(kStorePath, false));
    ASSERT_OK_AND_ASSIGN(ManifestContents contents, ReadManifest(*directory));
    contents.state.last_sequence = kSequenceMax - 3;
    contents.state.next_file_number = 1001;
    contents.state.closed_logs.clear();
    // The log's record would come before that number.
    for (const std::string& log : world_.FilesOf(FileKind::kLog))
      world_.files->SetFileBytes(log, world_.files->FileBytes(log).substr(0, 32));
    ASSERT_OK(ManifestWriter::Create(*directory, 1000, 5, contents.state.ToSnapshot(),
                                     contents.current_bytes));
  }
  Open();
  WriteBatch three;
  for (const char* key : {"a", "b", "c"}) three.Put(key, "1");
  EXPECT_THAT(db_->Write(three), StatusIs(absl::StatusCode::kResourceExhausted));
  Put("x", "last but one");
  Put("y", "last");
  EXPECT_THAT(db_->Put("z", "1"), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(Scan(), "table=1 x=last but one y=last");
  Flush();
  Open();
  EXPECT_EQ(Scan(), "table=1 x=last but one y=last");
  EXPECT_THAT(db_->Put("z", "1"), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(OpenTest, DoesNotReuseNumbersOfLeftoverFiles) {
  MakeStore();
  world_.files->SetFileBytes("/store/000500.table", "TRLSTBL\nleft over");
  world_.files->SetFileBytes("/store/000600.log", "");
  Open();
  Put("a", "1");
  Flush();
  EXPECT_EQ(Scan(), "a=1 log=2 table=1");
  EXPECT_EQ(world_.files->FileBytes("/store/000500.table"), "");  // gone
  for (const std::string& path : world_.FilesOf(FileKind::kLog))
    EXPECT_GT(path, "/store/000600.log");
}

// --- destroying ---

TEST_F(OpenTest, DestroyRemovesTheStoreAndItsDirectory) {
  options_.log_directory = "/logs";
  MakeStore();
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  EXPECT_THAT(world_.files->OpenDirectory(kStorePath, false),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(world_.files->OpenDirectory("/logs", false), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_OK(DB::Destroy(kStorePath, options_));  // there is none
  options_.mode = OpenMode::kMustNotExist;
  Open();
  EXPECT_EQ(Scan(), "");
}

TEST_F(OpenTest, DestroyKeepsForeignFiles) {
  MakeStore();
  world_.files->SetFileBytes("/store/notes.txt", "keep");
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  EXPECT_THAT(Names(), testing::ElementsAre("notes.txt"));
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  EXPECT_THAT(Names(), testing::ElementsAre("notes.txt"));
}

TEST_F(OpenTest, InterruptedDestroysCanBeRepeated) {
  options_.log_directory = "/logs";
  MakeStore();
  const std::unique_ptr<MemoryFileSystem> before = world_.files->Clone();
  world_.files->ResetCounts();
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  const uint64_t operations = world_.files->operation_count();
  ASSERT_GT(operations, 10u);
  for (uint64_t at = 0; at < operations; ++at) {
    for (const auto unsynced :
         {MemoryFileSystem::Unsynced::kLost, MemoryFileSystem::Unsynced::kKept}) {
      SCOPED_TRACE(Concat("cut at operation ", at));
      World world(3, before->Clone());
      Options options = world.SmallOptions();
      options.log_directory = "/logs";
      world.files->ResetCounts();
      world.files->CrashAt(at);
      (void)DB::Destroy(kStorePath, options);
      world.files->Restart(unsynced);
      ASSERT_OK(DB::Destroy(kStorePath, options));
      EXPECT_THAT(world.FilesOf(FileKind::kLog, "/logs"), IsEmpty());
      options.mode = OpenMode::kMustNotExist;
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options));
      EXPECT_THAT(*ReadAll(*db), IsEmpty());
    }
  }
}

TEST_F(OpenTest, DestroyRemovesAnEmptyDirectory) {
  ASSERT_OK(options_.environment.file_system->OpenDirectory("/empty", /*create=*/true));
  EXPECT_OK(DB::Destroy("/empty", options_));
  EXPECT_THAT(options_.environment.file_system->OpenDirectory("/empty", /*create=*/false),
              StatusIs(absl::StatusCode::kNotFound));
  world_.files->SetFileBytes("/other/readme.txt", "not a store");
  EXPECT_OK(DB::Destroy("/other", options_));
  EXPECT_EQ(world_.files->FileBytes("/other/readme.txt"), "not a store");
}

TEST_F(OpenTest, DestroyRefusesForeignFiles) {
  options_.log_directory = "/logs";
  MakeStore();
  for (const char* path :
       {"/store/202311.log", "/store/000900.table", "/store/000900.manifest", "/logs/202311.log"}) {
    world_.files->SetFileBytes(path, "notes");
    const std::vector<std::string> names = Names();
    EXPECT_THAT(DB::Destroy(kStorePath, options_),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(path)));
    EXPECT_EQ(Names(), names);
    world_.files->SetFileBytes(path, "");  // a crash could leave this
  }
  EXPECT_OK(DB::Destroy(kStorePath, options_));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(OpenTest, DestroyRemovesDamagedFiles) {
  MakeStore();
  for (const FileKind kind :
       {FileKind::kTable, FileKind::kLog, FileKind::kManifest, FileKind::kCurrent}) {
    for (const std::string& path : world_.FilesOf(kind)) {
      std::string bytes = world_.files->FileBytes(path);
      bytes[3] = static_cast<char>(bytes[3] ^ 0x20);
      bytes[30] = static_cast<char>(bytes[30] ^ 0x20);
      world_.files->SetFileBytes(path, bytes);
    }
  }
  EXPECT_OK(DB::Destroy(kStorePath, options_));
  EXPECT_THAT(Names(), IsEmpty());
}

// --- a file system without direct reads ---

TEST_F(OpenTest, RefusesUnsupportedDirectReads) {
  WrappedReads buffered = DirectReads(world_.files.get(), [](const std::string&) { return false; });
  options_.environment.file_system = &buffered;
  options_.direct_reads = true;
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Options::direct_reads: /store/"));
  EXPECT_THAT(OpenStatus(), refused);  // a new store
  options_.direct_reads = false;
  MakeStore();
  options_.direct_reads = true;
  EXPECT_THAT(OpenStatus(), refused);
  EXPECT_THAT(OpenAs(OpenMode::kReadOnly), refused);
  options_.mode = OpenMode::kOpenOrCreate;
  options_.direct_reads = false;
  Open();
  EXPECT_EQ(Scan(), "log=2 table=1");
}

TEST_F(OpenTest, RepairDoesNotNeedDirectReads) {
  MakeStore();
  const std::string table = world_.FilesOf(FileKind::kTable)[0];
  std::string bytes = world_.files->FileBytes(table);
  bytes[10] = static_cast<char>(bytes[10] ^ 1);
  world_.files->SetFileBytes(table, bytes);
  WrappedReads buffered = DirectReads(world_.files.get(), [](const std::string&) { return false; });
  options_.environment.file_system = &buffered;
  options_.direct_reads = true;
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStorePath, options_));
  EXPECT_THAT(report.left_out, testing::SizeIs(1));
}

// --- on a real file system ---

TEST(RealOpenTest, RefusesASecondProcess) {
  const ScratchDir scratch;
  const std::string path = scratch.path_of("store");
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DB> db, DB::Open(path));
  ASSERT_OK(db->Put("a", "1"));
  const auto open_as = [&](OpenMode mode) {
    return InChild([&] {
      Options options;
      options.mode = mode;
      // A forked child inherits its parent's registry of locks, but another program sees only the
      // kernel's locks.  Either refusal is right.
      return DB::Open(path, options).status().ToString();
    });
  };
  EXPECT_THAT(open_as(OpenMode::kOpenOrCreate),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("LOCK")));
  EXPECT_THAT(open_as(OpenMode::kReadOnly), HasSubstr("FAILED_PRECONDITION"));
  db = nullptr;
  EXPECT_EQ(open_as(OpenMode::kReadOnly), "OK");
  EXPECT_EQ(open_as(OpenMode::kOpenOrCreate), "OK");
}

// A program that forks but fails to start another program calls exit, which destroys global
// objects.
TEST(RealOpenTest, ForkedChildrenChangeNothing) {
  const ScratchDir scratch;
  const std::string path = scratch.path_of("store");
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DB> db, DB::Open(path));
  ASSERT_OK(db->Put("a", "1", {.sync = true}));
  EXPECT_EQ(InChild([&] {
              db = nullptr;
              return std::string("done");
            }),
            "done");
  EXPECT_THAT(InChild([&] { return db->Put("b", "child's").ToString(); }),
              HasSubstr("FAILED_PRECONDITION: "));
  EXPECT_THAT(InChild([&] { return db->Checkpoint(scratch.path_of("copy")).ToString(); }),
              HasSubstr("FAILED_PRECONDITION: "));
  ASSERT_OK(db->Put("c", "3", {.sync = true}));
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db->Verify());
  EXPECT_THAT(report.problems, testing::IsEmpty());
  db = nullptr;
  ASSERT_OK_AND_ASSIGN(db, DB::Open(path));
  EXPECT_EQ(*db->Get("a"), "1");
  EXPECT_EQ(*db->Get("b"), std::nullopt);
  EXPECT_EQ(*db->Get("c"), "3");
}

TEST(RealOpenTest, OtherProcessesKeepThisOneOut) {
  const ScratchDir scratch;
  const std::string path = scratch.path_of("store");
  int to_child[2], from_child[2];
  ASSERT_EQ(::pipe(to_child), 0);
  ASSERT_EQ(::pipe(from_child), 0);
  testing_support::Child child([&]() -> std::string {
    const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(path);
    if (!db.ok()) return db.status().ToString();
    if (!(*db)->Put("a", "1").ok()) return "put failed";
    char byte = 'o';
    (void)!::write(from_child[1], &byte, 1);
    (void)!::read(to_child[0], &byte, 1);
    return "";  // ends without closing the store, as if killed
  });
  char byte = 0;
  ASSERT_EQ(::read(from_child[0], &byte, 1), 1);
  EXPECT_THAT(DB::Open(path), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       AllOf(HasSubstr("LOCK"), HasSubstr("another process"))));
  Options read_only;
  read_only.mode = OpenMode::kReadOnly;
  EXPECT_THAT(DB::Open(path, read_only), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_EQ(::write(to_child[1], &byte, 1), 1);
  EXPECT_EQ(child.Result(), "");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(path));
  EXPECT_EQ(*db->Get("a"), "1");  // acknowledged, so it outlives its process
  for (const int end : {to_child[0], to_child[1], from_child[0], from_child[1]}) ::close(end);
}

TEST(RealOpenTest, WorksOnRealFiles) {
  const ScratchDir scratch;
  Options options;
  options.write_buffer_bytes = 64 << 10;
  options.table_bytes = 64 << 10;
  options.level1_bytes = 64 << 10;
  options.log_directory = scratch.path_of("logs");
  const std::string path = scratch.path_of("a/b/store");
  Contents expected;
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(path, options));
    EXPECT_EQ(*ReadAll(*db), expected);
    for (int i = 0; i < 500; ++i) {
      const std::string key = Concat("k", 100 + (i * 7919 + round) % 700);
      const std::string value = Concat(round, " ", i, std::string(400, 'v'));
      ASSERT_OK(db->Put(key, value, {.sync = i % 100 == 0}));
      expected[key] = value;
    }
    EXPECT_EQ(*ReadAll(*db), expected);
    if (round == 1) {
      ASSERT_OK(db->CompactRange());
    }
  }
  ASSERT_OK(DB::Destroy(path, options));
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_NE(::access(options.log_directory.c_str(), F_OK), 0);
}

TEST(RealOpenTest, SetsTheFileMode) {
  const ScratchDir scratch;
  for (const auto& [access, may_read] :
       {std::pair(FileAccess::kOwner, 0u), {FileAccess::kGroup, 040u}, {FileAccess::kAll, 044u}}) {
    Options options;
    options.file_access = access;
    const std::string path = scratch.path_of(Concat("store", may_read));
    const mode_t mask = ::umask(0);
    {
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(path, options));
      ASSERT_OK(db->Put("a", "1"));
      ASSERT_OK(db->Flush());
    }
    ::umask(mask);
    ASSERT_OK_AND_ASSIGN(const auto directory, PosixFileSystem().OpenDirectory(path, false));
    ASSERT_OK_AND_ASSIGN(std::vector<std::string> names, directory->List());
    EXPECT_GE(names.size(), 5u);
    names.push_back("");  // the directory
    for (const std::string& name : names) {
      struct stat info {};
      ASSERT_EQ(::stat(Concat(path, "/", name).c_str(), &info), 0);
      EXPECT_EQ(info.st_mode & 066, may_read) << path << "/" << name;
    }
  }
}

// NotFound would say that the mode demands a store.
TEST(RealOpenTest, UncreatableDirectoriesAreUnavailable) {
  const ScratchDir scratch;
  const std::string dangling = scratch.path_of("dangling");
  std::filesystem::create_directory_symlink(scratch.path_of("nowhere"), dangling);
  for (const std::string& path : {dangling, std::string("/proc/trellis/store")}) {
    for (const OpenMode mode : {OpenMode::kOpenOrCreate, OpenMode::kMustNotExist}) {
      Options options;
      options.mode = mode;
      const auto refused = StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path));
      EXPECT_THAT(DB::Open(path, options), refused);
      options.log_directory = path;
      EXPECT_THAT(DB::Open(scratch.path_of("store"), options), refused);
    }
    for (const OpenMode mode : {OpenMode::kMustExist, OpenMode::kReadOnly}) {
      Options options;
      options.mode = mode;
      EXPECT_THAT(DB::Open(path, options), StatusIs(absl::StatusCode::kNotFound));
    }
  }
}

TEST(RealOpenTest, DestroyKeepsALinkAndItsDirectory) {
  const ScratchDir scratch;
  const std::string path = scratch.path_of("store"), link = scratch.path_of("link");
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DB> db, DB::Open(path));
  ASSERT_OK(db->Put("a", "1"));
  db = nullptr;
  std::filesystem::create_directory_symlink(path, link);
  for (const char* end : {"", "/", "/."}) {
    ASSERT_OK(DB::Open(link + end));
    EXPECT_OK(DB::Destroy(link + end)) << end;
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_TRUE(std::filesystem::is_empty(path));
    EXPECT_OK(DB::Destroy(link + end)) << end;
  }
  ASSERT_OK(DB::Open(link));
  EXPECT_OK(DB::Destroy(path));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_OK(DB::Destroy(link));  // a dangling link
}

TEST(RealOpenTest, DirectReadsMatchOrAreRefused) {
  // The system's temporary files may lie where there is no O_DIRECT; the working directory's file
  // system is mostly another one.
  for (const std::string& parent : {std::string("/tmp"), std::string(".")}) {
    const ScratchDir scratch(parent);
    Options options;
    options.direct_reads = true;
    options.block_cache_bytes = 0;
    const std::string path = scratch.path_of("store");
    const absl::StatusOr<std::unique_ptr<DB>> opened = DB::Open(path, options);
    if (!opened.ok()) {
      EXPECT_THAT(opened, StatusIs(absl::StatusCode::kInvalidArgument,
                                   AllOf(HasSubstr("Options::direct_reads"), HasSubstr(path))));
      std::printf("no direct reads in %s\n", parent.c_str());
      continue;
    }
    DB* const db = opened->get();
    for (int i = 0; i < 1000; ++i) ASSERT_OK(db->Put(Concat("k", 1000 + i), Concat("value ", i)));
    ASSERT_OK(db->Flush());
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(*db->Get(Concat("k", 1000 + i)), Concat("value ", i));
    EXPECT_EQ(ReadAll(*db)->size(), 1000u);
  }
}

}  // namespace
}  // namespace lsm
