// Readers beside a writer of a store in a Ceph cluster, each a client of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/object_file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/options.h"
#include "lsm/rados.h"
#include "lsm/rados/rados_pool.h"
#include "tests/lsm/follow/counted_writes.h"
#include "tests/lsm/rados/test_cluster.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing_support::StatusIs;
using testing_support::TestCluster;

constexpr uint64_t kLockMillis = 500;

// Repeats `holds` until it is true, for much longer than it should take.
bool Becomes(const std::function<bool()>& holds) {
  const auto end = steady_clock::now() + seconds(60);
  while (!holds()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

// A pool whose calls hang at times, as those of a client that is stopped or cut off.
class HangingPool final : public ObjectPool {
 public:
  explicit HangingPool(ObjectPool* pool) : pool_(*pool) {}

  void Hang() {
    const std::lock_guard lock(mutex_);
    is_hanging_ = true;
  }
  void GoOn() {
    const std::lock_guard lock(mutex_);
    is_hanging_ = false;
    changed_.notify_all();
  }

  absl::Status Write(const std::string& object, const ObjectWrite& write) override {
    Wait();
    return pool_.Write(object, write);
  }
  absl::StatusOr<ObjectContents> Read(const std::string& object, const ObjectRead& read) override {
    Wait();
    return pool_.Read(object, read);
  }
  void ReadMany(std::span<ObjectReadRequest> requests) override {
    Wait();
    pool_.ReadMany(requests);
  }
  // A follower locks nothing.
  absl::Status Lock(const std::string& object, const std::string&, uint64_t) override {
    return absl::UnimplementedError(object);
  }
  absl::Status Renew(const std::string& object, const std::string&, uint64_t) override {
    return absl::UnimplementedError(object);
  }
  absl::Status Unlock(const std::string& object, const std::string&) override {
    return absl::UnimplementedError(object);
  }

 private:
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_hanging_; });
  }

  ObjectPool& pool_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_hanging_ = false;
};

class RadosFollowerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(cluster_.status());
    ASSERT_OK_AND_ASSIGN(pool_, RadosPool::Connect(TestCluster::Options()));
    writer_files_ = Client();
    follower_files_ = Client();
    ASSERT_TRUE(writer_files_ != nullptr && follower_files_ != nullptr);
  }
  void TearDown() override {
    // Before their file systems.
    follower_ = nullptr;
    writer_ = nullptr;
  }

  static std::unique_ptr<FileSystem> Client() {
    RadosOptions options = TestCluster::Options();
    options.lock_millis = kLockMillis;
    absl::StatusOr<std::unique_ptr<FileSystem>> files = OpenRados(options);
    EXPECT_OK(files);
    return files.ok() ? *std::move(files) : nullptr;
  }
  absl::StatusOr<std::unique_ptr<DB>> Open(FileSystem* files, OpenMode mode) {
    Options options;
    options.mode = mode;
    options.write_buffer_bytes = 1 << 20;
    options.table_bytes = 1 << 20;
    options.compression = Compression::kNone;  // so that there are several tables
    options.block_cache_bytes = 0;             // each lookup reads the table
    if (mode == kWrites) options.lock_wait_seconds = 30;
    options.environment.file_system = files;
    return DB::Open(name_, options);
  }
  void OpenWriter() { ASSERT_OK_AND_ASSIGN(writer_, Open(writer_files_.get(), kWrites)); }
  void OpenFollower() {
    ASSERT_OK_AND_ASSIGN(follower_, Open(follower_files_.get(), OpenMode::kFollow));
  }
  // Leaves tables, and no writes in logs.
  void Load() {
    WriteBatch batch;
    for (int i = 0; i < kKeys; ++i) batch.Put(Key(i), Value(i));
    Compact(batch);
  }
  // No key is left, so the writer removes the names of all tables.
  void RemoveAll() {
    WriteBatch batch;
    for (int i = 0; i < kKeys; ++i) batch.Delete(Key(i));
    Compact(batch);
  }
  void Compact(const WriteBatch& batch) {
    ASSERT_OK(writer_->Write(batch));
    ASSERT_OK(writer_->CompactRange());
    ASSERT_OK(writer_->WaitForBackgroundWork());
  }

  // The ids of tables that have a name.
  std::set<std::string> Tables() {
    std::set<std::string> ids;
    ObjectRead read;
    read.entries_after = std::string(kFilePrefix);
    const absl::StatusOr<ObjectContents> contents = pool_->Read("index:" + name_ + "/", read);
    EXPECT_OK(contents);
    if (!contents.ok()) return ids;
    EXPECT_FALSE(contents->has_more_entries);
    for (const auto& [entry, value] : contents->entries) {
      if (!entry.starts_with(kFilePrefix)) continue;
      const absl::StatusOr<IndexedFile> file = IndexedFile::Decode(value, name_);
      EXPECT_OK(file);
      if (file.ok() && file->kind == IndexedKind::kTable) ids.insert(file->id);
    }
    return ids;
  }
  size_t CountPins() {
    ObjectRead read;
    read.entries_after = kPinPrefix;
    const absl::StatusOr<ObjectContents> contents = pool_->Read("index:" + name_ + "/", read);
    EXPECT_OK(contents);
    return contents.ok() ? contents->entries.size() : 0;
  }
  // The objects of these tables that exist.
  size_t CountObjects(const std::set<std::string>& ids) {
    size_t count = 0;
    EXPECT_OK(pool_->List([&](const std::string& object) {
      count += ids.contains(object.substr(0, object.rfind('.'))) ? 1 : 0;
    }));
    return count;
  }
  static void ExpectAllKeys(Iterator& iterator) {
    int i = 0;
    for (; iterator.Valid(); iterator.Next(), ++i) {
      ASSERT_EQ(iterator.key(), Key(i));
      ASSERT_EQ(iterator.value(), Value(i));
    }
    ASSERT_OK(iterator.status());
    EXPECT_EQ(i, kKeys);
  }

  static constexpr int kKeys = 2000;
  static std::string Key(int i) { return Concat("key", 10'000 + i); }
  static std::string Value(int i) { return Concat(std::string(1000, 'v'), i); }

  static constexpr OpenMode kWrites = OpenMode::kOpenOrCreate;
  const std::string name_ = TestCluster::UniqueName();
  TestCluster cluster_;
  std::unique_ptr<RadosPool> pool_;
  std::unique_ptr<FileSystem> writer_files_, follower_files_;
  std::unique_ptr<DB> writer_, follower_;
};

TEST_F(RadosFollowerTest, EachViewIsAPrefixAndViewsGoForward) {
  OpenWriter();
  OpenFollower();
  std::atomic<uint64_t> begun = 0, acknowledged = 0;
  std::atomic<bool> is_over = false;
  std::thread writing([&] {
    for (uint64_t number = 1; !is_over; ++number) {
      begun = number;
      EXPECT_OK(writer_->Write(CountedWrite(number)));
      acknowledged = number;
      if (number % 100 == 0) {
        EXPECT_OK(writer_->Flush());
      }
    }
  });
  uint64_t last = 0;
  EXPECT_TRUE(Becomes([&] {
    const absl::StatusOr<uint64_t> count = CountOf(follower_->NewIterator().get());
    EXPECT_OK(count);
    EXPECT_GE(count.value_or(0), last);
    last = count.value_or(0);
    EXPECT_LE(last, begun);
    return last > 500 || HasFailure();
  }));
  // Resume sees what was acknowledged before.
  for (int i = 0; i < 20; ++i) {
    const uint64_t before = acknowledged;
    EXPECT_OK(follower_->Resume());
    EXPECT_GE(CountOf(follower_->NewIterator().get()).value_or(0), before);
  }
  is_over = true;
  writing.join();
}

// `tools/dev cluster demo` checks the age of the view.
TEST_F(RadosFollowerTest, TheViewAdvancesWithoutAnyCall) {
  OpenWriter();
  ASSERT_OK(writer_->Put("a", "1"));
  OpenFollower();
  ASSERT_OK(writer_->Put("a", "2"));
  EXPECT_TRUE(Becomes([&] { return *follower_->Get("a") == "2"; }));
  EXPECT_OK(follower_->GetFailure());
}

TEST_F(RadosFollowerTest, IteratorsAndSnapshotsKeepTheirTables) {
  OpenWriter();
  Load();
  OpenFollower();
  const std::set<std::string> tables = Tables();
  const size_t objects = CountObjects(tables);
  EXPECT_GE(objects, 2u);
  std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
  std::unique_ptr<Iterator> iterator = follower_->NewIterator();
  iterator->SeekToFirst();
  RemoveAll();
  for (const std::string& id : Tables()) EXPECT_FALSE(tables.contains(id));
  ASSERT_OK(follower_->Resume());
  EXPECT_EQ(*follower_->Get(Key(0)), std::nullopt);

  // The pin is renewed, so it outlasts its duration.
  std::this_thread::sleep_for(milliseconds(4 * kLockMillis));
  EXPECT_EQ(CountObjects(tables), objects);
  ExpectAllKeys(*iterator);
  iterator = follower_->NewIterator({.snapshot = snapshot.get()});
  iterator->SeekToFirst();
  ExpectAllKeys(*iterator);

  iterator = nullptr;
  snapshot = nullptr;
  EXPECT_TRUE(Becomes([&] { return CountObjects(tables) == 0; }));
}

TEST_F(RadosFollowerTest, ClosingLetsTheWriterRemoveTables) {
  OpenWriter();
  Load();
  OpenFollower();
  const std::set<std::string> tables = Tables();
  std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
  RemoveAll();
  EXPECT_GT(CountObjects(tables), 0u);
  EXPECT_EQ(CountPins(), 1u);
  snapshot = nullptr;
  ASSERT_OK(follower_->Close());
  EXPECT_EQ(CountPins(), 0u);
  EXPECT_TRUE(Becomes([&] { return CountObjects(tables) == 0; }));
}

TEST_F(RadosFollowerTest, APinOfAFollowerThatHangsLapses) {
  HangingPool hanging(pool_.get());
  {
    ObjectFileSystem files(&hanging, &SystemRandom(), {.lock_nanos = kLockMillis * 1'000'000});
    OpenWriter();
    Load();
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> follower, Open(&files, OpenMode::kFollow));
    const std::set<std::string> tables = Tables();
    const std::unique_ptr<const Snapshot> snapshot = follower->GetSnapshot();
    EXPECT_EQ(*follower->Get(Key(0), {.snapshot = snapshot.get()}), Value(0));
    hanging.Hang();
    RemoveAll();
    EXPECT_TRUE(Becomes([&] { return CountObjects(tables) == 0; }));
    hanging.GoOn();
    EXPECT_THAT(follower->Get(Key(0), {.snapshot = snapshot.get()}),
                StatusIs(absl::StatusCode::kUnavailable));
    const std::unique_ptr<Iterator> iterator = follower->NewIterator({.snapshot = snapshot.get()});
    iterator->SeekToFirst();
    EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kUnavailable));

    EXPECT_OK(follower->Resume());
    EXPECT_EQ(*follower->Get(Key(0)), std::nullopt);
    EXPECT_OK(writer_->Put(Key(0), "again"));
    EXPECT_TRUE(Becomes([&] { return *follower->Get(Key(0)) == "again"; }));
    EXPECT_OK(follower->GetFailure());
  }
}

TEST_F(RadosFollowerTest, GoesOnAfterATakeOver) {
  // Without threads, nothing renews the lock.
  ObjectFileSystem first(pool_.get(), &SystemRandom(),
                         {.lock_nanos = kLockMillis * 1'000'000, .has_threads = false});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> old, Open(&first, kWrites));
  uint64_t number = 0;
  while (number < 200) ASSERT_OK(old->Write(CountedWrite(++number)));
  ASSERT_OK(old->Flush());
  ASSERT_OK(old->Write(CountedWrite(++number)));
  OpenFollower();
  const std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
  std::atomic<bool> is_over = false;
  uint64_t last = 0;
  std::thread reading([&] {
    while (!is_over) {
      const absl::StatusOr<uint64_t> count = CountOf(follower_->NewIterator().get());
      EXPECT_OK(count);
      EXPECT_GE(count.value_or(0), last);
      last = count.value_or(0);
    }
  });
  OpenWriter();
  EXPECT_TRUE(IsTakenOver(old->Write(CountedWrite(number + 1))));
  for (int i = 0; i < 200; ++i) EXPECT_OK(writer_->Write(CountedWrite(++number)));
  EXPECT_OK(writer_->CompactRange());
  EXPECT_OK(writer_->WaitForBackgroundWork());
  EXPECT_TRUE(Becomes([&] {
    return CountOf(follower_->NewIterator().get()).value_or(0) == number || HasFailure();
  }));
  is_over = true;
  reading.join();
  EXPECT_EQ(CountOf(follower_->NewIterator({.snapshot = snapshot.get()}).get()).value_or(0), 201u);
  EXPECT_OK(follower_->GetFailure());
}

TEST_F(RadosFollowerTest, AFollowerNeedsToReadAndToWriteIndexes) {
  OpenWriter();
  ASSERT_OK(writer_->Put("a", "1"));
  const testing_support::ScratchDir scratch;
  const std::string pool = std::string(" pool=") + testing_support::kTestPool;
  const auto follow = [&](const std::string& rights) -> absl::StatusOr<std::string> {
    TRELLIS_ASSIGN_OR_RETURN(const RadosOptions options,
                             cluster_.AddUser(rights, scratch.path() + "/ceph.conf"));
    TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<FileSystem> files, OpenRados(options));
    TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, Open(files.get(), OpenMode::kFollow));
    TRELLIS_ASSIGN_OR_RETURN(const std::optional<std::string> value, db->Get("a"));
    return value.value_or("none");
  };
  const std::string reads = "allow r" + pool;
  ASSERT_OK_AND_ASSIGN(const std::string value,
                       follow(reads + ", allow rw" + pool + " object_prefix 'index:'"));
  EXPECT_EQ(value, "1");
  EXPECT_EQ(CountPins(), 0u);
  EXPECT_THAT(follow(reads), StatusIs(absl::StatusCode::kPermissionDenied,
                                      testing::HasSubstr("the user lacks a right")));
}

// It has no pin.
TEST_F(RadosFollowerTest, AReaderWithoutAPinFindsNoDamage) {
  OpenWriter();
  Load();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> reader,
                       Open(follower_files_.get(), OpenMode::kReadOnly));
  const std::set<std::string> tables = Tables();
  EXPECT_EQ(*reader->Get(Key(0)), Value(0));
  RemoveAll();
  EXPECT_TRUE(Becomes([&] { return CountObjects(tables) == 0; }));
  EXPECT_THAT(reader->Get(Key(0)), StatusIs(absl::StatusCode::kUnavailable));
  const std::unique_ptr<Iterator> iterator = reader->NewIterator();
  iterator->SeekToFirst();
  EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kUnavailable));
}

// Tables and logs that the manifest names may be removed before the opening reads them.
TEST_F(RadosFollowerTest, OpeningBesideAWriterFindsNoDamage) {
  OpenWriter();
  std::atomic<bool> is_over = false;
  std::thread writing([&] {
    for (uint64_t number = 1; !is_over; ++number) {
      EXPECT_OK(writer_->Write(CountedWrite(number)));
      if (number % 10 == 0) {
        EXPECT_OK(writer_->CompactRange());
      }
    }
  });
  int complete = 0;
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    const absl::StatusOr<std::unique_ptr<DB>> reader =
        Open(follower_files_.get(), OpenMode::kReadOnly);
    const absl::StatusOr<uint64_t> count =
        reader.ok() ? CountOf((*reader)->NewIterator().get()) : reader.status();
    EXPECT_TRUE(count.ok() || absl::IsUnavailable(count.status())) << count.status();
    complete += count.ok() ? 1 : 0;
  }
  is_over = true;
  writing.join();
  EXPECT_GT(complete, 0);
}

}  // namespace
}  // namespace lsm
