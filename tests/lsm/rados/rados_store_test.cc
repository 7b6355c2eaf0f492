// A whole store in a Ceph cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "lsm/db.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/object_file_system.h"
#include "lsm/options.h"
#include "lsm/rados.h"
#include "lsm/rados/rados_pool.h"
#include "lsm/write_batch.h"
#include "tests/lsm/rados/counting_pool.h"
#include "tests/lsm/rados/test_cluster.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::CountingFiles;
using testing_support::StatusIs;
using testing_support::TestCluster;

constexpr int kKeys = 2000;

std::string Key(int i) { return "key" + std::to_string(i); }
std::string Value(int i) { return std::string(1000, 'v') + std::to_string(i); }

class RadosStoreTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(cluster_.status()); }

  // A client of its own, as another machine would have.
  static std::unique_ptr<FileSystem> Client() {
    absl::StatusOr<std::unique_ptr<FileSystem>> files = OpenRados(TestCluster::Options());
    EXPECT_OK(files);
    return files.ok() ? *std::move(files) : nullptr;
  }
  absl::StatusOr<std::unique_ptr<DB>> Open(FileSystem* files, uint64_t wait_seconds = 0) {
    Options options;
    options.lock_wait_seconds = wait_seconds;
    options.environment.file_system = files;
    return DB::Open(name_, options);
  }

  // At least two tables, and writes that are only in the log.
  static void Fill(DB& db) {
    WriteBatch batch;
    for (int i = 0; i < kKeys; ++i) {
      batch.Put(Key(i), Value(i));
      if (i == kKeys / 2 || i == kKeys - 1) {
        ASSERT_OK(db.Write(batch));
        batch.Clear();
      }
      if (i == kKeys / 2) {
        ASSERT_OK(db.Flush());
      }
    }
  }
  // The copy opens, passes Verify, and holds the keys.
  static void ExpectWhole(const std::string& path, FileSystem* files) {
    Options options;
    options.environment.file_system = files;
    options.mode = OpenMode::kMustExist;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(path, options));
    ASSERT_OK_AND_ASSIGN(const VerifyReport report, db->Verify());
    EXPECT_THAT(report.problems, testing::IsEmpty());
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get(Key(i)));
      ASSERT_EQ(value, Value(i)) << path;
    }
  }

  const std::string name_ = TestCluster::UniqueName();
  TestCluster cluster_;
};

TEST_F(RadosStoreTest, KeepsWritesForTheNextClient) {
  const std::unique_ptr<FileSystem> first = Client(), second = Client();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, Open(first.get()));
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK(db->Put(Key(i), Value(i)));
      if (i == kKeys / 2) {
        ASSERT_OK(db->Flush());
      }
    }
    EXPECT_THAT(Open(second.get()), StatusIs(absl::StatusCode::kFailedPrecondition));
    ASSERT_OK(db->Close());
  }
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, Open(second.get()));
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get(Key(i)));
    EXPECT_EQ(value, Value(i)) << i;
  }
  ASSERT_OK_AND_ASSIGN(const std::optional<std::string> absent, db->Get("none"));
  EXPECT_EQ(absent, std::nullopt);
}

// The lock of a process that does not renew it expires.
TEST_F(RadosStoreTest, AnotherClientRecoversIt) {
  std::unique_ptr<FileSystem> second = Client();
  ASSERT_TRUE(second != nullptr);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RadosPool> pool,
                       RadosPool::Connect(TestCluster::Options()));
  ObjectFileSystem first(pool.get(), &SystemRandom(),
                         {.lock_nanos = 500'000'000, .has_threads = false});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> old, Open(&first));
  for (int i = 0; i < 100; ++i) ASSERT_OK(old->Put(Key(i), Value(i)));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, Open(second.get(), 20));
  const absl::Status late = old->Put("late", "value");
  EXPECT_TRUE(absl::IsUnknown(late) && IsTakenOver(late)) << late;
  EXPECT_THAT(late.ToString(), HasSubstr("taken over by host "));
  EXPECT_TRUE(IsTakenOver(old->Get(Key(0)).status()));
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get(Key(i)));
    EXPECT_EQ(value, Value(i)) << i;
  }
  ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get("late"));
  EXPECT_EQ(value, std::nullopt);
}

TEST_F(RadosStoreTest, CopiesGoToADiskAndBack) {
  const std::unique_ptr<FileSystem> pool = Client(), other = Client();
  ASSERT_TRUE(pool != nullptr && other != nullptr);
  const testing_support::ScratchDir disk;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, Open(pool.get()));
  Fill(*db);
  ASSERT_OK(db->Checkpoint(disk.path_of("checkpoint"), &PosixFileSystem()));
  ExpectWhole(disk.path_of("checkpoint"), &PosixFileSystem());
  ASSERT_OK_AND_ASSIGN(const CopyReport backup,
                       db->Backup(disk.path_of("backup"), "", {}, &PosixFileSystem()));
  EXPECT_EQ(backup.tables_linked, 0u);
  ExpectWhole(disk.path_of("backup"), &PosixFileSystem());

  Options options;
  options.environment.file_system = other.get();
  ASSERT_OK(
      DB::Restore(disk.path_of("backup"), name_ + "-restored", options, {}, &PosixFileSystem())
          .status());
  ExpectWhole(name_ + "-restored", other.get());
  ASSERT_OK(DB::Destroy(name_ + "-restored", options));
}

TEST_F(RadosStoreTest, StoresOnADiskAreCopiedToThePool) {
  const std::unique_ptr<FileSystem> pool = Client();
  ASSERT_TRUE(pool != nullptr);
  const testing_support::ScratchDir disk;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(disk.path_of("store")));
  Fill(*db);
  ASSERT_OK(db->Checkpoint(name_ + "-checkpoint", pool.get()));
  ExpectWhole(name_ + "-checkpoint", pool.get());
  ASSERT_OK_AND_ASSIGN(const CopyReport backup, db->Backup(name_ + "-backup", "", {}, pool.get()));
  EXPECT_EQ(backup.tables_linked, 0u);
  EXPECT_GE(backup.tables_copied, 2u);
  ExpectWhole(name_ + "-backup", pool.get());
  Options options;
  options.environment.file_system = pool.get();
  ASSERT_OK(DB::Destroy(name_ + "-checkpoint", options));
  ASSERT_OK(DB::Destroy(name_ + "-backup", options));
}

// Two clients, as two machines have.  The copy's client reads no byte of a table: a table that is
// copied is also read back.
TEST_F(RadosStoreTest, CheckpointsInThePoolShareTables) {
  const std::unique_ptr<FileSystem> pool = Client();
  ASSERT_TRUE(pool != nullptr);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CountingFiles> other,
                       CountingFiles::Open(TestCluster::Options()));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, Open(pool.get()));
  Fill(*db);
  ASSERT_OK(db->Checkpoint(name_ + "-shared", other->files()));
  EXPECT_EQ(other->pool().calls().bytes_read, 0u);
  ASSERT_OK_AND_ASSIGN(const CopyReport backup,
                       db->Backup(name_ + "-backup", "", {}, other->files()));
  EXPECT_EQ(backup.tables_linked, 0u);
  EXPECT_GT(other->pool().calls().bytes_read, backup.bytes_copied / 2);
  // The shared tables outlive the store's names.
  ASSERT_OK(db->CompactRange());
  ExpectWhole(name_ + "-shared", other->files());
  Options options;
  options.environment.file_system = other->files();
  ASSERT_OK(DB::Destroy(name_ + "-shared", options));
  ASSERT_OK(DB::Destroy(name_ + "-backup", options));
}

TEST_F(RadosStoreTest, BackupsOfASeriesInThePoolShareTables) {
  const std::unique_ptr<FileSystem> other = Client();
  ASSERT_TRUE(other != nullptr);
  const testing_support::ScratchDir disk;
  Options there;
  there.environment.file_system = other.get();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(disk.path_of("store")));
  Fill(*db);
  ASSERT_OK_AND_ASSIGN(const CopyReport monday, db->Backup(name_ + "-monday", "", {}, other.get()));
  EXPECT_EQ(monday.tables_linked, 0u);
  ASSERT_OK(db->Put("later", "value"));
  ASSERT_OK_AND_ASSIGN(const CopyReport tuesday,
                       db->Backup(name_ + "-tuesday", name_ + "-monday", {}, other.get()));
  EXPECT_EQ(tuesday.tables_linked, monday.tables_copied);
  EXPECT_EQ(tuesday.tables_copied, 1u);
  ASSERT_OK(DB::Destroy(name_ + "-monday", there));
  ExpectWhole(name_ + "-tuesday", other.get());
  ASSERT_OK(
      DB::Restore(name_ + "-tuesday", disk.path_of("restored"), {}, {}, other.get()).status());
  ExpectWhole(disk.path_of("restored"), &PosixFileSystem());
  ASSERT_OK(DB::Destroy(name_ + "-tuesday", there));
}

// An operator puts the writer's client on the blocklist.
TEST_F(RadosStoreTest, AnEvictedWriterEnds) {
  RadosOptions options = TestCluster::Options();
  options.lock_millis = 2000;
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileSystem> first, OpenRados(options));
  const std::unique_ptr<FileSystem> second = Client();
  ASSERT_TRUE(second != nullptr);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DB> old, Open(first.get()));
  for (int i = 0; i < 100; ++i) ASSERT_OK(old->Put(Key(i), Value(i)));
  ASSERT_OK(cluster_.EvictHolder("index:" + name_ + "/"));
  int acknowledged = 100;
  absl::Status status;
  while (acknowledged < kKeys && (status = old->Put(Key(acknowledged), Value(acknowledged))).ok())
    ++acknowledged;
  const auto evicted = HasSubstr("the cluster evicted this client");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnknown, evicted));
  EXPECT_FALSE(IsTakenOver(status));
  EXPECT_THAT(old->Put("late", "value"), StatusIs(absl::StatusCode::kAborted, evicted));
  const auto refused = StatusIs(absl::StatusCode::kPermissionDenied, evicted);
  EXPECT_THAT(old->Resume(), refused);

  // The lock expires, so a standby takes over, and the evicted writer answers no more.
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DB> db, Open(second.get(), 20));
  EXPECT_THAT(old->Get(Key(0)), refused);
  EXPECT_THAT(old->Resume(), refused);
  EXPECT_THAT(old->Close(), refused);
  for (int i = 0; i < acknowledged; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get(Key(i)));
    EXPECT_EQ(value, Value(i)) << i;
  }
  EXPECT_OK(db->Put("key", "value"));

  // A new client of the same process is not evicted.
  db = nullptr;
  old = nullptr;
  ASSERT_OK_AND_ASSIGN(first, OpenRados(options));
  ASSERT_OK_AND_ASSIGN(old, Open(first.get()));
  EXPECT_OK(old->Put("key", "value"));
}

// The operator takes the eviction back before another process has taken the store over.
TEST_F(RadosStoreTest, AReadmittedWriterResumes) {
  RadosOptions options = TestCluster::Options();
  options.lock_millis = 500;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileSystem> files, OpenRados(options));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, Open(files.get()));
  int acknowledged = 0;
  const auto put = [&] { return db->Put(Key(acknowledged), Value(acknowledged)); };
  for (; acknowledged < 100; ++acknowledged) ASSERT_OK(put());
  ASSERT_OK(cluster_.EvictHolder("index:" + name_ + "/"));
  while (db->Get(Key(0)).ok()) std::this_thread::yield();
  for (; put().ok(); ++acknowledged) {
  }
  ASSERT_OK(cluster_.EndEvictions());
  while (!db->Get(Key(0)).ok()) std::this_thread::yield();
  EXPECT_OK(db->Resume());
  EXPECT_OK(db->Put("key", "value"));
  for (int i = 0; i < acknowledged; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, db->Get(Key(i)));
    EXPECT_EQ(value, Value(i)) << i;
  }
}

// A store that is in use keeps its lock for longer than the lock lasts.
TEST_F(RadosStoreTest, LocksAreRenewed) {
  RadosOptions options = TestCluster::Options();
  options.lock_millis = 500;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileSystem> first, OpenRados(options));
  const std::unique_ptr<FileSystem> second = Client();
  ASSERT_TRUE(second != nullptr);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, Open(first.get()));
  EXPECT_THAT(Open(second.get(), 3), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_OK(db->Put("key", "value"));
}

}  // namespace
}  // namespace lsm
