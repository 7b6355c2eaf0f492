// Three processes on one pool in memory, and a directory that the first one has opened.
#ifndef TRELLIS_TESTS_LSM_OBJECTS_OBJECT_FIXTURE_H_
#define TRELLIS_TESTS_LSM_OBJECTS_OBJECT_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/fs/directory_fixture.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/status_matchers.h"

namespace lsm {

class ObjectFixture : public DirectoryFixture {
 protected:
  static constexpr char kStore[] = "/store";
  static constexpr char kLog[] = "000001.log";
  static constexpr char kTable[] = "000002.table";

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(directory_, a_.files.OpenDirectory(kStore, /*create=*/true));
  }
  bool needs_sync() const override { return true; }
  static std::unique_ptr<Directory> OpenAs(PoolClient& client, const std::string& path = kStore) {
    absl::StatusOr<std::unique_ptr<Directory>> directory =
        client.files.OpenDirectory(path, /*create=*/false);
    EXPECT_OK(directory);
    return directory.ok() ? *std::move(directory) : nullptr;
  }
  // Locks the directory after the earlier lock has expired.
  std::unique_ptr<FileLock> TakeOver(Directory& directory) {
    ExpireLocks(objects_.get());
    absl::StatusOr<std::unique_ptr<FileLock>> lock = directory.Lock("LOCK", LockKind::kExclusive);
    EXPECT_OK(lock);
    return lock.ok() ? *std::move(lock) : nullptr;
  }
  // Chunks, whose names begin with an id.
  size_t CountChunks() const {
    size_t count = 0;
    for (const std::string& name : objects_->Names()) count += name.starts_with("index:") ? 0 : 1;
    return count;
  }
  absl::StatusOr<std::string> Entry(const std::string& name) {
    ObjectRead read;
    read.entries = {"f:" + name};
    TRELLIS_ASSIGN_OR_RETURN(const ObjectContents contents,
                             checker_.pool.Read(IndexName(kStore), read));
    return contents.entries.at("f:" + name);
  }
  absl::StatusOr<IndexedFile> FileOf(const std::string& name) {
    TRELLIS_ASSIGN_OR_RETURN(const std::string entry, Entry(name));
    return IndexedFile::Decode(entry, name);
  }
  void RemoveChunk(const std::string& name, uint64_t number) {
    ASSERT_OK_AND_ASSIGN(const IndexedFile file, FileOf(name));
    ObjectWrite remove;
    remove.remove = true;
    ASSERT_OK(checker_.pool.Write(ChunkName(file.id, number), remove));
  }

  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  PoolClient a_{objects_, "writer A", 1}, b_{objects_, "writer B", 2}, c_{objects_, "writer C", 3};
  PoolClient checker_{objects_, "the test", 4};
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_OBJECTS_OBJECT_FIXTURE_H_
