// Copies of stores, between file systems and beside a writer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/environment.h"
#include "lsm/memory_file_system.h"
#include "lsm/object_file_system.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;

constexpr int kCopiedKeys = 60;

class CopiesTest : public testing::Test {
 protected:
  Options OptionsOn(FileSystem* files) {
    Options options = World().SmallOptions();
    options.environment = {files, nullptr, &clock_, &scheduler_, &client_.random};
    return options;
  }
  std::unique_ptr<DB> Open(const std::string& path, const Options& options) {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(path, options);
    EXPECT_OK(db);
    return db.ok() ? *std::move(db) : nullptr;
  }
  // Three tables and some writes that are only in the log.
  std::unique_ptr<DB> Make(const std::string& path, const Options& options) {
    std::unique_ptr<DB> db = Open(path, options);
    if (db == nullptr) return nullptr;
    for (int i = 0; i < kCopiedKeys; ++i) {
      EXPECT_OK(db->Put(Concat("key", 100 + i), std::string(300, static_cast<char>('a' + i % 26))));
      if (i % 20 == 15) {
        EXPECT_OK(db->Flush());
      }
    }
    return db;
  }
  void ExpectWhole(const std::string& path, FileSystem* files) {
    const std::unique_ptr<DB> db = Open(path, OptionsOn(files));
    ASSERT_NE(db, nullptr);
    for (int i = 0; i < kCopiedKeys; ++i) {
      EXPECT_EQ(db->Get(Concat("key", 100 + i)).value(),
                std::string(300, static_cast<char>('a' + i % 26)));
    }
    EXPECT_THAT(db->Verify()->problems, testing::IsEmpty());
  }
  size_t CountChunks() const {
    size_t count = 0;
    for (const std::string& name : objects_->Names()) count += name.starts_with("index:") ? 0 : 1;
    return count;
  }

  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  const PoolClientOptions client_options_ = {.log_chunk_bytes = 2048, .table_chunk_bytes = 1024};
  PoolClient client_{objects_, "a process", 2, client_options_};
  // A pool of its own.
  PoolClient elsewhere_{std::make_shared<MemoryObjects>(), "a process", 3, client_options_};
  testing_support::ScratchDir disk_{testing_support::FastFolder()};
  FileSystem* const posix_ = &PosixFileSystem();
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler scheduler_;
};

TEST_F(CopiesTest, CheckpointsGoToAnotherFileSystem) {
  for (const bool from_pool : {true, false}) {
    SCOPED_TRACE(from_pool);
    FileSystem* const from = from_pool ? &client_.files : posix_;
    FileSystem* const to = from_pool ? posix_ : &client_.files;
    const std::string path = from_pool ? "/store" : disk_.path() + "/store";
    const std::string copy = from_pool ? disk_.path() + "/copy" : "/copy";
    const std::unique_ptr<DB> db = Make(path, OptionsOn(from));
    ASSERT_NE(db, nullptr);
    ASSERT_OK(db->Checkpoint(copy, to));
    EXPECT_THAT(db->Checkpoint(copy, to), StatusIs(absl::StatusCode::kAlreadyExists));
    // The writer goes on.
    ASSERT_OK(db->Put("later", "value"));
    ExpectWhole(copy, to);
  }
}

TEST_F(CopiesTest, BackupsOfASeriesShareTables) {
  for (const bool from_pool : {true, false}) {
    SCOPED_TRACE(from_pool);
    FileSystem* const from = from_pool ? &client_.files : posix_;
    FileSystem* const to = from_pool ? posix_ : &client_.files;
    const std::string path = from_pool ? "/store" : disk_.path() + "/store";
    const std::string copies = from_pool ? disk_.path() + "/" : "/";
    const std::unique_ptr<DB> db = Make(path, OptionsOn(from));
    ASSERT_NE(db, nullptr);
    ASSERT_OK_AND_ASSIGN(const CopyReport first, db->Backup(copies + "monday", "", {}, to));
    EXPECT_EQ(first.tables_linked, 0u);
    EXPECT_EQ(first.tables_copied, 4u);
    ASSERT_OK(db->Put("later", "value"));
    ASSERT_OK_AND_ASSIGN(const CopyReport second,
                         db->Backup(copies + "tuesday", copies + "monday", {}, to));
    EXPECT_EQ(second.tables_linked, 4u);
    EXPECT_EQ(second.tables_copied, 1u);
    ASSERT_OK(DB::Destroy(copies + "monday", OptionsOn(to)));
    ExpectWhole(copies + "tuesday", to);
    EXPECT_THAT(db->Backup(copies + "wednesday", copies + "sunday", {}, to).status(),
                StatusIs(absl::StatusCode::kNotFound));
    // Back again.
    ASSERT_OK(
        DB::Restore(copies + "tuesday", path + "-restored", OptionsOn(from), {}, to).status());
    ExpectWhole(path + "-restored", from);
  }
}

TEST_F(CopiesTest, CheckpointsInAPoolShareTables) {
  std::unique_ptr<DB> db = Make("/store", OptionsOn(&client_.files));
  ASSERT_NE(db, nullptr);
  ASSERT_OK(db->Flush());
  const size_t before = CountChunks();
  ASSERT_OK(db->Checkpoint("/copy", &client_.files));
  // A log and a manifest.
  EXPECT_LE(CountChunks(), before + 3);
  ASSERT_OK(db->CompactRange());
  db = nullptr;
  ASSERT_OK(DB::Destroy("/store", OptionsOn(&client_.files)));
  ExpectWhole("/copy", &client_.files);
  ASSERT_OK(DB::Destroy("/copy", OptionsOn(&client_.files)));
  EXPECT_THAT(objects_->Names(), testing::IsEmpty());
}

// The copy's file system is another client of the pool.
TEST_F(CopiesTest, CheckpointsBetweenClientsOfAPoolShareTables) {
  PoolClient other(objects_, "another process", 4, client_options_);
  std::unique_ptr<DB> db = Make("/store", OptionsOn(&client_.files));
  ASSERT_NE(db, nullptr);
  ASSERT_OK(db->Flush());
  const size_t before = CountChunks();
  int reads_of_chunks = 0, new_chunks = 0;
  const auto count = [&](ObjectCall call, const std::string& object, uint64_t) {
    if (object.starts_with("index:")) return MemoryObjectPool::Fate::kApplied;
    if (call == ObjectCall::kRead) ++reads_of_chunks;
    if (call == ObjectCall::kWrite) ++new_chunks;
    return MemoryObjectPool::Fate::kApplied;
  };
  other.pool.SetHooks({count, nullptr});
  ASSERT_OK(db->Checkpoint("/copy", &other.files));
  other.pool.SetHooks({});
  EXPECT_LE(CountChunks(), before + 3);  // a log and a manifest
  EXPECT_LE(new_chunks, 8);              // writes of these
  EXPECT_EQ(reads_of_chunks, 0);
  ASSERT_OK(db->CompactRange());
  db = nullptr;
  ASSERT_OK(DB::Destroy("/store", OptionsOn(&client_.files)));
  ExpectWhole("/copy", &other.files);
  ASSERT_OK(DB::Destroy("/copy", OptionsOn(&other.files)));
  EXPECT_THAT(objects_->Names(), testing::IsEmpty());
}

// A backup has bytes of its own, also in the pool of the store: it must survive damage there.  So
// only the backups of a series share tables.
TEST_F(CopiesTest, BackupsInThePoolOfTheStoreHaveTheirOwnTables) {
  PoolClient other(objects_, "another process", 4, client_options_);
  std::unique_ptr<DB> db = Make("/store", OptionsOn(&client_.files));
  ASSERT_NE(db, nullptr);
  ASSERT_OK_AND_ASSIGN(const CopyReport first, db->Backup("/monday", "", {}, &other.files));
  EXPECT_EQ(first.tables_linked, 0u);
  EXPECT_EQ(first.tables_copied, 4u);
  ASSERT_OK_AND_ASSIGN(const CopyReport second,
                       db->Backup("/tuesday", "/monday", {}, &other.files));
  EXPECT_EQ(second.tables_linked, 4u);
  EXPECT_EQ(second.tables_copied, 0u);
}

TEST_F(CopiesTest, CopiesGoToAnotherPool) {
  std::unique_ptr<DB> db = Make("/store", OptionsOn(&client_.files));
  ASSERT_NE(db, nullptr);
  // The path is the same, and the directory another one.
  ASSERT_OK(db->Checkpoint("/store", &elsewhere_.files));
  EXPECT_THAT(db->Checkpoint("/store"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(db->Checkpoint("/store/below", &client_.files),
              StatusIs(absl::StatusCode::kInvalidArgument));
  db = nullptr;
  ASSERT_OK(DB::Destroy("/store", OptionsOn(&client_.files)));
  ExpectWhole("/store", &elsewhere_.files);
}

// An instance with other rights is the same file system.
TEST_F(CopiesTest, CopiesInsideTheStoreAreRefused) {
  const std::unique_ptr<DB> db = Make(disk_.path() + "/store", OptionsOn(posix_));
  ASSERT_NE(db, nullptr);
  EXPECT_THAT(db->Checkpoint(disk_.path() + "/store/copy", &PosixFileSystem(FileAccess::kAll)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// A store with an index for its tables and one for its logs; the copy has one.
TEST_F(CopiesTest, StoresWithTwoIndexesAreCopied) {
  Options options = OptionsOn(&client_.files);
  options.log_directory = "/logs";
  const std::unique_ptr<DB> db = Make("/store", options);
  ASSERT_NE(db, nullptr);
  ASSERT_OK(db->Checkpoint("/copy"));
  ASSERT_OK(db->Checkpoint(disk_.path() + "/copy", posix_));
  EXPECT_THAT(db->Checkpoint("/logs/copy"), StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK(db->Put("later", "value", {.sync = true}));
  ExpectWhole("/copy", &client_.files);
  ExpectWhole(disk_.path() + "/copy", posix_);
  Options restored = OptionsOn(&client_.files);
  restored.log_directory = "/more-logs";
  ASSERT_OK(DB::Restore(disk_.path() + "/copy", "/restored", restored, {}, posix_).status());
  const std::unique_ptr<DB> there = Open("/restored", restored);
  ASSERT_NE(there, nullptr);
  EXPECT_TRUE(there->Get("key100").value().has_value());
}

// At each of its calls the store is taken over and compacted.  There is a whole copy, or none; and
// no damage.
TEST_F(CopiesTest, SupersededStoresAreCopiedWholeOrNotAtAll) {
  for (const bool in_pool : {true, false}) {
    bool was_reached = true;
    int whole = 0, refused = 0;
    for (uint64_t call = 0; was_reached; call += 3) {
      SCOPED_TRACE(Concat(in_pool, " at call ", call));
      was_reached = false;
      const auto objects = std::make_shared<MemoryObjects>();
      PoolClient a(objects, "a", 1, client_options_), b(objects, "b", 2, client_options_);
      Options of_b = OptionsOn(&b.files);
      const std::unique_ptr<DB> db = Make("/store", OptionsOn(&a.files));
      ASSERT_NE(db, nullptr);
      MemoryFileSystem memory;
      FileSystem* const to = in_pool ? static_cast<FileSystem*>(&a.files) : &memory;
      PauseAt(&a.pool, a.pool.call_count() + call, /*after=*/false, [&] {
        was_reached = true;
        ExpireLocks(objects.get());
        const std::unique_ptr<DB> other = Open("/store", of_b);
        ASSERT_NE(other, nullptr);
        ASSERT_OK(other->CompactRange());
      });
      const absl::Status copied = db->Checkpoint("/copy", to);
      a.pool.SetHooks({});
      EXPECT_TRUE(copied.ok() || IsTakenOver(copied)) << copied;
      ++(copied.ok() ? whole : refused);
      if (copied.ok()) ExpectWhole("/copy", to);
    }
    EXPECT_GT(whole, 0);
    EXPECT_GT(refused, 0);
  }
}

}  // namespace
}  // namespace lsm
