// Repairs of stores on objects whose tables lost chunks, or were never completed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/file_system.h"
#include "lsm/fs/file_names.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class ObjectRepairTest : public testing::Test {
 protected:
  static constexpr int kKeys = 60;

  ObjectRepairTest() {
    options_ = World().SmallOptions();
    options_.environment = {&client_.files, nullptr, &clock_, &scheduler_, &client_.random};
  }
  static std::string Key(int i) { return Concat("key", 100 + i); }
  static std::string Value(int i) { return Concat("value", i, std::string(40, 'v')); }

  // Half of the keys in a table, half in a log.
  void MakeStore() {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options_));
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK(db->Put(Key(i), Value(i), {.sync = true}));
      if (i == kKeys / 2) {
        ASSERT_OK(db->Flush());
      }
    }
  }
  absl::StatusOr<ObjectValues> Entries() {
    ObjectRead read;
    read.entries_after = "";
    TRELLIS_ASSIGN_OR_RETURN(const ObjectContents index,
                             client_.pool.Read(IndexName(kStorePath), read));
    return index.entries;
  }
  // Removes a chunk of the table.
  void RemoveChunk(uint64_t number) {
    ASSERT_OK_AND_ASSIGN(const ObjectValues entries, Entries());
    IndexedFile longest;
    for (const auto& [entry, value] : entries) {
      if (!entry.ends_with(".table")) continue;
      ASSERT_OK_AND_ASSIGN(const IndexedFile file, IndexedFile::Decode(value, entry));
      if (file.chunks > longest.chunks) longest = file;
    }
    ASSERT_GT(longest.chunks, number);
    ObjectWrite remove;
    remove.remove = true;
    ASSERT_OK(client_.pool.Write(ChunkName(longest.id, number), remove));
  }
  // The number of keys.  Checks their values.
  int CountKeys() {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    EXPECT_OK(db);
    int count = 0;
    for (int i = 0; db.ok() && i < kKeys; ++i) {
      const absl::StatusOr<std::optional<std::string>> value = (*db)->Get(Key(i));
      EXPECT_OK(value);
      if (!value.ok() || !value->has_value()) continue;
      EXPECT_EQ(**value, Value(i));
      ++count;
    }
    return count;
  }

  PoolClient client_{std::make_shared<MemoryObjects>(),
                     "test",
                     1,
                     {.log_chunk_bytes = 512, .table_chunk_bytes = 512}};
  testing_support::ManualClock clock_;
  testing_support::SingleThreadScheduler scheduler_;
  Options options_;
};

class LostChunkTest : public ObjectRepairTest, public testing::WithParamInterface<uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Chunks, LostChunkTest, testing::Values(0, 1, 2));

TEST_P(LostChunkTest, KeepsTheOtherChunks) {
  const uint64_t number = GetParam();
  MakeStore();
  RemoveChunk(number);
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStorePath, options_));
  EXPECT_FALSE(report.left_out.empty());
  // The other file is whole.
  const int count = CountKeys();
  EXPECT_GE(count, kKeys / 2 - 1);
  EXPECT_LT(count, kKeys);
  // The damaged file is kept, with its other chunks.
  ASSERT_OK_AND_ASSIGN(const ObjectValues entries, Entries());
  const auto kept = std::find_if(entries.begin(), entries.end(), [&](const auto& one) {
    return one.first.ends_with(".table.damaged");
  });
  ASSERT_NE(kept, entries.end());
  ASSERT_OK_AND_ASSIGN(const IndexedFile file, IndexedFile::Decode(kept->second, kept->first));
  for (uint64_t other = 0; other < file.chunks; ++other) {
    if (other != number) {
      EXPECT_OK(client_.pool.Read(ChunkName(file.id, other), {})) << other;
    }
  }
  EXPECT_EQ(CountKeys(), count);
}

// A writer died before it completed a table.  Then the manifest was lost.
TEST_F(ObjectRepairTest, KeepsTablesThatWereNotCompleted) {
  MakeStore();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       client_.files.OpenDirectory(kStorePath, /*create=*/false));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> table,
                       directory->CreateExclusive(TableFileName(99)));
  ASSERT_OK(table->Append(std::string(1000, 't')));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, directory->List());
  for (const std::string& name : names) {
    if (name == "CURRENT" || name.ends_with(".manifest")) {
      ASSERT_OK(directory->Remove(name));
    }
  }
  ASSERT_OK(DB::Repair(kStorePath, options_));
  EXPECT_EQ(CountKeys(), kKeys);
}

}  // namespace
}  // namespace lsm
