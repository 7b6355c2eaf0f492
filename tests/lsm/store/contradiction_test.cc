// Files whose checksums are right but whose contents contradict each other.  Such a store does not
// open, Verify names the contradiction, and after Repair the store opens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/store/verify_table.h"
#include "lsm/version/key_order.h"
#include "tests/lsm/store/forged_store.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::StatusIs;

constexpr Sequence kBeyondAll = uint64_t{1} << 56;

class ContradictionTest : public ForgedStoreTest {
 protected:
  void Refuses(uint64_t table, const std::string& what) {
    EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss,
                                       AllOf(HasSubstr(Forger().PathOf(table)), HasSubstr(what))));
  }

  // Repairs the store and returns the names that Repair reports.  Afterwards all entries must
  // exist, and later writes must stay.
  std::vector<std::string> Repair() {
    const std::vector<std::string> left_out = RepairAndOpen();
    if (db_ == nullptr) return {};
    const std::string all =
        "a=1 b=1 c=2 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 "
        "n=1 o=1 p=1 q=1 r=1 s=1 t=1 u=1 v=1 w=1 x=1 y=1 z=1";
    EXPECT_EQ(Scan(), all);
    for (char key = 'a'; key <= 'z'; ++key)
      EXPECT_EQ(Get(std::string(1, key)), key == 'c' ? "2" : "1") << key;
    ExpectSound();
    EXPECT_OK(db_->Put("d", "3", {.sync = true}));
    EXPECT_EQ(Get("d"), "3");
    CompactAll();
    EXPECT_EQ(Get("d"), "3");
    ExpectSound();
    Open();
    EXPECT_EQ(Get("d"), "3");
    return left_out;
  }
};

// --- sequences ---

TEST_F(ContradictionTest, EntriesBeyondTheLastSequence) {
  MakeStore();
  Forger().ChangeSequences(high_, [](Sequence sequence) { return sequence + 1000; });
  Refuses(high_, "largest_sequence 1026, and the last sequence of the manifest is 27");
  EXPECT_THAT(Repair(), ElementsAre(HasSubstr("last sequence 27, the table has 1026")));
}

TEST_F(ContradictionTest, LargestSequencePropertyBeyondAllSequences) {
  MakeStore();
  Forger().ChangeProperties(high_, [](TableProperties* properties, Footer*) {
    properties->largest_sequence = kBeyondAll;
  });
  Refuses(high_, "largest_sequence 72057594037927936");
  EXPECT_THAT(Repair(), ElementsAre(AllOf(HasSubstr(Forger().PathOf(high_)),
                                          HasSubstr("largest_sequence 72057594037927936"))));
}

TEST_F(ContradictionTest, LargestSequencePropertyIsTheLastOfAllSequences) {
  MakeStore();
  Forger().ChangeProperties(high_, [](TableProperties* properties, Footer*) {
    properties->largest_sequence = kBeyondAll - 1;
  });
  Forger().ChangeManifest([](VersionEdit* edit) { edit->last_sequence = kBeyondAll - 1; });
  EXPECT_THAT(Repair(), Contains(HasSubstr("largest_sequence 72057594037927935")));
}

// No write could follow such entries.
TEST_F(ContradictionTest, EntriesWithTheLastOfAllSequences) {
  MakeStore();
  Forger().ChangeSequences(newest_, [](Sequence) { return kBeyondAll - 1; });
  Refuses(newest_, "largest_sequence 72057594037927935");
  EXPECT_THAT(Repair(), Contains(HasSubstr("numbered again")));
}

TEST_F(ContradictionTest, SequencesOutsideTheProperties) {
  MakeStore();
  Forger().ChangeSequences(high_, [](Sequence sequence) { return sequence + 1000; });
  Forger().ChangeProperties(high_, [](TableProperties* properties, Footer*) {
    properties->smallest_sequence -= 1000;
    properties->largest_sequence -= 1000;
  });
  Open();
  EXPECT_THAT(db_->Get("p").status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(Forger().PathOf(high_)), HasSubstr("sequence"))));
  Put("q", "1");
  EXPECT_THAT(db_->CompactRange(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("sequence")));
  ASSERT_OK_AND_ASSIGN(const VerifyReport verified, db_->Verify());
  EXPECT_THAT(verified.problems, Contains(HasSubstr("the table has 1026")));
  EXPECT_THAT(Repair(), Not(IsEmpty()));
}

TEST_F(ContradictionTest, LevelZeroOutOfOrder) {
  MakeStore();
  Open();
  Put("c", "3");
  Flush();
  Put("c", "2");
  Flush();
  db_ = nullptr;
  StoreForger forger = Forger();
  const ManifestState state = forger.State();
  ASSERT_EQ(state.levels[0].size(), 3u);
  const uint64_t first = std::next(state.levels[0].begin())->first;
  const uint64_t second = state.levels[0].rbegin()->first;
  const StoreForger::Entries older = forger.EntriesOf(first), newer = forger.EntriesOf(second);
  forger.SetEntries(first, newer);
  forger.SetEntries(second, older);
  Refuses(second, "tables with lower numbers in level 0 hold newer writes");
  EXPECT_THAT(Repair(), Not(IsEmpty()));
}

// --- levels ---

TEST_F(ContradictionTest, OverlappingTablesInLevelOne) {
  MakeStore();
  Forger().ChangeRecord(newest_, [](VersionEdit::Added* added) { added->level = 1; });
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("overlap at key")));
  EXPECT_THAT(Repair(), ElementsAre(HasSubstr("overlap")));
}

TEST_F(ContradictionTest, LevelAboveTheTablesOwn) {
  MakeStore();
  Forger().ChangeRecord(low_, [](VersionEdit::Added* added) { added->level = 0; });
  Refuses(low_, "the properties say level 1, the manifest says level 0");
  Repair();
}

// A newer value lies below an older one.  Opening the store reads nothing that shows this.
TEST_F(ContradictionTest, NewerEntriesBelowOlderOnes) {
  MakeStore();
  Forger().ChangeRecord(newest_, [](VersionEdit::Added* added) { added->level = 3; });
  Open();
  ASSERT_OK_AND_ASSIGN(const VerifyReport verified, db_->Verify());
  EXPECT_THAT(verified.problems,
              ElementsAre(AllOf(HasSubstr("key \"c\""), HasSubstr("is newer than"))));
  EXPECT_THAT(Repair(), ElementsAre(HasSubstr("is newer than")));
}

// The other trees are compared, too, each with itself.
TEST_F(ContradictionTest, NewerEntriesBelowOlderOnesOfAKeyspace) {
  options_.compression = Compression::kNone;
  Open();
  ASSERT_OK_AND_ASSIGN(Keyspace keyspace, db_->OpenKeyspace("a"));
  ASSERT_OK(keyspace.Put("key", std::string(2'000, 'o')));  // no flush takes the table along
  Flush();
  ASSERT_OK(keyspace.Put("key", "newer"));
  Put("key", "newest");
  Flush();
  ExpectSound();
  db_ = nullptr;
  uint64_t newer = 0;
  const ManifestState state = Forger().State();
  for (const auto& [number, table] : state.levels[0]) {
    if (table.keyspace != kDefaultKeyspace) newer = number;
  }
  Forger().ChangeRecord(newer, [](VersionEdit::Added* added) { added->level = 3; });
  Open();
  ASSERT_OK_AND_ASSIGN(const VerifyReport verified, db_->Verify());
  EXPECT_THAT(verified.problems,
              ElementsAre(AllOf(HasSubstr("key\""), HasSubstr("is newer than"))));
}

TEST_F(ContradictionTest, NewerRangesBelowEntries) {
  MakeStore();
  Forger().SetEntries(newest_, {}, RangesOf({{"d", "f", 28}}));
  Forger().ChangeRecord(newest_, [](VersionEdit::Added* added) { added->level = 3; });
  Forger().ChangeManifest([](VersionEdit* edit) { edit->last_sequence = 28; });
  Open();
  ASSERT_OK_AND_ASSIGN(const VerifyReport verified, db_->Verify());
  EXPECT_THAT(verified.problems, ElementsAre(AllOf(HasSubstr("key \"d\": the range delete in"),
                                                   HasSubstr("is newer than the entry above it")),
                                             HasSubstr("key \"e\": the range delete in")));
}

// Damage of range deletes hides no other damage.
TEST_F(ContradictionTest, DamagedRangesBesideADamagedBlock) {
  MakeStore();
  Forger().SetEntries(newest_, Forger().EntriesOf(newest_), RangesOf({{"d", "f", 26}}));
  const uint64_t ranges = Forger().FooterOf(newest_).ranges.offset;
  Open();
  ExpectSound();
  const std::string path = Forger().PathOf(newest_);
  std::string bytes = world_.files->FileBytes(path);
  for (const uint64_t offset : {uint64_t{kTableHeaderBytes}, ranges})
    bytes[static_cast<size_t>(offset)] ^= 1;
  world_.files->SetFileBytes(path, bytes);
  ASSERT_OK_AND_ASSIGN(const VerifyReport verified, db_->Verify());
  EXPECT_THAT(verified.problems,
              ElementsAre(HasSubstr(Concat(path, ": offset ", ranges)),
                          HasSubstr(Concat(path, ": offset ", kTableHeaderBytes))));
}

// A compaction in steps leaves such copies: entries that it merged into the table below also remain
// above it.
TEST_F(ContradictionTest, CopiesAreNoContradiction) {
  MakeStore();
  StoreForger forger = Forger();
  StoreForger::Entries below = forger.EntriesOf(low_), above = forger.EntriesOf(newest_);
  ASSERT_EQ(above.size(), 1u);
  const auto older = std::find_if(below.begin(), below.end(), [&](const auto& entry) {
    return UserKeyOf(entry.first) == UserKeyOf(above[0].first);
  });
  above.push_back(*older);
  below.insert(older, above[0]);
  forger.SetEntries(newest_, above);
  forger.SetEntries(low_, below);
  EXPECT_THAT(Repair(), IsEmpty());
}

TEST_F(ContradictionTest, TheSameEntryInTwoLevels) {
  MakeStore();
  StoreForger::Entries entries = Forger().EntriesOf(low_);
  entries[2] = Forger().EntriesOf(newest_)[0];
  Forger().SetEntries(low_, entries);
  Open();
  ExpectSound();
  db_ = nullptr;
  entries[2].second = "other";
  Forger().SetEntries(low_, entries);
  Open();
  ASSERT_OK_AND_ASSIGN(const VerifyReport verified, db_->Verify());
  EXPECT_THAT(verified.problems,
              ElementsAre(AllOf(HasSubstr("key \"c\""), HasSubstr("different values"))));
}

TEST_F(ContradictionTest, RunsAreComparedInPieces) {
  MakeStore();
  Forger().ChangeRecord(newest_, [](VersionEdit::Added* added) { added->level = 3; });
  const ManifestState state = Forger().State();
  const auto table = [&](int level, uint64_t number, Sequence smallest, Sequence largest) {
    return AgedTable{state.levels[static_cast<size_t>(level)].at(number), smallest, largest};
  };
  const AgedRuns runs = {{table(1, low_, 1, 13), table(1, high_, 14, 26)},
                         {table(3, newest_, 27, 27)}};
  // The other table of level 1 has other keys.
  const AgedRuns to_compare = TablesToCompare(runs);
  ASSERT_EQ(to_compare.size(), 2u);
  EXPECT_EQ(to_compare[0].size(), 1u);
  // Older runs may lie below.
  EXPECT_EQ(TablesToCompare({runs[1], runs[0]}).size(), 0u);
  // The same for a long level 0, whose tables are opened only if they may contradict each other.
  AgedRuns many;
  for (Sequence i = 1000; i > 0; --i) many.push_back({table(1, low_, 2 * i, 2 * i + 1)});
  EXPECT_EQ(TablesToCompare(many).size(), 0u);
  std::swap(many[500][0], many[501][0]);
  EXPECT_EQ(TablesToCompare(many).size(), 2u);
  ASSERT_OK_AND_ASSIGN(const auto directory,
                       world_.files->OpenDirectory(kStorePath, /*create=*/false));
  for (const uint64_t bytes_max : {1, 20, 1000}) {
    std::vector<std::string> problems;
    KeyOrderCalls calls;
    calls.problem = [&](const std::string& problem) {
      problems.push_back(problem);
      return true;
    };
    std::optional<std::string> from("");
    int pieces = 0;
    for (; from; ++pieces) {
      ASSERT_OK_AND_ASSIGN(from, CompareRuns(*directory, {}, runs, *from, bytes_max, calls));
    }
    EXPECT_THAT(problems, ElementsAre(HasSubstr("is newer than"))) << bytes_max;
    EXPECT_EQ(pieces, bytes_max == 1 ? 26 : bytes_max == 20 ? 14 : 1);
  }
}

TEST_F(ContradictionTest, MissingOldestLog) {
  MakeStore();
  Open();
  Put("z", "in the log");
  db_ = nullptr;
  Forger().ChangeManifest([](VersionEdit* edit) { *edit->oldest_log += 1000; });
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is missing")));
  ASSERT_OK(DB::Repair(kStorePath, options_));
  Open();
  EXPECT_EQ(Get("z"), "in the log");
}

// --- records of the manifest ---

TEST_F(ContradictionTest, RangesOfTheManifest) {
  const auto key = [](std::string_view user_key) {
    std::string internal_key;
    AppendInternalKey(&internal_key, user_key, 5, EntryKind::kPut);
    return internal_key;
  };
  struct Case {
    const char* what;
    std::function<void(VersionEdit::Added*)> change;
  };
  const std::vector<Case> cases = {
      {"narrower below", [&](auto* added) { added->table.smallest = key("b"); }},
      {"narrower above", [&](auto* added) { added->table.largest = key("l"); }},
      {"wider below", [&](auto* added) { added->table.smallest = key("A"); }},
      {"wider above", [&](auto* added) { added->table.largest = key("mm"); }},
      {"fewer entries", [](auto* added) { --added->table.entries; }},
      {"more entries", [](auto* added) { ++added->table.entries; }},
      {"tombstones", [](auto* added) { ++added->table.dead.tombstones; }},
      {"dead bytes", [](auto* added) { ++added->table.dead.dead_bytes; }},
      {"covered bytes", [](auto* added) { ++added->table.dead.covered_bytes; }},
      {"an old tombstone", [](auto* added) { ++added->table.dead.oldest_tombstone; }},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    db_ = nullptr;
    world_.files = std::make_unique<MemoryFileSystem>();
    options_.environment.file_system = world_.files.get();
    MakeStore();
    Forger().ChangeRecord(low_, each.change);
    Refuses(low_, "the manifest says");
    EXPECT_THAT(Repair(), ElementsAre(HasSubstr("the manifest says")));
  }
}

// Properties and manifest agree, but the entries contradict them.
TEST_F(ContradictionTest, RangeOfPropertiesAndManifest) {
  MakeStore();
  Forger().ChangeProperties(
      low_, [](TableProperties* properties, Footer*) { properties->largest_key = "l"; });
  Forger().ChangeRecord(low_, [](VersionEdit::Added* added) {
    added->table.largest.clear();
    AppendInternalKey(&added->table.largest, "l", 12, EntryKind::kPut);
  });
  Open();
  EXPECT_THAT(db_->Get("l").status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(Forger().PathOf(low_))));
  ASSERT_OK_AND_ASSIGN(const VerifyReport verified, db_->Verify());
  EXPECT_THAT(verified.problems, Contains(HasSubstr("largest_key")));
  EXPECT_THAT(Repair(), ElementsAre(HasSubstr("largest_key")));
}

// Only Verify reads the entries.
TEST_F(ContradictionTest, DeadBytesOfPropertiesAndManifest) {
  MakeStore();
  Open();
  Delete("d");
  Flush();
  db_ = nullptr;
  const uint64_t table = Forger().State().levels[0].rbegin()->first;
  Forger().ChangeProperties(table, [](TableProperties* p, Footer*) { --p->dead_bytes; });
  Refuses(table, "the properties say dead_bytes");
  Forger().ChangeRecord(table, [](VersionEdit::Added* added) { --added->table.dead.dead_bytes; });
  Open();
  ASSERT_OK_AND_ASSIGN(const VerifyReport verified, db_->Verify());
  EXPECT_THAT(verified.problems, ElementsAre(HasSubstr("dead_bytes")));
}

// --- properties ---

TEST_F(ContradictionTest, PropertiesThatFooterOrIndexRefute) {
  struct Case {
    const char* name;
    std::function<void(TableProperties*)> change;
  };
  const std::vector<Case> cases = {
      {"entries", [](auto* p) { ++p->entries; }},
      {"data_blocks", [](auto* p) { ++p->data_blocks; }},
      {"data_bytes", [](auto* p) { --p->data_bytes; }},
      {"index_bytes", [](auto* p) { ++p->index_bytes; }},
      {"filter_bytes", [](auto* p) { ++p->filter_bytes; }},
      {"partitions", [](auto* p) { p->partitions = 3; }},
      {"deletions", [](auto* p) { p->deletions = 99; }},
      {"distinct_keys", [](auto* p) { p->distinct_keys = 99; }},
      {"smallest_sequence", [](auto* p) { p->smallest_sequence = 99; }},
      {"level", [](auto* p) { p->level = 2; }},
      {"smallest_key", [](auto* p) { p->smallest_key = "A"; }},
      {"largest_key", [](auto* p) { p->largest_key = "l"; }},
  };
  MakeStore();
  const std::unique_ptr<MemoryFileSystem> sound = world_.files->Clone();
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    db_ = nullptr;
    world_.files = sound->Clone();
    options_.environment.file_system = world_.files.get();
    Forger().ChangeProperties(low_, [&](TableProperties* p, Footer*) { each.change(p); });
    Refuses(low_, Concat("the properties say ", each.name));
    EXPECT_THAT(Repair(), ElementsAre(HasSubstr(each.name)));
  }
}

}  // namespace
}  // namespace lsm
