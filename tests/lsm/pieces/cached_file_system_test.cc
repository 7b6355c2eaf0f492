// The pieces that a CachedFileSystem keeps, and when they may be read.
#include "lsm/cached_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lsm/environment.h"
#include "tests/lsm/fs/child_process.h"
#include "tests/lsm/pieces/cache_fixture.h"
#include "tests/support/scratch_dir.h"

namespace lsm {
namespace {

using testing::Gt;
using testing_support::StatusIs;

class CachedFileSystemTest : public CacheFixture {
 protected:
  // Reads a table over and over, `at_once` bytes in a read, while others are written.  Returns the
  // pieces of it that were evicted.
  uint64_t MissesAmongOtherTables(uint64_t at_once) {
    cache_bytes_ = 8 << 20;
    Start();
    const std::string bytes = TableBytes(1, 20 * kPiece);
    Write(kTable, bytes);
    const std::unique_ptr<ReadFile> file = Open(kTable);
    ReadFrom(*file, bytes.size() - 4096, 4096);
    for (uint64_t i = 2; i < 80; ++i) {
      const std::string name = "000" + std::to_string(100 + i) + ".table";
      Write(name, TableBytes(i, 8 * kPiece));
      std::string read;
      while (read.size() < bytes.size()) read += ReadFrom(*file, read.size(), at_once);
      EXPECT_EQ(read, bytes);
    }
    EXPECT_THAT(statistics().evicted, Gt(400u));
    return statistics().misses;
  }
};

TEST_F(CachedFileSystemTest, ReadsAWrittenTableLocally) {
  const std::string bytes = TableBytes(1, 5 * kPiece + 777);
  Write(kTable, bytes);
  EXPECT_EQ(statistics().pieces, 6u);
  EXPECT_EQ(ReadTable(kTable), bytes);
  EXPECT_EQ(reads_below_, 1u);  // the end
  EXPECT_EQ(statistics().bytes_below, 4096u);
  EXPECT_EQ(statistics().misses, 0u);
  EXPECT_EQ(statistics().bytes_hit, bytes.size() - 4096);
}

TEST_F(CachedFileSystemTest, StaysWarmOverARestart) {
  const std::string bytes = TableBytes(1, 5 * kPiece + 777);
  Write(kTable, bytes);
  Start();
  EXPECT_EQ(ReadTable(kTable), bytes);
  EXPECT_EQ(reads_below_, 1u);
  EXPECT_EQ(statistics().misses, 0u);
}

TEST_F(CachedFileSystemTest, AddsMissedPieces) {
  const std::string bytes = TableBytes(1, 5 * kPiece + 777);
  WriteBelow(kTable, bytes);
  EXPECT_EQ(ReadTable(kTable), bytes);
  EXPECT_EQ(statistics().misses, 5u);  // the first read has all of the last piece
  EXPECT_EQ(ReadTable(kTable), bytes);
  Start();
  EXPECT_EQ(ReadTable(kTable), bytes);
  EXPECT_EQ(statistics().misses, 0u);
  EXPECT_EQ(reads_below_, 5u + 3);
}

TEST_F(CachedFileSystemTest, ReadsRangesOfHitsAndMisses) {
  const std::string bytes = TableBytes(1, 9 * kPiece + 4000);
  WriteBelow(kTable, bytes);
  const std::unique_ptr<ReadFile> file = Open(kTable);
  SplitMix random(1);
  for (int i = 0; i < 300; ++i) {
    const uint64_t offset = random.Next() % (bytes.size() + 1000);
    const uint64_t length = random.Next() % (i % 2 == 0 ? 5000 : 3 * kPiece);
    const std::string expected = offset < bytes.size() ? bytes.substr(offset, length) : "";
    ASSERT_EQ(ReadFrom(*file, offset, length), expected) << offset << " " << length;
  }
  EXPECT_EQ(statistics().pieces, 10u);
}

TEST_F(CachedFileSystemTest, AnUnsyncedTableIsNotFound) {
  const std::string bytes = TableBytes(1, 3 * kPiece);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive(kTable));
  ASSERT_OK(file->Append(bytes));
  EXPECT_EQ(statistics().pieces, 0u);
  EXPECT_EQ(ReadTable(kTable, kPiece), bytes);
  EXPECT_EQ(statistics().hits, 0u);
  // The process is killed: what it wrote is there, and no entry refers to it.
  const std::unique_ptr<MemoryFileSystem> local = local_.Clone();
  const CachedFileSystem next(&below_, {kCache, cache_bytes_, local.get()});
  EXPECT_OK(next.status());
}

TEST_F(CachedFileSystemTest, AKillBeforeSyncLeavesNoPiece) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<AppendFile> file, directory_->CreateExclusive(kTable));
  ASSERT_OK(file->Append(TableBytes(1, 3 * kPiece)));
  EXPECT_GE(BytesOnDisk(), 3 * kPiece);
  file = nullptr;
  Start();
  EXPECT_EQ(statistics().pieces, 0u);
}

TEST_F(CachedFileSystemTest, AFailedSyncLeavesNoPiece) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<AppendFile> file, directory_->CreateExclusive(kTable));
  ASSERT_OK(file->Append(TableBytes(1, 3 * kPiece)));
  below_.SetFault([](FileOperation operation, const std::string&, uint64_t) {
    return operation == FileOperation::kSyncFile ? absl::UnavailableError("no") : absl::OkStatus();
  });
  EXPECT_THAT(file->Sync(), StatusIs(absl::StatusCode::kUnavailable));
  below_.SetFault(nullptr);
  file->Sync().IgnoreError();  // must not be called, and must not publish anything
  EXPECT_EQ(statistics().pieces, 0u);
  file = nullptr;
  Start();
  EXPECT_EQ(statistics().pieces, 0u);
}

TEST_F(CachedFileSystemTest, AFailedAppendLeavesNoPiece) {
  const std::string bytes = TableBytes(1, 3 * kPiece);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<AppendFile> file, directory_->CreateExclusive(kTable));
  ASSERT_OK(file->Append(bytes.substr(0, kPiece)));
  below_.SetFault([](FileOperation operation, const std::string&, uint64_t) {
    return operation == FileOperation::kAppend ? absl::UnavailableError("no") : absl::OkStatus();
  });
  EXPECT_THAT(file->Append("lost"), StatusIs(absl::StatusCode::kUnavailable));
  below_.SetFault(nullptr);
  ASSERT_OK(file->Append(bytes.substr(kPiece)));
  ASSERT_OK(file->Sync());
  EXPECT_EQ(statistics().pieces, 0u);
}

TEST_F(CachedFileSystemTest, BytesAfterTheFooterMakeItNoTable) {
  const std::string bytes = TableBytes(1, 3 * kPiece + 5);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory_->CreateExclusive(kTable));
  ASSERT_OK(file->Append(bytes));
  ASSERT_OK(file->Sync());
  EXPECT_EQ(statistics().pieces, 4u);
  ASSERT_OK(file->Append("more"));
  ASSERT_OK(file->Sync());
  EXPECT_EQ(statistics().pieces, 0u);
  EXPECT_EQ(ReadTable(kTable), bytes + "more");
  EXPECT_EQ(ReadTable(kTable), bytes + "more");
  EXPECT_EQ(statistics().pieces, 0u);
}

TEST_F(CachedFileSystemTest, KeepsOnlyTables) {
  for (const char* name : {"000001.log", "000001.manifest", "CURRENT", "7.table", "other"}) {
    const std::string bytes = TableBytes(1, 2 * kPiece);
    Write(name, bytes);
    EXPECT_EQ(ReadTable(name), bytes);
    EXPECT_EQ(ReadTable(name), bytes);
  }
  Write(kTable, std::string(2 * kPiece, 'x'));  // no footer
  EXPECT_EQ(ReadTable(kTable), std::string(2 * kPiece, 'x'));
  Write("000008.table", "short");
  EXPECT_EQ(ReadTable("000008.table"), "short");
  EXPECT_EQ(statistics().pieces, 0u);
  EXPECT_EQ(statistics().hits, 0u);
}

TEST_F(CachedFileSystemTest, DirectReadsGoBelow) {
  const std::string bytes = TableBytes(1, 2 * kPiece);
  Write(kTable, bytes);
  const std::unique_ptr<ReadFile> file = Open(kTable, ReadMode::kDirect);
  EXPECT_EQ(ReadFrom(*file, 0, bytes.size()), bytes);
  EXPECT_EQ(reads_below_, 1u);
  EXPECT_EQ(statistics().hits, 0u);
}

TEST_F(CachedFileSystemTest, NeverHasMoreBytesThanAllowed) {
  for (const uint64_t bytes_max : {uint64_t{1} << 20, uint64_t{3} << 20, uint64_t{9} << 20}) {
    cache_bytes_ = bytes_max;
    Start();
    for (uint64_t i = 1; i < 70; ++i) {
      const std::string name = "000" + std::to_string(100 + i) + ".table";
      const std::string bytes = TableBytes(i, i % 3 == 0 ? 300 : i * 2000);
      Write(name, bytes);
      ASSERT_LE(BytesOnDisk(), bytes_max);
      ASSERT_LE(BytesOnDisk(), statistics().bytes);
      ASSERT_LE(statistics().bytes, bytes_max);
      ASSERT_EQ(ReadTable(name), bytes);
      ASSERT_LE(BytesOnDisk(), bytes_max);
      ASSERT_OK(directory_->Remove(name));
    }
    EXPECT_EQ(statistics().errors, 0u);
  }
}

TEST_F(CachedFileSystemTest, AnEarlierLargerCacheShrinks) {
  Write(kTable, TableBytes(1, 5 << 20));
  cache_bytes_ = 2 << 20;
  Start();
  EXPECT_LE(BytesOnDisk(), cache_bytes_);
  EXPECT_EQ(ReadTable(kTable), TableBytes(1, 5 << 20));
  EXPECT_LE(BytesOnDisk(), cache_bytes_);
}

TEST_F(CachedFileSystemTest, KeepsHotPieces) { EXPECT_EQ(MissesAmongOtherTables(kPiece), 0u); }

// As a compaction reads, which then removes the table.
TEST_F(CachedFileSystemTest, LargeReadsMakeNoPieceHot) {
  EXPECT_THAT(MissesAmongOtherTables(20 * kPiece), Gt(0u));
}

TEST_F(CachedFileSystemTest, LinksAndRenames) {
  const std::string bytes = TableBytes(1, 2 * kPiece);
  Write(kTable, bytes);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> copy,
                       cached_->OpenDirectory("/copy", /*create=*/true));
  ASSERT_OK(directory_->Link(kTable, *copy, kTable));
  EXPECT_EQ(ReadWholeFile(*copy, kTable, 1 << 20).value(), bytes);
  ASSERT_OK(directory_->Rename(kTable, "000009.table"));
  EXPECT_EQ(ReadTable("000009.table"), bytes);
  EXPECT_THAT(directory_->OpenRead(kTable, ReadMode::kBuffered),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(CachedFileSystemTest, ASecondObjectOfADirectoryKeepsNothing) {
  const std::string bytes = TableBytes(1, 2 * kPiece);
  Write(kTable, bytes);
  {
    CachedFileSystem second(&below_, {kCache, cache_bytes_, &local_});
    EXPECT_THAT(second.status(), StatusIs(absl::StatusCode::kFailedPrecondition));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                         second.OpenDirectory("/store", /*create=*/false));
    EXPECT_EQ(ReadWholeFile(*directory, kTable, 1 << 20).value(), bytes);
    WriteTo(*directory, "000009.table", bytes);
    EXPECT_EQ(second.statistics().pieces, 0u);
  }
  Start();
  EXPECT_OK(cached_->status());
  EXPECT_EQ(statistics().pieces, 2u);
}

TEST_F(CachedFileSystemTest, TooFewBytesAreRefused) {
  cache_bytes_ = CachedFileSystem::kBytesMin - 1;
  Start();
  EXPECT_THAT(cached_->status(), StatusIs(absl::StatusCode::kInvalidArgument));
  Write(kTable, TableBytes(1, 2 * kPiece));
  EXPECT_EQ(ReadTable(kTable), TableBytes(1, 2 * kPiece));
}

TEST_F(CachedFileSystemTest, FilesMayOutliveIt) {
  const std::string bytes = TableBytes(1, 2 * kPiece);
  Write(kTable, bytes);
  const std::unique_ptr<ReadFile> file = Open(kTable);
  cached_ = nullptr;
  EXPECT_EQ(ReadFrom(*file, 0, bytes.size()), bytes);
}

TEST(CachedPosixTest, AForkedChildReadsWithoutTheCache) {
  const testing_support::ScratchDir scratch;
  CachedFileSystem cached(&PosixFileSystem(), {scratch.path() + "/cache", 8 << 20});
  ASSERT_OK(cached.status());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                       cached.OpenDirectory(scratch.path() + "/store", /*create=*/true));
  const std::string bytes = TableBytes(1, 300'000);
  {
    ASSERT_OK_AND_ASSIGN(const auto file, directory->CreateExclusive("000001.table"));
    ASSERT_OK(file->Append(bytes));
    ASSERT_OK(file->Sync());
  }
  ASSERT_OK_AND_ASSIGN(const auto table, directory->OpenRead("000001.table", ReadMode::kBuffered));
  std::string read(bytes.size(), '?');
  ASSERT_OK(table->ReadAt(bytes.size() - 200, {read.data(), 200}));
  ASSERT_OK(table->ReadAt(0, read));
  EXPECT_EQ(read, bytes);
  const auto before = cached.statistics();
  EXPECT_EQ(before.hits, 5u);
  EXPECT_EQ(testing_support::InChild([&]() -> std::string {
              if (cached.status().ok()) return "the child has the cache";
              std::string again(bytes.size(), '?');
              if (!table->ReadAt(0, again).ok() || again != bytes) return "the child reads more";
              return cached.statistics().hits == before.hits ? "" : "the child used the cache";
            }),
            "");
  EXPECT_EQ(cached.statistics().pieces, 5u);
}

}  // namespace
}  // namespace lsm
