// Tests ObjectFileSystem beyond the contract of all file systems
// (file_system_contract_test.cc).
#include "lsm/object_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/fs/directory_fixture.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing_support::StatusIs;

constexpr char kStore[] = "/store";
constexpr char kLog[] = "000001.log";
constexpr char kTable[] = "000002.table";

// A process: a client and its file system, with chunks of 10 and 8 bytes.
struct Process {
  Process(std::shared_ptr<MemoryObjects> objects, std::string name, uint64_t seed)
      : pool(std::move(objects)), random(seed), files(&pool, &random, Config(std::move(name))) {}
  static ObjectFileSystem::Config Config(std::string name) {
    ObjectFileSystem::Config config;
    config.holder = std::move(name);
    config.log_chunk_bytes = 10;
    config.table_chunk_bytes = 8;
    return config;
  }
  MemoryObjectPool pool;
  testing_support::SeededRandom random;
  ObjectFileSystem files;
};

class ObjectFileSystemTest : public DirectoryFixture {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(directory_, a_.files.OpenDirectory(kStore, /*create=*/true));
  }
  bool needs_sync() const override { return true; }
  std::unique_ptr<Directory> OpenAs(Process& process) {
    absl::StatusOr<std::unique_ptr<Directory>> directory =
        process.files.OpenDirectory(kStore, /*create=*/false);
    EXPECT_OK(directory);
    return directory.ok() ? *std::move(directory) : nullptr;
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
    TRELLIS_ASSIGN_OR_RETURN(const ObjectContents contents, a_.pool.Read(IndexName(kStore), read));
    return contents.entries.at("f:" + name);
  }
  void ExpireLocks() { objects_->Advance(a_.Config("").lock_nanos + 1); }

  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  Process a_{objects_, "writer A", 1}, b_{objects_, "writer B", 2}, c_{objects_, "writer C", 3};
};

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

TEST_F(ObjectFileSystemTest, LinkedTablesOutliveEitherName) {
  for (const bool removes_the_link : {false, true}) {
    Write(kTable, "the bytes of a table");
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> copy,
                         a_.files.OpenDirectory("/copy", /*create=*/true));
    ASSERT_OK(directory_->Link(kTable, *copy, kTable));
    ASSERT_OK((removes_the_link ? copy : directory_)->Remove(kTable));
    Directory& other = removes_the_link ? *directory_ : *copy;
    ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(other, kTable, 100));
    EXPECT_EQ(bytes, "the bytes of a table");
    ASSERT_OK(other.Remove(kTable));
    EXPECT_EQ(CountChunks(), 0u);
  }
}

// At each of its calls the process stops.  Then another one opens both directories, finishes what
// was begun, and removes what it finds.
TEST_F(ObjectFileSystemTest, InterruptedLinksAndRemovalsLeaveNoChunk) {
  Write(kTable, "the bytes of a table");
  ASSERT_OK(a_.files.OpenDirectory("/copy", /*create=*/true));
  uint64_t calls = 0;
  for (uint64_t stop = 0; stop <= calls; ++stop) {
    const std::shared_ptr<MemoryObjects> objects = objects_->Clone();
    Process a(objects, "A", 100 + stop), b(objects, "B", 1000 + stop);
    {
      ASSERT_OK_AND_ASSIGN(const auto store, a.files.OpenDirectory(kStore, false));
      ASSERT_OK_AND_ASSIGN(const auto copy, a.files.OpenDirectory("/copy", false));
      const uint64_t from = a.pool.call_count();
      if (stop > 0) {
        a.pool.SetHooks({[&](ObjectCall, const std::string&, uint64_t number) {
                           return number - from < stop - 1 ? MemoryObjectPool::Fate::kApplied
                                                           : MemoryObjectPool::Fate::kRefused;
                         },
                         nullptr});
      }
      store->Link(kTable, *copy, kTable).IgnoreError();
      store->Remove(kTable).IgnoreError();
      copy->Remove(kTable).IgnoreError();
      if (stop == 0) calls = a.pool.call_count() - from;
    }
    for (const char* path : {kStore, "/copy"}) {
      ASSERT_OK_AND_ASSIGN(const auto directory, b.files.OpenDirectory(path, false));
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> lock,
                           directory->Lock("LOCK", LockKind::kExclusive));
      ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, directory->List());
      for (const std::string& name : names) {
        if (name != "LOCK") {
          ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*directory, name, 100));
          EXPECT_EQ(bytes, "the bytes of a table");
        }
        ASSERT_OK(directory->Remove(name));
      }
      ASSERT_OK(b.files.RemoveDirectory(path)) << "stopped before call " << stop;
    }
    EXPECT_THAT(objects->Names(), testing::IsEmpty()) << "stopped before call " << stop;
  }
  EXPECT_GT(calls, 10u);
}

TEST_F(ObjectFileSystemTest, NewOwnersRefuseEarlierOnes) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> a,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> log, directory_->CreateExclusive(kLog));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> table,
                       directory_->CreateExclusive(kTable));
  ASSERT_OK(log->Append("12345"));
  ASSERT_OK(table->Append("12345"));
  const std::unique_ptr<Directory> other = OpenAs(b_);
  EXPECT_THAT(other->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another process")));
  ExpireLocks();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> b,
                       other->Lock("LOCK", LockKind::kExclusive));
  const auto taken_over = [](const absl::Status& status) {
    return IsTakenOver(status) && status.message().find("writer B") != absl::string_view::npos;
  };
  for (const absl::Status& status :
       {log->Append("6"), log->Append("6"), table->Sync(), directory_->Remove(kLog),
        directory_->Rename(kLog, "x"), directory_->AtomicReplace("CURRENT", "x", std::nullopt),
        directory_->CreateExclusive("000003.log").status(),
        directory_->CreateExclusive("000003.table").status(), directory_->List().status()}) {
    EXPECT_TRUE(taken_over(status)) << status;
  }
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*other, kLog, 100));
  EXPECT_EQ(bytes, "12345");
  EXPECT_THAT(*other->List(), UnorderedElementsAre("LOCK", kLog, kTable));
  // Nothing is left of the refused files.
  ASSERT_OK(other->Remove(kLog));
  ASSERT_OK(other->Remove(kTable));
  EXPECT_EQ(CountChunks(), 0u);
}

// The lock of B expires between its reading of the owner and the swap.
TEST_F(ObjectFileSystemTest, StaleCandidatesDisturbNoOwner) {
  const std::unique_ptr<Directory> of_b = OpenAs(b_), of_c = OpenAs(c_);
  std::unique_ptr<FileLock> c;
  std::unique_ptr<AppendFile> log;
  b_.pool.SetHooks({nullptr, [&](ObjectCall call, const std::string&, uint64_t) {
                      if (call != ObjectCall::kLock || c != nullptr) return true;
                      ExpireLocks();
                      c = of_c->Lock("LOCK", LockKind::kExclusive).value();
                      log = of_c->CreateExclusive(kLog).value();
                      return true;
                    }});
  EXPECT_THAT(of_b->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("came first")));
  EXPECT_OK(log->Append("goes on"));
  EXPECT_THAT(of_b->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has the lock")));
}

// The seal of B comes after C has sealed the same log, and after C has made one.
TEST_F(ObjectFileSystemTest, LateSealsAreRefused) {
  Write(kLog, "0123456789abc");
  const std::unique_ptr<Directory> of_b = OpenAs(b_), of_c = OpenAs(c_);
  std::unique_ptr<FileLock> c;
  b_.pool.SetHooks({[&](ObjectCall call, const std::string& object, uint64_t) {
                      if (call == ObjectCall::kWrite && !object.starts_with("index:") &&
                          c == nullptr) {
                        ExpireLocks();
                        c = of_c->Lock("LOCK", LockKind::kExclusive).value();
                      }
                      return MemoryObjectPool::Fate::kApplied;
                    },
                    nullptr});
  EXPECT_TRUE(IsTakenOver(of_b->Lock("LOCK", LockKind::kExclusive).status()));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*of_c, kLog, 100));
  EXPECT_EQ(bytes, "0123456789abc");
}

TEST_F(ObjectFileSystemTest, LostAnswersOfLocksLeaveNoLock) {
  a_.pool.SetHooks({nullptr, [](ObjectCall call, const std::string&, uint64_t) {
                      return call != ObjectCall::kLock;
                    }});
  EXPECT_THAT(directory_->Lock("LOCK", LockKind::kExclusive),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/store/LOCK")));
  a_.pool.SetHooks({});
  EXPECT_OK(directory_->Lock("LOCK", LockKind::kExclusive));
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
  EXPECT_THAT(*directory_->List(), ElementsAre("LOCK"));
}

// A process ends while it reads a removed file.  The next owner removes the chunks.
TEST_F(ObjectFileSystemTest, NewOwnersFinishRemovals) {
  Write(kTable, "the bytes of a table");
  std::unique_ptr<ReadFile> reader = directory_->OpenRead(kTable, ReadMode::kBuffered).value();
  ASSERT_OK(directory_->Remove(kTable));
  EXPECT_GT(CountChunks(), 0u);
  const std::unique_ptr<Directory> other = OpenAs(b_);
  ASSERT_OK(other->Lock("LOCK", LockKind::kExclusive));
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(ObjectFileSystemTest, LastReadersFreeTheChunks) {
  Write(kTable, "the bytes of a table");
  std::unique_ptr<ReadFile> one = directory_->OpenRead(kTable, ReadMode::kBuffered).value();
  std::unique_ptr<ReadFile> two = directory_->OpenRead(kTable, ReadMode::kBuffered).value();
  ASSERT_OK(directory_->Remove(kTable));
  one = nullptr;
  EXPECT_GT(CountChunks(), 0u);
  two = nullptr;
  EXPECT_EQ(CountChunks(), 0u);
}

// Between the removal's look at the tags and its write, another process adds a name.
TEST_F(ObjectFileSystemTest, RemovalsSeeNewLinks) {
  Write(kTable, "the bytes of a table");
  const std::unique_ptr<Directory> other = OpenAs(b_);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> copy,
                       b_.files.OpenDirectory("/copy", /*create=*/true));
  bool linked = false;
  // The entry is still there when the link looks for it.
  ASSERT_OK(other->Link(kTable, *copy, "000005.table"));
  a_.pool.SetHooks({nullptr, [&](ObjectCall call, const std::string& object, uint64_t) {
                      if (call == ObjectCall::kRead && object.ends_with(".0") && !linked) {
                        linked = true;
                        EXPECT_OK(copy->Link("000005.table", *copy, "000006.table"));
                        EXPECT_OK(copy->Remove("000005.table"));
                      }
                      return true;
                    }});
  ASSERT_OK(directory_->Remove(kTable));
  EXPECT_TRUE(linked);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*copy, "000006.table", 100));
  EXPECT_EQ(bytes, "the bytes of a table");
  ASSERT_OK(copy->Remove("000006.table"));
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(ObjectFileSystemTest, UnfinishedTablesAreRemovedWhole) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<AppendFile> file, directory_->CreateExclusive(kTable));
  ASSERT_OK(file->Append(std::string(45, 'x')));  // five chunks of 8 bytes, and a rest
  ASSERT_OK_AND_ASSIGN(const std::string entry, Entry(kTable));
  ASSERT_OK_AND_ASSIGN(const IndexedFile table, IndexedFile::Decode(entry, kTable));
  // Chunks that did not arrive before the writer died.
  ObjectWrite remove;
  remove.remove = true;
  for (const uint64_t number : {1, 2, 3})
    ASSERT_OK(a_.pool.Write(ChunkName(table.id, number), remove));
  file = nullptr;
  ASSERT_OK(directory_->Remove(kTable));
  EXPECT_EQ(CountChunks(), 0u);
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

// Another thread removes the file after an opening has found it.
TEST_F(ObjectFileSystemTest, OpeningsKeepTheirChunks) {
  Write(kTable, "the bytes of a table");
  bool removed = false;
  a_.pool.SetHooks({nullptr, [&](ObjectCall, const std::string&, uint64_t) {
                      if (!std::exchange(removed, true)) {
                        EXPECT_OK(directory_->Remove(kTable));
                      }
                      return true;
                    }});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> file,
                       directory_->OpenRead(kTable, ReadMode::kBuffered));
  std::string bytes(20, '?');
  EXPECT_EQ(file->ReadAt(0, bytes).value(), 20u);
  EXPECT_EQ(bytes, "the bytes of a table");
}

TEST_F(ObjectFileSystemTest, SupersededOwnersReadNoLog) {
  Write(kLog, "0123456789abc");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> a,
                       directory_->Lock("LOCK", LockKind::kExclusive));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> log,
                       directory_->OpenRead(kLog, ReadMode::kBuffered));
  ExpireLocks();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<FileLock> b,
                       OpenAs(b_)->Lock("LOCK", LockKind::kExclusive));
  std::string bytes(13, '?');
  EXPECT_TRUE(IsTakenOver(log->ReadAt(0, bytes).status()));
  EXPECT_TRUE(IsTakenOver(log->Size().status()));
  EXPECT_TRUE(IsTakenOver(directory_->OpenRead(kLog, ReadMode::kBuffered).status()));
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

// At each call it stops; then another process removes what is there.
TEST_F(ObjectFileSystemTest, InterruptedDirectoriesCanBeRemoved) {
  for (const bool removes : {false, true}) {
    for (uint64_t stop = 0; stop < 12; ++stop) {
      const auto objects = std::make_shared<MemoryObjects>();
      Process a(objects, "A", 1), b(objects, "B", 2);
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

TEST_F(ObjectFileSystemTest, LateRegistrationsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> log, directory_->CreateExclusive(kLog));
  ASSERT_OK(log->Append("0123456789"));  // the first chunk is full
  a_.pool.SetHooks({[&](ObjectCall call, const std::string& object, uint64_t) {
                      return call == ObjectCall::kWrite && object.starts_with("index:")
                                 ? MemoryObjectPool::Fate::kDelayed
                                 : MemoryObjectPool::Fate::kApplied;
                    },
                    nullptr});
  EXPECT_THAT(log->Append("x"), StatusIs(absl::StatusCode::kUnavailable));
  a_.pool.SetHooks({});
  ASSERT_OK(directory_->Remove(kLog));
  a_.pool.DeliverDelayed();
  EXPECT_THAT(*directory_->List(), testing::IsEmpty());
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(ObjectFileSystemTest, LongDirectoriesAreListedWhole) {
  std::vector<std::string> names;
  for (int i = 0; i < 2500; ++i) {
    names.push_back("small" + std::to_string(i));
    ASSERT_OK(directory_->AtomicReplace(names.back(), "x", std::nullopt));
  }
  EXPECT_THAT(*directory_->List(), testing::UnorderedElementsAreArray(names));
}

}  // namespace
}  // namespace lsm
