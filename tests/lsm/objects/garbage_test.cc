// The collection of chunks that no index names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/object_file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/object_fixture.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;

class GarbageTest : public ObjectFixture {
 protected:
  void SetUp() override {
    ObjectFixture::SetUp();
    lock_ = TakeOver(*directory_);
    Write(kLog, "the bytes of a log");
    Write(kTable, "the bytes of a table");
    whole_ = CountChunks();
  }
  // Removes that many chunks, keeps that many, and harms no file.
  void ExpectCollected(uint64_t removed, uint64_t kept) {
    const size_t before = CountChunks();
    ASSERT_OK_AND_ASSIGN(const GarbageReport report, CollectGarbage(checker_.pool));
    EXPECT_EQ(report.chunks, before);
    EXPECT_EQ(report.removed, removed);
    EXPECT_EQ(report.kept, kept);
    EXPECT_EQ(CountChunks(), before - removed);
    EXPECT_EQ(Read(kLog), "the bytes of a log");
    EXPECT_EQ(Read(kTable), "the bytes of a table");
  }
  void Reopen() {
    lock_ = nullptr;
    directory_ = OpenAs(b_);
    lock_ = TakeOver(*directory_);
  }

  std::unique_ptr<FileLock> lock_;
  size_t whole_ = 0;
};

TEST_F(GarbageTest, StoresWithoutGarbageStayAsTheyAre) {
  ObjectWrite foreign;
  foreign.set_attributes["of"] = "another program";
  ASSERT_OK(checker_.pool.Write("0123456789abcdef0123456789abcdef.txt", foreign));
  ASSERT_OK(checker_.pool.Write("0123456789ABCDEF0123456789abcdef.0", foreign));
  ASSERT_OK_AND_ASSIGN(const GarbageReport report, CollectGarbage(checker_.pool));
  EXPECT_EQ(report.chunks, whole_);
  EXPECT_EQ(report.removed + report.kept, 0u);
  EXPECT_EQ(CountChunks(), whole_ + 2);
}

// The process dies between the first chunk of a log and its name.
TEST_F(GarbageTest, UnnamedLogsGoWithTheirOwner) {
  StopAt(&a_.pool, a_.pool.call_count() + 1, /*after=*/false);
  EXPECT_FALSE(directory_->CreateExclusive("000003.log").ok());
  a_.pool.SetHooks({});
  ASSERT_EQ(CountChunks(), whole_ + 1);
  ExpectCollected(0, 1);  // the owner might name it
  Reopen();
  ExpectCollected(1, 0);
}

// A chunk that was in flight comes when the table was removed.
TEST_F(GarbageTest, LateChunksGo) {
  PoolClient late(objects_, "writer A", 1, {.holds_started_writes = true});
  const std::unique_ptr<Directory> directory = OpenAs(late);
  const std::unique_ptr<FileLock> lock = TakeOver(*directory);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<AppendFile> file,
                       directory->CreateExclusive("000003.table"));
  ASSERT_OK(file->Append("more than one chunk"));
  Reopen();
  ASSERT_OK(directory_->Remove("000003.table"));
  ExpectCollected(0, 0);
  file = nullptr;  // now they arrive
  EXPECT_EQ(CountChunks(), whole_ + 2);
  ExpectCollected(2, 0);
}

// A link whose maker was superseded between the tag and the name: no removal takes its tag.
TEST_F(GarbageTest, TablesOfForgottenTagsGo) {
  Write("000003.table", "table");
  ASSERT_OK_AND_ASSIGN(IndexedFile file, FileOf("000003.table"));
  ObjectWrite tag;
  tag.set_attributes[kTagsAttribute] = file.tag + " 0123456789abcdef0123456789abcdef ";
  ASSERT_OK(checker_.pool.Write(ChunkName(file.id, 0), tag));
  ASSERT_OK(directory_->Remove("000003.table"));
  ExpectCollected(1, 0);
}

// Entries gone:TAG and link:TAG name their chunks.
TEST_F(GarbageTest, UnfinishedRemovalsAreLeftToTheOwner) {
  Write("000003.table", "table");
  StopAt(&a_.pool, a_.pool.call_count() + 1, /*after=*/false);
  ASSERT_OK(directory_->Remove("000003.table"));
  a_.pool.SetHooks({});
  ASSERT_EQ(CountChunks(), whole_ + 1);
  ExpectCollected(0, 0);
  Reopen();
  EXPECT_EQ(CountChunks(), whole_);
}

TEST_F(GarbageTest, DamagedIndexesKeepEverything) {
  StopAt(&a_.pool, a_.pool.call_count() + 1, /*after=*/false);
  EXPECT_FALSE(directory_->CreateExclusive("000003.log").ok());
  a_.pool.SetHooks({});
  Reopen();
  ObjectWrite damage;
  damage.set_entries["f:000009.table"] = "t";
  ASSERT_OK(checker_.pool.Write(IndexName(kStore), damage));
  EXPECT_THAT(CollectGarbage(checker_.pool).status(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(CountChunks(), whole_ + 1);
}

// While garbage is collected, a table moves to a new directory: it is linked there, and removed
// here.  And a log is made.
TEST_F(GarbageTest, FilesThatAreMadeMeanwhileStay) {
  for (const bool after : {false, true}) {
    bool was_reached = true;
    for (uint64_t call = 0; was_reached; ++call) {
      SCOPED_TRACE(Concat(after ? "after" : "before", " call ", call));
      was_reached = false;
      const auto objects = std::make_shared<MemoryObjects>();
      PoolClient writer(objects, "a writer", 1);
      MemoryObjectPool collector(objects);
      ASSERT_OK_AND_ASSIGN(directory_, writer.files.OpenDirectory("/from", /*create=*/true));
      Write(kTable, "table");
      std::unique_ptr<AppendFile> log;
      PauseAt(&collector, call, after, [&] {
        was_reached = true;
        ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> to,
                             writer.files.OpenDirectory("/to", /*create=*/true));
        ASSERT_OK(directory_->Link(kTable, *to, kTable));
        ASSERT_OK(directory_->Remove(kTable));
        ASSERT_OK_AND_ASSIGN(log, to->CreateExclusive(kLog));
        ASSERT_OK(log->Append("log"));
      });
      ASSERT_OK(CollectGarbage(collector));
      if (!was_reached) continue;
      directory_ = OpenAs(writer, "/to");
      EXPECT_EQ(Read(kTable), "table");
      EXPECT_EQ(Read(kLog), "log");
    }
  }
}

}  // namespace
}  // namespace lsm
