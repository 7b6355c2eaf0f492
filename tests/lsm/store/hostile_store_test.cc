// Malicious stores whose small files demand a lot of memory or work.  The cost is bounded by the
// size of the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/lsm/table/table_forgery.h"
#include "tests/lsm/version/missing_files.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::InChild;
using testing_support::ScratchDir;
using testing_support::StatusIs;

// --- many names ---

class MissingFilesTest : public StoreTest {
 protected:
  uint64_t CallsOfRepair(uint64_t tables, uint64_t logs, RepairReport* report) {
    const std::string path = Concat("/store of ", tables, " and ", logs);
    const auto directory = world_.files->OpenDirectory(path, /*create=*/true).value();
    MakeStoreOfMissingFiles(*directory, tables, logs);
    world_.files->ResetCounts();
    absl::StatusOr<RepairReport> repaired = DB::Repair(path, options_);
    EXPECT_OK(repaired);
    if (repaired.ok()) *report = *std::move(repaired);
    const uint64_t calls = world_.files->operation_count();
    EXPECT_OK(DB::Open(path, options_));
    return calls;
  }
};

// In quadratic time this would take hours.
TEST_F(MissingFilesTest, RepairsAreLinearWithBoundedReports) {
  for (const bool of_logs : {false, true}) {
    RepairReport of_few, of_many;
    constexpr uint64_t kFew = 1000, kMany = 300'000 / testing_support::kStride;
    const uint64_t few_calls = CallsOfRepair(of_logs ? 0 : kFew, of_logs ? kFew : 0, &of_few);
    const uint64_t many_calls = CallsOfRepair(of_logs ? 0 : kMany, of_logs ? kMany : 0, &of_many);
    EXPECT_LE(many_calls, few_calls * (kMany / kFew));
    // A store of tables alone has an oldest log, which is missing too.
    const uint64_t oldest_log = of_logs ? 0 : 1;
    EXPECT_EQ(of_few.left_out.size(), kFew + oldest_log);
    EXPECT_EQ(of_few.left_out_unnamed, 0u);
    EXPECT_EQ(of_many.left_out.size(), RepairReport::kLeftOutLinesMax);
    EXPECT_EQ(of_many.left_out.size() + of_many.left_out_unnamed, kMany + oldest_log);
  }
}

TEST_F(MissingFilesTest, OpeningNamesTheFirst) {
  const auto directory = world_.files->OpenDirectory("/store", /*create=*/true).value();
  MakeStoreOfMissingFiles(*directory, 0, 20'000);
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/store/000002.log")));
}

// --- memory ---

#ifndef TRELLIS_SANITIZED  // they reserve more than any limit
// Allows this much memory more than the process has now.
void LimitMemoryTo(size_t more_bytes) {
  std::ifstream status("/proc/self/status");
  uint64_t kib = 0;
  for (std::string word; status >> word;) {
    if (word == "VmData:") status >> kib;
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = (kib << 10) + more_bytes;
  ::setrlimit(RLIMIT_DATA, &limit);
}

TEST(HostileStoreTest, OutOfMemoryNamesTheBlock) {
  const ScratchDir scratch;
  const std::string path = scratch.path_of("store");
  for (const Compression compression : {Compression::kNone, Compression::kLz4}) {
    ASSERT_EQ(InChild([&] {
                const std::unique_ptr<DB> db = DB::Open(path, {.compression = compression}).value();
                absl::Status status = db->Put("large", std::string(size_t{60} << 20, 'x'));
                status.Update(db->CompactRange());
                return status.ToString();
              }),
              "OK");
    const auto refusal = testing::ContainsRegex(
        "^RESOURCE_EXHAUSTED: .*/store/[0-9]+\\.table: offset [0-9]+: out of memory$");
    const auto with_little_memory = [&](const std::function<absl::Status(DB&)>& call) {
      return InChild([&] {
        const std::unique_ptr<DB> db = DB::Open(path, {.mode = OpenMode::kReadOnly}).value();
        LimitMemoryTo(size_t{12} << 20);
        // Runs in a new thread, whose heap has no large free pieces: those would not count against
        // the limit.
        std::string outcome;
        std::thread([&] { outcome = call(*db).ToString(); }).join();
        return outcome;
      });
    };
    EXPECT_THAT(with_little_memory([](DB& db) { return db.Get("large").status(); }), refusal);
    EXPECT_THAT(with_little_memory([](DB& db) {
                  const std::vector<std::string_view> keys = {"large", "large"};
                  return db.MultiGet(keys)[0].status();
                }),
                refusal);
    EXPECT_THAT(with_little_memory([](DB& db) {
                  const std::unique_ptr<Iterator> iterator = db.NewIterator();
                  iterator->SeekToFirst();
                  return iterator->status();
                }),
                refusal);
    EXPECT_THAT(with_little_memory([](DB& db) {
                  const absl::StatusOr<VerifyReport> report = db.Verify();
                  if (!report.ok()) return report.status();
                  return absl::InternalError(
                      Concat("entries ", report->entries, ", problems ", report->problems.size(),
                             report->problems.empty() ? "" : report->problems[0]));
                }),
                refusal);
  }
}

TEST(HostileStoreTest, OutOfMemoryNamesTheFile) {
  const ScratchDir scratch;
  const std::string path = scratch.path_of("store");
  const std::string table = WithLongFences(2048).Make();  // whose index takes 128 MiB
  {
    ASSERT_OK_AND_ASSIGN(const auto directory, PosixFileSystem().OpenDirectory(path, true));
    ASSERT_OK_AND_ASSIGN(const auto file, directory->CreateExclusive(TableFileName(2)));
    ASSERT_OK(file->Append(table));
    ASSERT_OK(file->Close());
    VersionEdit edit;
    edit.is_snapshot = true;
    edit.digest_seed = 1;
    edit.last_sequence = 10;
    edit.next_file_number = 4;
    edit.oldest_log = 3;
    edit.added.push_back({0,
                          {.number = 2,
                           .file_id = kFileId,
                           .file_bytes = table.size(),
                           .entries = 1,
                           .smallest = Key("a"),
                           .largest = Key("a"),
                           .dead = {},
                           .ranges = {}}});
    ASSERT_OK_AND_ASSIGN(const auto manifest, ManifestWriter::Create(*directory, 1, /*file_id=*/7,
                                                                     edit, std::nullopt, nullptr));
    ASSERT_OK(manifest->Close());
  }
  EXPECT_THAT(InChild([&] {
                LimitMemoryTo(size_t{64} << 20);
                return DB::Open(path).status().ToString();
              }),
              HasSubstr(Concat("RESOURCE_EXHAUSTED: ", path, "/000002.table: out of memory")));
}
#endif

// --- files that claim to be huge ---

// Bytes that this process has read from files.
uint64_t BytesReadSoFar() {
  std::ifstream counts("/proc/self/io");
  uint64_t bytes = 0;
  for (std::string word; counts >> word;) {
    if (word == "rchar:") counts >> bytes;
  }
  EXPECT_GT(bytes, 0u);
  return bytes;
}

class SparseFilesTest : public testing::Test {
 protected:
  static constexpr uint64_t kSize = uint64_t{1} << 40;

  // A store whose process was killed, with a table and a synced log.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(scratch_.path_of("original")));
    ASSERT_OK(db->Put("in the table", "1"));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Put("in the log", "2", {.sync = true}));
    std::filesystem::copy(scratch_.path_of("original"), path_);
    std::filesystem::remove(path_ + "/LOCK");
  }

  std::string FileOf(std::string_view end) const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().native().ends_with(end)) return entry.path();
    }
    return "";
  }
  void MakeHuge(const std::string& file) {
    ASSERT_EQ(::truncate(file.c_str(), kSize), 0) << "has the file system no sparse files?";
  }

  void ExpectAll() {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(path_));
    EXPECT_EQ(db->Get("in the table")->value_or("absent"), "1");
    EXPECT_EQ(db->Get("in the log")->value_or("absent"), "2");
    ASSERT_OK_AND_ASSIGN(const VerifyReport report, db->Verify());
    EXPECT_THAT(report.problems, IsEmpty());
  }

  // Many times the bytes that the files really store.
  static constexpr uint64_t kReadBytesMax = uint64_t{32} << 20;

  const ScratchDir scratch_;
  const std::string path_ = scratch_.path_of("store");
};

TEST_F(SparseFilesTest, RecoversVerifiesAndRepairsHugeLogs) {
  MakeHuge(FileOf(".log"));
  const uint64_t before = BytesReadSoFar();
  {
    Options options;
    options.mode = OpenMode::kReadOnly;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(path_, options));
    EXPECT_EQ(db->Get("in the log")->value_or("absent"), "2");
    ASSERT_OK(db->Verify());
  }
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(path_));
  EXPECT_THAT(report.left_out, IsEmpty());
  ExpectAll();
  EXPECT_LE(BytesReadSoFar() - before, kReadBytesMax);
}

TEST_F(SparseFilesTest, RepairsHugeFilesWithoutACopy) {
  for (const std::string end : {"/CURRENT", ".manifest", ".table"}) {
    SCOPED_TRACE(end);
    const std::string file = FileOf(end);
    MakeHuge(file);
    const uint64_t before = BytesReadSoFar();
    const absl::Status opened = DB::Open(path_).status();
    EXPECT_TRUE(opened.ok() || absl::IsDataLoss(opened)) << opened;
    if (!opened.ok()) {
      ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(path_));
      EXPECT_THAT(report.left_out, testing::Not(IsEmpty()));
      EXPECT_EQ(std::filesystem::file_size(file + ".damaged"), kSize);
    }
    ASSERT_OK(DB::Open(path_));
    EXPECT_LE(BytesReadSoFar() - before, kReadBytesMax);
    std::filesystem::remove(file + ".damaged");
    if (end != ".table") ExpectAll();
  }
}

}  // namespace
}  // namespace lsm
