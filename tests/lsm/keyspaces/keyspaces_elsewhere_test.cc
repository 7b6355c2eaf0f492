// Keyspaces on a full disk, in an object store, in files that are damaged or lack something, and in
// copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/keyspace.h"
#include "lsm/limits.h"
#include "lsm/memory_file_system.h"
#include "lsm/objects/memory_object_pool.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::StatusIs;

// A full disk refuses puts, too.  A change of options is accepted, like a delete.
TEST_F(KeyspacesTest, AFullDiskRefusesNewOnes) {
  options_.reserve_bytes = 1 << 20;
  options_.compression = Compression::kNone;
  Open();
  Keyspace a = OpenKeyspace("a");
  world_.files->SetFreeBytes(100'000);
  absl::Status status;
  for (int i = 0; status.ok(); ++i) status = a.Put(Concat("key", i), std::string(2000, 'v'));
  EXPECT_TRUE(IsDiskFull(status)) << status;
  EXPECT_THAT(db_->OpenKeyspace("b"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("reserve_bytes")));
  EXPECT_THAT(List(), ElementsAre("a", "default"));
  EXPECT_OK(db_->GetFailure());
  OpenKeyspace("a", {.target_fpp = 0.25});
  world_.files->SetFreeBytes(uint64_t{100} << 20);
  ASSERT_OK(OpenKeyspace("b").Put("key", "value"));
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(OptionsOnDisk("a").target_fpp, 0.25);
  EXPECT_EQ(Scan(OpenKeyspace("b")), "key=value");
}

// A flush writes a table for each own tree, and a table takes at least one block of the disk.
TEST_F(KeyspacesTest, TheReserveCountsATableForEach) {
  constexpr size_t kKeyspaces = 60;
  options_.reserve_bytes = 8 << 20;
  Open();
  EXPECT_LT(db_->GetStatistics().reserve_bytes, kKeyspaces * 4096);
  std::vector<std::string> names;
  for (size_t i = 0; i < kKeyspaces; ++i) names.push_back(Concat("k", i));
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees(names));
  for (const std::string& name : names) ASSERT_OK(OpenKeyspace(name).Put("key", "value"));
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.flushes, 0u);
  EXPECT_LT(statistics.memtable_bytes, kKeyspaces * 4096);
  EXPECT_GE(statistics.reserve_bytes, kKeyspaces * 4096);
  // One write may go to all keyspaces.
  Flush();
  ASSERT_NO_FATAL_FAILURE(Open());
  WriteBatch batch;
  for (const std::string& name : names) batch.Put(OpenKeyspace(name), "key", "value");
  ASSERT_OK(db_->Write(batch));
  EXPECT_GE(db_->GetStatistics().reserve_bytes, kKeyspaces * 4096);
}

// A keyspace may get its first entry when there is no space for its table but the reserve.
TEST_F(KeyspacesTest, TheReserveCountsATableForThoseWithoutEntries) {
  constexpr size_t kKeyspaces = 60;
  options_.reserve_bytes = 8 << 20;
  Open();
  std::vector<std::string> names;
  for (size_t i = 0; i < kKeyspaces; ++i) names.push_back(Concat("k", i));
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees(names));
  WriteBatch batch;
  for (const std::string& name : names) batch.Put(OpenKeyspace(name), "key", "value");
  EXPECT_GE(db_->GetStatistics().reserve_bytes, kKeyspaces * 4096);
  world_.files->SetFreeBytes(20'000);
  ASSERT_OK(db_->Write(batch));
  Flush();
  EXPECT_OK(db_->GetFailure());
  EXPECT_EQ(db_->GetStatistics().reserve_releases, 1u);
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Scan(OpenKeyspace("k0")), "key=value");
}

// An object store holds files, whatever is in them.
TEST_F(KeyspacesTest, LiveInAnObjectStore) {
  const auto objects = std::make_shared<MemoryObjects>();
  PoolClient client(objects, "a process", 1, {.log_chunk_bytes = 2048, .table_chunk_bytes = 1024});
  options_.environment.file_system = &client.files;
  for (int pass = 0; pass < 3; ++pass) {
    ASSERT_NO_FATAL_FAILURE(Open());
    Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b");
    EXPECT_EQ(Get(a, "key"), pass == 0 ? "absent" : Concat("a", pass - 1));
    EXPECT_EQ(Get(b, "key"), pass == 0 ? "absent" : Concat("b", pass - 1));
    ASSERT_OK(a.Put("key", Concat("a", pass)));
    ASSERT_OK(db_->Flush());
    ASSERT_OK(b.Put("key", Concat("b", pass)));
    ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
    EXPECT_THAT(report.problems, ElementsAre());
    ASSERT_OK(db_->Checkpoint(Concat("/copy", pass)));
  }
  db_ = nullptr;
}

// Damages each byte of the logs and manifests of a closed store.  Then the store has everything, or
// an error names the file.
TEST_F(KeyspacesTest, DamagedBytesLoseNothingSilently) {
  Open();
  Keyspace a = OpenKeyspace("a", {.filter_kind = "ribbon", .compression = Compression::kNone});
  ASSERT_OK(a.Put("key", "in a table"));
  OpenKeyspace("empty");
  Flush();
  ASSERT_NO_FATAL_FAILURE(Open());
  a = OpenKeyspace("a", {.target_fpp = 0.25});
  ASSERT_OK(a.Put("key", "in a log"));
  ASSERT_OK(OpenKeyspace("b", {.compaction_style = CompactionStyle::kTiered}).Put("key", "b"));
  Put("key", "default");
  ASSERT_OK(db_->Close());
  db_ = nullptr;
  std::vector<std::string> damaged = world_.FilesOf(FileKind::kLog);
  for (const std::string& manifest : world_.FilesOf(FileKind::kManifest))
    damaged.push_back(manifest);
  ASSERT_EQ(damaged.size(), 2u);
  options_.mode = OpenMode::kReadOnly;
  size_t refused = 0;
  for (const std::string& path : damaged) {
    const std::string bytes = world_.files->FileBytes(path);
    for (size_t i = 0; i < bytes.size(); i += testing_support::kStride) {
      for (const uint8_t mask : {0x01, 0x40, 0xff}) {
        SCOPED_TRACE(Concat(path, ": byte ", i, ", mask ", mask));
        std::string other = bytes;
        other[i] = static_cast<char>(static_cast<uint8_t>(other[i]) ^ mask);
        world_.files->SetFileBytes(path, other);
        absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
        if (!db.ok()) {
          ++refused;
          EXPECT_TRUE(absl::IsDataLoss(db.status()) || absl::IsUnimplemented(db.status()))
              << db.status();
          EXPECT_THAT(std::string(db.status().message()), HasSubstr(path));
          continue;
        }
        db_ = *std::move(db);
        EXPECT_THAT(List(), ElementsAre("a", "b", "default", "empty"));
        EXPECT_EQ(Scan(OpenKeyspace("a", {.filter_kind = "ribbon",
                                          .target_fpp = 0.25,
                                          .compression = Compression::kNone})),
                  "key=in a log");
        EXPECT_EQ(Scan(OpenKeyspace("b", {.compaction_style = CompactionStyle::kTiered})), "key=b");
        EXPECT_EQ(Scan(), "key=default");
        db_ = nullptr;
      }
    }
    world_.files->SetFileBytes(path, bytes);
  }
  EXPECT_GT(refused, 100u / testing_support::kStride);
}

// An opening could not say what has expired.
TEST_F(KeyspacesTest, ALimitWithoutTimesIsRefused) {
  for (const KeyspaceId id : {kDefaultKeyspace, kOtherKeyspaceMin}) {
    world_.files = std::make_unique<MemoryFileSystem>();
    options_ = world_.SmallOptions();
    ASSERT_NO_FATAL_FAILURE(Open());
    OpenKeyspace("a");
    WriteBatch batch;
    EncodedBatch::Change(&batch, {KeyspaceChange::Kind::kOptions, id, "", {.expire_after = 1}});
    ASSERT_OK(db_->Write(batch));
    db_ = nullptr;
    for (const OpenMode mode : {OpenMode::kMustExist, OpenMode::kReadOnly}) {
      options_.mode = mode;
      EXPECT_THAT(OpenStatus(),
                  StatusIs(absl::StatusCode::kUnimplemented,
                           HasSubstr(Concat(kStorePath, ": the keyspace \"",
                                            id == kDefaultKeyspace ? "default" : "a",
                                            "\" has KeyspaceOptions::expire_after"))));
    }
  }
}

// A copy has all keyspaces, with their keys and options.
TEST_F(KeyspacesTest, CopiesHaveThem) {
  const KeyspaceOptions options = {.target_fpp = 0.25, .compression = Compression::kNone};
  Open();
  Keyspace a = OpenKeyspace("a", options);
  ASSERT_OK(a.Put("key", "of a"));
  ASSERT_OK(OpenKeyspace("b").Put("key", "of b"));
  OpenKeyspace("empty");
  Put("key", "of default");
  ASSERT_OK(db_->Checkpoint("/checkpoint"));
  ASSERT_OK(db_->Backup("/backup"));
  ASSERT_OK(a.Put("other", "of a"));
  ASSERT_OK_AND_ASSIGN(const CopyReport second, db_->Backup("/second", "/backup"));
  EXPECT_EQ(second.tables_linked, 1u) << "a flush has replaced the common tree's small table";
  EXPECT_EQ(second.tables_copied, 1u);
  ASSERT_OK(a.Put("in a log", "of a"));
  ASSERT_OK(db_->Close());
  const Options to = world_.SmallOptions();
  ASSERT_OK(DB::Restore("/second", "/restored", to));
  ASSERT_OK(DB::Restore(kStorePath, "/moved", to));
  for (const std::string path : {"/checkpoint", "/backup", "/second", "/restored", "/moved"}) {
    SCOPED_TRACE(path);
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(path, to));
    EXPECT_THAT(List(), ElementsAre("a", "b", "default", "empty"));
    const bool is_later = path != "/checkpoint" && path != "/backup";
    EXPECT_EQ(Scan(OpenKeyspace("a")), Concat(path == "/moved" ? "in a log=of a " : "", "key=of a",
                                              is_later ? " other=of a" : ""));
    EXPECT_EQ(Scan(OpenKeyspace("b")), "key=of b");
    EXPECT_EQ(Scan(), "key=of default");
    ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
    EXPECT_THAT(report.problems, testing::IsEmpty());
    ASSERT_OK(db_->Close());
    Options reading = to;
    reading.mode = OpenMode::kReadOnly;
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(path, reading));
    EXPECT_OK(db_->OpenKeyspace("a", options));
  }
}

}  // namespace
}  // namespace lsm
