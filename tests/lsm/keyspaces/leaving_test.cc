// Keyspaces that leave the common tree for trees of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/common_keys.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;

class LeavingTest : public KeyspacesTest {
 protected:
  static constexpr size_t kWriteBuffer = 64 << 10;

  LeavingTest() {
    options_.write_buffer_bytes = kWriteBuffer;
    options_.compression = Compression::kNone;
  }

  // Writes about half a write buffer, and flushes it.
  void Fill(Keyspace& keyspace, int round) {
    for (int i = 0; i < 32; ++i)
      ASSERT_OK(keyspace.Put(Concat("key", 100 * round + i), std::string(1'000, 'v')));
    Flush();
  }
  void FillUntilItLeaves(Keyspace& keyspace) {
    for (int round = 0; round < 10 && !keyspace.GetStatistics().has_own_tree; ++round)
      ASSERT_NO_FATAL_FAILURE(Fill(keyspace, round));
    ASSERT_TRUE(keyspace.GetStatistics().has_own_tree);
  }
};

TEST_F(LeavingTest, ALargeOneGetsATreeOfItsOwn) {
  Open();
  Keyspace small = OpenKeyspace("small"), large = OpenKeyspace("large"), last = OpenKeyspace("z");
  for (Keyspace* const keyspace : {&small, &last}) ASSERT_OK(keyspace->Put("key", "value"));
  ASSERT_NO_FATAL_FAILURE(Fill(large, 0));
  EXPECT_FALSE(large.GetStatistics().has_own_tree) << "it has less than a write buffer";
  ASSERT_NO_FATAL_FAILURE(Fill(large, 1));
  const std::string before = Scan(large);
  for (Keyspace* const keyspace : {&small, &last}) ASSERT_OK(keyspace->Put("key2", "value2"));
  ASSERT_OK(large.Put("key0", "newer"));
  ASSERT_OK(large.Delete("key1"));
  const std::string expected = Scan(large);
  EXPECT_NE(expected, before);
  Flush();
  const ManifestState state = StateOnDisk();
  const KeyspaceId id = IdOf("large");
  for (int level = 0; level < kLevels; ++level) {
    const auto& tables = state.levels[static_cast<size_t>(level)];
    EXPECT_EQ(std::any_of(tables.begin(), tables.end(),
                          [&](const auto& table) { return table.second.keyspace == id; }),
              level == 1);
  }
  EXPECT_THAT(Names(), ElementsAre("2=small common", "3=large own", "4=z common"));
  for (int pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    Keyspace now = OpenKeyspace("large");
    EXPECT_TRUE(now.GetStatistics().has_own_tree);
    EXPECT_EQ(Scan(now), expected);
    EXPECT_EQ(Get(now, "key0"), "newer");
    EXPECT_EQ(Get(now, "key1"), "absent");
    for (const char* const name : {"small", "z"})
      EXPECT_EQ(Scan(OpenKeyspace(name)), "key=value key2=value2") << name;
    EXPECT_OK(db_->Verify());
    if (pass == 0) {
      // The entries that it left in the common tree are dead.
      ASSERT_OK(OpenKeyspace("small").CompactRange());
      for (const auto& [key, value] : CommonEntries()) EXPECT_NE(KeyspaceOf(key), IdOf("large"));
    }
    if (pass == 1) {
      ASSERT_NO_FATAL_FAILURE(Open());
    }
  }
}

TEST_F(LeavingTest, OlderReadersSeeTheSameAsBefore) {
  Open();
  Keyspace large = OpenKeyspace("large");
  ASSERT_OK(large.Put("a", "first"));
  ASSERT_OK(large.Put("b", "first"));
  ASSERT_OK(large.Put("c", "first"));
  const std::unique_ptr<const Snapshot> first = db_->GetSnapshot();
  ASSERT_OK(large.Put("a", "second"));
  ASSERT_OK(large.Delete("b"));
  ASSERT_OK(large.DeleteRange("c", "d"));
  Flush();
  const std::unique_ptr<const Snapshot> second = db_->GetSnapshot();
  ASSERT_OK(large.Put("c", "third"));
  ASSERT_NO_FATAL_FAILURE(Fill(large, 0));
  ASSERT_NO_FATAL_FAILURE(Fill(large, 1));
  ASSERT_FALSE(large.GetStatistics().has_own_tree);
  const std::string all = Scan(large);
  const std::unique_ptr<Iterator> iterator = large.NewIterator({});
  iterator->SeekToFirst();
  ASSERT_OK(large.DeleteRange("key", std::nullopt));
  ASSERT_OK(large.Put("a", "fourth"));
  Flush();
  ASSERT_TRUE(large.GetStatistics().has_own_tree);
  EXPECT_EQ(Scan(large), "a=fourth c=third");
  EXPECT_EQ(Scan(large, {.snapshot = first.get()}), "a=first b=first c=first");
  EXPECT_EQ(Scan(large, {.snapshot = second.get()}), "a=second");
  std::string walked;
  for (; iterator->Valid(); iterator->Next())
    walked += Concat(walked.empty() ? "" : " ", iterator->key(), "=", iterator->value());
  EXPECT_EQ(walked, all);
  ASSERT_OK(large.CompactRange());
  EXPECT_EQ(Scan(large, {.snapshot = first.get()}), "a=first b=first c=first");
}

// A write buffer below 2 MiB is enough for one tree.
TEST_F(LeavingTest, TheNumberOfTreesIsLimited) {
  Open();
  Keyspace first = OpenKeyspace("first"), second = OpenKeyspace("second");
  ASSERT_NO_FATAL_FAILURE(FillUntilItLeaves(first));
  for (int round = 0; round < 4; ++round) ASSERT_NO_FATAL_FAILURE(Fill(second, round));
  EXPECT_FALSE(second.GetStatistics().has_own_tree);
  ASSERT_OK(db_->DropKeyspace("first"));
  ASSERT_NO_FATAL_FAILURE(Fill(second, 4));  // removes the tree
  ASSERT_NO_FATAL_FAILURE(Fill(second, 5));
  EXPECT_TRUE(second.GetStatistics().has_own_tree);
}

// Writers would wait for it.
TEST_F(LeavingTest, AVeryLargeOneStays) {
  Open();
  Keyspace first = OpenKeyspace("first"), second = OpenKeyspace("second");
  ASSERT_NO_FATAL_FAILURE(FillUntilItLeaves(first));
  for (int round = 0; round < 10; ++round) ASSERT_NO_FATAL_FAILURE(Fill(second, round));
  ASSERT_GT(second.ApproximateBytes(), 4 * kWriteBuffer);
  ASSERT_OK(db_->DropKeyspace("first"));
  for (int round = 10; round < 13; ++round) ASSERT_NO_FATAL_FAILURE(Fill(second, round));
  EXPECT_FALSE(second.GetStatistics().has_own_tree);
}

// A flush must not fail because old tables cannot be read or copied.
TEST_F(LeavingTest, OneThatFailsStaysUntilTheNextOpening) {
  Open();
  Keyspace large = OpenKeyspace("large"), small = OpenKeyspace("small");
  for (int round = 0; round < 2; ++round) ASSERT_NO_FATAL_FAILURE(Fill(large, round));
  ASSERT_FALSE(large.GetStatistics().has_own_tree);
  ASSERT_OK(large.Put("key", "value"));
  ASSERT_OK(small.Put("key", "value"));
  const ManifestState state = StateOnDisk();
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    for (const auto& level : state.levels) {
      for (const auto& [number, table] : level) {
        if (operation == FileOperation::kReadAt && path.ends_with(TableFileName(number)))
          return absl::UnavailableError(Concat(path, ": broken"));
      }
    }
    return absl::OkStatus();
  });
  Flush();
  world_.files->SetFault(nullptr);
  EXPECT_OK(db_->GetFailure());
  EXPECT_EQ(TablesByTree().size(), 1u);
  ASSERT_NO_FATAL_FAILURE(Fill(large, 3));
  EXPECT_FALSE(large.GetStatistics().has_own_tree);
  // It is in no other's way.
  Keyspace other = OpenKeyspace("other");
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK(large.Put("key", "value"));
    ASSERT_NO_FATAL_FAILURE(Fill(other, round));
  }
  EXPECT_TRUE(other.GetStatistics().has_own_tree);
  ASSERT_OK(db_->DropKeyspace("other"));
  ASSERT_NO_FATAL_FAILURE(Open());
  large = OpenKeyspace("large");
  ASSERT_NO_FATAL_FAILURE(Fill(large, 3));
  EXPECT_TRUE(large.GetStatistics().has_own_tree);
  EXPECT_EQ(Get(large, "key"), "value");
  EXPECT_EQ(Scan(OpenKeyspace("small")), "key=value");
}

// A leaving must not take the space that the flush needs.
TEST_F(LeavingTest, AFlushThatNeedsTheSpaceGoesWithout) {
  options_.reserve_bytes = 0;
  Open();
  Keyspace large = OpenKeyspace("large");
  for (int round = 0; round < 2; ++round) ASSERT_NO_FATAL_FAILURE(Fill(large, round));
  ASSERT_OK(large.Put("key", "value"));
  for (int i = 0; i < 32; ++i) Put(Concat(i), std::string(1'000, 'v'));
  const uint64_t before = world_.files->operation_count();
  world_.files->SetFreeBytes(90'000);
  Flush();
  EXPECT_GT(world_.files->operation_count(), before);
  EXPECT_OK(db_->GetFailure());
  EXPECT_FALSE(large.GetStatistics().has_own_tree);
  EXPECT_EQ(Get(large, "key"), "value");
  world_.files->SetFreeBytes(1 << 30);
  ASSERT_NO_FATAL_FAILURE(Open());
  large = OpenKeyspace("large");
  ASSERT_NO_FATAL_FAILURE(Fill(large, 2));
  EXPECT_TRUE(large.GetStatistics().has_own_tree);
}

// The process or the machine crashes at each operation on files of the flush with which a keyspace
// leaves.  The keyspace has all of its entries, in one tree or in the other.
TEST_F(LeavingTest, ACrashLeavesAllOrNothing) {
  Open();
  Keyspace large = OpenKeyspace("large"), small = OpenKeyspace("small");
  for (int round = 0; round < 2; ++round) ASSERT_NO_FATAL_FAILURE(Fill(large, round));
  ASSERT_OK(small.Put("key", "value"));
  Flush();
  ASSERT_FALSE(large.GetStatistics().has_own_tree);
  const std::string before = Scan(large);
  std::string after;
  db_ = nullptr;
  const std::unique_ptr<MemoryFileSystem> begun = world_.files->Clone();
  bool is_written = false, is_flushed = false;
  const auto work = [&]() -> absl::Status {
    TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(kStorePath, options_));
    TRELLIS_ASSIGN_OR_RETURN(const Keyspace keyspace, db_->OpenKeyspace("large"));
    WriteBatch batch;
    batch.Put(keyspace, "key0", "newer");
    batch.Delete(keyspace, "key1");
    batch.DeleteRange(keyspace, "key2", "key3");
    TRELLIS_RETURN_IF_ERROR(db_->Write(batch, {.sync = true}));
    is_written = true;
    if (after.empty()) after = Scan(keyspace);
    TRELLIS_RETURN_IF_ERROR(db_->Flush());
    is_flushed = true;
    return db_->Close();
  };
  const auto begin = [&] {
    db_ = nullptr;
    world_.files = begun->Clone();
    options_.environment.file_system = world_.files.get();
    world_.files->ResetCounts();
    is_written = is_flushed = false;
  };
  begin();
  ASSERT_OK(work());
  const uint64_t operations = world_.files->operation_count();
  ASSERT_NE(after, before);
  std::set<std::string> outcomes;
  for (const auto unsynced :
       {MemoryFileSystem::Unsynced::kLost, MemoryFileSystem::Unsynced::kKept}) {
    for (uint64_t at = 0; at < operations; ++at) {
      SCOPED_TRACE(
          Concat(unsynced == MemoryFileSystem::Unsynced::kKept ? "process " : "machine ", at));
      begin();
      world_.files->CrashAt(at);
      work().IgnoreError();
      db_ = nullptr;
      world_.files->Restart(unsynced);
      ASSERT_NO_FATAL_FAILURE(Open());
      for (int pass = 0; pass < 2; ++pass) {
        const Keyspace now = OpenKeyspace("large");
        const bool is_own = now.GetStatistics().has_own_tree;
        const std::string found = Scan(now);
        if (is_written) {
          ASSERT_EQ(found, after);
        } else {
          ASSERT_TRUE(found == before || found == after) << found.size();
        }
        if (is_flushed) {
          ASSERT_TRUE(is_own);
        }
        ASSERT_EQ(Scan(OpenKeyspace("small")), "key=value");
        EXPECT_THAT(Names(),
                    ElementsAre(is_own ? "2=large own" : "2=large common", "3=small common"));
        ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
        EXPECT_TRUE(report.problems.empty());
        if (pass == 0) outcomes.insert(Concat(is_own ? "own " : "common ", found == after));
        ASSERT_OK(OpenKeyspace("large").CompactRange());
        EXPECT_EQ(world_.FilesOf(FileKind::kTable).size(), db_->GetStatistics().total.tables);
      }
    }
  }
  EXPECT_THAT(outcomes, ElementsAre("common 0", "common 1", "own 1"));
}

// Its options act from then on.
TEST_F(LeavingTest, ItsOptionsAct) {
  Open();
  Keyspace large = OpenKeyspace("large", {.filter_kind = "none"});
  ASSERT_NO_FATAL_FAILURE(FillUntilItLeaves(large));
  const KeyspaceStatistics statistics = large.GetStatistics();
  uint64_t filter_bytes = 0;
  for (const LevelStatistics& level : statistics.levels) filter_bytes += level.filter_bytes;
  EXPECT_EQ(filter_bytes, 0u);
}

}  // namespace
}  // namespace lsm
