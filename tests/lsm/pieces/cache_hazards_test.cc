// Damage of the cache's files, tables that take another one's place, errors, and crashes: reads
// return what the file below has, and no call fails because of the cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "lsm/pieces/piece.h"
#include "tests/lsm/pieces/cache_fixture.h"

namespace lsm {
namespace {

using testing::Gt;

constexpr char kPieces[] = "/ssd/000001.pieces";
constexpr char kIndex[] = "/ssd/000001.index";

class CacheHazardsTest : public CacheFixture {
 protected:
  // Writes the table, changes a file of the cache, and reads the table after a restart.
  void ReadAfter(const std::string& name,
                 const std::function<std::string(const std::string&)>& change) {
    directory_ = nullptr;
    MemoryFileSystem local;
    StartOn(&local);
    Write(kTable, bytes_);
    directory_ = nullptr;
    local.SetFileBytes(name, change(local.FileBytes(name)));
    StartOn(&local);
    pieces_found_ = statistics().pieces;
    ASSERT_EQ(ReadTable(kTable, at_once_), bytes_);
    first_ = statistics();
    ASSERT_EQ(ReadTable(kTable, at_once_), bytes_);
    second_ = statistics();
    ASSERT_OK(directory_->Remove(kTable));
    StartOn(&local_);
  }
  void ReadAfterFlip(const std::string& name, size_t offset) {
    ReadAfter(name, [&](std::string bytes) {
      bytes.at(offset) = static_cast<char>(bytes.at(offset) ^ 0x10);
      return bytes;
    });
  }

  const std::string bytes_ = TableBytes(1, 3 * kPiece + 9000);
  uint64_t at_once_ = 10'000;
  uint64_t pieces_found_ = 0;                    // after the restart
  CachedFileSystem::Statistics first_, second_;  // after each reading of the table
};

TEST_F(CacheHazardsTest, AFlippedBitOfAPieceIsAMiss) {
  for (const size_t offset : {size_t{0}, size_t{5000}, size_t{kPiece}, size_t{3 * kPiece + 4800}}) {
    ReadAfterFlip(kPieces, offset);
    EXPECT_EQ(first_.bad_pieces, 1u) << offset;
    EXPECT_EQ(first_.misses, 1u);
    EXPECT_EQ(second_.bad_pieces, 1u);  // it was stored again
    EXPECT_EQ(second_.misses, 1u);
    EXPECT_EQ(second_.errors, 0u);
  }
}

TEST_F(CacheHazardsTest, ABadPieceInAReadOfSeveralIsAMiss) {
  at_once_ = bytes_.size();
  ReadAfterFlip(kPieces, kPiece + 1);
  EXPECT_EQ(first_.bad_pieces, 1u);
  EXPECT_EQ(first_.hits, 3u);
  EXPECT_EQ(second_.hits, 7u);
}

TEST_F(CacheHazardsTest, ATornPieceIsAMiss) {
  at_once_ = bytes_.size();
  for (const size_t size : {size_t{0}, size_t{1}, size_t{kPiece + 3}, size_t{3 * kPiece + 99}}) {
    ReadAfter(kPieces, [&](const std::string& bytes) { return bytes.substr(0, size); });
    EXPECT_EQ(pieces_found_, size / kPiece);
    EXPECT_EQ(second_.hits, 4 + size / kPiece);
    EXPECT_EQ(second_.misses, 4 - size / kPiece);
  }
}

TEST_F(CacheHazardsTest, ADamagedIndexIsNotUsed) {
  for (size_t offset = 0; offset < 4 * PieceEntry::kBytes; offset += 3) {
    ReadAfterFlip(kIndex, offset);
    EXPECT_EQ(pieces_found_, offset / PieceEntry::kBytes);
    EXPECT_EQ(first_.bad_pieces, 0u);
  }
  for (size_t size = 0; size < 4 * PieceEntry::kBytes; size += 7) {
    ReadAfter(kIndex, [&](const std::string& bytes) { return bytes.substr(0, size); });
    EXPECT_EQ(pieces_found_, size / PieceEntry::kBytes);
  }
}

TEST_F(CacheHazardsTest, AnIndexOfAnotherSegmentIsNotUsed) {
  Write(kTable, bytes_);
  local_.SetFileBytes("/ssd/000009.index", local_.FileBytes("/ssd/000001.index"));
  local_.SetFileBytes("/ssd/000009.pieces", std::string(4 * kPiece, 'x'));
  Start();
  EXPECT_EQ(ReadTable(kTable), bytes_);
  EXPECT_EQ(statistics().bad_pieces, 0u);
  EXPECT_EQ(statistics().misses, 0u);
}

TEST_F(CacheHazardsTest, AFileWithoutItsOtherHalfIsRemoved) {
  local_.SetFileBytes("/ssd/000005.index", "something");
  local_.SetFileBytes("/ssd/000006.pieces", "something");
  local_.SetFileBytes("/ssd/notes.txt", "something");
  Start();
  const std::unique_ptr<Directory> directory = local_.OpenDirectory(kCache, false).value();
  EXPECT_THAT(directory->List().value(), testing::UnorderedElementsAre("LOCK", "notes.txt"));
  Write(kTable, bytes_);
  EXPECT_EQ(ReadTable(kTable), bytes_);
  EXPECT_EQ(statistics().misses, 0u);
}

// --- a name is not an identity ---

TEST_F(CacheHazardsTest, AnotherTableOfTheSameNameIsNotConfused) {
  for (const bool restarts : {false, true}) {
    SCOPED_TRACE(restarts);
    Write(kTable, bytes_);
    const std::unique_ptr<ReadFile> open = Open(kTable);
    EXPECT_EQ(ReadTable(kTable), bytes_);
    const std::string other = TableBytes(2, bytes_.size());
    WriteBelow(kTable, other);
    if (restarts) Start();
    EXPECT_EQ(ReadTable(kTable), other);
    EXPECT_EQ(ReadTable(kTable), other);
    WriteBelow(kTable, bytes_);
    if (restarts) Start();
    EXPECT_EQ(ReadTable(kTable), bytes_);
    ASSERT_OK(directory_->Remove(kTable));
  }
}

TEST_F(CacheHazardsTest, AnotherFooterIsAnotherTable) {
  Write(kTable, bytes_);
  const std::string other = TableBytes(1, bytes_.size(), /*variant=*/5);  // the same id and size
  WriteBelow(kTable, other);
  EXPECT_EQ(ReadTable(kTable), other);
}

TEST_F(CacheHazardsTest, AnOldHandleKeepsReadingItsTable) {
  Write(kTable, bytes_);
  const std::unique_ptr<ReadFile> old = Open(kTable);
  EXPECT_EQ(ReadFrom(*old, 0, bytes_.size()), bytes_);
  ASSERT_OK(directory_->Remove(kTable));
  const std::string other = TableBytes(2, bytes_.size());
  Write(kTable, other);
  EXPECT_EQ(ReadTable(kTable), other);
  EXPECT_EQ(ReadFrom(*old, 0, bytes_.size()), bytes_);
  EXPECT_EQ(ReadTable(kTable), other);
  Start();
  EXPECT_EQ(ReadTable(kTable), other);
  EXPECT_EQ(statistics().misses, 0u);
}

// Two copies of one table have the same identity although one is damaged.
TEST_F(CacheHazardsTest, ARemovedTableIsForgotten) {
  std::string damaged = bytes_;
  damaged[1000] ^= 1;
  const std::function<void()> ways_to_remove[] = {
      [this] { EXPECT_OK(directory_->Remove(kTable)); },
      [this] {
        const std::string names[] = {kTable};
        EXPECT_THAT(directory_->RemoveAll(names), testing::Each(testing_support::IsOk()));
      },
      [this] { EXPECT_OK(directory_->Rename(kTable, "damaged")); },
      [this] {
        Write("other", "x");
        EXPECT_OK(directory_->Rename("other", kTable));
      },
  };
  for (const bool restarts : {false, true}) {
    for (const std::function<void()>& remove : ways_to_remove) {
      WriteBelow(kTable, "");
      ASSERT_OK(directory_->Remove(kTable));
      Write(kTable, damaged);
      EXPECT_EQ(ReadTable(kTable), damaged);
      remove();
      if (restarts) Start();
      WriteBelow(kTable, bytes_);
      EXPECT_EQ(ReadTable(kTable), bytes_);
    }
  }
}

TEST_F(CacheHazardsTest, ACopySharesNoPieceWithItsOrigin) {
  std::string damaged = bytes_;
  damaged[1000] ^= 1;
  Write(kTable, damaged);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> backup,
                       cached_->OpenDirectory("/backup", /*create=*/true));
  WriteTo(*backup, kTable, bytes_);
  EXPECT_EQ(ReadWholeFile(*backup, kTable, 1 << 20).value(), bytes_);
  EXPECT_EQ(ReadTable(kTable), damaged);
}

// --- errors and crashes of the local disk ---

class LocalFaultsTest : public CacheFixture {
 protected:
  LocalFaultsTest() {
    cache_bytes_ = 2 << 20;
    for (uint64_t i = 0; i <= 6; ++i) tables_.push_back(TableBytes(i, 3 * kPiece + 1000 * i));
  }

  // Writes, reads and removes tables.  All calls must succeed.
  void UseTables() {
    for (uint64_t i = 1; i <= 6; ++i) {
      const std::string name = NameOf(i);
      const std::string& bytes = tables_.at(i);
      Write(name, bytes);
      ASSERT_EQ(ReadTable(name), bytes);
      WriteBelow(kTable, bytes);
      ASSERT_EQ(ReadTable(kTable, 2 * kPiece), bytes);
      ASSERT_EQ(ReadTable(kTable), bytes);
      if (i % 3 == 0) {
        ASSERT_OK(directory_->Remove(name));
      }
    }
  }
  // Reads the tables that are left, and removes them.
  void ReadAndRemoveTables() {
    for (uint64_t i = 1; i <= 6; ++i) {
      if (i % 3 == 0) continue;
      ASSERT_EQ(ReadTable(NameOf(i)), tables_.at(i));
      ASSERT_OK(directory_->Remove(NameOf(i)));
    }
  }
  static std::string NameOf(uint64_t i) { return "0000" + std::to_string(10 + i) + ".table"; }

  std::vector<std::string> tables_;

  uint64_t CountOperations() {
    local_.ResetCounts();
    UseTables();
    ReadAndRemoveTables();
    return local_.operation_count();
  }
};

TEST_F(LocalFaultsTest, NoErrorOfTheLocalDiskFailsACall) {
  const uint64_t operations = CountOperations();
  ASSERT_THAT(operations, Gt(150u));
  for (const bool is_for_good : {false, true}) {
    for (uint64_t fails = 0; fails < operations; fails += is_for_good ? 61 : 9) {
      SCOPED_TRACE(testing::Message() << fails << " " << is_for_good);
      MemoryFileSystem local;
      StartOn(&local);
      local.ResetCounts();
      bool has_failed = false;
      local.SetFault([&](FileOperation, const std::string&, uint64_t number) {
        const bool is_failing = is_for_good ? number >= fails : number == fails;
        has_failed = has_failed || is_failing;
        return is_failing ? absl::ResourceExhaustedError("full") : absl::OkStatus();
      });
      ASSERT_NO_FATAL_FAILURE(UseTables());
      ASSERT_NO_FATAL_FAILURE(ReadAndRemoveTables());
      if (has_failed) {
        EXPECT_THAT(statistics().errors, Gt(0u));
      }
      local.SetFault(nullptr);
      StartOn(&local_);
    }
  }
}

TEST_F(LocalFaultsTest, ADirectoryThatCannotBeUsedTurnsTheCacheOff) {
  local_.SetFault(
      [](FileOperation, const std::string&, uint64_t) { return absl::UnavailableError("broken"); });
  Start();
  EXPECT_THAT(cached_->status(), testing_support::StatusIs(absl::StatusCode::kUnavailable));
  UseTables();
  EXPECT_EQ(statistics().hits, 0u);
}

TEST_F(LocalFaultsTest, AFullDiskIsNotAskedForEachPiece) {
  local_.SetFreeBytes(5 * kPiece);
  UseTables();
  EXPECT_THAT(statistics().errors, testing::AllOf(Gt(0u), testing::Lt(30u)));
}

TEST_F(LocalFaultsTest, ACrashOfTheMachineLosesPiecesOnly) {
  const uint64_t operations = CountOperations();
  for (const auto unsynced :
       {MemoryFileSystem::Unsynced::kKept, MemoryFileSystem::Unsynced::kLost}) {
    for (uint64_t crash = 0; crash < operations; crash += 41) {
      SCOPED_TRACE(crash);
      MemoryFileSystem local;
      StartOn(&local);
      local.ResetCounts();
      local.CrashAt(crash);
      ASSERT_NO_FATAL_FAILURE(UseTables());
      StartOn(&local_);
      local.Restart(unsynced);
      StartOn(&local);
      ASSERT_OK(cached_->status());
      ASSERT_LE(statistics().bytes, cache_bytes_);
      ASSERT_NO_FATAL_FAILURE(ReadAndRemoveTables());
      ASSERT_NO_FATAL_FAILURE(UseTables());
      ASSERT_NO_FATAL_FAILURE(ReadAndRemoveTables());
      EXPECT_EQ(statistics().errors, 0u);
      StartOn(&local_);
    }
  }
}

// --- errors of the file system below ---

// A miss reads whole pieces.  If that fails, the bytes that were asked for may be readable.
TEST_F(CacheHazardsTest, AnErrorInTheRestOfAPieceIsNotSeen) {
  WriteBelow(kTable, bytes_);
  const std::unique_ptr<ReadFile> file = Open(kTable);
  EXPECT_EQ(ReadFrom(*file, bytes_.size() - 4096, 4096), bytes_.substr(bytes_.size() - 4096));
  uint64_t calls = 0;
  below_.SetFault([&](FileOperation, const std::string&, uint64_t) {
    return ++calls == 1 ? absl::UnavailableError("a part of the piece") : absl::OkStatus();
  });
  EXPECT_EQ(ReadFrom(*file, 100, 50), bytes_.substr(100, 50));
  EXPECT_EQ(calls, 2u);
  EXPECT_EQ(statistics().pieces, 0u);
  below_.SetFault([](FileOperation, const std::string&, uint64_t) {
    return absl::UnavailableError("all of it");
  });
  EXPECT_THAT(ReadFrom(*file, 100, 50), testing::HasSubstr("all of it"));
}

}  // namespace
}  // namespace lsm
