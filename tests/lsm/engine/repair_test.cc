#include "lsm/engine/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/fs/memory_file_system.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
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

  void Flip(const std::string& path, size_t offset) {
    std::string bytes = files_.FileBytes(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x10);
    files_.SetFileBytes(path, bytes);
  }

  // Numbers of the keys that are there, each with its own value.
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

TEST_F(RepairTest, ASoundStoreKeepsEverything) {
  MakeStore();
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, IsEmpty());
  EXPECT_EQ(report.tables_kept, 2);
  EXPECT_EQ(report.logs_converted, 1);
  EXPECT_EQ(report.entries_saved, 250);
  EXPECT_EQ(Present().size(), 250);
}

TEST_F(RepairTest, ADirectoryWithoutAStoreIsNotFound) {
  ASSERT_OK(files_.OpenDirectory(kStore, true));
  EXPECT_THAT(DB::Repair(kStore, options_), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(RepairTest, AnOpenStoreIsRefused) {
  MakeStore();
  const std::unique_ptr<DB> db = Open();
  EXPECT_THAT(DB::Repair(kStore, options_), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(RepairTest, OnlyTheDamagedBlockOfATableIsLeftOut) {
  MakeStore();
  const std::string table = FilesOf(FileKind::kTable)[0];
  Flip(table, 700);  // in its second block
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, Contains(HasSubstr(table)));
  EXPECT_EQ(report.tables_rewritten, 1);
  const std::vector<int> present = Present();
  EXPECT_GE(present.size(), 240u);
  EXPECT_LT(present.size(), 250u);
  EXPECT_FALSE(files_.FileBytes(table + ".damaged").empty());
}

TEST_F(RepairTest, ATableWithoutItsFooterIsLeftOutWhole) {
  MakeStore();
  const std::string table = FilesOf(FileKind::kTable)[0];
  files_.SetFileBytes(table, files_.FileBytes(table).substr(0, 2000));
  EXPECT_THAT(DB::Open(kStore, options_), Not(IsOk()));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, Contains(HasSubstr(table)));
  EXPECT_EQ(Present().size(), 150u);
}

TEST_F(RepairTest, ADamagedRecordOfALogIsLeftOutAlone) {
  MakeStore();
  const std::string log = FilesOf(FileKind::kLog).back();
  Flip(log, files_.FileBytes(log).size() / 2);
  EXPECT_THAT(DB::Open(kStore, options_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(log)));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_THAT(report.left_out, Contains(HasSubstr(log)));
  EXPECT_EQ(Present().size(), 249u);
}

TEST_F(RepairTest, ALostCurrentIsMadeAgainFromTheManifest) {
  MakeStore();
  files_.SetFileBytes(Concat(kStore, "/CURRENT"), "nonsense");
  EXPECT_THAT(DB::Open(kStore, options_), Not(IsOk()));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStore, options_));
  EXPECT_EQ(report.tables_kept, 2);
  EXPECT_EQ(Present().size(), 250u);
}

TEST_F(RepairTest, WithoutAManifestTheSequenceNumbersDecide) {
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
  EXPECT_THAT(report.left_out, Contains(HasSubstr("no manifest can be read")));
  EXPECT_EQ(Present().size(), 250u);
}

TEST_F(RepairTest, ARescuedTableOfLevel0KeepsItsPlaceInTime) {
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

TEST_F(RepairTest, ARepairCutShortAnywhereCanBeMadeAgain) {
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
