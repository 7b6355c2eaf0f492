// Logs in a directory of their own: they belong to one store, and other files there are never
// touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lsm/version/manifest.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::StatusIs;

class LogDirectoryTest : public StoreTest {
 protected:
  Options WithLogs(const std::string& log_directory) {
    Options options = options_;
    options.log_directory = log_directory;
    return options;
  }
  // Makes a store with a table and a log that holds a write.  All stores have the same shape.
  void MakeStore(const std::string& path, const std::string& log_directory) {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(path, WithLogs(log_directory)));
    ASSERT_OK(db->Put("table", path));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Put("log", path));
  }
  void ExpectStore(const std::string& path, const std::string& log_directory) {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(path, WithLogs(log_directory)));
    EXPECT_EQ(*ReadAll(*db), (Contents{{"table", path}, {"log", path}}));
  }
  std::map<std::string, std::string> FilesIn(const std::string& path) {
    return world_.FilesIn(path);
  }
  // Expects that Repair and Destroy are refused with this message, and that no file changes.
  void ExpectNoRepairAndNoDestroy(const std::string& path, const std::string& log_directory,
                                  const testing::Matcher<std::string>& message) {
    const auto store = FilesIn(path), logs = FilesIn(log_directory);
    const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition, message);
    EXPECT_THAT(DB::Repair(path, WithLogs(log_directory)), refused);
    EXPECT_THAT(DB::Destroy(path, WithLogs(log_directory)), refused);
    EXPECT_EQ(FilesIn(path), store);
    EXPECT_EQ(FilesIn(log_directory), logs);
  }
  static std::string NameIn(const std::string& path) { return path.substr(path.rfind('/') + 1); }
  void Copy(const std::string& from, const std::string& to) {
    ASSERT_OK(world_.files->OpenDirectory(to, /*create=*/true));
    for (const auto& [name, bytes] : FilesIn(from))
      world_.files->SetFileBytes(Concat(to, "/", name), bytes);
  }
};

TEST_F(LogDirectoryTest, RefusesDirectoriesOfOtherStores) {
  MakeStore("/a", "");
  MakeStore("/b", "");
  const auto a = FilesIn("/a"), b = FilesIn("/b");
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("/b/"), HasSubstr("Options::log_directory")));
  Options wrong = WithLogs("/b");
  EXPECT_THAT(DB::Open("/a", wrong), refused);
  EXPECT_THAT(DB::Open("/new", wrong), refused);
  wrong.mode = OpenMode::kReadOnly;
  EXPECT_THAT(DB::Open("/a", wrong), refused);
  EXPECT_EQ(FilesIn("/a"), a);
  EXPECT_EQ(FilesIn("/b"), b);
  ExpectNoRepairAndNoDestroy("/a", "/b",
                             AllOf(HasSubstr("/b/"), HasSubstr("Options::log_directory")));
  EXPECT_THAT(world_.files->OpenDirectory("/new", false), StatusIs(absl::StatusCode::kNotFound));
  ExpectStore("/a", "");
  ExpectStore("/b", "");
}

TEST_F(LogDirectoryTest, TablesAndManifestsIdentifyAStore) {
  MakeStore("/a", "/logs of a");
  MakeStore("/b", "");
  const auto b = FilesIn("/b");
  for (const auto& [name, bytes] : b) {
    const FileKind kind = ParseFileName(name)->kind;
    if (kind == FileKind::kLog || kind == FileKind::kLock) continue;
    const std::unique_ptr<MemoryFileSystem> before = world_.files->Clone();
    world_.files->SetFileBytes(Concat("/logs of a/", name), bytes);
    EXPECT_THAT(DB::Open("/a", WithLogs("/logs of a")),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(name)));
    world_.files = before->Clone();
    options_.environment.file_system = world_.files.get();
  }
  // A file that only has such a name belongs to no store, so it stays.
  world_.files->SetFileBytes("/logs of a/000900.table", "notes");
  world_.files->SetFileBytes("/logs of a/000901.manifest", "");
  world_.files->SetFileBytes("/logs of a/CURRENT.tmp", "");
  ExpectStore("/a", "/logs of a");
  EXPECT_EQ(FilesIn("/logs of a").count("000900.table"), 1u);
  EXPECT_EQ(FilesIn("/logs of a").count("000901.manifest"), 1u);
  EXPECT_EQ(FilesIn("/logs of a").count("CURRENT.tmp"), 1u);
  ASSERT_OK(DB::Destroy("/a", WithLogs("/logs of a")));
  EXPECT_EQ(FilesIn("/a").size(), 0u);
  EXPECT_EQ(FilesIn("/logs of a").size(), 3u);
}

TEST_F(LogDirectoryTest, KeepsLogsOfOtherStores) {
  // Also if the other store began as a copy, so that numbers and sequences are equal.
  MakeStore("/a", "/logs of a");
  Copy("/a", "/b");
  Copy("/logs of a", "/logs of b");
  for (const char* each : {"a", "b"}) {
    ASSERT_OK_AND_ASSIGN(const auto db,
                         DB::Open(Concat("/", each), WithLogs(Concat("/logs of ", each))));
    ASSERT_OK(db->Put("table", Concat("/", each)));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Put("log", Concat("/", each)));
  }
  const auto a = FilesIn("/a"), b = FilesIn("/logs of b");
  std::string log;
  for (const auto& [name, bytes] : b) {
    if (name != kLockFileName) log = Concat("/logs of b/", name);
  }
  ASSERT_EQ(FilesIn("/logs of a").count(log.substr(log.rfind('/') + 1)), 1u);
  Options wrong = WithLogs("/logs of b");
  for (const OpenMode mode : {OpenMode::kOpenOrCreate, OpenMode::kReadOnly}) {
    wrong.mode = mode;
    EXPECT_THAT(DB::Open("/a", wrong),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(Concat(log, ": offset 0: this is another log")),
                               HasSubstr("Options::log_directory"))));
  }
  EXPECT_EQ(FilesIn("/a"), a);
  EXPECT_EQ(FilesIn("/logs of b"), b);
  ExpectNoRepairAndNoDestroy("/a", "/logs of b", HasSubstr(log));
  ExpectStore("/a", "/logs of a");
  ExpectStore("/b", "/logs of b");
}

TEST_F(LogDirectoryTest, RefusesForeignLogsWithLowerNumbers) {
  MakeStore("/a", "/logs of a");
  for (int i = 0; i < 5; ++i) ExpectStore("/a", "/logs of a");  // each opening takes a new number
  MakeStore("/b", "/logs of b");
  const auto logs_of = [&](const std::string& path) {
    return world_.FilesOf(FileKind::kLog, path);
  };
  const std::string log_of_b = logs_of("/logs of b")[0];
  ASSERT_LT(NameIn(log_of_b), NameIn(logs_of("/logs of a")[0]));
  const auto b = FilesIn("/logs of b");
  const auto message = AllOf(HasSubstr(log_of_b), HasSubstr("nothing was changed"));
  ExpectNoRepairAndNoDestroy("/a", "/logs of b", message);
  // The same if an empty log of the other store, with any id, is beside them.
  world_.files->SetFileBytes("/logs of b/000900.log", b.at(NameIn(log_of_b)).substr(0, 32));
  ExpectNoRepairAndNoDestroy("/a", "/logs of b", message);
  ExpectStore("/b", "/logs of b");
  // Beside a log that the store needs, they count as its own obsolete logs.
  world_.files->SetFileBytes("/logs of a/000001.log", b.at(NameIn(log_of_b)));
  EXPECT_OK(DB::Repair("/a", WithLogs("/logs of a")));
  ExpectStore("/a", "/logs of a");
  EXPECT_EQ(logs_of("/logs of a").size(), 1u);
}

TEST_F(LogDirectoryTest, RepairTrustsItsManifestBesideForeignLogs) {
  MakeStore("/a", "/logs of a");
  MakeStore("/b", "/logs of b");
  ExpectStore("/b", "/logs of b");  // so that its log has another number
  // A table that no manifest names.  An interrupted compaction leaves such tables.
  const std::string table = world_.FilesOf(FileKind::kTable, "/a")[0];
  world_.files->SetFileBytes("/a/000900.table", world_.files->FileBytes(table));
  const auto a = FilesIn("/a"), b = FilesIn("/logs of b");
  EXPECT_THAT(DB::Repair("/a", WithLogs("/logs of b")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/logs of b/")));
  EXPECT_EQ(FilesIn("/a"), a);
  EXPECT_EQ(FilesIn("/logs of b"), b);
  ExpectStore("/a", "/logs of a");
  ExpectStore("/b", "/logs of b");
}

TEST_F(LogDirectoryTest, KeepsLogsWithoutAManifest) {
  MakeStore("/a", "/logs of a");
  const std::string log = world_.FilesOf(FileKind::kLog, "/logs of a")[0];
  const std::string bytes = world_.files->FileBytes(log);
  const std::string manifest = world_.FilesOf(FileKind::kManifest, "/a")[0];
  std::string damaged = world_.files->FileBytes(manifest);
  damaged[50] = static_cast<char>(damaged[50] ^ 1);
  world_.files->SetFileBytes(manifest, damaged);
  const auto a = FilesIn("/a");
  EXPECT_THAT(DB::Destroy("/a", WithLogs("/logs of a")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(log)));
  EXPECT_EQ(FilesIn("/a"), a);
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair("/a", WithLogs("/logs of a")));
  EXPECT_THAT(report.left_out, testing::Contains(HasSubstr(log)));
  EXPECT_EQ(world_.files->FileBytes(log + ".damaged"), bytes);
  ExpectStore("/a", "/logs of a");
}

TEST_F(LogDirectoryTest, KeepsOldLogsWithoutANamedManifest) {
  MakeStore("/a", "/logs of a");
  for (int i = 0; i < 5; ++i) ExpectStore("/a", "/logs of a");
  MakeStore("/b", "/logs of b");
  const std::string log_of_b = world_.FilesOf(FileKind::kLog, "/logs of b")[0];
  const std::string bytes = world_.files->FileBytes(log_of_b);
  world_.files->SetFileBytes("/a/CURRENT", "garbage");
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair("/a", WithLogs("/logs of b")));
  EXPECT_THAT(report.left_out, testing::Contains(AllOf(HasSubstr(log_of_b), HasSubstr("kept"))));
  EXPECT_EQ(world_.files->FileBytes(log_of_b + ".damaged"), bytes);
}

TEST_F(LogDirectoryTest, KnownLogsAreNotReportedAsForeign) {
  MakeStore("/a", "/logs of a");
  // The manifest is sound, but the table that it needs is missing, and another table exists.
  const std::string table = world_.FilesOf(FileKind::kTable, "/a")[0];
  world_.files->SetFileBytes("/a/000900.table", world_.files->FileBytes(table));
  ASSERT_OK_AND_ASSIGN(const auto directory, world_.files->OpenDirectory("/a", false));
  ASSERT_OK(directory->Remove(NameIn(table)));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair("/a", WithLogs("/logs of a")));
  EXPECT_THAT(report.left_out, testing::Not(testing::Contains(HasSubstr(".log"))));
  ExpectStore("/a", "/logs of a");
}

TEST_F(LogDirectoryTest, DestroysStoresWithoutTheirLogs) {
  MakeStore("/a", "/logs of a");
  for (const std::string& manifest : world_.FilesOf(FileKind::kManifest, "/a"))
    world_.files->SetFileBytes(manifest, "");
  const auto logs = FilesIn("/logs of a");
  EXPECT_OK(DB::Destroy("/a", options_));
  EXPECT_EQ(FilesIn("/a").size(), 0u);
  EXPECT_EQ(FilesIn("/logs of a"), logs);
}

TEST_F(LogDirectoryTest, DestroyAndRepairNeedTheDirectory) {
  MakeStore("/a", "/logs of a");
  const auto a = FilesIn("/a"), logs = FilesIn("/logs of a");
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("log_directory"), HasSubstr("/logs of a")));
  EXPECT_THAT(DB::Destroy("/a", options_), refused);
  EXPECT_THAT(DB::Repair("/a", options_), refused);
  EXPECT_EQ(FilesIn("/a"), a);
  EXPECT_EQ(FilesIn("/logs of a"), logs);
  ExpectStore("/a", "/logs of a");
  ASSERT_OK(DB::Destroy("/a", WithLogs("/logs of a")));
  EXPECT_EQ(FilesIn("/logs of a").size(), 0u);
}

TEST_F(LogDirectoryTest, CopiesRecordNoLogDirectory) {
  MakeStore("/a", "/logs of a");
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DB> db, DB::Open("/a", WithLogs("/logs of a")));
  ASSERT_OK(db->Checkpoint("/copy"));
  db = nullptr;
  ASSERT_OK_AND_ASSIGN(const auto copy, world_.files->OpenDirectory("/copy", false));
  ASSERT_OK_AND_ASSIGN(const ManifestContents of_copy, ReadManifest(*copy));
  EXPECT_EQ(of_copy.state.log_directory, std::nullopt);
  ASSERT_OK(DB::Restore("/copy", "/b", WithLogs("/logs of b")));
  ASSERT_OK_AND_ASSIGN(const auto restored, world_.files->OpenDirectory("/b", false));
  ASSERT_OK_AND_ASSIGN(const ManifestContents of_b, ReadManifest(*restored));
  EXPECT_EQ(of_b.state.log_directory, "/logs of b");
  EXPECT_OK(DB::Destroy("/copy", options_));
  EXPECT_OK(DB::Destroy("/b", WithLogs("/logs of b")));
}

TEST_F(LogDirectoryTest, RefusesAWrongDirectoryWhileLogsRemain) {
  MakeStore("/a", "/logs of a");
  ASSERT_OK(world_.files->OpenDirectory("/empty", /*create=*/true));
  const auto a = FilesIn("/a"), logs = FilesIn("/logs of a");
  for (const std::string wrong : {"/empty", "/none"}) {
    EXPECT_THAT(DB::Destroy("/a", WithLogs(wrong)),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(wrong), HasSubstr("/logs of a"))));
    EXPECT_EQ(FilesIn(wrong).size(), 0u);
  }
  EXPECT_THAT(DB::Repair("/a", WithLogs("/empty")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/logs of a")));
  EXPECT_EQ(FilesIn("/a"), a);
  EXPECT_EQ(FilesIn("/logs of a"), logs);
  ExpectStore("/a", "/logs of a");
}

TEST_F(LogDirectoryTest, AcceptsAnotherDirectoryWithoutLogs) {
  MakeStore("/a", "/logs of a");
  for (const auto& [name, bytes] : FilesIn("/logs of a"))
    ASSERT_OK((*world_.files->OpenDirectory("/logs of a", false))->Remove(name));
  EXPECT_OK(DB::Destroy("/a", WithLogs("/empty")));
  EXPECT_EQ(FilesIn("/a").size(), 0u);

  // Another store's logs, where this one's were.
  MakeStore("/a", "/logs");
  ASSERT_OK(DB::Destroy("/logs", options_));
  MakeStore("/b", "/logs");
  EXPECT_OK(DB::Destroy("/a", WithLogs("/empty")));
  EXPECT_EQ(FilesIn("/a").size(), 0u);
  ExpectStore("/b", "/logs");
}

TEST_F(LogDirectoryTest, DestroysOrphanedLogsOnlyOnRequest) {
  MakeStore("/a", "/logs of a");
  for (const auto& [name, bytes] : FilesIn("/a"))
    ASSERT_OK((*world_.files->OpenDirectory("/a", false))->Remove(name));
  const auto logs = FilesIn("/logs of a");
  ASSERT_GT(logs.size(), 0u);
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_THAT(DB::Destroy("/a", WithLogs("/logs of a")),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("/logs of a/"), HasSubstr("no store in /a"))));
    EXPECT_EQ(FilesIn("/logs of a"), logs);
  }
  ASSERT_OK(DB::Destroy("/logs of a", options_));
  EXPECT_EQ(FilesIn("/logs of a").size(), 0u);
  EXPECT_OK(DB::Destroy("/a", WithLogs("/logs of a")));
}

// A store with a log but without an earlier one would lose writes silently.  So Destroy removes the
// oldest log durably before it removes the next one.
TEST_F(LogDirectoryTest, InterruptedDestroysLeaveAllOrNoStore) {
  options_.log_directory = "/logs";
  Open();
  Put("old", std::string(30'000, 'x'));
  while (world_.FilesOf(FileKind::kLog, "/logs").size() < 2) Put("old", std::string(30'000, 'x'));
  Put("new", "acknowledged");
  const std::unique_ptr<MemoryFileSystem> killed = world_.files->Clone();
  const std::vector<std::string> logs = world_.FilesOf(FileKind::kLog, "/logs");
  for (int allowed = 0;; ++allowed) {
    const std::unique_ptr<MemoryFileSystem> files = killed->Clone();
    options_.environment.file_system = files.get();
    std::vector<std::string> changes;
    files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
      const bool is_change =
          operation == FileOperation::kRemove || operation == FileOperation::kSyncDirectory;
      if (!is_change) return absl::OkStatus();
      if (changes.size() == static_cast<size_t>(allowed)) return absl::UnavailableError(path);
      changes.push_back(path);
      return absl::OkStatus();
    });
    const bool is_destroyed = DB::Destroy(kStorePath, options_).ok();
    files->SetFault(nullptr);
    if (is_destroyed) {
      ASSERT_GT(changes.size(), 4u);
      changes.resize(4);
      EXPECT_THAT(changes, ElementsAre(logs[0], "/logs", logs[1], "/logs"));
      break;
    }
    options_.mode = OpenMode::kMustExist;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    if (db.ok()) {
      EXPECT_EQ(*(*db)->Get("new"), "acknowledged") << allowed;
    } else {
      EXPECT_TRUE(absl::IsDataLoss(db.status()) || absl::IsNotFound(db.status())) << db.status();
    }
    db = absl::NotFoundError("closed");
    EXPECT_OK(DB::Destroy(kStorePath, options_));
  }
  db_ = nullptr;
}

TEST_F(LogDirectoryTest, MissingDirectoriesAreALoss) {
  MakeStore("/a", "/logs of a");
  Options options = WithLogs("/gone");
  const auto lost = StatusIs(absl::StatusCode::kDataLoss,
                             AllOf(HasSubstr("/gone"), HasSubstr("Options::log_directory")));
  for (const OpenMode mode : {OpenMode::kMustExist, OpenMode::kReadOnly}) {
    options.mode = mode;
    EXPECT_THAT(DB::Open("/a", options), lost);
    EXPECT_THAT(DB::Open("/nowhere", options), StatusIs(absl::StatusCode::kNotFound));
  }
  EXPECT_THAT(DB::Repair("/a", options), lost);
  EXPECT_THAT(world_.files->OpenDirectory("/gone", false), StatusIs(absl::StatusCode::kNotFound));
  // If the directory is created on purpose, the repair names the missing logs.
  ASSERT_OK(world_.files->OpenDirectory("/gone", true));
  for (const std::string& log : world_.FilesOf(FileKind::kLog, "/logs of a"))
    ASSERT_OK((*world_.files->OpenDirectory("/logs of a", false))->Remove(NameIn(log)));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair("/a", options));
  EXPECT_THAT(report.left_out, ElementsAre(HasSubstr("the log is missing")));
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open("/a", WithLogs("/gone")));
  EXPECT_EQ(*ReadAll(*db), (Contents{{"table", "/a"}}));
}

TEST_F(LogDirectoryTest, SamePathOnAnotherFileSystemDiffers) {
  MemoryFileSystem fast;
  options_.environment.log_file_system = &fast;
  EXPECT_THAT(DB::Open("/a", options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("log_file_system")));
  EXPECT_THAT(world_.files->OpenDirectory("/a", false), StatusIs(absl::StatusCode::kNotFound));
  MakeStore("/a", "/a");
  ExpectStore("/a", "/a");
  EXPECT_EQ(world_.FilesOf(FileKind::kLog, "/a").size(), 0u);
  ASSERT_OK_AND_ASSIGN(const auto logs, fast.OpenDirectory("/a", false));
  EXPECT_THAT(logs->List().value(), testing::Contains(HasSubstr(".log")));
  EXPECT_OK(DB::Destroy("/a", WithLogs("/a")));
  EXPECT_THAT(fast.OpenDirectory("/a", false), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(LogDirectoryTest, KeepsForeignLogsAside) {
  MakeStore("/a", "");
  MakeStore("/b", "");
  std::string name;
  for (const auto& [each, bytes] : FilesIn("/a")) {
    if (ParseFileName(each)->kind == FileKind::kLog) name = each;
  }
  const std::string bytes = world_.files->FileBytes(Concat("/b/", name));
  ASSERT_NE(bytes, "");
  world_.files->SetFileBytes(Concat("/a/", name), bytes);
  const auto named = HasSubstr(Concat("/a/", name, ": offset 0: this is another log"));
  EXPECT_THAT(DB::Open("/a", options_), StatusIs(absl::StatusCode::kDataLoss, named));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair("/a", options_));
  EXPECT_THAT(report.left_out, ElementsAre(named));
  EXPECT_EQ(world_.files->FileBytes(Concat("/a/", name, ".damaged")), bytes);
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open("/a", options_));
  EXPECT_EQ(*ReadAll(*db), (Contents{{"table", "/a"}}));
}

TEST_F(LogDirectoryTest, RemovesLeftoverLogsFromTheirDirectory) {
  options_.log_directory = "/logs";
  Open();
  Put("a", "1");
  Flush();
  world_.files->SetFileBytes("/logs/000001.log", "TRLSLOG\nleft over");
  Open();
  EXPECT_EQ(world_.FilesOf(FileKind::kLog, "/logs").size(), 1u);
}

TEST_F(LogDirectoryTest, KnownLogsHaveAHeader) {
  Open();
  Put("table", "1");
  Flush();
  const std::unique_ptr<MemoryFileSystem> killed = world_.files->Clone();
  const std::vector<std::string> logs = world_.FilesOf(FileKind::kLog);
  for (const std::string& bytes : {std::string(), std::string(32, '\0')}) {
    World world(2, killed->Clone());
    world.files->SetFileBytes(logs[0], bytes);
    EXPECT_THAT(
        DB::Open(kStorePath, world.SmallOptions()),
        StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(logs[0]), HasSubstr("header"))));
    ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStorePath, world.SmallOptions()));
    EXPECT_THAT(report.left_out, ElementsAre(HasSubstr(logs[0])));
    EXPECT_OK(DB::Open(kStorePath, world.SmallOptions()));
  }
}

}  // namespace
}  // namespace lsm
