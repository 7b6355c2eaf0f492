// Tests ObjectFileSystem beyond the contract of all file systems
// (file_system_contract_test.cc): chunks and directories.
#include "lsm/object_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/object_fixture.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

class ObjectFileSystemTest : public ObjectFixture {};

TEST_F(ObjectFileSystemTest, FilesSpanChunks) {
  for (const char* name : {kLog, kTable}) {
    for (const size_t size : {0, 1, 7, 8, 9, 10, 11, 16, 20, 21, 99}) {
      std::string bytes;
      for (size_t i = 0; i < size; ++i) bytes += static_cast<char>('a' + i % 26);
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file,
                           directory_->CreateExclusive(name));
      for (size_t at = 0; at < size; at += 3)
        ASSERT_OK(file->Append(std::string_view(bytes).substr(at, 3)));
      ASSERT_OK(file->Sync());
      EXPECT_EQ(Read(name), bytes) << name;
      ASSERT_OK(file->Append("!"));
      ASSERT_OK(file->Sync());
      ASSERT_OK(file->Close());
      EXPECT_EQ(Read(name), bytes + "!");
      EXPECT_EQ(directory_->Stat(name)->size_bytes, size + 1);
      ASSERT_OK(directory_->Remove(name));
      EXPECT_EQ(CountChunks(), 0u) << name << " of " << size;
    }
  }
}

TEST_F(ObjectFileSystemTest, TablesAreEmptyBeforeSync) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive(kTable));
  ASSERT_OK(file->Append("more than one chunk"));
  EXPECT_EQ(Read(kTable), "");
  ASSERT_OK(file->Sync());
  EXPECT_EQ(Read(kTable), "more than one chunk");
}

TEST_F(ObjectFileSystemTest, MissingChunksAreDamage) {
  for (const char* name : {kLog, kTable}) {
    Write(name, std::string(35, 'x'));
    ASSERT_OK_AND_ASSIGN(const std::string entry, Entry(name));
    ASSERT_OK_AND_ASSIGN(const IndexedFile file, IndexedFile::Decode(entry, name));
    ObjectWrite remove;
    remove.remove = true;
    ASSERT_OK(a_.pool.Write(ChunkName(file.id, 1), remove));
    EXPECT_THAT(ReadWholeFile(*directory_, name, 100),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(std::string("/store/") + name)));
    ASSERT_OK(directory_->Remove(name));
    EXPECT_EQ(CountChunks(), 0u);
  }
}

TEST_F(ObjectFileSystemTest, DamagedEntriesCanBeRemoved) {
  ObjectWrite damage;
  damage.set_entries["f:000009.log"] = "l damaged";
  ASSERT_OK(a_.pool.Write(IndexName(kStore), damage));
  EXPECT_THAT(directory_->OpenRead("000009.log", ReadMode::kBuffered),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("000009.log")));
  ASSERT_OK(directory_->Lock("LOCK", LockKind::kExclusive));
  ASSERT_OK(directory_->Remove("000009.log"));
  EXPECT_THAT(*directory_->List(), testing::ElementsAre("LOCK"));
}

TEST_F(ObjectFileSystemTest, ShortChunksAreDamage) {
  Write(kTable, "the bytes of a table");
  ASSERT_OK_AND_ASSIGN(const std::string entry, Entry(kTable));
  ASSERT_OK_AND_ASSIGN(const IndexedFile table, IndexedFile::Decode(entry, kTable));
  ObjectWrite remove, shorter;
  remove.remove = true;
  shorter.offset = 0;
  shorter.bytes = "short";
  ASSERT_OK(a_.pool.Write(ChunkName(table.id, 1), remove));
  ASSERT_OK(a_.pool.Write(ChunkName(table.id, 1), shorter));
  EXPECT_THAT(ReadWholeFile(*directory_, kTable, 100),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/store/000002.table")));
}

TEST_F(ObjectFileSystemTest, RefusesPathsWithoutAName) {
  for (const char* path : {"", ".", "./", "/", "//", "a/../b", ".."}) {
    EXPECT_THAT(a_.files.OpenDirectory(path, /*create=*/true),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << path;
    EXPECT_THAT(a_.files.RemoveDirectory(path), StatusIs(absl::StatusCode::kInvalidArgument))
        << path;
  }
  EXPECT_OK(a_.files.OpenDirectory("a", /*create=*/true));
  EXPECT_OK(a_.files.OpenDirectory("./x//y/", /*create=*/true));
}

// The process stops at each of its calls.  Then another one removes the directories.
TEST_F(ObjectFileSystemTest, InterruptedDirectoriesCanBeRemoved) {
  for (const bool removes : {false, true}) {
    for (uint64_t stop = 0; stop < 12; ++stop) {
      const auto objects = std::make_shared<MemoryObjects>();
      PoolClient a(objects, "A", 1), b(objects, "B", 2);
      if (removes) {
        ASSERT_OK(a.files.OpenDirectory("/x/y", /*create=*/true));
      }
      const uint64_t from = a.pool.call_count();
      a.pool.SetHooks({[&](ObjectCall, const std::string&, uint64_t number) {
                         return number - from < stop ? MemoryObjectPool::Fate::kApplied
                                                     : MemoryObjectPool::Fate::kRefused;
                       },
                       nullptr});
      (removes ? a.files.RemoveDirectory("/x/y")
               : a.files.OpenDirectory("/x/y", /*create=*/true).status())
          .IgnoreError();
      ASSERT_OK(b.files.OpenDirectory("/x", /*create=*/true));
      b.files.RemoveDirectory("/x/y").IgnoreError();
      EXPECT_OK(b.files.RemoveDirectory("/x")) << removes << ", stopped before call " << stop;
      EXPECT_THAT(objects->Names(), testing::IsEmpty());
    }
  }
}

TEST_F(ObjectFileSystemTest, LongDirectoriesAreListedWhole) {
  std::vector<std::string> names;
  for (int i = 0; i < 2500; ++i) {
    names.push_back("small" + std::to_string(i));
    ASSERT_OK(directory_->AtomicReplace(names.back(), "x", std::nullopt));
  }
  EXPECT_THAT(*directory_->List(), testing::UnorderedElementsAreArray(names));
}

TEST_F(ObjectFileSystemTest, FilesHaveLimitedChunks) {
  PoolClient client(objects_, "D", 5, {.log_chunk_bytes = 1, .table_chunk_bytes = 1});
  directory_ = OpenAs(client);
  for (const char* name : {kLog, kTable}) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive(name));
    ASSERT_OK(file->Append(std::string(kChunksMax - 1, 'x')));
    ASSERT_OK(file->Append("y"));
    ASSERT_OK(file->Sync());
    EXPECT_EQ(directory_->Stat(name)->size_bytes, kChunksMax) << name;
    EXPECT_THAT(file->Append("z"), StatusIs(absl::StatusCode::kResourceExhausted,
                                            HasSubstr(std::string("/store/") + name)));
    EXPECT_EQ(directory_->Stat(name)->size_bytes, kChunksMax) << name;
    ASSERT_OK(directory_->Remove(name));
  }
}

// Larger appends are several writes, because an object store limits a write.
TEST_F(ObjectFileSystemTest, LargeAppendsAreSeveralWrites) {
  PoolClient client(objects_, "D", 5,
                    {.log_chunk_bytes = uint64_t{64} << 20, .table_chunk_bytes = 8});
  directory_ = OpenAs(client);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> log, directory_->CreateExclusive(kLog));
  std::string bytes(size_t{40} << 20, 'x');
  bytes.front() = 'f';
  bytes.back() = 'l';
  const uint64_t before = client.pool.call_count();
  ASSERT_OK(log->Append(bytes));
  EXPECT_EQ(client.pool.call_count() - before, 2u);
  ASSERT_OK_AND_ASSIGN(const std::string found, ReadWholeFile(*directory_, kLog, bytes.size()));
  EXPECT_TRUE(found == bytes);
}

TEST_F(ObjectFileSystemTest, OnlyTheLastChunkOfALogMayBeShort) {
  for (const bool is_long : {false, true}) {
    Write(kLog, std::string(25, 'x'));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> reader,
                         directory_->OpenRead(kLog, ReadMode::kBuffered));
    ASSERT_OK_AND_ASSIGN(const IndexedFile file, FileOf(kLog));
    if (!is_long) RemoveChunk(kLog, 1);
    ObjectWrite write;
    write.offset = is_long ? 10 : 0;
    write.bytes = "short";
    ASSERT_OK(checker_.pool.Write(ChunkName(file.id, 1), write));
    std::string bytes(25, '?');
    const auto damaged = StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/store/000001.log"));
    EXPECT_THAT(reader->ReadAt(0, bytes), damaged);
    EXPECT_THAT(reader->Size(), damaged);
    EXPECT_THAT(directory_->Stat(kLog), damaged);
    ASSERT_OK(directory_->Remove(kLog));
  }
}

// A pool that returns more bytes than it was asked for.
class GenerousPool final : public ForwardingPool {
 public:
  using ForwardingPool::ForwardingPool;
  absl::StatusOr<ObjectContents> Read(const std::string& object, const ObjectRead& read) override {
    ObjectRead more = read;
    more.bytes_max += 100;
    return ForwardingPool::Read(object, more);
  }
};

TEST_F(ObjectFileSystemTest, ReadsFillNoMoreThanTheirBuffer) {
  GenerousPool pool(&a_.pool);
  ObjectFileSystem files(&pool, &a_.random, {});
  ASSERT_OK_AND_ASSIGN(directory_, files.OpenDirectory(kStore, /*create=*/false));
  Write(kLog, "0123456789");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> log,
                       directory_->OpenRead(kLog, ReadMode::kBuffered));
  std::string bytes = "______";
  EXPECT_EQ(log->ReadAt(2, std::span(bytes).first(3)).value(), 3u);
  EXPECT_EQ(bytes, "234___");
}

TEST_F(ObjectFileSystemTest, ChecksItsConfiguration) {
  const auto check = [&](const ObjectFileSystem::Config& config, const std::string& name) {
    ObjectFileSystem files(&a_.pool, &a_.random, config);
    const auto invalid = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name));
    EXPECT_THAT(files.OpenDirectory("/x", /*create=*/true), invalid);
    EXPECT_THAT(files.RemoveDirectory(kStore), invalid);
  };
  check({.lock_nanos = 0}, "Config::lock_nanos");
  check({.log_chunk_bytes = 0}, "Config::log_chunk_bytes");
  check({.log_chunk_bytes = (uint64_t{64} << 20) + 1}, "Config::log_chunk_bytes");
  check({.table_chunk_bytes = 0}, "Config::table_chunk_bytes");
  check({.table_chunk_bytes = (uint64_t{64} << 20) + 1}, "Config::table_chunk_bytes");
  ObjectFileSystem largest(&a_.pool, &a_.random,
                           {.log_chunk_bytes = uint64_t{64} << 20, .table_chunk_bytes = 1});
  EXPECT_OK(largest.OpenDirectory("/x", /*create=*/true));
}

// The engine frees space, and goes on, if an error says that the disk is full.
TEST_F(ObjectFileSystemTest, FullPoolsAreFullDisks) {
  Write(kTable, "the bytes of a table");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> log, directory_->CreateExclusive(kLog));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> table,
                       directory_->CreateExclusive("000003.table"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> small,
                       directory_->CreateExclusive("000004.table"));
  const auto fill = [&](const std::function<bool(const std::string& object)>& is_refused) {
    a_.pool.SetHooks({[=](ObjectCall call, const std::string& object, uint64_t) {
                        return call == ObjectCall::kWrite && is_refused(object)
                                   ? MemoryObjectPool::Fate::kFull
                                   : MemoryObjectPool::Fate::kApplied;
                      },
                      nullptr});
  };
  const auto expect_full = [](const absl::Status& status) {
    EXPECT_TRUE(IsDiskFull(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the pool is full"));
  };
  fill([](const std::string& object) { return !object.starts_with("index:"); });
  expect_full(log->Append("bytes"));
  expect_full(table->Append(std::string(50, 'x')));
  expect_full(table->Sync());
  ASSERT_OK(small->Append("x"));
  expect_full(small->Sync());
  expect_full(directory_->CreateExclusive("000005.log").status());
  expect_full(directory_->Link(kTable, *directory_, "000006.table"));
  fill([](const std::string&) { return true; });
  expect_full(directory_->CreateExclusive("000005.table").status());
  expect_full(directory_->AtomicReplace("CURRENT", "x", std::nullopt));
  expect_full(directory_->Lock("LOCK", LockKind::kExclusive).status());
  expect_full(a_.files.OpenDirectory("/x/y", /*create=*/true).status());
  a_.pool.SetHooks({});
  EXPECT_EQ(Read(kTable), "the bytes of a table");
}

TEST_F(ObjectFileSystemTest, SmallFilesAreLimited) {
  EXPECT_OK(directory_->AtomicReplace("small", std::string(4096, 'x'), std::nullopt));
  EXPECT_THAT(directory_->AtomicReplace("other", std::string(4097, 'x'), std::nullopt),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/store/other")));
}

// While A removes a directory, B makes one in it, or makes it again.
TEST_F(ObjectFileSystemTest, RemovalsOfDirectoriesSeeNewOnes) {
  for (const bool makes_it_again : {false, true}) {
    ASSERT_OK(a_.files.OpenDirectory("/x/y", /*create=*/true));
    bool made = false;
    a_.pool.SetHooks({nullptr, [&](ObjectCall call, const std::string& object, uint64_t) {
                        // After the first listing of the directory, or after its removal.
                        const bool is_time =
                            object == IndexName("/x/y") &&
                            (makes_it_again ? call == ObjectCall::kWrite &&
                                                  a_.pool.Read(object, {}).status().code() ==
                                                      absl::StatusCode::kNotFound
                                            : call == ObjectCall::kWrite);
                        if (!made && is_time) {
                          made = true;
                          EXPECT_OK(b_.files.OpenDirectory(makes_it_again ? "/x/y" : "/x/y/z",
                                                           /*create=*/true));
                        }
                        return true;
                      }});
    const absl::Status status = a_.files.RemoveDirectory("/x/y");
    a_.pool.SetHooks({});
    EXPECT_TRUE(made);
    if (makes_it_again) {
      EXPECT_OK(status);
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not empty")));
      ASSERT_OK(a_.files.RemoveDirectory("/x/y/z"));
    }
    EXPECT_THAT(a_.files.RemoveDirectory("/x"),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not empty")));
    ASSERT_OK(a_.files.RemoveDirectory("/x/y"));
    ASSERT_OK(a_.files.RemoveDirectory("/x"));
  }
}

}  // namespace
}  // namespace lsm
