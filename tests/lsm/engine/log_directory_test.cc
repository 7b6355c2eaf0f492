// Logs in a directory of their own: whose they are, and what else there is never touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

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
  // With a table and a log that holds a write; all stores of the same shape.
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
    std::map<std::string, std::string> files;
    const auto directory = world_.files->OpenDirectory(path, /*create=*/false);
    if (!directory.ok()) return files;
    const std::vector<std::string> names = (*directory)->List().value();
    for (const std::string& name : names)
      files[name] = world_.files->FileBytes(Concat(path, "/", name));
    return files;
  }
  void Copy(const std::string& from, const std::string& to) {
    ASSERT_OK(world_.files->OpenDirectory(to, /*create=*/true));
    for (const auto& [name, bytes] : FilesIn(from))
      world_.files->SetFileBytes(Concat(to, "/", name), bytes);
  }
};

TEST_F(LogDirectoryTest, ThatOfAnotherStoreIsRefusedAndLeftAsItIs) {
  MakeStore("/a", "");
  MakeStore("/b", "");
  const auto a = FilesIn("/a"), b = FilesIn("/b");
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("/b/"), HasSubstr("Options::log_directory")));
  Options wrong = WithLogs("/b");
  EXPECT_THAT(DB::Open("/a", wrong), refused);
  EXPECT_THAT(DB::Open("/new", wrong), refused);
  EXPECT_THAT(DB::Repair("/a", wrong), refused);
  EXPECT_THAT(DB::Destroy("/a", wrong), refused);
  wrong.mode = OpenMode::kReadOnly;
  EXPECT_THAT(DB::Open("/a", wrong), refused);
  EXPECT_EQ(FilesIn("/a"), a);
  EXPECT_EQ(FilesIn("/b"), b);
  EXPECT_THAT(world_.files->OpenDirectory("/new", false), StatusIs(absl::StatusCode::kNotFound));
  ExpectStore("/a", "");
  ExpectStore("/b", "");
}

TEST_F(LogDirectoryTest, EachFileOfAStoreTellsThatThereIsOne) {
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
  // What only has such a name is nobody's store, and stays.
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

TEST_F(LogDirectoryTest, TheLogsOfAnotherStoreAreKnownAndLeftAsTheyAre) {
  // Also where the other one began as a copy, so that numbers and sequences are the same.
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
  wrong.mode = OpenMode::kOpenOrCreate;
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(log));
  EXPECT_THAT(DB::Repair("/a", wrong), refused);
  EXPECT_THAT(DB::Destroy("/a", wrong), refused);
  EXPECT_EQ(FilesIn("/a"), a);
  EXPECT_EQ(FilesIn("/logs of b"), b);
  ExpectStore("/a", "/logs of a");
  ExpectStore("/b", "/logs of b");
}

TEST_F(LogDirectoryTest, AnotherStoresLogAmongTheStoresOwnFilesIsNamedAndKeptAside) {
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

TEST_F(LogDirectoryTest, LeftOverLogsAreRemovedWhereTheLogsAre) {
  options_.log_directory = "/logs";
  Open();
  Put("a", "1");
  Flush();
  world_.files->SetFileBytes("/logs/000001.log", "TRLSLOG\nleft over");
  Open();
  EXPECT_EQ(world_.FilesOf(FileKind::kLog, "/logs").size(), 1u);
}

TEST_F(LogDirectoryTest, ALogThatTheManifestKnowsHasAHeader) {
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
