// Links, and removals of chunks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
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

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::IsOk;
using testing_support::StatusIs;

class ObjectRemovalTest : public ObjectFixture {};

TEST_F(ObjectRemovalTest, LinkedTablesOutliveEitherName) {
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

// Links refer to the same chunks, so no client reads or writes one, except for the attribute with
// the tags, which the source's client changes.
TEST_F(ObjectRemovalTest, ClientsOfOnePoolLinkWithoutCopying) {
  const std::string table = "the bytes of a table";
  Write(kTable, table);
  const size_t chunks = CountChunks();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> copy,
                       b_.files.OpenDirectory("/copy", /*create=*/true));
  const uint64_t from_a = a_.pool.call_count();
  int calls_on_chunks = 0;
  b_.pool.SetHooks({[&](ObjectCall, const std::string& object, uint64_t) {
                      if (!object.starts_with("index:")) ++calls_on_chunks;
                      return MemoryObjectPool::Fate::kApplied;
                    },
                    nullptr});
  ASSERT_OK(directory_->Link(kTable, *copy, kTable));
  b_.pool.SetHooks({});
  EXPECT_EQ(calls_on_chunks, 0);
  EXPECT_LE(a_.pool.call_count() - from_a, 3u);  // the entry, the tags, and their change
  EXPECT_EQ(CountChunks(), chunks);
  ASSERT_OK(directory_->Remove(kTable));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(*copy, kTable, 100));
  EXPECT_EQ(bytes, table);
  ASSERT_OK(copy->Remove(kTable));
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(ObjectRemovalTest, PoolsWithOtherObjectsAreNotLinked) {
  Write(kTable, "the bytes of a table");
  PoolClient elsewhere(objects_->Clone(), "elsewhere", 5);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> copy,
                       elsewhere.files.OpenDirectory("/copy", /*create=*/true));
  EXPECT_THAT(directory_->Link(kTable, *copy, kTable), StatusIs(absl::StatusCode::kUnimplemented));
}

// The link's name appears before the link is finished.  So the link is undone, by the client of its
// directory: the source's client may outlive that one, and must not use its pool later.
TEST_F(ObjectRemovalTest, LinksOfTwoClientsAreUndoneAtOnce) {
  Write(kTable, "the bytes of a table");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadFile> reader,
                       directory_->OpenRead(kTable, ReadMode::kBuffered));
  const size_t chunks = CountChunks();
  {
    PoolClient other(objects_, "another process", 5);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> copy,
                         other.files.OpenDirectory("/copy", /*create=*/true));
    const std::unique_ptr<Directory> same = OpenAs(c_, "/copy");
    bool made = false;
    a_.pool.SetHooks({[&](ObjectCall call, const std::string& object, uint64_t) {
                        if (call == ObjectCall::kWrite && object.ends_with(".0") && !made) {
                          made = true;
                          EXPECT_OK(same->AtomicReplace(kTable, "small", std::nullopt));
                        }
                        return MemoryObjectPool::Fate::kApplied;
                      },
                      nullptr});
    EXPECT_THAT(directory_->Link(kTable, *copy, kTable),
                StatusIs(absl::StatusCode::kAlreadyExists));
    a_.pool.SetHooks({});
    EXPECT_TRUE(made);
    ObjectRead read;
    read.entries_after = "";
    ASSERT_OK_AND_ASSIGN(const ObjectContents index, checker_.pool.Read(IndexName("/copy"), read));
    for (const auto& [entry, value] : index.entries) EXPECT_EQ(entry, Concat("f:", kTable));
    ASSERT_OK(copy->Remove(kTable));
  }
  ASSERT_OK(directory_->Remove(kTable));
  EXPECT_EQ(CountChunks(), chunks);  // of the reader
}

// At each of its calls the process stops, or both processes do, if a second one has the directory
// of the link.  Then another one opens both directories, finishes what was begun, and removes what
// it finds.
TEST_F(ObjectRemovalTest, InterruptedLinksAndRemovalsLeaveNoChunk) {
  Write(kTable, "the bytes of a table");
  ASSERT_OK(a_.files.OpenDirectory("/copy", /*create=*/true));
  uint64_t calls = 0;
  for (uint64_t round = 0; round / 2 <= calls; ++round) {
    const uint64_t stop = round / 2;
    const bool has_two = round % 2 == 1;
    const std::shared_ptr<MemoryObjects> objects = objects_->Clone();
    PoolClient a(objects, "A", 100 + stop), a2(objects, "A2", 500 + stop);
    PoolClient b(objects, "B", 1000 + stop);
    {
      ASSERT_OK_AND_ASSIGN(const auto store, a.files.OpenDirectory(kStore, false));
      ASSERT_OK_AND_ASSIGN(const auto copy, (has_two ? a2 : a).files.OpenDirectory("/copy", false));
      uint64_t made = 0;
      const MemoryObjectPool::Hooks hooks{[&](ObjectCall, const std::string&, uint64_t) {
                                            return ++made < stop || stop == 0
                                                       ? MemoryObjectPool::Fate::kApplied
                                                       : MemoryObjectPool::Fate::kRefused;
                                          },
                                          nullptr};
      a.pool.SetHooks(hooks);
      a2.pool.SetHooks(hooks);
      store->Link(kTable, *copy, kTable).IgnoreError();
      store->Remove(kTable).IgnoreError();
      copy->Remove(kTable).IgnoreError();
      if (stop == 0) calls = made;
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

// A process still reads a removed file.  The next owner removes the chunks.
TEST_F(ObjectRemovalTest, NewOwnersFinishRemovals) {
  Write(kTable, "the bytes of a table");
  std::unique_ptr<ReadFile> reader = directory_->OpenRead(kTable, ReadMode::kBuffered).value();
  ASSERT_OK(directory_->Remove(kTable));
  EXPECT_GT(CountChunks(), 0u);
  const std::unique_ptr<Directory> other = OpenAs(b_);
  ASSERT_OK(other->Lock("LOCK", LockKind::kExclusive));
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(ObjectRemovalTest, LastReadersFreeTheChunks) {
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
TEST_F(ObjectRemovalTest, RemovalsSeeNewLinks) {
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

TEST_F(ObjectRemovalTest, UnfinishedTablesAreRemovedWhole) {
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

// Another thread removes the file after an opening has found it.
TEST_F(ObjectRemovalTest, OpeningsKeepTheirChunks) {
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

TEST_F(ObjectRemovalTest, ReplacedFilesFreeTheirChunks) {
  Write("a", "the first bytes");
  Write("b", "the second bytes");
  ASSERT_OK(directory_->Rename("a", "b"));
  EXPECT_EQ(Read("b"), "the first bytes");
  EXPECT_EQ(CountChunks(), 2u);
  ASSERT_OK(directory_->AtomicReplace("b", "small", "the first bytes"));
  EXPECT_EQ(Read("b"), "small");
  EXPECT_EQ(CountChunks(), 0u);
}

TEST_F(ObjectRemovalTest, OnlyCompleteTablesCanBeLinked) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive(kTable));
  ASSERT_OK(file->Append("more than one chunk"));
  EXPECT_THAT(directory_->Link(kTable, *directory_, "000003.table"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/store/000002.table")));
  ASSERT_OK(file->Sync());
  ASSERT_OK(directory_->Link(kTable, *directory_, "000003.table"));
  EXPECT_EQ(Read("000003.table"), "more than one chunk");
  // An empty table that is complete.
  Write("000004.table", "");
  ASSERT_OK(directory_->Link("000004.table", *directory_, "000005.table"));
  EXPECT_EQ(Read("000005.table"), "");
  for (const char* name : {kTable, "000003.table", "000004.table", "000005.table"})
    ASSERT_OK(directory_->Remove(name));
  EXPECT_EQ(CountChunks(), 0u);
}

// The link leaves the other chunks, and so does the next owner.
TEST_F(ObjectRemovalTest, LinksOfDamagedTablesAreDamage) {
  Write(kTable, "the bytes of a table");
  RemoveChunk(kTable, 0);
  for (const bool is_interrupted : {false, true}) {
    const std::string name = is_interrupted ? "000003.table" : "000004.table";
    const uint64_t from = a_.pool.call_count();
    a_.pool.SetHooks({[&](ObjectCall, const std::string&, uint64_t number) {
                        return is_interrupted && number >= from + 2
                                   ? MemoryObjectPool::Fate::kRefused
                                   : MemoryObjectPool::Fate::kApplied;
                      },
                      nullptr});
    EXPECT_THAT(
        directory_->Link(kTable, *directory_, name),
        StatusIs(is_interrupted ? absl::StatusCode::kUnavailable : absl::StatusCode::kDataLoss,
                 HasSubstr("/store/000002.table")));
    a_.pool.SetHooks({});
    directory_ = OpenAs(a_);
    const std::unique_ptr<FileLock> lock = TakeOver(*directory_);
    EXPECT_EQ(CountChunks(), 2u);
    ObjectRead read;
    read.entries_after = "";
    ASSERT_OK_AND_ASSIGN(const ObjectContents index, checker_.pool.Read(IndexName(kStore), read));
    EXPECT_THAT(index.entries, testing::SizeIs(2));  // LOCK and the table
  }
}

// A file that this process still reads when it locks the directory again, or removes it.
TEST_F(ObjectRemovalTest, OpenFilesAreRemovedWhenTheyAreClosed) {
  for (const bool removes_the_directory : {false, true}) {
    ASSERT_OK_AND_ASSIGN(directory_, a_.files.OpenDirectory(kStore, /*create=*/true));
    Write(kTable, "the bytes of a table");
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<ReadFile> reader,
                         directory_->OpenRead(kTable, ReadMode::kBuffered));
    // Another process removes the file, and is stopped before it removes the chunks.
    PoolClient other(objects_, "D", removes_the_directory ? 10 : 11);
    const std::unique_ptr<Directory> of_other = OpenAs(other);
    other.pool.SetHooks({[&](ObjectCall, const std::string& object, uint64_t) {
                           return object.starts_with("index:") ? MemoryObjectPool::Fate::kApplied
                                                               : MemoryObjectPool::Fate::kRefused;
                         },
                         nullptr});
    ASSERT_OK(of_other->Remove(kTable));
    if (removes_the_directory) {
      ASSERT_OK(a_.files.RemoveDirectory(kStore));
    } else {
      ASSERT_OK(OpenAs(a_)->Lock("LOCK", LockKind::kExclusive));
    }
    std::string bytes(20, '?');
    EXPECT_EQ(reader->ReadAt(0, bytes).value(), 20u);
    EXPECT_EQ(bytes, "the bytes of a table");
    reader = nullptr;
    EXPECT_EQ(CountChunks(), 0u);
    if (!removes_the_directory) {
      const std::unique_ptr<Directory> again = OpenAs(a_);
      ASSERT_OK(again->Remove("LOCK"));
      ASSERT_OK(a_.files.RemoveDirectory(kStore));
    }
    EXPECT_THAT(objects_->Names(), testing::IsEmpty());
  }
}

class RemoveAllTest : public ObjectFixture {
 protected:
  std::vector<std::string> WriteTables(int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      const std::string digits = std::to_string(100000 + i);
      names.push_back(digits + ".table");
      Write(names.back(), "more than one chunk");
    }
    return names;
  }
  // Calls on the index that `function` makes: reads, writes.
  std::pair<int, int> CountIndexCalls(const std::function<void()>& function) {
    std::pair<int, int> count;
    a_.pool.SetHooks({[&](ObjectCall call, const std::string& object, uint64_t) {
                        if (object.starts_with("index:"))
                          ++(call == ObjectCall::kRead ? count.first : count.second);
                        return MemoryObjectPool::Fate::kApplied;
                      },
                      nullptr});
    function();
    a_.pool.SetHooks({});
    return count;
  }
  size_t CountEntries() {
    ObjectRead read;
    read.entries_after = "";
    return checker_.pool.Read(IndexName(kStore), read)->entries.size();
  }
};

// One write for the names, one for the entries gone:TAG.
TEST_F(RemoveAllTest, ItMakesFewCalls) {
  const std::vector<std::string> names = WriteTables(9);
  EXPECT_EQ(CountIndexCalls([&] { EXPECT_THAT(directory_->RemoveAll(names), Each(IsOk())); }),
            std::pair(1, 2));
  EXPECT_EQ(CountChunks(), 0u);
  EXPECT_EQ(CountEntries(), 0u);
  const std::unique_ptr<FileLock> lock = TakeOver(*directory_);
  WriteTables(9);
  EXPECT_EQ(CountIndexCalls([&] { EXPECT_THAT(directory_->RemoveAll(names), Each(IsOk())); }),
            std::pair(0, 2));
  EXPECT_EQ(CountChunks(), 0u);
  EXPECT_EQ(CountEntries(), 1u);
}

TEST_F(RemoveAllTest, BatchesAreLimited) {
  const std::vector<std::string> names = WriteTables(600);
  EXPECT_EQ(CountIndexCalls([&] { EXPECT_THAT(directory_->RemoveAll(names), Each(IsOk())); }),
            std::pair(3, 6));
  EXPECT_EQ(CountChunks(), 0u);
  EXPECT_EQ(CountEntries(), 0u);
}

// A new owner finishes the removals of one that was stopped after the names.
TEST_F(RemoveAllTest, NewOwnersFinishItTogether) {
  const std::vector<std::string> names = WriteTables(300);
  b_.pool.SetHooks({[](ObjectCall, const std::string& object, uint64_t) {
                      return object.starts_with("index:") ? MemoryObjectPool::Fate::kApplied
                                                          : MemoryObjectPool::Fate::kRefused;
                    },
                    nullptr});
  ASSERT_THAT(OpenAs(b_)->RemoveAll(names), Each(IsOk()));
  EXPECT_EQ(CountEntries(), 300u);
  std::unique_ptr<FileLock> lock;
  // Lock, swap, listing; two writes for the entries.
  EXPECT_EQ(CountIndexCalls([&] { lock = TakeOver(*directory_); }), std::pair(1, 4));
  EXPECT_EQ(CountChunks(), 0u);
  EXPECT_EQ(CountEntries(), 1u);
}

TEST_F(RemoveAllTest, FilesThatAreReadFollow) {
  const std::vector<std::string> names = WriteTables(3);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ReadFile> reader,
                       directory_->OpenRead(names[1], ReadMode::kBuffered));
  ASSERT_THAT(directory_->RemoveAll(names), Each(IsOk()));
  EXPECT_EQ(CountChunks(), 3u);
  EXPECT_EQ(CountEntries(), 1u);
  std::string bytes(19, '?');
  EXPECT_EQ(reader->ReadAt(0, bytes).value(), 19u);
  reader = nullptr;
  EXPECT_EQ(CountChunks(), 0u);
  EXPECT_EQ(CountEntries(), 0u);
}

// Another handle removes one of the files at the same time.
TEST_F(RemoveAllTest, OneChangedNameDoesNotKeepTheOthers) {
  const std::vector<std::string> names = WriteTables(4);
  bool removed = false;
  a_.pool.SetHooks({[&](ObjectCall call, const std::string&, uint64_t) {
                      if (call == ObjectCall::kWrite && !std::exchange(removed, true)) {
                        EXPECT_OK(OpenAs(b_)->Remove(names[2]));
                      }
                      return MemoryObjectPool::Fate::kApplied;
                    },
                    nullptr});
  const auto not_found = StatusIs(absl::StatusCode::kNotFound, HasSubstr("/store/" + names[2]));
  EXPECT_THAT(directory_->RemoveAll(names), ElementsAre(IsOk(), IsOk(), not_found, IsOk()));
  EXPECT_TRUE(removed);
  EXPECT_EQ(CountChunks(), 0u);
  EXPECT_EQ(CountEntries(), 0u);
}

// A new owner removes one of the entries gone:TAG first.
TEST_F(RemoveAllTest, OneLostEntryDoesNotKeepTheOthers) {
  const std::vector<std::string> names = WriteTables(4);
  int writes = 0;
  a_.pool.SetHooks(
      {[&](ObjectCall call, const std::string& object, uint64_t) {
         if (call == ObjectCall::kWrite && object.starts_with("index:") && ++writes == 2) {
           ObjectRead read;
           read.entries_after = "gone:";
           ObjectWrite write;
           write.remove_entries = {checker_.pool.Read(object, read)->entries.begin()->first};
           EXPECT_OK(checker_.pool.Write(object, write));
         }
         return MemoryObjectPool::Fate::kApplied;
       },
       nullptr});
  EXPECT_THAT(directory_->RemoveAll(names), Each(IsOk()));
  EXPECT_GT(writes, 2);
  EXPECT_EQ(CountChunks(), 0u);
  EXPECT_EQ(CountEntries(), 0u);
}

// The chunk of one file cannot be removed.  The others are.
TEST_F(ObjectRemovalTest, OneFailedRemovalDoesNotKeepTheOthers) {
  std::vector<std::unique_ptr<ReadFile>> readers;
  for (int i = 1; i <= 9; ++i) {
    const std::string name = "00000" + std::to_string(i) + ".table";
    Write(name, "x");
    readers.push_back(directory_->OpenRead(name, ReadMode::kBuffered).value());
    ASSERT_OK(directory_->Remove(name));
  }
  EXPECT_EQ(CountChunks(), 9u);
  const std::unique_ptr<Directory> of_b = OpenAs(b_);
  bool refused = false;
  b_.pool.SetHooks({[&](ObjectCall, const std::string& object, uint64_t) {
                      if (object.starts_with("index:") || std::exchange(refused, true))
                        return MemoryObjectPool::Fate::kApplied;
                      return MemoryObjectPool::Fate::kRefused;
                    },
                    nullptr});
  const std::unique_ptr<FileLock> lock = TakeOver(*of_b);
  EXPECT_TRUE(refused);
  EXPECT_EQ(CountChunks(), 1u);
}

}  // namespace
}  // namespace lsm
