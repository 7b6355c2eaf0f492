// The choices of a repair if files contradict each other: it picks a manifest, and one of several
// values of a key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/block/format.h"
#include "lsm/log/log_writer.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

class RepairChoiceTest : public StoreTest {
 protected:
  RepairReport Repair() {
    db_ = nullptr;
    absl::StatusOr<RepairReport> report = DB::Repair(kStorePath, options_);
    EXPECT_OK(report);
    return report.ok() ? *std::move(report) : RepairReport();
  }
  std::string Bytes(const std::string& path) { return world_.files->FileBytes(path); }
  void Flip(const std::string& path, size_t offset) {
    std::string bytes = Bytes(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x10);
    world_.files->SetFileBytes(path, bytes);
  }
  void Remove(const std::string& path) {
    const auto directory = world_.files->OpenDirectory(kStorePath, false);
    ASSERT_OK((*directory)->Remove(path.substr(path.rfind('/') + 1)));
  }
  std::string OnlyFileOf(FileKind kind) {
    const std::vector<std::string> paths = world_.FilesOf(kind);
    EXPECT_EQ(paths.size(), 1u);
    return paths.front();
  }
};

// --- several values of a key ---

TEST_F(RepairChoiceTest, EntriesOfLogsLieAboveTables) {
  Open();
  for (int i = 0; i < 50; ++i) Put(Concat("k", 100 + i), "table");
  CompactAll();
  for (int i = 0; i < 50; i += 2) Put(Concat("k", 100 + i), "log");
  Delete("k101");
  EXPECT_THAT(Repair().left_out, IsEmpty());
  Open();
  const auto check = [&] {
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(Get(Concat("k", 100 + i)), i == 1 ? "absent" : i % 2 == 1 ? "table" : "log");
  };
  check();
  CompactAll();
  check();
}

TEST_F(RepairChoiceTest, LeavesObsoleteLogsAlone) {
  Open();
  Put("a", "old");
  const std::string log = world_.FilesOf(FileKind::kLog)[0];
  const std::string bytes = Bytes(log);
  Flush();
  Put("a", "new");
  CompactAll();
  db_ = nullptr;
  world_.files->SetFileBytes(log, bytes);  // its removal was not durable
  Repair();
  Open();
  EXPECT_EQ(Get("a"), "new");
}

TEST_F(RepairChoiceTest, LaterWritesLieAboveRepairedEntries) {
  // With a manifest and without one; rescued from tables and from logs.
  for (const bool with_manifest : {true, false}) {
    SCOPED_TRACE(with_manifest);
    world_.files = std::make_unique<MemoryFileSystem>();
    options_ = world_.SmallOptions();
    Open();
    for (int i = 0; i < 200; ++i) Put(Concat("k", 100 + i), Concat("table ", i));
    Flush();
    for (int i = 0; i < 200; i += 2) Put(Concat("k", 100 + i), "log");
    db_ = nullptr;
    Flip(OnlyFileOf(FileKind::kTable), 100);
    if (!with_manifest) Flip(OnlyFileOf(FileKind::kManifest), 40);
    EXPECT_FALSE(Repair().left_out.empty());
    Open();
    Contents expected = *ReadAll(*db_);
    EXPECT_GE(expected.size(), 100u);
    for (int i = 0; i < 200; i += 4) {
      Put(Concat("k", 100 + i), "new");
      expected[Concat("k", 100 + i)] = "new";
    }
    Delete("k101");
    expected.erase("k101");
    EXPECT_EQ(*ReadAll(*db_), expected);
    CompactAll();
    EXPECT_EQ(*ReadAll(*db_), expected);
    Open();
    EXPECT_EQ(*ReadAll(*db_), expected);
  }
}

TEST_F(RepairChoiceTest, SavesLogsElsewhereAndNothingElse) {
  options_.log_directory = "/logs";
  Open();
  Put("table", "1");
  Flush();
  Put("log", "2");
  db_ = nullptr;
  world_.files->SetFileBytes("/logs/notes.txt", "keep");
  world_.files->SetFileBytes("/logs/000900.table", "");
  EXPECT_THAT(Repair().left_out, IsEmpty());
  EXPECT_EQ(Bytes("/logs/notes.txt"), "keep");
  const auto logs = world_.files->OpenDirectory("/logs", false);
  EXPECT_OK((*logs)->Stat("000900.table"));
  Open();
  EXPECT_EQ(Scan(), "log=2 table=1");
  // A damaged file is kept beside its old place.
  db_ = nullptr;
  Open();
  Put("log", "3");
  db_ = nullptr;
  const std::string log = world_.FilesOf(FileKind::kLog, "/logs").back();
  Flip(log, 40);
  EXPECT_THAT(Repair().left_out, Contains(HasSubstr(log)));
  EXPECT_NE(Bytes(log + ".damaged"), "");
  EXPECT_EQ(Bytes(log), "");
  Open();
  EXPECT_EQ(Scan(), "log=2 table=1");
}

TEST_F(RepairChoiceTest, LogsLargerThanAMemtableBecomeSeveralTables) {
  options_.write_buffer_bytes = 4 << 20;
  for (const bool with_manifest : {true, false}) {
    SCOPED_TRACE(with_manifest);
    options_.write_buffer_bytes = 4 << 20;
    Open();
    for (int i = 0; i < 100; ++i)
      Put(Concat("k", 100 + i % 60), std::string(4096, static_cast<char>('a' + i % 26)));
    const Contents expected = *ReadAll(*db_);
    db_ = nullptr;
    if (!with_manifest) Flip(OnlyFileOf(FileKind::kManifest), 40);
    options_.write_buffer_bytes = 64 << 10;
    options_.level0_compaction_tables = 100;
    options_.level0_stop_tables = 100;
    const RepairReport report = Repair();
    EXPECT_EQ(report.logs_converted, 1u);
    Open();
    if (with_manifest) {
      EXPECT_GT(db_->GetStatistics().levels[0].tables, 4u);
    }
    EXPECT_EQ(*ReadAll(*db_), expected);
  }
}

TEST_F(RepairChoiceTest, NamesTablesWithMissingEntries) {
  Open();
  Put("a", "1");
  Put("b", "2");
  Flush();
  db_ = nullptr;
  // All its checksums are right, and so is its record in the manifest.
  const std::string path = OnlyFileOf(FileKind::kTable);
  std::string bytes = Bytes(path);
  const size_t at = bytes.size() - kFooterBytes;
  ASSERT_OK_AND_ASSIGN(Footer footer, Footer::Decode(bytes.substr(at), bytes.size(), path));
  ++footer.entries;
  world_.files->SetFileBytes(path, bytes.substr(0, at) + footer.Encode());
  {
    ASSERT_OK_AND_ASSIGN(const auto directory, world_.files->OpenDirectory(kStorePath, false));
    ASSERT_OK_AND_ASSIGN(ManifestContents contents, ReadManifest(*directory));
    contents.state.levels[0].begin()->second.entries = footer.entries;
    contents.state.next_file_number = 1001;
    ASSERT_OK(ManifestWriter::Create(*directory, 1000, 5, contents.state.ToSnapshot(),
                                     contents.current_bytes));
  }
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("entries 2")));
  EXPECT_THAT(
      Repair().left_out,
      ElementsAre(AllOf(HasSubstr(path), HasSubstr("the footer says 3 entries, the table has 2"))));
  Open();
  EXPECT_EQ(Scan(), "a=1 b=2");
}

// --- several manifests ---

TEST_F(RepairChoiceTest, AStaleManifestDoesNotMakeNewerTablesObsolete) {
  Open();
  Put("old", "1");
  Flush();
  db_ = nullptr;
  // The removals of both were not durable.
  const std::vector<std::string> stale = {OnlyFileOf(FileKind::kManifest),
                                          OnlyFileOf(FileKind::kLog)};
  std::vector<std::string> bytes;
  for (const std::string& path : stale) bytes.push_back(Bytes(path));
  Open();
  Put("new", "1");
  Flush();
  Put("newer", "1");
  db_ = nullptr;
  const std::string newest = OnlyFileOf(FileKind::kManifest);
  for (size_t i = 0; i < stale.size(); ++i) world_.files->SetFileBytes(stale[i], bytes[i]);
  Flip(newest, 60);
  EXPECT_THAT(Repair().left_out,
              ElementsAre(HasSubstr(newest), AllOf(HasSubstr(stale[0]), HasSubstr("does not know")),
                          HasSubstr("no manifest is reliable")));
  EXPECT_NE(Bytes(newest + ".damaged"), "");
  EXPECT_EQ(Bytes(stale[0] + ".damaged"), bytes[0]);
  Open();
  EXPECT_EQ(Scan(), "new=1 newer=1 old=1");
}

TEST_F(RepairChoiceTest, AStaleManifestThatKnowsAllTablesKeepsTheLevels) {
  Open();
  Put("a", "1");
  CompactAll();
  db_ = nullptr;
  const std::string stale = OnlyFileOf(FileKind::kManifest), log = OnlyFileOf(FileKind::kLog);
  const std::string bytes = Bytes(stale), log_bytes = Bytes(log);
  Open();
  Put("b", "2");
  db_ = nullptr;
  const std::string newest = OnlyFileOf(FileKind::kManifest);
  world_.files->SetFileBytes(stale, bytes);
  world_.files->SetFileBytes(log, log_bytes);
  Flip(newest, 60);
  EXPECT_THAT(Repair().left_out, ElementsAre(HasSubstr(newest)));
  Open();
  // Its logs are from another opening than this manifest.
  EXPECT_EQ(Scan(), "a=1 b=2");
  EXPECT_EQ(Levels(), "1 1");
}

TEST_F(RepairChoiceTest, TruncatedManifestsDoNotMakeTablesObsolete) {
  Open();
  Put("a", "1");
  Flush();
  const size_t kept = Bytes(OnlyFileOf(FileKind::kManifest)).size();
  Put("b", "1");
  Flush();
  const std::unique_ptr<MemoryFileSystem> killed = world_.files->Clone();
  db_ = nullptr;
  World world(2, killed->Clone());
  const std::string manifest = world.FilesOf(FileKind::kManifest)[0];
  world.files->SetFileBytes(manifest, world.files->FileBytes(manifest).substr(0, kept));
  const Options options = world.SmallOptions();
  EXPECT_THAT(DB::Open(kStorePath, options),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is missing")));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStorePath, options));
  EXPECT_THAT(report.left_out, Contains(AllOf(HasSubstr(manifest), HasSubstr("are missing: "))));
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(kStorePath, options));
  EXPECT_EQ(*ReadAll(*db), (Contents{{"a", "1"}, {"b", "1"}}));
}

TEST_F(RepairChoiceTest, UnlistedTablesAreObsolete) {
  Open();
  Put("a", "1");
  Flush();
  const std::string table = OnlyFileOf(FileKind::kTable);
  const std::string bytes = Bytes(table);
  Delete("a");
  CompactAll();
  db_ = nullptr;
  world_.files->SetFileBytes(table, bytes);  // its removal was not durable
  EXPECT_THAT(Repair().left_out, IsEmpty());
  Open();
  EXPECT_EQ(Scan(), "");
  EXPECT_EQ(Bytes(table), "");
}

TEST_F(RepairChoiceTest, UsesTheNewestManifestWithoutCurrent) {
  Open();
  Put("a", "1");
  CompactAll();
  Put("b", "2");
  db_ = nullptr;
  Remove("/store/CURRENT");
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Repair().left_out, ElementsAre("/store/CURRENT: the file is missing"));
  Open();
  EXPECT_EQ(Scan(), "a=1 b=2");
  EXPECT_EQ(Levels(), "1 1");
}

// --- unknown formats and fields ---

TEST_F(RepairChoiceTest, NewerVersionsEndTheRepair) {
  Open();
  Put("a", "1");
  Flush();
  Put("b", "2");
  db_ = nullptr;
  const std::unique_ptr<MemoryFileSystem> sound = world_.files->Clone();
  const auto refuses = [&](std::string_view what) {
    SCOPED_TRACE(what);
    const std::unique_ptr<MemoryFileSystem> before = world_.files->Clone();
    EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kUnimplemented));
    EXPECT_THAT(DB::Repair(kStorePath, options_), StatusIs(absl::StatusCode::kUnimplemented));
    ASSERT_OK_AND_ASSIGN(const auto directory, world_.files->OpenDirectory(kStorePath, false));
    ASSERT_OK_AND_ASSIGN(const auto former, before->OpenDirectory(kStorePath, false));
    EXPECT_EQ(directory->List().value(), former->List().value());
    world_.files = sound->Clone();
    options_.environment.file_system = world_.files.get();
  };
  {
    // A field of an edit.
    ASSERT_OK_AND_ASSIGN(const auto directory, world_.files->OpenDirectory(kStorePath, false));
    ASSERT_OK_AND_ASSIGN(const ManifestContents contents, ReadManifest(*directory));
    ASSERT_OK_AND_ASSIGN(auto file, directory->CreateExclusive(ManifestFileName(900)));
    ASSERT_OK_AND_ASSIGN(auto log, LogWriter::Create(std::move(file), LogKind::kManifest, 77));
    ASSERT_OK(log->Append(contents.state.ToSnapshot().Encode() + std::string("\x7f\x01x", 3)));
    ASSERT_OK(log->Close(true));
    ASSERT_OK(
        directory->AtomicReplace("CURRENT", Current{900, 77}.Encode(), contents.current_bytes));
  }
  refuses("an edit");
  {
    const std::string path = OnlyFileOf(FileKind::kLog);
    std::string bytes = Bytes(path);
    LogHeader header;
    ASSERT_TRUE(LoadLogHeader(bytes.substr(0, kLogHeaderBytes), &header));
    header.version = LogVersionMax(LogKind::kWriteAhead) + 1;
    StoreLogHeader(bytes.data(), header);
    world_.files->SetFileBytes(path, bytes);
  }
  refuses("a log");
}

}  // namespace
}  // namespace lsm
