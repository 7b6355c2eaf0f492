// A repair that fails for a reason other than damage loses nothing, and can be repeated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/engine/wrapped_reads.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

using Files = std::map<std::string, std::string>;

Files FilesOf(MemoryFileSystem& files) {
  Files found;
  for (const char* path : {kStorePath, "/logs"}) {
    const auto directory = files.OpenDirectory(path, /*create=*/false);
    if (!directory.ok()) continue;
    const std::vector<std::string> names = (*directory)->List().value();
    for (const std::string& name : names) {
      const std::string full = Concat(path, "/", name);
      found[full] = files.FileBytes(full);
    }
  }
  return found;
}

class RepairFaultTest : public StoreTest {
 protected:
  RepairFaultTest() {
    options_.log_directory = "/logs";
    options_.compression = Compression::kNone;
  }

  // Two levels, two tables in level 0, and a log.
  void MakeStore() {
    Open();
    for (int i = 0; i < 60; ++i) Put(Concat("k", 100 + i), std::string(50, 'a'));
    CompactAll();
    for (int i = 0; i < 60; i += 2) Put(Concat("k", 100 + i), std::string(50, 'b'));
    Flush();
    for (int i = 0; i < 60; i += 3) Put(Concat("k", 100 + i), std::string(50, 'c'));
    Delete("k101");
    Flush();
    for (int i = 0; i < 60; i += 5)
      ASSERT_OK(db_->Put(Concat("k", 100 + i), "log", {.sync = true}));
    db_ = nullptr;
  }
  void Flip(const std::string& path, size_t offset) {
    std::string bytes = world_.files->FileBytes(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x10);
    world_.files->SetFileBytes(path, bytes);
  }

  // Lets each operation of a repair fail once with each kind of error, and checks the files
  // afterwards.
  void FailEach() {
    const std::unique_ptr<MemoryFileSystem> before = world_.files->Clone();
    uint64_t operations = 0;
    {
      World world(2, before->Clone());
      const Options options = OptionsIn(world);
      world.files->ResetCounts();
      ASSERT_OK_AND_ASSIGN(report_, DB::Repair(kStorePath, options));
      operations = world.files->operation_count();
      ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(kStorePath, options));
      expected_ = *ReadAll(*db);
    }
    ASSERT_GT(operations, 50u);
    ASSERT_GT(expected_.size(), 30u);
    for (const absl::StatusCode code :
         {absl::StatusCode::kUnavailable, absl::StatusCode::kResourceExhausted}) {
      for (uint64_t at = 0; at < operations; ++at) {
        SCOPED_TRACE(Concat("operation ", at, " fails with ", static_cast<int>(code)));
        FailOne(before->Clone(), at, code);
        if (HasFailure()) return;
      }
    }
  }

 private:
  Options OptionsIn(World& world) {
    Options options = options_;
    options.environment = world.SmallOptions().environment;
    return options;
  }

  void FailOne(std::unique_ptr<MemoryFileSystem> files, uint64_t at, absl::StatusCode code) {
    World world(2, std::move(files));
    const Options options = OptionsIn(world);
    const Files before = FilesOf(*world.files);
    bool may_be_swapped = false;  // from the new manifest on
    world.files->ResetCounts();
    world.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t number) {
      if (operation == FileOperation::kCreate && path.ends_with(".manifest")) may_be_swapped = true;
      return number == at ? absl::Status(code, Concat(path, ": injected")) : absl::OkStatus();
    });
    const absl::StatusOr<RepairReport> report = DB::Repair(kStorePath, options);
    world.files->SetFault(nullptr);
    if (report.ok()) {
      EXPECT_EQ(report->left_out, report_.left_out);
      EXPECT_EQ(report->tables_kept, report_.tables_kept);
    } else {
      EXPECT_THAT(report, StatusIs(code, HasSubstr("injected")));
      const Files after = FilesOf(*world.files);
      for (const auto& [name, bytes] : before) {
        const auto found = after.find(name);
        ASSERT_TRUE(found != after.end()) << name << " is gone";
        EXPECT_EQ(found->second, bytes) << name;
      }
      // Nothing is left of it, unless its name could not be removed again.
      if (!may_be_swapped) {
        EXPECT_LE(after.size(), before.size() + 1);
      }
      EXPECT_OK(DB::Repair(kStorePath, options));
    }
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(kStorePath, options));
    EXPECT_EQ(*ReadAll(*db), expected_);
  }

  RepairReport report_;  // without a fault
  Contents expected_;    // after that
};

TEST_F(RepairFaultTest, SoundStore) {
  MakeStore();
  FailEach();
}

TEST_F(RepairFaultTest, DamagedTableAndDamagedLog) {
  MakeStore();
  Flip(world_.FilesOf(FileKind::kTable)[1], 700);
  const std::string log = world_.FilesOf(FileKind::kLog, "/logs").back();
  Flip(log, world_.files->FileBytes(log).size() / 2);
  FailEach();
}

TEST_F(RepairFaultTest, DamagedCurrent) {
  MakeStore();
  world_.files->SetFileBytes("/store/CURRENT", "nonsense");
  FailEach();
}

TEST_F(RepairFaultTest, StoreWithoutAManifest) {
  MakeStore();
  Flip(world_.FilesOf(FileKind::kManifest)[0], 40);
  Flip(world_.FilesOf(FileKind::kTable)[1], 700);
  FailEach();
}

TEST_F(RepairFaultTest, FullDisksLeaveNothingOfTheRepair) {
  MakeStore();
  Flip(world_.FilesOf(FileKind::kTable)[1], 700);
  const Files before = FilesOf(*world_.files);
  for (const uint64_t room : {0, 100, 1000, 3000}) {
    world_.files->SetFreeBytes(room);
    EXPECT_THAT(DB::Repair(kStorePath, options_), StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_EQ(FilesOf(*world_.files), before);
  }
}

// --- reads that end before the file does ---

class HalfReadFile final : public ReadFile {
 public:
  explicit HalfReadFile(std::unique_ptr<ReadFile> file) : file_(std::move(file)) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const override {
    return file_->ReadAt(offset, buffer.first(buffer.size() / 2));
  }
  absl::StatusOr<uint64_t> Size() const override { return file_->Size(); }
  const std::string& path() const override { return file_->path(); }

 private:
  const std::unique_ptr<ReadFile> file_;
};

TEST_F(RepairFaultTest, KeepsUnreadableBytes) {
  MakeStore();
  const Files before = FilesOf(*world_.files);
  for (const char* ending : {".table", ".log", ".manifest"}) {
    WrappedReads halves(world_.files.get(),
                        [ending](Directory& directory, std::string_view name,
                                 ReadMode mode) -> absl::StatusOr<std::unique_ptr<ReadFile>> {
                          TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                                                   directory.OpenRead(name, mode));
                          if (!name.ends_with(ending)) return file;
                          return std::make_unique<HalfReadFile>(std::move(file));
                        });
    Options options = options_;
    options.environment.file_system = &halves;
    EXPECT_THAT(DB::Repair(kStorePath, options),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("but the file has")))
        << ending;
    EXPECT_EQ(FilesOf(*world_.files), before) << ending;
  }
}

// --- on a real file system ---

TEST(RealRepairTest, ManyTablesNeedFewDescriptors) {
  const testing_support::ScratchDir scratch;
  const std::string path = scratch.path_of("store");
  constexpr int kTables = 60;
  Options options;
  options.level0_compaction_tables = 1;
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(path, options));
    for (int i = 0; i < kTables; ++i) {
      ASSERT_OK(db->Put(Concat("k", 1000 + i), "v"));
      ASSERT_OK(db->Flush());
      ASSERT_OK(db->WaitForBackgroundWork());
    }
    ASSERT_EQ(db->GetStatistics().total.tables, static_cast<uint64_t>(kTables));
  }
  const std::string told = testing_support::InChild([&]() -> std::string {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 40;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const absl::StatusOr<RepairReport> report = DB::Repair(path, options);
    if (!report.ok()) return report.status().ToString();
    return Concat(report->tables_kept, " kept, ", report->left_out.size(), " left out");
  });
  EXPECT_EQ(told, Concat(kTables, " kept, 0 left out"));
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(path, options));
  EXPECT_EQ(ReadAll(*db)->size(), static_cast<size_t>(kTables));
}

}  // namespace
}  // namespace lsm
