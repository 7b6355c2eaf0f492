// The entries that a keyspace leaves in the common tree, because it is dropped or gets a tree of
// its own, go in bounded time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/common_keys.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::IsEmpty;

constexpr uint64_t kHourNanos = uint64_t{60} * 60 * 1'000'000'000;
constexpr uint64_t kWeekNanos = 7 * 24 * kHourNanos;

class StraysTest : public KeyspacesTest {
 protected:
  // "b" is small, between two that are not.  One keyspace has a tree of its own, so that none of
  // these leaves.
  void OpenThree() {
    options_.compression = Compression::kNone;
    ASSERT_NO_FATAL_FAILURE(Open());
    ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"own"}));
    a_ = OpenKeyspace("a");
    b_ = OpenKeyspace("b");
    c_ = OpenKeyspace("c");
  }
  static void Fill(Keyspace& keyspace, int from, int to, size_t value_bytes = 1'000) {
    for (int i = from; i < to; ++i)
      ASSERT_OK(keyspace.Put(Concat(10'000 + i), std::string(value_bytes, 'v')));
  }
  // Ten entries of "b" among 200 others, below level 0.  They are not in the table of the names:
  // the tombstone of a name would take them along.
  void FillThree() {
    Fill(a_, 0, 100);
    Fill(b_, 0, 10, 10);
    Fill(c_, 0, 100);
    Flush();
    for (Keyspace* const each : {&a_, &b_, &c_}) ASSERT_OK(each->CompactRange());
    ASSERT_OK(db_->WaitForBackgroundWork());
    ASSERT_EQ(TablesIn(0), 0u);
    const auto version = VersionOnDisk();
    const std::string of_b = CommonKeyOf(IdOf("b"), "10000"), of_names = NameKeyOf(IdOf("b"));
    for (int level = 1; level < kLevels; ++level) {
      for (const auto& table : version->TreeOf(kCommonTree)->level(level)) {
        const KeySpan span = table->meta.span();
        ASSERT_FALSE(span.Overlaps(KeySpan::OfKeys(of_b, of_b)) &&
                     span.Overlaps(KeySpan::OfKeys(of_names, of_names)));
      }
    }
  }
  void DropB() {
    id_ = IdOf("b");
    ASSERT_OK(db_->DropKeyspace("b"));
    Flush();
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
  // Reads all tables of the common tree.
  size_t EntriesUnder(KeyspaceId id) {
    const auto entries = CommonEntries();
    return static_cast<size_t>(std::count_if(entries.begin(), entries.end(), [&](const auto& each) {
      return KeyspaceOf(each.first) == id;
    }));
  }
  // The tables with range deletes in this tree.
  size_t TablesWithRanges(KeyspaceId tree = kCommonTree) {
    const auto version = VersionOnDisk();
    const Tree* const of_id = version->TreeOf(tree);
    size_t tables = 0;
    for (int level = 0; of_id != nullptr && level < kLevels; ++level) {
      for (const auto& table : of_id->level(level)) tables += !table->table->ranges().empty();
    }
    return tables;
  }
  size_t TablesIn(int level) {
    const auto version = VersionOnDisk();
    const Tree* const tree = version->TreeOf(kCommonTree);
    return tree == nullptr ? 0 : tree->level(level).size();
  }
  void Wait(uint64_t nanos) {
    world_.clock.Advance(nanos);
    ASSERT_OK(db_->WaitForBackgroundWork());
  }

  Keyspace a_, b_, c_;
  KeyspaceId id_ = kDefaultKeyspace;  // of the keyspace that left strays
};

TEST_F(StraysTest, AreGoneAWeekAfterADrop) {
  ASSERT_NO_FATAL_FAILURE(OpenThree());
  ASSERT_NO_FATAL_FAILURE(FillThree());
  const std::string in_a = Scan(a_), in_c = Scan(c_);
  ASSERT_NO_FATAL_FAILURE(DropB());
  EXPECT_EQ(EntriesUnder(id_), 10u);
  EXPECT_EQ(TablesWithRanges(), 1u);
  EXPECT_FALSE(VersionOnDisk()->TreeOf(kCommonTree)->has_ranges()) << "no reader pays";
  ASSERT_NO_FATAL_FAILURE(Wait(kWeekNanos - kHourNanos));
  EXPECT_EQ(EntriesUnder(id_), 10u);
  const uint64_t before = db_->GetStatistics().compactions_for_tombstones;
  ASSERT_NO_FATAL_FAILURE(Wait(kHourNanos));
  EXPECT_EQ(EntriesUnder(id_), 0u);
  EXPECT_EQ(TablesWithRanges(), 0u);
  EXPECT_GT(db_->GetStatistics().compactions_for_tombstones, before);
  EXPECT_EQ(Scan(a_), in_a);
  EXPECT_EQ(Scan(c_), in_c);
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
  EXPECT_THAT(report.problems, IsEmpty());
  // The work is done.
  const uint64_t compactions = db_->GetStatistics().compactions;
  ASSERT_NO_FATAL_FAILURE(Wait(2 * kWeekNanos));
  EXPECT_EQ(db_->GetStatistics().compactions, compactions);
}

// The range is in level 0 when the store closes, and its age is in the table.
TEST_F(StraysTest, AreGoneAlsoAfterAReopening) {
  ASSERT_NO_FATAL_FAILURE(OpenThree());
  ASSERT_NO_FATAL_FAILURE(FillThree());
  ASSERT_NO_FATAL_FAILURE(DropB());
  a_ = b_ = c_ = Keyspace();
  db_ = nullptr;
  world_.clock.Advance(kWeekNanos);
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(EntriesUnder(id_), 0u);
  EXPECT_EQ(TablesWithRanges(), 0u);
}

// The drop is only in the log, and the opening has it from there.
TEST_F(StraysTest, AreGoneIfAnOpeningFlushesTheDrop) {
  ASSERT_NO_FATAL_FAILURE(OpenThree());
  ASSERT_NO_FATAL_FAILURE(FillThree());
  id_ = IdOf("b");
  ASSERT_OK(db_->DropKeyspace("b"));
  world_.files->CrashAt(world_.files->operation_count());
  a_ = b_ = c_ = Keyspace();
  db_ = nullptr;
  world_.files->Restart(MemoryFileSystem::Unsynced::kKept);
  EXPECT_EQ(IdOf("b"), id_);
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(IdOf("b"), kDefaultKeyspace);
  EXPECT_EQ(EntriesUnder(id_), 10u);
  ASSERT_NO_FATAL_FAILURE(Wait(kWeekNanos));
  EXPECT_EQ(EntriesUnder(id_), 0u);
}

// No later write fills the memtable with the drop.
TEST_F(StraysTest, AreGoneIfTheStoreIsIdle) {
  ASSERT_NO_FATAL_FAILURE(OpenThree());
  ASSERT_NO_FATAL_FAILURE(FillThree());
  id_ = IdOf("b");
  ASSERT_OK(db_->DropKeyspace("b"));
  ASSERT_NO_FATAL_FAILURE(Wait(kWeekNanos - kHourNanos));
  EXPECT_EQ(IdOf("b"), id_) << "not flushed";
  ASSERT_NO_FATAL_FAILURE(Wait(kHourNanos));
  EXPECT_EQ(IdOf("b"), kDefaultKeyspace);
  EXPECT_EQ(EntriesUnder(id_), 0u);
}

// The strays are in level 2.  The range reaches level 1 long before its time.  It stays there,
// since it is not at the bottom.
TEST_F(StraysTest, TheRangeGoesThroughAllLevels) {
  ASSERT_NO_FATAL_FAILURE(OpenThree());
  ASSERT_NO_FATAL_FAILURE(FillThree());
  for (int round = 1; TablesIn(2) == 0 && round < 20; ++round) {
    Fill(a_, 200 * round, 200 * round + 200);
    Fill(c_, 200 * round, 200 * round + 200);
    Flush();
    ASSERT_OK(a_.CompactRange());
  }
  ASSERT_GT(TablesIn(2), 0u);
  for (int round = 0; TablesIn(0) + TablesIn(1) > 0 && round < 3; ++round)
    ASSERT_OK(a_.CompactRange());
  const std::string in_a = Scan(a_), in_c = Scan(c_);
  ASSERT_EQ(EntriesUnder(IdOf("b")), 10u);
  ASSERT_NO_FATAL_FAILURE(DropB());
  // Level 0 is due, and goes to level 1.
  Fill(a_, 0, 1);
  Fill(c_, 0, 1);
  Flush();
  for (int i = 0; TablesIn(0) > 0 && i < 20; ++i) {
    Fill(a_, i, i + 20);
    Flush();
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
  ASSERT_EQ(TablesIn(0), 0u);
  ASSERT_EQ(EntriesUnder(id_), 10u);
  EXPECT_EQ(TablesWithRanges(), 1u);
  ASSERT_NO_FATAL_FAILURE(Wait(kWeekNanos));
  EXPECT_EQ(EntriesUnder(id_), 0u);
  EXPECT_EQ(TablesWithRanges(), 0u);
  EXPECT_EQ(Scan(a_), in_a);
  EXPECT_EQ(Scan(c_), in_c);
}

TEST_F(StraysTest, OfOneThatLeavesAreGoneAfterAWeek) {
  options_.compression = Compression::kNone;
  ASSERT_NO_FATAL_FAILURE(Open());
  a_ = OpenKeyspace("a");
  b_ = OpenKeyspace("b");
  c_ = OpenKeyspace("c");
  ASSERT_NO_FATAL_FAILURE(Fill(a_, 0, 10));
  ASSERT_NO_FATAL_FAILURE(Fill(c_, 0, 10));
  for (int round = 0; round < 10 && !b_.GetStatistics().has_own_tree; ++round) {
    Fill(b_, 32 * round, 32 * round + 32, 1'000);
    Flush();
  }
  ASSERT_TRUE(b_.GetStatistics().has_own_tree);
  id_ = IdOf("b");
  const std::string in_a = Scan(a_), in_b = Scan(b_), in_c = Scan(c_);
  EXPECT_GT(EntriesUnder(id_), 0u);
  EXPECT_EQ(TablesWithRanges(), 1u);
  EXPECT_EQ(TablesWithRanges(id_), 0u) << "its own tree has none";
  ASSERT_NO_FATAL_FAILURE(Wait(kWeekNanos));
  EXPECT_EQ(EntriesUnder(id_), 0u);
  EXPECT_EQ(TablesWithRanges(), 0u);
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(Scan(a_), in_a);
    EXPECT_EQ(Scan(b_), in_b);
    EXPECT_EQ(Scan(c_), in_c);
    ASSERT_NO_FATAL_FAILURE(Open());
    a_ = OpenKeyspace("a");
    b_ = OpenKeyspace("b");
    c_ = OpenKeyspace("c");
  }
}

TEST_F(StraysTest, WithoutTablesADropLeavesNoRange) {
  ASSERT_NO_FATAL_FAILURE(OpenThree());
  Flush();
  for (const char* const name : {"b", "c"}) {
    ASSERT_OK(db_->DropKeyspace(name));
    Flush();
    EXPECT_EQ(TablesWithRanges(), 0u) << name;
  }
  // Tables only hold smaller ids.
  ASSERT_NO_FATAL_FAILURE(Fill(a_, 0, 100));
  Keyspace last = OpenKeyspace("last");
  Flush();
  ASSERT_OK(db_->DropKeyspace("last"));
  Flush();
  EXPECT_EQ(TablesWithRanges(), 0u);
  // Created and dropped in one memtable, between others.
  Keyspace never = OpenKeyspace("never"), after = OpenKeyspace("after");
  ASSERT_OK(never.Put("key", "value"));
  ASSERT_OK(after.Put("key", "value"));
  ASSERT_OK(db_->DropKeyspace("never"));
  Flush();
  EXPECT_EQ(TablesWithRanges(), 0u);
  EXPECT_EQ(Scan(after), "key=value");
}

// A range of the neighbour may have the same sequence as that over the strays.
TEST_F(StraysTest, NeighboursStayAsTheyAre) {
  ASSERT_NO_FATAL_FAILURE(OpenThree());
  ASSERT_NO_FATAL_FAILURE(FillThree());
  ASSERT_OK(a_.Put("z", "deleted"));
  ASSERT_OK(c_.Put("", "the least key"));
  const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  const std::string in_a = Scan(a_), in_c = Scan(c_);
  id_ = IdOf("b");
  ASSERT_OK(db_->DropKeyspace("b"));
  ASSERT_OK(a_.DeleteRange("z", std::nullopt));
  for (int pass = 0; pass < 4; ++pass) {
    SCOPED_TRACE(pass);
    EXPECT_EQ(Get(a_, "z"), "absent");
    EXPECT_EQ(Scan(a_, {.snapshot = snapshot.get()}), in_a);
    EXPECT_EQ(Scan(c_), in_c);
    EXPECT_EQ(Scan(c_, {.snapshot = snapshot.get()}), in_c);
    const auto back = c_.NewIterator({});
    back->SeekForPrev("10000");
    EXPECT_EQ(back->key(), "10000");
    back->Prev();
    EXPECT_EQ(back->key(), "");
    back->Prev();
    EXPECT_FALSE(back->Valid());
    if (pass == 0) Flush();
    if (pass == 1) {
      ASSERT_OK(c_.CompactRange());
    }
    if (pass == 2) {
      ASSERT_NO_FATAL_FAILURE(Wait(kWeekNanos));
    }
  }
  EXPECT_EQ(EntriesUnder(id_), 0u);
}

}  // namespace
}  // namespace lsm
